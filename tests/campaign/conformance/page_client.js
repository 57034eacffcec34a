// The page's modules, as the conformance suite drives them; python_client.py does the same.

import { describe, percentages } from "./worker/channels/index.js";
import { Device } from "./worker/device/device.js";
import { drawUpload, toDraw } from "./worker/device/reports.js";
import { speaker } from "./worker/page/messages.js";
import { consentSentences, shortConsent } from "./worker/terms/consent.js";
import { channelHash, taskQuestions } from "./worker/terms/questions.js";
import { askedOf, readMenu, readTasks, Refusal } from "./worker/terms/terms.js";

const REFUSED = "refused";

/** Return what an act gives; REFUSED for a Refusal with a message of the catalog. */
async function given(act) {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof Refusal)) {
      return `${error?.stack ?? error}`;
    }
    (await say())(error.key, error.values);
    return REFUSED;
  }
}

async function say() {
  const answer = await fetch("./worker/messages/en.json");
  return speaker(await answer.json());
}

async function termsOf({ text, hash }, id) {
  const given = { campaign: id, configHash: hash, english: await say() };
  return (await readMenu(text, given))[0];
}

/** Return what is said of a configuration. */
export function read(campaign, id) {
  return given(async () => {
    const [speak, terms] = [await say(), await termsOf(campaign, id ?? campaign.id)];
    return {
      losses: losses(terms.guarantee),
      summary: shortConsent(terms, speak).flat(),
      consent: consentSentences(terms, speak).flat(),
      law: describe(terms, speak),
      table: percentages(terms, speak),
    };
  });
}

/** Return the figures of a guarantee. */
function losses(stated) {
  const members = ["epsilon", "linkedEpsilon", "workerEpsilon", "delta"];
  return Object.fromEntries(members.map((one) => [one.replace("E", "_e"), stated[one]]));
}

async function asked(campaign, listed = campaign.listed) {
  const terms = await termsOf(campaign, campaign.id);
  const document = JSON.parse(listed);
  const tasks = askedOf(document, await readTasks(document, terms), terms);
  const questions = { ...(await taskQuestions(tasks, terms)), channel: await channelHash(terms) };
  return { terms, tasks, questions };
}

/** Return which tasks are one question. */
export function questions(campaign, listed) {
  return given(async () => {
    const { tasks, questions: found } = await asked(campaign, listed ?? undefined);
    const { hashes, first, channel } = found;
    const names = tasks.map(({ name }) => name);
    return { names, hashes: Object.fromEntries(hashes), first: Object.fromEntries(first), channel };
  });
}

/** Return the request that comes of answers and words; ids of reports in turn. */
export function upload(campaign, answers, words) {
  return given(async () => {
    const all = await asked(campaign);
    const chosen = new Map(Object.entries(answers).filter(([, answer]) => answer !== null));
    const known = new Map();
    const open = toDraw({ ...all, known }, chosen);
    return withRandom(words, () => drawUpload({ ...all, known }, chosen, open)).upload;
  });
}

/** Call with words, and ids in turn, in the place of the browser's random numbers. */
function withRandom(words, act) {
  const [real, left] = [crypto.getRandomValues, Uint32Array.from(words)];
  let [taken, ids] = [0, 0];
  crypto.getRandomValues = (array) => {
    if (array instanceof Uint32Array) {
      array.set(left.subarray(taken, (taken += array.length)));
    } else {
      ids += 1;
      new DataView(array.buffer).setUint32(array.length - 4, ids);
    }
    return array;
  };
  try {
    return act();
  } finally {
    crypto.getRandomValues = real;
  }
}

let devices = new Map();
let moment = Date.now();
let slot = null;

async function device(campaign) {
  if (!devices.has(campaign)) {
    const base = new URL("./", location.href).href;
    const timing = { delay: 1, pause: 1, patience: 1, now: () => moment };
    const opened = await Device.open({ base, campaign, english: await say(), ...timing });
    await opened.load();
    devices.set(campaign, opened);
  }
  return devices.get(campaign);
}

const STEPS = {
  reload: () => {
    devices = new Map();
    return null;
  },
  at: (seconds) => {
    moment = 1000 * seconds;
    return null;
  },
  choose: async (campaign, choice) => {
    await (await device(campaign)).choose(choice);
    return null;
  },
  commit: async (campaign, answers) => {
    await (await device(campaign)).commit(new Map(Object.entries(answers)));
    return null;
  },
  rounds_spent: async (campaign) => {
    const { within, all, most } = (await device(campaign)).roundsSpent;
    return [within, all, most];
  },
  next_round: async (campaign) => (await device(campaign)).nextRound?.number ?? null,
  set_budget: async (budget, campaign) => {
    await (await device(campaign)).setBudget(budget);
    return null;
  },
  draw_slot: (number) => {
    slot = number;
    return null;
  },
  join: async (campaign) => {
    const [one, real] = [await device(campaign), crypto.getRandomValues];
    if (slot !== null) {
      crypto.getRandomValues = (array) =>
        array instanceof Uint32Array ? (array.set([slot, 0]), array) : real.call(crypto, array);
    }
    try {
      await one.join();
    } finally {
      crypto.getRandomValues = real;
    }
    return null;
  },
  answer: async (campaign, answers) => {
    const one = await device(campaign);
    await (one.state === "new" ? one.join() : one.load());
    await one.commit(new Map(Object.entries(answers)));
    await one.send();
    return one.receipt.reports.length;
  },
  send: async (campaign) => {
    const one = await device(campaign);
    await one.send();
    return one.receipt.reports.length;
  },
  withdraw: async (campaign) => {
    await (await device(campaign)).withdraw();
    return null;
  },
  again: async (campaign) => {
    const { reused, repeated } = await (await device(campaign)).spending(0);
    return [reused.sort(), repeated.sort()];
  },
  spent: async (campaign) => (await (await device(campaign)).spending(0)).spent,
  receipt: async (campaign) => {
    const { receipt } = await device(campaign);
    return receipt.reports.map(({ task, value, participation }) => [task, value, participation]);
  },
};

/** Return what a step gives; what is drawn of answers that no screen takes is a RangeError. */
export function take(step, ...values) {
  return given(async () => {
    try {
      return await STEPS[step](...values);
    } catch (error) {
      throw error instanceof RangeError ? new Refusal("refusal.heading") : error;
    }
  });
}

/** Return what the device's database holds, files left out. */
export async function kept() {
  const request = indexedDB.open("quietcrowd");
  await new Promise((resolve) => request.addEventListener("success", resolve));
  const [store, texts] = ["kept", IDBKeyRange.bound("", [], false, true)];
  const all = request.result.transaction(store).objectStore(store).getAll(texts);
  await new Promise((resolve) => all.addEventListener("success", resolve));
  request.result.close();
  return all.result;
}
