// The table of truths.

import { byId, count, measured, percent, say, short } from "./elements.js";
import { partly } from "./pages.js";
import { SortableTable } from "./table.js";

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

const SURE = 0.9;

const table = new SortableTable(byId("truths"), byId("truths-more"));
const undecided = byId("undecided");
let latest = [null, null];

undecided.addEventListener("change", showTruthsAgain);

const TASK = {
  name: "Task",
  value: (truth) => truth.task,
  text: (truth) => String(truth.task),
  below: (truth) => questions.get(truth.task) ?? "",
};

const REPORTS = {
  name: "Reports",
  numeric: true,
  value: (truth) => truth.reports,
  text: ({ reports, again = 0 }) =>
    again > 0 ? `${count(reports)} (${count(again)} sent again)` : count(reports),
};

const LABELS = [
  TASK,
  {
    name: "Truth",
    value: (truth) => truth.truth,
    text: (truth) => (truth.truth === null ? "–" : String(truth.truth) + remark(truth)),
  },
  {
    name: "Confidence",
    numeric: true,
    value: (truth) => truth.confidence,
    text: (truth) => percent(truth.confidence),
    share: (truth) => truth.confidence,
  },
  REPORTS,
];

function remark(truth) {
  if (known.has(truth.task)) {
    return " (known)";
  }
  return truth.tied ? " (tied)" : "";
}

/** Return the columns of numeric truths; bars are fractions of the largest error. */
function numberColumns(truths) {
  const largest = truths.reduce((most, truth) => Math.max(most, truth.standard_error ?? 0), 0);
  return [
    TASK,
    {
      name: "Truth",
      numeric: true,
      value: (truth) => truth.truth,
      text: (truth) => measured(truth.truth, truth.standard_error) + remark(truth),
    },
    {
      name: "Standard error",
      numeric: true,
      value: (truth) => truth.standard_error,
      text: (truth) => short(truth.standard_error, 3),
      share: (truth) => (truth.standard_error === null ? null : truth.standard_error / (largest || 1)),
    },
    REPORTS,
  ];
}

function isUndecided(truth) {
  return truth.truth === null || truth.tied || truth.confidence < SURE;
}

export function showTruths(results, loaded) {
  latest = [results, loaded];
  const truths = results === null ? [] : loaded.rows;
  const labels = truths.length > 0 && truths[0].confidence !== undefined;
  byId("truths-found").hidden = truths.length === 0;
  byId("undecided-choice").hidden = !labels;
  const none = results === null ? "None yet: truths appear shortly after the first reports are shown." : "None.";
  say(byId("truths-none"), truths.length ? "" : none);
  const further = results === null || loaded.complete ? null : () => showFurther(results, loaded);
  if (labels) {
    table.show(LABELS, undecided.checked ? truths.filter(isUndecided) : truths, further);
  } else {
    table.show(numberColumns(truths), truths, further);
  }
  say(byId("truths-note"), truths.length ? note(results, loaded, labels) : "");
}

/** Show the truths again, with their tasks' questions. */
export function showTruthsAgain() {
  showTruths(...latest);
}

async function showFurther(results, loaded) {
  await loaded.loadMore();
  if (latest[1] === loaded) {
    showTruths(results, loaded);
  }
}

function note(results, loaded, labels) {
  const before = known.size ? ` ${count(known.size)} known beforehand.` : "";
  const found = `${count(results.truths)} tasks, inferred by ${results.method.method}.${before}${partly(loaded)}`;
  if (!labels) {
    return `${found} Standard errors include the noise, but no bias.`;
  }
  const open = count(loaded.rows.filter(isUndecided).length);
  const what = `${open} undecided: tied, or less than ${100 * SURE} % sure.`;
  return `${found} ${what} Confidence is the probability of the truth under the method’s model.`;
}
