// Small parts that several views share.

import { el, put, say, svg } from "./dom.js";
import { formatShare } from "./numbers.js";

/** Make the mark of a class: its shape in its colour. */
export function mark(label, styles) {
  if (label < 0) return el("span", { class: "mark none", "aria-hidden": "true" });
  const trace = new Trace();
  styles[label].shape(trace);
  const path = svg("path", { d: trace.d });
  const node = svg("svg", { class: "mark", viewBox: "-1.3 -1.3 2.6 2.6", "aria-hidden": "true" }, path);
  node.style.setProperty("--own", `var(--class-${label})`);
  return node;
}

/** Takes the calls of a canvas path and writes them as SVG. */
class Trace {
  d = "";

  moveTo(x, y) { this.d += `M${x} ${y}`; }

  lineTo(x, y) { this.d += `L${x} ${y}`; }

  closePath() { this.d += "Z"; }

  arc(x, y, r) { this.d += `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`; }
}

/** Make a figure between 0 and 1 with its interval drawn beneath: {node, set(value, interval, was)}. */
export function meter(kind = "") {
  const value = el("span", { class: "value" });
  const range = el("span", { class: "range" });
  const dot = el("span", { class: "dot" });
  const before = el("span", { class: "before" });
  const track = el("span", { class: "track" }, before, range, dot);
  const node = el("span", { class: `meter ${kind}` }, value, track);
  const percent = (share) => `${(100 * share).toFixed(2)}%`;
  function set(share, interval, was = NaN) {
    say(value, formatShare(share));
    put(node, "title", interval ? `95 % interval ${formatShare(interval[0])} to ${formatShare(interval[1])}` : null);
    dot.hidden = Number.isNaN(share);
    range.hidden = !interval;
    before.hidden = Number.isNaN(was);
    if (!dot.hidden) dot.style.left = percent(share);
    if (!before.hidden) before.style.left = percent(was);
    if (interval) {
      range.style.left = percent(interval[0]);
      range.style.width = percent(interval[1] - interval[0]);
    }
  }
  return { node, set };
}

/** Give a text that may also be broken after a dot or an underscore. */
export function breakable(text) {
  return text.split(/(?<=[._/])/).flatMap((part, place) => (place ? [el("wbr"), part] : [part]));
}

/** Write a difference with its sign; nothing for none. */
export function formatChange(now, before) {
  const change = now - before;
  if (Number.isNaN(change) || Math.abs(change) < 0.0005) return "";
  return `${change > 0 ? "+" : "−"}${Math.abs(change).toFixed(3)}`;
}

/** Make a list of choices. */
export function choice(label, options, { value, onchange, ...attributes }) {
  const node = el("select", { "aria-label": label, onchange: () => onchange(Number(node.value)), ...attributes },
    options.map(([key, text]) => el("option", { value: key }, text)));
  node.value = String(value);
  return node;
}

/** Make the head of a panel. */
export function panelHead(title, hint, ...tools) {
  return el("header", { class: "panel-head" },
    el("div", {}, el("h2", {}, title), hint && el("p", { class: "hint" }, hint)),
    el("div", { class: "tools" }, ...tools));
}
