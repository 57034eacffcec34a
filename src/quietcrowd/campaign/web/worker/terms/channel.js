// Derivation of a mechanism's numbers, channel and possible reports from its parameters.

import { boundedLaw, countOf } from "../mechanisms/bounded.js";
import { placeOf } from "../mechanisms/grid.js";
import { floatUp, leastMeant, ratioOf } from "../mechanisms/rational.js";
import { countSets, isCountable, setWeights } from "../mechanisms/sets.js";
import { otherWeight, rowOf, tableOf, weightsOf } from "../mechanisms/table.js";

const WHOLE = 2 ** 32; // sum of a row of weights
const PROFILE_UNIT = 2 ** 24; // represents 1.0 in a profile
const REACHED = 64; // noise is clipped beyond this many scales
const MOST_EPSILON = 16; // of a table
const MOST_BOUNDED_STEPS = 2 ** 16; // with more, weights out of 2^32 would be too coarse
const MOST_LABELS = 64;
const MOST_SHAPE = 16; // of a beta distribution
const MOST_SOLVED = 12; // labels of the optimal channel
const MOST_NUMBERS = 20_000; // of a sketch
const BIT_GRID = Object.freeze({ low: 0, step: 2 ** -10, steps: 2 ** 10, high: 1 });

const LAWS = Object.freeze({
  "one-layer": [oneLayer, "epsilon flip_probability null"],
  optimal: [optimal, "epsilon prior information apart weights"],
  "two-layer": [twoLayer, "low high epsilon law null"],
  laplace: [laplace, "epsilon fill scale participation step"],
  piecewise: [bounded, "epsilon step"],
  duchi: [bounded, "epsilon step"],
  hybrid: [bounded, "epsilon step"],
  "subset-selection": [subsetSelection, "epsilon set_size"],
  "matrix-factorization": [sketch, "epsilon rank profile ridge variant fill seed step"],
});

/** Return the largest distance of a grid's places from a center. */
export function farthestFrom(centre, { steps }) {
  return Math.max(Math.abs(centre), Math.abs(steps - centre));
}

/**
 * Derive a mechanism, its channel and its reports from its parameters.
 * @param {object} mechanism  as described
 * @param {number} tasks  number of tasks
 * @throws {RangeError}  if the parameters are invalid
 */
export function describedBy(mechanism, tasks) {
  const { mechanism: name, version } = mechanism;
  must(typeof name === "string" && typeof mechanism.domain.kind === "string");
  const [law, names] = LAWS[name];
  const given = names.split(" ").map((one) => [one, mechanism[one] ?? null]);
  const parameters = { domain: checkedDomain(mechanism.domain), ...Object.fromEntries(given) };
  const { own, channel, report } = law(parameters, { tasks, said: mechanism });
  return { mechanism: { mechanism: name, version, ...parameters, ...own }, channel, report };
}

function must(condition) {
  if (!condition) {
    throw new RangeError("a mechanism has no such parameters");
  }
}

function isFrom(low, high, value) {
  return typeof value === "number" && value >= low && value <= high;
}

function ceilOf(over, under) {
  return Number((over + under - 1n) / under);
}

function listOf({ labels, levels, low, high }) {
  return labels ?? levels ?? [low, high];
}

function checkedDomain({ kind, labels, levels, low, high }) {
  const domains = { interval: { low, high }, ordinal: { levels }, categorical: { labels } };
  const list = listOf(domains[kind]);
  must(Array.isArray(list) && new Set(list).size === list.length);
  const types = kind === "categorical" ? ["string", "boolean", "number"] : ["number"];
  must(types.some((type) => list.every((one) => typeof one === type)));
  must(kind === "categorical" || list.every((one, i) => i === 0 || one > list[i - 1]));
  return { kind, ...domains[kind] };
}

