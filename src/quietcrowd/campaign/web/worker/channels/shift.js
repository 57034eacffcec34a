// Numbers on a grid plus discrete Laplace noise, optionally with a noisy participation bit.

import { boundsOf, labelsOf } from "../terms/domain.js";
import { distanceWithin, withDigits } from "../terms/names.js";
import { checkGrid, placeOf, placesOf, withNoise } from "./grid.js";
import { checkScale, laplaceNoise, lossApart, noisyPlaces } from "./noise.js";
import { uniformIntegers } from "./random.js";
import { isNoMore, nearestFloat, sumOf } from "./rational.js";
import { isFrom, must, requireMembers } from "./reading.js";

const BIT = Object.freeze({ kind: "interval", low: 0, high: 1 }); // 1 is "answered"
const BIT_STEP = 2 ** -10;
const [HALF_OF_ALL, MOST_OF_ALL] = [0.5, 0.95];

export const shift = Object.freeze({
  /** Check a channel; with a bit, a missing answer must be the middle, or more is lost. */
  check({ grid, noise_scale: scale, fill, participation: bit, ...more }, domain) {
    requireMembers(more, "kind");
    checkGrid(grid, domain);
    checkScale(scale);
    must([null, "uniform", "midpoint"].includes(fill) || isFrom(...boundsOf(domain), fill));
    if (bit !== null) {
      requireMembers(bit, "grid noise_scale");
      checkGrid(bit.grid, BIT);
      checkScale(bit.noise_scale);
      must(bit.grid.step === BIT_STEP && fill === "midpoint");
    }
    return {
      kind: "value",
      value: noisyPlaces(grid.steps, scale),
      bit: bit && noisyPlaces(bit.grid.steps, bit.noise_scale),
      every_task: fill !== null,
    };
  },

  /** Draw fillings for all places, answered or not; then noise; then the noise of the bits. */
  draw(terms, codes, words) {
    const { channel, report } = terms;
    const { noise_scale: scale, participation } = channel;
    const places = placesOf(terms, codes);
    const fillings = report.every_task ? drawFillings(terms, codes.length, words) : [];
    const filled = places.map((place, i) => place ?? fillings[i]);
    const values = withNoise(filled, laplaceNoise(scale)(codes.length, words), report.value);
    if (participation === null) {
      return { values };
    }
    const bits = places.map((place) => (place === null ? 0 : participation.grid.steps));
    const noise = laplaceNoise(participation.noise_scale)(codes.length, words);
    return { values, bits: withNoise(bits, noise, report.bit) };
  },

  loss(channel) {
    const { over, under } = shift.exactLoss(channel);
    return nearestFloat(over, under);
  },

  /** Return the exact loss of one report: for another answer or, with a bit, for none. */
  exactLoss({ grid, noise_scale: scale, participation: bit }) {
    const value = lossApart(grid.steps, scale);
    if (bit === null) {
      return value;
    }
    const answered = lossApart(bit.grid.steps, bit.noise_scale);
    const none = sumOf(lossApart(grid.steps / 2, scale), answered);
    return isNoMore(none, value) ? value : none;
  },

  describe({ channel: { grid, noise_scale: scale, participation: bit }, report }, say) {
    const within = (share) => grid.step * distanceWithin(share, scale);
    const [half, most] = [within(HALF_OF_ALL), within(MOST_OF_ALL)];
    const middle = (grid.low + grid.high) / 2;
    const numbers = { middle, low: middle - most, high: middle + most };
    const shown = Object.entries(numbers).map(([key, one]) => [key, withDigits(one, 4, say)]);
    const values = { half: withDigits(half, 3, say), most: withDigits(most, 3, say) };
    const numbered = say("law.numbers", { ...values, ...Object.fromEntries(shown) });
    const told = [say("law.brief.numbers", values), numbered];
    if (report.every_task) {
      told.push(say("law.unanswered"));
    }
    if (bit !== null) {
      const spread = bit.grid.step * distanceWithin(MOST_OF_ALL, bit.noise_scale);
      told.push(say("law.bit", { spread: withDigits(spread, 3, say) }));
    }
    return told;
  },
});

/** Return the place that replaces a missing answer. */
export function fillingPlace({ fill, grid }) {
  return fill === "midpoint" ? grid.steps / 2 : placeOf(grid, fill);
}

function drawFillings({ mechanism, channel }, count, words) {
  const { fill, grid } = channel;
  if (fill !== "uniform") {
    return new Array(count).fill(fillingPlace(channel));
  }
  const levels = labelsOf(mechanism.domain);
  const drawn = uniformIntegers(words, levels?.length ?? grid.steps + 1, count);
  return levels === null ? drawn : drawn.map((code) => placeOf(grid, levels[code]));
}
