// A worker's device in one campaign: its storage and its requests.

import { reportsAll } from "../channels/index.js";
import { systemWords, uniformIntegers } from "../channels/random.js";
import { firstFrom } from "../channels/rational.js";
import { canonicalHash, canonicalJson } from "../terms/canonical.js";
import { inAnyOrder } from "../terms/options.js";
import { channelHash, lettersOf, taskQuestions } from "../terms/questions.js";
import { beginOf, isRoundOver, nextRound, slotsOf } from "../terms/rounds.js";
import { askedOf, readMenu, readTasks, refuseIf } from "../terms/terms.js";
import { fetchImages, imagesOf } from "./images.js";
import { costOf, requireBudget, spentIn, spentInWindow } from "./ledger.js";
import { newCode, newCredential, participantOf, readCode } from "./membership.js";
import { checkedReceipt, drawUpload, knownReports, readable, toDraw } from "./reports.js";
import { insist, objectIn, request, waitFor } from "./server.js";
import { exchange, filesOf, openStore } from "./store.js";

/**
 * In ms. Reports are sent a multiple of `delay` after the worker's request, so that the time of
 * randomization is not revealed. `pause` is the time between a failed request and the next.
 * `patience` limits the retries, except at sending. `now` gives the time in ms since 1970.
 */
const TIMING = { delay: 4000, pause: 500, patience: 15_000, now: Date.now };
const KEPT_FOR = 86_400_000; // ms from the last answer until drafts are deleted
const KEY = /^qcw_[\w-]{43}$/;
const DAY = /^\d{4}-\d\d-\d\d$/;

/** Return the message key of the reason why this browser cannot be a device; null if it can. */
export function whyNotHere() {
  if (!globalThis.isSecureContext || !globalThis.crypto?.subtle) {
    return "refusal.insecure";
  }
  return globalThis.indexedDB && navigator.locks ? null : "refusal.browser";
}

/** The device; it throws Refusal if something cannot or must not be done. */
export class Device {
  terms = null;
  menu = []; // the terms of each choice
  choice = null; // in a menu of several
  tasks = [];
  images = new Map(); // by their hashes
  open = null; // whether workers may join, and need an invite; null if not requested yet
  needsInvite = null;
  closes = null; // the last day, as 2026-12-31
  #where;
  #timing;
  #database;
  #entries = []; // of all campaigns; the one without a name contains the budget
  #questions = { hashes: new Map(), first: new Map(), channel: null };
  #text; // the configuration as received
  #timer; // until drafts are deleted
  #mine; // the credential that these tasks are for
  #asking = null; // the round that these questions are for
  #leaves = 0; // when reports are sent, in ms of performance.now()

  /** Open the device with its stored state; `base` of the server has a slash at the end. */
  static async open({ base, campaign, english, ...timing }) {
    const device = new Device();
    const { href, origin } = new URL(base);
    const [name, path] = [`${href}j/${campaign}`, `public/campaigns/${campaign}`];
    device.#where = { base: href, campaign, english, origin, name, path };
    device.#timing = { ...TIMING, ...timing };
    device.#database = await openStore();
    await device.#expire();
    await device.#turn();
    device.#watch();
    return device;
  }

  /** @returns {"new" | "joined" | "committed" | "sent" | "late" | "left"} */
  get state() {
    return this.#isLate(this.#own) ? "late" : (this.#own?.state ?? "new");
  }

