// Texts that look alike: the skeletons of UTS #39.

import { CONFUSABLES } from "./confusables.js";

// Letters from Hebrew to Sinhala, and of Japanese and Chinese.
const EVERYDAY = /^[\u0590-\u0dff\u3000-\u9fff]$/u;

/** Return the same text for all texts that look alike; it has "m" instead of UTS #39's "rn". */
export function skeleton(text) {
  return replaced(text, PROTOTYPES);
}

/** Return a text with look-alike letters replaced; numbers, accents and most marks remain. */
export function lettersAlike(text) {
  return replaced(text, LETTERS);
}

function replaced(text, table) {
  const looks = Array.from(text.normalize("NFD"), (letter) => table.get(letter) ?? letter);
  return looks.join("").normalize("NFD").replaceAll("rn", "m");
}

function prototypes() {
  const table = new Map();
  let [prototype, code] = ["", 0];
  for (const word of CONFUSABLES.trim().split(/\s+/)) {
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
