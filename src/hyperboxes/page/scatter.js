// Any two features: the rows as points, the boxes drawn over them, the edges of the selected box to be dragged.

import { el, put, say, svg } from "./dom.js";
import { boundOf, makeEdge, speakEdge } from "./edits.js";
import { mustMiss, restricted } from "./model.js";
import { formatNumber, roughly } from "./numbers.js";
import { ink } from "./palette.js";
import { choice, classTag, panelHead, shorten } from "./parts.js";
import { Board, rgb, stamp } from "./sprites.js";
import { Axis } from "./table.js";

/** More rows than this are drawn anew at most once in so many milliseconds while an edge is dragged. */
const FEW = 5000;
const BEAT = 80;
const MARGIN = { left: 46, right: 14, top: 26, bottom: 30 };

export function scatterView(store, styles) {
  const board = new Board(el("canvas", { class: "points", "aria-hidden": "true" }));
  const picture = svg("svg", { class: "plane", role: "group", "aria-label": "Boxes over two features" });
  const stage = el("div", { class: "stage" }, board.canvas, picture);
  const tip = el("div", { class: "tip", role: "status" });
  stage.append(tip);
  let pair = firstPair(store);
  const options = store.features.map((feature, place) => [place, feature.shown]);
  const pick = (axis) => choice(axis ? "Vertical feature" : "Horizontal feature", options, {
    value: pair[axis], onchange: (feature) => { pair[axis] = feature; store.tell("pair"); }, "data-axis": axis,
  });
  const legend = el("div", { class: "legend" },
    store.classes.map((_, label) => el("span", { class: "key" }, classTag(label, store.classes, styles()))),
    [["mark hollow", "hollow: wrong answer"], ["dash", "dashed: restricts other features too"]].map(([look, text]) => (
      el("span", { class: "key" }, el("span", { class: look, "aria-hidden": "true" }), text))));
  const node = el("section", { class: "panel scatter", "aria-label": "Two features" },
    panelHead("Two features", "Select a box to drag its edges; click a point to ask why.",
      pick(0), el("span", { class: "by" }, "by"), pick(1)),
    stage, legend);

  let size = [600, 420];
  new ResizeObserver(([entry]) => {
    const width = Math.round(entry.contentRect.width);
    if (!width) return;
    size = [width, Math.round(Math.min(460, Math.max(300, width * 0.68)))];
    stage.style.height = `${size[1]}px`;
    store.tell("pair");
  }).observe(stage);

  let inSight = true;
  let owed = false;
  let drawnAt = 0;
  new IntersectionObserver(([entry]) => {
    inSight = entry.isIntersecting;
    if (inSight && owed) store.tell("points");
  }).observe(stage);

  const axes = svg("g", { class: "axes" });
  const shapes = svg("g");
  const handles = svg("g");
  const pinned = svg("circle", { class: "ring", r: 7 });
  const pointed = svg("circle", { class: "ring hover", r: 7 });
  picture.append(axes, shapes, pinned, pointed, handles);
  let plane = null;
  let places = { x: new Float32Array(0), y: new Float32Array(0) };
  const drawn = new Map();
  const edges = edgeHandles(store, handles, () => plane, () => pair, picture);

  function locate() {
    plane = planeOf(store, pair, size);
    put(picture, "viewBox", `0 0 ${size[0]} ${size[1]}`);
    axes.replaceChildren(...axisMarks(store, plane, pair));
    places = { x: plane.across(store.columns[pair[0]]), y: plane.down(store.columns[pair[1]]) };
  }

  let looks = null;
  function drawPoints() {
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    board.clear(Math.round(size[0] * ratio), Math.round(size[1] * ratio), rgb(ink("panel")));
    if (!looks) {
      const radius = (store.rows <= 400 ? 4.2 : store.rows <= 2500 ? 3.2 : store.rows <= 8000 ? 2.2 : 1.7) * ratio;
      looks = styles().map(({ colour, shape }) => (
        { colour: rgb(colour), full: stamp(shape, radius, false), hollow: stamp(shape, radius, true) }));
    }
    const inside = store.state.box === null ? null : store.judge.contains(store.boxOf(store.state.box));
    const strength = store.rows <= 400 ? 0.85 : store.rows <= 2500 ? 0.7 : 0.45;
    for (const wrong of [false, true]) {
      for (let row = 0; row < store.rows; row += 1) {
        const answer = store.answers.at(store.result.decided[row]);
        if ((answer !== store.truth[row]) !== wrong || !(places.x[row] >= 0) || !(places.y[row] >= 0)) continue;
        const look = looks[store.truth[row]];
        const faint = inside && !inside[row] ? 0.22 : 1;
        const alpha = (wrong ? 0.95 : strength) * faint;
        const sprite = wrong ? look.hollow : look.full;
        board.put(sprite, places.x[row] * ratio, places.y[row] * ratio, look.colour, alpha);
      }
    }
    board.show();
  }

  function drawBoxes() {
    const left = new Set(drawn.keys());
    const taken = [];
    // A box that leaves both features open spans the picture and tells nothing, unless it is asked for.
    const telling = (box) => pair.some((feature) => box.bounds.has(feature) || box.sets.has(feature));
    const shown = store.model.boxes.filter((box) => box.id === store.focus || telling(box));
    picture.style.setProperty("--tint", Math.min(0.06, 0.3 / Math.max(1, shown.length)).toFixed(3));
    for (const box of shown) {
      if (!drawn.has(box.id)) {
        const one = boxShape(store, box.id);
        drawn.set(box.id, one);
        shapes.append(one.node);
      }
      drawn.get(box.id).update(box, plane, pair, taken);
      left.delete(box.id);
    }
    for (const id of left) {
      drawn.get(id).node.remove();
      drawn.delete(id);
    }
    const chosen = drawn.get(store.focus);
    if (chosen) shapes.append(chosen.node);
    edges.update();
  }

  const ring = (circle, row, cells) => {
    const x = row === null ? (cells ? plane.atX(cells[pair[0]], 0) : NaN) : places.x[row];
    const y = row === null ? (cells ? plane.atY(cells[pair[1]], 0) : NaN) : places.y[row];
    circle.style.display = x >= 0 && y >= 0 ? "" : "none";
    if (x >= 0 && y >= 0) { put(circle, "cx", x); put(circle, "cy", y); }
  };

  store.follow((topics) => {
    const fresh = ["start", "pair", "theme"].some((topic) => topics.has(topic)) || !plane;
    if (fresh) {
      looks = null;
      locate();
    }
    if (fresh || owed || topics.has("model") || topics.has("select")) {
      // Out of sight, the points wait; many of them keep to a slower beat than the edge that is dragged.
      const early = store.state.dragging && store.rows > FEW && performance.now() - drawnAt < BEAT;
      owed = !fresh && (!inSight || early);
      if (!owed) {
        drawPoints();
        drawnAt = performance.now();
      }
    }
    if (fresh || topics.has("model") || topics.has("select") || topics.has("hover")) drawBoxes();
    for (const [id, one] of drawn) {
      one.node.classList.toggle("lit", id === store.focus);
      one.node.classList.toggle("selected", id === store.state.box);
    }
    picture.classList.toggle("focused", store.focus !== null);
    const typed = store.state.cells && store.state.row !== null && !isRow(store, store.state.row, store.state.cells);
    ring(pinned, typed ? null : store.state.row, store.state.cells);
    ring(pointed, store.state.hoverRow, null);
  });

  function nearest(event) {
    const frame = stage.getBoundingClientRect();
    const [x, y] = [event.clientX - frame.left, event.clientY - frame.top];
    let best = null;
    let least = 100;
    for (let row = 0; row < store.rows; row += 1) {
      const away = (places.x[row] - x) ** 2 + (places.y[row] - y) ** 2;
      if (away < least) { least = away; best = row; }
    }
    return { row: best, x, y };
  }
  stage.addEventListener("pointermove", (event) => {
    if (store.state.dragging) { tip.hidden = true; return; }
    const { row } = nearest(event);
    const id = event.target.closest?.("[data-box]")?.dataset.box;
    store.hover(id === undefined ? null : Number(id), row);
    tip.hidden = row === null;
    if (row === null) return;
    const decided = store.result.decided[row];
    const answer = store.answers.at(decided);
    const by = decided < 0 ? "no box" : `box ${decided}`;
    const truth = store.classes[store.truth[row]].shown;
    const said = answer < 0 ? "nothing" : store.classes[answer].shown;
    say(tip, `row ${formatNumber(store.ids[row])}: ${truth}; answered ${said} by ${by}`);
    const right = places.x[row] > size[0] * 0.55;
    tip.style.left = right ? "" : `${places.x[row] + 12}px`;
    tip.style.right = right ? `${size[0] - places.x[row] + 12}px` : "";
    tip.style.top = `${Math.max(4, places.y[row] - 14)}px`;
  });
  stage.addEventListener("pointerleave", () => { tip.hidden = true; if (!store.state.dragging) store.hover(null); });
  stage.addEventListener("click", (event) => {
    if (event.target.closest?.(".edge")) return;
    const { row } = nearest(event);
    const id = event.target.closest?.("[data-box]")?.dataset.box;
    if (row !== null) store.selectRow(row);
    else store.selectBox(id === undefined || Number(id) === store.state.box ? null : Number(id));
  });
  tip.hidden = true;
  return node;
}

