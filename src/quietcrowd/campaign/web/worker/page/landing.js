// Screens before the first question, next to consent: the requester, the pictures, a code.

import { isNumbered } from "../terms/meanings.js";
import { boundsOf, labelsOf } from "../terms/domain.js";
import { distanceWithin, nameOf, withDigits } from "../terms/names.js";
import { byId, filled } from "./elements.js";
import { qrCode } from "./qr.js";
import { SEARCHED, spell } from "./questions.js";

const ANOTHER_APP = new RegExp(
  "FBA[NV]|FB_IAB|Instagram|WhatsApp|MicroMessenger|Snapchat|TikTok|LinkedInApp|Line/|; wv\\)",
);
const [READING, TAP, TYPING] = [30, 8, 15]; // s: a guess, never measured

/** Return whether another app shows the page, which may keep nothing. */
export function isInside() {
  return ANOTHER_APP.test(navigator.userAgent);
}

export function landing(app) {
  const { device, terms, say, count } = app;
  const { promises, answers, tasks, allotment, title, description } = terms;
  const { requester, contact, purpose = "" } = promises ?? {};
  const { mechanism, channel } = terms;
  const choices = channel.tables?.at(-1).length ?? labelsOf(mechanism.domain)?.length;
  const isTapped = choices < SEARCHED;
  const minutes = Math.ceil((READING + answers * (isTapped ? TAP : TYPING)) / 60);
  const kind = allotment ? ".some" : answers < tasks ? ".most" : "";
  const example = exampleOf(app);
  const counts = { count: tasks, tasks: count(tasks), answers: count(answers) };
  return {
    ...{ ...example, example, title, description, purpose, inside: isInside() },
    asker: promises ? `${requester} · ${contact}` : "",
    unpromised: promises ? "" : say("screen.unpromised"),
    facts: [
      say(`screen.questions${kind}`, counts),
      say("screen.minutes", { count: minutes, minutes: count(minutes) }),
      ...(device.closes ? [say("screen.closes", { day: app.day(device.closes) })] : []),
      say("screen.nameless"),
    ],
    ...{ outside: !isInside(), code: app.code },
    copyLink: () => app.copy(`${app.link}#i=${app.invite ?? ""}`),
    decline: () => app.go("end", "screen.declined"),
    ready: () => {
      byId("code").addEventListener("input", ({ target }) => {
        app.code = target.value.trim();
      });
    },
  };
}

/** Return an answer, its reports, and how often each is sent; null if that has no simple odds. */
function exampleOf(app) {
  const { say, count } = app;
  const { mechanism, channel } = app.terms;
  const { kind, grid, weights } = channel;
  const labels = labelsOf(mechanism.domain);
  const named = (answer, share, same, other) => {
    const often = Math.min(99, Math.max(1, Math.round(100 * share)));
    const shared = (one) => say("screen.picture.share", { share: count(one) });
    return { answer, same, other, often: shared(often), rest: shared(100 - often) };
  };
  if (kind === "shift") {
    const [low, high] = boundsOf(mechanism.domain);
    const middle = labels ? labels[Math.floor(labels.length / 2)] : (low + high) / 2;
    const half = grid.step * distanceWithin(1 / 2, channel.noise_scale);
    const shown = [middle, middle - half, middle + half].map((one) => withDigits(one, 3, say));
    const range = say("screen.picture.range", { low: shown[1], high: shown[2] });
    return named(shown[0], 1 / 2, range, say("screen.picture.further"));
  }
  const place = Math.max(0, labels?.indexOf(true) ?? 0);
  const answer = labels && nameOf(spell(app, labels[place]));
  if (kind === "sets") {
    const inside = channel.members * channel.inside;
    const share = inside / (inside + (channel.labels - channel.members) * channel.outside);
    const same = say("screen.picture.with", { answer });
    return named(answer, share, same, say("screen.picture.without"));
  }
  if (kind !== "table" || isNumbered(channel)) {
    return null;
  }
  const isPair = weights[place].length === 2;
  const other = isPair ? nameOf(spell(app, labels[1 - place])) : say("screen.picture.another");
  return named(answer, weights[place][place] / 2 ** 32, answer, other);
}

export async function loaded(app, got, all) {
  await (app.screen !== "loading" && app.go("loading"));
  Object.assign(byId("pictures"), { max: all, value: got });
  const counts = { got: app.count(got), all: app.count(all) };
  byId("got").textContent = app.say("screen.pictures.got", counts);
}

/** Show how to go on, here and in another browser. */
export function started(app) {
  const { device, say } = app;
  const label = say("screen.place.code");
  const place = () => filled("place", app, { code: device.code, qr: [qrCode(device.code, label)] });
  return {
    kept: say(device.keepsDrafts ? "screen.kept" : "screen.unkept"),
    place: device.code ? place() : [],
  };
}
