// The boxes as cards, in the order in which they decide: the rule, its figures, typical rows. The selected card is
// an editor.

import { button, el, put, rove, say } from "./dom.js";
import { boundOf, closeSide, openSide } from "./edits.js";
import { copyBox, moveBox, openFeature, removeBox, setBound, setCategories, setLabel } from "./model.js";
import { flagsOf, mustMiss, restricted } from "./model.js";
import { formatCount, formatNumber, LEAST_NUMBER } from "./numbers.js";
import { choice, mark, meter, panelHead } from "./parts.js";
import { medoid } from "./table.js";
import { conditionText, otherwiseText } from "./text.js";

export function cardsView(store, styles) {
  const list = el("ol", { class: "cards", "aria-label": "Boxes, in the order in which they decide" });
  const rest = elseCard(store, styles);
  const stops = rove(list, ".card-title", { next: ["ArrowDown"], previous: ["ArrowUp"] });
  const cards = new Map();
  const node = el("section", { class: "panel boxes", "aria-label": "Boxes" },
    panelHead("Boxes", "The first box that contains a row decides.",
      button("Add a box that admits every row", { glyph: "plus", text: "New", onclick: () => {
        store.edit((model) => copyBox(model, null));
        store.selectBox(store.model.boxes.at(-1).id);
      } })),
    list, rest.node);
  let rested = 0;
  store.follow((topics) => {
    if (["start", "model", "select"].some((topic) => topics.has(topic))) {
      for (const id of [...cards.keys()]) {
        if (!store.places.has(id)) {
          cards.get(id).node.remove();
          cards.delete(id);
        }
      }
      store.model.boxes.forEach((box, place) => {
        if (!cards.has(box.id)) cards.set(box.id, card(store, styles, box.id));
        const one = cards.get(box.id);
        one.update();
        if (list.children[place] !== one.node) list.insertBefore(one.node, list.children[place] ?? null);
      });
      rest.update();
      stops();
      // Typical rows take longer to find than a frame has: once the hand rests.
      clearTimeout(rested);
      rested = setTimeout(() => cards.forEach((one) => one.typical()), topics.has("start") ? 0 : 200);
    }
    for (const [id, one] of cards) {
      one.node.classList.toggle("hover", store.state.hoverBox === id);
      one.node.classList.toggle("holds", holdsRow(store, id));
    }
    if (topics.has("select") && cards.has(store.state.box)) {
      const { node: chosen } = cards.get(store.state.box);
      const frame = list.getBoundingClientRect();
      // Only within the list: the page must not jump when a box is chosen in a picture.
      if (list.scrollHeight > list.clientHeight) {
        const here = chosen.getBoundingClientRect();
        if (here.top < frame.top || here.bottom > frame.bottom) list.scrollTop += here.top - frame.top - 8;
      }
    }
  });
  return node;
}

function holdsRow(store, id) {
  const { row } = store.state;
  return row !== null && store.judge.contains(store.boxOf(id))[row] === 1;
}

function card(store, styles, id) {
  const number = el("span", { class: "number-badge" });
  const label = el("span", { class: "label" });
  const badge = el("span", { class: "then" });
  const title = el("button", {
    type: "button", class: "card-title", tabindex: -1,
    onclick: () => store.selectBox(store.state.box === id ? null : id),
  }, number, badge, label);
  const body = el("div", { class: "conditions" });
  const rows = el("span", { class: "rows" });
  const precision = meter("small");
  const recall = meter("small");
  const typical = el("p", { class: "typical" });
  const figures = figureLine(rows, precision.node, recall.node);
  const tools = el("div", { class: "card-tools" });
  const node = el("li", {
    class: "card", "data-box": id,
    onpointerenter: () => store.hover(id), onpointerleave: () => store.hover(null),
  }, title, body, figures, typical, tools);
  let structure = null;
  let lines = [];

  function build(box, selected) {
    lines = restricted(box).map((feature) => (selected ? editor(store, id, feature) : plain(store, id, feature)));
    body.replaceChildren(...lines.map((line) => line.node));
    if (!lines.length) body.append(el("p", { class: "condition always" }, "always"));
    tools.replaceChildren(...(selected ? toolsOf(store, id) : []));
  }

  function update() {
    const box = store.boxOf(id);
    const place = store.places.get(id);
    const selected = store.state.box === id;
    // A card is built anew only when its lines change: a field that is being typed in stays.
    const now = `${selected} ${restricted(box).map((feature) => [feature, mustMiss(box, feature)])}`;
    if (now !== structure) build(box, selected);
    structure = now;
    for (const line of lines) line.update(box);
    say(number, String(place));
    if (badge.dataset.label !== String(box.label)) {
      badge.dataset.label = box.label;
      badge.replaceChildren(mark(box.label, styles));
      say(label, store.classes[box.label].shown);
      node.style.setProperty("--own", `var(--class-${box.label})`);
    }
    put(title, "aria-label", `Box ${place}: ${store.classes[box.label].shown}`);
    put(title, "aria-expanded", String(selected));
    node.classList.toggle("selected", selected);
    const figure = store.figures.boxes[place];
    say(rows, formatCount(figure.rows));
    precision.set(figure.precision, figure.precisionInterval);
    recall.set(figure.recall, figure.recallInterval);
    put(node, "data-rows", figure.rows);
  }

  function findTypical() {
    if (!store.places.has(id)) return;
    const chosen = typicalRows(store, id);
    const chip = (text, row) => el("button", {
      type: "button", class: "chip", onclick: () => store.selectRow(row),
      onpointerenter: () => store.hover(id, row), onpointerleave: () => store.hover(id),
    }, `${text} ${formatNumber(store.ids[row])}`);
    typical.replaceChildren(...chosen.map(({ text, row }) => chip(text, row)));
  }

  return { node, update, typical: findTypical };
}

