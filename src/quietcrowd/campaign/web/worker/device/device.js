// A worker's device in one campaign: what it keeps, and what it sends.

import { whyNot } from "../mechanisms/draw.js";
import { canonicalJson } from "../terms/canonical.js";
import { channelHash, taskQuestions } from "../terms/questions.js";
import { readTasks, readTerms, Refusal } from "../terms/terms.js";
import { costOf, requireBudget, spentIn } from "./ledger.js";
import { newCredential, participantOf } from "./membership.js";
import { checkedReceipt } from "./receipt.js";
import { drawUpload, knownReports, readable, reportsAll, toDraw } from "./reports.js";
import { insist, objectIn, request, textOf, waitFor } from "./server.js";
import { clearStore, exchange, filesIn, openStore } from "./store.js";

/**
 * In ms. Reports leave a whole number of `delay` after they were asked for: one, unless drawing and
 * storing took longer. `pause`: from a failed request to the next; `patience`: for how long,
 * reports excepted.
 */
const TIMING = { delay: 4000, pause: 500, patience: 15_000 };
const NAME = "quietcrowd";

/** Return why this browser can have no device, as the key of a message; null where it can. */
export function whyNotHere() {
  if (!globalThis.isSecureContext || !globalThis.crypto?.subtle) {
    return "refusal.insecure";
  }
  return globalThis.indexedDB && navigator.locks ? null : "refusal.browser";
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
  #own; // what is kept of the campaign
  #questions;
  #text; // the configuration as received
  #leaves = 0; // when reports do, on the page's clock

  /** Return the device, with what it keeps; `base` is the server's, with a slash at the end. */
  static async open({ base, campaign, ...timing }) {
    const [device, { href, origin }] = [new Device(), new URL(base)];
    device.#where = { campaign, origin, api: `${href}api/v1/`, name: `${href}j/${campaign}` };
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
      const files = await filesIn(this.#database, this.#where.name);
      await this.#read(files.get("config"), this.#own.configHash);
      await this.#readTasks(files.get("tasks"));
      this.images = new Map([...files].filter(([name]) => name.length === 64));
    }
    return this.terms;
  }

  /** Take part, having agreed to the terms; again has no effect. */
  async join(invite) {
    const [{ configHash }, credential] = [this.terms ?? (await this.load()), newCredential()];
    const { name, origin } = this.#where;
    await locked(async () => {
      await this.#exchange(({ own }) => {
        if (own?.left) {
          throw new Refusal("refusal.left");
        }
        const asked = { invite: invite ?? own?.invite, configHash };
        return own?.joined ? {} : { entry: { name, origin, credential, ...own, ...asked } };
      });
      if (this.state === "new") {
        await this.#enter();
      }
    });
    await (this.state === "new" ? this.#fetchTasks() : this.load());
  }

  /**
   * Return what was spent, what it will be after so many answers at most, and the budget: epsilon.
   * `reused`: tasks that get the report that this server was sent before; `repeated`: others whose
   * question was reported on before.
   */
  async spending(count) {
    const { entries, own, budget } = await this.#exchange((kept) => kept);
    const [spent, known, { hashes }] = [spentIn(entries), this.#known(entries), this.#questions];
    const every = new Map(this.tasks.map(({ name }) => [name, true]));
    const most = toDraw(this.#with(known), every).size;
    const drawn = reportsAll(this.terms) ? most : Math.min(count, most);
    const asked = new Set(entries.flatMap(({ reports }) => Object.keys(reports ?? {})));
    const among = (has) => [...hashes.keys()].filter((name) => has(hashes.get(name)));
    return {
      ...{ spent, budget, after: spent + (own.upload ? 0 : costOf(this.terms, drawn)) },
      reused: among((question) => known.has(question)),
      repeated: among((question) => asked.has(question) && !known.has(question)),
    };
  }

  /** Set the most that all campaigns of this origin may spend together; null: no limit. */
  async setBudget(budget) {
    await this.#exchange(() => ({ budget }));
  }

  /** Keep answers until they are sent, for who wants it; undefined: none. */
  async keepDrafts(answers) {
    const drafts = answers && [...answers];
    await this.#exchange(({ own }) => own?.joined && { entry: { ...own, drafts } });
  }

  drafts() {
    return new Map(this.#own?.drafts);
  }

  dropDrafts() {
    return this.keepDrafts();
  }

  /** Draw reports and keep them, in one transaction: from then on they are on their way. */
  async commit(answers) {
    const start = performance.now();
    const given = new Map([...answers].filter(([, answer]) => answer !== null));
    const { terms } = this;
    if (given.size > terms.answers) {
      throw new Refusal("refusal.too-many", { most: terms.answers });
    }
    if (!given.size && !reportsAll(terms)) {
      throw new Refusal("refusal.no-answer");
    }
    const commit = ({ own, ...kept }) => {
      if (!own?.joined || own.upload) {
        throw new Refusal(own?.upload ? "refusal.answered" : whyOut(own));
      }
      const asked = this.#with(this.#known(kept.entries));
      const open = toDraw(asked, given);
      const cost = costOf(terms, open.size);
      requireBudget(kept, cost);
      const { channel } = this.#questions;
      const drawn = drawUpload(asked, given, open);
      return { entry: { ...own, drafts: undefined, channel, cost, ...drawn } };
    };
    await locked(() => this.#exchange(commit));
    const { delay } = this.#timing;
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
    if (rejected) {
      throw new Refusal("refusal.rejected", { count: rejected });
    }
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
      ...{ sketch: sketch?.numbers.length ?? null, ...receipt },
      ...{ epsilon: cost, withdrawalKey: credential },
    };
  }

  /** Leave: the server deletes the worker, this device all but which questions were reported on.
   * With a key: the worker whose it is, on whatever device. */
  withdraw(key) {
    return locked(async () => {
      const { own } = await this.#exchange();
      const credential = key ?? own?.credential;
      if (!/^qcw_[\w-]{43}$/.test(credential)) {
        throw new Refusal(key ? "refusal.key" : whyOut(own));
      }
      const mine = credential === own?.credential;
      await this.#ask("me", { method: "DELETE", credential }).catch((error) => {
        if (error.key !== "refusal.credential" || !mine) {
          throw error.key === "refusal.credential" ? new Refusal("refusal.key") : error;
        } // whom the server does not know has left
      });
      const { name, origin, channel, cost, reports } = own ?? {};
      const entry = reports ? { name, origin, channel, cost, reports, left: true } : null;
      await this.#exchange(() => mine && { entry, files: null });
    });
  }

  /** Delete all that is kept, of all campaigns of this origin. */
  async forget() {
    await locked(() => clearStore(this.#database));
    await globalThis.caches?.delete(NAME).catch(() => false);
    await this.#exchange();
  }

  get #public() {
    return `public/campaigns/${this.#where.campaign}`;
  }

  async #ask(path, sent) {
    const attempt = () => request(this.#where.api + path, sent);
    return textOf(await insist(attempt, this.#timing));
  }

  /** Read and write what is kept; see `exchange`. */
  async #exchange(act = () => ({})) {
    const kept = await exchange(this.#database, this.#where.name, act);
    this.#own = kept.entry === undefined ? kept.own : kept.entry;
    return kept;
  }

  async #read(text, configHash) {
    this.terms = await readTerms(text, { campaign: this.#where.campaign, configHash });
    this.#text = text;
    if (whyNot(this.terms.mechanism)) {
      throw new Refusal("refusal.mechanism");
    }
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

  /** Fetch all tasks at once: only with them has the device joined. */
  async #fetchTasks() {
    const text = await this.#ask("me/tasks", { credential: this.#own.credential });
    await this.#readTasks(text);
    const files = new Map([...this.images, ["config", this.#text], ["tasks", text]]);
    await this.#exchange(({ own }) => {
      if (!own || own.left) {
        throw new Refusal(whyOut(own));
      }
      return own.joined ? {} : { entry: { ...own, invite: undefined, joined: true }, files };
    });
  }

  #known(entries) {
    const { channel } = this.#questions;
    return knownReports(entries, { origin: this.#where.origin, channel }, this.terms);
  }

  #with(known) {
    return { terms: this.terms, tasks: this.tasks, questions: this.#questions, known };
  }

  async #sendOnce() {
    const { own } = await this.#exchange();
    if (!own?.upload) {
      throw new Refusal(whyOut(own));
    }
    if (!own.receipt) {
      const sent = { method: "POST", credential: own.credential, body: own.upload };
      const said = objectIn(textOf(await request(`${this.#where.api}me/reports`, sent)));
      const receipt = checkedReceipt(said, own.upload);
      await this.#exchange(({ own: now }) => now && { entry: { ...now, receipt } });
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
