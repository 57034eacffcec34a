// What a worker is told before taking part, and what it costs.

import { consentSentences } from "../terms/consent.js";
import { lawSentences, lawTable } from "../terms/law.js";
import { byId, filled, tables } from "./elements.js";

/** Return how often which answer becomes which report, and what this device has spent. */
export function factsOf(app, { spent, after, budget, reused, repeated }) {
  const { say, terms } = app;
  const names = { reusedNames: reused, repeatedNames: repeated };
  const told = (key, { length }) =>
    length > 0 ? say(key, { count: length, tasks: app.count(length) }) : "";
  return {
    law: filled("law", app, {
      table: tables(lawTable(terms, say), say("screen.law.table")),
      sentences: lawSentences(terms, say),
    }),
    spending: filled("spending", app, {
      ...{ ...names, spent: app.loss(spent), after: app.loss(after) },
      pair: terms.guarantee.delta > 0 ? say("screen.pair") : "",
      limit: budget === null ? "" : say("screen.limit", { budget: app.loss(budget) }),
      reused: told("screen.reused", reused),
      repeated: told("screen.repeated", repeated),
    }),
  };
}

/** Ask whether to take part. */
export async function consent(app) {
  const { device, terms, say } = app;
  const { promises, answers } = terms;
  const spending = await device.spending(answers);
  const kept = spending.budget === null ? "" : app.spell(spending.budget);
  const join = async () => {
    const text = byId("budget").value.trim();
    const budget = text === "" ? null : app.numberIn(text);
    if (text === kept || budget === null || budget >= 0) {
      await (text !== kept && device.setBudget(budget)); // only what the worker changed
      await device.join(app.invite);
      await app.goOn();
    } else {
      app.complain("budget", say("screen.budget.wrong", { example: app.spell(1.5) }));
    }
  };
  return {
    ...{ ...terms, ...promises, ...factsOf(app, spending), budget: kept },
    ...{ tasks: app.count(terms.tasks), count: answers, answers: app.count(answers) },
    unpromised: promises === null ? say("screen.unpromised") : "",
    sentences: consentSentences(terms.guarantee, promises, say),
    served: !app.saved,
    join,
    decline: () => app.go("end", "screen.declined"),
  };
}
