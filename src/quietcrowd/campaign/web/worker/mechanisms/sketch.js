// Sketches: noisy sums over all of a worker's answers, weighted by public numbers of each task.
//
// All numbers are whole and below 2^53, so products and sums are exact.

import { withNoise } from "./grid.js";
import { laplaceNoise } from "./laplace.js";
import { floatUp, leastMeant } from "./rational.js";
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

/**
 * Return noisy sums of profiles weighted by answers. If the channel has moments, also return noisy
 * sums of the products of two numbers of each answered task's profile.
 * @param {{channel: object, report: object}} terms  as described
 * @param {string[]} tasks  all, in order
 * @param {(number | null)[]} places  of the answers on the grid
 * @param {WordSource} words
 * @returns {number[]}
 */
export function drawSketch({ channel, report }, tasks, places, words) {
  requireExact(channel, tasks.length);
  const profiles = taskProfiles(channel.profile, tasks);
  const noisy = (sums, scale) =>
    withNoise(sums, laplaceNoise(scale)(sums.length, words), report.value);
  const centred = places.map((place) => (place === null ? 0 : place - channel.centre));
  const sums = noisy(weighted(profiles, centred, (row) => row), channel.noise_scale);
  if (!channel.moments_epsilon) {
    return sums;
  }
  const answered = places.map((place) => (place === null ? 0 : 1));
  const scale = momentScale(profiles, channel.moments_epsilon);
  return [...sums, ...noisy(weighted(profiles, answered, products), scale)];
}

function requireExact({ grid, centre }, tasks) {
  const farthest = Math.max(Math.abs(centre), Math.abs(grid.steps - centre));
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
  const largest = profiles.reduce((most, row) => Math.max(most, norm(products(row))), 1);
  const { over, under } = leastMeant(epsilon);
  return floatUp({ over: BigInt(largest) * under, under: over });
}
