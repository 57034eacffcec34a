// The terms of a worker, recomputed on the device: the server is not trusted.

import { assumptionsOf, check, guaranteeOf, reportsAll, whyNot } from "../channels/index.js";
import { lossOfNamed } from "../channels/sketch_losses.js";
import { canonicalHash, canonicalJson } from "./canonical.js";
import { consentSentences, shortConsent } from "./consent.js";
import { checkedDomain } from "./domain.js";
import { haveOptions, isAmongOptions } from "./options.js";
import { largestGroup } from "./questions.js";
import { areRounds, roundLosses } from "./rounds.js";

const MOST_TASKS = 20_000;
const MOST_ANSWERS = 5000;
const HEX_ID = /^[0-9a-f]{32}$/;
const AS_OF = /^[1-9]\d{3}-\d{2}-\d{2}$/;

const isCount = (value) => Number.isSafeInteger(value) && value >= 1;
const isText = (value) => typeof value === "string";
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isFlag = (value) => typeof value === "boolean";
const isName = (most) => (value) => isText(value) && value.trim() && [...value].length <= most;
const isAtMost = (most) => (value) => isCount(value) && value <= most;

const MEMBERS = Object.freeze({
  ...{ campaign: isText, title: isText, description: isText, mechanism: isObject },
  ...{ channel: isObject, report: isObject, guarantee: isObject, consent: Array.isArray },
  ...{ answers_per_participant: isCount, linked: isCount, tasks: isCount, tasks_hash: isText },
});
const PROMISES = Object.freeze({
  ...{ requester: isName(200), contact: isName(200), purpose: isName(1000) },
  ...{ retention_days: isAtMost(3650), at_least: isAtMost(1000) },
});

const HANDED_OUT = Object.freeze({ allotment: (value) => ["random", "suggested"].includes(value) });
const NAMED = Object.freeze({ requester_id: (value) => isText(value) && HEX_ID.test(value) });
const LATEST = Object.freeze({ drafts: isFlag, summary: Array.isArray });
const DATED = Object.freeze({ as_of: isDay });

const IN_ROUNDS = Object.freeze({ rounds: areRounds, losses: isObject });

const ENTRY = ["mechanism", "channel", "report", "guarantee", "consent", "summary"];
const isError = (value) => typeof value === "number" && value >= 0;

const FIGURES = Object.freeze({
  ...{ answer_epsilon: "epsilon", linked_epsilon: "linkedEpsilon" },
  ...{ worker_epsilon: "workerEpsilon", delta: "delta" },
});

/** A reason not to answer a campaign: the key of a message, and its values. */
export class Refusal extends Error {
  constructor(key, values = {}) {
    super(key);
    Object.assign(this, { name: "Refusal", key, values });
  }
}

const refuseUnless = (isSo, name, values) => refuseIf(!isSo, `refusal.${name}`, values);

async function attempt(give, name) {
  try {
    return await give();
  } catch {
    throw new Refusal(`refusal.${name}`);
  }
}

/** Return the checked terms of each choice; `english` serves to compare their sentences. */
export async function readMenu(text, { campaign, configHash, english }) {
  const config = await attempt(() => JSON.parse(text), "config");
  refuseUnless(isObject(config), "config");
  const { menu, ...shared } = config;
  const isMenu = config.version === 6 && menu !== undefined;
  await attempt(() => isMenu && checkMenu(menu, shared), "config");
  const flats = isMenu ? menu.entries.map((one) => ({ ...shared, ...one })) : [config];
  flats.forEach((flat) => checkMembers(flat, campaign));
  refuseUnless(config.version !== 6 || isMenu || "rounds" in config, "version");
  const hash = async () => canonicalJson(config) === text && (await canonicalHash(config));
  refuseUnless((await attempt(hash, "config")) === configHash, "config");
  const { shares = [], expected } = menu ?? {};
  const all = flats.map(async (flat, i) => {
    const terms = await termsOf(flat, english, isMenu ? i : null);
    return { ...terms, share: shares[i], expected, configHash };
  });
  return Promise.all(all);
}

