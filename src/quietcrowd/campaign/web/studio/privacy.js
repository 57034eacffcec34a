// The promises of a campaign, and the text of its consent.

import { element } from "./elements.js";
import { count, loss, percent } from "./format.js";
import { often } from "./rounds.js";

const JOINING = {
  invite: "one person with each link",
  open: "anyone with the link, repeatedly: people may be invented",
};

/** The screen of privacy: the promises in words, and the text of the consent. */
export async function privacy(app) {
  const { campaign } = app;
  const { config } = await app.requester.json(`public/campaigns/${campaign.id}`);
  const levels = config.menu?.entries ?? [config];
  return {
    facts: factsOf(campaign, levels.at(-1).guarantee).map(fact),
    summary: ofAll(levels, "summary").map((text) => element("p", {}, text)),
    consent: ofAll(levels, "consent").map((text) => element("li", {}, text)),
    description: campaign.description,
  };
}

/** Return the lines of the first level, and those in which others differ. */
function ofAll([first, ...others], name) {
  const lines = first[name] ?? [];
  const differing = (level, i) => [`Level ${i + 2}:`, ...level[name].filter((line) => !lines.includes(line))];
  return [...lines, ...others.flatMap(differing)];
}

function factsOf(campaign, guarantee) {
  const { worker_epsilon: total, answer_epsilon: answer } = guarantee;
  const { menu, rounds, losses } = campaign;
  const one = [
    ["Total loss of a person who gives all answers, ε", `${loss(total)}: from 50 % sure to ${campaign.protection}`],
    ["Loss of one answer, ε", loss(answer)],
  ];
  return [
    ...(menu === null ? one : [["Levels of privacy", levelsInWords(campaign)]]),
    ["Asked", often(campaign)],
    ...(rounds === null ? [] : [["Total loss in rounds, ε", `${loss(losses.window)} in any ${count(rounds.window)} in a row, ${loss(losses.campaign)} in all`]]),
    ["How answers are randomized", `${campaign.why} Experts call it ${campaign.mechanism.mechanism}.`],
    ["Which questions a person answered", guarantee.participation_protected ? "protected like answers" : "not protected"],
    ["You see the reports of", together(campaign)],
    ["A person is asked", asked(campaign)],
    ["Who can join", JOINING[campaign.join_mode]],
    ["Questions refer to", campaign.as_of ?? "no particular day"],
    ["Closes", closing(campaign)],
    ["The server deletes data of people", campaign.retention_days === null ? "when you delete the campaign" : `${count(campaign.retention_days)} days after closing`],
    ["Requester", campaign.requester || "not stated"],
    ["Contact", campaign.contact || "not stated"],
    ["Purpose", campaign.purpose || "not stated"],
    ["Hash of the configuration that people agreed to", campaign.config_hash ?? "none: it is a draft"],
  ];
}

function fact([name, text]) {
  return element("div", {}, element("dt", {}, name), element("dd", { dir: "auto" }, text));
}

/** Return the levels from which people choose, in words. */
export function levelsInWords({ menu }) {
  const words = menu.map(({ total_epsilon: total, share }) => `ε = ${loss(total)} (for ${percent(share, 0)} of people)`);
  return `everyone chooses: ${words.join(", ")}`;
}

/** Return how many questions a person is asked, in words. */
export function asked(campaign) {
  const most = campaign.answers_per_participant;
  if (campaign.allotment === "random") {
    return `${count(most)} of the questions, assigned at joining, all equally often`;
  }
  if (campaign.allotment === "suggested") {
    return `${count(most)} of the questions, assigned at joining: those for which more reports help most`;
  }
  return most === null ? "all questions" : `all questions, and answers at most ${count(most)}`;
}

/** Return when a campaign closes, in words. */
export function closing(campaign) {
  const day = campaign.closes_on;
  if (campaign.state === "closed") {
    return "closed";
  }
  if (campaign.rounds !== null && day === null) {
    return "after the last round, or when you close it";
  }
  return day === null ? "when you close it" : `at the end of ${day} (UTC)`;
}

/** Return how many people are shown at a time, in words. */
export function together(campaign) {
  const least = campaign.at_least;
  if (least === 1) {
    return "each person immediately";
  }
  if (campaign.rounds !== null) {
    return `a round after its end, if at least ${count(least)} people answered; otherwise together with the next`;
  }
  const rest = `fewer than ${count(least)} at closing are never shown`;
  return `at least ${count(least)} new people at a time; ${rest}`;
}
