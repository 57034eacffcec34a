// Requests to the campaign API.

const ROOT = new URL("../../", import.meta.url); // this file is web/dashboard/api.js there
const UNCHANGED = 304;
const CONFLICT = 409;
const TOO_OFTEN = 429;
const PAGE = 200; // rows that are asked for at once
const PAUSE = 1_000;

/** A rejected request: its status, message and broken rules. */
export class Refusal extends Error {
  constructor(status, message, errors = []) {
    super(message);
    this.status = status;
    this.errors = errors;
  }
}

/** All campaigns of a requester, read with a key. */
export class RequesterApi {
  #key;

  constructor(key) {
    this.#key = key;
  }

  async campaigns() {
    const found = [];
    for await (const items of pages("campaigns", this.#key)) {
      found.push(...items);
    }
    return found;
  }

  /** Return the mechanisms, epsilons and time limit of the server's plans. */
  async planningLimits() {
    return (await ask("plans", this.#key)).json();
  }

  /** Return a plan; `signal` stops it. Other plans of this requester end first. */
  async plan(order, signal) {
    const body = JSON.stringify(order);
    const headers = { "Content-Type": "application/json" };
    return (await patiently("plans", this.#key, { method: "POST", headers, body, signal })).json();
  }

  campaign(id) {
    return new CampaignApi(id, this.#key, true);
  }
}

/** One campaign, read with its requester's key, or with a token that shows no workers. */
class CampaignApi {
  #path;
  #secret;
  #etag = null;

  constructor(id, secret, showsWorkers) {
    this.#path = `campaigns/${id}`;
    this.#secret = secret;
    this.showsWorkers = showsWorkers;
  }

  async campaign() {
    return (await this.fetch("")).json();
  }

  /** Return the latest results without rows; null without results, undefined if unchanged. */
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

  /** Yield all tasks, one page at a time. */
  tasks() {
    return pages(`${this.#path}/tasks`, this.#secret);
  }

  /** Return a page of rows; throw Refusal if the results have changed. */
  async rows(kind, cursor) {
    const query = cursor === null ? "" : `?cursor=${encodeURIComponent(cursor)}`;
    const response = await this.fetch(`/results/${kind}${query}`);
    if (response.headers.get("ETag") !== this.#etag) {
      throw new Refusal(CONFLICT, "The results have changed.");
    }
    return response.json();
  }

  /** Treat the next results as new. */
  forget() {
    this.#etag = null;
  }

  /** Request a path below the campaign; throw Refusal if it is rejected. */
  fetch(path, headers = {}) {
    return ask(this.#path + path, this.#secret, { headers });
  }
}

/** Exchange the code of a link, and return the campaign, read with the token. */
export async function openLink(id, code) {
  const response = await ask(`campaigns/${id}/dashboard-tokens`, code, { method: "POST" });
  return new CampaignApi(id, (await response.json()).token, false);
}

async function* pages(path, secret) {
  let cursor = null;
  do {
    const wanted = new URLSearchParams({ limit: PAGE, ...(cursor === null ? {} : { cursor }) });
    const page = await (await patiently(`${path}?${wanted}`, secret)).json();
    yield page.items;
    cursor = page.next_cursor;
  } while (cursor !== null);
}

/** Request until the rate limit allows it. */
async function patiently(path, secret, options) {
  for (;;) {
    try {
      return await ask(path, secret, options);
    } catch (error) {
      if (!(error instanceof Refusal) || error.status !== TOO_OFTEN) {
        throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, PAUSE));
    }
  }
}

async function ask(path, secret, { headers = {}, ...options } = {}) {
  const response = await fetch(new URL(`api/v1/${path}`, ROOT), {
    ...options,
    headers: { Authorization: `Bearer ${secret}`, ...headers },
    cache: "no-store",
    credentials: "omit",
    redirect: "error",
  });
  if (response.ok || response.status === UNCHANGED) {
    return response;
  }
  throw await refusal(response);
}

async function refusal(response) {
  const { status } = response;
  try {
    const problem = await response.json();
    return new Refusal(status, `${problem.title}. ${problem.detail}`, problem.errors);
  } catch {
    return new Refusal(status, `The server answered with status ${status}.`);
  }
}
