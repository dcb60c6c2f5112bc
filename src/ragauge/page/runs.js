// The runs of a store: which there are, how far those under way are, and which two to compare.

import { element, quoted } from "./dom.js";
import { fetched } from "./api.js";
import { arrow, counted, interval, number } from "./words.js";

const FIGURES = ["samples", "95 % interval"];
const EVERY = 2000;

/** The list of all runs; it follows those under way as long as it is shown. */
export async function runList() {
  const list = element("tbody", {});
  const chosen = { a: null, b: null };
  const draw = (runs) => list.replaceChildren(...runs.map((run) => row(run, chosen)));
  const runs = await fetched("api/runs");
  [chosen.b, chosen.a] = runs.map(({ id }) => id);
  draw(runs);
  follow(list, runs, draw);
  const heads = ["A", "B", "run", "data", "judge", "samples", "status", "estimate", "95 % interval"];
  const head = element(
    "tr",
    {},
    heads.map((title) => element("th", { scope: "col", class: FIGURES.includes(title) ? "figure" : null }, title)),
  );
  const table = element("table", { class: "runs" }, element("thead", {}, head), list);
  const go = () => {
    location.hash = `#${new URLSearchParams(chosen)}`;
  };
  const button = element("button", { type: "button", click: go, disabled: runs.length < 2 }, "Compare A and B");
  const heading = element("h1", { tabindex: -1 }, counted(runs.length, "run"));
  return [
    heading,
    element("div", { class: "wide", tabindex: 0, role: "region", "aria-label": "Runs" }, table),
    element("p", {}, button),
  ];
}

/** Ask again as long as a run is under way and the list is on the page. */
function follow(list, runs, draw) {
  if (!runs.some(({ status }) => status === "running")) return;
  setTimeout(async () => {
    if (!list.isConnected) return;
    const now = await fetched("api/runs").catch(() => null);
    if (!now || !list.isConnected) return;
    if (JSON.stringify(now) !== JSON.stringify(runs)) draw(now);
    follow(list, now, draw);
  }, EVERY);
}

function row(run, chosen) {
  const { id, name, data, judges, samples, status, metric, estimate } = run;
  const link = element("a", { href: `#run=${encodeURIComponent(id)}` }, quoted(name || id));
  const value = estimate ? `${metric} ${arrow(estimate.better)} ${number(estimate.value)}` : "–";
  return element(
    "tr",
    { "data-run": id },
    element("td", {}, side("a", run, chosen)),
    element("td", {}, side("b", run, chosen)),
    element("th", { scope: "row" }, link, name ? element("div", { class: "quiet" }, id) : null),
    element("td", {}, quoted(data)),
    element("td", {}, quoted(judges.join(", "))),
    element("td", { class: "figure" }, samples.toLocaleString("en")),
    element("td", {}, status === "running" ? "under way, or killed" : status),
    element("td", {}, value),
    element("td", { class: "figure" }, estimate ? interval(estimate) : ""),
  );
}

function side(which, { id, name }, chosen) {
  const change = () => {
    chosen[which] = id;
  };
  const label = `${which.toUpperCase()}: ${name || id}`;
  return element("input", { type: "radio", name: which, checked: chosen[which] === id, "aria-label": label, change });
}
