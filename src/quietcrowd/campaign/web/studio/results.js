// Results of a campaign: truths and people, or shares; they are read again every few seconds.

import { downloadButtons, offerDownloads } from "./downloads.js";
import { byId, element } from "./elements.js";
import { percent, say, sentence, showShare, unbroken } from "./format.js";
import { showFunnel } from "./funnel.js";
import { Results } from "./rows.js";
import { Series } from "./series.js";
import { Shares } from "./shares.js";
import { Questions } from "./tasks.js";
import { Truths } from "./truths.js";
import { Workers } from "./workers.js";

/** The screen of results, for the campaign's goal. */
export function results(app) {
  const { api, goal } = app;
  const [latest, questions] = [new Results(api), new Questions(api)];
  const view = (goal === "shares" ? sharesView : truthsView)(app, latest, questions);
  const series = app.campaign.rounds === null ? null : new Series(app, questions, () => app.report(poll()));
  const buttons = downloadButtons(app, goal, series);
  let hasResults = false;
  const poll = async () => {
    const campaign = await app.readCampaign();
    await showFunnel(app, campaign);
    await series?.poll(campaign);
    latest.round = series?.chosen?.round ?? null;
    const found = await latest.read(view.path, campaign.reports);
    if (found !== undefined) {
      hasResults = found !== null;
      showWarnings(found);
      await view.show(found);
    }
    if (hasResults) {
      questions.read(() => [view, series].forEach((part) => part?.showAgain()));
    }
    const areHeldBack = campaign.state === "open" && campaign.at_least > 1;
    offerDownloads(buttons, hasResults, areHeldBack);
    say(byId("downloads-later"), areHeldBack ? "Reports are available after the campaign closes." : "");
    say(byId("connection"), "up to date");
  };
  return {
    ...{ buttons, poll, view: [...(series?.parts ?? []), ...view.parts], print: () => window.print() },
    ready: () => [view, series].forEach((part) => part?.ready?.()),
    ...{ byLink: !api.showsWorkers, reports: api.showsWorkers },
  };
}

/** Truths, people and agreement. */
function truthsView(app, latest, questions) {
  const truths = new Truths(questions);
  const workers = app.api.showsWorkers ? new Workers(app) : null;
  const table = workers && app.filled("results-workers", { table: [workers.part] });
  return {
    path: "results/head",
    parts: app.filled("results-truths", { table: [truths.part], workers: table ?? [] }),
    ready: () => truths.ready(),
    showAgain: () => truths.showAgain(),
    show: async (found) => {
      const rows = found && (await latest.rows("results/truths"));
      const people = found && workers && (await latest.rows("results/workers"));
      showAgreement(found);
      truths.show(found, rows);
      await workers?.show(found, people);
    },
  };
}

/** Estimated shares and means, and nothing about single people. */
function sharesView(app, latest, questions) {
  const shares = new Shares(questions);
  return {
    path: "estimates",
    parts: app.filled("results-shares", { shares: [shares.part] }),
    showAgain: () => shares.fill(),
    show: async (found) => shares.show(found, found && (await latest.rows("estimates", found))),
  };
}

function showWarnings(results) {
  const { warnings = [] } = results ?? {};
  const notes = warnings.map((warning) => element("li", { class: "note" }, unbroken(sentence(warning.message))));
  byId("warnings").replaceChildren(...notes);
}

function showAgreement(results) {
  byId("agreement").hidden = results === null;
  const { agreement } = results ?? {};
  const { reports = null, answers = null, answers_error: error = null } = agreement ?? {};
  const told = (share) => (share === null ? "unknown" : percent(share));
  const sure = error === null ? told(answers) : `${told(answers)} ± ${percent(error)}`;
  showShare(byId("agreement-reports"), reports, told(reports));
  showShare(byId("agreement-answers"), answers, sure);
}
