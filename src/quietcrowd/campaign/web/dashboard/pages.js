// Rows of results. There may be millions, so they are loaded page by page.

import { count } from "./elements.js";

class LoadedRows {
  #api;
  #kind;
  #cursor = null;
  #busy = false;
  rows = [];
  complete = true;

  constructor(api, kind) {
    this.#api = api;
    this.#kind = kind;
  }

  async load() {
    if (this.#busy) {
      return;
    }
    this.#busy = true;
    try {
      const page = await this.#api.rows(this.#kind, this.#cursor);
      this.rows.push(...page.items);
      this.#cursor = page.next_cursor;
      this.complete = page.next_cursor === null;
    } finally {
      this.#busy = false;
    }
  }

  /** Load the next page; if that fails, the next poll loads the current results. */
  async loadMore() {
    try {
      await this.load();
    } catch {
      this.#api.forget();
    }
  }
}

/** Return the latest results with their first pages; null or undefined as `api.results` does. */
export async function lookAtResults(api) {
  const results = await api.results();
  if (!results) {
    return results;
  }
  const truths = new LoadedRows(api, "truths");
  const workers = new LoadedRows(api, "workers");
  try {
    await truths.load();
    if (api.showsWorkers) {
      await workers.load();
    }
  } catch (error) {
    api.forget();
    throw error;
  }
  return { results, truths, workers };
}

/** Return a sentence about loaded rows if they are not complete. */
export function partly(loaded) {
  return loaded.complete ? "" : ` Here are the first ${count(loaded.rows.length)}: these are counted and sorted.`;
}
