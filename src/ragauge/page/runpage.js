// One run: its overview, its samples, one sample, and, where there is a server, labelling.

import { element } from "./dom.js";
import { address, readRoute } from "./route.js";
import { overview } from "./overview.js";
import { filtered, samples } from "./samples.js";
import { sampleView } from "./sample.js";

/** Shows a run in `main` as the address asks for. */
export class RunPage {
  #grid = null;
  #active = -1;
  #route = null;

  constructor(data, main) {
    this.data = data;
    this.main = main;
    this.cuts = { ...data.head.cuts };
  }

  /** Show what the address asks for. moved: whether a reader came here from another view. */
  async show(moved) {
    const route = readRoute(this.data);
    const show = {
      overview: () => this.#overview(),
      samples: () => this.#samples(route),
      sample: () => this.#sample(route),
    };
    if (this.data.people) show.label = () => this.#label(route);
    if (!(route.view in show)) route.view = "overview";
    delete document.documentElement.dataset.ready;
    document.documentElement.dataset.view = route.view;
    this.#route = route;
    await show[route.view]();
    if (route !== this.#route) return;
    if (moved) this.#focus(route);
    document.documentElement.dataset.ready = route.view;
  }

  /** Stop showing: what is still on its way is not shown. */
  leave() {}

  /** Show enough of a list for paper, or as on screen again. */
  print(printing) {
    this.#grid?.print(printing);
  }

  /** The links to the views of this run, of which the one that is shown is marked. */
  links() {
    const route = readRoute(this.data);
    const views = { overview: "Overview", samples: "Samples", ...(this.data.people ? { label: "Label" } : {}) };
    return Object.entries(views).map(([view, words]) => {
      const current = route.view === view || (view === "samples" && route.view === "sample") ? "page" : null;
      return element("a", { href: address(this.data, { view, filter: route.filter }), "aria-current": current }, words);
    });
  }

  /** Keys that lead from sample to sample and back to the list. */
  keys(event) {
    if (event.target.matches("input, select") || event.altKey || event.ctrlKey || event.metaKey) return;
    const links = { ArrowLeft: ".steps a:first-of-type", ArrowRight: ".steps a:nth-of-type(2)", Escape: "#list" };
    const link = links[event.key] ? this.main.querySelector(links[event.key]) : null;
    if (link?.getAttribute("href")) location.hash = link.getAttribute("href");
  }

  #overview() {
    this.main.replaceChildren(...overview(this.data, this.cuts).filter(Boolean));
  }

  async #samples(route) {
    const { nodes, shown, grid } = samples(this.data, this.cuts, route.filter, this.#active);
    this.main.replaceChildren(...nodes);
    this.#grid = grid;
    await shown;
  }

  async #sample(route) {
    const row = this.data.rows.get(route.sample);
    if (row === undefined) {
      this.main.replaceChildren(element("p", { role: "alert" }, `This run has no sample called ${route.sample}.`));
      return;
    }
    this.#active = row;
    const rows = await filtered(this.data, route.filter, this.cuts);
    const { nodes, ready } = await sampleView(this.data, this.cuts, route, { row, rows });
    if (route !== this.#route) return;
    this.main.replaceChildren(...nodes.filter(Boolean));
    ready();
  }

  async #label(route) {
    const session = await this.data.people.session(this.data, route.metric);
    if (route !== this.#route) return;
    this.main.replaceChildren(...session.nodes);
    session.focus();
  }

  #focus(route) {
    if (route.view === "label") return;
    const { main } = this;
    const target =
      route.view === "samples"
        ? this.#grid.element
        : (main.querySelector(".piece[aria-expanded=true]") ?? main.querySelector("h1"));
    target?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }
}
