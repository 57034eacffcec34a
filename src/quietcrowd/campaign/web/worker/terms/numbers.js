// Formatting of numbers: rounded as in Python, written as in the language.

import { ratioOf } from "../channels/rational.js";

/** @import { Say } from "../page/messages.js" */

/** Format a whole multiple of 10^-decimals. @param {bigint} digits */
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

/** Format a number with a fixed number of decimals. @param {Say} say */
export function withDecimals(number, decimals, say) {
  return inWords(pointed(rounded(number, decimals), decimals), say);
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
