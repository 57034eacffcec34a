// Orders for the planner: the expected result of a campaign, by simulation on the server.

import { plannedDomain } from "./domain.js";

const SIZES = [1 / 4, 1 / 2, 2, 4, 8, 16]; // other multiples of the number of people, for the curve
const FEWEST = 2;

/** Plans of a campaign's present settings; known ones are not simulated again. */
export class Plans {
  #app;
  #known = new Map();

  constructor(app) {
    this.#app = app;
  }

  /** Return the order of a plan for some numbers of people. */
  order(people) {
    const { campaign } = this.#app;
    const answers = campaign.answers_per_participant;
    return {
      ...plannedDomain(campaign),
      goal: this.#app.goal,
      tasks: campaign.tasks,
      workers: people,
      answers: answers === null ? null : [Math.min(answers, campaign.tasks)],
      total_epsilon: [campaign.total_epsilon],
      mechanisms: campaign.mechanism_name === null ? null : [campaign.mechanism_name],
    };
  }

  /** Return the row of one number of people. */
  async row(people, signal) {
    const { rows } = await this.#plan(this.order([people]), signal);
    return rows.find(({ private: isPrivate }) => isPrivate);
  }

  /** Return the plan of other numbers of people, and of a known row. */
  async curve(mine, signal) {
    const sizes = new Set(SIZES.map((factor) => Math.max(FEWEST, Math.round(factor * mine.workers))));
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
    return this.#known.get(text);
  }
}
