// The results of one question over the rounds: a curve with its band, its table, and the choice of a round.

import { draw, EDGE, HEIGHT, levelsOf, line, pathOf, spaced, WIDTH } from "./chart.js";
import { save } from "./downloads.js";
import { byId, element } from "./elements.js";
import { count, counted, countedPeople, measured, percent, say, short, tableRow } from "./format.js";
import { moment } from "./rounds.js";

const NINE_IN_TEN = 1.645; // standard errors
const MOST = 1_000; // questions to choose from
const [WANTED, NARROW] = [4, 110]; // steps of an axis, and pixels between labels of the other
const [DIGITS, NEAR] = [3, 1e-9];
const DECIDED = [0.2, 0.8]; // the probabilities between which one of two answers is undecided
const BANDS = {
  number: "The band is meant to contain 9 of 10 truths.",
  share: "The band is the 95 % interval.",
  label: "The height is the probability of the chosen answer. Between the dashed lines it is undecided.",
  several: "The height is the probability of the chosen answer, or where another is likelier, the most that is left for it. From 80 % on it is decided.",
};

/** The card of a campaign in rounds; `changed` is called when another round is chosen. */
export class Series {
  #app;
  #questions;
  #changed;
  #shown = undefined; // the last round that was read
  #rounds = [];
  #rows = [];
  #place = 0; // of the chosen round

