// Questions, one at a time, as often as the worker likes; nothing is randomized or sent here.

import { labelsOf } from "../terms/domain.js";
import { imageIn } from "../terms/images.js";
import { byId, element } from "./elements.js";

const NUMBERED = 9; // answers with a key each

/** Format an answer or a report. */
export function spell(app, answer) {
  if (answer === null || typeof answer === "boolean") {
    return app.say(answer === null ? "screen.none" : `screen.${answer}`);
  }
  return typeof answer === "number" ? app.spell(answer) : answer;
}

/** Return the question of a task in one line. */
export function lineOf({ name, data }) {
  return Object.values(data).map(textOf).join(" · ") || name;
}

function textOf(value) {
  return typeof value === "string" ? value : (imageIn(value)?.alt ?? JSON.stringify(value));
}

export function questions(app, place, then) {
  const { say, terms, answers, order, asked } = app;
  const { name, data } = order[place];
  const isFull = !answers.has(name) && isFullFor(app, name);
  const { domain } = terms.mechanism;
  const field = (domain.kind === "interval" ? numberField : choiceField)(app, domain, name);
  const next = async () =>
    isFull || field.isAnswered()
      ? app.answering(then)
      : app.complain(field.first.id, field.problem);
  const skip = () => {
    app.answer(name, null);
    return app.answering(then);
  };
  const answersLeft = { count: app.allowed, answers: app.count(app.allowed) };
  const allowed = app.allowed ? say("screen.allowed", answersLeft) : say("screen.budget.none");
  const counts = { place: app.count(place + 1), tasks: app.count(order.length) };
  app.progress(say("screen.progress", counts), place + 1, order.length);
  return {
    ...{ ...counts, next, skip, field: field.nodes, asked: shown(app, name, data) },
    notes: [
      ...(terms.asOf ? [say("screen.as-of", { day: terms.asOf })] : []),
      ...(asked.reused.includes(name) ? [say("screen.reused.here")] : []),
      ...(asked.repeated.includes(name) ? [say("screen.repeated.here")] : []),
      ...(app.allowed < terms.answers ? [allowed] : []),
      ...(isFull && answers.size > 0 ? [say("screen.full", { count: answers.size })] : []),
    ],
    unanswered: say(app.reportsAll ? "screen.none.hidden" : "screen.none.seen"),
    back: () => app.answering(place - 1),
    review: () => app.answering(order.length),
    ready: () => {
      byId("back").hidden = place === 0;
      byId("field").disabled = isFull;
      byId("field").form.addEventListener("keydown", (event) => followKey(event, field));
      const drafts = byId("drafts");
      drafts.checked = app.keepsDrafts;
      drafts.addEventListener("change", () => app.attempt(() => app.keepDrafts(drafts.checked)));
    },
  };
}

/** Return whether no other answer fits into the campaign, or its new report into the budget. */
function isFullFor({ terms, answers, allowed, asked: { reused } }, name) {
  const fresh = [...answers.keys()].filter((one) => !reused.includes(one));
  return answers.size >= terms.answers || (!reused.includes(name) && fresh.length >= allowed);
}

/** Return the columns of a task in the requester's order. */
function shown({ pictures }, name, data) {
  const columns = Object.entries(data).map(([column, value]) => {
    const src = pictures.get(imageIn(value)?.hash);
    const text = textOf(value);
    return [
      element("dt", { dir: "auto" }, column),
      src ? element("img", { src, alt: text }) : element("p", { dir: "auto" }, text),
    ];
  });
  if (columns.length < 2) {
    return [columns[0]?.[1] ?? element("p", { dir: "auto" }, name)];
  }
  const rows = columns.map(([term, value]) => element("div", {}, term, element("dd", {}, value)));
  return [element("dl", {}, ...rows)];
}

function choiceField(app, domain, name) {
  const choices = labelsOf(domain);
  const isScale = choices.every((choice) => typeof choice === "number");
  const inputs = choices.map((choice, place) =>
    element("input", {
      ...{ type: "radio", name: "answer", id: `answer-${place}` },
      checked: app.answers.get(name) === choice,
      change: () => app.answer(name, choice),
    }),
  );
  const cards = inputs.map((input, place) => {
    const text = element("span", { dir: "auto" }, spell(app, choices[place]));
    const key = isScale || place >= NUMBERED ? "" : place + 1;
    const hint = element("kbd", { "aria-hidden": "true" }, key);
    return element("label", { class: "choice" }, input, text, hint);
  });
  const legend = element("legend", {}, app.say("screen.answer"));
  return {
    nodes: [legend, element("div", { class: isScale ? "choices scale" : "choices" }, ...cards)],
    first: inputs[0],
    isAnswered: () => app.answers.has(name),
    problem: app.say("screen.choose"),
    of: (digit) => inputs[isScale ? choices.indexOf(digit) : digit - 1],
  };
}

function numberField(app, { low, high }, name) {
  const [least, most, example] = [low, high, (low + high) / 2].map(app.spell);
  const range = { low: least, high: most, example };
  const typed = () => {
    const number = app.numberIn(first.value);
    return low <= number && number <= high ? number : null;
  };
  const given = app.answers.get(name);
  const first = element("input", {
    ...{ id: "number", inputmode: low < 0 ? "text" : "decimal", autocomplete: "off" },
    ...{ value: given === undefined ? "" : app.spell(given), "aria-describedby": "problem" },
    input: () => app.answer(name, typed()),
  });
  return {
    nodes: [element("label", { for: "number" }, app.say("screen.number", range)), first],
    first,
    isAnswered: () => typed() !== null,
    problem: app.say("screen.number.wrong", range),
  };
}

/** Choose answers by digit keys; Enter in the heading continues. */
function followKey({ key, target, ctrlKey, metaKey, altKey }, field) {
  if (ctrlKey || metaKey || altKey) {
    return;
  }
  if (key === "Enter" && target.tagName === "H1") {
    document.querySelector("button.main").click();
  } else if (/^\d$/.test(key)) {
    const chosen = field.of?.(Number(key));
    chosen?.focus();
    chosen?.click();
  }
}
