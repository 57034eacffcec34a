// How many links were made, and how many people joined, sent and withdrew, as of the last release.

import { byId, element } from "./elements.js";
import { count, counted } from "./format.js";

/** Show the counts. They move only with releases, so two of them are rounded down. */
export async function showFunnel(app, campaign) {
  const funnel = app.api.showsWorkers ? await app.api.json("funnel") : null;
  const least = campaign.at_least;
  const isExact = least === 1;
  const shown = isExact ? "each at once" : `${count(least)} or more at a time`;
  const isEarly = campaign.participants === 0; // before the first release nothing is known
  const rough = (number) => (number === 0 ? `under ${count(least)}` : `at least ${count(number)}`);
  const about = isExact ? count : isEarly ? () => "–" : rough;
  const rounded = isExact ? "" : isEarly ? "from the first release on" : "rounded down at each release";
  const { links, joined, left } = funnel ?? {};
  const invites = campaign.join_mode === "invite" && links !== undefined;
  const cards = [
    ...(invites ? [card("Links made", count(links), "one for each person")] : []),
    ...(funnel ? [card("Joined", about(joined), rounded)] : []),
    card("Sent and shown", count(campaign.participants), shown),
    ...(funnel ? [card("Withdrew", about(left), rounded)] : []),
    card("Reports", count(campaign.reports), `to ${counted(campaign.tasks, "question")}`),
  ];
  byId("funnel").replaceChildren(...cards);
}

function card(name, number, note) {
  const told = [element("dd", { class: "big" }, number), element("dd", { class: "quiet" }, note)];
  return element("div", {}, element("dt", {}, name), ...told);
}
