// Two runs compared: whether B is better than A, the samples that changed most, and one sample side by side.

import { details, element, figure, quoted, table, withCommands } from "./dom.js";
import { arrow, counted, number } from "./format.js";
import { scoreOf } from "./data.js";
import { address } from "./filters.js";
import { evidenceList, evidenceView, queryAndResponse } from "./evidence.js";

/** The comparison of two runs, from the document of `ragauge compare`. link: the address of a view, null without one. */
export function comparison(found, link) {
  const matched = `${counted(found.samples, "sample")} in both, matched by ${found.by}.`;
  const groups = found.groups === null ? "" : ` In ${counted(found.groups, "group")}.`;
  return [
    element("h1", { tabindex: -1 }, "Is B better than A?"),
    element("p", {}, "A: ", runLink(found.a, link), " · B: ", runLink(found.b, link)),
    element("p", {}, answer(found)),
    element("p", { class: "quiet" }, `${matched}${groups}${unmatched(found)}`),
    ...found.notes.map((note) => element("p", { class: "caution" }, note)),
    differences(found),
    element("p", { class: "quiet" }, LEGEND),
    missingValues(found),
    changes(found, link),
    leftOut(found),
    ...(found.judging ?? []).map((note) => element("p", { class: "quiet" }, withCommands(note))),
  ];
}

/** The metrics by which B is better, and worse, in a sentence. */
function answer({ differences }) {
  const metrics = (wanted) => Object.keys(differences).filter((metric) => differences[metric].verdict === wanted);
  const parts = ["better", "worse"].filter((verdict) => metrics(verdict).length);
  if (!parts.length) return "Not known: no difference is larger than chance would make it.";
  return `B is ${parts.map((verdict) => `${verdict} in ${metrics(verdict).join(", ")}`).join(", and ")}.`;
}

const LEGEND =
  "p (two-sided) and intervals are adjusted for all tests (Holm): an interval excludes 0 if a difference is shown. +/=/−: samples on which B is better, equal, worse. Can detect: the smallest " +
  "true difference that this many samples would show in 80 of 100 comparisons like this one; – where too few samples or groups differ.";

function runLink({ id, name, data }, link) {
  return element("a", { href: link({ run: id }) }, quoted(name || data), ` (${id})`);
}

function unmatched({ only_a: onlyA, only_b: onlyB }) {
  return onlyA || onlyB ? ` Left out: ${onlyA} only in A, ${onlyB} only in B.` : "";
}

/** The columns of the differences. */
const HEADS = {
  metric: null,
  A: "figure spare",
  B: "figure spare",
  "B − A": "figure",
  "95 % interval": "figure",
  p: "figure spare",
  n: "figure spare",
  "+/=/−": "figure spare",
  "B is": null,
  "can detect": "figure spare",
};

function differences(found) {
  const rows = Object.entries(found.differences).map(([metric, one]) => differenceRow(metric, one));
  return table("Differences", HEADS, element("tbody", {}, rows));
}

function differenceRow(metric, one) {
  const shade = { better: "good", worse: "bad" }[one.verdict] ?? "";
  const range = one.low_adjusted === null ? "–" : `[${signed(one.low_adjusted)}, ${signed(one.high_adjusted)}]`;
  const wins = one.wins === null ? "–" : `${one.wins}/${one.ties}/${one.losses}`;
  const p = pValue(one.p_adjusted);
  const figures = { A: number(one.a), B: number(one.b), "B − A": signed(one.difference), "95 % interval": range };
  const others = { p, n: String(one.n), "+/=/−": wins };
  return element(
    "tr",
    { "data-metric": metric },
    element("th", { scope: "row" }, `${metric} ${arrow(one.better)}`),
    Object.entries({ ...figures, ...others }).map(([head, words]) => figure(words, { class: HEADS[head] })),
    element("td", {}, one.verdict ? element("span", { class: `badge ${shade}` }, one.verdict) : ""),
    figure(number(one.detectable), { class: HEADS["can detect"] }),
  );
}

function signed(value) {
  return value === null ? "–" : `${value < 0 ? "−" : "+"}${number(Math.abs(value))}`;
}

