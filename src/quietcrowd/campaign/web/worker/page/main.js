// The page: start, navigation between screens, and language.

import { Device, whyNotHere } from "../device/device.js";
import { reportsAll } from "../channels/index.js";
import { systemWords, uniformIntegers } from "../channels/random.js";
import { choice, consent } from "./consent.js";
import { byId, element, filled, Page } from "./elements.js";
import { isInside, landing, loaded, started } from "./landing.js";
import { end, menu, resume, withdrawal } from "./menu.js";
import { speaker } from "./messages.js";
import { isFullFor, questions } from "./questions.js";
import { between, receipt } from "./receipt.js";
import { deliver, review } from "./review.js";

const SCREENS = {
  ...{ landing, consent, started, questions, menu, review, receipt, resume },
  ...{ withdrawal, link, end, choice, between },
};
const LINK = /^(.*\/)j\/([0-9a-f]{32})\/?(?:#i=(.*))?$/;
const DEAD_TIME = 300; // ms after a change of screen in which its buttons do nothing
const byName = new Intl.Collator("en", { numeric: true }).compare;

/** State shared by all screens: the device, the answers, and the current screen. */
class App extends Page {
  saved = document.documentElement.dataset.server; // undefined if the page is served
  server = new URL(this.saved ? `${this.saved}/` : "..", location).href;
  answers = new Map();
  typedLimit = null; // in the consent screen, until the worker joins
  code = ""; // of a place that was opened in another browser, as typed
  hasSkipped = false; // and was warned
  #catalogs = new Map();
  #screen = [];
  #before = []; // the previous screen
  #asking = []; // the last question, or the review
  #turn = 0;
  #timer;

  constructor() {
    super();
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
    byId("open-menu").addEventListener("click", () => this.attempt(() => this.go("menu")));
  }

  #speak(tag) {
    const catalog = this.#catalogs.get(tag);
    const written = (digits) => new Intl.NumberFormat(tag, digits).format;
    this.say = speaker(catalog);
    this.count = written();
    const plain = { useGrouping: false, numberingSystem: "latn" };
    this.spell = written({ maximumSignificantDigits: 12, ...plain });
    this.ceil = written({ maximumSignificantDigits: 4, roundingMode: "ceil" });
    const date = new Intl.DateTimeFormat(tag, { dateStyle: "long", timeZone: "UTC" });
    this.moment = new Intl.DateTimeFormat(tag, { dateStyle: "long", timeStyle: "short" }).format;
    this.day = (text) => date.format(new Date(text));
    Object.assign(document.documentElement, { lang: tag, dir: catalog.direction });
    byId("language").setAttribute("aria-label", this.say("page.language"));
    byId("open-menu").setAttribute("aria-label", this.say("screen.menu"));
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
    [this.#before, this.#screen, this.screen] = [this.#screen, [name, ...details], name];
    if (this.isAsking) {
      this.#asking = this.#screen;
    }
    this.tell("");
    await this.#show();
    window.scrollTo(0, 0);
    document.querySelector("h1").focus({ preventScroll: true });
    const parts = [...document.querySelectorAll(".foot, #toast")];
    const setStill = (isStill) => parts.forEach((one) => (one.inert = isStill));
    setStill(true); // a second tap is for the screen before
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => setStill(false), DEAD_TIME);
  }

  goBack(toAsking = false) {
    return this.go(...(toAsking ? this.#asking : this.#before));
  }

  get isAsking() {
    return ["questions", "review"].includes(this.screen);
  }

  async #show() {
    const [name, ...details] = this.#screen;
    const turn = (this.#turn += 1);
    const values = (await SCREENS[name]?.(this, ...details)) ?? {};
    if (turn === this.#turn) {
      byId("screen").replaceChildren(...filled(name, this, values));
      this.#frame(values);
      const title = values.name ?? document.querySelector("h1").textContent;
      document.title = `${title} · ${this.say("page.title")}`;
      values.ready?.();
    }
  }

  /** Show the frame of a screen: the way back, the progress, the last answer. */
  #frame({ back, at, told = "", undo }) {
    const isAsking = at !== undefined;
    const all = this.order?.length;
    const goBack = byId("go-back");
    goBack.hidden = !back;
    goBack.textContent = isAsking ? "‹" : `‹ ${this.say("screen.back")}`;
    goBack.setAttribute("aria-label", this.say("screen.back"));
    goBack.onclick = () => this.attempt(back);
    Object.assign(byId("bar"), { hidden: !isAsking, max: all ?? 1, value: at ?? 0 });
    const counts = isAsking && { place: this.count(at + 1), tasks: this.count(all) };
    byId("count").textContent = isAsking ? this.say("screen.progress", counts) : "";
    byId("open-menu").hidden = !isAsking;
    byId("language").hidden = isAsking;
    byId("told").textContent = told;
    byId("undo").hidden = !undo;
    byId("undo").textContent = this.say("screen.undo");
    byId("undo").onclick = () => this.attempt(undo);
    this.showConnection();
  }

  showConnection() {
    const isCut = this.isAsking && !navigator.onLine;
    byId("connection").textContent = isCut ? this.say("screen.connection") : "";
  }

  async copy(text) {
    await navigator.clipboard.writeText(text);
    byId("told").textContent = this.say("screen.copied");
  }

  /** Show an error next to a field. */
  complain(id, sentence) {
    byId("problem").textContent = sentence;
    byId(id).setAttribute("aria-invalid", "true");
    byId(id).focus();
  }

  refused({ key, values }) {
    this.tell(this.refusal(key, values));
  }

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
    Object.assign(this, { link: address.split("#")[0], invite });
    const english = speaker(this.#catalogs.get("en"));
    const onImage = (got, all) => loaded(this, got, all);
    this.device = await Device.open({ base: server, campaign, english, onImage });
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
      return this.go("resume");
    }
    this.terms = await device.load();
    if (device.open && (this.invite || !device.needsInvite)) {
      return this.go(device.menu.length > 1 ? "choice" : "landing");
    }
    return this.go("end", device.open ? "screen.uninvited" : "screen.closed");
  }

  async join() {
    const { device } = this;
    try {
      await device.join(this.invite, this.code || undefined);
    } catch (error) {
      const isBound = error.key === "refusal.choice-bound";
      isBound && (this.terms = device.choose(error.values.choice));
      await ((isBound || this.screen === "loading") && this.go("consent"));
      throw error;
    }
    history.replaceState(null, "", location.pathname);
    device.persist();
    await (this.saved && device.setKeepsDrafts(false)); // other files may read them
    return device.code ? this.go("started") : this.goOn();
  }

  /** Continue as the joined worker. */
  async goOn() {
    const { device } = this;
    this.terms = await device.load();
    if (device.state === "joined" && this.answers.size === 0) {
      this.answers = await device.drafts();
    }
    const sorted = [...device.tasks].sort((one, other) => byName(one.name, other.name));
    const isPart = this.terms.answers < sorted.length;
    const [first] = this.answers.keys();
    const stopped = sorted.findIndex(({ name }) => name === first);
    const [random] = isPart ? uniformIntegers(systemWords, sorted.length, 1) : [0];
    const start = isPart && stopped >= 0 ? stopped : random;
    this.order = [...sorted.slice(start), ...sorted.slice(0, start)];
    if (!this.pictures) {
      const images = [...device.images].map(([hash, blob]) => [hash, URL.createObjectURL(blob)]);
      this.pictures = new Map(images);
      this.saved || device.isPreview || keepPage();
    }
    if (device.state !== "joined") {
      this.answers.clear();
      const then = device.state === "sent" ? "receipt" : "between"; // or late
      return device.state === "committed" ? deliver(this) : this.go(then);
    }
    if (this.terms.rounds && device.round === null) {
      return this.go("between");
    }
    this.asked = await device.spending(this.terms.answers);
    this.allowed = await device.answersWithin(this.asked.budget);
    const open = this.order.findIndex(({ name }) => !this.answers.has(name));
    return this.answering(open < 0 ? this.order.length : open);
  }

  get reportsAll() {
    return reportsAll(this.terms);
  }

  /** Show a question, followed by `then`, or the review, and the change made before it. */
  answering(place, then = place + 1, change = null) {
    history.pushState(place, "");
    return this.#at(place, then, change);
  }

  #at(place, then, change) {
    const isQuestion = place < this.order.length;
    return isQuestion ? this.go("questions", place, then, change) : this.go("review", change);
  }

  /** Follow the browser's back and forward buttons among the questions. */
  follow(place) {
    if (this.isAsking && Number.isInteger(place)) {
      this.#at(place, place + 1, null);
    }
  }

  /** Take an answer, or null for none, and show the next screen. */
  give(place, answer, then) {
    const { name } = this.order[place];
    const before = this.answers.get(name) ?? null;
    const isFirst = answer === null && !this.hasSkipped;
    this.hasSkipped ||= isFirst;
    const change = { place, answer, isFirst, undo: () => this.#answer(name, before, place) };
    return this.#answer(name, answer, then, change);
  }

  /** Set an answer; show the question at `then`, or the review if none from there on is open. */
  async #answer(name, answer, then, change) {
    const { order, answers } = this;
    answer === null ? answers.delete(name) : answers.set(name, answer);
    const failure = await this.device.keepDrafts(answers).catch((error) => error);
    const isOpen = (one) => answers.has(one.name) || !isFullFor(this, one.name);
    await this.answering(order.slice(then).some(isOpen) ? then : order.length, undefined, change);
    failure && this.refused(failure);
  }

  /** Start with this link, next to a place of another link. */
  async startOver() {
    this.answers.clear();
    this.terms = await this.device.load();
    await this.go(this.device.menu.length > 1 ? "choice" : "landing");
  }

  async forget() {
    await this.device.forget();
    this.answers.clear();
    await this.go("end", "screen.forgotten");
  }

  async stop() {
    this.answers.clear();
    await this.device.dropDrafts();
    await this.go("end", "screen.stopped");
  }
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
    isInside() || history.replaceState(null, "", location.pathname);
    (await app.open(address)) || (await app.go("end", "page.link"));
  }
}

/** Choose an answer by its digit. */
function press({ key, target, repeat, ctrlKey, metaKey, altKey }) {
  const isTyped = repeat || ctrlKey || metaKey || altKey || target.matches("input, select");
  const button = /^\d$/.test(key) && !isTyped && document.querySelector(`[data-key="${key}"]`);
  button && !button.closest("[inert]") && button.click();
}

const app = new App();
addEventListener("keydown", press);
addEventListener("online", () => app.showConnection());
addEventListener("offline", () => app.showConnection());
addEventListener("popstate", ({ state }) => app.follow(state));
addEventListener("hashchange", () => reopen(app));
addEventListener("beforeunload", (event) => {
  if (app.answers.size > 0 && !app.device.keepsDrafts) {
    event.preventDefault();
  }
});
begin(app).catch(({ key = "page.failed", values }) => app.go("end", key, values));
