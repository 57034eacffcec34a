// The dashboard: takes the key, and shows the campaign for as long as somebody looks.

import { CampaignApi, Refusal } from "./api.js";
import { downloadFrom, offerDownloads } from "./downloads.js";
import { byId, say } from "./elements.js";
import { showAgreement, showCampaign, showPrivacy, showWarnings } from "./facts.js";
import { isKey, takeKey } from "./key.js";
import { lookAtResults } from "./pages.js";
import { poll } from "./polling.js";
import { showTruths } from "./truths.js";
import { showWorkers } from "./workers.js";

const PAUSE = 3_000;
const FINAL = new Set([401, 404, 422]);

let end = () => {};
let current = null;
let latest = null; // results

/** Show what was found, or that nothing was. */
function showFound(found) {
  const { results, truths, workers } = found ?? { results: null, truths: null, workers: null };
  latest = results;
  showWarnings(results);
  showTruths(results, truths);
  showWorkers(results, workers);
  showAgreement(results);
  showPrivacy(results);
}

/** Follow a campaign, or none; what was followed before is let go. */
function follow(api) {
  end();
  current = api;
  downloadFrom(api);
  end = api === null ? () => {} : poll(() => look(api), PAUSE);
}

function ask(message) {
  follow(null);
  showFound(null);
  byId("campaign").hidden = true;
  byId("ask").hidden = false;
  say(byId("key-error"), message);
  byId("key").focus();
}

function start(key) {
  follow(new CampaignApi(location.pathname.split("/").at(-1), key));
}

/** Look once; return whether to look again. */
async function look(api) {
  try {
    const campaign = await api.campaign();
    const found = await lookAtResults(api);
    if (api === current) {
      show(campaign, found);
    }
  } catch (error) {
    if (api === current) {
      tellOf(error);
    }
  }
  return api === current;
}

function show(campaign, found) {
  showCampaign(campaign);
  if (found !== undefined) {
    showFound(found);
  }
  offerDownloads(campaign, latest);
  say(byId("connection"), "live");
  byId("ask").hidden = true;
  byId("campaign").hidden = false;
}

function tellOf(error) {
  const refused = error instanceof Refusal;
  if (refused && FINAL.has(error.status)) {
    ask(error.message);
    return;
  }
  const told = refused ? error.message : "The server cannot be reached.";
  say(byId("connection"), `${told} Trying again.`);
}

byId("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const key = byId("key").value.trim();
  byId("key").value = "";
  if (isKey(key)) {
    start(key);
  } else {
    ask("That is no key of a requester.");
  }
});

/** Start with the key that the address brings; without one, ask for it. */
function begin() {
  const key = takeKey();
  if (key !== null) {
    start(key);
  } else if (current === null) {
    ask("");
  }
}

window.addEventListener("hashchange", begin);
begin();
