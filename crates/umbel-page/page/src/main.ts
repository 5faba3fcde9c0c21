//! The page: which view the address names. The frame and the views' headings are in index.html, so that there is something to read
//! before this script; what else a view has is made when it is first shown.

import { Address, hash, named, names, type Name } from "./address";
import { Client } from "./client";
import { isForeign, read, write } from "./goal";
import { Learn } from "./learn";
import { Look } from "./look";
import { Make } from "./make";
import { Plan } from "./plan";
import { afterColours } from "./theme";
import { words } from "./words";

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

const makers: Record<Name, (root: HTMLElement) => View> = {
  plan: (root) => new Plan(root, quick, (query, step) => address.keep("plan", query, step)),
  look: (root) => new Look(root),
  make: (root) =>
    new Make(root, new Client("files"), (files) => {
      (view("look") as Look).receive(files);
      location.hash = hash("look");
    }),
  learn: (root) => new Learn(root, quick, (query) => address.keep("learn", query)),
};
const views: Partial<Record<Name, View>> = {};

const one = <E extends Element>(selector: string) => document.querySelector<E>(selector)!;
const content = one<HTMLElement>("main");
const links = [...document.querySelectorAll<HTMLAnchorElement>(".top nav a")];
/** The views' elements, which are in the order of their names, as links are. */
const roots = [...content.children] as HTMLElement[];
const home = one<HTMLAnchorElement>(".name a");
const other = one<HTMLAnchorElement>(".other");
other.addEventListener("click", () => {
  // The same view in the other language.
  other.hash = location.hash;
});

function view(name: Name): View {
  return (views[name] ??= makers[name](roots[names.indexOf(name)]!));
}

const address = new Address((name, query) => {
  links[names.indexOf(name)]!.href = hash(name, query);
  if (name === "plan") home.href = hash(name, query);
});

let shown: Name | undefined;
function route(): void {
  const { name, query } = named();
  const now = view(name);
  document.title = words.signs.named(words[name].nav, words.site.title);
  names.forEach((other, index) => {
    if (other === name) links[index]!.setAttribute("aria-current", "page");
    else links[index]!.removeAttribute("aria-current");
  });
  if (shown !== name) {
    const first = shown === undefined;
    if (shown) views[shown]!.hide?.();
    shown = name;
    document.documentElement.dataset.view = name;
    // What is there stays: a heading that goes and comes is drawn twice.
    for (const other of [...content.children]) if (other !== now.root) other.remove();
    content.append(...(now.root.isConnected ? [] : [now.root]));
    scrollTo(0, 0);
    // Who came by a link hears where they are.
    if (!first) now.root.querySelector("h1")?.focus({ preventScroll: true });
  }
  address.show(name, query);
  now.show(query);
  now.redraw();
}

one(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  content.focus();
});
afterColours(() => Object.values(views).forEach((view) => view.redraw()));

// A goal as other calculators' links have it becomes one of this page's.
const { search } = location;
if (location.hash === "" && isForeign(search)) location.replace(hash("plan", write(read(search))));

addEventListener("hashchange", route);
// A file that is dropped beside its place would otherwise replace the page.
for (const kind of ["dragover", "drop"]) addEventListener(kind, (event) => event.preventDefault());

// A page from a server opens again without one. Its files are fetched for that when nothing else waits for the network.
function keep(): void {
  if (!location.protocol.startsWith("http")) return;
  navigator.serviceWorker?.register("offline.js").catch(() => {
    // Its visitor needs the network, as for other pages.
  });
}

// After this script, not within it: the page answers in between.
setTimeout(() => {
  route();
  quick
    .ask({ type: "about" })
    .then(
      ({ version: number }) => {
        one(".version").textContent = words.site.version(number);
      },
      () => {},
    )
    .finally(() => {
      delete document.documentElement.dataset.starting;
      keep();
    });
});
