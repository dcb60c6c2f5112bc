// The list of samples: the controls that filter and sort it, and a grid of any length.

import { choice, element, quoted } from "./dom.js";
import { number, whole } from "./format.js";
import { VERDICTS, address, filteredRows, matchPatterns, readNumber } from "./filters.js";

/** The number of metrics with a column, and the default first ones. */
const COLUMNS = 4;
const PREFERRED = [
  "faithfulness",
  "contradicted_claims",
  "correctness",
  "answer_relevance",
  "context_recall",
  "context_relevance",
];

/** The view of a filter. thresholds: of the patterns. active: the last opened row. */
export function samplesView(data, thresholds, filter, active) {
  const count = element("p", { class: "quiet", role: "status" });
  const controls = element("search", { class: "filters", "aria-label": "Filter samples" });
  const grid = new Grid("Samples", (row) => sampleAddress(data, filter, row));
  const patterns = patternTitles(data, thresholds);
  const show = async () => {
    const rows = await filteredRows(data, filter, thresholds);
    count.textContent = `${whole(rows.length)} of ${whole(data.size)} samples`;
    grid.show(columns(data, filter, patterns, sortBy), rows, Math.max(0, rows.indexOf(active)));
  };
  const changed = (redraw) => {
    history.replaceState(null, "", address(data, { view: "samples", filter }));
    if (redraw) drawControls();
    return show();
  };
  const sortBy = (metric) => {
    filter.worst = filter.sort === metric ? !filter.worst : true;
    filter.sort = metric;
    changed(true);
  };
  const drawControls = () => controls.replaceChildren(...filterControls(data, filter, changed).filter(Boolean));
  drawControls();
  return { nodes: [element("h1", { tabindex: -1 }, "Samples"), controls, count, grid.element], shown: show(), grid };
}

/** The address of a sample in the list, with the metric of the filter if that has evidence. */
function sampleAddress(data, filter, row) {
  const metric = [filter.where.at(-1)?.metric, filter.sort].find((name) => data.index.labels[name]?.[row]);
  return address(data, { view: "sample", sample: data.index.ids[row], metric, filter });
}

function patternTitles(data, thresholds) {
  const titles = data.index.ids.map(() => []);
  for (const { pattern, rows } of matchPatterns(data, thresholds))
    for (const row of rows) titles[row].push(pattern.title);
  return titles;
}

function columns(data, filter, patterns, sortBy) {
  const wanted = [filter.sort, ...filter.where.map(({ metric }) => metric), ...PREFERRED, ...data.metrics];
  const metrics = [...new Set(wanted)].filter((metric) => metric in data.index.values).slice(0, COLUMNS);
  const link = (row) => {
    const title = quoted(data.index.titles[row] || "(no text)");
    return element("a", { href: sampleAddress(data, filter, row), tabindex: -1 }, title);
  };
  const scores = metrics.map((metric) => metricColumn(data, filter, metric, sortBy));
  return [
    { title: "id", width: "6rem", kind: "id", cell: (row) => quoted(data.index.ids[row]) },
    ...scores.slice(0, 1), // in sight on small screens, too
    { title: "query", width: "minmax(18rem, 5fr)", kind: "title", cell: link },
    ...scores.slice(1),
    { title: "patterns", width: "minmax(12rem, 4fr)", kind: "quiet", cell: (row) => patterns[row].join(" · ") },
  ];
}

function metricColumn(data, filter, metric, sortBy) {
  const sorted = filter.sort === metric;
  const rising = (data.better(metric) === "lower") !== filter.worst;
  const failed = new Set(data.index.failed[metric]);
  const cell = (row) => {
    const value = data.index.values[metric][row];
    return value === null && failed.has(row) ? "failed" : number(value);
  };
  const attributes = { type: "button", tabindex: 0, title: metric, click: () => sortBy(metric) };
  const heading = element("button", attributes, metric, sorted ? (rising ? " ▲" : " ▼") : "");
  const order = rising ? "ascending" : "descending";
  return { title: metric, width: "8rem", kind: "figure", sorted: sorted ? order : null, heading, cell };
}

