// The studio: it takes a key or a link, and shows one screen at a time.

import { act } from "./act.js";
import { Api, openLink, Refusal } from "./api.js";
import { asker } from "./asker.js";
import { check } from "./check.js";
import { isKey, takeFragment } from "./credentials.js";
import { byId, filled, Page } from "./elements.js";
import { say, sentence } from "./format.js";
import { invite } from "./invite.js";
import { list } from "./list.js";
import { people } from "./people.js";
import { Plans } from "./plans.js";
import { preview } from "./preview.js";
import { privacy } from "./privacy.js";
import { questions } from "./questions.js";
import { results } from "./results.js";

const PAUSE = 3_000; // ms between two looks
const FINAL = new Set([401, 404, 422]); // repeating the request would not help
const CHANGED = 412; // by someone else
const SCREENS = { list, questions, preview, people, asker, check, results, invite, act, privacy };
const STEPS = ["questions", "preview", "people", "asker", "check"];
const TABS = ["results", "invite", "act", "privacy"];
const KEY_IN_ADDRESS =
  "A key must not be part of an address, because this browser stored it. The page did not use it. Have it " +
  "replaced with quietcrowd admin create-key NAME --replace, and enter the new key.";
const UNREACHED = "The server cannot be reached.";

/** State shared by all screens: the API, and the campaign that is shown. */
class App extends Page {
  requester = null; // the API with a key; null without one
  api = null; // of the campaign; null for the list
  campaign = null; // as read last
  expected = new Map(); // numbers of people, by campaign, for forecasts
  plans = new Plans(this);
  #id = null; // of the campaign that `api` is of
  #screen = null;
  #leave = null; // is called before the screen is left; returns false if it must not be
  #timer = 0;
  #turn = 0;
  #saving = Promise.resolve();

  filled(name, values) {
    return filled(name, this, values);
  }

  get goal() {
    return this.campaign.goal ?? "truths";
  }

  /** Read the campaign again. */
  async readCampaign() {
    const { api } = this;
    const campaign = await api.json("");
    if (api === this.api) {
      this.campaign = campaign;
      this.#frame();
    }
    return campaign;
  }

  /** Change the campaign while its requester goes on, and show a refusal. */
  change(changes) {
    return this.report(this.save(changes));
  }

  /** Show the refusal of something that other actions need not wait for. */
  report(promise) {
    return promise.catch((error) => this.refused(error));
  }

  /** Change the campaign, one change after the other. */
  save(changes) {
    const change = async () => {
      say(byId("saved"), "Saving");
      const headers = { "If-Match": `"${this.campaign.version}"` };
      try {
        this.campaign = await this.api.json("", { method: "PATCH", headers, body: changes });
      } catch (error) {
        say(byId("saved"), "Not saved");
        await (error.status === CHANGED && this.readCampaign());
        throw error;
      }
      this.#frame();
      say(byId("saved"), this.campaign.state === "draft" ? "Draft saved" : "Saved");
    };
    this.#saving = this.#saving.catch(() => {}).then(change);
    return this.#saving;
  }

  refused(error) {
    if (!(error instanceof Refusal)) {
      this.tell(`${UNREACHED} Try again.`);
    } else if (error.status === 401) {
      this.signOut(error.message);
    } else {
      const rules = error.errors.map(({ message }) => sentence(message)).join(" ");
      this.tell(rules || error.message);
      const fields = error.errors.map(({ pointer }) => byId(`field-${pointer.split("/")[1]}`));
      fields.find((one) => one !== null)?.focus();
    }
  }

  /** Go to an address, if the screen may be left and all changes are stored. */
  async visit(address) {
    const saving = this.#saving;
    this.#saving = Promise.resolve(); // a rejected change stops the requester once
    const isStored = await saving.then(() => true, () => false);
    if (isStored && (await this.#leave?.()) !== false) {
      history.pushState(null, "", address);
      this.go();
    }
  }

  /** Show the screen that the address names. */
  async go() {
    if (this.requester === null && this.api === null) {
      return;
    }
    const { id, screen } = place();
    const turn = this.#stop();
    this.tell("");
    say(byId("saved"), "");
    if (id !== this.#id && this.requester !== null) {
      this.#id = id;
      this.api = id === "" ? null : this.requester.campaign(id);
      this.campaign = null;
    }
    if (!(await this.#look(turn, () => this.#show(turn, screen))) && turn === this.#turn) {
      this.#timer = setTimeout(() => this.go(), PAUSE);
    }
  }

  async #show(turn, wanted) {
    const campaign = this.api === null ? null : await this.api.json("");
    if (turn !== this.#turn) {
      return;
    }
    this.campaign = campaign;
    const name = this.#nameOf(wanted);
    const found = await SCREENS[name](this);
    if (turn === this.#turn) {
      const { poll, leave = null, ready, ...values } = found;
      this.#screen = name;
      this.#leave = leave;
      this.#put(name, values);
      ready?.();
      poll && this.#follow(turn, poll);
    }
  }

  /** Return the name of the screen: the wanted one, if the campaign's state has it. */
  #nameOf(wanted) {
    if (this.campaign === null) {
      return "list";
    }
    const all = this.campaign.state === "draft" ? STEPS : TABS;
    return all.includes(wanted) && this.requester !== null ? wanted : all[0];
  }

