// The evidence of a score: each judged claim, context or text, with its rationale and its place in the texts.
//
// The functions take a `view`, one sample by one metric: see evidenceView.

import { details, element, isShortcut, quoted } from "./dom.js";
import { SIGNS, fieldName, tone, verdictName } from "./format.js";
import { callFields, chunkId, evidenceOf, segments, sliced, textOf } from "./data.js";

const DECIDING = ["entailed", "contradicted"];

/**
 * A sample by one metric: {run, record, metric, evidence, better, opened} and `more`: open(i) opens an entry, jump(field)
 * goes to a text, labels are those of people, prefix tells ids apart where two samples are shown.
 */
export function evidenceView(data, record, metric, more) {
  const evidence = evidenceOf(record, metric);
  const better = data.better(metric);
  return { run: data.head.run, record, metric, evidence, better, opened: firstToOpen(evidence, better), ...more };
}

/** The entry to show first: a contradicted one, else an unsupported one; -1 without evidence. */
function firstToOpen(evidence, better) {
  const rank = ({ label, field }) =>
    ["bad", "weak", "good", "plain"].indexOf(tone(label, better)) + (field === "response" ? 0 : 0.5);
  const ranked = evidence.map((one, i) => [rank(one), i]);
  return ranked.sort((one, other) => one[0] - other[0] || one[1] - other[1])[0]?.[1] ?? -1;
}

/** The entry of the evidence for a metric that decides its score, undefined without evidence. */
export function decidingEvidence(record, metric, better) {
  const evidence = evidenceOf(record, metric);
  return evidence[firstToOpen(evidence, better)];
}

/** The verdict on an entry. */
export function verdictBadge(item, better) {
  return badge(tone(item.label, better), verdictName(item));
}

/** The verdict of each chunk on an item of evidence: [{field, chunk, label, probability, span, text}]. */
function chunkVerdicts({ sample }, { chunks = [], against }) {
  return chunks.map((chunk, i) => {
    const field = against === "contexts" ? `contexts[${i}]` : contextField(sample, chunk.chunk);
    const text = textOf(sample, field);
    return { ...chunk, field, text: chunk.span && text ? sliced(text, chunk.span) : "" };
  });
}

/** The field of the context with an id; if there is none, the id itself. */
function contextField(sample, chunk) {
  const position = (sample.contexts ?? []).findIndex(({ id }) => id === chunk);
  return position >= 0 ? `contexts[${position}]` : chunk;
}

/** The verdicts of the deciding chunks; if none decides, of the most probable one. */
function decidingVerdicts(record, item) {
  const all = chunkVerdicts(record, item);
  const deciding = all.filter(({ label }) => DECIDING.includes(label));
  const near = all.filter(({ text }) => text).sort((one, other) => (other.probability ?? 0) - (one.probability ?? 0));
  return deciding.length ? deciding : near.slice(0, 1);
}

/** What contradicts an entry, each with its name and its own words. */
export function contradictingQuotes(record, item) {
  const against = chunkVerdicts(record, item).filter(({ label, text }) => label === "contradicted" && text);
  return against.map(({ field, text }) => {
    return element("span", {}, `${sourceName(record.sample, field)} says: `, quoted(text, "q"));
  });
}

/** A text by its kind and number, and its id if it has one. */
function sourceName(sample, field) {
  return [fieldName(field, sample.turns), chunkId(sample, field)].filter(Boolean).join(", ");
}

/** The evidence as a list whose entries open. */
export function evidenceList(view) {
  const groups = Map.groupBy(view.evidence.keys(), (i) => heading(view.evidence[i]));
  const sections = [...groups].map(([title, positions]) => {
    const entries = positions.map((i) => entry(view, i));
    return element("section", {}, element("h2", {}, title), element("ul", {}, entries));
  });
  return element("div", { class: "pieces", keydown: (event) => followKey(event, view) }, sections);
}

function heading({ field, against = "", value }) {
  if (value !== undefined) return `Graded: ${against}`;
  if (against === "refusal") return "Is the response a refusal?";
  if (field === "response" && against.startsWith("contexts[")) return "Citations";
  return against ? `${judgedIn(field)}, checked against ${fieldName(against)}` : judgedIn(field);
}

