// The form that changes a row of a test set: its question, its references and its gold claims.

import { details, element } from "./dom.js";

/** The form for a sample of a test set; null for any other. edit: the change that was made before, if any. */
export function editForm(labels, row, { sample }, edit) {
  if (!labels || !sample.metadata?.test_set) return null;
  const { query = "", references, answers } = edit ?? sample;
  const status = element("p", { role: "status", class: "quiet" }, edit ? `edited by ${edit.by}` : "");
  const box = (name, words, text, rows) =>
    element("label", {}, words, element("textarea", { name, rows, dir: "auto" }, text));
  const submit = async (event) => {
    event.preventDefault();
    const lines = values(form, "claims").join("\n").split("\n");
    const claims = lines.map((line) => line.trim()).filter(Boolean);
    const change = { query: values(form, "query").join(""), references: values(form, "reference"), claims };
    try {
      const saved = await labels.saveEdit(row, change);
      status.textContent = `saved as ${saved.edit.by}; write the set with: ragauge dataset edited FILE -o NEW.jsonl`;
    } catch (error) {
      status.textContent = error.message;
    }
  };
  const form = element(
    "form",
    { class: "edit", submit },
    box("query", "Question", query, 2),
    [...(references ?? []), ""].map((text, i) => box("reference", `Reference ${i + 1}`, text, text ? 3 : 1)),
    box("claims", "Nuggets, one a line", (answers ?? []).map(([claim]) => claim).join("\n"), 4),
    element("button", {}, "Save"),
    status,
  );
  return details("Edit this row of the test set", form);
}

/** What is written in the fields of a name, without those that are blank. */
function values(form, name) {
  return [...form.querySelectorAll(`[name=${name}]`)].map(({ value }) => value.trim()).filter(Boolean);
}
