// Options per task: for each number of options, a table of the positions among them.

import { labelsOf } from "../terms/domain.js";
import { chanceOf } from "../terms/names.js";
import { tableFor } from "../terms/options.js";
import { MOST_LABELS, MOST_NUMBERS, must, reportsTo, requireMembers, TOTAL } from "./reading.js";
import { reportOf, table } from "./table.js";

const largest = (numbers) => Math.max(...numbers);
const mostKept = (weights) => largest(weights.map((row, i) => row[i]));
const sentAs = (weight, say) => chanceOf(weight / TOTAL, say);

export const amongOptions = Object.freeze({
  /** Check a channel: square tables, one larger than the other, for at most all labels. */
  check(channel, domain) {
    requireMembers(channel, "kind tables");
    const { tables } = channel;
    must(Array.isArray(tables) && tables.length > 0 && tables.every(Array.isArray));
    const sizes = tables.map(({ length }) => length);
    const most = Math.min(MOST_LABELS, labelsOf(domain)?.length ?? 0);
    must(sizes.every((size, i) => size > (sizes[i - 1] ?? 1) && size <= most));
    must(sizes.reduce((sum, size) => sum + size ** 2, 0) <= MOST_NUMBERS);
    for (const weights of tables) {
      const levels = [...weights.keys()];
      table.check({ kind: "table", weights }, { kind: "ordinal", levels });
    }
    return reportsTo(largest(sizes) - 1);
  },

  /** Draw a report for each position among the options of its task, with one word each. */
  draw({ channel, options }, codes, words, tasks) {
    const drawn = words(codes.length);
    const rows = codes.map((code, i) => tableFor(channel, options.get(tasks[i]))[code]);
    return { values: rows.map((row, i) => reportOf(row, drawn[i])) };
  },

  loss({ tables }) {
    return largest(tables.map((weights) => table.loss({ weights })));
  },

  /** Describe the table that keeps an answer most often: the others protect answers more. */
  describe({ channel: { tables } }, say) {
    const kept = largest(tables.map(mostKept));
    const weights = tables.find((one) => mostKept(one) === kept);
    const place = weights.findIndex((row, i) => row[i] === kept);
    const rest = weights[place].filter((_, i) => i !== place);
    const [least, most] = [Math.min, Math.max].map((find) => sentAs(find(...rest), say));
    const others = least === most ? most : say("law.range", { least, most });
    const values = { count: rest.length, size: weights.length, kept: sentAs(kept, say), others };
    const swapped = Math.floor((100 * (TOTAL - kept)) / TOTAL);
    return [say("law.brief.options", { swapped }), say("law.options", values)];
  },
});
