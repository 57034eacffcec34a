// What answers lose to Gaussian noise of one variance, which a worker draws for all of them.
//
// All in steps of the grid; derivation: docs/theory/sampled-variance.md. Nodes of sums and halvings
// are those of Python's privacy/sampled_variance.py, so that both sides find the same.

const MEAN_UNITS = 2 ** 42; // the mean of what is drawn
const CUT = 8; // below this variance everything counts as lost
const CROSSING = 2; // from so many pure losses on, who learns the variance knows more
const VARIANCES = 1200;
const LENGTHS = 4000;
const MOST_ALIKE = 400; // more answers make small losses no likelier
const OF_QUADRATURE = 1e-5;
const MOST_LOSS = 2 ** 60;
const NOTHING = 1e-22;

const { exp, expm1, log, log1p, sqrt } = Math;

/**
 * Return what a worker loses at most; where delta is above 0, losses that hold at that delta.
 * @param {{mechanism: object, channel: object}} terms  as described
 * @param {number} answers
 * @param {number} linked  how many of them share a fact
 */
export function varianceLosses({ mechanism, channel }, answers, linked) {
  const { step, steps } = channel.grid;
  const unit = channel.variance_unit;
  const law = { steps, rate: 1 / (unit * MEAN_UNITS), least: unit * channel.least_units };
  const ofRate = () => (mechanism.rate * (step * steps) ** 2) / (2 * -log1p(-mechanism.delta));
  const claimed = mechanism.epsilon ?? ofRate();
  const alone = lossOfOne(law);
  const counts = [1, linked, answers];
  const losses = (find) => {
    const found = new Map(Array.from(new Set(counts), (count) => [count, find(count)]));
    const [epsilon, linkedEpsilon, workerEpsilon] = counts.map((count) => found.get(count));
    return { epsilon, linkedEpsilon, workerEpsilon };
  };
  if (answers === 1 && alone <= claimed) {
    return { ...losses(() => alone), delta: 0, tail: null };
  }
  const delta = deltaOf(law, 1)(claimed);
  const together = (count) => {
    const at = deltaOf(law, count);
    return Math.max(claimed, leastLoss((loss) => at(loss) > delta, 1e-12));
  };
  const exceeded = tailExceeds(law, answers, delta);
  const most = answers === 1 ? alone : Infinity;
  const often = (count) => Math.min(most, leastLoss((loss) => exceeded(loss, count), 1e-9));
  return {
    ...losses((count) => (count === 1 ? claimed : together(count))),
    delta,
    tail: { probability: delta, ...losses(often) },
  };
}

/** Return the pure loss of one answer alone: that of Laplace noise, and what grid and units add. */
function lossOfOne({ steps, rate }) {
  const inverse = sqrt(2 * rate);
  const ofUnits = 16 / (MEAN_UNITS * sqrt(rate));
  return steps * inverse + ofUnits + inverse * exp(-5 * steps) + 1e-9;
}

const pureLoss = ({ steps, rate }, count = 1) => steps * sqrt(2 * rate * count);

/** Return the root of epsilon^2 + pure^2, and half of how far epsilon lies below it, negated. */
function rootOf(epsilon, pure) {
  const root = Math.hypot(epsilon, pure);
  return [root, -(pure * (pure / (epsilon + root))) / 2];
}

/** Return erfc(x), to a few units of its last digit. */
export function erfc(x) {
  if (x < 0) {
    return 2 - erfc(-x);
  }
  if (x < 0.5) {
    let [sum, term] = [x, x]; // the series of erf
    for (let k = 1; Math.abs(term) > 1e-18; k += 1) {
      term *= (-x * x) / k;
      sum += term / (2 * k + 1);
    }
    return 1 - (2 / sqrt(Math.PI)) * sum;
  }
  if (x > 27) {
    return 0;
  }
  let sum = 1 / (x * x); // of an integral, by trapezia of width 1/2, which leave out e^-39
  for (let k = 1; k < 14; k += 1) {
    sum += (2 * exp((-k * k) / 4)) / ((k * k) / 4 + x * x);
  }
  const near = Math.fround(x); // its square is exact
  const falls = exp(-near * near) * exp((near - x) * (near + x));
  const pole = x < 6 ? 2 / expm1(4 * Math.PI * x) : 0;
  return (falls * x * sum) / (2 * Math.PI) - pole;
}

/** Return ln of the chance that a standard normal number exceeds x. */
function logNormalTail(x) {
  if (x < 36) {
    return log(erfc(x / sqrt(2)) / 2);
  }
  const square = 1 / (x * x);
  const series = 1 - square * (1 - 3 * square * (1 - 5 * square * (1 - 7 * square)));
  return (-x * x) / 2 - log(x * sqrt(2 * Math.PI)) + log(series);
}

