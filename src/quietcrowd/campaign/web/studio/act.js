// Acts on a campaign that was opened.

import { closeCampaign, deleteCampaign, eraseWorker, setExcluded } from "./acts.js";
import { downloadButtons, offerDownloads } from "./downloads.js";
import { byId } from "./elements.js";
import { count, say } from "./format.js";

/** The screen of acts; each asks first. */
export function act(app) {
  const { campaign, goal } = app;
  const { at_least: least, closes_on: day, retention_days: days } = campaign;
  const isOpen = campaign.state === "open";
  const buttons = downloadButtons(app, goal);
  offerDownloads(buttons, campaign.reports > 0, isOpen && least > 1);
  const again = async (isDone, told) => {
    if (isDone) {
      await app.readCampaign();
      say(byId("act-told"), told);
    }
  };
  const forWorker = (id, does, told) => async () => {
    const worker = byId(id).value.trim();
    if (!/^worker-[0-9a-f]+$/.test(worker)) {
      app.tell("Write a pseudonym as the table of people shows it, such as worker-0123456789abcdef.");
      byId(id).focus();
      return;
    }
    await again(await does(app, worker), told);
  };
  return {
    ...{ open: isOpen, buttons, truths: goal !== "shares" },
    waiting: least > 1 && isOpen ? `Up to ${count(least - 1)} people who have sent but are not shown yet never will be.` : "",
    kept: days === null ? "" : `The server deletes all data of people ${count(days)} days after the closing.`,
    later: isOpen && least > 1 ? "Reports are available after the campaign closes." : "",
    day: day ?? "",
    close: async () => (await closeCampaign(app)) && app.visit("#results"),
    setDay: async () => {
      await app.save({ closes_on: byId("field-closes_on").value || null });
      say(byId("act-told"), "The closing date is saved.");
    },
    exclude: forWorker("excluded", (...one) => setExcluded(...one, true), "The exclusion is stored."),
    erase: forWorker("erased", eraseWorker, "Erased, if the campaign had this person."),
    copy: async () => app.visit((await app.api.post("copy")).id),
    remove: async () => (await deleteCampaign(app)) && app.visit("./"),
  };
}
