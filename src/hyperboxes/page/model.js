// The model as a value: an ordered list of boxes, the first that contains a row decides.
//
// A box is {id, label, bounds: Map(feature → [lower, upper]), sets: Map(feature → set, as setOf makes them)}.
// Both bounds are NaN where the value must be missing. Only what restricts is in the maps. Boxes and models are
// never changed: an edit gives new ones, so that undo is a list of values, and what was computed for a box stays
// true for as long as the box lives.

/** What stands in a model file for the bounds of a feature whose value must be missing. */
export const MUST_MISS = "missing";

/** Read a model from the parsed members of a model file. */
export function fromDocument(members) {
  const features = members.features;
  const named = features.map(({ categories }) => categories?.at(-1) === null);
  const boxes = members.boxes.map((entry, place) => {
    const bounds = new Map();
    for (const [key, sides] of byPlace(entry.bounds)) {
      const [low, high] = sides === MUST_MISS ? [NaN, NaN] : sides;
      bounds.set(key, [low === null ? -Infinity : low, high === null ? Infinity : high]);
    }
    const sets = new Map();
    for (const [key, admitted] of byPlace(entry.categories ?? {})) {
      const flags = new Array(features[key].categories.length).fill(false);
      for (const position of admitted) flags[position] = true;
      sets.set(key, setOf(flags, named[key]));
    }
    return { id: place, label: entry.class, bounds, sets };
  });
  return {
    boxes,
    named, // of which features the last category stands for a missing value
    fallback: members.default === null ? -1 : members.default,
    uncovered: members.uncovered,
    scale: members.scale ?? null,
  };
}

function byPlace(object) {
  return Object.entries(object).map(([key, value]) => [Number(key), value]).sort((a, b) => a[0] - b[0]);
}

/** A set of categories: a flag for each, and what it says of a value that is unknown, and of a missing one. */
function setOf(flags, named) {
  const known = named ? flags.slice(0, -1) : flags;
  const missingAt = named ? known.length : null;
  return { flags, unknown: known.every(Boolean), missing: named && flags.at(-1), missingAt };
}

/** Tell whether a set admits a cell: a position, or NaN for a missing value. */
function admits(set, cell) {
  return set.flags[cell] ?? (cell === cell ? set.unknown : set.missing);
}

/** Tell whether a box asks of a numeric feature that its value be missing. */
export function mustMiss(box, feature) {
  return Number.isNaN(box.bounds.get(feature)?.[0]);
}

/** Tell whether a cell is missing to a set, that of a box for a feature, or to an interval. */
export function isMissing(set, cell) {
  return cell !== cell || cell === set?.missingAt;
}

/** The class of each box by position, and last that of rows that no box decides; -1 is no answer. */
export function answersOf(model) {
  return [...model.boxes.map((box) => box.label), model.fallback];
}

/** Which of a feature's categories a box admits, as a new array of flags; all, where it leaves the feature open. */
export function flagsOf(box, feature, nCategories) {
  return [...(box.sets.get(feature)?.flags ?? new Array(nCategories).fill(true))];
}

/** Positions of the features that a box restricts, rising. */
export function restricted(box) {
  return [...box.bounds.keys(), ...box.sets.keys()].sort((a, b) => a - b);
}

/** Closed sides, category sets and values that must be missing: how much a reader has to read. */
export function nConditions(box) {
  let sides = box.sets.size;
  for (const [low, high] of box.bounds.values()) {
    sides += Number.isFinite(low) + Number.isFinite(high) + Number.isNaN(low);
  }
  return sides;
}

// -- rows -------------------------------------------------------------------------------------------

/** Tell whether a cell meets what a box asks of one feature; NaN is a missing one. */
export function holds(box, feature, cell) {
  const sides = box.bounds.get(feature);
  if (sides) return mustMiss(box, feature) ? cell !== cell : sides[0] <= cell && cell <= sides[1];
  const set = box.sets.get(feature);
  return set ? admits(set, cell) : true;
}

