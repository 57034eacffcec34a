// The review of answers, in which the worker decides, and sending.

import { byId, element } from "./elements.js";
import { done, lineOf, spell } from "./questions.js";

const GLANCE = 3; // answers that are shown at once
const OVER = ["place", "credential", "withdrawn", "campaign-closed"].map((one) => `refusal.${one}`);

export function review(app, change) {
  const { say, answers, order, asked, count } = app;
  const maySend = app.reportsAll || answers.size > 0;
  const [given, open] = [answers.size, order.length - answers.size];
  const isGiven = ({ name }) => answers.has(name);
  const sorted = [...order.filter(isGiven), ...order.filter((task) => !isGiven(task))];
  const rows = sorted.map((task) => row(app, order.indexOf(task)));
  const heading = given ? "screen.review" : "screen.review.none";
  const glance = Math.min(given, GLANCE);
  const more = given - glance;
  const again = (kind, { length }) =>
    length ? [say(`screen.${kind}`, { count: length, tasks: count(length) })] : [];
  return {
    ...done(app, change),
    heading: say(heading, { count: given, given: count(given) }),
    some: given > 0,
    answers: rows.slice(0, glance),
    others: rows.slice(glance),
    more: [
      ...(more ? [say("screen.review.more", { count: more, more: count(more) })] : []),
      ...(open ? [say("screen.review.open", { open: count(open) })] : []),
    ].join(", "),
    notes: [...again("reused", asked.reused), ...again("repeated", asked.repeated)],
    send: () => send(app),
    ...{ nothing: maySend ? "" : say("refusal.no-answer"), mayNotSend: !maySend },
    back: () => app.answering(order.length - 1),
  };
}

function row(app, place) {
  const task = app.order[place];
  const answer = spell(app, app.answers.get(task.name) ?? null);
  const change = { type: "button", click: () => app.answering(place, app.order.length) };
  const question = element("span", { dir: "auto" }, lineOf(app, task));
  const parts = [question, " ", element("b", { dir: "auto" }, answer)];
  return element("li", { value: place + 1 }, element("button", change, ...parts));
}

async function send(app) {
  await app.go("sending");
  try {
    await app.device.commit(app.answers, () => wait(app, "screen.waiting"));
  } catch (error) {
    await (OVER.includes(error.key) ? app.go("end", error.key) : app.go("review"));
    if (!OVER.includes(error.key)) {
      throw error;
    }
    return;
  }
  await deliver(app);
}

function wait(app, key) {
  byId("waiting")?.replaceChildren(app.say(key));
}

/** Send stored reports until the server has them. */
export async function deliver(app) {
  const { device } = app;
  app.answers.clear();
  await app.go("sending");
  try {
    await device.send(() => wait(app, "screen.offline"));
  } finally {
    await (device.state === "sent" && app.go("receipt")); // also if reports were rejected
  }
}
