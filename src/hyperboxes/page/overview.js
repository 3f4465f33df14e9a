// The head of the page, which stays in sight, and the overview: how good the model is, and where it errs.

import { button, el, put, say } from "./dom.js";
import { formatCount, formatShare } from "./numbers.js";
import { formatChange, mark, meter } from "./parts.js";
import { sizeText } from "./text.js";

/** Build the head: title, figures that follow every edit, and the tools. */
export function headView(store, { onCode, onSave, onTheme }) {
  const size = el("p", { class: "size" });
  const live = ["Accuracy", "Macro F1"].map((name) => {
    const value = el("strong", { "data-figure": name });
    const change = el("span", { class: "change" });
    return { name, value, change, node: el("div", { class: "live" }, el("span", { class: "name" }, name), value, change) };
  });
  const state = el("span", { class: "pill" });
  const spoken = el("span", { class: "unseen", role: "status" });
  let rested = 0;
  const tools = {
    undo: button("Undo (Ctrl+Z)", { glyph: "undo", onclick: () => store.undo(), "data-do": "undo" }),
    redo: button("Redo (Ctrl+Shift+Z)", { glyph: "redo", onclick: () => store.redo(), "data-do": "redo" }),
    reset: button("Back to the model as it came", { glyph: "reset", onclick: () => store.reset(), "data-do": "reset" }),
  };
  const node = el("header", { class: "head" },
    el("div", { class: "title" }, el("h1", {}, store.payload.title), size),
    el("div", { class: "lives", "aria-live": "off" }, live.map((one) => one.node), state, spoken),
    el("div", { class: "tools" }, Object.values(tools),
      button("Copy the model as rules, SQL or Python", { glyph: "code", text: "Copy", onclick: onCode, "data-do": "code" }),
      button("Save as a model file", { glyph: "save", text: "Save", class: "main", onclick: onSave, "data-do": "save" }),
      button("Light or dark", { glyph: "theme", onclick: onTheme, "data-do": "theme" })));
  store.follow((topics) => {
    if (!topics.has("model") && !topics.has("start")) return;
    say(size, sizeText(store.model, store.features));
    const before = store.originalFigures;
    for (const { name, value, change } of live) {
      const key = name === "Accuracy" ? "accuracy" : "macroF1";
      say(value, formatShare(store.figures[key]));
      const moved = store.edited ? formatChange(store.figures[key], before[key]) : "";
      say(change, moved);
      change.classList.toggle("better", moved.startsWith("+"));
    }
    say(state, store.edited ? "edited" : "unedited");
    state.classList.toggle("edited", store.edited);
    // Spoken once the hand rests: not every number that a dragged edge passes.
    clearTimeout(rested);
    rested = setTimeout(() => {
      const figures = `Accuracy ${formatShare(store.figures.accuracy)}, macro F1 ${formatShare(store.figures.macroF1)}`;
      say(spoken, store.edited ? `Edited. ${figures}` : "");
    }, 400);
    put(tools.undo, "disabled", !store.history.past.length);
    put(tools.redo, "disabled", !store.history.future.length);
    put(tools.reset, "disabled", !store.edited);
  });
  return node;
}

const KINDS = {
  "held out": ["Held-out rows", "The model was not learned from them: these figures speak of new rows."],
  training: ["Training rows", "The model was learned from these rows: on new ones expect less."],
  given: ["Given rows", "If the model was learned from some of them, expect less on new ones."],
};

