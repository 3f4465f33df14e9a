// One row: why it got its class, and the smallest change that would alter that.

import { button, el } from "./dom.js";
import { explain } from "./explain.js";
import { restricted } from "./model.js";
import { formatNumber, nextAfter, roughly } from "./numbers.js";
import { choice, mark, panelHead } from "./parts.js";
import { conditionText } from "./text.js";

const DISTANCE = "The largest single change, in standard deviations of each feature; a category counts as one.";

export function rowView(store, styles) {
  const number = el("input", {
    type: "text", inputmode: "numeric", class: "row-number", placeholder: "row", autocomplete: "off",
    "aria-label": "Number of the row to explain",
    onchange: () => {
      const row = store.ids.indexOf(Number(number.value));
      if (number.value.trim() === "") return;
      const absent = store.sampled ? "This row is not among those drawn into the page." : "There is no such row.";
      number.setCustomValidity(row < 0 ? absent : "");
      if (number.reportValidity()) store.selectRow(row);
    },
    oninput: () => number.setCustomValidity(""),
  });
  const error = button("Show a row that gets the wrong answer", {
    text: "next error", onclick: () => nextError(store),
  });
  const empty = el("div", { class: "empty" },
    el("p", {}, "Click a point or a line, choose a typical row on a card, or type a row number."),
    el("p", {}, "Then change its values to see what the model would say."));
  const verdict = el("p", { class: "verdict", role: "status" });
  const reasons = el("ul", { class: "reasons" });
  const change = el("div", { class: "change-box" });
  const fields = el("div", { class: "fields" });
  const full = el("div", { class: "row-body" }, verdict, reasons, change, el("h3", {}, "Its values"), fields);
  const node = el("section", { class: "panel row", "aria-label": "Why this row" },
    panelHead("Why this row?", null, number, error), empty, full);
  let inputs = new Map();
  let shownFor = null;

  function build() {
    // Features that a box restricts: the others cannot matter.
    const used = [...new Set(store.model.boxes.flatMap(restricted))].sort((a, b) => a - b);
    if (String(used) === shownFor) return;
    shownFor = String(used);
    inputs = new Map(used.map((feature) => [feature, field(store, feature)]));
    fields.replaceChildren(...[...inputs.values()].map((one) => one.node));
    if (!inputs.size) fields.append(el("p", { class: "note" }, "No box restricts a feature."));
  }

  store.follow((topics) => {
    if (!["start", "model", "row"].some((topic) => topics.has(topic))) return;
    const { cells, row } = store.state;
    empty.hidden = cells !== null;
    full.hidden = cells === null;
    if (!cells) return;
    build();
    if (document.activeElement !== number) number.value = row === null ? "" : formatNumber(store.ids[row]);
    const found = explain(store.model, cells, store.unit);
    const typed = row === null || cells.some((cell, feature) => !Object.is(cell, store.columns[feature][row]));
    const truth = typed ? null : store.truth[row];
    const name = (label) => (label < 0 ? "no answer" : store.classes[label].shown);
    const right = truth === found.prediction;
    const judged = truth === null ? " Changed by hand." : right ? " Right." : ` Wrong: it is ${name(truth)}.`;
    const tone = truth === null ? "" : right ? "right" : "wrong";
    verdict.replaceChildren(
      mark(found.prediction, styles()), el("strong", {}, name(found.prediction)), reasonText(found),
      el("span", { class: `truth ${tone}` }, judged));
    const box = store.model.boxes[found.box];
    reasons.replaceChildren(...found.conditions.map(({ feature, holds }) => (
      el("li", { class: holds ? "holds" : "fails" },
        el("span", { class: "asked" }, conditionText(box, feature, store.features)),
        el("span", { class: "has" }, `has ${cellText(store, feature, cells[feature])}`)))));
    showChange(found, name, cells);
    for (const [feature, one] of inputs) one.update(cells[feature], row === null ? NaN : store.columns[feature][row]);
  });

  function showChange(found, name, cells) {
    const way = found.smallest;
    if (!way) {
      change.replaceChildren(el("p", { class: "note" }, "No single way into or out of a box gives another class."));
      return;
    }
    const moves = [...way.cells].map(([feature, cell]) => el("li", {},
      el("span", { class: "feature" }, store.features[feature].shown), " ",
      el("span", { class: "from" }, cellText(store, feature, cells[feature])), " → ",
      el("strong", {}, changeText(store, feature, cell, way.enters))));
    change.replaceChildren(
      el("p", {}, "Smallest change: it becomes ", el("strong", {}, name(way.prediction)),
        ` if it ${way.enters ? "enters" : "leaves"} box ${way.box}`),
      el("ul", { class: "moves" }, moves),
      button("Try this change", { text: "Try it", onclick: () => {
        const next = Float64Array.from(store.state.cells);
        for (const [feature, cell] of way.cells) next[feature] = cell;
        store.tryCells(next);
      }, "data-do": "try" }),
      el("span", { class: "note", title: DISTANCE }, ` distance ${roughly(way.distance)}`));
  }
  return node;
}

