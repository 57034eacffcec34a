// Whole-numbered Gaussian noise, of a variance that the device draws and keeps to itself.

import { decaying, showsHeads } from "./coins.js";
import { laplaceNoise } from "./laplace.js";
import { nextUp, ratioOf } from "./rational.js";

const MEAN = 2 ** 42; // of the drawn part of a variance, in units
const LARGEST_UNITS = 2n ** 49n; // what is above is drawn again: once in e^128 times

/**
 * Draw a standard deviation, in steps, of `least` units of variance and a geometric number from 1.
 *
 * The root, rounded up, is a float by definition, and then the exact ratio that the float is.
 * @param {number} unit  in squared steps
 * @param {number} least
 * @param {WordSource} words
 */
export function drawDeviation(unit, least, words) {
  const noise = laplaceNoise(MEAN);
  let units = 0n;
  while (units < 1n || units > LARGEST_UNITS) {
    const [drawn] = noise(1, words);
    units = drawn < 0n ? -drawn : drawn;
  }
  return nextUp(nextUp(Math.sqrt((Number(units) + least) * unit)));
}

/**
 * Draw independent values exactly.
 *
 * In rounds: each open place gets Laplace noise y of the first whole scale t above the deviation,
 * and keeps it with a chance of exp(-(|y| - V / t)^2 / 2 V). A round takes the words of the Laplace
 * noise, then one for each place, then more for those that this does not settle.
 * @param {number} deviation  root of V, in steps
 * @param {number} count
 * @param {WordSource} words
 * @returns {bigint[]}
 */
export function gaussianNoise(deviation, count, words) {
  const scale = Math.floor(deviation) + 1;
  const laplace = laplaceNoise(scale);
  const rate = rateOf(ratioOf(deviation), BigInt(scale));
  const noise = new Array(count);
  let open = [...noise.keys()];
  while (open.length) {
    const drawn = laplace(open.length, words);
    const first = words(open.length);
    open = open.filter((place, i) => {
      noise[place] = drawn[i];
      return !showsHeads(first[i], decaying(rate(drawn[i])), words);
    });
  }
  return noise;
}

/** Return how a value gives (|y| - V / t)^2 / 2 V, for V the square of a ratio. */
function rateOf({ over, under }, scale) {
  const variance = over * over;
  const step = scale * under * under;
  return (value) => {
    const away = (value < 0n ? -value : value) * step - variance;
    return { over: away * away, under: 2n * variance * scale * step };
  };
}
