// Discrete Laplace noise: P(Z = z) is proportional to exp(-|z| / scale).
//
// A value is the difference of two geometric numbers. Their lower binary digits are independent
// coins. The rest above these digits is geometric again, and almost always 0.

import { decaying, firstDigits, logistic, settle, showsHeads } from "./random.js";
import { floatUp, leastMeant, ratioOf } from "./rational.js";
import { isFrom, must } from "./reading.js";

const BLOCK = 4096; // values whose first words are drawn together
const REACH = 32; // digits cover numbers up to this many scales; above is the rest
const LARGEST_SCALE = 2 ** 46;
export const REACHED = 64; // noise is clipped beyond this many scales
const HALF = 30; // digits are collected in two integers of this many bits

export function checkScale(scale) {
  must(isFrom(1, LARGEST_SCALE, scale));
}

/** Return the smallest and largest place with noise. */
export function noisyPlaces(steps, scale) {
  const most = steps + REACHED * scale < 2 ** 31 ? 2 ** 31 - 1 : Number.MAX_SAFE_INTEGER;
  const beyond = Math.ceil(REACHED * scale);
  return [Math.max(-beyond, -most), Math.min(steps + beyond, most)];
}

/** Return the exact privacy loss of two numbers, given their distance in steps. @returns {Ratio} */
export function lossApart(steps, scale) {
  const { over, under } = ratioOf(scale);
  return { over: BigInt(steps) * under, under: over };
}

/** Return the smallest scale of noise for whole numbers that differ by up to `most`. */
export function scaleFor(most, epsilon) {
  const { over, under } = leastMeant(epsilon);
  const wanted = { over: BigInt(most) * under, under: over };
  must(wanted.over >= wanted.under && wanted.over <= wanted.under << 46n);
  return floatUp(wanted);
}

/**
 * Return a function that draws `count` independent values of noise.
 *
 * It first takes the words of all values of a block: those of the first number, lowest digit first
 * and the rest last, then those of the second. Then it takes more words for each undecided coin, in
 * order, and then those of each number with a rest. The scale is in steps.
 */
export function laplaceNoise(scale) {
  if (!(scale >= 1 && scale <= LARGEST_SCALE)) {
    throw new RangeError(`the scale of noise must be from 1 to 2^46 steps; got ${scale}`);
  }
  const coins = coinsOf(scale);
  const digits = Uint32Array.from(coins, firstDigits);
  return (count, words) => {
    const noise = [];
    for (let start = 0; start < count; start += BLOCK) {
      noise.push(...drawBlock(coins, digits, Math.min(BLOCK, count - start), words));
    }
    return noise;
  };
}

/** Return the probability of each binary digit, lowest first, and of a rest. */
function coinsOf(scale) {
  const { over, under } = ratioOf(scale);
  const coins = [];
  let power = 1n;
  for (; power * under < BigInt(REACH) * over; power *= 2n) {
    coins.push(logistic({ over: power * under, under: over }));
  }
  coins.push(decaying({ over: power * under, under: over }));
  return coins;
}

function drawBlock(coins, digits, count, words) {
  const size = coins.length;
  const heads = thrown(coins, digits, words(2 * count * size), words);
  const numbers = Array.from({ length: 2 * count }, (_, i) =>
    numberOf(heads.subarray(i * size, (i + 1) * size), coins[size - 1], words),
  );
  return Array.from({ length: count }, (_, i) => numbers[2 * i] - numbers[2 * i + 1]);
}

/** Return which tosses show heads, given their first words; the coins repeat. */
function thrown(coins, digits, drawn, words) {
  const heads = new Uint8Array(drawn.length);
  drawn.forEach((word, i) => {
    const coin = i % coins.length;
    heads[i] = word === digits[coin] ? settle(coins[coin], words) : word < digits[coin];
  });
  return heads;
}

/** Return the number with these binary digits, lowest first; the last one indicates a rest. */
function numberOf(digits, coin, words) {
  const last = digits.length - 1;
  const halves = [0, 0];
  for (let place = 0; place < last; place += 1) {
    halves[place < HALF ? 0 : 1] |= digits[place] << place % HALF;
  }
  let number = BigInt(halves[0]) | (BigInt(halves[1]) << BigInt(HALF));
  for (let more = digits[last]; more; more = showsHeads(words(1)[0], coin, words)) {
    number += 1n << BigInt(last);
  }
  return number;
}