function isRow(store, row, cells) {
  return cells.every((cell, feature) => Object.is(cell, store.columns[feature][row]));
}

/** Take the two features by which most rows are decided, in the order of the table. */
function firstPair(store) {
  const { order } = store.byUse();
  return order.length > 1 ? order.slice(0, 2).sort((a, b) => a - b) : [0, 0];
}

/** Map two features onto the picture. A category has a place of its own, and its points are strewn in it. */
function planeOf(store, pair, [width, height]) {
  const room = (feature) => (store.features[feature].categories ? 0.02 : 0.05);
  const axes = pair.map((feature) => new Axis(store.ranges[feature], room(feature)));
  const limits = axes.map(({ low, high }) => [low, high]);
  const frame = { left: MARGIN.left, right: width - MARGIN.right, top: MARGIN.top, bottom: height - MARGIN.bottom };
  const [across, down] = [frame.right - frame.left, frame.bottom - frame.top];
  const atX = (cell) => frame.left + axes[0].share(cell) * across;
  const atY = (cell) => frame.bottom - axes[1].share(cell) * down;
  // Strewn evenly, and the same each time: fractions of a multiple of an irrational number.
  const strew = (row, by) => (((row * by) % 1) - 0.5) * 0.6;
  const map = (at, feature, by) => (cells) => Float32Array.from(cells, (cell, row) => {
    if (!Number.isFinite(cell) || (store.features[feature].categories && cell < 0)) return NaN;
    return at(store.features[feature].categories ? cell + strew(row, by) : cell);
  });
  return {
    frame, limits, atX, atY,
    across: map(atX, pair[0], 0.6180339887), down: map(atY, pair[1], 0.7548776662),
    valueX: (x) => axes[0].value((x - frame.left) / across),
    valueY: (y) => axes[1].value((frame.bottom - y) / down),
    spanX: axes[0].span(across), spanY: axes[1].span(down),
  };
}

