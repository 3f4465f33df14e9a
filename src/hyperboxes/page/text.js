// The model as text: rules for people, Python for programs.

import { mustMiss, nConditions, restricted } from "./model.js";
import { formatNumber, LEAST_NUMBER, repr } from "./numbers.js";

/** Write what a box asks of one feature, as hyperboxes.Condition prints it. */
export function conditionText(box, feature, features) {
  const { shown, categories } = features[feature];
  const set = box.sets.get(feature);
  if (set) {
    if (set.unknown) return `${shown} is known`;
    const admitted = categories.filter((_, place) => set.flags[place]).map((category) => category.quoted);
    if (set.missing && admitted.length === 1) return `${shown} is missing`;
    return admitted.length === 1 ? `${shown} = ${admitted[0]}` : `${shown} in {${admitted.join(", ")}}`;
  }
  if (mustMiss(box, feature)) return `${shown} is missing`;
  const [low, high] = box.bounds.get(feature);
  if (low === LEAST_NUMBER && high === Infinity) return `${shown} is known`;
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
  const set = box.sets.get(feature);
  if (set) {
    const admitted = features[feature].categories.filter((_, place) => set.flags[place]);
    return `{${admitted.map((category) => category.python).join(", ")}}`;
  }
  if (mustMiss(box, feature)) return "{None}";
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
