// What a guarantee means, in sentences: figures in percent are rounded up, so that "at most" holds.

import { digitsOf } from "../mechanisms/coins.js";
import { ratioOf } from "../mechanisms/rational.js";
import { counted, inWords, pointed } from "./numbers.js";

/** @import { Say } from "../page/messages.js" */

const DOUBT_BITS = 200;
const SURE = 1n << BigInt(DOUBT_BITS);
const CERTAIN = 10n ** 6n; // doubts below one over it are not worth a number
const LEAST_DOUBT = 1000n; // nor is one below one over it one that a worker should count on
const DUST = 10n ** 12n; // what is no more than one over it above a round number prints as it
const MANY_CASES = 10n ** 18n;
const LARGEST_LOSS = 1000;

/**
 * Say what a worker agrees to.
 * @param {object} guarantee  as of guaranteeOf
 * @param {object | null} promises
 * @param {Say} say
 * @param {{kind: string, answers: number, tasks: number} | null} allotment
 * @returns {string[]}
 */
export function consentSentences(guarantee, promises, say, allotment = null) {
  return [
    aboutOne(guarantee, say),
    ...aboutAll(guarantee, say),
    say(`consent.participation.${guarantee.participationProtected ? "hidden" : "seen"}`),
    ...aboutChance(guarantee, say),
    ...(allotment === null ? [] : [aboutAllotment(allotment, say)]),
    ...(promises === null ? [] : aboutPromises(promises, say)),
  ];
}

/** Return the least doubt that is left of what was as likely as not, in units of 2^-200. */
function doubtAfter(loss) {
  if (loss > LARGEST_LOSS) {
    return 0n;
  }
  return loss === 0 ? SURE / 2n : digitsOf(ratioOf(loss), 1n, DOUBT_BITS);
}

/** Print a probability in percent, rounded up, and as 100 only where it is that. */
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

function limitOf(key, loss, other, say) {
  const doubt = doubtAfter(loss);
  return doubt * LEAST_DOUBT < SURE
    ? say("consent.hidden")
    : say(key, {
        other: say(`consent.other.${other}`),
        sure: percentUp({ over: SURE - doubt, under: SURE }, say),
      });
}

const hasSeveral = ({ tasks, answers }) => (tasks ?? answers) > 1;

function aboutOne(guarantee, say) {
  const { linked, tail } = guarantee;
  const isLinked = linked > 1;
  const what = isLinked
    ? say("consent.linked", { linked: counted(linked, say) })
    : say("consent.answer");
  const key = hasSeveral(guarantee) ? "consent.limit.others" : "consent.limit";
  const other = tail ? (isLinked ? "these" : "answer") : "not";
  const limit = limitOf(key, (tail ?? guarantee).linkedEpsilon, other, say);
  return say("consent.about", { what, limit });
}

function aboutAll(guarantee, say) {
  if (!hasSeveral(guarantee)) {
    return [];
  }
  const { answers, tasks, tail } = guarantee;
  const count = counted(tasks ?? answers, say);
  const together = say(`consent.all.${tasks === null ? "answers" : "tasks"}`, { count });
  const what = tail ? together : say("consent.all.fact", { what: together });
  const loss = (tail ?? guarantee).workerEpsilon;
  const limit = limitOf("consent.limit", loss, tail ? "list" : "not", say);
  return [say("consent.about", { what, limit })];
}

function aboutChance(guarantee, say) {
  if (!guarantee.tail) {
    return [];
  }
  const chance = asPrinted(guarantee.tail.probability);
  const several = chance.under / chance.over;
  const cases = counted(several < MANY_CASES ? several : MANY_CASES, say);
  const how =
    several > 1n
      ? say("consent.chance.cases", { cases })
      : say("consent.chance.share", { share: percentUp(chance, say) });
  return [say(`consent.chance${hasSeveral(guarantee) ? ".several" : ""}`, { how })];
}

/** Return the decimal that a number, above 0, prints as. */
function asPrinted(number) {
  const [digits, power] = number.toExponential().split("e");
  const [whole, broken = ""] = digits.split(".");
  const shift = Number(power) - broken.length;
  return {
    over: BigInt(whole + broken) * 10n ** BigInt(Math.max(shift, 0)),
    under: 10n ** BigInt(Math.max(-shift, 0)),
  };
}

function aboutAllotment({ kind, answers, tasks }, say) {
  const counts = { answers: counted(answers, say), tasks: counted(tasks, say) };
  return say(`consent.allotted.${kind}`, counts);
}

function aboutPromises({ at_least: least, retention_days: days }, say) {
  const kind = least === 1 ? "once" : "batch";
  return [
    say(`consent.shown.${kind}`, { least: counted(least, say) }),
    say(`consent.withdrawn.${kind}`),
    say("consent.kept", { count: days, days: counted(days, say) }),
  ];
}
