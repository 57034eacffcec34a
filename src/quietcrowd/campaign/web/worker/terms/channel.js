// What follows from a mechanism's parameters: its numbers, its channel, which reports there can be.

import { placeOf } from "../mechanisms/grid.js";
import { floatUp, ratioOf } from "../mechanisms/rational.js";
import { otherWeight, rowOf, weightsOf } from "../mechanisms/table.js";

const WHOLE = 2 ** 32; // what a row of weights sums to
const SUM_UNIT = 2 ** 24; // what 1.0 of a profile is stored as
const MEAN_OF_VARIANCE = 2 ** 42;
const NOISE_REACH = 64; // scales of noise, beyond which it is cut off
const MOST_LOST = 16; // by one report of a table
const MOST_LABELS = 64;
const MOST_LEVELS = 1000;
const MOST_NUMBERS = 20_000; // of a sketch
const MOST_DESCENTS = 100_000; // which a variant of the paper takes; others only say so
const BIT_GRID = Object.freeze({ low: 0, step: 2 ** -10, steps: 2 ** 10, high: 1 });

const DESCRIBE = Object.freeze({
  "one-layer": describeOneLayer,
  "two-layer": describeTwoLayer,
  laplace: describeLaplace,
  "sampled-variance": describeVariance,
  "matrix-factorization": describeSketch,
});

/** Return whether two numbers are the same but for 10^-12 of them. */
export function isNear(one, other) {
  return one === other || Math.abs(one - other) <= 1e-12 * Math.max(Math.abs(one), Math.abs(other));
}

/**
 * Return a mechanism, its channel and its reports as they follow from its parameters.
 *
 * A variance's unit is found in floats: one that is near to it is taken as it is.
 * @param {object} mechanism  as described
 * @param {number} tasks  how many there are
 * @throws {RangeError}  where the parameters are none
 */
export function describedBy(mechanism, tasks) {
  const { mechanism: name, version } = mechanism;
  const domain = checkedDomain(mechanism.domain);
  const { parameters, channel, report } = DESCRIBE[name](mechanism, domain, tasks);
  return { mechanism: { mechanism: name, version, domain, ...parameters }, channel, report };
}

function must(condition) {
  if (!condition) {
    throw new RangeError("a mechanism has no such parameters");
  }
}

function isNumber(value, low = -Infinity, high = Infinity) {
  return typeof value === "number" && value >= low && value <= high;
}

function isWhole(value, low, high) {
  return Number.isInteger(value) && value >= low && value <= high;
}

function checkedDomain({ kind, labels, levels, low, high }) {
  if (kind === "interval") {
    must(isNumber(low) && isNumber(high, low) && low < high);
    return { kind, low, high };
  }
  must(kind === "categorical" || kind === "ordinal");
  const [name, list] = kind === "ordinal" ? ["levels", levels] : ["labels", labels];
  must(Array.isArray(list) && isWhole(list.length, 1, MOST_LEVELS));
  must(new Set(list).size === list.length);
  must(["string", "boolean", "number"].some((type) => list.every((one) => typeof one === type)));
  must(typeof list[0] !== "number" || list.every((one) => Math.abs(one) < 2 ** 63));
  must(kind !== "ordinal" || list.every((one, i) => isNumber(one) && !(one <= list[i - 1])));
  return { kind, [name]: list };
}

/** Return how many labels a report can be. */
function sizeOf({ labels, levels }, isNull) {
  const list = labels ?? levels ?? [];
  const size = list.length + (isNull ? 1 : 0);
  must(list.length >= 2 && size <= MOST_LABELS);
  return size;
}

/** Return the channel and the reports of a table whose rows keep an answer, or are all the same. */
function ofTable(size, other, isNull) {
  const even = Array.from({ length: size }, (_, i) => Math.floor(WHOLE / size) + (i < WHOLE % size));
  const row = (answer) => (other === null ? even : rowOf(answer, size, other));
  const weights = Array.from({ length: size }, (_, answer) => row(answer));
  const [least, most] = [Math.min, Math.max].map((find) => find(...weights[0]));
  must(least > 0 && (other === null || Math.log(most / least) <= MOST_LOST));
  const report = { kind: "value", value: [0, size - 1], bit: null, every_task: isNull };
  return { channel: { kind: "table", weights }, report };
}

function describeOneLayer({ epsilon, flip_probability: flip, null: missing }, domain) {
  const isNull = missing !== null;
  must(!isNull || missing === "category");
  const size = sizeOf(domain, isNull);
  must((epsilon === null) !== (flip === null));
  must(epsilon === null ? isNumber(flip, 0, 1) : isNumber(epsilon, 0, MOST_LOST));
  const other = epsilon === null ? flippedWeight(flip, size) : otherWeight(size, epsilon);
  const used = other !== null && (epsilon === null || other * size < WHOLE) ? other : null;
  const parameters = { epsilon, flip_probability: flip, null: missing, other_weight: used };
  return { parameters, ...ofTable(size, used, isNull) };
}

