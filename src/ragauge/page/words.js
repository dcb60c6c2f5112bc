// How numbers and verdicts are put into words; as in ragauge.report.wording.

/** A value for people: three decimals, a dash where there is none. */
export function number(value) {
  return value === null || value === undefined ? "–" : value.toFixed(3);
}

/** The interval in brackets, empty where there is none. */
export function interval(estimate) {
  return estimate.low === null ? "" : `[${number(estimate.low)}, ${number(estimate.high)}]`;
}

/** Which way is better. */
export function arrow(better) {
  return better === "lower" ? "↓" : "↑";
}

/** A number with its noun, in the plural where that is due. */
export function counted(count, noun) {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

/** The verdicts that samples can be filtered by: what is said, and the labels that say it. */
export const VERDICTS = {
  contradicted: ["contradicted"],
  "not supported": ["neutral", "not_entailed"],
  supported: ["entailed"],
  no: ["no"],
  yes: ["yes"],
};

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

/** What was said of a piece: its verdict in a word, or its grade. */
export function verdict(piece) {
  if (!piece.label) return String(piece.value);
  return vocabulary(piece)[piece.label] ?? piece.label;
}

function vocabulary(piece) {
  const expected = /^(references|answers)/.test(piece.field);
  if (piece.label in ENTAILMENT) return expected ? SEARCH : ENTAILMENT;
  if (expected) return MATCH;
  const against = piece.against ?? "";
  if (piece.field === "response" && against.startsWith("contexts")) return CITATION;
  return /^(query|references)/.test(against) ? RELEVANCE : {};
}

/** Whether a label speaks for a text ("good"), against it ("bad"), or fails to speak for it ("weak"). */
export function tone(label, better = "higher") {
  if (label === "entailed") return "good";
  if (label === "contradicted") return "bad";
  if (label === "yes") return better === "lower" ? "bad" : "good";
  if (label === "no") return better === "lower" ? "good" : "weak";
  return label ? "weak" : "plain";
}

/** A sign for a tone, so that nothing is told by colour alone. */
export const SIGNS = { good: "✓", bad: "✗", weak: "○", plain: "·" };

/** A field of a sample for people: "references[0]" is "reference 1". */
export function fieldName(field, several = true) {
  const [, name, position] = /^(\w+?)s?(?:\[(\d+)\])?$/.exec(field) ?? [null, field];
  if (position === undefined) return field;
  return several ? `${name} ${Number(position) + 1}` : name;
}
