// Sets of labels: numbers, weights and sampling. See Python's mechanisms/channels/set_law.py.

import { digitsOf } from "./coins.js";
import { ratioOf } from "./rational.js";
import { uniformIntegers } from "./words.js";

const MOST_SETS = 2 ** 53; // smaller whole numbers are exact
const SETS_AT_ONCE = 2 ** 14;
const EXPONENT_BITS = 160n;

/** Return `C(code, place + 1)` for places and codes, at most 2^53. */
export function setBinomials(labels, members) {
  let row = new Array(labels).fill(1);
  return Array.from({ length: members }, () => {
    let sum = 0;
    row = row.map((above) => {
      const here = sum;
      sum = Math.min(sum + above, MOST_SETS);
      return here;
    });
    return row;
  });
}

/** Return the number of sets, exact up to 2^53. */
export function countSets(labels, members) {
  const few = Math.min(members, labels - members);
  return setBinomials(labels + 1, few)[few - 1][labels];
}

/** Return the number of a set, given the codes of its labels in increasing order. */
export function rankOfSet(codes, labels) {
  const table = setBinomials(labels, codes.length);
  return codes.reduce((rank, code, place) => rank + table[place][code], 0);
}

/** Return the codes of the labels of a set, given its number. */
export function membersOfSet(rank, labels, members) {
  const table = setBinomials(labels, members);
  const codes = new Array(members);
  let [left, code] = [rank, labels - 1];
  for (let place = members - 1; place >= 0; place -= 1, code -= 1) {
    while (table[place][code] > left) {
      code -= 1;
    }
    codes[place] = code;
    left -= table[place][code];
  }
  return codes;
}

/** Return whether there are at most 2^53 sets. */
export function isCountable(labels, members) {
  const few = Math.min(members, labels - members);
  let count = 1n;
  for (let i = 1n; i <= BigInt(few); i += 1n) {
    count = (count * (BigInt(labels - few) + i)) / i;
  }
  return count <= BigInt(MOST_SETS);
}

/** Return the weights of a set with and without the answer, for a loss of at most epsilon. */
export function setWeights(labels, members, epsilon) {
  const others = BigInt(labels - members);
  const one = 1n << EXPONENT_BITS;
  const fall = epsilon === 0 ? one : digitsOf(ratioOf(epsilon), 0n, Number(EXPONENT_BITS));
  const inside = ((2n ** 32n - others) * one) / (BigInt(members) * one + others * fall);
  const outside = (inside * fall + one - 1n) / one;
  return outside >= inside
    ? { inside: 1, outside: 1 }
    : { inside: Number(inside), outside: Number(outside) };
}

/**
 * Return the number of a set for each answer.
 *
 * The answer is first, followed by the other labels, of which uniform draws move one after another
 * to the front. The set is the first labels, with or without the answer.
 * @param {{labels: number, members: number, inside: number, outside: number}} law
 * @param {number[]} codes  of answers
 * @param {WordSource} words
 */
export function drawSets(law, codes, words) {
  const reports = [];
  for (let start = 0; start < codes.length; start += SETS_AT_ONCE) {
    reports.push(...drawSomeSets(law, codes.slice(start, start + SETS_AT_ONCE), words));
  }
  return reports;
}

function drawSomeSets({ labels, members, inside, outside }, codes, words) {
  const total = members * inside + (labels - members) * outside;
  const drawn = uniformIntegers(words, total, codes.length);
  const rows = codes.map((code) => {
    const row = [...new Array(labels).keys()];
    [row[0], row[code]] = [code, 0];
    return row;
  });
  for (let place = 1; place <= members; place += 1) {
    const moved = uniformIntegers(words, labels - place, codes.length);
    rows.forEach((row, i) => {
      const other = place + moved[i];
      [row[place], row[other]] = [row[other], row[place]];
    });
  }
  return rows.map((row, i) => {
    const first = drawn[i] < members * inside ? 0 : 1;
    const set = row.slice(first, first + members).sort((a, b) => a - b);
    return rankOfSet(set, labels);
  });
}