function figureLine(rows, precision, recall) {
  const figure = (name, meaning, node) => (
    el("span", { class: "figure" }, el("span", { class: "name", title: meaning }, name), node));
  return el("div", { class: "figures" },
    figure("Rows", "rows that are decided here", rows),
    figure("Precision", "share of these rows in the class", precision),
    figure("Recall", "share of the class in these rows", recall));
}

/** Choose rows that stand for a box: the most central one of its class, and of those it gets wrong. */
function typicalRows(store, id) {
  const place = store.places.get(id);
  const box = store.boxOf(id);
  const right = [];
  const wrong = [];
  store.result.decided.forEach((decided, row) => {
    if (decided === place) (store.truth[row] === box.label ? right : wrong).push(row);
  });
  const features = restricted(box);
  return [["typical row", right], ["typical error", wrong]]
    .filter(([, rows]) => rows.length)
    .map(([text, rows]) => ({ text, row: medoid(rows, store.columns, features, store.unit) }));
}

function plain(store, id, feature) {
  const node = el("p", { class: "condition", "data-feature": feature });
  return { node, update: (box) => say(node, conditionText(box, feature, store.features)) };
}

/** Make a line of a selected card: a field for each side, the categories to tick, or that the value is missing. */
function editor(store, id, feature) {
  const { shown, categories } = store.features[feature];
  const lift = button(`Lift the condition on ${shown}`, {
    glyph: "close", class: "quiet", onclick: () => store.edit((model) => openFeature(model, id, feature)),
  });
  const head = el("div", { class: "editor-head" }, el("span", { class: "feature" }, shown), lift);
  const node = el("div", { class: "editor", "data-feature": feature }, head);
  if (categories) {
    const boxes = categories.map((category, place) => {
      const input = el("input", { type: "checkbox", onchange: () => {
        const flags = flagsOf(store.boxOf(id), feature, categories.length);
        flags[place] = input.checked;
        if (flags.includes(true)) store.edit((model) => setCategories(model, id, feature, flags));
        else input.checked = true; // a box admits at least one
      } });
      return { input, node: el("label", { class: "tick" }, input, el("span", {}, category.shown)) };
    });
    node.append(el("div", { class: "ticks" }, boxes.map((one) => one.node)));
    const update = (box) => {
      const flags = flagsOf(box, feature, categories.length);
      boxes.forEach(({ input }, place) => { input.checked = flags[place]; });
    };
    return { node, update };
  }
  if (mustMiss(store.boxOf(id), feature)) {
    head.firstChild.after(el("span", { class: "must-miss" }, "is missing"));
    return { node, update: () => {} };
  }
  const sides = ["lower", "upper"].map((side) => sideField(store, id, feature, side));
  const to = el("span", { class: "to", "aria-hidden": "true" }, "to");
  node.append(el("div", { class: "sides" }, sides[0].node, to, sides[1].node));
  return { node, update: (box) => sides.forEach((one) => one.update(box)) };
}

/** What stands in the field of a lower bound that only asks for a value. */
const KNOWN = "known";
const BAD_BOUND = {
  lower: `Give a number, "${KNOWN}" for any value at all, or nothing to leave the side open.`,
  upper: "Give a number, or nothing to leave the side open.",
};

