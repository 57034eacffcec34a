// Names of answers and reports, probabilities and distances of noise, as they are printed.

import { REACHED } from "../channels/noise.js";
import { canonicalJson } from "./canonical.js";
import { withDecimals } from "./numbers.js";

/** @import { Say } from "../page/messages.js" */

const LONGEST_NAME = 24;

export function labelText(label) {
  return typeof label === "string" ? label : canonicalJson(label);
}

/** Describe a report without a name by the labels that it points to. */
export function pointsTo(names, say) {
  return say(names.length ? "law.points" : "law.points.none", { labels: names.join(", ") });
}

/** Return an answer's name in one short line, without control and bidirectional characters. */
export function nameOf(label) {
  const line = labelText(label).replace(/[\s\x1c-\x1f\x85]+/g, " ").trim();
  const letters = [...line.replace(/[\p{Cc}\p{Cs}\u202a-\u202e\u2066-\u2069]/gu, "\ufffd")];
  return letters.length <= LONGEST_NAME
    ? letters.join("")
    : `${letters.slice(0, LONGEST_NAME - 1).join("")}…`;
}

/** Quote a name as Python's repr does. */
export function quoted(name) {
  const mark = name.includes("'") && !name.includes('"') ? '"' : "'";
  return mark + name.replaceAll("\\", "\\\\").replaceAll(mark, `\\${mark}`) + mark;
}

/** Format a probability in percent; as 0 or 100 only if it is exactly that. */
export function chanceOf(share, say) {
  const isLow = share > 0 && share < 0.0005;
  const isHigh = share >= 0.9995 && share < 1;
  const shown = isLow ? 0.1 : isHigh ? 99.9 : 100 * share;
  const text = `${withDecimals(shown, 1, say)} %`;
  return isLow || isHigh ? say(isLow ? "law.under" : "law.over", { share: text }) : text;
}

/** Return the smallest distance, in steps, that contains a fraction `share` of Laplace noise. */
export function distanceWithin(share, scale) {
  const beyond = (steps) => Math.exp(-(1 + steps) / scale) / (1 + Math.exp(-1 / scale));
  let [inside, enough] = [-1, Math.ceil(REACHED * scale)];
  while (enough - inside > 1) {
    const middle = Math.floor((inside + enough) / 2);
    [inside, enough] = 2 * beyond(middle) <= 1 - share ? [inside, middle] : [middle, enough];
  }
  return enough;
}
