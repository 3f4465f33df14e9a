// What the page knows, and the one place where it changes. Views are told once per frame.

import { figuresOf } from "./figures.js";
import { History } from "./history.js";
import { answersOf, fromDocument, Judge, restricted, sameModel } from "./model.js";
import { formatCount } from "./numbers.js";
import { distinct, rangeOf } from "./table.js";

export class Store {
  constructor(payload, columns) {
    const parsed = Object.fromEntries(Object.entries(payload.model.members).map(([key, text]) => [key, JSON.parse(text)]));
    this.payload = payload;
    this.features = payload.features;
    this.classes = payload.classes;
    this.unit = payload.features.map((feature) => feature.unit);
    this.nKnown = parsed.classes.length;
    this.ids = columns.pop();
    this.truth = Uint16Array.from(columns.pop());
    this.columns = columns;
    this.rows = payload.rows.n;
    this.sampled = payload.rows.n < payload.rows.total;
    this.judge = new Judge(columns, this.truth, this.classes.length);
    this.original = fromDocument(parsed);
    this.history = new History(this.original);
    this.values = new Map();
    this.views = [];
    this.stale = new Set();
    this.state = { box: null, row: null, cells: null, hoverBox: null, hoverRow: null, dragging: false };
    this.originalResult = this.judge.evaluate(this.original);
    this.originalFigures = this.#figures(this.originalResult.counts, this.original);
    this.allFigures = this.#figures(payload.counts, this.original);
    this.ranges = this.features.map((feature, place) => {
      const bounds = this.original.boxes.flatMap((box) => box.bounds.get(place) ?? []);
      return feature.categories ? [-0.5, feature.categories.length - 0.5] : rangeOf(columns[place], bounds);
    });
    this.#judge();
  }

  get model() {
    return this.history.current;
  }

  #figures(counts, model) {
    return figuresOf(counts, answersOf(model), this.classes.length);
  }

  #judge() {
    this.edited = !sameModel(this.model, this.original);
    this.result = this.judge.evaluate(this.model);
    this.places = new Map(this.model.boxes.map((box, place) => [box.id, place]));
    this.answers = answersOf(this.model);
    // The model as it came is judged on all rows; what is edited, on the rows that the page has.
    this.ofAllRows = !this.edited;
    this.figures = this.edited ? this.#figures(this.result.counts, this.model) : this.allFigures;
    this.inside = this.edited ? this.result.inside : this.payload.inside;
  }

  /** Change the model by an edit; edits that follow one another with one token undo as one. */
  edit(change, token = null) {
    const next = change(this.model);
    if (sameModel(next, this.model)) return;
    this.history.commit(next, token);
    this.#changed();
  }

  undo() {
    this.history.undo();
    this.#changed();
  }

  redo() {
    this.history.redo();
    this.#changed();
  }

  reset() {
    if (this.edited) this.edit(() => this.original);
  }

  #changed() {
    this.#judge();
    if (!this.places.has(this.state.box)) this.state.box = null;
    if (!this.places.has(this.state.hoverBox)) this.state.hoverBox = null;
    this.tell("model");
  }

  /** Select a box by its id, or none. */
  selectBox(id) {
    this.#set("select", { box: id });
  }

  /** Look at a row of the table, or at none. */
  selectRow(row) {
    const cells = row === null ? null : Float64Array.from(this.columns, (column) => column[row]);
    this.#set("row", { row, cells });
  }

  /** Look at cells that were typed. */
  tryCells(cells) {
    this.#set("row", { cells });
  }

  hover(box, row = null) {
    this.#set("hover", { hoverBox: box, hoverRow: row });
  }

  drag(dragging) {
    if (!dragging) this.history.seal();
    this.#set("drag", { dragging });
  }

  #set(topic, changes) {
    const differs = Object.entries(changes).some(([key, value]) => this.state[key] !== value);
    Object.assign(this.state, changes);
    if (differs) this.tell(topic);
  }

  /** Let a view follow: it is called with the set of topics that changed. */
  follow(view) {
    this.views.push(view);
  }

  tell(topic) {
    if (!this.stale.size) requestAnimationFrame(() => this.flush());
    this.stale.add(topic);
  }

  flush() {
    const topics = this.stale;
    this.stale = new Set();
    for (const view of this.views) view(topics);
  }

  /** The box to show above others: the one under the pointer, else the selected one. */
  get focus() {
    return this.state.hoverBox ?? this.state.box;
  }

  boxOf(id) {
    return this.model.boxes[this.places.get(id)];
  }

  /** Distinct values of a column, found when first asked for. */
  valuesOf(feature) {
    if (!this.values.has(feature)) this.values.set(feature, distinct(this.columns[feature]));
    return this.values.get(feature);
  }

  /** Features by how many rows are decided by boxes that restrict them, the most used first. */
  byUse() {
    const use = this.features.map(() => 0);
    this.model.boxes.forEach((box, place) => {
      for (const feature of restricted(box)) use[feature] += 1 + this.figures.boxes[place].rows;
    });
    const order = this.features.map((_, place) => place).sort((a, b) => use[b] - use[a] || a - b);
    return { order, use };
  }

  /** Say which rows a figure is of. */
  rowsText() {
    const kinds = { "held out": "held-out", training: "training", given: "given" };
    const kind = kinds[this.payload.kind];
    if (this.sampled && this.edited) return `sample of ${formatCount(this.rows)} of ${formatCount(this.payload.rows.total)} ${kind} rows`;
    return `${formatCount(this.payload.rows.total)} ${kind} rows`;
  }
}
