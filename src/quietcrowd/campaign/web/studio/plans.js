// Orders for the planner: the expected result of a campaign, by simulation on the server.

import { plannedDomain } from "./domain.js";
import { slotsOf } from "./rounds.js";

const SIZES = [1 / 4, 1 / 2, 2, 4, 8, 16]; // other multiples of the number of people, for the curve
const FEW_SIZES = [1 / 4, 4]; // with a menu, which takes longer
const FEWEST = 2;

/**
 * Plans of a campaign's present settings, in rounds of one round; known ones are not simulated
 * again. Numbers of people and totals are those of the campaign: its rounds divide one of them.
 */
export class Plans {
  #app;
  #known = new Map();

  constructor(app) {
    this.#app = app;
  }

  /** Return the order of a plan for some numbers of people. */
  order(people) {
    const { campaign } = this.#app;
    const { answers_per_participant: answers, menu, mechanism_name: name } = campaign;
    const [slots, parts] = this.#divided;
    const one = { total_epsilon: [campaign.total_epsilon && campaign.total_epsilon / parts], mechanisms: name === null ? null : [name] };
    const levels = menu?.map(({ total_epsilon: total, share }) => ({ total_epsilon: total / parts, share }));
    return {
      ...plannedDomain(campaign),
      goal: this.#app.goal,
      tasks: campaign.tasks,
      workers: [...new Set(people.map((number) => Math.max(1, Math.floor(number / slots))))],
      answers: answers === null ? null : [Math.min(answers, campaign.tasks)],
      ...(menu === null ? one : { menu: levels }),
    };
  }

  /** Return by what the rounds divide the people, and the total. */
  get #divided() {
    const { rounds } = this.#app.campaign;
    return [slotsOf(rounds), rounds?.division === "budget" ? rounds.window : 1];
  }

  /** Return the row of one number of people. */
  async row(people, signal) {
    const { rows } = await this.#plan(this.order([people]), signal);
    return rows.find(({ private: isPrivate }) => isPrivate);
  }

  /** Return the plan of other numbers of people, and of a known row. */
  async curve(mine, signal) {
    const factors = this.#app.campaign.menu === null ? SIZES : FEW_SIZES;
    const sizes = new Set(factors.map((factor) => Math.max(FEWEST, Math.round(factor * mine.workers))));
    sizes.delete(mine.workers);
    const plan = await this.#plan(this.order([...sizes]), signal);
    return { ...plan, rows: [...plan.rows, mine].sort((one, other) => one.workers - other.workers) };
  }

  /**
   * Return the row with the fewest people, the best number of questions each, or the least total;
   * null if nothing suffices.
   */
  async least(what, changes, people, signal) {
    try {
      const { rows } = await this.#plan({ ...this.order([people]), ...changes, least: what }, signal);
      return rows[0];
    } catch (error) {
      if (error.errors?.some(({ pointer }) => pointer === "/least")) {
        return null;
      }
      throw error;
    }
  }

  async #plan(order, signal) {
    const text = JSON.stringify(order);
    if (!this.#known.has(text)) {
      this.#known.set(text, await this.#app.requester.post("plans", order, { signal }));
    }
    const [plan, [slots, parts]] = [this.#known.get(text), this.#divided];
    const whole = (row) => ({ ...row, workers: slots * row.workers, total_epsilon: parts * row.total_epsilon });
    return { ...plan, rows: plan.rows.map(whole) };
  }
}
