// Many workers' answers, each drawn for by the page's own modules, as a device does it once.

import { draw } from "./worker/mechanisms/draw.js";
import { drawDeviation } from "./worker/mechanisms/gaussian.js";
import { systemWords } from "./worker/mechanisms/words.js";

let started = []; // the first words of each worker's draw, where it is told what they gave

/** Return words that are given, and the browser's where there are no more. */
function followed(first) {
  let taken = 0;
  return (count) => {
    if (taken === first.length) {
      return systemWords(count);
    }
    taken += count;
    return Uint32Array.from(first.slice(taken - count, taken));
  };
}

/** Draw the secret deviation of each worker; the draw that follows begins with the same words. */
export function drawDeviations({ variance_unit: unit, least_units: least }, workers) {
  started = [];
  const drawn = Array.from({ length: workers }, () => {
    const words = [];
    started.push(words);
    return drawDeviation(unit, least, (count) => {
      const given = systemWords(count);
      words.push(...given);
      return given;
    });
  });
  return JSON.stringify(drawn);
}

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
  const sent = JSON.parse(whose).map((row, worker) => {
    const words = started.length ? followed(started[worker]) : systemWords;
    const answers = new Map(given[row].filter(([, answer]) => answer !== null));
    return draw(terms, tasks, answers, words);
  });
  started = [];
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
