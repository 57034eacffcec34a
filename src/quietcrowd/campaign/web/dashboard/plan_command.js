// The command line that creates the campaign of a row.

import { joined } from "./plan_lists.js";

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
    option("--epsilon", expected.claimed_epsilon),
    option("--max-workers", expected.workers),
  ];
  if (expected.answers < order.tasks) {
    words.push(option("--answers-per-worker", expected.answers));
  }
  return [...words, option("--server", SERVER)].join(" ");
}
