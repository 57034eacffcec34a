// The meaning of a guarantee in sentences. Percentages are rounded up, so that "at most" is true.

import { digitsOf } from "../channels/random.js";
import { ratioOf } from "../channels/rational.js";
import { counted, inWords, pointed } from "./names.js";
import { durationOf, mostRounds, slotsOf, unitsOf } from "./rounds.js";

const DOUBT_BITS = 200;
const SURE = 1n << BigInt(DOUBT_BITS);
const LEAST_DOUBT = 1000n; // below 1 in this number, an answer counts as not protected
const DUST = 10n ** 12n; // an excess below 1 in this number over a round number is dropped
const LARGEST_LOSS = 1000;

/** Return the sentences about the guarantee, and all others. @returns {string[][]} */
export function consentSentences(terms, say) {
  const { guarantee, promises, allotment, asOf, rounds, choice = null } = terms;
  const seen = say(`consent.participation.${seenOf(guarantee)}`);
  return [
    [aboutOne(guarantee, say), ...aboutAll(guarantee, say), seen],
    [
      ...(asOf ? [say("consent.as-of", { day: asOf })] : []),
      ...(allotment ? [say(`consent.allotted.${allotment.kind}`, countsOf(allotment, say))] : []),
      ...(rounds ? sayRounds(terms, say) : []),
      ...(promises && !rounds ? sayPromised("consent", PROMISED, promises, say) : []),
      ...(choice === null ? [] : [say("consent.choice")]),
    ],
  ];
}

/** Return the values of all messages about rounds. */
function valuesOf({ rounds, promises: { at_least: least, retention_days: days } }, say) {
  const units = (count, unit) => unitsOf(count, unit, say);
  return {
    ...{ slots: counted(slotsOf(rounds), say), least: counted(least, say) },
    ...{ rounds: units(rounds.cap, "round"), kept: units(rounds.keep, "round") },
    ...{ days: units(days, "day"), after: durationOf(rounds.grace, say) },
    length: durationOf(rounds.length, say),
    begin: `${rounds.first.slice(0, 10)} ${rounds.first.slice(11, 16)} UTC`,
  };
}

/** Return the sentences about rounds, also in place of those of the promises. */
function sayRounds(terms, say) {
  const [{ rounds, losses, promises }, values] = [terms, valuesOf(terms, say)];
  const about = (key, loss, count) => {
    const what = say(key, { count: counted(count, say) });
    return say("consent.about", { what, limit: limitOf("consent.limit", loss, say) });
  };
  return [
    say(rounds.count === null ? "rounds.times.open" : "rounds.times", values),
    say("rounds.own", { ...values, count: slotsOf(rounds) }),
    ...(rounds.window > 1 ? [about("rounds.window", losses.window, rounds.window)] : []),
    about("rounds.all", losses.campaign, mostRounds(rounds)),
    ...[say(`rounds.${rounds.facts}`), say("rounds.missed")],
    say("rounds.shown", { ...values, count: promises.at_least }),
    ...[say("rounds.withdrawn", values), say("rounds.kept", values)],
  ];
}

/** Return the lines to read first: figures and participation before the others. */
export function shortConsent(terms, say) {
  const { guarantee, promises, allotment, report, rounds, losses, choice = null } = terms;
  const { linked, linkedEpsilon, workerEpsilon } = guarantee;
  const figure = (key, loss, number) => {
    const sure = isOpen(loss) ? say("short.certain") : sureOf(loss, say);
    return say(`short.${key}`, { sure, count: counted(number, say) });
  };
  const count = countAll(guarantee);
  const one = figure(linked > 1 ? "linked" : "one", linkedEpsilon, linked);
  const all = figure(count === 2 ? "both" : "all", workerEpsilon, count);
  const isOne = report.kind === "sketch";
  const more = [
    ...(rounds?.window > 1 ? [figure("window", losses.window, rounds.window)] : []),
    ...(rounds ? [figure("rounds", losses.campaign, mostRounds(rounds))] : []),
  ];
  return [
    say("short.learn"),
    [...(isOne ? [figure("sent", workerEpsilon, count)] : [one, all].slice(0, count)), ...more],
    say(`short.participation.${seenOf(guarantee)}`),
    [
      ...(allotment ? [say("short.allotted", countsOf(allotment, say))] : []),
      ...(rounds ? shortRounds(terms, say) : []),
      ...(promises && !rounds ? sayPromised("short", ["shown", "kept"], promises, say) : []),
      ...(choice === null ? [] : [say("short.choice")]),
      say("short.elsewhere"),
    ],
  ];
}

function shortRounds(terms, say) {
  const [{ rounds, promises }, values] = [terms, valuesOf(terms, say)];
  const own = say("short.own", { ...values, count: slotsOf(rounds) });
  const shown = say("short.round.shown", { ...values, count: promises.at_least });
  return [own, shown, say("short.round.kept", values)];
}

const PROMISED = ["shown", "withdrawn", "kept"];
const countsOf = ({ answers, tasks }, say) => ({
  answers: counted(answers, say),
  tasks: counted(tasks, say),
});
const seenOf = ({ participationProtected }) => (participationProtected ? "hidden" : "seen");
const countAll = ({ tasks, answers }) => tasks ?? answers;

/** Return the minimum probability, in units of 2^-200, left to an even chance. */
function doubtAfter(loss) {
  if (loss > LARGEST_LOSS) {
    return 0n;
  }
  return loss === 0 ? SURE / 2n : digitsOf(ratioOf(loss), 1n, DOUBT_BITS);
}

const isOpen = (loss) => doubtAfter(loss) * LEAST_DOUBT < SURE;

/** Format the largest probability in percent, rounded up. */
export function sureOf(loss, say) {
  const divisor = SURE * DUST;
  const shown = (((SURE - doubtAfter(loss)) * DUST - SURE) * 1000n + divisor - 1n) / divisor;
  return inWords(`${pointed(shown, 1).replace(/\.0$/, "")} %`, say);
}

function limitOf(key, loss, say) {
  return isOpen(loss) ? say("consent.hidden") : say(key, { sure: sureOf(loss, say) });
}

function aboutOne(guarantee, say) {
  const { linked, linkedEpsilon } = guarantee;
  const what = say(`consent.${linked > 1 ? "linked" : "answer"}`, { linked: counted(linked, say) });
  const key = countAll(guarantee) > 1 ? "consent.limit.others" : "consent.limit";
  return say("consent.about", { what, limit: limitOf(key, linkedEpsilon, say) });
}

function aboutAll(guarantee, say) {
  if (countAll(guarantee) === 1) {
    return [];
  }
  const { tasks, workerEpsilon } = guarantee;
  const count = counted(countAll(guarantee), say);
  const together = say(`consent.all.${tasks === null ? "answers" : "tasks"}`, { count });
  const what = say("consent.all.fact", { what: together });
  return [say("consent.about", { what, limit: limitOf("consent.limit", workerEpsilon, say) })];
}

function sayPromised(form, names, { at_least: least, retention_days: count }, say) {
  const values = { least: counted(least, say), count, days: counted(count, say) };
  const kind = least === 1 ? "once" : "batch";
  return names.map((name) => say(`${form}.${name}${name === "kept" ? "" : `.${kind}`}`, values));
}
