// Tables that can be sorted and searched.

import { element } from "./elements.js";
import { say, showShare } from "./format.js";
import { SearchedList } from "./searched.js";

const FURTHER = 200; // rows that are shown at once

export const words = new Intl.Collator("en", { numeric: true });

/** Compare two values; missing ones are last in either direction. */
function compare(one, other, sign) {
  if (one === null || other === null) {
    return Number(one === null) - Number(other === null);
  }
  const numbers = typeof one === "number" && typeof other === "number";
  return sign * (numbers ? one - other : words.compare(String(one), String(other)));
}

/**
 * A column has a `name` and functions of a row: `value` to sort by, `text` to show, and `share` for
 * a bar, which is grey where `faint`. The first column names the row and may have a `link`. A column
 * may have a text `below` and an action: a `press` and its `describes`.
 */
export class DataTable extends SearchedList {
  #table = this.part.querySelector("table");
  #columns = [];
  #rest = [];
  #keep;
  #note;
  #sorted = null;
  #sign = 1;

  constructor(name) {
    super("data-table", FURTHER);
    this.part.querySelector(".table").setAttribute("aria-label", name);
    this.search.setAttribute("aria-label", `Search: ${name}`);
  }

  /** Show rows of a source, and the `rest`, that `keep` accepts; `note` returns a sentence. */
  show(columns, source, { rest = [], keep = () => true, note }) {
    const names = (all) => all.map(({ name }) => name).join();
    const same = names(columns) === names(this.#columns);
    [this.#columns, this.source, this.#rest] = [columns, source, rest];
    [this.#keep, this.#note] = [keep, note];
    if (!same) {
      this.#sorted = null;
      this.#makeHead();
    }
    this.find();
  }

  #makeHead() {
    const head = element("tr", { role: "row" });
    this.#columns.forEach((column, place) => {
      const cell = element("th", { scope: "col", role: "columnheader", class: column.numeric ? "numeric" : "" });
      if (column.value) {
        const sort = () => this.#sortBy(place);
        cell.append(element("button", { type: "button", class: "sort", click: sort }, column.name));
      } else {
        cell.append(element("span", { class: "hide" }, column.name));
      }
      head.append(cell);
    });
    this.#table.tHead.replaceChildren(head);
  }

  #sortBy(place) {
    this.#sign = this.#sorted === place ? -this.#sign : 1;
    this.#sorted = place;
    const { cells } = this.#table.tHead.rows[0];
    [...cells].forEach((cell) => cell.removeAttribute("aria-sort"));
    cells[place].setAttribute("aria-sort", this.#sign > 0 ? "ascending" : "descending");
    this.fill();
  }

  fill() {
    const rows = [...this.source.rows, ...this.#rest].filter(this.#keep);
    if (this.#sorted !== null) {
      const { value } = this.#columns[this.#sorted];
      rows.sort((one, other) => compare(value(one), value(other), this.#sign));
    }
    const [named] = this.#columns;
    const shown = this.first(rows, (row) => `${named.text(row)} ${named.below?.(row) ?? ""}`);
    this.#table.tBodies[0].replaceChildren(...shown.map((row) => this.#makeRow(row)));
    say(this.part.firstElementChild, this.#note());
  }

  #makeRow(row) {
    const cells = this.#columns.map((column, place) => {
      const named = { "data-label": column.press ? "" : column.name };
      const shown = place
        ? element("td", { role: "cell", ...named })
        : element("th", { scope: "row", role: "rowheader" });
      shown.classList.toggle("numeric", column.numeric ?? false);
      if (column.share) {
        showShare(shown, column.share(row), column.text(row));
      } else if (column.link) {
        shown.append(element("a", { href: column.link(row) }, column.text(row)));
      } else if (column.press && column.text(row)) {
        const attributes = { type: "button", class: "plain", click: () => column.press(row) };
        const name = { "aria-label": `${column.text(row)} ${column.describes(row)}` };
        shown.append(element("button", { ...attributes, ...name }, column.text(row)));
      } else {
        shown.textContent = column.text(row);
      }
      shown.classList.toggle("faint", column.faint?.(row) ?? false);
      const below = column.below?.(row);
      below && shown.append(element("div", { class: "quiet" }, below));
      return shown;
    });
    return element("tr", { role: "row" }, ...cells);
  }
}
