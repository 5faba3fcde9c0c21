//! Look: files that are opened, at most two, and how they compare.

import { Client, Dropped } from "./client";
import { CoreError, type Ambiguous, type Comparison, type Opened } from "./core";
import { fill, h, unique } from "./dom";
import { FilterCard, receipt, type Told } from "./card";
import { Query } from "./query";
import { words } from "./words";
import { bytes } from "./words/names";

const here = words.look;
/** Files that are open at a time. */
const MOST = 2;
/** A closed file of more bytes leaves the core with memory that only an end of it gives back. */
const LARGE = 16 << 20;

export class Look {
  private readonly client = new Client("files");
  private cards: FilterCard[] = [];
  private readonly status = h("p", { class: "status", role: "status" });
  private readonly alert = h("div", { class: "alert", role: "alert" });
  private readonly busy = h("div", { class: "busy" });
  private readonly shelf = h("div", { class: "shelf" });
  private readonly comparison = h("section", { class: "comparison" });
  private readonly query = new Query(this.client);
  private readonly zone: HTMLElement;
  private readonly format = h("select", { id: unique("format"), onchange: () => this.chosen() }, h("option", { value: "" }, here.told.recognize));
  private readonly salts: HTMLInputElement;
  private readonly trust: HTMLInputElement;
  private readonly list: HTMLInputElement;
  private readonly newer: HTMLInputElement;
  /** What files of a format do not contain. */
  private readonly required = new Map<string, string[]>();

  /** `root` has the view's heading. */
  constructor(readonly root: HTMLElement) {
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
      h("p", {}, h("span", { class: "here" }, here.drop, " "), input, h("label", { for: id, class: "button" }, here.choose)),
      h("p", { class: "hint" }, here.two),
      h("p", {}, h("button", { type: "button", class: "quiet", onclick: () => void this.samples() }, here.sample)),
    );
    const field = (name: string, label: string, hint: string) => {
      const id = unique(name);
      const input = h("input", { id, type: "text", autocomplete: "off", spellcheck: "false", autocapitalize: "off", "aria-describedby": `${id}-hint` });
      return { input, field: h("p", { class: "field" }, h("label", { for: id }, label), input, h("span", { class: "hint", id: `${id}-hint` }, hint)) };
    };
    const salts = field("salts", here.told.salts, here.told.saltsHint);
    const trust = field("trust", here.told.trust, here.told.trustHint);
    this.salts = salts.input;
    this.trust = trust.input;
    const list = field("list", here.told.list, here.told.listHint);
    this.list = list.input;
    const newer = field("newer", here.told.newer, here.told.newerHint);
    newer.input.inputMode = "numeric";
    this.newer = newer.input;
    salts.field.hidden = true;
    const told = h(
      "details",
      { class: "told" },
      h("summary", {}, here.told.title),
      h(
        "div",
        { class: "fields" },
        h("p", { class: "field" }, h("label", { for: this.format.id }, here.told.format), this.format),
        salts.field,
        trust.field,
        list.field,
        newer.field,
      ),
    );
    root.append(this.zone, told, this.busy, this.status, this.alert, this.query.root, this.comparison, this.shelf);
    this.droppable();
  }

  show(): void {
    if (this.required.size > 0) return;
    this.client.ask({ type: "formats" }).then(
      (formats) => {
        if (this.required.size > 0) return;
        for (const { name, required } of formats) {
          this.required.set(name, required);
          this.format.append(h("option", { value: name }, words.formats[name] ?? name));
        }
      },
      // Whoever opens a file hears why nothing works.
      () => {},
    );
  }

  /** A format was chosen by its name. */
  private chosen(): void {
    this.salts.closest("p")!.hidden = !this.required.get(this.format.value)?.includes("salts");
  }

  /** What the reader said of the files that come next. */
  private told(): Told {
    const said = (input: { value: string }) => input.value.trim() || undefined;
    return { format: said(this.format), params: said(this.salts), trust: said(this.trust), list: said(this.list), newer_than: said(this.newer) };
  }

  /** Opens files that another view made. */
  receive(files: File[]): void {
    for (const input of [this.format, this.salts, this.trust, this.list, this.newer]) input.value = "";
    void this.openAll(files);
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
      const made = files.map(({ name, content }) => new File([content], name));
      await this.openAll(made);
      this.query.look(here.sampleKeys);
    } catch (error) {
      this.refused(here.sample, error as Error);
    }
  }

  private async openAll(files: File[]): Promise<void> {
    fill(this.alert);
    const told = this.told();
    for (const file of files.slice(0, MOST)) {
      const found = await this.open(file, told);
      if (found) this.add(file, ...found);
    }
    const others = files.slice(MOST).map((file) => file.name);
    if (others.length > 0) fill(this.alert, h("p", {}, here.others(others)));
    this.compare();
  }

  /** The opened file, and what had to be said of it; `undefined` if it was refused or cancelled, as the reader has then been
   * told. */
  private async open(file: File, told: Told): Promise<[Told, Opened] | undefined> {
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
      const answer = await this.client.ask({ type: "open", file: 0, ...told }, { file, progress: heard });
      fill(this.busy);
      if ("handle" in answer) return [told, answer];
      return await this.ask(file, told, answer);
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
  private ask(file: File, told: Told, { formats }: Ambiguous): Promise<[Told, Opened] | undefined> {
    return new Promise((resolve) => {
      const choose = (format: string) => {
        fill(this.busy);
        resolve(this.open(file, { ...told, format }));
      };
      fill(
        this.busy,
        h("p", { class: "question" }, here.which(file.name)),
        ...formats.map((format) => h("button", { type: "button", onclick: () => choose(format) }, words.formats[format] ?? format)),
        h(
          "button",
          {
            type: "button",
            class: "quiet",
            onclick: () => {
              fill(this.busy);
              resolve(undefined);
            },
          },
          here.none,
        ),
      );
      this.busy.querySelector("button")?.focus();
    });
  }

  private refused(name: string, error: Error): void {
    // Many of the core's messages begin with the name.
    const message = error.message.startsWith(name) ? error.message.slice(name.length).replace(/^[:：] ?/, "") : error.message;
    fill(this.alert, h("p", {}, h("strong", {}, here.refused(name)), words.signs.space, message));
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
      const found = await this.open(card.file, card.told);
      if (!found) continue;
      [, card.opened] = found;
      this.cards.push(card);
    }
    this.shelf.inert = false;
    this.arrange();
  }

  private add(file: File, told: Told, opened: Opened): void {
    this.status.textContent = here.opened(file.name, here.kinds(opened.title));
    if (this.cards.length === MOST) {
      this.close(this.cards[0]!);
      this.status.textContent += words.signs.space + here.only;
    }
    const card = new FilterCard(
      this.client,
      file,
      told,
      opened,
      () => void this.closed(card),
      () => {
        this.query.set(this.cards);
        this.query.focus();
      },
    );
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
    this.zone.classList.toggle("slim", this.cards.length > 0);
    this.query.set(this.cards);
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

/** What a picture of the overlap needs of the document of `umbel filter overlap --json`. */
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
    h("li", {}, h("span", { class: `piece ${name}` }), here.compare.about(here.compare[name], Math.round(keys).toLocaleString(words.site.language))),
  );
  return h(
    "figure",
    { class: "overlap" },
    h("figcaption", {}, here.compare.overlap),
    h("div", { class: "pieces", "aria-hidden": "true" }, ...bars),
    h("ul", { class: "key" }, ...key),
  );
}
