// The consent screen: the terms in brief, and all else in folds.

import { describe, percentages } from "../channels/index.js";
import { consentSentences, shortConsent } from "../terms/consent.js";
import { byId, element, tables } from "./elements.js";

export async function consent(app) {
  const { device, terms, say } = app;
  const spending = await device.spending(terms.answers);
  const kept = spending.budget === null ? "" : app.spell(spending.budget);
  const join = async () => {
    const text = byId("budget").value.trim();
    const limit = text === kept ? spending.budget : text === "" ? null : app.numberIn(text);
    byId("own-limit").open ||= limit !== null; // a complaint must be seen
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
    ...{ ...factsOf(app), ...spendingOf(app, spending) },
    budget: app.typedLimit ?? kept,
    served: !app.saved,
    join,
    ready: () => {
      byId("budget").addEventListener("input", ({ target }) => {
        app.typedLimit = target.value; // survives a change of language
      });
    },
    back: () => app.go("landing"),
    decline: () => app.go("end", "screen.declined"),
  };
}

/** Return the terms and the noise. */
function factsOf({ terms, say }) {
  const [learn, figures, seen, rest] = shortConsent(terms, say);
  const [losses, promised] = consentSentences(terms, say);
  const [brief, ...law] = describe(terms, say);
  const [[, ...reports] = [], ...rows] = percentages(terms, say);
  const table = rows.length ? [[say("screen.answer"), ...reports], ...rows] : [];
  return {
    ...{ brief, learn, seen, losses, promised, law, rest: rest.join(" ") },
    table: tables(table, say("screen.law.table")),
    figures: figures.map((line) => {
      const [sure, from] = line.split(/(?<=%) /);
      return element("li", {}, element("b", {}, sure), " ", element("span", {}, from));
    }),
  };
}

/** Return the privacy loss on this device. */
function spendingOf(app, { spent, after, budget, reused, repeated }) {
  const told = (key, { length: count }) =>
    count > 0 ? app.say(key, { count, tasks: app.count(count) }) : "";
  return {
    ...{ reusedNames: reused, repeatedNames: repeated },
    ...{ spent: app.loss(spent), after: app.loss(after) },
    limit: budget === null ? "" : app.say("screen.limit", { budget: app.loss(budget) }),
    reused: told("screen.reused", reused),
    repeated: told("screen.repeated", repeated),
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