/** Tell which rows of a table, an array of columns, lie in a box: a byte for each row. */
export function contains(box, columns, rows) {
  const inside = new Uint8Array(rows).fill(1);
  for (const [feature, [low, high]] of box.bounds) {
    const cells = columns[feature];
    if (low !== low) for (let row = 0; row < rows; row += 1) inside[row] &= cells[row] !== cells[row];
    else for (let row = 0; row < rows; row += 1) inside[row] &= low <= cells[row] && cells[row] <= high;
  }
  for (const [feature, set] of box.sets) {
    const cells = columns[feature];
    for (let row = 0; row < rows; row += 1) inside[row] &= admits(set, cells[row]);
  }
  return inside;
}

/** Give each row's largest violation of a box's conditions, in units of each feature's scale. */
function violations(box, columns, rows, scale) {
  const worst = new Float64Array(rows);
  for (const [feature, [low, high]] of box.bounds) {
    const cells = columns[feature];
    const inverse = 1 / scale[feature];
    const missing = low !== low;
    for (let row = 0; row < rows; row += 1) {
      const cell = cells[row];
      const violation = cell < low ? (low - cell) * inverse : cell > high ? (cell - high) * inverse : 0;
      const found = (cell !== cell) === missing ? violation : Infinity;
      if (found > worst[row]) worst[row] = found;
    }
  }
  for (const [feature, set] of box.sets) {
    const cells = columns[feature];
    for (let row = 0; row < rows; row += 1) {
      if (admits(set, cells[row])) continue;
      const found = isMissing(set, cells[row]) ? Infinity : 1;
      if (found > worst[row]) worst[row] = found;
    }
  }
  return worst;
}

/** Judges models on one labelled table; what it found for a box it keeps for as long as the box lives. */
export class Judge {
  constructor(columns, classes, nClasses) {
    this.columns = columns;
    this.classes = classes;
    this.nClasses = nClasses;
    this.rows = classes.length;
    this.inside = new WeakMap();
    this.sizes = new WeakMap();
    this.violated = new WeakMap();
  }

  contains(box) {
    if (!this.inside.has(box)) {
      const inside = contains(box, this.columns, this.rows);
      this.inside.set(box, inside);
      this.sizes.set(inside, inside.reduce((sum, yes) => sum + yes, 0));
    }
    return this.inside.get(box);
  }

  violations(box, scale) {
    if (!this.violated.has(box)) {
      this.violated.set(box, violations(box, this.columns, this.rows, scale));
    }
    return this.violated.get(box);
  }

  /**
   * Find what decides each row, and count.
   *
   * held: the first box that contains each row, -1 for none; decided: the same, or the nearest box where
   * the model asks for that; counts: rows by deciding box (last: none) and class; inside: rows that each
   * box contains (last: rows in no box).
   */
  evaluate(model) {
    const { rows, nClasses, classes } = this;
    const boxes = model.boxes;
    const held = new Int32Array(rows).fill(-1);
    // Rows that no box has taken yet, moved together as others leave.
    const free = Int32Array.from(held, (_, row) => row);
    let left = rows;
    boxes.forEach((box, place) => {
      const within = this.contains(box);
      let kept = 0;
      for (let k = 0; k < left; k += 1) {
        const row = free[k];
        if (within[row]) held[row] = place;
        else {
          free[kept] = row;
          kept += 1;
        }
      }
      left = kept;
    });
    const inside = [...boxes.map((box) => this.sizes.get(this.contains(box))), left];
    const nearest = model.uncovered === "nearest";
    const decided = nearest ? held.slice() : held;
    const far = nearest ? boxes.map((box) => this.violations(box, model.scale)) : [];
    const counts = new Float64Array((boxes.length + 1) * nClasses);
    for (let row = 0; row < rows; row += 1) {
      if (nearest && held[row] < 0) decided[row] = smallest(far, row);
      const place = decided[row] < 0 ? boxes.length : decided[row];
      counts[place * nClasses + classes[row]] += 1;
    }
    return { held, decided, counts, inside };
  }
}

function smallest(far, row) {
  let best = Infinity;
  let nearest = -1;
  for (let place = 0; place < far.length; place += 1) {
    if (far[place][row] < best) {
      best = far[place][row];
      nearest = place;
    }
  }
  return nearest;
}

