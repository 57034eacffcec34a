// Labels: reports sampled from rows of weights that sum to 2^32, with one word each.

import { digitsOf } from "./coins.js";
import { ratioOf } from "./rational.js";
import { uniformIntegers } from "./words.js";

const TOTAL = 2 ** 32;
const EPSILONS = 1024; // number of epsilons, or weights of a beta distribution, to sample from

/** Return the report of a word; the weights of a row sum to 2^32. */
export function reportOf(row, word) {
  let edge = 0;
  const report = row.findIndex((weight) => {
    edge += weight;
    return word < edge;
  });
  if (report < 0) {
    throw new RangeError("the weights of a row must sum to 2^32");
  }
  return report;
}

/** Return the row that gives each of `size` reports except the answer the weight `other`. */
export function rowOf(answer, size, other) {
  const row = new Array(size).fill(other);
  row[answer] = TOTAL - (size - 1) * other;
  return row;
}

/**
 * Return a report for each answer, with one word each.
 * @param {(number | null)[]} codes  of answers
 * @param {number} missing  code of NULL, "no answer"
 * @param {(code: number) => number[]} row  returns the weights of an answer's reports
 * @param {WordSource} words
 */
export function drawLabels(codes, missing, row, words) {
  const drawn = words(codes.length);
  return codes.map((code, i) => reportOf(row(code ?? missing), drawn[i]));
}

/**
 * Draw the weight of each other label, which a worker of the two-layer mechanism keeps secret.
 * @param {object} mechanism  as described
 * @param {number} size  number of possible reports
 * @param {WordSource} words
 */
export function drawWeight(mechanism, size, words) {
  const [low, high] = mechanism.other_weights;
  if (mechanism.law === "flip") {
    return low + uniformIntegers(words, high - low + 1, 1)[0];
  }
  const table = tableOf(mechanism, size);
  if (table[0] !== low || table[EPSILONS - 1] !== high) {
    throw new RangeError(`the weights of the law "${mechanism.law}" are others here`);
  }
  return table[uniformIntegers(words, EPSILONS, 1)[0]];
}

/** Return the equally likely weights, sorted, of the distribution "epsilon" or "beta". */
export function tableOf(mechanism, size) {
  return mechanism.law === "beta"
    ? betaWeightsOf(mechanism, size)
    : weightsOf(mechanism.epsilon, size);
}

const known = new Map(); // tables of beta distributions: a page needs each several times

function betaWeightsOf({ low, high, alpha, beta }, size) {
  const others = BigInt(size - 1);
  const most = (BigInt(TOTAL) - 1n) / others;
  const bounds = [low, high].map((flip) => {
    const { over, under } = ratioOf(flip);
    const weight = (over * BigInt(TOTAL) + under * others - 1n) / (under * others);
    return weight < most ? weight : most;
  });
  const key = [size, ...bounds, alpha, beta].join(" ");
  if (!known.has(key)) {
    known.set(key, Object.freeze(drawnTable(others, bounds, alpha, beta)));
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
  let least = low;
  const weights = Array.from({ length: EPSILONS }, (_, i) => {
    const wanted = parts * start + BigInt(2 * i + 1) * whole;
    for (let last = whole > 0n ? high : least; least < last; ) {
      const middle = (least + last) / 2n;
      [least, last] = parts * below(middle) >= wanted ? [least, middle] : [middle + 1n, last];
    }
    return Number(least);
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
  const weights = Array.from({ length: EPSILONS }, (_, i) =>
    Math.min(otherWeight(size, (mean * (2 * (EPSILONS - 1 - i) + 1)) / EPSILONS), most),
  );
  return withWholeMean(weights, most);
}

export function otherWeight(size, epsilon) {
  return epsilon === 0
    ? Math.ceil(TOTAL / size)
    : Number(digitsOf(ratioOf(epsilon), BigInt(size - 1), 32)) + 1; // irrational: rounded up
}
