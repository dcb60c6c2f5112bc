// How numbers, verdicts and the names of fields are written, as in the reports of the command line.

/** A value with three decimals, of two that are as near the even one, as Python rounds; a dash if there is none. */
export function number(value) {
  if (value === null || value === undefined) {
    return "–";
  }
  const rounded = value.toFixed(3);
  const isHalfway = Math.abs((value * 16) % 2) === 1; // only odd sixteenths lie halfway
  return isHalfway && Number(rounded.at(-1)) % 2 ? (value - Math.sign(value) * 0.0005).toFixed(3) : rounded;
}

/** A whole number with separators of thousands. */
export function whole(value) {
  return value.toLocaleString("en");
}

/** The interval of an estimate in brackets; empty if there is none. */
export function interval({ low, high }) {
  return low === null ? "" : `[${number(low)}, ${number(high)}]`;
}

/** Which way is better. */
export function arrow(better) {
  return better === "lower" ? "↓" : "↑";
}

/** A number with its noun, in the plural unless it is 1. */
export function counted(count, noun) {
  return `${whole(count)} ${noun}${count === 1 ? "" : "s"}`;
}

const ENTAILMENT = {
  entailed: "supported",
  contradicted: "contradicted",
  neutral: "not supported",
  not_entailed: "not supported",
};
const SEARCH = { entailed: "found", contradicted: "contradicted", neutral: "missed", not_entailed: "missed" };
const RELEVANCE = { yes: "relevant", no: "not relevant" };
const MATCH = { yes: "found", no: "missed" };
const CITATION = { yes: "called for", no: "not called for" };

/** The verdict on a piece of evidence in a word, or its grade. */
export function verdictName(evidence) {
  if (!evidence.label) return String(evidence.value);
  return verdictNames(evidence)[evidence.label] ?? evidence.label;
}

function verdictNames({ label, field, against = "" }) {
  const expected = /^(references|answers)/.test(field);
  if (label in ENTAILMENT) return expected ? SEARCH : ENTAILMENT;
  if (expected) return MATCH;
  if (field === "response" && against.startsWith("contexts")) return CITATION;
  return /^(query|references)/.test(against) ? RELEVANCE : {};
}

/** The answer to a question, of a judge or a person, in a word; or its grade. */
export function answerName(answer) {
  if (!answer) return "nothing";
  if (answer.value !== undefined) return String(answer.value);
  return ENTAILMENT[answer.label] ?? answer.label;
}

/** Whether a label speaks for a text ("good"), against it ("bad"), or fails to speak for it ("weak"). */
export function tone(label, better = "higher") {
  if (label === "entailed" || label === "right") return "good";
  if (label === "contradicted" || label === "wrong") return "bad";
  if (label === "yes") return better === "lower" ? "bad" : "good";
  if (label === "no") return better === "lower" ? "good" : "weak";
  return label ? "weak" : "plain";
}

/** A sign for each tone, so that colour alone carries no meaning. */
export const SIGNS = { good: "✓", bad: "✗", weak: "○", plain: "·" };

/** A field of a sample for people: "references[0]" is "reference 1". turns: of the sample, counted by their questions. */
export function fieldName(field, turns = []) {
  const [, name, position] = /^(?:turns\[\d+\]\.)?(\w+?)s?(?:\[(\d+)\])?$/.exec(field) ?? [null, field];
  if (position === undefined) return field;
  const place = /^turns\[(\d+)\]\.calls/.exec(field)?.[1];
  const asked = turns.filter(({ role }, i) => i < Number(place) && role === "user" && turns[i + 1].role !== "user");
  return `${name.replaceAll("_", " ")} ${Number(position) + 1}${place ? ` of turn ${asked.length}` : ""}`;
}
