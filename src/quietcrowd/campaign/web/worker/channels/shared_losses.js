// Privacy loss of a worker's reports that share one secret weight w.
//
// Each report is the answer with weight kept = 2^32 - others * w, and each other label with weight
// w. The probability of a row of n reports depends on the mean over w of kept^c w^(n-c), if c of
// them agree.

import { tableOf } from "./per_worker.js";
import { firstFrom } from "./rational.js";
import { TOTAL } from "./reading.js";

const MANY_WEIGHTS = 2 ** 20;
const SLACK = 1e-40; // as in Python, for rounding up

/** Points and weights of the Gauss-Legendre rule with four points on -1 to 1. */
const GAUSS_POINTS = [-1, 1].flatMap((side) =>
  [-1, 1].map((far) => [
    side * Math.sqrt((15 + far * Math.sqrt(120)) / 35),
    (18 - far * Math.sqrt(30)) / 36,
  ]),
);

/** Multiplicities of the four weights at an end; the integral starts between the 2nd and 3rd. */
const END_COUNTS = [1 + 17 / 5760, 23 / 24 - 17 / 1920, 1 / 24 + 17 / 1920, -17 / 5760];

/** Return the loss of one report, given all others, and of all: of answers or, with NULL, tasks. */
export function sharedLosses({ weights: rows, per_worker: shared }, isNull, count) {
  const others = rows.length - 1;
  if (count === 1) {
    const loss = Math.abs(logRatio(...rows[0]));
    return { cell: loss, row: loss };
  }
  if (shared.kind !== "uniform") {
    const table = tableOf(shared, others + 1);
    const { cell, logs } = meansOver(table.map((weight) => [weight, 1]), others, count);
    if (shared.kind === "beta") {
      const near = (agreements) => logs(agreements, count - agreements);
      const row = Math.max(near(0), near(count)) - near(turningPoint(near, count));
      return { cell: Math.max(SLACK, cell), row: Math.max(SLACK, row) };
    }
    const half = isNull ? Math.floor(count / 2) : 0; // of the other row's cells: NULL
    const row = logs(count, 0) - logs(0, half) - logs(0, count - half);
    return { cell: Math.max(SLACK, cell), row: Math.max(SLACK, row) };
  }
  const { low, high } = shared;
  const weights = standIns(low, high, others, count);
  const { cell } = meansOver(weights, others, count);
  const row = flipRow(low, high, others, count, weights);
  return { cell: Math.max(0, cell) + 1e-12, row: Math.max(0, row) + 1e-11 * count };
}

/** Return ln(a / b), accurately also for almost equal numbers. */
const logRatio = (a, b) => (2 * a > b ? Math.log1p((a - b) / b) : Math.log(a / b));

/**
 * Return the loss of a cell, which is largest if all reports agree or none does. Also return a
 * function for ln of the mean over weights of kept^agreements w^flips, relative to uniform weights.
 */
function meansOver(weights, others, count) {
  const even = TOTAL / (others + 1);
  const total = weights.reduce((sum, [, counts]) => sum + counts, 0);
  const chances = weights.map(([, counts]) => counts / total);
  const kept = weights.map(([weight]) => logRatio(TOTAL - others * weight, even));
  const given = weights.map(([weight]) => logRatio(weight, even));
  const power = (log, times) => times && times * log; // 0^0 is 1
  const logs = (agreements, flips) => {
    const all = kept.map((log, i) => power(log, agreements) + power(given[i], flips));
    const top = all.reduce((most, log) => Math.max(most, log));
    return top + Math.log(all.reduce((sum, log, i) => sum + chances[i] * Math.exp(log - top), 0));
  };
  const odds = (all, one) => {
    const top = all.reduce((most, log) => Math.max(most, log));
    const shares = all.map((log, i) => chances[i] * Math.exp((count - 1) * (log - top)));
    const mean = (of) => shares.reduce((sum, share, i) => sum + share * of(i), 0);
    const more = mean((i) => Math.expm1(all[i]) - Math.expm1(one[i]));
    return Math.log1p(more / mean((i) => Math.exp(one[i])));
  };
  return { cell: Math.max(odds(kept, given), odds(given, kept)), logs };
}

/** Return the first place from which on a function does not fall. */
function turningPoint(near, count) {
  return firstFrom(0, count, (place) => near(place + 1) >= near(place));
}

/** Return the loss of a row for uniform w: means fall up to one place, then rise. */
function flipRow(low, high, others, count, weights) {
  const areMany = high - low >= MANY_WEIGHTS; // then the sum is an integral, up to its largest term
  const taken = areMany ? integralOver(low, high, others, count) : weights;
  const { logs } = meansOver(taken, others, count);
  const near = (agreements) => logs(agreements, count - agreements);
  const bound = (agreements, side) => {
    const even = ((count - agreements) / count) * (TOTAL / others);
    const peak = Math.min(Math.max(even, low), high);
    const top = meansOver([[peak, 1]], others, count).logs(agreements, count - agreements);
    const more = areMany ? side / (high - low) : 0;
    return top + Math.log(Math.max(0, Math.exp(near(agreements) - top) + more));
  };
  const first = turningPoint(near, count);
  const around = [Math.max(first - 1, 0), first, Math.min(first + 1, count)];
  return Math.max(bound(0, 1), bound(count, 1)) - Math.min(...around.map((c) => bound(c, -1)));
}

/**
 * Return weights, with multiplicities, that represent all whole ones from `low` to `high`. Many are
 * represented by four at each end and an integral between. The Euler-Maclaurin formula for
 * midpoints has an error of 2e-12 of a sum that falls by e in 25 weights, and none of other sums.
 * No sum falls faster, and one falls that fast only if almost every answer is kept.
 */
function standIns(low, high, others, count) {
  if (high - low < Math.max(2 ** 13, 25 * count)) {
    return Array.from({ length: high - low + 1 }, (_, i) => [low + i, 1]);
  }
  return [
    ...END_COUNTS.flatMap((counts, i) => [[low + i, counts], [high - i, counts]]),
    ...integralOver(low + 1.5, high - 1.5, others, count),
  ];
}

/**
 * Return weights, with multiplicities, for the integral from `low` to `high`. With others * w /
 * 2^32 = sin^2, every summand has a peak of the same width, or falls from an end. So intervals are
 * narrow near the ends, and then a fraction of the distance to the end.
 */
function integralOver(low, high, others, count) {
  const most = TOTAL / others;
  const [start, end] = [low, high].map((weight) => Math.asin(Math.sqrt(weight / most)));
  const reach = (end - start) / 2;
  const least = Math.min(Math.tan(end), 1 / Math.tan(start)) / (16 * count);
  const weights = [];
  for (let [away, width] = [0, 0]; away < reach; away += width) {
    width = Math.min(Math.max(least, away / 12), 1 / Math.sqrt(400 * count), reach - away);
    for (const middle of [start + away + width / 2, end - away - width / 2]) {
      for (const [point, counts] of GAUSS_POINTS) {
        const angle = middle + (point * width) / 2;
        const share = (Math.sin(2 * angle) * width * counts) / 2;
        weights.push([most * Math.sin(angle) ** 2, most * share]);
      }
    }
  }
  return weights;
}
