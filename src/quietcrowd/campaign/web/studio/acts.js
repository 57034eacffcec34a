// Acts on a campaign or on one of its people, each with a confirmation.

import { ask } from "./asking.js";
import { count } from "./format.js";

const later = ({ at_least: least, state }) =>
  state === "open" && least > 1
    ? " This takes effect with the next release or the closing, because results in between would reveal withdrawals."
    : " The results follow shortly.";

/** Ask, and act if the requester agrees; return whether they do. */
async function afterAsking(question, act) {
  const isAgreed = await ask(question);
  await (isAgreed && act());
  return isAgreed;
}

/** Exclude a worker from results, or include it again; return whether the requester agrees. */
export async function setExcluded(app, worker, isExcluded) {
  const says = isExcluded
    ? `The results of “${app.campaign.title}” will use no reports of ${worker}. Nothing is deleted, and you can include this person again.`
    : `The results of “${app.campaign.title}” will use the reports of ${worker} again.`;
  const question = {
    heading: isExcluded ? "Exclude from results?" : "Include in results?",
    ...{ says: says + later(app.campaign), button: isExcluded ? "Exclude" : "Include" },
  };
  const method = isExcluded ? "PUT" : "DELETE";
  return afterAsking(question, () => app.api.json(`excluded/${worker}`, { method }));
}

/** Delete all that a worker sent, permanently. */
export async function eraseWorker(app, worker) {
  const question = {
    heading: "Erase a person?",
    says: `Everything that ${worker} sent to “${app.campaign.title}” is deleted permanently, and this person cannot join again. Do this if they ask for it. The page does not say whether the campaign has this person.`,
    ...{ button: "Erase", typed: worker, label: "Type the pseudonym again", isRisky: true },
  };
  return afterAsking(question, () => app.api.delete(`workers/${worker}`));
}

/** Close a campaign: nobody can join or send from then on. */
export async function closeCampaign(app) {
  const { at_least: least, title, retention_days: days } = app.campaign;
  const waiting = least > 1 ? ` Up to ${count(least - 1)} people who have sent but are not shown yet never will be.` : "";
  const deleted = days === null ? "" : ` All data of people is deleted ${count(days)} days later.`;
  const question = {
    heading: "Close the campaign?",
    says: `No one can join or send to “${title}” any longer.${waiting}${deleted} This cannot be undone.`,
    button: "Close the campaign",
  };
  return afterAsking(question, () => app.api.post("close"));
}

/** Delete a campaign with all its data. */
export async function deleteCampaign(app) {
  const { title, state } = app.campaign;
  const isDraft = state === "draft";
  const all = isDraft ? "its questions and pictures" : "its questions, results, reports and links";
  const question = {
    heading: isDraft ? "Delete the draft?" : "Delete the campaign?",
    says: `“${title}” is deleted permanently with ${all}. This cannot be undone.`,
    ...(isDraft ? {} : { typed: title, label: "Type its title to confirm" }),
    ...{ button: "Delete", isRisky: true },
  };
  return afterAsking(question, () => app.api.delete(""));
}

/** Revoke all links with which nobody has sent yet. */
export async function revokeLinks(app) {
  const question = {
    heading: "Revoke all unused links?",
    says: `No one can join or send to “${app.campaign.title}” with a link that was made until now. Reports that were sent stay.`,
    ...{ button: "Revoke all", isRisky: true },
  };
  return afterAsking(question, () => app.api.delete("invites"));
}
