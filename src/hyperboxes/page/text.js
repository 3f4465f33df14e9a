// The model as text: rules for people, SQL for databases, Python for programs.

import { nConditions, restricted } from "./model.js";
import { formatNumber, repr } from "./numbers.js";

/** Write what a box asks of one feature, as hyperboxes.Condition prints it. */
export function conditionText(box, feature, features) {
  const { shown, categories } = features[feature];
  const flags = box.sets.get(feature);
  if (flags) {
    const admitted = categories.filter((_, place) => flags[place]).map((category) => category.quoted);
    return admitted.length === 1 ? `${shown} = ${admitted[0]}` : `${shown} in {${admitted.join(", ")}}`;
  }
  const [low, high] = box.bounds.get(feature);
  if (low === high) return `${shown} = ${formatNumber(low)}`;
  if (low === -Infinity) return `${shown} <= ${formatNumber(high)}`;
  if (high === Infinity) return `${shown} >= ${formatNumber(low)}`;
  return `${formatNumber(low)} <= ${shown} <= ${formatNumber(high)}`;
}

const labelText = (label, classes) => (label < 0 ? "no answer" : classes[label].shown);

/** What happens to a row in no box. */
export function otherwiseText(model, classes) {
  const fallback = labelText(model.fallback, classes);
  return model.uncovered === "nearest" ? `nearest box; if none can be compared, ${fallback}` : fallback;
}

/** Write a model as hyperboxes.rules.to_text does, without figures. */
export function toRules(model, features, classes) {
  const lines = [];
  model.boxes.forEach((box, place) => {
    const asked = restricted(box).map((feature) => conditionText(box, feature, features));
    lines.push(`${(place ? "ELSE IF" : "IF").padEnd(8)}${asked[0] ?? "always"}`);
    for (const condition of asked.slice(1)) lines.push(`    AND ${condition}`);
    lines.push(`THEN ${labelText(box.label, classes)}`);
  });
  lines.push(`${model.boxes.length ? "ELSE" : "ALWAYS"} ${otherwiseText(model, classes)}`);
  return lines.join("\n");
}

// -- SQL --------------------------------------------------------------------------------------------

const DIALECTS = {
  duckdb: { double: "DOUBLE", text: "VARCHAR", escapes: false, folds: true, guardsNaN: true },
  postgres: { double: "DOUBLE PRECISION", text: "TEXT", escapes: true, folds: false, guardsNaN: false },
};

/** Write a model as one CASE expression; throws with the reason where SQL cannot be exact. */
export function toSql(model, features, classes, dialect) {
  if (model.uncovered === "nearest") {
    throw new Error("Rows in no box get the class of the nearest box, which this page does not write as SQL: "
      + "save the model and use hyperboxes sql.");
  }
  const syntax = DIALECTS[dialect];
  checkDistinct(features.map((feature) => (syntax.folds ? feature.folded : feature.name)));
  const fallback = model.fallback < 0 ? "NULL" : sqlValue(classes[model.fallback], syntax);
  if (!model.boxes.length) return fallback;
  const whens = model.boxes.map((box) => {
    const asked = restricted(box).flatMap((feature) => sqlCondition(box, feature, features[feature], syntax));
    const all = asked.length ? `COALESCE(${asked.join("\n    AND ")}, FALSE)` : "TRUE";
    return `  WHEN ${all} THEN ${sqlValue(classes[box.label], syntax)}`;
  });
  return `CASE\n${whens.join("\n")}\n  ELSE ${fallback}\nEND`;
}

function sqlCondition(box, feature, { name, categories }, syntax) {
  const column = sqlName(name, syntax);
  const flags = box.sets.get(feature);
  if (!flags) {
    // Both sides always: databases take NaN to be greater than infinity. DuckDB leaves NaN out of the statistics
    // of a Parquet file and drops conditions that these say always hold, so it is told of NaN by name.
    const [low, high] = box.bounds.get(feature);
    const cell = `CAST(${column} AS ${syntax.double})`;
    const sides = [`${cell} >= ${sqlNumber(repr(low), syntax)}`, `${cell} <= ${sqlNumber(repr(high), syntax)}`];
    return syntax.guardsNaN ? [...sides, `${cell} IS DISTINCT FROM ${sqlNumber("NaN", syntax)}`] : sides;
  }
  const admitted = categories.filter((_, place) => flags[place]);
  const every = (kind) => admitted.every((category) => category.kind === kind);
  const within = (cell, items) => [`${cell} IN (${items.join(", ")})`];
  const values = () => admitted.map((category) => sqlValue(category, syntax));
  if (every("bool")) return within(column, values());
  if (every("text")) return within(`CAST(${column} AS ${syntax.text}) COLLATE "C"`, values());
  if (admitted.some((category) => category.kind === "text")) {
    throw new Error(`The categories of ${name} mix text and numbers, which no column of a database holds.`);
  }
  const numbers = admitted.map(({ kind, python }) => (kind === "bool" ? Number(python === "True") : Number(python)));
  if (numbers.some((number) => !(Math.abs(number) < 2 ** 53))) {
    throw new Error(`A category of ${name} is too large to compare exactly: make it text.`);
  }
  return within(`CAST(${column} AS ${syntax.double})`, numbers.map((number) => sqlNumber(repr(number), syntax)));
}

