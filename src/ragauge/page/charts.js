// Charts: the distribution of a metric's values, with its estimate and interval.

import { drawing } from "./dom.js";
import { counted, number } from "./format.js";

const WIDTH = 200;
const HEIGHT = 44;
const BINS = 20;
const TOP = 9;

/** How many values fall into each bin: {low, high, counts}; values within 0..1 are shown on that scale. */
function distribution(values) {
  const present = values.filter((value) => value !== null);
  const low = present.reduce((least, value) => Math.min(least, value), 0);
  const high = present.reduce((most, value) => Math.max(most, value), 1);
  const counts = new Array(BINS).fill(0);
  for (const value of present) counts[Math.min(BINS - 1, Math.floor(((value - low) / (high - low)) * BINS))] += 1;
  return { low, high, counts };
}

/**
 * A histogram; above it the interval as a bar and the value as a tick. href: of the samples between two values, which a
 * click on their bar leads to; with a keyboard one sets these two in the list.
 */
export function histogram(metric, values, estimate, href) {
  const { low, high, counts } = distribution(values);
  const x = (value) => ((value - low) / (high - low)) * WIDTH;
  const most = Math.max(...counts, 1);
  const bars = counts.map((count, i) => {
    const from = low + ((high - low) * i) / BINS;
    const to = low + ((high - low) * (i + 1)) / BINS;
    return count ? bar(count, i, ((HEIGHT - TOP) * count) / most, from, to, href(from, to, i === BINS - 1)) : null;
  });
  const base = drawing("line", { class: "base", x1: 0, x2: WIDTH, y1: HEIGHT - 0.5, y2: HEIGHT - 0.5 });
  return drawing(
    "svg",
    {
      class: "histogram",
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      role: "img",
      "aria-label": description(metric, low, high, counts),
      click: (event) => follow(event.target.dataset.href),
    },
    [base, bars, estimate.low === null ? null : marker(x, estimate)],
  );
}

function follow(href) {
  if (href) location.hash = href;
}

function bar(count, i, height, from, to, href) {
  const width = WIDTH / BINS;
  const shape = {
    x: i * width + 0.5,
    width: width - 1,
    y: HEIGHT - Math.max(height, 1.5),
    height: Math.max(height, 1.5),
  };
  const words = `${counted(count, "sample")} from ${number(from)} to ${number(to)}`;
  return drawing("rect", { class: "bar", "data-href": href, ...shape }, drawing("title", {}, words));
}

function marker(x, { value, low, high }) {
  const width = Math.max(x(high) - x(low), 1);
  return [
    drawing("rect", { class: "interval", x: x(low), width, y: 1.5, height: 3 }),
    drawing("rect", { class: "value", x: x(value) - 1, width: 2, y: 0, height: 6 }),
  ];
}

function description(metric, low, high, counts) {
  const quarters = [0, 1, 2, 3].map((i) => counts.slice(i * 5, i * 5 + 5).reduce((sum, count) => sum + count, 0));
  return `Distribution of ${metric} from ${number(low)} to ${number(high)}, samples by quarter: ${quarters.join(", ")}`;
}

const TREND_WIDTH = 640;
const TREND_HEIGHT = 120;
const MARGIN = 8;

/** The estimates of runs, the oldest first, as points with their intervals; href: of a run. Two runs at least. */
export function trend(metric, runs, href) {
  const ends = runs.flatMap(({ estimate }) => [estimate.value, estimate.low, estimate.high]).filter((end) => end !== null);
  const low = Math.min(0, ...ends);
  const high = Math.max(1, ...ends);
  const x = (i) => MARGIN + ((TREND_WIDTH - 2 * MARGIN) * i) / (runs.length - 1);
  const y = (value) => TREND_HEIGHT - MARGIN - ((value - low) / (high - low)) * (TREND_HEIGHT - 2 * MARGIN);
  const points = runs.map(({ estimate }, i) => `${x(i)},${y(estimate.value)}`).join(" ");
  const first = number(runs[0].estimate.value);
  const last = number(runs.at(-1).estimate.value);
  return drawing(
    "svg",
    {
      class: "trend",
      viewBox: `0 0 ${TREND_WIDTH} ${TREND_HEIGHT}`,
      role: "img",
      "aria-label": `${metric} over ${counted(runs.length, "run")}, from ${first} to ${last}`,
      click: (event) => follow(event.target.dataset.href),
    },
    [
      drawing("polyline", { class: "line", points }),
      runs.map((run, i) => point(run, x(i), y, href(run))),
    ],
  );
}

/** A run in a trend: its interval as a line, its value as a dot, and all about it in words. */
function point(run, x, y, href) {
  const { id, name, started, judges, version, cost, seconds, tags, estimate } = run;
  const { models = [], latency, cost: price } = run.system;
  const system = [
    models.join(", "),
    latency === undefined ? null : `latency ${number(latency)} s`,
    price === undefined ? null : `cost $${price.toPrecision(2)} a sample`,
  ];
  const judging = [cost ? `$${number(cost)}` : null, seconds ? `${number(seconds)} s` : null].filter(Boolean).join(", ");
  const judge = `judge ${judges.join(", ")}${judging && `: ${judging}`}`;
  const facts = [name || id, started, ...system, judge, `ragauge ${version}`, ...tags];
  const words = [`${number(estimate.value)} [${number(estimate.low)}, ${number(estimate.high)}]`, ...facts];
  const line = { class: "interval", x1: x, x2: x, y1: y(estimate.low), y2: y(estimate.high) };
  return [
    estimate.low === null ? null : drawing("line", line),
    drawing(
      "circle",
      { class: "dot", "data-href": href, cx: x, cy: y(estimate.value), r: 5 },
      drawing("title", {}, words.filter(Boolean).join("\n")),
    ),
  ];
}
