// What the page does to a model: edits give new values, undo brings old ones back. Run by node --test.

import assert from "node:assert/strict";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

const folder = pathToFileURL(`${process.env.HYPERBOXES_PAGE}/`);
const { copyBox, fromDocument, holds, Judge, moveBox, nConditions, openFeature, removeBox, sameModel, setBound, setCategories } = await import(new URL("model.js", folder));
const { History } = await import(new URL("history.js", folder));
const { Axis, distinct, medoid, neighbour } = await import(new URL("table.js", folder));
const { roundToSpan } = await import(new URL("numbers.js", folder));

const model = () => fromDocument({
  features: [{ name: "a" }, { name: "b", categories: ["x", "y", "z"] }],
  boxes: [{ class: 1, bounds: { 0: [1, 3] }, categories: { 1: [0, 2] } }, { class: 0, bounds: { 0: [2, null] } }],
  default: 0, uncovered: "default",
});

test("an edit leaves the old model as it was, and other boxes the same objects", () => {
  const before = model();
  const after = setBound(before, 0, 0, "upper", 2.5);
  assert.deepEqual(before.boxes[0].bounds.get(0), [1, 3]);
  assert.deepEqual(after.boxes[0].bounds.get(0), [1, 2.5]);
  assert.equal(after.boxes[1], before.boxes[1]);
});

test("a side never crosses the other, and opening both lifts the condition", () => {
  assert.deepEqual(setBound(model(), 0, 0, "lower", 99).boxes[0].bounds.get(0), [3, 3]);
  assert.deepEqual(setBound(model(), 0, 0, "upper", -99).boxes[0].bounds.get(0), [1, 1]);
  assert.equal(setBound(model(), 1, 0, "lower", -Infinity).boxes[1].bounds.size, 0);
  assert.ok(Object.is(setBound(model(), 0, 0, "lower", -0).boxes[0].bounds.get(0)[0], 0));
});

test("an open side cannot become a bound at the wrong infinity", () => {
  assert.ok(sameModel(setBound(model(), 1, 0, "lower", Infinity), model()));
});

test("a set never becomes empty, and a full one is no condition", () => {
  assert.ok(sameModel(setCategories(model(), 0, 1, [false, false, false]), model()));
  assert.equal(setCategories(model(), 0, 1, [true, true, true]).boxes[0].sets.size, 0);
});

test("a set says of each cell, missing and unknown ones too, whether it is admitted", () => {
  const open = fromDocument({
    features: [{ name: "b", categories: ["x", "y", null] }], boxes: [{ class: 0, bounds: {} }],
    default: 0, uncovered: "default",
  });
  const cells = [0, 1, 2, NaN, -1, 3, 0.5, Infinity];
  const admitted = (...flags) => {
    const [box] = setCategories(open, 0, 0, flags).boxes;
    return cells.filter((cell) => holds(box, 0, cell));
  };
  assert.deepEqual(admitted(true, false, false), [0]);
  assert.deepEqual(admitted(true, false, true), [0, 2, NaN]);
  assert.deepEqual(admitted(false, false, true), [2, NaN]);
  assert.deepEqual(admitted(true, true, false), [0, 1, -1, 3, 0.5, Infinity]);
  assert.deepEqual(admitted(true, true, true), cells);
});

test("that a number be missing is one condition, equal to itself, and gives way to a bound", () => {
  const asking = () => fromDocument({
    features: [{ name: "a" }], boxes: [{ class: 0, bounds: { 0: "missing" } }], default: 0, uncovered: "default",
  });
  const [box] = asking().boxes;
  assert.deepEqual([NaN, 0, Infinity, -Infinity].map((cell) => holds(box, 0, cell)), [true, false, false, false]);
  assert.equal(nConditions(box), 1);
  assert.ok(sameModel(asking(), asking()));
  assert.deepEqual(setBound(asking(), 0, 0, "upper", 3).boxes[0].bounds.get(0), [-Infinity, 3]);
  assert.ok(!sameModel(setBound(asking(), 0, 0, "upper", 3), asking()));
  assert.equal(setBound(asking(), 0, 0, "lower", -Infinity).boxes[0].bounds.size, 0);
});

test("models differ if their sets do", () => {
  assert.ok(!sameModel(setCategories(model(), 0, 1, [true, true, false]), model()));
  assert.ok(sameModel(setCategories(model(), 0, 1, [true, false, true]), model()));
});