// Bare, 0.1 would be a decimal, which databases compare and round by other rules.
const sqlNumber = (text, syntax) => `CAST('${text.replace("inf", "Infinity")}' AS ${syntax.double})`;

function sqlValue({ kind, value, python }, syntax) {
  if (kind === "text") return sqlText(value, syntax);
  if (kind === "bool") return python.toUpperCase();
  return kind === "int" ? `CAST('${python}' AS BIGINT)` : sqlNumber(python, syntax);
}

function sqlText(value, syntax) {
  checkText(value);
  const quoted = value.replaceAll("'", "''");
  return syntax.escapes && value.includes("\\") ? `E'${quoted.replaceAll("\\", "\\\\")}'` : `'${quoted}'`;
}

function sqlName(name, syntax) {
  checkText(name);
  if (!name) throw new Error("A column name is empty: rename it.");
  if (syntax.escapes && new TextEncoder().encode(name).length > 63) {
    throw new Error(`PostgreSQL cuts names at 63 bytes: rename ${name}.`);
  }
  return `"${name.replaceAll('"', '""')}"`;
}

function checkDistinct(names) {
  const twice = names.find((name, place) => names.indexOf(name) !== place);
  if (twice !== undefined) throw new Error(`Two columns are ${twice} to this database: rename one of them.`);
}

function checkText(value) {
  if (value.includes("\0") || /\p{Surrogate}/u.test(value)) {
    throw new Error("A name or label holds a character that databases refuse.");
  }
}

// -- Python -----------------------------------------------------------------------------------------

/** Write a model as Python that makes the same boxes. */
export function toPython(model, features, classes) {
  const lines = ["from hyperboxes import Boxes", "", "boxes = Boxes.from_rules(", "    ["];
  for (const box of model.boxes) {
    const asked = restricted(box).map((feature) => (
      `${features[feature].python}: ${pythonCondition(box, feature, features)}`));
    lines.push(`        ({${asked.join(", ")}}, ${classes[box.label].python}),`);
  }
  lines.push("    ],", `    default=${model.fallback < 0 ? "None" : classes[model.fallback].python},`);
  lines.push(`    feature_names=[${features.map((feature) => feature.python).join(", ")}],`);
  const known = features.filter((feature) => feature.categories);
  if (known.length) {
    lines.push("    categories={");
    for (const { python, categories } of known) {
      lines.push(`        ${python}: [${categories.map((category) => category.python).join(", ")}],`);
    }
    lines.push("    },");
  }
  lines.push(")");
  if (model.uncovered === "nearest") {
    const scale = model.scale.map(repr).join(", ");
    lines.splice(1, 0, "from dataclasses import replace");
    lines.push(`boxes = replace(boxes, uncovered="nearest", scale=[${scale}])`);
  }
  return lines.join("\n");
}

function pythonCondition(box, feature, features) {
  const flags = box.sets.get(feature);
  if (flags) {
    const admitted = features[feature].categories.filter((_, place) => flags[place]);
    return `{${admitted.map((category) => category.python).join(", ")}}`;
  }
  const [low, high] = box.bounds.get(feature).map((side) => (Number.isFinite(side) ? formatNumber(side) : "None"));
  return `(${low}, ${high})`;
}

/** Say how large a model is. */
export function sizeText(model, features) {
  const conditions = model.boxes.reduce((sum, box) => sum + nConditions(box), 0);
  const plural = (count, noun) => `${count} ${noun}${count === 1 ? "" : noun.endsWith("x") ? "es" : "s"}`;
  const sizes = [[model.boxes.length, "box"], [conditions, "condition"], [features.length, "feature"]];
  return sizes.map(([count, noun]) => plural(count, noun)).join(" · ");
}
