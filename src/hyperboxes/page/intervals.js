// Intervals per feature: each box as a bar within the data's range, beside the histograms of the classes.
// The picture that works in fifty dimensions.

import { button, el, put, rove, say, svg } from "./dom.js";
import { boundOf, makeEdge, speakEdge } from "./edits.js";
import { flagsOf, mustMiss, restricted, setCategories } from "./model.js";
import { formatNumber, LEAST_NUMBER, roughly } from "./numbers.js";
import { breakable, panelHead, shorten } from "./parts.js";
import { Axis } from "./table.js";

const LANE = 15;
const HISTOGRAM = 38;
const FIRST = 12;
const BINS = 48;
const LEFT = 26;
const RIGHT = 16;

const HINT = "Each bar is what one box admits, under the distribution of the classes. "
  + "Drag an edge; past the end it opens.";
const SPOKEN = "Intervals of the boxes, feature by feature. Arrow left and right move an edge from value to value, "
  + "up and down go to other edges, Delete opens a side.";

export function intervalsView(store) {
  const list = el("div", { class: "strips", role: "group", "aria-label": SPOKEN });
  const stops = rove(list, ".edge", { next: ["ArrowDown"], previous: ["ArrowUp"] });
  let all = false;
  let width = 600;
  const more = button("", { text: "", class: "more", onclick: () => { all = !all; store.tell("layout"); } });
  const node = el("section", { class: "panel intervals", "aria-label": "Intervals" },
    panelHead("Intervals", HINT),
    list, more);
  const strips = new Map();
  new ResizeObserver(([entry]) => {
    const now = Math.round(entry.contentRect.width);
    if (now && now !== width) {
      width = now;
      store.tell("layout");
    }
  }).observe(list);

  let order = [];
  store.follow((topics) => {
    if (["start", "layout", "select", "model", "drag"].some((topic) => topics.has(topic)) && !store.state.dragging) {
      order = chosen(store, all);
      const used = order.used;
      const hidden = used - order.length;
      more.hidden = used <= FIRST;
      say(more, hidden > 0 ? `Show all ${used} restricted features` : "Show fewer");
      for (const [feature, one] of [...strips]) {
        if (order.includes(feature)) continue;
        one.node.remove();
        strips.delete(feature);
      }
      order.forEach((feature, place) => {
        if (!strips.has(feature)) strips.set(feature, strip(store, feature));
        const one = strips.get(feature);
        if (list.children[place] !== one.node) list.insertBefore(one.node, list.children[place] ?? null);
        one.layout(width);
      });
      stops();
    }
    for (const one of strips.values()) one.update(topics);
  });
  return node;
}

/** Choose the features to show: those that boxes restrict, most used first, those of the selected box always. */
function chosen(store, all) {
  const { order, use } = store.byUse();
  const used = order.filter((feature) => use[feature] > 0);
  const own = store.state.box === null ? [] : restricted(store.boxOf(store.state.box));
  const shown = used.filter((feature, place) => all || place < FIRST || own.includes(feature));
  shown.used = used.length;
  return shown;
}

