// Orders for the planner: the expected result of a campaign, by simulation on the server.

import { plannedDomain } from "./domain.js";

const SIZES = [1 / 4, 1 / 2, 1, 2, 4, 8, 16]; // multiples of the number of people, for the curve
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
      ...plannedDomain(campaign.domain),
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

  /** Return the plan of several numbers of people. */
  curve(people, signal) {
    const sizes = SIZES.map((factor) => Math.max(FEWEST, Math.round(factor * people)));
    return this.#plan(this.order([...new Set(sizes)]), signal);
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
