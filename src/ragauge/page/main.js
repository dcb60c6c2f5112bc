// The report: shows the run, or the comparison of two, that is embedded in the page.

import { embedded, openEmbedded } from "./data.js";
import { RunPage, main, showError, showLinks, startPage } from "./page.js";
import { comparison } from "./compare.js";

const compared = document.getElementById("data-comparison") !== null;
const opening = compared ? embedded("comparison") : openEmbedded().then((data) => new RunPage(data));
let page = null;

async function show(moved) {
  try {
    if (compared) {
      main.replaceChildren(...comparison(await opening, () => null).filter(Boolean));
      document.documentElement.dataset.ready = "compare";
      return;
    }
    page = await opening;
    showLinks(...page.links());
    await page.show(moved);
    await page.data.texts();
  } catch (error) {
    showError(`This report cannot be read: ${error.message}`);
  }
}

startPage(show, () => page);
