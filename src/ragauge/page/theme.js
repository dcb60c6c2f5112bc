// Light and dark: as the system says ("auto"), until a reader says otherwise.

const THEMES = { "": "auto", light: "light", dark: "dark" };
const PLACE = "ragauge-theme";

/** Make a button that goes through the themes, and show the one that was chosen last. */
export function offerThemes(button) {
  show(button, remembered());
  button.addEventListener("click", () => {
    const names = Object.keys(THEMES);
    const next = names[(names.indexOf(document.documentElement.dataset.theme ?? "") + 1) % names.length];
    show(button, next);
    remember(next);
  });
}

function show(button, theme) {
  document.documentElement.dataset.theme = theme;
  button.textContent = `Theme: ${THEMES[theme]}`;
}

function remembered() {
  try {
    const theme = localStorage.getItem(PLACE);
    return theme in THEMES ? theme : "";
  } catch {
    return "";
  }
}

function remember(theme) {
  try {
    localStorage.setItem(PLACE, theme);
  } catch {
    // A browser that keeps nothing for files shows the theme all the same.
  }
}
