//! An opened file: its receipt, its map, and keys that are looked up in it.

import { Figure, tableBehind } from "./chart";
import { Dropped, type Client } from "./client";
import type { Opened, Profile, QueryAnswer, Row } from "./core";
import { debounce, fill, h, unique } from "./dom";
import { FillMap } from "./map";
import { words } from "./words";

const here = words.look;
/** More pasted letters than this are not shown. */
const SHOWN = 50_000;
/** More answers than this are counted, not listed. */
const LISTED = 200;

/** Names and values as `umbel info` prints them. */
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

  constructor(
    private readonly client: Client,
    readonly file: File,
    /** It changes when the file is opened again, or unlocked. */
    public opened: Opened,
    private readonly close: () => void,
  ) {
    this.root.setAttribute("aria-labelledby", this.heading);
    this.fill();
  }

  /** Looks these keys up, as if they had been typed. */
  look(keys: string): void {
    const text = this.root.querySelector("textarea");
    if (!text) return;
    text.value = keys;
    text.dispatchEvent(new Event("input"));
  }

  /** A or B, when there are two. */
  name(letter: string): void {
    this.badge.textContent = letter;
    this.badge.hidden = letter === "";
  }

  redraw(): void {
    this.map?.draw();
    this.figure?.draw();
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
        h("h2", { id: this.heading }, opened.name),
        h("button", { type: "button", class: "quiet close", "aria-label": here.close(opened.name), onclick: () => this.close() }, "×"),
        h("p", { class: "title" }, [opened.title, ...wrapping].join(", ")),
      ),
      warnings.length > 0 && h("div", { class: "warnings" }, h("h3", {}, here.warnings), ...warnings.map((text) => h("p", {}, text))),
      opened.rows.length > 0 && h("section", {}, h("h3", {}, here.receipt), receipt(opened.rows)),
      table && filters(table),
      documents.length > 0 && behindText(here.json, json),
      this.parts(),
      this.picture,
      this.profile,
      this.query(),
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
    this.figure?.end();
    this.map = this.figure = undefined;
    if (!part || part.cells === 0) return fill(this.picture, h("p", { class: "hint" }, here.map.none));
    this.map = new FillMap(this.client, () => this.opened.handle, number, part);
    fill(this.picture, this.map.root);
    this.client.ask({ type: "profile", handle: this.opened.handle }, { replaces: "profile" }).then(
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

  private query(): HTMLElement {
    const { opened } = this;
    const section = h("section", { class: "query" }, h("h3", {}, here.query.title));
    if (opened.query === "no") section.append(h("p", { class: "hint" }, opened.query_why));
    else if (opened.query === "secret") section.append(this.lock());
    else section.append(...this.asking());
    return section;
  }

  /** The secret of a keyed filter. */
  private lock(): HTMLElement {
    const id = unique("secret");
    const input = h("input", { id, type: "text", autocomplete: "off", spellcheck: "false", "aria-describedby": `${id}-why` });
    const why = h("p", { id: `${id}-why`, class: "hint" }, this.opened.query_why);
    const wrong = h("p", { class: "error", role: "alert" });
    const unlock = () =>
      this.client.ask({ type: "unlock", handle: this.opened.handle, secret: input.value.trim() }).then(
        (opened) => {
          this.opened = opened;
          this.fill();
          this.root.querySelector("textarea")?.focus();
        },
        (error: Error) => {
          wrong.textContent = error.message;
        },
      );
    return h(
      "form",
      { onsubmit: (event: Event) => {
        event.preventDefault();
        void unlock();
      } },
      why,
      h("p", { class: "field" }, h("label", { for: id }, here.query.secret), input),
      h("button", { type: "submit" }, here.query.unlock),
      wrong,
    );
  }

  private asking(): HTMLElement[] {
    const id = unique("keys");
    const { fields, key_types } = this.opened;
    // Keys that were pasted and are too many to show.
    let pasted: string | null = null;
    const ask = debounce(200, () => this.ask(pasted ?? text.value, field?.value, type?.value, answers, summary));
    const many = h("p", { class: "hint", role: "status" });
    const text = h("textarea", {
      id,
      rows: 5,
      wrap: "off",
      spellcheck: "false",
      autocapitalize: "off",
      "aria-describedby": `${id}-hint`,
      oninput: () => {
        pasted = null;
        many.textContent = "";
        ask();
      },
      onpaste: (event: ClipboardEvent) => {
        const clip = event.clipboardData?.getData("text/plain") ?? "";
        if (clip.length < SHOWN) return;
        // Browsers need seconds to lay out so many lines, and the page would stand still.
        event.preventDefault();
        pasted = clip;
        text.value = clip.slice(0, clip.lastIndexOf("\n", SHOWN / 10) + 1);
        many.textContent = here.query.pasted;
        ask();
      },
    });
    const choice = (label: string, options: string[], unknown?: string) => {
      const select = h("select", { onchange: ask }, unknown && h("option", { value: "" }, unknown), ...options.map((option) => h("option", {}, option)));
      return { select, label: h("label", { class: "field" }, label, " ", select) };
    };
    const fieldChoice = fields.length > 0 ? choice(here.query.field, fields) : undefined;
    const typeChoice = key_types.length > 1 ? choice(here.query.type, key_types, here.query.unknown(key_types[0]!)) : undefined;
    const field = fieldChoice?.select;
    const type = typeChoice?.select;
    const answers = h("div", { class: "answers" });
    const summary = h("p", { class: "summary", role: "status" });
    return [
      ...(fieldChoice ? [fieldChoice.label] : []),
      ...(typeChoice ? [typeChoice.label] : []),
      h("p", { class: "field" }, h("label", { for: id }, here.query.label), text, h("span", { class: "hint", id: `${id}-hint` }, here.query.hint)),
      many,
      summary,
      answers,
    ];
  }

  private ask(text: string, field: string | undefined, key_type: string | undefined, answers: HTMLElement, summary: HTMLElement): void {
    const keys = text.split("\n").map((line) => line.replace(/\r$/, ""));
    // The last line's end is not a key.
    if (keys[keys.length - 1] === "") keys.pop();
    if (keys.length === 0) {
      fill(answers);
      summary.textContent = "";
      return;
    }
    this.client.ask({ type: "query", handle: this.opened.handle, keys, field, key_type }, { replaces: "query" }).then(
      (answer) => {
        summary.textContent = answer.text;
        fill(answers, answerTable(answer));
      },
      (error: Error) => {
        if (error instanceof Dropped) return;
        fill(answers);
        summary.textContent = error.message;
      },
    );
  }
}