/** Throw unless a menu is one that Python writes; `termsOf` checks each entry. */
function checkMenu({ entries, shares, expected, ...more }, shared) {
  const names = [...ENTRY, ...("rounds" in shared ? ["losses"] : [])].sort();
  const has = (value, members) => `${Object.keys(value).sort()}` === `${members}`;
  const [mechanisms, domains] = [new Set(), new Set()];
  const losses = entries.map(({ mechanism, guarantee }) => {
    mechanisms.add(canonicalJson(mechanism));
    domains.add(canonicalJson(mechanism.domain));
    return guarantee.worker_epsilon ?? Infinity;
  });
  const isOne = (one) => has(one, names) && !reportsAll(one) && !isAmongOptions(one.channel);
  const isSound =
    (entries.every(isOne) && names.every((name) => !(name in shared)) && has(more, "")) &&
    (losses.every((loss, i) => !(loss < losses[i - 1])) && domains.size === 1) &&
    (mechanisms.size === shares.length && losses.length === shares.length) &&
    (losses.length >= 2 && losses.length <= 8 && shares.every((one) => one > 0 && one < 1)) &&
    Math.abs(shares.reduce((sum, one) => sum + one) - 1) <= 1e-9 &&
    (expected === null || (has(expected, "error,guess") && Object.values(expected).every(isError)));
  refuseUnless(isSound, "members");
}

/** Check a configuration of one mechanism, and return its terms. */
async function termsOf(config, english, choice) {
  const { mechanism, channel } = config; // only the mechanism's domain is read, not its parameters
  refuseUnless(whyNot(channel) === null, "mechanism");
  const domain = await attempt(() => checkedDomain(mechanism.domain), "unsound");
  const report = await attempt(() => check(channel, domain, config.tasks), "unsound");
  const kinds = kindsOf(config);
  const strangers = Object.keys(config).filter((name) => !Object.hasOwn(kinds, name));
  const others = [...differing(config, { report }), ...differing(mechanism, { domain })];
  const wrong = [...others, ...strangers].join(", ");
  refuseUnless(wrong === "", "terms", { names: wrong });
  const promised = Object.keys(PROMISES).map((name) => [name, config[name]]);
  const promises = config.version === 1 ? null : Object.fromEntries(promised);
  const found = await attempt(() => guaranteeOf(config), "unsound");
  const guarantee = agreed(found, config);
  const { answers_per_participant: answers, tasks } = config;
  const isHandedOut = Object.hasOwn(kinds, "allotment");
  const allotment = isHandedOut ? { kind: config.allotment, answers, tasks } : null;
  refuseUnless(!allotment || !reportsAll(config), "counts");
  const { requester_id: requesterId = null, as_of: asOf = null, drafts = null } = config;
  const { rounds = null, losses = null } = config;
  const given = { guarantee, promises, allotment, asOf, report, rounds, losses, choice };
  const inRounds = Object.entries(rounds && roundLosses(rounds, guarantee.workerEpsilon) || {});
  const isNone = guarantee.workerEpsilon === Infinity || reportsAll(config) || asOf !== null;
  refuseUnless(!rounds || !isNone, "counts");
  const near = ([name, loss]) => [name, isNear(loss, losses[name]) ? losses[name] : loss];
  const lost = {
    guarantee: figuresOf(guarantee, config, english),
    consent: consentSentences(given, english).flat(),
    ...(drafts !== null && { summary: shortConsent(given, english).flat() }),
    ...(rounds && { losses: Object.fromEntries(inRounds.map(near)) }),
  };
  const isSaid = !differing(config, lost).length;
  refuseUnless(isSaid, "loss", { epsilon: found.workerEpsilon });
  return {
    ...{ campaign: config.campaign, title: config.title, description: config.description },
    ...{ mechanism, channel, ...given, drafts, requesterId },
    ...{ answers, linked: config.linked, tasks, tasksHash: config.tasks_hash },
  };
}

/** Return the members of a configuration of this version, and their checks. */
function kindsOf(config) {
  const maybe = { ...HANDED_OUT, ...DATED };
  const there = Object.keys(maybe).filter((name) => Object.hasOwn(config, name));
  const latest = Object.fromEntries(there.map((name) => [name, maybe[name]]));
  const named = { ...NAMED, ...latest };
  const newest = { ...named, ...LATEST };
  const inRounds = { ...newest, ...("rounds" in config && IN_ROUNDS) };
  const more = [{}, {}, HANDED_OUT, named, newest, inRounds][config.version - 1];
  return { version: isCount, ...MEMBERS, ...(config.version === 1 ? {} : PROMISES), ...more };
}

function isDay(value) {
  const time = isText(value) && AS_OF.test(value) ? Date.parse(`${value}T00:00:00Z`) : NaN;
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(value);
}

