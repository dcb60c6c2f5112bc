// The list of samples: filtered, sorted, and as long as it has to be.

import { element, quoted } from "./dom.js";
import { number } from "./words.js";
import { chosen } from "./filters.js";
import { found } from "./patterns.js";
import { address } from "./route.js";
import { Grid } from "./grid.js";
import { sieve } from "./sieve.js";

const COLUMNS = 4;
const TELLING = [
  "faithfulness",
  "hallucination",
  "answer_correctness",
  "answer_relevance",
  "context_recall",
  "context_relevance",
];

/** The view of a route's filter. cuts: of the patterns. active: the row that was looked at last. */
export function samples(data, cuts, filter, active) {
  const count = element("p", { class: "quiet", role: "status" });
  const controls = element("search", { class: "sieve", "aria-label": "Which samples" });
  const grid = new Grid("Samples", (row) => sampleAddress(data, filter, row));
  const marks = titlesByRow(data, cuts);
  const show = async () => {
    const rows = await filtered(data, filter, cuts);
    count.textContent = `${rows.length.toLocaleString("en")} of ${data.size.toLocaleString("en")} samples`;
    grid.show(columns(data, filter, marks, sortBy), rows, Math.max(0, rows.indexOf(active)));
  };
  const changed = (redraw) => {
    history.replaceState(null, "", address(data, { view: "samples", filter }));
    if (redraw) controls.replaceChildren(...drawn());
    return show();
  };
  const sortBy = (metric) => {
    filter.worst = filter.sort === metric ? !filter.worst : true;
    filter.sort = metric;
    changed(true);
  };
  const drawn = () => sieve(data, filter, changed).flat(Infinity).filter(Boolean);
  controls.replaceChildren(...drawn());
  return { nodes: [element("h1", { tabindex: -1 }, "Samples"), controls, count, grid.element], shown: show(), grid };
}

/** The rows that a filter lets pass, in its order. */
export async function filtered(data, filter, cuts) {
  return chosen(data, filter, cuts, filter.text.trim() ? await data.texts() : []);
}

/** Where a sample of the list is shown: by the metric that it was found by, where that has something to show. */
export function sampleAddress(data, filter, row) {
  const metric = [filter.where.at(-1)?.metric, filter.sort].find((name) => data.index.labels[name]?.[row]);
  return address(data, { view: "sample", sample: data.index.ids[row], metric, filter });
}

function titlesByRow(data, cuts) {
  const titles = data.index.ids.map(() => []);
  for (const { pattern, rows } of found(data, cuts)) for (const row of rows) titles[row].push(pattern.title);
  return titles;
}

function columns(data, filter, marks, sortBy) {
  const asked = [filter.sort, ...filter.where.map(({ metric }) => metric), ...TELLING, ...data.metrics];
  const metrics = [...new Set(asked)].filter((metric) => metric in data.index.values).slice(0, COLUMNS);
  const link = (row) =>
    element(
      "a",
      { href: sampleAddress(data, filter, row), tabindex: -1 },
      quoted(data.index.titles[row] || "(no text)"),
    );
  return [
    { title: "id", width: "6rem", kind: "id", cell: (row) => quoted(data.index.ids[row]) },
    { title: "query", width: "minmax(18rem, 5fr)", kind: "title", cell: link },
    ...metrics.map((metric) => metricColumn(data, filter, metric, sortBy)),
    { title: "patterns", width: "minmax(12rem, 4fr)", kind: "quiet", cell: (row) => marks[row].join(" · ") },
  ];
}

function metricColumn(data, filter, metric, sortBy) {
  const sorted = filter.sort === metric;
  const lower = data.head.estimates[metric]?.better === "lower";
  const rising = lower !== filter.worst;
  const failed = new Set(data.index.failed[metric]);
  const missing = (row) => (failed.has(row) ? "failed" : "–");
  const value = (row) => data.index.values[metric][row];
  return {
    title: metric,
    width: "8rem",
    kind: "figure",
    sorted: sorted ? (rising ? "ascending" : "descending") : null,
    heading: element(
      "button",
      { type: "button", tabindex: 0, title: metric, click: () => sortBy(metric) },
      metric,
      sorted ? (rising ? " ▲" : " ▼") : "",
    ),
    cell: (row) => (value(row) === null ? missing(row) : number(value(row))),
  };
}
