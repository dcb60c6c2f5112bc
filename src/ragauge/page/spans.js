// Spans: they count code points, as Python does, and may overlap; strings here count UTF-16 units.

/** The text between two code points. */
export function sliced(text, [start, end]) {
  const at = units(text);
  return text.slice(at(start), at(end));
}

/** A function from a position in code points to one in UTF-16 units. */
function units(text) {
  if (!/[\ud800-\udfff]/.test(text)) return (position) => position;
  const offsets = [];
  let offset = 0;
  for (const character of text) {
    offsets.push(offset);
    offset += character.length;
  }
  return (position) => offsets[position] ?? text.length;
}

/**
 * A text cut where any mark begins or ends: [{text, marks}], the marks that cover a piece from the narrowest.
 * marks: objects with a `span`; empty and missing spans cover nothing.
 */
export function segments(text, marks) {
  const at = units(text);
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
