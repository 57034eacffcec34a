// The page: it starts, leads from screen to screen, and speaks the reader's language.

import { Device, whyNotHere } from "../device/device.js";
import { consent } from "./consent.js";
import { byId, element, filled } from "./elements.js";
import { speaker } from "./messages.js";
import { questions } from "./questions.js";
import { receipt } from "./receipt.js";
import { review } from "./review.js";
import { deliver } from "./sending.js";
import { forget, withdrawal } from "./withdrawal.js";

const SCREENS = { consent, questions, receipt, review, forget, withdrawal, link, end };
const LINK = /^(.*\/)j\/([0-9a-f]{32})\/?(?:#([iw])=(.*))?$/;
const byName = new Intl.Collator("en", { numeric: true });

/** What all screens share: the device, the answers, and where the page is. */
class App {
  saved = "server" in document.documentElement.dataset;
  server = new URL(this.saved ? `${document.documentElement.dataset.server}/` : "..", location);
  catalogs = catalogsOfPage();
  answers = new Map();
  keepsDrafts = false;
  #busy = false;
  #isKept = this.saved; // so that it opens without a network
  #screen = [];
  #turn = 0;

  constructor() {
    const choice = byId("language");
    for (const [tag, { language }] of this.catalogs) {
      choice.append(element("option", { value: tag, lang: tag }, language));
    }
    choice.hidden = false;
    choice.addEventListener("change", () => {
      this.speak(choice.value);
      this.#show();
    });
    const wanted = navigator.languages.map((tag) => tag.split("-")[0]);
    this.speak(wanted.find((tag) => this.catalogs.has(tag)) ?? "en");
  }

  /** Speak a language. */
  speak(tag) {
    const catalog = this.catalogs.get(tag);
    this.say = speaker(catalog);
    Object.assign(document.documentElement, { lang: tag, dir: catalog.direction });
    byId("language").value = tag;
    byId("language").setAttribute("aria-label", this.say("page.language"));
    const form = (options) => {
      const { format } = new Intl.NumberFormat(tag, options);
      return (number) => format(number);
    };
    this.count = form();
    this.spell = form({ maximumSignificantDigits: 12, useGrouping: false, numberingSystem: "latn" });
    this.ceil = form({ maximumSignificantDigits: 4, roundingMode: "ceil" });
  }

  /** Return a loss, rounded up. */
  loss(epsilon) {
    return Number.isFinite(epsilon) ? this.ceil(epsilon * (1 - 1e-12)) : this.say("screen.endless");
  }

  /** Return the number that was typed; NaN for none, and for what may be thousands. */
  numberIn(text) {
    const typed = text.trim().replace("−", "-");
    const isClear = typed.includes(this.spell(0.5)[1]) || !/[.,]\d{3}$/.test(typed);
    const isNumber = /^[+-]?(\d+([.,]\d*)?|[.,]\d+)$/.test(typed);
    return isNumber && isClear ? Number(typed.replace(",", ".")) : NaN;
  }

  /** Show a screen; the focus moves to its heading. */
  async go(name, ...details) {
    this.#screen = [name, ...details];
    this.tell("");
    this.progress("");
    await this.#show();
    window.scrollTo(0, 0);
    document.querySelector("h1").focus({ preventScroll: true });
  }

  async #show() {
    const [name, ...details] = this.#screen;
    const turn = (this.#turn += 1);
    const values = (await SCREENS[name]?.(this, ...details)) ?? details[0] ?? {};
    if (turn === this.#turn) {
      byId("screen").replaceChildren(...filled(name, this, values));
      document.title = `${document.querySelector("h1").textContent} · ${this.say("page.title")}`;
      values.ready?.();
    }
  }

  /** Say something after which there is nothing left to do. */
  end(key) {
    this.answers.clear();
    return this.go("end", key);
  }

  /** Show why nothing can be done here. */
  refuse(key = "page.failed", values = {}) {
    return this.go("end", key, values);
  }

  /** Tell of something that is wrong. */
  tell(sentence) {
    byId("alert").textContent = sentence;
  }

  /** Tell of something that was done. */
  notice(sentence) {
    byId("told").textContent = sentence;
  }

  /** Show how far one has come; nothing for no sentence. */
  progress(sentence, done = 0, all = 1) {
    this.notice(sentence);
    Object.assign(byId("bar"), { hidden: sentence === "", max: all, value: done });
  }

  /** Say beside a field what is wrong with it. */
  complain(id, sentence) {
    byId("problem").textContent = sentence;
    byId(id).setAttribute("aria-invalid", "true");
    byId(id).focus();
  }

  /** Do one thing at a time; what refuses is told. */
  async attempt(act) {
    if (this.#busy) {
      return;
    }
    this.#busy = true;
    this.tell("");
    try {
      await act();
    } catch (error) {
      this.tell(this.sentence(error));
    }
    this.#busy = false;
  }

  /** Return what to say of an error. */
  sentence({ key, values }) {
    return key ? this.say(key, values) : this.say("page.failed");
  }

  /** Open a campaign by its link; return whether it is one of this server. */
  async open(address) {
    const [, server, campaign, kind, secret] = LINK.exec(address) ?? [];
    if (server !== this.server.href) {
      return false;
    }
    this.link = address.split("#")[0];
    this.invite = kind === "i" ? secret : null;
    this.device = await Device.open({ base: server, campaign });
    await (kind === "w" ? this.go("withdrawal", secret) : this.enter());
    return true;
  }

  /** Go to where this device is; nothing of who joined is shown before they say who they are. */
  async enter() {
    const { device } = this;
    if (device.state !== "new") {
      await (device.state === "left" ? this.end("screen.withdrawn") : this.go("return"));
      return;
    }
    this.terms = await device.load();
    const mayJoin = this.invite !== null || !device.needsInvite;
    const why = device.open ? "screen.uninvited" : "screen.closed";
    await (device.open && mayJoin ? this.go("consent") : this.end(why));
  }

  /** Go on as who joined. */
  async goOn() {
    const { device } = this;
    if (!this.#isKept) {
      keepPage();
      this.#isKept = true;
    }
    this.terms = await device.load();
    this.order = [...device.tasks].sort((one, other) => byName.compare(one.name, other.name));
    const pictures = [...device.images].map(([hash, blob]) => [hash, URL.createObjectURL(blob)]);
    this.pictures = new Map(pictures);
    if (device.state !== "joined") {
      await (device.state === "sent" ? this.go("receipt") : deliver(this));
      return;
    }
    this.answers = await device.drafts();
    this.keepsDrafts = this.answers.size > 0;
    this.asked = await device.spending(this.terms.answers);
    await this.answering(0);
  }

  /** Whether every question is reported on, answered or not. */
  get reportsAll() {
    const { kind, every_task: everyTask } = this.terms.report;
    return kind === "sketch" || everyTask;
  }

  /** Go to a question, or to the review behind the last one. */
  answering(place, isNew = true) {
    if (isNew) {
      history.pushState(place, "");
    }
    return place < this.order.length ? this.go("questions", place) : this.go("review");
  }

  /** Follow the browser's buttons among the questions. */
  follow(place) {
    if (["questions", "review"].includes(this.#screen[0]) && Number.isInteger(place)) {
      this.answering(place, false);
    }
  }

  /** Take an answer, or take it back with null. */
  answer(task, answer) {
    answer === null ? this.answers.delete(task) : this.answers.set(task, answer);
    if (this.keepsDrafts) {
      this.keepDrafts(true).catch((error) => this.tell(this.sentence(error)));
    }
  }

  /** Keep the answers on this device, or no longer. */
  async keepDrafts(wanted) {
    await (wanted ? this.device.keepDrafts(this.answers) : this.device.dropDrafts());
    this.keepsDrafts = wanted;
  }
}

function catalogsOfPage() {
  const found = document.querySelectorAll("[data-messages]");
  return new Map(Array.from(found, ({ dataset, text }) => [dataset.messages, JSON.parse(text)]));
}

function end({ say }, key, values) {
  const isRefusal = !key.startsWith("screen");
  return {
    heading: say(isRefusal ? "refusal.heading" : `${key}.heading`),
    sentences: say(key, values),
  };
}

/** Ask the reader of a saved page for a link. */
function link(app) {
  const { say, server } = app;
  const open = async () => {
    if (!(await app.open(byId("address").value.trim()))) {
      app.complain("address", say("screen.link.wrong", { server }));
    }
  };
  return { server, open };
}

/** Let the page open without a network. */
function keepPage() {
  const address = "service_worker.js";
  const policy = window.trustedTypes?.createPolicy("service-worker", {
    createScriptURL: () => address,
  });
  navigator.serviceWorker?.register(policy?.createScriptURL(address) ?? address).catch(() => {});
}

async function begin() {
  const app = new App();
  window.addEventListener("popstate", ({ state }) => app.follow(state));
  window.addEventListener("beforeunload", (event) => {
    if (app.answers.size > 0 && !app.keepsDrafts) {
      event.preventDefault();
    }
  });
  const reason = location.search === "" ? whyNotHere() : "page.query";
  try {
    if (reason !== null) {
      await app.refuse(reason);
    } else if (app.saved) {
      await app.go("link");
    } else {
      const address = location.href;
      history.replaceState(null, "", location.pathname);
      (await app.open(address)) || (await app.refuse("page.link"));
    }
  } catch (error) {
    await app.refuse(error.key, error.values);
  }
}

begin();
