// The receipt: the sent reports, the privacy loss, and how to withdraw.

import { tables } from "./elements.js";
import { qrCode } from "./qr.js";
import { lineOf, spell } from "./questions.js";
import { pointsTo } from "../terms/names.js";
import { unitsOf } from "../terms/rounds.js";

/** Show when the next round begins, and the losses of rounds; nothing without rounds. */
export function between(app) {
  const { device, terms, say } = app;
  if (!terms.rounds) {
    return {};
  }
  const { nextRound: next, roundsSpent } = device;
  const losses = Object.entries(roundsSpent).map(([name, value]) => [name, app.loss(value)]);
  const window = unitsOf(terms.rounds.window, "round", say);
  return {
    waits: true,
    next: say(next ? "screen.wait.next" : "screen.wait.none", { when: app.moment(next?.begin) }),
    roundsSpent: say("screen.wait.spent", { ...Object.fromEntries(losses), window }),
  };
}

export async function receipt(app) {
  const { device, terms, say, link } = app;
  const { reports, sketch, epsilon, withdrawalKey: key, completionCode: code } = device.receipt;
  const { spent } = await device.spending(0);
  const ledger = await device.ledgerText();
  const copy = (text) => async ({ target }) => {
    await app.copy(text);
    target.textContent = say("screen.copied");
  };
  const file = (text, type) => URL.createObjectURL(new Blob([text], { type }));
  return {
    ...{ key, code, epsilon: app.loss(epsilon), spent: app.loss(spent), ...between(app) },
    qr: [qrCode(`${link}\n${key}`, say("screen.key.qr"))],
    about:
      sketch === null
        ? say("screen.receipt.noise")
        : say("screen.receipt.sketch", { numbers: app.count(sketch) }),
    table: sketch === null ? tables(rowsOf(app, reports), say("screen.receipt.sent")) : [],
    copyCode: copy(code),
    copyKey: copy(key),
    keyFile: file(say("screen.key.file", { title: terms.title, link, key }), "text/plain"),
    ledgerFile: file(ledger, "application/json"),
  };
}

function rowsOf(app, reports) {
  const sent = new Map(reports.map((report) => [report.task, report]));
  const hasBits = reports.some(({ participation }) => participation !== null);
  const columns = ["question", "report", ...(hasBits ? ["bit"] : [])];
  return [
    columns.map((column) => app.say(`screen.receipt.${column}`)),
    ...app.order
      .filter(({ name }) => sent.has(name))
      .map((task) => {
        const { value, participation } = sent.get(task.name);
        const bits = hasBits ? [spell(app, participation)] : [];
        return [lineOf(app, task), textOfReport(app, value), ...bits];
      }),
  ];
}

function textOfReport(app, value) {
  const names = Array.isArray(value) ? value.map((label) => spell(app, label)) : null;
  return names ? pointsTo(names, app.say) : spell(app, value);
}
