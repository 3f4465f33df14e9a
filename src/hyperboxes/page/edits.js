// What a person can do to an edge, wherever it is drawn: drag it, move it by keys, open it, close it.

import { put, say } from "./dom.js";
import { setBound } from "./model.js";
import { formatNumber, LEAST_NUMBER, roundToSpan } from "./numbers.js";
import { neighbour } from "./table.js";

/** Give the bound of a box on one side; ±Infinity where it is open, NaN where the value must be missing. */
export function boundOf(box, feature, side) {
  const [low, high] = box.bounds.get(feature) ?? [-Infinity, Infinity];
  return side === "lower" ? low : high;
}

/** Close an open side at the outermost value inside the box, which keeps every row that is not missing. */
export function closeSide(store, id, feature, side) {
  const inside = store.judge.contains(store.boxOf(id));
  const cells = store.columns[feature];
  let value = side === "lower" ? Infinity : -Infinity;
  for (let row = 0; row < inside.length; row += 1) {
    if (!inside[row] || !Number.isFinite(cells[row])) continue;
    value = side === "lower" ? Math.min(value, cells[row]) : Math.max(value, cells[row]);
  }
  const [low, high] = store.ranges[feature];
  if (!Number.isFinite(value)) value = side === "lower" ? low : high;
  store.edit((model) => setBound(model, id, feature, side, value));
}

export function openSide(store, id, feature, side) {
  store.edit((model) => setBound(model, id, feature, side, side === "lower" ? -Infinity : Infinity));
}

/**
 * Make an element an edge: a slider for the keyboard, a handle for the pointer.
 *
 * where(): {id, feature, side}; toValue(event): the value under the pointer; span(): what a pixel is worth;
 * beyond(event): whether the pointer has left the picture on the open side.
 */
export function makeEdge(node, store, { where, toValue, span, beyond, axis = "x" }) {
  put(node, "role", "slider");
  put(node, "aria-orientation", axis === "x" ? "horizontal" : "vertical");
  const set = (value, token) => {
    const { id, feature, side } = where();
    store.edit((model) => setBound(model, id, feature, side, value), token);
  };
  const open = () => { const { id, feature, side } = where(); openSide(store, id, feature, side); };
  node.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    event.preventDefault();
    node.focus({ preventScroll: true });
    node.setPointerCapture(event.pointerId);
    const { id, feature, side } = where();
    store.selectBox(id);
    store.history.seal();
    const token = `drag ${id} ${feature} ${side} ${event.timeStamp}`;
    let last = null;
    let moved = false;
    const start = [event.clientX, event.clientY];
    const apply = () => {
      const now = last;
      last = null;
      if (!now) return;
      set(beyond(now) ? (side === "lower" ? -Infinity : Infinity) : roundToSpan(toValue(now), span()), token);
    };
    const move = (next) => {
      moved ||= Math.hypot(next.clientX - start[0], next.clientY - start[1]) > 2;
      if (!moved) return;
      if (!store.state.dragging) store.drag(true);
      // However many moves come between two frames, the model changes once.
      if (!last) requestAnimationFrame(apply);
      last = next;
    };
    const end = () => {
      apply();
      node.removeEventListener("pointermove", move);
      node.removeEventListener("pointerup", end);
      node.removeEventListener("pointercancel", end);
      store.drag(false);
    };
    node.addEventListener("pointermove", move);
    node.addEventListener("pointerup", end);
    node.addEventListener("pointercancel", end);
  });
  node.addEventListener("dblclick", open);
  node.addEventListener("keydown", (event) => {
    const { id, feature, side } = where();
    const [less, more] = axis === "x" ? ["ArrowLeft", "ArrowRight"] : ["ArrowDown", "ArrowUp"];
    const steps = { [less]: -1, [more]: 1, PageDown: -10, PageUp: 10 }[event.key];
    if (event.key === "Delete" || event.key === "Backspace") {
      event.preventDefault();
      open();
    } else if (steps) {
      event.preventDefault();
      event.stopPropagation();
      store.selectBox(id);
      const bound = boundOf(store.boxOf(id), feature, side);
      const by = Math.abs(steps) * (event.shiftKey ? 10 : 1);
      // From value to value of the table: each press lets some rows in or out.
      const next = neighbour(store.valuesOf(feature), bound, Math.sign(steps), by);
      if (next !== undefined) set(next, `keys ${id} ${feature} ${side}`);
    }
  });
  node.addEventListener("blur", () => store.history.seal());
}

/** Tell assistive technology what an edge is and where it stands. */
export function speakEdge(node, store, box, feature, side) {
  const bound = boundOf(box, feature, side);
  const [low, high] = store.ranges[feature];
  const known = bound === LEAST_NUMBER;
  const shown = known ? "any value, but known" : Number.isFinite(bound) ? formatNumber(bound) : "open";
  put(node, "aria-label", `Box ${store.places.get(box.id)}, ${store.features[feature].shown}, ${side} bound`);
  put(node, "aria-valuemin", low);
  put(node, "aria-valuemax", high);
  put(node, "aria-valuenow", Number.isFinite(bound) ? bound : side === "lower" ? low : high);
  put(node, "aria-valuetext", shown);
  const title = node.querySelector("title");
  if (title) say(title, `${side} bound of box ${store.places.get(box.id)}: ${shown}`);
}
