// The rows of the page: columns of float64, packed by hyperboxes.page.payload.

import { LEAST_NUMBER } from "./numbers.js";

/** Unpack columns: base64 of deflate of, column by column, the eight bytes of each number apart. */
export async function unpack({ data, divisors, n }) {
  const packed = Uint8Array.from(atob(data), (sign) => sign.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  return divisors.map((divisor, place) => {
    const column = new Float64Array(n);
    const target = new Uint8Array(column.buffer);
    const start = place * 8 * n;
    for (let byte = 0; byte < 8; byte += 1) {
      const plane = start + byte * n;
      for (let row = 0; row < n; row += 1) target[8 * row + byte] = bytes[plane + row];
    }
    // A decimal was shipped as a whole number: dividing by a power of ten gives the nearest float64 again.
    if (divisor !== 1) for (let row = 0; row < n; row += 1) column[row] /= divisor;
    return column;
  });
}

/** Give the range of a column and of all bounds on it; missing and infinite values and a bound that only asks for a
 * value aside. */
export function rangeOf(cells, bounds) {
  let low = Infinity;
  let high = -Infinity;
  for (const list of [cells, bounds]) {
    for (const cell of list) {
      if (!Number.isFinite(cell) || (list === bounds && cell === LEAST_NUMBER)) continue;
      if (cell < low) low = cell;
      if (cell > high) high = cell;
    }
  }
  if (low > high) return [0, 1];
  if (low < high) return [low, high];
  const room = Math.max(1, Math.abs(low)) / 2;
  return [Math.max(-Number.MAX_VALUE, low - room), Math.min(Number.MAX_VALUE, high + room)];
}

/** An axis from low to high, with room at both ends: shares of its length, and back. */
export class Axis {
  constructor([low, high], room = 0) {
    // Differences of numbers near 1e308 overflow: they are taken of halves, which would lose the smallest numbers.
    this.by = Math.max(-low, high) > 1e300 ? 0.5 : 1;
    const width = high * this.by - low * this.by;
    this.low = Math.max(-Number.MAX_VALUE, low - (room * width) / this.by);
    this.high = Math.min(Number.MAX_VALUE, high + (room * width) / this.by);
    this.width = this.high * this.by - this.low * this.by;
  }

  /** What is far beyond an end stays a number. */
  share(value) {
    return Math.max(-9, Math.min(9, (value * this.by - this.low * this.by) / this.width));
  }

  value(share) {
    return Math.max(this.low, Math.min(this.high, this.low * (1 - share) + this.high * share));
  }

  /** What one of so many pixels is worth. */
  span(pixels) {
    return this.width / Math.max(1, pixels) / this.by;
  }
}

/** Give the distinct finite values of a column, rising. */
export function distinct(cells) {
  const sorted = Float64Array.from(cells).sort();
  const values = sorted.filter((cell, place) => Number.isFinite(cell) && (place === 0 || cell !== sorted[place - 1]));
  return values;
}

/** Give the value next to a bound in a rising list, one way or the other; undefined at the end. */
export function neighbour(values, bound, direction, steps = 1) {
  let low = 0;
  let high = values.length;
  // The first place whose value is beyond (upwards), or not below (downwards), the bound.
  while (low < high) {
    const middle = (low + high) >> 1;
    if (direction > 0 ? values[middle] <= bound : values[middle] < bound) low = middle + 1;
    else high = middle;
  }
  if (direction > 0) return low < values.length ? values[Math.min(values.length - 1, low + steps - 1)] : undefined;
  return low > 0 ? values[Math.max(0, low - steps)] : undefined;
}

/** Choose the row with the smallest sum of distances to the others, among at most `most` of them, evenly taken. */
export function medoid(rows, columns, features, unit, most = 200) {
  const step = Math.max(1, rows.length / most);
  const some = Array.from({ length: Math.min(most, rows.length) }, (_, place) => rows[Math.floor(place * step)]);
  let best = -1;
  let least = Infinity;
  for (const row of some) {
    let sum = 0;
    for (const feature of features) {
      const cells = columns[feature];
      for (const other of some) {
        const gap = Math.abs(cells[row] - cells[other]) / unit[feature];
        sum += gap < 3 ? gap : 3; // a missing or outlying value counts as far, not more
        if (sum >= least) break;
      }
      if (sum >= least) break;
    }
    if (sum < least) {
      least = sum;
      best = row;
    }
  }
  return best;
}
