// Results of a campaign: truths and workers, or shares; they are read again every few seconds.

import { downloadButtons, offerDownloads, save } from "./downloads.js";
import { byId, element } from "./elements.js";
import { count, percent, say, sentence, showShare } from "./format.js";
import { showFunnel } from "./funnel.js";
import { Results } from "./rows.js";
import { Shares, sharesAsTable } from "./shares.js";
import { Questions } from "./tasks.js";
import { Truths } from "./truths.js";
import { Workers } from "./workers.js";

/** The screen of results, for the campaign's goal. */
export function results(app) {
  const { goal } = app;
  const view = goal === "shares" ? new SharesView(app) : new TruthsView(app);
  const buttons = downloadButtons(app, goal);
  const poll = async () => {
    const campaign = await app.readCampaign();
    await showFunnel(app, campaign);
    const hasResults = await view.look();
    const areHeldBack = campaign.state === "open" && campaign.at_least > 1;
    offerDownloads(buttons, hasResults, areHeldBack);
    say(byId("downloads-later"), areHeldBack ? "Reports are available after the campaign closes." : "");
    say(byId("connection"), "live");
  };
  return {
    ...{ buttons, poll, ready: () => view.ready?.() },
    ...{ byLink: !app.api.showsWorkers, reports: app.api.showsWorkers },
    view: view.parts,
    print: () => window.print(),
  };
}

/** Truths, workers and agreement. */
class TruthsView {
  #app;
  #results;
  #questions;
  #truths;
  #workers;
  #latest = null;

  constructor(app) {
    this.#app = app;
    this.#results = new Results(app.api);
    this.#questions = new Questions(app.api);
    this.#truths = new Truths(this.#questions);
    this.#workers = app.api.showsWorkers ? new Workers(app) : null;
    const workers = this.#workers && { table: [this.#workers.part] };
    this.parts = app.filled("results-truths", {
      table: [this.#truths.part],
      workers: workers ? app.filled("results-workers", workers) : [],
    });
  }

  ready() {
    this.#truths.ready();
  }

  /** Show the latest results if they are new; return whether there are any. */
  async look() {
    const results = await this.#results.read("results/head");
    if (results !== undefined) {
      const truths = results && (await this.#results.rows("results/truths"));
      const workers = results && this.#workers && (await this.#results.rows("results/workers"));
      this.#latest = results;
      showWarnings(results);
      showAgreement(results);
      this.#truths.show(results, truths);
      await this.#workers?.show(results, workers);
    }
    if (this.#latest !== null) {
      this.#questions.read(() => this.#truths.showAgain());
    }
    return this.#latest !== null;
  }
}

/** Estimated shares and means, and nothing about single workers. */
class SharesView {
  #results;
  #questions;
  #shares;
  #loaded = null;

  constructor(app) {
    this.#results = new Results(app.api);
    this.#questions = new Questions(app.api);
    this.#shares = new Shares(this.#questions);
    const table = async () => {
      const text = await sharesAsTable(this.#loaded);
      save(new Blob([text], { type: "text/csv" }), "shares.csv");
    };
    this.parts = app.filled("results-shares", { shares: [this.#shares.part], table });
  }

  async look() {
    const estimates = await this.#results.read("estimates");
    if (estimates !== undefined) {
      this.#loaded = estimates && (await this.#results.rows("estimates", estimates));
      showWarnings(estimates);
      this.#shares.show(estimates, this.#loaded);
    }
    const isThere = this.#loaded !== null;
    byId("download-shares").disabled = !isThere;
    if (isThere) {
      this.#questions.read(() => this.#shares.showAgain());
    }
    return isThere;
  }
}

function showWarnings(results) {
  const { warnings = [] } = results ?? {};
  const notes = warnings.map((warning) => element("li", { class: "note" }, sentence(warning.message)));
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
