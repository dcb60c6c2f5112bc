// Why answers fail: the patterns that samples show, with examples, and the thresholds behind them.

import { element, quoted } from "./dom.js";
import { counted, number } from "./words.js";
import { adjustable, conditions, found } from "./patterns.js";
import { chosen, everything } from "./filters.js";
import { address, bound } from "./route.js";

const EXAMPLES = 3;

/** Each pattern with its samples; cuts: changed in place by the reader. */
export function failures(data, cuts) {
  const list = element("div", {});
  const draw = () => list.replaceChildren(...patternList(data, cuts));
  draw();
  return element(
    "section",
    { "aria-label": "Why answers fail" },
    element("h2", {}, "Why answers fail"),
    element(
      "p",
      { class: "quiet" },
      "What the scores of a sample together say about the cause. A sample may show several.",
    ),
    list,
    thresholds(data, cuts, draw),
  );
}

function patternList(data, cuts) {
  const patterns = found(data, cuts);
  const shown = patterns.filter(({ rows }) => rows.length);
  const absent = patterns.filter(({ looked, rows }) => looked && !rows.length).map(({ pattern }) => pattern.title);
  const unknown = patterns.filter(({ looked }) => !looked).map(({ pattern }) => pattern.title);
  return [
    element(
      "ul",
      { class: "patterns" },
      shown.map((one) => patternItem(data, one, cuts)),
    ),
    absent.length ? element("p", { class: "quiet" }, `Not found: ${absent.join(", ")}.`) : "",
    unknown.length
      ? element("p", { class: "quiet" }, `Not looked for, since it was not measured: ${unknown.join(", ")}.`)
      : "",
  ];
}

function patternItem(data, { pattern, rows }, cuts) {
  const metric = telling(data, pattern) ?? data.head.chooser ?? "";
  const filter = { ...everything(data), pattern: pattern.name, sort: metric };
  const share = element("span", { class: "share", "aria-hidden": "true" }, element("span", {}));
  share.firstChild.style.width = `${(100 * rows.length) / data.size}%`;
  const examples = chosen(data, filter, cuts, []).slice(0, EXAMPLES);
  return element(
    "li",
    {},
    element(
      "a",
      { class: "pattern", href: address(data, { view: "samples", filter }) },
      element("strong", {}, pattern.title),
      " ",
      counted(rows.length, "sample"),
    ),
    share,
    element("p", {}, pattern.advice),
    element(
      "ul",
      { class: "examples" },
      examples.map((row) => element("li", {}, example(data, row, metric, filter))),
    ),
    element("p", { class: "quiet" }, conditions(pattern, data, cuts)),
  );
}

/** The metric that shows a pattern best: the first that is out of bounds in it, else the first that it goes by. */
function telling(data, { when }) {
  const bad = when.filter(({ level }) => level !== "at_least");
  return [...bad, ...when].flatMap(({ signals }) => signals).find((name) => name in data.index.values) ?? null;
}

function thresholds(data, cuts, redraw) {
  const fields = adjustable(data).map((name) => {
    const change = (event) => {
      cuts[name] = bound(event.target.value) ?? data.head.cuts[name];
      redraw();
    };
    return element(
      "label",
      {},
      `${name} `,
      element("input", { type: "number", step: 0.05, value: cuts[name], input: change }),
    );
  });
  const words =
    "Where low ends and high begins. These are conventions, fitted to nothing; change them, and the list above follows.";
  return fields.length
    ? element(
        "details",
        { class: "thresholds" },
        element("summary", {}, "Thresholds"),
        element("p", { class: "quiet" }, words),
        fields,
      )
    : null;
}

/** A sample with its value, as a link. */
export function example(data, row, metric, filter) {
  const href = address(data, { view: "sample", sample: data.index.ids[row], metric, filter });
  const value = number(data.index.values[metric]?.[row]);
  return element(
    "a",
    { href },
    element("span", { class: "value" }, value),
    " ",
    quoted(data.index.titles[row] || data.index.ids[row]),
  );
}
