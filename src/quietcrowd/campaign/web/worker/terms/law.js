// What a device does to an answer, in sentences: examples are of the first label, or the middle.

import { canonicalJson } from "./canonical.js";
import { counted, inWords, withDecimals, withDigits } from "./numbers.js";

/** @import { Say } from "../page/messages.js" */

const ALL_WEIGHTS = 2 ** 32;
const MOST_COLUMNS = 6;
const LONGEST_NAME = 24;
const VARIANCE_UNITS = 2 ** 42;
const [HALF_OF_ALL, MOST_OF_ALL] = [0.5, 0.95];

/** Return whether one report serves all copies of a question: its noise is its own. */
export function isSentAgain({ mechanism }) {
  return ["one-layer", "laplace"].includes(mechanism.mechanism);
}

/** Return a label as it is written. */
export function labelText(label) {
  return typeof label === "string" ? label : canonicalJson(label);
}

/**
 * Return how often which answer becomes which report.
 * @param {object} terms
 * @param {Say} say
 * @returns {string[]}
 */
export function lawSentences(terms, say) {
  const tell = {
    table: ofLabels,
    laplace: ofNumbers,
    "sampled-variance": ofDeviations,
    sketch: ofSums,
  };
  return [
    ...tell[terms.channel.kind](terms, say),
    say(`law.${isSentAgain(terms) ? "again" : "fresh"}`),
  ];
}

/** Return shares in percent, rows by answer, as texts with a head; [] where they are too many. */
export function lawTable(terms, say) {
  const { weights } = terms.channel;
  if (!weights || weights.length > MOST_COLUMNS) {
    return [];
  }
  const names = namesOf(terms, say);
  const shown = (row, i) => [names[i], ...row.map((weight) => shareOf(weight, say))];
  return [["", ...names], ...weights.map(shown)];
}

function namesOf({ mechanism: { domain }, channel }, say) {
  const names = [...(domain.labels ?? domain.levels).map(nameOf), say("law.null")];
  return names.slice(0, channel.weights.length);
}

/** Return a requester's name of an answer in one line, not long, and without what turns text. */
function nameOf(label) {
  const line = labelText(label).replace(/[\s\x1c-\x1f\x85]+/g, " ").trim();
  const letters = [...line.replace(/[\p{Cc}\p{Cs}\u202a-\u202e\u2066-\u2069]/gu, "\ufffd")];
  return letters.length <= LONGEST_NAME
    ? letters.join("")
    : `${letters.slice(0, LONGEST_NAME - 1).join("")}…`;
}

/** Return a name in quotation marks, as Python's repr has it. */
function quoted(name) {
  const mark = name.includes("'") && !name.includes('"') ? '"' : "'";
  const escaped = name.replaceAll("\\", "\\\\").replaceAll(mark, `\\${mark}`);
  const hidden = escaped.replace(/[\p{Cf}\p{Co}\p{Cn}]/gu, (letter) => {
    const digits = letter.codePointAt(0).toString(16);
    const [kind, size] = digits.length < 3 ? ["x", 2] : digits.length < 5 ? ["u", 4] : ["U", 8];
    return `\\${kind}${digits.padStart(size, "0")}`;
  });
  return mark + hidden + mark;
}

/** Print a chance in percent, never as 0 or 100 where it is not. */
function shareOf(weight, say) {
  const share = weight / ALL_WEIGHTS;
  if (share > 0 && share < 0.0005) {
    return say("law.under", { share: inWords("0.1 %", say) });
  }
  if (share >= 0.9995 && share < 1) {
    return say("law.over", { share: inWords("99.9 %", say) });
  }
  return `${withDecimals(100 * share, 1, say)} %`;
}

function ofLabels(terms, say) {
  const [[kept, ...others]] = terms.channel.weights;
  const name = quoted(namesOf(terms, say)[0]);
  const [least, most] = [Math.min, Math.max].map((find) => shareOf(find(...others), say));
  const range = least === most ? most : say("law.range", { least, most });
  const values = { count: others.length, name, kept: shareOf(kept, say), others: range };
  const isMean = terms.mechanism.mechanism === "two-layer";
  return [say("law.labels", values), ...(isMean ? [say("law.mean")] : [])];
}

/** Return the least distance within which a share of all Laplace noise lies, in steps. */
function distanceWithin(share, scale) {
  const beyond = (steps) => Math.exp(-(1 + steps) / scale) / (1 + Math.exp(-1 / scale));
  let [inside, enough] = [-1, Math.ceil(64 * scale)];
  while (enough - inside > 1) {
    const middle = Math.floor((inside + enough) / 2);
    [inside, enough] = 2 * beyond(middle) <= 1 - share ? [inside, middle] : [middle, enough];
  }
  return enough;
}

function ofNumbers({ channel, report }, say) {
  const { low, high, step } = channel.grid;
  const within = (share) => step * distanceWithin(share, channel.noise_scale);
  const [half, most] = [within(HALF_OF_ALL), within(MOST_OF_ALL)];
  const middle = (low + high) / 2;
  const shown = {
    ...{ half: withDigits(half, 3, say), most: withDigits(most, 3, say) },
    ...{ middle: withDigits(middle, 4, say), low: withDigits(middle - most, 4, say) },
    high: withDigits(middle + most, 4, say),
  };
  const told = [say("law.numbers", shown)];
  if (report.every_task) {
    told.push(say("law.unanswered"));
  }
  if (channel.participation !== null) {
    const { grid, noise_scale: scale } = channel.participation;
    const spread = withDigits(grid.step * distanceWithin(MOST_OF_ALL, scale), 3, say);
    told.push(say("law.bit", { spread }));
  }
  return told;
}

function ofDeviations({ channel: { grid, variance_unit: unit, least_units: least } }, say) {
  const scale = 1 / Math.sqrt(2 * (1 / (unit * VARIANCE_UNITS)));
  const variance = grid.step ** 2 * (unit * least + 2 * scale ** 2);
  return [say("law.deviation", { deviation: withDigits(Math.sqrt(variance), 3, say) })];
}

function ofSums({ channel, tasks }, say) {
  const { grid, noise_scale: scale, noise_unit: unit } = channel;
  const deviation = withDigits(Math.sqrt(2) * (scale * grid.step * unit), 3, say);
  return [say("law.sketch", { tasks: counted(tasks, say), deviation })];
}
