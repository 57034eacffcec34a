// The review of answers and probabilities, in which the worker decides.

import { factsOf } from "./consent.js";
import { byId, element } from "./elements.js";
import { lineOf, spell } from "./questions.js";

/** Show the answers, and offer to send. */
export async function review(app) {
  const { device, terms, say, answers, order } = app;
  const maySend = app.reportsAll || answers.size > 0;
  const spending = await device.spending(app.reportsAll ? terms.tasks : answers.size);
  const rows = order.map((task, place) => [answers.has(task.name), row(app, place)]);
  const rowsWhere = (isWanted) => rows.flatMap(([is, one]) => (is === isWanted ? [one] : []));
  const open = order.length - answers.size;
  app.progress(say("screen.review.progress"), order.length, order.length);
  return {
    ...factsOf(app, spending),
    ...{ count: answers.size, given: app.count(answers.size), tasks: app.count(order.length) },
    answers: rowsWhere(true),
    skipped: rowsWhere(false),
    unanswered: open && say("screen.review.open", { count: open, open: app.count(open) }),
    send: () => send(app),
    nothing: maySend ? "" : say("refusal.no-answer"),
    back: () => app.answering(order.length - 1),
    ready: () => {
      byId("send").disabled = !maySend;
    },
  };
}

function row(app, place) {
  const task = app.order[place];
  const change = {
    ...{ type: "button", class: "link", click: () => app.answering(place, app.order.length) },
    "aria-label": app.say("screen.change.which", { place: app.count(place + 1) }),
  };
  return element(
    "li",
    { value: place + 1 },
    element("span", { dir: "auto" }, lineOf(task)),
    element("b", { dir: "auto" }, spell(app, app.answers.get(task.name) ?? null)),
    " ",
    element("button", change, app.say("screen.change")),
  );
}

async function send(app) {
  await app.go("sending");
  try {
    await app.device.commit(app.answers);
  } catch (error) {
    await app.go("review");
    throw error;
  }
  await deliver(app);
}

/** Send stored reports until the server has them. */
export async function deliver(app) {
  const { device, say } = app;
  app.answers.clear();
  await app.go("sending");
  try {
    await device.send(() => byId("waiting")?.replaceChildren(say("screen.offline")));
  } finally {
    await (device.state === "sent" && app.go("receipt")); // also if reports were rejected
  }
}