function reasonText({ box, held }) {
  if (box < 0) return " because no box contains it.";
  return held < 0 ? ` because box ${box} is the nearest.` : ` because it lies in box ${box}.`;
}

/** Write a cell: a number to the last digit, a category by its name. */
function cellText(store, feature, cell) {
  const { categories } = store.features[feature];
  if (Number.isNaN(cell)) return "missing";
  if (!categories) return formatNumber(cell);
  return categories[cell]?.shown ?? "unknown";
}

/** Write where a value has to go: just beyond a bound, rather than the float64 that is there. */
function changeText(store, feature, cell, enters) {
  if (enters || store.features[feature].categories) return cellText(store, feature, cell);
  const [below, above] = [formatNumber(nextAfter(cell, -1)), formatNumber(nextAfter(cell, 1))];
  return below.length < above.length ? `just above ${below}` : `just below ${above}`;
}

function field(store, feature) {
  const { shown, categories } = store.features[feature];
  const change = (cell) => {
    const next = Float64Array.from(store.state.cells);
    next[feature] = cell;
    store.tryCells(next);
  };
  let input;
  if (categories) {
    const known = categories.map((category, place) => [place, category.shown]);
    const missing = store.model.named[feature] ? [] : [[-2, "missing"]];
    input = choice(shown, [...known, [-1, "unknown"], ...missing], {
      value: 0, onchange: (place) => change(place === -2 ? NaN : place),
    });
  } else {
    input = el("input", {
      type: "text", inputmode: "decimal", "aria-label": shown, placeholder: "missing", autocomplete: "off",
      oninput: () => {
        const text = input.value.trim().replace("−", "-");
        const cell = text === "" ? NaN : Number(text);
        const bad = text !== "" && Number.isNaN(cell);
        input.setCustomValidity(bad ? "Give a number, or nothing for a missing value." : "");
        if (!bad) change(cell);
      },
    });
  }
  const node = el("label", { class: "field" }, el("span", { class: "feature", title: shown }, shown), input);
  function update(cell, original) {
    node.classList.toggle("changed", !Object.is(cell, original) && !(Number.isNaN(cell) && Number.isNaN(original)));
    if (categories) input.value = Number.isNaN(cell) ? "-2" : categories[cell] ? String(cell) : "-1";
    else if (document.activeElement !== input) input.value = Number.isNaN(cell) ? "" : formatNumber(cell);
  }
  return { node, update };
}

function nextError(store) {
  const { decided } = store.result;
  for (let step = 1; step <= store.rows; step += 1) {
    const row = ((store.state.row ?? -1) + step) % store.rows;
    if (store.answers.at(decided[row]) !== store.truth[row]) {
      store.selectRow(row);
      return;
    }
  }
}
