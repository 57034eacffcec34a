// The receipt: what this device sent, the privacy loss, and how to withdraw.

import { byId, tables } from "./elements.js";
import { lineOf, spell } from "./questions.js";
import { pointsTo } from "../terms/names.js";

export async function receipt(app) {
  const { device, terms, say, link } = app;
  const { reports, sketch, epsilon, withdrawalKey: key, completionCode: code } = device.receipt;
  const { spent } = await device.spending(0);
  const text = say("screen.key.file", { title: terms.title, link, key });
  return {
    ...{ key, code, epsilon: app.loss(epsilon), spent: app.loss(spent) },
    about:
      sketch === null
        ? say("screen.receipt.noise")
        : say("screen.receipt.sketch", { numbers: app.count(sketch) }),
    table: sketch === null ? tables(rowsOf(app, reports), say("screen.receipt.sent")) : [],
    copy: async ({ target }) => {
      const field = target.previousElementSibling;
      field.select();
      await navigator.clipboard.writeText(field.value);
      target.textContent = say("screen.copied");
      app.progress(say("screen.copied"));
    },
    ready: () => {
      byId("file").href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
    },
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
        return [lineOf(task), textOfReport(app, value), ...bits];
      }),
  ];
}

function textOfReport(app, value) {
  const names = Array.isArray(value) ? value.map((label) => spell(app, label)) : null;
  return names ? pointsTo(names, app.say) : spell(app, value);
}

/** Ask whether to withdraw, with a key unless the worker has continued here. */
export function withdrawal(app) {
  const foreign = !app.order;
  const withdraw = async () => {
    const given = foreign ? byId("key").value.trim() : undefined;
    await app.device.withdraw(given);
    app.answers.clear();
    await app.go("end", foreign ? "screen.withdrawn.key" : "screen.withdrawn");
  };
  return { foreign, withdraw };
}

/** Ask whether to delete all data on this device. */
export function forget(app) {
  return {
    forget: async () => {
      await app.device.forget();
      app.answers.clear();
      await app.go("end", "screen.forgotten");
    },
  };
}
