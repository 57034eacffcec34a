// What a worker agrees to, computed once more: a server is not believed.

import { whyNot } from "../mechanisms/draw.js";
import { canonicalHash, canonicalJson } from "./canonical.js";
import { describedBy, isNear } from "./channel.js";
import { consentSentences } from "./consent.js";
import { assumptionsOf, guaranteeOf } from "./guarantee.js";
import { largestGroup } from "./questions.js";
import { lossOfNamed } from "./sketch_losses.js";

/** @import { Say } from "../page/messages.js" */

const MOST_TASKS = 20_000;
const MOST_ANSWERS = 5000;
const TASK_ID = /^[0-9a-f]{32}$/;

const isCount = (value) => Number.isSafeInteger(value) && value >= 1;
const isText = (value) => typeof value === "string";
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isName = (most) => (value) =>
  isText(value) && value.trim() !== "" && [...value].length <= most;
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

/** Why a campaign is not answered: the key of a message, and what is to be put into it. */
export class Refusal extends Error {
  constructor(key, values = {}) {
    super(key);
    Object.assign(this, { name: "Refusal", key, values });
  }
}

function refuseUnless(condition, name, values) {
  if (!condition) {
    throw new Refusal(`refusal.${name}`, values);
  }
}

/** Return what a function gives; Refusal where it raises. */
async function attempt(give, name) {
  try {
    return await give();
  } catch {
    throw new Refusal(`refusal.${name}`);
  }
}

/**
 * Return what a worker agrees to.
 * @param {string} text  the configuration as received
 * @param {{campaign: string, configHash: string, english: Say}} asked  `english`: sentences of a
 *   configuration are English, and compared
 */
export async function readTerms(text, { campaign, configHash, english }) {
  const config = await attempt(() => JSON.parse(text), "config");
  checkMembers(config, campaign);
  const hash = async () => canonicalJson(config) === text && (await canonicalHash(config));
  refuseUnless((await attempt(hash, "config")) === configHash, "config");
  refuseUnless(whyNot(config.mechanism) === null, "mechanism");
  const described = await attempt(() => describedBy(config.mechanism, config.tasks), "unsound");
  const kinds = kindsOf(config);
  const isStrange = (name) => !(name in kinds);
  const wrong = [...differing(config, described), ...Object.keys(config).filter(isStrange)];
  refuseUnless(!wrong.length, "terms", { names: wrong.join(", ") });
  const names = Object.keys(PROMISES).filter((name) => name in kinds);
  const promised = Object.fromEntries(names.map((name) => [name, config[name]]));
  const promises = names.length ? promised : null;
  const guarantee = await attempt(() => agreed(guaranteeOf(config), config), "unsound");
  const lost = { guarantee: figuresOf(guarantee, described, english) };
  lost.consent = consentSentences(guarantee, promises, english);
  const epsilon = guarantee.workerEpsilon.toPrecision(4);
  refuseUnless(!differing(config, lost).length, "loss", { epsilon });
  return {
    ...{ campaign, title: config.title, description: config.description, ...described },
    ...{ answers: config.answers_per_participant, linked: config.linked, tasks: config.tasks },
    ...{ tasksHash: config.tasks_hash, configHash, guarantee, promises },
  };
}

/** Return the members that a configuration of its version has, and what each must be. */
function kindsOf({ version }) {
  return { version: isCount, ...MEMBERS, ...(version > 1 && PROMISES) };
}

/** Return which members are not as they must be. */
function differing(config, expected) {
  const same = (name) => canonicalJson(config[name]) === canonicalJson(expected[name]);
  return Object.keys(expected).filter((name) => !same(name));
}

function checkMembers(config, campaign) {
  refuseUnless(isObject(config), "config");
  refuseUnless([1, 2].includes(config.version), "version");
  const kinds = kindsOf(config);
  const names = Object.keys(kinds).filter((name) => !kinds[name](config[name]));
  refuseUnless(!names.length, "members", { names: names.join(", ") });
  refuseUnless(config.campaign === campaign, "other-campaign");
  const { answers_per_participant: answers, linked, tasks } = config;
  const isSound = linked <= answers && answers <= Math.min(tasks, MOST_ANSWERS);
  refuseUnless(isSound && tasks <= MOST_TASKS, "counts");
}

/** Return a guarantee as a configuration has it. */
function figuresOf(guarantee, described, english) {
  const finite = (loss) => (loss === Infinity ? null : loss);
  return {
    answer_epsilon: finite(guarantee.epsilon),
    linked_epsilon: finite(guarantee.linkedEpsilon),
    worker_epsilon: finite(guarantee.workerEpsilon),
    delta: guarantee.delta,
    participation_protected: guarantee.participationProtected,
    assumptions: assumptionsOf(described, guarantee, english),
  };
}

/**
 * Return a guarantee with the figures as they are said, where they are near to those found.
 *
 * That of a sketch's tasks waits for their names: see readTasks.
 */
function agreed(found, { guarantee: said, report }) {
  const settled = (here, there) => (isNear(here, there ?? Infinity) ? (there ?? Infinity) : here);
  const isNamed = report.kind === "sketch" && typeof said.worker_epsilon === "number";
  const most = isNamed ? Math.max(0, said.worker_epsilon) : Infinity;
  return {
    ...found,
    epsilon: settled(found.epsilon, said.answer_epsilon),
    linkedEpsilon: settled(Math.min(found.linkedEpsilon, most), said.linked_epsilon),
    workerEpsilon: settled(Math.min(found.workerEpsilon, most), said.worker_epsilon),
    delta: settled(found.delta, said.delta),
  };
}

/**
 * Return all tasks of a campaign, in the order of their ids.
 * @param {object} document  what the server answered
 * @param {object} terms  what was agreed to
 */
export async function readTasks(document, terms) {
  const { tasks: listed, config_hash: configHash } = document;
  refuseUnless(Array.isArray(listed) && listed.every(isTask), "tasks");
  const tasks = listed.map(({ task_id: id, task: name, data }) => ({ id, name, data }));
  const hash = await attempt(() => canonicalHash(listed), "tasks");
  const inOrder = tasks.every(({ id }, i) => i === 0 || tasks[i - 1].id < id);
  const counts = [tasks.length, new Set(tasks.map(({ name }) => name)).size];
  const areMany = counts.every((count) => count === terms.tasks);
  const areSame = hash === terms.tasksHash && configHash === terms.configHash;
  refuseUnless(areSame && areMany && inOrder, "tasks");
  const found = largestGroup(tasks, terms);
  const isHidden = Math.min(found, terms.answers) > terms.linked;
  refuseUnless(!isHidden, "copies", { found, linked: terms.linked });
  if (terms.report.kind === "sketch") {
    requireLoss(tasks, terms);
  }
  return tasks;
}

/** Refuse tasks of names whose answers lose more than was agreed to. */
function requireLoss(tasks, { channel, guarantee: { epsilon, workerEpsilon } }) {
  const named = lossOfNamed({ channel }, tasks.map(({ name }) => name));
  const loss = Math.min(tasks.length * epsilon, named);
  const isMore = loss > workerEpsilon && !isNear(loss, workerEpsilon);
  refuseUnless(!isMore, "loss", { epsilon: loss.toPrecision(4) });
}

function isTask(one) {
  const { task_id: id, task: name, data } = isObject(one) ? one : {};
  const isWhole = isText(id) && TASK_ID.test(id) && isText(name) && name !== "" && isObject(data);
  return isWhole && Object.keys(one).length === 3;
}
