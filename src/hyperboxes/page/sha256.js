// SHA-256 of ASCII text. The browser's own is asynchronous and absent from pages served without TLS.

// The first 32 bits of the fractional parts of the cube roots, and of the square roots, of the first primes.
const primes = [];
for (let number = 2; primes.length < 64; number += 1) {
  if (primes.every((prime) => number % prime)) primes.push(number);
}

/** Give the first 32 bits of the fraction of a root, by integers: doubles do not hold enough of it. */
function rootBits(number, power) {
  const target = BigInt(number) << BigInt(32 * power);
  let low = 0n;
  let high = BigInt(number) << 32n;
  while (low < high) {
    const middle = (low + high + 1n) >> 1n;
    if (middle ** BigInt(power) <= target) low = middle;
    else high = middle - 1n;
  }
  return Number(low & 0xffffffffn);
}

const ROUNDS = Uint32Array.from(primes, (prime) => rootBits(prime, 3));
const START = Uint32Array.from(primes.slice(0, 8), (prime) => rootBits(prime, 2));

const turn = (word, by) => (word >>> by) | (word << (32 - by));

/** Give the hash as hexadecimal digits. */
export function sha256(text) {
  const bytes = new Uint8Array(Math.ceil((text.length + 9) / 64) * 64);
  for (let place = 0; place < text.length; place += 1) bytes[place] = text.charCodeAt(place);
  bytes[text.length] = 0x80;
  const view = new DataView(bytes.buffer);
  view.setBigUint64(bytes.length - 8, BigInt(text.length) * 8n);
  const hash = START.slice();
  const words = new Uint32Array(64);
  for (let block = 0; block < bytes.length; block += 64) {
    for (let t = 0; t < 64; t += 1) {
      if (t < 16) {
        words[t] = view.getUint32(block + 4 * t);
        continue;
      }
      const early = words[t - 15];
      const late = words[t - 2];
      const mixedEarly = turn(early, 7) ^ turn(early, 18) ^ (early >>> 3);
      const mixedLate = turn(late, 17) ^ turn(late, 19) ^ (late >>> 10);
      words[t] = words[t - 16] + mixedEarly + words[t - 7] + mixedLate;
    }
    let [a, b, c, d, e, f, g, h] = hash;
    for (let t = 0; t < 64; t += 1) {
      const choice = (e & f) ^ (~e & g);
      const first = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + choice + ROUNDS[t] + words[t]) | 0;
      const majority = (a & b) ^ (a & c) ^ (b & c);
      const second = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + majority) | 0;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((word, place) => { hash[place] += word; });
  }
  return Array.from(hash, (word) => word.toString(16).padStart(8, "0")).join("");
}
