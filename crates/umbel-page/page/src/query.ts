//! Keys that are looked up in the open files: one box for them, and a column of answers for each file.

import { Dropped, type Client } from "./client";
import type { Opened, QueryAnswer } from "./core";
import { debounce, fill, h, unique } from "./dom";
import { download } from "./download";
import { words } from "./words";

const here = words.look.query;
/** Of more letters only the first lines are shown, and cannot be edited: browsers need seconds to lay them out. */
const SHOWN = 50_000;
/** A file of more bytes is for the command line: its keys are held several times in memory here. */
export const KEYS_FILE = 64 << 20;
/** Answers that are listed at once. */
const LISTED = 200;

/** A file that keys are looked up in. */
export interface Asked {
  readonly opened: Opened;
  /** A or B, when there are two. */
  readonly letter: string;
  /** Shows where the probes of a key fall. */
  mark(key: string): void;
}

/** An asked file, and what the reader chose for it. */
interface Column {
  asked: Asked;
  field: HTMLSelectElement | undefined;
  type: HTMLSelectElement | undefined;
}

/** The lines of a text, as the command line reads them; the end of the last one is no key. */
export function lines(text: string): string[] {
  const keys = text.split("\n");
  if (keys[keys.length - 1] === "") keys.pop();
  return keys;
}

/** Text in UTF-8; `null` for other bytes, of which a browser would make other keys. */
export function decoded(bytes: ArrayBuffer): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** A box for many lines, typed, pasted or from a file; `changed` hears of each change. */
export class Lines {
  readonly root: HTMLElement;
  readonly text: HTMLTextAreaElement;
  /** All lines, where they are too many to show, or have carriage returns, which the box would make line ends of. */
  private whole: string | null = null;
  private readonly many = h("p", { class: "hint", role: "status" });

  constructor(
    label: string,
    hint: string,
    private readonly changed: () => void,
  ) {
    const id = unique("keys");
    this.text = h("textarea", {
      id,
      rows: 4,
      wrap: "off",
      spellcheck: "false",
      autocapitalize: "off",
      "aria-describedby": `${id}-hint`,
      oninput: () => {
        // A browser that pastes by itself may bring many.
        if (this.text.value.length < SHOWN) changed();
        else this.show(this.text.value);
      },
      onpaste: (event: ClipboardEvent) => {
        const clip = event.clipboardData?.getData("text/plain") ?? "";
        if (this.text.readOnly || this.text.value.length + clip.length < SHOWN) return;
        event.preventDefault();
        const { value, selectionStart, selectionEnd } = this.text;
        this.show(value.slice(0, selectionStart) + clip.replace(/\r\n?/g, "\n") + value.slice(selectionEnd));
      },
    });
    const file = h("input", {
      type: "file",
      id: `${id}-file`,
      class: "visually-hidden",
      onchange: async () => {
        const keys = file.files?.[0];
        file.value = "";
        if (!keys) return;
        if (keys.size > KEYS_FILE) {
          this.many.textContent = here.large(keys.name);
          return;
        }
        const text = decoded(await keys.arrayBuffer());
        if (text === null) this.many.textContent = here.bytes(keys.name);
        else this.show(text);
      },
    });
    this.root = h(
      "div",
      { class: "lines-box" },
      h("p", { class: "field" }, h("label", { for: id }, label), this.text, h("span", { class: "hint", id: `${id}-hint` }, hint)),
      h("p", {}, file, h("label", { for: file.id, class: "button quiet" }, here.file)),
      this.many,
    );
  }

  get value(): string {
    return this.whole ?? this.text.value;
  }

  show(keys: string): void {
    const { text } = this;
    const many = keys.length >= SHOWN;
    const returns = keys.includes("\r");
    this.whole = many || returns ? keys : null;
    text.readOnly = this.whole !== null;
    text.value = many ? keys.slice(0, keys.lastIndexOf("\n", SHOWN / 10) + 1 || SHOWN / 10) : keys;
    const clear = () =>
      h(
        "button",
        {
          type: "button",
          class: "quiet",
          onclick: () => {
            this.show("");
            text.focus();
          },
        },
        here.clear,
      );
    if (this.whole === null) fill(this.many);
    else fill(this.many, many && here.many, many && " ", returns && here.returns, returns && " ", clear());
    this.changed();
  }
}

