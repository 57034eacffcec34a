// Questions, one at a time; nothing is randomized or sent here.

import { imageIn } from "../terms/images.js";
import { choicesOf, isAmongOptions } from "../terms/options.js";
import { byId, element, filled } from "./elements.js";

export const SEARCHED = 16; // answers from which on they are searched
const NUMBERED = 9; // answers with a key each
const WIDEST_SCALE = 7; // levels in a row

/** Format an answer or a report. */
export function spell(app, answer) {
  if (answer === null || typeof answer === "boolean") {
    return app.say(answer === null ? "screen.skipped" : `screen.${answer}`);
  }
  return typeof answer === "number" ? app.spell(answer) : answer;
}

/** Return the question of a task in one line. */
export function lineOf({ terms }, { name, data }) {
  return columnsOf(terms, data).map(([, value]) => textOf(value)).join(" · ") || name;
}

function textOf(value) {
  return typeof value === "string" ? value : (imageIn(value)?.alt ?? JSON.stringify(value));
}

export function questions(app, place, then, change) {
  const { say, terms, answers, order, asked } = app;
  const { name, data } = order[place];
  const isFull = !answers.has(name) && isFullFor(app, name);
  const [ends, columns] = [endsOf(terms, data), columnsOf(terms, data)];
  const labels = choicesOf(terms, data);
  const field = {
    ...{ app, name, isFull, ends, labels, given: answers.get(name) },
    give: (answer) => app.give(place, answer, then),
  };
  const answersLeft = { count: app.allowed, answers: app.count(app.allowed) };
  const allowed = app.allowed ? say("screen.allowed", answersLeft) : say("screen.budget.none");
  const question = say("screen.question", { place: app.count(place + 1) });
  return {
    ...{ at: place, name: question, ...shown(app, name, columns, question), ...done(app, change) },
    field: labels ? choiceField(field) : numberField(field),
    notes: [
      ...(terms.asOf ? [say("screen.as-of", { day: terms.asOf })] : []),
      ...(asked.reused.includes(name) ? [say("screen.reused.here")] : []),
      ...(asked.repeated.includes(name) ? [say("screen.repeated.here")] : []),
      ...(app.allowed < terms.answers ? [allowed] : []),
      ...(isFull && answers.size > 0 ? [say("screen.full", { count: answers.size })] : []),
    ],
    skip: () => field.give(null),
    may: place ? [] : say(app.reportsAll ? "screen.may.hidden" : "screen.may.seen"),
    back: place > 0 && (() => app.answering(place - 1)),
  };
}

/** Return the answer given on the screen before, and how to undo it. */
export function done(app, change) {
  if (!change) {
    return {};
  }
  const { place, answer, isFirst, undo } = change;
  const skipped = app.reportsAll ? "screen.none.hidden" : "screen.none.seen";
  const values = { place: app.count(place + 1), answer: spell(app, answer) };
  return { told: isFirst ? app.say(skipped) : app.say("screen.answered", values), undo };
}

/** Return whether no other answer fits into the campaign, or its new report into the budget. */
export function isFullFor({ terms, answers, allowed, asked: { reused } }, name) {
  const fresh = [...answers.keys()].filter((one) => !reused.includes(one));
  return answers.size >= terms.answers || (!reused.includes(name) && fresh.length >= allowed);
}

/** Return the columns with the meaning of a scale's ends: they are named like its levels. */
function endsOf(terms, data) {
  const labels = choicesOf(terms, data) ?? [];
  const ends = isScale(labels) ? [labels[0], labels[labels.length - 1]] : [];
  const said = ends.map((level) => [String(level), data[level]]);
  return said.every(([, text]) => typeof text === "string") ? said : [];
}

/** Return the columns that are shown above the answers. */
function columnsOf(terms, data) {
  const ends = endsOf(terms, data).map(([column]) => column);
  const below = isAmongOptions(terms.channel) ? [...ends, "options"] : ends;
  return Object.entries(data).filter(([column]) => !below.includes(column));
}

function isScale(labels) {
  return labels.length > 0 && labels.every((label) => typeof label === "number");
}