function answerTable({ keys, certain, nanoseconds }: QueryAnswer): HTMLElement {
  const listed = keys.slice(0, LISTED);
  const values = listed.some((one) => one.value !== null);
  const row = (one: QueryAnswer["keys"][number]) => {
    const word = one.error ?? (one.row_groups ? here.query.groups(one.row_groups) : one.found ? here.query.maybe : certain ? here.query.no : here.query.unfound);
    const sign = one.error ? "!" : one.found ? "●" : "○";
    return h(
      "tr",
      { class: one.error ? "bad" : one.found ? "yes" : "no" },
      h("th", { scope: "row" }, one.key),
      h("td", {}, h("span", { class: "sign", "aria-hidden": "true" }, sign), " ", word),
      values && h("td", {}, one.value ?? ""),
    );
  };
  const rest = keys.length - listed.length;
  return h(
    "div",
    {},
    h(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": here.query.results },
      h(
        "table",
        {},
        h("caption", { class: "visually-hidden" }, here.query.results),
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th", { scope: "col" }, here.query.key),
            h("th", { scope: "col" }, here.query.answer),
            values && h("th", { scope: "col" }, here.query.value),
          ),
        ),
        h("tbody", {}, ...listed.map(row)),
      ),
    ),
    rest > 0 && h("p", { class: "hint" }, here.query.rest(rest)),
    nanoseconds !== null && keys.length >= 1000 && h("p", { class: "hint" }, here.query.speed(nanoseconds.toFixed(0))),
  );
}

/** The filters of a Parquet file. */
function filters({ columns, rows }: NonNullable<Opened["table"]>): HTMLElement {
  return h(
    "section",
    {},
    h("h3", {}, here.filters),
    h(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": here.filters },
      h(
        "table",
        {},
        h("thead", {}, h("tr", {}, ...columns.map(({ title, right }) => h("th", { scope: "col", class: right ? "right" : null }, title)))),
        h("tbody", {}, ...rows.map((row) => h("tr", {}, ...row.map((cell, index) => h("td", { class: columns[index]?.right ? "right" : null }, cell))))),
      ),
    ),
  );
}

function behindText(title: string, make: () => HTMLElement): HTMLElement {
  const details = tableBehind(title, make);
  details.querySelector("summary")!.textContent = title;
  return details;
}