/** Return whether two numbers are equal up to a relative error of 10^-12. */
function isNear(number, said) {
  const most = 1e-12 * Math.min(Math.abs(number), Math.abs(said));
  return number === said || (typeof said === "number" && Math.abs(number - said) <= most);
}

function differing(config, expected) {
  const same = (name) => canonicalJson(config[name]) === canonicalJson(expected[name]);
  return Object.keys(expected).filter((name) => !same(name));
}

function checkMembers(config, campaign) {
  refuseUnless([1, 2, 3, 4, 5, 6].includes(config.version), "version");
  const kinds = kindsOf(config);
  const names = Object.keys(kinds).filter((name) => !kinds[name](config[name]));
  refuseUnless(!names.length, "members", { names: names.join(", ") });
  refuseUnless(config.campaign === campaign, "other-campaign");
  const { answers_per_participant: answers, linked, tasks } = config;
  const isSound = linked <= answers && answers <= Math.min(tasks, MOST_ANSWERS);
  refuseUnless(isSound && tasks <= MOST_TASKS, "counts");
}

function figuresOf(guarantee, config, english) {
  const finite = (loss) => (loss === Infinity ? null : loss);
  const shown = Object.entries(FIGURES).map(([name, own]) => [name, finite(guarantee[own])]);
  return {
    ...Object.fromEntries(shown),
    participation_protected: guarantee.participationProtected,
    assumptions: assumptionsOf(config, guarantee, english),
  };
}

/** Return a guarantee with stated figures if close; readTasks checks the loss of a sketch. */
function agreed(found, { guarantee: said, report }) {
  const isNamed = report.kind === "sketch" && typeof said.worker_epsilon === "number";
  const most = isNamed ? Math.max(found.epsilon, said.worker_epsilon) : Infinity;
  const figures = Object.entries(FIGURES).map(([name, own]) => {
    const [here, there] = [Math.min(found[own], most), said[name] ?? Infinity];
    return [own, isNear(here, there) ? there : here];
  });
  return { ...found, ...Object.fromEntries(figures) };
}

/** Return all tasks in a server's document, in the order of their ids, if they are as agreed. */
export async function readTasks(document, terms) {
  const { tasks: listed, config_hash: configHash } = document;
  refuseUnless(Array.isArray(listed) && listed.every(isTask), "tasks");
  const tasks = listed.map(({ task_id: id, task: name, data }) => ({ id, name, data }));
  const hash = await attempt(() => canonicalHash(listed), "tasks");
  const names = new Set(tasks.map(({ name }) => name));
  const areAll = tasks.length === terms.tasks && names.size === terms.tasks;
  const areSame = hash === terms.tasksHash && configHash === terms.configHash;
  refuseUnless(areAll && areSame && tasks.every(follows), "tasks");
  refuseUnless(haveOptions(tasks, terms), "tasks");
  const found = largestGroup(tasks, terms);
  const isHidden = Math.min(found, terms.answers) > terms.linked;
  refuseUnless(!isHidden, "copies", { found, linked: terms.linked });
  if (terms.report.kind === "sketch") {
    await requireLoss([...names], terms);
  }
  return tasks;
}

/** Return the tasks of this worker: if the campaign assigns some, those in the document. */
export function askedOf({ allotted }, tasks, { allotment }) {
  if (allotment === null) {
    return tasks;
  }
  const ids = new Set(Array.isArray(allotted) ? allotted : []);
  const asked = tasks.filter(({ id }) => ids.has(id));
  const areThese = canonicalJson(asked.map(({ id }) => id)) === JSON.stringify(allotted);
  refuseUnless(areThese && asked.length === allotment.answers, "allotment");
  return asked;
}

const follows = ({ id }, i, tasks) => i === 0 || tasks[i - 1].id < id;

/** Reject tasks with names for which the loss exceeds the agreed one. */
async function requireLoss(names, { channel, guarantee: { epsilon, workerEpsilon } }) {
  const named = await attempt(() => lossOfNamed(channel, names), "unsound");
  const loss = Math.min(names.length * epsilon, named);
  const isMore = loss > workerEpsilon && !isNear(loss, workerEpsilon);
  refuseUnless(!isMore, "loss", { epsilon: loss });
}

function isTask(one) {
  const { task_id: id, task: name, data } = isObject(one) ? one : {};
  const isWhole = isText(id) && HEX_ID.test(id) && isText(name) && name !== "" && isObject(data);
  return isWhole && Object.keys(one).length === 3;
}

export function refuseIf(isSo, key, values) {
  if (isSo) {
    throw new Refusal(key, values);
  }
}
