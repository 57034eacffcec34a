// The dashboard: it takes a key or a link, and shows campaigns while someone looks.

import { openLink, Refusal, RequesterApi } from "./api.js";
import { showAgreement, showCampaign, showCampaigns, showPrivacy, showWarnings } from "./facts.js";
import { isKey, takeFragment } from "./credentials.js";
import { downloadFrom, offerDownloads } from "./downloads.js";
import { byId, say } from "./elements.js";
import { lookAtResults } from "./pages.js";
import { forgetPlan, leavePlan, openPlan } from "./plan.js";
import { forgetQuestions, readQuestions, showTruths, showTruthsAgain } from "./truths.js";
import { showWorkers } from "./workers.js";

/**
 * Take a step now, and again some milliseconds after each, except while the page is hidden. A step
 * returns whether to continue. The returned function stops polling.
 */
function poll(step, milliseconds) {
  let timer = 0;
  let busy = false;
  let ended = false;

  async function turn() {
    clearTimeout(timer);
    if (busy || ended || document.hidden) {
      return;
    }
    busy = true;
    const further = await step();
    busy = false;
    ended ||= !further;
    timer = ended ? 0 : setTimeout(turn, milliseconds);
  }

  document.addEventListener("visibilitychange", turn);
  turn();
  return () => {
    ended = true;
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", turn);
  };
}

const PAUSE = 3_000;
const FINAL = new Set([401, 404, 422]);
const ASK = byId("ask");
const LIST = byId("list");
const CAMPAIGN = byId("campaign");
const PLAN = byId("plan");
const PLAN_PLACE = "plan"; // also in the address, in place of a campaign's id
const KEY_IN_ADDRESS =
  "A key must not be part of an address, because this browser stored it. The page did not use it. Have it " +
  "replaced with quietcrowd admin create-key NAME --replace, and enter the new key.";

let end = () => {};
let current = null; // the API that is polled: of a campaign, or of a requester
let requester = null; // with the key; null without one
let latest = null; // results
let shown = null; // the campaign
let model = null; // the campaign that a plan starts from

function showFound(found) {
  const { results, truths, workers } = found ?? { results: null, truths: null, workers: null };
  latest = results;
  showWarnings(results);
  showTruths(results, truths);
  showWorkers(results, workers);
  showAgreement(results);
  showPrivacy(results);
}

function showScreen(screen) {
  if (screen.hidden) {
    for (const one of [ASK, LIST, CAMPAIGN, PLAN]) {
      one.hidden = one !== screen;
    }
    screen.querySelector("h1").focus();
  }
}

/** Poll an API, or nothing (null), instead of the previous one. */
function follow(api, step) {
  end();
  leavePlan();
  current = api;
  end = api === null ? () => {} : poll(() => look(api, step), PAUSE);
}

function ask(message) {
  requester = null;
  follow(null);
  showFound(null);
  forgetQuestions();
  forgetPlan();
  document.title = "Dashboard – quietcrowd";
  say(byId("connection"), "");
  showScreen(ASK);
  say(byId("key-error"), message);
  byId("key").focus();
}

async function look(api, step) {
  try {
    return (await step(api)) && api === current;
  } catch (error) {
    if (api === current) {
      tellOf(error);
    }
    return api === current;
  }
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

function start(api) {
  showFound(null);
  forgetQuestions();
  downloadFrom(api);
  byId("all-campaigns").hidden = !api.showsWorkers;
  byId("by-link").hidden = api.showsWorkers;
  byId("workers-part").hidden = !api.showsWorkers;
  byId("plan-like").hidden = !api.showsWorkers;
  follow(api, lookAtCampaign);
}

async function lookAtCampaign(api) {
  const campaign = await api.campaign();
  const found = await lookAtResults(api);
  if (api === current) {
    show(campaign, found);
    if (latest !== null) {
      readQuestions(api, () => api === current && showTruthsAgain());
    }
  }
  return true;
}

function show(campaign, found) {
  shown = campaign;
  showCampaign(campaign);
  if (found !== undefined) {
    showFound(found);
  }
  offerDownloads(campaign, latest);
  say(byId("connection"), "live");
  showScreen(CAMPAIGN);
}

/** Load the list once: polling would disturb its reader. */
async function lookAtList(api) {
  const campaigns = await api.campaigns();
  if (api === current) {
    showCampaigns(campaigns, choose);
    document.title = "Campaigns – quietcrowd";
    say(byId("connection"), "");
    showScreen(LIST);
  }
  return false;
}

async function lookAtPlan(api) {
  await openPlan(api, model);
  model = null;
  if (api === current) {
    document.title = "Plan a campaign – quietcrowd";
    say(byId("connection"), "");
    showScreen(PLAN);
  }
  return false;
}

function visit(path) {
  history.pushState(null, "", path);
  go();
}

function choose(campaign) {
  visit(campaign.id);
}

/** Return the id of the campaign in the address; empty for all campaigns. */
function place() {
  return location.pathname.split("/").at(-1);
}

function go() {
  if (requester === null) {
    return;
  }
  if (place() === "") {
    follow(requester, lookAtList);
  } else if (place() === PLAN_PLACE) {
    follow(requester, lookAtPlan);
  } else {
    start(requester.campaign(place()));
  }
}

async function open(code) {
  requester = null;
  follow(null);
  try {
    start(await openLink(place(), code));
  } catch (error) {
    ask(error instanceof Refusal ? error.message : "The server cannot be reached. Load the page again.");
  }
}

function begin() {
  const { code, holdsKey } = takeFragment();
  if (code !== null && place() !== "") {
    open(code);
  } else if (holdsKey) {
    ask(KEY_IN_ADDRESS);
  } else if (current === null) {
    ask("");
  }
}

byId("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const key = byId("key").value.trim();
  byId("key").value = "";
  if (isKey(key)) {
    requester = new RequesterApi(key);
    go();
  } else {
    ask("This is not a key of a requester.");
  }
});

byId("all-campaigns").addEventListener("click", () => visit("./"));
byId("plan-campaigns").addEventListener("click", () => visit("./"));
byId("plan-new").addEventListener("click", () => visit(PLAN_PLACE));
byId("plan-like").addEventListener("click", () => {
  model = shown;
  visit(PLAN_PLACE);
});

window.addEventListener("popstate", () => location.hash || go());
window.addEventListener("hashchange", begin);
begin();
