// The address: everything behind the # says what is shown, so that a link leads back to it.

import { everything } from "./filters.js";

/** What the address asks for: {view, sample, metric, filter}. */
export function readRoute(data, hash = location.hash) {
  const given = new URLSearchParams(hash.slice(1));
  const usual = everything(data);
  const filter = {
    text: given.get("text") ?? "",
    where: given.getAll("where").map(readCondition),
    pattern: given.get("pattern") ?? "",
    group: given.get("group") ?? "",
    sort: given.get("sort") ?? usual.sort,
    worst: given.get("best") === null,
  };
  const sample = given.get("sample");
  const view = sample !== null ? "sample" : (given.get("view") ?? "overview");
  return { view, sample, metric: given.get("metric"), filter };
}

/** The address of a route; what is as usual is left out. */
export function address(data, { view, sample = null, metric = null, filter = {} }) {
  const usual = everything(data);
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
  return { metric: parts.slice(0, -3).join("~"), low: bound(low), high: bound(high), is: is ?? "" };
}

/** A bound as it is typed; null where there is none. */
export function bound(typed) {
  return typed?.trim() && Number.isFinite(Number(typed)) ? Number(typed) : null;
}
