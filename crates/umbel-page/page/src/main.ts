//! The page: its frame, and which view the address names. Each view is made when it is first shown.

import { Address, hash, named, names, type Name } from "./address";
import { Client } from "./client";
import { fill, h } from "./dom";
import { isForeign, read, write } from "./goal";
import { Learn } from "./learn";
import { Look } from "./look";
import { Make } from "./make";
import { Plan } from "./plan";
import { themeSwitch } from "./theme";
import { words } from "./words";

/** Whether somebody works on the page, as build.mjs was told. */
declare const UMBEL_DRAFT: boolean;

interface View {
  root: HTMLElement;
  /** Shows what the address says after the view's name. */
  show(query: string): void;
  redraw(): void;
  /** Another view takes its place. */
  hide?(): void;
}

// A file that is being read does not keep a plan waiting.
const quick = new Client("core");

const makers: Record<Name, () => View> = {
  plan: () => new Plan(quick, (query, step) => address.keep("plan", query, step)),
  look: () => new Look(),
  make: () =>
    new Make(new Client("files"), (files) => {
      const look = (views.look ??= makers.look()) as Look;
      look.receive(files);
      location.hash = hash("look");
    }),
  learn: () => new Learn(quick, (query) => address.keep("learn", query)),
};
const views: Partial<Record<Name, View>> = {};

const content = h("main", { id: "content", tabindex: -1 });
const links = names.map((name) => h("a", { href: hash(name) }, words[name].nav));
const home = h("a", { href: hash("plan") }, h("strong", {}, words.site.name), " ", words.site.sub);
const version = h("span");
const { name: language, language: lang, page } = words.site.other;
const other = h(
  "a",
  {
    href: page,
    lang,
    hreflang: lang,
    onclick: () => {
      // The same view in the other language.
      other.setAttribute("href", `${page}${location.hash}`);
    },
  },
  language,
);

const address = new Address((name, query) => {
  links[names.indexOf(name)]!.href = hash(name, query);
  if (name === "plan") home.href = hash(name, query);
});

let shown: Name | undefined;
function route(): void {
  const { name, query } = named();
  const view = (views[name] ??= makers[name]());
  document.title = `${words[name].nav}: ${words.site.title}`;
  names.forEach((other, index) => {
    if (other === name) links[index]!.setAttribute("aria-current", "page");
    else links[index]!.removeAttribute("aria-current");
  });
  if (shown !== name) {
    const first = shown === undefined;
    if (shown) views[shown]!.hide?.();
    shown = name;
    fill(content, view.root);
    scrollTo(0, 0);
    // Who came by a link hears where they are.
    if (!first) view.root.querySelector("h1")?.focus({ preventScroll: true });
  }
  address.show(name, query);
  view.show(query);
  view.redraw();
}

const skip = h(
  "a",
  {
    class: "skip",
    href: "#content",
    onclick: (event: Event) => {
      event.preventDefault();
      content.focus();
    },
  },
  words.site.skip,
);

document.body.append(
  skip,
  h(
    "header",
    { class: "top" },
    h("p", { class: "name" }, home),
    h("nav", { "aria-label": words.site.views }, ...links),
    themeSwitch(() => Object.values(views).forEach((view) => view.redraw())),
  ),
  content,
  h("footer", {}, h("p", {}, words.site.foot), h("p", {}, other, " · ", h("a", { href: "licences.txt" }, words.site.licences), " · ", version)),
);

// A goal as other calculators' links have it becomes one of this page's.
const { search } = location;
if (location.hash === "" && isForeign(search)) location.replace(hash("plan", write(read(search))));

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

// A page from a server opens again without one.
if (!UMBEL_DRAFT && location.protocol.startsWith("http")) {
  addEventListener("load", () => {
    navigator.serviceWorker?.register("offline.js").catch(() => {
      // Its visitor needs the network, as for other pages.
    });
  });
}
