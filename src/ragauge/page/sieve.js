// The sieve: the controls by which samples are filtered and sorted.

import { choice, element } from "./dom.js";
import { VERDICTS } from "./words.js";
import { bound } from "./route.js";

const STATES = ["", ...Object.keys(VERDICTS), "undefined", "failed"].map((word) => [word, word || "any verdict"]);

/** The controls for a filter, which they change in place; changed: called then, with whether others are needed. */
export function sieve(data, filter, changed) {
  const set =
    (name, redraw = false) =>
    (value) => {
      filter[name] = value;
      changed(redraw);
    };
  return [search(filter, set("text")), conditionList(data, filter, changed), selections(data, filter, set)];
}

function search({ text }, change) {
  const attributes = { type: "search", id: "text", value: text, placeholder: "words of query, response or id" };
  return element(
    "label",
    {},
    "Text ",
    element("input", { ...attributes, input: (event) => change(event.target.value) }),
  );
}

function conditionList(data, filter, changed) {
  const add = () => {
    filter.where.push({ metric: filter.sort || data.metrics[0], low: null, high: null, is: "" });
    changed(true);
  };
  const rows = filter.where.map((condition) => {
    const remove = () => {
      filter.where.splice(filter.where.indexOf(condition), 1);
      changed(true);
    };
    return conditionRow(data, condition, changed, remove);
  });
  return [
    rows,
    element("button", { type: "button", click: add, disabled: !data.metrics.length }, "+ metric or verdict"),
  ];
}

function conditionRow(data, condition, changed, remove) {
  const set = (name, read) => (given) => {
    condition[name] = read ? read(given) : given;
    changed(false);
  };
  const field = (name, words) => {
    const input = (event) => set(name, bound)(event.target.value);
    return element("input", {
      type: "number",
      step: "any",
      value: condition[name],
      "aria-label": words,
      placeholder: words,
      input,
    });
  };
  return element(
    "span",
    { class: "condition", role: "group", "aria-label": `Condition on ${condition.metric}` },
    choice(
      "Metric",
      data.metrics.map((metric) => [metric, metric]),
      condition.metric,
      set("metric"),
    ),
    field("low", "from"),
    field("high", "to"),
    choice("Verdict", STATES, condition.is, set("is")),
    element("button", { type: "button", "aria-label": "Remove this condition", click: remove }, "×"),
  );
}

function selections(data, filter, set) {
  const patterns = data.head.patterns.map(({ name, title }) => [name, title]);
  const groups = [...new Set(data.index.groups)]
    .filter(Boolean)
    .sort()
    .map((group) => [group, group]);
  const sorts = [["", "order of the data"], ...data.metrics.map((metric) => [metric, metric])];
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
