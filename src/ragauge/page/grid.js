// A grid of any number of rows, of which only those in sight are drawn.

import { element } from "./dom.js";

const HEIGHT = 38;
const MARGIN = 8;
const PRINTED = 200;

/** A scrolling grid: rows by arrow keys, Page Up and Down, Home, End; Enter opens one. */
export class Grid {
  #rows = [];
  #columns = [];
  #active = 0;
  #printing = false;

  /** label: of the grid. href: the address of a row. */
  constructor(label, href) {
    this.href = href;
    this.header = element("div", { role: "row", class: "row head", "aria-rowindex": 1 });
    this.body = element("div", { role: "rowgroup", class: "rows" });
    const top = element("div", { role: "rowgroup", class: "headgroup" }, this.header);
    const listeners = {
      scroll: () => this.#draw(),
      keydown: (event) => this.#move(event),
      click: (event) => this.#click(event),
    };
    this.element = element(
      "div",
      { role: "grid", "aria-label": label, tabindex: 0, class: "grid", ...listeners },
      top,
      this.body,
    );
    this.resized = new ResizeObserver(() => this.#draw());
    this.resized.observe(this.element);
  }

  /** Show rows under columns: {title, width, cell: row -> nodes or text, kind, heading}. */
  show(columns, rows, active = 0) {
    this.#columns = columns;
    this.#rows = rows;
    this.#active = Math.max(0, Math.min(active, rows.length - 1));
    this.element.style.setProperty("--columns", columns.map(({ width }) => width).join(" "));
    this.element.setAttribute("aria-rowcount", rows.length + 1);
    this.element.setAttribute("aria-colcount", columns.length);
    this.header.replaceChildren(
      ...columns.map(({ heading, title, kind, sorted }) => {
        return element("div", { role: "columnheader", class: kind, "aria-sort": sorted ?? null }, heading ?? title);
      }),
    );
    this.#resize();
    this.element.scrollTop = Math.max(0, (this.#active - 3) * HEIGHT);
    this.#draw();
  }

  /** Draw enough rows for paper, or as on screen again. */
  print(printing) {
    this.#printing = printing;
    this.#resize();
    this.#draw();
  }

  #resize() {
    const rows = this.#printing ? Math.min(PRINTED, this.#rows.length) : this.#rows.length;
    this.body.style.height = `${rows * HEIGHT}px`;
  }

  #draw() {
    if (this.#printing) return this.#drawFrom(0, Math.min(PRINTED, this.#rows.length));
    const first = Math.max(0, Math.floor(this.element.scrollTop / HEIGHT) - MARGIN);
    const count = Math.ceil(this.element.clientHeight / HEIGHT) + 2 * MARGIN;
    return this.#drawFrom(first, Math.min(this.#rows.length, first + count));
  }

  #drawFrom(first, end) {
    const drawn = [];
    for (let position = first; position < end; position += 1) drawn.push(this.#row(position));
    this.body.replaceChildren(...drawn);
    const inSight = first <= this.#active && this.#active < end;
    if (inSight) this.element.setAttribute("aria-activedescendant", `row-${this.#active}`);
    else this.element.removeAttribute("aria-activedescendant");
  }

  #row(position) {
    const row = this.#rows[position];
    const cells = this.#columns.map(({ cell, kind }) => element("div", { role: "gridcell", class: kind }, cell(row)));
    const active = position === this.#active;
    const attributes = {
      role: "row",
      id: `row-${position}`,
      class: active ? "row active" : "row",
      "aria-rowindex": position + 2,
    };
    const made = element("div", attributes, cells);
    made.style.top = `${position * HEIGHT}px`;
    return made;
  }

  #move(event) {
    if (event.target !== this.element) return;
    const page = Math.max(1, Math.floor(this.element.clientHeight / HEIGHT) - 2);
    const last = this.#rows.length - 1;
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -last, End: last };
    if (event.key === "Enter" && last >= 0) location.hash = this.href(this.#rows[this.#active]);
    if (!(event.key in steps) || last < 0) return;
    event.preventDefault();
    this.#active = Math.max(0, Math.min(last, this.#active + steps[event.key]));
    this.#keepInSight();
    this.#draw();
  }

  #keepInSight() {
    const top = this.#active * HEIGHT;
    const sight = this.element.clientHeight - this.header.offsetHeight;
    if (top < this.element.scrollTop) this.element.scrollTop = top;
    if (top + HEIGHT > this.element.scrollTop + sight) this.element.scrollTop = top + HEIGHT - sight;
  }

  #click(event) {
    const row = event.target.closest?.("[role=row][id]");
    if (!row || event.target.closest("a, button") || String(getSelection())) return;
    location.hash = this.href(this.#rows[Number(row.id.slice(4))]);
  }
}
