// One sample in two runs, side by side.

import { element, quoted } from "./dom.js";
import { piecesOf, scoreOf } from "./data.js";
import { openServed } from "./people.js";
import { mostTelling, pieceList } from "./pieces.js";
import { asked } from "./texts.js";
import { address } from "./route.js";
import { arrow, number } from "./words.js";

/** The sample called `id` in run A beside the same one in run B, by one metric. */
export async function beside(a, b, id, metric) {
  const [first, second] = await Promise.all([openServed(a), openServed(b)]);
  const row = first.rows.get(id) ?? second.rows.get(id);
  const title = first.rows.has(id) ? first.index.titles[row] : second.index.titles[row];
  const sides = await Promise.all([side("A", first, id, title, metric), side("B", second, id, title, metric)]);
  const back = element("a", { href: `#${new URLSearchParams({ a, b })}`, id: "list" }, "↑ comparison");
  const heading = element("h1", { tabindex: -1 }, "Sample ", quoted(id));
  return [
    element("div", { class: "about" }, heading, element("nav", { class: "steps" }, back)),
    element("div", { class: "sides" }, sides),
  ];
}

async function side(name, data, id, title, metric) {
  const row = data.rows.get(id) ?? data.index.titles.indexOf(title);
  const shown = element("section", { "aria-label": `In ${name}` });
  if (row < 0) {
    shown.append(element("p", { role: "alert" }, `${name} has no such sample.`));
    return shown;
  }
  const record = await data.sample(row);
  const pieces = piecesOf(record, metric);
  const { better } = data.head.estimates[metric] ?? { better: "higher" };
  const view = { run: data.head.run, record, pieces, better, opened: mostTelling(pieces, better), prefix: name };
  const draw = () => shown.replaceChildren(...content(name, data, view, metric));
  view.open = (i) => {
    view.opened = i;
    draw();
    document.getElementById(`${name}piece-${i}`)?.focus();
  };
  view.jump = () => {};
  draw();
  return shown;
}

function content(name, data, view, metric) {
  const { value } = scoreOf(view.record, metric) ?? {};
  const href = address(data, { view: "sample", sample: view.record.id, metric });
  const link = element("a", { href }, quoted(data.head.run.name || data.head.run.data));
  const score = element(
    "p",
    { class: "explanation" },
    element("strong", {}, `${metric} ${arrow(view.better)} `),
    number(value),
  );
  return [element("h2", {}, `${name}: `, link), score, ...asked(view), pieceList(view)];
}
