//! Dark and light: as the system has it, or as chosen here.

const STORE = "umbel-theme";
const NAMES = ["auto", "light", "dark"] as const;
type Theme = (typeof NAMES)[number];

/** Storage may be forbidden, as on some pages without an origin. */
function stored(): Theme {
  try {
    return NAMES.find((name) => name === localStorage.getItem(STORE)) ?? "auto";
  } catch {
    return "auto";
  }
}

function apply(theme: Theme): void {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

const select = () => document.querySelector<HTMLSelectElement>(".theme select");

/** Hears of a choice, here or in another tab. */
function hear(chosen: (theme: Theme, here: boolean) => void): void {
  document.addEventListener("change", ({ target }) => {
    const chooser = select();
    if (chooser && target === chooser) chosen(chooser.value as Theme, true);
  });
  window.addEventListener("storage", ({ key }) => key === STORE && chosen(stored(), false));
}

/** Uses the colours that were chosen, and that will be. The switch need not be there yet. */
export function useColours(): void {
  const show = (theme: Theme) => {
    apply(theme);
    const chooser = select();
    if (chooser) chooser.value = theme;
  };
  show(stored());
  addEventListener("DOMContentLoaded", () => show(stored()));
  hear((theme, here) => {
    show(theme);
    if (!here) return;
    try {
      localStorage.setItem(STORE, theme);
    } catch {
      // It holds until the page is left.
    }
  });
}

/** Calls `changed` when colours have changed, by the switch or by the system. */
export function afterColours(changed: () => void): void {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
  hear(changed);
}
