// What a worker who gives all answers loses at most: epsilon, natural logarithm.

import { farthestFrom } from "./channel.js";
import { counted } from "./numbers.js";
import { twoLayerLosses } from "./shared_losses.js";
import { varianceLosses } from "./variance_losses.js";

const SKETCH_UNIT = 2 ** 24; // what 1.0 of a profile is stored as

/**
 * Return what is lost about one answer, about linked ones, and about all.
 *
 * Where reports are sketches all answers may lose less: that depends on the tasks' names.
 * @param {object} config  or of it mechanism, channel, report, answers_per_participant, linked, tasks
 */
export function guaranteeOf(config) {
  const { mechanism, report, answers_per_participant: answers, linked } = config;
  const isProtected = report.kind === "sketch" || report.every_task;
  const tasks = isProtected ? config.tasks : null;
  const losses =
    mechanism.mechanism === "sampled-variance"
      ? varianceLosses(config, answers, linked)
      : { ...lossesOf(config, tasks ?? answers), delta: 0, tail: null };
  if (losses.delta >= 1) {
    throw new RangeError("the grid is too coarse: nothing can be proved");
  }
  return { answers, tasks, linked, ...losses, participationProtected: isProtected };
}

function lossesOf(config, count) {
  const { mechanism, channel, linked } = config;
  if (mechanism.mechanism !== "two-layer") {
    const epsilon = lossOfReport(channel);
    return { epsilon, linkedEpsilon: linked * epsilon, workerEpsilon: count * epsilon };
  }
  const { cell, row } = twoLayerLosses(config, count);
  const linkedEpsilon = linked === 1 ? cell : Math.min(row, linked * cell);
  return { epsilon: cell, linkedEpsilon, workerEpsilon: row };
}

/** Return what one report loses whose noise is its own, or one cell of a sketch. */
export function lossOfReport({ kind, weights, grid, noise_scale: scale, ...channel }) {
  if (kind === "table") {
    return Math.max(...weights[0].map((_, i) => lossOfColumn(weights.map((row) => row[i]))));
  }
  if (kind === "sketch") {
    const loss = (steps) => (steps * SKETCH_UNIT) / scale;
    const moments = channel.moments_epsilon;
    const moved = moments && loss(farthestFrom(channel.centre, grid)) + moments;
    return Math.max(loss(grid.steps), moved);
  }
  const bit = channel.participation;
  const both = bit && grid.steps / 2 / scale + bit.grid.steps / bit.noise_scale;
  return Math.max(grid.steps / scale, both ?? 0);
}

function lossOfColumn(column) {
  const [least, most] = [Math.min(...column), Math.max(...column)];
  return Math.log1p((most - least) / least);
}

/** Return in sentences what has to be true for a guarantee to hold. */
export function assumptionsOf({ mechanism, report }, { answers, tasks, tail }, say) {
  const name = mechanism.mechanism;
  const kind = tasks === null ? "answers" : "tasks";
  const count = tasks ?? answers;
  const number = counted(count, say);
  const serves = () => say(`consent.assumed.serves.${kind}`, { count, number });
  const first = {
    "one-layer": () => [say(`consent.assumed.words.${kind}`)],
    laplace: () => [say(`consent.assumed.noise.${kind}`)],
    "two-layer": () => {
      const draw = mechanism.null === null ? mechanism.law : "null";
      return [say(`consent.assumed.draw.${draw}`), serves()];
    },
    "sampled-variance": () => [say(`consent.assumed.variance${tail ? ".known" : ""}`), serves()],
    "matrix-factorization": () => [say("consent.assumed.profile")],
  };
  const unseen = ["unseen", "random"].map((one) => say(`consent.assumed.${one}`));
  return [...first[name](), say(`consent.assumed.${kind}`), ...unseen];
}
