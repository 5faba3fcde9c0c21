//! The page's address: the visible view, and its state. Nothing else writes it.

export const names = ["plan", "look", "make", "learn"] as const;
export type Name = (typeof names)[number];

/** Milliseconds between two writes: Safari refuses more than 100 in 30 seconds. */
const PAUSE = 400;

export function hash(name: Name, query = ""): string {
  return `#${name}${query ? `?${query}` : ""}`;
}

/** The view that the address names, and what it says after that name. */
export function named(): { name: Name; query: string } {
  const [path, ...rest] = location.hash.slice(1).split("?");
  const name = names.find((name) => name === path) ?? "plan";
  return { name, query: rest.join("?") };
}

export class Address {
  private shown: Name | undefined;
  /** The state of the visible view that is not in the address yet, and whether it is a step of its own for Back. */
  private waiting: { query: string; step: boolean } | undefined;
  private timer: number | undefined;
  private last = -PAUSE;

  /** `moved` hears where each view is, so that links lead back there. */
  constructor(private readonly moved: (name: Name, query: string) => void) {
    // A link that is followed or copied finds the address as it should be.
    document.addEventListener("click", () => this.write(), { capture: true });
    addEventListener("pagehide", () => this.write());
  }

  /** Another view is shown, with the state that the address has. */
  show(name: Name, query: string): void {
    this.shown = name;
    clearTimeout(this.timer);
    this.timer = this.waiting = undefined;
    this.moved(name, query);
  }

  /** Keeps the state of a view; with `step`, as another entry of the history. A view that is not visible writes nothing. */
  keep(name: Name, query: string, step = false): void {
    if (name !== this.shown) return;
    this.moved(name, query);
    this.waiting = { query, step: step || (this.waiting?.step ?? false) };
    this.timer ??= window.setTimeout(() => this.write(), Math.max(0, this.last + PAUSE - performance.now()));
  }

  private write(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const { waiting, shown } = this;
    if (!waiting || !shown) return;
    this.waiting = undefined;
    this.last = performance.now();
    const to = hash(shown, waiting.query);
    if (to === location.hash) return;
    try {
      if (waiting.step) history.pushState(null, "", to);
      else history.replaceState(null, "", to);
    } catch {
      // A browser that refuses has had many writes; the next one says it all.
    }
  }
}
