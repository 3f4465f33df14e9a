// Numbers as Python writes them, and float64 neighbours.

/** As a lower bound, it asks only that there is a value. */
export const LEAST_NUMBER = -Number.MAX_VALUE;

/** Write a number as Python's repr does: the fewest digits that read back as the same float64. */
export function repr(value) {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  const sign = value < 0 || Object.is(value, -0) ? "-" : "";
  const [mantissa, power] = Math.abs(value).toExponential().split("e");
  const digits = mantissa.replace(".", "");
  const exponent = Number(power);
  if (exponent < -4 || exponent >= 16) {
    const point = digits.length > 1 ? `${digits[0]}.${digits.slice(1)}` : digits;
    return `${sign}${point}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
  }
  if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${digits}`;
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, "0");
  return `${sign}${whole}.${digits.slice(exponent + 1) || "0"}`;
}

/** Write a bound: as repr, without an idle ".0". */
export function formatNumber(value) {
  return repr(value).replace(/\.0$/, "");
}

/** Write a figure that only orients: at most four digits. */
export function roughly(value) {
  return formatNumber(Number(value.toPrecision(4)));
}

/** Write a share with three decimals; a share of nothing is a dash. */
export function formatShare(value) {
  return Number.isNaN(value) ? "–" : value.toFixed(3);
}

/** Write a count with thousands apart. */
export function formatCount(value) {
  return String(Math.round(value * 1e6) / 1e6).replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
}

const real = new Float64Array(1);
const bits = new BigInt64Array(real.buffer);

/** Give the next float64 above (direction 1) or below (-1). */
export function nextAfter(value, direction) {
  if (Number.isNaN(value) || value === direction * Infinity) return value;
  if (value === 0) return direction * Number.MIN_VALUE;
  real[0] = value;
  bits[0] += value > 0 === direction > 0 ? 1n : -1n;
  return real[0];
}

/** Find the first float64 from start on where something holds that holds at infinity, and the last one before. */
export function firstFrom(start, holds) {
  let [low, high] = [rank(start), rank(Infinity)];
  while (high - low > 1n) {
    const middle = low + (high - low) / 2n;
    if (holds(ofRank(middle))) high = middle;
    else low = middle;
  }
  return { before: low === rank(start) ? start : ofRank(low), value: ofRank(high) };
}

/** Give the place of a float64 in the order of all of them. */
function rank(value) {
  real[0] = Math.abs(value);
  return value < 0 ? -bits[0] : bits[0];
}

function ofRank(place) {
  bits[0] = place < 0n ? -place : place;
  return place < 0n ? -real[0] : real[0];
}

/** Give a finite float64 as numerator and denominator, as Python's as_integer_ratio does. */
export function ratio(value) {
  real[0] = Math.abs(value);
  const exponent = bits[0] >> 52n;
  let numerator = bits[0] & 0xfffffffffffffn;
  if (exponent) numerator |= 1n << 52n;
  let power = (exponent || 1n) - 1075n;
  while (power < 0n && !(numerator & 1n) && numerator) {
    numerator >>= 1n;
    power += 1n;
  }
  if (!numerator) power = 0n;
  const signed = value < 0 ? -numerator : numerator;
  return power < 0n ? [signed, 1n << -power] : [signed << power, 1n];
}

/** Round to the digits that a span can show: a dragged edge gets a short number. */
export function roundToSpan(value, span) {
  if (value === 0 || !(span > 0) || !Number.isFinite(value)) return value + 0;
  const digits = Math.floor(Math.log10(Math.abs(value))) - Math.floor(Math.log10(span)) + 1;
  return digits < 1 ? 0 : Number(value.toPrecision(Math.min(17, digits))) + 0;
}
