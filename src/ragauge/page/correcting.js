// Accepting or correcting the verdict of a piece that is looked at, on a page that has a server.

import { element } from "./dom.js";
import { Answering, answerWords, typed } from "./answering.js";
import { number } from "./words.js";

/** The labels on the pieces behind one metric of a sample. */
export async function correcting(people, row, metric) {
  return new Correcting(people, row, metric, await people.sample(row, metric));
}

class Correcting {
  #people;
  #row;
  #metric;
  #found;
  #changed = () => {};
  #shown = null;
  #fault = "";

  constructor(people, row, metric, found) {
    this.#people = people;
    this.#row = row;
    this.#metric = metric;
    this.#found = found;
  }

  /** changed: called when a label was kept. */
  follow(changed) {
    this.#changed = changed;
  }

  /** What people give the sample by a metric, where that is not what the run gives it. */
  corrected(metric, value) {
    const { scores } = this.#found;
    if (!(metric in scores) || scores[metric].value === value || !this.#labelled) return null;
    return element("span", { class: "people" }, ` people ${number(scores[metric].value)}`);
  }

  /** What people said of a piece, and the choices; nothing where the piece was not judged. */
  panel({ judgment }) {
    const piece = this.#found.pieces.find((one) => one.judgment === judgment);
    this.#shown = piece ? { piece, answering: new Answering(piece, (said) => this.#say(piece, said)) } : null;
    if (!piece) return null;
    const { label, judge } = piece;
    const said = label ? `${label.by} says: ${answerWords(label.answer)}. ` : "";
    const accept = () => this.#say(piece, typed(judge));
    return element(
      "div",
      { class: "people", role: "group", "aria-label": "People’s label" },
      element("p", { role: "status" }, said, this.#fault),
      judge
        ? element("button", { type: "button", click: accept }, element("kbd", {}, "a"), " accept the verdict")
        : null,
      this.#shown.answering.element,
    );
  }

  /** Take a key for the piece whose panel is shown; false where it means nothing. */
  key(key) {
    if (!this.#shown) return false;
    const { piece, answering } = this.#shown;
    if (key !== "a" || !piece.judge) return answering.key(key);
    this.#say(piece, typed(piece.judge));
    return true;
  }

  get #labelled() {
    return this.#found.pieces.some(({ label }) => label);
  }

  async #say({ judgment }, said) {
    try {
      this.#found = await this.#people.keep(this.#row, this.#metric, judgment, said, null);
      this.#fault = "";
    } catch (error) {
      this.#fault = error.message;
    }
    this.#changed();
  }
}
