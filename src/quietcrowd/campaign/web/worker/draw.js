// From a worker's answers to reports as they are sent: the only place where the page randomises.

import { drawDeviation, gaussianNoise } from "./gaussian.js";
import { cutOff, placeOf } from "./grid.js";
import { laplaceNoise } from "./laplace.js";
import { drawSketch } from "./sketch.js";
import { drawLabels, drawWeight, rowOf } from "./table.js";
import { uniformIntegers } from "./words.js";

/** @typedef {import("./words.js").WordSource} WordSource */
/** @typedef {{task: string, value: number, bit?: number}} Report */
/**
 * @typedef {object} Terms  of a campaign's configuration, as described there
 * @property {object} mechanism
 * @property {object} channel
 * @property {object} report
 */

const WITH_REPORTS = Object.freeze({
  "one-layer": drawFromTable,
  "two-layer": drawTwoLayer,
  laplace: drawLaplace,
  "sampled-variance": drawSampledVariance,
});

/**
 * Return why a page cannot draw reports of a mechanism; null where it can.
 * @param {object} mechanism  as described
 */
export function whyNot({ mechanism, version, variant }) {
  if (version === 1 && mechanism === "matrix-factorization") {
    return variant === "fill" || variant === "statistics"
      ? null
      : `variant "${variant}" solves for numbers that a page cannot compute to the last digit`;
  }
  return version === 1 && Object.hasOwn(WITH_REPORTS, mechanism)
    ? null
    : `this page does not know the mechanism "${mechanism}", version ${version}`;
}

/**
 * Return what a worker's answers become: reports in the order of their tasks, or a sketch's numbers.
 *
 * Tasks are gone through in the order of their names. No message repeats an answer.
 * @param {Terms} terms
 * @param {string[]} tasks  names of all tasks
 * @param {Map<string, string | number | boolean>} answers  by the names of tasks
 * @param {WordSource} words
 * @returns {{reports: Report[]} | {numbers: number[]}}
 */
export function draw(terms, tasks, answers, words) {
  const reason = whyNot(terms.mechanism);
  if (reason !== null) {
    throw new RangeError(`${reason}. Take the command-line device.`);
  }
  requireKnown(tasks, answers);
  const sorted = [...tasks].sort(byCodePoint);
  const encode = encoder(terms.mechanism.domain);
  const codes = sorted.map((task) => (answers.has(task) ? encode(task, answers.get(task)) : null));
  if (terms.report.kind === "sketch") {
    return { numbers: drawNumbers(terms, sorted, codes, words) };
  }
  const chosen = sorted.map((_, i) => i).filter((i) => terms.report.every_task || codes[i] !== null);
  const drawn = WITH_REPORTS[terms.mechanism.mechanism](
    terms,
    chosen.map((i) => codes[i]),
    words,
  );
  return { reports: drawn.map((report, i) => ({ task: sorted[chosen[i]], ...report })) };
}

function requireKnown(tasks, answers) {
  const known = new Set(tasks);
  for (const task of answers.keys()) {
    if (!known.has(task)) {
      throw new RangeError(`the campaign has no task ${JSON.stringify(task)}`);
    }
  }
}

/** Compare texts as UTF-8 does, and not by halves of surrogate pairs. */
function byCodePoint(one, other) {
  const [points, others] = [[...one], [...other]];
  const place = points.findIndex((point, i) => point !== others[i]);
  if (place < 0 || place >= others.length) {
    return points.length - others.length;
  }
  return points[place].codePointAt(0) - others[place].codePointAt(0);
}

/** Return what gives the position of a label, or a number; answers of a domain alone. */
function encoder(domain) {
  const labels = labelsOf(domain);
  return (task, answer) => {
    const place = labels === null ? answer : labels.indexOf(answer);
    const fits =
      labels === null ? domain.low <= answer && answer <= domain.high : place >= 0;
    if (!fits || typeof place !== "number") {
      throw new RangeError(`task ${JSON.stringify(task)}: the answer is outside the domain`);
    }
    return place;
  };
}

/** Return the labels of a domain; null where it is an interval. */
function labelsOf({ kind, labels, levels }) {
  return kind === "interval" ? null : (labels ?? levels);
}

/** Return a report for each label; NULL, which follows the labels, for none. */
function drawFromTable({ mechanism, channel }, codes, words) {
  const filled = codes.map((code) => code ?? labelsOf(mechanism.domain).length);
  return drawLabels(filled, (code) => channel.weights[code], words).map(onlyValue);
}

/** Draw a secret weight, and another one for NULL where that is a label; then the reports. */
function drawTwoLayer({ mechanism }, codes, words) {
  const missing = labelsOf(mechanism.domain).length;
  const size = missing + (mechanism.null === null ? 0 : 1);
  const weights = new Array(size).fill(drawWeight(mechanism, size, words), 0, missing);
  if (size > missing) {
    weights[missing] = drawWeight(mechanism, size, words);
  }
  const row = (code) => rowOf(code, size, weights[code]);
  return drawLabels(codes.map((code) => code ?? missing), row, words).map(onlyValue);
}

function onlyValue(value) {
  return { value };
}

/** Return the places of answers on the grid; null for none. */
function placesOf({ mechanism, channel }, codes) {
  const labels = labelsOf(mechanism.domain);
  const number = (code) => (labels === null ? code : labels[code]);
  return codes.map((code) => (code === null ? null : placeOf(channel.grid, number(code))));
}

/** Draw what fills each place, answered or not; then noise; then that of the bits. */
function drawLaplace(terms, codes, words) {
  const { channel, report } = terms;
  const places = placesOf(terms, codes);
  const fillings = report.every_task ? drawFillings(terms, codes.length, words) : places;
  const noise = laplaceNoise(channel.noise_scale)(codes.length, words);
  const reports = places.map((place, i) => ({
    value: cutOff(BigInt(place ?? fillings[i]) + noise[i], report.value),
  }));
  if (channel.participation === null) {
    return reports;
  }
  const { grid, noise_scale: scale } = channel.participation;
  const bits = laplaceNoise(scale)(codes.length, words);
  return reports.map(({ value }, i) => ({
    value,
    bit: cutOff(BigInt(places[i] === null ? 0 : grid.steps) + bits[i], report.bit),
  }));
}

function drawFillings({ mechanism, channel }, count, words) {
  const { fill, grid } = channel;
  if (fill !== "uniform") {
    const place = fill === "midpoint" ? grid.steps / 2 : placeOf(grid, fill);
    return new Array(count).fill(place);
  }
  const levels = labelsOf(mechanism.domain);
  const drawn = uniformIntegers(words, levels?.length ?? grid.steps + 1, count);
  return levels === null ? drawn : drawn.map((code) => placeOf(grid, levels[code]));
}

/** Draw the secret deviation of the noise; then noise for each answer. */
function drawSampledVariance(terms, codes, words) {
  const { channel, report } = terms;
  const deviation = drawDeviation(channel.variance_unit, channel.least_units, words);
  const noise = gaussianNoise(deviation, codes.length, words);
  return placesOf(terms, codes).map((place, i) => ({
    value: cutOff(BigInt(place) + noise[i], report.value),
  }));
}

function drawNumbers(terms, tasks, codes, words) {
  const sketch = drawSketch(terms.channel, tasks, placesOf(terms, codes), words);
  return sketch.map((number) => cutOff(number, terms.report.value));
}
