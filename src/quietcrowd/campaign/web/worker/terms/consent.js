// The meaning of a guarantee in sentences. Percentages are rounded up, so that "at most" is true.

import { digitsOf } from "../channels/random.js";
import { ratioOf } from "../channels/rational.js";
import { counted, inWords, pointed } from "./names.js";

/** @import { Say } from "../page/messages.js" */

const DOUBT_BITS = 200;
const SURE = 1n << BigInt(DOUBT_BITS);
const CERTAIN = 10n ** 6n; // remaining doubts below 1 in this number are not printed
const LEAST_DOUBT = 1000n; // below 1 in this number, an answer counts as not protected
const DUST = 10n ** 12n; // an excess below 1 in this number over a round number is dropped
const LARGEST_LOSS = 1000;

/**
 * Return what a worker agrees to: sentences about the guarantee, and the others.
 * @param {object} terms  its guarantee, and its promises, allotment and day, if any
 * @returns {string[][]}
 */
export function consentSentences({ guarantee, promises, allotment, asOf }, say) {
  return [
    [
      aboutOne(guarantee, say),
      ...aboutAll(guarantee, say),
      say(`consent.participation.${seenOf(guarantee)}`),
    ],
    [
      ...(asOf ? [say("consent.as-of", { day: asOf })] : []),
      ...(allotment ? [say(`consent.allotted.${allotment.kind}`, countsOf(allotment, say))] : []),
      ...(promises ? sayPromised("consent", ["shown", "withdrawn", "kept"], promises, say) : []),
    ],
  ];
}

/**
 * Return what a worker sees first: what others learn, how sure they can become, what is not hidden,
 * and the rest.
 * @returns {[string, string[], string, string[]]}
 */
export function shortConsent({ guarantee, promises, allotment, report }, say) {
  const { answers, tasks, linked, linkedEpsilon, workerEpsilon } = guarantee;
  const figure = (key, loss, count) => {
    const sure = isHidden(loss) ? say("short.certain") : sureOf(loss, say);
    return say(`short.${key}`, { sure, count: counted(count, say) });
  };
  const count = tasks ?? answers;
  const one = figure(linked > 1 ? "linked" : "one", linkedEpsilon, linked);
  const all = figure(count === 2 ? "both" : "all", workerEpsilon, count);
  const several = report.kind === "sketch" ? [figure("sent", workerEpsilon, count)] : [one, all];
  return [
    say("short.learn"),
    count > 1 || report.kind === "sketch" ? several : [one],
    say(`short.participation.${seenOf(guarantee)}`),
    [
      ...(allotment ? [say("short.allotted", countsOf(allotment, say))] : []),
      ...(promises ? sayPromised("short", ["shown", "kept"], promises, say) : []),
      say("short.elsewhere"),
    ],
  ];
}

const seenOf = ({ participationProtected }) => (participationProtected ? "hidden" : "seen");

function countsOf({ answers, tasks }, say) {
  return { answers: counted(answers, say), tasks: counted(tasks, say) };
}

/** Return the minimum probability, in units of 2^-200, left to what was at even odds. */
function doubtAfter(loss) {
  if (loss > LARGEST_LOSS) {
    return 0n;
  }
  return loss === 0 ? SURE / 2n : digitsOf(ratioOf(loss), 1n, DOUBT_BITS);
}

/** Format a probability in percent, rounded up; as 100 only if it is practically 1. */
function percentUp({ over, under }, say) {
  if ((under - over) * CERTAIN < under) {
    return "100 %";
  }
  for (let digits = 1; ; digits += 1) {
    const whole = 100n * 10n ** BigInt(digits);
    const divisor = under * DUST;
    const shown = ((over * DUST - under) * whole + divisor - 1n) / divisor;
    if (shown < whole) {
      return inWords(`${pointed(shown, digits).replace(/\.0$/, "")} %`, say);
    }
  }
}

const isHidden = (loss) => doubtAfter(loss) * LEAST_DOUBT < SURE;

const sureOf = (loss, say) => percentUp({ over: SURE - doubtAfter(loss), under: SURE }, say);

function limitOf(key, loss, say) {
  return isHidden(loss) ? say("consent.hidden") : say(key, { sure: sureOf(loss, say) });
}

const hasSeveral = ({ tasks, answers }) => (tasks ?? answers) > 1;

function aboutOne(guarantee, say) {
  const { linked, linkedEpsilon } = guarantee;
  const what =
    linked > 1 ? say("consent.linked", { linked: counted(linked, say) }) : say("consent.answer");
  const key = hasSeveral(guarantee) ? "consent.limit.others" : "consent.limit";
  return say("consent.about", { what, limit: limitOf(key, linkedEpsilon, say) });
}

function aboutAll(guarantee, say) {
  if (!hasSeveral(guarantee)) {
    return [];
  }
  const { answers, tasks, workerEpsilon } = guarantee;
  const count = counted(tasks ?? answers, say);
  const together = say(`consent.all.${tasks === null ? "answers" : "tasks"}`, { count });
  const what = say("consent.all.fact", { what: together });
  return [say("consent.about", { what, limit: limitOf("consent.limit", workerEpsilon, say) })];
}

function sayPromised(form, names, { at_least: least, retention_days: count }, say) {
  const values = { least: counted(least, say), count, days: counted(count, say) };
  const kind = least === 1 ? "once" : "batch";
  return names.map((name) => say(`${form}.${name}${name === "kept" ? "" : `.${kind}`}`, values));
}