function niceTicks([low, high], most) {
  const rough = (high / 2 - low / 2) / (most / 2);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((unit) => unit * power).find((unit) => unit >= rough);
  const first = Math.ceil(low / step);
  const length = Math.max(0, Math.min(20, Math.floor(high / step) - first + 1));
  return Array.from({ length }, (_, place) => (first + place) * step);
}

function axisMarks(store, { frame, limits, atX, atY }, pair) {
  const marks = [];
  pair.forEach((feature, axis) => {
    const { categories, shown } = store.features[feature];
    const room = axis ? frame.bottom - frame.top : frame.right - frame.left;
    const ticks = categories ? categories.map((_, place) => place) : niceTicks(limits[axis], Math.max(2, room / 80));
    for (const tick of ticks) {
      const at = axis ? atY(tick) : atX(tick);
      if (!Number.isFinite(at)) continue;
      const most = axis ? 6 : Math.floor(room / ticks.length / 6.5);
      const text = categories ? shorten(categories[tick].shown, most) : roughly(tick);
      marks.push(axis
        ? svg("line", { class: "grid", x1: frame.left, x2: frame.right, y1: at, y2: at })
        : svg("line", { class: "grid", y1: frame.top, y2: frame.bottom, x1: at, x2: at }));
      marks.push(axis
        ? svg("text", { class: "tick end", x: frame.left - 6, y: at + 3.5 }, text)
        : svg("text", { class: "tick middle", x: at, y: frame.bottom + 14 }, text));
    }
    marks.push(axis
      ? svg("text", { class: "axis-name", x: 2, y: frame.top - 12 }, shown)
      : svg("text", { class: "axis-name end", x: frame.right, y: frame.bottom + 27 }, shown));
  });
  return marks;
}

/** List what a box admits of a feature as intervals on the axis, where a missing value has no place. */
function spans(store, box, feature, [low, high]) {
  const set = box.sets.get(feature);
  if (set) {
    const cell = (place) => ({ from: place - 0.42, to: place + 0.42, closed: [true, true] });
    return set.flags.flatMap((yes, place) => (yes ? [cell(place)] : []));
  }
  if (mustMiss(box, feature)) return [];
  const [from, to] = box.bounds.get(feature) ?? [-Infinity, Infinity];
  return [{ from: Math.max(from, low), to: Math.min(to, high), closed: [from >= low, to <= high] }];
}

