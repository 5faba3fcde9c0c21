//! Plan: a goal, the ranking of all kinds for it, where each figure comes from, the code that makes the filter, and curves.

import { Figure, citation } from "./chart";
import { Client, Dropped } from "./client";
import { copyButton } from "./copy";
import { CoreError, type Advice, type Chart, type Curves, type PlanRow } from "./core";
import { debounce, fill, h, unique } from "./dom";
import { FLAGS, TEXTS, read, write, type State } from "./goal";
import { lookOf, swatch } from "./looks";
import { words } from "./words";

const here = words.plan;
type Text = (typeof TEXTS)[number];
type ChartId = Chart["id"];
type Flag = (typeof FLAGS)[number];

/** In the order in which they are shown. */
const CHARTS: ChartId[] = ["overfill", "probes", "bits", "time", "keys", "exponent"];
const SLOW: ChartId[] = ["bits"];
const QUICK = CHARTS.filter((name) => !SLOW.includes(name));

const MAIN: Text[] = ["keys", "fpp", "memory", "ship"];
const COSTS: Text[] = ["except", "lookup", "false_answer", "absent"];

export class Plan {
  readonly root: HTMLElement;
  private readonly inputs = {} as Record<Text, HTMLInputElement>;
  private readonly errors = {} as Record<Text, HTMLElement>;
  private readonly boxes = {} as Record<Flag, HTMLInputElement>;
  private readonly costs: HTMLDetailsElement;
  private readonly verdict = h("p", { class: "verdict", role: "status" });
  private readonly ranking = h("div", { class: "ranking" });
  private readonly detail = h("section", { class: "detail" });
  private readonly charts = h("div", { class: "charts" });
  private readonly lower = h("section", { class: "what-if" }, h("h2", {}, here.charts), h("p", { class: "lede" }, here.chartsLede), this.charts);
  private readonly figures = new Map<ChartId, Figure>();
  private advice: Advice | undefined;
  /** Whether `advice` is that of the goal. */
  private current = false;
  private state: State = read("");
  /** Whether letters were typed in a field that has not been left. */
  private editing = false;
  private readonly later = debounce(150, () => this.ask());

  private readonly plotter = new Client();

  /** `changed` takes the state for the page's address, and whether Back should come to what it was before. */
  constructor(private readonly client: Client, private readonly changed: (query: string, step: boolean) => void) {
    this.costs = h("details", { class: "group" }, h("summary", {}, here.costs), ...COSTS.map((name) => this.field(name)));
    const form = h(
      "form",
      { class: "goal", "aria-label": here.form, novalidate: true, onsubmit: (event: Event) => event.preventDefault() },
      h("fieldset", {}, h("legend", {}, here.any), ...MAIN.map((name) => this.field(name))),
      h("fieldset", {}, h("legend", {}, here.use), ...FLAGS.map((name) => this.flag(name))),
      this.costs,
      h("button", { type: "button", class: "quiet", onclick: () => this.clear() }, here.clear),
    );
    const examples = h(
      "nav",
      { class: "examples", "aria-label": here.examples },
      h("h2", {}, here.examples),
      h("ul", {}, ...here.presets.map(({ label, goal }) => h("li", {}, h("a", { href: `#plan?${goal}` }, label)))),
    );
    this.root = h(
      "section",
      { class: "view plan" },
      h("header", { class: "head" }, h("h1", { tabindex: -1 }, here.title), h("p", { class: "lede" }, here.lede)),
      h("div", { class: "columns" }, form, h("div", { class: "results" }, this.verdict, this.ranking, this.detail), examples),
      this.lower,
    );
  }

  private field(name: Text): HTMLElement {
    const id = unique(name);
    const { label, hint } = here.fields[name];
    this.inputs[name] = h("input", {
      id,
      name,
      type: "text",
      autocomplete: "off",
      spellcheck: "false",
      autocapitalize: "off",
      "aria-describedby": `${id}-hint ${id}-error`,
      oninput: () => this.typed(),
      onchange: () => (this.editing = false),
    });
    this.errors[name] = h("span", { id: `${id}-error`, class: "error" });
    return h(
      "p",
      { class: "field" },
      h("label", { for: id }, label),
      this.inputs[name],
      h("span", { id: `${id}-hint`, class: "hint" }, hint),
      this.errors[name],
    );
  }

  private flag(name: Flag): HTMLElement {
    this.boxes[name] = h("input", { type: "checkbox", name, onchange: () => this.typed(true) });
    return h("label", { class: "check" }, this.boxes[name], here.flags[name]);
  }

