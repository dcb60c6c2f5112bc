// Patterns of failure: the table comes with the data (ragauge.report.patterns), the cuts may be the reader's own.

/** The rows that show each pattern: [{pattern, rows, looked}]; looked: whether the run measured what it goes by. */
export function found(data, cuts) {
  return data.head.patterns.map((pattern) => {
    const looked = pattern.when.every((condition) => condition.signals.some((name) => data.hasSignal(name)));
    const rows = looked ? data.index.ids.map((_, row) => row).filter((row) => shows(pattern, data, row, cuts)) : [];
    return { pattern, rows, looked };
  });
}

/** Whether a row shows a pattern. */
export function shows(pattern, data, row, cuts) {
  const held = (condition) => holds(condition, data, row, cuts);
  return pattern.when.every(held) && !pattern.unless.some(held);
}

function holds({ level, signals }, data, row, cuts) {
  const name = signals.find((signal) => data.signal(signal, row) !== null);
  if (name === undefined) return false;
  const value = data.signal(name, row);
  if (level === "below") return value < cuts[name];
  return level === "at_least" ? value >= cuts[name] : value > cuts[name];
}

const LEVELS = { below: "below", at_least: "at least", above: "above" };

/** A pattern's conditions in words, for the signals that this run has. */
export function conditions(pattern, data, cuts) {
  const said = ({ level, signals }) => {
    const name = signals.find((signal) => data.hasSignal(signal)) ?? signals[0];
    return name in data.index.signs ? sign(name, level) : `${name} ${LEVELS[level]} ${cuts[name]}`;
  };
  const unless = pattern.unless.filter(({ signals }) => signals.some((name) => data.hasSignal(name)));
  const exceptions = unless.length ? `, unless ${unless.map(said).join(" or ")}` : "";
  return pattern.when.map(said).join(" and ") + exceptions;
}

function sign(name, level) {
  return level === "below" ? `not ${name}` : name;
}

/** The signals with a cut that the run has and some pattern goes by; signs are yes or no and need none. */
export function adjustable(data) {
  const used = data.head.patterns.flatMap(({ when, unless }) => [...when, ...unless]).flatMap(({ signals }) => signals);
  return [...new Set(used)].filter((name) => name in data.index.values);
}
