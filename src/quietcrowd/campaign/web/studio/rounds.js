// Rounds in step 3: how often the questions are asked again, and what each round delivers.

import { byId } from "./elements.js";
import { count, counted, countedPeople, loss, say } from "./format.js";

const [HOUR, DAY] = [3_600, 86_400];
const UNITS = { hour: HOUR, day: DAY, week: 7 * DAY };
const USUAL = { hour: { count: 168, window: 25 }, day: { count: 28, window: 7 }, week: { count: 26, window: 4 } };
const MINUTE = "YYYY-MM-DDTHH:MM".length;

/** Return the rounds of a unit that a campaign starts with. */
function usual(unit) {
  const first = `${new Date(Date.now() + DAY * 1_000).toISOString().slice(0, 11)}00:00:00Z`;
  return { first, length: UNITS[unit], ...USUAL[unit], cap: USUAL[unit].count };
}

/** Connect the form of rounds; `change` takes changes of the campaign. */
export function roundsForm(app, change) {
  let [rounds, waiting] = [app.campaign.rounds, 0]; // as entered, which may not be stored yet
  const put = async (wanted) => {
    rounds = wanted;
    waiting += 1;
    await change({ rounds });
    waiting -= 1;
    rounds = waiting ? rounds : app.campaign.rounds;
  };
  const value = (name) => byId(`round-${name}`).value;
  const whole = (name) => Math.max(1, Math.round(Number(value(name))) || 1);
  const set = (changes) => put({ ...rounds, ...changes });
  const setWindow = (window, more) => set({ window, step: window, ...more });
  const end = () => {
    const cap = whole("count");
    setWindow(Math.min(rounds.window, cap), { cap, count: value("end") === "count" ? cap : null });
  };
  const acts = {
    "ask-once": () => put(null),
    "ask-again": () => put(usual("day")),
    "round-length": () => set({ length: whole("length") * UNITS[value("unit")], grace: null }),
    "round-unit": () => put({ ...usual(value("unit")), first: rounds.first }),
    "round-count": end,
    "round-end": end,
    "round-first": () => value("first") && set({ first: `${value("first")}:00Z` }),
    "round-window": () => setWindow(whole("window")),
    "round-division": () => set({ division: value("division") }),
    "round-facts": () => set({ facts: value("facts") }),
    "round-grace": () => set({ grace: Math.round(HOUR * Number(value("grace"))) }),
    "round-keep": () => set({ keep: whole("keep") }),
  };
  for (const [id, act] of Object.entries(acts)) {
    byId(id).addEventListener("change", act);
  }
  return showForm;
}

function showForm(campaign, people) {
  const { rounds } = campaign;
  byId(rounds === null ? "ask-once" : "ask-again").checked = true;
  byId("rounds").hidden = rounds === null;
  if (rounds === null) {
    return;
  }
  const unit = unitOf(rounds);
  const { length, cap, first, grace } = rounds;
  const shown = { length: length / UNITS[unit], unit, count: cap, first: first.slice(0, MINUTE), grace: Number((grace / HOUR).toFixed(2)) };
  for (const [name, value] of Object.entries({ ...rounds, ...shown, end: rounds.count === null ? "open" : "count" })) {
    const field = byId(`round-${name}`);
    field === null || field === document.activeElement || (field.value = String(value)); // not while typing
  }
  say(byId("rounds-told"), roundsInWords(campaign, people));
}

const unitOf = ({ length }) => Object.keys(UNITS).reverse().find((unit) => length % UNITS[unit] === 0) ?? "hour";

/** Return how often questions are asked, in words. */
export function often({ rounds }) {
  const unit = rounds && unitOf(rounds);
  const times = rounds && Number((rounds.length / UNITS[unit]).toFixed(2));
  const most = rounds?.count === null ? "at most " : "";
  return rounds === null ? "once" : `every ${times === 1 ? unit : counted(times, unit)}, ${most}${counted(rounds.cap, "round")} from ${moment(rounds.first, rounds)}`;
}

/** Return who answers a round, and the losses of a person, in words. */
export function roundsInWords({ rounds, losses }, people) {
  const own = slotsOf(rounds);
  const some = Math.floor(people / own);
  const who =
    own > 1
      ? `Each person answers one round in ${count(own)}, drawn by their device: about ${countedPeople(some)} of ${count(people)} in each round.`
      : "Each person may answer every round.";
  const window = rounds.window > 1 ? ` in any ${count(rounds.window)} rounds in a row` : " in a round";
  const limits = `A person loses at most ε = ${loss(losses.window)}${window}, and ${loss(losses.campaign)} in all.`;
  const fact = rounds.facts === "lasting" ? ` About a fact that stays the same it is ${loss(losses.fact)}.` : "";
  return `${who} ${limits}${fact} The forecast is for one round alone; later rounds also learn from earlier ones.`;
}

/** Return one in how many rounds a person answers. */
export const slotsOf = (rounds) => (rounds?.division === "crowd" ? rounds.step : 1);

/** Return when a round begins, in words, in UTC. */
export function moment(text, { length }) {
  const day = { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" };
  const isDaily = length % DAY === 0 && text.slice(11, 16) === "00:00";
  const clock = isDaily ? {} : { hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZoneName: "short" };
  return new Date(text).toLocaleString("en-GB", { ...day, ...clock });
}
