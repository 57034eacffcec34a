// Meanings of reports, independent of the order of labels: see Python's report_meanings.py.

import { membersOfSet, rankOfSet } from "../channels/sets.js";
import { fillingPlace } from "../channels/shift.js";
import { byCodePoint, labelsOf } from "./domain.js";
import { isAmongOptions } from "./options.js";

/** Return whether reports are numbers of columns, without names. */
export function isNumbered({ numbered }) {
  return numbered === true;
}

/**
 * Return functions from a report's value to its meaning and back; null for no meaning. A meaning is
 * a label, null for NULL, the labels of a set, or a place on the grid. If reports have no names, it
 * pairs each label with a whole number: the likelihood of the report given this answer.
 */
export function meaningsOf({ mechanism, channel }) {
  const labels = labelsOf(mechanism.domain);
  if (channel.kind === "table") {
    const names = [...labels, null].slice(0, channel.weights[0].length);
    const listed = isNumbered(channel) ? likelihoods(labels, channel.weights) : names;
    const texts = listed.map((meaning) => JSON.stringify(meaning));
    const places = new Map(texts.map((text) => [text, texts.indexOf(text)]));
    const valueOf = (meaning) => places.get(JSON.stringify(meaning)) ?? null;
    return { listed, meaningOf: (value) => listed[value], valueOf };
  }
  if (channel.kind === "sets") {
    const members = (value) => membersOfSet(value, channel.labels, channel.members);
    const meaningOf = (value) => inOrder(members(value).map((code) => labels[code]));
    return { meaningOf, valueOf: (meaning) => setOf(meaning, labels, channel) };
  }
  const valueOf = (meaning) => (Number.isSafeInteger(meaning) ? meaning : null);
  return { meaningOf: (value) => value, valueOf };
}

/** Return the labels that a report without a name points to; none if it is uninformative. */
export function favouredBy(likelihood) {
  const weights = likelihood.map(([, weight]) => weight);
  const middle = Math.min(...weights) + Math.max(...weights);
  return likelihood.filter(([, weight]) => 2 * weight > middle).map(([label]) => label);
}

/** Return what identifies a channel, for mechanisms with independent reports. */
export function channelIdentity(terms) {
  const { mechanism, channel, report } = terms;
  const labels = labelsOf(mechanism.domain);
  const answers = labels === null ? mechanism.domain : inOrder(labels);
  const isPlace = ![null, "uniform"].includes(channel.fill);
  const fill = channel.kind === "shift" && isPlace && { fill: fillingPlace(channel) };
  const own = isAmongOptions(channel) ? { kind: channel.kind } : { answers, ...channel, ...fill };
  const law = channel.kind === "table" ? tableLaw(terms) : own;
  return { law, every_task: report.every_task, shared: null };
}

/** Return a table with sorted answers, and one column per meaning, also sorted. */
function tableLaw({ mechanism, channel }) {
  const { kind, weights } = channel;
  const { listed, valueOf } = meaningsOf({ mechanism, channel });
  const given = [...labelsOf(mechanism.domain), null].slice(0, weights.length);
  const firsts = listed.map(valueOf); // the same for reports with the same meaning
  const reports = inOrder(listed.filter((_, value) => firsts[value] === value));
  const answers = inOrder(given);
  const summed = (row, first) =>
    row.reduce((sum, weight, value) => (firsts[value] === first ? sum + weight : sum), 0);
  const rows = answers.map((answer) => {
    const row = weights[given.indexOf(answer)];
    return reports.map((meaning) => summed(row, valueOf(meaning)));
  });
  return { kind, answers, reports, weights: rows };
}

/** Return the likelihoods of each column: whole numbers without a common divisor. */
function likelihoods(labels, weights) {
  const names = inOrder(labels);
  const rows = names.map((name) => weights[labels.indexOf(name)]);
  return rows[0].map((_, column) => {
    const divisor = rows.reduce((common, row) => commonDivisor(common, row[column]), 0) || 1;
    return names.map((name, i) => [name, rows[i][column] / divisor]);
  });
}

function commonDivisor(one, other) {
  return other === 0 ? one : commonDivisor(other, one % other);
}

function setOf(listed, labels, { members }) {
  const codes = Array.isArray(listed) ? listed.map((label) => labels.indexOf(label)) : [];
  const sorted = [...new Set(codes)].sort((a, b) => a - b);
  const isSet = sorted.length === members && codes.length === members && sorted[0] >= 0;
  return isSet ? rankOfSet(sorted, labels.length) : null;
}

/** Sort labels or likelihoods; NULL is last. */
function inOrder(meanings) {
  return [...meanings].sort(compareMeanings);
}

function compareMeanings(one, other) {
  if (one === null || other === null) {
    return (one === null) - (other === null);
  }
  if (Array.isArray(one)) {
    const place = one.findIndex(([, weight], i) => weight !== other[i][1]);
    return place < 0 ? 0 : one[place][1] - other[place][1];
  }
  return typeof one === "string" ? byCodePoint(one, other) : one - other;
}
