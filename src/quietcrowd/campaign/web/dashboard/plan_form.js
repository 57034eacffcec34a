// The form of a plan: it makes the order for the server, and shows errors.

import { byId, say } from "./elements.js";
import { ChoiceField, SeveralField, TextField } from "./plan_fields.js";
import { joined, numbers, parts } from "./plan_command.js";

const LABELS = ["labels", "levels"];
const NUMBERS = ["numbers"];
const SHARE = "0 to 1.";

const ASKED = [
  new ChoiceField({
    name: "kind",
    label: "An answer is",
    choices: [["labels", "one of some labels"], ["levels", "one of some levels, in order"], ["numbers", "a number between two"]],
  }),
  new TextField({ name: "labels", label: "Labels", value: "no, yes", note: "Separated by commas; put a label with a comma in quotes.", kinds: ["labels"] }),
  new TextField({ name: "levels", label: "Levels", value: "1, 2, 3, 4, 5", note: "Increasing numbers, separated by commas.", kinds: ["levels"] }),
  new TextField({ name: "low", label: "Lowest answer", value: "0", kinds: NUMBERS }),
  new TextField({ name: "high", label: "Highest answer", value: "10", kinds: NUMBERS }),
  new TextField({ name: "unit", label: "Unit", usual: "none", note: "Only for tables and the plot.", kinds: NUMBERS }),
];

const SIZE = [
  new TextField({ name: "tasks", label: "Tasks", value: "300" }),
  new TextField({ name: "workers", label: "Workers", value: "50, 100", note: "One or several numbers, separated by commas." }),
  new TextField({ name: "answers", label: "Answers per worker", usual: "to all tasks", note: "One or several numbers. Tasks are assigned at random." }),
];

const PRIVACY = [
  new TextField({ name: "total_epsilon", label: "Total ε of a person", note: "One or several losses of all answers, separated by commas." }),
  new SeveralField({ name: "mechanisms", label: "Mechanisms" }),
  new TextField({ name: "target", label: "Target error", usual: "none", note: "An error rate such as 0.1, or a mean absolute error." }),
];

const CROWD = [
  ["guessers", "Fraction of the workers that guess", "0.1", SHARE, null],
  ["accuracy", "Mean accuracy of the others", "0.75", SHARE, LABELS],
  ["accuracy_sd", "Standard deviation of the accuracy over workers", "0.1", "0 to 0.5.", LABELS],
  ["truths", "Frequency of each label", "even", "A fraction for each, separated by commas.", LABELS],
  ["misled", "Fraction of the tasks on which workers make a common error", "0.1", SHARE, LABELS],
  ["pull", "Fraction of the answers to these tasks that are this error", "0.6", SHARE, LABELS],
  ["error", "Standard deviation of a worker’s individual errors", "a tenth of the range", "", NUMBERS],
  ["error_factor", "Factor by which it varies over workers", "1.5", "1 or more.", NUMBERS],
  ["spread", "Standard deviation of the truths", "a fifth of the range", "", NUMBERS],
  ["middle", "Mean of the truths", "the middle of the range", "", NUMBERS],
  ["shared", "Error that all answers to a task share", "0.25", "As a fraction of a worker’s individual errors.", NUMBERS],
].map(([name, label, usual, note, kinds]) => new TextField({ name, label, usual, note, kinds }));

const ALL = [...ASKED, ...SIZE, ...PRIVACY, ...CROWD];
const FIELDS = Object.fromEntries(ALL.map((field) => [field.name, field]));

const OTHER =
  "A plan does not support all parameters of the campaign’s mechanism: it uses about the same ε, and defaults for others.";

let limits = null;

/** Make the form once, from the server's limits. */
export function makeForm(found) {
  if (limits === null) {
    byId("plan-answers").append(...ASKED.map((field) => field.element));
    byId("plan-size").append(...SIZE.map((field) => field.element));
    byId("plan-privacy").append(...PRIVACY.map((field) => field.element));
    byId("plan-crowd").append(...CROWD.map((field) => field.element));
    FIELDS.total_epsilon.value = found.total_epsilon.join(", ");
    FIELDS.kind.control.addEventListener("change", showKind);
    limits = found;
    showKind();
  }
}

function showKind() {
  const kind = FIELDS.kind.value;
  ALL.forEach((field) => field.showFor(kind));
  FIELDS.mechanisms.offer(kind === "numbers" ? limits.numbers : limits.labels);
}

/** Return the unit of numbers; empty if answers have none. */
export function unit() {
  return FIELDS.unit.asked ? FIELDS.unit.value : "";
}

