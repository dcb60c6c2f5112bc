// The overview: how good the system is, where and why it fails, and what was measured by which judge.

import { details, element, figure, quoted, table, withCommands } from "./dom.js";
import { arrow, counted, interval, number, whole } from "./format.js";
import {
  address,
  defaultFilter,
  describePattern,
  matchPatterns,
  readNumber,
  selectRows,
  thresholdMetrics,
} from "./filters.js";
import { histogram } from "./charts.js";
import { contradictingQuotes, decidingEvidence, verdictBadge } from "./evidence.js";

const WORST = 5;
const EXAMPLES = 3;

/** The columns of the estimates. */
const HEADS = {
  metric: null,
  value: "figure",
  "95 % interval": "figure",
  distribution: "spare",
  n: "figure",
  undefined: "figure spare",
  failed: "figure spare",
};

/** The whole view. thresholds: of the patterns, which the reader can change. */
export async function overview(data, thresholds) {
  const { words } = data.head;
  const worst = await worstSamples(data);
  return [
    element("h1", { tabindex: -1 }, data.name),
    element("p", { class: "quiet" }, words.headline),
    words.claims ? element("p", { class: "strong" }, words.claims) : null,
    element(
      "div",
      { class: "overview" },
      element("div", {}, worst),
      element("div", {}, estimates(data), ...(data.head.sections ?? []).map(addedSection)),
    ),
    failurePatterns(data, thresholds),
    data.labels?.summary() ?? null,
    words.caution ? element("section", {}, element("h2", {}, "How far to trust this"), element("p", {}, withCommands(words.caution))) : null,
    element("section", {}, element("h2", {}, "The run"), facts(data), notes(words.footnotes)),
  ];
}

async function worstSamples(data) {
  const filter = defaultFilter(data);
  const metric = filter.sort;
  if (!metric) return null;
  const rows = selectRows(data, filter, {})
    .slice(0, WORST)
    .filter((row) => isFlawed(data, metric, data.index.values[metric][row]));
  const all = element("a", { href: address(data, { view: "samples", filter }) }, `All ${counted(data.size, "sample")}`);
  const heading = element("h2", {}, `Worst answers by ${metric}`);
  const list = examples("ol", data, rows, metric, filter);
  const records = await Promise.all(rows.map((row) => data.sample(row)));
  records.forEach((record, i) => list.children[i].append(...answer(data, record, metric)));
  const shown = rows.length ? list : element("p", {}, "No answer is less than perfect.");
  return element("section", {}, heading, about(data, metric), shown, element("p", {}, all));
}

/** Whether a value is worse than the best of its metric; a preference, than that neither text is better. */
function isFlawed(data, metric, value) {
  const { scale } = data.head.estimates[metric];
  if (value === null || !scale) return value !== null;
  const isHigher = data.better(metric) === "higher";
  const isPreference = scale[0] === -2 && scale[1] === 2;
  const best = isPreference ? 0 : scale[isHigher ? 1 : 0];
  return isHigher ? value < best : value > best;
}

/** A response, the claim in it that decides the score, and what contradicts that. Where there is no query, the link is the response. */
function answer(data, record, metric) {
  const piece = decidingEvidence(record, metric, data.better(metric));
  const response = quoted(record.sample.response || "(empty response)", "div", { class: "answer" });
  const told = record.sample.query || !record.sample.response ? [response] : [];
  if (!piece) return told;
  const claim = element("div", { class: "answer" }, verdictBadge(piece, data.better(metric)), " ", quoted(piece.text));
  const quotes = contradictingQuotes(record, piece).map((line) => element("div", { class: "answer" }, line));
  return [...told, claim, ...quotes];
}

/** What a metric is, in about four words or else in one line; runs of earlier versions do not say. */
function about(data, metric) {
  const { captions, about: lines } = data.head.run;
  const words = captions?.[metric] ?? lines?.[metric];
  return words ? element("p", { class: "quiet about-metric" }, words) : null;
}