/** Return the weight of each other label, rounded towards the uniform one; null where it is that. */
function flippedWeight(flip, size) {
  const { over, under } = ratioOf(flip);
  const [all, others] = [over * BigInt(WHOLE), under * BigInt(size - 1)];
  const rounded = all * BigInt(size) <= others * BigInt(WHOLE) ? (all + others - 1n) / others : null;
  const weight = Number(rounded ?? all / others);
  const isShort = rounded === null ? weight * size > WHOLE : weight * size < WHOLE;
  return isShort ? weight : null;
}

function describeTwoLayer({ low, high, epsilon, law, null: missing }, domain) {
  const isNull = missing !== null;
  const size = sizeOf(domain, isNull);
  let [bounds, mean] = [];
  if (law === "flip") {
    must(epsilon === null && !isNull && isNumber(low, 0, 1) && isNumber(high, low, 1));
    bounds = flipBounds(low, high, size - 1);
    mean = (bounds[0] + bounds[1]) / 2;
  } else {
    must(law === "epsilon" && low === null && high === null && isNumber(epsilon, 0, MOST_LOST / 2));
    must(!isNull || missing === "category");
    const drawn = weightsOf(epsilon, size);
    bounds = [Math.min(...drawn), Math.max(...drawn)];
    mean = drawn.reduce((sum, weight) => sum + weight) / drawn.length;
  }
  const parameters = { low, high, epsilon, law, null: missing, other_weights: bounds };
  return { parameters, ...ofTable(size, mean, isNull) };
}

/** Return bounds of the weight of each other label, rounded up, whose mean is whole. */
function flipBounds(low, high, others) {
  const largest = Math.floor(WHOLE / others);
  const [least, most] = [low, high].map((flip) => {
    const { over, under } = ratioOf(flip);
    const divisor = under * BigInt(others);
    return Math.min(Number((over * BigInt(WHOLE) + divisor - 1n) / divisor), largest);
  });
  if ((least + most) % 2 === 0) {
    return [least, most];
  }
  return most < largest ? [least, most + 1] : [least + 1, most];
}

/** Return the public grid over a domain of numbers; see Python's mechanisms/grid.py. */
function gridOver({ kind, levels, low, high }, given) {
  must(kind !== "categorical" && (given === null || isNumber(given)));
  const [first, last] = kind === "interval" ? [low, high] : [levels[0], levels[levels.length - 1]];
  const width = last - first;
  must(width >= 2 ** -960 && width < Infinity);
  const step = given ?? powerBelow(width) / 1024;
  must(step > 0 && powerBelow(step) === step && isNumber(width / step, 1, 2 ** 24));
  const steps = 2 * Math.ceil(width / step / 2);
  const farthest = Math.max(Math.abs(first), Math.abs(last));
  must(step * steps <= 1.01 * width && farthest <= step * 2 ** 50);
  must(farthest + step * 2 ** 63 < Infinity);
  return { low: first, step, steps, high: last };
}

/** Return the largest power of two that is not above a number. */
function powerBelow(number) {
  const power = 2 ** Math.floor(Math.log2(number));
  return power > number ? power / 2 : 2 * power <= number ? 2 * power : power;
}

/** Return the least scale of Laplace noise that hides a distance, a ratio, at a loss. */
function scaleFor({ over, under }, epsilon) {
  must(isNumber(epsilon) && epsilon > 0);
  const ratio = ratioOf(epsilon);
  const wanted = { over: over * ratio.under, under: under * ratio.over };
  must(wanted.over >= wanted.under && wanted.over <= wanted.under << 46n);
  return floatUp(wanted);
}

/** Return the least and the largest place with noise. */
function reached(steps, scale) {
  const most = steps + NOISE_REACH * scale < 2 ** 31 ? 2 ** 31 - 1 : Number.MAX_SAFE_INTEGER;
  const beyond = Math.ceil(NOISE_REACH * scale);
  return [Math.max(-beyond, -most), Math.min(steps + beyond, most)];
}

