// The model as SQL: letter for letter what hyperboxes.sql.to_sql writes where it is not told column types.
//
// Why each comparison is written as it is, the modules of hyperboxes/sql say; the tests hold both texts together.

import { mustMiss, restricted } from "./model.js";
import { firstFrom, nextAfter, ratio, repr } from "./numbers.js";

const DIALECTS = {
  duckdb: {
    title: "DuckDB", double: "DOUBLE", text: "VARCHAR", quote: '"', binary: ' COLLATE "C"',
    greatest: "GREATEST", truth: ["FALSE", "TRUE"], folds: true,
  },
  postgres: {
    title: "PostgreSQL", double: "DOUBLE PRECISION", text: "TEXT", quote: '"', binary: ' COLLATE "C"',
    greatest: "GREATEST", least: "LEAST", truth: ["FALSE", "TRUE"], maxNameBytes: 63,
  },
  // TRUE and FALSE are columns to SQLite where there are some of that name.
  sqlite: {
    title: "SQLite", double: "REAL", quote: "`", binary: " COLLATE BINARY", greatest: "max", least: "min",
    truth: ["0", "1"], folds: true,
  },
};
// Databases limit how deep an expression nests and how many arguments a function takes.
const CHAIN = 100;
const LARGEST_EXACT = 2 ** 53;
// An integer that every SQLite reads exactly, to build numbers from.
const TWO_53 = "9007199254740992.0";

/** Write a model as one CASE expression; throws with the reason where no SQL is exact. */
export function toSql(model, features, classes, dialect) {
  const syntax = { name: dialect, ...DIALECTS[dialect] };
  checkDistinct(features, syntax);
  const answers = model.boxes.map((box) => labelText(classes[box.label], syntax));
  let fallback = model.fallback < 0 ? "NULL" : labelText(classes[model.fallback], syntax);
  const asked = model.boxes.map((box) => restricted(box).map((place) => condition(box, place, features[place])));
  // With a box that contains every row, there is nothing left for the nearest to decide.
  if (model.uncovered === "nearest" && asked.length && asked.every((conditions) => conditions.length)) {
    fallback = nearestAnswer(asked, model.scale, answers, fallback, syntax);
  }
  if (!asked.length) return fallback;
  const whens = asked.map((conditions, place) => `  WHEN ${boxText(conditions, syntax)} THEN ${answers[place]}`);
  return `CASE\n${whens.join("\n")}\n  ELSE ${fallback}\nEND`;
}

/** What a box asks of one feature, as hyperboxes.Condition has it; set is undefined for numbers. */
function condition(box, feature, { name, categories }) {
  const set = box.sets.get(feature);
  const [lower, upper] = box.bounds.get(feature) ?? [-Infinity, Infinity];
  const known = categories?.filter((category) => !isMissing(category)) ?? [];
  const values = known.filter((_, place) => set?.flags[place]);
  const kind = ["text", "bool"].find((one) => known.length && known.every((category) => category.kind === one));
  const missing = set?.missing ?? mustMiss(box, feature);
  return { feature, name, lower, upper, set, values, missing, kind: kind ?? "number" };
}

// -- a box as a predicate -----------------------------------------------------------------------------

function boxText(conditions, syntax) {
  const asked = conditions.map((one) => predicate(one, syntax));
  const comparing = conditions.filter(({ set, missing }) => !missing && !set?.unknown);
  const cells = comparing.filter((one) => unsafe(one, syntax)).map((one) => asDouble(one.name, syntax));
  // NaN is the greatest; last, so that only rows which fulfil all else are looked at again.
  if (cells.length) {
    const greatest = cells.length === 1 ? cells[0] : `GREATEST(${cells.join(", ")})`;
    asked.push(`${greatest} IS DISTINCT FROM ${numberText(NaN, syntax)}`);
  }
  return chain(asked) || syntax.truth[1];
}

function predicate(one, syntax) {
  if (one.set) return categorySet(one, syntax);
  return one.missing ? isAbsent(one, syntax) : interval(one, syntax);
}

