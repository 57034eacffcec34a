// The questions of tasks, in one line each.

const MOST = 140;
const MUCH = 1_000; // per cell: more is never shown

/** The tasks of a campaign, read once: their questions, and which truths are known. */
export class Questions {
  #api;
  #isRead = false;
  texts = new Map();
  known = new Set();

  constructor(api) {
    this.#api = api;
  }

  /** Read all tasks; `changed` is called whenever there is more to show. */
  async read(changed) {
    if (this.#isRead) {
      return;
    }
    this.#isRead = true;
    try {
      for await (const tasks of this.#api.pages("tasks")) {
        tasks.forEach((task) => this.#keep(task));
        changed();
      }
    } catch {
      this.#isRead = false; // try again with the next results
    }
  }

  #keep(task) {
    this.texts.set(task.task, questionOf(task.data));
    if (task.gold !== null) {
      this.known.add(task.task);
    }
  }
}

/** Return the question of a task; a long text is cut between words. */
export function questionOf(data) {
  const cells = Object.entries(data).map(([name, value]) => [name, cellText(value)]);
  const named = ([name, text]) => (cells.length === 1 ? text : `${name}: ${text}`);
  return cut(cells.map(named).join(" · "));
}

function cellText(value) {
  if (typeof value === "string") {
    return value.slice(0, MUCH);
  }
  const image = value !== null && typeof value === "object" && typeof value.image === "string";
  return image ? `[${value.alt || "image"}]` : JSON.stringify(value).slice(0, MUCH);
}

function cut(text) {
  const characters = [...text.replace(/\s+/gu, " ").trim()];
  if (characters.length <= MOST) {
    return characters.join("");
  }
  const start = characters.slice(0, MOST).join("");
  const end = start.lastIndexOf(" ");
  return `${(end > MOST / 2 ? start.slice(0, end) : start).trimEnd()}…`;
}
