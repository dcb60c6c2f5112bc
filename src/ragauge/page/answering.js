// What a person can say of a piece: by button, or by its key. Pieces are as the server gives them.

import { element } from "./dom.js";

const LETTERS = { entailed: "s", neutral: "n", not_entailed: "n", contradicted: "c", yes: "y", no: "n" };
const DECIDING = ["s", "c"];

/** What is typed to say the same as an answer: its letter, and behind it what each text says; or its grade. */
export function typed(answer) {
  if (answer.value !== undefined) return String(answer.value);
  const letters = (answer.chunks ?? []).map(({ label }) => LETTERS[label]);
  const named = DECIDING.map((letter) => [letter, letters.flatMap((one, i) => (one === letter ? [i + 1] : []))]);
  const told = named.filter(([, numbers]) => numbers.length).flatMap(([letter, numbers]) => [letter, ...numbers]);
  return [LETTERS[answer.label], ...told].join(" ");
}

/** What was said, in a word. */
export function answerWords(answer) {
  if (!answer) return "nothing";
  if (answer.value !== undefined) return String(answer.value);
  const words = { entailed: "supported", neutral: "not supported", not_entailed: "not supported" };
  return words[answer.label] ?? answer.label;
}

/** The choices for one piece. say: called with what is said, as it would be typed in a terminal. */
export class Answering {
  #piece;
  #say;
  #named = new Set();

  constructor(piece, say) {
    this.#piece = piece;
    this.#say = say;
    this.element = element("div", { class: "answering", role: "group", "aria-label": piece.asked });
    this.#draw();
  }

  /** Take a key; false where it means nothing here. */
  key(key) {
    const number = Number(key);
    if (this.#size > 1 && number >= 1 && number <= Math.min(9, this.#size)) this.#toggle(number);
    else if (this.#piece.choices.some((choice) => choice.key === key)) this.#answer(key);
    else return false;
    return true;
  }

  get #size() {
    return this.#piece.question.premise?.length ?? 0;
  }

  #toggle(number) {
    if (!this.#named.delete(number)) this.#named.add(number);
    this.#draw();
  }

  #answer(key) {
    const numbers = DECIDING.includes(key) ? [...this.#named].sort((one, other) => one - other) : [];
    this.#say([key, ...numbers].join(" "));
  }

  #draw() {
    const { asked, choices, scale } = this.#piece;
    const buttons = choices.map(({ key, words }) => {
      return element(
        "button",
        { type: "button", click: () => this.#answer(key) },
        element("kbd", {}, key),
        ` ${words}`,
      );
    });
    this.element.replaceChildren(
      element("p", {}, asked),
      element("div", { class: "choices" }, buttons, scale ? this.#grade(scale) : null),
      this.#size > 1 ? this.#texts() : "",
    );
  }

  #texts() {
    const numbers = Array.from({ length: this.#size }, (_, i) => i + 1);
    const button = (number) => {
      const pressed = String(this.#named.has(number));
      return element("button", { type: "button", "aria-pressed": pressed, click: () => this.#toggle(number) }, number);
    };
    return element("div", { class: "choices quiet" }, "Which texts say so? ", numbers.map(button));
  }

  #grade([low, high]) {
    const input = element("input", { type: "number", step: "any", min: low, max: high, required: true });
    const submit = (event) => {
      event.preventDefault();
      this.#say(input.value);
    };
    const label = element("label", {}, `Grade, ${low} to ${high} `, input);
    return element("form", { submit }, label, " ", element("button", {}, "Keep"));
  }
}
