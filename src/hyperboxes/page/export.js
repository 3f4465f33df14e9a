// Out of the page: the model as text to copy, or as a file to keep.

import { button, el, put, say } from "./dom.js";
import { writeModel } from "./model_file.js";
import { toSql } from "./sql.js";
import { toPython, toRules } from "./text.js";

const FORMS = [
  ["rules", "Rules", (store) => toRules(store.model, store.features, store.classes)],
  ...[["duckdb", "DuckDB"], ["postgres", "PostgreSQL"], ["sqlite", "SQLite"]].map(([key, name]) => (
    [key, `SQL (${name})`, (store) => toSql(store.model, store.features, store.classes, key)])),
  ["python", "Python", (store) => toPython(store.model, store.features, store.classes)],
];

/** Make the dialog that shows the model as text. */
export function codeDialog(store) {
  const text = el("textarea", { readonly: true, spellcheck: "false", "aria-label": "The model as text", rows: 18 });
  const tabs = FORMS.map(([key, name]) => (
    el("button", { type: "button", role: "tab", "data-form": key, onclick: () => show(key) }, name)));
  const copied = el("span", { class: "note", role: "status" });
  const node = el("dialog", { class: "code", "aria-label": "Copy the model" },
    el("header", {}, el("div", { class: "tabs", role: "tablist" }, tabs),
      button("Close", { glyph: "close", class: "quiet", onclick: () => node.close() })),
    text,
    el("footer", {}, copied, button("Copy", { text: "Copy", class: "main", onclick: copy, "data-do": "copy-text" })));
  function show(key) {
    tabs.forEach((tab) => put(tab, "aria-selected", String(tab.dataset.form === key)));
    say(copied, "");
    try {
      text.value = FORMS.find(([name]) => name === key)[2](store);
    } catch (error) {
      text.value = error.message;
    }
  }
  async function copy() {
    text.select();
    try {
      await navigator.clipboard.writeText(text.value);
    } catch {
      document.execCommand("copy"); // where the clipboard is not given to the page, as in a notebook
    }
    say(copied, "Copied.");
  }
  node.addEventListener("click", (event) => { if (event.target === node) node.close(); });
  return { node, open: () => { show("rules"); node.showModal(); } };
}

/** Save the model as a file that hyperboxes.read_model accepts. */
export function saveModel(store) {
  const text = writeModel(store.model, store.payload.model, store.edited);
  const address = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  const name = store.payload.title.replace(/[^\p{L}\p{N}_-]+/gu, "-").replace(/^-+|-+$/g, "") || "model";
  const link = el("a", { href: address, download: `${name}${store.edited ? "-edited" : ""}.boxes.json` });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
