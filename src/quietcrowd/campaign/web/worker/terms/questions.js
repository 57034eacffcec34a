// Equality of questions, and of the channels of their reports.

import { isSentAgain } from "../channels/index.js";
import { canonicalHash, canonicalJson } from "./canonical.js";
import { labelText } from "./names.js";
import { byCodePoint, labelsOf } from "./domain.js";
import { imageIn } from "./images.js";
import { channelIdentity } from "./meanings.js";
import { inAnyOrder, isAmongOptions, tableFor } from "./options.js";
import confusables from "./confusables.json" with { type: "json" };

// Letters from Hebrew to Sinhala, and of Japanese and Chinese.
const EVERYDAY = /^[\u0590-\u0dff\u3000-\u9fff]$/u;

/** Return the same text for all texts that look alike; it has "m" instead of UTS #39's "rn". */
const skeleton = (text) => replaced(text, PROTOTYPES);
/** Return a text with look-alike letters replaced; numbers, accents and most marks remain. */
const lettersAlike = (text) => replaced(text, LETTERS);

function replaced(text, table) {
  const looks = Array.from(text.normalize("NFD"), (letter) => table.get(letter) ?? letter);
  return looks.join("").normalize("NFD").replaceAll("rn", "m");
}

function prototypes() {
  const table = new Map();
  let [prototype, code] = ["", 0];
  for (const word of confusables.table.split(" ")) {
    if (word.startsWith("=")) {
      const codes = word.slice(1).split(".");
      prototype = String.fromCodePoint(...codes.map((part) => parseInt(part, 36)));
      code = 0;
    } else {
      code += parseInt(word, 36);
      table.set(String.fromCodePoint(code), prototype);
    }
  }
  return table;
}

function isOfLetters([letter, prototype]) {
  const isMark = !/[\p{L}\p{M}\p{N}]/u.test(prototype);
  const isTaken = /^\p{L}+$/u.test(prototype) || (isMark && !EVERYDAY.test(letter));
  return isTaken && !/\p{Nd}/u.test(letter);
}

const PROTOTYPES = prototypes();
const LETTERS = new Map([...PROTOTYPES].filter(isOfLetters));

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
// Python's white space.
const SPACES = /[\s\x1c-\x1f\x85]+/gu;
const BETWEEN_NUMBERS = /(?<=\p{Nd})[^\p{L}\p{N}]+(?=\p{Nd})/gu;
const LAST_MARKS = /(?<=[\p{L}\p{N}])[^\p{L}\p{N}]+$/u;
const OTHER_MARKS = /(?<!\p{Nd})[^\p{L}\p{N}]+|[^\p{L}\p{N}]+(?!\p{Nd})/gu;
const COUNTING = new RegExp(
  "^[^\\p{L}\\p{N}_]*(?:[\\p{L}\\p{Nl}\\p{No}_]+[^\\p{L}\\p{N}_]+)?\\p{Nd}+\\s*[.:)\\]\\-]" +
    "|(?<=[.?!])[^\\p{L}\\p{N}_]*\\p{Nd}+[^\\p{L}\\p{N}_]*$",
  "gu",
);

/**
 * Return the hash of each task's question, and the first task with it, by name. An `occasion`, the
 * campaign and its round, makes it another question.
 */
export async function taskQuestions(tasks, { mechanism, channel, asOf, occasion }) {
  const [hashes, first, firsts] = [new Map(), new Map(), new Map()];
  const [answers, day] = [answersOf(mechanism.domain), asOf !== null && { as_of: asOf }];
  for (const { name, data } of tasks) {
    const same = isAmongOptions(channel) ? { table: tableFor(channel, data.options) } : { answers };
    const hash = await canonicalHash({ ...alone(name, data), ...same, ...day, ...occasion });
    firsts.set(hash, firsts.get(hash) ?? name);
    hashes.set(name, hash);
    first.set(name, firsts.get(hash));
  }
  return { hashes, first };
}

/** Return the hash of a channel's identity; null if a worker's answers share noise. */
export async function channelHash(terms) {
  return isSentAgain(terms.channel) ? canonicalHash(channelIdentity(terms)) : null;
}

