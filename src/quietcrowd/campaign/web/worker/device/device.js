// A worker's device in one campaign: what it keeps, and what it sends.

import { whyNot } from "../mechanisms/draw.js";
import { canonicalJson } from "../terms/canonical.js";
import { channelHash, taskQuestions } from "../terms/questions.js";
import { readTasks, readTerms } from "../terms/terms.js";
import { fetchImages, imagesOf } from "./images.js";
import { costOf, requireBudget, spentIn } from "./ledger.js";
import { newCredential, participantOf } from "./membership.js";
import { checkedReceipt } from "./receipt.js";
import { refuseIf } from "./refusing.js";
import { drawUpload, knownReports, readable, reportsAll, toDraw } from "./reports.js";
import { insist, objectIn, request, waitFor } from "./server.js";
import { exchange, filesOf, openStore } from "./store.js";

const NAME = "quietcrowd"; // of the lock, and of what the service worker keeps
/**
 * In ms. Reports leave a whole number of `delay` after they were asked for: one, unless drawing and
 * storing took longer. `pause`: from a failed request to the next; `patience`: for how long,
 * reports excepted.
 */
const TIMING = { delay: 4000, pause: 500, patience: 15_000 };
const NO_TASKS = { hashes: new Map(), first: new Map(), channel: null };

/** Return why this browser can have no device, as the key of a message; null where it can. */
export function whyNotHere() {
  const isSecure = globalThis.isSecureContext && globalThis.crypto?.subtle;
  const keeps = globalThis.indexedDB && navigator.locks;
  return isSecure ? (keeps ? null : "refusal.browser") : "refusal.insecure";
}

/** The device: it raises Refusal where something cannot or must not be done. */
export class Device {
  terms = null;
  tasks = [];
  images = new Map(); // by their hashes
  open = null; // whether the campaign takes workers in, and with invites; null where not asked
  needsInvite = null;
  #where;
  #timing;
  #database;
  #entries = []; // of all campaigns; one without a name has the budget
  #questions = NO_TASKS;
  #text; // the configuration as received
  #leaves = 0; // when reports do, on the page's clock

  /** Return the device, with what it keeps; `base` is the server's, with a slash at the end. */
  static async open({ base, campaign, ...timing }) {
    const [device, { href, origin }] = [new Device(), new URL(base)];
    device.#where = { base: href, campaign, origin, name: `${href}j/${campaign}` };
    device.#timing = { ...TIMING, ...timing };
    device.#database = await openStore();
    await device.#exchange();
    return device;
  }

  /** @returns {"new" | "joined" | "committed" | "sent" | "left"} */
  get state() {
    const { left, receipt, upload, joined } = this.#own ?? {};
    const states = { left, sent: receipt, committed: upload, joined, new: true };
    return Object.keys(states).find((one) => states[one]);
  }

