// Step 5: a summary of the draft, its problems, and the button that opens it.

import { deleteCampaign } from "./acts.js";
import { answersOf } from "./domain.js";
import { byId, element } from "./elements.js";
import { counted, loss, say, sentence, tableRow, unbroken } from "./format.js";
import { FIRST_TITLE } from "./list.js";
import { expectedPeople } from "./people.js";
import { asked, closing, levelsInWords, together } from "./privacy.js";
import { often, roundsInWords } from "./rounds.js";

const STEP_OF = {
  ...{ title: "questions", goal: "questions", tasks: "questions", domain: "questions", images: "questions" },
  ...{ total_epsilon: "people", answers_per_participant: "people", allotment: "people", mechanism_name: "people" },
  ...{ menu: "people", rounds: "people" },
};
const NAMES = { requester: "who asks", purpose: "what for" };

/** The screen of the last step. */
export async function check(app) {
  const { campaign } = app;
  const ends = new AbortController();
  const [readiness, server] = await Promise.all([app.api.json("readiness"), app.requester.json("server")]);
  const unnamed = { field: "title", message: `people see it: replace “${FIRST_TITLE}”` };
  const problems = [...(campaign.title === FIRST_TITLE ? [unnamed] : []), ...readiness.problems];
  const isReady = problems.length === 0;
  return {
    rows: rowsOf(app).map(row),
    problems: problems.map(problem),
    isMissing: !isReady,
    notes: readiness.notes.map((text) => element("p", { class: "note" }, text)),
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
      anyway.addEventListener("change", () => (button.disabled = !anyway.checked || !isReady));
      button.disabled = true;
      campaign.tasks > 0 && forecast(app, isReady, ends.signal);
    },
    leave: () => ends.abort(),
  };
}

/** Show the forecast; opening requires a tick if the result is useless. */
async function forecast(app, isReady, signal) {
  let found = { standing: "weak", useless: false };
  const { menu, rounds, goal } = app.campaign;
  try {
    found = await app.plans.row(expectedPeople(app), signal);
  } catch (error) {
    found.verdict = `There is no forecast: ${error.message}`;
  }
  if (menu !== null && goal === "truths" && !signal.aborted) {
    const { error = null, constant: guess } = found;
    await app.change({ expected: error === null ? null : { error, guess } }); // people see it
  }
  if (!signal.aborted) {
    byId("expected").className = `verdict ${found.standing}`;
    say(byId("expected"), rounds === null ? found.verdict : `In each round: ${found.verdict}`);
    byId("anyway").closest("label").hidden = !found.useless;
    byId("open").disabled = !isReady || found.useless;
  }
}

function rowsOf(app) {
  const { campaign, goal } = app;
  const { total_epsilon: total, domain, mechanism, menu, rounds } = campaign;
  const results = goal === "shares" ? "shares" : "truths";
  const one = [`Total loss ε = ${loss(total)}`, `from 50 % sure to ${campaign.protection}`, "people"];
  return [
    ["Title", campaign.title, "questions"],
    [counted(campaign.tasks, "question"), `${answersOf(domain, mechanism.option_counts)}; the results are ${results}`, "questions"],
    ["A person is asked", asked(campaign), "people"],
    menu === null ? one : ["Levels of privacy", levelsInWords(campaign), "people"],
    ["Asked", often(campaign), "people"],
    ...(rounds === null ? [] : [["In rounds", roundsInWords(campaign, expectedPeople(app)), "people"]]),
    ["Closes", closing(campaign), "asker"],
    ["You see the reports of", together(campaign), "asker"],
    ["Data of people", `deleted ${counted(campaign.retention_days, "day")} after closing`, "asker"],
    ["Who asks", [campaign.requester, campaign.contact].filter(Boolean).join(", ") || "not stated", "asker"],
    ["What for", campaign.purpose || "not stated", "asker"],
  ];
}

function row([name, text, step]) {
  return tableRow(unbroken(name), [unbroken(text), element("a", { href: `#${step}`, "aria-label": `Change: ${name}` }, "Change")], "");
}

function problem({ field, message }) {
  const step = STEP_OF[field] ?? "asker";
  const name = (NAMES[field] ?? field).replaceAll("_", " ").replace("tasks", "questions").replace("participant", "person");
  return element("li", {}, `${sentence(`${name}: ${message}`)} `, element("a", { href: `#${step}` }, "Change it"));
}
