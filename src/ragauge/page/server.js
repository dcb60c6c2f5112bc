// Requests of a served page to its server; the address contains the token that the server requires.

import { RunData } from "./data.js";
import { labelSession, labelSummary, sampleLabels } from "./label.js";

/** Plain data from a path below the page's address. Throws an Error with the message of the server. */
export async function fetchData(path, given = {}) {
  const query = new URLSearchParams(given);
  return read(await fetch(`${path}${query.size ? `?${query}` : ""}`));
}

async function sendData(path, content) {
  const headers = { "Content-Type": "application/json" };
  return read(await fetch(path, { method: "POST", headers, body: JSON.stringify(content) }));
}

async function read(response) {
  const content = await response.json();
  if (!response.ok) throw new Error(content.error);
  return content;
}

/** A run of the server, as it is now; only a run that has ended can be labelled. */
export async function openServed(run) {
  const part = (name) => fetchData(`api/runs/${run}/parts/${name}`);
  const [head, index] = await Promise.all([part("head"), part("index")]);
  const labels = head.run.status !== "running" ? new Labels(head.run.id) : null;
  return new RunData(head, index, part, { run: head.run.id, labels });
}

/** The labels of people on a run. */
class Labels {
  #base;

  constructor(run) {
    this.#base = `api/runs/${run}`;
  }

  /** A section of the overview on how judge and people agree. */
  summary() {
    return labelSummary(this);
  }

  /** The view for labelling one question after the other, for a metric or the first one of the run. */
  session(data, metric) {
    return labelSession(data, metric);
  }

  /** The labels on the evidence of one metric of a sample. */
  onSample(row, metric) {
    return sampleLabels(this, row, metric);
  }

  /** Label summaries: {metrics, summaries, by}, for the metrics that have labels, or for one. */
  fetchSummaries(metric = null) {
    return fetchData(`${this.#base}/labels`, metric ? { metric } : {});
  }

  /** The next sample to label: {metric, draw, id, pieces}. skipped: positions to leave out. */
  fetchNext(metric, skipped) {
    return fetchData(`${this.#base}/next`, { ...(metric ? { metric } : {}), passed: skipped.join(",") });
  }

  /** The pieces of a sample to label for a metric with their labels, and the resulting scores: {pieces, scores, edit}. */
  fetchSample(position, metric) {
    return fetchData(`${this.#base}/samples/${position}`, { metric });
  }

  /** Save a row of a test set as it was changed: {query, references, claims}. Returns the sample as fetchSample. */
  saveEdit(position, change) {
    return sendData(`${this.#base}/edits`, { position, ...change });
  }

  /** Save an answer; draw: how its sample was drawn, null if the verdict was shown. Returns the sample as fetchSample. */
  save(position, metric, judgment, answer, draw) {
    return sendData(`${this.#base}/labels`, { position, metric, judgment, answer, draw });
  }
}
