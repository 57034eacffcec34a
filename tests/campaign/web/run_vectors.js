// What an input of vectors/ gives in a browser, by kind; write_vectors.py has the same functions.

import { costOf, requireBudget, spentIn } from "./worker/device/ledger.js";
import { canonicalHash, canonicalJson } from "./worker/terms/canonical.js";
import { readable } from "./worker/device/reports.js";
import { check, describe, draw, guaranteeOf, percentages } from "./worker/channels/index.js";
import { placeOf } from "./worker/channels/grid.js";
import { laplaceNoise } from "./worker/channels/noise.js";
import { weightsOf } from "./worker/channels/per_worker.js";
import { decaying, logistic, systemWords, uniformIntegers } from "./worker/channels/random.js";
import { floatUp } from "./worker/channels/rational.js";
import { sharedLosses } from "./worker/channels/shared_losses.js";
import { shake256 } from "./worker/channels/shake.js";
import { taskProfiles } from "./worker/channels/sketch.js";
import { lossOfNamed } from "./worker/channels/sketch_losses.js";
import { reportOf } from "./worker/channels/table.js";
import { speaker } from "./worker/page/messages.js";
import { consentSentences, shortConsent } from "./worker/terms/consent.js";
import { meaningsOf } from "./worker/terms/meanings.js";
import { pointsTo, withDigits } from "./worker/terms/names.js";
import { channelHash, largestGroup, lettersOf, taskQuestions } from "./worker/terms/questions.js";
import { readMenu, readTasks } from "./worker/terms/terms.js";

/** Return a source of given words. */
function wordsInTurn(given) {
  const words = Uint32Array.from(given);
  let taken = 0;
  return (count) => {
    if (taken + count > words.length) {
      throw new RangeError(`there are ${words.length} words, and more are asked for`);
    }
    taken += count;
    return words.slice(taken - count, taken);
  };
}

const catalogOf = async (tag) => {
  const answer = await fetch(new URL(`./worker/messages/${tag}.json`, import.meta.url));
  return answer.json();
};
const english = speaker(await catalogOf("en"));

/** Return the configuration's terms and its tasks. */
export async function termsOf({ text, tasks, campaign, hash }) {
  const own = { campaign: campaign ?? "5".repeat(32), configHash: hash ?? (await hashOf(text)) };
  const [terms] = await readMenu(text, { ...own, english });
  return { terms, tasks: await readTasks({ tasks, config_hash: own.configHash }, terms) };
}

