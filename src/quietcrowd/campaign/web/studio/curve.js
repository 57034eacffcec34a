// The expected error by number of people: a curve with its range, and the same as a table.

import { draw, EDGE, HEIGHT, levelsOf, line, pathOf, spaced, WIDTH } from "./chart.js";
import { byId } from "./elements.js";
import { count, say, sentence, short, tableRow } from "./format.js";

const WANTED = 5; // approximate number of steps of the error axis
const NARROW = 72; // minimum pixels between two labels of the people axis
const DIGITS = 3;
const NAMES = { error_rate: "Wrong truths", mae: "Mean absolute error" };

/** The figure of the third step. */
export class Curve {
  #plot = byId("curve");

  /** Show a plan; the point of its row `mine` is marked. */
  show(plan, mine) {
    const rows = plan.rows.filter(({ private: isPrivate }) => isPrivate);
    const scales = new Scales(rows);
    const inWords = errorIn(plan.score);
    byId("curve-card").hidden = false;
    byId("curve-card").classList.remove("old");
    byId("curve-title").textContent = `${NAMES[plan.score]}, by number of people`;
    say(byId("assumed"), sentence(plan.assumed));
    this.#plot.replaceChildren(...axes(scales, rows, inWords), ...curve(scales, rows, mine, inWords));
    const cells = (row) => [inWords(row.error), `${inWords(row.low)} to ${inWords(row.high)}`];
    byId("curve-body").replaceChildren(...rows.map((row) => tableRow(count(row.workers), cells(row))));
  }
}

const errorIn = (score) => (error) => (score === "mae" ? short(error, DIGITS) : `${Math.round(100 * error)} %`);

/** Coordinates: log people from left to right, errors from the bottom up. */
class Scales {
  constructor(rows) {
    const sizes = rows.map((row) => Math.log(row.workers));
    [this.low, this.high] = [Math.min(...sizes), Math.max(...sizes)];
    const most = Math.max(...rows.map((row) => Math.max(row.high, row.constant))) || 1;
    this.levels = levelsOf(0, most, WANTED);
    this.most = this.levels.at(-1);
  }

  x(workers) {
    const part = this.high > this.low ? (Math.log(workers) - this.low) / (this.high - this.low) : 0.5;
    return EDGE.left + (WIDTH - EDGE.left - EDGE.right) * part;
  }

  y(error) {
    return HEIGHT - EDGE.bottom - ((HEIGHT - EDGE.bottom - EDGE.top) * error) / this.most;
  }
}

function axes(scales, rows, inWords) {
  const lines = scales.levels.flatMap((error) => line(scales.y(error), inWords(error)));
  const sizes = spaced(rows, (row) => scales.x(row.workers), NARROW).map((row) =>
    draw("text", { x: scales.x(row.workers), y: HEIGHT - EDGE.bottom + 22, class: "middle" }, count(row.workers)),
  );
  const name = draw("text", { x: (WIDTH + EDGE.left) / 2, y: HEIGHT - 6, class: "middle" }, "people");
  return [...lines, ...sizes, name];
}

function curve(scales, rows, mine, inWords) {
  const at = (member) => rows.map((row) => [scales.x(row.workers), scales.y(row[member])]);
  const guess = scales.y(mine.constant);
  const mark = [scales.x(mine.workers), scales.y(mine.error)];
  return [
    draw("polygon", { points: pathOf([...at("high"), ...at("low").reverse()]), class: "band" }),
    draw("line", { x1: EDGE.left, x2: WIDTH - EDGE.right, y1: guess, y2: guess, class: "guess" }),
    draw("text", { x: WIDTH - EDGE.right, y: guess - 6, class: "end" }, `a guess: ${inWords(mine.constant)}`),
    draw("polyline", { points: pathOf(at("error")), class: "line" }),
    draw("circle", { cx: mark[0], cy: mark[1], r: 6, class: "mark" }),
    draw("text", { x: mark[0], y: mark[1] + 24, class: "middle strong" }, `you: ${inWords(mine.error)}`),
  ];
}
