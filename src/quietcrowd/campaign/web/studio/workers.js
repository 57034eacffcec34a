// The table of people: their quality and privacy loss, and who is excluded.

import { setExcluded } from "./acts.js";
import { byId } from "./elements.js";
import { count, countedPeople, loss, percent, say } from "./format.js";
import { partly } from "./rows.js";
import { DataTable } from "./table.js";

// Results that an earlier version stored have a quality.
const qualityOf = ({ accuracy, weight, quality = null }) => accuracy ?? weight ?? quality;
const isExcluded = ({ reports }) => reports === null;
const REMARKS = { "to-be-excluded": " (to be excluded)", "to-be-included": " (to be included)" };

const levelOf = ({ choice = null }) => (choice === null ? "" : String(choice + 1));
const LEVEL = { name: "Level", numeric: true, value: levelOf, text: levelOf };

/** People by pseudonym; each can be excluded from results, and included again. */
export class Workers {
  #app;
  #table = new DataTable("People");
  #states = new Map(); // of exclusions, by pseudonym

  constructor(app) {
    this.#app = app;
    this.part = this.#table.part;
  }

  async show(results, loaded) {
    const { excluded = [] } = results ?? {};
    const { items } = await this.#app.api.json("excluded");
    this.#states = new Map(items.map(({ worker, state }) => [worker, state]));
    const rest = excluded.map((worker) => ({ worker, reports: null }));
    const isEmpty = !(loaded?.rows.length || rest.length);
    this.part.hidden = isEmpty;
    say(byId("workers-none"), isEmpty ? "None." : "");
    if (!isEmpty) {
      const note = () => this.#note(results, loaded);
      this.#table.show(this.#columns(loaded.rows, results, loaded), loaded, { rest, note });
    }
  }

  #columns(workers, results, loaded) {
    const numbers = workers.length > 0 && workers[0].error !== undefined;
    const best = workers.reduce((most, worker) => Math.max(most, qualityOf(worker) ?? 0), 0);
    const whole = numbers ? best || 1 : 1;
    const given = (text) => (worker) => (isExcluded(worker) ? "" : text(worker));
    const isOut = ({ worker }) => ["excluded", "to-be-excluded"].includes(this.#states.get(worker));
    const change = async ({ worker }) => {
      (await setExcluded(this.#app, worker, !isOut({ worker }))) && (await this.show(results, loaded));
    };
    return [
      { name: "Person", value: (worker) => worker.worker, text: (worker) => worker.worker + this.#remark(worker) },
      {
        name: numbers ? "Share of weight" : "Accuracy",
        numeric: true,
        value: qualityOf,
        text: given((worker) => percent(qualityOf(worker)) + interval(worker)),
        share: (worker) => (qualityOf(worker) === null ? null : qualityOf(worker) / whole),
      },
      ...(this.#app.campaign.menu === null ? [] : [LEVEL]),
      {
        name: "Reports",
        numeric: true,
        value: (worker) => worker.reports,
        text: given((worker) => count(worker.reports)),
      },
      {
        name: "ε spent",
        numeric: true,
        value: (worker) => (isExcluded(worker) ? null : (worker.total_tail ?? Infinity)),
        text: given((worker) => loss(worker.total_tail)),
      },
      {
        name: "Act",
        text: (worker) => (isOut(worker) ? "Include" : "Exclude"),
        describes: (worker) => worker.worker,
        press: change,
      },
    ];
  }

  #remark(worker) {
    return isExcluded(worker) ? " (excluded)" : (REMARKS[this.#states.get(worker.worker)] ?? "");
  }

  #note(results, loaded) {
    const { excluded = [] } = results;
    const left = excluded.length
      ? ` ${count(excluded.length)} more excluded: the results use none of their reports.`
      : "";
    const quality =
      loaded.rows[0]?.error === undefined
        ? "Accuracy is the most likely fraction of right answers, corrected for the noise, with its range in 9 of 10 cases."
        : "Bars are shares of the largest weight.";
    return `${countedPeople(results.workers)}, by pseudonym.${partly(loaded)}${left} ${quality}`;
  }
}

function interval(worker) {
  const { accuracy_low: low = null, accuracy_high: high = null } = worker;
  return low === null ? "" : ` (${percent(low)} to ${percent(high)})`;
}
