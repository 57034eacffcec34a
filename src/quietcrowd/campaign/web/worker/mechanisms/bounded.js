// Bounded reports of numbers, drawn from weights that sum to 2^32, with one word each.
//
// Every report has `base` words, whatever the answer. Each report of a window that begins at the
// answer's place has `lift` more. The other words are for two reports, the ends: the nearer the
// answer is to one of them, the more words it has (`slope`).

import { digitsOf } from "./coins.js";
import { nearestFloat, ratioOf } from "./rational.js";

const ALL_WORDS = 2n ** 32n;
const DECAY_BITS = 96; // binary digits of exp(-epsilon)
const LEAST_HYBRID = 0.609352; // minimum epsilon with a window

/**
 * Return a report for each place of an answer.
 * @param {object} channel  as described
 * @param {number[]} places
 * @param {WordSource} words
 */
export function drawBounded(channel, places, words) {
  const drawn = words(places.length);
  return places.map((place, i) => boundedReport(channel, place, drawn[i]));
}

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
export function countOf(steps, window) {
  return window ? steps + window : 2;
}

/**
 * Return the integers of a distribution with a privacy loss of at most epsilon; null if none exist.
 * @param {string} name  of the mechanism
 * @param {number} places  steps of the grid
 * @param {number} epsilon
 */
export function boundedLaw(name, places, epsilon) {
  const steps = BigInt(places);
  const rate = ratioOf(epsilon);
  const one = 1n << BigInt(DECAY_BITS);
  const decay = digitsOf(rate, 0n, DECAY_BITS) + 1n;
  const half = digitsOf({ over: rate.over, under: 2n * rate.under }, 0n, DECAY_BITS);
  const isHybrid = name === "hybrid" && epsilon >= LEAST_HYBRID;
  const share = name === "piecewise" ? ALL_WORDS : isHybrid ? (ALL_WORDS * (one - half)) / one : 0n;
  const part = share && windowPart(share, steps, half, { over: one - decay, under: decay });
  const { base, window, lift } = part || { base: 0n, window: 0n, lift: 0n };
  const [over, under] = share ? [lift, base] : [one - decay, decay]; // of exp(epsilon) - 1
  const reports = BigInt(countOf(places, Number(window)));
  const rest = ALL_WORDS - base * reports - lift * window;
  const slope = share === ALL_WORDS ? 0n : (rest * over) / (steps * (over + 2n * under));
  if ((share && lift < 1n) || (share < ALL_WORDS && slope < 1n)) {
    return null;
  }
  const windows = ALL_WORDS - rest;
  const apart = slope * reports * windows - lift * window * rest; // of the first end, numerator
  const first = share && slope && apart > 0n ? apart / (2n * slope * windows) : 0n;
  const least = (rest - slope * steps) / 2n;
  const numbers = Object.entries({ base, window, lift, least, slope });
  const law = Object.fromEntries(numbers.map(([key, value]) => [key, Number(value)]));
  return { ...law, ends: [first, reports - 1n - first].map(Number) };
}

/** Return base, window and lift for a share of all words; the number of words left is even. */
function windowPart(share, steps, half, { over, under }) {
  const wide = (2n * steps * half + (1n << BigInt(DECAY_BITS))) >> BigInt(DECAY_BITS + 1);
  const window = wide < 1n ? 1n : wide > steps ? steps : wide;
  const reports = steps + window;
  const total = share - (share % 2n);
  const most = reports * under + window * over;
  const base = (total * under + most - 1n) / most;
  const lift = (total - base * reports) / window;
  return { base, window, lift: lift - ((base * reports + lift * window) % 2n) };
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
