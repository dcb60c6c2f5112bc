// One sample: what was asked and answered, each score, and each claim with what supports or contradicts it.

import { element, quoted } from "./dom.js";
import { arrow, number } from "./words.js";
import { piecesOf, scoreOf } from "./data.js";
import { shows } from "./patterns.js";
import { address } from "./route.js";
import { mostTelling, pieceList } from "./pieces.js";
import { asked, given } from "./texts.js";

/** The view of a sample by one metric. position: {row, rows} in the list that it was found in. */
export async function sampleView(data, cuts, { sample: id, metric, filter }, position) {
  const record = await data.sample(position.row);
  const chosenMetric = scoreOf(record, metric) ? metric : usualMetric(data, record);
  const pieces = piecesOf(record, chosenMetric);
  const { better } = data.head.estimates[chosenMetric] ?? { better: "higher" };
  const content = element("div", { class: "sample" });
  const labels = data.people ? await data.people.onSample(position.row, chosenMetric) : null;
  const view = { run: data.head.run, record, pieces, better, opened: mostTelling(pieces, better), labels };
  view.open = (i) => {
    view.opened = i;
    draw();
    document.getElementById(`piece-${i}`)?.focus({ preventScroll: false });
    showDeciding(content);
  };
  view.jump = (field) => document.getElementById(`text-${field}`)?.focus();
  const draw = () => content.replaceChildren(...columns(view, chosenMetric));
  draw();
  const passed = { data, filter, metric: chosenMetric, labels, ...position };
  const heading = element("h1", { tabindex: -1 }, "Sample ", quoted(id));
  const top = element("div", { class: "about" }, heading, steps(passed), marks(data, cuts, position.row));
  const values = scores(passed, record);
  labels?.follow(() => {
    values.replaceChildren(...scores(passed, record).childNodes);
    view.open(view.opened);
  });
  const nodes = [top, values, content];
  return { nodes, ready: () => showDeciding(content) };
}

/** The metric to look at where none is asked for: that of the list, else the first with a judged part of the response. */
function usualMetric(data, record) {
  const located = (metric) => piecesOf(record, metric).some(({ field, span }) => field === "response" && span);
  const metrics = [data.head.chooser, ...Object.keys({ ...record.scores, ...record.counted })].filter((metric) =>
    scoreOf(record, metric),
  );
  return metrics.find(located) ?? metrics[0] ?? "";
}

function columns(view, metric) {
  const left = element("div", {}, asked(view), explanation(view, metric), pieceList(view), failures(view.record));
  const right = element(
    "div",
    { class: "given", role: "region", tabindex: 0, "aria-label": "What the response is held against" },
    given(view),
  );
  return [left, right];
}

/** Bring what decides into sight, in its own column where that scrolls. */
function showDeciding(content) {
  const column = content.querySelector(".given");
  const mark =
    column?.querySelector(".deciding.bad-ring, .deciding.good-ring, mark.opened") ?? column?.querySelector(".deciding");
  if (!mark || column.scrollHeight <= column.clientHeight) return;
  column.scrollTop += mark.getBoundingClientRect().top - column.getBoundingClientRect().top - column.clientHeight / 3;
}

function steps({ data, filter, metric, row, rows }) {
  const at = rows.indexOf(row);
  const link = (to, words) => {
    const href =
      to === undefined ? null : address(data, { view: "sample", sample: data.index.ids[to], metric, filter });
    return element("a", { href, "aria-disabled": href ? null : "true", role: href ? null : "link" }, words);
  };
  const place = at < 0 ? "not in the list" : `${(at + 1).toLocaleString("en")} of ${rows.length.toLocaleString("en")}`;
  const list = element("a", { href: address(data, { view: "samples", filter }), id: "list" }, "↑ list");
  return element(
    "nav",
    { class: "steps", "aria-label": "Samples" },
    link(rows[at - 1], "← previous"),
    place,
    link(rows[at + 1], "next →"),
    list,
  );
}

function marks(data, cuts, row) {
  const shown = data.head.patterns.filter((pattern) => shows(pattern, data, row, cuts));
  return shown.length
    ? element(
        "span",
        {},
        shown.map(({ title, advice }) => [element("span", { class: "tag", title: advice }, title), " "]),
      )
    : null;
}

function scores(passed, record) {
  const metrics = Object.keys({ ...record.scores, ...record.counted });
  return element(
    "nav",
    { class: "scores", "aria-label": "Scores" },
    metrics.map((metric) => {
      const { value, failed, counts } = scoreOf(record, metric);
      const missing = failed ? "failed" : "undefined";
      const said = value !== undefined ? number(value) : counts ? "counted" : missing;
      const href = address(passed.data, { view: "sample", sample: record.id, metric, filter: passed.filter });
      const current = metric === passed.metric ? "true" : null;
      const people = passed.labels?.corrected(metric, value) ?? null;
      return element("a", { href, "aria-current": current }, metric, " ", element("b", {}, said), people);
    }),
  );
}

function explanation({ record, pieces, better }, metric) {
  const none = pieces.length ? "" : " It has no judged pieces.";
  const said = quoted(scoreWords(scoreOf(record, metric) ?? {}));
  return element("p", { class: "explanation" }, element("strong", {}, `${metric} ${arrow(better)} `), said, none);
}

function scoreWords({ value, counts, undefined: nothing, failed }) {
  if (value !== undefined) return number(value) + (counts?.length === 2 ? ` (${counts[0]} of ${counts[1]})` : "");
  if (counts) return `a value of the whole data set, to whose counts this sample adds ${counts.join(", ")}`;
  if (failed) return `failed: ${failed}`;
  return nothing ? `undefined: ${nothing}` : "";
}

function failures({ failures }) {
  if (!failures.length) return null;
  const told = failures.map(({ reason, detail = "", raw }) => {
    return element("li", {}, `${reason}: `, quoted(detail), raw ? quoted(raw, "pre") : null);
  });
  return element("section", {}, element("h2", {}, "Questions without an answer"), element("ul", {}, told));
}
