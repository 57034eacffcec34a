// Estimated shares, means and histograms with their intervals: bars, with the numbers as text.

import { byId, element } from "./elements.js";
import { count, counted, countedPeople, percent, say, sentence, short, tableRow } from "./format.js";
import { SearchedList } from "./searched.js";

const FURTHER = 20; // questions that are shown at once
const DIGITS = 3;
const inPercent = (share) => 100 * Math.min(1, Math.max(0, share));
const points = (share) => String(Math.round(inPercent(share)));

/** The questions with their estimates, in their order. */
export class Shares extends SearchedList {
  #questions;
  #estimates = null;

  constructor(questions) {
    super("share-list", FURTHER);
    this.#questions = questions;
  }

  show(estimates, loaded) {
    [this.#estimates, this.source] = [estimates, loaded ?? { rows: [], complete: true }];
    this.find();
  }

  fill() {
    const shown = this.first(this.#grouped(), ([task]) => this.#name(task));
    const items = shown.map(([task, rows]) => this.#question(task, rows));
    this.part.querySelector("ul").replaceChildren(...items);
    say(this.part.querySelector("[role=status]"), this.#note());
  }

  #note() {
    if (this.#estimates === null) {
      return "None yet: estimates appear shortly after the first reports are shown.";
    }
    const { shown, confidence, why_none: why } = this.#estimates;
    if (why !== null) {
      return sentence(why);
    }
    return (
      `From ${countedPeople(shown)}. Lines are ${percent(confidence, 0)} intervals for the noise and for who was ` +
      `asked: about ${count(Math.round(100 * (1 - confidence)))} in 100 miss.`
    );
  }

  /** Return the rows of each task: one per label, or one with a mean. */
  #grouped() {
    const found = new Map();
    for (const estimate of this.source.rows) {
      found.set(estimate.task, [...(found.get(estimate.task) ?? []), estimate]);
    }
    return [...found];
  }

  #name(task) {
    return this.#questions.texts.get(task) ?? String(task);
  }

  #question(task, rows) {
    const name = this.#name(task);
    const heading = element("h3", { dir: "auto" }, name);
    const [first] = rows;
    const small = element("p", { class: "quiet" }, `${task} · ${counted(first.reports, "report")}`);
    const parts = first.mean === undefined ? shareBars(rows) : meanBars(first);
    return element("li", {}, heading, small, ...parts, ...tableOf(name, rows));
  }
}

/** Return a bar for each label. */
function shareBars(rows) {
  return rows.map((estimate) => bar(nameOf(estimate.label), estimate));
}

function meanBars({ mean, low, high, histogram }) {
  const number = (value) => short(value, DIGITS);
  const average = `${number(mean)} on average (${number(low)} to ${number(high)})`;
  const bins = (histogram ?? []).map((one) => bar(edges(one), one));
  return [element("p", { class: "big" }, average), ...bins];
}

const edges = ({ low_edge: low, high_edge: high }) =>
  low === high ? short(low, DIGITS) : `${short(low, DIGITS)} to ${short(high, DIGITS)}`;

const nameOf = (label) => (label === null ? "no answer" : String(label));
const inWords = ({ share, low, high }) =>
  share === null ? "no reports" : `${points(share)} % (${points(low)} to ${points(high)})`;

/** Return a named bar with its interval, and the numbers as text. */
function bar(name, estimate) {
  const drawn = byId("interval").content.firstElementChild.cloneNode(true);
  const within = (share) => inPercent(share ?? 0);
  const [part, line, low, high, mark] = drawn.querySelectorAll(".part, .line, .low, .high, .mark");
  const at = (one, places) =>
    Object.entries(places).forEach(([place, value]) => one.setAttribute(place, String(value)));
  at(part, { width: within(estimate.share) });
  at(line, { x1: within(estimate.low), x2: within(estimate.high) });
  at(low, { x1: within(estimate.low), x2: within(estimate.low) });
  at(high, { x1: within(estimate.high), x2: within(estimate.high) });
  at(mark, { x1: within(estimate.share), x2: within(estimate.share) });
  const names = element("span", { dir: "auto" }, name);
  const head = element("div", { class: "row apart" }, names, element("span", { class: "number" }, inWords(estimate)));
  return element("div", { class: "interval" }, head, drawn);
}

/** Return the numbers of a question as a table, folded; nothing for a mean alone. */
function tableOf(name, rows) {
  const [{ histogram, mean }] = rows;
  const bins = mean === undefined ? rows : (histogram ?? []);
  const cells = bins.map((one) => {
    const label = mean === undefined ? nameOf(one.label) : edges(one);
    const numbers = [one.share, one.low, one.high].map((share) => percent(share));
    return tableRow(label, numbers);
  });
  const heads = ["Answer", "Share", "From", "To"].map((text) => element("th", { scope: "col" }, text));
  const parts = [element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...cells)];
  const region = { class: "table", role: "region", tabindex: 0, "aria-label": `Shares: ${name}` };
  const fold = element("summary", { "aria-label": `As a table: ${name}` }, "As a table");
  const table = element("details", {}, fold, element("div", region, element("table", {}, ...parts)));
  return bins.length ? [table] : [];
}
