// The page of a report: reads the run that stands in it, and shows what the address asks for.

import { element } from "./dom.js";
import { openRun } from "./data.js";
import { offerThemes } from "./theme.js";
import { RunPage } from "./runpage.js";

const main = document.getElementById("main");

async function start() {
  offerThemes(document.getElementById("theme"));
  try {
    const page = new RunPage(await openRun(), main);
    addEventListener("hashchange", () => show(page, true).catch(lament));
    addEventListener("beforeprint", () => page.print(true));
    addEventListener("afterprint", () => page.print(false));
    main.addEventListener("keydown", (event) => page.keys(event));
    await show(page, false);
    await page.data.texts();
  } catch (error) {
    lament(error);
  }
}

function show(page, moved) {
  document.getElementById("views").replaceChildren(...page.links());
  return page.show(moved);
}

function lament(error) {
  const said = `This report cannot be read: ${error.message}`;
  main.replaceChildren(element("p", { role: "alert", class: "caution" }, said));
}

start();
