// Elements. Texts only ever become text nodes, so that no text of a sample is read as markup.

/** An element; attributes that are null or false are left out, functions are listeners, children may be nested lists. */
export function element(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** The same in SVG. */
export function drawing(tag, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function filled(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value !== null && value !== undefined && value !== false)
      made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

/** Text of the data: of its own direction, whatever stands around it. */
export function quoted(text, tag = "span", attributes = {}) {
  return element(tag, { dir: "auto", ...attributes }, text);
}

/** A choice among [value, words] pairs. */
export function choice(label, options, chosen, change) {
  const listed = options.map(([value, words]) => element("option", { value, selected: value === chosen }, words));
  return element("select", { "aria-label": label, change: (event) => change(event.target.value) }, listed);
}
