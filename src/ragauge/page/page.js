// What the report and the local page share: the theme, keys and errors of the page, and the views of one run.

import { element, isShortcut } from "./dom.js";
import { address, filteredRows, readAddress } from "./filters.js";
import { overview } from "./overview.js";
import { sampleView } from "./sample.js";
import { samplesView } from "./samples.js";

/** The element of the current view. */
export const main = document.getElementById("main");

/** Start the page. show: called with whether the reader came from another view. run: returns the RunPage, if any. */
export function startPage(show, run) {
  offerThemes(document.getElementById("theme"));
  addEventListener("hashchange", () => show(true));
  addEventListener("beforeprint", () => run()?.print(true));
  addEventListener("afterprint", () => run()?.print(false));
  main.addEventListener("keydown", followKey);
  document.querySelector(".skip").addEventListener("click", skipToContent);
  show(false);
}

/** Focus the list of the view, or else its beginning; the address of the page, which selects the view, stays. */
function skipToContent(event) {
  event.preventDefault();
  (main.querySelector(".grid, .wide:has(.runs)") ?? main).focus();
}

/** Show an error in place of everything else. */
export function showError(message) {
  main.replaceChildren(element("p", { role: "alert", class: "caution" }, message));
}

/** Show links at the top of the page. */
export function showLinks(...links) {
  document.getElementById("views").replaceChildren(...links);
}

/** Keys that lead from sample to sample and back to the list. */
function followKey(event) {
  const links = { ArrowLeft: "#previous", ArrowRight: "#next", Escape: "#list" };
  if (!isShortcut(event) || !(event.key in links)) return;
  const href = main.querySelector(links[event.key])?.getAttribute("href");
  if (href) location.hash = href;
}

const THEMES = { "": "auto", light: "light", dark: "dark" };
const THEME_KEY = "ragauge-theme";

/** Make a button that cycles through the themes, where "auto" is that of the system, and apply the last choice. */
function offerThemes(button) {
  showTheme(button, rememberedTheme());
  button.addEventListener("click", () => {
    const names = Object.keys(THEMES);
    const next = names[(names.indexOf(document.documentElement.dataset.theme ?? "") + 1) % names.length];
    showTheme(button, next);
    rememberTheme(next);
  });
}

function showTheme(button, theme) {
  document.documentElement.dataset.theme = theme;
  button.textContent = `Theme: ${THEMES[theme]}`;
}

function rememberedTheme() {
  try {
    const theme = localStorage.getItem(THEME_KEY);
    return theme in THEMES ? theme : "";
  } catch {
    return "";
  }
}

function rememberTheme(theme) {
  try {
    localStorage.setItem(THEME_KEY, theme);
  } catch {
    // A browser that stores nothing for files still shows the theme.
  }
}

/** One run: its overview, its samples, one sample, and labelling if there is a server. */
export class RunPage {
  #grid = null;
  #active = -1;
  #route = null;

  constructor(data) {
    this.data = data;
    this.thresholds = { ...data.head.cuts };
  }

  /** Show the view of the address. moved: whether the reader came from another view. */
  async show(moved) {
    const route = readAddress(this.data);
    const views = {
      overview: () => this.#overview(),
      samples: () => this.#samples(route),
      sample: () => this.#sample(route),
    };
    if (this.data.labels) views.label = () => this.#label(route);
    if (!(route.view in views)) route.view = "overview";
    delete document.documentElement.dataset.ready;
    document.documentElement.dataset.view = route.view;
    this.#route = route;
    await views[route.view]();
    if (route !== this.#route) return;
    if (moved) this.#focus(route);
    document.documentElement.dataset.ready = route.view;
  }

  /** Show enough of a list for paper, or as on screen again. */
  print(printing) {
    this.#grid?.print(printing);
  }

  /** The links to the views of this run, of which the one that is shown is marked. */
  links() {
    const route = readAddress(this.data);
    const views = { overview: "Overview", samples: "Samples", ...(this.data.labels ? { label: "Label" } : {}) };
    return Object.entries(views).map(([view, words]) => {
      const current = route.view === view || (view === "samples" && route.view === "sample") ? "page" : null;
      return element("a", { href: address(this.data, { view, filter: route.filter }), "aria-current": current }, words);
    });
  }

  async #overview() {
    const route = this.#route;
    const nodes = await overview(this.data, this.thresholds);
    if (route === this.#route) main.replaceChildren(...nodes.filter(Boolean));
  }

  async #samples(route) {
    const { nodes, shown, grid } = samplesView(this.data, this.thresholds, route.filter, this.#active);
    main.replaceChildren(...nodes);
    this.#grid = grid;
    await shown;
  }

  async #sample(route) {
    const row = this.data.rows.get(route.sample);
    if (row === undefined) {
      main.replaceChildren(element("p", { role: "alert" }, `This run has no sample called ${route.sample}.`));
      return;
    }
    this.#active = row;
    const rows = await filteredRows(this.data, route.filter, this.thresholds);
    const { nodes, ready } = await sampleView(this.data, this.thresholds, route, { row, rows });
    if (route !== this.#route) return;
    main.replaceChildren(...nodes);
    ready();
  }

  async #label(route) {
    const session = await this.data.labels.session(this.data, route.metric);
    if (route !== this.#route) return;
    main.replaceChildren(...session.nodes);
    session.focus();
  }

  #focus(route) {
    if (route.view === "label") return;
    const target =
      route.view === "samples"
        ? this.#grid.element
        : (main.querySelector(".piece[aria-expanded=true]") ?? main.querySelector("h1"));
    target?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }
}
