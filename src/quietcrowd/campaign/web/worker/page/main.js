// The page: start, navigation between screens, and language.

import { Device, whyNotHere } from "../device/device.js";
import { reportsAll } from "../channels/index.js";
import { systemWords, uniformIntegers } from "../channels/random.js";
import { answersWithin, consent } from "./consent.js";
import { byId, element, filled } from "./elements.js";
import { speaker } from "./messages.js";
import { questions } from "./questions.js";
import { forget, receipt, withdrawal } from "./receipt.js";
import { deliver, review } from "./review.js";

const SCREENS = { consent, questions, receipt, review, forget, withdrawal, link, end };
const LINK = /^(.*\/)j\/([0-9a-f]{32})\/?(?:#i=(.*))?$/;
const byName = new Intl.Collator("en", { numeric: true }).compare;

/** State shared by all screens: the device, the answers, and the current screen. */
class App {
  saved = document.documentElement.dataset.server; // undefined if the page is served
  server = new URL(this.saved ? `${this.saved}/` : "..", location).href;
  answers = new Map();
  keepsDrafts = false;
  typedLimit = null; // in the consent screen, until the worker joins
  #catalogs = new Map();
  #screen = [];
  #before = []; // the previous screen
  #turn = 0;
  #isBusy = false;

  constructor() {
    const choice = byId("language");
    for (const { dataset, text } of document.querySelectorAll("[data-messages]")) {
      const [tag, catalog] = [dataset.messages, JSON.parse(text)];
      this.#catalogs.set(tag, catalog);
      choice.append(element("option", { value: tag, lang: tag }, catalog.language));
    }
    const wanted = navigator.languages.map((tag) => tag.split("-")[0]);
    choice.value = wanted.find((tag) => this.#catalogs.has(tag)) ?? "en";
    choice.hidden = false;
    choice.addEventListener("change", () => {
      this.#speak(choice.value);
      this.#show();
    });
    this.#speak(choice.value);
  }

  #speak(tag) {
    const catalog = this.#catalogs.get(tag);
    const written = (digits) => new Intl.NumberFormat(tag, digits).format;
    this.say = speaker(catalog);
    this.count = written();
    const plain = { useGrouping: false, numberingSystem: "latn" };
    this.spell = written({ maximumSignificantDigits: 12, ...plain });
    this.ceil = written({ maximumSignificantDigits: 4, roundingMode: "ceil" });
    Object.assign(document.documentElement, { lang: tag, dir: catalog.direction });
    byId("language").setAttribute("aria-label", this.say("page.language"));
  }

  /** Format a privacy loss, rounded up. */
  loss(epsilon) {
    return Number.isFinite(epsilon) ? this.ceil(epsilon * (1 - 1e-12)) : this.say("screen.endless");
  }

  /** Parse a number; NaN if it is invalid, or may be in thousands. */
  numberIn(text) {
    const typed = text.trim().replace("−", "-");
    const isClear = typed.includes(this.spell(0.5)[1]) || !/[.,]\d{3}$/.test(typed);
    const isNumber = /^[+-]?(\d+([.,]\d*)?|[.,]\d+)$/.test(typed);
    return isNumber && isClear ? Number(typed.replace(",", ".")) : NaN;
  }

  /** Show a screen, and move the focus to its heading. */
  async go(name, ...details) {
    [this.#before, this.#screen] = [this.#screen, [name, ...details]];
    this.tell("");
    this.progress("");
    await this.#show();
    window.scrollTo(0, 0);
    document.querySelector("h1").focus({ preventScroll: true });
  }

  goBack() {
    return this.go(...this.#before);
  }

  async #show() {
    const [name, ...details] = this.#screen;
    const turn = (this.#turn += 1);
    const values = (await SCREENS[name]?.(this, ...details)) ?? {};
    if (turn === this.#turn) {
      byId("screen").replaceChildren(...filled(name, this, values));
      document.title = `${document.querySelector("h1").textContent} · ${this.say("page.title")}`;
      values.ready?.();
    }
  }

  /** Show an error. */
  tell(sentence) {
    byId("alert").textContent = sentence;
    sentence && byId("alert").scrollIntoView({ block: "center" });
  }

  /** Show progress, or a notice that something is done. */
  progress(sentence, value, max = 1) {
    byId("told").textContent = sentence;
    Object.assign(byId("bar"), { hidden: value === undefined, max, value: value ?? 0 });
  }

  /** Show an error next to a field. */
  complain(id, sentence) {
    byId("problem").textContent = sentence;
    byId(id).setAttribute("aria-invalid", "true");
    byId(id).focus();
  }

  /** Run one action at a time, and show its refusal. */
  async attempt(act) {
    if (this.#isBusy) {
      return;
    }
    this.#isBusy = true;
    this.tell("");
    try {
      await act();
    } catch (error) {
      this.#refused(error);
    } finally {
      this.#isBusy = false;
    }
  }

  #refused = ({ key, values }) => this.tell(this.refusal(key, values));

  /** Return the message of a refusal, with numbers in the page's language, losses rounded up. */
  refusal(key = "page.failed", values = {}) {
    const written = ([name, value]) => {
      const spelled = Number.isInteger(value) ? this.count : (loss) => this.loss(loss);
      return [name, typeof value === "number" && name !== "count" ? spelled(value) : value];
    };
    return this.say(key, Object.fromEntries(Object.entries(values).map(written)));
  }

  /** Open a campaign by its link; return whether the link is for this server. */
  async open(address) {
    const [, server, campaign, invite = null] = LINK.exec(address) ?? [];
    if (server !== this.server) {
      return false;
    }
    this.link = address.split("#")[0];
    this.invite = invite;
    const english = speaker(this.#catalogs.get("en"));
    this.device = await Device.open({ base: server, campaign, english });
    this.pictures = null;
    this.order = null; // the worker has not continued
    await this.enter();
    return true;
  }

  /** Show the screen for the device's state; nothing of a worker is shown before they continue. */
  async enter() {
    const { device } = this;
    if (device.state === "left") {
      return this.go("end", "screen.withdrawn");
    }
    if (device.state !== "new") {
      return this.go("return");
    }
    this.terms = await device.load();
    if (device.open && (this.invite || !device.needsInvite)) {
      return this.go("consent");
    }
    return this.go("end", device.open ? "screen.uninvited" : "screen.closed");
  }

  /** Continue as the joined worker. */
  async goOn() {
    const { device } = this;
    this.terms = await device.load();
    const sorted = [...device.tasks].sort((one, other) => byName(one.name, other.name));
    const isPart = this.terms.answers < sorted.length;
    const [start] = isPart ? uniformIntegers(systemWords, sorted.length, 1) : [0];
    this.order = [...sorted.slice(start), ...sorted.slice(0, start)]; // a random start
    if (!this.pictures) {
      const images = [...device.images].map(([hash, blob]) => [hash, URL.createObjectURL(blob)]);
      this.pictures = new Map(images);
      this.saved || keepPage();
    }
    if (device.state !== "joined") {
      this.answers.clear();
      return device.state === "sent" ? this.go("receipt") : deliver(this);
    }
    if (this.answers.size === 0) {
      this.answers = await device.drafts();
      this.keepsDrafts = device.keepsDrafts;
    }
    this.asked = await device.spending(this.terms.answers);
    this.allowed = await answersWithin(device, this.asked.budget);
    return this.answering(0);
  }

  get reportsAll() {
    return reportsAll(this.terms);
  }

  /** Show a question, followed by `then`; the review follows the last one. */
  answering(place, then = place + 1) {
    history.pushState(place, "");
    return this.#at(place, then);
  }

  #at(place, then) {
    return place < this.order.length ? this.go("questions", place, then) : this.go("review");
  }

  /** Follow the browser's back and forward buttons among the questions. */
  follow(place) {
    if (["questions", "review"].includes(this.#screen[0]) && Number.isInteger(place)) {
      this.#at(place, place + 1);
    }
  }

  /** Store an answer; null removes it. */
  answer(task, answer) {
    answer === null ? this.answers.delete(task) : this.answers.set(task, answer);
    if (this.keepsDrafts) {
      this.keepDrafts(true).catch(this.#refused);
    }
  }

  /** Store answers on this device, or stop. */
  async keepDrafts(wanted) {
    await this.device.setKeepsDrafts(wanted);
    await this.device.keepDrafts(this.answers);
    this.keepsDrafts = this.device.keepsDrafts;
  }
}

function end(app, key, values) {
  const isRefusal = !key.startsWith("screen");
  const heading = app.say(isRefusal ? "refusal.heading" : `${key}.heading`);
  const keyed = ["screen.closed", "screen.uninvited"].includes(key);
  return { heading, sentences: app.refusal(key, values), keyed };
}

function link(app) {
  const { say, server } = app;
  const open = async () => {
    if (!(await app.open(byId("address").value.trim()))) {
      app.complain("address", say("screen.link.wrong", { server }));
    }
  };
  return { server, open };
}

let trusted; // a policy's name can be used only once

/** Let the page open offline. */
function keepPage() {
  const allow = { createScriptURL: () => "service_worker.js" };
  trusted ??= window.trustedTypes?.createPolicy("service-worker", allow) ?? allow;
  navigator.serviceWorker?.register(trusted.createScriptURL("")).catch(() => {});
}

/** Return the message key of the reason why no link is opened here; null if one is. */
function whyNotOpen() {
  return location.search ? "page.query" : whyNotHere();
}

/** Open a link in the open page: the browser changes only the address. */
function reopen(app) {
  const address = location.href;
  if (location.hash && !app.saved && !whyNotOpen()) {
    history.replaceState(null, "", location.pathname);
    app.attempt(async () => (await app.open(address)) || app.tell(app.say("page.link")));
  }
}

async function begin(app) {
  const [address, reason] = [location.href, whyNotOpen()];
  if (reason) {
    await app.go("end", reason);
  } else if (app.saved) {
    await app.go("link");
  } else {
    history.replaceState(null, "", location.pathname);
    (await app.open(address)) || (await app.go("end", "page.link"));
  }
}

const app = new App();
addEventListener("popstate", ({ state }) => app.follow(state));
addEventListener("hashchange", () => reopen(app));
addEventListener("beforeunload", (event) => {
  if (app.answers.size > 0 && !app.keepsDrafts) {
    event.preventDefault();
  }
});
begin(app).catch(({ key = "page.failed", values }) => app.go("end", key, values));
