// Reports: one per question, channel and requester at a server, drawn once and stored.

import { draw, reportsAll } from "../channels/index.js";
import { systemWords } from "../channels/random.js";
import { numbersOf } from "../channels/weights.js";
import { canonicalJson } from "../terms/canonical.js";
import { favouredBy, isNumbered, meaningsOf } from "../terms/meanings.js";
import { labelText } from "../terms/names.js";
import { isAmongOptions, withOptions } from "../terms/options.js";
import { newId } from "./membership.js";
import { refuseIf } from "../terms/terms.js";

/**
 * Return the answers to randomize by task name, null for none. If one report serves all copies of a
 * question, it is that of the first copy, with the first given answer. A question with a known
 * report gets no new one.
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

/** Draw reports; return the request to send, and the stored report of each question. */
export function drawUpload({ terms, tasks, questions, known, round = null }, answers, open) {
  const drawn = draw(withOptions(terms, tasks), [...open.keys()], open, systemWords);
  const fresh = new Map(drawn.reports?.map(({ task, ...report }) => [task, report]));
  const { channel } = questions;
  const { meaningOf } = meaningsOf(terms);
  const [sent, reports] = [[], {}];
  for (const { id, name } of tasks.filter((task) => reportsAll(terms) || answers.has(task.name))) {
    const question = questions.hashes.get(name);
    const report = known.get(question) ?? fresh.get(sourceOf(name, questions));
    const isCopy = channel !== null && (known.has(question) || Object.hasOwn(reports, question));
    // Without an id of the requester, the server is older, and does not know the member `again`.
    const mark = isCopy && terms.requesterId !== null && { again: true };
    sent.push({ report_id: newId(), task_id: id, ...report, ...mark });
    reports[question] = channel && { ...report, value: meaningOf(report.value) };
  }
  const { numbers } = drawn;
  const body = numbers ? { sketch: { report_id: newId(), numbers } } : { reports: sent };
  const member = round !== null && { round };
  const upload = canonicalJson({ config_hash: terms.configHash, ...body, ...member });
  return { upload, channel, reports };
}

/** Return reports sent to this requester, server and channel before, by question hash. */
export function knownReports(entries, origin, { channel }, terms) {
  const { requesterId } = terms;
  const wanted = channel === null || requesterId === null ? [] : [origin, requesterId, channel];
  const same = entries.filter((one) =>
    [one.origin, one.requester, one.channel].every((member, i) => member === wanted[i]),
  );
  const kept = wanted.length === 0 ? [] : same.flatMap(({ reports }) => Object.entries(reports));
  const { valueOf } = meaningsOf(terms);
  const coded = (report) => ({ ...report, value: valueOf(report.value) });
  const known = kept.map(([question, report]) => [question, coded(report)]);
  refuseIf(known.some(([, { value }]) => value === null), "refusal.storage");
  return new Map(known);
}

/** Return reports in readable form; a list has the labels to which one without a name points. */
export function readable(items, terms, tasks) {
  const asked = new Map(tasks.map((task) => [task.id, task]));
  const { grid, participation, kind } = terms.channel;
  const { meaningOf } = meaningsOf(terms);
  const number = ({ low, step }, steps) => low + step * steps;
  const { origin, step } = kind === "weights" ? numbersOf(terms.channel) : {};
  const own = step === undefined ? grid : { low: origin, step };
  const table = isNumbered(terms.channel) ? favouredBy : (label) => label;
  const sets = (labels) => labels.map(labelText).join(", ");
  const shown = { table, sets }[kind] ?? ((place) => number(own, place));
  const option = (id, value) => asked.get(id).data.options[value];
  return items.map(({ task_id: id, value, bit }) => ({
    task: asked.get(id).name,
    value: isAmongOptions(terms.channel) ? option(id, value) : shown(meaningOf(value)),
    participation: bit === undefined ? null : number(participation.grid, bit),
  }));
}

/** Return the task whose answer determines a task's report. */
function sourceOf(name, { channel, first }) {
  return channel === null ? name : first.get(name);
}

const LONGEST_CODE = 100;

/** Return the receipt in a response; throw Refusal if it is inconsistent. */
export function checkedReceipt(said, upload) {
  const { reports, sketch } = JSON.parse(upload);
  const { accepted, duplicates, rejected, completion_code: code = null } = said;
  const ids = new Set((reports ?? [sketch]).map((one) => one.report_id));
  const addsUp =
    [accepted, duplicates].every((count) => Number.isSafeInteger(count) && count >= 0) &&
    Array.isArray(rejected) &&
    rejected.every((one) => ids.delete(one?.report_id)) &&
    accepted + duplicates === ids.size &&
    (code === null || (typeof code === "string" && code.length <= LONGEST_CODE));
  refuseIf(!addsUp, "refusal.receipt");
  return { rejected: rejected.length, completionCode: code };
}
