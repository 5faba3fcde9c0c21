//! An opened file: its receipt and its map.

import { Figure, tableBehind } from "./chart";
import { Dropped, type Client } from "./client";
import type { Opened, Profile, Requests, Row } from "./core";
import { fill, h, unique } from "./dom";
import { FillMap } from "./map";
import { words } from "./words";

const here = words.look;

/** What a reader says of a file: its format, what files of that do not contain, and whose signature of what it must have. */
export type Told = Omit<Requests["open"]["request"], "file">;

/** Names and values as `umbel filter info` prints them. */
export function receipt(rows: Row[]): HTMLElement {
  return h("dl", { class: "receipt" }, ...rows.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

export class FilterCard {
  readonly root = h("article", { class: "card" });
  private readonly badge = h("span", { class: "badge" });
  private readonly heading = unique("filter");
  private readonly picture = h("div", { class: "picture" });
  private readonly profile = h("div", { class: "profile" });
  private map: FillMap | undefined;
  private figure: Figure | undefined;
  letter = "";

  constructor(
    private readonly client: Client,
    readonly file: File,
    /** What the reader said of it when it was opened. */
    readonly told: Told,
    /** It changes when the file is opened again, or unlocked. */
    public opened: Opened,
    private readonly close: () => void,
    /** Keys can be looked up now. */
    private readonly unlocked: () => void,
  ) {
    this.root.setAttribute("aria-labelledby", this.heading);
    this.fill();
  }

  /** Shows where the probes of a key fall. */
  mark(key: string): void {
    this.client.ask({ type: "probes", handle: this.opened.handle, key }, { replaces: [this, "probes"] }).then(
      ({ cells }) => this.map?.mark(key, cells),
      (error: Error) => {
        if (!(error instanceof Dropped)) this.map?.say(error.message);
      },
    );
  }

  /** A or B, when there are two. */
  name(letter: string): void {
    this.letter = letter;
    this.badge.textContent = letter;
    this.badge.hidden = letter === "";
  }

  redraw(): void {
    this.map?.draw();
    this.figure?.draw();
  }

  /** Gives up what listens to sizes. */
  dispose(): void {
    this.map?.dispose();
    this.figure?.dispose();
  }

  private fill(): void {
    const { opened } = this;
    const { warnings, wrapping, table, documents } = opened;
    const json = () => h("pre", {}, h("code", {}, documents.map((document) => JSON.stringify(document, null, 1)).join("\n")));
    fill(
      this.root,
      h(
        "header",
        {},
        this.badge,
        h("h2", { id: this.heading, tabindex: -1 }, opened.name),
        h("button", { type: "button", class: "quiet close", "aria-label": here.close(opened.name), onclick: () => this.close() }, "×"),
        h("p", { class: "title" }, [here.kinds(opened.title), ...here.wrapping(wrapping), ...(opened.verified ? [here.verified] : [])].join(words.signs.comma)),
      ),
      opened.query === "secret" && this.lock(),
      successor(opened),
      warnings.length > 0 && h("div", { class: "warnings" }, h("h3", {}, here.warnings), ...warnings.map((text) => h("p", {}, text))),
      opened.rows.length > 0 && h("section", {}, h("h3", {}, here.receipt), receipt(opened.rows)),
      table && tableOf(opened.title.name === "index" ? here.files : here.filters, table),
      documents.length > 0 && behindText(here.json, json),
      this.parts(),
      this.picture,
      this.profile,
    );
    this.showPart(opened.parts.findIndex((part) => part.cells > 0));
  }

  /** Which of several filters is shown. */
  private parts(): HTMLElement | null {
    const { parts } = this.opened;
    if (parts.length < 2) return null;
    const select = h(
      "select",
      { onchange: () => this.showPart(Number(select.value)) },
      ...parts.map((part, index) => h("option", { value: index }, part.name)),
    );
    return h("label", { class: "field" }, here.part, " ", select);
  }

  private showPart(number: number): void {
    const part = this.opened.parts[number];
    fill(this.picture);
    fill(this.profile);
    this.dispose();
    this.map = this.figure = undefined;
    if (!part || part.cells === 0) return fill(this.picture, this.opened.title.name !== "index" && h("p", { class: "hint" }, here.map.none));
    this.map = new FillMap(this.client, () => this.opened.handle, number, part);
    fill(this.picture, this.map.root);
    this.client.ask({ type: "profile", handle: this.opened.handle }, { replaces: [this, "profile"] }).then(
      (profile) => this.showProfile(profile),
      () => {},
    );
  }

  private showProfile({ title, histogram, facts }: Profile): void {
    const { from, counted, expected, width } = histogram;
    if (from.length < 2) return;
    const middle = from.map((start) => start + (width - 1) / 2);
    const name = here.profile;
    const most = Math.max(...counted, ...(expected ?? []));
    const style = "line" as const;
    this.figure = new Figure(
      {
        id: "profile",
        title: name.title,
        x: { label: name.x, log: false, low: middle[0]!, high: middle[middle.length - 1]! },
        y: { label: name.y, log: false, low: 0, high: most * 1.05 },
        series: [
          { name: name.counted, kinds: [], x: middle, y: counted, style },
          ...(expected ? [{ name: name.expected, kinds: [], x: middle, y: expected, style }] : []),
        ],
        marks: [],
        notes: [facts],
        formula: "",
        source: { text: "", url: "" },
      },
      "",
      false,
    );
    this.figure.root.dataset.title = title;
    fill(this.profile, this.figure.root);
  }

  /** The secret of a keyed filter. */
  private lock(): HTMLElement {
    const id = unique("secret");
    const input = h("input", { id, type: "password", autocomplete: "off", "aria-describedby": `${id}-why` });
    const why = h("p", { id: `${id}-why`, class: "hint" }, here.lock.why);
    const wrong = h("p", { class: "error", role: "alert" });
    const unlock = () =>
      this.client.ask({ type: "unlock", handle: this.opened.handle, secret: input.value.trim() }).then(
        (opened) => {
          this.opened = opened;
          this.fill();
          this.unlocked();
        },
        (error: Error) => {
          wrong.textContent = error.message;
        },
      );
    return h(
      "form",
      {
        class: "lock",
        onsubmit: (event: Event) => {
          event.preventDefault();
          void unlock();
        },
      },
      why,
      h("p", { class: "field" }, h("label", { for: id }, here.lock.secret), input),
      h("button", { type: "submit" }, here.lock.unlock),
      wrong,
    );
  }
}

/** Of how many keys of its plan a filter must hold that the next one is thought of. */
const FULL = 0.95;

/** What of `umbel filter info --json` tells how full a filter is. */
interface Figures {
  kind?: string;
  keys?: number | null;
  planned_keys?: number;
  planned_fpp?: number;
}

/** Where a filter that is full leads: the plan of one for twice its keys. `null` for one that is not, or that never is. */
function successor({ documents }: Opened): HTMLElement | null {
  const figures = documents[0] as unknown as Figures | undefined;
  if (!figures || ["scalable", "stable", "window", "bloomier", "cascade"].includes(figures.kind ?? "")) return null;
  const { planned_keys: planned, planned_fpp: rate = 0.01, keys = null } = figures;
  if (!planned || (keys !== null && keys < FULL * planned)) return null;
  const next = 2 * Math.max(planned, Math.ceil(keys ?? planned));
  const share = keys === null ? here.saturated : `${Math.round((100 * keys) / planned)}${words.signs.percent}`;
  return h("p", { class: "successor" }, here.full(share), words.signs.space, h("a", { href: `#plan?keys=${next}&fpp=${rate}` }, here.successor));
}

/** Rows of a table that are shown: a browser needs seconds to lay out many. */
const ROWS = 200;

/** The filters of a Parquet file, or the files of an index. */
function tableOf(title: string, { columns, rows }: NonNullable<Opened["table"]>): HTMLElement {
  return h(
    "section",
    {},
    h("h3", {}, title),
    h(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": title },
      h(
        "table",
        {},
        h("thead", {}, h("tr", {}, ...columns.map(({ title, right }) => h("th", { scope: "col", class: right ? "right" : null }, title)))),
        h(
          "tbody",
          {},
          ...rows.slice(0, ROWS).map((row) => h("tr", {}, ...row.map((cell, index) => h("td", { class: columns[index]?.right ? "right" : null }, cell)))),
        ),
      ),
    ),
    rows.length > ROWS && h("p", { class: "hint" }, here.rest(rows.length - ROWS)),
  );
}

function behindText(title: string, make: () => HTMLElement): HTMLElement {
  const details = tableBehind(title, make);
  details.querySelector("summary")!.textContent = title;
  details.querySelector(".scroll")!.setAttribute("aria-label", title);
  return details;
}
