// The served page: the runs of a store, each of them, and two of them side by side.

import { element } from "./dom.js";
import { fetched } from "./api.js";
import { beside } from "./beside.js";
import { comparison } from "./compare.js";
import { openServed } from "./people.js";
import { RunPage } from "./runpage.js";
import { runList } from "./runs.js";
import { offerThemes } from "./theme.js";
import { counted } from "./words.js";

const EVERY = 3000;

const main = document.getElementById("main");
const live = element("span", { role: "status", class: "quiet" });
let page = null;
let turn = 0;

function start() {
  const theme = document.getElementById("theme");
  offerThemes(theme);
  theme.before(live);
  addEventListener("hashchange", () => show(true));
  addEventListener("beforeprint", () => page?.print(true));
  addEventListener("afterprint", () => page?.print(false));
  main.addEventListener("keydown", (event) => keys(event));
  show(false);
}

/** Show what the address asks for; what an earlier address asked for is not shown any more. */
async function show(moved) {
  turn += 1;
  const given = new URLSearchParams(location.hash.slice(1));
  try {
    if (given.has("run")) await showRun(given.get("run"), turn, moved);
    else
      await showNodes(given.has("a") ? compared(given) : runList(), given.has("a") ? "compare" : "runs", turn, moved);
  } catch (error) {
    main.replaceChildren(element("p", { role: "alert", class: "caution" }, error.message));
    document.documentElement.dataset.ready = "error";
  }
}

function compared(given) {
  const [a, b, sample] = ["a", "b", "sample"].map((name) => given.get(name));
  return sample === null ? comparison(a, b) : beside(a, b, sample, given.get("metric"));
}

async function showNodes(making, view, mine, moved) {
  page?.leave();
  page = null;
  live.textContent = "";
  links([]);
  delete document.documentElement.dataset.ready;
  const nodes = await making;
  if (mine !== turn) return;
  main.replaceChildren(...nodes.filter(Boolean));
  document.title = "ragauge";
  if (moved) main.querySelector("h1")?.focus();
  document.documentElement.dataset.ready = view;
}

async function showRun(run, mine, moved) {
  if (page?.data.run !== run) {
    delete document.documentElement.dataset.ready;
    const data = await openServed(run);
    if (mine !== turn) return;
    page?.leave();
    page = new RunPage(data, main);
    document.title = `${data.head.run.name || data.head.run.data} – ragauge`;
    follow(page, performance.now());
  }
  links(page.links());
  await page.show(moved);
}

/** Follow a run under way: its overview is drawn again when there are more samples. */
function follow(followed, begun) {
  const { run } = followed.data.head;
  live.textContent = run.status === "running" ? `${counted(followed.data.size, "sample")} so far` : "";
  if (run.status !== "running") return;
  const patience = Math.max(EVERY, 5 * (performance.now() - begun));
  setTimeout(() => catchUp(followed).catch(() => follow(followed, performance.now())), patience);
}

async function catchUp(followed) {
  if (page !== followed) return;
  const begun = performance.now();
  const { samples, status } = await fetched(`api/runs/${followed.data.run}/live`);
  const changed = samples !== followed.data.size || status !== followed.data.head.run.status;
  if (changed && document.documentElement.dataset.view === "overview") {
    followed.data = await openServed(followed.data.run);
    if (page !== followed) return;
    links(followed.links());
    await followed.show(false);
  }
  if (page === followed) follow(followed, begun);
}

function links(own) {
  const current = own.length || location.hash.length > 1 ? null : "page";
  const runs = element("a", { href: "#", "aria-current": current }, "Runs");
  document.getElementById("views").replaceChildren(runs, ...own);
}

function keys(event) {
  if (page) page.keys(event);
  else if (event.key === "Escape" && main.querySelector("#list")) location.hash = main.querySelector("#list").hash;
}

start();
