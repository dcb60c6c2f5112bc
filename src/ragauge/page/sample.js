// One sample: query and response, its scores, and the evidence of one of them.

import { details, element, quoted } from "./dom.js";
import { arrow, counted, number, whole } from "./format.js";
import { editForm } from "./edit.js";
import { evidenceOf, metricsOf, scoreOf } from "./data.js";
import { address, matchesPattern } from "./filters.js";
import { evidenceList, evidenceView, queryAndResponse, referenceTexts } from "./evidence.js";

/** The view of a sample by one metric. position: {row, rows} in the list that it was found in. */
export async function sampleView(data, thresholds, { sample: id, metric: wanted, filter }, position) {
  const record = await data.sample(position.row);
  const metric = scoreOf(record, wanted) ? wanted : usualMetric(data, record);
  const content = element("div", { class: "sample" });
  const labels = data.labels ? await data.labels.onSample(position.row, metric) : null;
  const open = (i) => {
    view.opened = i;
    draw();
    document.getElementById(`piece-${i}`)?.focus({ preventScroll: false });
    showDeciding(content);
  };
  const jump = (field) => document.getElementById(`text-${field}`)?.focus();
  const view = evidenceView(data, record, metric, { labels, open, jump });
  const draw = () => content.replaceChildren(...columns(view));
  draw();
  const shown = { data, filter, metric, labels, ...position };
  const heading = element("h1", { tabindex: -1 }, "Sample ", quoted(id));
  const top = element("div", { class: "about" }, heading, steps(shown), patternTags(data, thresholds, position.row));
  const values = scores(shown, record);
  labels?.onChange(() => {
    values.replaceChildren(...scores(shown, record).childNodes);
    view.open(view.opened);
  });
  const form = editForm(data.labels, position.row, record, labels?.edit);
  return { nodes: [top, values, content, form].filter(Boolean), ready: () => showDeciding(content) };
}

/** The default metric: that of the list, else the first with a judged part of the response. */
function usualMetric(data, record) {
  const located = (metric) => evidenceOf(record, metric).some(({ field, span }) => field === "response" && span);
  const metrics = [data.head.chooser, ...metricsOf(record)].filter((metric) => scoreOf(record, metric));
  return metrics.find(located) ?? metrics[0] ?? "";
}

function columns(view) {
  const label = "What the response is checked against";
  return [
    element("div", {}, queryAndResponse(view), explanation(view), evidenceList(view), failures(view.record)),
    element("div", { class: "given", role: "region", tabindex: 0, "aria-label": label }, referenceTexts(view)),
  ];
}

/** Scroll to the deciding characters, in their own column if that scrolls. */
function showDeciding(content) {
  const column = content.querySelector(".given");
  const mark =
    column?.querySelector(".deciding.bad-ring, .deciding.good-ring, mark.opened") ?? column?.querySelector(".deciding");
  if (!mark || column.scrollHeight <= column.clientHeight) return;
  column.scrollTop += mark.getBoundingClientRect().top - column.getBoundingClientRect().top - column.clientHeight / 3;
}

/** Links to the samples before and after this one in the list, and to the list; keys lead to them by their ids. */
function steps({ data, filter, metric, row, rows }) {
  const at = rows.indexOf(row);
  const link = (id, to, words) => {
    const href =
      to === undefined ? null : address(data, { view: "sample", sample: data.index.ids[to], metric, filter });
    return element("a", { id, href, "aria-disabled": href ? null : "true", role: href ? null : "link" }, words);
  };
  return element(
    "nav",
    { class: "steps", "aria-label": "Samples" },
    link("previous", rows[at - 1], "← previous"),
    at < 0 ? "not in the list" : `${whole(at + 1)} of ${whole(rows.length)}`,
    link("next", rows[at + 1], "next →"),
    element("a", { href: address(data, { view: "samples", filter }), id: "list" }, "↑ list"),
  );
}

function patternTags(data, thresholds, row) {
  const matched = data.head.patterns.filter((pattern) => matchesPattern(pattern, data, row, thresholds));
  const tags = matched.map(({ title, advice }) => [element("span", { class: "tag", title: advice }, title), " "]);
  return tags.length ? element("span", {}, tags) : null;
}

function scores({ data, filter, metric: current, labels }, record) {
  const link = (metric) => {
    const { value, failed, counts } = scoreOf(record, metric);
    const missing = counts ? "counted" : failed ? "failed" : "undefined";
    const shown = element("b", {}, value === undefined ? missing : number(value));
    const href = address(data, { view: "sample", sample: record.id, metric, filter });
    const attributes = { href, "aria-current": metric === current ? "true" : null };
    return element("a", attributes, metric, " ", shown, labels?.corrected(metric, value) ?? null);
  };
  const first = (metric) => metric === current || data.head.headline.includes(metric);
  const metrics = metricsOf(record);
  const others = metrics.filter((metric) => !first(metric)).map(link);
  const more = others.length ? details(counted(others.length, "more score"), others) : null;
  return element("nav", { class: "scores", "aria-label": "Scores" }, metrics.filter(first).map(link), more);
}

function explanation({ record, metric, evidence, better }) {
  const name = element("strong", {}, `${metric} ${arrow(better)} `);
  const none = evidence.length ? "" : ". Nothing was judged for this metric.";
  return element("p", { class: "explanation" }, name, quoted(describeScore(scoreOf(record, metric) ?? {})), none);
}

function describeScore({ value, counts, undefined: nothing, failed }) {
  if (value !== undefined) return number(value) + (counts?.length === 2 ? ` (${counts[0]} of ${counts[1]})` : "");
  if (counts) return `measured over the whole data set; this sample adds ${counts.join(", ")} to its counts`;
  if (failed) return `failed: ${failed}`;
  return nothing ? `undefined: ${nothing}` : "";
}

function failures({ failures }) {
  if (!failures.length) return null;
  const lines = failures.map(({ reason, detail = "", raw }) => {
    return element("li", {}, `${reason}: `, quoted(detail), raw ? quoted(raw, "pre") : null);
  });
  return element("section", {}, element("h2", {}, "Unanswered questions"), element("ul", {}, lines));
}