function judgedIn(field) {
  if (field === "response") return "Claims of the response";
  if (field.startsWith("references")) return `Claims of ${fieldName(field)}`;
  if (/^turns|^tool_calls/.test(field)) return "Calls of tools";
  return { contexts: "Contexts", answers: "Gold claims", reference_tool_calls: "Missing calls" }[/^\w+/.exec(field)[0]] ?? fieldName(field);
}

function entry(view, i) {
  const item = view.evidence[i];
  const shade = tone(item.label, view.better);
  const opened = i === view.opened;
  const attributes = {
    type: "button",
    id: `${view.prefix ?? ""}piece-${i}`,
    class: `piece ${shade}`,
    "aria-expanded": String(opened),
    click: () => view.open(i),
  };
  const verdict = element("span", { class: "verdict" }, `${SIGNS[shade]} ${verdictName(item)}`);
  const name = /^contexts/.test(item.field) ? `${fieldName(item.field)}: ` : "";
  const button = element("button", attributes, verdict, " ", name, quoted(item.text));
  return element("li", {}, button, opened ? reasons(view, item) : null);
}

function reasons(view, item) {
  const lines = decidingVerdicts(view.record, item).map((verdict) => chunkLine(view, verdict));
  const judgment = item.judgment ? `judgment ${item.judgment}` : null;
  return element(
    "div",
    { class: "reasons" },
    item.rationale ? element("p", {}, "Rationale: ", quoted(item.rationale, "q")) : null,
    lines.length ? element("ul", {}, lines) : null,
    element(
      "p",
      { class: "quiet" },
      [probability(item), judgeOf(view.run, item), judgment].filter(Boolean).join(" · "),
    ),
    view.labels?.panel(item) ?? null,
  );
}

/** The probability of a verdict, always that of support, of yes, or of right. */
function probability(item) {
  if (item.probability === undefined) return "";
  const of = { entail: "support", correct: "right" }[kindOf(item)] ?? "yes";
  return `probability of ${of} ${item.probability.toFixed(2)}`;
}

function chunkLine(view, { label, field, text }) {
  const shade = tone(label);
  const words = { good: "supported by", bad: "contradicted by" }[shade] ?? "nearest passage:";
  const name = sourceName(view.record.sample, field);
  const jump = element("button", { type: "button", class: "jump", click: () => view.jump(field) }, name);
  return element("li", { class: shade }, `${SIGNS[shade]} ${words} `, jump, text ? [": ", quoted(text, "q")] : "");
}

/** Who judged it: the judge of that kind of question, or people, whose labels take precedence. */
function judgeOf(run, item) {
  if (!item.judgment) return "decided by a rule, without a judge";
  const kind = kindOf(item);
  const topics = Object.keys(run.judges).filter((key) => key === kind || key.startsWith(`${kind}:`));
  const judges = (topics.length ? topics : ["*"]).map((key) => run.judges[key]?.name).filter(Boolean);
  const people = run.labelled ? ", or by people where they labelled it" : "";
  return `judged by ${[...new Set(judges)].join(" or ") || "an unknown judge"}${people}`;
}

function kindOf({ label, value, against }) {
  if (value !== undefined) return "rate";
  if (["right", "partly", "wrong", "undecided"].includes(label)) return "correct";
  if (label !== "yes" && label !== "no") return "entail";
  return against ? "relevant" : "classify";
}

/** Arrows open the previous or next entry; other keys may label the open one, if the page takes labels. */
function followKey(event, view) {
  if (isShortcut(event) && view.labels?.key(event.key.toLowerCase())) event.preventDefault();
  const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const next = view.opened + (move ?? 0);
  if (!move || next < 0 || next >= view.evidence.length) return;
  event.preventDefault();
  view.open(next);
}

/** The query and the response. */
export function queryAndResponse(view) {
  const fields = ["query", "response"].filter((field) => field in view.record.sample);
  return [...earlierTurns(view.record.sample), ...fields.map((field) => textBox(view, field))];
}

/** What was said before the query, and the calls of tools that were made, as a chat that scrolls. */
function earlierTurns({ turns = [], tool_calls: calls = [] }) {
  const said = turns.map((turn) => {
    const text = turn.text ? quoted(turn.text, "span") : null;
    return element("li", { class: turn.role }, element("b", {}, turn.role), " ", text, (turn.calls ?? []).map(called));
  });
  const chat = element("ol", { class: "chat", "aria-label": "Earlier turns", tabindex: 0 }, said);
  return [...(said.length ? [element("h2", {}, "Earlier turns"), chat] : []), ...calls.map(called)];
}

