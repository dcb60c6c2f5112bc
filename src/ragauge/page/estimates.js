// The table of estimates: each metric with its value, interval and distribution, and how many samples stand behind it.

import { element } from "./dom.js";
import { arrow, interval, number } from "./words.js";
import { everything } from "./filters.js";
import { address } from "./route.js";
import { histogram } from "./charts.js";

/** Every metric in a row; names, bars and counts lead to the samples behind them. */
export function estimates(data) {
  const heads = {
    metric: "",
    value: "figure",
    "95 % interval": "figure",
    distribution: "",
    n: "figure",
    undefined: "figure",
    failed: "figure",
  };
  const rows = Object.entries(data.head.estimates).map(([metric, estimate]) => estimateRow(data, metric, estimate));
  return element(
    "section",
    { class: "estimates" },
    element("h2", {}, "Estimates"),
    element(
      "div",
      { class: "wide", tabindex: 0, role: "region", "aria-label": "Estimates" },
      element(
        "table",
        {},
        element(
          "thead",
          {},
          element(
            "tr",
            {},
            Object.entries(heads).map(([head, kind]) => element("th", { scope: "col", class: kind }, head)),
          ),
        ),
        element("tbody", {}, rows),
      ),
    ),
    element(
      "p",
      { class: "quiet" },
      "↑ higher is better, ↓ lower is better. The bar above a distribution is the interval, its tick the value.",
    ),
  );
}

function estimateRow(data, metric, estimate) {
  const values = data.index.values[metric];
  const link = (filter) => address(data, { view: "samples", filter: { ...everything(data), sort: metric, ...filter } });
  const condition = (one) => link({ where: [{ metric, low: null, high: null, is: "", ...one }] });
  const name = `${metric} ${arrow(estimate.better)}`;
  const between = (low, high, last) => condition({ low, high: last ? high : high - 1e-6 });
  const chart = values && estimate.n ? histogram(metric, values, estimate, between) : "";
  const missing = (is) =>
    estimate[is] && values ? element("a", { href: condition({ is }) }, String(estimate[is])) : estimate[is] || "";
  return element(
    "tr",
    {},
    element("th", { scope: "row" }, values ? element("a", { href: link({}) }, breakable(name)) : breakable(name)),
    element("td", { class: "figure strong" }, number(estimate.value)),
    element("td", { class: "figure", title: estimate.method }, interval(estimate)),
    element("td", {}, chart),
    element("td", { class: "figure" }, String(estimate.n)),
    element("td", { class: "figure" }, missing("undefined")),
    element("td", { class: "figure" }, missing("failed")),
  );
}

/** A name that may go on in the next line behind its joints. */
function breakable(name) {
  return name.split(/(?<=[_.@(,])/).flatMap((part) => [part, element("wbr")]);
}
