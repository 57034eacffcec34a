// Facts about the campaign: counts, warnings, agreement and privacy.

import { byId, count, loss, make, percent, say, showShare } from "./elements.js";
import { SortableTable } from "./table.js";

const NEED_RESULTS = [
  byId("answer-epsilon"),
  byId("worker-epsilon"),
  byId("delta"),
  byId("participation"),
];

const JOINING = {
  invite: "one worker with each invite",
  open: "anyone with the link, repeatedly: workers may be fake",
};

export function showCampaign(campaign) {
  document.title = `${campaign.title} – quietcrowd`;
  say(byId("title"), campaign.title);
  say(byId("description"), campaign.description);
  say(byId("state"), campaign.state);
  byId("state").className = `state ${campaign.state}`;
  say(byId("participants"), count(campaign.participants));
  say(byId("reports"), count(campaign.reports));
  say(byId("tasks"), count(campaign.tasks));
  say(byId("config-hash"), campaign.config_hash ?? "none: it is a draft");
  say(byId("mechanism"), String(campaign.mechanism.mechanism));
  say(byId("requester"), campaign.requester || "not stated");
  say(byId("contact"), campaign.contact || "not stated");
  say(byId("purpose"), campaign.purpose || "not stated");
  say(byId("asked"), asked(campaign));
  say(byId("closing"), closing(campaign));
  say(byId("as-of"), campaign.as_of ?? "no particular day");
  say(byId("joining"), JOINING[campaign.join_mode]);
  const days = campaign.retention_days;
  const kept = days === null ? "when you delete the campaign" : `${count(days)} days after closing`;
  say(byId("retention"), kept);
  say(byId("at-least"), together(campaign));
}

function asked(campaign) {
  const most = campaign.answers_per_participant;
  if (campaign.allotment === "random") {
    return `${count(most)} of the tasks, assigned at joining, all equally often`;
  }
  if (campaign.allotment === "suggested") {
    return `${count(most)} of the tasks, assigned at joining: those for which more reports help most`;
  }
  return most === null ? "all tasks" : `all tasks, and answers at most ${count(most)}`;
}

function closing(campaign) {
  const day = campaign.closes_on;
  if (campaign.state === "closed") {
    return "closed";
  }
  return day === null ? "when you close it" : `at the end of ${day} (UTC)`;
}

function together(campaign) {
  const least = campaign.at_least;
  if (least === 1) {
    return "each worker immediately";
  }
  const rest = `fewer than ${count(least)} at closing are never shown`;
  return `at least ${count(least)} new workers at a time; ${rest}`;
}

export function showWarnings(results) {
  const warnings = results === null ? [] : results.warnings;
  const banners = warnings.map((warning) => {
    const banner = make("li", "", "notice");
    say(banner, warning.message[0].toUpperCase() + warning.message.slice(1));
    return banner;
  });
  byId("warnings").replaceChildren(...banners);
}

export function showAgreement(results) {
  const agreement = results === null ? null : results.agreement;
  const reports = agreement === null ? null : agreement.reports;
  const answers = agreement === null ? null : agreement.answers;
  const error = answers === null ? null : agreement.answers_error ?? null;
  const told = (share) => (share === null ? "unknown" : percent(share));
  const sure = error === null ? told(answers) : `${told(answers)} ± ${percent(error)}`;
  byId("agreement").hidden = results === null;
  showShare(byId("agreement-reports"), reports, told(reports));
  showShare(byId("agreement-answers"), answers, sure);
}

/** Show the maximum privacy loss, and the probability of more, which pairs (ε, δ) do not state. */
export function showPrivacy(results) {
  for (const fact of NEED_RESULTS) {
    fact.parentElement.hidden = results === null;
  }
  if (results === null) {
    return;
  }
  const { privacy } = results;
  const { tail } = privacy;
  const rare = tail === null ? "" : `, except with probability ${loss(tail.probability)}`;
  const told = (name) => loss((tail ?? privacy)[name]) + rare;
  say(byId("answer-epsilon"), told("answer_epsilon"));
  say(byId("worker-epsilon"), told("worker_epsilon"));
  const pairs = (name) => `(${loss(privacy[name])}, ${loss(privacy.delta)})`;
  const both = `${pairs("answer_epsilon")} and ${pairs("worker_epsilon")}`;
  say(byId("delta"), tail === null ? "δ = 0" : both);
  say(byId("participation"), privacy.participation_protected ? "protected like answers" : "not protected");
}

const table = new SortableTable(byId("campaigns"), byId("campaigns-more"));
const words = new Intl.Collator("en", { numeric: true });

function number(name, field) {
  return { name, numeric: true, value: (row) => row[field], text: (row) => count(row[field]) };
}

/** Show campaigns by title; `choose` is called with the selected one. */
export function showCampaigns(campaigns, choose) {
  const rows = [...campaigns].sort((one, other) => words.compare(one.title, other.title));
  const columns = [
    {
      name: "Title",
      value: (row) => row.title,
      text: (row) => row.title,
      below: (row) => row.id,
      press: choose,
    },
    { name: "State", value: (row) => row.state, text: (row) => row.state },
    number("Tasks", "tasks"),
    number("Workers", "participants"),
    number("Reports", "reports"),
  ];
  byId("campaigns-found").hidden = rows.length === 0;
  say(byId("campaigns-none"), rows.length ? "" : "There are no campaigns yet. Create one with quietcrowd campaign create.");
  say(byId("campaigns-note"), rows.length ? `Yours: ${count(rows.length)}.` : "");
  table.show(columns, rows, null);
}
