// Numbers and texts as the page shows them.

import { byId, element } from "./elements.js";

const DUST = 1e-12;
const MOST_DIGITS = 6;

/** Set the text of an element only if it differs, so that screen readers do not repeat it. */
export function say(one, text) {
  const shown = unbroken(text ?? "");
  if (one.textContent !== shown) {
    one.textContent = shown;
  }
}

/** Return a text in which no line ends before a percent sign, or next to an equals sign. */
export function unbroken(text) {
  return text.replaceAll(" %", "\u00a0%").replaceAll(" = ", "\u00a0=\u00a0");
}

/** Show a fraction as a bar with a number next to it. */
export function showShare(cell, share, text) {
  const both = element("div", { class: "share" });
  if (share !== null) {
    const bar = byId("bar").content.firstElementChild.cloneNode(true);
    bar.lastElementChild.setAttribute("width", String(100 * Math.min(1, Math.max(0, share))));
    both.append(bar);
  }
  both.append(element("span", { class: "number" }, text));
  cell.replaceChildren(both);
}

/** Return a row of a table: a heading and cells, which are texts or elements. */
export function tableRow(head, cells, kind = "numeric") {
  const heading = element("th", { scope: "row", dir: "auto" }, ...[head].flat());
  return element("tr", {}, heading, ...cells.map((cell) => element("td", { class: kind, dir: "auto" }, cell)));
}

export function count(number) {
  return number.toLocaleString("en");
}

/** Return a number and a noun, in the plural unless it is one. */
export function counted(number, noun) {
  return `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
}

export function countedPeople(number) {
  return number === 1 ? "1 person" : `${count(number)} people`;
}

export function percent(share, digits = 1) {
  return share === null ? "–" : `${(100 * share).toFixed(digits).replace("-", "−")} %`;
}

/** Format a number with a few significant digits. */
export function short(number, digits) {
  return number === null ? "–" : String(Number(number.toPrecision(digits)));
}

/** Format a number to the second digit of its standard error. */
export function measured(number, error) {
  if (number === null || !error) {
    return short(number, MOST_DIGITS);
  }
  const decimals = 1 - Math.floor(Math.log10(error));
  return number.toFixed(Math.min(MOST_DIGITS, Math.max(0, decimals)));
}

/** Format a privacy loss, rounded up so that “at most” is true; null is unlimited. */
export function loss(epsilon, digits = 3) {
  if (!epsilon) {
    return epsilon === null ? "no limit" : "0";
  }
  const step = 10 ** (Math.floor(Math.log10(epsilon)) + 1 - digits);
  return short(Math.ceil((epsilon * (1 - DUST)) / step) * step, digits);
}

/** Return a text with a capital and a full stop. */
export function sentence(text) {
  const all = text.trim().replaceAll(/(\d)%/g, "$1 %");
  return all && `${all[0].toUpperCase()}${all.slice(1)}${/[.!?]$/.test(all) ? "" : "."}`;
}
