// The table of truths.

import { byId } from "./elements.js";
import { count, measured, percent, say, short } from "./format.js";
import { partly } from "./rows.js";
import { DataTable } from "./table.js";

/** Truths with their confidence, or with their standard errors. */
export class Truths {
  #table = new DataTable("Truths");
  #questions;
  #latest = null;

  constructor(questions) {
    this.#questions = questions;
    this.part = this.#table.part;
  }

  /** Connect the elements of the screen. */
  ready() {
    byId("undecided").addEventListener("change", () => this.showAgain());
  }

  show(results, loaded) {
    this.#latest = results && [results, loaded];
    this.showAgain();
  }

  /** Show the truths again, with their tasks' questions. */
  showAgain() {
    const [results, { rows: truths }] = this.#latest ?? [null, { rows: [] }];
    const labels = truths.length > 0 && truths[0].confidence !== undefined;
    this.part.hidden = truths.length === 0;
    byId("undecided").parentElement.hidden = !labels;
    const none = "None yet: truths appear shortly after the first reports are shown.";
    say(byId("truths-none"), truths.length ? "" : results === null ? none : "None.");
    if (truths.length) {
      const columns = labels ? this.#labelColumns() : this.#numberColumns(truths);
      const keep = labels && byId("undecided").checked ? isUndecided : undefined;
      const note = () => this.#note(results, this.#latest[1], labels);
      this.#table.show(columns, this.#latest[1], { keep, note });
    }
  }

  #task() {
    return {
      name: "Question",
      value: (truth) => truth.task,
      text: (truth) => String(truth.task),
      below: (truth) => this.#questions.texts.get(truth.task) ?? "",
    };
  }

  #remark(truth) {
    if (this.#questions.known.has(truth.task)) {
      return " (known)";
    }
    return truth.tied ? " (tied)" : "";
  }

  #likeliest(truth) {
    return `likeliest: ${truth.truth}${this.#remark(truth)}`;
  }

  #labelColumns() {
    return [
      this.#task(),
      {
        name: "Truth",
        value: (truth) => (truth.decided ? truth.truth : null),
        text: (truth) => (truth.decided ? String(truth.truth) + this.#remark(truth) : "undecided"),
        below: (truth) => (isUndecided(truth) && truth.truth !== null ? this.#likeliest(truth) : ""),
      },
      {
        name: "Confidence",
        numeric: true,
        value: (truth) => truth.confidence,
        text: ({ confidence: sure }) => percent(sure === null ? null : Math.floor(1000 * sure) / 1000),
        share: (truth) => truth.confidence,
        faint: isUndecided,
      },
      REPORTS,
    ];
  }

  /** Return the columns of numeric truths; bars are fractions of the largest error. */
  #numberColumns(truths) {
    const largest = truths.reduce((most, truth) => Math.max(most, truth.standard_error ?? 0), 0);
    return [
      this.#task(),
      {
        name: "Truth",
        numeric: true,
        value: (truth) => truth.truth,
        text: (truth) => measured(truth.truth, truth.standard_error) + this.#remark(truth),
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

  #note(results, loaded, labels) {
    const { size } = this.#questions.known;
    const before = size ? ` ${count(size)} known beforehand.` : "";
    const found = `${count(results.truths)} questions. Method: ${results.method.method}.${before}${partly(loaded)}`;
    if (!labels) {
      return `${found} Standard errors include the noise, but no bias.`;
    }
    const open = count(loaded.rows.filter(isUndecided).length);
    const what = `${open} undecided: tied, or less than ${percent(results.decided_from, 0)} sure.`;
    return `${found} ${what} Confidence is the probability of the truth under the method’s model.`;
  }
}

const REPORTS = {
  name: "Reports",
  numeric: true,
  value: (truth) => truth.reports,
  text: ({ reports, again = 0 }) =>
    again > 0 ? `${count(reports)} (${count(again)} sent again)` : count(reports),
};

function isUndecided(truth) {
  return !truth.decided;
}
