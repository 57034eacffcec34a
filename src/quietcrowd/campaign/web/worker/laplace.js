// Whole-numbered Laplace noise: P(Z = z) is proportional to exp(-|z| / scale).
//
// A value is the difference of two geometric numbers. Their binary digits below 2^D are independent
// coins, and what is left, in units of 2^D, is geometric again: almost always 0.

import { decaying, firstDigits, logistic, settle, toss } from "./coins.js";
import { ratioOf } from "./rational.js";

/** @typedef {import("./words.js").WordSource} WordSource */

const BLOCK = 4096; // values whose first words are drawn together
const REACH = 32; // numbers beyond so many scales take a rest beside their binary digits
const HALF = 30; // digits are gathered in two integers of so many bits

/**
 * Return the noise of a scale, as a function that draws `count` independent values.
 *
 * Of each value the first words are those of its first number, lowest digit first and the rest last,
 * and then those of its second. After those of a block come more for each coin that they do not
 * settle, in order, and then those of each number with a rest.
 * @param {number} scale  in steps, at least 1; taken as the exact ratio that the float is
 * @returns {(count: number, words: WordSource) => bigint[]}
 */
export function laplaceNoise(scale) {
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

/** Return the chances that the binary digits are 1, lowest first, and at last that of a rest. */
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
  const heads = thrown(coins, digits, words(2 * count * coins.length), words);
  const numbers = Array.from({ length: 2 * count }, (_, i) =>
    gathered(heads.subarray(i * coins.length, (i + 1) * coins.length - 1)),
  );
  const last = coins.length - 1;
  numbers.forEach((number, i) => {
    if (heads[i * coins.length + last]) {
      numbers[i] = number + (rest(coins[last], words) << BigInt(last));
    }
  });
  return Array.from({ length: count }, (_, i) => numbers[2 * i] - numbers[2 * i + 1]);
}

/** Return which coins show heads, given their first words; `coins` over and over. */
function thrown(coins, digits, drawn, words) {
  const heads = new Uint8Array(drawn.length);
  drawn.forEach((word, i) => {
    const coin = i % coins.length;
    heads[i] = word === digits[coin] ? settle(coins[coin], words) : word < digits[coin];
  });
  return heads;
}

/** Return the number of some binary digits, lowest first. */
function gathered(digits) {
  const halves = [0, 0];
  digits.forEach((digit, place) => {
    halves[place < HALF ? 0 : 1] |= digit << place % HALF;
  });
  return BigInt(halves[0]) | (BigInt(halves[1]) << BigInt(HALF));
}

/** Return how often a coin shows heads in a row, beside the first time. */
function rest(coin, words) {
  let count = 1n;
  while (toss(coin, words)) {
    count += 1n;
  }
  return count;
}
