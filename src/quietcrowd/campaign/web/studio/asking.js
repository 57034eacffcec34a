// Questions to the requester before something is done that cannot be undone.

import { byId, filled } from "./elements.js";

/**
 * Ask in a dialog, and return whether the requester agrees. With `typed`, agreeing requires that
 * text, below a `label`.
 */
export function ask({ heading, says, button, typed = null, label = "", isRisky = false }) {
  const dialog = byId("asking");
  return new Promise((resolve) => {
    const close = (isAgreed) => {
      dialog.close();
      resolve(isAgreed);
    };
    const values = {
      ...{ heading, says, button, typed: typed !== null, label },
      yes: () => close(true),
      no: () => close(false),
    };
    const app = { attempt: (act) => act() };
    dialog.replaceChildren(...filled("asking-parts", app, values));
    const [yes] = dialog.querySelectorAll("[data-do=yes]");
    yes.classList.add(isRisky ? "risk" : "main");
    if (typed !== null) {
      const field = byId("typed");
      const plain = (text) => text.trim().replaceAll(/[\u2010-\u2015]/g, "-"); // few can type a dash
      const check = () => (yes.disabled = plain(field.value) !== plain(typed));
      field.addEventListener("input", check);
      check();
    }
    dialog.addEventListener("cancel", () => resolve(false), { once: true });
    dialog.showModal();
    (byId("typed") ?? dialog.querySelector("[data-do=no]")).focus();
  });
}
