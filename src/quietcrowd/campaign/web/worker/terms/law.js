// The channel in sentences, with the first label or the middle as the example.

import { countOf, numbersOf } from "../mechanisms/bounded.js";
import { canonicalJson } from "./canonical.js";
import { lossOfReport } from "./guarantee.js";
import { favouredBy, isNumbered, meaningsOf } from "./meanings.js";
import { counted, withDecimals, withDigits } from "./numbers.js";

/** @import { Say } from "../page/messages.js" */

const ALL_WEIGHTS = 2 ** 32;
const MOST_COLUMNS = 6;
const SHARED_DRAWS = ["two-layer", "matrix-factorization"];
const LONGEST_NAME = 24;
const HARDLY = 0.0005; // smaller values print as "under 0.1 %"
const [HALF_OF_ALL, MOST_OF_ALL] = [0.5, 0.95];

/** Return whether one report serves all copies of a question, because its noise is independent. */
export function isSentAgain({ mechanism }) {
  return !SHARED_DRAWS.includes(mechanism.mechanism);
}

export function labelText(label) {
  return typeof label === "string" ? label : canonicalJson(label);
}

/**
 * Describe the probabilities of reports.
 * @param {object} terms
 * @param {Say} say
 * @returns {string[]}
 */
export function lawSentences(terms, say) {
  const tell = {
    table: ofLabels,
    sets: ofSets,
    laplace: ofNumbers,
    bounded: ofBounds,
    sketch: ofSums,
  };
  return [
    ...tell[terms.channel.kind](terms, say),
    say(`law.${isSentAgain(terms) ? "again" : "fresh"}`),
  ];
}

/** Return percentages by answer as texts with a header row; [] if there are too many columns. */
export function lawTable(terms, say) {
  const { weights } = terms.channel;
  if (!weights || weights[0].length > MOST_COLUMNS) {
    return [];
  }
  const names = namesOf(terms, say);
  const shown = (row, i) => [names[i], ...row.map((weight) => shareOf(weight, say))];
  return [["", ...reportsOf(terms, say)], ...weights.map(shown)];
}

function namesOf({ mechanism: { domain }, channel }, say) {
  const names = [...(domain.labels ?? domain.levels).map(nameOf), say("law.null")];
  return names.slice(0, channel.weights.length);
}

/** Return the names of reports: those of answers, or the labels that they point to. */
function reportsOf(terms, say) {
  return isNumbered(terms)
    ? meaningsOf(terms).listed.map((one) => pointsTo(favouredBy(one).map(nameOf), say))
    : namesOf(terms, say);
}

export function pointsTo(names, say) {
  return say(names.length ? "law.points" : "law.points.none", { labels: names.join(", ") });
}

/** Return an answer's name in one short line, without control and bidirectional characters. */
function nameOf(label) {
  const line = labelText(label).replace(/[\s\x1c-\x1f\x85]+/g, " ").trim();
  const letters = [...line.replace(/[\p{Cc}\p{Cs}\u202a-\u202e\u2066-\u2069]/gu, "\ufffd")];
  return letters.length <= LONGEST_NAME
    ? letters.join("")
    : `${letters.slice(0, LONGEST_NAME - 1).join("")}…`;
}

/** Quote a name as Python's repr does. */
function quoted(name) {
  const mark = name.includes("'") && !name.includes('"') ? '"' : "'";
  return mark + name.replaceAll("\\", "\\\\").replaceAll(mark, `\\${mark}`) + mark;
}

function shareOf(weight, say) {
  return chanceOf(weight / ALL_WEIGHTS, say);
}

/** Format a probability in percent; as 0 or 100 only if it is exactly that. */
function chanceOf(share, say) {
  const isLow = share > 0 && share < 0.0005;
  const isHigh = share >= 0.9995 && share < 1;
  const shown = isLow ? 0.1 : isHigh ? 99.9 : 100 * share;
  const text = `${withDecimals(shown, 1, say)} %`;
  return isLow || isHigh ? say(isLow ? "law.under" : "law.over", { share: text }) : text;
}

