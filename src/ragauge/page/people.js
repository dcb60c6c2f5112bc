// People's labels on the run of a served page: what the server says of them, and how one is given.

import { fetched, sent } from "./api.js";
import { correcting } from "./correcting.js";
import { RunData } from "./data.js";
import { labelling } from "./labelling.js";
import { labelsSection } from "./standings.js";

/** A run of the server, as it is now; labels are for runs that have ended. */
export async function openServed(run) {
  const part = (name) => fetched(`api/runs/${run}/parts/${name}`);
  const [head, index] = await Promise.all([part("head"), part("index")]);
  const people = head.run.data_hash ? new People(head.run.id) : null;
  return new RunData(head, index, part, { run: head.run.id, people });
}

class People {
  #base;

  constructor(run) {
    this.#base = `api/runs/${run}`;
  }

  /** What labels come to, as a section of the overview. */
  section() {
    return labelsSection(this);
  }

  /** One piece after the other to label, for a metric or the first that the run has. */
  session(data, metric) {
    return labelling(data, metric);
  }

  /** The labels on the pieces behind one metric of a sample. */
  onSample(row, metric) {
    return correcting(this, row, metric);
  }

  /** What labels come to: {metrics, standings, by}, for the metrics that have labels, or for one. */
  standings(metric = null) {
    return fetched(`${this.#base}/labels`, metric ? { metric } : {});
  }

  /** The next sample to label: {metric, draw, id, pieces}. passed: positions that are not wanted. */
  next(metric, passed) {
    return fetched(`${this.#base}/next`, { ...(metric ? { metric } : {}), passed: passed.join(",") });
  }

  /** The pieces of a sample behind a metric, with their labels, and its scores with these: {pieces, scores}. */
  sample(position, metric) {
    return fetched(`${this.#base}/samples/${position}`, { metric });
  }

  /** Keep what was said of a piece; draw: how its sample came up, null where the verdict was in sight. */
  keep(position, metric, judgment, said, draw) {
    return sent(`${this.#base}/labels`, { position, metric, judgment, said, draw });
  }
}
