// Campaigns in rounds: their times, their losses, and the durations in words.

import { counted } from "./names.js";

const UNITS = Object.entries({ day: 86_400, hour: 3600, minute: 60, second: 1 });

const isIn = (low, high) => (value) => Number.isSafeInteger(value) && value >= low && value <= high;
const [isSome, isTime] = [isIn(1, 10_000), isIn(60, 366 * 86_400)];
const ROUND_MEMBERS = Object.freeze({
  ...{ first: isMinute, length: isTime, count: (value) => value === null || isSome(value) },
  ...{ cap: isSome, grace: isTime, window: isSome, step: isSome, keep: isIn(1, 32) },
  division: (value) => ["crowd", "budget"].includes(value),
  facts: (value) => ["fresh", "lasting"].includes(value),
});

function isMinute(value) {
  const isForm = typeof value === "string" && /^[1-9][\d-]+T\d\d:\d\d:00Z$/.test(value);
  return isForm && new Date(value).toJSON() === value.replace("Z", ".000Z");
}

export function areRounds(value) {
  const { length, count, cap, grace, window: width, step, division, facts } = value ?? {};
  const kinds = Object.entries(ROUND_MEMBERS);
  return (
    Object.keys(value ?? {}).length === kinds.length &&
    kinds.every(([name, isKind]) => isKind(value[name])) &&
    (grace <= length && width <= step && step <= cap && [null, cap].includes(count)) &&
    (division === "crowd" || facts === "fresh")
  );
}

export const slotsOf = ({ division, step }) => (division === "crowd" ? step : 1);
export const mostRounds = (rounds) => Math.ceil(rounds.cap / slotsOf(rounds)); // of a worker
export const beginOf = ({ first, length }, number) => Date.parse(first) + 1000 * number * length;

/** Return whether reports of a round are no longer accepted. */
export function isRoundOver(rounds, number, now) {
  return now > beginOf(rounds, number + 1) + 1000 * rounds.grace;
}

/** Return the present or next round of a slot, null after the last; `except` are not answered. */
export function nextRound(rounds, slot, now, except = []) {
  const slots = slotsOf(rounds);
  const present = Math.max(0, Math.floor((now - beginOf(rounds, 0)) / 1000 / rounds.length));
  let number = present + ((((slot ?? 0) - present) % slots) + slots) % slots;
  while (except.includes(number)) {
    number += slots;
  }
  return number < rounds.cap ? number : null;
}

export function roundLosses(rounds, epsilon) {
  const inWindow = rounds.division === "crowd" ? 1 : rounds.window;
  const campaign = mostRounds(rounds) * epsilon;
  const fact = rounds.facts === "lasting" ? campaign : epsilon;
  return { round: epsilon, window: inWindow * epsilon, campaign, fact };
}

export const unitsOf = (count, unit, say) =>
  say(`unit.${unit}`, { count, number: counted(count, say) });

/** Format a duration in the largest unit that divides it. */
export function durationOf(seconds, say) {
  const [unit, size] = UNITS.find(([, one]) => seconds % one === 0);
  return unitsOf(seconds / size, unit, say);
}
