// What was spent of a worker's privacy, over all campaigns of this origin.

import { guaranteeOf } from "../terms/guarantee.js";
import { refuseIf } from "./refusing.js";

/** Return what so many reports of a campaign lose at most, all together: epsilon. */
export function costOf({ mechanism, channel, report, linked, guarantee }, count) {
  if (count === 0) {
    return 0;
  }
  const most = { answers_per_participant: count, linked: Math.min(linked, count), tasks: count };
  const { workerEpsilon } =
    report.kind === "sketch" // which depends on the tasks' names
      ? guarantee
      : guaranteeOf({ mechanism, channel, report, ...most });
  return workerEpsilon ?? Infinity;
}

/** Return the sum over all campaigns, and the most that it may be; null: no limit. */
export function spentIn(entries) {
  const spent = entries.reduce((sum, { cost = 0 }) => sum + cost, 0);
  return { spent, budget: entries.find(({ name }) => name === "")?.budget ?? null };
}

/** Raise Refusal where a cost would take the device above its budget. */
export function requireBudget(entries, cost) {
  const { spent, budget } = spentIn(entries);
  const after = spent + cost;
  const isAbove = budget !== null && cost > 0 && after > budget;
  refuseIf(isAbove, "refusal.budget", { budget, spent, after });
}