/** Build the overview: figures with intervals, classes, confusion matrix. */
export function overviewView(store, styles) {
  const accuracy = bigFigure("Accuracy", "share of rows with the right answer");
  const macro = bigFigure("Macro F1", "mean F1 over the classes");
  const covered = el("p", { class: "note" });
  const source = el("p", { class: "note source" });
  const [kind, meaning] = KINDS[store.payload.kind];
  const quality = el("section", { class: "panel quality", "aria-label": "Quality" },
    el("div", { class: "rows-kind" }, el("span", { class: `pill ${store.payload.kind.replace(" ", "-")}` }, kind),
      el("span", { class: "note" }, meaning)),
    el("div", { class: "bigs" }, accuracy.node, macro.node), covered);
  const classes = classTable(store, styles);
  const matrix = confusion(store, styles);
  store.follow((topics) => {
    if (!topics.has("model") && !topics.has("start")) return;
    const { figures, originalFigures: before, edited } = store;
    accuracy.set(figures.accuracy, figures.accuracyInterval, edited ? before.accuracy : NaN);
    macro.set(figures.macroF1, figures.macroF1Interval, edited ? before.macroF1 : NaN);
    const free = store.inside[store.inside.length - 1];
    const then = store.model.uncovered === "nearest" ? "and go to the nearest box" : "and get the default";
    say(covered, `${formatCount(free)} of ${formatCount(figures.total)} rows (${(100 * free / figures.total).toFixed(1)}\u00a0%) lie in no box ${then}.`);
    const fidelity = store.payload.fidelity ? ` The boxes alone give the estimator’s answer on ${store.payload.fidelity} of its training rows; figures here are of the boxes.` : "";
    say(source, `Figures are of the ${store.rowsText()}. Intervals are of 95\u00a0%: Wilson’s for shares and, carried over, for F1; those of the classes, combined, for macro F1.${fidelity}`);
    classes.update();
    matrix.update();
  });
  return el("section", { class: "overview", "aria-label": "Overview" }, quality,
    el("section", { class: "panel judged", "aria-label": "Classes" }, classes.node, matrix.node), source);
}

function bigFigure(name, meaning) {
  const bar = meter("big");
  const interval = el("span", { class: "interval" });
  const node = el("div", { class: "bigfigure" }, el("span", { class: "name", title: meaning }, name), bar.node, interval);
  function set(share, range, was) {
    bar.set(share, range, was);
    say(interval, range ? `${formatShare(range[0])} – ${formatShare(range[1])}` : "");
  }
  return { node, set };
}

function classTable(store, styles) {
  const lines = store.classes.map(({ shown }, label) => {
    const rows = el("td", { class: "number" });
    const meters = { precision: meter(), recall: meter(), f1: meter() };
    const node = el("tr", {}, el("th", { scope: "row" }, mark(label, styles), el("span", { class: "label" }, shown)), rows,
      Object.values(meters).map((one) => el("td", {}, one.node)));
    return { node, rows, meters };
  });
  const head = ["Class", "Rows", "Precision", "Recall", "F1"];
  const node = el("div", { class: "classes" },
    el("div", { class: "scroll" }, el("table", {},
      el("thead", {}, el("tr", {}, head.map((name) => el("th", { scope: "col", class: name === "Rows" ? "number" : null }, name)))),
      el("tbody", {}, lines.map((line) => line.node)))));
  function update() {
    lines.forEach(({ rows, meters }, label) => {
      const now = store.figures.classes[label];
      const before = store.originalFigures.classes[label];
      say(rows, formatCount(now.rows));
      for (const [key, one] of Object.entries(meters)) one.set(now[key], now[`${key}Interval`], store.edited ? before[key] : NaN);
    });
  }
  return { node, update };
}

function confusion(store, styles) {
  const n = store.classes.length;
  const names = [...store.classes.map((one) => one.shown), "no answer"];
  const open = store.original.fallback < 0;
  const columns = names.slice(0, open ? n + 1 : n);
  const cells = store.classes.map(() => columns.map(() => el("td", { class: "number" })));
  const table = el("table", { class: n > 6 ? "matrix many" : "matrix" },
    el("caption", {}, "Rows by true class (down) and answer (across)"),
    el("thead", {}, el("tr", {}, el("td", {}), columns.map((name, label) => (
      el("th", { scope: "col", title: name }, mark(label < n ? label : -1, styles), el("span", { class: "label" }, name)))))),
    el("tbody", {}, cells.map((line, label) => (
      el("tr", {}, el("th", { scope: "row", title: names[label] }, mark(label, styles), el("span", { class: "label" }, names[label])), line)))));
  function update() {
    const { matrix, classes } = store.figures;
    cells.forEach((line, truth) => line.forEach((cell, answer) => {
      const rows = matrix[truth][answer];
      say(cell, rows ? formatCount(rows) : "·");
      put(cell, "class", `number ${truth === answer ? "right" : rows ? "wrong" : "none"}`);
      const share = classes[truth].rows ? rows / classes[truth].rows : 0;
      cell.style.setProperty("--share", share.toFixed(3));
    }));
  }
  return { node: el("div", { class: "confusion" }, el("div", { class: "scroll" }, table)), update };
}