function boxShape(store, id) {
  const fill = svg("path", { class: "box-fill" });
  const line = svg("path", { class: "box-line" });
  const number = svg("text", { class: "box-number" });
  const plate = svg("rect", { class: "box-plate", height: 15, rx: 2 });
  const node = svg("g", { class: "box-shape", "data-box": id }, fill, line, plate, number);
  function update(box, plane, pair, taken) {
    const across = spans(store, box, pair[0], plane.limits[0]);
    const down = spans(store, box, pair[1], plane.limits[1]);
    let area = "";
    let sides = "";
    let corner = null;
    for (const h of across) {
      for (const v of down) {
        if (h.from > h.to || v.from > v.to) continue;
        const ends = [plane.atX(h.from), plane.atX(h.to), plane.atY(v.to), plane.atY(v.from)];
        const [x0, x1, y0, y1] = ends.map((at) => Math.round(at * 10) / 10);
        area += `M${x0} ${y0}H${x1}V${y1}H${x0}Z`;
        if (h.closed[0]) sides += `M${x0} ${y0}V${y1}`;
        if (h.closed[1]) sides += `M${x1} ${y0}V${y1}`;
        if (v.closed[1]) sides += `M${x0} ${y0}H${x1}`;
        if (v.closed[0]) sides += `M${x0} ${y1}H${x1}`;
        corner ??= [x0, y0];
      }
    }
    put(fill, "d", area);
    put(line, "d", sides);
    const place = store.places.get(id);
    const others = restricted(box).some((feature) => !pair.includes(feature));
    line.classList.toggle("shadow", others);
    node.style.setProperty("--own", `var(--class-${box.label})`);
    node.style.display = area ? "" : "none";
    if (corner) {
      const wide = 7 + 7 * String(place).length;
      // Numbers of boxes that share a corner stand side by side.
      const clash = () => taken.find(([x, y, width]) => (
        Math.abs(y - corner[1]) < 15 && x < corner[0] + wide && corner[0] < x + width));
      for (let other = clash(); other; other = clash()) corner[0] = other[0] + other[2] + 1;
      taken.push([corner[0], corner[1], wide]);
      say(number, String(place));
      put(number, "x", corner[0] + 2 + wide / 2);
      put(number, "y", corner[1] + 13.5);
      put(plate, "x", corner[0] + 2);
      put(plate, "y", corner[1] + 2);
      put(plate, "width", wide);
    }
  }
  return { node, update };
}

/** The four edges of the selected box, to be dragged or moved by keys. */
function edgeHandles(store, parent, plane, pair, picture) {
  const made = [0, 1].flatMap((axis) => ["lower", "upper"].map((side) => {
    const hit = svg("line", { class: "hit" });
    const grip = svg("rect", { class: "grip", rx: 2 });
    const node = svg("g", {
      class: `edge ${axis ? "vertical" : "horizontal"}`, tabindex: 0, "data-side": side, "data-axis": axis,
    }, svg("title"), hit, grip);
    const at = (event) => {
      const frame = picture.getBoundingClientRect();
      return axis ? event.clientY - frame.top : event.clientX - frame.left;
    };
    makeEdge(node, store, {
      where: () => ({ id: store.state.box, feature: pair()[axis], side }),
      axis: axis ? "y" : "x",
      toValue: (event) => (axis ? plane().valueY(at(event)) : plane().valueX(at(event))),
      span: () => (axis ? plane().spanY : plane().spanX),
      beyond: (event) => {
        const { frame } = plane();
        const [first, last] = axis ? [frame.top, frame.bottom] : [frame.left, frame.right];
        return (side === "lower") === !axis ? at(event) < first : at(event) > last;
      },
    });
    return { axis, side, node, hit, grip };
  }));
  parent.append(...made.map((one) => one.node));
  function update() {
    const box = store.state.box === null ? null : store.boxOf(store.state.box);
    const [a, b] = pair();
    const { limits, frame, atX, atY } = plane();
    for (const { axis, side, node, hit, grip } of made) {
      const feature = axis ? b : a;
      const drawn = box && a !== b && !pair().some((one) => mustMiss(box, one));
      const usable = drawn && !box.sets.has(feature) && !store.features[feature].categories;
      node.style.display = usable ? "" : "none";
      if (!usable) continue;
      const clip = (value, [low, high]) => Math.max(low, Math.min(high, value));
      const sides = (one, which) => ["lower", "upper"].map((end) => clip(boundOf(box, one, end), limits[which]));
      const ends = store.features[axis ? a : b].categories
        ? (axis ? [frame.left, frame.right] : [frame.bottom, frame.top])
        : sides(axis ? a : b, 1 - axis).map(axis ? atX : atY);
      const bound = clip(boundOf(box, feature, side), limits[axis]);
      const here = axis ? atY(bound) : atX(bound);
      put(hit, axis ? "y1" : "x1", here);
      put(hit, axis ? "y2" : "x2", here);
      put(hit, axis ? "x1" : "y1", ends[0]);
      put(hit, axis ? "x2" : "y2", ends[1]);
      const middle = (ends[0] + ends[1]) / 2;
      put(grip, "width", axis ? 22 : 6);
      put(grip, "height", axis ? 6 : 22);
      put(grip, "x", axis ? middle - 11 : here - 3);
      put(grip, "y", axis ? here - 3 : middle - 11);
      node.classList.toggle("open", !Number.isFinite(boundOf(box, feature, side)));
      speakEdge(node, store, box, feature, side);
    }
  }
  return { update };
}
