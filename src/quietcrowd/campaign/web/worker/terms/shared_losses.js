// What the reports of a two-layer worker lose, who draws one secret weight for all of them.
//
// A report is the answer with weight K = 2^32 - others * w, and each other label with weight w. How
// likely n reports are depends on sums over w of K^c w^(n-c) alone, where c of them agree.

import { weightsOf } from "../mechanisms/table.js";

const ALL_WEIGHT = 2 ** 32;
const MANY_WEIGHTS = 2 ** 20; // the sum of a row over so many is bounded by way of its integral
const ONE_BY_ONE = 2 ** 13;
const FAR = 45; // decay lengths: e^-45 is left beyond

/** Five points from -1 to 1, each with its weight, after Gauss and Legendre. */
const GAUSS_POINTS = [
  [0, 128 / 225],
  ...[-1, 1].flatMap((sign) => [
    [(sign / 3) * Math.sqrt(5 - 2 * Math.sqrt(10 / 7)), (322 + 13 * Math.sqrt(70)) / 900],
    [(sign / 3) * Math.sqrt(5 + 2 * Math.sqrt(10 / 7)), (322 - 13 * Math.sqrt(70)) / 900],
  ]),
];

/**
 * Return the loss about one report, given all others, and that about all reports together.
 * @param {{mechanism: object, channel: object}} terms  as described
 * @param {number} count  of answers; with NULL, of tasks
 * @returns {{cell: number, row: number}}
 */
export function twoLayerLosses({ mechanism, channel }, count) {
  const [keep, other] = channel.weights[0];
  if (count === 1) {
    const loss = Math.abs(logRatio(keep, other));
    return { cell: loss, row: loss };
  }
  const others = channel.weights.length - 1;
  if (mechanism.law === "flip") {
    const [low, high] = mechanism.other_weights;
    return { cell: flipCell(count, others, low, high), row: flipRow(count, others, low, high) };
  }
  const weights = weightsOf(mechanism.epsilon, others + 1);
  return listedLosses(count, others, weights, mechanism.null ? Math.floor(count / 2) : 0);
}

/** Return ln(a / b), also of almost equal numbers. */
function logRatio(a, b) {
  return Math.log1p((a - b) / b);
}

const sumOf = (numbers) => numbers.reduce((sum, number) => sum + number, 0);

/**
 * Return the losses where the weights of a table are equally likely.
 *
 * Of a cell ln(E[K^n] / E[K^(n-1) w]), of a row ln(E[K^n] / E[w^h] E[w^(n-h)]): with NULL the other
 * row has h, half of its cells, under a draw of their own.
 */
function listedLosses(count, others, weights, half) {
  const kept = weights.map((weight) => ALL_WEIGHT - others * weight);
  const [mostKept, mostOther] = [kept, weights].map((numbers) => Math.max(...numbers));
  const shares = kept.map((keep) => Math.exp((count - 1) * logRatio(keep, mostKept)));
  const more = sumOf(shares.map((share, i) => share * (kept[i] - weights[i])));
  const logMean = (numbers, most, power) =>
    Math.log1p(sumOf(numbers.map((n) => Math.expm1(power * logRatio(n, most)))) / numbers.length);
  const ofOthers = logMean(weights, mostOther, half) + logMean(weights, mostOther, count - half);
  const row = count * logRatio(mostKept, mostOther) + logMean(kept, mostKept, count) - ofOthers;
  return {
    cell: Math.max(0, Math.log1p(more / sumOf(shares.map((share, i) => share * weights[i])))),
    row: Math.max(0, row),
  };
}

/** Return the loss of a cell: all reports agree, or none does; w uniform from `low` to `high`. */
function flipCell(count, others, low, high) {
  const least = ALL_WEIGHT - others * low; // what is kept at `low`
  const sums = (peak, step, size) => {
    const shares = (away) => Math.exp((count - 1) * Math.log1p((step * away) / size));
    const over = (weight) =>
      sumOver(low, high, peak, size / (Math.abs(step) * (count - 1)), (away) =>
        shares(away) * weight(peak + away));
    return [over((weight) => ALL_WEIGHT - others * weight), over((weight) => weight)];
  };
  const [agree, differ] = sums(low, -others, least);
  const [kept, other] = sums(high, 1, high);
  return Math.max(0, Math.log(agree / differ), Math.log(other / kept)) + 1e-12;
}

