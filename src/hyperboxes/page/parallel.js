// Parallel coordinates: every row a line across the features, the box in focus as a band.

import { el, put, svg } from "./dom.js";
import { mustMiss, restricted } from "./model.js";
import { formatCount, roughly } from "./numbers.js";
import { panelHead, shorten } from "./parts.js";
import { Axis } from "./table.js";

const LINES = 600;
const RUNS = 12;
const HEIGHT = 310;
const TOP = 48;
const BOTTOM = 30;
const LEAST = 76;

export function parallelView(store, styles) {
  const canvas = el("canvas", { class: "lines", "aria-hidden": "true" });
  const picture = svg("svg", { class: "parallel", role: "img", "aria-label": "Parallel coordinates" });
  const inner = el("div", { class: "wide" }, canvas, picture);
  const spoken = "Parallel coordinates of the features that boxes restrict; scrolls sideways";
  const frame = el("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": spoken }, inner);
  const rows = evenly(store.rows, LINES);
  const drawn = rows.length < store.rows ? `${rows.length} of ${formatCount(store.rows)} rows` : "Every row";
  const hint = `${drawn} as a line; the band is what the box in focus admits. Click a line to ask why.`;
  const node = el("section", { class: "panel parallels", "aria-label": "Parallel coordinates" },
    panelHead("Parallel coordinates", hint), frame);
  const axesNode = svg("g");
  const band = svg("path", { class: "band" });
  const line = svg("path", { class: "row-line" });
  const hoverLine = svg("path", { class: "row-line hover" });
  picture.append(band, axesNode, hoverLine, line);
  let axes = [];
  let width = 0;
  let at = () => 0;

  new ResizeObserver(([entry]) => {
    if (entry.contentRect.width && Math.round(entry.contentRect.width) !== width) {
      width = Math.round(entry.contentRect.width);
      store.tell("spread");
    }
  }).observe(frame);

  const scales = store.ranges.map((range) => new Axis(range));
  const y = (feature, cell) => HEIGHT - BOTTOM - scales[feature].share(cell) * (HEIGHT - TOP - BOTTOM);
  const trace = (cellOf, row = 0) => {
    let d = "";
    let pen = false;
    axes.forEach((feature, place) => {
      let cell = cellOf(feature);
      const { categories } = store.features[feature];
      // A missing value breaks the line.
      if (!Number.isFinite(cell) || (categories && cell < 0)) { pen = false; return; }
      // Lines through a category are spread out, each at a height of its own, or many would look like one.
      if (categories) cell += row ? (((row * 0.6180339887) % 1) - 0.5) * 0.5 : 0;
      d += `${pen ? "L" : "M"}${at(place).toFixed(1)} ${y(feature, cell).toFixed(1)}`;
      pen = true;
    });
    return d;
  };

  function spread() {
    const { order, use } = store.byUse();
    axes = order.filter((feature) => use[feature] > 0);
    if (axes.length < 2) axes = order.slice(0, Math.max(2, axes.length));
    const whole = Math.max(width || 600, LEAST * (axes.length - 1) + 110);
    at = (place) => 55 + (axes.length > 1 ? (place * (whole - 110)) / (axes.length - 1) : 0);
    inner.style.width = `${whole}px`;
    const ratio = Math.min(2, window.devicePixelRatio || 1, 8000 / whole);
    canvas.width = Math.round(whole * ratio);
    canvas.height = Math.round(HEIGHT * ratio);
    put(picture, "viewBox", `0 0 ${whole} ${HEIGHT}`);
    // Names stand in two rows, so that each has the room of two axes.
    const apart = (whole - 110) / Math.max(1, axes.length - 1);
    const longest = Math.max(...axes.map((feature) => store.features[feature].shown.length));
    const rowsOfNames = longest * 7.2 > apart ? 2 : 1;
    const room = Math.floor((apart * rowsOfNames) / 7.2) - 1;
    axesNode.replaceChildren(...axes.flatMap((feature, place) => {
      const { shown, categories } = store.features[feature];
      const [low, high] = store.ranges[feature];
      const x = at(place);
      const side = place === 0 ? "start" : place < axes.length - 1 ? "middle" : "end";
      const across = { start: 2, end: whole - 2, middle: x }[side];
      const height = TOP - (rowsOfNames === 1 || place % 2 ? 20 : 34);
      const ends = categories
        ? categories.map((one, position) => (
          svg("text", { class: "tick", x: x + 5, y: y(feature, position) + 3.5 }, shorten(one.shown, 9))))
        : [[low, HEIGHT - BOTTOM + 15], [high, TOP - 6]].map(([end, height]) => (
          svg("text", { class: "tick middle", x, y: height }, roughly(end))));
      return [
        svg("line", { class: "axis", x1: x, x2: x, y1: TOP, y2: HEIGHT - BOTTOM }),
        svg("text", { class: `axis-name ${side}`, x: across, y: height },
          shorten(shown, room), svg("title", {}, shown)),
        ...ends,
      ];
    }));
    drawLines(ratio);
  }

  function drawLines(ratio) {
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.lineWidth = 1;
    const looks = styles();
    const inside = store.state.box === null ? null : store.judge.contains(store.boxOf(store.state.box));
    for (const lit of inside ? [false, true] : [true]) {
      context.globalAlpha = (lit ? 1 : 0.18) * (rows.length > 300 ? 0.28 : 0.42);
      for (const row of rows) {
        if (inside && (inside[row] === 1) !== lit) continue;
        context.strokeStyle = looks[store.truth[row]].colour;
        context.stroke(new Path2D(trace((feature) => store.columns[feature][row], row)));
      }
    }
  }

  function drawBand() {
    const id = store.focus;
    const box = id === null ? null : store.boxOf(id);
    band.style.display = box ? "" : "none";
    if (!box) return;
    const ends = axes.map((feature) => {
      const [low, high] = store.ranges[feature];
      const flags = box.sets.get(feature)?.flags;
      if (flags) return runs(flags).map(([first, last]) => [first - 0.4, last + 0.4]);
      if (mustMiss(box, feature)) return []; // no place on the axis stands for a missing value
      const [from, to] = box.bounds.get(feature) ?? [-Infinity, Infinity];
      return [[Math.max(low, Math.min(high, from)), Math.max(low, Math.min(high, to))]];
    });
    const spot = (place, cell) => `${at(place).toFixed(1)} ${y(axes[place], cell).toFixed(1)}`;
    // From each stretch of an axis to each of the next: what lies between two of them is left out.
    const piece = (place, [from, to], next, [low, high]) => (
      `M${spot(place, to)}L${spot(next, high)}L${spot(next, low)}L${spot(place, from)}Z`);
    const pieces = axes.flatMap((_, place) => {
      const next = Math.min(place + 1, axes.length - 1);
      return next === place && place ? [] : ends[place].flatMap((one) => (
        ends[next].map((other) => piece(place, one, next, other))));
    });
    put(band, "d", pieces.join(""));
    band.style.setProperty("--own", `var(--class-${box.label})`);
  }

  let used = "";
  store.follow((topics) => {
    const now = String([...new Set(store.model.boxes.flatMap(restricted))].sort((a, b) => a - b));
    const asked = ["start", "spread", "theme"].some((topic) => topics.has(topic));
    const fresh = asked || (now !== used && !store.state.dragging);
    if (fresh) {
      used = now;
      spread();
    } else if (topics.has("select") || topics.has("drag") || (topics.has("model") && !store.state.dragging)) {
      // While an edge is dragged only the band follows; the lines do when it rests.
      if (!store.state.dragging) drawLines(canvas.height / HEIGHT);
    }
    drawBand();
    const { cells, hoverRow } = store.state;
    put(line, "d", cells ? trace((feature) => cells[feature], store.state.row ?? 0) : "");
    put(hoverLine, "d", hoverRow === null ? "" : trace((feature) => store.columns[feature][hoverRow], hoverRow));
  });

  /** Find the line under the pointer, by its height between two axes. */
  function nearest(event) {
    const here = picture.getBoundingClientRect();
    const [px, py] = [event.clientX - here.left, event.clientY - here.top];
    const place = Math.max(0, Math.min(axes.length - 2, axes.findIndex((_, index) => at(index + 1) >= px)));
    const share = Math.max(0, Math.min(1, (px - at(place)) / (at(place + 1) - at(place))));
    let best = null;
    let least = 6;
    for (const row of rows) {
      const from = y(axes[place], store.columns[axes[place]][row]);
      const to = y(axes[place + 1], store.columns[axes[place + 1]][row]);
      const away = Math.abs(from + share * (to - from) - py);
      if (away < least) { least = away; best = row; }
    }
    return best;
  }
  inner.addEventListener("pointermove", (event) => store.hover(null, nearest(event)));
  inner.addEventListener("pointerleave", () => store.hover(null));
  inner.addEventListener("click", (event) => {
    const row = nearest(event);
    if (row !== null) store.selectRow(row);
  });
  return node;
}

/** Give the first and last place of each run of admitted categories; of all, where the runs are too many to tell. */
function runs(flags) {
  const starts = flags.flatMap((yes, place) => (yes && !flags[place - 1] ? [place] : []));
  const stops = flags.flatMap((yes, place) => (yes && !flags[place + 1] ? [place] : []));
  if (starts.length > RUNS) return [[starts[0], stops.at(-1)]];
  return starts.map((start, index) => [start, stops[index]]);
}

/** Take some of the rows, evenly spaced. */
function evenly(rows, most) {
  const step = Math.max(1, rows / most);
  return Array.from({ length: Math.min(rows, most) }, (_, place) => Math.floor(place * step));
}
