// Sketches: exact sums over all of a worker's answers, times public numbers of each task, and noise.
//
// Numbers are whole, and below 2^53 where they are floats: products and sums of them are exact.

import { laplaceNoise } from "./laplace.js";
import { floatUp, ratioOf } from "./rational.js";
import { shake256 } from "./shake.js";

/** @typedef {import("./words.js").WordSource} WordSource */

const UNIT = 2 ** 24; // what 1.0 is stored as
const EXACT = 2 ** 53;
const SUMMANDS = 12; // uniform 16-bit numbers whose sum is nearly normal
const MIDDLE = (SUMMANDS * (2 ** 16 - 1)) / 2;

const KINDS = Object.freeze({
  gaussian: { bytes: (rank) => 2 * SUMMANDS * rank, row: nearlyNormal },
  rademacher: { bytes: (rank) => Math.ceil(rank / 8), row: signs },
  buckets: { bytes: () => 8, row: oneHot },
});

/**
 * Return the public numbers of each task, in units of 2^-24.
 * @param {{kind: string, rank: number, seed: number}} profile
 * @param {string[]} tasks
 * @returns {number[][]}  of each task `rank` numbers
 */
export function taskProfiles({ kind, rank, seed }, tasks) {
  const prefix = `quietcrowd task profile\n${kind}\n${rank}\n${seed}\n`;
  const { bytes, row } = KINDS[kind];
  const text = new TextEncoder();
  return tasks.map((task) => row(shake256(text.encode(prefix + task), bytes(rank)), rank));
}

function nearlyNormal(octets, rank) {
  const view = new DataView(octets.buffer);
  const raw = Array.from({ length: rank }, (_, k) => {
    let sum = -MIDDLE;
    for (let i = 0; i < SUMMANDS; i += 1) {
      sum += view.getUint16(2 * (SUMMANDS * k + i), true);
    }
    return sum;
  });
  const norm = Math.max(raw.reduce((sum, number) => sum + Math.abs(number), 0), 1);
  // A quotient of whole numbers below 2^43 is never rounded up to a whole one.
  return raw.map((number) => Math.trunc((number * UNIT) / norm));
}

function signs(octets, rank) {
  const size = Math.floor(UNIT / rank);
  return Array.from({ length: rank }, (_, k) => ((octets[k >> 3] >> (k & 7)) & 1 ? size : -size));
}

function oneHot(octets, rank) {
  const row = new Array(rank).fill(0);
  row[Number(new DataView(octets.buffer).getBigUint64(0, true) % BigInt(rank))] = UNIT;
  return row;
}

/**
 * Return the noisy sums of one worker: those of profiles times answers, and, where they are sent,
 * those of products of two numbers of each answered task's profile.
 * @param {object} channel  of kind sketch, as described
 * @param {string[]} tasks  all, in order
 * @param {(number | null)[]} places  of the answers on the grid; null is no answer
 * @param {WordSource} words
 * @returns {bigint[]}
 */
export function drawSketch(channel, tasks, places, words) {
  requireExact(channel, tasks.length);
  const profiles = taskProfiles(channel.profile, tasks);
  const centred = places.map((place) => (place === null ? 0 : place - channel.centre));
  const sums = withNoise(weighted(profiles, centred), channel.noise_scale, words);
  if (!channel.moments_epsilon) {
    return sums;
  }
  const products = profiles.map(upperTriangle);
  const scale = momentScale(products, channel.moments_epsilon);
  const answered = places.map((place) => (place === null ? 0 : 1));
  return [...sums, ...withNoise(weighted(products, answered), scale, words)];
}

function requireExact({ grid, centre }, tasks) {
  const farthest = Math.max(Math.abs(centre), Math.abs(grid.steps - centre));
  if (tasks * farthest * UNIT >= EXACT) {
    throw new RangeError(`${tasks} tasks with answers of ${farthest} steps are too many`);
  }
}

/** Return the sum of rows, each times its factor; all of them are passed over. */
function weighted(rows, factors) {
  const sums = new Array(rows[0].length).fill(0);
  rows.forEach((row, task) => {
    row.forEach((number, k) => {
      sums[k] += number * factors[task];
    });
  });
  return sums;
}

/** Return the products v_k v_l for l from k on, in units of 2^-24, truncated. */
function upperTriangle(row) {
  return row.flatMap((one, k) => row.slice(k).map((other) => Math.trunc((one * other) / UNIT)));
}

/** Return the scale of noise on sums of products at a loss of at most epsilon. */
function momentScale(products, epsilon) {
  const norms = products.map((row) => row.reduce((sum, number) => sum + Math.abs(number), 0));
  const { over, under } = ratioOf(epsilon);
  return floatUp({ over: BigInt(norms.reduce((a, b) => Math.max(a, b), 1)) * under, under: over });
}

function withNoise(sums, scale, words) {
  const noise = laplaceNoise(scale)(sums.length, words);
  return sums.map((sum, k) => BigInt(sum) + noise[k]);
}