function describeLaplace(given, domain) {
  const { epsilon, fill, participation, scale, step } = given;
  const grid = gridOver(domain, step);
  const isPaper = scale === "paper";
  must(isPaper ? domain.kind === "ordinal" : scale === "width");
  must([null, "uniform", "midpoint"].includes(fill) || isNumber(fill, grid.low, grid.high));
  const isReleased = participation === "released";
  must(isReleased ? fill === "midpoint" && !isPaper : participation === null);
  const unit = ratioOf(grid.step);
  const levels = BigInt(domain.levels?.length ?? 0);
  const distance = isPaper
    ? { over: levels * unit.under, under: unit.over }
    : ratioOf(grid.steps);
  const noise = scaleFor(distance, epsilon);
  const bit = isReleased ? scaleFor(ratioOf(2 * BIT_GRID.steps), epsilon) : null;
  return {
    parameters: {
      ...{ epsilon, fill, scale, participation, step, ...numbersOf(grid) },
      ...{ noise_scale: noise, participation_noise_scale: bit },
    },
    channel: {
      ...{ kind: "laplace", grid, noise_scale: noise, fill },
      participation: isReleased ? { grid: BIT_GRID, noise_scale: bit } : null,
    },
    report: {
      ...{ kind: "value", value: reached(grid.steps, noise) },
      bit: isReleased ? reached(BIT_GRID.steps, bit) : null,
      every_task: fill !== null,
    },
  };
}

function numbersOf({ step, steps }) {
  return { grid_step: step, steps };
}

function describeVariance(given, domain) {
  const { epsilon, rate, delta, least_variance: spread, step } = given;
  const grid = gridOver(domain, step);
  must((epsilon === null) !== (rate === null) && isNumber(delta, 1e-30) && delta < 1);
  must(isNumber(epsilon ?? rate) && (epsilon ?? rate) > 0 && (spread === null || isNumber(spread, 0)));
  const claimed = (-2 * Math.log1p(-delta) * epsilon * (1 - 2 ** -48)) / grid.steps ** 2;
  const perStep = epsilon === null ? rate * grid.step ** 2 : claimed;
  const finest = Math.max(1, grid.steps / 32) ** 2;
  must(isNumber(0.5 / perStep, finest * (1 - 1e-12), 2 ** 60 * (1 + 1e-12)));
  const found = 1 / (perStep * MEAN_OF_VARIANCE);
  const unit = isNear(found, given.variance_unit) ? given.variance_unit : found;
  const [most, square, one] = [spread ?? 0, grid.step ** 2, unit].map(ratioOf);
  const divisor = most.under * square.over * one.over;
  const least = Number((most.over * square.under * one.under + divisor - 1n) / divisor);
  must(least <= 2 ** 46);
  const scale = 1 / Math.sqrt(2 * (1 / (unit * MEAN_OF_VARIANCE)));
  const numbers = { variance_unit: unit, least_units: least };
  const reach = Math.ceil(NOISE_REACH * scale);
  return {
    parameters: {
      ...{ epsilon, rate, delta, least_variance: spread, step },
      ...{ ...numbersOf(grid), ...numbers },
    },
    channel: { kind: "sampled-variance", grid, ...numbers, reach },
    report: { kind: "value", value: reached(grid.steps, scale), bit: null, every_task: false },
  };
}

function describeSketch(given, domain, tasks) {
  const { epsilon, rank, profile, ridge, variant, fill, seed, step } = given;
  const grid = gridOver(domain, step);
  const isStatistics = variant === "statistics";
  must(isWhole(rank, 1, 4096) && isWhole(seed, 0, 2 ** 64) && isNumber(ridge, 0));
  must(["gaussian", "rademacher", "buckets"].includes(profile) && (ridge > 0 || !isStatistics));
  must(fill === "midpoint" || isNumber(fill, grid.low, grid.high));
  const centre = fill === "midpoint" ? grid.steps / 2 : placeOf(grid, fill);
  const farthest = farthestFrom(centre, grid);
  const hidden = isStatistics ? Math.max(grid.steps, 2 * farthest) : grid.steps;
  const noise = scaleFor(ratioOf(hidden * SUM_UNIT), epsilon);
  const length = rank + (isStatistics ? (rank * (rank + 1)) / 2 : 0);
  const largest = Math.ceil(tasks * farthest * SUM_UNIT + NOISE_REACH * noise);
  must(length <= MOST_NUMBERS && largest <= Number.MAX_SAFE_INTEGER);
  return {
    parameters: {
      ...{ epsilon, rank, profile, ridge, variant, fill, seed, step },
      ...{ learning_rate: null, max_steps: MOST_DESCENTS, ...numbersOf(grid), noise_scale: noise },
    },
    channel: {
      ...{ kind: "sketch", grid, centre, noise_scale: noise, noise_unit: 1 / SUM_UNIT },
      moments_epsilon: isStatistics ? epsilon / 2 : 0,
      profile: { kind: profile, rank, seed },
    },
    report: { kind: "sketch", length, numbers: "whole", value: [-largest, largest] },
  };
}

/** Return the largest distance of a place on a grid from a centre. */
export function farthestFrom(centre, { steps }) {
  return Math.max(Math.abs(centre), Math.abs(steps - centre));
}
