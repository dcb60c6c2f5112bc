// The judged pieces behind a score: each with its verdict, and, once it is opened, why.

import { element, quoted } from "./dom.js";
import { SIGNS, fieldName, tone, verdict } from "./words.js";
import { sliced } from "./spans.js";

const DECIDING = ["entailed", "contradicted"];

/** The piece that a reader should see first: what is contradicted, else what is not supported; -1 where none is. */
export function mostTelling(pieces, better) {
  const own = (piece) => piece.field === "response";
  const ranked = pieces.map((piece, i) => [rank(tone(piece.label, better)) + (own(piece) ? 0 : 0.5), i]);
  return ranked.sort((one, other) => one[0] - other[0] || one[1] - other[1])[0]?.[1] ?? -1;
}

function rank(tone) {
  return ["bad", "weak", "good", "plain"].indexOf(tone);
}

/** The field of a sample that the i-th chunk of a piece names. */
export function fieldOf(sample, piece, i) {
  const { chunk } = piece.chunks[i];
  if (piece.against === "contexts") return `contexts[${i}]`;
  const position = (sample.contexts ?? []).findIndex(({ id }) => id === chunk);
  return position >= 0 ? `contexts[${position}]` : chunk;
}

/** What each chunk says of a piece: [{field, chunk, label, probability, span, text}]. */
export function sayings(record, piece) {
  return (piece.chunks ?? []).map((chunk, i) => {
    const field = fieldOf(record.sample, piece, i);
    const passage = passageOf(record.sample, field);
    return { ...chunk, field, text: chunk.span && passage ? sliced(passage, chunk.span) : "" };
  });
}

/** Those that decide; where none does, the one that comes nearest to it. */
export function deciding(record, piece) {
  const all = sayings(record, piece);
  const told = all.filter(({ label }) => DECIDING.includes(label));
  const near = all.filter(({ text }) => text).sort((one, other) => (other.probability ?? 0) - (one.probability ?? 0));
  return told.length ? told : near.slice(0, 1);
}

/** The text of a field such as "response", "references[0]" or "contexts[2]", as judges read it. */
export function passageOf(sample, field) {
  const [, name, position] = /^(\w+)(?:\[(\d+)\])?$/.exec(field) ?? [];
  const value = position === undefined ? sample[name] : sample[name]?.[Number(position)];
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.join(" / ");
  return value?.text === undefined ? "" : value.title ? `${value.title}\n${value.text}` : value.text;
}

/** The id of a context, where it is not just its position; empty for another field. */
export function ownId(sample, field) {
  const position = Number(/^contexts\[(\d+)\]$/.exec(field)?.[1]);
  const id = sample.contexts?.[position]?.id ?? "";
  return id === String(position + 1) ? "" : id;
}

/** The pieces as a list whose entries open; `view`: {run, record, pieces, better, opened, open, labels}. */
export function pieceList(view) {
  const groups = Map.groupBy(
    view.pieces.map((_, i) => i),
    (i) => heading(view.pieces[i]),
  );
  return element(
    "div",
    { class: "pieces", keydown: (event) => step(event, view) },
    [...groups].map(([title, positions]) => {
      return element(
        "section",
        {},
        element("h2", {}, title),
        element(
          "ul",
          {},
          positions.map((i) => entry(view, i)),
        ),
      );
    }),
  );
}

function heading({ field, against = "", value }) {
  if (value !== undefined) return `Graded: ${against}`;
  if (against === "refusal") return "Is the response a refusal?";
  if (field === "response" && against.startsWith("contexts[")) return "Citations";
  return against ? `${judgedIn(field)}, held against ${fieldName(against)}` : judgedIn(field);
}

function judgedIn(field) {
  if (field === "response") return "Claims of the response";
  if (field.startsWith("references")) return `Claims of ${fieldName(field)}`;
  return { contexts: "Contexts", answers: "Gold claims" }[/^\w+/.exec(field)[0]] ?? fieldName(field);
}

function entry(view, i) {
  const piece = view.pieces[i];
  const shade = tone(piece.label, view.better);
  const opened = i === view.opened;
  const attributes = {
    type: "button",
    id: `${view.prefix ?? ""}piece-${i}`,
    class: `piece ${shade}`,
    "aria-expanded": String(opened),
    click: () => view.open(i),
  };
  const said = element("span", { class: "verdict" }, `${SIGNS[shade]} ${verdict(piece)}`);
  const name = /^contexts/.test(piece.field) ? `${fieldName(piece.field)}: ` : "";
  return element(
    "li",
    {},
    element("button", attributes, said, " ", name, quoted(piece.text)),
    opened ? reasons(view, piece) : null,
  );
}

function reasons(view, piece) {
  const told = deciding(view.record, piece);
  const judgment = piece.judgment ? `judgment ${piece.judgment}` : null;
  return element(
    "div",
    { class: "reasons" },
    piece.rationale ? element("p", {}, "Rationale: ", quoted(piece.rationale, "q")) : null,
    told.length
      ? element(
          "ul",
          {},
          told.map((one) => saying(view, one)),
        )
      : null,
    element("p", { class: "quiet" }, [chance(piece), judgeOf(view.run, piece), judgment].filter(Boolean).join(" · ")),
    view.labels?.panel(piece) ?? null,
  );
}

/** The probability that goes with a verdict, which is that of support or of yes, whatever the verdict. */
function chance({ probability, label }) {
  if (probability === undefined) return "";
  return `probability of ${label === "yes" || label === "no" ? "yes" : "support"} ${probability.toFixed(2)}`;
}

function saying(view, { label, field, text }) {
  const shade = tone(label);
  const words = { good: "supported by", bad: "contradicted by" }[shade] ?? "nearest passage: in";
  const named = [fieldName(field), ownId(view.record.sample, field)].filter(Boolean).join(", ");
  const jump = element("button", { type: "button", class: "jump", click: () => view.jump(field) }, named);
  return element("li", { class: shade }, `${SIGNS[shade]} ${words} `, jump, text ? [": ", quoted(text, "q")] : "");
}

/** Who said it: the judge of that kind of question. Where labels of people were used, they went before. */
function judgeOf(run, piece) {
  if (!piece.judgment) return "told by rule, no judge was asked";
  const kind = kindOf(piece);
  const topics = Object.keys(run.judges).filter((key) => key === kind || key.startsWith(`${kind}:`));
  const judges = (topics.length ? topics : ["*"]).map((key) => run.judges[key]?.name).filter(Boolean);
  const people = run.labelled ? ", or people where they labelled it" : "";
  return `judged by ${[...new Set(judges)].join(" or ") || "an unknown judge"}${people}`;
}

function kindOf({ label, value, against }) {
  if (value !== undefined) return "rate";
  if (label !== "yes" && label !== "no") return "entail";
  return against ? "relevant" : "classify";
}

function step(event, view) {
  const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const next = view.opened + (move ?? 0);
  if (labelled(event, view)) event.preventDefault();
  if (!move || next < 0 || next >= view.pieces.length) return;
  event.preventDefault();
  view.open(next);
}

/** Whether a key said something of the opened piece, where that can be said. */
function labelled(event, { labels }) {
  if (!labels || event.target.matches("input") || event.altKey || event.ctrlKey || event.metaKey) return false;
  return labels.key(event.key.toLowerCase());
}
