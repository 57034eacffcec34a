// Checks of the members of a channel, which may come from a dishonest server.

export const TOTAL = 2 ** 32; // sum of the weights of an answer
export const MOST_LABELS = 64; // of an answer, and of a report
export const MOST_NUMBERS = 20_000; // of a sketch
export const MOST_EPSILON = 16; // of a report that is drawn with a word

/** Throw RangeError unless a rule is followed. */
export function must(condition) {
  if (!condition) {
    throw new RangeError("the terms are invalid");
  }
}

/** Throw RangeError unless an object has exactly these members. @param {string} names */
export function requireMembers(value, names, optional = "") {
  must(typeof value === "object" && value !== null && !Array.isArray(value));
  const [needed, given] = [names.split(" "), Object.keys(value)];
  const possible = [...needed, ...optional.split(" ").filter(Boolean)];
  must(needed.every((name) => given.includes(name)));
  must(given.every((name) => possible.includes(name)));
}

export function isFrom(low, high, value) {
  return typeof value === "number" && value >= low && value <= high;
}

export function isWhole(low, high, value) {
  return Number.isInteger(value) && isFrom(low, high, value);
}

/** Return the range of reports that are numbers from 0 to `most` of answered tasks. */
export function reportsTo(most, isEveryTask = false) {
  return { kind: "value", value: [0, most], bit: null, every_task: isEveryTask };
}