function sideField(store, id, feature, side) {
  const name = `${side} bound of ${store.features[feature].shown}`;
  const input = el("input", {
    type: "text", inputmode: "decimal", autocomplete: "off", spellcheck: "false", placeholder: "open",
    "aria-label": name,
    onchange: () => {
      const text = input.value.trim();
      const open = side === "lower" ? -Infinity : Infinity;
      const known = side === "lower" && text.toLowerCase() === KNOWN;
      const value = text === "" ? open : known ? LEAST_NUMBER : Number(text.replace("−", "-"));
      const bad = Number.isNaN(value) || (text !== "" && !Number.isFinite(value));
      const [low, high] = [boundOf(store.boxOf(id), feature, "lower"), boundOf(store.boxOf(id), feature, "upper")];
      const crossed = side === "lower" ? value > high : value < low;
      if (bad) input.setCustomValidity(BAD_BOUND[side]);
      else if (crossed) input.setCustomValidity("The lower bound must not exceed the upper.");
      if (!input.reportValidity()) return;
      store.edit((model) => setBound(model, id, feature, side, value));
    },
    oninput: () => input.setCustomValidity(""),
    // Enter commits, Escape takes back: neither leaves the field.
    onkeydown: (event) => {
      if (event.key === "Escape") update(store.boxOf(id), true);
    },
  });
  const toggle = button(`Open or close the ${side} side`, { class: "quiet side", onclick: () => {
    const open = !Number.isFinite(boundOf(store.boxOf(id), feature, side));
    if (open) closeSide(store, id, feature, side);
    else openSide(store, id, feature, side);
  } });
  function update(box, force = false) {
    const bound = boundOf(box, feature, side);
    const closed = Number.isFinite(bound);
    const text = bound === LEAST_NUMBER ? KNOWN : closed ? formatNumber(bound) : "";
    if (force || document.activeElement !== input || input.dataset.shown !== text) input.value = text;
    input.dataset.shown = text;
    say(toggle, closed ? "open" : "close");
    put(toggle, "aria-label", `${closed ? "Open" : "Close"} the ${side} side of ${store.features[feature].shown}`);
  }
  return { node: el("div", { class: "side-field" }, input, toggle), update };
}

function toolsOf(store, id) {
  const box = store.boxOf(id);
  const free = store.features.map((feature, place) => [place, feature.shown])
    .filter(([place]) => !box.bounds.has(place) && !box.sets.has(place));
  const add = choice("Add a condition on a feature", [[-1, "Add condition…"], ...free], {
    value: -1,
    onchange: (feature) => {
      if (feature < 0) return;
      const { categories } = store.features[feature];
      if (!categories) closeSide(store, id, feature, "upper");
      else if (categories.length > 1) {
        // A condition has to leave something out: the rarest category inside the box.
        const inside = store.judge.contains(store.boxOf(id));
        const found = categories.map(() => 0);
        inside.forEach((yes, row) => {
          const position = store.columns[feature][row];
          if (yes && position in found) found[position] += 1;
        });
        const rarest = found.indexOf(Math.min(...found));
        store.edit((model) => setCategories(model, id, feature, categories.map((_, place) => place !== rarest)));
      }
    },
  });
  const known = store.classes.slice(0, store.nKnown).map((one, label) => [label, one.shown]);
  const vote = choice("Class of the box", known, {
    value: box.label, onchange: (label) => store.edit((model) => setLabel(model, id, label)), class: "vote",
  });
  const tool = (label, glyph, name, change) => (
    button(label, { glyph, onclick: () => store.edit(change), "data-do": name }));
  return [
    el("div", { class: "selects" }, add, vote),
    el("div", { class: "buttons" },
      tool("Decide earlier", "up", "up", (model) => moveBox(model, id, -1)),
      tool("Decide later", "down", "down", (model) => moveBox(model, id, 1)),
      tool("Copy this box", "copy", "copy", (model) => copyBox(model, id)),
      tool("Delete this box", "trash", "delete", (model) => removeBox(model, id))),
  ];
}

function elseCard(store, styles) {
  const text = el("span", { class: "label" });
  const rows = el("span", { class: "rows" });
  const precision = meter("small");
  const recall = meter("small");
  const label = store.original.fallback;
  const node = el("div", { class: "card else" },
    el("div", { class: "card-title" }, el("span", { class: "number-badge" }, "else"), mark(label, styles), text),
    figureLine(rows, precision.node, recall.node));
  if (label >= 0) node.style.setProperty("--own", `var(--class-${label})`);
  function update() {
    const figure = store.figures.boxes.at(-1);
    say(text, otherwiseText(store.model, store.classes));
    say(rows, formatCount(figure.rows));
    precision.set(figure.precision, figure.precisionInterval);
    recall.set(figure.recall, figure.recallInterval);
  }
  return { node, update };
}