function ofLabels(terms, say) {
  const [row] = terms.channel.weights;
  const often = isNumbered(terms) ? row.indexOf(Math.max(...row)) : 0;
  const [kept, others] = [row[often], row.filter((_, i) => i !== often)];
  const [name, report] = [namesOf(terms, say)[0], reportsOf(terms, say)[often]].map(quoted);
  const [least, most] = [Math.min, Math.max].map((find) => shareOf(find(...others), say));
  const range = least === most ? most : say("law.range", { least, most });
  const values = { count: others.length, name, report, kept: shareOf(kept, say), others: range };
  const told = [say("law.labels", values)];
  if (terms.mechanism.mechanism === "two-layer") {
    const fewest = (others.length * terms.mechanism.other_weights[0]) / ALL_WEIGHTS;
    told.push(
      fewest < HARDLY
        ? say("law.mean")
        : say("law.mean.least", { share: chanceOf(fewest, say) }),
    );
  }
  return told;
}

function ofSets({ mechanism: { domain }, channel }, say) {
  const { labels, members, inside, outside } = channel;
  const name = quoted(nameOf((domain.labels ?? domain.levels)[0]));
  const total = members * inside + (labels - members) * outside;
  const kept = chanceOf((members * inside) / total, say);
  const others = chanceOf((members * (total - inside)) / (total * (labels - 1)), say);
  const values = { members, labels, name, kept, others };
  return [say("law.sets", values)];
}

/** Return the smallest distance, in steps, that contains a fraction `share` of Laplace noise. */
function distanceWithin(share, scale) {
  const beyond = (steps) => Math.exp(-(1 + steps) / scale) / (1 + Math.exp(-1 / scale));
  let [inside, enough] = [-1, Math.ceil(64 * scale)];
  while (enough - inside > 1) {
    const middle = Math.floor((inside + enough) / 2);
    [inside, enough] = 2 * beyond(middle) <= 1 - share ? [inside, middle] : [middle, enough];
  }
  return enough;
}

function ofNumbers({ channel: { grid, noise_scale: scale, participation: bit }, report }, say) {
  const within = (share) => grid.step * distanceWithin(share, scale);
  const [half, most] = [within(HALF_OF_ALL), within(MOST_OF_ALL)];
  const middle = (grid.low + grid.high) / 2;
  const shown = [middle, middle - most, middle + most].map((number) => withDigits(number, 4, say));
  const values = { half: withDigits(half, 3, say), most: withDigits(most, 3, say) };
  const told = [say("law.numbers", { ...values, middle: shown[0], low: shown[1], high: shown[2] })];
  if (report.every_task) {
    told.push(say("law.unanswered"));
  }
  if (bit !== null) {
    const spread = bit.grid.step * distanceWithin(MOST_OF_ALL, bit.noise_scale);
    told.push(say("law.bit", { spread: withDigits(spread, 3, say) }));
  }
  return told;
}

function ofBounds({ channel }, say) {
  const { origin, step } = numbersOf(channel);
  const last = countOf(channel.grid.steps, channel.window) - 1;
  const [low, high] = [origin, origin + step * last].map((number) => withDigits(number, 4, say));
  const deviation = withDigits(step * Math.sqrt(mostVariance(channel, last)), 3, say);
  const times = withDigits(Math.exp(lossOfReport(channel)), 3, say);
  return [say("law.bounded", { low, high, times, deviation })];
}

/** Return the largest variance of a report, in squared steps, at an end or in the middle. */
function mostVariance({ grid: { steps }, ...law }, last) {
  const powers = (from, count) => {
    const [middle, square] = [from + (count - 1) / 2 - last / 2, (count * count - 1) / 12];
    return [count * middle, count * (middle * middle + square)];
  };
  const ofPlace = (place) => {
    const parts = [
      [law.base, powers(0, last + 1)],
      [law.lift, powers(place, law.window)],
      [law.least + law.slope * (steps - place), powers(law.ends[0], 1)],
      [law.least + law.slope * place, powers(law.ends[1], 1)],
    ];
    const [mean, square] = [0, 1].map(
      (power) => parts.reduce((sum, [weight, sums]) => sum + weight * sums[power], 0) / ALL_WEIGHTS,
    );
    return square - mean * mean;
  };
  return Math.max(ofPlace(0), ofPlace(steps / 2));
}

function ofSums({ channel, tasks }, say) {
  const { grid, noise_scale: scale, noise_unit: unit } = channel;
  const deviation = withDigits(Math.sqrt(2) * (scale * grid.step * unit), 3, say);
  return [say("law.sketch", { tasks: counted(tasks, say), deviation })];
}