/** Return the delta of Gaussian noise at a distance in standard deviations, times e^factor. */
function gaussianDelta(epsilon, distance, factor = 0) {
  const [half, other] = [distance / 2, epsilon / distance];
  const more = exp(factor + logNormalTail(other - half));
  return more - exp(factor + epsilon + logNormalTail(other + half));
}

/** Return by how much it falls there: minus its derivative. */
const gaussianFall = (epsilon, distance, factor = 0) =>
  exp(factor + epsilon + logNormalTail(epsilon / distance + distance / 2));

/**
 * Return what gives the delta of an epsilon where rows differ in `count` answers.
 *
 * No delta rises with epsilon, and the bound may: the least of all smaller epsilons is taken.
 */
function deltaOf(law, count) {
  const bound = (epsilon) => deltaBound(law, epsilon, count);
  const places = [0, ...Array.from({ length: 561 }, (_, i) => 2 ** ((i - 80) / 8))];
  const bounds = places.map(bound);
  const turns = [[0, bounds[0]]];
  for (let i = 0; i + 2 < places.length; i += 1) {
    if (bounds[i] > bounds[i + 1] && bounds[i + 1] <= bounds[i + 2]) {
      let [left, right] = [places[i], places[i + 2]];
      for (let turn = 0; turn < 40; turn += 1) {
        const third = (right - left) / 3;
        if (bound(left + third) <= bound(right - third)) {
          right -= third;
        } else {
          left += third;
        }
      }
      turns.push([right, bound(right)]);
    }
  }
  return (epsilon) =>
    turns.reduce((least, [turn, at]) => (turn <= epsilon ? Math.min(least, at) : least),
      bound(epsilon));
}

function deltaBound(law, epsilon, count) {
  const { steps, rate, least } = law;
  const [root, exponent] = rootOf(epsilon, pureLoss(law, count));
  const away = steps * sqrt(count / least);
  const delta = least
    ? gaussianDelta(epsilon, away) - gaussianDelta(root, away, rate * least + exponent)
    : -expm1(exponent);
  const rounding = 1e-12 + 1e-14 * root;
  return Math.min(1, Math.max(0, delta) + ofTheGrid(law, epsilon, count) + rounding);
}

/** Return by how much sums over the grid may exceed the integrals in their place. */
function ofTheGrid({ steps, rate, least }, epsilon, count) {
  const away = steps * sqrt(count / CUT);
  const small = least < CUT ? CUT * rate * (1 - gaussianDelta(epsilon, away)) : 0;
  const each = rate / count;
  const bends = each * (0.33 * log1p(1 / (CUT * rate)) + 0.375);
  return small + bends + (0.09 * epsilon * sqrt(each)) / (steps * count);
}

/** Return the least loss found that is not exceeded, up to a relative error; or infinity. */
function leastLoss(exceeded, precision) {
  if (!exceeded(0)) {
    return 0;
  }
  let [low, high] = [0, 1];
  while (exceeded(high)) {
    [low, high] = [high, 2 * high];
    if (high > MOST_LOSS) {
      return Infinity;
    }
  }
  while (high - low > precision * high) {
    const middle = (low + high) / 2;
    [low, high] = exceeded(middle) ? [middle, high] : [low, middle];
  }
  return high;
}

/**
 * Return whether a loss is exceeded with more than a probability, where so many answers differ: by
 * who learns the variance, or by who sees the reports alone.
 */
function tailExceeds(law, answers, probability) {
  const alike = Math.min(answers, MOST_ALIKE);
  const ofReports = alike === 1 ? tailOfOneReport(law) : tailOfReports(law, alike);
  return (loss, differing) => {
    const [steps, grid] = [differing * law.steps + 1, tailOfTheGrid(law, differing)];
    const wider = { steps, rate: law.rate / differing, least: differing * law.least };
    if (Math.min(1, normalTail(wider, loss * (steps / (steps - 1))) + grid) > probability) {
      return true;
    }
    if (loss >= CROSSING * pureLoss(law, differing)) {
      return false;
    }
    const more = grid + OF_QUADRATURE;
    return differing > MOST_ALIKE || Math.min(1, ofReports(loss, differing) + more) > probability;
  };
}

/** Return the tail of a loss for one answer and who learns the variance. */
function normalTail(law, loss) {
  const [root, exponent] = rootOf(loss, pureLoss(law));
  const turn = (1 - loss / root) / 2;
  if (!law.least) {
    return -expm1(exponent) + exp(exponent) * turn;
  }
  const away = law.steps / sqrt(law.least);
  const lift = law.rate * law.least + exponent;
  const here = gaussianDelta(loss, away) + gaussianFall(loss, away);
  const falls = (loss / root) * gaussianFall(root, away, lift);
  return Math.max(0, here - ((1 - turn) * gaussianDelta(root, away, lift) + falls));
}

function tailOfTheGrid({ rate, least }, differing) {
  const small = least < CUT ? CUT * rate : 0;
  return small + ((0.121 * rate) / differing) * log1p(1 / (CUT * rate)) + 1e-12;
}

