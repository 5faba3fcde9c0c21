//! Make: a filter of a list of keys, umbel's own or another system's, as `umbel filter build` makes it; and its file.

import { Dropped, type Client } from "./client";
import { CoreError, type Answer, type Format, type Made } from "./core";
import { receipt } from "./card";
import { copyButton } from "./copy";
import { download } from "./download";
import { commandLine, fill, h, unique } from "./dom";
import { Lines } from "./query";
import { words } from "./words";

const here = words.make;
/** Kinds that a list makes; rows of fields need a table. */
const OTHERS = ["attributes"];
const USUAL = "1%";

export class Make {
  private readonly keys = new Lines(here.keys, here.hint, () => this.stale());
  private readonly except = new Lines(here.except, here.exceptHint, () => this.stale());
  private readonly what = h("select", { onchange: () => this.chosen() });
  private readonly type = h("select", { onchange: () => this.stale() });
  private readonly typed: HTMLElement;
  private readonly rate: HTMLInputElement;
  private readonly rated: HTMLElement;
  private readonly wrong = h("p", { class: "error", role: "alert" });
  private readonly status = h("p", { class: "status", role: "status" });
  private readonly made = h("section", { class: "made" });
  /** Only when the kinds are known something can be made. */
  private readonly submit = h("button", { type: "submit", class: "main", disabled: true }, here.make);
  private formats: Format[] = [];
  /** How often the recipe was another one: only the last is told of. */
  private times = 0;

  /** `root` has the view's heading; `look` opens files in the other view. */
  constructor(
    readonly root: HTMLElement,
    private readonly client: Client,
    private readonly look: (files: File[]) => void,
  ) {
    const id = unique("rate");
    this.rate = h("input", {
      id,
      type: "text",
      value: USUAL,
      autocomplete: "off",
      spellcheck: "false",
      oninput: () => this.stale(),
      "aria-describedby": `${id}-hint`,
    });
    this.rated = h(
      "p",
      { class: "field" },
      h("label", { for: id }, here.rate),
      this.rate,
      h("span", { class: "hint", id: `${id}-hint` }, words.plan.fields.fpp.hint),
    );
    this.typed = h("label", { class: "field" }, words.look.query.type, " ", this.type);
    this.except.root.hidden = this.typed.hidden = true;
    const form = h(
      "form",
      {
        class: "recipe",
        novalidate: true,
        onsubmit: (event: Event) => {
          event.preventDefault();
          void this.make();
        },
      },
      this.keys.root,
      h("label", { class: "field" }, here.what, " ", this.what),
      this.typed,
      this.rated,
      this.except.root,
      this.submit,
      this.wrong,
    );
    root.append(form, this.status, this.made);
  }

  show(query: string): void {
    const wanted = new URLSearchParams(query).get("kind");
    if (this.formats.length > 0) return this.choose(wanted);
    Promise.all([this.client.ask({ type: "about" }), this.client.ask({ type: "formats" })]).then(
      ([{ kinds }, formats]) => {
        this.formats = formats;
        const group = (label: string, options: HTMLElement[]) => h("optgroup", { label }, ...options);
        fill(
          this.what,
          group(
            here.own,
            kinds.filter((kind) => !OTHERS.includes(kind)).map((kind) => h("option", { value: kind }, words.signs.named(kind, words.plan.purpose[kind] ?? ""))),
          ),
          group(
            here.foreign,
            formats.filter(({ makes }) => makes).map(({ name }) => h("option", { value: name }, words.formats[name] ?? name)),
          ),
        );
        this.submit.disabled = false;
        this.choose(wanted);
      },
      (error: Error) => this.refused(error),
    );
  }

  redraw(): void {}

  private choose(what: string | null): void {
    if (what && [...this.what.options].some(({ value }) => value === what)) this.what.value = what;
    this.chosen();
  }

  /** Shows what the chosen kind or format needs to know. */
  private chosen(): void {
    const format = this.formats.find(({ name }) => name === this.what.value);
    this.except.root.hidden = this.what.value !== "cascade";
    this.rated.hidden = format !== undefined && !format.fpp;
    const types = format?.key_types ?? [];
    fill(this.type, ...types.map((type) => h("option", {}, type)));
    this.typed.hidden = types.length < 2;
    this.stale();
  }

  /** What was made is of another recipe. */
  private stale(): void {
    this.times += 1;
    fill(this.made);
    this.wrong.textContent = "";
  }

  private async make(): Promise<void> {
    this.stale();
    const { times } = this;
    this.status.textContent = here.working;
    const request = {
      what: this.what.value,
      keys: this.keys.value,
      except: this.except.root.hidden ? "" : this.except.value,
      fpp: this.rated.hidden ? "" : this.rate.value,
      key_type: this.typed.hidden ? "" : this.type.value,
    };
    try {
      const answer = await this.client.ask({ type: "make", ...request }, { replaces: [this, "make"] });
      this.status.textContent = "";
      if (times === this.times) this.tell(answer, answer.files[0]!);
    } catch (error) {
      if (error instanceof Dropped) return;
      this.status.textContent = "";
      if (times === this.times) this.refused(error as Error);
    }
  }

  private refused(error: Error): void {
    this.status.textContent = "";
    this.wrong.textContent = error.message;
    const field = error instanceof CoreError ? error.field : undefined;
    if (field === "fpp") this.rate.focus();
    else if (field === "keys") this.keys.text.focus();
  }

  private tell({ rows, fpp, warnings }: Answer<"make">, { name, content }: Made): void {
    const rate = this.rated.hidden ? "" : ` --fpp ${fpp}`;
    const format = this.formats.some((one) => one.name === this.what.value);
    const which = format ? ` --format ${this.what.value}` : this.what.value === "blocked" ? "" : ` --kind ${this.what.value}`;
    const type = this.typed.hidden || this.type.selectedIndex === 0 ? "" : ` --key-type ${this.type.value}`;
    const except = this.except.root.hidden ? "" : " --except others.txt";
    const command = `umbel filter build${which}${rate}${type}${except} -o ${name} keys.txt`;
    const code = commandLine(command);
    fill(
      this.made,
      h("h2", { tabindex: -1 }, name),
      ...warnings.map((text) => h("p", { class: "warnings" }, text)),
      receipt(rows),
      h(
        "p",
        { class: "tools" },
        h("button", { type: "button", class: "main", onclick: () => download(name, content, "application/octet-stream") }, here.download),
        h("button", { type: "button", onclick: () => this.look([new File([content], name)]) }, here.look),
      ),
      h(
        "div",
        { class: "same" },
        h("p", {}, here.same),
        h("pre", { tabindex: 0 }, code),
        copyButton(here.same, () => command, code),
      ),
    );
    this.made.querySelector("h2")!.focus();
  }
}
