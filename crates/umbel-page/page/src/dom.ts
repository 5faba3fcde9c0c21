//! Elements without a framework.

type Child = Node | string | false | null | undefined;
type Value = string | number | boolean | undefined | null | ((event: never) => void);

/** Adds attributes, and listeners for names such as `onclick`; `true` is an empty attribute, `false` is none. */
function assign(element: Element, attributes: Record<string, Value>): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") {
      element.addEventListener(name.slice(2), value as EventListener);
    } else if (value !== false && value !== undefined && value !== null) {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
}

/** Makes an HTML element. */
export function h<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Record<string, Value> = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  assign(element, attributes);
  fill(element, ...children);
  return element;
}

/** Makes an SVG element. */
export function svg<K extends keyof SVGElementTagNameMap>(tag: K, attributes: Record<string, Value> = {}, ...children: Child[]): SVGElementTagNameMap[K] {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  assign(element, attributes);
  fill(element, ...children);
  return element;
}

/** Replaces what an element contains. */
export function fill(element: Element, ...children: Child[]): void {
  element.replaceChildren(...children.filter((child): child is Node | string => child !== false && child != null));
}

/** A command line, which breaks between its words and not at their hyphens. */
export function commandLine(command: string): HTMLElement {
  const words = command.split(" ").map((word) => h("span", { class: "kept" }, word));
  return h("code", {}, ...words.flatMap((word, index) => [index > 0 && " ", word]));
}

let last = 0;
/** An id that no other element has. */
export function unique(name: string): string {
  last += 1;
  return `${name}-${last}`;
}

/** Calls `what` once calls have stopped for `wait` milliseconds. */
export function debounce(wait: number, what: () => void): () => void {
  let timer: number | undefined;
  return () => {
    clearTimeout(timer);
    timer = window.setTimeout(what, wait);
  };
}

/** The colour that a custom property has now, as canvases need it. */
export function colour(name: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

/** Whether the reader asked for less motion. */
export function still(): boolean {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}
