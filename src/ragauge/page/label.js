// Human labels: answering questions, one after the other or on a sample, and the agreement of judge and people.
//
// A question as the server sends it: {judgment, question, asked, choices, scale, judge, label}.

import { choice, element, figure, isShortcut, keyButton, quoted, table } from "./dom.js";
import { answerName, arrow, counted, interval, number } from "./format.js";
import { address } from "./filters.js";

const LETTERS = { entailed: "s", neutral: "n", not_entailed: "n", contradicted: "c", yes: "y", no: "n" };
const DECIDING = ["s", "c"];

/** An answer as it is typed: its key, followed by the keys and numbers of texts; or its grade. */
function typed(answer) {
  if (answer.value !== undefined) return String(answer.value);
  const letters = (answer.chunks ?? []).map(({ label }) => LETTERS[label]);
  const named = DECIDING.map((letter) => [letter, letters.flatMap((one, i) => (one === letter ? [i + 1] : []))]);
  const deciding = named.filter(([, numbers]) => numbers.length).flat(2);
  return [LETTERS[answer.label], ...deciding].join(" ");
}

/** The possible answers to one question, by button or key. save: called with the answer as it would be typed. */
class AnswerForm {
  #question;
  #save;
  #size;
  #texts = new Set();

  constructor(question, save) {
    this.#question = question;
    this.#save = save;
    this.#size = question.question.premise?.length ?? 0;
    this.element = element("div", { role: "group", "aria-label": question.asked });
    this.#draw();
  }

