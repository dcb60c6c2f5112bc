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

/** Text of the data, with a direction of its own. */
export function quoted(text, tag = "span", attributes = {}) {
  return element(tag, { dir: "auto", ...attributes }, text);
}

/** Words in which commands are between backticks, as content of an element. */
export function withCommands(words) {
  return words.split("`").map((part, i) => (i % 2 ? element("code", {}, part) : part));
}

/** A drop-down list of values, or of [value, words] pairs. */
export function choice(label, options, chosen, change) {
  const listed = options.map((option) => {
    const [value, words] = Array.isArray(option) ? option : [option, option];
    return element("option", { value, selected: value === chosen }, words);
  });
  return element("select", { "aria-label": label, change: (event) => change(event.target.value) }, listed);
}

/** A button that names its key. */
export function keyButton(key, words, click, disabled = false) {
  return element("button", { type: "button", click, disabled }, element("kbd", {}, key), ` ${words}`);
}

/** Whether a key is pressed by itself, and not typed into a field. */
export function isShortcut(event) {
  return !(event.target.matches("input, select, textarea") || event.altKey || event.ctrlKey || event.metaKey);
}

/**
 * A table that scrolls horizontally if it is wide. heads: the class of each column by its title, or such pairs; small
 * screens leave out the columns of class "spare".
 */
export function table(label, heads, body, attributes = {}) {
  const pairs = Array.isArray(heads) ? heads : Object.entries(heads);
  const titles = pairs.map(([title, kind]) => element("th", { scope: "col", class: kind }, title));
  const made = element("table", attributes, element("thead", {}, element("tr", {}, titles)), body);
  return element("div", { class: "wide", tabindex: 0, role: "region", "aria-label": label }, made);
}

/** A cell with a number. */
export function figure(content, attributes = {}) {
  return element("td", { class: "figure", ...attributes }, content);
}

/** What unfolds under a title. */
export function details(title, content, attributes = {}) {
  return element("details", attributes, element("summary", {}, title), content);
}
