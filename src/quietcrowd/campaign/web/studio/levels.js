// Several levels of privacy in step 3: the total of each, and the expected share of people.

import { byId, filled } from "./elements.js";
import { loss, say, sentence } from "./format.js";

const USUAL = [[1, 0.5], [3, 0.3], [8, 0.2]].map(([total_epsilon, share]) => ({ total_epsilon, share }));
const FIELD_DIGITS = 4;
const ALL = 100; // percent

/** Connect the choice between one level and several; return a function that shows the stored ones. */
export function levelsForm(app, change) {
  let entries = []; // one per row; those without people are not stored
  const store = () => {
    const chosen = entries.filter(({ share }) => share > 0);
    const total = Math.round(ALL * chosen.reduce((sum, { share }) => sum + share, 0));
    const isWhole = total === ALL && chosen.length > 1;
    say(byId("levels-sum"), isWhole ? "" : `Not stored yet: at least two levels need people, and ${total} % must be 100 %.`);
    const one = ({ total_epsilon, mechanism_name = null, mechanism, share }) =>
      total_epsilon === null ? { mechanism, share } : { total_epsilon, mechanism_name, share };
    isWhole && change({ menu: chosen.map(one) }); // a mechanism that was described by hand stays
  };
  const fill = (some) => {
    entries = some.map((entry) => ({ ...entry }));
    byId("levels-body").replaceChildren(...entries.flatMap((entry, i) => rowOf(entry, `Level ${i + 1}`, store)));
  };
  byId("one-level").addEventListener("change", () => change({ menu: null }));
  byId("several-levels").addEventListener("change", () => {
    fill(USUAL);
    store();
  });
  return ({ menu }) => {
    const isOne = menu === null;
    byId(isOne ? "one-level" : "several-levels").checked = true;
    [byId("one-total").hidden, byId("levels").hidden] = [!isOne, isOne];
    isOne || entries.length || fill(menu);
    entries.forEach(({ total_epsilon: total, share }, i) => {
      const stored = menu?.find((one) => one.total_epsilon === total)?.protection ?? "";
      say(byId("levels-body").children[i].querySelector("small"), share === 0 ? "Not offered." : sentence(stored));
    });
  };
}

function rowOf(entry, name, store) {
  const made = filled("level", null, { name });
  const [total, share] = made[0].querySelectorAll("input");
  total.value = loss(entry.total_epsilon, FIELD_DIGITS);
  total.disabled = entry.total_epsilon === null;
  share.value = String(Math.round(ALL * entry.share));
  [total, share].forEach((one) => one.setAttribute("aria-label", `${name}: ${one.getAttribute("aria-label")}`));
  made[0].addEventListener("change", () => {
    entry.total_epsilon &&= Number(total.value) || entry.total_epsilon;
    entry.share = Math.min(ALL, Math.max(0, Math.round(Number(share.value)))) / ALL;
    store();
  });
  return made;
}
