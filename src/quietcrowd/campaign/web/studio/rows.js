// Rows of results. There may be very many, so they are loaded page by page.

import { Refusal } from "./api.js";
import { count } from "./format.js";

const UNCHANGED = 304;
const CONFLICT = 409;

/** The latest results of a campaign: their head, and their rows of several kinds. */
export class Results {
  #api;
  #etag = null;
  #round = null;

  constructor(api) {
    this.#api = api;
  }

  /** Read the results of a round from now on; null for the last. */
  set round(number) {
    this.#etag = number === this.#round ? this.#etag : null;
    this.#round = number;
  }

  /** Return a document, null without results, undefined if it is unchanged; none has no reports. */
  async read(path, reports) {
    if (reports === 0) {
      this.#etag = null;
      return null;
    }
    const known = this.#etag === null ? {} : { "If-None-Match": this.#etag };
    const round = this.#round;
    try {
      const response = await this.#api.fetch(this.#at(path), { headers: known });
      if (response.status === UNCHANGED) {
        return undefined;
      }
      const results = await response.json();
      if (round !== this.#round) {
        return undefined; // another one was chosen meanwhile
      }
      this.#etag = response.headers.get("ETag");
      return results;
    } catch (error) {
      if (error.status === CONFLICT) {
        this.#etag = null;
        return null;
      }
      throw error;
    }
  }

  #at(path, more = {}) {
    const wanted = new URLSearchParams({ ...(this.#round === null ? {} : { round: this.#round }), ...more });
    return wanted.size ? `${path}?${wanted}` : path;
  }

  /** Return rows of a kind, with their first page, which may have been read before. */
  async rows(path, first = null) {
    const loaded = new LoadedRows(this, path);
    loaded.add(first ?? (await this.page(path, null)));
    return loaded;
  }

  /** Return a page of rows. If that fails, or results have changed, the next ones count as new. */
  async page(path, cursor) {
    try {
      const response = await this.#api.fetch(this.#at(path, cursor === null ? {} : { cursor }));
      if (response.headers.get("ETag") !== this.#etag) {
        throw new Refusal(CONFLICT, "The results have changed.");
      }
      return await response.json();
    } catch (error) {
      this.#etag = null;
      throw error;
    }
  }
}

class LoadedRows {
  #results;
  #path;
  #cursor = null;
  #loading = null;
  rows = [];
  complete = true;

  constructor(results, path) {
    this.#results = results;
    this.#path = path;
  }

  add(page) {
    this.rows.push(...page.items);
    this.#cursor = page.next_cursor;
    this.complete = page.next_cursor === null;
    return true;
  }

  /** Load the next page and return true; if that fails, the next poll loads the current results. */
  async loadMore() {
    this.#loading ??= this.#results.page(this.#path, this.#cursor).then((page) => this.add(page), () => false);
    const isLoaded = await this.#loading;
    this.#loading = null;
    return isLoaded;
  }
}

/** Load all rows of a source while they are wanted; `changed` is called after each page. */
export async function loadAll(source, isWanted = () => true, changed = () => {}) {
  while (!source.complete && isWanted() && (await source.loadMore())) {
    changed();
  }
}

/** Return a sentence about loaded rows if they are not complete. */
export function partly(loaded) {
  return loaded.complete ? "" : ` Here are the first ${count(loaded.rows.length)}: these are counted and sorted.`;
}