function strip(store, feature) {
  const { shown, categories } = store.features[feature];
  const name = el("div", { class: "strip-name", title: shown }, breakable(shown));
  const picture = svg("svg", { class: "strip", role: "presentation" });
  const histogram = svg("g", { class: "histogram" });
  const lanesNode = svg("g");
  const ends = [svg("text", { class: "end" }), svg("text", { class: "end last" })];
  const ticks = svg("g", { class: "end" });
  const pin = svg("line", { class: "pin" });
  const hoverPin = svg("line", { class: "pin hover" });
  picture.append(histogram, lanesNode, hoverPin, pin, ...ends, ticks);
  const node = el("div", { class: "strip-row", "data-feature": feature }, name, picture);
  const axis = new Axis(store.ranges[feature], categories ? 0 : 0.02);
  let width = 0;
  let lanes = [];
  let signature = null;
  const room = () => Math.max(1, width - LEFT - RIGHT);
  const x = (value) => LEFT + axis.share(value) * room();
  const scale = {
    x, feature,
    value: (at) => axis.value((at - LEFT) / room()),
    clip: (at) => Math.max(LEFT, Math.min(width - RIGHT, at)),
    right: () => width - RIGHT,
    span: () => axis.span(room()),
  };

  function layout(total) {
    const wide = total > 560 ? total - 168 : total;
    const restricts = (box) => box.bounds.has(feature) || box.sets.has(feature);
    const owners = store.model.boxes.filter(restricts).map((box) => {
      const kind = categories ? setLane : mustMiss(box, feature) ? missingLane : boundLane;
      return { id: box.id, kind, key: `${box.id} ${kind.name}` };
    });
    const now = `${wide} ${owners.map(({ key }) => key)}`;
    if (now === signature) return;
    signature = now;
    width = wide;
    const height = HISTOGRAM + 4 + owners.length * LANE + 15;
    put(picture, "width", width);
    put(picture, "height", height);
    put(picture, "viewBox", `0 0 ${width} ${height}`);
    histogram.replaceChildren(...bars(store, feature, x, width));
    const kept = new Map(lanes.map((lane) => [lane.key, lane]));
    lanes = owners.map(({ id, kind, key }) => kept.get(key) ?? { key, ...kind(store, id, scale) });
    lanesNode.replaceChildren(...lanes.map((lane) => lane.node));
    lanes.forEach((lane, place) => put(lane.node, "transform", `translate(0 ${HISTOGRAM + 4 + place * LANE})`));
    if (categories) {
      const each = (width - LEFT - RIGHT) / categories.length;
      ticks.replaceChildren(...categories.map((category, place) => {
        const text = shorten(category.shown, Math.floor(each / 6.2));
        return svg("text", { class: "end middle", x: x(place), y: height - 3 }, text);
      }));
    } else {
      const [first, last] = store.ranges[feature];
      say(ends[0], roughly(first));
      say(ends[1], roughly(last));
      put(ends[0], "x", LEFT);
      put(ends[1], "x", width - RIGHT);
      for (const end of ends) put(end, "y", height - 3);
    }
    for (const line of [pin, hoverPin]) { put(line, "y1", 0); put(line, "y2", height - 14); }
    for (const lane of lanes) lane.update();
  }

  function place(line, cell) {
    const at = Number.isFinite(cell) && cell >= axis.low && cell <= axis.high ? x(cell) : null;
    line.style.display = at === null ? "none" : "";
    if (at !== null) { put(line, "x1", at); put(line, "x2", at); }
  }

  function update(topics) {
    const { cells, hoverRow, box: selected } = store.state;
    if (topics.has("model") || topics.has("select") || topics.has("start")) for (const lane of lanes) lane.update();
    const focus = store.focus;
    picture.classList.toggle("focused", focus !== null);
    for (const lane of lanes) {
      lane.node.classList.toggle("lit", lane.id === focus || lane.id === selected);
    }
    const fresh = topics.has("start") || topics.has("layout");
    if (fresh || topics.has("row")) place(pin, cells ? cells[feature] : NaN);
    if (fresh || topics.has("hover")) place(hoverPin, hoverRow === null ? NaN : store.columns[feature][hoverRow]);
  }
  return { node, layout, update };
}