/** Return a question's heading, and below it its pictures, or all columns if several are text. */
function shown({ pictures }, name, columns, question) {
  const parts = columns.map(([column, value]) => {
    const [src, text] = [pictures.get(imageIn(value)?.hash), textOf(value)];
    return { column, src, text, shown: src && element("img", { src, alt: text }) };
  });
  const texts = parts.filter(({ src }) => !src);
  if (texts.length < 2) {
    const heading = texts[0]?.text ?? (parts.length ? question : name);
    return { heading, asked: parts.flatMap((one) => one.shown ?? []) };
  }
  const rows = parts.map(({ column, text, shown: image }) => {
    const value = image ?? element("p", { dir: "auto", class: "lines" }, text);
    return element("div", {}, element("dt", { dir: "auto" }, column), element("dd", {}, value));
  });
  return { heading: question, asked: [element("dl", { class: "card stack" }, ...rows)] };
}

/** Return buttons of answers: one below the other, a scale, or a list to search. */
function choiceField({ app, given, isFull, ends, labels, give }) {
  const isYes = (label) => label === true && !isAmongOptions(app.terms.channel); // is first
  const choices = [...labels.filter(isYes), ...labels.filter((one) => !isYes(one))];
  const isLevels = isScale(choices);
  const isSearched = choices.length >= SEARCHED;
  const keyOf = (choice, i) => (isLevels ? choice : i < NUMBERED ? i + 1 : "");
  const buttons = choices.map((choice, i) => {
    const key = isSearched ? "" : keyOf(choice, i);
    const hint = isLevels || key === "" ? [] : [element("kbd", { "aria-hidden": "true" }, key)];
    const state = given === undefined ? {} : { "aria-pressed": String(choice === given) };
    const act = { disabled: isFull, click: () => app.attempt(() => give(choice)) };
    const text = element("span", { dir: "auto" }, spell(app, choice));
    return element("button", { type: "button", "data-key": key, ...state, ...act }, text, ...hint);
  });
  const [[low, first], [high, last]] = ends.length ? ends : [[], []];
  const label = ends.length
    ? app.say("screen.scale", { low, first, high, last })
    : app.say("screen.answer");
  const kind = isSearched ? "list" : isLevels ? "scale" : "answers";
  const group = element("div", { class: kind, role: "group", "aria-label": label }, ...buttons);
  const rows = Math.ceil(choices.length / WIDEST_SCALE);
  group.style.setProperty("--columns", Math.ceil(choices.length / rows));
  const said = ends.map(([, text]) => element("span", { dir: "auto" }, text));
  return [
    ...(isSearched ? searchField(app, buttons) : []),
    group,
    ...(ends.length ? [element("p", { class: "ends quiet", "aria-hidden": "true" }, ...said)] : []),
  ];
}

/** Return a field that hides the answers without its text; Enter presses the only one left. */
function searchField({ say, count }, buttons) {
  const told = element("p", { class: "quiet", role: "status" });
  const folded = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  const search = ({ target }) => {
    buttons.forEach((one) => {
      one.hidden = !folded(one.textContent).includes(folded(target.value.trim()));
    });
    const found = buttons.filter((one) => !one.hidden).length;
    const values = { count: found, found: count(found) };
    told.textContent = say(found ? "screen.search.found" : "screen.search.none", values);
  };
  const enter = ({ key }) => {
    const left = buttons.filter((one) => !one.hidden);
    key === "Enter" && left.length === 1 && left[0].click();
  };
  const label = say("screen.search", { answers: count(buttons.length) });
  const act = { input: search, keydown: enter };
  const input = element("input", { id: "search", type: "search", autocomplete: "off", ...act });
  return [element("label", { for: "search" }, label), input, told];
}

function numberField({ app, given, isFull, give }) {
  const { low, high } = app.terms.mechanism.domain;
  const [least, most, example] = [low, high, (low + high) / 2].map(app.spell);
  const range = { low: least, high: most, example };
  const next = () => {
    const number = app.numberIn(byId("number").value);
    const isIn = low <= number && number <= high;
    return isIn ? give(number) : app.complain("number", app.say("screen.number.wrong", range));
  };
  const value = given === undefined ? "" : app.spell(given);
  const [form] = filled("number-field", app, { ...range, value, next, isFull });
  form.elements.number.inputMode = low < 0 ? "text" : "decimal";
  return [form];
}
