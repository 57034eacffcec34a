// Lists that can be searched.

import { byId } from "./elements.js";
import { count, say } from "./format.js";
import { loadAll } from "./rows.js";

const FIRST = 20;

/**
 * A list that shows its first entries, and more on demand; `part` is its element. Once all loaded
 * rows are shown, further ones are loaded; a search loads all. A subclass has `fill`, which shows
 * the entries that `first` returns.
 */
export class SearchedList {
  source = { rows: [], complete: true };
  #further;
  #more;
  #shown = FIRST;
  #left = 0; // entries that are not shown

  constructor(template, further) {
    this.part = byId(template).content.firstElementChild.cloneNode(true);
    this.search = this.part.querySelector("input");
    [this.#further, this.#more] = [further, this.part.lastElementChild];
    this.search.addEventListener("input", () => this.find());
    this.#more.addEventListener("click", () => this.#showMore());
  }

  /** Show the entries that contain the searched text; load all rows for it. */
  async find() {
    const [wanted, source] = [this.search.value, this.source];
    const isWanted = () => wanted && wanted === this.search.value && source === this.source;
    this.fill();
    await loadAll(source, isWanted, () => this.fill());
  }

  /** Return the entries to show: the first ones that contain the searched text. */
  first(entries, textOf) {
    const wanted = this.search.value.trim().toLowerCase();
    const isFound = (entry) => textOf(entry).toLowerCase().includes(wanted);
    const found = wanted ? entries.filter(isFound) : entries;
    const { complete } = this.source;
    this.search.parentElement.hidden = complete && entries.length <= FIRST && !wanted;
    this.#left = Math.max(0, found.length - this.#shown);
    this.#more.hidden = this.#left === 0 && complete;
    const next = Math.min(this.#left, this.#further);
    say(this.#more, next === this.#left ? `Show the other ${count(next)}` : `Show ${count(next)} more of ${count(this.#left)}`);
    return found.slice(0, this.#shown);
  }

  async #showMore() {
    if (this.#left === 0 && !this.source.complete) {
      await this.source.loadMore();
    }
    this.#shown += this.#further;
    this.fill();
  }
}
