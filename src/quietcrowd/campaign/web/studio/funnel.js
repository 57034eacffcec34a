// How many links were made, and how many workers joined, sent and left: counts of the last release.

import { byId, element } from "./elements.js";
import { count, counted } from "./format.js";

/** Show the counts, which move only with releases; joined and left are rounded down. */
export async function showFunnel(app, campaign) {
  const funnel = app.api.showsWorkers ? await app.api.json("funnel") : null;
  const least = campaign.at_least;
  const shown = least === 1 ? "each at once" : `${count(least)} or more at a time`;
  const about = (number) => (least > 1 && number === 0 ? `under ${count(least)}` : count(number));
  const rounded = least === 1 ? "" : `in multiples of ${count(least)}`;
  const { links, joined, left } = funnel ?? {};
  const invites = campaign.join_mode === "invite" && links !== undefined;
  const cards = [
    ...(invites ? [card("Links made", count(links), "one for each person")] : []),
    ...(funnel ? [card("Joined", about(joined), rounded)] : []),
    card("Sent and shown", count(campaign.participants), shown),
    ...(funnel ? [card("Left", about(left), rounded)] : []),
    card("Reports", count(campaign.reports), `to ${counted(campaign.tasks, "question")}`),
  ];
  byId("funnel").replaceChildren(...cards);
}

function card(name, number, note) {
  const told = [element("dd", { class: "big" }, number), element("dd", { class: "quiet" }, note)];
  return element("div", {}, element("dt", {}, name), ...told);
}
