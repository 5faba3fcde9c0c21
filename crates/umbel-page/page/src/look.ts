//! Look: files that are opened, at most two, and how they compare.

import { Client, Dropped } from "./client";
import { CoreError, type Ambiguous, type Comparison, type Opened } from "./core";
import { fill, h, unique } from "./dom";
import { FilterCard, receipt } from "./card";
import { words } from "./words";

const here = words.look;
/** Files that are open at a time. */
const MOST = 2;
/** A closed file of more bytes leaves the core with memory that only an end of it gives back. */
const LARGE = 16 << 20;

/** A size as files have it. */
export function bytes(size: number): string {
  const units = ["B", "KiB", "MiB", "GiB"];
  const unit = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, size)) / 10));
  const value = size / 1024 ** unit;
  return `${unit === 0 ? value : value.toPrecision(3)} ${units[unit]}`;
}

export class Look {
  readonly root: HTMLElement;
  private readonly client = new Client();
  private cards: FilterCard[] = [];
  private readonly status = h("p", { class: "status", role: "status" });
  private readonly alert = h("div", { class: "alert", role: "alert" });
  private readonly busy = h("div", { class: "busy" });
  private readonly shelf = h("div", { class: "shelf" });
  private readonly comparison = h("section", { class: "comparison" });
  private readonly zone: HTMLElement;

  constructor() {
    const id = unique("file");
    const input = h("input", {
      id,
      type: "file",
      multiple: true,
      class: "visually-hidden",
      onchange: () => {
        void this.openAll([...(input.files ?? [])]);
        input.value = "";
      },
    });
    this.zone = h(
      "div",
      { class: "drop" },
      h("p", {}, here.drop, " ", input, h("label", { for: id, class: "button" }, here.choose)),
      h("p", { class: "hint" }, here.two),
      h("p", {}, h("button", { type: "button", class: "quiet", onclick: () => void this.samples() }, here.sample)),
    );
    this.root = h(
      "section",
      { class: "view look" },
      h("header", { class: "head" }, h("h1", { tabindex: -1 }, here.title), h("p", { class: "lede" }, here.lede)),
      this.zone,
      this.busy,
      this.status,
      this.alert,
      this.comparison,
      this.shelf,
    );
    this.droppable();
  }

  show(): void {
    this.client.warm();
  }

  redraw(): void {
    for (const card of this.cards) card.redraw();
  }

  /** Files can be dropped anywhere on the view. */
  private droppable(): void {
    const over = (on: boolean) => this.zone.classList.toggle("over", on);
    this.root.addEventListener("dragover", () => over(true));
    this.root.addEventListener("dragleave", () => over(false));
    this.root.addEventListener("drop", (event) => {
      over(false);
      void this.openAll([...(event.dataTransfer?.files ?? [])]);
    });
  }