/** Return the channel and reports of a table; without `other`, all reports are equally likely. */
function ofTable(size, other, missing) {
  const even = Array.from({ length: size }, (_, i) => Math.floor((WHOLE + size - 1 - i) / size));
  const weights = even.map((_, answer) => (other === null ? even : rowOf(answer, size, other)));
  const [least, most] = [Math.min, Math.max].map((find) => find(...weights[0]));
  must(least > 0 && (other === null || Math.log(most / least) <= MOST_EPSILON));
  const report = { kind: "value", value: [0, size - 1], bit: null, every_task: missing !== null };
  return { channel: { kind: "table", weights }, report };
}

function sizeOf({ domain: { kind, ...domain }, null: missing }) {
  const count = listOf(domain).length;
  const size = missing === null ? count : count + 1;
  must(kind !== "interval" && count > 1 && size <= MOST_LABELS);
  must(missing === null || missing === "category");
  return size;
}

function oneLayer(given) {
  const { epsilon, flip_probability: flip } = given;
  const size = sizeOf(given);
  must((epsilon === null) !== (flip === null));
  must(epsilon === null ? isFrom(0, 1, flip) : isFrom(0, MOST_EPSILON, epsilon));
  const { weight, isAbove } =
    epsilon === null ? flipped(flip, size) : { weight: otherWeight(size, epsilon) };
  const other = (isAbove ? weight * size > WHOLE : weight * size < WHOLE) ? weight : null;
  return { own: { other_weight: other }, ...ofTable(size, other, given.null) };
}

/** Return the weight of each other label, rounded toward uniform, and whether it is above that. */
function flipped(flip, size) {
  const { over, under } = ratioOf(flip);
  const [all, others] = [over * BigInt(WHOLE), under * BigInt(size - 1)];
  const isAbove = over * BigInt(size) > others;
  return { weight: isAbove ? Number(all / others) : ceilOf(all, others), isAbove };
}

/** Return whether a prior, with labels in Python's notation, is valid: probabilities are above 0. */
function isPrior(prior, labels) {
  const spelt = labels.map((one) => (typeof one === "boolean" ? (one ? "True" : "False") : one));
  const [names, shares] = [Object.keys(prior), Object.values(prior)];
  const rest = shares.reduce((left, share) => left - share, 1);
  return (
    names.length > 0 &&
    names.every((name) => spelt.some((one) => one === name || one === Number(name))) &&
    shares.every((share) => typeof share === "number" && share > 0) &&
    (names.length === labels.length ? Math.abs(rest) <= 1e-9 : rest > 0)
  );
}

/** Return the requester's optimal table: rows must sum to 2^32, the loss be at most epsilon. */
function optimal({ domain, epsilon, prior, information, apart, weights }) {
  const size = sizeOf({ domain, null: null });
  must(isFrom(0, MOST_EPSILON, epsilon) && size <= MOST_SOLVED && isFrom(0, 1, apart));
  must(prior === null || isPrior(prior, listOf(domain)));
  must(information === "mutual" || (information === "fisher" && domain.kind === "ordinal"));
  const reports = weights[0].length;
  must(weights.length === size && isFrom(1, MOST_LABELS, reports));
  for (const row of weights) {
    must(row.length === reports && row.every((one) => Number.isInteger(one) && one >= 0));
    must(row.reduce((sum, one) => sum + one, 0) === WHOLE);
  }
  for (const column of weights[0].keys()) {
    const [least, most] = [Math.min, Math.max].map((f) => f(...weights.map((row) => row[column])));
    must(most === 0 || Math.log1p((most - least) / least) <= epsilon * (1 + 1e-12));
  }
  const report = { kind: "value", value: [0, reports - 1], bit: null, every_task: false };
  return { own: {}, channel: { kind: "table", weights }, report };
}

function twoLayer(given, { said }) {
  const { low, high, epsilon, law } = given;
  const size = sizeOf(given);
  if (law === "epsilon") {
    must(low === null && high === null && isFrom(0, MOST_EPSILON / 2, epsilon));
    return ofDrawnWeights(size, weightsOf(epsilon, size), given.null, {});
  }
  must(epsilon === null && given.null === null);
  if (law === "flip") {
    return ofDrawnWeights(size, flipBounds(low, high, size - 1), null, {});
  }
  const { alpha, beta } = said;
  must(law === "beta" && isFrom(0, 1, low) && isFrom(low, 1, high));
  must([alpha, beta].every((shape) => Number.isInteger(shape) && isFrom(1, MOST_SHAPE, shape)));
  return ofDrawnWeights(size, tableOf({ ...given, alpha, beta }, size), null, { alpha, beta });
}

