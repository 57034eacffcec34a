// Parts of charts: axes, lines and bands in SVG.

import { byId } from "./elements.js";

export const WIDTH = 560;
export const HEIGHT = 280;
export const EDGE = { left: 60, right: 16, top: 16, bottom: 56 };
const STEPS = [1, 2, 2.5, 5, 10];

/** Return an SVG element. */
export function draw(kind, attributes, text = "") {
  const part = document.createElementNS(byId("bar").content.firstElementChild.namespaceURI, kind);
  for (const [name, value] of Object.entries(attributes)) {
    part.setAttribute(name, typeof value === "number" ? value.toFixed(1) : value);
  }
  part.textContent = text;
  return part;
}

/** Return round numbers from at most `low` to at least `high`, in about `wanted` steps. */
export function levelsOf(low, high, wanted) {
  const power = 10 ** Math.floor(Math.log10((high - low) / wanted));
  const step = power * STEPS.find((one) => one * power >= (high - low) / wanted);
  const [first, last] = [Math.floor(low / step + 1e-9), Math.ceil(high / step - 1e-9)];
  return Array.from({ length: last - first + 1 }, (_, i) => (first + i) * step);
}

/** Return a line across a chart, with its label. */
export function line(y, label) {
  return [
    draw("line", { x1: EDGE.left, x2: WIDTH - EDGE.right, y1: y, y2: y, class: "grid" }),
    draw("text", { x: EDGE.left - 6, y: y + 5, class: "end" }, label),
  ];
}

/** Return the rows whose places are at least `narrow` pixels apart. */
export function spaced(rows, placeOf, narrow) {
  let last = -Infinity;
  return rows.filter((row) => {
    const isApart = placeOf(row) - last >= narrow;
    last = isApart ? placeOf(row) : last;
    return isApart;
  });
}

export const pathOf = (points) => points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ");