/** The controls for a filter, which they change in place; changed: called then, with whether to draw them again. */
function filterControls(data, filter, changed) {
  const set =
    (name, redraw = false) =>
    (value) => {
      filter[name] = value;
      changed(redraw);
    };
  return [
    searchField(filter, set("text")),
    ...conditionControls(data, filter, changed),
    ...selections(data, filter, set),
  ];
}

function searchField({ text }, change) {
  const attributes = { type: "search", id: "text", value: text, placeholder: "words in query, response or id" };
  const field = element("input", { ...attributes, input: (event) => change(event.target.value) });
  return element("label", {}, "Text ", field);
}

function conditionControls(data, filter, changed) {
  const add = () => {
    filter.where.push({ metric: filter.sort || data.metrics[0], low: null, high: null, is: "" });
    changed(true);
  };
  const rows = filter.where.map((condition) => {
    const remove = () => {
      filter.where.splice(filter.where.indexOf(condition), 1);
      changed(true);
    };
    return conditionFields(data, condition, changed, remove);
  });
  const button = { type: "button", click: add, disabled: !data.metrics.length };
  return [...rows, element("button", button, "+ metric or verdict")];
}

const STATES = [["", "any verdict"], ...Object.keys(VERDICTS), "undefined", "failed"];

function conditionFields(data, condition, changed, remove) {
  const set = (name) => (value) => {
    condition[name] = value;
    changed(false);
  };
  const bound = (name, words) => {
    const input = (event) => set(name)(readNumber(event.target.value));
    const attributes = { type: "number", step: "any", value: condition[name], input };
    return element("input", { ...attributes, "aria-label": words, placeholder: words });
  };
  return element(
    "span",
    { class: "condition", role: "group", "aria-label": `Condition on ${condition.metric}` },
    choice("Metric", data.metrics, condition.metric, set("metric")),
    bound("low", "from"),
    bound("high", "to"),
    choice("Verdict", STATES, condition.is, set("is")),
    element("button", { type: "button", "aria-label": "Remove this condition", click: remove }, "×"),
  );
}

function selections(data, filter, set) {
  const patterns = data.head.patterns.map(({ name, title }) => [name, title]);
  const groups = [...new Set(data.index.groups)].filter(Boolean).sort();
  const sorts = [["", "order of the data"], ...data.metrics];
  const orders = [
    ["worst", "worst first"],
    ["best", "best first"],
  ];
  const turn = (order) => set("worst", true)(order === "worst");
  return [
    choice("Pattern", [["", "any pattern"], ...patterns], filter.pattern, set("pattern")),
    groups.length ? choice("Group", [["", "any group"], ...groups], filter.group, set("group")) : null,
    element("label", {}, "Sort by ", choice("Sort by", sorts, filter.sort, set("sort", true))),
    filter.sort ? choice("Order", orders, filter.worst ? "worst" : "best", turn) : null,
  ];
}

/** Of the grid: the height of a row, the rows drawn beyond those in sight, and those that are printed. */
const HEIGHT = 38;
const MARGIN = 8;
const PRINTED = 200;

/** A scrolling grid: rows by arrow keys, Page Up and Down, Home, End; Enter opens one. */
class Grid {
  #rows = [];
  #columns = [];
  #active = 0;
  #printing = false;

