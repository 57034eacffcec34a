// Elements of the page. External content becomes text, and nothing else.


export function byId(id) {
  return document.getElementById(id);
}

/** Set the text of an element only if it differs, so that screen readers do not repeat it. */
export function say(element, text) {
  if (element.textContent !== text) {
    element.textContent = text;
  }
}

export function make(kind, text = "", className = "") {
  const element = document.createElement(kind);
  element.textContent = text;
  if (className) {
    element.className = className;
  }
  return element;
}

/** Show a fraction as a bar with a number next to it. */
export function showShare(element, share, text) {
  const both = make("div", "", "share");
  if (share !== null) {
    const bar = byId("bar").content.firstElementChild.cloneNode(true);
    const part = Math.min(1, Math.max(0, share));
    bar.lastElementChild.setAttribute("width", String(100 * part));
    both.append(bar);
  }
  both.append(make("span", text, "number"));
  element.replaceChildren(both);
}

const DUST = 1e-12;
const LOSS_DIGITS = 4;
const MOST_DIGITS = 6;

export function count(number) {
  return number.toLocaleString("en");
}

export function percent(share) {
  return share === null ? "–" : `${(100 * share).toFixed(1)} %`;
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
export function loss(epsilon) {
  if (epsilon === null) {
    return "no limit";
  }
  if (epsilon === 0) {
    return "0";
  }
  const step = 10 ** (Math.floor(Math.log10(epsilon)) + 1 - LOSS_DIGITS);
  return short(Math.ceil((epsilon * (1 - DUST)) / step) * step, LOSS_DIGITS);
}
