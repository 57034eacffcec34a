// Step 1: the questions, from a file that the server reads, or typed.

import { answersOf, domainForm, domainIn } from "./domain.js";
import { byId, element } from "./elements.js";
import { count, counted, say, sentence, tableRow } from "./format.js";
import { FIRST_TITLE } from "./list.js";
import { questionOf } from "./tasks.js";

const FIRST = 3;
const isPicture = (file) => file.type.startsWith("image/");

/** The screen of the first step. */
export function questions(app) {
  const reader = new Reader(app);
  const remove = async () => {
    await app.api.delete("tasks");
    await app.readCampaign();
    const { domain, mechanism } = app.campaign;
    mechanism.option_counts && (await app.save({ domain: domainIn() ?? domain, option_counts: null }));
    await reader.showTasks();
  };
  return {
    ...{ remove, use: () => reader.use(), drop: () => reader.drop(), typed: () => reader.type() },
    choose: () => byId("files").click(),
    ready: () => ready(app, reader),
    leave: () => reader.leave(),
  };
}

function ready(app, reader) {
  const { campaign } = app;
  byId("field-title").value = campaign.title === FIRST_TITLE ? "" : campaign.title;
  byId("field-title").addEventListener("change", ({ target }) => app.change({ title: target.value.trim() }));
  for (const one of document.querySelectorAll("[data-goal]")) {
    one.checked = one.dataset.goal === campaign.goal;
    one.addEventListener("change", () => app.change({ goal: one.dataset.goal }));
  }
  domainForm(campaign.domain, (domain) => app.change({ domain, option_counts: null }));
  const take = (files) => app.report(reader.take([...files]));
  byId("files").addEventListener("change", ({ target }) => take(target.files));
  const zone = byId("drop-zone");
  const over = (isOver) => (event) => {
    event.preventDefault();
    zone.classList.toggle("over", isOver);
  };
  zone.addEventListener("dragover", over(true));
  zone.addEventListener("dragleave", over(false));
  zone.addEventListener("drop", (event) => {
    over(false)(event);
    take(event.dataTransfer.files);
  });
  app.report(reader.showTasks());
}

/** A file of questions, from its choice until its questions are in the campaign. */
class Reader {
  #app;
  #file = null;

  constructor(app) {
    this.#app = app;
  }

  /** Read a file of questions; upload pictures beside it. */
  async take(files) {
    const pictures = files.filter(isPicture);
    const [file] = files.filter((one) => !isPicture(one));
    for (const picture of pictures) {
      await this.#app.api.post(`images?${named(picture)}`, picture);
    }
    if (pictures.length) {
      say(byId("read-told"), `${counted(pictures.length, "picture")} stored, without metadata.`);
    }
    if (file) {
      await this.#read(file);
    }
  }

  /** Add the typed questions, one a line. */
  async type() {
    const lines = byId("typed-questions").value.split("\n").filter((line) => line.trim());
    if (lines.length === 0) {
      return say(byId("read-told"), "Write a question first.");
    }
    const cells = ["question", ...lines.map((line) => `"${line.trim().replaceAll('"', '""')}"`)];
    await this.#add(new File([cells.join("\r\n")], "typed.csv", { type: "text/csv" }), ["question"], null);
    byId("typed-questions").value = "";
  }

  /** Add the typed questions; return false if one cannot leave yet. */
  async leave() {
    if (this.#file !== null) {
      this.#app.tell("First use the questions of the file, or cancel it.");
      return false;
    }
    return this.type().catch((error) => this.#app.refused(error) ?? false);
  }

  async #read(file) {
    this.drop();
    say(byId("read-told"), "Reading the file.");
    const reading = await this.#app.api
      .post(`tasks/reading?${named(file)}`, file)
      .finally(() => say(byId("read-told"), ""));
    this.#file = file;
    const heading = `${file.name}: ${counted(reading.tasks, "question")}`;
    const notes = reading.notes.map((note) => element("li", {}, sentence(note)));
    byId("reading").replaceChildren(
      ...this.#app.filled("file-reading", {
        ...{ heading, notes, use: () => this.use(), drop: () => this.drop() },
        columns: reading.columns.map(columnRow),
        answers: reading.domain ? `People answer with ${answersOf(reading.domain, reading.option_counts)}, as the file suggests.` : "",
        button: `Use these ${counted(reading.tasks, "question")}`,
      }),
    );
    this.reading = reading;
    byId("reading").querySelector("h2").focus();
  }

  /** Add the questions of the file that was read, with the columns that are checked. */
  async use() {
    const { domain, columns, option_counts } = this.reading;
    const isShown = (name) => byId("reading").querySelector(`[data-column="${CSS.escape(name)}"]`)?.checked;
    const shown = columns.map(({ name }) => name).filter(isShown);
    const task = columns.find(({ kind }) => kind === "task")?.name ?? null;
    if (domain !== null) {
      await this.#app.save({ domain, option_counts });
    }
    await this.#add(this.#file, shown, task);
  }

  async #add(file, shown, task) {
    const wanted = named(file);
    shown.forEach((name) => wanted.append("shown", name));
    task !== null && wanted.append("task", task);
    const { imported } = await this.#app.api.post(`tasks?${wanted}`, file);
    await this.#app.readCampaign();
    this.drop();
    domainForm(this.#app.campaign.domain, (domain) => this.#app.change({ domain, option_counts: null }));
    await this.showTasks();
    say(byId("read-told"), `Added: ${counted(imported, "question")}.`);
  }

  drop() {
    this.#file = null;
    byId("files").value = "";
    byId("reading").replaceChildren();
  }

  /** Show the first questions of the campaign. */
  async showTasks() {
    const { tasks } = this.#app.campaign;
    byId("tasks-card").hidden = tasks === 0;
    if (tasks > 0) {
      const { items } = await this.#app.api.json(`tasks?limit=${FIRST}`);
      say(byId("tasks-title"), counted(tasks, "question"));
      say(byId("tasks-note"), tasks > FIRST ? `The first ${FIRST} of ${count(tasks)}.` : "");
      byId("tasks-body").replaceChildren(...items.map(taskRow));
    }
  }
}

const named = ({ name }) => new URLSearchParams({ file: name });

const KINDS = { task: "the name of the question", gold: "the known truth, never shown" };

/** Return a row about a column: its use and examples. */
function columnRow({ name, kind, looks_like_answers: isSuspicious, examples }) {
  const isChoice = ["shown", "image", "left out"].includes(kind);
  const box = { type: "checkbox", "data-column": name, "aria-label": `People see ${name}` };
  const isShown = ["shown", "image"].includes(kind) && !isSuspicious;
  const choice = isChoice ? element("input", { ...box, checked: isShown }) : KINDS[kind];
  const warning = "It looks like answers: check it only if people may see it.";
  const note = isSuspicious ? [element("p", { class: "warning" }, warning)] : [];
  return tableRow([name, ...note], [choice, examples.map(String).join(" · ")], "");
}

function taskRow({ task, data, gold }) {
  return tableRow(String(task), [questionOf(data), gold === null ? "–" : String(gold)], "");
}
