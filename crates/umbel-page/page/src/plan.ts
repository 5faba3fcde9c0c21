//! Plan: a goal, the ranking of all kinds for it, where each figure comes from, the code that makes the filter, and curves;
//! and for the same goal the figures of the textbook's filter.

import { Figure, citation } from "./chart";
import { Client, Dropped } from "./client";
import { copyButton } from "./copy";
import { CoreError, type Advice, type Calculated, type Chart, type Curves, type PlanRow } from "./core";
import { commandLine, debounce, fill, h, unique } from "./dom";
import { FLAGS, MOST, TEXTS, read, write, type State } from "./goal";
import { lookOf, swatch } from "./looks";
import { formula } from "./math";
import { tabs } from "./tabs";
import { words } from "./words";

const here = words.plan;
type Text = (typeof TEXTS)[number];
type ChartId = Chart["id"];
type Flag = (typeof FLAGS)[number];

/** In the order in which they are shown: the first ones at once, the others when they are asked for. */
const FIRST: ChartId[] = ["bits", "overfill"];
const MORE: ChartId[] = ["probes", "time", "keys", "exponent"];

const MAIN: Text[] = ["keys", "fpp", "memory", "probes"];
const COSTS: Text[] = ["ship", "except", "lookup", "false_answer", "absent"];
/** Of these two make a goal. */
const GOAL: Text[] = ["keys", "fpp", "memory", "ship"];

export class Plan {
  private readonly inputs = {} as Record<Text, HTMLInputElement>;
  private readonly errors = {} as Record<Text, HTMLElement>;
  private readonly boxes = {} as Record<Flag, HTMLInputElement>;
  private readonly costs: HTMLDetailsElement;
  private readonly textbook = h("div", { class: "textbook", role: "status" }, h("h2", {}, here.textbook.title));
  private readonly headline = h("p", { class: "headline" });
  private readonly verdict = h("p", { class: "verdict", role: "status" });
  private readonly ranking = h("div", { class: "ranking" });
  private readonly comparison = h("section", { class: "side-by-side" });
  private readonly charts = h("div", { class: "charts" });
  private readonly more = h("div", { class: "charts" });
  private readonly others = h(
    "details",
    {
      class: "more",
      ontoggle: () => {
        if (this.others.open && !this.figures.has(MORE[0]!)) this.curves(MORE);
      },
    },
    h("summary", {}, here.more),
    this.more,
  );
  private readonly lower = h("section", { class: "what-if" }, h("h2", {}, here.charts), h("p", { class: "lede" }, here.chartsLede), this.charts, this.others);
  private readonly figures = new Map<ChartId, Figure>();
  private advice: Advice | undefined;
  /** Whether `advice` is that of the goal. */
  private current = false;
  private state: State = read("");
  /** Whether letters were typed in a field that has not been left. */
  private editing = false;
  private readonly later = debounce(150, () => this.ask());
  /** The code that is shown of each kind. */
  private code = "command";

  private readonly plotter = new Client("core");