function chain(parts) {
  let left = parts;
  while (left.length > CHAIN) left = groups(left).map((group) => `(${chain(group)})`);
  return left.join("\n    AND ");
}

function groups(parts) {
  return Array.from({ length: Math.ceil(parts.length / CHAIN) }, (_, k) => parts.slice(k * CHAIN, (k + 1) * CHAIN));
}

function interval({ name, lower, upper }, syntax) {
  const cell = comparable(name, lower, upper, syntax);
  const below = lower === -Infinity ? null : numberText(lower, syntax);
  // Databases hold NaN greater than infinity: the upper side keeps it out, except where that is said by name.
  const above = upper === Infinity && syntax.name === "duckdb" ? null : numberText(upper, syntax);
  if (below === null) return `${cell} <= ${above}`;
  if (above === null) return `${cell} >= ${below}`;
  return below === above ? `${cell} = ${below}` : `${cell} BETWEEN ${below} AND ${above}`;
}

function categorySet(one, syntax) {
  if (one.set.unknown) return isPresent(one, syntax);
  if (!one.missing) return valueSet(one, syntax);
  const missing = isAbsent(one, syntax);
  return one.values.length ? `(${valueSet(one, syntax)} OR ${missing})` : missing;
}

function valueSet({ name, values }, syntax) {
  const texts = values.filter(isText);
  const numbers = values.filter((category) => !isText(category)).map(numberOf);
  if (texts.length && numbers.length) {
    throw new Error(`The categories of ${name} mix text and numbers, which no column of a database holds.`);
  }
  if (numbers.some((number) => !(Math.abs(number) < LARGEST_EXACT))) {
    throw new Error(`A category of ${name} is too large to compare exactly: make it text.`);
  }
  const column = nameText(name, syntax);
  const sqlite = syntax.name === "sqlite";
  if (texts.length) {
    const cell = sqlite ? `+${column}` : `CAST(${column} AS ${syntax.text})`;
    return among(cell + syntax.binary, texts.map(({ value }) => quotedText(value, syntax)));
  }
  if (!sqlite && values.every((category) => category.kind === "bool")) {
    return values.length === 2 ? `${column} IS NOT NULL` : `${column} = ${values[0].python.toUpperCase()}`;
  }
  const cell = sqlite ? `+${column}` : asDouble(name, syntax);
  return among(cell, numbers.map((number) => numberText(number, syntax)));
}

function among(cell, items) {
  return items.length === 1 ? `${cell} = ${items[0]}` : `${cell} IN (${items.join(", ")})`;
}

const isText = ({ kind }) => kind === "text";
const isMissing = ({ kind }) => kind === "missing";
const numberOf = ({ kind, python }) => (kind === "bool" ? Number(python === "True") : Number(python));

/** Tell whether a comparison alone does not keep NaN out: DuckDB drops some that follow from statistics. */
const unsafe = (one, syntax) => syntax.name === "duckdb" && one.kind === "number";

/** Write a cell as the double that predict compares. */
function asDouble(name, syntax) {
  const cell = nameText(name, syntax);
  if (syntax.name !== "sqlite") return `CAST(${cell} AS ${syntax.double})`;
  return `CASE typeof(${cell}) WHEN 'integer' THEN CAST(${cell} AS REAL) WHEN 'real' THEN ${cell} END`;
}

/** Write a cell so that it compares with these bounds, and subtracts, as its double does. */
function comparable(name, lower, upper, syntax) {
  if (syntax.name !== "sqlite") return asDouble(name, syntax);
  // SQLite compares integers as integers; from 2**53 on, that is another order than that of doubles.
  const large = [lower, upper].some((side) => Math.abs(side) >= LARGEST_EXACT && Number.isFinite(side));
  return large ? `(${asDouble(name, syntax)})` : `+${nameText(name, syntax)}`;
}

// -- the nearest box ----------------------------------------------------------------------------------

