// Elements, made without markup: text is only ever text.

const SVG = "http://www.w3.org/2000/svg";

/** Make an HTML element: attributes, "on…" listeners, children (elements or texts; null is left out). */
export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** Make an SVG element. */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else put(node, name, value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

/** Set an attribute if it differs; false, null and undefined take it away. */
export function put(node, name, value) {
  if (value === false || value === null || value === undefined) node.removeAttribute(name);
  else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value === true ? "" : value);
}

/** Set the text of an element if it differs. */
export function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

const ICONS = {
  undo: "M5 3 2 6l3 3M2.5 6H9a4 4 0 0 1 0 8H6",
  redo: "M11 3l3 3-3 3M13.5 6H7a4 4 0 0 0 0 8h3",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  trash: "M2.5 4.5h11M6 4.5v-2h4v2M4 4.5l.7 9h6.6l.7-9M6.7 7v4M9.3 7v4",
  up: "M8 13V3M4 7l4-4 4 4",
  down: "M8 3v10M4 9l4 4 4-4",
  save: "M8 2v8M4.5 7 8 10.5 11.5 7M2.5 13.5h11",
  code: "M5.5 4 1.5 8l4 4M10.5 4l4 4-4 4",
  theme: "M8 2.5a5.5 5.5 0 1 0 0 11zM8 2.5a5.5 5.5 0 0 1 0 11",
  close: "M4 4l8 8M12 4l-8 8",
  plus: "M8 3v10M3 8h10",
  reset: "M3 8a5 5 0 1 0 1.6-3.7M3 2.5v3h3",
};

/** Make a small line icon. */
export function icon(name) {
  return svg("svg", { class: "icon", viewBox: "0 0 16 16", "aria-hidden": "true" }, svg("path", { d: ICONS[name] }));
}

/** Make a button with an icon, a text, or both; without a text the label is spoken and shown on hover. */
export function button(label, { glyph = null, text = null, onclick, ...attributes }) {
  const named = text === null ? { "aria-label": label, title: label } : { title: label === text ? null : label };
  return el("button", { type: "button", ...named, onclick, ...attributes }, glyph && icon(glyph), text);
}

/** Move focus among the items of a group by arrow keys; only one of them is a stop of the tab key. */
export function rove(group, selector, { next, previous }) {
  const items = () => [...group.querySelectorAll(selector)];
  group.addEventListener("keydown", (event) => {
    const step = next.includes(event.key) ? 1 : previous.includes(event.key) ? -1 : 0;
    const all = items();
    const here = all.indexOf(document.activeElement);
    if (!step || here < 0) return;
    event.preventDefault();
    all[(here + step + all.length) % all.length].focus();
  });
  group.addEventListener("focusin", (event) => {
    if (!event.target.matches(selector)) return;
    for (const item of items()) put(item, "tabindex", item === event.target ? 0 : -1);
  });
  return () => {
    const all = items();
    if (all.length && !all.some((item) => item.getAttribute("tabindex") === "0")) put(all[0], "tabindex", 0);
  };
}