  constructor(app, questions, changed) {
    [this.#app, this.#questions, this.#changed] = [app, questions, changed];
    this.parts = app.filled("series", { saveSeries: () => this.#save() });
  }

  /** The chosen round; null for the last, which may be another one soon. */
  get chosen() {
    return this.#place < this.#rounds.length - 1 ? this.#rounds[this.#place] : null;
  }

  ready() {
    byId("series-task").addEventListener("change", () => this.#app.report(this.#read()));
    byId("series-answer").addEventListener("change", () => this.#draw());
    byId("series-round").addEventListener("input", ({ target }) => {
      this.#place = Number(target.value);
      this.#draw();
    });
    byId("series-round").addEventListener("change", this.#changed);
  }

  /** Read the rounds again if another one is shown. */
  async poll({ shown_round: shown }) {
    if (shown !== this.#shown) {
      const wasLast = this.chosen === null;
      this.#rounds = (await this.#app.api.json("rounds")).items;
      this.#place = wasLast ? Math.max(0, this.#rounds.length - 1) : this.#place;
      await this.#read();
      this.#shown = shown;
    }
  }

  /** Offer the questions, as far as they are known. */
  showAgain() {
    const [chosen, texts] = [byId("series-task"), [...this.#questions.texts].slice(0, MOST)];
    if (texts.length > chosen.length) {
      const wanted = chosen.value;
      chosen.replaceChildren(...texts.map(([task, text]) => element("option", { value: String(task) }, text)));
      chosen.value = wanted || chosen.options[0].value;
      wanted || this.#app.report(this.#read());
    }
  }

  async #read() {
    const task = byId("series-task").value;
    if (task && this.#rounds.length) {
      const { items } = await this.#app.api.json(`series?${new URLSearchParams({ task })}`);
      this.#rows = items;
      const { labels, levels } = this.#app.campaign.domain;
      const isSure = items[0]?.confidence !== undefined;
      const answers = isSure ? (labels ?? levels) : [...new Set(items.map(({ label }) => label).filter((label) => label !== undefined))];
      const [field, before] = [byId("series-answer"), byId("series-answer").value];
      field.replaceChildren(...answers.map((label) => element("option", {}, String(label ?? "no answer"))));
      const usual = (answers.length > 2 && items.at(-1)?.truth) || (answers.at(-1) ?? "no answer");
      field.value = answers.map(String).includes(before) ? before : String(usual);
      field.parentElement.hidden = answers.length === 0;
    }
    this.#draw();
  }

  /** Return a point per round: a number or a probability, its range, and words. */
  #points() {
    const { value: wanted, length } = byId("series-answer");
    const rows = this.#rows.filter(({ label }) => label === undefined || String(label ?? "no answer") === wanted);
    return rows.map((row) => ({ ...row, ...valueOf(row, wanted, length) }));
  }

  #draw() {
    const [points, { rounds }, at] = [this.#points(), this.#app.campaign, this.#rounds[this.#place]];
    [byId("series-card").hidden, byId("series-none").hidden] = [!at, Boolean(at)];
    if (!at) {
      return;
    }
    const words = points.find(({ round }) => round === at.round)?.words ?? "no result";
    const people = `${countedPeople(at.participants)}, ${counted(at.reports, "report")}`;
    const told = `${moment(at.begins, rounds)}: ${words} (${people} to all questions)`;
    const slider = Object.assign(byId("series-round"), { max: this.#rounds.length - 1, value: this.#place });
    slider.setAttribute("aria-valuetext", told);
    say(byId("series-now"), told);
    say(byId("series-about"), points.length ? BANDS[points[0].kind] : "");
    const ends = points.length ? [points[0], points.at(-1)].map((one) => `${moment(one.begins, rounds)}: ${one.words}`) : [];
    byId("series-chart").setAttribute("aria-label", `Curve from ${ends.join(" to ")}. The table has all rounds.`);
    const body = points.map((one) => tableRow(moment(one.begins, rounds), [one.words, count(one.reports)]));
    byId("series-body").replaceChildren(...body.reverse());
    byId("series-chart").replaceChildren(...(points.length ? chart(points, at.round, rounds) : []));
  }

  #save() {
    const cell = (value) => `"${String(value ?? "").replaceAll('"', '""')}"`;
    const names = Object.keys(this.#rows[0] ?? {}).filter((name) => name !== "histogram");
    const lines = [names, ...this.#rows.map((row) => names.map((name) => row[name]))];
    const text = lines.map((cells) => `${cells.map(cell).join()}\n`).join("");
    save(new Blob(["\ufeff", text], { type: "text/csv" }), "series.csv");
  }
}

/** Return the value, range and words of a row of truths or estimates. */
function valueOf({ truth, standard_error: error, confidence: sure, decided, share, mean = share, low, high }, wanted, answers) {
  if (mean !== undefined) {
    const inWords = share === undefined ? (number) => short(number, DIGITS) : (part) => percent(within(part), 0);
    return { kind: "share", value: mean, low, high, words: `${inWords(mean)} (${inWords(low)} to ${inWords(high)})` };
  }
  if (sure === undefined) {
    const wide = NINE_IN_TEN * (error ?? 0);
    return { kind: "number", value: truth, low: truth - wide, high: truth + wide, words: `${measured(truth, error)} ± ${short(wide, 2)}` };
  }
  const words = truth === null ? "undecided" : `${decided ? "" : "undecided, likeliest "}${truth}, ${percent(sure, 0)} sure`;
  const value = String(truth) === wanted ? sure : 1 - sure;
  return { kind: answers > 2 ? "several" : "label", value, low: 0, high: value, sure, words };
}

const within = (part) => Math.min(1, Math.max(0, part));

/** Return the numbered lines of a chart: parts of 1, or round numbers around all points. */
function linesOf(points) {
  const [{ sure, share = sure }] = points;
  const [low, high] = [Math.min(...points.map((one) => one.low)), Math.max(...points.map((one) => one.high))];
  const [bottom, top] = share !== undefined ? [0, 1] : high - low > NEAR ? [low, high] : [low - 1, high + 1];
  const levels = sure === undefined ? levelsOf(bottom, top, WANTED) : [0, DECIDED[0], 0.5, DECIDED[1], 1];
  const all = levels.map((level) => [level, share === undefined ? short(level, DIGITS) : percent(level, 0)]);
  return { all, bottom: all[0][0], top: all.at(-1)[0] };
}

function chart(points, now, rounds) {
  const { all, bottom, top } = linesOf(points);
  const isOfTwo = points[0].kind === "label";
  const [first, last] = [points[0].round, points.at(-1).round];
  const x = ({ round }) => EDGE.left + (WIDTH - EDGE.left - EDGE.right) * (last > first ? (round - first) / (last - first) : 0.5);
  const y = (value) => HEIGHT - EDGE.bottom - (HEIGHT - EDGE.bottom - EDGE.top) * within((value - bottom) / (top - bottom));
  const path = (member) => points.map((one) => [x(one), y(one[member])]);
  const short_ = (one) => moment(one.begins, rounds).replace(/ \d{4}(, )?/, " ").replace(" UTC", "");
  const time = (one) => draw("text", { x: x(one), y: HEIGHT - EDGE.bottom + 28, class: "middle" }, short_(one));
  const size = ({ round }) => (round === now ? 6 : 3);
  const dot = (one) => draw("circle", { cx: x(one), cy: y(one.value), r: size(one), class: "mark" });
  const on = points.filter(({ round }) => round === now);
  const rule = (one) => draw("line", { x1: x(one), x2: x(one), y1: EDGE.top, y2: HEIGHT - EDGE.bottom, class: "guess" });
  const undecided = { x: EDGE.left, width: WIDTH - EDGE.left - EDGE.right, y: y(DECIDED[1]), height: y(DECIDED[0]) - y(DECIDED[1]), class: "undecided" };
  return [
    ...(isOfTwo ? [draw("rect", undecided)] : []),
    ...all.flatMap(([level, label]) => line(y(level), label)),
    ...[...spaced(points, x, NARROW).map(time), ...on.map(rule)],
    draw("polygon", { points: pathOf([...path("high"), ...path("low").reverse()]), class: "band" }),
    draw("polyline", { points: pathOf(path("value")), class: "line" }),
    ...points.map(dot),
  ];
}