/** Draw the histogram of a feature, the classes one on top of the other. */
function bars(store, feature, x, width) {
  const { categories } = store.features[feature];
  const cells = store.columns[feature];
  const axis = new Axis(store.ranges[feature]);
  const n = store.classes.length;
  const bins = categories ? categories.length : Math.min(BINS, Math.max(12, Math.floor(width / 9)));
  const counts = new Float64Array(bins * n);
  for (let row = 0; row < cells.length; row += 1) {
    if (!(cells[row] >= axis.low && cells[row] <= axis.high)) continue;
    const bin = categories ? cells[row] : Math.min(bins - 1, Math.floor(axis.share(cells[row]) * bins));
    counts[bin * n + store.truth[row]] += 1;
  }
  let most = 1;
  for (let bin = 0; bin < bins; bin += 1) {
    let sum = 0;
    for (let label = 0; label < n; label += 1) sum += counts[bin * n + label];
    most = Math.max(most, sum);
  }
  const paths = store.classes.map(() => "");
  for (let bin = 0; bin < bins; bin += 1) {
    const from = categories ? x(bin - 0.32) : x(axis.value(bin / bins)) + 0.5;
    const to = categories ? x(bin + 0.32) : x(axis.value((bin + 1) / bins)) - 0.5;
    let base = HISTOGRAM;
    for (let label = 0; label < n; label += 1) {
      const height = (counts[bin * n + label] / most) * (HISTOGRAM - 3);
      if (!height) continue;
      const [left, right, bottom, top] = [from, to, base, base - height].map((at) => at.toFixed(1));
      paths[label] += `M${left} ${bottom}V${top}H${right}V${bottom}Z`;
      base -= height;
    }
  }
  const made = paths.map((d, label) => {
    const path = svg("path", { d });
    path.style.setProperty("--own", `var(--class-${label})`);
    return path;
  });
  const [y1, y2] = [HISTOGRAM + 0.5, HISTOGRAM + 0.5];
  return [...made, svg("line", { class: "ground", x1: LEFT, x2: width - RIGHT, y1, y2 })];
}

function laneBase(store, id) {
  const number = svg("text", { class: "lane-number", x: LEFT - 8, y: LANE / 2 + 3.5 });
  const node = svg("g", {
    class: "lane", "data-box": id,
    onpointerenter: () => { if (!store.state.dragging) store.hover(id); },
    onpointerleave: () => { if (!store.state.dragging) store.hover(null); },
  }, number);
  function label(box) {
    say(number, String(store.places.get(id)));
    node.style.setProperty("--own", `var(--class-${box.label})`);
  }
  const choose = () => store.selectBox(store.state.box === id ? null : id);
  return { node, label, choose };
}

/** That a value must be missing has no place on the axis: a word says it. */
function missingLane(store, id, scale) {
  const { node, label, choose } = laneBase(store, id);
  const back = svg("rect", { class: "lane-back", height: LANE, y: 0, x: LEFT, onclick: choose });
  node.append(back, svg("text", { class: "lane-missing", x: LEFT, y: LANE / 2 + 3.5 }, "missing"));
  function update() {
    if (!store.places.has(id)) return;
    label(store.boxOf(id));
    put(back, "width", Math.max(0, scale.right() - LEFT));
  }
  return { id, node, update };
}

/** A box's interval in one feature, with an edge on each side; an open side has a faint arrow to pull in. */
function boundLane(store, id, scale) {
  const { feature } = scale;
  const { node, label, choose } = laneBase(store, id);
  const back = svg("rect", { class: "lane-back", height: LANE, y: 0, onclick: choose });
  const bar = svg("rect", { class: "bar", y: 4, height: LANE - 8, rx: 1.5, onclick: choose });
  const edges = ["lower", "upper"].map((side) => edge(store, id, side, scale, () => node.ownerSVGElement));
  node.append(back, bar, ...edges.map((one) => one.node));
  function update() {
    const box = store.places.has(id) ? store.boxOf(id) : null;
    if (!box) return;
    const [low, high] = ["lower", "upper"].map((side) => boundOf(box, feature, side));
    const from = scale.clip(Number.isFinite(low) ? scale.x(low) : -1e9);
    const to = scale.clip(Number.isFinite(high) ? scale.x(high) : 1e9);
    label(box);
    put(back, "x", LEFT);
    put(back, "width", Math.max(0, scale.right() - LEFT));
    put(bar, "x", from.toFixed(2));
    put(bar, "width", Math.max(1.5, to - from).toFixed(2));
    edges[0].update(box, low, from, to);
    edges[1].update(box, high, to, from);
  }
  return { id, node, update };
}

