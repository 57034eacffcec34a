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
 * Return the sentences that a worker agrees to.
 * @param {object} guarantee  see guaranteeOf
 * @param {{kind: string, answers: number, tasks: number} | null} allotment
 * @param {string | null} asOf  the day that all questions are about, as 2026-12-01
 */
export function consentSentences(guarantee, promises, say, allotment = null, asOf = null) {
  const { answers, tasks } = allotment ?? guarantee;
  const counts = { answers: counted(answers, say), tasks: counted(tasks, say) };
  return [
    aboutOne(guarantee, say),
    ...aboutAll(guarantee, say),
    say(`consent.participation.${guarantee.participationProtected ? "hidden" : "seen"}`),
    ...(asOf === null ? [] : [say("consent.as-of", { day: asOf })]),
    ...(allotment === null ? [] : [say(`consent.allotted.${allotment.kind}`, counts)]),
    ...(promises === null ? [] : aboutPromises(promises, say)),
  ];
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

function limitOf(key, loss, say) {
  const doubt = doubtAfter(loss);
  return doubt * LEAST_DOUBT < SURE
    ? say("consent.hidden")
    : say(key, { sure: percentUp({ over: SURE - doubt, under: SURE }, say) });
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

function aboutPromises({ at_least: least, retention_days: days }, say) {
  const kind = least === 1 ? "once" : "batch";
  return [
    say(`consent.shown.${kind}`, { least: counted(least, say) }),
    say(`consent.withdrawn.${kind}`),
    say("consent.kept", { count: days, days: counted(days, say) }),
  ];
}
