// The table of workers: their quality and privacy loss.

import { byId, count, loss, percent, say } from "./elements.js";
import { partly } from "./pages.js";
import { SortableTable } from "./table.js";

const table = new SortableTable(byId("workers"), byId("workers-more"));
let latest = null;

// Results that an earlier version stored have a quality.
const qualityOf = ({ accuracy, weight, quality = null }) => accuracy ?? weight ?? quality;

function columns(workers) {
  const numbers = workers.length > 0 && workers[0].error !== undefined;
  const best = workers.reduce((most, worker) => Math.max(most, qualityOf(worker) ?? 0), 0);
  const whole = numbers ? best || 1 : 1;
  return [
    {
      name: "Worker",
      value: (worker) => worker.worker,
      text: (worker) => worker.worker + (isExcluded(worker) ? " (excluded)" : ""),
    },
    {
      name: numbers ? "Share of weight" : "Accuracy",
      numeric: true,
      value: qualityOf,
      text: (worker) => (isExcluded(worker) ? "" : percent(qualityOf(worker)) + interval(worker)),
      share: (worker) => (qualityOf(worker) === null ? null : qualityOf(worker) / whole),
    },
    {
      name: "Reports",
      numeric: true,
      value: (worker) => worker.reports,
      text: (worker) => (isExcluded(worker) ? "" : count(worker.reports)),
    },
    {
      name: "ε spent",
      numeric: true,
      value: (worker) => (isExcluded(worker) ? null : worker.total_tail ?? Infinity),
      text: (worker) => (isExcluded(worker) ? "" : loss(worker.total_tail)),
    },
  ];
}

const isExcluded = ({ reports }) => reports === null;

function interval(worker) {
  const { accuracy_low: low = null, accuracy_high: high = null } = worker;
  return low === null ? "" : ` (${percent(low)} to ${percent(high)})`;
}

export function showWorkers(results, loaded) {
  latest = loaded;
  const excluded = results?.excluded ?? [];
  const rows = excluded.map((worker) => ({ worker, reports: null }));
  const workers = results === null ? [] : [...loaded.rows, ...rows];
  byId("workers-found").hidden = workers.length === 0;
  say(byId("workers-none"), workers.length ? "" : "None.");
  const further = results === null || loaded.complete ? null : () => showFurther(results, loaded);
  table.show(columns(workers), workers, further);
  say(byId("workers-note"), workers.length ? note(results, loaded) : "");
}

async function showFurther(results, loaded) {
  await loaded.loadMore();
  if (latest === loaded) {
    showWorkers(results, loaded);
  }
}

function note(results, loaded) {
  const { excluded = [] } = results;
  const left = excluded.length
    ? ` ${count(excluded.length)} more excluded: the results use none of their reports.`
    : "";
  const quality =
    loaded.rows[0]?.error === undefined
      ? "Accuracy is the most likely fraction of right answers, corrected for the noise, with its range in 9 of 10 cases."
      : "Bars are shares of the largest weight.";
  return `${count(results.workers)} workers, by pseudonym.${partly(loaded)}${left} ${quality}`;
}