export class Query {
  readonly root = h("section", { class: "query panel" });
  private columns: Column[] = [];
  private readonly lines: Lines;
  private readonly choices = h("div", { class: "choices" });
  private readonly why = h("div", {});
  private readonly box: HTMLElement;
  private readonly summary = h("div", { class: "summary", role: "status" });
  private readonly answers = h("div", { class: "answers" });
  /** How often keys were looked up: only the last answer counts. */
  private times = 0;

  constructor(private readonly client: Client) {
    const ask = debounce(200, () => void this.ask());
    this.lines = new Lines(here.label, here.hint, ask);
    this.box = h("div", { class: "asking" }, this.choices, this.lines.root, this.summary, this.answers);
    fill(this.root, h("h2", {}, here.title), this.why, this.box);
    this.root.hidden = true;
  }

  /** The files that are open now; their keys stay. */
  set(all: Asked[]): void {
    this.columns = [];
    const named = (text: string, letter: string) => (letter === "" ? text : words.signs.named(letter, text));
    const labels: HTMLElement[] = [];
    const reasons: HTMLElement[] = [];
    for (const asked of all) {
      const { opened, letter } = asked;
      if (opened.query !== "yes") {
        reasons.push(h("p", { class: "hint" }, named(opened.query === "secret" ? words.look.lock.why : opened.query_why, letter)));
        continue;
      }
      const choice = (label: string, options: string[], unknown?: string) => {
        const select = h(
          "select",
          { onchange: () => void this.ask() },
          unknown && h("option", { value: "" }, unknown),
          ...options.map((option) => h("option", {}, option)),
        );
        labels.push(h("label", { class: "field" }, named(label, letter), " ", select));
        return select;
      };
      const { fields, key_types } = opened;
      const field = fields.length > 0 ? choice(here.field, fields) : undefined;
      const type = key_types.length > 1 ? choice(here.type, key_types, here.unknown(key_types[0]!)) : undefined;
      this.columns.push({ asked, field, type });
    }
    fill(this.choices, ...labels);
    fill(this.why, ...reasons);
    this.root.hidden = all.length === 0;
    this.box.hidden = this.columns.length === 0;
    void this.ask();
  }

  /** Looks these keys up, as if they had been typed. */
  look(keys: string): void {
    this.lines.show(keys);
  }

  focus(): void {
    if (!this.box.hidden) this.lines.text.focus();
  }

  private async ask(): Promise<void> {
    const keys = lines(this.lines.value);
    this.times += 1;
    const { times, columns } = this;
    if (keys.length === 0 || columns.length === 0) {
      fill(this.answers);
      fill(this.summary);
      return;
    }
    const request = ({ asked, field, type }: Column) =>
      this.client
        .ask({ type: "query", handle: asked.opened.handle, keys, field: field?.value, key_type: type?.value }, { replaces: [asked, "query"] })
        .catch((error: Error) => error);
    const all = await Promise.all(columns.map(request));
    if (times !== this.times || all.some((one) => one instanceof Dropped)) return;
    const said = (one: QueryAnswer | Error, index: number) => {
      const text = one instanceof Error ? one.message : here.meaning(one);
      const { letter } = columns[index]!.asked;
      return h("p", {}, letter === "" ? text : words.signs.named(letter, text));
    };
    fill(this.summary, ...all.map(said));
    const told = all.flatMap((answer, index) => (answer instanceof Error ? [] : [{ answer, asked: columns[index]!.asked }]));
    fill(this.answers, told.length > 0 && answerTable(keys, told));
  }
}

interface Told {
  answer: QueryAnswer;
  asked: Asked;
}

/** Names of files that are listed in an answer; its CSV has all. */
const NAMED = 5;

