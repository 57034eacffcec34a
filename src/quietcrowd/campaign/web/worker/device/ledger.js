// What was spent of a worker's privacy, over all campaigns of this origin.

import { guaranteeOf } from "../terms/guarantee.js";
import { Refusal } from "../terms/terms.js";

/** Return what so many reports, drawn for a campaign, lose at most all together: epsilon. */
export function costOf(terms, count) {
  if (count === 0 || terms.report.kind === "sketch") {
    return count && (terms.guarantee.workerEpsilon ?? Infinity); // it depends on the tasks
  }
  const { mechanism, channel, report, linked } = terms;
  const most = { answers_per_participant: count, linked: Math.min(linked, count), tasks: count };
  return guaranteeOf({ mechanism, channel, report, ...most }).workerEpsilon ?? Infinity;
}

/** Return the sum over all campaigns. */
export function spentIn(entries) {
  return entries.reduce((sum, { cost = 0 }) => sum + cost, 0);
}

/** Raise Refusal where a cost would take the device above its budget; null: no limit. */
export function requireBudget({ entries, budget }, cost) {
  const spent = spentIn(entries);
  if (budget !== null && cost && spent + cost > budget) {
    const [now, after] = [spent, spent + cost].map((epsilon) => epsilon.toFixed(2));
    throw new Refusal("refusal.budget", { budget, spent: now, after });
  }
}
