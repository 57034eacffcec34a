// Coins whose chance is an irrational number, thrown exactly with random words.
//
// A coin of chance p shows heads where a uniform number, read from words as its binary digits, is
// less than p. The first word nearly always settles it. Where it is equal to the first 32 digits
// of p, the next word is compared with the next 32 digits, and so on: no chance is rounded.

/** @typedef {import("./rational.js").Ratio} Ratio */
/** @typedef {import("./words.js").WordSource} WordSource */
/** @typedef {(bits: number) => bigint} Chance  gives floor(p 2^bits) */

const WORD_BITS = 32;
const GUARD = 24;

/** Return the chance exp(-rate); the rate above 0. @param {Ratio} rate @returns {Chance} */
export function decaying(rate) {
  return (bits) => digitsOf(rate, 0n, bits);
}

/** Return the chance 1 / (1 + exp(rate)); the rate above 0. @param {Ratio} rate @returns {Chance} */
export function logistic(rate) {
  return (bits) => digitsOf(rate, 1n, bits);
}

/** Return what a first word is compared with. @param {Chance} chance */
export function firstDigits(chance) {
  return Number(chance(WORD_BITS));
}

/**
 * Return whether a coin shows heads, given that the first word was equal to its digits.
 * @param {Chance} chance
 * @param {WordSource} words  gives further words, one at a time
 */
export function settle(chance, words) {
  let bits = WORD_BITS;
  let drawn = chance(bits);
  for (;;) {
    bits += WORD_BITS;
    drawn = (drawn << 32n) | BigInt(words(1)[0]);
    const digits = chance(bits);
    if (drawn !== digits) {
      return drawn < digits;
    }
  }
}

/** Return whether a coin shows heads, given its first word. */
export function showsHeads(word, chance, words) {
  const digits = firstDigits(chance);
  return word === digits ? settle(chance, words) : word < digits;
}

/** Return whether a coin shows heads. */
export function toss(chance, words) {
  return showsHeads(words(1)[0], chance, words);
}

/**
 * Return floor(2^bits / (others + exp(rate))), to the last digit.
 *
 * exp(-rate) is bounded from both sides. More digits are taken until both bounds give the same: what
 * is rounded down is irrational, so that they do.
 * @param {Ratio} rate  above 0
 * @param {bigint} others  at least 0
 * @param {number} bits
 */
export function digitsOf(rate, others, bits) {
  if (rate.over <= 0n) {
    throw new RangeError("a rate must be above 0");
  }
  for (let guard = GUARD; ; guard *= 2) {
    const precision = BigInt(bits + guard);
    const [low, high] = powerBounds(rate, precision).map(
      (power) => (power << BigInt(bits)) / ((1n << precision) + others * power),
    );
    if (low === high) {
      return low;
    }
  }
}

/**
 * Return integers below and above 2^precision exp(-rate).
 *
 * The rate is halved until it is below 2^-8, its power computed by its series, and squared as often.
 * Each squaring doubles the error, so that as many more digits are carried on the way.
 */
function powerBounds({ over, under }, precision) {
  const halvings = (over / under).toString(2).length + 8;
  const carried = precision + BigInt(halvings) + 8n;
  const one = 1n << carried;
  const part = (over << (carried - BigInt(halvings))) / under;
  let low = (one * one) / seriesAbove(part + 1n, one);
  let high = (one * one) / seriesBelow(part, one) + 1n;
  for (let i = 0; i < halvings; i += 1) {
    low = (low * low) >> carried;
    high = ((high * high) >> carried) + 1n;
  }
  const rest = carried - precision;
  return [low >> rest, (high >> rest) + 1n];
}

/** Return a number at most one exp(part / one), and near to it. */
function seriesBelow(part, one) {
  let sum = one;
  for (let term = part, n = 2n; term > 0n; n += 1n) {
    sum += term;
    term = (term * part) / (one * n);
  }
  return sum;
}

/** Return a number at least one exp(part / one), for a part below one / 2, and near to it. */
function seriesAbove(part, one) {
  let sum = one + 2n; // for all terms after the last, which sum to less
  for (let term = part, n = 2n; term > 1n; n += 1n) {
    sum += term;
    term = (term * part) / (one * n) + 1n;
  }
  return sum;
}
