// The local page: the list of all runs of a store, each run, and two of them compared.

import { trend } from "./charts.js";
import { element, figure, quoted, table } from "./dom.js";
import { arrow, counted, interval, number, whole } from "./format.js";
import { RunPage, main, showError, showLinks, startPage } from "./page.js";
import { comparison, sideBySide } from "./compare.js";
import { fetchData, openServed } from "./server.js";

/** Milliseconds between two looks at the list of runs, and at least between two at one run. */
const LIST_INTERVAL = 2000;
const RUN_INTERVAL = 3000;

const progress = element("span", { role: "status", class: "quiet" });
let page = null;
let latest = 0;

/** Show the view of the address, unless the address has changed meanwhile. */
async function show(moved) {
  const request = (latest += 1);
  const given = new URLSearchParams(location.hash.slice(1));
  try {
    if (given.has("run")) await showRun(given.get("run"), request, moved);
    else if (given.has("a")) await showNodes(compared(given), "compare", request, moved);
    else await showNodes(runList(), "runs", request, moved);
  } catch (error) {
    showError(error.message);
    document.documentElement.dataset.ready = "error";
  }
}

async function compared(given) {
  const [a, b, sample] = ["a", "b", "sample"].map((name) => given.get(name));
  if (sample !== null) return sideBySide(openServed, a, b, sample, given.get("metric"));
  return comparison(await fetchData("api/compare", { a, b }), (view) => `#${new URLSearchParams(view)}`);
}

async function showNodes(making, view, request, moved) {
  page = null;
  progress.textContent = "";
  showRunLinks();
  delete document.documentElement.dataset.ready;
  const nodes = await making;
  if (request !== latest) return;
  document.documentElement.dataset.view = view;
  main.replaceChildren(...nodes.filter(Boolean));
  document.title = "ragauge";
  if (moved) main.querySelector("h1")?.focus();
  document.documentElement.dataset.ready = view;
}

async function showRun(run, request, moved) {
  if (page?.data.run !== run) {
    delete document.documentElement.dataset.ready;
    const data = await openServed(run);
    if (request !== latest) return;
    page = new RunPage(data);
    document.title = `${data.name} – ragauge`;
    followRun(page, performance.now());
  }
  showRunLinks(...page.links());
  await page.show(moved);
}

/** The link to the list of runs, followed by those of the run that is shown. */
function showRunLinks(...links) {
  const current = links.length || location.hash.length > 1 ? null : "page";
  showLinks(element("a", { href: "#", "aria-current": current }, "Runs"), ...links);
}

/** Follow a run under way: its overview is drawn again when there are more samples. */
function followRun(followed, begun) {
  const running = followed.data.head.run.status === "running";
  progress.textContent = running ? `${counted(followed.data.size, "sample")} so far` : "";
  if (!running) return;
  const delay = Math.max(RUN_INTERVAL, 5 * (performance.now() - begun));
  setTimeout(() => updateRun(followed).catch(() => followRun(followed, performance.now())), delay);
}

async function updateRun(followed) {
  if (page !== followed) return;
  const begun = performance.now();
  const { samples, status } = await fetchData(`api/runs/${followed.data.run}/live`);
  const changed = samples !== followed.data.size || status !== followed.data.head.run.status;
  if (changed && document.documentElement.dataset.view === "overview") {
    followed.data = await openServed(followed.data.run);
    if (page !== followed) return;
    showRunLinks(...followed.links());
    await followed.show(false);
  }
  if (page === followed) followRun(followed, begun);
}

/** The columns of the list of runs. */
const HEADS = {
  A: null,
  B: null,
  run: null,
  data: "spare",
  judge: "spare",
  samples: "figure spare",
  status: "spare",
  estimate: null,
  "95 % interval": "figure",
};

/** The list of all runs; it follows those under way as long as it is shown. */
async function runList() {
  const list = element("tbody", {});
  const draw = (runs) => list.replaceChildren(...runs.map((run) => runRow(run, chosen)));
  const runs = await fetchData("api/runs");
  const [newest, ...older] = runs;
  const baseline = older.find(({ data }) => data === newest.data) ?? older[0];
  const chosen = { a: baseline?.id, b: newest?.id };
  draw(runs);
  followList(list, runs, draw);
  const compare = () => {
    location.hash = `#${new URLSearchParams(chosen)}`;
  };
  const button = { type: "button", click: compare, disabled: runs.length < 2 };
  return [
    element("h1", { tabindex: -1 }, counted(runs.length, "run")),
    runTrend(runs),
    table("Runs", HEADS, list, { class: "runs" }),
    element("p", {}, element("button", button, "Compare A and B")),
  ];
}

/** The main metric of the newest run over all runs of its name or its data; nothing where there are not two. */
function runTrend(runs) {
  const newest = runs.find(({ estimate }) => estimate);
  if (!newest) return null;
  const isSame = (run) => (newest.name ? run.name === newest.name : run.data === newest.data);
  const alike = runs.filter((run) => isSame(run) && run.metric === newest.metric && run.estimate?.value != null).reverse();
  if (alike.length < 2) return null;
  const chart = trend(newest.metric, alike, ({ id }) => `#run=${encodeURIComponent(id)}`);
  const title = element("figcaption", {}, `${newest.metric} of `, quoted(newest.name || newest.data));
  return element("figure", {}, title, chart);
}

/** Ask again as long as a run is under way and the list is on the page. */
function followList(list, runs, draw) {
  if (!runs.some(({ status }) => status === "running")) return;
  setTimeout(async () => {
    if (!list.isConnected) return;
    const now = await fetchData("api/runs").catch(() => null);
    if (!now || !list.isConnected) return;
    if (JSON.stringify(now) !== JSON.stringify(runs)) draw(now);
    followList(list, now, draw);
  }, LIST_INTERVAL);
}

function runRow(run, chosen) {
  const { id, name, data, judges, samples, status, metric, estimate, tags } = run;
  const link = element("a", { href: `#run=${encodeURIComponent(id)}` }, quoted(name || id));
  const value = estimate ? `${metric} ${arrow(estimate.better)} ${number(estimate.value)}` : "–";
  return element(
    "tr",
    { "data-run": id },
    element("td", {}, runChoice("a", run, chosen)),
    element("td", {}, runChoice("b", run, chosen)),
    element("th", { scope: "row" }, link, name ? element("div", { class: "quiet" }, id) : null, tags.length ? element("div", { class: "quiet" }, quoted(tags.join(", "))) : null),
    element("td", { class: "spare" }, quoted(data)),
    element("td", { class: "spare" }, quoted(judges.join(", "))),
    figure(whole(samples), { class: "figure spare" }),
    element("td", { class: "spare" }, status === "running" ? "under way, or killed" : status),
    element("td", {}, value),
    figure(estimate ? interval(estimate) : ""),
  );
}

function runChoice(which, { id, name }, chosen) {
  const change = () => {
    chosen[which] = id;
  };
  const label = `${which.toUpperCase()}: ${name || id}`;
  return element("input", { type: "radio", name: which, checked: chosen[which] === id, "aria-label": label, change });
}

document.getElementById("theme").before(progress);
startPage(show, () => page);