function called({ name, arguments: given = {}, result, error }) {
  const outcome = error ? `failed: ${error}` : (result ?? "no result recorded");
  return element("div", { class: "call quiet" }, quoted(`${name}(${JSON.stringify(given)}) → ${outcome}`, "code"));
}

/** What the response is checked against: references, gold claims, contexts, source, calls; and the other fields. */
export function referenceTexts(view) {
  const { sample } = view.record;
  const listed = ["references", "answers", "contexts"].flatMap((name) =>
    (sample[name] ?? []).map((_, i) => `${name}[${i}]`),
  );
  const fields = [...listed, ...("source" in sample ? ["source"] : []), ...callFields(sample)];
  const empty = sample.contexts?.length === 0 ? element("p", { class: "quiet" }, "Nothing was retrieved.") : null;
  return [fields.map((field) => textBox(view, field)), empty, otherFields(sample)];
}

function textBox(view, field) {
  const prefix = view.prefix ?? "";
  const name = fieldName(field, view.record.sample.turns);
  const text = textOf(view.record.sample, field);
  const parts = segments(text, marksIn(view, field)).map((segment) => marked(view, segment));
  const id = chunkId(view.record.sample, field);
  const attributes = {
    class: `text ${/^\w+/.exec(field)[0]}`,
    id: `${prefix}text-${field}`,
    "aria-label": `${prefix} ${name}`.trim(),
    tabindex: -1,
  };
  return element(
    "section",
    attributes,
    element("h2", {}, name, " ", id ? quoted(id, "span", { class: "quiet" }) : null, badges(view, field)),
    element("div", { class: "passage", dir: "auto" }, text ? parts : element("span", { class: "quiet" }, "(empty)")),
  );
}

/** The evidence in a text, and the characters that decide the open entry. */
function marksIn(view, field) {
  const judged = view.evidence
    .map((item, i) => ({ item, i, span: item.span }))
    .filter(({ item }) => item.field === field);
  const opened = view.evidence[view.opened];
  const deciding = opened ? decidingVerdicts(view.record, opened).filter((one) => one.field === field) : [];
  return [...deciding.map(({ span, label }) => ({ span, label })), ...judged];
}

/** Part of a text: coloured by the narrowest evidence that covers it, outlined if it decides the open entry. */
function marked(view, { text, marks }) {
  const judged = marks.find(({ item }) => item);
  const decides = marks.find(({ item }) => !item);
  if (!judged && !decides) return text;
  const shade = judged ? tone(judged.item.label, view.better) : "";
  const opened = marks.some(({ i }) => i === view.opened);
  const ring = decides ? `deciding ${tone(decides.label)}-ring` : "";
  const attributes = judged
    ? { click: () => view.open(judged.i), title: verdictName(judged.item), "data-piece": judged.i }
    : {};
  const kinds = [shade, ring, opened ? "opened" : ""].filter(Boolean).join(" ");
  return element("mark", { class: kinds, ...attributes }, text);
}

/** The verdicts on a context as a whole, and the verdict of a text on the opened entry. */
function badges(view, field) {
  const whole = view.evidence.filter((item) => item.field === field && field.startsWith("contexts"));
  const opened = view.evidence[view.opened];
  const verdicts = opened ? chunkVerdicts(view.record, opened).filter((one) => one.field === field) : [];
  const words = { good: "supports", bad: "contradicts" };
  return [
    whole.map((item) => verdictBadge(item, view.better)),
    verdicts.map(({ label }) => badge(tone(label), words[tone(label)] ?? "neutral")),
  ];
}

function badge(shade, words) {
  return element("span", { class: `badge ${shade}` }, `${SIGNS[shade]} ${words}`);
}

const TEXTS = "query response references contexts source answers turns tool_calls reference_tool_calls".split(" ");

function otherFields(sample) {
  const lines = Object.entries(sample).map(([name, value]) => {
    if (TEXTS.includes(name)) return null;
    return quoted(`${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`, "p", { class: "quiet" });
  });
  return lines.some(Boolean) ? details("Other fields", lines) : null;
}