/** Return the mechanism's numbers, channel and reports for the mean of the weights drawn from. */
function ofDrawnWeights(size, drawn, missing, shapes) {
  const mean = drawn.reduce((sum, weight) => sum + weight) / drawn.length;
  const bounds = [Math.min(...drawn), Math.max(...drawn)];
  return { own: { ...shapes, other_weights: bounds }, ...ofTable(size, mean, missing) };
}

/** Return bounds of the weight of each other label, rounded up, with a whole mean. */
function flipBounds(low, high, others) {
  must(isFrom(0, 1, low) && isFrom(low, 1, high));
  const largest = Math.floor(WHOLE / others);
  const [least, most] = [low, high].map((flip) => {
    const { over, under } = ratioOf(flip);
    return Math.min(ceilOf(over * BigInt(WHOLE), under * BigInt(others)), largest);
  });
  const odd = (least + most) % 2;
  return most < largest ? [least, most + odd] : [least + odd, most];
}

function subsetSelection({ domain: { kind, ...domain }, epsilon, set_size: size }) {
  const labels = listOf(domain).length;
  must(kind !== "interval" && labels > 1 && labels <= MOST_LABELS);
  must(isFrom(0, MOST_EPSILON, epsilon));
  must(size === null || (Number.isInteger(size) && isFrom(1, labels - 1, size)));
  const members = size ?? bestSetSize(labels, epsilon);
  must(isCountable(labels, members));
  const weights = setWeights(labels, members, epsilon);
  const value = [0, countSets(labels, members) - 1];
  return {
    own: { members, ...weights },
    channel: { kind: "sets", labels, members, ...weights },
    report: { kind: "value", value, bit: null, every_task: false },
  };
}

/** Return the best number of labels in a set; see Python's `best_members`. */
function bestSetSize(labels, epsilon) {
  const ratio = Math.exp(epsilon);
  const error = (size) => (size * ratio + (labels - size)) ** 2 / (size * (labels - size));
  const sizes = Array.from({ length: labels - 1 }, (_, i) => i + 1);
  const possible = sizes.filter((size) => isCountable(labels, size));
  return possible.reduce((best, size) => (error(size) < error(best) ? size : best));
}

/** Return the public grid over a domain of numbers; see Python's mechanisms/channels/grid.py. */
function gridOver({ domain: { kind, ...domain }, step: given }) {
  const list = listOf(domain);
  const [low, high] = [list[0], list[list.length - 1]];
  const width = high - low;
  must(kind !== "categorical" && isFrom(2 ** -960, Number.MAX_VALUE, width));
  const step = given ?? powerBelow(width) / 1024;
  must(step > 0 && powerBelow(step) === step && isFrom(1, 2 ** 24, width / step));
  const steps = 2 * Math.ceil(width / step / 2);
  const farthest = Math.max(Math.abs(low), Math.abs(high));
  must(step * steps <= 1.01 * width && farthest <= step * 2 ** 50);
  must(farthest + step * 2 ** 63 < Infinity);
  return { grid: { low, step, steps, high }, numbers: { grid_step: step, steps } };
}

function powerBelow(number) {
  const power = 2 ** Math.floor(Math.log2(number));
  return power > number ? power / 2 : 2 * power <= number ? 2 * power : power;
}

/** Return the smallest scale of Laplace noise for a sensitivity, a ratio, and epsilon. */
function scaleFor({ over, under }, epsilon) {
  must(isFrom(Number.MIN_VALUE, Number.MAX_VALUE, epsilon));
  const ratio = leastMeant(epsilon);
  const wanted = { over: over * ratio.under, under: under * ratio.over };
  must(wanted.over >= wanted.under && wanted.over <= wanted.under << 46n);
  return floatUp(wanted);
}

