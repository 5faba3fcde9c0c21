//! Dark and light: as the system has it, or as chosen here.

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

/** Uses the stored colours. */
export function applyStored(): void {
  apply(stored());
}

function apply(theme: Theme): void {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

/** Makes `select` the switch; `changed` is called when colours have changed, by it or by the system. */
export function themeSwitch(select: HTMLSelectElement, changed: () => void): void {
  select.value = stored();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
  select.addEventListener("change", () => {
    const theme = select.value as Theme;
    apply(theme);
    try {
      localStorage.setItem(STORE, theme);
    } catch {
      // It holds until the page is left.
    }
    changed();
  });
  // Another tab of the page may have chosen.
  window.addEventListener("storage", ({ key }) => {
    if (key !== STORE) return;
    select.value = stored();
    apply(stored());
    changed();
  });
}
