// In place of device/device.js, in a requester's preview: it stores and sends nothing.

import { draw, reportsAll } from "../channels/index.js";
import { systemWords } from "../channels/random.js";
import { canonicalHash, canonicalJson } from "../terms/canonical.js";
import { askedOf, readMenu, readTasks } from "../terms/terms.js";
import { newCredential } from "./membership.js";
import { readable } from "./reports.js";

export function whyNotHere() {
  return null;
}

/** Return the configuration, tasks and images that the page around this one sends. */
function givenByParent() {
  return new Promise((resolve) => {
    addEventListener("message", ({ source, data }) => source === parent && resolve(data));
    parent.postMessage("ready", "*"); // it names no campaign
  });
}

/** A device that forgets; it draws from invented answers, as a device does. */
export class Device {
  isPreview = true;
  state = "new";
  tasks = [];
  images = new Map();
  menu = [];
  open = true;
  needsInvite = true;
  code = null;
  mayKeepDrafts = false;
  keepsDrafts = false;
  receipt = null;
  round = 0;
  nextRound = null;
  isOther = async () => false; // from here on: nothing is stored
  drafts = () => new Map();
  setKeepsDrafts = async () => {};
  keepDrafts = async () => {};
  dropDrafts = async () => {};
  persist = () => {};
  ledgerText = async () => "[]\n";
  #budget = null;
  #given;
  #english;
  #answers;

  static async open({ english }) {
    const device = new Device();
    device.#english = english;
    device.#given = await givenByParent();
    return device;
  }

  async load() {
    const { config } = this.#given;
    const [configHash, english] = [await canonicalHash(config), this.#english];
    const asked = { campaign: config.campaign, configHash, english };
    this.menu = await readMenu(canonicalJson(config), asked);
    this.terms ??= this.menu[0];
    const { round: within, campaign: most } = this.terms.losses ?? {};
    this.roundsSpent = { within, all: within, most };
    return this.terms;
  }

  choose(choice) {
    return (this.terms = this.menu[choice]);
  }

  async join() {
    const { images, ...given } = this.#given;
    this.images = images;
    const document = { ...given, config_hash: this.terms.configHash };
    this.tasks = askedOf(document, await readTasks(document, this.terms), this.terms);
    this.state = "joined";
  }

  async spending(count) {
    const { epsilon, workerEpsilon } = this.terms.guarantee;
    const all = Math.min(workerEpsilon, count * epsilon);
    const after = reportsAll(this.terms) ? workerEpsilon : all;
    return { spent: 0, after, budget: this.#budget, reused: [], repeated: [] };
  }

  async answersWithin(limit) {
    const { answers, guarantee } = this.terms;
    return limit === null ? answers : Math.min(answers, Math.floor(limit / guarantee.epsilon));
  }

  async setBudget(budget) {
    this.#budget = budget;
  }

  async commit(answers) {
    this.#answers = answers;
    this.state = "committed";
  }

  async send() {
    const { terms, tasks } = this;
    const names = tasks.map(({ name }) => name).filter((name) => reportsAll(terms) || this.#answers.has(name));
    const { reports = [], numbers } = draw(terms, names, this.#answers, systemWords);
    const ids = new Map(tasks.map(({ id, name }) => [name, id]));
    const sent = reports.map(({ task, ...report }) => ({ ...report, task_id: ids.get(task) }));
    const { after: epsilon } = await this.spending(names.length);
    this.receipt = {
      reports: readable(sent, terms, tasks),
      ...{ sketch: numbers?.length ?? null, epsilon, withdrawalKey: newCredential() },
    };
    this.state = "sent";
    return this.receipt;
  }

  async withdraw() {
    this.state = "left";
  }

  async forget() {
    this.state = "new";
  }
}
