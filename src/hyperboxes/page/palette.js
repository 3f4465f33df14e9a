// Colours and markers of classes. The colours are those of Okabe and Ito, which stay apart for colour-blind
// readers, lighter on dark ground; classes without a box are grey, as in hyperboxes.plot.

const LIGHT = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#333333"];
const DARK = ["#4AA8E8", "#F0814A", "#2FC49A", "#E09AC3", "#F2B84B", "#9AD4F5", "#E4E4E4"];
const GREYS = { light: ["#8C8C8C", "#5F5F5F", "#B3B3B3"], dark: ["#9AA0A6", "#C4C7CA", "#70757A"] };

/** Shapes drawn around (0, 0) within a radius of 1: what tells classes apart without colour. */
const SHAPES = [
  (path) => path.arc(0, 0, 0.95, 0, 2 * Math.PI),
  (path) => polygon(path, [[-0.85, -0.85], [0.85, -0.85], [0.85, 0.85], [-0.85, 0.85]]),
  (path) => polygon(path, [[0, -1.15], [1.15, 0], [0, 1.15], [-1.15, 0]]),
  (path) => polygon(path, [[0, -1.1], [1.05, 0.85], [-1.05, 0.85]]),
  (path) => polygon(path, [[0, 1.1], [1.05, -0.85], [-1.05, -0.85]]),
  (path) => polygon(path, [[-0.4, -1.1], [0.4, -1.1], [0.4, -0.4], [1.1, -0.4], [1.1, 0.4], [0.4, 0.4], [0.4, 1.1],
    [-0.4, 1.1], [-0.4, 0.4], [-1.1, 0.4], [-1.1, -0.4], [-0.4, -0.4]]),
];

function polygon(path, points) {
  points.forEach(([x, y], place) => (place ? path.lineTo(x, y) : path.moveTo(x, y)));
  path.closePath();
}

const root = document.documentElement;
const system = matchMedia("(prefers-color-scheme: dark)");

const isDark = () => root.dataset.theme === "dark";

/** Take the system's theme, and follow it until a person asks for the other. */
export function followTheme(changed) {
  const take = () => {
    root.dataset.theme = system.matches ? "dark" : "light";
    changed();
  };
  system.addEventListener("change", take);
  take();
  return function other() {
    system.removeEventListener("change", take);
    root.dataset.theme = isDark() ? "light" : "dark";
    changed();
  };
}

/** Give each class a colour and a shape: classes with boxes first, in the order of the boxes. */
export function stylesOf(model, nClasses) {
  const theme = isDark() ? "dark" : "light";
  const colours = theme === "dark" ? DARK : LIGHT;
  const boxed = [...new Set(model.boxes.map((box) => box.label))];
  const bare = Array.from({ length: nClasses }, (_, label) => label).filter((label) => !boxed.includes(label));
  const styles = [];
  [...boxed, ...bare].forEach((label, place) => {
    const greys = GREYS[theme];
    const colour = place < boxed.length ? colours[place % colours.length] : greys[(place - boxed.length) % greys.length];
    styles[label] = { colour, shape: SHAPES[place % SHAPES.length] };
  });
  return styles;
}

/** Give a colour of the style sheet. */
export function ink(name) {
  return getComputedStyle(root).getPropertyValue(`--${name}`).trim();
}
