//! Tabs: one of several panels is shown, chosen by pointer or arrow keys.

import { h, unique } from "./dom";

export interface Tab {
  id: string;
  title: string;
  panel: HTMLElement;
}

/** `chosen` hears which one the reader chose. */
export function tabs(name: string, all: Tab[], first: string, chosen: (id: string) => void): HTMLElement {
  const buttons = all.map(({ id, title, panel }) => {
    const button = h("button", { type: "button", role: "tab", id: unique("tab"), onclick: () => show(id, true) }, title);
    panel.id = unique("panel");
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", button.id);
    button.setAttribute("aria-controls", panel.id);
    return button;
  });
  const show = (id: string, byReader: boolean) => {
    all.forEach((tab, index) => {
      const now = tab.id === id;
      tab.panel.hidden = !now;
      buttons[index]!.setAttribute("aria-selected", String(now));
      buttons[index]!.tabIndex = now ? 0 : -1;
    });
    if (byReader) chosen(id);
  };
  const list = h(
    "div",
    {
      role: "tablist",
      class: "tabs",
      "aria-label": name,
      onkeydown: (event: KeyboardEvent) => {
        const at = buttons.indexOf(document.activeElement as HTMLButtonElement);
        const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: buttons.length - 1 }[event.key];
        if (at < 0 || to === undefined) return;
        event.preventDefault();
        const next = (to + buttons.length) % buttons.length;
        show(all[next]!.id, true);
        buttons[next]!.focus();
      },
    },
    ...buttons,
  );
  show(all.some(({ id }) => id === first) ? first : all[0]!.id, false);
  return h("div", { class: "tabbed" }, list, ...all.map(({ panel }) => panel));
}