/** Return the smallest and largest place with noise. */
function bounds(steps, scale) {
  const most = steps + REACHED * scale < 2 ** 31 ? 2 ** 31 - 1 : Number.MAX_SAFE_INTEGER;
  const beyond = Math.ceil(REACHED * scale);
  return [Math.max(-beyond, -most), Math.min(steps + beyond, most)];
}

function laplace({ domain, epsilon, fill, scale, participation, step }) {
  const { grid, numbers } = gridOver({ domain, step });
  const isPaper = scale === "paper";
  must(isPaper ? domain.kind === "ordinal" : scale === "width");
  must([null, "uniform", "midpoint"].includes(fill) || isFrom(grid.low, grid.high, fill));
  const isReleased = participation === "released";
  must(isReleased ? fill === "midpoint" && !isPaper : participation === null);
  const unit = ratioOf(grid.step);
  const levels = BigInt(listOf(domain).length);
  const ofLevels = { over: levels * unit.under, under: unit.over };
  const noise = scaleFor(isPaper ? ofLevels : ratioOf(grid.steps), epsilon);
  const bit = isReleased ? scaleFor(ratioOf(2 * BIT_GRID.steps), epsilon) : null;
  const released = isReleased ? { grid: BIT_GRID, noise_scale: bit } : null;
  const ofBit = isReleased ? bounds(BIT_GRID.steps, bit) : null;
  const ofValue = { kind: "value", value: bounds(grid.steps, noise) };
  return {
    own: { ...numbers, noise_scale: noise, participation_noise_scale: bit },
    channel: { kind: "laplace", grid, noise_scale: noise, fill, participation: released },
    report: { ...ofValue, bit: ofBit, every_task: fill !== null },
  };
}

function bounded({ domain, epsilon, step }, { said }) {
  const { grid, numbers } = gridOver({ domain, step });
  must(grid.steps <= MOST_BOUNDED_STEPS && isFrom(Number.MIN_VALUE, MOST_EPSILON, epsilon));
  const law = boundedLaw(said.mechanism, grid.steps, epsilon);
  must(law !== null);
  const value = [0, countOf(grid.steps, law.window) - 1];
  return {
    own: { ...numbers, ...law },
    channel: { kind: "bounded", grid, ...law },
    report: { kind: "value", value, bit: null, every_task: false },
  };
}

function sketch({ domain, epsilon, rank, profile, ridge, variant, fill, seed, step }, { tasks }) {
  const { grid, numbers } = gridOver({ domain, step });
  const isMore = variant === "statistics";
  must(Number.isInteger(rank) && isFrom(1, 4096, rank));
  must(Number.isInteger(seed) && isFrom(0, 2 ** 64 - 2 ** 11, seed));
  must(["gaussian", "rademacher", "buckets"].includes(profile));
  must(isFrom(isMore ? Number.MIN_VALUE : 0, Number.MAX_VALUE, ridge));
  must(fill === "midpoint" || isFrom(grid.low, grid.high, fill));
  const centre = fill === "midpoint" ? grid.steps / 2 : placeOf(grid, fill);
  const farthest = farthestFrom(centre, grid);
  const hidden = isMore ? Math.max(grid.steps, 2 * farthest) : grid.steps;
  const noise = scaleFor(ratioOf(hidden * PROFILE_UNIT), epsilon);
  const length = isMore ? rank + (rank * (rank + 1)) / 2 : rank;
  const largest = Math.ceil(tasks * farthest * PROFILE_UNIT + REACHED * noise);
  must(length <= MOST_NUMBERS && largest <= Number.MAX_SAFE_INTEGER);
  const ofNoise = { noise_scale: noise, noise_unit: 1 / PROFILE_UNIT };
  return {
    own: { learning_rate: null, max_steps: 100_000, ...numbers, noise_scale: noise },
    channel: {
      ...{ kind: "sketch", grid, centre, ...ofNoise, moments_epsilon: isMore ? epsilon / 2 : 0 },
      profile: { kind: profile, rank, seed },
    },
    report: { kind: "sketch", length, numbers: "whole", value: [-largest, largest] },
  };
}
