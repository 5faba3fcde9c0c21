//! Scripts that are loaded when they are needed.

import { words } from "./words";

/** Loads and runs a script of the page's folder; rejects with a sentence for the reader. */
export function load(name: string): Promise<void> {
  const element = document.createElement("script");
  element.src = name;
  const loaded = new Promise<void>((resolve, reject) => {
    element.onload = () => resolve();
    element.onerror = () => reject(new Error(words.failed.script(name)));
  });
  document.head.append(element);
  return loaded.finally(() => element.remove());
}
