// The model file: the canonical text that hyperboxes.read_model accepts.
//
// What an edit cannot change (classes, features, scale, meta) is kept as the text it came as: a number that
// JavaScript would round, such as a class of 64 bits, stays what it is.

import { MUST_MISS, mustMiss } from "./model.js";
import { repr } from "./numbers.js";
import { sha256 } from "./sha256.js";

/**
 * Write a model file. source.members maps top-level keys to canonical texts, source.meta is a list of
 * [key, canonical text], source.sha256 the hash of the model as it came.
 * An edited model loses its training counts, and its meta names what it was made from.
 */
export function writeModel(model, source, edited) {
  const members = { ...source.members };
  let meta = source.meta;
  if (edited) {
    members.boxes = `[${model.boxes.map(boxText).join(",")}]`;
    members.format_version = `[1,${Number(namesMissing(model))}]`;
    delete members.uncovered_counts;
    meta = [...meta.filter(([key]) => key !== "edited_from"), ["edited_from", JSON.stringify(source.sha256)]];
  }
  const object = (entries) => `{${entries
    .sort(([a], [b]) => byCodePoint(a, b))
    .map(([key, value]) => `${quoted(key)}:${value}`)
    .join(",")}}`;
  members.meta = object([...meta]);
  const hash = sha256(object(Object.entries(members)));
  return `${object([...Object.entries(members), ["sha256", JSON.stringify(hash)]])}\n`;
}

/** Tell whether a missing value is a category of a feature, or asked for, which takes format 1.1. */
function namesMissing({ named, boxes }) {
  return named.includes(true) || boxes.some((box) => [...box.bounds.keys()].some((feature) => mustMiss(box, feature)));
}

function boxText(box) {
  const side = (value) => (Number.isFinite(value) ? repr(value) : "null");
  // Keys are sorted as text: "10" comes before "2".
  const sorted = (map) => [...map].sort(([a], [b]) => byCodePoint(String(a), String(b)));
  const bounds = sorted(box.bounds).map(([feature, [low, high]]) => (
    `"${feature}":${mustMiss(box, feature) ? JSON.stringify(MUST_MISS) : `[${side(low)},${side(high)}]`}`));
  const sets = sorted(box.sets).map(([feature, { flags }]) => {
    const admitted = flags.flatMap((flag, place) => (flag ? [place] : []));
    return `"${feature}":[${admitted.join(",")}]`;
  });
  const categories = sets.length ? `"categories":{${sets.join(",")}},` : "";
  return `{"bounds":{${bounds.join(",")}},${categories}"class":${box.label}}`;
}

/** Quote a text in plain ASCII, as Python's json does. */
function quoted(text) {
  const escape = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(text).replace(/[\u007f-\uffff]/g, escape);
}

function byCodePoint(a, b) {
  const left = Array.from(a, (sign) => sign.codePointAt(0));
  const right = Array.from(b, (sign) => sign.codePointAt(0));
  for (let place = 0; place < Math.min(left.length, right.length); place += 1) {
    if (left[place] !== right[place]) return left[place] - right[place];
  }
  return left.length - right.length;
}
