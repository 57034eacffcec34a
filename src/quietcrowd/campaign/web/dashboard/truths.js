// The table of truths.

import { byId, say } from "./elements.js";
import { count, measured, percent, short } from "./numbers.js";
import { partly } from "./pages.js";
import { countKnown, isKnown, questionOf } from "./questions.js";
import { SortableTable } from "./table.js";

const SURE = 0.9;

const table = new SortableTable(byId("truths"), byId("truths-more"));
const undecided = byId("undecided");
let latest = [null, null];

undecided.addEventListener("change", showTruthsAgain);

const TASK = {
  name: "Task",
  value: (truth) => truth.task,
  text: (truth) => String(truth.task),
  below: (truth) => questionOf(truth.task),
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
  if (isKnown(truth.task)) {
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
  const none = results === null ? "None yet: they follow a moment after the first reports are shown." : "None.";
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
  const found = `${count(results.truths)} tasks, found by ${results.method.method}.${countKnown()}${partly(loaded)}`;
  if (!labels) {
    return `${found} Standard errors cover the noise, but no bias.`;
  }
  const open = count(loaded.rows.filter(isUndecided).length);
  const what = `${open} undecided: tied, or less than ${100 * SURE} % sure.`;
  return `${found} ${what} Confidence is how sure the method is if its model holds.`;
}