/** The answers, all or those of one sort, some at a time; and all of them as a file. */
function answerTable(keys: string[], told: Told[]): HTMLElement {
  const word = ({ answer, asked }: Told, index: number, named = NAMED) => {
    const one = answer.keys[index]!;
    if (one.files && one.found) {
      const names = one.files.slice(0, named).map((file) => asked.opened.table!.rows[file]![0]!);
      return here.files(names, one.files.length - names.length);
    }
    if (one.files) return here.noFile;
    return one.error ?? (one.row_groups ? here.groups(one.row_groups) : one.found ? here.maybe : answer.doubt ? here.unfound : here.no);
  };
  const valued = told.filter(({ answer }) => answer.keys.some((one) => one.value !== null));
  const titled = (title: string, { asked }: Told) => (told.length > 1 ? `${title} ${asked.letter}` : title);
  const sortOf = (one: Told, index: number) => {
    const { error, found, row_groups, files } = one.answer.keys[index]!;
    const sort = error ? here.failed : (row_groups ?? files) && found ? here.maybe : word(one, index);
    return told.length > 1 ? `${one.asked.letter} ${sort}` : sort;
  };
  const sorted = keys.map((_, index) => told.map((one) => sortOf(one, index)).join(words.signs.comma));
  const sorts = new Map<string, number>();
  for (const sort of sorted) sorts.set(sort, (sorts.get(sort) ?? 0) + 1);
  const marks = told.filter(({ asked }) => asked.opened.probes);
  const body = h("tbody");
  const more = h("p", { class: "hint" });
  const sort = h(
    "select",
    { onchange: () => list() },
    ...[[here.all, keys.length] as const, ...sorts].map(([name, count], index) =>
      h("option", { value: index === 0 ? "" : name }, words.signs.named(name, count.toLocaleString(words.site.language))),
    ),
  );
  const line = (index: number) => {
    const key = keys[index]!;
    const cell = (one: Told) => {
      const { error, found } = one.answer.keys[index]!;
      return h("td", { class: error ? "bad" : found ? "yes" : "no" }, h("span", { class: "sign", "aria-hidden": "true" }, error && "!"), word(one, index));
    };
    const mark = () => {
      for (const { asked } of marks) asked.mark(key);
    };
    const { error, found } = told[0]!.answer.keys[index]!;
    return h(
      "tr",
      { class: error ? "bad" : found ? "yes" : "no" },
      h("th", { scope: "row" }, marks.length > 0 ? h("button", { type: "button", class: "key-name", title: here.mark, onclick: mark }, key) : key),
      ...told.map(cell),
      ...valued.map(({ answer }) => h("td", {}, answer.keys[index]!.value ?? "")),
    );
  };
  const list = () => {
    const shown = keys.flatMap((_, index) => (sort.value === "" || sorted[index] === sort.value ? [index] : []));
    fill(body, ...shown.slice(0, LISTED).map(line));
    const rest = () => {
      const left = shown.length - body.childElementCount;
      fill(
        more,
        left > 0 &&
          h(
            "button",
            {
              type: "button",
              class: "quiet",
              onclick: () => {
                body.append(...shown.slice(body.childElementCount, body.childElementCount + LISTED).map(line));
                rest();
              },
            },
            here.more(Math.min(LISTED, left), left),
          ),
      );
    };
    rest();
  };
  const heads = [here.key, ...told.map((one) => titled(here.answer, one)), ...valued.map((one) => titled(here.value, one))];
  const save = h(
    "button",
    {
      type: "button",
      class: "quiet",
      onclick: () => {
        const rows = keys.map((key, index) => [
          key,
          ...told.map((one) => word(one, index, Infinity)),
          ...valued.map(({ answer }) => answer.keys[index]!.value ?? ""),
        ]);
        const text = [heads, ...rows].map((row) => `${row.map(csv).join(",")}\n`).join("");
        download(`${told.map(({ asked }) => asked.opened.name).join("-")}-answers.csv`, text, "text/csv");
      },
    },
    here.save,
  );
  list();
  const speeds = told.flatMap(({ answer }) => (answer.nanoseconds === null || keys.length < 1000 ? [] : [here.speed(answer.nanoseconds.toFixed(0))]));
  return h(
    "div",
    {},
    h("p", { class: "tools" }, h("label", {}, h("span", { class: "visually-hidden" }, here.shown), sort), save),
    h(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": here.results },
      h(
        "table",
        {},
        h("caption", { class: "visually-hidden" }, here.results),
        h("thead", {}, h("tr", {}, ...heads.map((head) => h("th", { scope: "col" }, head)))),
        body,
      ),
      more,
    ),
    speeds.length > 0 && h("p", { class: "hint" }, speeds.join(words.signs.space)),
  );
}

/** A field of CSV, RFC 4180. */
function csv(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