  /** Handle a key; false if it has no meaning here. */
  key(key) {
    const number = Number(key);
    if (this.#size > 1 && number >= 1 && number <= Math.min(9, this.#size)) this.#toggle(number);
    else if (this.#question.choices.some((one) => one.key === key)) this.#answer(key);
    else {
      if (/^[-\d]$/.test(key)) this.element.querySelector("input")?.focus(); // which the key is then typed into
      return false;
    }
    return true;
  }

  #toggle(number) {
    if (!this.#texts.delete(number)) this.#texts.add(number);
    this.#draw();
  }

  #answer(key) {
    const numbers = DECIDING.includes(key) ? [...this.#texts].sort((one, other) => one - other) : [];
    this.#save([key, ...numbers].join(" "));
  }

  #draw() {
    const { asked, choices, scale } = this.#question;
    const buttons = choices.map(({ key, words }) => keyButton(key, words, () => this.#answer(key)));
    this.element.replaceChildren(
      element("p", {}, asked),
      element("div", { class: "choices" }, buttons, scale ? this.#gradeForm(scale) : null),
      this.#size > 1 ? this.#textButtons() : "",
    );
  }

  #textButtons() {
    const buttons = Array.from({ length: this.#size }, (_, i) => {
      const pressed = String(this.#texts.has(i + 1));
      return element("button", { type: "button", "aria-pressed": pressed, click: () => this.#toggle(i + 1) }, i + 1);
    });
    return element("div", { class: "choices quiet" }, "Which texts show this? ", buttons);
  }

  #gradeForm([low, high]) {
    const input = element("input", { type: "number", step: "any", min: low, max: high, required: true });
    const submit = (event) => {
      event.preventDefault();
      this.#save(input.value);
    };
    const label = element("label", {}, `Grade, ${low} to ${high} `, input);
    return element("form", { submit }, label, " ", element("button", {}, "Save"));
  }
}

/** The labels on the evidence of one metric of a sample, with forms to change them. */
export async function sampleLabels(labels, row, metric) {
  return new SampleLabels(labels, row, metric, await labels.fetchSample(row, metric));
}

class SampleLabels {
  #labels;
  #row;
  #metric;
  #sample;
  #changed = () => {};
  #shown = null;
  #error = "";

  constructor(labels, row, metric, sample) {
    this.#labels = labels;
    this.#row = row;
    this.#metric = metric;
    this.#sample = sample;
  }

  /** The latest change of this row of a test set; null where there is none. */
  get edit() {
    return this.#sample.edit;
  }

  /** changed: called when a label was saved. */
  onChange(changed) {
    this.#changed = changed;
  }

  /** The score with the labels, if it differs from that of the run. */
  corrected(metric, value) {
    const { scores, pieces } = this.#sample;
    if (!(metric in scores) || scores[metric].value === value || !pieces.some(({ label }) => label)) return null;
    return element("span", { class: "people" }, ` people ${number(scores[metric].value)}`);
  }

  /** The label on a piece of evidence, and the form to change it; nothing if no judge was asked. */
  panel({ judgment }) {
    const question = this.#sample.pieces.find((one) => one.judgment === judgment);
    this.#shown = question
      ? { question, form: new AnswerForm(question, (answer) => this.#save(question, answer)) }
      : null;
    if (!question) return null;
    const { label, judge } = question;
    const given = label ? `${label.by} says: ${answerName(label.answer)}. ` : "";
    return element(
      "div",
      { class: "people", role: "group", "aria-label": "Label" },
      element("p", { role: "status" }, given, this.#error),
      judge ? keyButton("a", "accept the verdict", () => this.#save(question, typed(judge))) : null,
      this.#shown.form.element,
    );
  }

  /** Handle a key for the panel that is shown; false if it has no meaning. */
  key(key) {
    if (!this.#shown) return false;
    const { question, form } = this.#shown;
    if (key !== "a" || !question.judge) return form.key(key);
    this.#save(question, typed(question.judge));
    return true;
  }

  async #save({ judgment }, answer) {
    try {
      this.#sample = await this.#labels.save(this.#row, this.#metric, judgment, answer, null);
      this.#error = "";
    } catch (error) {
      this.#error = error.message;
    }
    this.#changed();
  }
}

/** The labelling view for a metric; null for the first that the run has. It draws itself when the server answers. */
export async function labelSession(data, metric) {
  const session = new LabelSession(data);
  await session.start(metric);
  return session;
}

/** One question after the other; the judge's verdicts, and figures that tell them, are hidden until requested. */
class LabelSession {
  #history = [];
  #at = 0;
  #skipped = [];
  #revealed = new Set();
  #form = null;
  #busy = false;

  constructor(data) {
    this.data = data;
    this.question = element("div", { class: "question sample", tabindex: -1 });
    this.summary = element("div", {});
    this.status = element("p", { role: "status", class: "quiet" });
    this.controls = element("div", { class: "filters" });
    this.nodes = [element("h1", { tabindex: -1 }, "Label"), this.controls, this.status, this.question, this.summary];
  }

  async start(metric) {
    const { metrics, by } = await this.data.labels.fetchSummaries(metric);
    this.metric = metric ?? metrics[0];
    const go = (chosen) => {
      location.hash = address(this.data, { view: "label", metric: chosen });
    };
    this.controls.replaceChildren(
      element("label", {}, "Metric ", choice("Metric", metrics, this.metric, go)),
      element("span", { class: "quiet" }, `labelling as ${by}`),
    );
    await this.#fetchMore();
    this.#hideSummary();
    this.#draw();
  }

  focus() {
    document.addEventListener("keydown", this.#onKey);
    this.question.focus({ preventScroll: true });
  }

  get #current() {
    return this.#history[this.#at] ?? null;
  }

  /** Fetch the next sample, and append its questions to the history. */
  async #fetchMore() {
    const { draw, id, pieces } = await this.data.labels.fetchNext(this.metric, this.#skipped);
    if (!draw) return;
    this.#skipped.push(draw.position);
    pieces.forEach((question, i) =>
      this.#history.push({ draw, id, question, place: `question ${i + 1} of ${pieces.length}`, answer: null }),
    );
  }

  #hideSummary() {
    const show = element("button", { type: "button", click: () => this.#once(() => this.#showSummary()) }, "Show figures");
    const note = " A label that you change after you saw them does not count as blind.";
    this.summary.replaceChildren(element("p", { class: "quiet" }, show, note));
  }

  /** Show how far the judge agrees with people: by figures before and after a label its verdict can be read off. */
  async #showSummary() {
    const { summaries } = await this.data.labels.fetchSummaries(this.metric);
    this.#history.forEach(({ answer }, i) => answer && this.#revealed.add(i));
    const parts = [summaryTable(summaries), confusions(summaries[this.metric].agreement), summaryNote()];
    this.summary.replaceChildren(...parts.filter(Boolean));
  }

  /** Do one thing at a time: what is typed meanwhile was not meant for what comes next. */
  async #once(work) {
    if (this.#busy) return;
    this.#busy = true;
    try {
      await work();
    } catch (error) {
      this.#showError(error);
    } finally {
      this.#busy = false;
    }
  }

  #showError(error) {
    this.status.textContent = error.message;
  }

  async #go(step) {
    this.#at = Math.max(0, this.#at + step);
    if (this.#at >= this.#history.length) await this.#fetchMore();
    this.#draw();
    this.focus();
  }

  async #save(answer) {
    const current = this.#current;
    const draw = this.#revealed.has(this.#at) ? null : current.draw;
    const { judgment } = current.question;
    const { pieces } = await this.data.labels.save(current.draw.position, this.metric, judgment, answer, draw);
    current.answer = pieces.find((one) => one.judgment === judgment).label.answer;
    this.#hideSummary();
    await this.#go(1);
  }

  #reveal() {
    this.#revealed.add(this.#at);
    this.#draw();
    this.focus();
  }

  #draw() {
    const current = this.#current;
    this.status.textContent = current ? describeQuestion(current) : "Nothing is left to label for this metric.";
    this.#form = current ? new AnswerForm(current.question, (answer) => this.#once(() => this.#save(answer))) : null;
    this.question.replaceChildren(...(current ? this.#columns(current) : []));
  }

  #columns({ question: { question, judge } }) {
    const revealed = this.#revealed.has(this.#at);
    const verdict = revealed ? element("p", { class: "judge" }, `The judge says: ${answerName(judge)}`) : "";
    const left = element("div", {}, judgedTexts(question), this.#form.element, verdict, this.#steps(revealed));
    const attributes = { class: "given", role: "region", tabindex: 0, "aria-label": "What it is checked against" };
    const given = givenTexts(question);
    return given.length ? [left, element("div", attributes, given)] : [left];
  }

  #steps(revealed) {
    return element(
      "div",
      { class: "choices" },
      keyButton("←", "back", () => this.#once(() => this.#go(-1)), this.#at === 0),
      keyButton("→", "skip", () => this.#once(() => this.#go(1))),
      keyButton("?", "show the judge’s verdict", () => this.#reveal(), revealed),
    );
  }

  /** Handle a key anywhere on the page, for as long as the question is on it. */
  #onKey = (event) => {
    if (this.question.isConnected) this.#key(event);
    else document.removeEventListener("keydown", this.#onKey);
  };

  #key(event) {
    if (!isShortcut(event) || !this.#current) return;
    const { target } = event;
    if (event.key.startsWith("Arrow") && target.matches(".wide") && target.scrollWidth > target.clientWidth) return;
    const steps = {
      ArrowLeft: () => this.#once(() => this.#go(-1)),
      ArrowRight: () => this.#once(() => this.#go(1)),
      "?": () => this.#reveal(),
    };
    if (event.key in steps) steps[event.key]();
    else if (!this.#form.key(event.key.toLowerCase())) return;
    event.preventDefault();
  }
}

function describeQuestion({ draw, id, place, answer }) {
  const why = draw.at_random ? "drawn at random" : "drawn as most informative";
  return `Sample ${id}, ${why}, ${place}${answer ? `; your label: ${answerName(answer)}` : ""}`;
}

/** What is judged, and the query. */
function judgedTexts({ hypothesis, text, query }) {
  return textBoxes([
    ["claim", hypothesis],
    ["text", text],
    ["query", query],
  ]);
}

/** What it is checked against: the numbered texts, the reference, or all that is graded. */
function givenTexts({ premise = [], reference, texts = [] }) {
  return textBoxes([["reference", reference], ...premise.map((chunk, i) => [`text ${i + 1}`, chunk]), ...texts]);
}

function textBoxes(named) {
  const present = named.filter(([, content]) => content !== undefined && content !== null);
  return present.map(([name, content]) => {
    const passage = quoted(content, "div", { class: "passage" });
    return element("section", { class: `text ${name}`, "aria-label": name }, element("h2", {}, name), passage);
  });
}

/** A section that is filled when the server responds; empty if there are no labels. */
export function labelSummary(labels) {
  const section = element("section", { id: "labels" });
  const fill = ({ summaries }) => {
    if (!Object.keys(summaries).length) return;
    section.append(element("h2", {}, "Human labels"), summaryTable(summaries), summaryNote());
  };
  labels.fetchSummaries().then(fill, () => section.remove());
  return section;
}

/** The columns of a label summary. */
const HEADS = {
  metric: null,
  judge: "figure",
  "corrected by people": "figure",
  "drawn at random": "figure spare",
  "raw agreement": "figure spare",
  kappa: "figure spare",
  labelled: "figure spare",
};

/** The judge's score, the score corrected by people, and their agreement, with a metric in each row. */
function summaryTable(summaries) {
  const rows = Object.entries(summaries).map(([metric, summary]) => summaryRow(metric, summary));
  return table("Label summary", HEADS, element("tbody", {}, rows));
}

function summaryNote() {
  const words =
    "Corrected: the judge’s mean plus the mean difference between people and judge, over the samples drawn at random " +
    "that people labelled in full without seeing the verdict. The agreement counts only these too. Brackets: 95 % " +
    "intervals.";
  return element("p", { class: "quiet" }, words);
}

function summaryRow(metric, { better, judge, corrected, samples, labelled, drawn, agreement }) {
  const cells = [
    estimate(judge),
    estimate(corrected),
    `${drawn} of ${samples}`,
    agreement.map(({ kind, n, raw }) =>
      element("div", {}, `${estimate(raw)} of ${n}`, agreement.length > 1 ? ` ${kind}` : ""),
    ),
    agreement.map((one) => element("div", {}, describeKappa(one))),
    counted(labelled, "sample"),
  ];
  const name = element("th", { scope: "row" }, `${metric} ${arrow(better)}`);
  const kinds = Object.values(HEADS).slice(1);
  const figures = cells.map((cell, i) => figure(cell, { class: kinds[i] }));
  return element("tr", { "data-metric": metric }, name, figures);
}

/** Kappa; of grades, their mean absolute difference instead. */
function describeKappa({ kappa, apart }) {
  if (apart !== null) return `differ by ${number(apart)}`;
  return kappa.value === null ? "undefined" : estimate(kappa);
}

function estimate(one) {
  return one.value === null ? "–" : `${number(one.value)} ${interval(one)}`;
}

/** The confusion matrix of judge and people. */
function confusions(agreement) {
  const name = (label) => answerName(Number.isNaN(Number(label)) ? { label } : { value: Number(label) });
  const lines = agreement
    .flatMap(({ table: counts }) => counts)
    .map(([judge, people, times]) => element("li", {}, `judge ${name(judge)}, people ${name(people)}: ${times}`));
  return lines.length ? element("ul", { class: "quiet" }, lines) : null;
}
