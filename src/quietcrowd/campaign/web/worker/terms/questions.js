// When two tasks are one question, and when two reports on it have one law.

import { byCodePoint, labelsOf } from "../mechanisms/draw.js";
import { canonicalHash, canonicalJson } from "./canonical.js";
import { isSentAgain, labelText } from "./law.js";
import { imageIn } from "./images.js";
import { channelIdentity } from "./meanings.js";

const UNSEEN = new RegExp(
  "[\\p{Cf}\\u034f\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u2065\\u2800\\u3164" +
    "\\ufe00-\\ufe0f\\uffa0\\ufff0-\\ufff8\\u{e0000}-\\u{e0fff}]",
  "gu",
);
const ID_ALONE = new RegExp(
  "^(?=.*\\p{Nd})(?![_-])(?:[\\p{Nd}a-f_-]+|" +
    "(?:[\\p{Nd}_-]*[\\p{L}\\p{Nl}\\p{No}]){1,8}[\\p{Nd}_-]*)(?<![_-])$",
  "u",
);
const NAME = /^[\p{L}\p{N}_]{1,12}$/u;
// What Python takes for spaces.
const SPACES = /[\s\x1c-\x1f\x85]+/gu;
const BETWEEN_NUMBERS = /(?<=\p{Nd})[^\p{L}\p{N}]+(?=\p{Nd})/gu;
const LAST_MARKS = /(?<=[\p{L}\p{N}])[^\p{L}\p{N}]+$/u;
const OTHER_MARKS = /(?<!\p{Nd})[^\p{L}\p{N}]+|[^\p{L}\p{N}]+(?!\p{Nd})/gu;
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

/** Return the hash of a channel's identity; null where a worker's answers share noise. */
export async function channelHash(terms) {
  return isSentAgain(terms) ? canonicalHash(channelIdentity(terms)) : null;
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

/**
 * Return what near-copies have in common: the letters of a task's values; where they show none, of
 * the keys that are more than names; without any, what it looks like.
 */
export function lettersOf(name, data) {
  const shown = [Object.values(data), askingKeys(data)].map((parts) =>
    parts.map(lettersIn).filter((text) => text !== ""),
  );
  const letters = shown.find(({ length }) => length > 0);
  const looks = Object.keys(data).length ? { data: looksOf(data) } : { task: nameLetters(name) };
  return canonicalJson(letters ? letters.sort(byCodePoint) : looks);
}

/** Return the keys that are shown and more than names: of columns, of objects in them. */
function askingKeys(data) {
  const columns = Object.keys(data);
  const shown = [...(columns.length > 1 ? columns : []), ...keysIn(Object.values(data))];
  return shown.filter((key) => !NAME.test(lookOf(key)));
}

function keysIn(value) {
  if (typeof value !== "object" || value === null) {
    return [];
  }
  const own = Array.isArray(value) ? [] : Object.keys(value);
  return [...own, ...Object.values(value).flatMap(keysIn)];
}

/** Return a value with its texts as they look, but for case and last marks; objects as lists. */
function looksOf(value) {
  if (Array.isArray(value)) {
    return value.map(looksOf);
  }
  if (typeof value !== "object" || value === null) {
    return typeof value === "string" ? lookOf(value).replace(LAST_MARKS, "") : value;
  }
  const pairs = Object.keys(value).map((key) => ({ key, look: lookOf(key) }));
  pairs.sort((one, two) => byCodePoint(one.look, two.look) || byCodePoint(one.key, two.key));
  return pairs.map(({ key, look }) => [look, looksOf(value[key])]);
}

function lookOf(text) {
  return folded(text).replace(SPACES, " ").replace(/^ | $/g, "");
}

/** Return the letters and numbers of a task's name, numbers apart; its look where it has none. */
function nameLetters(name) {
  const letters = folded(name).replace(BETWEEN_NUMBERS, " ").replace(OTHER_MARKS, "");
  return letters || lookOf(name);
}

function alone(name, data) {
  return Object.keys(data).length ? { data } : { task: name };
}

/** Return what can be answered, in one order. */
function answersOf(domain) {
  const { low, high } = domain;
  return labelsOf(domain)?.map(labelText).sort(byCodePoint) ?? { low, high };
}

/** Return the letters of a column: case, spaces and marks make no difference. */
function lettersIn(value) {
  const image = imageIn(value);
  if (image !== null) {
    return image.hash;
  }
  const plain = folded(textsIn(value).join(" ")).replace(COUNTING, " ");
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

/** Return a text without its case and without what is not seen, in one of its spellings. */
function folded(text) {
  return caseless(text.replace(UNSEEN, "").normalize("NFKC"));
}

/** Return a text with its case folded. */
function caseless(text) {
  return text.replace(/[^ı]/gu, (letter) => letter.toLowerCase().toUpperCase().toLowerCase());
}