test("copies stand behind the original under an id of their own", () => {
  const after = copyBox(model(), 0);
  assert.deepEqual(after.boxes.map((box) => box.id), [0, 2, 1]);
  assert.deepEqual(removeBox(after, 0).boxes.map((box) => box.id), [2, 1]);
  assert.deepEqual(copyBox(removeBox(removeBox(model(), 0), 1), 7).boxes.length, 1);
});

test("moving stops at the ends", () => {
  assert.deepEqual(moveBox(model(), 0, 1).boxes.map((box) => box.id), [1, 0]);
  assert.equal(moveBox(model(), 0, -1).boxes[0].id, 0);
});

test("a judge computes only what changed", () => {
  const judge = new Judge([Float64Array.of(0, 1, 2, 3, NaN), Float64Array.of(0, 1, 2, -1, NaN)], [0, 1, 1, 0, 0], 2);
  const before = model();
  judge.evaluate(before);
  const kept = judge.contains(before.boxes[1]);
  const after = setBound(before, 0, 0, "lower", 2);
  judge.evaluate(after);
  assert.equal(judge.contains(after.boxes[1]), kept);
  assert.deepEqual([...judge.contains(openFeature(after, 0, 1).boxes[0])], [0, 0, 1, 1, 0]);
});

test("undo brings back the very value, redo too, and a new edit forgets the future", () => {
  const history = new History("a");
  history.commit("b");
  history.commit("c");
  history.undo();
  assert.equal(history.current, "b");
  history.redo();
  assert.equal(history.current, "c");
  history.undo();
  history.commit("d");
  history.redo();
  assert.equal(history.current, "d");
  history.undo();
  history.undo();
  history.undo();
  assert.equal(history.current, "a");
});

test("a drag is one step; what follows it is another", () => {
  const history = new History(0);
  for (let step = 1; step <= 5; step += 1) history.commit(step, "drag 1");
  history.seal();
  history.commit(6, "drag 1");
  assert.deepEqual(history.past, [0, 5]);
});

test("keys walk from value to value, whether or not the bound is one of them", () => {
  const values = distinct(Float64Array.of(3, 1, NaN, 2, 2, Infinity, -Infinity));
  assert.deepEqual([...values], [1, 2, 3]);
  assert.equal(neighbour(values, 2, 1), 3);
  assert.equal(neighbour(values, 2, -1), 1);
  assert.equal(neighbour(values, 2.5, 1), 3);
  assert.equal(neighbour(values, 2.5, -1), 2);
  assert.equal(neighbour(values, 3, 1), undefined);
  assert.equal(neighbour(values, 1, -1), undefined);
  assert.equal(neighbour(values, 1, 1, 10), 3);
  assert.equal(neighbour(values, -Infinity, 1), 1);
  assert.equal(neighbour(values, Infinity, -1), 3);
});

test("a dragged edge gets as many digits as a pixel can show", () => {
  assert.equal(roundToSpan(5.34871, 0.013), 5.35);
  assert.equal(roundToSpan(123456, 800), 123500);
  assert.equal(roundToSpan(-0.00012345, 1e-6), -0.000123);
  assert.equal(roundToSpan(0.4, 10), 0);
  assert.equal(roundToSpan(0, 1), 0);
});

test("an axis holds the largest and the smallest numbers apart", () => {
  for (const range of [[-1.7e308, 1.7e308], [0, 5e-324], [1, 2], [-5e-324, 0], [1e308, 1.1e308]]) {
    for (const room of [0, 0.05]) {
      const axis = new Axis(range, room);
      const [first, last] = range.map((end) => axis.share(end));
      assert.ok(first >= 0 && first < last && last <= 1, `${range} ${first} ${last}`);
      assert.ok(Number.isFinite(axis.share(-1.7e308)) && Number.isFinite(axis.share(Infinity)));
      assert.ok(axis.value(0.5) >= axis.low && axis.value(0.5) <= axis.high);
    }
  }
});

test("the medoid is the row nearest to the others, missing values aside", () => {
  const column = Float64Array.of(0, 5, 6, 7, 8, 100, NaN);
  assert.equal(medoid([0, 1, 2, 3, 4, 5, 6], [column], [0], [10]), 2);
  assert.equal(medoid([], [column], [0], [1]), -1);
});