  private async samples(): Promise<void> {
    try {
      const { files } = await this.client.ask({ type: "sample" });
      const made = files.map(({ name, base64 }) => new File([Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))], name));
      await this.openAll(made);
      for (const card of this.cards) card.look(here.sampleKeys);
    } catch (error) {
      this.refused(here.sample, error as Error);
    }
  }

  private async openAll(files: File[]): Promise<void> {
    fill(this.alert);
    for (const file of files.slice(0, MOST)) {
      const opened = await this.open(file);
      if (opened) this.add(file, opened);
    }
    const others = files.slice(MOST).map((file) => file.name);
    if (others.length > 0) fill(this.alert, h("p", {}, here.others(others.join(", "))));
    this.compare();
  }

  /** The opened file; `undefined` if it was refused or cancelled, as the reader has then been told. */
  private async open(file: File, format?: string): Promise<Opened | undefined> {
    const progress = h("progress", { max: 1, value: 0, "aria-label": here.opening(file.name) });
    const done = h("span", {}, bytes(file.size));
    const heard = (read: number, total: number) => {
      progress.value = total > 0 ? read / total : 0;
      done.textContent = here.progress(bytes(read), bytes(total));
    };
    fill(
      this.busy,
      h("p", {}, here.opening(file.name)),
      progress,
      done,
      h("button", { type: "button", onclick: () => void this.cancel(file.name) }, here.cancel),
    );
    try {
      const answer = await this.client.ask({ type: "open", file: 0, format }, { file, progress: heard });
      fill(this.busy);
      if ("handle" in answer) return answer;
      return await this.ask(file, answer);
    } catch (error) {
      // Whoever cancelled it has something else to show.
      if (error instanceof Dropped) return undefined;
      fill(this.busy);
      this.refused(file.name, error as Error);
      if (error instanceof CoreError && error.fatal) await this.reopen();
      return undefined;
    }
  }

  /** Lets the reader say which format a file has that fits several. */
  private ask(file: File, { formats, message }: Ambiguous): Promise<Opened | undefined> {
    return new Promise((resolve) => {
      const choose = (format: string) => {
        fill(this.busy);
        resolve(this.open(file, format));
      };
      fill(
        this.busy,
        h("p", { class: "question" }, message),
        h("span", {}, here.which),
        ...formats.map((format) => h("button", { type: "button", onclick: () => choose(format) }, format)),
        h("button", { type: "button", class: "quiet", onclick: () => {
          fill(this.busy);
          resolve(undefined);
        } }, here.none),
      );
      this.busy.querySelector("button")?.focus();
    });
  }

  private refused(name: string, error: Error): void {
    fill(this.alert, h("p", {}, h("strong", {}, here.refused(name)), " ", error.message));
  }

  /** Ends the worker, which is the only way to stop it at once. */
  private cancel(name: string): Promise<void> {
    this.client.cancel();
    fill(this.busy);
    this.status.textContent = here.cancelled(name);
    return this.reopen();
  }

  /** Opens again what was open in a worker that ended; what cannot be is closed. */
  private async reopen(): Promise<void> {
    const cards = this.cards;
    this.cards = [];
    // Until then their handles are nobody's, or another file's.
    this.shelf.inert = true;
    for (const card of cards) {
      const opened = await this.open(card.file);
      if (!opened) continue;
      card.opened = opened;
      this.cards.push(card);
    }
    this.shelf.inert = false;
    this.arrange();
  }

  private add(file: File, opened: Opened): void {
    this.status.textContent = here.opened(file.name, opened.title);
    if (this.cards.length === MOST) {
      this.close(this.cards[0]!);
      this.status.textContent += ` ${here.only}`;
    }
    const card = new FilterCard(this.client, file, opened, () => void this.closed(card));
    this.cards.push(card);
    this.arrange();
    card.redraw();
  }

  /** The reader closes it, and is then where they may open another. */
  private async closed(card: FilterCard): Promise<void> {
    this.close(card);
    fill(this.comparison);
    this.status.textContent = here.closed(card.file.name);
    (this.cards[0]?.root ?? this.root).querySelector<HTMLElement>("[tabindex='-1']")?.focus();
    if (card.file.size < LARGE) return;
    this.client.renew();
    await this.reopen();
  }

  private close(card: FilterCard): void {
    card.dispose();
    this.cards = this.cards.filter((other) => other !== card);
    this.client.ask({ type: "close", handle: card.opened.handle }).catch(() => {});
    this.arrange();
  }

  private arrange(): void {
    this.cards.forEach((card, index) => card.name(this.cards.length === MOST ? "AB"[index]! : ""));
    fill(this.shelf, ...this.cards.map((card) => card.root));
    this.shelf.classList.toggle("two", this.cards.length === MOST);
  }

  private compare(): void {
    const [left, right] = this.cards;
    if (!left || !right) return fill(this.comparison);
    this.client.ask({ type: "compare", left: left.opened.handle, right: right.opened.handle }).then(
      (answer) => this.tell(answer),
      (error: Error) => {
        if (error instanceof Dropped) return;
        fill(this.comparison, h("h2", {}, here.compare.title), h("p", { class: "alert" }, error.message));
      },
    );
  }

  private tell({ rows, document }: Comparison): void {
    fill(this.comparison, h("h2", {}, here.compare.title), overlap(document as unknown as Overlap), receipt(rows));
  }
}

/** What a picture of the overlap needs of the document of `umbel compare --json`. */
interface Overlap {
  union: number | null;
  intersection: number | null;
  left: { keys: number | null };
  right: { keys: number | null };
}

/** Keys only in A, in both and only in B, as lengths. */
function overlap({ union, intersection, left, right }: Overlap): HTMLElement | null {
  if (!union || intersection === null || left.keys === null || right.keys === null) return null;
  const parts = [
    ["left", Math.max(0, left.keys - intersection)],
    ["both", intersection],
    ["right", Math.max(0, right.keys - intersection)],
  ] as const;
  const total = parts.reduce((sum, [, keys]) => sum + keys, 0);
  if (total === 0) return null;
  const bars = parts.map(([name, keys]) => {
    const bar = h("span", { class: `piece ${name}` });
    bar.style.width = `${(100 * keys) / total}%`;
    return bar;
  });
  const key = parts.map(([name, keys]) =>
    h("li", {}, h("span", { class: `piece ${name}` }), here.compare.about(here.compare[name], Math.round(keys).toLocaleString("en"))),
  );
  return h(
    "figure",
    { class: "overlap" },
    h("figcaption", {}, here.compare.overlap),
    h("div", { class: "pieces", "aria-hidden": "true" }, ...bars),
    h("ul", { class: "key" }, ...key),
  );
}