/** Samples with their values, as links. */
function examples(tag, data, rows, metric, filter) {
  const listed = rows.map((row) => {
    const id = data.index.ids[row];
    const value = element("span", { class: "value" }, number(data.index.values[metric]?.[row]));
    const href = address(data, { view: "sample", sample: id, metric, filter });
    return element("li", {}, element("a", { href }, value, " ", quoted(data.index.titles[row] || id)));
  });
  return element(tag, { class: "examples" }, listed);
}

function failurePatterns(data, thresholds) {
  const list = element("div", {});
  const draw = () => list.replaceChildren(...patternList(data, thresholds).filter(Boolean));
  draw();
  const words = "Likely causes, from the scores of each sample taken together. A sample can match several patterns.";
  return element(
    "section",
    { "aria-label": "Why answers fail" },
    element("h2", {}, "Why answers fail"),
    element("p", { class: "quiet" }, words),
    list,
    thresholdFields(data, thresholds, draw),
  );
}

function patternList(data, thresholds) {
  const patterns = matchPatterns(data, thresholds);
  const matched = patterns.filter(({ rows }) => rows.length);
  const absent = patterns.filter(({ measured, rows }) => measured && !rows.length);
  const unknown = patterns.filter(({ measured }) => !measured);
  const items = matched.map(({ pattern, rows }) => patternItem(data, pattern, rows, thresholds));
  const titles = (listed) => listed.map(({ pattern }) => pattern.title).join(", ");
  const note = (words, listed) =>
    listed.length ? element("p", { class: "quiet" }, `${words}: ${titles(listed)}.`) : null;
  return [
    element("ul", { class: "patterns" }, items),
    note("Not found", absent),
    note("Not checked (metrics not measured)", unknown),
  ];
}

function patternItem(data, pattern, rows, thresholds) {
  const metric = mainMetric(data, pattern) ?? data.head.chooser ?? "";
  const filter = { ...defaultFilter(data), pattern: pattern.name, sort: metric };
  const share = element("span", { class: "share", "aria-hidden": "true" }, element("span", {}));
  share.firstChild.style.width = `${(100 * rows.length) / data.size}%`;
  const href = address(data, { view: "samples", filter });
  const title = element("strong", {}, pattern.title);
  const first = selectRows(data, filter, thresholds).slice(0, EXAMPLES);
  return element(
    "li",
    {},
    element("a", { class: "pattern", href }, title, " ", counted(rows.length, "sample")),
    share,
    element("p", {}, pattern.advice),
    examples("ul", data, first, metric, filter),
    element("p", { class: "quiet" }, describePattern(pattern, data, thresholds)),
  );
}

/** The metric that shows a pattern best: the first that is out of bounds in it, else the first that it depends on. */
function mainMetric(data, { when }) {
  const bad = when.filter(({ level }) => level !== "at_least");
  return [...bad, ...when].flatMap(({ signals }) => signals).find((name) => name in data.index.values) ?? null;
}

function thresholdFields(data, thresholds, redraw) {
  const fields = thresholdMetrics(data).map((name) => {
    const input = (event) => {
      thresholds[name] = readNumber(event.target.value) ?? data.head.cuts[name];
      redraw();
    };
    const field = element("input", { type: "number", step: 0.05, value: thresholds[name], input });
    return element("label", {}, `${name} `, field);
  });
  if (!fields.length) return null;
  const words =
    "Where low ends and high begins. These are conventions and were not fitted to data; change them, and the list above " +
    "is updated.";
  return details("Thresholds", [element("p", { class: "quiet" }, words), fields], { class: "thresholds" });
}

