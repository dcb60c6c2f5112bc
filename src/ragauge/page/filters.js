// Which samples are shown, and in which order.

import { VERDICTS } from "./words.js";
import { shows } from "./patterns.js";

/** What is asked for when nothing is: all samples, from the worst up. */
export function everything(data) {
  const sort = data.head.chooser ?? "";
  return { text: "", where: [], pattern: "", group: "", sort, worst: true };
}

/** The rows that pass, in order. texts: of `data.texts()`, needed where `text` is not empty. */
export function chosen(data, filter, cuts, texts) {
  const tests = [...textTests(filter, texts), ...groupTests(data, filter), ...patternTests(data, filter, cuts)];
  tests.push(...filter.where.map((condition) => conditionTest(data, condition)));
  const rows = data.index.ids.map((_, row) => row).filter((row) => tests.every((test) => test(row)));
  return ordered(data, filter, rows);
}

function textTests({ text }, texts) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return words.length ? [(row) => words.every((word) => texts[row].includes(word))] : [];
}

function groupTests(data, { group }) {
  return group ? [(row) => data.index.groups?.[row] === group] : [];
}

function patternTests(data, { pattern }, cuts) {
  const wanted = data.head.patterns.find(({ name }) => name === pattern);
  return wanted ? [(row) => shows(wanted, data, row, cuts)] : [];
}

/** A condition on one metric: {metric, low, high, is}; `is`: undefined, failed, a verdict, or nothing. */
function conditionTest(data, { metric, low, high, is }) {
  const values = data.index.values[metric] ?? [];
  const failed = new Set(data.index.failed[metric]);
  const labels = data.index.labels[metric] ?? [];
  const mask = (VERDICTS[is] ?? []).reduce((bits, label) => bits | data.head.bits[label], 0);
  return (row) => {
    const value = values[row] ?? null;
    if (is === "undefined" || is === "failed") return value === null && failed.has(row) === (is === "failed");
    if (mask && !(labels[row] & mask)) return false;
    if (low === null && high === null) return true;
    return value !== null && value >= (low ?? -Infinity) && value <= (high ?? Infinity);
  };
}

/**
 * Sorted by a metric, from the worst or the best; rows without a value come last. Of equal ones those with something
 * contradicted come first, then those that come first in the data.
 */
function ordered(data, { sort, worst }, rows) {
  const values = data.index.values[sort];
  if (!values) return worst ? rows : rows.reverse();
  const rising = (data.head.estimates[sort]?.better === "lower") !== worst ? 1 : -1;
  const missing = (row) => Number(values[row] === null);
  const contradicted = (row) => (data.index.labels[sort][row] & data.head.bits.contradicted ? 0 : 1);
  return rows.sort(
    (one, other) =>
      missing(one) - missing(other) ||
      rising * (values[one] - values[other]) ||
      contradicted(one) - contradicted(other) ||
      one - other,
  );
}
