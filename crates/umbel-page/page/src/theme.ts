//! Dark and light: as the system has it, or as chosen here.

import { h } from "./dom";
import { words } from "./words";

const STORE = "umbel-theme";
type Theme = "auto" | "light" | "dark";

/** Storage may be forbidden, as on some pages without an origin. */
function stored(): Theme {
  try {
    const theme = localStorage.getItem(STORE);
    return theme === "light" || theme === "dark" ? theme : "auto";
  } catch {
    return "auto";
  }
}

function apply(theme: Theme): void {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

/** The switch; `changed` is called when colours have changed, by it or by the system. */
export function themeSwitch(changed: () => void): HTMLElement {
  const now = stored();
  apply(now);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
  const names: Theme[] = ["auto", "light", "dark"];
  const select = h(
    "select",
    {
      onchange: () => {
        const theme = select.value as Theme;
        apply(theme);
        try {
          localStorage.setItem(STORE, theme);
        } catch {
          // It holds until the page is left.
        }
        changed();
      },
    },
    ...names.map((name) => h("option", { value: name, selected: name === now }, words.theme[name])),
  );
  // Another tab of the page may have chosen.
  window.addEventListener("storage", ({ key }) => {
    if (key !== STORE) return;
    select.value = stored();
    apply(stored());
    changed();
  });
  return h("label", { class: "theme" }, h("span", {}, words.theme.label), select);
}
