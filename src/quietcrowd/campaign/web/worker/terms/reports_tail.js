// How often reports with noise of one variance lose more than so much, to who sees them alone.
//
// It counts where delta is about a tenth or more; else who learns the variance besides knows more.

import { logNormalTail, logSum, turnOf } from "./numerics.js";

/**
 * Return what gives the tail of a loss, where so many of the answers differ.
 * @param {{steps: number, rate: number, least: number}} law  of the variance
 * @param {number} answers
 */
export function tailOfReports({ steps, rate, least }, answers) {
  const amounts = geometric(1e-9, 60, 1200);
  const counts = amounts.map((amount) => amount * Math.exp(-amount));
  const variances = amounts.map((amount) => least + amount / rate);
  const powers = variances.map((variance) => (-answers / 2) * Math.log(variance));
  const density = (square) =>
    logSum(powers.map((power, i) => power - square / (2 * variances[i])), counts);
  if (answers === 1) {
    return tailOfOne(steps, variances, counts, density);
  }
  const shortest = (least + 1e-7 / rate) * 1e-12;
  const longest = (least + 60 / rate) * 2 * Math.max(answers, 60);
  return tailOfMany(steps, answers, geometric(shortest, longest, 4000), density);
}

/** Return numbers in geometric order. */
function geometric(first, last, count) {
  const gap = Math.log(last / first) / (count - 1);
  return Array.from({ length: count }, (_, i) => first * Math.exp(i * gap));
}

/** Of one report: the loss grows with its noise. */
function tailOfOne(steps, variances, counts, density) {
  const all = counts.reduce((sum, count) => sum + count);
  const limit = 1e3 * Math.sqrt(variances[variances.length - 1]);
  const options = { more: steps, limit, near: () => 1e-9 * steps };
  return (loss) => {
    const within = (noise) => density(noise ** 2) - density((noise + steps) ** 2) <= loss;
    const [least] = turnOf(within, -steps / 2, 0, options);
    const beyond = (variance) => Math.exp(logNormalTail((least - 0.5) / Math.sqrt(variance)));
    return counts.reduce((sum, count, i) => sum + count * beyond(variances[i]), 0) / all;
  };
}

/**
 * Of several: a loss is exceeded where the noise is so long, by its square, and points so near to
 * the other row, that from there it is less likely by the factor.
 */
function tailOfMany(steps, answers, squares, density) {
  const logs = squares.map(Math.log);
  const falls = squares.map((square) => -density(square));
  const masses = logs.map((log, i) => (answers / 2) * log - falls[i]);
  const all = logSum(masses, masses.map(() => 1));
  return (loss, differing) => {
    const distance = steps * Math.sqrt(differing);
    let next = 1;
    return squares.reduce((tail, square, i) => {
      const fallen = loss + falls[i];
      while (falls[next] <= fallen) {
        next += 1;
      }
      const slope = (logs[next] - logs[next - 1]) / (falls[next] - falls[next - 1]);
      const farther = Math.exp(slope * (fallen - falls[next - 1]) + logs[next - 1]); // or NaN: none
      const ahead = (farther - square - distance ** 2) / (2 * distance);
      const cosine = (ahead - 0.5 / Math.sqrt(differing)) / Math.sqrt(square);
      return tail + Math.exp(masses[i] - all) * (directionsBeyond(cosine, answers) || 0);
    }, 0);
  };
}

/** Return the share of all directions in so many dimensions that have at least a cosine. */
function directionsBeyond(cosine, dimensions) {
  const along = Math.min(1, Math.abs(cosine));
  const across = 1 - along * along;
  const odd = dimensions % 2;
  let inside = odd ? 0 : (2 / Math.PI) * Math.asin(along);
  let term = odd ? along : (2 / Math.PI) * along * Math.sqrt(across);
  for (let i = 4 - odd; i <= dimensions && term > 1e-20; i += 2) {
    inside += term;
    term *= (across * (i - 2)) / (i - 1);
  }
  return (1 - Math.sign(cosine) * inside) / 2;
}
