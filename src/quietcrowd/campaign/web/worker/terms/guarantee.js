// The maximum privacy loss of a worker who gives all answers: epsilon, with natural logarithms.

import { isNoMore, leastMeant, nearestFloat, ratioOf } from "../mechanisms/rational.js";
import { farthestFrom } from "./channel.js";
import { counted } from "./numbers.js";
import { twoLayerLosses } from "./shared_losses.js";

const SKETCH_UNIT = 2 ** 24; // represents 1.0 in a profile

/** Return whether every task is reported, answered or not. */
export function reportsAll({ report }) {
  return report.kind === "sketch" || report.every_task;
}

/**
 * Return the privacy loss of one answer, of linked answers, and of all answers.
 *
 * For sketches, all answers may have a smaller loss, which depends on the tasks' names.
 * @param {object} config  at least its mechanism, channel, report, and the three counts
 */
export function guaranteeOf(config) {
  const { answers_per_participant: answers, linked } = config;
  const isProtected = reportsAll(config);
  const tasks = isProtected ? config.tasks : null;
  const losses = lossesOf(config, tasks ?? answers);
  return { answers, tasks, linked, ...losses, delta: 0, participationProtected: isProtected };
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

/** Return the privacy loss of one report with independent noise, or of one cell of a sketch. */
export function lossOfReport(channel) {
  const { kind, weights, grid } = channel;
  if (kind === "table") {
    const columns = weights[0].map((_, i) => weights.map((row) => row[i]));
    const [least, most] = [Math.min, Math.max].map((find) => columns.map((one) => find(...one)));
    return Math.max(...least.map((weight, i) => Math.log1p((most[i] - weight) / weight)));
  }
  if (kind === "bounded") {
    const { base, lift, least, slope } = channel;
    const [ofWindow, ofEnds] = [lift ? lift / base : 0, slope ? (slope * grid.steps) / least : 0];
    return Math.log1p(Math.max(ofWindow, ofEnds));
  }
  if (kind === "sets") {
    return Math.log1p((channel.inside - channel.outside) / channel.outside);
  }
  const { over, under } = exactLoss(channel);
  return nearestFloat(over, under);
}

/** Return the exact loss of a report with Laplace noise, or of one cell of a sketch; else null. */
export function exactLoss(channel) {
  const { kind, grid, noise_scale: scale, centre, participation: bit } = channel;
  if (scale === undefined) {
    return null;
  }
  const unit = kind === "sketch" ? SKETCH_UNIT : 1;
  const loss = (steps, of = scale) => {
    const { over, under } = ratioOf(of);
    return { over: BigInt(steps) * under, under: over };
  };
  const sum = (one, more) => ({
    over: one.over * more.under + more.over * one.under,
    under: one.under * more.under,
  });
  const losses = [loss(grid.steps * unit)];
  if (bit) {
    losses.push(sum(loss(grid.steps / 2), loss(bit.grid.steps, bit.noise_scale)));
  }
  if (channel.moments_epsilon) {
    const moved = loss(farthestFrom(centre, grid) * unit);
    losses.push(sum(moved, leastMeant(channel.moments_epsilon)));
  }
  return losses.reduce((most, one) => (isNoMore(one, most) ? most : one));
}

export function assumptionsOf(mechanism, { answers, tasks }, say) {
  const kind = tasks === null ? "answers" : "tasks";
  const serves = `serves.${kind}`;
  const first = {
    "one-layer": [`words.${kind}`],
    optimal: [`words.${kind}`],
    "subset-selection": [`words.${kind}`],
    laplace: [`noise.${kind}`],
    piecewise: [`words.${kind}`],
    duchi: [`words.${kind}`],
    hybrid: [`words.${kind}`],
    "two-layer": [`draw.${mechanism.null ? "null" : mechanism.law}`, serves],
    "matrix-factorization": ["profile"],
  };
  const count = tasks ?? answers;
  const values = { count, number: counted(count, say) };
  const all = [...first[mechanism.mechanism], kind, "unseen", "random"];
  return all.map((one) => say(`consent.assumed.${one}`, values));
}
