// What the page asks the service for.

const UNCHANGED = 304;
const CONFLICT = 409;

/** The service refuses: its status and its words. */
export class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** One campaign, seen with the key of its requester. */
export class CampaignApi {
  #address;
  #key;
  #etag = null;

  constructor(campaign, key) {
    this.#address = new URL(`../api/v1/campaigns/${campaign}`, location.href).href;
    this.#key = key;
  }

  /** Return the campaign. */
  async campaign() {
    return (await this.fetch("")).json();
  }

  /**
   * Return the latest results but for their rows; null where there are none, undefined where they
   * are as before.
   */
  async results() {
    const known = this.#etag === null ? {} : { "If-None-Match": this.#etag };
    try {
      const response = await this.fetch("/results/head", known);
      if (response.status === UNCHANGED) {
        return undefined;
      }
      const results = await response.json();
      this.#etag = response.headers.get("ETag");
      return results;
    } catch (error) {
      if (error instanceof Refusal && error.status === CONFLICT) {
        this.#etag = null;
        return null;
      }
      throw error;
    }
  }

  /** Return a page of rows of these results; raise Refusal where there are others by now. */
  async rows(kind, cursor) {
    const query = cursor === null ? "" : `?cursor=${encodeURIComponent(cursor)}`;
    const response = await this.fetch(`/results/${kind}${query}`);
    if (response.headers.get("ETag") !== this.#etag) {
      throw new Refusal(CONFLICT, "There are other results now.");
    }
    return response.json();
  }

  /** Take results as new at the next look, whatever they are. */
  forget() {
    this.#etag = null;
  }

  /** Return the response to a path below the campaign; raise Refusal where there is none. */
  async fetch(path, headers = {}) {
    const response = await fetch(this.#address + path, {
      headers: { Authorization: `Bearer ${this.#key}`, ...headers },
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
    });
    if (response.ok || response.status === UNCHANGED) {
      return response;
    }
    throw new Refusal(response.status, await reason(response));
  }
}

async function reason(response) {
  try {
    const problem = await response.json();
    return `${problem.title}. ${problem.detail}`;
  } catch {
    return `The server answered with status ${response.status}.`;
  }
}
