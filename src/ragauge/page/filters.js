// Which samples are shown and in which order: filters, failure patterns, and the address of a view.

/** The verdicts that samples can be filtered by, with the labels that stand for them. */
export const VERDICTS = {
  contradicted: ["contradicted"],
  "not supported": ["neutral", "not_entailed"],
  supported: ["entailed"],
  no: ["no"],
  yes: ["yes"],
  wrong: ["wrong"],
  "partly right": ["partly"],
  right: ["right"],
};

/** The default filter: all samples, worst first. */
export function defaultFilter(data) {
  const sort = data.head.chooser ?? "";
  return { text: "", where: [], pattern: "", group: "", sort, worst: true };
}

/** The rows that match a filter, in its order. thresholds: of the patterns. */
export async function filteredRows(data, filter, thresholds) {
  return selectRows(data, filter, thresholds, filter.text.trim() ? await data.texts() : []);
}

/** The same without waiting. texts: of `data.texts()`, required if `text` is not empty. */
export function selectRows(data, filter, thresholds, texts = []) {
  const tests = [...textTests(filter, texts), ...groupTests(data, filter), ...patternTests(data, filter, thresholds)];
  tests.push(...filter.where.map((condition) => conditionTest(data, condition)));
  const rows = data.index.ids.map((_, row) => row).filter((row) => tests.every((test) => test(row)));
  return sortRows(data, filter, rows);
}

function textTests({ text }, texts) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return words.length ? [(row) => words.every((word) => texts[row].includes(word))] : [];
}

function groupTests(data, { group }) {
  return group ? [(row) => data.index.groups?.[row] === group] : [];
}

function patternTests(data, { pattern }, thresholds) {
  const wanted = data.head.patterns.find(({ name }) => name === pattern);
  return wanted ? [(row) => matchesPattern(wanted, data, row, thresholds)] : [];
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
 * Sorted by a metric, from the worst or the best; rows without a value come last. Of equal ones those with a
 * contradiction come first, then those of which the judge was surest, then those that come first in the data.
 */
function sortRows(data, { sort, worst }, rows) {
  const values = data.index.values[sort];
  if (!values) return worst ? rows : rows.reverse();
  const rising = (data.better(sort) === "lower") !== worst ? 1 : -1;
  const missing = (row) => Number(values[row] === null);
  const contradicted = (row) => (data.index.labels[sort][row] & data.head.bits.contradicted ? 0 : 1);
  const unsure = (row) => (sort === data.head.chooser ? -(data.index.sure?.[row] ?? 0) : 0);
  return rows.sort(
    (one, other) =>
      missing(one) - missing(other) ||
      rising * (values[one] - values[other]) ||
      contradicted(one) - contradicted(other) ||
      unsure(one) - unsure(other) ||
      one - other,
  );
}

/**
 * The rows that match each pattern of failure: [{pattern, rows, measured}]. The table of patterns comes with the data,
 * the thresholds may be the reader's own. measured: whether the run has the metrics that the pattern needs.
 */
export function matchPatterns(data, thresholds) {
  return data.head.patterns.map((pattern) => {
    const measured = pattern.when.every(({ signals }) => signals.some((name) => data.hasSignal(name)));
    const matches = (row) => matchesPattern(pattern, data, row, thresholds);
    const rows = measured ? data.index.ids.map((_, row) => row).filter(matches) : [];
    return { pattern, rows, measured };
  });
}

/** Whether a row matches a pattern. */
export function matchesPattern(pattern, data, row, thresholds) {
  const holds = (condition) => conditionHolds(condition, data, row, thresholds);
  return pattern.when.every(holds) && !pattern.unless.some(holds);
}

function conditionHolds({ level, signals }, data, row, thresholds) {
  const name = signals.find((signal) => data.signal(signal, row) !== null);
  if (name === undefined) return false;
  const value = data.signal(name, row);
  if (level === "below") return value < thresholds[name];
  return level === "at_least" ? value >= thresholds[name] : value > thresholds[name];
}

const LEVELS = { below: "below", at_least: "at least", above: "above" };

/** A pattern's conditions in words, for the signals that this run has. */
export function describePattern({ when, unless }, data, thresholds) {
  const describe = ({ level, signals }) => {
    const name = signals.find((signal) => data.hasSignal(signal)) ?? signals[0];
    if (name in data.index.signs) return level === "below" ? `not ${name}` : name;
    return `${name} ${LEVELS[level]} ${thresholds[name]}`;
  };
  const known = unless.filter(({ signals }) => signals.some((name) => data.hasSignal(name)));
  const exceptions = known.length ? `, unless ${known.map(describe).join(" or ")}` : "";
  return when.map(describe).join(" and ") + exceptions;
}

/** The metrics of the run that some pattern has a threshold for; signs are yes or no and need none. */
export function thresholdMetrics(data) {
  const used = data.head.patterns.flatMap(({ when, unless }) => [...when, ...unless]).flatMap(({ signals }) => signals);
  return [...new Set(used)].filter((name) => name in data.index.values);
}

/** The view in the fragment of the address: {view, sample, metric, filter}. */
export function readAddress(data) {
  const given = new URLSearchParams(location.hash.slice(1));
  const filter = {
    text: given.get("text") ?? "",
    where: given.getAll("where").map(readCondition),
    pattern: given.get("pattern") ?? "",
    group: given.get("group") ?? "",
    sort: given.get("sort") ?? defaultFilter(data).sort,
    worst: given.get("best") === null,
  };
  const sample = given.get("sample");
  const view = sample !== null ? "sample" : (given.get("view") ?? "overview");
  return { view, sample, metric: given.get("metric"), filter };
}

/** The address of a view; defaults are left out. */
export function address(data, { view, sample = null, metric = null, filter = {} }) {
  const usual = defaultFilter(data);
  const { text, where, pattern, group, sort, worst } = { ...usual, ...filter };
  const given = new URLSearchParams();
  if (data.run) given.set("run", data.run);
  if (view === "sample") given.set("sample", sample);
  else if (view !== "overview") given.set("view", view);
  if (metric) given.set("metric", metric);
  for (const [key, value] of Object.entries({ text, pattern, group })) if (value) given.set(key, value);
  for (const condition of where) given.append("where", writeCondition(condition));
  if (sort !== usual.sort) given.set("sort", sort);
  if (!worst) given.set("best", "");
  return `#${given}`;
}

function writeCondition({ metric, low, high, is }) {
  return [metric, low ?? "", high ?? "", is].join("~");
}

function readCondition(written) {
  const parts = written.split("~");
  const [low, high, is] = parts.slice(-3);
  return { metric: parts.slice(0, -3).join("~"), low: readNumber(low), high: readNumber(high), is: is ?? "" };
}

/** A number as typed; null if there is none. */
export function readNumber(typed) {
  return typed?.trim() && Number.isFinite(Number(typed)) ? Number(typed) : null;
}
