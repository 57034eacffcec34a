// Reports: one for a question, a channel and a server; drawn once and kept.

import { draw } from "../mechanisms/draw.js";
import { systemWords } from "../mechanisms/words.js";
import { canonicalJson } from "../terms/canonical.js";
import { Refusal } from "../terms/terms.js";
import { newId } from "./membership.js";

/** Return whether every task is reported, answered or not. */
export function reportsAll({ report }) {
  return report.kind === "sketch" || report.every_task;
}

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
      const first = questions.channel === null ? name : questions.first.get(name);
      open.set(first, open.get(first) ?? answers.get(name) ?? null);
    }
  }
  return open;
}

/** Draw, and return the request that is sent and what is kept under each question. */
export function drawUpload({ terms, tasks, questions, known }, answers, open) {
  const { hashes, first, channel } = questions;
  const drawn = draw(terms, [...open.keys()], open, systemWords);
  const fresh = new Map(drawn.reports?.map(({ task, ...report }) => [task, report]));
  const sent = [];
  const reports = {};
  for (const { id, name } of tasks.filter((task) => reportsAll(terms) || answers.has(task.name))) {
    const question = hashes.get(name);
    const of = channel === null ? name : first.get(name);
    const report = known.get(question) ?? fresh.get(of);
    sent.push({ report_id: newId(), task_id: id, ...report });
    reports[question] = channel === null ? null : spelled(report, terms);
  }
  const { numbers } = drawn;
  const body = numbers ? { sketch: { report_id: newId(), numbers } } : { reports: sent };
  return { upload: canonicalJson({ config_hash: terms.configHash, ...body }), reports };
}

/** Return what a server was sent through a channel, as it is sent, by the hashes of questions. */
export function knownReports(entries, { origin, channel }, terms) {
  const same = entries.filter((one) => one.origin === origin && one.channel === channel);
  const kept = channel === null ? [] : same.flatMap((one) => Object.entries(one.reports));
  return new Map(kept.map(([question, report]) => [question, coded(report, terms)]));
}

/** Return reports as people read them; a value null is NULL. */
export function readable(items, terms, tasks) {
  const names = new Map(tasks.map(({ id, name }) => [id, name]));
  const labels = labelsOf(terms);
  const { grid, participation } = terms.channel;
  const number = ({ low, step }, steps) => low + step * steps;
  return items.map(({ task_id: id, value, bit }) => ({
    task: names.get(id),
    value: labels ? (labels[value] ?? null) : number(grid, value),
    participation: bit === undefined ? null : number(participation.grid, bit),
  }));
}

function labelsOf({ mechanism: { domain }, channel }) {
  return channel.kind === "table" && (domain.labels ?? domain.levels);
}

/** Return what codes are kept as: other campaigns may have the labels in another order. */
function spellings(terms) {
  const labels = labelsOf(terms);
  return labels && [...labels.map(String), null];
}

function spelled(report, terms) {
  const all = spellings(terms);
  return all ? { ...report, value: all[report.value] } : report;
}

function coded(report, terms) {
  const all = spellings(terms);
  const value = all ? all.indexOf(report.value) : report.value;
  if (all && value < 0) {
    throw new Refusal("refusal.storage");
  }
  return { ...report, value };
}
