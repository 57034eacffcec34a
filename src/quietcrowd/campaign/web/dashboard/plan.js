// Planning a campaign: the server simulates the expected error, and the page shows it.

import { Refusal } from "./api.js";
import { byId, count, loss, make, say, short } from "./elements.js";
import { commandFor } from "./plan_command.js";
import { fillFrom, makeForm, readOrder, tellMistakes, unit } from "./plan_form.js";
import { plotPlan } from "./plan_plot.js";
import { SortableTable } from "./table.js";

const SECOND = 1_000;
const DIGITS = 3;
const UNREACHED = "The server cannot be reached. Try again.";
const SCORES = { error_rate: "error rate", mae: "mean absolute error" };

const table = new SortableTable(byId("plan-rows"), byId("plan-more"));

let api = null;
let limits = null;
let asking = null; // aborts the request in progress
let made = null; // the plan shown, and its order
let title = "";

/** Show the form with the server's limits, filled from a campaign if one is given. */
export async function openPlan(requester, campaign) {
  limits = await requester.planningLimits();
  api = requester;
  makeForm(limits);
  if (campaign !== null) {
    title = campaign.title;
    say(byId("plan-elapsed"), "");
    fillFrom(campaign);
    show(null);
  }
}

export function leavePlan() {
  asking?.abort();
}

/** Forget the plan and the requester. */
export function forgetPlan() {
  leavePlan();
  api = null;
  title = "";
  show(null);
}

async function send(event) {
  event.preventDefault();
  leavePlan();
  say(byId("plan-error"), "");
  const order = readOrder();
  if (order === null) {
    return;
  }
  const ends = new AbortController();
  asking = ends;
  const clock = tellTime();
  try {
    const plan = await api.plan(order, ends.signal);
    show({ plan, order, unit: unit() });
    say(byId("plan-status"), `Planned: ${count(plan.rows.length)} rows.`);
    byId("plan-found").scrollIntoView({ block: "nearest" });
  } catch (error) {
    say(byId("plan-status"), ends.signal.aborted ? "Stopped." : "");
    say(byId("plan-elapsed"), "");
    if (!ends.signal.aborted) {
      tell(error);
    }
  } finally {
    clearInterval(clock);
    if (asking === ends) {
      asking = null;
      showBusy(false);
    }
  }
}

function tell(error) {
  if (error instanceof Refusal && error.errors.length > 0) {
    tellMistakes(error.errors);
  } else {
    say(byId("plan-error"), error instanceof Refusal ? error.message : UNREACHED);
  }
}

function showBusy(busy) {
  byId("plan-make").disabled = busy;
  byId("plan-stop").hidden = !busy;
}

function tellTime() {
  const start = Date.now();
  const told = byId("plan-elapsed");
  const most = `stopped after ${short(limits.seconds, DIGITS)} s, and waits as long for other plans`;
  const turn = () => say(told, `${Math.round((Date.now() - start) / SECOND)} s`);
  showBusy(true);
  say(byId("plan-status"), `Simulating crowds: ${most}. Leaving this page stops it.`);
  turn();
  return setInterval(turn, SECOND);
}

function show(found) {
  made = found;
  byId("plan-found").hidden = found === null;
  byId("plan-chosen").hidden = true;
  if (found !== null) {
    const { plan } = found;
    say(byId("plan-assumed"), `${count(plan.tasks)} tasks, ${count(plan.draws)} crowds simulated for each size. Assumed: ${plan.assumed}.`);
    byId("plan-skipped").replaceChildren(...plan.skipped.map((sentence) => make("li", sentence, "notice")));
    showRows();
    offerCurves();
  }
}

function inUnit(error) {
  return short(error, DIGITS) + (made.unit && made.plan.score === "mae" ? ` ${made.unit}` : "");
}

function remark(expected) {
  if (expected.useless) {
    return "as good as guessing";
  }
  return expected.meets ? "reaches the target" : "";
}

