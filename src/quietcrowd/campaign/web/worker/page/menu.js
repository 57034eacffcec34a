// Ways out: the menu, coming back, withdrawing, deleting, and where nothing can be done.

import { started } from "./landing.js";
import { byId } from "./elements.js";

const MAIL = /^[\w.+-]+@[\w-]+(\.[\w-]+)+$/;
const KEYED = ["screen.closed", "screen.uninvited", "refusal.place", "refusal.credential"];

export function menu(app) {
  const { device, terms, order } = app;
  return {
    ...{ ...terms, ...terms.promises, ...started(app) },
    mayKeep: !app.saved && device.mayKeepDrafts,
    back: () => app.goBack(true),
    review: () => app.answering(order.length),
    ready: () => {
      const drafts = byId("drafts");
      if (drafts) {
        drafts.checked = device.keepsDrafts;
        const change = async () => {
          await device.setKeepsDrafts(drafts.checked);
          await device.keepDrafts(app.answers);
        };
        drafts.addEventListener("change", () => app.attempt(change));
      }
    },
  };
}

/** Ask whether to continue; of kept answers, only the count is shown. */
export async function resume(app) {
  const { device, say } = app;
  const { state } = device;
  const { size: drafts } = state === "joined" ? await device.drafts() : new Map();
  const key = state === "joined" && !drafts ? "screen.joined.none" : `screen.${state}`;
  return {
    drafts,
    isOther: state === "joined" && (await device.isOther(app.invite)),
    heading: say(`screen.${state}.heading`),
    sentences: say(key, { count: drafts, drafts: app.count(drafts) }),
  };
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

/** Show why nothing can be done here, and a way on. */
export function end(app, key, values) {
  const isRefusal = !key.startsWith("screen");
  const given = app.device?.terms?.promises?.contact ?? "";
  const contact = isRefusal && MAIL.test(given) ? given : "";
  return {
    heading: app.say(isRefusal ? "refusal.heading" : `${key}.heading`),
    sentences: app.refusal(key, values),
    ...{ contact, keyed: KEYED.includes(key), drafts: isRefusal && app.answers.size > 0 },
    mail: contact && `mailto:${contact}`,
  };
}
