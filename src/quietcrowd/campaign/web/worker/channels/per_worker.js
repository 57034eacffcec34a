// A secret weight that a worker draws once for all reports: that of each label except the answer.
//
// NULL, if it is a label, has a second draw.

import { digitsOf, uniformIntegers } from "./random.js";
import { firstFrom, ratioOf } from "./rational.js";
import { TOTAL, requireMembers, isFrom, isWhole, must } from "./reading.js";

const EPSILONS = 1024; // number of epsilons, or weights of a beta distribution, to sample from
const MOST_MEAN = 8; // epsilon: a worker may draw twice as much
const MOST_SHAPE = 16; // of a beta distribution

/** Check the distribution of a weight, and that its mean gives the rows of a table. */
export function checkSharedWeight(shared, rows, isNull) {
  const { length: size } = rows;
  const { kind, low, high } = shared ?? {};
  const names = { uniform: "low high", beta: "low high alpha beta", epsilon: "epsilon" };
  must(typeof kind === "string" && Object.hasOwn(names, kind));
  requireMembers(shared, `kind ${names[kind]}`);
  if (kind === "epsilon") {
    must(isFrom(0, MOST_MEAN, shared.epsilon));
  } else {
    const most = Math.floor((kind === "beta" ? TOTAL - 1 : TOTAL) / (size - 1));
    must(!isNull && isWhole(0, most, high) && isWhole(0, high, low));
    const shapes = kind === "beta" ? [shared.alpha, shared.beta] : [];
    must(shapes.every((one) => isWhole(1, MOST_SHAPE, one)));
    must(kind === "beta" || (low + high) % 2 === 0);
  }
  const mean = meanWeight(shared, size);
  rows.forEach((row, answer) => {
    const expected = rowOf(answer, size, mean);
    must(row.every((weight, report) => weight === expected[report]));
  });
}

function meanWeight(shared, size) {
  return shared.kind === "uniform"
    ? (shared.low + shared.high) / 2
    : tableOf(shared, size).reduce((sum, weight) => sum + weight) / EPSILONS;
}

export function leastWeight(shared, size) {
  return shared.kind === "uniform" ? shared.low : tableOf(shared, size)[0];
}

/** Return the row that gives each of `size` reports except the answer the weight `other`. */
export function rowOf(answer, size, other) {
  const row = new Array(size).fill(other);
  row[answer] = TOTAL - (size - 1) * other;
  return row;
}

/** Draw the weight of each other label, given the number of possible reports. */
export function drawWeight(shared, size, words) {
  const { kind, low, high } = shared;
  return kind === "uniform"
    ? low + uniformIntegers(words, high - low + 1, 1)[0]
    : tableOf(shared, size)[uniformIntegers(words, EPSILONS, 1)[0]];
}

const known = new Map(); // a page needs each table several times

/** Return the equally likely weights, sorted, of the distribution "epsilon" or "beta". */
export function tableOf(shared, size) {
  const { kind, low, high, alpha, beta, epsilon } = shared;
  const key = [kind, size, low, high, alpha, beta, epsilon].join(" ");
  if (!known.has(key)) {
    const bounds = kind === "beta" ? [low, high].map(BigInt) : [];
    const table =
      kind === "beta"
        ? drawnTable(BigInt(size - 1), bounds, alpha, beta)
        : weightsOf(epsilon, size);
    known.set(key, Object.freeze(table));
  }
  return known.get(key);
}

/**
 * Return, for i below 1,024, the smallest weight whose truncated distribution function is at least
 * (2 i + 1) / 2048. The largest weights are raised so that the mean is whole.
 */
function drawnTable(others, [low, high], alpha, beta) {
  const below = distributionOf(others, alpha, beta);
  const start = below(low);
  const whole = below(high) - start;
  const parts = BigInt(2 * EPSILONS);
  let least = Number(low);
  const weights = Array.from({ length: EPSILONS }, (_, i) => {
    const wanted = parts * start + BigInt(2 * i + 1) * whole;
    const last = whole > 0n ? Number(high) : least;
    least = firstFrom(least, last, (weight) => parts * below(BigInt(weight)) >= wanted);
    return least;
  });
  return withWholeMean(weights, Number(high));
}

/** Return the beta distribution function by weight, up to a factor, in whole numbers. */
function distributionOf(others, alpha, beta) {
  const lower = (a, b) => (b === 0n ? a : lower(b, a % b)); // greatest common divisor
  const places = Array.from({ length: beta }, (_, j) => BigInt(alpha + j));
  const common = places.reduce((all, place) => (all / lower(all, place)) * place, 1n);
  const ways = places.slice(1).reduce(
    (row, _, j) => [...row, (row[j] * BigInt(beta - 1 - j)) / BigInt(j + 1)],
    [1n],
  );
  const factors = places.map((place, j) => {
    const size = ways[j] * (common / place) * BigInt(TOTAL) ** BigInt(beta - 1 - j);
    return j % 2 === 0 ? size : -size;
  });
  return (weight) => {
    const x = others * weight;
    return factors.reduceRight((total, factor) => total * x + factor, 0n) * x ** BigInt(alpha);
  };
}

/** Raise the largest weights to at most `most` until the mean is whole. */
function withWholeMean(weights, most) {
  const sum = weights.reduce((total, weight) => total + weight, 0);
  let missing = (EPSILONS - (sum % EPSILONS)) % EPSILONS;
  for (let place = EPSILONS - 1; place >= 0; place -= 1) {
    const added = Math.min(most - weights[place], missing);
    weights[place] += added;
    missing -= added;
  }
  return weights;
}

/**
 * Return 2^32 / (size - 1 + exp(e)), rounded up, for 1,024 epsilons e from high to low. The largest
 * are raised so that the mean is whole; none exceeds 2^32 / size.
 */
export function weightsOf(mean, size) {
  const most = Math.floor(TOTAL / size);
  const weights = Array.from({ length: EPSILONS }, (_, i) => {
    const loss = (mean * (2 * (EPSILONS - 1 - i) + 1)) / EPSILONS;
    const digits = loss && Number(digitsOf(ratioOf(loss), BigInt(size - 1), 32)); // irrational
    return loss ? Math.min(digits + 1, most) : most;
  });
  return withWholeMean(weights, most);
}
