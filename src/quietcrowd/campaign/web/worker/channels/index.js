// Devices process answers as a campaign's channel describes it. Each kind of channel is one module
// here and one in Python's mechanisms/channels/; none knows a mechanism. It has check, draw, loss
// (of one report, or one cell of a sketch) and describe, and some have exactLoss or percentages.

import { byCodePoint, encoder } from "../terms/domain.js";
import { counted } from "../terms/names.js";
import { amongOptions } from "./options.js";
import { sets } from "./sets.js";
import { sharedLosses } from "./shared_losses.js";
import { shift } from "./shift.js";
import { sketch } from "./sketch.js";
import { table } from "./table.js";
import { weights } from "./weights.js";

const CHANNELS = Object.freeze({ table, shift, weights, sets, sketch, options: amongOptions });

/** Return the reason why a page cannot randomize by a channel; null if it can. */
export function whyNot({ kind, solution }) {
  if (typeof kind !== "string" || !Object.hasOwn(CHANNELS, kind)) {
    return `this page does not know the channel kind "${kind}"`;
  }
  return solution === undefined
    ? null
    : `variant "${solution}" solves for numbers that a page cannot compute to the last digit`;
}

function kindOf(channel) {
  const reason = whyNot(channel);
  if (reason !== null) {
    throw new RangeError(`${reason}. Take the command-line device.`);
  }
  return CHANNELS[channel.kind];
}

/** Return the range of a channel's reports; throw RangeError if a server has made it up. */
export function check(channel, domain, tasks) {
  return kindOf(channel).check(channel, domain, tasks);
}

/** Randomize answers, by names of tasks, into reports or a sketch; no error contains an answer. */
export function draw(terms, tasks, answers, words) {
  const { mechanism, channel, report } = terms;
  const kind = kindOf(channel);
  const known = new Set(tasks);
  const stranger = [...answers.keys()].find((task) => !known.has(task));
  if (stranger !== undefined) {
    throw new RangeError(`the campaign has no task ${JSON.stringify(stranger)}`);
  }
  const encode = encoder(mechanism.domain, terms.options);
  const sorted = [...tasks].sort(byCodePoint);
  const codes = sorted.map((task) => encode(task, answers.get(task) ?? null));
  if (report.kind === "sketch") {
    return kind.draw(terms, codes, words, sorted);
  }
  const chosen = [...sorted.keys()].filter((i) => report.every_task || codes[i] !== null);
  const own = chosen.map((i) => codes[i]);
  const { values, bits } = kind.draw(terms, own, words, chosen.map((i) => sorted[i]));
  return {
    reports: chosen.map((place, i) => ({
      task: sorted[place],
      value: values[i],
      ...(bits && { bit: bits[i] }),
    })),
  };
}

/** Return whether every task is reported, answered or not. */
export function reportsAll({ report }) {
  return report.kind === "sketch" || report.every_task;
}

/** Return the privacy losses; all answers to a sketch may lose less, by the tasks' names. */
export function guaranteeOf(config) {
  const { answers_per_participant: answers, linked } = config;
  const isProtected = reportsAll(config);
  const tasks = isProtected ? config.tasks : null;
  const losses = lossesOf(config, tasks ?? answers);
  return { answers, tasks, linked, ...losses, delta: 0, participationProtected: isProtected };
}

function lossesOf({ channel, report, linked }, count) {
  if (!channel.per_worker) {
    const epsilon = kindOf(channel).loss(channel);
    return { epsilon, linkedEpsilon: linked * epsilon, workerEpsilon: count * epsilon };
  }
  const { cell, row } = sharedLosses(channel, report.every_task, count);
  const linkedEpsilon = linked === 1 ? cell : Math.min(row, linked * cell);
  return { epsilon: cell, linkedEpsilon, workerEpsilon: row };
}

/** Return the exact loss of one report with noise, or of one cell of a sketch; else null. */
export function exactLoss(channel) {
  return kindOf(channel).exactLoss?.(channel) ?? null;
}

export function assumptionsOf({ channel, report }, { answers, tasks }, say) {
  const kind = tasks === null ? "answers" : "tasks";
  const { per_worker: shared } = channel;
  const drawn = shared && (report.every_task ? "null" : shared.kind);
  const first = {
    ...{ table: [`words.${kind}`], sets: [`words.${kind}`], weights: [`words.${kind}`] },
    options: [`words.${kind}`],
    ...{ shift: [`noise.${kind}`], sketch: ["profile"] },
  };
  const own = shared ? [`draw.${drawn}`, `serves.${kind}`] : first[channel.kind];
  const count = tasks ?? answers;
  const values = { count, number: counted(count, say) };
  const all = [...own, kind, "unseen", "random"];
  return all.map((one) => say(`consent.assumed.${one}`, values));
}

/** Return whether one report serves all copies of a question, because its noise is independent. */
export function isSentAgain({ kind, per_worker: shared }) {
  return kind !== "sketch" && !shared;
}

export function describe(terms, say) {
  const { channel } = terms;
  const again = say(`law.${isSentAgain(channel) ? "again" : "fresh"}`);
  return [...kindOf(channel).describe(terms, say), again];
}

/** Return percentages by answer as texts with a header row; [] if reports are not few labels. */
export function percentages(terms, say) {
  return kindOf(terms.channel).percentages?.(terms, say) ?? [];
}