/** Return the loss of a row: ln of the largest sum over the smallest, at the turning point. */
function flipRow(count, others, low, high) {
  const logs = (agreements) => rowLogs(count, agreements, others, low, high);
  let [first, last] = [0, count];
  while (first < last) {
    const middle = Math.floor((first + last) / 2);
    if (logs(middle + 1).near >= logs(middle).near) {
      last = middle;
    } else {
      first = middle + 1;
    }
  }
  const turn = [first - 1, first, first + 1].filter((place) => place >= 0 && place <= count);
  const smallest = Math.min(...turn.map((place) => logs(place).least));
  const largest = Math.max(logs(0).most, logs(count).most);
  return Math.max(0, largest - smallest) + 1e-11 * count;
}

/**
 * Return ln of the sum of (K / 2^32)^c (w / 2^32)^(n - c) over w, with its bounds.
 *
 * Over many weights it differs from the integral by the largest term at most.
 */
function rowLogs(count, agreements, others, low, high) {
  const flips = count - agreements;
  const peak = Math.min(Math.max(((flips / count) * ALL_WEIGHT) / others, low), high);
  const powers = [
    { power: agreements, step: -others, size: ALL_WEIGHT - others * peak },
    { power: flips, step: 1, size: peak },
  ].filter(({ power }) => power);
  const slope = sumOf(powers.map(({ power, step, size }) => (power * step) / size));
  const bend = sumOf(powers.map(({ power, step, size }) => power * (step / size) ** 2));
  const length = Math.min(1 / Math.abs(slope), 1 / Math.sqrt(bend));
  const term = (away) =>
    Math.exp(
      sumOf(powers.map(({ power, step, size }) => power * Math.log1p((step * away) / size))),
    );
  const top = sumOf(powers.map(({ power, size }) => power * Math.log(size / ALL_WEIGHT)));
  if (high - low < MANY_WEIGHTS) {
    const log = top + Math.log(sumOver(low, high, peak, length, term));
    return { least: log, near: log, most: log };
  }
  const start = Math.max(low, peak - FAR * length);
  const end = Math.min(high, peak + FAR * length);
  const whole = integral(start - peak, end - peak, length, term);
  const least = whole > 1 ? Math.log(whole - 1) : -Infinity;
  return { least: top + least, near: top + Math.log(whole), most: top + Math.log(whole + 1) };
}

/**
 * Return the sum of a smooth `term(w - peak)` over the whole numbers w from `low` to `high`.
 *
 * Where they are many: the first and last two, the integral of all between, and by the formula of
 * Euler and Maclaurin for midpoints what both ends of it add. What that leaves out is below 1e-15,
 * since a decay length then is more than 90 weights.
 */
function sumOver(low, high, peak, length, term) {
  const first = Math.max(low, Math.ceil(peak - FAR * length));
  const last = Math.min(high, Math.floor(peak + FAR * length));
  if (last - first < ONE_BY_ONE) {
    let sum = 0;
    for (let weight = first; weight <= last; weight += 1) {
      sum += term(weight - peak);
    }
    return sum;
  }
  const ends = [first, last].map((end) => {
    const inwards = end === first ? 1 : -1;
    const [a, b, c, d] = [0, 1, 2, 3].map((i) => term(end + inwards * i - peak));
    return a + b + (c - b) / 24 - (17 / 5760) * (d - a - 3 * (c - b));
  });
  return integral(first + 1.5 - peak, last - 1.5 - peak, length, term) + ends[0] + ends[1];
}

/** Return the integral of a term, in parts of at most a quarter of its decay length. */
function integral(start, end, length, term) {
  const parts = Math.ceil((4 * (end - start)) / length);
  const half = (end - start) / (2 * parts);
  let sum = 0;
  for (let part = 0; part < parts; part += 1) {
    const middle = start + (2 * part + 1) * half;
    sum += sumOf(GAUSS_POINTS.map(([point, weight]) => weight * term(middle + half * point)));
  }
  return half * sum;
}