  /** label: of the grid. href: the address of a row. */
  constructor(label, href) {
    this.href = href;
    this.header = element("div", { role: "row", class: "row head", "aria-rowindex": 1 });
    this.body = element("div", { role: "rowgroup", class: "rows" });
    const top = element("div", { role: "rowgroup", class: "headgroup" }, this.header);
    const listeners = {
      scroll: () => this.#draw(),
      keydown: (event) => this.#move(event),
      click: (event) => this.#click(event),
    };
    this.element = element(
      "div",
      { role: "grid", "aria-label": label, tabindex: 0, class: "grid", ...listeners },
      top,
      this.body,
    );
    this.resized = new ResizeObserver(() => this.#draw());
    this.resized.observe(this.element);
  }

  /** Show rows in columns: {title, width, kind, sorted, heading, cell}; cell: returns the content for a row. */
  show(columns, rows, active = 0) {
    this.#columns = columns;
    this.#rows = rows;
    this.#active = Math.max(0, Math.min(active, rows.length - 1));
    this.element.style.setProperty("--columns", columns.map(({ width }) => width).join(" "));
    this.element.setAttribute("aria-rowcount", rows.length + 1);
    this.element.setAttribute("aria-colcount", columns.length);
    this.header.replaceChildren(
      ...columns.map(({ heading, title, kind, sorted }) => {
        return element("div", { role: "columnheader", class: kind, "aria-sort": sorted ?? null }, heading ?? title);
      }),
    );
    this.#resize();
    this.element.scrollTop = Math.max(0, (this.#active - 3) * HEIGHT);
    this.#draw();
  }

  /** Draw enough rows for paper, or as on screen again. */
  print(printing) {
    this.#printing = printing;
    this.#resize();
    this.#draw();
  }

  #resize() {
    const rows = this.#printing ? Math.min(PRINTED, this.#rows.length) : this.#rows.length;
    this.body.style.height = `${rows * HEIGHT}px`;
  }

  #draw() {
    if (this.#printing) return this.#drawFrom(0, Math.min(PRINTED, this.#rows.length));
    const first = Math.max(0, Math.floor(this.element.scrollTop / HEIGHT) - MARGIN);
    const count = Math.ceil(this.element.clientHeight / HEIGHT) + 2 * MARGIN;
    return this.#drawFrom(first, Math.min(this.#rows.length, first + count));
  }

  #drawFrom(first, end) {
    const drawn = [];
    for (let position = first; position < end; position += 1) drawn.push(this.#row(position));
    this.body.replaceChildren(...drawn);
    const inSight = first <= this.#active && this.#active < end;
    if (inSight) this.element.setAttribute("aria-activedescendant", `row-${this.#active}`);
    else this.element.removeAttribute("aria-activedescendant");
  }

  #row(position) {
    const row = this.#rows[position];
    const cells = this.#columns.map(({ cell, kind }) => element("div", { role: "gridcell", class: kind }, cell(row)));
    const active = position === this.#active;
    const attributes = {
      role: "row",
      id: `row-${position}`,
      class: active ? "row active" : "row",
      "aria-rowindex": position + 2,
    };
    const made = element("div", attributes, cells);
    made.style.top = `${position * HEIGHT}px`;
    return made;
  }

  #move(event) {
    if (event.target !== this.element) return;
    const page = Math.max(1, Math.floor(this.element.clientHeight / HEIGHT) - 2);
    const last = this.#rows.length - 1;
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -last, End: last };
    if (event.key === "Enter" && last >= 0) location.hash = this.href(this.#rows[this.#active]);
    if (!(event.key in steps) || last < 0) return;
    event.preventDefault();
    this.#active = Math.max(0, Math.min(last, this.#active + steps[event.key]));
    this.#keepInSight();
    this.#draw();
  }

  #keepInSight() {
    const top = this.#active * HEIGHT;
    const sight = this.element.clientHeight - this.header.offsetHeight;
    if (top < this.element.scrollTop) this.element.scrollTop = top;
    if (top + HEIGHT > this.element.scrollTop + sight) this.element.scrollTop = top + HEIGHT - sight;
  }

  #click(event) {
    const row = event.target.closest?.("[role=row][id]");
    if (!row || event.target.closest("a, button") || String(getSelection())) return;
    location.hash = this.href(this.#rows[Number(row.id.slice(4))]);
  }
}
