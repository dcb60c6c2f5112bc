// Labelling: one piece after the other, the judge's verdict hidden until it is asked for.

import { choice, element, quoted } from "./dom.js";
import { Answering, answerWords } from "./answering.js";
import { MEANING, meetings, standingTable } from "./standings.js";
import { address } from "./route.js";

/** The view for a metric; null for the first that the run has. It draws itself when something comes from the server. */
export async function labelling(data, metric) {
  const session = new Session(data);
  await session.start(metric);
  return session;
}

class Session {
  #history = [];
  #at = 0;
  #passed = [];
  #seen = new Set();
  #answering = null;
  #busy = false;
  #asked = 0;

  constructor(data) {
    this.data = data;
    this.question = element("div", { class: "question sample", tabindex: -1, keydown: (event) => this.#key(event) });
    this.standing = element("div", {});
    this.told = element("p", { role: "status", class: "quiet" });
    this.controls = element("div", { class: "sieve" });
    this.nodes = [element("h1", { tabindex: -1 }, "Label"), this.controls, this.told, this.question, this.standing];
  }

  async start(metric) {
    const { metrics, by } = await this.data.people.standings(metric);
    this.metric = metric ?? metrics[0];
    const go = (chosen) => {
      location.hash = address(this.data, { view: "label", metric: chosen });
    };
    const options = metrics.map((name) => [name, name]);
    this.controls.replaceChildren(
      element("label", {}, "Metric ", choice("Metric", options, this.metric, go)),
      element("span", { class: "quiet" }, `as ${by}`),
    );
    await Promise.all([this.#more(), this.#tell()]);
    this.#draw();
  }

  focus() {
    this.question.focus({ preventScroll: true });
  }

  get #now() {
    return this.#history[this.#at] ?? null;
  }

  /** Fetch the next sample, behind what was shown. */
  async #more() {
    const { draw, id, pieces } = await this.data.people.next(this.metric, this.#passed);
    if (!draw) return;
    this.#passed.push(draw.position);
    pieces.forEach((piece, i) => this.#history.push({ draw, id, piece, place: `piece ${i + 1} of ${pieces.length}` }));
  }

  /** Show what the labels come to by now. */
  async #tell() {
    const mine = (this.#asked += 1);
    const { standings } = await this.data.people.standings(this.metric);
    if (mine !== this.#asked) return;
    const { agreement } = standings[this.metric];
    const meaning = element("p", { class: "quiet" }, MEANING);
    this.standing.replaceChildren(standingTable(standings), ...[meetings(agreement), meaning].filter(Boolean));
  }

  /** Do one thing at a time: what is typed meanwhile was not meant for what comes next. */
  async #once(work) {
    if (this.#busy) return;
    this.#busy = true;
    try {
      await work();
    } catch (error) {
      this.#lament(error);
    } finally {
      this.#busy = false;
    }
  }

  #lament(error) {
    this.told.textContent = error.message;
  }

  async #go(step) {
    this.#at = Math.max(0, this.#at + step);
    if (this.#at >= this.#history.length) await this.#more();
    this.#draw();
    this.focus();
  }

  async #say(said) {
    const now = this.#now;
    const blind = this.#seen.has(this.#at) ? null : now.draw;
    const { judgment } = now.piece;
    const { pieces } = await this.data.people.keep(now.draw.position, this.metric, judgment, said, blind);
    now.said = pieces.find((one) => one.judgment === judgment).label.answer;
    await this.#go(1);
    this.#tell().catch((error) => this.#lament(error));
  }

  #reveal() {
    this.#seen.add(this.#at);
    this.#draw();
    this.focus();
  }

  #draw() {
    const now = this.#now;
    this.told.textContent = now ? about(now) : "Nothing is left to label for this metric.";
    this.#answering = now ? new Answering(now.piece, (said) => this.#once(() => this.#say(said))) : null;
    this.question.replaceChildren(...(now ? this.#shown(now) : []));
  }

  #shown({ piece }) {
    const seen = this.#seen.has(this.#at);
    const judge = seen ? element("p", { class: "judge" }, `The judge says: ${answerWords(piece.judge)}`) : "";
    const asked = element("div", {}, judgedTexts(piece.question), this.#answering.element, judge, this.#steps(seen));
    const attributes = { class: "given", role: "region", tabindex: 0, "aria-label": "What it is held against" };
    const given = givenTexts(piece.question);
    return given.length ? [asked, element("div", attributes, given)] : [asked];
  }

  #steps(seen) {
    const button = (key, words, click, disabled = false) => {
      return element("button", { type: "button", click, disabled }, element("kbd", {}, key), ` ${words}`);
    };
    return element(
      "div",
      { class: "choices" },
      button("←", "back", () => this.#once(() => this.#go(-1)), this.#at === 0),
      button("→", "skip", () => this.#once(() => this.#go(1))),
      button("?", "what the judge says", () => this.#reveal(), seen),
    );
  }

  #key(event) {
    if (event.target.matches("input, select") || event.altKey || event.ctrlKey || event.metaKey || !this.#now) return;
    const steps = {
      ArrowLeft: () => this.#once(() => this.#go(-1)),
      ArrowRight: () => this.#once(() => this.#go(1)),
      "?": () => this.#reveal(),
    };
    if (event.key in steps) steps[event.key]();
    else if (!this.#answering.key(event.key.toLowerCase())) return;
    event.preventDefault();
  }
}

function about({ draw, id, place, said }) {
  const why = draw.at_random ? "drawn at random" : "where a label teaches most";
  return `Sample ${id}, ${why}, ${place}${said ? `; you said: ${answerWords(said)}` : ""}`;
}

/** What is judged, and the query. */
function judgedTexts({ hypothesis, text, query }) {
  return boxes([
    ["claim", hypothesis],
    ["text", text],
    ["query", query],
  ]);
}

/** What it is held against: the numbered texts, the reference, or all that is graded. */
function givenTexts({ premise = [], reference, texts = [] }) {
  return boxes([["reference", reference], ...premise.map((chunk, i) => [`text ${i + 1}`, chunk]), ...texts]);
}

function boxes(named) {
  const there = named.filter(([, content]) => content !== undefined && content !== null);
  return there.map(([name, content]) => {
    const passage = quoted(content, "div", { class: "passage" });
    return element("section", { class: `text ${name}`, "aria-label": name }, element("h2", {}, name), passage);
  });
}
