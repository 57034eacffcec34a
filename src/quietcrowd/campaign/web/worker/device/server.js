// Requests to a server; nothing leaves the device in any other way.

import { refuseIf } from "../terms/terms.js";

const LONGEST = 30_000; // ms, of one request
const LONGEST_WAIT = 3600; // maximum Retry-After in s
const TRY_AGAIN = [408, 429, 500, 502, 503, 504];
const KNOWN = new RegExp(
  "problem:(campaign-closed|choice-fixed|code|config-mismatch|credential|full|invite-invalid|" +
    'not-found|round-not-open|withdrawn)(?:-unknown)?"',
);

/** No response, or a request to retry. */
class Unanswered extends Error {
  seconds = 0;
}

/** Return the response to a single request as a Blob; throw Refusal if it is rejected. */
export async function request(url, { method = "GET", credential, body } = {}) {
  let [answer, content] = [];
  try {
    const identity = credential && { Authorization: `Bearer ${credential}` };
    answer = await fetch(url, {
      headers: { ...identity, "Content-Type": "application/json" },
      ...{ method, body, cache: "no-store", redirect: "manual" },
      credentials: credential ? "omit" : "same-origin", // as the page's headers preload it
      ...{ referrerPolicy: "no-referrer", signal: AbortSignal.timeout(LONGEST) },
    });
    content = await answer.blob();
  } catch {
    throw new Unanswered();
  }
  if (TRY_AGAIN.includes(answer.status)) {
    const seconds = Number(answer.headers.get("Retry-After")) || 0;
    throw Object.assign(new Unanswered(), { seconds });
  }
  const [, name = "answer"] = KNOWN.exec(answer.ok ? "" : await content.text()) ?? [];
  refuseIf(!answer.ok, `refusal.${name}`);
  return content;
}

/**
 * Retry until there is a response. Pauses grow from `pause` ms to 60 times that; throw Refusal
 * after `patience` ms. `onWait` receives the ms until the next attempt.
 */
export async function insist(attempt, { pause, patience, onWait }) {
  const end = performance.now() + patience;
  for (let tries = 0; ; tries += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof Unanswered)) {
        throw error;
      }
      const asked = 1000 * Math.min(error.seconds, LONGEST_WAIT);
      const wait = Math.max(pause * Math.min(2 ** tries, 60), asked);
      refuseIf(performance.now() + wait > end, "refusal.unanswered");
      onWait?.(wait);
      await waitFor(wait);
    }
  }
}

/** Wait, or until the network is back. */
export function waitFor(ms) {
  return new Promise((resolve) => {
    addEventListener("online", resolve, { once: true });
    setTimeout(resolve, ms);
  });
}

/** Return the JSON object in a text. */
export function objectIn(text) {
  try {
    return { ...JSON.parse(text) };
  } catch {
    return refuseIf(true, "refusal.answer");
  }
}
