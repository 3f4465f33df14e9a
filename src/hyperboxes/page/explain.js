// Why a row got its class, and the smallest change that would alter that: hyperboxes.explain, in the page.

import { answersOf, decideRow, holdRow, holds, isMissing, mustMiss, predictRow, restricted } from "./model.js";
import { nextAfter } from "./numbers.js";

/**
 * Explain a row, an array of cells. Gives prediction (a class, -1 for no answer), box (-1 for none), held,
 * conditions [{feature, holds}] of the deciding box, changes (nearest first), and smallest, the nearest change
 * that gives another class, or null. A change is {box, enters, cells: Map(feature → cell), distance, prediction}.
 */
export function explain(model, cells, unit) {
  const decided = decideRow(model, cells);
  const held = holdRow(model, cells);
  const prediction = answersOf(model).at(decided);
  const conditions = decided < 0 ? [] : restricted(model.boxes[decided]).map((feature) => ({
    feature, holds: holds(model.boxes[decided], feature, cells[feature]),
  }));
  const changes = [];
  if (held >= 0) {
    for (const feature of restricted(model.boxes[held])) changes.push(escape(model, held, feature, cells, unit));
  }
  model.boxes.forEach((box, place) => {
    const inside = restricted(box).every((feature) => holds(box, feature, cells[feature]));
    if (!inside) changes.push(enter(model, place, cells, unit));
  });
  changes.sort((a, b) => (a.distance < b.distance ? -1 : a.distance > b.distance ? 1 : 0));
  const smallest = changes.find((change) => change.prediction !== prediction && change.distance < Infinity) ?? null;
  return { prediction, box: decided, held, conditions, changes, smallest };
}

/** Move every violated value just onto the nearest bound, or to the first admitted category, or away. */
function enter(model, place, cells, unit) {
  const box = model.boxes[place];
  const moved = Float64Array.from(cells);
  const changed = new Map();
  let distance = 0;
  for (const feature of restricted(box)) {
    const cell = cells[feature];
    if (holds(box, feature, cell)) continue;
    let step = 1;
    let target;
    const set = box.sets.get(feature);
    if (set) {
      target = set.flags.indexOf(true);
    } else if (mustMiss(box, feature)) {
      target = NaN;
    } else {
      const [low, high] = box.bounds.get(feature);
      target = cell > high ? high : low;
      if (!Number.isFinite(target)) target = high;
      step = Math.abs(target - cell) / unit[feature];
    }
    moved[feature] = target;
    changed.set(feature, target);
    distance = Math.max(distance, isMissing(set, cell) ? Infinity : step);
  }
  return { box: place, enters: true, cells: changed, distance, prediction: predictRow(model, moved) };
}

/** Leave a box by one condition, then every further box that still gives the same class. */
function escape(model, place, feature, cells, unit) {
  const before = predictRow(model, cells);
  const moved = Float64Array.from(cells);
  const changed = new Map();
  let distance = 0;
  let ways = [wayOut(model.boxes[place], feature, cells, unit)];
  while (ways.length) {
    const way = ways.reduce((best, other) => (other.step < best.step ? other : best));
    moved[way.feature] = way.target;
    changed.set(way.feature, way.target);
    distance = Math.max(distance, way.step);
    const held = holdRow(model, moved);
    if (held < 0 || predictRow(model, moved) !== before) break;
    const box = model.boxes[held];
    ways = restricted(box).filter((other) => !changed.has(other)).map((other) => wayOut(box, other, moved, unit));
  }
  return { box: place, enters: false, cells: changed, distance, prediction: predictRow(model, moved) };
}

/** Find the nearest place where a condition no longer holds. */
function wayOut(box, feature, cells, unit) {
  if (box.sets.has(feature)) return { feature, step: 1, target: box.sets.get(feature).flags.indexOf(false) };
  if (mustMiss(box, feature)) return { feature, step: Infinity, target: 0 }; // which number it would be is not known
  const [low, high] = box.bounds.get(feature);
  const cell = cells[feature];
  // An open side is infinitely far even from an infinite value.
  const down = Number.isFinite(low) ? cell - low : Infinity;
  const up = Number.isFinite(high) ? high - cell : Infinity;
  const below = down < up || (down === up && Number.isFinite(low));
  const target = below ? nextAfter(low, -1) : nextAfter(high, 1);
  return { feature, step: Math.min(down, up) / unit[feature], target };
}
