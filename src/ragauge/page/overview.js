// The overview: how good the system is, where it fails, and what was measured by whom.

import { element, quoted } from "./dom.js";
import { counted } from "./words.js";
import { chosen, everything } from "./filters.js";
import { address } from "./route.js";
import { example, failures } from "./failures.js";
import { estimates } from "./estimates.js";

const WORST = 5;

/** The whole view. cuts: of the patterns, changed in place by the reader. */
export function overview(data, cuts) {
  const { words } = data.head;
  return [
    element("h1", { tabindex: -1 }, data.head.run.name || data.head.run.data),
    element("p", { class: "quiet" }, words.headline),
    words.caution
      ? element("p", { class: "caution" }, element("strong", {}, "How far to trust this: "), words.caution)
      : null,
    element(
      "div",
      { class: "overview" },
      element("div", {}, worstSamples(data), failures(data, cuts)),
      estimates(data),
    ),
    data.people?.section() ?? null,
    element("section", {}, element("h2", {}, "The run"), facts(data), notes(words.footnotes)),
  ];
}

function worstSamples(data) {
  const filter = everything(data);
  const metric = filter.sort;
  if (!metric) return null;
  const rows = chosen(data, filter, {}, [])
    .slice(0, WORST)
    .filter((row) => data.index.values[metric][row] !== null);
  const all = element("a", { href: address(data, { view: "samples", filter }) }, `All ${counted(data.size, "sample")}`);
  return element(
    "section",
    {},
    element("h2", {}, `Worst answers by ${metric}`),
    element(
      "ol",
      { class: "examples" },
      rows.map((row) => element("li", {}, example(data, row, metric, filter))),
    ),
    element("p", {}, all),
  );
}

function facts(data) {
  const { run, words } = data.head;
  const facts = {
    run: run.id,
    status: run.status,
    data: `${run.data}, ${counted(run.samples, "sample")}, hash ${run.data_hash || "unknown"}`,
    judges: Object.entries(run.judges).map(([kind, judge]) => judgeWords(kind, judge)),
    judgments: `${run.asked.toLocaleString("en")} asked, ${run.reused.toLocaleString("en")} known, ${run.labelled} from people`,
    cost: words.spent || "nothing: no model was called",
    time: `${run.seconds.toFixed(1)} s, started ${run.started}`,
    version: `ragauge ${run.version}, document ${data.head.schema}`,
  };
  const described = Object.entries(facts).flatMap(([name, words]) => {
    return [
      element("dt", {}, name),
      element(
        "dd",
        {},
        [words].flat().map((line) => quoted(line, "div")),
      ),
    ];
  });
  return element("dl", { class: "facts" }, described);
}

function judgeWords(kind, { name, settings }) {
  const described = settings.map(([key, value]) => `${key} ${value}`).join(", ");
  const who = described ? `${name} (${described})` : name;
  return kind === "*" ? who : `${kind}: ${who}`;
}

function notes(footnotes) {
  return element(
    "ul",
    { class: "quiet" },
    footnotes.map((note) => quoted(note, "li")),
  );
}
