// Comma-separated lists; quotes protect commas in parts.

const PART = /\s*(?:"((?:[^"]|"")*)"\s*|([^,]*))(,|$)/gy;

/** Return the parts of a text; null if a quote does not end, or something follows it. */
export function parts(text) {
  const found = [];
  PART.lastIndex = 0;
  for (let match = PART.exec(text); match !== null; match = PART.exec(text)) {
    const part = match[1] === undefined ? match[2].trim() : match[1].replaceAll('""', '"');
    if (part !== "") {
      found.push(part);
    }
    if (match[3] === "") {
      return part.startsWith('"') && match[1] === undefined ? null : found;
    }
  }
  return null;
}

/** Return a list in the format of `parts`. */
export function joined(values) {
  return values.map(String).map(quoted).join(",");
}

function quoted(part) {
  return /[",]|^\s|\s$/u.test(part) ? `"${part.replaceAll('"', '""')}"` : part;
}

/** Return the numbers in a text; null if a part is not a number. */
export function numbers(text) {
  const found = (parts(text) ?? ["?"]).map(Number);
  return found.every(Number.isFinite) ? found : null;
}