/** Return numbers in geometric order. */
function geometric(first, last, count) {
  const [start, end] = [Math.log10(first), Math.log10(last)];
  return Array.from({ length: count }, (_, i) => 10 ** (start + (i * (end - start)) / (count - 1)));
}

/** Return variances, and ln of the chance of each times its power `-answers / 2`. */
function mixtureOf({ rate, least }, answers) {
  const amounts = geometric(1e-9, 60, VARIANCES);
  const gap = log(log(amounts[1] / amounts[0]));
  const variances = amounts.map((amount) => least + amount / rate);
  const logs = amounts.map(
    (amount, i) => log(amount) - amount + gap - (answers / 2) * log(variances[i]),
  );
  return { variances, logs };
}

/** Return what gives ln of the density of noise of a squared length: a sum with one peak. */
function logDensityOf({ variances, logs }) {
  let peak = 0;
  return (square) => {
    const term = (i) => logs[i] - square / (2 * variances[i]);
    while (peak + 1 < VARIANCES && term(peak + 1) > term(peak)) {
      peak += 1;
    }
    while (peak > 0 && term(peak - 1) > term(peak)) {
      peak -= 1;
    }
    const top = term(peak);
    let sum = 1;
    for (const step of [-1, 1]) {
      let part = 1;
      for (let i = peak + step; logs[i] !== undefined && part > NOTHING; i += step) {
        part = exp(term(i) - top);
        sum += part;
      }
    }
    return top + log(sum);
  };
}

/**
 * Return what gives the tail for who sees several reports alone.
 *
 * A loss is exceeded where the noise is so long, and points so near to the other row, that from
 * there it is less likely by the factor.
 */
function tailOfReports(law, answers) {
  const density = logDensityOf(mixtureOf(law, answers));
  const shortest = (law.least + 1e-7 / law.rate) * 1e-12;
  const longest = (law.least + 60 / law.rate) * 2 * Math.max(answers, 60);
  const squares = geometric(shortest, longest, LENGTHS);
  const logSquares = squares.map(log);
  const falls = squares.map((square) => -density(square));
  const masses = logSquares.map((square, i) => (answers / 2) * square - falls[i]);
  const top = Math.max(...masses);
  const chances = masses.map((mass) => exp(mass - top));
  const all = chances.reduce((sum, chance) => sum + chance);
  return (loss, differing) => {
    const distance = law.steps * sqrt(differing);
    const halfStep = 0.5 / sqrt(differing);
    let [tail, next] = [0, 0];
    for (let i = 0; i < LENGTHS; i += 1) {
      while (falls[next + 1] <= loss + falls[i]) {
        next += 1;
      }
      if (next + 1 === LENGTHS) {
        break; // so long noise is denser from nowhere
      }
      const slope = (logSquares[next + 1] - logSquares[next]) / (falls[next + 1] - falls[next]);
      const farther = exp(slope * (loss + falls[i] - falls[next]) + logSquares[next]);
      const length = sqrt(squares[i]);
      const cosine = (farther - squares[i] - distance ** 2) / (2 * length * distance);
      tail += chances[i] * directionsBeyond(cosine - halfStep / length, answers);
    }
    return tail / all;
  };
}

/** Return the share of all directions in `size` dimensions that have at least a cosine. */
function directionsBeyond(cosine, size) {
  const along = Math.min(1, Math.abs(cosine));
  const across = 1 - along * along;
  const odd = size % 2;
  let inside = odd ? 0 : (2 / Math.PI) * Math.asin(along);
  let term = odd ? along : (2 / Math.PI) * along * sqrt(across);
  for (let i = 4 - odd; i <= size && term > NOTHING; i += 2) {
    inside += term;
    term *= (across * (i - 2)) / (i - 1);
  }
  return (1 - Math.sign(cosine) * inside) / 2;
}

/** Return what gives the tail of a worker with one answer: the loss grows with the noise. */
function tailOfOneReport(law) {
  const { steps } = law;
  const { variances, logs } = mixtureOf(law, 1);
  const density = logDensityOf({ variances, logs });
  const lost = (noise) => density(noise * noise) - density((noise + steps) ** 2);
  const weights = logs.map((log, i) => exp(log) * sqrt(variances[i]));
  const all = weights.reduce((sum, weight) => sum + weight);
  return (loss) => {
    let [low, high] = [-steps / 2, 0];
    while (lost(high) <= loss) {
      [low, high] = [high, 2 * high + steps];
      if (high > 1e3 * sqrt(variances[VARIANCES - 1])) {
        return 0;
      }
    }
    while (high - low > 1e-9 * steps) {
      const middle = (low + high) / 2;
      [low, high] = lost(middle) > loss ? [low, middle] : [middle, high];
    }
    const beyond = variances.map((variance) => erfc((low - 0.5) / sqrt(2 * variance)) / 2);
    return weights.reduce((sum, weight, i) => sum + weight * beyond[i], 0) / all;
  };
}
