// Sketches: noisy sums over all of a worker's answers, weighted by public numbers of each task.
//
// All numbers are whole and below 2^53, so products and sums are exact.

import { counted, withDigits } from "../terms/names.js";
import { checkGrid, placesOf, withNoise } from "./grid.js";
import { checkScale, laplaceNoise, lossApart, REACHED, scaleFor } from "./noise.js";
import { isNoMore, leastMeant, nearestFloat, sumOf } from "./rational.js";
import { isFrom, isWhole, MOST_NUMBERS, must, requireMembers } from "./reading.js";
import { shake256 } from "./shake.js";

const UNIT = 2 ** 24; // represents 1.0
const EXACT = 2 ** 53;
const SUMMANDS = 12; // uniform 16-bit numbers whose sum is approximately normal
const MIDDLE = (SUMMANDS * (2 ** 16 - 1)) / 2;

const KINDS = Object.freeze({
  gaussian: { bytes: (rank) => 2 * SUMMANDS * rank, row: nearlyNormal },
  rademacher: { bytes: (rank) => Math.ceil(rank / 8), row: signs },
  buckets: { bytes: () => 8, row: oneHot },
});

export const sketch = Object.freeze({
  /** Check a channel; sums over this many tasks must be exact. */
  check(channel, domain, tasks) {
    requireMembers(channel, "kind grid centre noise_scale noise_unit moments_epsilon profile");
    const { grid, centre, noise_scale: scale, moments_epsilon: moments, profile } = channel;
    requireMembers(profile, "kind rank seed");
    const { kind, rank, seed } = profile;
    checkGrid(grid, domain);
    checkScale(scale);
    must(typeof kind === "string" && Object.hasOwn(KINDS, kind));
    must(isWhole(1, 4096, rank) && isWhole(0, 2 ** 64 - 2 ** 11, seed));
    must(isWhole(0, grid.steps, centre) && channel.noise_unit === 1 / UNIT);
    must(isFrom(0, 2 ** 48, moments));
    const length = moments ? rank + (rank * (rank + 1)) / 2 : rank;
    const largest = Math.ceil(tasks * farthestFrom(centre, grid) * UNIT + REACHED * scale);
    must(length <= MOST_NUMBERS && largest <= Number.MAX_SAFE_INTEGER);
    return { kind: "sketch", length, numbers: "whole", value: [-largest, largest] };
  },

  /** Return noisy sums of profiles weighted by answers and, with moments, of their products. */
  draw(terms, codes, words, tasks) {
    const { channel, report } = terms;
    requireExact(channel, tasks.length);
    const places = placesOf(terms, codes);
    const profiles = taskProfiles(channel.profile, tasks);
    const noisy = (sums, scale) =>
      withNoise(sums, laplaceNoise(scale)(sums.length, words), report.value);
    const centred = places.map((place) => (place === null ? 0 : place - channel.centre));
    const sums = noisy(weighted(profiles, centred, (row) => row), channel.noise_scale);
    if (!channel.moments_epsilon) {
      return { numbers: sums };
    }
    const answered = places.map((place) => (place === null ? 0 : 1));
    const scale = momentScale(profiles, channel.moments_epsilon);
    return { numbers: [...sums, ...noisy(weighted(profiles, answered, products), scale)] };
  },

  loss(channel) {
    const { over, under } = sketch.exactLoss(channel);
    return nearestFloat(over, under);
  },

  /** Return the exact loss of one cell: for another answer or, with moments, for none. */
  exactLoss({ grid, noise_scale: scale, centre, moments_epsilon: moments }) {
    const value = lossApart(grid.steps * UNIT, scale);
    if (!moments) {
      return value;
    }
    const moved = lossApart(farthestFrom(centre, grid) * UNIT, scale);
    const none = sumOf(moved, leastMeant(moments));
    return isNoMore(none, value) ? value : none;
  },

  describe({ channel, tasks }, say) {
    const { grid, noise_scale: scale, noise_unit: unit } = channel;
    const deviation = withDigits(Math.sqrt(2) * (scale * grid.step * unit), 3, say);
    const values = { tasks: counted(tasks, say), deviation };
    return [say("law.brief.sketch", values), say("law.sketch", values)];
  },
});

/** Return the largest distance of a grid's places from a center. */
function farthestFrom(centre, { steps }) {
  return Math.max(Math.abs(centre), Math.abs(steps - centre));
}

/** Return `rank` public numbers of each task, in units of 2^-24. @returns {number[][]} */
export function taskProfiles({ kind, rank, seed }, tasks) {
  const prefix = `quietcrowd task profile\n${kind}\n${rank}\n${seed}\n`;
  const { bytes, row } = KINDS[kind];
  const text = new TextEncoder();
  return tasks.map((task) => row(shake256(text.encode(prefix + task), bytes(rank)), rank));
}

function nearlyNormal(octets, rank) {
  const numbers = new Uint16Array(octets.buffer);
  const raw = Array.from({ length: rank }, (_, k) =>
    numbers.subarray(SUMMANDS * k, SUMMANDS * (k + 1)).reduce((sum, one) => sum + one, -MIDDLE),
  );
  const whole = Math.max(norm(raw), 1);
  // Quotients of whole numbers below 2^43 are never rounded up to a whole number.
  return raw.map((number) => Math.trunc((number * UNIT) / whole));
}

export function norm(row) {
  return row.reduce((sum, number) => sum + Math.abs(number), 0);
}

function signs(octets, rank) {
  const size = Math.floor(UNIT / rank);
  return Array.from({ length: rank }, (_, k) => ((octets[k >> 3] >> (k & 7)) & 1 ? size : -size));
}

function oneHot(octets, rank) {
  const row = new Array(rank).fill(0);
  row[Number(new BigUint64Array(octets.buffer)[0] % BigInt(rank))] = UNIT;
  return row;
}

function requireExact({ grid, centre }, tasks) {
  const farthest = farthestFrom(centre, grid);
  if (tasks * farthest * UNIT >= EXACT) {
    throw new RangeError(`${tasks} tasks with answers of ${farthest} steps are too many`);
  }
}

/** Return the sum of `give(row)` over rows, each multiplied by its factor. */
function weighted(rows, factors, give) {
  const sums = [];
  rows.forEach((row, task) => {
    give(row).forEach((number, k) => {
      sums[k] = (sums[k] ?? 0) + number * factors[task];
    });
  });
  return sums;
}

/** Return the products v_k v_l for l >= k, in units of 2^-24, truncated. */
export function products(row) {
  return row.flatMap((one, k) => row.slice(k).map((other) => Math.trunc((one * other) / UNIT)));
}

/** Return the scale of noise for products at a loss of at most epsilon. */
export function momentScale(profiles, epsilon) {
  return scaleFor(profiles.reduce((most, row) => Math.max(most, norm(products(row))), 1), epsilon);
}
