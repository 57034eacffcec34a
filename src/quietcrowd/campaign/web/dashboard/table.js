// Tables that can be sorted by column.

import { count, make, say, showShare } from "./elements.js";

const FIRST = 20;
const FURTHER = 200;

const words = new Intl.Collator("en", { numeric: true });

/** Compare two values; missing ones are last in either direction. */
function compare(one, other, sign) {
  if (one === null || other === null) {
    return Number(one === null) - Number(other === null);
  }
  const numbers = typeof one === "number" && typeof other === "number";
  return sign * (numbers ? one - other : words.compare(String(one), String(other)));
}

/**
 * A table that shows its first rows, and more on demand. Once all loaded rows are shown, further
 * ones are loaded. Only loaded rows are sorted. A column has a `name` and functions of a row:
 * `value` to sort by, `text` to show, and `share` for a bar. The first column names the row. It may
 * have a text `below`, an action `press`, and a condition `presses`.
 */
export class SortableTable {
  #table;
  #more;
  #columns = [];
  #rows = [];
  #sorted = null;
  #sign = 1;
  #shown = FIRST;
  #load = null;

  constructor(table, more) {
    this.#table = table;
    this.#more = more;
    more.addEventListener("click", () => this.#showMore());
  }

  /** Show rows in the current order; `load` loads further ones, null at the end. */
  show(columns, rows, load) {
    const same = columns.map((column) => column.name).join() === this.#names();
    this.#columns = columns;
    this.#rows = rows;
    this.#load = load;
    if (!same) {
      this.#sorted = null;
      this.#makeHead();
    }
    this.#fill();
  }

  async #showMore() {
    const all = this.#shown >= this.#rows.length;
    this.#shown += FURTHER;
    if (all && this.#load !== null) {
      await this.#load();
    } else {
      this.#fill();
    }
  }

  #names() {
    return this.#columns.map((column) => column.name).join();
  }

  #makeHead() {
    const row = make("tr");
    this.#columns.forEach((column, place) => {
      const cell = make("th", "", column.numeric ? "numeric" : "");
      const button = make("button", column.name, "sort");
      cell.scope = "col";
      button.type = "button";
      button.addEventListener("click", () => this.#sortBy(place));
      cell.append(button);
      row.append(cell);
    });
    this.#table.tHead.replaceChildren(row);
  }

  #sortBy(place) {
    this.#sign = this.#sorted === place ? -this.#sign : 1;
    this.#sorted = place;
    [...this.#table.tHead.rows[0].cells].forEach((cell, other) => {
      if (other === place) {
        cell.setAttribute("aria-sort", this.#sign > 0 ? "ascending" : "descending");
      } else {
        cell.removeAttribute("aria-sort");
      }
    });
    this.#fill();
  }

  #fill() {
    const rows = [...this.#rows];
    if (this.#sorted !== null) {
      const { value } = this.#columns[this.#sorted];
      rows.sort((one, other) => compare(value(one), value(other), this.#sign));
    }
    const shown = rows.slice(0, this.#shown).map((row) => this.#makeRow(row));
    this.#table.tBodies[0].replaceChildren(...shown);
    const left = rows.length - shown.length;
    this.#more.hidden = left === 0 && this.#load === null;
    say(this.#more, left ? `Show ${count(Math.min(left, FURTHER))} more of ${count(left)}` : "Load more");
  }

  #makeRow(row) {
    const line = make("tr");
    this.#columns.forEach((column, place) => {
      const cell = make(place ? "td" : "th", "", column.numeric ? "numeric" : "");
      if (place === 0) {
        cell.scope = "row";
      }
      if (column.share) {
        showShare(cell, column.share(row), column.text(row));
      } else if (column.press && (column.presses?.(row) ?? true)) {
        const button = make("button", column.text(row), "link");
        button.type = "button";
        button.addEventListener("click", () => column.press(row));
        cell.append(button);
      } else {
        cell.textContent = column.text(row);
      }
      if (column.below) {
        cell.append(make("div", column.below(row), "quiet"));
      }
      line.append(cell);
    });
    return line;
  }
}
