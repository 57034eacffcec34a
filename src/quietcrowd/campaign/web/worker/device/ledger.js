// Privacy loss of a worker, over all campaigns of this origin.
//
// Losses are added as the decimals that they print as: three times 0.1 is 0.3, as a worker expects.
// research/docs/theory/budgets.md proves that no more is lost.

import { exactLoss, guaranteeOf } from "../channels/index.js";
import { decimalOf, decimalUp, isNoMore, ratioOf, sumOf } from "../channels/rational.js";
import { refuseIf } from "../terms/terms.js";

const FOR_ROUNDING = 2 ** -38; // more than the error of losses computed with floats
const OF_WEIGHTS = 1000n; // rounding weights lowers the loss by at most 1/1000 of epsilon

/** Return the privacy loss of `count` reports of a campaign together: epsilon, a decimal. */
export function costOf({ mechanism, channel, report, guarantee }, count) {
  if (count === 0) {
    return 0;
  }
  const isSketch = report.kind === "sketch"; // all of them depend on the tasks' names
  const most = { answers_per_participant: count, linked: 1, tasks: count };
  const stated = isSketch ? guarantee : guaranteeOf({ channel, report, ...most });
  const { epsilon, workerEpsilon } = stated;
  if (!(workerEpsilon < Infinity)) {
    return Infinity;
  }
  const raised = (loss) => ratioOf(loss * (1 + FOR_ROUNDING));
  const one = entered(mechanism.epsilon, exactLoss(channel) ?? raised(epsilon));
  const reports = isSketch ? guarantee.tasks : count;
  const isSum = workerEpsilon >= reports * epsilon * (1 - FOR_ROUNDING);
  return decimalUp(
    isSum ? { over: BigInt(reports) * one.over, under: one.under } : raised(workerEpsilon),
  );
}

/** Return the entered epsilon if the loss of a report equals it up to rounding; else the loss. */
function entered(epsilon, loss) {
  if (typeof epsilon !== "number") {
    return loss;
  }
  const decimal = decimalOf(epsilon);
  const least = { over: decimal.over * (OF_WEIGHTS - 1n), under: decimal.under * OF_WEIGHTS };
  return isNoMore(loss, decimal) && isNoMore(least, loss) ? decimal : loss;
}

/** Return the smallest number with a decimal of at least the sum of costs. */
function totalOf(costs) {
  if (costs.includes(Infinity)) {
    return Infinity;
  }
  const zero = { over: 0n, under: 1n };
  return decimalUp(costs.map(decimalOf).reduce((sum, cost) => sumOf(sum, cost), zero));
}

/** Return the largest loss of the rounds of some entries, in a number of rounds in a row. */
export function spentInWindow(entries, count) {
  const within = (first) => entries.filter(({ round }) => round >= first && round < first + count);
  const losses = ({ round }) => totalOf(within(round).map(({ cost }) => cost));
  return Math.max(0, ...entries.map(losses));
}

/** Return the loss of all campaigns, without and with `more`, and the budget or null. */
export function spentIn(entries, ...more) {
  const costs = entries.map(({ cost = 0 }) => cost);
  const budget = entries.find(({ name }) => name === "")?.budget ?? null;
  return { spent: totalOf(costs), after: totalOf([...costs, ...more]), budget };
}

export function requireBudget(entries, cost) {
  const { spent, after, budget } = spentIn(entries, cost);
  const isAbove = budget !== null && cost > 0 && after > budget;
  refuseIf(isAbove, "refusal.budget", { budget, spent, after });
}