  private clear(): void {
    for (const name of TEXTS) this.inputs[name].value = "";
    for (const name of FLAGS) this.boxes[name].checked = false;
    this.inputs.keys.focus();
    this.typed(true);
  }

  /** The goal is another one; it is complete if no more letters of it follow. */
  private typed(complete = false): void {
    const goal: State["goal"] = {};
    for (const name of TEXTS) {
      const text = this.inputs[name].value.trim();
      if (text) goal[name] = text;
    }
    for (const name of FLAGS) {
      if (this.boxes[name].checked) goal[name] = true;
    }
    this.state = { goal, chosen: null };
    this.later();
    this.changed(write(this.state) || "clear", complete || !this.editing);
    this.editing = !complete;
  }

  /** Shows the goal of an address. */
  show(query: string): void {
    const asked = read(query === "clear" ? "keys=" : query);
    if (this.current && write(asked) === write(this.state)) return;
    this.state = asked;
    this.editing = false;
    for (const name of TEXTS) this.inputs[name].value = asked.goal[name] ?? "";
    for (const name of FLAGS) this.boxes[name].checked = asked.goal[name] ?? false;
    if (COSTS.some((name) => asked.goal[name])) this.costs.open = true;
    this.ask();
  }

  /** Draws charts again, as after a change of colours. */
  redraw(): void {
    for (const figure of this.figures.values()) figure.draw();
  }

  private ask(): void {
    const { goal } = this.state;
    if (!this.advice) this.verdict.textContent = here.working;
    this.root.setAttribute("aria-busy", "true");
    this.client.ask({ type: "advise", goal }, { replaces: [this, "advise"] }).then(
      (advice) => {
        this.wrong(undefined, "");
        this.tell(advice);
      },
      (error: Error) => this.refused(error),
    );
    // Charts have a worker of their own, so that the ranking never waits for them; the slow one comes last.
    for (const charts of [QUICK, SLOW]) {
      this.plotter.ask({ type: "curves", goal, charts }, { replaces: [this, charts[0]!] }).then(
        (curves) => {
          if (goal === this.state.goal) this.draw(curves, charts);
        },
        (error: Error) => {
          if (!(error instanceof Dropped)) this.draw({ charts: [] }, charts);
        },
      );
    }
  }

  private refused(error: Error): void {
    if (error instanceof Dropped) return;
    const field = error instanceof CoreError ? error.field : undefined;
    this.root.removeAttribute("aria-busy");
    this.wrong(field, error.message);
    const given = MAIN.filter((name) => this.state.goal[name]).length;
    // What is wrong with a field is said there.
    this.verdict.textContent =
      field !== undefined ? here.correct(here.fields[field as Text]?.label ?? field) : given < 2 ? here.incomplete[given]! : error.message;
    this.verdict.classList.toggle("refused", field !== undefined || given >= 2);
    this.stale(true);
  }

  /** What was last computed stays to be read until the goal is complete, but is of another one. */
  private stale(stale: boolean): void {
    for (const part of [this.ranking, this.detail]) {
      part.classList.toggle("stale", stale);
      part.inert = stale;
    }
    this.current = !stale;
  }

  /** Says at a field what is wrong with it, and at no other. */
  private wrong(field: string | undefined, message: string): void {
    for (const name of TEXTS) {
      const wrong = name === field;
      this.errors[name].textContent = wrong ? message : "";
      this.inputs[name].setAttribute("aria-invalid", String(wrong));
    }
  }

  private tell(advice: Advice): void {
    this.advice = advice;
    this.stale(false);
    this.root.removeAttribute("aria-busy");
    this.verdict.classList.remove("refused");
    this.verdict.textContent = advice.verdict;
    const fitting = advice.rows.filter((row) => row.fits);
    const others = advice.rows.filter((row) => !row.fits);
    fill(
      this.ranking,
      fitting.length > 0 && this.table(advice, fitting),
      others.length > 0 && this.unfit(others),
      h("details", { class: "notes" }, h("summary", {}, here.notes), ...advice.notes.map((note) => h("p", {}, note))),
      this.command(advice),
    );
    this.choose(this.chosen(), false);
  }

  /** The row whose formulas are shown. */
  private chosen(): PlanRow | undefined {
    const rows = this.advice?.rows ?? [];
    return rows.find((row) => row.variant === this.state.chosen) ?? rows[0];
  }

