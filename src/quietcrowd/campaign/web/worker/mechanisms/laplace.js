// Whole-numbered Laplace noise: P(Z = z) is proportional to exp(-|z| / scale).
//
// A value is the difference of two geometric numbers. Their lower binary digits are independent
// coins, and the rest above is geometric again: almost always 0.

import { decaying, firstDigits, logistic, settle, showsHeads } from "./coins.js";
import { ratioOf } from "./rational.js";

const BLOCK = 4096; // values whose first words are drawn together
const REACH = 32; // numbers beyond so many scales have a rest
const LARGEST_SCALE = 2 ** 46;
const HALF = 30; // digits are gathered in two integers of so many bits

/**
 * Return what draws `count` independent values of noise.
 *
 * Of each value come the words of its first number, lowest digit first and the rest last, and then
 * those of its second. After those of a block come more for each coin that they do not settle, in
 * order, and then those of each number with a rest.
 * @param {number} scale  in steps; taken as the exact ratio that the float is
 * @returns {(count: number, words: WordSource) => bigint[]}
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

/** Return the chance of each binary digit, lowest first, and at last that of a rest. */
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

/** Return which coins, over and over, show heads, given their first words. */
function thrown(coins, digits, drawn, words) {
  const heads = new Uint8Array(drawn.length);
  drawn.forEach((word, i) => {
    const coin = i % coins.length;
    heads[i] = word === digits[coin] ? settle(coins[coin], words) : word < digits[coin];
  });
  return heads;
}

/** Return the number of binary digits, lowest first; the last says whether there is a rest. */
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
