// When two tasks are one question, and when two reports on it have one law.

import { byCodePoint } from "../mechanisms/draw.js";
import { canonicalHash, canonicalJson } from "./canonical.js";
import { isSentAgain, labelText } from "./law.js";

const UNSEEN = /[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0]/g;
const ID_ALONE = /^(?=.*\p{Nd})[\p{L}\p{N}_-]+$/u;
const COUNTING = new RegExp(
  "^[^\\p{L}\\p{N}_]*(?:[\\p{L}\\p{Nl}\\p{No}_]+[^\\p{L}\\p{N}_]+)?\\p{Nd}+\\s*[.:)\\]\\-]" +
    "|(?<=[.?!])[^\\p{L}\\p{N}_]*\\p{Nd}+[^\\p{L}\\p{N}_]*$",
  "gu",
);

/** Return the hash of each task's question, and the first task of each question, by name. */
export async function taskQuestions(tasks, { mechanism }) {
  const [hashes, first, firsts] = [new Map(), new Map(), new Map()];
  const answers = answersOf(mechanism.domain);
  for (const { name, data } of tasks) {
    const hash = await canonicalHash({ ...alone(name, data), answers });
    firsts.set(hash, firsts.get(hash) ?? name);
    hashes.set(name, hash);
    first.set(name, firsts.get(hash));
  }
  return { hashes, first };
}

/** Return the hash of the law of a report; null where its noise is not its own. */
export async function channelHash({ mechanism, channel, report }) {
  const law = { answers: answersOf(mechanism.domain), channel, every_task: report.every_task };
  return isSentAgain({ mechanism }) ? canonicalHash(law) : null;
}

/** Return how many reports at most are on copies and near-copies of one question. */
export function largestGroup(tasks, terms) {
  const groups = new Map();
  for (const { name, data } of tasks) {
    const [letters, asked] = [lettersOf(name, data), canonicalJson(alone(name, data))];
    const members = groups.get(letters) ?? groups.set(letters, new Set()).get(letters);
    members.add(isSentAgain(terms) ? asked : name);
  }
  return Math.max(1, ...Array.from(groups.values(), ({ size }) => size));
}

/** Return what near-copies have in common: the letters that a task shows. */
export function lettersOf(name, data) {
  const letters = Object.values(data).map(lettersIn).filter((text) => text !== "");
  return canonicalJson(letters.length ? letters.sort(byCodePoint) : alone(name, data));
}

function alone(name, data) {
  return Object.keys(data).length ? { data } : { task: name };
}

/** Return what can be answered, in one order. */
function answersOf({ kind, labels, levels, low, high }) {
  return kind === "interval" ? { low, high } : (labels ?? levels).map(labelText).sort(byCodePoint);
}

/** Return the letters of a column: case, spaces and marks make no difference. */
function lettersIn(value) {
  const folded = caseless(textsIn(value).join(" ").normalize("NFKC"));
  const plain = folded.replace(UNSEEN, "").replace(COUNTING, " ");
  const letters = plain.replace(/[^\p{L}\p{N}]/gu, "");
  return !ID_ALONE.test(plain.trim()) && /\p{L}/u.test(letters) ? letters : "";
}

function textsIn(value) {
  if (typeof value !== "object" || value === null) {
    return typeof value === "string" ? [value] : [];
  }
  const keys = Array.isArray(value) ? Object.keys(value) : Object.keys(value).sort(byCodePoint);
  return keys.flatMap((key) => textsIn(value[key]));
}

/** Return a text with its case folded. */
function caseless(text) {
  return text.replace(/[^ı]/gu, (letter) => letter.toLowerCase().toUpperCase().toLowerCase());
}
