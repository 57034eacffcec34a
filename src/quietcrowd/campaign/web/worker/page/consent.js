// The consent screen: terms and privacy loss, before a worker joins.

import { describe, percentages } from "../channels/index.js";
import { consentSentences } from "../terms/consent.js";
import { byId, filled, tables } from "./elements.js";

/** Return the channel's probabilities, and the privacy loss on this device. */
export function factsOf(app, { spent, after, budget, reused, repeated }) {
  const { say, terms } = app;
  const names = { reusedNames: reused, repeatedNames: repeated };
  const told = (key, { length }) =>
    length > 0 ? say(key, { count: length, tasks: app.count(length) }) : "";
  return {
    law: filled("law", app, {
      table: tables(headed(percentages(terms, say), say), say("screen.law.table")),
      sentences: describe(terms, say),
    }),
    spending: filled("spending", app, {
      ...{ ...names, spent: app.loss(spent), after: app.loss(after) },
      limit: budget === null ? "" : say("screen.limit", { budget: app.loss(budget) }),
      reused: told("screen.reused", reused),
      repeated: told("screen.repeated", repeated),
    }),
  };
}

function headed([[, ...reports] = [], ...rows], say) {
  return rows.length > 0 ? [[say("screen.answer"), ...reports], ...rows] : [];
}

export async function consent(app) {
  const { device, terms, say } = app;
  const { promises, allotment, answers } = terms;
  const counts = { tasks: app.count(terms.tasks), count: answers, answers: app.count(answers) };
  const spending = await device.spending(answers);
  const kept = spending.budget === null ? "" : app.spell(spending.budget);
  const join = async () => {
    const text = byId("budget").value.trim();
    const limit = text === kept ? spending.budget : text === "" ? null : app.numberIn(text);
    if (limit !== null && !(limit >= 0)) {
      app.complain("budget", say("screen.budget.wrong", { example: app.spell(1.5) }));
    } else if ((await answersWithin(device, limit)) === 0) {
      app.complain("budget", say("screen.budget.none"));
    } else {
      await (text !== kept && device.setBudget(limit)); // only if the worker changed it
      app.typedLimit = null;
      await app.join();
    }
  };
  return {
    ...{ ...terms, ...promises, ...factsOf(app, spending) },
    budget: app.typedLimit ?? kept,
    asked: say(allotment === null ? "screen.asked.count" : "screen.asked.given", counts),
    closes: device.closes ? say("screen.closes", { day: device.closes }) : "",
    unpromised: promises === null ? say("screen.unpromised") : "",
    sentences: consentSentences(terms.guarantee, promises, say, allotment, terms.asOf),
    served: !app.saved,
    join,
    ready: () => {
      const field = byId("budget");
      field.addEventListener("input", () => {
        app.typedLimit = field.value; // survives a change of language
      });
    },
    decline: () => app.go("end", "screen.declined"),
  };
}

/** Return how many answers of the device's campaign fit into a limit; null is no limit. */
export async function answersWithin(device, limit) {
  const spent = async (count) => (await device.spending(count)).after;
  const isAllowed = async (count) => limit === null || (await spent(count)) <= limit;
  const { answers } = device.terms;
  let [allowed, beyond] = (await isAllowed(answers)) ? [answers, answers] : [0, answers];
  while (beyond - allowed > 1) {
    const middle = Math.floor((allowed + beyond) / 2);
    [allowed, beyond] = (await isAllowed(middle)) ? [middle, beyond] : [allowed, middle];
  }
  return allowed;
}
