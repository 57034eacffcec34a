// Logarithms of sums and of small chances, and where a condition turns.

/** Return ln of the sum of e^log, each counted as often as the second list says. */
export function logSum(logs, counts) {
  const top = logs.reduce((most, log) => Math.max(most, log));
  return top + Math.log(logs.reduce((sum, log, i) => sum + counts[i] * Math.exp(log - top), 0));
}

/** Return the two numbers between which a condition ceases to hold: doubled up to, then halved. */
export function turnOf(holds, low, high, { more = 0, limit, near }) {
  while (holds(high)) {
    [low, high] = [high, 2 * high + more];
    if (high > limit) {
      return [Infinity, Infinity];
    }
  }
  while (high - low > near(high)) {
    const middle = (low + high) / 2;
    [low, high] = holds(middle) ? [middle, high] : [low, middle];
  }
  return [low, high];
}

/**
 * Return ln of the chance that a standard normal number exceeds x.
 *
 * By an integral over e^(-t^2) in trapezia of width 1/2, which leave out a pole, and e^-39.
 */
export function logNormalTail(x) {
  if (x < -0.1) {
    return Math.log1p(-Math.exp(logNormalTail(-x)));
  }
  const half = (x * x) / 2;
  if (x < 0.1) {
    const series = 1 - half * (1 / 3 - half * (1 / 10 - half * (1 / 42 - half / 216)));
    return Math.log(0.5 - (x / Math.sqrt(2 * Math.PI)) * series);
  }
  let sum = 1 / half;
  for (let k = 1; k < 14; k += 1) {
    sum += (2 * Math.exp((-k * k) / 4)) / ((k * k) / 4 + half);
  }
  const root = Math.sqrt(half);
  const pole = x < 8 ? Math.exp(half) / Math.expm1(4 * Math.PI * root) : 0;
  return Math.log((sum * root) / (4 * Math.PI) - pole) - half;
}
