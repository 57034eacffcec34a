// Questions of tasks, and known truths: shown next to the tasks' names.

import { count } from "./numbers.js";

const MOST = 140;
const MUCH = 1_000; // per cell: more is never shown

let questions = new Map();
let known = new Set();
let source = null;

/** Read the tasks of a campaign once; `changed` is called whenever there is more to show. */
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
    source = api === source ? null : source; // try again with the next results
  }
}

export function forgetQuestions() {
  questions = new Map();
  known = new Set();
  source = null;
}

/** Return the question of a task; empty if unknown. */
export function questionOf(name) {
  return questions.get(name) ?? "";
}

/** Return whether the requester provided the truth of a task. */
export function isKnown(name) {
  return known.has(name);
}

/** Describe how many truths the requester provided; empty without any. */
export function countKnown() {
  return known.size ? ` ${count(known.size)} known beforehand.` : "";
}

function keep(task) {
  questions.set(task.task, cut(textOf(task.data)));
  if (task.gold !== null) {
    known.add(task.task);
  }
}

function textOf(data) {
  const cells = Object.entries(data).map(([name, value]) => [name, cellText(value)]);
  if (cells.length === 1) {
    return cells[0][1];
  }
  return cells.map(([name, text]) => `${name}: ${text}`).join(" · ");
}

function cellText(value) {
  if (typeof value === "string") {
    return value.slice(0, MUCH);
  }
  const image = value !== null && typeof value === "object" && typeof value.image === "string";
  return image ? `[${value.alt || "image"}]` : JSON.stringify(value).slice(0, MUCH);
}

/** Return a text in one line; a long one is cut between words. */
function cut(text) {
  const characters = [...text.replace(/\s+/gu, " ").trim()];
  if (characters.length <= MOST) {
    return characters.join("");
  }
  const start = characters.slice(0, MOST).join("");
  const end = start.lastIndexOf(" ");
  return `${(end > MOST / 2 ? start.slice(0, end) : start).trimEnd()}…`;
}
