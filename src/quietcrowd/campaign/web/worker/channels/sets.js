// Sets of labels that contain the answer more often than others; see Python's set_law.py.

import { labelsOf } from "../terms/domain.js";
import { chanceOf, nameOf, quoted } from "../terms/names.js";
import { uniformIntegers } from "./random.js";
import { MOST_LABELS, TOTAL, requireMembers, isWhole, must, reportsTo } from "./reading.js";

const MOST_SETS = 2 ** 53; // smaller whole numbers are exact

export const sets = Object.freeze({
  /** Check a channel: a set with the answer has the weight `inside`, any other `outside`. */
  check(channel, domain) {
    requireMembers(channel, "kind labels members inside outside");
    const { labels, members, inside, outside } = channel;
    must(isWhole(2, MOST_LABELS, labels) && labels === labelsOf(domain)?.length);
    must(isWhole(1, labels - 1, members));
    const count = setBinomials(labels + 1, members)[members - 1][labels];
    must(count < MOST_SETS);
    must(isWhole(1, TOTAL, inside) && isWhole(1, inside, outside));
    must(members * inside + (labels - members) * outside <= TOTAL);
    return reportsTo(count - 1);
  },

  /**
   * Draw the number of a set for each answer, in one block, since there are at most 5,000. The
   * answer is first, followed by the other labels, of which uniform draws move one after another to
   * the front. The set is the first labels, with or without the answer.
   */
  draw({ channel: { labels, members, inside, outside } }, codes, words) {
    const total = members * inside + (labels - members) * outside;
    const drawn = uniformIntegers(words, total, codes.length);
    const rows = codes.map((code) => {
      const row = [...new Array(labels).keys()];
      [row[0], row[code]] = [code, 0];
      return row;
    });
    for (let place = 1; place <= members; place += 1) {
      const moved = uniformIntegers(words, labels - place, codes.length);
      rows.forEach((row, i) => {
        const other = place + moved[i];
        [row[place], row[other]] = [row[other], row[place]];
      });
    }
    const values = rows.map((row, i) => {
      const first = drawn[i] < members * inside ? 0 : 1;
      return rankOfSet(row.slice(first, first + members).sort((a, b) => a - b), labels);
    });
    return { values };
  },

  loss({ inside, outside }) {
    return Math.log1p((inside - outside) / outside);
  },

  describe({ mechanism: { domain }, channel }, say) {
    const { labels, members, inside, outside } = channel;
    const name = quoted(nameOf(labelsOf(domain)[0]));
    const total = members * inside + (labels - members) * outside;
    const kept = chanceOf((members * inside) / total, say);
    const others = chanceOf((members * (total - inside)) / (total * (labels - 1)), say);
    const values = { members, labels, name, kept, others };
    return [say("law.brief.sets", values), say("law.sets", values)];
  },
});

/** Return `C(code, place + 1)` for places and codes, at most 2^53. */
function setBinomials(labels, members) {
  let row = new Array(labels).fill(1);
  return Array.from({ length: members }, () => {
    let sum = 0;
    row = row.map((above) => {
      const here = sum;
      sum = Math.min(sum + above, MOST_SETS);
      return here;
    });
    return row;
  });
}

export function rankOfSet(codes, labels) {
  const table = setBinomials(labels, codes.length);
  return codes.reduce((rank, code, place) => rank + table[place][code], 0);
}

export function membersOfSet(rank, labels, members) {
  const table = setBinomials(labels, members);
  const codes = new Array(members);
  let [left, code] = [rank, labels - 1];
  for (let place = members - 1; place >= 0; place -= 1, code -= 1) {
    while (table[place][code] > left) {
      code -= 1;
    }
    codes[place] = code;
    left -= table[place][code];
  }
  return codes;
}
