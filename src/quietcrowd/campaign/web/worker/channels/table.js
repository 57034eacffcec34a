// Labels: reports sampled from rows of weights that sum to 2^32, with one word each.

import { labelsOf } from "../terms/domain.js";
import { favouredBy, isNumbered, meaningsOf } from "../terms/meanings.js";
import { chanceOf, nameOf, pointsTo, quoted } from "../terms/names.js";
import { checkSharedWeight, drawWeight, leastWeight, rowOf } from "./per_worker.js";
import { MOST_EPSILON, MOST_LABELS, TOTAL } from "./reading.js";
import { isWhole, must, reportsTo, requireMembers } from "./reading.js";

const MOST_COLUMNS = 6; // of a table that is shown
const HARDLY = 0.0005; // smaller values print as "under 0.1 %"

export const table = Object.freeze({
  /** Check a channel: a row for each label, perhaps for NULL; so for columns, unless numbered. */
  check(channel, domain) {
    requireMembers(channel, "kind weights", "numbered per_worker");
    const { weights, numbered, per_worker: shared } = channel;
    const labels = labelsOf(domain)?.length;
    must(Array.isArray(weights) && labels > 1 && weights.length <= MOST_LABELS);
    const isNull = weights.length === labels + 1;
    must(isNull || weights.length === labels);
    must(numbered === undefined || (numbered === true && !isNull && shared === undefined));
    must(weights.every(Array.isArray));
    const columns = numbered ? weights[0].length : weights.length;
    must(isWhole(1, MOST_LABELS, columns));
    for (const row of weights) {
      must(row.length === columns && row.every((one) => isWhole(0, TOTAL, one)));
      must(row.reduce((sum, one) => sum + one, 0) === TOTAL);
    }
    must(table.loss(channel) <= MOST_EPSILON);
    if (shared !== undefined) {
      checkSharedWeight(shared, weights, isNull);
    }
    return reportsTo(columns - 1, isNull);
  },

  /** Draw a report for each answer, with one word each; the code of NULL is the last. */
  draw({ mechanism: { domain }, channel, report }, codes, words) {
    const missing = labelsOf(domain).length;
    const isShared = channel.per_worker !== undefined;
    const rows = isShared ? rowsOfWorker(channel, missing, report, words) : channel.weights;
    const drawn = words(codes.length);
    return { values: codes.map((code, i) => reportOf(rows[code ?? missing], drawn[i])) };
  },

  /** Return the privacy loss of one report, without other knowledge about the worker. */
  loss({ weights }) {
    const columns = weights[0].map((_, i) => weights.map((row) => row[i]));
    const [least, most] = [Math.min, Math.max].map((find) => columns.map((one) => find(...one)));
    const losses = least.map((low, i) => (most[i] === 0 ? 0 : Math.log1p((most[i] - low) / low)));
    return Math.max(...losses);
  },

  describe(terms, say) {
    const [row] = terms.channel.weights;
    const often = isNumbered(terms.channel) ? row.indexOf(Math.max(...row)) : 0;
    const [kept, others] = [row[often], row.filter((_, i) => i !== often)];
    const [name, report] = [answerNames(terms, say)[0], reportsOf(terms, say)[often]].map(quoted);
    const [least, most] = [Math.min, Math.max].map((find) => shareOf(find(...others), say));
    const range = least === most ? most : say("law.range", { least, most });
    const values = { count: others.length, name, report, kept: shareOf(kept, say), others: range };
    const share = Math.floor((100 * (TOTAL - kept)) / TOTAL + 0.5);
    const swapped = share || say("law.under", { share: 1 });
    const brief = isNumbered(terms.channel)
      ? say("law.brief.listed", { reports: row.length })
      : say("law.brief.labels", { swapped });
    const told = [brief, say("law.labels", values)];
    const { per_worker: shared } = terms.channel;
    if (shared) {
      const fewest = (others.length * leastWeight(shared, row.length)) / TOTAL;
      const share = chanceOf(fewest, say);
      told.push(fewest < HARDLY ? say("law.mean") : say("law.mean.least", { share }));
    }
    return told;
  },

  /** Return percentages by answer as texts with a header row; [] if there are too many columns. */
  percentages(terms, say) {
    const { weights } = terms.channel;
    if (weights[0].length > MOST_COLUMNS) {
      return [];
    }
    const names = answerNames(terms, say);
    const shown = (row, i) => [names[i], ...row.map((weight) => shareOf(weight, say))];
    return [["", ...reportsOf(terms, say)], ...weights.map(shown)];
  },
});

/** Return the report of a word; the weights of a row sum to 2^32. */
export function reportOf(row, word) {
  let edge = 0;
  const report = row.findIndex((weight) => {
    edge += weight;
    return word < edge;
  });
  if (report < 0) {
    throw new RangeError("the weights of a row must sum to 2^32");
  }
  return report;
}

/** Draw a secret weight, a second one for NULL if that is a label, and return the rows. */
function rowsOfWorker({ per_worker: shared, weights: { length: size } }, missing, report, words) {
  const drawn = new Array(missing).fill(drawWeight(shared, size, words));
  if (report.every_task) {
    drawn.push(drawWeight(shared, size, words));
  }
  return drawn.map((weight, answer) => rowOf(answer, size, weight));
}

function answerNames({ mechanism: { domain }, channel: { weights } }, say) {
  return [...labelsOf(domain).map(nameOf), say("law.null")].slice(0, weights.length);
}

/** Return the names of reports: those of answers, or the labels that they point to. */
function reportsOf(terms, say) {
  return isNumbered(terms.channel)
    ? meaningsOf(terms).listed.map((one) => pointsTo(favouredBy(one).map(nameOf), say))
    : answerNames(terms, say);
}

function shareOf(weight, say) {
  return chanceOf(weight / TOTAL, say);
}
