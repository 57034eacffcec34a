// Lists as they are written: parts between commas; quotes keep a comma inside of a part.

const PART = /\s*(?:"((?:[^"]|"")*)"\s*|([^,]*))(,|$)/gy;

/** Return the parts of a text; null where a quote does not end, or something follows it. */
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

/** Return a list as `parts` reads it. */
export function joined(values) {
  return values.map(String).map(quoted).join(",");
}

function quoted(part) {
  return /[",]|^\s|\s$/u.test(part) ? `"${part.replaceAll('"', '""')}"` : part;
}

/** Return the numbers of a text; null where a part is none. */
export function numbers(text) {
  const found = (parts(text) ?? ["?"]).map(Number);
  return found.every(Number.isFinite) ? found : null;
}
