// The texts of a sample, with what was judged in them marked, and what decides about the piece that is looked at.

import { element, quoted } from "./dom.js";
import { SIGNS, fieldName, tone, verdict } from "./words.js";
import { segments } from "./spans.js";
import { deciding, ownId, passageOf, sayings } from "./pieces.js";

/** The query and the response; `view` as in pieces.js. */
export function asked(view) {
  return ["query", "response"].filter((field) => field in view.record.sample).map((field) => box(view, field));
}

/** What the response is held against: references, contexts, source, gold claims. */
export function given(view) {
  const { sample } = view.record;
  const listed = (name) => (sample[name] ?? []).map((_, i) => `${name}[${i}]`);
  const fields = [
    ...listed("references"),
    ...listed("answers"),
    ...listed("contexts"),
    ...("source" in sample ? ["source"] : []),
  ];
  const empty = sample.contexts?.length === 0 ? element("p", { class: "quiet" }, "Nothing was retrieved.") : null;
  return [...fields.map((field) => box(view, field)), empty, aside(view)];
}

function box(view, field) {
  const passage = passageOf(view.record.sample, field);
  const parts = segments(passage, marksIn(view, field)).map((segment) => marked(view, segment));
  return element(
    "section",
    {
      class: `text ${/^\w+/.exec(field)[0]}`,
      id: `${view.prefix ?? ""}text-${field}`,
      "aria-label": `${view.prefix ?? ""} ${fieldName(field)}`.trim(),
      tabindex: -1,
    },
    element("h2", {}, fieldName(field), " ", about(view, field), badges(view, field)),
    element("div", { class: "passage", dir: "auto" }, passage ? parts : element("span", { class: "quiet" }, "(empty)")),
  );
}

/** The pieces that stand in a text, and the characters that decide about the opened piece. */
function marksIn(view, field) {
  const judged = view.pieces
    .map((piece, i) => ({ piece, i, span: piece.span }))
    .filter(({ piece }) => piece.field === field);
  const opened = view.pieces[view.opened];
  const said = opened ? deciding(view.record, opened).filter((one) => one.field === field) : [];
  return [...said.map(({ span, label }) => ({ span, label })), ...judged];
}

/** Part of a text: coloured by the narrowest piece that covers it, and ringed where it decides about the opened one. */
function marked(view, { text, marks }) {
  const judged = marks.find(({ piece }) => piece);
  const decides = marks.find(({ piece }) => !piece);
  if (!judged && !decides) return text;
  const shade = judged ? tone(judged.piece.label, view.better) : "";
  const opened = marks.some(({ i }) => i === view.opened);
  const ring = decides ? `deciding ${tone(decides.label)}-ring` : "";
  const attributes = judged
    ? { click: () => view.open(judged.i), title: verdict(judged.piece), "data-piece": judged.i }
    : {};
  return element(
    "mark",
    { class: [shade, ring, opened ? "opened" : ""].filter(Boolean).join(" "), ...attributes },
    text,
  );
}

/** The id of a chunk, where it has one of its own. */
function about(view, field) {
  const id = ownId(view.record.sample, field);
  return id ? quoted(id, "span", { class: "quiet" }) : null;
}

/** What was said of a whole text, or what it says of the opened piece. */
function badges(view, field) {
  const whole = view.pieces.filter(
    (piece) => piece.field === field && field !== "response" && field.startsWith("contexts"),
  );
  const opened = view.pieces[view.opened];
  const said = opened ? sayings(view.record, opened).filter((one) => one.field === field) : [];
  const words = { good: "supports", bad: "contradicts" };
  return [
    whole.map((piece) => badge(tone(piece.label, view.better), verdict(piece))),
    said.map(({ label }) => badge(tone(label), words[tone(label)] ?? "is silent")),
  ];
}

function badge(shade, words) {
  return element("span", { class: `badge ${shade}` }, `${SIGNS[shade]} ${words}`);
}

function aside({ record }) {
  const { query, response, references, contexts, source, answers, ...rest } = record.sample;
  const lines = Object.entries(rest).map(
    ([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  if (!lines.length) return null;
  return element(
    "details",
    {},
    element("summary", {}, "Other fields"),
    lines.map((line) => quoted(line, "p", { class: "quiet" })),
  );
}