function edge(store, id, side, scale, picture) {
  const hit = svg("rect", { class: "hit", y: -1, height: LANE + 2 });
  const line = svg("path", { class: "edge-line" });
  const text = svg("text", { class: "edge-value", y: LANE / 2 + 3.5 });
  const node = svg("g", { class: "edge", tabindex: -1, "data-side": side }, svg("title"), hit, line, text);
  const at = (event) => event.clientX - picture().getBoundingClientRect().left;
  makeEdge(node, store, {
    where: () => ({ id, feature: scale.feature, side }),
    toValue: (event) => scale.value(scale.clip(at(event))),
    span: scale.span,
    beyond: (event) => (side === "lower" ? at(event) < LEFT - 4 : at(event) > scale.right() + 4),
  });
  function update(box, bound, here, other) {
    const known = bound === LEAST_NUMBER; // any value will do, but there must be one
    const closed = Number.isFinite(bound);
    const out = side === "lower" ? -1 : 1;
    put(hit, "x", here - 8 + (closed ? out * 2 : -out * 2));
    put(hit, "width", 16);
    const tip = here + out * 3;
    put(line, "d", closed
      ? `M${here.toFixed(2)} 1.5V${LANE - 1.5}`
      : `M${tip - out * 4} ${LANE / 2 - 3.5}L${tip} ${LANE / 2}L${tip - out * 4} ${LANE / 2 + 3.5}`);
    node.classList.toggle("open", !closed);
    // The number stands outside the bar, or inside where there is no room.
    const shown = known ? "known" : closed ? formatNumber(bound) : "";
    const room = side === "lower" ? here - LEFT : scale.right() - here;
    const inside = room < shown.length * 6.3 + 8;
    const way = inside ? -out : out;
    say(text, shown);
    put(text, "x", (here + way * 5).toFixed(2));
    put(text, "text-anchor", way < 0 ? "end" : "start");
    const tight = inside && Math.abs(other - here) < shown.length * 6.3 + 12;
    text.style.display = tight ? "none" : "";
    speakEdge(node, store, box, scale.feature, side);
  }
  return { node, update };
}

/** A box's set of categories: a cell for each, to be switched by a click or by the space bar. */
function setLane(store, id, scale) {
  const { feature } = scale;
  const { categories, shown } = store.features[feature];
  const { node, label } = laneBase(store, id);
  const flip = (place) => {
    const flags = flagsOf(store.boxOf(id), feature, categories.length);
    flags[place] = !flags[place];
    store.selectBox(id);
    store.edit((model) => setCategories(model, id, feature, flags));
  };
  const cells = categories.map((category, place) => {
    const title = svg("title");
    const one = svg("rect", {
      class: "bar cell edge", role: "checkbox", tabindex: -1, y: 3, height: LANE - 6, rx: 1.5,
      onclick: () => flip(place),
      onkeydown: (event) => {
        const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
        if (event.key === " " || event.key === "Enter") { event.preventDefault(); flip(place); }
        if (step) { event.preventDefault(); cells[place + step]?.focus(); }
      },
    }, title);
    return one;
  });
  node.append(...cells);
  function update() {
    const box = store.places.has(id) ? store.boxOf(id) : null;
    if (!box) return;
    label(box);
    const flags = flagsOf(box, feature, categories.length);
    cells.forEach((cell, place) => {
      const yes = flags[place];
      put(cell, "x", scale.x(place - 0.42));
      put(cell, "width", scale.x(place + 0.42) - scale.x(place - 0.42));
      cell.classList.toggle("off", !yes);
      put(cell, "aria-checked", String(yes));
      put(cell, "aria-label", `Box ${store.places.get(id)} admits ${shown} ${categories[place].shown}`);
      say(cell.firstChild, `${categories[place].shown}: ${yes ? "admitted" : "left out"}`);
    });
  }
  return { id, node, update };
}
