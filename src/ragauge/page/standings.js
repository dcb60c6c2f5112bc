// What people's labels come to: the judge's score, the one that people correct, and how far the two agree.

import { element } from "./dom.js";
import { answerWords } from "./answering.js";
import { arrow, counted, interval, number } from "./words.js";

/** A table with a metric in each row. */
export function standingTable(standings) {
  const heads = ["metric", "judge", "corrected by people", "drawn at random", "same answer", "kappa", "labelled"];
  const rows = Object.entries(standings).map(([metric, standing]) => standingRow(metric, standing));
  const head = element(
    "tr",
    {},
    heads.map((title) => element("th", { scope: "col", class: title === "metric" ? null : "figure" }, title)),
  );
  const table = element("table", {}, element("thead", {}, head), element("tbody", {}, rows));
  return element("div", { class: "wide", tabindex: 0, role: "region", "aria-label": "What labels come to" }, table);
}

/** What the words of that table mean. */
export const MEANING =
  "Corrected: the judge’s mean, plus the mean of people less judge on the samples that chance drew and people answered " +
  "in full without sight of the verdict. Only these count for the agreement too. The brackets are 95 % intervals.";

function standingRow(metric, { better, judge, corrected, samples, labelled, drawn, agreement }) {
  const cells = [
    valued(judge),
    valued(corrected),
    `${drawn} of ${samples}`,
    agreement.map(({ kind, n, raw }) =>
      element("div", {}, `${valued(raw)} of ${n}`, agreement.length > 1 ? ` ${kind}` : ""),
    ),
    agreement.map((one) => element("div", {}, kappaWords(one))),
    counted(labelled, "sample"),
  ];
  const name = element("th", { scope: "row" }, `${metric} ${arrow(better)}`);
  return element(
    "tr",
    { "data-metric": metric },
    name,
    cells.map((cell) => element("td", { class: "figure" }, cell)),
  );
}

function kappaWords({ kappa, apart }) {
  if (apart !== null) return `${number(apart)} apart`;
  return kappa.value === null ? "undefined" : valued(kappa);
}

function valued(one) {
  return one.value === null ? "–" : `${number(one.value)} ${interval(one)}`;
}

/** Which answers met: the judge's beside people's, and how often. */
export function meetings(agreement) {
  const words = (label) => answerWords(Number.isNaN(Number(label)) ? { label } : { value: Number(label) });
  const lines = agreement
    .flatMap(({ table }) => table)
    .map(([judge, people, times]) => {
      return element("li", {}, `judge ${words(judge)}, people ${words(people)}: ${times}`);
    });
  return lines.length ? element("ul", { class: "quiet" }, lines) : null;
}

/** A section that fills itself once the server has said what there is; empty where there are no labels. */
export function labelsSection(people) {
  const section = element("section", { id: "labels" });
  const fill = ({ standings }) => {
    if (!Object.keys(standings).length) return;
    section.append(element("h2", {}, "What people’s labels say"), standingTable(standings));
    section.append(element("p", { class: "quiet" }, MEANING));
  };
  people.standings().then(fill, () => section.remove());
  return section;
}
