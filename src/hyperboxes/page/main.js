// The page: unpack the rows, build the views, listen to keys.

import { cardsView } from "./cards.js";
import { el } from "./dom.js";
import { codeDialog, saveModel } from "./export.js";
import { intervalsView } from "./intervals.js";
import { formatCount } from "./numbers.js";
import { headView, overviewView } from "./overview.js";
import { followTheme, stylesOf } from "./palette.js";
import { parallelView } from "./parallel.js";
import { rowView } from "./row.js";
import { scatterView } from "./scatter.js";
import { Store } from "./store.js";
import { unpack } from "./table.js";

async function start() {
  const payload = JSON.parse(document.getElementById("data").textContent);
  document.title = `${payload.title} · hyperboxes`;
  const store = new Store(payload, await unpack(payload.rows));
  const switchTheme = followTheme(() => store.tell("theme"));
  let styles = paint(store);
  const code = codeDialog(store);
  const current = () => styles;
  const head = headView(store, { onCode: code.open, onSave: () => saveModel(store), onTheme: switchTheme });
  const views = el("main", { class: "views" },
    intervalsView(store),
    el("div", { class: "pair" },
      store.features.length > 1 ? scatterView(store, current) : null,
      rowView(store, current)),
    parallelView(store, current));
  document.getElementById("page").append(head, overviewView(store, styles),
    el("div", { class: "work" }, cardsView(store, styles), views), footer(store), code.node);
  // Colours first: views read them.
  store.views.unshift((topics) => { if (topics.has("theme")) styles = paint(store); });
  document.addEventListener("keydown", (event) => onKey(event, store));
  store.tell("start");
  store.flush();
  document.documentElement.dataset.ready = "true";
  globalThis.hyperboxes = store;
}

/** Give every class its colour, as the style sheet's variables. */
function paint(store) {
  const styles = stylesOf(store.original, store.classes.length);
  styles.forEach(({ colour }, label) => document.documentElement.style.setProperty(`--class-${label}`, colour));
  return styles;
}

function onKey(event, store) {
  const typing = event.target.matches?.("input[type=text], textarea, select");
  const command = event.ctrlKey || event.metaKey;
  if (command && !typing && event.key.toLowerCase() === "z") {
    event.preventDefault();
    if (event.shiftKey) store.redo();
    else store.undo();
  } else if (command && !typing && event.key.toLowerCase() === "y") {
    event.preventDefault();
    store.redo();
  } else if (event.key === "Escape" && !typing && !document.querySelector("dialog[open]")) {
    store.selectBox(null);
    store.selectRow(null);
  }
}

function footer(store) {
  const keys = [
    ["Tab", "to the next group"], ["↑ ↓", "among boxes, or among edges"],
    ["← →", "move an edge to the next value; with Shift by ten"],
    ["Delete", "open a side"], ["Ctrl+Z", "undo"], ["Esc", "select nothing"],
  ];
  const parts = keys.map(([key, what]) => el("span", {}, el("kbd", {}, key), ` ${what}`));
  const some = `The page holds ${formatCount(store.rows)} of ${formatCount(store.payload.rows.total)} rows, drawn by `
    + "lot: figures of the model as it came are of all rows, figures of an edited model and all pictures are of "
    + "the rows drawn.";
  const sample = store.sampled ? some : "The page holds every row; all figures are exact.";
  return el("footer", { class: "foot" }, el("div", { class: "keys" }, parts),
    el("p", {}, `${sample} A missing value meets only conditions that name it. `
      + `hyperboxes ${store.payload.version}.`));
}

start();
