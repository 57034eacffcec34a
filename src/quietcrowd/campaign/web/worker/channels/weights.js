// Bounded reports of numbers, drawn from weights that sum to 2^32, with one word each.
//
// Every report has `base` words, whatever the answer. Each report of a window that begins at the
// answer's place has `lift` more. The other words are for two reports, the ends: the nearer the
// answer is to one of them, the more words it has (`slope`).

import { withDigits } from "../terms/names.js";
import { checkGrid, placesOf } from "./grid.js";
import { nearestFloat, ratioOf } from "./rational.js";
import { isWhole, MOST_EPSILON, must, reportsTo, requireMembers, TOTAL } from "./reading.js";

const ALL_WORDS = 2n ** 32n;
const MOST_STEPS = 2 ** 16; // with more, weights out of 2^32 would be too coarse

export const weights = Object.freeze({
  /** Check a channel: its weights sum to 2^32 for each answer, and some depend on it. */
  check(channel, domain) {
    requireMembers(channel, "kind grid base window lift ends least slope");
    const { grid, base, window, lift, ends, least, slope } = channel;
    checkGrid(grid, domain);
    must([base, window, lift, least, slope].every((one) => isWhole(0, TOTAL, one)));
    must(grid.steps <= MOST_STEPS && window <= grid.steps && window + slope > 0);
    must(window > 0 === base > 0 && window > 0 === lift > 0 && (least > 0 || slope === 0));
    const last = countOf(grid.steps, window) - 1;
    must(Array.isArray(ends) && ends.length === 2 && ends.every((one) => isWhole(0, last, one)));
    must(ends[0] < ends[1] && ends[0] + ends[1] === last);
    const [steps, reports] = [grid.steps, last + 1].map(BigInt);
    const [ofAll, ofWindow, more, ofEnd, rise] = [base, window, lift, least, slope].map(BigInt);
    must(ofAll * reports + more * ofWindow + 2n * ofEnd + rise * steps === ALL_WORDS);
    must(weights.loss(channel) <= MOST_EPSILON);
    must(Object.values(numbersOf(channel)).every(Number.isFinite));
    return reportsTo(last);
  },

  draw(terms, codes, words) {
    const drawn = words(codes.length);
    const places = placesOf(terms, codes);
    return { values: places.map((place, i) => boundedReport(terms.channel, place, drawn[i])) };
  },

  loss(channel) {
    return Math.log1p(oddsBeyondOne(channel));
  },

  describe({ channel }, say) {
    const { origin, step } = numbersOf(channel);
    const last = countOf(channel.grid.steps, channel.window) - 1;
    const [low, high] = [origin, origin + step * last].map((number) => withDigits(number, 4, say));
    const deviation = withDigits(step * Math.sqrt(mostVariance(channel, last)), 3, say);
    const times = withDigits(1 + oddsBeyondOne(channel), 3, say);
    const values = { low, high, times, deviation };
    return [say("law.brief.bounded", values), say("law.bounded", values)];
  },
});

function boundedReport({ grid: { steps }, ...law }, place, word) {
  const beyond = word - law.base * countOf(steps, law.window);
  if (beyond < 0) {
    return Math.floor(word / law.base);
  }
  const afterWindow = beyond - law.lift * law.window;
  if (afterWindow < 0) {
    return place + Math.floor(beyond / law.lift);
  }
  return law.ends[afterWindow < law.least + law.slope * (steps - place) ? 0 : 1];
}

/** Return the number of possible reports. */
function countOf(steps, window) {
  return window ? steps + window : 2;
}

/** Return the largest ratio of two weights of a report, minus 1. */
function oddsBeyondOne({ grid, base, lift, least, slope }) {
  return Math.max(lift ? lift / base : 0, slope ? (slope * grid.steps) / least : 0);
}

/** Return the number of the first report, and the distance between neighbors. */
export function numbersOf({ grid, ...law }) {
  const [base, window, lift, least, slope, first, last] = [
    ...[law.base, law.window, law.lift, law.least, law.slope],
    ...law.ends,
  ].map(BigInt);
  const reports = BigInt(countOf(grid.steps, law.window));
  const rise = lift * window + slope * (last - first);
  const unit = ratioOf(grid.step);
  const step = { over: unit.over * ALL_WORDS, under: unit.under * rise };
  const pairs = base * reports * (reports - 1n) + lift * window * (window - 1n);
  const ends = first * (least + slope * BigInt(grid.steps)) + last * least;
  const below = { over: step.over * (pairs / 2n + ends), under: step.under * ALL_WORDS };
  const low = ratioOf(Math.abs(grid.low));
  const sign = grid.low < 0 ? -1n : 1n;
  const over = sign * low.over * below.under - below.over * low.under;
  const origin = nearestFloat(over, low.under * below.under);
  return { origin, step: nearestFloat(step.over, step.under) };
}

/** Return the largest variance of a report, in squared steps, at an end or in the middle. */
function mostVariance({ grid: { steps }, ...law }, last) {
  const powers = (from, count) => {
    const [middle, square] = [from + (count - 1) / 2 - last / 2, (count * count - 1) / 12];
    return [count * middle, count * (middle * middle + square)];
  };
  const ofPlace = (place) => {
    const parts = [
      [law.base, powers(0, last + 1)],
      [law.lift, powers(place, law.window)],
      [law.least + law.slope * (steps - place), powers(law.ends[0], 1)],
      [law.least + law.slope * place, powers(law.ends[1], 1)],
    ];
    const [mean, square] = [0, 1].map(
      (power) => parts.reduce((sum, [weight, sums]) => sum + weight * sums[power], 0) / TOTAL,
    );
    return square - mean * mean;
  };
  return Math.max(ofPlace(0), ofPlace(steps / 2));
}
