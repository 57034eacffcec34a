// Reports: one for a question, a channel and a server; drawn once and kept.

import { numbersOf } from "../mechanisms/bounded.js";
import { draw } from "../mechanisms/draw.js";
import { membersOfSet, rankOfSet } from "../mechanisms/sets.js";
import { systemWords } from "../mechanisms/words.js";
import { canonicalJson } from "../terms/canonical.js";
import { reportsAll } from "../terms/guarantee.js";
import { labelText } from "../terms/law.js";
import { newId } from "./membership.js";
import { refuseIf } from "./refusing.js";

/**
 * Return what is to be drawn: answers, or null for none, by the names of tasks.
 *
 * Where one report serves all copies of a question that is the first one's, with the answer to the
 * first that has one; nothing is drawn for a question with a known report.
 */
export function toDraw({ terms, tasks, questions, known }, answers) {
  const open = new Map();
  for (const { name } of tasks) {
    if ((reportsAll(terms) || answers.has(name)) && !known.has(questions.hashes.get(name))) {
      const source = sourceOf(name, questions);
      open.set(source, open.get(source) ?? answers.get(name) ?? null);
    }
  }
  return open;
}

/** Draw; return the request that is sent, and what is kept of it under each question. */
export function drawUpload({ terms, tasks, questions, known }, answers, open) {
  const drawn = draw(terms, [...open.keys()], open, systemWords);
  const fresh = new Map(drawn.reports?.map(({ task, ...report }) => [task, report]));
  const { channel } = questions;
  const [sent, reports] = [[], {}];
  for (const { id, name } of tasks.filter((task) => reportsAll(terms) || answers.has(task.name))) {
    const question = questions.hashes.get(name);
    const report = known.get(question) ?? fresh.get(sourceOf(name, questions));
    sent.push({ report_id: newId(), task_id: id, ...report });
    reports[question] = channel === null ? null : spelled(report, terms);
  }
  const { numbers } = drawn;
  const body = numbers ? { sketch: { report_id: newId(), numbers } } : { reports: sent };
  const upload = canonicalJson({ config_hash: terms.configHash, ...body });
  return { upload, channel, reports };
}

/** Return what a server was sent through a channel, as it is sent, by the hashes of questions. */
export function knownReports(entries, origin, { channel }, terms) {
  const same = entries.filter((one) => one.origin === origin && one.channel === channel);
  const kept = channel === null ? [] : same.flatMap(({ reports }) => Object.entries(reports));
  return new Map(kept.map(([question, report]) => [question, coded(report, terms)]));
}

/** Return reports as people read them; a value null is NULL. */
export function readable(items, terms, tasks) {
  const names = new Map(tasks.map(({ id, name }) => [id, name]));
  const labels = reportLabels(terms);
  const { grid, participation, kind } = terms.channel;
  const number = ({ low, step }, steps) => low + step * steps;
  const { origin, step } = kind === "bounded" ? numbersOf(terms.channel) : {};
  const own = step === undefined ? grid : { low: origin, step };
  const ofLabel = (value) => (labels ? (labels[value] ?? null) : number(own, value));
  const shown = (value) =>
    kind === "sets" ? setLabels(value, terms).join(", ") : ofLabel(value);
  return items.map(({ task_id: id, value, bit }) => ({
    task: names.get(id),
    value: shown(value),
    participation: bit === undefined ? null : number(participation.grid, bit),
  }));
}

/** Return the task whose answer a task's report is on. */
function sourceOf(name, { channel, first }) {
  return channel === null ? name : first.get(name);
}

function reportLabels({ mechanism: { domain }, channel }) {
  return channel.kind === "table" ? (domain.labels ?? domain.levels) : null;
}

/** Return the labels of a set, as they are written. */
function setLabels(value, { mechanism: { domain }, channel }) {
  const names = domain.labels ?? domain.levels;
  const members = membersOfSet(value, channel.labels, channel.members);
  return members.map((code) => labelText(names[code]));
}

/** Return the number of a set of labels; null where it is none. */
function setValue(listed, { mechanism: { domain }, channel }) {
  const names = (domain.labels ?? domain.levels).map(labelText);
  const codes = Array.isArray(listed) ? listed.map((name) => names.indexOf(name)) : [];
  const known = new Set(codes.filter((code) => code >= 0));
  const sorted = [...known].sort((a, b) => a - b);
  const isSet = sorted.length === channel.members && codes.length === channel.members;
  return isSet ? rankOfSet(sorted, channel.labels) : null;
}

/** Return a report by its label: other campaigns may have the labels in another order. */
function spelled(report, terms) {
  if (terms.channel.kind === "sets") {
    return { ...report, value: setLabels(report.value, terms) };
  }
  const label = reportLabels(terms)?.map(String)[report.value];
  return reportLabels(terms) ? { ...report, value: label ?? null } : report;
}

function coded(report, terms) {
  if (terms.channel.kind === "sets") {
    const value = setValue(report.value, terms);
    refuseIf(value === null, "refusal.storage");
    return { ...report, value };
  }
  const labels = reportLabels(terms)?.map(String);
  const value = labels ? [...labels, null].indexOf(report.value) : report.value;
  refuseIf(labels && value < 0, "refusal.storage");
  return { ...report, value };
}