  private table(advice: Advice, rows: PlanRow[]): HTMLElement {
    const head = advice.columns.map((column) => h("th", { scope: "col", role: "columnheader", title: column.help }, column.title));
    const body = rows.map((row) =>
      h(
        "tr",
        { role: "row", "data-variant": row.variant },
        h("th", { scope: "row", role: "rowheader" }, this.pick(row)),
        ...advice.columns.map((column) => h("td", { role: "cell", "data-label": column.title }, row.cells[column.id] ?? "")),
      ),
    );
    return h(
      "table",
      { class: "plans", role: "table" },
      h("caption", {}, h("span", { class: "title" }, here.ranking), " ", here.caption),
      h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, h("th", { scope: "col", role: "columnheader" }, here.kind), ...head)),
      h("tbody", { role: "rowgroup" }, ...body),
    );
  }

  private pick(row: PlanRow): HTMLElement {
    return h(
      "button",
      { type: "button", class: "pick", "aria-pressed": "false", "data-variant": row.variant, onclick: () => this.pressed(row) },
      swatch(lookOf(row.kind)),
      row.variant,
    );
  }

  private unfit(rows: PlanRow[]): HTMLElement {
    return h(
      "section",
      { class: "unfit" },
      h("h2", {}, here.unfit),
      h("ul", {}, ...rows.map((row) => h("li", {}, this.pick(row), h("span", {}, row.obstacles.join("; "))))),
    );
  }

  private command(advice: Advice): HTMLElement {
    const code = h("code", {}, advice.command);
    return h(
      "div",
      { class: "same" },
      h("p", {}, here.same),
      h("pre", { tabindex: 0 }, code),
      copyButton(here.same, () => advice.command, code),
      copyButton(here.share, () => location.href, undefined, here.share),
    );
  }

  private pressed(row: PlanRow): void {
    this.state = { ...this.state, chosen: row.variant };
    this.changed(write(this.state), false);
    this.choose(row, true);
  }

  private choose(row: PlanRow | undefined, scroll: boolean): void {
    for (const button of this.ranking.querySelectorAll<HTMLElement>(".pick")) {
      const pressed = button.dataset.variant === row?.variant;
      button.setAttribute("aria-pressed", String(pressed));
      button.closest("tr, li")?.classList.toggle("chosen", pressed);
    }
    if (!row) return fill(this.detail);
    fill(this.detail, this.code(row), this.formulas(row));
    for (const figure of this.figures.values()) figure.choose(row.kind);
    if (scroll) this.detail.scrollIntoView({ block: "nearest" });
  }

  private formulas(row: PlanRow): HTMLElement {
    const why = row.fits ? [] : [h("p", {}, `${here.why(row.variant)}: ${row.obstacles.join("; ")}.`)];
    return h(
      "div",
      { class: "formulas" },
      h("h2", {}, here.chosen(row.variant)),
      ...why,
      h(
        "dl",
        {},
        ...row.formulas.flatMap(({ name, text, source }) => [
          h("dt", {}, name),
          h("dd", {}, h("code", {}, text), " ", citation(source)),
        ]),
      ),
    );
  }

  private code(row: PlanRow): HTMLElement | null {
    const { snippets } = row;
    if (!snippets) return null;
    const blocks = (["command", "rust", "python", "redis"] as const).map((name) => {
      const title = here.snippets[name];
      const text = snippets[name];
      if (text === null) return h("div", { class: "snippet" }, h("h3", {}, title), h("p", {}, here.noRedis));
      const code = h("code", {}, text);
      return h(
        "div",
        { class: "snippet" },
        h("h3", {}, title),
        copyButton(title, () => text, code),
        h("pre", { tabindex: 0, role: "region", "aria-label": title }, code),
      );
    });
    return h("div", { class: "make" }, h("h2", {}, here.make(row.variant)), h("div", { class: "snippets" }, ...blocks));
  }

  /** Replaces the charts of these names. */
  private draw({ charts }: Curves, names: ChartId[]): void {
    const kind = this.chosen()?.kind ?? "";
    for (const name of names) {
      // A chart whose table is open stays so.
      const open = this.figures.get(name)?.open ?? false;
      this.figures.get(name)?.dispose();
      const chart = charts.find(({ id }) => id === name);
      if (chart) this.figures.set(name, new Figure(chart, kind, open));
      else this.figures.delete(name);
    }
    const figures = CHARTS.flatMap((name) => this.figures.get(name) ?? []);
    fill(this.charts, ...figures.map((figure) => figure.root));
    this.lower.hidden = figures.length === 0;
  }
}