  /** The present round if it is this worker's, else null; null without rounds. */
  get round() {
    return roundOf(this.#own, this.#timing.now());
  }

  /** The present or next round to answer, and when it begins in ms; null after the last. */
  get nextRound() {
    const { rounds, slot, spent = [] } = this.#own ?? {};
    const except = [...spent, ...this.#sent().map(({ round }) => round)];
    const number = rounds ? nextRound(rounds, slot, this.#timing.now(), except) : null;
    return number === null ? null : { number, begin: beginOf(rounds, number) };
  }

  /** What was lost in any window, and in all rounds so far, and will be at most. */
  get roundsSpent() {
    const { rounds, losses } = this.terms;
    const within = (count) => spentInWindow(this.#sent(), count);
    return { within: within(rounds.window), all: within(rounds.cap), most: losses.campaign };
  }

  /** Choose from the menu, until the worker joins. */
  choose(choice) {
    [this.choice, this.terms] = [choice, this.menu[choice]];
    return this.terms;
  }

  /** Return the checked terms: from the server or, once joined, from storage. */
  async load() {
    if (["new", "left"].includes(this.state)) {
      const { path } = this.#where;
      const said = objectIn(await this.#ask(path));
      await this.#read(await this.#ask(`${path}/config`), said.config_hash);
      this.needsInvite = said.join_mode !== "open";
      this.open = said.state === "open";
      this.closes = DAY.exec(said.closes_on)?.[0];
    } else {
      await this.#turn();
      const { config, tasks, images } = await this.#files();
      await this.#read(config, this.#own.configHash);
      await this.#readTasks(tasks, this.#own.credential);
      this.images = images;
      await locked(() => this.#sendPending()).catch(() => {}); // of rounds before
    }
    return this.terms;
  }

  /**
   * Join after consent to the terms. `code` continues the same worker from another browser.
   * Repeating this has no effect, except with another invite or a code: until reports are drawn,
   * these start over, once the server has accepted them.
   */
  async join(invite, code) {
    const { configHash, choice, rounds } = this.terms ?? (await this.load());
    refuseIf(this.menu.length > 1 && this.choice === null && !this.#own?.state, "refusal.choice");
    const typed = code ? readCode(code) : null;
    refuseIf(code && !typed, "refusal.code");
    const link = invite && (await participantOf(invite));
    const invited = invite && { invite, link, code: typed ?? newCode(), continues: Boolean(typed) };
    const isSplit = rounds?.division === "crowd";
    const [slot] = isSplit ? uniformIntegers(systemWords, rounds.step, 1) : [null];
    const fresh = { credential: newCredential(), configHash, choice, slot, rounds, ...invited };
    const { name, origin } = this.#where;
    await locked(async () => {
      await this.#keep((own, entries) => {
        refuseIf(own?.state === "left", "refusal.left");
        const isAnswered = this.#sent(entries).length > 0;
        refuseIf(typed && isAnswered, "refusal.answered");
        const isSame = !invite || [undefined, link].includes(own?.link);
        if (own?.state && (isAnswered || (isSame && !typed))) {
          return { ...own, next: undefined };
        }
        const { next = fresh } = own ?? {};
        const isBegun = next.link === link && typed === (next.continues ? next.code : null);
        const isOther = (isBegun || !invite) && (next.choice ?? null) !== choice;
        refuseIf(isOther, "refusal.choice-bound", { choice: next.choice });
        return { name, origin, ...own, next: isBegun || !invite ? next : fresh };
      });
      await (this.#own.next && this.#enter(this.#own.next));
    });
    await (this.#own.next ? this.#fetchTasks(this.#own.next) : this.load());
  }

  async isOther(invite) {
    const { link } = this.#own ?? {};
    return Boolean(invite && link) && link !== (await participantOf(invite));
  }

  /** The code with which the worker can go on in another browser; null once it is of no use. */
  get code() {
    const { state, code, placed } = this.#own ?? {};
    return state === "joined" && code && !placed ? code.match(/.{4}/g).join("-") : null;
  }

  /**
   * Return what was spent, its maximum after `count` more answers, and the budget, all epsilons.
   * Once joined, also lists of tasks. `reused`: the requester already has the report. `repeated`:
   * other tasks whose question, or a similar one, already has a report.
   */
  async spending(count) {
    await this.#exchange();
    const asked = this.#asked(this.#entries);
    const others = this.#entries.filter(({ name }) => !name.startsWith(`${this.#where.name}#`));
    const before = new Set(
      others.flatMap((one) => [...Object.keys(one.reports ?? {}), ...(one.letters ?? [])]),
    );
    const [{ rounds }, { hashes, letters }] = [this.terms, this.#questions];
    const next = this.#own?.rounds ? (this.nextRound?.number ?? rounds.cap) : 0;
    const among = (has) => [...hashes].flatMap(([name, hash]) => (has(hash, name) ? name : []));
    return {
      ...this.#spentAfter(count, rounds ? Math.ceil((rounds.cap - next) / slotsOf(rounds)) : 1),
      reused: among((hash) => asked.known.has(hash)),
      repeated: among(
        (hash, name) =>
          !asked.known.has(hash) && [hash, ...letters.get(name)].some((one) => before.has(one)),
      ),
    };
  }

  /** Return how many answers of this campaign fit into a limit; null is no limit. */
  async answersWithin(limit) {
    await this.#exchange();
    const isBeyond = (count) => limit !== null && this.#spentAfter(count).after > limit;
    return firstFrom(0, this.terms.answers, (count) => isBeyond(count + 1));
  }

  #spentAfter(count, times = 1) {
    const { terms, tasks } = this;
    const all = new Map(tasks.map(({ name }) => [name, true]));
    const most = all.size ? toDraw(this.#asked(this.#entries), all).size : terms.tasks;
    const drawn = reportsAll(terms) ? most : Math.min(count, most);
    const cost = this.#own?.reports && !terms.rounds ? 0 : costOf(terms, drawn);
    return spentIn(this.#entries, ...Array(times).fill(cost));
  }

  /** Set the maximum epsilon of all campaigns of this origin; null for no limit. */
  async setBudget(budget) {
    await this.#exchange((_, store) => store.put({ name: "", budget }, ""));
  }

  /** Whether the requester allows devices to store answers before they are sent. */
  get mayKeepDrafts() {
    return this.terms?.drafts ?? Boolean(this.#own?.link);
  }

  get keepsDrafts() {
    return this.#keepsDraftsOf(this.#own);
  }

  #keepsDraftsOf(own) {
    return this.mayKeepDrafts && own?.keepsDrafts !== false;
  }

  /** Store answers from now on, or delete them and stop. */
  setKeepsDrafts(keepsDrafts) {
    return this.#keepJoined(({ drafts }) => ({ keepsDrafts, drafts: keepsDrafts ? drafts : [] }));
  }

  /** Store answers until they are sent, for a day after the last one, unless drafts are off. */
  async keepDrafts(answers) {
    const kept = { drafts: [...answers], answered: this.#timing.now(), asking: this.#asking };
    await this.#keepJoined((own) => this.#keepsDraftsOf(own) && kept);
    this.#watch();
  }

  dropDrafts() {
    return this.#keepJoined(() => ({ drafts: [] }));
  }

  drafts() {
    return new Map(this.#own && !this.#isOver(this.#own) ? this.#own.drafts : []);
  }

  /** Take the place, then randomize the answers, and store the reports in one transaction. */
  async commit(answers, onWait) {
    const [{ terms }, { delay }] = [this, this.#timing];
    const given = new Map([...answers].filter(([, answer]) => answer !== null));
    if (![...given.keys()].every((name) => this.#questions.hashes.has(name))) {
      throw new RangeError("the campaign has no such task");
    }
    refuseIf(given.size > terms.answers, "refusal.too-many", { most: terms.answers });
    refuseIf(!given.size && !reportsAll(terms), "refusal.no-answer");
    const check = (own, entries) => {
      refuseIf(own?.state !== "joined", own?.upload ? "refusal.answered" : whyOut(own));
      refuseIf(own.credential !== this.#mine, "refusal.place"); // another tab has another link
      const isOfNow = this.#asking !== null && roundOf(own, this.#timing.now()) === this.#asking;
      refuseIf(own.rounds && !isOfNow, "refusal.round");
      const asked = this.#asked(entries);
      const open = toDraw(asked, given);
      const cost = costOf(terms, open.size);
      requireBudget(entries, cost);
      return { asked, open, cost };
    };
    const commit = (own, entries) => {
      const { asked, open, cost } = check(own, entries);
      const { hashes, letters: all } = this.#questions;
      const drawn = drawUpload(asked, given, open);
      const letters = [...all].flatMap(([name, keys]) =>
        hashes.get(name) in drawn.reports ? keys : [],
      );
      const { requesterId: requester } = terms;
      const made = { cost, letters, requester, round: this.#asking, ...drawn };
      return { ...own, state: "committed", drafts: [], ...made };
    };
    await this.#keep((own, entries) => void check(own, entries));
    await this.#takePlace(onWait);
    const start = performance.now();
    await locked(() => this.#keep(commit));
    this.#leaves = start + delay * Math.ceil((performance.now() - start) / delay);
  }

  /** Send the stored reports, the same bytes, until acknowledged; `onWait` gets pauses in ms. */
  async send(onWait) {
    while (performance.now() < this.#leaves) {
      await waitFor(this.#leaves - performance.now());
    }
    const attempt = () => locked(() => this.#sendPending(true));
    await insist(attempt, { ...this.#timing, patience: Infinity, onWait });
    refuseIf(this.state === "late", "refusal.late");
    const { rejected } = this.#own.receipt;
    refuseIf(rejected, "refusal.rejected", { count: rejected });
    return this.receipt;
  }

  /** What this device sent, once acknowledged; for a sketch, only the count of its numbers. */
  get receipt() {
    if (this.state !== "sent" || !this.terms) {
      return null;
    }
    const { upload, cost: epsilon, credential: withdrawalKey, receipt } = this.#own;
    const { reports = [], sketch } = JSON.parse(upload);
    return {
      reports: readable(reports, this.terms, this.tasks),
      ...{ sketch: sketch?.numbers.length ?? null, epsilon, withdrawalKey, ...receipt },
    };
  }

  /**
   * Withdraw: the server deletes the worker, and this device everything except which questions have
   * reports. A key withdraws its worker, from any device.
   */
  withdraw(key) {
    return locked(async () => {
      await this.#exchange();
      const credential = key ?? this.#own?.credential;
      const isOwn = credential === this.#own?.credential;
      refuseIf(!KEY.test(credential), isOwn ? whyOut(this.#own) : "refusal.key");
      await this.#ask("me", { method: "DELETE", credential }).catch((error) => {
        const isUnknown = error.key === "refusal.credential"; // also after a withdrawal
        refuseIf(isUnknown && !isOwn, "refusal.key");
        if (!isUnknown) {
          throw error;
        }
      });
      await (isOwn && this.#leave());
    });
  }

  /** Delete all stored data of all campaigns of this origin. */
  async forget() {
    await locked(() => this.#exchange((_, store) => store.clear()));
    const { serviceWorker: workers } = navigator;
    const scope = `${this.#where.base}j/`;
    const clear = async () => {
      const all = (await workers?.getRegistrations()) ?? [];
      await Promise.all(all.filter((one) => one.scope === scope).map((one) => one.unregister()));
      await globalThis.caches?.delete("quietcrowd");
    };
    await clear().catch(() => {}); // a saved page has no service worker
  }

  /** Ask the browser not to delete this data by itself; return whether it will not. */
  async persist() {
    return (await navigator.storage?.persist?.()) ?? false;
  }

  /** Return the ledger of this browser as JSON, without answers and secrets. */
  async ledgerText() {
    await this.#exchange();
    return `${JSON.stringify(this.#entries.map(lossOf), null, 1)}\n`;
  }

  get #own() {
    return this.#entries.find(({ name }) => name === this.#where.name);
  }

  /** Return the entries with reports of this campaign; those of earlier rounds are separate. */
  #sent(entries = this.#entries) {
    return entries.filter(({ name, upload }) => upload && name.split("#")[0] === this.#where.name);
  }

  /** Return whether reports of a round can no longer be sent. */
  #isLate({ upload, receipt, rounds, round } = {}) {
    return Boolean(upload && !receipt && rounds) && isRoundOver(rounds, round, this.#timing.now());
  }

  /** Begin the present round: what was reported in the one before gets an entry of its own. */
  #turn() {
    return this.#keep((own, _, store) => {
      const now = roundOf(own, this.#timing.now());
      if (now === null || !own.upload || own.round === now) {
        return null;
      }
      const name = `${own.name}#${own.round}`;
      store.put({ ...own, name, state: "past" }, name);
      const { upload, receipt, round, reports, letters, cost, channel, ...rest } = own;
      return { ...rest, state: "joined", drafts: [], spent: [...(own.spent ?? []), round] };
    });
  }

  async #exchange(act = () => {}) {
    this.#entries = await exchange(this.#database, act);
  }

  /** Store the campaign's entry that `act` returns, with files; without an entry, nothing. */
  #keep(act, files = []) {
    const { name } = this.#where;
    return this.#exchange((entries, store) => {
      const entry = act(entries.find((one) => one.name === name), entries, store);
      if (entry) {
        store.put(entry, name);
        files.forEach(([file, content]) => store.put(content, [name, file]));
      }
    });
  }

  /** Change the entry unless another tab has joined with another link, or sent. */
  #keepJoined(change) {
    const isMine = (own) => own?.state === "joined" && own.credential === this.#mine;
    return this.#keep((own) => isMine(own) && { ...own, ...change(own) });
  }

  #isOver({ drafts, answered, closes, asking = null, ...own }) {
    const now = this.#timing.now();
    const isOfNow = roundOf(own, now) === asking;
    const isRecent = Math.abs(now - answered) < KEPT_FOR; // also if the clock was changed
    const isClosed = new Date(now).toISOString().slice(0, 10) > closes;
    return drafts?.length > 0 && (isClosed || !isRecent || !isOfNow);
  }

  #expire() {
    return this.#exchange((entries, store) => {
      const over = entries.filter((one) => this.#isOver(one));
      over.forEach((one) => store.put({ ...one, drafts: [] }, one.name));
    });
  }

  /** Delete drafts when they are over, also if the clock is set back meanwhile. */
  #watch() {
    const { drafts = [], answered } = this.#own ?? {};
    const rest = answered + KEPT_FOR - this.#timing.now();
    const check = () => this.#expire().then(() => this.#watch()).catch(() => {});
    clearTimeout(this.#timer);
    this.#timer = drafts.length > 0 ? setTimeout(check, Math.max(rest, 1000)) : undefined;
  }

  async #files() {
    const range = filesOf(this.#where.name);
    let [names, contents] = [];
    await this.#exchange((_, store) => {
      [names, contents] = [store.getAllKeys(range), store.getAll(range)];
    });
    const files = new Map(names.result.map(([, file], i) => [file, contents.result[i]]));
    const [config, tasks] = [files.get("config"), files.get("tasks")];
    return { config, tasks, images: new Map([...files].filter(([file]) => file.length === 64)) };
  }

  #leave() {
    const { name } = this.#own;
    const answered = this.#sent();
    return this.#exchange((_, store) => {
      store.delete(filesOf(name));
      store.delete(name);
      const left = answered.length ? [...answered, this.#own] : [];
      left.forEach((one) => store.put({ ...lossOf(one), state: "left" }, one.name));
    });
  }

  #send(path, sent) {
    return request(`${this.#where.base}api/v1/${path}`, sent);
  }

  async #ask(path, sent) {
    return (await insist(() => this.#send(path, sent), this.#timing)).text();
  }

  async #read(text, configHash) {
    const { campaign, english } = this.#where;
    this.menu = await readMenu(text, { campaign, configHash, english });
    this.terms = this.menu[this.#own?.choice ?? this.choice ?? 0];
    this.#text = text;
  }

  /** Read the tasks assigned to this worker, in the present round; return all. */
  async #readTasks(text, credential, round = this.round) {
    [this.#mine, this.#asking] = [credential, round];
    const occasion = round !== null && { campaign: this.#where.campaign, round };
    const document = objectIn(text);
    const all = await readTasks(document, this.terms);
    this.tasks = askedOf(document, all, this.terms);
    const [channel, letters] = [await channelHash(this.terms), new Map()];
    for (const { name, data } of this.tasks) {
      const keys = lettersOf(name, inAnyOrder(data, this.terms));
      letters.set(name, await Promise.all(keys.map(canonicalHash)));
    }
    const found = await taskQuestions(this.tasks, { ...this.terms, occasion });
    this.#questions = { ...found, channel, letters };
    return all;
  }

  /** Let the server accept a place; if it refuses, all else stays as it was. */
  async #enter({ credential, invite, configHash, code, continues, choice, slot, rounds }) {
    const invited = invite && { invite, code, continues };
    const own = Object.entries({ choice, slot }).filter(([, value]) => Number.isInteger(value));
    const chosen = Object.fromEntries(own);
    const body = canonicalJson({ config_hash: configHash, ...invited, ...chosen });
    const path = `${this.#where.path}/participants/${await participantOf(credential)}`;
    let bound;
    try {
      const said = await this.#ask(path, { method: "PUT", credential, body });
      bound = (own.length || rounds) && this.#bindingIn(objectIn(said), slot, rounds);
    } catch (error) {
      const isRefused = error.key !== "refusal.unanswered";
      await (isRefused && this.#keep((own) => own && { ...own, next: undefined }));
      throw error;
    }
    await (bound && this.#keep((entry) => ({ ...entry, next: { ...entry.next, ...bound } })));
    refuseIf(bound && bound.choice !== choice, "refusal.choice-bound", bound);
  }

  /** Return what the server binds this worker to: another device's choice, but no other slot. */
  #bindingIn({ choice = null, slot = null, rounds: spent }, mine, rounds) {
    const choices = this.menu.length > 1 ? [...this.menu.keys()] : [null];
    const isList = Array.isArray(spent) && spent.every(Number.isSafeInteger);
    const isSound = choices.includes(choice) && slot === mine && (!rounds || isList);
    refuseIf(!isSound, "refusal.answer");
    return { choice, spent: spent ?? [] };
  }

  /** Fetch all tasks and images, without which the device has not joined. */
  async #fetchTasks(entered) {
    const [{ credential }, now] = [entered, this.#timing.now()];
    const text = await this.#ask("me/tasks", { credential });
    const all = await this.#readTasks(text, credential, roundOf(entered, now));
    const hashes = all.flatMap(imagesOf).map(({ hash }) => hash); // to hide which are assigned
    this.images = await fetchImages(this.#where.base, credential, hashes, this.#timing);
    const join = ({ next, ...own } = {}) => {
      refuseIf(![own, next].some((one) => one?.credential === credential), whyOut(own));
      refuseIf(next && own.upload, "refusal.answered"); // in another tab
      const { name, origin, drafts, answered, keepsDrafts, closes = this.closes } = own;
      const isKept = drafts && [undefined, next?.link].includes(own.link);
      const kept = { ...(closes && { closes }), ...(isKept && { drafts, answered, keepsDrafts }) };
      return next ? { name, origin, ...kept, ...next, invite: undefined, state: "joined" } : own;
    };
    await this.#keep(join, [["config", this.#text], ["tasks", text], ...this.images]);
  }

  async #takePlace(onWait) {
    const attempt = () => this.#placeOnce();
    try {
      await insist(attempt, { ...this.#timing, patience: Infinity, onWait });
    } catch (error) {
      await (error.key === "refusal.campaign-closed" && this.dropDrafts());
      refuseIf(error.key === "refusal.invite-invalid", "refusal.place");
      throw error;
    }
  }

  async #placeOnce() {
    const { credential, placed } = this.#own ?? {};
    if (!placed) {
      await this.#send("me/place", { method: "PUT", credential });
      await this.#keep((own) => own?.credential === credential && { ...own, placed: true });
    }
  }

  /** Return everything besides answers that determines the reports. */
  #asked(entries) {
    const [{ terms, tasks }, questions, { origin }] = [this, this.#questions, this.#where];
    const known = knownReports(entries, origin, questions, terms);
    return { terms, tasks, questions, known, round: this.#asking };
  }

  /** Send all that is committed; reports of a round never after its grace. */
  async #sendPending(isNeeded = false) {
    await this.#exchange();
    refuseIf(isNeeded && !this.#own?.upload, whyOut(this.#own));
    const isDue = (one) => !one.receipt && (isNeeded || one.state === "past") && !this.#isLate(one);
    for (const { name, upload, credential, state } of this.#sent().filter(isDue)) {
      await this.#placeOnce(); // drawn by a page of an older version
      const said = await this.#send("me/reports", { method: "POST", credential, body: upload });
      const receipt = checkedReceipt(objectIn(await said.text()), upload);
      const sent = { receipt, state: state === "past" ? state : "sent" };
      await this.#exchange((entries, store) => {
        const entry = entries.find((one) => one.name === name && one.upload === upload);
        entry && store.put({ ...entry, ...sent }, name);
      });
    }
  }
}

/** Return the present round of an entry if it is its worker's, and not spent; else null. */
function roundOf({ rounds, slot, spent = [] } = {}, now) {
  const number = rounds ? nextRound(rounds, slot, now) : null;
  const isNow = number !== null && beginOf(rounds, number) <= now && !spent.includes(number);
  return isNow ? number : null;
}

/** Return what an entry says of sent reports and their loss, without answers and secrets. */
function lossOf({ name, origin, state, budget, requester, channel, cost, letters, reports }) {
  return { name, origin, state, budget, requester, channel, cost, letters, reports };
}

/** Return the message key of the reason why there is nothing to send or withdraw. */
function whyOut(own) {
  return own?.state === "left" ? "refusal.left" : "refusal.not-joined";
}

function locked(act) {
  return navigator.locks.request("quietcrowd", act);
}
