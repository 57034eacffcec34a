// Step 3: the number of people, their total privacy loss and questions, with the forecast.

import { Curve } from "./curve.js";
import { byId, element } from "./elements.js";
import { count, loss, say } from "./format.js";
import { levelsForm } from "./levels.js";
import { roundsForm } from "./rounds.js";
import { ways } from "./ways.js";

const MANY = 50; // people, until the requester enters a number
const PAUSE = 500; // ms after the last change
const TYPING = 400; // ms after the last key
const USUAL_EACH = 5;
const FIELD_DIGITS = 4;

/** The screen of the third step. */
export async function people(app) {
  const limits = await app.requester.json("plans");
  const forecast = new Forecast(app);
  return {
    mechanisms: mechanismOptions(app, limits),
    each: String(Math.min(USUAL_EACH, Math.max(1, app.campaign.tasks))),
    all: count(app.campaign.tasks),
    ready: () => ready(app, forecast),
    leave: () => forecast.stop(),
  };
}

/** Return the expected number of people. */
export function expectedPeople({ expected, campaign }) {
  return expected.get(campaign.id) ?? campaign.max_participants ?? MANY;
}

function mechanismOptions({ campaign }, limits) {
  const names = campaign.domain.kind === "interval" ? limits.numbers : limits.labels;
  const usual = element("option", { value: "" }, "chosen for you");
  return [usual, ...names.map((name) => element("option", { value: name }, name))];
}

function ready(app, forecast) {
  const change = async (changes) => {
    await app.change(changes);
    show();
    forecast.renew();
  };
  const forms = [levelsForm(app, change), roundsForm(app, change)];
  const show = () => {
    showSettings(app);
    forms.forEach((form) => form(app.campaign, expectedPeople(app)));
  };
  const total = (value) => value > 0 && change({ total_epsilon: value });
  byId("total-range").addEventListener("input", ({ target }) => (byId("field-total_epsilon").value = target.value));
  byId("total-range").addEventListener("change", ({ target }) => total(Number(target.value)));
  whenTyped(byId("field-total_epsilon"), (text) => total(Number(text)));
  whenTyped(byId("how-many"), (text) => {
    app.expected.set(app.campaign.id, Math.max(1, Math.round(Number(text)) || MANY));
    show();
    forecast.renew();
  });
  const each = byId("field-answers_per_participant");
  const some = () => {
    const wanted = Math.round(Number(each.value)) || 1;
    const isPart = wanted < app.campaign.tasks;
    change({ answers_per_participant: isPart ? wanted : null, allotment: isPart ? "random" : null });
  };
  byId("each-some").addEventListener("change", some);
  whenTyped(each, some);
  byId("each-all").addEventListener("change", () => change({ answers_per_participant: null, allotment: null }));
  byId("field-mechanism_name").addEventListener("change", ({ target }) => change({ mechanism_name: target.value || null }));
  forecast.onWay = change;
  show();
  forecast.make();
}

/** Act once on a typed text: shortly after the last key, or as soon as the field is left. */
function whenTyped(field, act) {
  let [timer, last] = [0, field.value];
  const once = () => {
    clearTimeout(timer);
    if (field.value !== last) {
      act((last = field.value));
    }
  };
  field.addEventListener("focus", () => (last = field.value));
  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => field.value && once(), TYPING);
  });
  field.addEventListener("change", once);
}

/** Show the settings of the campaign, except levels and rounds. */
function showSettings(app) {
  const { campaign } = app;
  const { total_epsilon: total, answers_per_participant: most } = campaign;
  const put = (field, number) => field === document.activeElement || (field.value = String(number)); // not while typing
  put(byId("how-many"), expectedPeople(app));
  byId("total-range").value = String(total);
  put(byId("field-total_epsilon"), loss(total, FIELD_DIGITS));
  say(byId("sure"), campaign.protection);
  const isPart = most !== null && most < campaign.tasks;
  byId("each-some").checked = isPart;
  byId("each-all").checked = !isPart;
  if (isPart) {
    put(byId("field-answers_per_participant"), most);
  }
  say(byId("each-loss"), `At most ε = ${loss(campaign.answer_epsilon)} of the total goes to each answer.`);
  byId("field-mechanism_name").value = campaign.mechanism_name ?? "";
  say(byId("why"), campaign.why);
}

/** The verdict on the present settings, ways out of a bad one, and the curve; updated on change. */
class Forecast {
  #app;
  #ends = new AbortController();
  #timer = 0;
  onWay = () => {};

  constructor(app) {
    this.#app = app;
  }

  /** Update it shortly after the last change. */
  renew() {
    this.stop();
    ["verdict", "curve-card"].forEach((id) => byId(id).classList.add("old"));
    this.#timer = setTimeout(() => this.make(), PAUSE);
  }

  stop() {
    clearTimeout(this.#timer);
    this.#ends.abort();
  }

  async make() {
    const { signal } = (this.#ends = new AbortController());
    const { campaign } = this.#app;
    const expected = expectedPeople(this.#app);
    byId("ways").replaceChildren();
    if (campaign.tasks === 0) {
      this.#tell("weak", "No questions yet", "Add questions in step 1: the forecast depends on their number.");
      return;
    }
    say(byId("verdict-title"), "Forecasting");
    say(byId("verdict-text"), "The server tries campaigns with your settings. It takes some seconds.");
    try {
      const row = await this.#app.plans.row(expected, signal);
      this.#tell(row.standing, row.heading, row.verdict);
      if (row.standing !== "good" && campaign.menu === null) {
        const apply = (people, changes) => this.#apply(people, changes);
        await ways(this.#app, { row, expected, signal, apply });
      } else if (row.standing !== "good") {
        byId("ways").append("Fewer questions for each person, or more people, give a better result.");
      }
      const curve = this.#app.goal === "truths" && (await this.#app.plans.curve(row, signal).catch(() => null));
      curve && new Curve().show(curve, row);
      curve || signal.aborted || (byId("curve-card").hidden = true);
    } catch (error) {
      if (!signal.aborted) {
        const rules = error.errors?.map(({ message }) => message).join(" ");
        this.#tell("weak", "No forecast", rules || error.message);
        byId("curve-card").hidden = true;
      }
    }
  }

  #tell(standing, heading, text) {
    byId("ways").replaceChildren();
    byId("verdict").className = `verdict stack ${standing}`;
    say(byId("verdict-title"), heading);
    say(byId("verdict-text"), text);
  }

  #apply(people, changes) {
    this.#app.expected.set(this.#app.campaign.id, people);
    this.onWay(changes);
  }
}
