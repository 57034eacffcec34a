// The command line that creates the campaign of a row.

const SERVER = new URL("../../", import.meta.url).href.replace(/\/$/, ""); // as api.js has it
const PLAIN = /^[\w@%+=:,./-]+$/;

/** Quote a text as one word of a shell. */
function word(text) {
  return PLAIN.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** Return an option and its value; a value that begins with - is joined to the name by =. */
function option(name, value) {
  const text = String(value);
  return text.startsWith("-") ? word(`${name}=${text}`) : `${name} ${word(text)}`;
}

function answers(order) {
  if (order.between) {
    return option("--between", joined(order.between));
  }
  return order.levels ? option("--levels", joined(order.levels)) : option("--labels", joined(order.labels));
}

/** Return the command for `expected`, a row of the plan for `order`. */
export function commandFor(order, expected, title) {
  const named = title.startsWith("-") ? ` ${title}` : title;
  const words = [
    `quietcrowd campaign create ${word(named)}`,
    option("--tasks", "tasks.csv"),
    answers(order),
    option("--mechanism", expected.mechanism),
    option("--total-epsilon", Number(expected.total_epsilon.toPrecision(6))),
    option("--max-workers", expected.workers),
  ];
  if (expected.answers < order.tasks) {
    words.push(option("--answers-per-worker", expected.answers));
  }
  return [...words, option("--server", SERVER)].join(" ");
}

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
  const quoted = (part) => (/[",]|^\s|\s$/u.test(part) ? `"${part.replaceAll('"', '""')}"` : part);
  return values.map(String).map(quoted).join(",");
}

/** Return the numbers in a text; null if a part is not a number. */
export function numbers(text) {
  const found = (parts(text) ?? ["?"]).map(Number);
  return found.every(Number.isFinite) ? found : null;
}
