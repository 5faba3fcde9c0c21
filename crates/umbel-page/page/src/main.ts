//! The page: its frame, and which view the address names. Each view is made when it is first shown.

import { Client } from "./client";
import { fill, h } from "./dom";
import { Learn } from "./learn";
import { Look } from "./look";
import { Plan } from "./plan";
import { themeSwitch } from "./theme";
import { words } from "./words";

interface View {
  root: HTMLElement;
  /** Shows what the address says after the view's name. */
  show(query: string): void;
  redraw(): void;
}

const names = ["plan", "look", "learn"] as const;
type Name = (typeof names)[number];

// A file that is being read does not keep a plan waiting.
const quick = new Client();

/** Writes a view's state into the address, without another entry in the history. */
function remember(name: Name): (query: string) => void {
  return (query) => history.replaceState(null, "", `#${name}${query ? `?${query}` : ""}`);
}

const makers: Record<Name, () => View> = {
  plan: () => new Plan(quick, remember("plan")),
  look: () => new Look(),
  learn: () => new Learn(quick, remember("learn")),
};
const views: Partial<Record<Name, View>> = {};

const content = h("main", { id: "content", tabindex: -1 });
const links = names.map((name) => h("a", { href: `#${name}` }, words[name].nav));
const version = h("span");

function address(): { name: Name; query: string } {
  const [path, ...rest] = location.hash.slice(1).split("?");
  const name = names.find((name) => name === path) ?? "plan";
  return { name, query: rest.join("?") };
}

let shown: Name | undefined;
function route(): void {
  const { name, query } = address();
  const view = (views[name] ??= makers[name]());
  document.title = `${words[name].nav}: ${words.site.title}`;
  names.forEach((other, index) => {
    if (other === name) links[index]!.setAttribute("aria-current", "page");
    else links[index]!.removeAttribute("aria-current");
  });
  if (shown !== name) {
    const first = shown === undefined;
    shown = name;
    fill(content, view.root);
    scrollTo(0, 0);
    // Who came by a link hears where they are.
    if (!first) view.root.querySelector("h1")?.focus({ preventScroll: true });
  }
  view.show(query);
  view.redraw();
}

const skip = h("a", { class: "skip", href: "#content", onclick: (event: Event) => {
  event.preventDefault();
  content.focus();
} }, words.site.skip);

document.body.append(
  skip,
  h(
    "header",
    { class: "top" },
    h("p", { class: "name" }, h("a", { href: "#plan" }, h("strong", {}, words.site.name), " ", words.site.sub)),
    h("nav", { "aria-label": words.site.views }, ...links),
    themeSwitch(() => Object.values(views).forEach((view) => view.redraw())),
  ),
  content,
  h("footer", {}, h("p", {}, words.site.foot), h("p", {}, version)),
);

addEventListener("hashchange", route);
// A file that is dropped beside its place would otherwise replace the page.
for (const kind of ["dragover", "drop"]) addEventListener(kind, (event) => event.preventDefault());
route();
quick.ask({ type: "about" }).then(
  ({ version: number }) => {
    version.textContent = words.site.version(number);
  },
  () => {},
);