async function hashOf(text) {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Return why each configuration is refused: the key of a message, and what it says; or null. */
export async function refusals(inputs, tag) {
  const say = speaker(await catalogOf(tag));
  const given = [];
  for (const input of inputs) {
    try {
      await termsOf(input);
      given.push(null);
    } catch (error) {
      given.push([error.key ?? `${error}`, error.key ? say(error.key, error.values) : ""]);
    }
  }
  return given;
}

/** Return what sketches of tasks lose, and how many ms it took to find. */
export function namedLoss(channel, names) {
  const start = performance.now();
  return [lossOfNamed(channel, names), performance.now() - start];
}

/** Return all that a page says of configurations, in a language. */
export async function sayings(inputs, tag) {
  const say = speaker(await catalogOf(tag));
  const given = [];
  for (const input of inputs) {
    const { terms } = await termsOf(input);
    given.push([
      ...shortConsent(terms, say).flat(),
      ...consentSentences(terms, say).flat(),
      ...describe(terms, say),
      ...percentages(terms, say).flat(),
    ]);
  }
  return given;
}

/** Return what values of reports mean, what people read, and the values under other terms. */
export async function meanings(terms, others, values) {
  const [{ meaningOf, valueOf }, there] = [meaningsOf(terms), meaningsOf(others)];
  const items = values.map((value) => ({ value, task_id: "t" }));
  const shown = readable(items, terms, [{ id: "t", name: "t" }]).map(({ value }) =>
    Array.isArray(value) ? pointsTo(value, english) : value,
  );
  return values.map((value, i) => {
    const meaning = JSON.parse(JSON.stringify(meaningOf(value)));
    return [meaning, shown[i], valueOf(meaning), there.valueOf(meaning)];
  });
}

/** Return the value of each meaning; null for what no report means. */
export function valuesOf(terms, all) {
  return all.map(meaningsOf(terms).valueOf);
}

/** Return the loss of one report by each channel, a text, about a domain; null if it is refused. */
export function channelLosses(inputs) {
  return inputs.map(([text, domain]) => {
    try {
      const channel = JSON.parse(text);
      const counts = { answers_per_participant: 1, linked: 1, tasks: 1 };
      const report = check(channel, domain, counts.tasks);
      return guaranteeOf({ channel, report, ...counts }).epsilon;
    } catch {
      return null;
    }
  });
}

/** Return the hashes of channels. */
export function channelHashes(all) {
  return Promise.all(all.map(channelHash));
}

const chances = { decaying, logistic };

function parsed(text) {
  return text.match(/.{8}/g)?.map((digits) => parseInt(digits, 16)) ?? [];
}

/** Return what a function gives with the words of an input, and how many it took. */
function withWords(text, use) {
  const source = wordsInTurn(parsed(text));
  let taken = 0;
  const given = use((count) => {
    taken += count;
    return source(count);
  });
  return { ...given, taken };
}

function exact(noise) {
  return noise.map((number) => {
    if (!Number.isSafeInteger(Number(number))) {
      throw new RangeError("noise is beyond 2^53");
    }
    return Number(number);
  });
}

const GIVES = {
  blocks: ({ scale, count, step, edits }) => {
    const words = Uint32Array.from({ length: 20 * count }, (_, i) => Math.imul(i, step));
    for (const [place, word] of edits) {
      words[place] = word;
    }
    const noise = exact(laplaceNoise(scale)(count, wordsInTurn(words)));
    const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
    return [sum(noise), sum(noise.map((value, place) => place * value)), ...noise.slice(-2)];
  },
  budgets: ({ terms, campaigns, budgets }) => {
    const cost = costOf(terms, 1);
    const before = Array(campaigns - 1).fill({ name: "a", cost });
    const fits = (budget) => {
      try {
        requireBudget([{ name: "", budget }, ...before], cost);
        return true;
      } catch {
        return false;
      }
    };
    return [cost, spentIn(before, cost).after, ...budgets.map(fits)];
  },
  canonical: async ({ text }) => {
    const value = JSON.parse(text);
    return [canonicalJson(value), await canonicalHash(value)];
  },
  coin: ({ chance, over, under, bits }) =>
    String(chances[chance]({ over: BigInt(over), under: BigInt(under) })(bits)),
  consent: ({ guarantee }) => {
    const numbers = ["epsilon", "linkedEpsilon", "workerEpsilon"];
    const losses = numbers.map((name) => [name, Number(guarantee[name])]); // "Infinity" is a text
    const terms = { guarantee: { ...guarantee, ...Object.fromEntries(losses) } };
    return [false, true].map((isSketch) => [
      ...shortConsent({ ...terms, report: { kind: isSketch ? "sketch" : "value" } }, english).flat(),
      ...consentSentences(terms, english).flat(),
    ]);
  },
  draw: ({ terms, tasks, answers, words }) =>
    withWords(words, (source) => draw(terms, tasks, new Map(answers), source)),
  grid: ({ grid, numbers }) => numbers.map((number) => placeOf(grid, number)),
  integers: ({ size, count, words }) =>
    withWords(words, (source) => ({ integers: uniformIntegers(source, size, count) })),
  laplace: ({ scale, count, words }) =>
    withWords(words, (source) => ({ noise: exact(laplaceNoise(scale)(count, source)) })),
  letters: async ({ tasks: pairs }) => {
    const tasks = pairs.map(([name, data]) => ({ name, data }));
    const [alone, shared] = [{ kind: "table" }, { kind: "table", per_worker: {} }];
    const largest = [alone, shared].map((channel) => largestGroup(tasks, { channel }));
    const hashes = tasks.map(async ({ name, data }) =>
      (await Promise.all(lettersOf(name, data).map(hashOf))).sort(),
    );
    return [...largest, ...(await Promise.all(hashes))];
  },
  losses: (config) => {
    const { epsilon, linkedEpsilon, workerEpsilon, delta } = guaranteeOf(config);
    return [epsilon, linkedEpsilon, workerEpsilon, delta];
  },
  percent: ({ losses, shares, numbers }) => {
    const sure = losses.map((loss) => {
      const guarantee = { answers: 1, tasks: null, linked: 1, linkedEpsilon: loss };
      return consentSentences({ guarantee }, english)[0][0].match(/most (.*) sure|hidden/)[1];
    });
    const mechanism = { domain: { labels: ["a", "b"] } };
    const printed = shares.map((share) => {
      const channel = { kind: "table", weights: [[share * 2 ** 32, 0]] };
      return percentages({ mechanism, channel }, english)[1][1];
    });
    return [...sure, ...printed, ...numbers.map((number) => withDigits(number, 3, english))];
  },
  profile: ({ profile, tasks }) => taskProfiles(profile, tasks),
  scale: ({ over, under }) => floatUp({ over: BigInt(over), under: BigInt(under) }),
  shake: ({ message, size }) =>
    Array.from(shake256(new TextEncoder().encode(message), size), (byte) =>
      byte.toString(16).padStart(2, "0"),
    ).join(""),
  shared_losses: ({ terms: { mechanism, channel }, counts }) =>
    counts.map((count) => sharedLosses(channel, mechanism.null === "category", count)),
  table: ({ row, words }) => parsed(words).map((word) => reportOf(row, word)),
  terms: async (input) => {
    const { terms, tasks } = await termsOf(input);
    const { hashes, first } = await taskQuestions(tasks, terms);
    return {
      ...{ law: describe(terms, english), table: percentages(terms, english) },
      ...{ questions: Object.fromEntries(hashes), first: Object.fromEntries(first) },
      channel: await channelHash(terms),
    };
  },
  weights: ({ size, epsilon }) => {
    const drawn = weightsOf(epsilon, size);
    return [...drawn.slice(0, 3), ...drawn.slice(-3), drawn.reduce((sum, one) => sum + one, 0)];
  },
};

/** Return what each input of a kind gives; the words of an error where it gives none. */
export async function run(kind, inputs) {
  const given = [];
  for (const input of inputs) {
    try {
      given.push(await GIVES[kind](input));
    } catch (error) {
      given.push(`${error}`);
    }
  }
  return given;
}

/** Return how many of the browser's words are different. */
export function differentWords(count) {
  return new Set(systemWords(count)).size;
}

const NOISE = {
  integers: (size, count) => uniformIntegers(systemWords, size, count),
  laplace: (scale, count) => laplaceNoise(scale)(count, systemWords),
};

/** Return how often each number comes in draws from the browser's words: pairs. */
export function countDraws(noise, parameter, count) {
  const counts = new Map();
  for (const number of NOISE[noise](parameter, count)) {
    const key = Number(number);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return [...counts];
}
