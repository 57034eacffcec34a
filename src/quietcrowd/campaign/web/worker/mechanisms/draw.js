// Randomization of answers into reports: no other code of the page randomizes answers.

import { drawBounded } from "./bounded.js";
import { placeOf, withNoise } from "./grid.js";
import { laplaceNoise } from "./laplace.js";
import { drawSets } from "./sets.js";
import { drawSketch } from "./sketch.js";
import { drawLabels, drawWeight, rowOf } from "./table.js";
import { uniformIntegers } from "./words.js";

const DRAWS = Object.freeze({
  "one-layer": drawFromTable,
  optimal: drawFromTable,
  "two-layer": drawTwoLayer,
  laplace: drawLaplace,
  piecewise: drawWeighed,
  duchi: drawWeighed,
  hybrid: drawWeighed,
  "subset-selection": drawFromSets,
});

/** Return the reason why a page cannot randomize with a mechanism; null if it can. */
export function whyNot({ mechanism, version, variant }) {
  const isSketch = mechanism === "matrix-factorization";
  if (version !== 1 || !(isSketch || Object.hasOwn(DRAWS, mechanism))) {
    return `this page does not know the mechanism "${mechanism}", version ${version}`;
  }
  return !isSketch || variant === "fill" || variant === "statistics"
    ? null
    : `variant "${variant}" solves for numbers that a page cannot compute to the last digit`;
}

/**
 * Randomize a worker's answers, in the order of the tasks' names, into reports or a sketch.
 *
 * Errors never contain an answer.
 * @param {{mechanism: object, channel: object, report: object}} terms  of a configuration
 * @param {string[]} tasks  names of all
 * @param {Map<string, string | number | boolean | null>} answers  by names of tasks
 * @param {WordSource} words
 * @returns {{reports: {task: string, value: number, bit?: number}[]} | {numbers: number[]}}
 */
export function draw(terms, tasks, answers, words) {
  const { mechanism, report } = terms;
  const reason = whyNot(mechanism);
  if (reason !== null) {
    throw new RangeError(`${reason}. Take the command-line device.`);
  }
  const known = new Set(tasks);
  const stranger = [...answers.keys()].find((task) => !known.has(task));
  if (stranger !== undefined) {
    throw new RangeError(`the campaign has no task ${JSON.stringify(stranger)}`);
  }
  const encode = encoder(mechanism.domain);
  const sorted = [...tasks].sort(byCodePoint);
  const codes = sorted.map((task) => encode(task, answers.get(task) ?? null));
  if (report.kind === "sketch") {
    return { numbers: drawSketch(terms, sorted, placesOf(terms, codes), words) };
  }
  const chosen = [...sorted.keys()].filter((i) => report.every_task || codes[i] !== null);
  const own = chosen.map((i) => codes[i]);
  const { values, bits } = DRAWS[mechanism.mechanism](terms, own, words);
  return {
    reports: chosen.map((place, i) => ({
      task: sorted[place],
      value: values[i],
      ...(bits && { bit: bits[i] }),
    })),
  };
}

/** Compare texts by code points, as UTF-8 does, not by UTF-16 units. */
export function byCodePoint(one, other) {
  const [points, others] = [one, other].map((text) => Array.from(text, (c) => c.codePointAt(0)));
  const place = points.findIndex((point, i) => point !== others[i]);
  return place < 0 || place >= others.length
    ? points.length - others.length
    : points[place] - others[place];
}

/** Return a function from an answer to the position of its label or its number; null stays null. */
function encoder(domain) {
  const labels = labelsOf(domain);
  return (task, answer) => {
    if (answer === null) {
      return null;
    }
    const code = labels === null ? answer : labels.indexOf(answer);
    const [low, high] = labels === null ? [domain.low, domain.high] : [0, labels.length];
    if (typeof code !== "number" || !(low <= code && code <= high)) {
      throw new RangeError(`task ${JSON.stringify(task)}: the answer is outside the domain`);
    }
    return code;
  };
}

/** Return the labels of a domain; null for an interval. */
export function labelsOf({ kind, labels, levels }) {
  return kind === "interval" ? null : (labels ?? levels);
}

/** Return the places of answers on the grid; null stays null. */
function placesOf({ mechanism, channel }, codes) {
  const labels = labelsOf(mechanism.domain);
  const number = (code) => (labels === null ? code : labels[code]);
  return codes.map((code) => (code === null ? null : placeOf(channel.grid, number(code))));
}

/** Draw a report for each label; the code of NULL is the last. */
function drawFromTable({ mechanism, channel }, codes, words) {
  const missing = labelsOf(mechanism.domain).length;
  return { values: drawLabels(codes, missing, (code) => channel.weights[code], words) };
}

/** Draw a set for each label; NULL has none. */
function drawFromSets({ channel }, codes, words) {
  return { values: drawSets(channel, codes, words) };
}

/** Draw a secret weight, a second one for NULL if that is a label, and then the reports. */
function drawTwoLayer({ mechanism }, codes, words) {
  const missing = labelsOf(mechanism.domain).length;
  const size = mechanism.null === null ? missing : missing + 1;
  const weights = new Array(missing).fill(drawWeight(mechanism, size, words));
  if (size > missing) {
    weights.push(drawWeight(mechanism, size, words));
  }
  const row = (code) => rowOf(code, size, weights[code]);
  return { values: drawLabels(codes, missing, row, words) };
}

/** Draw fillings for all places, answered or not; then noise; then the noise of the bits. */
function drawLaplace(terms, codes, words) {
  const { channel, report } = terms;
  const { noise_scale: scale, participation } = channel;
  const places = placesOf(terms, codes);
  const fillings = report.every_task ? drawFillings(terms, codes.length, words) : [];
  const filled = places.map((place, i) => place ?? fillings[i]);
  const values = withNoise(filled, laplaceNoise(scale)(codes.length, words), report.value);
  if (participation === null) {
    return { values };
  }
  const bits = places.map((place) => (place === null ? 0 : participation.grid.steps));
  const noise = laplaceNoise(participation.noise_scale)(codes.length, words);
  return { values, bits: withNoise(bits, noise, report.bit) };
}

/** Return the place that replaces a missing answer. */
export function fillingPlace({ fill, grid }) {
  return fill === "midpoint" ? grid.steps / 2 : placeOf(grid, fill);
}

function drawFillings({ mechanism, channel }, count, words) {
  const { fill, grid } = channel;
  if (fill !== "uniform") {
    return new Array(count).fill(fillingPlace(channel));
  }
  const levels = labelsOf(mechanism.domain);
  const drawn = uniformIntegers(words, levels?.length ?? grid.steps + 1, count);
  return levels === null ? drawn : drawn.map((code) => placeOf(grid, levels[code]));
}

function drawWeighed(terms, codes, words) {
  return { values: drawBounded(terms.channel, placesOf(terms, codes), words) };
}
