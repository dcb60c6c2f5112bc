// The page: reads the run, and shows what the address asks for.

import { element } from "./dom.js";
import { openRun } from "./data.js";
import { address, readRoute } from "./route.js";
import { offerThemes } from "./theme.js";
import { overview } from "./overview.js";
import { filtered, samples } from "./samples.js";
import { sampleView } from "./sample.js";

const main = document.getElementById("main");

async function start() {
  offerThemes(document.getElementById("theme"));
  try {
    new Page(await openRun()).start();
  } catch (error) {
    lament(error);
  }
}

function lament(error) {
  const said = `This report cannot be read: ${error.message}`;
  main.replaceChildren(element("p", { role: "alert", class: "caution" }, said));
}

class Page {
  #grid = null;
  #active = -1;
  #route = null;

  constructor(data) {
    this.data = data;
    this.cuts = { ...data.head.cuts };
  }

  start() {
    addEventListener("hashchange", () => this.#show(true).catch(lament));
    addEventListener("beforeprint", () => this.#grid?.print(true));
    addEventListener("afterprint", () => this.#grid?.print(false));
    main.addEventListener("keydown", (event) => this.#keys(event));
    this.#show(false).catch(lament);
    this.data.texts().catch(lament);
  }

  async #show(moved) {
    const route = readRoute(this.data);
    delete document.documentElement.dataset.ready;
    document.documentElement.dataset.view = route.view;
    this.#route = route;
    this.#grid = null;
    this.#links(route);
    const show = {
      overview: () => this.#overview(),
      samples: () => this.#samples(route),
      sample: () => this.#sample(route),
    };
    await show[route.view]();
    if (route !== this.#route) return;
    if (moved) this.#focus(route);
    document.documentElement.dataset.ready = route.view;
  }

  #overview() {
    main.replaceChildren(...overview(this.data, this.cuts).filter(Boolean));
  }

  async #samples(route) {
    const { nodes, shown, grid } = samples(this.data, this.cuts, route.filter, this.#active);
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
    const rows = await filtered(this.data, route.filter, this.cuts);
    const { nodes, ready } = await sampleView(this.data, this.cuts, route, { row, rows });
    if (route !== this.#route) return;
    main.replaceChildren(...nodes.filter(Boolean));
    ready();
  }

  #links(route) {
    const link = (view, words) => {
      const current = route.view === view || (view === "samples" && route.view === "sample") ? "page" : null;
      return element("a", { href: address(this.data, { view, filter: route.filter }), "aria-current": current }, words);
    };
    document.getElementById("views").replaceChildren(link("overview", "Overview"), link("samples", "Samples"));
  }

  #focus(route) {
    const target =
      route.view === "samples"
        ? this.#grid.element
        : (main.querySelector(".piece[aria-expanded=true]") ?? main.querySelector("h1"));
    target?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }

  #keys(event) {
    if (event.target.matches("input, select") || event.altKey || event.ctrlKey || event.metaKey) return;
    const links = { ArrowLeft: ".steps a:first-of-type", ArrowRight: ".steps a:nth-of-type(2)", Escape: "#list" };
    const link = links[event.key] ? main.querySelector(links[event.key]) : null;
    if (link?.getAttribute("href")) location.hash = link.getAttribute("href");
  }
}

start();
