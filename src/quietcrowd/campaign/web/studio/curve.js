// The expected error by number of people: a curve with its range, and the same as a table.

import { byId } from "./elements.js";
import { count, say, sentence, short, tableRow } from "./format.js";

const [WIDTH, HEIGHT] = [560, 280];
const EDGE = { left: 60, right: 16, top: 16, bottom: 56 };
const STEPS = [1, 2, 2.5, 5, 10];
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
    byId("curve-body").replaceChildren(...rows.map((row) => rowOf(row, inWords)));
  }
}

const errorIn = (score) => (error) => (score === "mae" ? short(error, DIGITS) : `${Math.round(100 * error)} %`);

/** Coordinates: log people from left to right, errors from the bottom up. */
class Scales {
  constructor(rows) {
    const sizes = rows.map((row) => Math.log(row.workers));
    [this.low, this.high] = [Math.min(...sizes), Math.max(...sizes)];
    const most = Math.max(...rows.map((row) => Math.max(row.high, row.constant))) || 1;
    const power = 10 ** Math.floor(Math.log10(most / WANTED));
    this.step = power * STEPS.find((one) => one * power >= most / WANTED);
    this.most = this.step * Math.ceil(most / this.step - 1e-9);
  }

  x(workers) {
    const part = this.high > this.low ? (Math.log(workers) - this.low) / (this.high - this.low) : 0.5;
    return EDGE.left + (WIDTH - EDGE.left - EDGE.right) * part;
  }

  y(error) {
    return HEIGHT - EDGE.bottom - ((HEIGHT - EDGE.bottom - EDGE.top) * error) / this.most;
  }
}

function draw(kind, attributes, text = "") {
  const part = document.createElementNS(byId("curve").namespaceURI, kind);
  for (const [name, value] of Object.entries(attributes)) {
    part.setAttribute(name, typeof value === "number" ? value.toFixed(1) : value);
  }
  part.textContent = text;
  return part;
}

function axes(scales, rows, inWords) {
  const ends = { x1: EDGE.left, x2: WIDTH - EDGE.right };
  const count_ = Math.round(scales.most / scales.step);
  const levels = Array.from({ length: count_ + 1 }, (_, i) => i * scales.step);
  const lines = levels.flatMap((error) => [
    draw("line", { ...ends, y1: scales.y(error), y2: scales.y(error), class: "grid" }),
    draw("text", { x: EDGE.left - 6, y: scales.y(error) + 5, class: "end" }, inWords(error)),
  ]);
  let last = -Infinity;
  const apart = rows.filter((row) => {
    const isApart = scales.x(row.workers) - last >= NARROW;
    last = isApart ? scales.x(row.workers) : last;
    return isApart;
  });
  const sizes = apart.map((row) =>
    draw("text", { x: scales.x(row.workers), y: HEIGHT - EDGE.bottom + 22, class: "middle" }, count(row.workers)),
  );
  const name = draw("text", { x: (WIDTH + EDGE.left) / 2, y: HEIGHT - 6, class: "middle" }, "people");
  return [...lines, ...sizes, name];
}

function curve(scales, rows, mine, inWords) {
  const path = (points) => points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ");
  const at = (member) => rows.map((row) => [scales.x(row.workers), scales.y(row[member])]);
  const guess = scales.y(mine.constant);
  const mark = [scales.x(mine.workers), scales.y(mine.error)];
  return [
    draw("polygon", { points: path([...at("high"), ...at("low").reverse()]), class: "band" }),
    draw("line", { x1: EDGE.left, x2: WIDTH - EDGE.right, y1: guess, y2: guess, class: "guess" }),
    draw("text", { x: WIDTH - EDGE.right, y: guess - 6, class: "end" }, `a guess: ${inWords(mine.constant)}`),
    draw("polyline", { points: path(at("error")), class: "line" }),
    draw("circle", { cx: mark[0], cy: mark[1], r: 6, class: "mark" }),
    draw("text", { x: mark[0], y: mark[1] + 24, class: "middle strong" }, `you: ${inWords(mine.error)}`),
  ];
}

function rowOf(row, inWords) {
  return tableRow(count(row.workers), [inWords(row.error), `${inWords(row.low)} to ${inWords(row.high)}`]);
}
