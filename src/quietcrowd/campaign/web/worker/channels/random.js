// Random words, and coins with an irrational probability p, tossed exactly with them.
//
// A source of words is a function that returns `count` 32-bit words as a Uint32Array. A coin shows
// heads if a word is below the first 32 binary digits of p. If it equals them, the next word is
// compared with the next 32 digits, and so on: no probability is rounded.

/** @import { Ratio } from "./rational.js" */
/** @typedef {(bits: number) => bigint} Chance  returns floor(p 2^bits) */

const AT_ONCE = 65_536 / 4; // maximum words of one browser call
const WORD_BITS = 32;
const GUARD = 24;

export function systemWords(count) {
  const words = new Uint32Array(count);
  for (let start = 0; start < count; start += AT_ONCE) {
    crypto.getRandomValues(words.subarray(start, start + AT_ONCE));
  }
  return words;
}

/**
 * Return integers that are exactly uniform on 0 to `size - 1`.
 *
 * Two words make a 64-bit number, lower half first. Numbers at or above the largest multiple of the
 * size, at most 2^32 + 1, are drawn again, together and in order.
 */
export function uniformIntegers(words, size, count) {
  const whole = BigInt(size);
  const limit = (2n ** 64n / whole) * whole;
  const integers = new Array(count);
  let open = [...integers.keys()];
  while (open.length) {
    const drawn = words(2 * open.length);
    open = open.filter((place, i) => {
      const number = BigInt(drawn[2 * i]) | (BigInt(drawn[2 * i + 1]) << 32n);
      integers[place] = Number(number % whole);
      return number >= limit;
    });
  }
  return integers;
}

/** Return the probability exp(-rate). @param {Ratio} rate @returns {Chance} */
export function decaying(rate) {
  return (bits) => digitsOf(rate, 0n, bits);
}

/** Return the probability 1 / (1 + exp(rate)). @param {Ratio} rate @returns {Chance} */
export function logistic(rate) {
  return (bits) => digitsOf(rate, 1n, bits);
}

export function firstDigits(chance) {
  return Number(chance(WORD_BITS));
}

/** Return whether a coin shows heads if its first word equals its digits. */
export function settle(chance, words) {
  let drawn = chance(WORD_BITS);
  for (let bits = 2 * WORD_BITS; ; bits += WORD_BITS) {
    drawn = (drawn << 32n) | BigInt(words(1)[0]);
    const digits = chance(bits);
    if (drawn !== digits) {
      return drawn < digits;
    }
  }
}

/** Return whether a coin with this first word shows heads. */
export function showsHeads(word, chance, words) {
  const digits = firstDigits(chance);
  return word === digits ? settle(chance, words) : word < digits;
}

/**
 * Return floor(2^bits / (others + exp(rate))) exactly: exp(-rate) is bounded ever more closely,
 * until both bounds give the same result. This ends, because the value is irrational.
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
 * Return integers below and above 2^precision exp(-rate). The rate is halved to below 2^-8 for a
 * series, whose value is then squared as often. Squaring doubles the error, so more digits are
 * carried.
 */
function powerBounds({ over, under }, precision) {
  const halvings = (over / under).toString(2).length + 8;
  const carried = precision + BigInt(halvings) + 8n;
  const one = 1n << carried;
  const part = (over << (carried - BigInt(halvings))) / under;
  let low = (one * one) / series(part + 1n, one, 1n);
  let high = (one * one) / series(part, one, 0n) + 1n;
  for (let i = 0; i < halvings; i += 1) {
    low = (low * low) >> carried;
    high = ((high * high) >> carried) + 1n;
  }
  const rest = carried - precision;
  return [low >> rest, (high >> rest) + 1n];
}

/** Return a number near one exp(part / one): below it if up is 0, above it if up is 1. */
function series(part, one, up) {
  let sum = one + 2n * up; // bounds the sum of all further terms
  for (let term = part, n = 2n; term > up; n += 1n) {
    sum += term;
    term = (term * part) / (one * n) + up;
  }
  return sum;
}
