// What a served page asks the server that it came from; the address has the secret that the server wants.

import { RunData } from "./data.js";
import { labelSession, labelSummary, sampleLabels } from "./label.js";

/** Plain data from a path behind the page's own address. Throws an Error that says what is wrong. */
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
  const labels = head.run.data_hash ? new Labels(head.run.id) : null;
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

  /** The view that asks for one label after the other, for a metric or the first that the run has. */
  session(data, metric) {
    return labelSession(data, metric);
  }

  /** The labels on the evidence behind one metric of a sample. */
  onSample(row, metric) {
    return sampleLabels(this, row, metric);
  }

  /** Label summaries: {metrics, summaries, by}, for the metrics that have labels, or for one. */
  fetchSummaries(metric = null) {
    return fetchData(`${this.#base}/labels`, metric ? { metric } : {});
  }

  /** The next sample to label: {metric, draw, id, pieces}. skipped: positions that are not wanted. */
  fetchNext(metric, skipped) {
    return fetchData(`${this.#base}/next`, { ...(metric ? { metric } : {}), passed: skipped.join(",") });
  }

  /** What can be labelled in a sample behind a metric, with its labels, and the scores with these: {pieces, scores}. */
  fetchSample(position, metric) {
    return fetchData(`${this.#base}/samples/${position}`, { metric });
  }

  /** Save an answer; draw: how its sample was drawn, null where the verdict was shown. Gives what fetchSample gives. */
  save(position, metric, judgment, answer, draw) {
    return sendData(`${this.#base}/labels`, { position, metric, judgment, answer, draw });
  }
}
