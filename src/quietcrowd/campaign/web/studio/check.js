// Step 5: a summary of the draft, its problems, and the button that opens it.

import { deleteCampaign } from "./acts.js";
import { answersOf } from "./domain.js";
import { byId, element } from "./elements.js";
import { counted, loss, say, sentence, sureness, tableRow } from "./format.js";
import { expectedPeople } from "./people.js";
import { asked, closing, together } from "./privacy.js";

const STEP_OF = {
  ...{ title: "questions", goal: "questions", tasks: "questions", domain: "questions", images: "questions" },
  ...{ total_epsilon: "people", answers_per_participant: "people", allotment: "people", mechanism_name: "people" },
};

/** The screen of the last step. */
export async function check(app) {
  const { campaign, goal } = app;
  const ends = new AbortController();
  const [readiness, server] = await Promise.all([
    app.api.json("readiness"),
    app.requester.json("server"),
  ]);
  return {
    rows: rowsOf(app).map(row),
    problems: readiness.problems.map(problem),
    isMissing: !readiness.ready,
    isReady: readiness.ready,
    local: server.local,
    address: server.address,
    words: (readiness.words ?? []).map((text) => element("p", {}, text)),
    open: async () => {
      await app.api.post("open");
      app.visit("#invite");
    },
    remove: async () => (await deleteCampaign(app)) && app.visit("./"),
    ready: () => {
      const button = byId("open");
      const anyway = byId("anyway");
      anyway.addEventListener("change", () => (button.disabled = !anyway.checked || !readiness.ready));
      button.disabled = !readiness.ready || goal === "truths";
      if (goal === "truths" && campaign.tasks > 0) {
        forecast(app, readiness, ends.signal);
      }
    },
    leave: () => ends.abort(),
  };
}

/** Show the forecast; opening requires a tick if it is as good as guessing. */
async function forecast(app, readiness, signal) {
  try {
    const found = await app.plans.row(expectedPeople(app), signal);
    say(byId("expected"), found.verdict);
    byId("anyway").closest("label").hidden = !found.useless;
    byId("open").disabled = !readiness.ready || found.useless;
  } catch (error) {
    if (!signal.aborted) {
      say(byId("expected"), `There is no forecast: ${error.message}`);
      byId("open").disabled = !readiness.ready;
    }
  }
}

function rowsOf({ campaign, goal }) {
  const { total_epsilon: total, domain } = campaign;
  const results = goal === "shares" ? "shares" : "truths";
  return [
    [counted(campaign.tasks, "question"), `${answersOf(domain)}; the results are ${results}`, "questions"],
    ["A person is asked", asked(campaign), "people"],
    [`Total loss ε = ${loss(total)}`, `from 50 % sure to ${sureness(total ?? Infinity)} sure`, "people"],
    ["Closes", closing(campaign), "asker"],
    ["Reports are shown of", together(campaign), "asker"],
    ["Data of workers", `deleted ${counted(campaign.retention_days, "day")} after closing`, "asker"],
    ["Requester", [campaign.requester, campaign.contact].filter(Boolean).join(", ") || "not stated", "asker"],
    ["Purpose", campaign.purpose || "not stated", "asker"],
  ];
}

function row([name, text, step]) {
  return tableRow(name, [text, element("a", { href: `#${step}`, "aria-label": `Change: ${name}` }, "Change")], "");
}

function problem({ field, message }) {
  const step = STEP_OF[field] ?? "asker";
  return element("li", {}, `${sentence(`${field.replaceAll("_", " ")}: ${message}`)} `, element("a", { href: `#${step}` }, "Change it"));
}
