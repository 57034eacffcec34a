// What tasks ask, and whose truth was known before: what stands beside their names.

import { count } from "./numbers.js";

const MOST = 140;
const MUCH = 1_000; // of a cell: more is never shown

let questions = new Map();
let known = new Set();
let source = null;

/** Read the tasks of a campaign, once; `changed` is called as often as there is more to show. */
export async function readQuestions(api, changed) {
  if (api === source) {
    return;
  }
  forgetQuestions();
  source = api;
  try {
    for await (const tasks of api.tasks()) {
      if (api !== source) {
        return;
      }
      tasks.forEach(keep);
      changed();
    }
  } catch {
    source = api === source ? null : source; // to be tried again with the next results
  }
}

/** Forget the questions of the campaign that was shown before. */
export function forgetQuestions() {
  questions = new Map();
  known = new Set();
  source = null;
}

/** Return what a task asks; nothing where that is not known. */
export function questionOf(name) {
  return questions.get(name) ?? "";
}

/** Return whether the requester gave the truth of a task. */
export function isKnown(name) {
  return known.has(name);
}

/** Return how many truths the requester gave, in words; nothing where there are none. */
export function countKnown() {
  return known.size ? ` ${count(known.size)} known beforehand.` : "";
}

function keep(task) {
  questions.set(task.task, cut(textOf(task.data)));
  if (task.gold !== null) {
    known.add(task.task);
  }
}

/** Return the columns of a task as a text: several with their names. */
function textOf(data) {
  const cells = Object.entries(data).map(([name, value]) => [name, cellText(value)]);
  if (cells.length === 1) {
    return cells[0][1];
  }
  return cells.map(([name, text]) => `${name}: ${text}`).join(" · ");
}

/** Return a cell as a text: an image by what stands for it. */
function cellText(value) {
  if (typeof value === "string") {
    return value.slice(0, MUCH);
  }
  const image = value !== null && typeof value === "object" && typeof value.image === "string";
  return image ? `[${value.alt || "image"}]` : JSON.stringify(value).slice(0, MUCH);
}

/** Return a text of one line, cut between words where it is long. */
function cut(text) {
  const characters = [...text.replace(/\s+/gu, " ").trim()];
  if (characters.length <= MOST) {
    return characters.join("");
  }
  const start = characters.slice(0, MOST).join("");
  const end = start.lastIndexOf(" ");
  return `${(end > MOST / 2 ? start.slice(0, end) : start).trimEnd()}…`;
}