  #put(name, values) {
    byId("sheet").replaceChildren();
    byId("screen").replaceChildren(...this.filled(name, values));
    this.#frame();
    scrollTo(0, 0);
    document.querySelector("h1").focus({ preventScroll: true });
  }

  /** Show the campaign's title and the links to its other screens. */
  #frame() {
    const { title = "", state = "" } = this.campaign ?? {};
    const name = document.querySelector("h1").textContent;
    document.title = [name, title, "quietcrowd"].filter(Boolean).join(" – ");
    say(byId("title"), title);
    say(byId("state"), state);
    byId("state").className = state === "open" ? "pill" : "pill off";
    byId("state").hidden = state === "";
    byId("to-list").hidden = this.requester === null || this.campaign === null;
    byId("sign-out").hidden = this.requester === null;
    const hasParts = this.requester !== null && this.campaign !== null;
    for (const [nav, names] of [["steps", STEPS], ["tabs", TABS]]) {
      byId(nav).hidden = !hasParts || !names.includes(this.#screen);
      const at = names.indexOf(this.#screen);
      [...byId(nav).querySelectorAll("a")].forEach((link, i) => {
        link.toggleAttribute("aria-current", i === at);
        i === at && link.setAttribute("aria-current", nav === "steps" ? "step" : "page");
        link.parentElement.classList.toggle("done", i < at);
      });
    }
  }

  /** Look now, and again after a pause, while the page is visible. */
  async #follow(turn, poll) {
    clearTimeout(this.#timer);
    if (!document.hidden) {
      await this.#look(turn, poll);
    }
    if (turn === this.#turn) {
      this.#timer = setTimeout(() => this.#follow(turn, poll), PAUSE);
    }
  }

  /** Take a step; return whether it succeeded. */
  async #look(turn, step) {
    try {
      await step();
      return true;
    } catch (error) {
      if (turn === this.#turn && FINAL.has(error.status)) {
        this.signOut(error.message);
      } else if (turn === this.#turn) {
        const told = error instanceof Refusal ? error.message : UNREACHED;
        say(byId("connection"), `${told} Trying again.`);
      }
      return false;
    }
  }

  /** Stop the screen; return the number of the next one. */
  #stop() {
    clearTimeout(this.#timer);
    this.#leave = null;
    say(byId("connection"), "");
    return (this.#turn += 1);
  }

  /** Forget the key, and ask for one. */
  signOut(message = "") {
    this.#stop();
    Object.assign(this, { requester: null, api: null, campaign: null });
    [this.#id, this.#screen] = [null, null];
    this.#put("sign-in", { signIn: () => this.#signIn() });
    say(byId("key-error"), message);
    byId("key").focus();
  }

  #signIn() {
    const key = byId("key").value.trim();
    byId("key").value = "";
    say(byId("key-error"), isKey(key) ? "" : "This is not a key of a requester.");
    if (isKey(key)) {
      this.requester = new Api(key);
      this.go();
    } else {
      byId("key").focus();
    }
  }

  /** Open a link that works once. */
  async openLink(code) {
    const { id } = place();
    this.#stop();
    this.requester = null;
    try {
      this.api = (await openLink(id, code)).campaign(id);
    } catch (error) {
      this.signOut(error instanceof Refusal ? error.message : `${UNREACHED} Load the page again.`);
      return;
    }
    await this.go();
  }
}

/** Return the id of the campaign in the address, empty for all campaigns, and the screen. */
function place() {
  return { id: location.pathname.split("/").at(-1), screen: location.hash.slice(1) };
}

const app = new App();

/** Take a code out of the address; return whether there was something to take. */
function takeCode() {
  const { code, holdsKey } = takeFragment();
  if (code !== null && place().id !== "") {
    app.openLink(code);
  } else if (holdsKey) {
    app.signOut(KEY_IN_ADDRESS);
  }
  return code !== null || holdsKey;
}

/** Follow links to this page without loading it again, which would forget the key. */
function follow(event) {
  const link = event.target.closest?.("a[href]");
  const isOther = event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0;
  if (link && !isOther && !link.download && !link.target) {
    event.preventDefault();
    app.visit(link.getAttribute("href"));
  }
}

document.addEventListener("click", follow);
addEventListener("popstate", () => takeCode() || app.go());
byId("sign-out").addEventListener("click", () => app.signOut());
takeCode() || app.signOut();