/** Return the maximum number of reports on one question, its copies and similar questions. */
export function largestGroup(tasks, terms) {
  const parents = new Map();
  const parentOf = (key) => parents.get(key) ?? key;
  const rootOf = (key) => {
    while (parentOf(key) !== key) {
      parents.set(key, parentOf(parentOf(key)));
      key = parentOf(key);
    }
    return key;
  };
  const firsts = tasks.map(({ name, data }) => {
    const [first, ...others] = lettersOf(name, inAnyOrder(data, terms));
    others.forEach((other) => parents.set(rootOf(other), rootOf(first)));
    return first;
  });
  const groups = new Map();
  tasks.forEach(({ name, data }, i) => {
    const root = rootOf(firsts[i]);
    groups.set(root, groups.get(root) ?? new Set());
    groups.get(root).add(isSentAgain(terms.channel) ? canonicalJson(alone(name, data)) : name);
  });
  return [...groups.values()].reduce((most, { size }) => Math.max(most, size), 1);
}

/**
 * Return the keys of a task: similar questions share one, or a chain of them. The keys are its
 * letters, its letters after look-alikes were replaced, and its appearance.
 */
export function lettersOf(name, data) {
  const shown = Object.keys(data).length ? data : name;
  const keys = [
    lettersBy(folded, name, data),
    lettersBy((text) => folded(lettersAlike(text)), name, data),
    { look: looksOf(shown, (text) => lookOf(skeleton(text), folded)) },
  ];
  return [...new Set(keys.map(canonicalJson))];
}

/**
 * Return the letters of a task's values. Without any, return those of keys that are more than
 * names, or else the appearance. `fold` maps equivalent texts to one form.
 */
function lettersBy(fold, name, data) {
  const shown = [Object.values(data), askingKeys(data, fold)].map((parts) =>
    parts.map((part) => lettersIn(part, fold)).filter((text) => text !== ""),
  );
  const letters = shown.find(({ length }) => length > 0);
  const look = (text) => skeleton(lookOf(text, fold).replace(LAST_MARKS, ""));
  const looks = Object.keys(data).length
    ? { data: looksOf(data, look) }
    : { task: skeleton(nameLetters(name, fold)) };
  return letters ? letters.map(skeleton).sort(byCodePoint) : looks;
}

/** Return the visible keys of columns and nested objects that are more than names. */
function askingKeys(data, fold) {
  const columns = Object.keys(data);
  const shown = [...(columns.length > 1 ? columns : []), ...keysIn(Object.values(data))];
  return shown.filter((key) => !NAME.test(lookOf(key, fold)));
}

function keysIn(value) {
  const isNested = typeof value === "object" && value !== null;
  const own = isNested && !Array.isArray(value) ? Object.keys(value) : [];
  return isNested ? [...own, ...Object.values(value).flatMap(keysIn)] : own;
}

/** Return a value with its texts replaced by their appearance, and objects by lists. */
function looksOf(value, look) {
  if (Array.isArray(value)) {
    return value.map((part) => looksOf(part, look));
  }
  if (typeof value !== "object" || value === null) {
    return typeof value === "string" ? look(value) : value;
  }
  const pairs = Object.entries(value).map(([key, part]) => [look(key), looksOf(part, look)]);
  return pairs.sort((one, two) => byCodePoint(canonicalJson(one), canonicalJson(two)));
}

function lookOf(text, fold) {
  return fold(text).replace(SPACES, " ").replace(/^ | $/g, "");
}

/** Return the letters and numbers of a task's name, numbers separated; without any, its look. */
function nameLetters(name, fold) {
  const letters = fold(name).replace(BETWEEN_NUMBERS, " ").replace(OTHER_MARKS, "");
  return letters || lookOf(name, fold);
}

function alone(name, data) {
  return Object.keys(data).length ? { data } : { task: name };
}

function answersOf(domain) {
  const { low, high } = domain;
  return labelsOf(domain)?.map(labelText).sort(byCodePoint) ?? { low, high };
}

/** Return the letters of a column, ignoring case, spaces and marks. */
function lettersIn(value, fold) {
  const image = imageIn(value);
  if (image !== null) {
    return image.hash;
  }
  const plain = fold(textsIn(value).join(" ")).replace(COUNTING, " ");
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

/** Return a text in normal form, without case and invisible characters. */
function folded(text) {
  return caseless(text.replace(UNSEEN, "").normalize("NFKC"));
}

/** Fold the case of a text: to lower case, and to upper case in Cherokee. */
function caseless(text) {
  return text
    .replace(/[^ı]/gu, (letter) => letter.toLowerCase().toUpperCase().toLowerCase())
    .replace(/[\u13f8-\u13fd\uab70-\uabbf]/g, (letter) => letter.toUpperCase());
}
