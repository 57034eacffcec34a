// Requests to the campaign API.

const ROOT = new URL("../../", import.meta.url); // this file is web/studio/api.js there
const UNCHANGED = 304;
const EMPTY = new Set([202, 204]);
const TOO_OFTEN = 429;
const PAGE = 200; // rows that are asked for at once
const PAUSE = 1_000;

/** A rejected request: its status, message and broken rules. */
export class Refusal extends Error {
  constructor(status, message, { errors = [] } = {}) {
    super(message);
    this.status = status;
    this.errors = errors;
  }
}

/** The API below a path, with a requester's key, or with a token that shows no workers. */
export class Api {
  #secret;
  #path;

  constructor(secret, path = "", showsWorkers = true) {
    this.#secret = secret;
    this.#path = path;
    this.showsWorkers = showsWorkers;
  }

  /** Return the API of one campaign. */
  campaign(id) {
    return new Api(this.#secret, `campaigns/${id}/`, this.showsWorkers);
  }

  /** Request a path; throw Refusal if it is rejected. `body`: a file, or an object for JSON. */
  async fetch(path, { method = "GET", headers = {}, body, signal } = {}) {
    const isFile = body instanceof Blob || body === undefined;
    const kind = isFile ? {} : { "Content-Type": "application/json" };
    const response = await fetch(new URL(`api/v1/${this.#path}${path}`.replace(/\/$/, ""), ROOT), {
      ...{ method, signal, body: isFile ? body : JSON.stringify(body) },
      headers: { Authorization: `Bearer ${this.#secret}`, ...kind, ...headers },
      ...{ cache: "no-store", credentials: "omit", redirect: "error" },
    });
    if (response.ok || response.status === UNCHANGED) {
      return response;
    }
    throw await refusal(response);
  }

  /** Request a path until the rate limit allows it; return the JSON, null without content. */
  async json(path, options) {
    for (;;) {
      try {
        const response = await this.fetch(path, options);
        return EMPTY.has(response.status) ? null : await response.json();
      } catch (error) {
        if (!(error instanceof Refusal) || error.status !== TOO_OFTEN) {
          throw error;
        }
        await new Promise((resolve) => setTimeout(resolve, PAUSE));
      }
    }
  }

  post(path, body, more = {}) {
    return this.json(path, { method: "POST", body, ...more });
  }

  delete(path) {
    return this.json(path, { method: "DELETE" });
  }

  /** Yield the items of each page of a path. */
  async *pages(path) {
    let cursor = null;
    do {
      const wanted = new URLSearchParams({ limit: PAGE, ...(cursor === null ? {} : { cursor }) });
      const page = await this.json(`${path}?${wanted}`);
      yield page.items;
      cursor = page.next_cursor;
    } while (cursor !== null);
  }
}

/** Exchange the code of a link; return the API, with a token for the campaign. */
export async function openLink(id, code) {
  const { token } = await new Api(code).post(`campaigns/${id}/dashboard-tokens`);
  return new Api(token, "", false);
}

async function refusal(response) {
  const { status } = response;
  try {
    const problem = await response.json();
    return new Refusal(status, `${problem.title}. ${problem.detail}`, problem);
  } catch {
    return new Refusal(status, `The server answered with status ${status}.`);
  }
}