/** Write the answer for a row in no box: that of the smallest largest violation, the first of equals. */
function nearestAnswer(asked, scale, answers, fallback, syntax) {
  const distances = asked.map((conditions) => (
    call(syntax.greatest, conditions.map((one) => violation(one, scale[one.feature], syntax)))));
  // Infinity comes first: where no box is within reach it is the smallest, and the default answers.
  const far = [numberText(Infinity, syntax), ...distances];
  const given = [fallback, ...answers];
  if (syntax.least) {
    const whens = far.map((distance, place) => `    WHEN ${distance} THEN ${given[place]}`);
    return `CASE ${call(syntax.least, distances)}\n${whens.join("\n")}\n  END`;
  }
  const ranked = far.map((distance, place) => `{far: ${distance}, place: ${place + 1}}`);
  return `[${given.join(", ")}][list_min([${ranked.join(",\n    ")}]).place]`;
}

/** Call a function of many arguments; of one alone, some databases make an aggregate. */
function call(name, parts) {
  let left = parts;
  while (left.length > CHAIN) left = groups(left).map((group) => call(name, group));
  return left.length === 1 ? left[0] : `${name}(${left.join(", ")})`;
}

function violation(one, scale, syntax) {
  const number = (value) => numberText(value, syntax);
  const [zero, infinite] = [number(0), number(Infinity)];
  if (one.set) {
    return `CASE WHEN ${boxText([one], syntax)} THEN ${zero} WHEN ${isPresent(one, syntax)} `
      + `THEN ${number(1)} ELSE ${infinite} END`;
  }
  if (one.missing) return `CASE WHEN ${boxText([one], syntax)} THEN ${zero} ELSE ${infinite} END`;
  const { name, lower, upper } = one;
  const cell = comparable(name, lower, upper, syntax);
  const unit = scale === 1 ? "" : ` * ${number(1 / scale)}`;
  const [below, above] = [reach(-lower, scale), reach(upper, scale)];
  const cases = [];
  if (unsafe(one, syntax)) cases.push(`${cell} IS NOT DISTINCT FROM ${number(NaN)} THEN ${infinite}`);
  if (lower > -Infinity) {
    if (below.farther < Infinity) cases.push(`${cell} <= ${number(-below.farther)} THEN ${infinite}`);
    cases.push(`${cell} < ${number(-below.nearer)} THEN (${number(lower)} - ${cell})${unit}`);
  }
  if (upper < Infinity) {
    cases.push(`${cell} <= ${number(above.nearer)} THEN ${zero}`);
    cases.push(`${cell} < ${number(above.farther)} THEN (${cell} - ${number(upper)})${unit}`);
  } else {
    cases.push(`${cell} <= ${infinite} THEN ${zero}`);
  }
  return `CASE ${cases.map((text) => `WHEN ${text}`).join(" ")} ELSE ${infinite} END`;
}

function isPresent(one, syntax) {
  const column = nameText(one.name, syntax);
  if (syntax.name === "sqlite" || one.kind !== "number") return `${column} IS NOT NULL`;
  const cell = asDouble(one.name, syntax);
  if (!unsafe(one, syntax)) return `${cell} <= ${numberText(Infinity, syntax)}`;
  return `${cell} IS NOT NULL AND ${cell} IS DISTINCT FROM ${numberText(NaN, syntax)}`;
}

function isAbsent(one, syntax) {
  const present = isPresent(one, syntax);
  const column = nameText(one.name, syntax);
  // A text among numbers counts as missing.
  if (syntax.name === "sqlite" && !one.set) return `typeof(${column}) NOT IN ('integer', 'real')`;
  // An index serves it, which it does not serve a negation.
  return present === `${column} IS NOT NULL` ? `${column} IS NULL` : `(${present}) IS NOT ${syntax.truth[1]}`;
}

/** Find where the violation of an upper bound is positive and finite: some databases raise an error elsewhere. */
function reach(bound, scale) {
  const far = (value) => (value - bound) * (1 / scale);
  if (bound === Infinity) return { nearer: bound, farther: bound };
  return {
    nearer: firstFrom(bound, (value) => far(value) > 0).before,
    farther: firstFrom(bound, (value) => far(value) === Infinity).value,
  };
}

