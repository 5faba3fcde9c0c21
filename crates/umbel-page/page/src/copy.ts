//! A button that copies a text.

import { h } from "./dom";
import { words } from "./words";

/** `text` is asked for when the button is pressed; `shown`, if the text is on the page, is selected where copying fails. */
export function copyButton(what: string, text: () => string, shown?: HTMLElement, label = words.copy.copy): HTMLButtonElement {
  const button = h("button", { type: "button", class: "quiet copy", "aria-label": label === words.copy.copy ? words.copy.label(what) : label }, label);
  const said = h("span", { class: "visually-hidden", role: "status" });
  const say = (word: string) => {
    button.firstChild!.textContent = word;
    said.textContent = word;
    setTimeout(() => {
      button.firstChild!.textContent = label;
      said.textContent = "";
    }, 2000);
  };
  button.append(said);
  button.addEventListener("click", () => {
    const copied = navigator.clipboard?.writeText(text()) ?? Promise.reject(new Error());
    copied.then(
      () => say(words.copy.done),
      () => {
        if (shown) getSelection()?.selectAllChildren(shown);
        say(words.copy.manual);
      },
    );
  });
  return button;
}
