// Step 4: requester, purpose, dates, and the way to join; people read it before they answer.

import { byId, element } from "./elements.js";
import { counted } from "./format.js";

const TEXTS = ["description", "requester", "contact", "purpose", "completion_code", "closes_on", "as_of"];
const NUMBERS = ["retention_days", "at_least", "max_participants", "linked"];
const NULLED = new Set(["completion_code", "closes_on", "as_of", ...NUMBERS]); // null rather than empty
const DAYS = [30, 90, 180, 365];
const BATCHES = [1, 5, 10, 20, 50];

/** The screen of the fourth step; each field is stored when it changes. */
export function asker(app) {
  const { retention_days: days, at_least: least } = app.campaign;
  const options = (usual, chosen, say) =>
    [...new Set([...usual, chosen])]
      .sort((one, other) => one - other)
      .map((value) => element("option", { value: String(value) }, say(value)));
  const batch = (value) => (value === 1 ? "each person at once" : `${value} or more people at a time`);
  return {
    days: options(DAYS, days, (value) => `${counted(value, "day")} after closing`),
    batches: options(BATCHES, least, batch),
    ready: () => ready(app),
  };
}

function ready(app) {
  const { campaign } = app;
  const change = (name, value) => app.change({ [name]: value });
  for (const name of [...TEXTS, ...NUMBERS]) {
    const field = byId(`field-${name}`);
    field.value = String(campaign[name] ?? "");
    field.addEventListener("change", () => {
      const text = field.value.trim();
      const value = NUMBERS.includes(name) ? Number(text) : text;
      change(name, text === "" && NULLED.has(name) ? null : value);
    });
  }
  const drafts = byId("field-drafts");
  drafts.checked = campaign.drafts;
  drafts.addEventListener("change", () => change("drafts", drafts.checked));
  for (const one of document.querySelectorAll("[data-join]")) {
    one.checked = one.dataset.join === campaign.join_mode;
    one.addEventListener("change", async () => {
      await change("join_mode", one.dataset.join);
      drafts.checked = app.campaign.drafts;
    });
  }
}