/** Every metric in a row; names, bars and counts link to their samples. */
function estimates(data) {
  const all = Object.entries(data.head.estimates).map(([metric, estimate]) => [
    data.head.headline.includes(metric),
    estimateRow(data, metric, estimate),
  ]);
  const rows = (first) => all.filter(([is]) => is === first).map(([, row]) => row);
  const others = rows(false);
  const legend =
    "↑ higher is better, ↓ lower is better. The bar above a distribution is the interval, the tick in it the value.";
  return element(
    "section",
    { class: "estimates" },
    element("h2", {}, "Estimates"),
    table("Estimates", HEADS, element("tbody", {}, rows(true))),
    element("p", { class: "quiet" }, legend),
    others.length
      ? details(`${counted(others.length, "more metric")}`, table("More estimates", HEADS, element("tbody", {}, others)))
      : null,
  );
}

function estimateRow(data, metric, estimate) {
  const values = data.index.values[metric];
  const link = (filter) =>
    address(data, { view: "samples", filter: { ...defaultFilter(data), sort: metric, ...filter } });
  const condition = (one) => link({ where: [{ metric, low: null, high: null, is: "", ...one }] });
  const name = breakable(`${metric} ${arrow(estimate.better)}`);
  const between = (low, high, last) => condition({ low, high: last ? high : high - 1e-6 });
  const missing = (is) =>
    estimate[is] && values ? element("a", { href: condition({ is }) }, String(estimate[is])) : estimate[is] || "";
  return element(
    "tr",
    {},
    element("th", { scope: "row" }, values ? element("a", { href: link({}) }, name) : name, about(data, metric)),
    figure(number(estimate.value), { class: "figure strong" }),
    figure(interval(estimate), { title: estimate.method }),
    element("td", { class: "spare" }, values && estimate.n ? histogram(metric, values, estimate, between) : ""),
    figure(String(estimate.n)),
    figure(missing("undefined"), { class: "figure spare" }),
    figure(missing("failed"), { class: "figure spare" }),
  );
}

/** A section that a function of the user's added to the report. */
function addedSection({ title, description, columns, rows, numeric }) {
  const kind = (column) => (numeric[column] ? "figure" : null);
  const heads = columns.map((name, i) => [name, kind(i)]);
  const cells = (row) => row.map((cell, i) => quoted(cell, "td", { class: kind(i) }));
  const body = rows.map((row) => element("tr", {}, cells(row)));
  return element(
    "section",
    { class: "added" },
    element("h2", {}, title),
    description ? element("p", { class: "quiet" }, description) : null,
    rows.length ? table(title, heads, element("tbody", {}, body)) : null,
  );
}

/** A name that may be broken after its separators. */
function breakable(name) {
  return name.split(/(?<=[_.@(,])/).flatMap((part) => [part, element("wbr")]);
}

function facts(data) {
  const { run, words } = data.head;
  const facts = {
    run: run.id,
    status: run.status,
    data: `${run.data}, ${counted(run.samples, "sample")}, hash ${run.data_hash || "unknown"}`,
    judges: Object.entries(run.judges).map(([kind, judge]) => describeJudge(kind, judge)),
    judgments: `${whole(run.asked)} by the judge, ${whole(run.reused)} from the store, ${run.labelled} by people`,
    cost: words.spent || "none: no model was called",
    time: `${run.seconds.toFixed(1)} s, started ${run.started}`,
    version: `ragauge ${run.version}, document ${data.head.schema}`,
  };
  const described = Object.entries(facts).map(([name, words]) => {
    const lines = [words].flat().map((line) => quoted(line, "div"));
    return [element("dt", {}, name), element("dd", {}, lines)];
  });
  return element("dl", { class: "facts" }, described);
}

function describeJudge(kind, { name, settings }) {
  const described = settings.map(([key, value]) => `${key} ${value}`).join(", ");
  const judge = described ? `${name} (${described})` : name;
  return kind === "*" ? judge : `${kind}: ${judge}`;
}

function notes(footnotes) {
  const lines = footnotes.map((note) => quoted(note, "li"));
  return element("ul", { class: "quiet" }, lines);
}