  /** `root` has the view's heading; `changed` takes the state for the page's address, and whether Back should come to what it was before. */
  constructor(
    readonly root: HTMLElement,
    private readonly client: Client,
    private readonly changed: (query: string, step: boolean) => void,
  ) {
    this.costs = h("details", { class: "group" }, h("summary", {}, here.costs), h("div", { class: "fields" }, ...COSTS.map((name) => this.field(name))));
    const form = h(
      "form",
      { class: "goal", "aria-label": here.form, novalidate: true, onsubmit: (event: Event) => event.preventDefault() },
      h("fieldset", { class: "main" }, h("legend", {}, here.any), ...MAIN.map((name) => this.field(name)), this.textbook),
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
    root.append(
      h(
        "div",
        { class: "columns" },
        form,
        h("div", { class: "results" }, h("div", { class: "answer" }, this.headline, this.verdict), this.ranking, this.comparison),
        examples,
      ),
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
      name in here.letters && h("var", { "aria-hidden": "true" }, here.letters[name]),
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
    this.state = { ...this.state, goal, chosen: null };
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
    const asked = this.state.goal;
    const { probes, ...goal } = asked;
    if (!this.advice) this.verdict.textContent = here.working;
    this.root.setAttribute("aria-busy", "true");
    const { keys, fpp, memory } = goal;
    this.client.ask({ type: "calculate", keys, fpp, memory, probes }, { replaces: [this, "calculate"] }).then(
      (figures) => {
        this.mark("probes", "");
        this.figured(figures);
      },
      (error: Error) => {
        if (error instanceof Dropped) return;
        this.figured(null);
        // The ranking says what is wrong with the other fields.
        if (error instanceof CoreError && error.field === "probes") this.mark("probes", error.message);
      },
    );
    this.client.ask({ type: "advise", goal }, { replaces: [this, "advise"] }).then(
      (advice) => {
        this.wrong(undefined, "");
        this.tell(advice);
      },
      (error: Error) => this.refused(error),
    );
    // One after the other, so that none keeps the page from answering; the first one takes longest, and comes last.
    if (this.others.open) this.curves(MORE);
    else this.draw({ charts: [] }, MORE);
    for (const chart of [...FIRST].reverse()) this.curves([chart]);
  }

  /** Asks for charts of the goal. They have a worker of their own, so that the ranking never waits for them. */
  private curves(charts: ChartId[]): void {
    const asked = this.state.goal;
    const { probes: _, ...goal } = asked;
    this.plotter.ask({ type: "curves", goal, charts }, { replaces: [this, charts[0]!] }).then(
      (curves) => {
        if (asked === this.state.goal) this.draw(curves, charts);
      },
      (error: Error) => {
        if (!(error instanceof Dropped)) this.draw({ charts: [] }, charts);
      },
    );
  }

  /** The textbook's filter: what is given, and what follows from it. */
  private figured(figures: Calculated | null): void {
    if (!figures) return fill(this.textbook);
    const text = here.textbook;
    const { keys, fpp, memory, probes, reached, enough, needed, best_probes } = figures;
    const told = text.rate(reached.text, reached.one_in);
    const all = keys.given && fpp.given && memory.given;
    const notes = [
      all && (enough ? text.enough(told) : text.short(needed!, told)),
      probes.given && Math.abs(probes.value - Number(best_probes)) >= 1 && text.best(String(Math.max(1, Math.round(Number(best_probes))))),
    ];
    const line = (letter: string, { given }: { given: boolean }, value: string) => [
      h("dt", {}, h("var", {}, letter)),
      h("dd", { class: given ? "given" : "found" }, value),
    ];
    fill(
      this.textbook,
      h("h2", {}, text.title),
      h(
        "dl",
        {},
        ...line("n", keys, keys.text),
        ...line("p", fpp, text.rate(fpp.text, figures.one_in)),
        ...line("m", memory, text.size(memory.bits, memory.text)),
        ...line("k", probes, probes.text),
      ),
      h("p", { class: "hint" }, [text.perKey(figures.bits_per_key), ...notes.filter((note) => note !== false)].join(words.signs.space)),
    );
  }

  private refused(error: Error): void {
    if (error instanceof Dropped) return;
    const field = error instanceof CoreError ? error.field : undefined;
    this.root.removeAttribute("aria-busy");
    this.wrong(field, error.message);
    const given = GOAL.filter((name) => this.state.goal[name]).length;
    // What is wrong with a field is said there.
    this.verdict.textContent =
      field !== undefined ? here.correct(here.fields[field as Text]?.label ?? field) : given < 2 ? here.incomplete[given]! : error.message;
    this.verdict.classList.toggle("refused", field !== undefined || given >= 2);
    this.stale(true);
  }

  /** What was last computed stays to be read until the goal is complete, but is of another one. */
  private stale(stale: boolean): void {
    for (const part of [this.headline, this.ranking, this.comparison]) {
      part.classList.toggle("stale", stale);
      part.inert = stale;
    }
    this.current = !stale;
  }

  /** Says at a field what is wrong with it, and at no other. */
  private wrong(field: string | undefined, message: string): void {
    for (const name of TEXTS) if (name !== "probes") this.mark(name, name === field ? message : "");
  }

  private mark(name: Text, message: string): void {
    this.errors[name].textContent = message;
    this.inputs[name].setAttribute("aria-invalid", String(message !== ""));
  }

  private tell(advice: Advice): void {
    this.advice = advice;
    this.stale(false);
    this.root.removeAttribute("aria-busy");
    this.verdict.classList.remove("refused");
    this.verdict.textContent = advice.verdict;
    const fitting = advice.rows.filter((row) => row.fits);
    const others = advice.rows.filter((row) => !row.fits);
    const best = fitting.find((row) => row.variant === advice.take);
    fill(this.headline, ...(best ? headline(best) : []));
    this.headline.hidden = !best;
    fill(
      this.ranking,
      fitting.length > 0 && this.table(advice, fitting),
      others.length > 0 && this.unfit(others, fitting.length === 0),
      h("details", { class: "notes" }, h("summary", {}, here.notes), ...advice.notes.map((note) => h("p", {}, note))),
      this.command(advice),
    );
    this.choose();
    this.sideBySide();
  }

  /** The row that the reader chose. */
  private chosen(): PlanRow | undefined {
    return this.advice?.rows.find((row) => row.variant === this.state.chosen);
  }

  private table(advice: Advice, rows: PlanRow[]): HTMLElement {
    const title = ({ id, title }: Advice["columns"][number]) => here.columns[id] ?? title;
    const head = advice.columns.map((column) => h("th", { scope: "col", role: "columnheader", title: column.help }, title(column)));
    const body = rows.map((row) =>
      h(
        "tr",
        { role: "row", "data-variant": row.variant },
        h("th", { scope: "row", role: "rowheader" }, this.pick(row), h("span", { class: "purpose" }, here.purpose[row.kind])),
        ...advice.columns.map((column) => h("td", { role: "cell", "data-label": title(column) }, row.cells[column.id] ?? "")),
        h("td", { role: "cell", class: "tick", "data-label": here.compare.short }, this.tick(row)),
      ),
    );
    return h(
      "table",
      { class: "plans", role: "table" },
      h("caption", {}, h("span", { class: "title" }, here.ranking), " ", here.caption),
      h(
        "thead",
        { role: "rowgroup" },
        h(
          "tr",
          { role: "row" },
          h("th", { scope: "col", role: "columnheader" }, here.kind),
          ...head,
          h("th", { scope: "col", role: "columnheader" }, here.compare.short),
        ),
      ),
      h("tbody", { role: "rowgroup" }, ...body),
    );
  }

  private pick(row: PlanRow): HTMLElement {
    return h(
      "button",
      { type: "button", class: "pick", "aria-expanded": "false", "data-variant": row.variant, onclick: () => this.pressed(row) },
      swatch(lookOf(row.kind)),
      row.variant,
    );
  }

  private tick({ variant }: PlanRow): HTMLElement {
    const box = h("input", {
      type: "checkbox",
      checked: this.state.compared.includes(variant),
      "aria-label": here.compare.tick(variant),
      onchange: () => {
        const others = this.state.compared.filter((other) => other !== variant);
        if (box.checked && others.length === MOST) box.checked = false;
        this.compare(box.checked ? [...others, variant] : others);
      },
    });
    return box;
  }

  private compare(compared: string[]): void {
    this.state = { ...this.state, compared };
    this.changed(write(this.state), false);
    this.sideBySide();
  }

  /** The kinds that are compared, a column each. */
  private sideBySide(): void {
    const { advice } = this;
    const all = this.state.compared.flatMap((variant) => advice?.rows.find((row) => row.fits && row.variant === variant) ?? []);
    if (!advice || all.length < 2) return fill(this.comparison);
    const text = here.compare;
    const yes = (row: PlanRow, name: string) => (row.document[name] === true ? text.yes : text.no);
    const lines: [string, (row: PlanRow) => string][] = [
      [text.purpose, (row) => here.purpose[row.kind] ?? ""],
      ...advice.columns.map(({ id, title }): [string, (row: PlanRow) => string] => [here.columns[id] ?? title, (row) => row.cells[id] ?? ""]),
      [text.rate, (row) => row.headline?.one_in ?? ""],
      [text.probes, (row) => String(row.headline?.probes ?? "")],
      [text.ship, (row) => row.headline?.file ?? ""],
      [text.deletes, (row) => (row.headline?.removes ? text.yes : text.no)],
      [text.grows, (row) => yes(row, "grows")],
      [text.forgets, (row) => yes(row, "forgets")],
    ];
    fill(
      this.comparison,
      h("h2", {}, text.title),
      this.state.compared.length === MOST && h("p", { class: "hint" }, text.most),
      h(
        "div",
        { class: "scroll", tabindex: 0, role: "region", "aria-label": text.title },
        h(
          "table",
          {},
          h("thead", {}, h("tr", {}, h("td"), ...all.map((row) => h("th", { scope: "col" }, swatch(lookOf(row.kind)), " ", row.variant)))),
          h("tbody", {}, ...lines.map(([name, of]) => h("tr", {}, h("th", { scope: "row" }, name), ...all.map((row) => h("td", {}, of(row)))))),
        ),
      ),
      h(
        "button",
        {
          type: "button",
          class: "quiet",
          onclick: () => {
            for (const box of this.ranking.querySelectorAll<HTMLInputElement>(".tick input")) box.checked = false;
            this.compare([]);
          },
        },
        text.clear,
      ),
    );
  }

  private unfit(rows: PlanRow[], open: boolean): HTMLElement {
    return h(
      "details",
      { class: "unfit", open: open || rows.some((row) => row.variant === this.state.chosen) },
      h("summary", {}, here.unfit(rows.length)),
      h("ul", {}, ...rows.map((row) => h("li", { "data-variant": row.variant }, this.pick(row), h("span", {}, row.obstacles.join(words.signs.semicolon))))),
    );
  }

  private command(advice: Advice): HTMLElement {
    const code = commandLine(advice.command);
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
    const chosen = this.state.chosen === row.variant ? null : row.variant;
    this.state = { ...this.state, chosen };
    this.changed(write(this.state), false);
    const button = () => this.ranking.querySelector(`.pick[data-variant="${row.variant}"]`)!;
    const before = button().getBoundingClientRect().top;
    this.choose();
    // What was open above it is gone: the row stays where it was pressed.
    scrollBy(0, button().getBoundingClientRect().top - before);
  }

  /** Opens the chosen row, and closes the others. */
  private choose(): void {
    const row = this.chosen();
    for (const button of this.ranking.querySelectorAll<HTMLElement>(".pick")) {
      const chosen = button.dataset.variant === row?.variant;
      button.setAttribute("aria-expanded", String(chosen));
      button.closest("tr, li")!.classList.toggle("chosen", chosen);
    }
    this.ranking.querySelector(".inside")?.remove();
    for (const figure of this.figures.values()) figure.choose(this.bold());
    if (!row) return;
    const details = h("div", { class: "detail" }, this.snippets(row), this.formulas(row));
    const place = this.ranking.querySelector<HTMLElement>(`[data-variant="${row.variant}"]:is(tr, li)`)!;
    if (place.tagName === "LI") return place.append(h("div", { class: "inside" }, details));
    place.after(h("tr", { class: "inside", role: "row" }, h("td", { role: "cell", colspan: place.childElementCount }, details)));
  }

  /** The kind whose curves are bold. */
  private bold(): string {
    return this.chosen()?.kind ?? this.advice?.take?.split(/[:/]/)[0] ?? "";
  }

  private formulas(row: PlanRow): HTMLElement {
    const { named, semicolon, stop } = words.signs;
    const why = row.fits ? [] : [h("p", {}, named(here.why(row.variant), row.obstacles.join(semicolon)) + stop)];
    return h(
      "div",
      { class: "formulas" },
      h("h3", {}, here.chosen(row.variant)),
      ...why,
      h("dl", {}, ...row.formulas.flatMap(({ name, text, source }) => [h("dt", {}, name), h("dd", {}, formula(text), " ", citation(source))])),
    );
  }

  private snippets(row: PlanRow): HTMLElement | null {
    const { snippets } = row;
    if (!snippets) return null;
    const all = (["command", "rust", "python", "javascript", "redis"] as const).map((id) => {
      const title = here.snippets[id];
      const text = snippets[id];
      if (text === null) return { id, title, panel: h("div", { class: "snippet" }, h("p", {}, id === "redis" ? here.noRedis : here.noJavaScript)) };
      const code = id === "command" ? commandLine(text) : h("code", {}, text);
      return {
        id,
        title,
        panel: h(
          "div",
          { class: "snippet" },
          h("pre", { tabindex: 0, role: "region", "aria-label": title }, code),
          copyButton(title, () => text, code),
        ),
      };
    });
    const title = here.make(row.variant);
    return h(
      "div",
      { class: "make" },
      h("h3", {}, title),
      tabs(title, all, this.code, (id) => (this.code = id)),
    );
  }

  /** Replaces the charts of these names. */
  private draw({ charts }: Curves, names: ChartId[]): void {
    const kind = this.bold();
    for (const name of names) {
      // A chart whose table is open stays so.
      const open = this.figures.get(name)?.open ?? false;
      this.figures.get(name)?.dispose();
      const chart = charts.find(({ id }) => id === name);
      if (chart) this.figures.set(name, new Figure(chart, kind, open));
      else this.figures.delete(name);
    }
    const shown = (names: ChartId[]) => names.flatMap((name) => this.figures.get(name)?.root ?? []);
    fill(this.charts, ...shown(FIRST));
    fill(this.more, ...shown(MORE));
    this.lower.hidden = this.figures.size === 0;
  }
}

/** What the best kind comes to: `blocked · 1.21 MiB`, and its other figures. */
function headline(row: PlanRow): HTMLElement[] {
  const text = here.headline;
  const { memory, bits_per_key, probes, one_in } = row.headline!;
  return [
    h("strong", {}, swatch(lookOf(row.kind)), " ", text.size(row.variant, memory)),
    ...[bits_per_key && text.bits(bits_per_key), text.probes(probes), one_in && text.rate(one_in)]
      .filter((figure) => figure !== null)
      .map((figure) => h("span", {}, figure)),
  ];
}
