// Two runs side by side: whether B is really better than A, and the samples that changed most.

import { element, quoted } from "./dom.js";
import { fetched } from "./api.js";
import { arrow, counted, number } from "./words.js";

const FIGURES = ["A", "B", "B − A", "95 % interval", "p", "n", "+/=/−", "detects"];

/** The comparison of two runs, from the document of `ragauge compare`. */
export async function comparison(a, b) {
  const found = await fetched("api/compare", { a, b });
  const matched = `${counted(found.samples, "sample")} in both, matched by ${found.by}.`;
  const groups = found.groups === null ? "" : ` In ${counted(found.groups, "group")}.`;
  return [
    element("h1", { tabindex: -1 }, "Is B better than A?"),
    element("p", {}, "A: ", runLink(found.a), " · B: ", runLink(found.b)),
    element("p", { class: "quiet" }, `${matched}${groups}${alone(found)}`),
    ...found.notes.map((note) => element("p", { class: "caution" }, note)),
    table(found),
    element("p", { class: "quiet" }, MEANING),
    missing(found),
    changes(found),
    leftOut(found),
  ];
}

const MEANING =
  "p: two-sided, adjusted for all tests (Holm). +/=/−: samples on which B is better, equal, worse. Detects: the smallest " +
  "true difference that so many samples would show in 80 of 100 comparisons.";

function runLink({ id, name, data }) {
  return element("a", { href: `#${new URLSearchParams({ run: id })}` }, quoted(name || data), ` (${id})`);
}

function alone({ only_a: onlyA, only_b: onlyB }) {
  return onlyA || onlyB ? ` Left out: ${onlyA} only in A, ${onlyB} only in B.` : "";
}

function table({ differences }) {
  const heads = ["metric", "A", "B", "B − A", "95 % interval", "p", "n", "+/=/−", "B is", "detects"];
  const head = element(
    "tr",
    {},
    heads.map((title) => element("th", { scope: "col", class: FIGURES.includes(title) ? "figure" : null }, title)),
  );
  const rows = Object.entries(differences).map(([metric, one]) => row(metric, one));
  const made = element("table", {}, element("thead", {}, head), element("tbody", {}, rows));
  return element("div", { class: "wide", tabindex: 0, role: "region", "aria-label": "Differences" }, made);
}

function row(metric, one) {
  const shade = { better: "good", worse: "bad" }[one.verdict] ?? "";
  const range = one.low === null ? "–" : `[${signed(one.low)}, ${signed(one.high)}]`;
  const won = one.wins === null ? "–" : `${one.wins}/${one.ties}/${one.losses}`;
  const figures = [
    number(one.a),
    number(one.b),
    signed(one.difference),
    range,
    chance(one.p_adjusted),
    String(one.n),
    won,
  ];
  return element(
    "tr",
    { "data-metric": metric },
    element("th", { scope: "row" }, `${metric} ${arrow(one.better)}`),
    figures.map((figure) => element("td", { class: "figure" }, figure)),
    element("td", {}, one.verdict ? element("span", { class: `badge ${shade}` }, one.verdict) : ""),
    element("td", { class: "figure" }, number(one.detectable)),
  );
}

function signed(value) {
  return value === null ? "–" : `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(3)}`;
}

function chance(p) {
  return p === null ? "–" : p < 0.001 ? "<0.001" : p.toFixed(3);
}

/** How often each run has no value of a metric, which drops out of the differences. */
function missing({ differences }) {
  const lines = Object.entries(differences)
    .filter(([, { missing: one }]) => one.undefined_a || one.undefined_b || one.failed_a || one.failed_b)
    .map(([metric, { missing: one }]) => {
      const undefinedIn = `undefined in A ${one.undefined_a}, in B ${one.undefined_b}`;
      const p = one.p_adjusted === null ? "" : ` (p ${chance(one.p_adjusted)})`;
      const failed = one.failed_a || one.failed_b ? `; failed in A ${one.failed_a}, in B ${one.failed_b}` : "";
      return element("li", {}, `${metric}: ${undefinedIn}${p}${failed}`);
    });
  return lines.length
    ? element("details", {}, element("summary", {}, "Without a value, and so not compared"), element("ul", {}, lines))
    : null;
}

function changes(found) {
  if (!found.changes.length) return null;
  const certain = ({ metric }) => found.differences[metric].p ?? 1;
  const sorted = found.changes.toSorted((one, other) => certain(one) - certain(other));
  const listed = sorted.map((change) => changed(found, change));
  return element("section", {}, element("h2", {}, "What changed most"), element("ul", { class: "examples" }, listed));
}

function changed({ a, b }, { metric, id, query, a: before, b: after, pieces }) {
  const href = `#${new URLSearchParams({ a: a.id, b: b.id, sample: id, metric })}`;
  const values = element("span", { class: "value" }, `${metric} ${number(before)} → ${number(after)}`);
  const said = pieces.map((piece) => element("li", {}, `${piece.run.toUpperCase()}: `, quoted(piece.said)));
  return element(
    "li",
    {},
    element("a", { href }, values, " ", quoted(query || id)),
    element("ul", { class: "quiet" }, said),
  );
}

function leftOut({ left_out: reasons }) {
  const lines = Object.entries(reasons).map(([metric, reason]) => element("li", {}, `${metric}: ${reason}`));
  return lines.length
    ? element("details", {}, element("summary", {}, "Not compared"), element("ul", { class: "quiet" }, lines))
    : null;
}
