// Links for people: made once, saved as CSV, printed as QR codes, or written into a mail.

import { revokeLinks } from "./acts.js";
import { ask } from "./asking.js";
import { save } from "./downloads.js";
import { byId } from "./elements.js";
import { count, counted, say } from "./format.js";
import { expectedPeople } from "./people.js";
import { qrCode } from "./qr.js";
import { printSheet, sheetOf } from "./sheet.js";

const MOST = 1_000;
const SHOWN = 6; // codes on the screen
const TOKEN = /#i=(qci_[\w-]{43})\s*$/;

/** The screen of links. They exist in the page's memory only, so leaving it asks first. */
export async function invite(app) {
  const server = await app.requester.json("server");
  const { api, campaign } = app;
  const isPublic = campaign.join_mode === "open";
  const isOpen = campaign.state === "open";
  const { invites = 0 } = isPublic ? {} : await api.json("invites");
  const links = new Links(app, server, invites);
  const address = `${server.address}/j/${campaign.id}`;
  const revokeAll = async () => {
    if (await revokeLinks(app)) {
      links.forget((await api.json("invites")).invites);
      links.told("All unused links are revoked.");
    }
  };
  const allow = () => {
    links.isTrial = true;
    links.enable();
    byId("count").focus();
  };
  return {
    ...{ allow, revokeAll, address, warning: server.local && isOpen, server: server.address },
    ...{ closed: !isOpen, personal: isOpen && !isPublic, public: isOpen && isPublic },
    wanted: String(Math.min(MOST, Math.max(1, expectedPeople(app) - invites))),
    mail: mailText(campaign, isPublic ? address : "{link}"),
    code: isPublic ? [qrCode(address, `QR code of ${address}`)] : [],
    printPublic: () => printSheet(sheetOf(campaign, [address])),
    make: () => links.make(),
    saveLinks: () => links.save(),
    print: () => links.print(),
    copyMail: () => copy("mail", byId("copied")),
    copyAddress: () => copy("address", byId("copied-address")),
    revoke: () => links.revoke(),
    replace: () => links.replace(),
    ready: () => isOpen && !isPublic && links.ready(),
    leave: () => links.mayLeave(),
  };
}

/** The links that were made since the screen was opened. */
class Links {
  #app;
  #server;
  #before; // number of links that were made earlier
  #made = [];
  #isSaved = true;
  isTrial = false;

  constructor(app, server, before) {
    [this.#app, this.#server, this.#before] = [app, server, before];
    addEventListener("beforeunload", (event) => this.#isSaved || event.preventDefault());
  }

  ready() {
    byId("count").addEventListener("input", () => this.#show());
    this.#show();
    this.enable();
  }

  enable() {
    const isBlocked = this.#server.local && !this.isTrial;
    byId("make").disabled = isBlocked;
    byId("replace").disabled = isBlocked;
  }

  forget(before) {
    [this.#before, this.#made, this.#isSaved] = [before, [], true];
    this.#show();
  }

  told(text) {
    say(byId("links-told"), text);
  }

  #show() {
    const { value } = byId("count");
    const more = `Make ${value} more link${value === "1" ? "" : "s"}`;
    say(byId("make"), this.#before + this.#made.length ? more : "Make links");
    for (const name of ["save-links", "print-links"]) {
      byId(name).disabled = this.#made.length === 0;
    }
    say(byId("made"), `${counted(this.#before + this.#made.length, "link")} made until now.`);
    const shown = this.#made.slice(0, SHOWN);
    byId("sheet-shown").replaceChildren(...sheetOf(this.#app.campaign, shown, this.#made.length));
    byId("sheet-card").hidden = shown.length === 0;
  }

  /** Let the server make links, and take them. */
  async #order(path, wanted) {
    const local = this.#server.local ? { local: true } : {};
    const { fragments } = await this.#app.api.post(path, { ...wanted, ...local });
    this.#made.push(...fragments.map((path) => this.#server.address + path));
    this.#isSaved = false;
    this.#show();
  }

  async make() {
    const wanted = Number(byId("count").value.replaceAll(",", ""));
    if (!(Number.isInteger(wanted) && wanted >= 1 && wanted <= MOST)) {
      this.#app.tell(`Write a number of links from 1 to ${count(MOST)}.`);
      byId("count").focus();
      return;
    }
    await this.#order("invites", { count: wanted });
    this.told(`${counted(wanted, "link")} made. Save or print them now: they are not shown again.`);
    byId("save-links").focus();
  }

  save() {
    const lines = ["number,link", ...this.#made.map((link, i) => `${i + 1},${link}`)].join("\r\n");
    save(new Blob([`${lines}\r\n`], { type: "text/csv" }), "links.csv");
    this.#isSaved = true;
  }

  print() {
    this.told("Drawing the codes.");
    printSheet(sheetOf(this.#app.campaign, this.#made));
    this.told("Delete the sheet when the links are given out.");
    this.#isSaved = true;
  }

  mayLeave() {
    this.#isSaved ||= confirm("The links were not saved or printed. Leave, and lose them?");
    return this.#isSaved;
  }

  /** Revoke the links that are pasted. */
  async revoke() {
    const tokens = this.#pasted("revoked");
    for (const token of tokens ?? []) {
      await this.#app.api.post("invites/revoke", { invite: token });
    }
    if (tokens) {
      byId("revoked").value = "";
      this.told(`${counted(tokens.length, "link")} revoked. No one can join or send with them.`);
    }
  }

  async replace() {
    const [token] = this.#pasted("replaced") ?? [];
    const isAgreed =
      token !== undefined &&
      (await ask({
        heading: "Replace the link?",
        says: `All that was sent to “${this.#app.campaign.title}” with this link, if anything was, is deleted permanently. You get a new link with the same questions.`,
        ...{ button: "Replace", isRisky: true },
      }));
    if (isAgreed) {
      await this.#order("invites/replace", { invite: token });
      byId("replaced").value = "";
      this.told("The link is replaced. Save the new one now.");
    }
  }

  /** Return the invites in a field, one per line; null, with a message, if a line has none. */
  #pasted(id) {
    const lines = byId(id).value.split("\n").filter((line) => line.trim());
    const tokens = lines.map((line) => TOKEN.exec(line)?.[1]);
    if (tokens.length === 0 || tokens.includes(undefined)) {
      this.#app.tell("Paste complete links, one a line, with the part after #i=.");
      byId(id).focus();
      return null;
    }
    return tokens;
  }
}

function mailText({ title, requester, purpose, closes_on: day }, link) {
  const until = day === null ? "" : ` It is open until ${day}.`;
  return (
    `Please answer a few questions: ${title}\n\n${purpose}\n\n` +
    "Your device randomizes your answers before it sends them. The page says what others can " +
    `still learn about you.${until}\n\n` +
    `${link}\n\n${requester}`
  );
}

/** Copy the text of a field; if that is not allowed, select it. */
async function copy(id, told) {
  const field = byId(id);
  field.select();
  try {
    await navigator.clipboard.writeText(field.value);
    say(told, "Copied.");
  } catch {
    say(told, "It is selected: copy it.");
  }
}
