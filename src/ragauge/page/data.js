// The data of a run, in parts that are read when they are needed, and how to look things up in a sample.

const KEPT_BLOCKS = 8;

/** The run whose parts are embedded in this page as gzip-compressed JSON. */
export async function openEmbedded() {
  const [head, index] = await Promise.all([embedded("head"), embedded("index")]);
  return new RunData(head, index, embedded);
}

/** A part of the data that is embedded in this page. */
export async function embedded(name) {
  const part = document.getElementById(`data-${name}`);
  if (!part) throw new Error(`the page has no data called ${name}; the file may be incomplete`);
  const bytes = Uint8Array.from(atob(part.textContent), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

/** `head` and `index` of a run; texts and samples come when they are asked for. */
export class RunData {
  #part;
  #texts = null;
  #blocks = new Map();

  /** part: returns a part by its name. served: the run's id and its labels, of a page with a server. */
  constructor(head, index, part, { run = null, labels = null } = {}) {
    this.#part = part;
    this.run = run;
    this.labels = labels;
    this.head = head;
    this.index = index;
    this.size = index.ids.length;
    this.name = head.run.name || head.run.data;
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

  /** Whether higher or lower values of a metric are better. */
  better(metric) {
    return this.head.estimates[metric]?.better ?? "higher";
  }

  /** A signal of a pattern: the value of a metric or a sign in a row, null if there is none. */
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

/** The metrics that a sample has a score of, or adds to. */
export function metricsOf(record) {
  return Object.keys({ ...record.scores, ...record.counted });
}

/** The evidence of one score of a sample. */
export function evidenceOf(record, metric) {
  return (scoreOf(record, metric)?.evidence ?? []).flatMap((need) => record.evidence[need] ?? []);
}

/** The text of a field such as "response", "contexts[2]" or "turns[0].calls[1]", as judges read it. */
export function textOf(sample, field) {
  const steps = /^\w+(\[\d+\])?(\.calls\[\d+\])?$/.test(field) ? field.match(/\w+/g) : [""];
  const value = steps.reduce((inner, step) => inner?.[step], sample);
  if (typeof value === "string") return value;
  if (value?.name !== undefined) return callText(value);
  if (Array.isArray(value)) return value.join(" / ");
  return value?.text === undefined ? "" : value.title ? `${value.title}\n${value.text}` : value.text;
}

/** A call of a tool: "cancel_order(id=7) → error: not cancellable". */
function callText({ name, arguments: given = {}, result, error }) {
  const written = Object.entries(given).map(([key, value]) => `${key}=${typeof value === "string" ? value : JSON.stringify(value)}`);
  const outcome = error ? `error: ${error}` : result;
  return `${name}(${written.join(", ")})${outcome === undefined ? "" : ` → ${outcome}`}`;
}

/** The fields of the calls of tools, those of earlier turns first, then the calls that were expected. */
export function callFields({ turns = [], tool_calls: made = [], reference_tool_calls: expected = [] }) {
  const earlier = turns.flatMap(({ calls = [] }, i) => calls.map((_, j) => `turns[${i}].calls[${j}]`));
  return [...earlier, ...made.map((_, i) => `tool_calls[${i}]`), ...expected.map((_, i) => `reference_tool_calls[${i}]`)];
}

/** The id of a context, if it is not just its position; empty for another field. */
export function chunkId(sample, field) {
  const position = Number(/^contexts\[(\d+)\]$/.exec(field)?.[1]);
  const id = sample.contexts?.[position]?.id ?? "";
  return id === String(position + 1) ? "" : id;
}

/** The text of a span. Spans count code points, as Python does; strings here count UTF-16 units. */
export function sliced(text, [start, end]) {
  const at = offsets(text);
  return text.slice(at(start), at(end));
}

/** A function from a position in code points to one in UTF-16 units. */
function offsets(text) {
  if (!/[\ud800-\udfff]/.test(text)) return (position) => position;
  const starts = [];
  let start = 0;
  for (const character of text) {
    starts.push(start);
    start += character.length;
  }
  return (position) => starts[position] ?? text.length;
}

/**
 * A text cut where any mark begins or ends: [{text, marks}], the marks that cover a segment from the narrowest.
 * marks: objects with a `span`; they may overlap, and empty and missing spans cover nothing.
 */
export function segments(text, marks) {
  const at = offsets(text);
  const placed = marks
    .filter((mark) => mark.span && mark.span[0] < mark.span[1])
    .map((mark) => ({ mark, start: at(mark.span[0]), end: at(mark.span[1]) }))
    .sort((one, other) => one.end - one.start - (other.end - other.start));
  const cuts = new Set([0, text.length, ...placed.flatMap(({ start, end }) => [start, end])]);
  const sorted = [...cuts].sort((one, other) => one - other);
  return sorted.slice(1).map((end, i) => {
    const start = sorted[i];
    const covering = placed.filter((one) => one.start <= start && end <= one.end);
    return { text: text.slice(start, end), marks: covering.map(({ mark }) => mark) };
  });
}
