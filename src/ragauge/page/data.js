// The data of a run, in parts that are read when they are needed.

const KEPT_BLOCKS = 8;

/** The run whose parts stand in this page as gzip-compressed JSON. */
export async function openRun() {
  const [head, index] = await Promise.all([stored("head"), stored("index")]);
  return new RunData(head, index, stored);
}

async function stored(name) {
  const part = document.getElementById(`data-${name}`);
  if (!part) throw new Error(`the page has no data called ${name}; it may have been cut off`);
  const bytes = Uint8Array.from(atob(part.textContent), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

/** `head` and `index` of a run; texts and samples come when they are asked for. */
export class RunData {
  #part;
  #texts = null;
  #blocks = new Map();

  /** part: gives a part by its name. served: of a page with a server, the run's id and what people say of it. */
  constructor(head, index, part, { run = null, people = null } = {}) {
    this.#part = part;
    this.run = run;
    this.people = people;
    this.head = head;
    this.index = index;
    this.size = index.ids.length;
    this.metrics = Object.keys(index.values);
    this.rows = new Map(index.ids.map((id, row) => [id, row]));
  }

  /** What is searched, by row, in lower case. */
  texts() {
    this.#texts ??= this.#part("texts").then((texts) => texts.map((text) => text.toLowerCase()));
    return this.#texts;
  }

  /** A sample with its scores and evidence, as docs/output.md describes it. */
  async sample(row) {
    const number = Math.floor(row / this.head.block);
    const block = this.#blocks.get(number) ?? this.#part(`samples-${number}`);
    this.#blocks.delete(number);
    this.#blocks.set(number, block);
    if (this.#blocks.size > KEPT_BLOCKS) this.#blocks.delete(this.#blocks.keys().next().value);
    return (await block)[row % this.head.block];
  }

  /** What a pattern goes by: the value of a metric or a sign in a row, null where there is none. */
  signal(name, row) {
    return (this.index.signs[name] ?? this.index.values[name])?.[row] ?? null;
  }

  /** Whether any sample has such a signal. */
  hasSignal(name) {
    return name in this.index.signs || name in this.index.values;
  }
}

/** One score of a sample, or what it adds to a metric over the data set. */
export function scoreOf(record, metric) {
  return record.scores[metric] ?? record.counted[metric];
}

/** The pieces behind one score of a sample. */
export function piecesOf(record, metric) {
  return (scoreOf(record, metric)?.evidence ?? []).flatMap((need) => record.evidence[need] ?? []);
}
