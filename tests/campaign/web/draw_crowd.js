// Many workers' answers, each drawn for by the page's own modules, as a device does it once.

import { draw } from "./worker/channels/index.js";
import { systemWords } from "./worker/channels/random.js";

/**
 * Return what each worker sends, as JSON: a value and a bit of each task, null where there is none;
 * or a sketch.
 * @param {object} terms  of a configuration
 * @param {string[]} tasks
 * @param {(string | number | boolean | null)[][]} rows  of answers, in the order of the tasks
 * @param {string} whose  JSON: which row each worker has
 */
export function drawCrowd(terms, tasks, rows, whose) {
  const given = rows.map((row) => tasks.map((task, i) => [task, row[i]]));
  const sent = JSON.parse(whose).map((row) => {
    const answers = new Map(given[row].filter(([, answer]) => answer !== null));
    return draw(terms, tasks, answers, systemWords);
  });
  if (sent[0].numbers) {
    return JSON.stringify({ numbers: sent.map(({ numbers }) => numbers) });
  }
  const inOrder = (member) =>
    sent.map(({ reports }) => {
      const found = new Map(reports.map((report) => [report.task, report[member]]));
      return tasks.map((task) => found.get(task) ?? null);
    });
  return JSON.stringify({ values: inOrder("value"), bits: inOrder("bit") });
}
