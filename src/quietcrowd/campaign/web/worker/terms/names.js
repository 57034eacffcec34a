// Names of answers and reports, probabilities and distances of noise, as they are printed.

import { REACHED } from "../channels/noise.js";
import { canonicalJson } from "./canonical.js";
import { firstFrom, ratioOf } from "../channels/rational.js";

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
  const text = `${inWords(pointed(rounded(shown, 1), 1), say)} %`;
  return isLow || isHigh ? say(isLow ? "law.under" : "law.over", { share: text }) : text;
}

/** Return the smallest distance, in steps, that contains a fraction `share` of Laplace noise. */
export function distanceWithin(share, scale) {
  const beyond = (steps) => Math.exp(-(1 + steps) / scale) / (1 + Math.exp(-1 / scale));
  return firstFrom(0, Math.ceil(REACHED * scale), (steps) => 2 * beyond(steps) <= 1 - share);
}

/** Format a whole multiple of 10^-decimals. */
export function pointed(digits, decimals) {
  const text = String(digits).padStart(decimals + 1, "0");
  return decimals ? `${text.slice(0, -decimals)}.${text.slice(-decimals)}` : text;
}

/** Return a number, at least 0, in units of 10^-decimals, rounded half to even. */
function rounded(number, decimals) {
  let { over, under } = ratioOf(number);
  over *= 10n ** BigInt(Math.max(decimals, 0));
  under *= 10n ** BigInt(Math.max(-decimals, 0));
  const [below, rest] = [over / under, 2n * (over % under)];
  return rest > under || (rest === under && below % 2n) ? below + 1n : below;
}

/** Format a number with significant digits, like Python's format "g". */
export function withDigits(number, digits, say) {
  const power = Number(number.toExponential(digits - 1).split("e")[1]);
  const isPlain = power >= -4 && power < digits;
  const decimals = digits - 1 - power;
  const whole = rounded(Math.abs(number), decimals);
  const text = pointed(whole, isPlain ? decimals : digits - 1);
  const short = text.includes(".") ? text.replace(/\.?0+$/, "") : text;
  const sign = power < 0 ? "-" : "+";
  const ten = isPlain ? "" : `e${sign}${String(Math.abs(power)).padStart(2, "0")}`;
  return inWords(`${number < 0 ? "-" : ""}${short}${ten}`, say);
}

export function counted(number, say) {
  return String(number).replace(/\B(?=(\d{3})+$)/g, say("consent.thousands"));
}

/** Replace the decimal point by the language's decimal mark. */
export function inWords(text, say) {
  return text.replace(".", say("consent.decimal"));
}
