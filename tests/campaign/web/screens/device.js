// A device that keeps nothing and sends nothing: what the screens are tested with.

const given = window.given; // what the test says of the campaign; see screen_pages.py
const { guarantee = {} } = given.terms ?? {};
for (const losses of [guarantee, guarantee.tail ?? {}]) {
  for (const name of ["epsilon", "linkedEpsilon", "workerEpsilon"]) {
    losses[name] ??= Infinity; // JSON has no number for it
  }
}

class Refusal extends Error {
  constructor(key, values = {}) {
    super(key);
    this.key = key;
    this.values = values;
  }
}

/** Note what the screens ask for; refuse where the test says so. */
function called(name, ...values) {
  window.calls.push([name, ...values]);
  if (given.refuses?.[name]) {
    throw new Refusal(...given.refuses[name]);
  }
}

export function whyNotHere() {
  return given.whyNot ?? null;
}

export class Device {
  terms = given.terms;
  menu = given.menu ?? [given.terms];
  round = given.round ?? null;
  nextRound = given.nextRound ?? null;
  roundsSpent = given.roundsSpent;
  tasks = given.tasks;
  images = new Map(Object.entries(given.images).map(([hash, svg]) => [hash, new Blob([svg])]));
  open = given.open ?? true;
  needsInvite = true;
  closes = given.closes;
  #budget = given.budget ?? null;
  code = given.code ?? null;
  keepsDrafts = given.keepsDrafts ?? true;
  #drafts = given.drafts ?? [];
  #onImage;

  static async open({ base, campaign, onImage }) {
    called("open", base, campaign);
    window.device = new Device();
    window.device.#onImage = onImage;
    return window.device;
  }

  state = given.state ?? "new";

  choose(choice) {
    called("choose", choice);
    return (this.terms = this.menu[choice]);
  }

  get receipt() {
    return this.state === "sent" ? given.receipt : null;
  }

  async load() {
    called("load");
    return this.terms;
  }

  async join(invite, code) {
    const all = given.pictures ?? 0;
    for (let got = 0; got < all; got += 1) {
      await this.#onImage(got, all);
      await new Promise((resolve) => (window.nextPicture = resolve));
    }
    called("join", ...(code === undefined ? [invite] : [invite, code]));
    this.state = "joined";
  }

  async spending(count) {
    const after = given.spent + given.epsilon * count;
    return { spent: given.spent, after, budget: this.#budget, ...given.asked };
  }

  async answersWithin(limit) {
    const { spent, epsilon, terms } = given;
    const fitting = [...Array(terms.answers).keys()].filter(
      (count) => limit === null || spent + epsilon * (count + 1) <= limit,
    );
    return fitting.length;
  }

  async setBudget(budget) {
    called("setBudget", budget);
    this.#budget = budget;
  }

  async keepDrafts(answers) {
    if (this.keepsDrafts) {
      called("keepDrafts", [...answers]);
      this.#drafts = [...answers];
    }
  }

  get mayKeepDrafts() {
    return given.mayKeepDrafts ?? true;
  }

  async isOther() {
    return given.isOther ?? false;
  }

  async setKeepsDrafts(on) {
    called("setKeepsDrafts", on);
    this.keepsDrafts = on;
    this.#drafts = on ? this.#drafts : [];
  }

  drafts() {
    return new Map(this.#drafts);
  }

  async dropDrafts() {
    called("dropDrafts");
    this.#drafts = [];
  }

  persist() {
    called("persist");
  }

  async ledgerText() {
    return '{"spent":1}';
  }

  async commit(answers) {
    called("commit", [...answers]);
    this.state = "committed";
  }

  async send(onWait) {
    if (given.offline) {
      onWait(500);
      await new Promise((resolve) => (window.goOnline = resolve));
    }
    called("send");
    this.state = "sent";
    return this.receipt;
  }

  async withdraw(key) {
    called("withdraw", key);
    this.state = "left";
  }

  async forget() {
    called("forget");
    this.state = "new";
  }
}
