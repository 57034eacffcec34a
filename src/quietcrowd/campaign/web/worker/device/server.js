// Requests to the server of a campaign: nothing leaves the device in another way.

import { Refusal } from "../terms/terms.js";

const LONGEST = 30_000; // ms, of one request
const LONGEST_WAIT = 3600; // s that a server may ask for
const TRY_AGAIN = [408, 429, 500, 502, 503, 504];
const PROBLEMS = [
  ...["campaign-closed", "config-mismatch", "credential", "full", "invite-invalid", "not-found"],
  "withdrawn",
];

/** Nobody answered, or asks to try again. */
class Unanswered extends Error {
  seconds = 0;
}

/** Return the bytes that a server answers one request with; Refusal where it refuses. */
export async function request(url, { method = "GET", credential, body } = {}) {
  let [answer, content] = [];
  try {
    const headers = { Accept: "application/json", "Content-Type": "application/json" };
    if (credential) {
      headers.Authorization = `Bearer ${credential}`;
    }
    answer = await fetch(url, {
      ...{ method, body, headers, cache: "no-store", credentials: "omit", redirect: "manual" },
      ...{ referrerPolicy: "no-referrer", signal: AbortSignal.timeout(LONGEST) },
    });
    content = await answer.arrayBuffer();
  } catch {
    throw new Unanswered();
  }
  if (TRY_AGAIN.includes(answer.status)) {
    const seconds = Number(answer.headers.get("Retry-After")) || 0;
    throw Object.assign(new Unanswered(), { seconds });
  }
  if (!answer.ok) {
    const found = PROBLEMS.find((name) => textOf(content).includes(`:problem:${name}"`));
    throw new Refusal(`refusal.${found ?? "answer"}`);
  }
  return content;
}

/** Make an attempt until there is an answer; first `pause` ms pass between two, at most 60 times
 * as many. Refusal after `patience` ms; `onWait` is told how long it is to the next attempt. */
export async function insist(attempt, { pause, patience, onWait }) {
  const end = performance.now() + patience;
  for (let tries = 0; ; tries += 1) {
    try {
      return await attempt();
    } catch (error) {
      const seconds = Math.min(error.seconds, LONGEST_WAIT);
      const wait = Math.max(pause * Math.min(2 ** tries, 60), 1000 * seconds);
      if (!(error instanceof Unanswered) || performance.now() + wait > end) {
        throw error instanceof Unanswered ? new Refusal("refusal.unanswered") : error;
      }
      onWait?.(wait);
      await waitFor(wait);
    }
  }
}

/** Wait so many ms, or until the network is back. */
export function waitFor(ms) {
  return new Promise((resolve) => {
    addEventListener("online", resolve, { once: true });
    setTimeout(resolve, ms);
  });
}

/** Return bytes as a text. */
export function textOf(content) {
  return new TextDecoder().decode(content);
}

/** Return the object that a text spells; Refusal where it is none. */
export function objectIn(text) {
  try {
    return { ...JSON.parse(text) };
  } catch {
    throw new Refusal("refusal.answer");
  }
}
