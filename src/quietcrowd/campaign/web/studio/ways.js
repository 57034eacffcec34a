// Three ways out of a result that is not good, each one button.

import { byId, element } from "./elements.js";
import { count, loss, say, unbroken } from "./format.js";

/**
 * Search for more people, fewer questions each, and a larger total, and offer each as it is found.
 * `apply` takes a number of people and changes of the campaign.
 */
export async function ways(app, { row, expected, signal, apply }) {
  const { plans } = app;
  const busy = element("p", { class: "quiet" }, "Searching for ways to a better result …");
  byId("ways").append(busy);
  const offer = (heading, text, people, changes) => {
    const press = () => apply(people, changes);
    const parts = [element("b", {}, heading), element("small", {}, unbroken(text))];
    busy.before(element("button", { type: "button", click: press }, element("span", {}, ...parts)));
  };
  const more = await plans.least("people", {}, expected, signal);
  if (more !== null && more.workers > expected) {
    offer(`${count(more.workers)} people instead of ${count(expected)}`, more.verdict, more.workers, {});
  }
  const fewer = await fewerQuestions(plans, expected, signal);
  if (fewer !== null && fewer.answers < row.answers) {
    const people = fewer.workers === expected ? "" : `, and ${count(fewer.workers)} people`;
    const heading = `${count(fewer.answers)} questions each instead of ${count(row.answers)}${people}`;
    const changes = { answers_per_participant: fewer.answers, allotment: "random" };
    offer(heading, fewer.verdict, fewer.workers, changes);
  }
  const larger = await plans.least("total", {}, expected, signal);
  if (larger !== null && larger.total_epsilon > row.total_epsilon) {
    const heading = `A total of ${loss(larger.total_epsilon)} instead of ${loss(row.total_epsilon)}`;
    offer(heading, `People are protected less. ${larger.verdict}`, expected, { total_epsilon: larger.total_epsilon });
  }
  byId("ways").childElementCount > 1 ? busy.remove() : say(busy, "No single change suffices. Ask fewer questions of more people.");
}

/** Return the best number of questions each, with as many people as it needs; null for none. */
async function fewerQuestions(plans, expected, signal) {
  const best = await plans.least("questions", {}, expected, signal);
  if (best === null || best.standing === "good") {
    return best;
  }
  return plans.least("people", { answers: [best.answers] }, expected, signal);
}
