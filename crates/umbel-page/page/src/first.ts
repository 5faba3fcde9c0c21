//! What comes before the page's first picture: the view that the address names, whose heading is in index.html, and the chosen colours.
//! build.mjs puts this script inside the page, so that nothing waits for it. The other ones, which index.html preloads, start when
//! there is something to read.

import { named } from "./address";
import { aside } from "./aside";
import { useColours } from "./theme";

declare global {
  /** The script of the first core, which is on its way before any other script. */
  var umbelBegun: Promise<string> | undefined;
}
globalThis.umbelBegun = aside("core");
globalThis.umbelBegun.catch(() => {});

const { dataset } = document.documentElement;
dataset.view = named().name;
dataset.starting = "";
useColours();

function start(): void {
  for (const { href } of document.querySelectorAll<HTMLLinkElement>("link[rel=preload]")) {
    const script = document.createElement("script");
    script.src = href;
    // One after the other.
    script.async = false;
    document.head.append(script);
  }
}

addEventListener("DOMContentLoaded", () => {
  // Nothing is drawn of a page that is not seen.
  if (document.hidden) start();
  else requestAnimationFrame(() => setTimeout(start));
});