// -- names, texts and numbers ---------------------------------------------------------------------------

function labelText(label, syntax) {
  if (label.kind === "text") return quotedText(label.value, syntax);
  if (label.kind === "bool") return syntax.truth[Number(label.python === "True")];
  // As Python wrote it: JavaScript would round a long integer.
  return label.kind === "int" ? `CAST('${label.python}' AS BIGINT)` : numberText(Number(label.python), syntax);
}

function quotedText(value, syntax) {
  checkText(value);
  const quoted = value.replaceAll("'", "''");
  const escapes = syntax.name === "postgres" && value.includes("\\");
  return escapes ? `E'${quoted.replaceAll("\\", "\\\\")}'` : `'${quoted}'`;
}

function nameText(name, { title, quote, maxNameBytes = Infinity }) {
  checkText(name);
  if (!name) throw new Error("A column name is empty: rename it.");
  if (new TextEncoder().encode(name).length > maxNameBytes) {
    throw new Error(`${title} cuts names at ${maxNameBytes} bytes: rename ${name}.`);
  }
  return quote + name.replaceAll(quote, quote + quote) + quote;
}

function checkDistinct(features, { folds }) {
  const names = features.map((feature) => (folds ? feature.folded : feature.name));
  const twice = names.find((name, place) => names.indexOf(name) !== place);
  if (twice !== undefined) throw new Error(`Two columns are ${twice} to this database: rename one of them.`);
}

function checkText(value) {
  if (value.includes("\0") || /\p{Surrogate}/u.test(value)) {
    throw new Error("A name or label holds a character that databases refuse.");
  }
}

/** Write a double that is read back as the same double. */
function numberText(value, syntax) {
  if (syntax.name === "sqlite") return sqliteNumber(value);
  // Bare, 0.1 would be a decimal, which databases compare and round by other rules.
  return `CAST('${repr(value).replace("inf", "Infinity").replace("nan", "NaN")}' AS ${syntax.double})`;
}

/** Versions of SQLite do not all read decimals to the nearest double: what may go wrong is put together. */
function sqliteNumber(value) {
  if (!Number.isFinite(value)) return value > 0 ? "9e999" : "-9e999";
  const spelled = repr(value);
  if (isReadExactly(spelled, Math.abs(value))) return spelled;
  const [numerator, denominator] = ratio(value);
  const bits = (count) => count.toString(2).replace("-", "").length;
  const small = denominator > 1n;
  const shift = small ? bits(denominator) - 1 : Math.max(0, bits(numerator) - 53);
  const factors = [...Array(Math.floor(shift / 53)).fill(TWO_53), ...(shift % 53 ? [`${2 ** (shift % 53)}.0`] : [])];
  const sign = small ? " / " : " * ";
  return `(${small ? numerator : numerator >> BigInt(shift)}.0${factors.map((factor) => sign + factor).join("")})`;
}

/** A short decimal, a quotient of two exact doubles at a distance from a tie, is read right by all versions. */
function isReadExactly(spelled, value) {
  const [digits, power = "0"] = spelled.replace(/^-/, "").split("e");
  const [whole, behind = ""] = digits.split(".");
  const fraction = behind.replace(/0+$/, "");
  const significand = BigInt(whole + fraction);
  const exponent = Number(power) - fraction.length;
  if (significand >= 2n ** 53n || Math.abs(exponent) > 22) return false;
  const ten = 10n ** BigInt(Math.abs(exponent));
  const [top, bottom] = exponent < 0 ? [significand, ten] : [significand * ten, 1n];
  const [numerator, denominator] = ratio(value);
  const [gap, gapUnit] = ratio(value - nextAfter(value, -1)); // the smaller one, at a power of two
  const error = top * denominator - numerator * bottom; // over bottom * denominator
  return 64n * (error < 0n ? -error : error) * gapUnit <= 31n * gap * bottom * denominator;
}