function columns() {
  const number = (name, value, text) => ({ name, numeric: true, value, text });
  return [
    {
      name: "Mechanism",
      value: (expected) => expected.mechanism,
      text: (expected) => (expected.private ? expected.mechanism : "not private"),
      below: remark,
      press: choose,
      presses: (expected) => expected.private,
    },
    number("Total ε", (expected) => expected.total_epsilon, (expected) => (expected.private ? loss(expected.total_epsilon) : "")),
    number("Expected error", (expected) => expected.error, (expected) => inUnit(expected.error)),
    number("Range of 9 in 10", (expected) => expected.low, (expected) => `${short(expected.low, DIGITS)} to ${short(expected.high, DIGITS)}`),
    number("ε, answer", (expected) => expected.epsilon, (expected) => (expected.private ? loss(expected.epsilon) : "")),
    number("Workers", (expected) => expected.workers, (expected) => count(expected.workers)),
    number("Answers per worker", (expected) => expected.answers, (expected) => count(expected.answers)),
  ];
}

function showRows() {
  const { plan } = made;
  table.show(columns(), plan.rows, null);
  const guesses = [...new Set(plan.rows.map((expected) => inUnit(expected.constant)))].sort();
  const between = guesses.length === 1 ? guesses[0] : `${guesses[0]} to ${guesses.at(-1)}`;
  const reached = plan.rows.filter((expected) => expected.meets).length;
  const wanted = plan.target === null ? "" : ` ${reached ? count(reached) : "No"} rows reach ${inUnit(plan.target)}.`;
  say(byId("plan-note"), `The best constant guess: ${between}.${wanted} Choose a mechanism for its command line.`);
}

function offerCurves() {
  const rows = made.plan.rows.filter((expected) => expected.private);
  const names = [...new Set(rows.map((expected) => curveName(expected)))];
  const options = names.map((name) => make("option", name));
  byId("plan-shown").replaceChildren(...options);
  byId("plan-shown-choice").hidden = names.length < 2;
  drawCurves();
}

function curveName(expected) {
  return `${expected.mechanism}, ${count(expected.answers)} answers per worker`;
}

function drawCurves() {
  if (made === null) {
    return;
  }
  const { plan } = made;
  const chosen = byId("plan-shown").value;
  const mine = plan.rows.filter((expected) => expected.private && curveName(expected) === chosen);
  const lossOf = (expected) => expected.total_epsilon;
  const lines = [...new Set(mine.map((expected) => expected.workers))].map((workers) => ({
    workers,
    loss: lossOf,
    rows: mine.filter((expected) => expected.workers === workers).sort((one, other) => lossOf(one) - lossOf(other)),
    plain: plan.rows.find((expected) => !expected.private && expected.workers === workers && expected.answers === mine[0].answers),
  }));
  const measured = made.unit && plan.score === "mae" ? ` (${made.unit})` : "";
  plotPlan(lines, plan.target, {
    x: "total ε of a person",
    y: `expected ${SCORES[plan.score]}${measured}`,
  });
}

function choose(expected) {
  byId("plan-chosen").hidden = false;
  say(byId("plan-command"), commandFor(made.order, expected, title || "TITLE"));
  say(byId("plan-loss"), `${expected.verdict} One answer of a person loses at most ε = ${loss(expected.epsilon)}; δ = 0.`);
  say(byId("plan-copied"), "");
  byId("plan-chosen-title").focus();
}

/** Copy the command line; if that is not allowed, select it. */
async function copy() {
  try {
    await navigator.clipboard.writeText(byId("plan-command").textContent);
    say(byId("plan-copied"), "Copied.");
  } catch {
    getSelection().selectAllChildren(byId("plan-command"));
    say(byId("plan-copied"), "The command is selected: copy it.");
  }
}

byId("plan-form").addEventListener("submit", send);
byId("plan-stop").addEventListener("click", leavePlan);
byId("plan-shown").addEventListener("change", drawCurves);
byId("plan-copy").addEventListener("click", copy);
new ResizeObserver(drawCurves).observe(byId("plan-figure"));
