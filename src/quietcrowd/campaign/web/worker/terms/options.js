// Options per task: the possible answers that each task lists in its data, in order.

import { byCodePoint, labelsOf } from "./domain.js";
import { labelText } from "./names.js";

/** Return the table for a list of options; undefined without one. */
export function tableFor({ tables }, options) {
  return tables.find(({ length }) => length === options.length);
}

/** Return whether each task lists its options: different labels, as many as a table has rows. */
export function haveOptions(tasks, { mechanism: { domain }, channel }) {
  const labels = new Set(labelsOf(domain));
  const isList = (options) =>
    new Set(options).size === options.length && options.every((one) => labels.has(one));
  const fits = ({ data: { options } }) =>
    Array.isArray(options) && isList(options) && tableFor(channel, options) !== undefined;
  return !isAmongOptions(channel) || tasks.every(fits);
}

/** Return terms with the options of the tasks by their names, if tasks list them. */
export function withOptions(terms, tasks) {
  const options = new Map(tasks.map(({ name, data }) => [name, data.options]));
  return isAmongOptions(terms.channel) ? { ...terms, options } : terms;
}

/** Return the possible answers of a task in order; null if they are numbers. */
export function choicesOf({ mechanism, channel }, data) {
  return isAmongOptions(channel) ? data.options : labelsOf(mechanism.domain);
}

export function isAmongOptions({ kind }) {
  return kind === "options";
}

/** Return what a task shows, with its options sorted: their order makes no other question. */
export function inAnyOrder(data, { channel }) {
  const byLabel = (one, other) => byCodePoint(labelText(one), labelText(other));
  return isAmongOptions(channel) ? { ...data, options: [...data.options].sort(byLabel) } : data;
}