/** Give the class of one row, an array of cells; -1 is no answer. */
export function predictRow(model, cells) {
  return answersOf(model).at(decideRow(model, cells));
}

/** Give the first box that contains a row, -1 for none. */
export function holdRow(model, cells) {
  return model.boxes.findIndex((box) => restricted(box).every((feature) => holds(box, feature, cells[feature])));
}

/** Give the box that decides a row, -1 where the default does. */
export function decideRow(model, cells) {
  const held = holdRow(model, cells);
  if (held >= 0 || model.uncovered !== "nearest") return held;
  const columns = Array.from(cells, (cell) => [cell]);
  return smallest(model.boxes.map((box) => violations(box, columns, 1, model.scale)), 0);
}

// -- edits: each gives a new model --------------------------------------------------------------------

function withBox(model, id, change) {
  return { ...model, boxes: model.boxes.map((box) => (box.id === id ? change(box) : box)) };
}

/**
 * Set one side ("lower" or "upper") of a numeric feature; ±Infinity opens it. A side never crosses the other.
 * That a value be missing has no sides: it gives way as a whole.
 */
export function setBound(model, id, feature, side, value) {
  return withBox(model, id, (box) => {
    const open = [-Infinity, Infinity];
    let [low, high] = mustMiss(box, feature) ? open : box.bounds.get(feature) ?? open;
    if (side === "lower") low = Math.min(value, high) + 0;
    else high = Math.max(value, low) + 0;
    if (low === Infinity || high === -Infinity) return box;
    const bounds = new Map(box.bounds);
    if (low === -Infinity && high === Infinity) bounds.delete(feature);
    else bounds.set(feature, [low, high]);
    return { ...box, bounds };
  });
}

/** Admit the given categories of a feature; all of them lift the condition, none is refused. */
export function setCategories(model, id, feature, flags) {
  if (!flags.includes(true)) return model;
  return withBox(model, id, (box) => {
    const sets = new Map(box.sets);
    if (flags.includes(false)) sets.set(feature, setOf([...flags], model.named[feature]));
    else sets.delete(feature);
    return { ...box, sets };
  });
}

/** Lift all that a box asks of a feature. */
export function openFeature(model, id, feature) {
  return withBox(model, id, (box) => {
    const bounds = new Map(box.bounds);
    const sets = new Map(box.sets);
    bounds.delete(feature);
    sets.delete(feature);
    return { ...box, bounds, sets };
  });
}

/** Let a box vote for another class. */
export function setLabel(model, id, label) {
  return withBox(model, id, (box) => ({ ...box, label }));
}

export function removeBox(model, id) {
  return { ...model, boxes: model.boxes.filter((box) => box.id !== id) };
}

/** Put a copy of a box behind it; an open one at the end if there is no such box. */
export function copyBox(model, id) {
  const place = model.boxes.findIndex((box) => box.id === id);
  const next = 1 + Math.max(-1, ...model.boxes.map((box) => box.id));
  const label = model.boxes.at(-1)?.label ?? 0;
  const pattern = place < 0 ? { label, bounds: new Map(), sets: new Map() } : model.boxes[place];
  const boxes = [...model.boxes];
  boxes.splice(place < 0 ? boxes.length : place + 1, 0, { ...pattern, id: next });
  return { ...model, boxes };
}

/** Move a box by some places; earlier boxes decide first. */
export function moveBox(model, id, step) {
  const from = model.boxes.findIndex((box) => box.id === id);
  const to = Math.min(model.boxes.length - 1, Math.max(0, from + step));
  if (from < 0 || from === to) return model;
  const boxes = [...model.boxes];
  boxes.splice(to, 0, ...boxes.splice(from, 1));
  return { ...model, boxes };
}

/** Tell whether two models are the same list of the same boxes. */
export function sameModel(a, b) {
  return a.boxes.length === b.boxes.length && a.boxes.every((box, place) => sameBox(box, b.boxes[place]));
}

function sameBox(a, b) {
  const text = (asked) => String(asked?.flags ?? asked);
  const same = (x, y) => x.size === y.size && [...x].every(([key, value]) => text(value) === text(y.get(key)));
  return a === b || (a.label === b.label && same(a.bounds, b.bounds) && same(a.sets, b.sets));
}
