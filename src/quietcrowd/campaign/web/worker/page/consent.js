// The consent screen: the terms in brief, and all else in folds.

import { describe, percentages } from "../channels/index.js";
import { consentSentences, shortConsent, sureOf } from "../terms/consent.js";
import { byId, element, tables } from "./elements.js";

/** The screen before all others: the choices of a menu; the first protects most. */
export function choice(app) {
  const { device, say, count } = app;
  const [{ title, description, promises, expected }] = device.menu;
  const entry = ({ guarantee, losses, share }, i) => {
    const sure = sureOf(losses?.campaign ?? guarantee.workerEpsilon, say);
    const id = `choice-${i}`;
    const input = element("input", { type: "radio", name: "choice", id, checked: i === 0 });
    const assumed = say("screen.choice.share", { share: count(Math.round(100 * share)) });
    const texts = [say("screen.choice.entry", { sure }), element("small", {}, assumed)];
    return element("label", { class: "choice", for: id }, input, element("span", {}, ...texts));
  };
  const [error, guess] = [expected?.error, expected?.guess].map(app.ceil);
  return {
    ...{ title, description, purpose: promises.purpose },
    asker: `${promises.requester} · ${promises.contact}`,
    entries: device.menu.map(entry),
    expected: expected ? say("screen.choice.expected", { error, guess }) : "",
    next: () => {
      app.terms = device.choose(device.menu.findIndex((_, i) => byId(`choice-${i}`).checked));
      return app.go("landing");
    },
    decline: () => app.go("end", "screen.declined"),
  };
}

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
    } else if ((await device.answersWithin(limit)) === 0) {
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
