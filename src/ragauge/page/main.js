// The report: shows the run that is embedded in the page, in the view of the address.

import { openEmbedded } from "./data.js";
import { RunPage, showError, showLinks, startPage } from "./page.js";

const opening = openEmbedded().then((data) => new RunPage(data));
let page = null;

async function show(moved) {
  try {
    page = await opening;
    showLinks(...page.links());
    await page.show(moved);
    await page.data.texts();
  } catch (error) {
    showError(`This report cannot be read: ${error.message}`);
  }
}

startPage(show, () => page);
