// Formatting of numbers.

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
