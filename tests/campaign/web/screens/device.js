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
  tasks = given.tasks;
  images = new Map(Object.entries(given.images).map(([hash, svg]) => [hash, new Blob([svg])]));
  open = given.open ?? true;
  needsInvite = true;
  closes = given.closes;
  #budget = given.budget ?? null;
  #drafts = [];

  static async open({ base, campaign }) {
    called("open", base, campaign);
    window.device = new Device();
    return window.device;
  }

  state = given.state ?? "new";

  get receipt() {
    return this.state === "sent" ? given.receipt : null;
  }

  async load() {
    called("load");
    return this.terms;
  }

  async join(invite) {
    called("join", invite);
    this.state = "joined";
  }

  async spending(count) {
    const after = given.spent + given.epsilon * count;
    return { spent: given.spent, after, budget: this.#budget, ...given.asked };
  }

  async setBudget(budget) {
    called("setBudget", budget);
    this.#budget = budget;
  }

  async keepDrafts(answers) {
    called("keepDrafts", [...answers]);
    this.#drafts = [...answers];
  }

  async drafts() {
    return new Map(given.drafts ?? []);
  }

  async dropDrafts() {
    called("dropDrafts");
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
