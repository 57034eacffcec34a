// What answers lose to Gaussian noise of one variance, which a worker draws for all of them.
//
// In steps of the grid; docs/theory/sampled-variance.md says why. Nodes of sums and halvings are as
// in Python's privacy/sampled_variance.py, so that both sides find the same.

import { logNormalTail, turnOf } from "./numerics.js";
import { tailOfReports } from "./reports_tail.js";

const { exp, expm1, hypot, log1p, max, min, sqrt } = Math;

const LOST_VARIANCE = 8; // below it everything counts as lost
const MOST_ALIKE = 400; // more answers make small losses no likelier

/**
 * Return what a worker loses at most: a pure loss, or losses that hold at a delta, and a tail.
 * @param {{mechanism: object, channel: object}} terms  as described
 * @param {number} answers
 * @param {number} linked  how many of them share a fact
 */
export function varianceLosses({ mechanism, channel }, answers, linked) {
  const { step, steps } = channel.grid;
  const unit = channel.variance_unit;
  const rate = 1 / (unit * 2 ** 42);
  const law = { steps, rate, least: unit * channel.least_units };
  const ofRate = () => (mechanism.rate * (step * steps) ** 2) / (-2 * log1p(-mechanism.delta));
  const claimed = mechanism.epsilon ?? ofRate();
  const inverse = sqrt(2 * rate); // of the scale of Laplace noise, which one report alone has
  const ofGrid = 16 / (2 ** 42 * sqrt(rate)) + inverse * exp(-5 * steps) + 1e-9;
  const alone = steps * inverse + ofGrid;
  const losses = (find, found = {}) => {
    const of = (differing) => (found[differing] ??= find(differing));
    return { epsilon: of(1), linkedEpsilon: of(linked), workerEpsilon: of(answers) };
  };
  if (answers === 1 && alone <= claimed) {
    return { ...losses(() => alone), delta: 0, tail: null };
  }
  const delta = deltaOf(law, 1)(claimed);
  const together = (differing) => {
    const at = deltaOf(law, differing);
    return max(claimed, leastLoss((loss) => at(loss) > delta, 1e-12));
  };
  const exceeds = tailOf(law, answers, delta);
  const rare = (differing) => leastLoss((loss) => exceeds(loss, differing), 1e-9);
  const most = answers === 1 ? alone : Infinity;
  return {
    ...losses((differing) => (differing === 1 ? claimed : together(differing))),
    delta,
    tail: { probability: delta, ...losses((differing) => min(most, rare(differing))) },
  };
}

/** Return the least loss found that is not exceeded, up to a relative error; or infinity. */
function leastLoss(exceeded, error) {
  const near = (loss) => error * loss;
  return exceeded(0) ? turnOf(exceeded, 0, 1, { limit: 2 ** 60, near })[1] : 0;
}

/**
 * Return the delta of Gaussian noise at an epsilon, and how fast it falls there, times e^factor.
 * @param {number} distance  to be hidden, in standard deviations
 */
function gaussianDelta(epsilon, distance, factor = 0) {
  const [half, other] = [distance / 2, epsilon / distance];
  const fall = exp(factor + epsilon + logNormalTail(other + half));
  return [exp(factor + logNormalTail(other - half)) - fall, fall];
}

/** Return the mean of that over all variances, where so many answers differ. */
function meanDelta({ steps, rate, least }, epsilon, differing) {
  const pure = steps * sqrt(2 * rate * differing);
  const root = hypot(epsilon, pure);
  const exponent = -(pure * (pure / (epsilon + root))) / 2;
  const share = (1 - epsilon / root) / 2;
  if (!least) {
    return [-expm1(exponent), exp(exponent) * share];
  }
  const away = steps * sqrt(differing / least);
  const [here, fall] = gaussianDelta(epsilon, away);
  const [later, laterFall] = gaussianDelta(root, away, rate * least + exponent);
  return [here - later, fall + share * later - (epsilon / root) * laterFall];
}

/**
 * Return what gives a bound on the delta of an epsilon, where so many answers differ.
 *
 * No delta rises with epsilon, and what the grid adds does: beyond its place the least bound holds.
 */
function deltaOf(law, differing) {
  const { steps, rate, least } = law;
  const each = rate / differing;
  const bends = each * (0.33 * log1p(1 / (LOST_VARIANCE * rate)) + 0.375);
  const bound = (epsilon) => {
    const [kept] = gaussianDelta(epsilon, steps * sqrt(differing / LOST_VARIANCE));
    const small = least < LOST_VARIANCE ? LOST_VARIANCE * rate * (1 - kept) : 0;
    const grid = small + bends + (0.09 * epsilon * sqrt(each)) / (steps * differing);
    const rounding = 1e-12 + 1e-14 * hypot(epsilon, steps * sqrt(2 * rate * differing));
    return max(0, meanDelta(law, epsilon, differing)[0]) + grid + rounding;
  };
  let [left, right] = [-10, 60]; // powers of two
  while (right - left > 1e-7) {
    const places = Array.from({ length: 141 }, (_, i) => left + (i / 140) * (right - left));
    const bounds = places.map((place) => bound(2 ** place));
    const lowest = bounds.indexOf(min(...bounds));
    [left, right] = [places[max(lowest - 1, 0)], places[min(lowest + 1, 140)]];
  }
  return (epsilon) => bound(min(epsilon, 2 ** right));
}

/**
 * Return whether a loss is exceeded with more than a probability, where so many answers differ: by
 * who learns the variance, or by who sees the reports alone.
 */
function tailOf(law, answers, probability) {
  const { steps, rate, least } = law;
  let ofReports;
  return (loss, differing) => {
    const small = least < LOST_VARIANCE ? LOST_VARIANCE * rate : 0;
    const bends = ((0.121 * rate) / differing) * log1p(1 / (LOST_VARIANCE * rate));
    const grid = small + bends + 1e-12;
    const wider = differing * steps + 1; // by half a step at both ends
    const sum = { steps: wider, rate: rate / differing, least: differing * least };
    const [delta, fall] = meanDelta(sum, loss * (wider / (wider - 1)), 1);
    if (max(0, delta + fall) + grid > probability) {
      return true;
    }
    if (loss >= 2 * steps * sqrt(2 * rate * differing)) {
      return false; // who learns the variance knows more
    }
    ofReports ??= tailOfReports(law, min(answers, MOST_ALIKE));
    return differing > MOST_ALIKE || ofReports(loss, differing) + grid + 1e-5 > probability;
  };
}
