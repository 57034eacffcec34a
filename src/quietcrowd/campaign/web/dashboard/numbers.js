// Numbers as people read them.

const DUST = 1e-12;
const LOSS_DIGITS = 4;
const MOST_DIGITS = 6;

/** Return a whole number with commas. */
export function count(number) {
  return number.toLocaleString("en");
}

/** Return a share as a percentage. */
export function percent(share) {
  return share === null ? "–" : `${(100 * share).toFixed(1)} %`;
}

/** Return a number with a few significant digits. */
export function short(number, digits) {
  return number === null ? "–" : String(Number(number.toPrecision(digits)));
}

/** Return a number as exactly as its standard error allows: to the second digit of that. */
export function measured(number, error) {
  if (number === null || !error) {
    return short(number, MOST_DIGITS);
  }
  const decimals = 1 - Math.floor(Math.log10(error));
  return number.toFixed(Math.min(MOST_DIGITS, Math.max(0, decimals)));
}

/** Return a loss of privacy, rounded up: “at most” must be true. One without limit is null. */
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