function pValue(p) {
  return p === null ? "–" : p < 0.001 ? "<0.001" : p.toFixed(3);
}

/** How often each run has no value of a metric, which drops out of the differences. */
function missingValues({ differences }) {
  const lines = Object.entries(differences)
    .filter(([, { missing: one }]) => one.undefined_a || one.undefined_b || one.failed_a || one.failed_b)
    .map(([metric, { missing: one }]) => {
      const undefinedIn = `undefined in A ${one.undefined_a}, in B ${one.undefined_b}`;
      const p = one.p_adjusted === null ? "" : ` (p ${pValue(one.p_adjusted)})`;
      const failed = one.failed_a || one.failed_b ? `; failed in A ${one.failed_a}, in B ${one.failed_b}` : "";
      return element("li", {}, `${metric}: ${undefinedIn}${p}${failed}`);
    });
  return lines.length ? details("Samples not compared, for lack of a value", element("ul", {}, lines)) : null;
}

function changes(found, link) {
  if (!found.changes.length) return null;
  const p = ({ metric }) => found.differences[metric].p ?? 1;
  const sorted = found.changes.toSorted((one, other) => p(one) - p(other));
  const listed = sorted.map((change) => changedSample(found, change, link));
  return element("section", {}, element("h2", {}, "Largest changes"), element("ul", { class: "examples" }, listed));
}

function changedSample({ a, b }, { metric, id, query, a: before, b: after, pieces }, link) {
  const href = link({ a: a.id, b: b.id, sample: id, metric });
  const values = element("span", { class: "value" }, `${metric} ${number(before)} → ${number(after)}`);
  const evidence = pieces.map(({ run, said }) => element("li", {}, `${run.toUpperCase()}: `, quoted(said)));
  const title = element("a", { href }, values, " ", quoted(query || id));
  return element("li", {}, title, element("ul", { class: "quiet" }, evidence));
}

function leftOut({ left_out: reasons }) {
  const lines = Object.entries(reasons).map(([metric, reason]) => element("li", {}, `${metric}: ${reason}`));
  return lines.length ? details("Metrics not compared", element("ul", { class: "quiet" }, lines)) : null;
}

/** The sample called `id` in runs A and B, side by side, by one metric. open: opens a run by its id. */
export async function sideBySide(open, a, b, id, metric) {
  const [first, second] = await Promise.all([open(a), open(b)]);
  const row = first.rows.get(id) ?? second.rows.get(id);
  const title = first.rows.has(id) ? first.index.titles[row] : second.index.titles[row];
  const sides = await Promise.all([side("A", first, id, title, metric), side("B", second, id, title, metric)]);
  const back = element("a", { href: `#${new URLSearchParams({ a, b })}`, id: "list" }, "↑ comparison");
  const heading = element("h1", { tabindex: -1 }, "Sample ", quoted(id));
  return [
    element("div", { class: "about" }, heading, element("nav", { class: "steps" }, back)),
    element("div", { class: "sides" }, sides),
  ];
}

/** A sample in one run, found by its id or else by its title. */
async function side(name, data, id, title, metric) {
  const row = data.rows.get(id) ?? data.index.titles.indexOf(title);
  const section = element("section", { "aria-label": `In ${name}` });
  if (row < 0) {
    section.append(element("p", { role: "alert" }, `${name} does not have this sample.`));
    return section;
  }
  const open = (i) => {
    view.opened = i;
    draw();
    document.getElementById(`${name}piece-${i}`)?.focus();
  };
  const view = evidenceView(data, await data.sample(row), metric, { prefix: name, open, jump: () => {} });
  const draw = () => section.replaceChildren(...sideContent(name, data, view));
  draw();
  return section;
}

function sideContent(name, data, view) {
  const { record, metric } = view;
  const href = address(data, { view: "sample", sample: record.id, metric });
  const heading = element("h2", {}, `${name}: `, element("a", { href }, quoted(data.name)));
  const score = element("strong", {}, `${metric} ${arrow(view.better)} `);
  const value = number(scoreOf(record, metric)?.value);
  return [heading, element("p", { class: "explanation" }, score, value), ...queryAndResponse(view), evidenceList(view)];
}
