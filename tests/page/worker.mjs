// Answers questions about the page's own modules, one JSON value a line, for tests/test_page.py.
// Numbers travel as the sixteen hexadecimal digits of their bits, so that none is rounded on the way.

import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const folder = pathToFileURL(`${process.argv[2]}/`);
const load = (name) => import(new URL(name, folder));
const [numbers, models, figures, explains, texts, queries, files, tables] = await Promise.all(
  ["numbers.js", "model.js", "figures.js", "explain.js", "text.js", "sql.js", "model_file.js", "table.js"].map(load),
);

const view = new DataView(new ArrayBuffer(8));
const toNumber = (digits) => { view.setBigUint64(0, BigInt(`0x${digits}`)); return view.getFloat64(0); };
const toDigits = (number) => { view.setFloat64(0, number); return view.getBigUint64(0).toString(16).padStart(16, "0"); };
const column = (digits) => Float64Array.from(digits, toNumber);

const parse = (model) => models.fromDocument(
  Object.fromEntries(Object.entries(model.members).map(([key, text]) => [key, JSON.parse(text)])),
);

const EDITS = {
  bound: (model, place, feature, side, digits) => models.setBound(model, model.boxes[place].id, feature, side, toNumber(digits)),
  categories: (model, place, feature, flags) => models.setCategories(model, model.boxes[place].id, feature, flags),
  open: (model, place, feature) => models.openFeature(model, model.boxes[place].id, feature),
  label: (model, place, label) => models.setLabel(model, model.boxes[place].id, label),
  remove: (model, place) => models.removeBox(model, model.boxes[place].id),
  copy: (model, place) => models.copyBox(model, model.boxes[place].id),
  move: (model, place, step) => models.moveBox(model, model.boxes[place].id, step),
};

const TASKS = {
  repr: ({ values }) => values.map((digits) => [numbers.repr(toNumber(digits)), numbers.formatNumber(toNumber(digits))]),
  next: ({ values }) => values.map((digits) => [toDigits(numbers.nextAfter(toNumber(digits), -1)), toDigits(numbers.nextAfter(toNumber(digits), 1))]),
  judge: ({ model, columns, classes, nClasses }) => {
    const value = parse(model);
    const judge = new models.Judge(columns.map(column), classes, nClasses);
    const { held, decided, counts, inside } = judge.evaluate(value);
    const rows = classes.map((_, row) => columns.map((digits) => toNumber(digits[row])));
    return {
      contains: value.boxes.map((box) => [...judge.contains(box)]),
      held: [...held], decided: [...decided], counts: [...counts], inside: [...inside],
      one: rows.map((cells) => models.decideRow(value, cells)),
      figures: figures.figuresOf(counts, models.answersOf(value), nClasses),
    };
  },
  explain: ({ model, cells, unit }) => {
    const found = explains.explain(parse(model), column(cells), column(unit));
    const plain = (change) => change && { ...change, cells: [...change.cells].map(([feature, cell]) => [feature, toDigits(cell)]), distance: toDigits(change.distance) };
    return { ...found, changes: found.changes.map(plain), smallest: plain(found.smallest) };
  },
  figures: ({ counts, answers, nClasses }) => figures.figuresOf(counts, answers, nClasses),
  rules: ({ model, features, classes }) => texts.toRules(parse(model), features, classes),
  range: ({ cells, bounds }) => tables.rangeOf(column(cells), column(bounds)),
  python: ({ model, features, classes }) => texts.toPython(parse(model), features, classes),
  sql: ({ model, features, classes, dialect }) => {
    try {
      return { text: queries.toSql(parse(model), features, classes, dialect) };
    } catch (error) {
      return { refused: error.message };
    }
  },
  file: ({ model, edits }) => {
    const original = parse(model);
    const edited = edits.reduce((value, [name, ...rest]) => EDITS[name](value, ...rest), original);
    return files.writeModel(edited, model, !models.sameModel(original, edited));
  },
  unpack: async ({ rows }) => (await tables.unpack(rows)).map((cells) => Array.from(cells, toDigits)),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { task, ...question } = JSON.parse(line);
  let answer;
  try {
    answer = { answer: await TASKS[task](question) };
  } catch (error) {
    answer = { error: error.stack };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
