// Domains of answers.

import { must } from "../channels/reading.js";

/** Return a domain without unknown members. @throws {RangeError}  if it is invalid */
export function checkedDomain({ kind, labels, levels, low, high }) {
  const domains = { interval: { low, high }, ordinal: { levels }, categorical: { labels } };
  must(typeof kind === "string" && Object.hasOwn(domains, kind));
  const list = listOf(domains[kind]);
  must(Array.isArray(list) && new Set(list).size === list.length);
  const types = kind === "categorical" ? ["string", "boolean", "number"] : ["number"];
  must(types.some((type) => list.every((one) => typeof one === type)));
  must(kind === "categorical" || list.every((one, i) => i === 0 || one > list[i - 1]));
  return { kind, ...domains[kind] };
}

function listOf({ labels, levels, low, high }) {
  return labels ?? levels ?? [low, high];
}

/** Return the labels of a domain; null for an interval. */
export function labelsOf({ kind, labels, levels }) {
  return kind === "interval" ? null : (labels ?? levels);
}

/** Return the lowest and the highest number of a domain; NaN if it has no numbers. */
export function boundsOf({ kind, ...domain }) {
  const list = listOf(domain);
  return kind === "categorical" ? [NaN, NaN] : [list[0], list[list.length - 1]];
}

/**
 * Return a function from an answer to the position of its label, or to its number; null stays null.
 * `options` contains the labels of each task if tasks list their own.
 */
export function encoder(domain, options) {
  const all = labelsOf(domain);
  return (task, answer) => {
    if (answer === null) {
      return null;
    }
    const labels = options?.get(task) ?? all;
    const code = labels === null ? answer : labels.indexOf(answer);
    const [low, high] = labels === null ? [domain.low, domain.high] : [0, labels.length];
    if (typeof code !== "number" || !(low <= code && code <= high)) {
      throw new RangeError(`task ${JSON.stringify(task)}: the answer is outside the domain`);
    }
    return code;
  };
}

/** Compare texts by code points, as UTF-8 does, not by UTF-16 units. */
export function byCodePoint(one, other) {
  const [points, others] = [one, other].map((text) => Array.from(text, (c) => c.codePointAt(0)));
  const place = points.findIndex((point, i) => point !== others[i]);
  return place < 0 || place >= others.length
    ? points.length - others.length
    : points[place] - others[place];
}
