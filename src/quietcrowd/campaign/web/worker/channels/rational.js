// Floats as exact ratios of integers.

/** @typedef {{over: bigint, under: bigint}} Ratio  `over / under`, not reduced; `under` above 0 */

const FRACTION_BITS = 52n;
const LEAST_POWER = 1074n; // floats are multiples of 2^-1074

const view = new DataView(new ArrayBuffer(8));

function bitsOf(number) {
  view.setFloat64(0, number);
  return view.getBigUint64(0);
}

/** Return the exact ratio of a float, at least 0. @param {number} number @returns {Ratio} */
export function ratioOf(number) {
  if (!(number >= 0 && number < Infinity)) {
    throw new RangeError(`a number must be finite and at least 0; got ${number}`);
  }
  const bits = bitsOf(number);
  const fraction = bits & (2n ** FRACTION_BITS - 1n);
  const power = bits >> FRACTION_BITS; // 0: subnormal
  const digits = power ? fraction | (1n << FRACTION_BITS) : fraction;
  const shift = (power || 1n) - 1n - LEAST_POWER;
  return shift < 0n
    ? { over: digits, under: 1n << -shift }
    : { over: digits << shift, under: 1n };
}

/** Return the ratio of a number's shortest decimal, at least 0: 0.1 is one tenth. */
export function decimalOf(number) {
  const [digits, power] = number.toExponential().split("e");
  const [whole, broken = ""] = digits.split(".");
  const shift = Number(power) - broken.length;
  return {
    over: BigInt(whole + broken) * 10n ** BigInt(Math.max(shift, 0)),
    under: 10n ** BigInt(Math.max(-shift, 0)),
  };
}

export function sumOf(one, other) {
  return {
    over: one.over * other.under + other.over * one.under,
    under: one.under * other.under,
  };
}

/** Return whether a ratio is at most another. @param {Ratio} one @param {Ratio} other */
export function isNoMore(one, other) {
  return one.over * other.under <= other.over * one.under;
}

/** Return the smaller of a number and its shortest decimal. @returns {Ratio} */
export function leastMeant(number) {
  const [exact, decimal] = [ratioOf(number), decimalOf(number)];
  return isNoMore(exact, decimal) ? exact : decimal;
}

/** Return the smallest float with a shortest decimal of at least a ratio. @param {Ratio} ratio */
export function decimalUp({ over, under }) {
  const nearest = nearestFloat(over, under);
  if (isNoMore({ over, under }, decimalOf(nearest))) {
    return nearest;
  }
  view.setBigUint64(0, bitsOf(nearest) + 1n);
  return view.getFloat64(0);
}

/** Return the smallest float that is at least a ratio from 1 to 2^53. @param {Ratio} ratio */
export function floatUp({ over, under }) {
  const shift = FRACTION_BITS - BigInt((over / under).toString(2).length - 1);
  const digits = ((over << shift) + under - 1n) / under; // 2^52 to 2^53, rounded up
  return Number(digits) / 2 ** Number(shift);
}

/** Return the first whole number from `low` on for which a condition holds; `high` if none. */
export function firstFrom(low, high, holds) {
  let [first, last] = [low, high];
  while (first < last) {
    const middle = Math.floor((first + last) / 2);
    [first, last] = holds(middle) ? [first, middle] : [middle + 1, last];
  }
  return first;
}

/** Return the float nearest to a ratio with `under` above 0; ties are rounded to even. */
export function nearestFloat(over, under) {
  const size = over < 0n ? -over : over;
  const length = (number) => number.toString(2).length;
  const shift = BigInt(Math.max(0, 66 + length(under) - length(size)));
  const [digits, rest] = [(size << shift) / under, (size << shift) % under];
  const half = Number(shift) >> 1;
  const found = Number(rest ? digits | 1n : digits) / 2 ** half / 2 ** (Number(shift) - half);
  return over < 0n ? -found : found;
}
