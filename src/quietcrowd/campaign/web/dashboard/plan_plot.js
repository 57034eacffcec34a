// The plot of a plan: expected error against ε, one line per number of workers.

import { byId, count, loss, make, short } from "./elements.js";

const HEIGHT = 320;
const EDGE = { left: 52, right: 12, top: 12, bottom: 44 };
const STEPS = [1, 2, 2.5, 5, 10];
const WANTED = 5; // approximate number of steps of the error axis
const NARROW = 28; // minimum pixels between two labels of the ε axis
const SERIES = 4; // colors; further lines are dashed
const PLOT = byId("plan-plot");

function draw(kind, attributes, text = "") {
  const part = document.createElementNS(PLOT.namespaceURI, kind);
  for (const [name, value] of Object.entries(attributes)) {
    part.setAttribute(name, typeof value === "number" ? value.toFixed(1) : value);
  }
  part.textContent = text;
  return part;
}

/** Return the distance of two ticks of an axis that starts at 0. */
function step(most) {
  const rough = most / WANTED;
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * STEPS.find((one) => one * power >= rough);
}

function seriesClass(place) {
  return `series-${(place % SERIES) + 1}${place < SERIES ? "" : " dashed"}`;
}

/** Coordinates: log ε from left to right, errors from the bottom up. */
class Scales {
  constructor(rows, loss_, target) {
    const losses = rows.map((row) => Math.log(loss_(row)));
    this.low = Math.min(...losses);
    this.high = Math.max(...losses);
    if (this.low === this.high) {
      this.low -= 0.5;
      this.high += 0.5;
    }
    const most = Math.max(...rows.map((row) => Math.max(row.high, row.constant)), target ?? 0) || 1;
    this.step = step(most);
    this.most = this.step * Math.ceil(most / this.step - 1e-9);
    this.width = PLOT.clientWidth || PLOT.parentElement.clientWidth;
  }

  x(epsilon) {
    const room = this.width - EDGE.left - EDGE.right;
    return EDGE.left + (room * (Math.log(epsilon) - this.low)) / (this.high - this.low);
  }

  y(error) {
    return HEIGHT - EDGE.bottom - ((HEIGHT - EDGE.bottom - EDGE.top) * error) / this.most;
  }
}

function axes(scales, losses, names) {
  const found = [];
  const [left, right] = [EDGE.left, scales.width - EDGE.right];
  for (let error = 0; error <= scales.most * (1 + 1e-9); error += scales.step) {
    const y = scales.y(error);
    found.push(draw("line", { x1: left, x2: right, y1: y, y2: y, class: "grid" }));
    found.push(draw("text", { x: left - 6, y: y + 4, class: "tick end" }, short(error, 3)));
  }
  let last = -Infinity;
  for (const epsilon of losses) {
    const x = scales.x(epsilon);
    if (x - last >= NARROW) {
      found.push(draw("text", { x, y: HEIGHT - EDGE.bottom + 18, class: "tick middle" }, loss(epsilon)));
      last = x;
    }
  }
  const middle = (left + right) / 2;
  found.push(draw("text", { x: middle, y: HEIGHT - 6, class: "axis middle" }, names.x));
  const turn = `rotate(-90 12 ${(HEIGHT - EDGE.bottom) / 2})`;
  found.push(draw("text", { x: 12, y: (HEIGHT - EDGE.bottom) / 2, class: "axis middle", transform: turn }, names.y));
  return found;
}

function across(scales, error, kind) {
  const y = scales.y(error);
  return draw("line", { x1: EDGE.left, x2: scales.width - EDGE.right, y1: y, y2: y, class: kind });
}

/** Return the band, line and points of one number of workers. */
function curve(scales, line, place) {
  const points = line.rows.map((row) => [scales.x(line.loss(row)), row]);
  const path = (list) => list.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ");
  const above = points.map(([x, row]) => [x, scales.y(row.high)]);
  const below = points.map(([x, row]) => [x, scales.y(row.low)]).reverse();
  const middle = points.map(([x, row]) => [x, scales.y(row.error)]);
  const kind = seriesClass(place);
  const whiskers = points.map(([x, row]) =>
    draw("line", { x1: x, x2: x, y1: scales.y(row.low), y2: scales.y(row.high), class: `whisker ${kind}` }),
  );
  return [
    draw("polygon", { points: path([...above, ...below]), class: `band ${kind}` }),
    ...(points.length === 1 ? whiskers : []),
    ...(line.plain === undefined ? [] : [across(scales, line.plain.error, `plain ${kind}`)]),
    draw("polyline", { points: path(middle), class: `curve ${kind}` }),
    ...middle.map(([x, y]) => draw("circle", { cx: x, cy: y, r: 3.5, class: `point ${kind}` })),
  ];
}

function entry(kind, text) {
  const item = make("li");
  const sample = draw("svg", { viewBox: "0 0 28 10", class: "sample", "aria-hidden": "true" });
  sample.append(draw("line", { x1: 1, x2: 27, y1: 5, y2: 5, class: kind }));
  item.append(sample, ` ${text}`);
  return item;
}

function explain(lines, target) {
  const entries = lines.map((line, place) => entry(`curve ${seriesClass(place)}`, `${count(line.workers)} workers`));
  entries.push(entry("plain", "the same, not private"), entry("guess", "best constant guess"));
  if (target !== null) {
    entries.push(entry("target", "target"));
  }
  byId("plan-legend").replaceChildren(...entries);
}

/**
 * Draw lines, given `workers`, `rows` sorted by ε, `loss` of a row, and `plain`, the row without
 * noise. `names` are the titles of the axes.
 */
export function plotPlan(lines, target, names) {
  const rows = lines.flatMap((line) => line.rows);
  if (rows.length === 0) {
    PLOT.replaceChildren();
    return;
  }
  const { loss: lossOf } = lines[0];
  const losses = [...new Set(rows.map(lossOf))].sort((one, other) => one - other);
  const scales = new Scales(rows, lossOf, target);
  const constant = rows.reduce((sum, row) => sum + row.constant, 0) / rows.length;
  PLOT.setAttribute("viewBox", `0 0 ${scales.width} ${HEIGHT}`);
  PLOT.setAttribute("height", HEIGHT);
  PLOT.replaceChildren(
    ...axes(scales, losses, names),
    across(scales, constant, "guess"),
    ...(target === null ? [] : [across(scales, target, "target")]),
    ...lines.flatMap((line, place) => curve(scales, line, place)),
  );
  explain(lines, target);
}
