//! An opened file: its receipt, its map, and keys that are looked up in it.

import { Figure, tableBehind } from "./chart";
import { Dropped, type Client } from "./client";
import type { Opened, Profile, QueryAnswer, Row } from "./core";
import { debounce, fill, h, unique } from "./dom";
import { FillMap } from "./map";
import { words } from "./words";

const here = words.look;
/** Of more letters only the first lines are shown, and cannot be edited: browsers need seconds to lay them out. */
const SHOWN = 50_000;
/** A file of more bytes is for the command line: its keys are held several times in memory here. */
const KEYS_FILE = 64 << 20;
/** Answers that are listed at once. */
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
  /** How often keys were looked up: only the last answer counts. */
  private asked = 0;

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
    this.dispose();
    this.map = this.figure = undefined;
    if (!part || part.cells === 0) return fill(this.picture, h("p", { class: "hint" }, here.map.none));
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
    const input = h("input", { id, type: "password", autocomplete: "off", "aria-describedby": `${id}-why` });
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
    // All keys, where they are too many to show.
    let whole: string | null = null;
    const ask = debounce(200, () => this.ask(whole ?? text.value, field?.value, type?.value, answers, summary));
    const many = h("p", { class: "hint", role: "status" });
    const show = (keys: string) => {
      whole = keys.length < SHOWN ? null : keys;
      text.readOnly = whole !== null;
      text.value = whole === null ? keys : keys.slice(0, keys.lastIndexOf("\n", SHOWN / 10) + 1 || SHOWN / 10);
      fill(
        many,
        whole !== null && here.query.many,
        whole !== null && " ",
        whole !== null && h("button", { type: "button", class: "quiet", onclick: () => {
          show("");
          text.focus();
        } }, here.query.clear),
      );
      ask();
    };
    const text = h("textarea", {
      id,
      rows: 5,
      wrap: "off",
      spellcheck: "false",
      autocapitalize: "off",
      "aria-describedby": `${id}-hint`,
      oninput: () => {
        // A browser that pastes by itself may bring many.
        if (text.value.length < SHOWN) ask();
        else show(text.value);
      },
      onpaste: (event: ClipboardEvent) => {
        const clip = event.clipboardData?.getData("text/plain") ?? "";
        if (text.readOnly || text.value.length + clip.length < SHOWN) return;
        event.preventDefault();
        const { value, selectionStart, selectionEnd } = text;
        show(value.slice(0, selectionStart) + clip + value.slice(selectionEnd));
      },
    });
    const file = h("input", { type: "file", id: `${id}-file`, class: "visually-hidden", onchange: async () => {
      const keys = file.files?.[0];
      file.value = "";
      if (!keys) return;
      if (keys.size > KEYS_FILE) many.textContent = here.query.large(keys.name);
      else show(await keys.text());
    } });
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
      h("p", {}, file, h("label", { for: file.id, class: "button quiet" }, here.query.file)),
      many,
      summary,
      answers,
    ];
  }

  private ask(text: string, field: string | undefined, key_type: string | undefined, answers: HTMLElement, summary: HTMLElement): void {
    const keys = text.split("\n").map((line) => line.replace(/\r$/, ""));
    // The last line's end is not a key.
    if (keys[keys.length - 1] === "") keys.pop();
    this.asked += 1;
    const { asked } = this;
    if (keys.length === 0) {
      fill(answers);
      summary.textContent = "";
      return;
    }
    this.client.ask({ type: "query", handle: this.opened.handle, keys, field, key_type }, { replaces: [this, "query"] }).then(
      (answer) => {
        if (asked !== this.asked) return;
        summary.textContent = answer.text;
        fill(answers, answerTable(answer, this.opened.name));
      },
      (error: Error) => {
        if (error instanceof Dropped || asked !== this.asked) return;
        fill(answers);
        summary.textContent = error.message;
      },
    );
  }
}

type Answered = QueryAnswer["keys"][number];

/** The answers, all or those of one sort, some at a time; and all of them as a file. */
function answerTable({ keys, certain, nanoseconds }: QueryAnswer, name: string): HTMLElement {
  const values = keys.some((one) => one.value !== null);
  const no = certain ? here.query.no : here.query.unfound;
  const word = (one: Answered) => one.error ?? (one.row_groups ? here.query.groups(one.row_groups) : one.found ? here.query.maybe : no);
  const row = (one: Answered) =>
    h(
      "tr",
      { class: one.error ? "bad" : one.found ? "yes" : "no" },
      h("th", { scope: "row" }, one.key),
      h("td", {}, h("span", { class: "sign", "aria-hidden": "true" }, one.error ? "!" : one.found ? "●" : "○"), " ", word(one)),
      values && h("td", {}, one.value ?? ""),
    );
  const body = h("tbody");
  const more = h("button", { type: "button", class: "quiet", onclick: () => list() });
  let rest = keys;
  const list = () => {
    body.append(...rest.slice(0, LISTED).map(row));
    rest = rest.slice(LISTED);
    more.hidden = rest.length === 0;
    more.textContent = here.query.more(Math.min(LISTED, rest.length), rest.length);
  };
  const sorts = { all: () => true, yes: (one: Answered) => !one.error && one.found, no: (one: Answered) => !one.error && !one.found };
  const labels = { all: here.query.all, yes: here.query.maybe, no };
  const sort = h(
    "select",
    { onchange: () => {
      rest = keys.filter(sorts[sort.value as keyof typeof sorts]);
      fill(body);
      list();
    } },
    ...(["all", "yes", "no"] as const).map((value) => h("option", { value }, `${labels[value]}: ${keys.filter(sorts[value]).length.toLocaleString("en")}`)),
  );
  const save = h("button", { type: "button", class: "quiet", onclick: () => {
    const lines = [[here.query.key, here.query.answer, ...(values ? [here.query.value] : [])], ...keys.map((one) => [one.key, word(one), ...(values ? [one.value ?? ""] : [])])];
    download(`${name}.answers.csv`, lines.map((line) => line.map(cell).join(",")).join("\n") + "\n");
  } }, here.query.save);
  list();
  return h(
    "div",
    {},
    h("p", { class: "tools" }, h("label", {}, h("span", { class: "visually-hidden" }, here.query.shown), sort), save),
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
        body,
      ),
      more,
    ),
    nanoseconds !== null && keys.length >= 1000 && h("p", { class: "hint" }, here.query.speed(nanoseconds.toFixed(0))),
  );
}

/** A field of CSV, RFC 4180. */
function cell(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Gives the reader a file. */
function download(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
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
