// Labels: reports drawn from rows of weights out of 2^32, with one word each.

import { digitsOf } from "./coins.js";
import { ratioOf } from "./rational.js";
import { uniformIntegers } from "./words.js";

/** @import { WordSource } from "./words.js" */

const TOTAL = 2 ** 32;
const EPSILONS = 1024; // so many epsilons there are to draw from

/** Return the report that a word is drawn as; the weights of a row sum to 2^32. */
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

/** Return the row that keeps one of `size` answers, or gives each other one the weight `other`. */
export function rowOf(answer, size, other) {
  const row = new Array(size).fill(other);
  row[answer] = TOTAL - (size - 1) * other;
  return row;
}

/**
 * Return a report for each answer, with one word each.
 * @param {(number | null)[]} codes  of answers
 * @param {number} missing  code of NULL, "no answer"
 * @param {(code: number) => number[]} row  gives the weights of an answer's reports
 * @param {WordSource} words
 */
export function drawLabels(codes, missing, row, words) {
  const drawn = words(codes.length);
  return codes.map((code, i) => reportOf(row(code ?? missing), drawn[i]));
}

/**
 * Draw the weight of each other label, which a worker of the two-layer mechanism keeps secret.
 * @param {object} mechanism  as described
 * @param {number} size  how many reports there can be
 * @param {WordSource} words
 */
export function drawWeight(mechanism, size, words) {
  const [low, high] = mechanism.other_weights;
  if (mechanism.law === "flip") {
    return low + uniformIntegers(words, high - low + 1, 1)[0];
  }
  const table = weightsOf(mechanism.epsilon, size);
  if (table[0] !== low || table[EPSILONS - 1] !== high) {
    throw new RangeError(`the weights of epsilon=${mechanism.epsilon} are others here`);
  }
  return table[uniformIntegers(words, EPSILONS, 1)[0]];
}

/**
 * Return 2^32 / (size - 1 + exp(e)), rounded up, for 1,024 epsilons e from high to low, and the
 * largest by a little more, so that their mean is whole; none above 2^32 / size.
 */
export function weightsOf(mean, size) {
  const most = Math.floor(TOTAL / size);
  const weights = Array.from({ length: EPSILONS }, (_, i) =>
    Math.min(otherWeight(size, (mean * (2 * (EPSILONS - 1 - i) + 1)) / EPSILONS), most),
  );
  const sum = weights.reduce((total, weight) => total + weight, 0);
  let missing = (EPSILONS - (sum % EPSILONS)) % EPSILONS;
  for (let place = EPSILONS - 1; place >= 0; place -= 1) {
    const added = Math.min(most - weights[place], missing);
    weights[place] += added;
    missing -= added;
  }
  return weights;
}

export function otherWeight(size, epsilon) {
  return epsilon === 0
    ? Math.ceil(TOTAL / size)
    : Number(digitsOf(ratioOf(epsilon), BigInt(size - 1), 32)) + 1; // irrational
}