/** Return the order; null if a field is invalid, which is shown. */
export function readOrder() {
  tellMistakes([]);
  const kind = FIELDS.kind.value;
  const crowd = CROWD.filter((field) => field.asked && field.value !== "");
  const order = {
    tasks: numberOf("tasks"),
    workers: numbersOf("workers"),
    answers: FIELDS.answers.value === "" ? null : numbersOf("answers"),
    mechanisms: FIELDS.mechanisms.value,
    total_epsilon: numbersOf("total_epsilon"),
    target: FIELDS.target.value === "" ? null : numberOf("target"),
    crowd: Object.fromEntries(crowd.map(({ name }) => [name, name === "truths" ? numbersOf(name) : numberOf(name)])),
    ...domainOf(kind),
  };
  if (order.mechanisms.length === 0) {
    FIELDS.mechanisms.tell("Choose at least one mechanism.");
  }
  return showFirst() ? null : order;
}

function domainOf(kind) {
  if (kind === "numbers") {
    return { between: [numberOf("low"), numberOf("high")] };
  }
  if (kind === "levels") {
    return { levels: numbersOf("levels") };
  }
  const labels = parts(FIELDS.labels.value);
  if (labels === null) {
    FIELDS.labels.tell(`Write labels like no, yes; got “${FIELDS.labels.value}”.`);
  }
  return { labels };
}

function numbersOf(name) {
  const found = numbers(FIELDS[name].value);
  if (found === null || found.length === 0) {
    FIELDS[name].tell(`${FIELDS[name].label}: write numbers such as 1, 2.5; got “${FIELDS[name].value}”.`);
  }
  return found;
}

function numberOf(name) {
  const found = numbers(FIELDS[name].value);
  if (found === null || found.length !== 1) {
    FIELDS[name].tell(`${FIELDS[name].label}: write one number such as 2.5; got “${FIELDS[name].value}”.`);
    return null;
  }
  return found[0];
}

/** Show errors at their fields; pointers are JSON pointers into the order. */
export function tellMistakes(errors) {
  ALL.forEach((field) => field.tell(""));
  const elsewhere = [];
  for (const { pointer, message } of errors) {
    const [, first, second] = pointer.split("/");
    const name = { crowd: second, between: "low" }[first] ?? first;
    if (FIELDS[name]?.asked) {
      FIELDS[name].tell(`${message[0].toUpperCase()}${message.slice(1)}.`);
    } else {
      elsewhere.push(message);
    }
  }
  say(byId("plan-error"), elsewhere.join(" "));
  showFirst();
}

/** Focus the first invalid field; return whether there is one. */
function showFirst() {
  const first = ALL.find((field) => field.asked && field.told);
  if (first === undefined) {
    return false;
  }
  if (CROWD.includes(first)) {
    byId("plan-crowd").open = true;
  }
  first.controls[0]?.focus();
  return true;
}

/** Fill the form with the public configuration of a campaign. */
export function fillFrom(campaign) {
  const { domain, mechanism: kind, epsilon, fill, participation = null } = campaign.mechanism;
  const values = { unit: "", target: "" };
  const kinds = { categorical: "labels", ordinal: "levels", interval: "numbers" };
  FIELDS.kind.value = kinds[domain.kind] ?? "labels";
  showKind();
  if (domain.kind === "interval") {
    Object.assign(values, { low: domain.low, high: domain.high });
  } else if (domain.kind in kinds) {
    values[FIELDS.kind.value] = joined(domain.labels ?? domain.levels);
  }
  if (campaign.tasks) {
    values.tasks = campaign.tasks;
  }
  if (campaign.max_participants !== null) {
    values.workers = campaign.max_participants;
  }
  values.answers = campaign.answers_per_participant ?? "";
  const everyTask = fill !== null && fill !== undefined;
  const answers = everyTask ? campaign.tasks : (campaign.answers_per_participant ?? campaign.tasks);
  if (epsilon * answers > 0) {
    values.total_epsilon = joined([...new Set([epsilon * answers, ...limits.total_epsilon])].sort((one, other) => one - other));
  }
  for (const [name, value] of Object.entries(values)) {
    FIELDS[name].value = String(value);
  }
  const named = fill === null ? `${kind}:fill=none` : kind;
  const offered = FIELDS.mechanisms.controls.map((box) => box.value);
  FIELDS.mechanisms.value = offered.includes(named) ? [named] : offered.slice(0, 1);
  say(byId("plan-status"), offered.includes(named) && participation === null ? "" : OTHER);
  CROWD.forEach((field) => (field.value = ""));
  tellMistakes([]);
}