  /** Return the terms, checked: from the server, or once joined what was agreed to. */
  async load() {
    if (["new", "left"].includes(this.state)) {
      const said = objectIn(await this.#ask(this.#public));
      await this.#read(await this.#ask(`${this.#public}/config`), said.config_hash);
      this.needsInvite = said.join_mode !== "open";
      this.open = said.state === "open";
    } else {
      const files = await this.#files();
      await this.#read(files.get("config"), this.#own.configHash);
      await this.#readTasks(files.get("tasks"));
      this.images = new Map([...files].filter(([name]) => name.length === 64));
    }
    return this.terms;
  }

  /** Take part, having agreed to the terms; again has no effect. */
  async join(invite) {
    const { configHash } = this.terms ?? (await this.load());
    const fresh = { ...this.#where, credential: newCredential() };
    await locked(async () => {
      await this.#keep((own) => {
        refuseIf(own?.left, "refusal.left");
        const asked = { invite: invite ?? own?.invite, configHash };
        return own?.joined ? own : { ...fresh, ...own, ...asked };
      });
      await (this.state === "new" && this.#enter());
    });
    await (this.state === "new" ? this.#fetchTasks() : this.load());
  }

  /**
   * Return what was spent, what it will be after so many answers at most, and the budget: epsilon.
   * Once joined, `reused`: tasks that get the report that this server was sent before; `repeated`:
   * others whose question was reported on before.
   */
  async spending(count) {
    await this.#exchange();
    const [asked, { spent, budget }] = [this.#asked(this.#entries), spentIn(this.#entries)];
    const every = new Map(this.tasks.map(({ name }) => [name, true]));
    const most = this.tasks.length ? toDraw(asked, every).size : this.terms.tasks;
    const drawn = reportsAll(this.terms) ? most : Math.min(count, most);
    const before = new Set(this.#entries.flatMap(({ reports = {} }) => Object.keys(reports)));
    const { hashes } = this.#questions;
    const among = (has) => [...hashes.keys()].filter((name) => has(hashes.get(name)));
    return {
      ...{ spent, after: spent + (this.#own?.reports ? 0 : costOf(this.terms, drawn)), budget },
      reused: among((question) => asked.known.has(question)),
      repeated: among((question) => before.has(question) && !asked.known.has(question)),
    };
  }

  /** Set the most that all campaigns of this origin may spend together; null: no limit. */
  async setBudget(budget) {
    await this.#exchange((_, store) => store.put({ name: "", budget }, ""));
  }

  /** Keep answers until they are sent, for who wants it; without any, delete them. */
  async keepDrafts(answers = []) {
    await this.#keep((own) => own?.joined && { ...own, drafts: [...answers] });
  }

  dropDrafts() {
    return this.keepDrafts();
  }

  drafts() {
    return new Map(this.#own?.drafts);
  }

  /** Draw reports and keep them, in one transaction: from then on they are on their way. */
  async commit(answers) {
    const [start, { terms }, { delay }] = [performance.now(), this, this.#timing];
    const given = new Map([...answers].filter(([, answer]) => answer !== null));
    if (![...given.keys()].every((name) => this.#questions.hashes.has(name))) {
      throw new RangeError("the campaign has no such task");
    }
    refuseIf(given.size > terms.answers, "refusal.too-many", { most: terms.answers });
    refuseIf(!given.size && !reportsAll(terms), "refusal.no-answer");
    const commit = (own, entries) => {
      refuseIf(own?.upload, "refusal.answered");
      refuseIf(!own?.joined, whyOut(own));
      const asked = this.#asked(entries);
      const open = toDraw(asked, given);
      const cost = costOf(terms, open.size);
      requireBudget(entries, cost);
      const drawn = drawUpload(asked, given, open);
      return { ...own, ...drawn, cost, channel: this.#questions.channel, drafts: [] };
    };
    await locked(() => this.#keep(commit));
    this.#leaves = start + delay * Math.ceil((performance.now() - start) / delay);
  }

  /** Send what is kept, the same bytes until they are acknowledged; return the receipt.
   * `onWait` is told, in ms, how long it is to the next attempt. */
  async send(onWait) {
    while (performance.now() < this.#leaves) {
      await waitFor(this.#leaves - performance.now());
    }
    const attempt = () => locked(() => this.#sendOnce());
    await insist(attempt, { ...this.#timing, patience: Infinity, onWait });
    const { rejected } = this.#own.receipt;
    refuseIf(rejected, "refusal.rejected", { count: rejected });
    return this.receipt;
  }

  /** What left this device, once acknowledged; of a sketch, how many numbers. */
  get receipt() {
    if (this.state !== "sent" || !this.terms) {
      return null;
    }
    const { upload, cost, credential, receipt } = this.#own;
    const { reports = [], sketch } = JSON.parse(upload);
    return {
      reports: readable(reports, this.terms, this.tasks),
      ...{ sketch: sketch?.numbers.length ?? null, epsilon: cost, ...receipt },
      withdrawalKey: credential,
    };
  }

  /** Leave: the server deletes the worker, this device all but which questions were reported on.
   * With a key: the worker whose it is, on whatever device. */
  withdraw(key) {
    return locked(async () => {
      await this.#exchange();
      const credential = key ?? this.#own?.credential;
      const isKey = /^qcw_[\w-]{43}$/.test(credential);
      refuseIf(!isKey, key === undefined ? whyOut(this.#own) : "refusal.key");
      const isOwn = credential === this.#own?.credential;
      await this.#ask("me", { method: "DELETE", credential }).catch((error) => {
        const isUnknown = error.key === "refusal.credential"; // as who has left is
        refuseIf(isUnknown && !isOwn, "refusal.key");
        if (!isUnknown) {
          throw error;
        }
      });
      await (isOwn && this.#exchange((entries, store) => this.#leave(store)));
    });
  }

  /** Delete all that is kept, of all campaigns of this origin. */
  async forget() {
    await locked(() => this.#exchange((_, store) => store.clear()));
    await globalThis.caches?.delete(NAME).catch(() => false);
  }

  get #public() {
    return `public/campaigns/${this.#where.campaign}`;
  }

  get #own() {
    return this.#entries.find(({ name }) => name === this.#where.name);
  }

  async #ask(path, sent) {
    const attempt = () => request(`${this.#where.base}api/v1/${path}`, sent);
    return (await insist(attempt, this.#timing)).text();
  }

  async #exchange(act = () => {}) {
    this.#entries = await exchange(this.#database, act);
  }

  /** Keep what `act` makes of the campaign's entry, and files with it; nothing of nothing. */
  #keep(act, files = []) {
    const { name } = this.#where;
    return this.#exchange((entries, store) => {
      const entry = act(entries.find((one) => one.name === name), entries);
      if (entry) {
        store.put(entry, name);
        files.forEach(([file, content]) => store.put(content, [name, file]));
      }
    });
  }

  /** Delete what is kept of the campaign, but for what was reported on. */
  #leave(store) {
    const { name, origin, channel, cost, reports } = this.#own;
    store.delete(filesOf(name));
    if (reports) {
      store.put({ name, origin, channel, cost, reports, left: true }, name);
    } else {
      store.delete(name);
    }
  }

  async #files() {
    const files = filesOf(this.#where.name);
    let [keys, contents] = [];
    await this.#exchange((_, store) => {
      [keys, contents] = [store.getAllKeys(files), store.getAll(files)];
    });
    return new Map(keys.result.map(([, file], i) => [file, contents.result[i]]));
  }

  async #read(text, configHash) {
    this.terms = await readTerms(text, { campaign: this.#where.campaign, configHash });
    this.#text = text;
    refuseIf(whyNot(this.terms.mechanism), "refusal.mechanism");
  }

  async #readTasks(text) {
    this.tasks = await readTasks(objectIn(text), this.terms);
    const channel = await channelHash(this.terms);
    this.#questions = { ...(await taskQuestions(this.tasks, this.terms)), channel };
  }

  async #enter() {
    const { credential, invite, configHash } = this.#own;
    const body = canonicalJson({ config_hash: configHash, ...(invite && { invite }) });
    const path = `${this.#public}/participants/${await participantOf(credential)}`;
    await this.#ask(path, { method: "PUT", credential, body });
  }

  /** Fetch all tasks and images at once: only with them has the device joined. */
  async #fetchTasks() {
    const { credential } = this.#own;
    const text = await this.#ask("me/tasks", { credential });
    await this.#readTasks(text);
    const hashes = this.tasks.flatMap(imagesOf).map(({ hash }) => hash);
    this.images = await fetchImages(this.#where.base, credential, hashes, this.#timing);
    const join = (own) => {
      refuseIf(!own?.credential, whyOut(own));
      return { ...own, invite: undefined, joined: true };
    };
    await this.#keep(join, [["config", this.#text], ["tasks", text], ...this.images]);
  }

  /** Return what reports are drawn from, beside answers. */
  #asked(entries) {
    const { terms, tasks } = this;
    const questions = this.#questions;
    const { origin } = this.#where;
    const known = knownReports(entries, { origin, channel: questions.channel }, terms);
    return { terms, tasks, questions, known };
  }

  async #sendOnce() {
    await this.#exchange();
    const { upload, receipt, credential } = this.#own ?? {};
    refuseIf(!upload, whyOut(this.#own));
    if (!receipt) {
      const sent = { method: "POST", credential, body: upload };
      const said = await request(`${this.#where.base}api/v1/me/reports`, sent);
      const checked = checkedReceipt(objectIn(await said.text()), upload);
      await this.#keep((own) => own && { ...own, receipt: checked });
    }
  }
}

/** Return why somebody has nothing to send, or to withdraw. */
function whyOut(own) {
  return own?.left ? "refusal.left" : "refusal.not-joined";
}

/** Run something while no other tab of this origin does. */
function locked(act) {
  return navigator.locks.request(NAME, act);
}
