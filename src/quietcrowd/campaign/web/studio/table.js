// Tables that can be sorted and searched.

import { byId, element } from "./elements.js";
import { count, say, showShare } from "./format.js";
import { loadAll } from "./rows.js";

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
 * A table that shows its first rows, and more on demand; `part` is its element. Once all loaded rows
 * are shown, further ones are loaded; a search loads all. A column has a `name` and functions of a
 * row: `value` to sort by, `text` to show, and `share` for a bar. The first column names the row.
 * It may have a text `below` and a `link`. A column may have an action: a `press` and its
 * `describes`.
 */
export class DataTable {
  #table;
  #more;
  #told;
  #search;
  #columns = [];
  #source = { rows: [], complete: true };
  #keep = null;
  #note = () => "";
  #sorted = null;
  #sign = 1;
  #shown = FIRST;

  constructor(name) {
    this.part = byId("data-table").content.firstElementChild.cloneNode(true);
    [this.#table, this.#more] = [this.part.querySelector("table"), this.part.lastElementChild];
    this.#told = this.part.firstElementChild;
    [this.#search] = this.part.getElementsByTagName("input");
    this.part.querySelector(".table").setAttribute("aria-label", name);
    this.#more.addEventListener("click", () => this.#showMore());
    this.#search.setAttribute("aria-label", `Search: ${name}`);
    this.#search.addEventListener("input", () => this.#find());
  }

  /** Show the rows of a source that `keep` accepts; `note` returns a sentence about them. */
  show(columns, source, { keep = null, note = () => "" } = {}) {
    const names = (all) => all.map(({ name }) => name).join();
    const same = names(columns) === names(this.#columns);
    [this.#columns, this.#source, this.#keep, this.#note] = [columns, source, keep, note];
    if (!same) {
      this.#sorted = null;
      this.#makeHead();
    }
    this.#find();
  }

  async #showMore() {
    if (this.#shown >= this.#found().length && !this.#source.complete) {
      await this.#source.loadMore();
    }
    this.#shown += FURTHER;
    this.#fill();
  }

  /** Show the rows that contain the searched text; load all rows for it. */
  async #find() {
    const [wanted, source] = [this.#search.value, this.#source];
    const isWanted = () => wanted && wanted === this.#search.value && source === this.#source;
    this.#fill();
    await loadAll(source, isWanted, () => this.#fill());
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
    [...this.#table.tHead.rows[0].cells].forEach((cell, other) => {
      if (other === place) {
        cell.setAttribute("aria-sort", this.#sign > 0 ? "ascending" : "descending");
      } else {
        cell.removeAttribute("aria-sort");
      }
    });
    this.#fill();
  }

  #found() {
    const wanted = this.#search.value.trim().toLowerCase();
    const [first] = this.#columns;
    const text = (row) => `${first.text(row)} ${first.below?.(row) ?? ""}`.toLowerCase();
    const kept = this.#keep === null ? this.#source.rows : this.#source.rows.filter(this.#keep);
    return wanted ? kept.filter((row) => text(row).includes(wanted)) : [...kept];
  }

  #fill() {
    const rows = this.#found();
    if (this.#sorted !== null) {
      const { value } = this.#columns[this.#sorted];
      rows.sort((one, other) => compare(value(one), value(other), this.#sign));
    }
    const shown = rows.slice(0, this.#shown).map((row) => this.#makeRow(row));
    this.#table.tBodies[0].replaceChildren(...shown);
    say(this.#told, this.#note());
    const { complete } = this.#source;
    this.#search.parentElement.hidden = complete && this.#source.rows.length <= FIRST;
    const left = rows.length - shown.length;
    this.#more.hidden = left === 0 && complete;
    say(this.#more, left ? `Show ${count(Math.min(left, FURTHER))} more of ${count(left)}` : "Load more");
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
      if (column.below) {
        shown.append(element("div", { class: "quiet" }, column.below(row)));
      }
      return shown;
    });
    return element("tr", { role: "row" }, ...cells);
  }
}
