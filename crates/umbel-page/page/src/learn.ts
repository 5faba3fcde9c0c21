//! Learn: lessons that go step by step, and own words. The core computes every state; the page only shows it.

import { hash } from "./address";
import { Dropped, type Client } from "./client";
import type { Told, ToyStep } from "./core";
import { fill, h, unique } from "./dom";
import { lessons, type Lesson, type Operation } from "./lessons";
import { Stage } from "./stage";
import { words } from "./words";

const here = words.learn;
const PLAY = 1400;
const OPS = { i: "insert", e: "except", r: "remove", q: "query", t: "advance" } as const;

/** Operations in the page's address, in order: `i=apples&q=mango&t=`. */
function written(operations: Operation[]): string {
  const letter = (op: Operation["op"]) => (op === "advance" ? "t" : op[0]!);
  return operations.map(({ op, word }) => `${letter(op)}=${encodeURIComponent(word ?? "")}`).join("&");
}

function parsed(parameters: URLSearchParams): Operation[] {
  // Of its own: an address may have the names of what all objects have.
  const known = [...parameters].filter(([name]) => Object.hasOwn(OPS, name)) as [keyof typeof OPS, string][];
  return known.map(([name, word]) => (name === "t" ? { op: OPS[name] } : { op: OPS[name], word }));
}

export class Learn {
  private readonly links = new Map<string, HTMLAnchorElement>();
  private readonly title = h("h2", { tabindex: -1 });
  private readonly text = h("p", { class: "lesson-text" });
  private readonly caption = h("p", { class: "caption", role: "status" });
  private readonly place = h("p", { class: "place" });
  private readonly steps = h("ol", { class: "steps" });
  private readonly stages = h("div", { class: "stages" });
  private readonly summary = h("p", { class: "in-the-end" });
  private readonly back: HTMLButtonElement;
  private readonly next: HTMLButtonElement;
  private readonly first: HTMLButtonElement;
  private readonly play: HTMLButtonElement;
  private readonly own = h("form", { class: "own" });
  private readonly word: HTMLInputElement;
  private readonly wrong = h("p", { class: "error", role: "alert" });
  private lesson: Lesson = lessons[0]!;
  /** Own operations; `null` while the lesson's are shown. */
  private operations: Operation[] | null = null;
  private told: Told[] = [];
  private shown: Stage[] = [];
  private at = 0;
  private timer: number | undefined;
  private asked = "";

  /** `root` has the view's heading. */
  constructor(
    readonly root: HTMLElement,
    private readonly client: Client,
    private readonly changed: (query: string) => void,
  ) {
    const button = (text: string, what: () => void) => h("button", { type: "button", onclick: what }, text);
    this.first = button(here.restart, () => this.go(0));
    this.back = button(here.back, () => this.go(this.at - 1));
    this.next = button(here.next, () => this.go(this.at + 1));
    this.play = button(here.play, () => this.toggle());
    this.next.classList.add("main");
    const id = unique("word");
    this.word = h("input", { id, type: "text", autocomplete: "off", spellcheck: "false", autocapitalize: "off", maxlength: 40 });
    this.own.addEventListener("submit", (event) => {
      event.preventDefault();
      this.act("insert");
    });
    const links = lessons.map(({ id }, index) => {
      const link = h("a", { href: hash("learn", `lesson=${id}`) }, here.list[index]!.short);
      this.links.set(id, link);
      return h("li", {}, link);
    });
    root.append(
      h(
        "div",
        { class: "columns" },
        h("nav", { class: "side lessons", "aria-label": here.lessons }, h("ol", {}, ...links)),
        h(
          "article",
          { class: "lesson" },
          this.title,
          this.text,
          h("div", { class: "tools", role: "group", "aria-label": here.steps }, this.first, this.back, this.next, this.play, this.place),
          h("p", { class: "hint by-keys" }, here.keys),
          this.caption,
          this.stages,
          this.summary,
          this.own,
          h("section", {}, h("h3", {}, here.steps), this.steps),
        ),
      ),
    );
    fill(this.own, h("label", { for: id }, here.word), this.word);
    // Wherever the focus is, as long as the lesson is shown.
    document.addEventListener("keydown", (event) => {
      if (this.root.isConnected) this.key(event);
    });
  }

  /** Shows the lesson, the operations and the step of an address. */
  show(query: string): void {
    if (query === this.asked && this.told.length > 0) return;
    const parameters = new URLSearchParams(query);
    this.lesson = lessons.find(({ id }) => id === parameters.get("lesson")) ?? lessons[0]!;
    const own = parsed(parameters);
    this.operations = own.length > 0 || parameters.has("own") ? own : null;
    this.at = Number.parseInt(parameters.get("at") ?? "", 10) || 0;
    this.asked = query;
    this.pause();
    this.frame();
    void this.tell();
  }

  redraw(): void {
    for (const stage of this.shown) stage.redraw();
  }

  /** What is not seen does not go on. */
  hide(): void {
    this.pause();
  }

  /** What does not change with the steps. */
  private frame(): void {
    const { lesson } = this;
    const { title, text } = here.list[lessons.indexOf(lesson)]!;
    this.title.textContent = title;
    this.text.textContent = text;
    for (const [id, link] of this.links) {
      if (id === lesson.id) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    const { can } = lesson;
    const button = (text: string, what: () => void, main = false) => h("button", { type: main ? "submit" : "button", onclick: main ? null : what }, text);
    fill(
      this.own,
      h("h3", {}, here.own),
      h("label", { for: this.word.id }, here.word),
      this.word,
      button(here.insert, () => {}, true),
      can.except && button(here.except, () => this.act("except")),
      button(here.query, () => this.act("query")),
      can.remove && button(here.remove, () => this.act("remove")),
      can.advance && button(here.advance, () => this.act("advance")),
      can.bulk !== undefined && button(here.bulk(can.bulk), () => this.bulk(can.bulk!)),
      button(here.clear, () => this.start([])),
      button(here.again, () => this.start(null)),
      this.wrong,
    );
  }

  private async tell(): Promise<void> {
    const { lesson } = this;
    const operations = this.operations ?? lesson.script;
    const requests = lesson.toys.map((toy) => this.client.ask({ type: "toy", ...toy, operations }));
    try {
      this.told = await Promise.all(requests);
    } catch (error) {
      if (!(error instanceof Dropped)) this.wrong.textContent = (error as Error).message;
      return;
    }
    if (lesson !== this.lesson) return;
    this.wrong.textContent = "";
    const names = lesson.toys.length > 1 ? lesson.toys.map(({ kind }) => here.beside[kind as "classic"]) : [null];
    for (const stage of this.shown) stage.dispose();
    this.shown = names.map((name) => new Stage(name));
    fill(this.stages, ...this.shown.map((stage) => stage.root));
    this.stages.classList.toggle("two", this.shown.length === 2);
    this.listSteps();
    this.at = Math.min(Math.max(0, this.at), this.all().length);
    this.draw();
  }

  /** The steps; those of filters side by side have the same operations. */
  private all(): ToyStep[] {
    return this.told[this.told.length - 1]?.steps ?? [];
  }

  private listSteps(): void {
    const line = (step: ToyStep) => {
      const answer = step.found === null ? "" : step.found ? (step.inserted ? here.answer.right : here.answer.wrong) : here.answer.no;
      return [here.ops[step.op](step.word), answer && h("span", { class: `tag ${step.found && !step.inserted ? "wrong" : ""}` }, answer)];
    };
    const item = (index: number, ...inside: (Node | string)[]) =>
      h("li", {}, h("button", { type: "button", class: "quiet", onclick: () => this.go(index) }, ...inside));
    fill(this.steps, item(0, here.empty), ...this.all().map((step, index) => item(index + 1, ...line(step))));
  }

  private draw(): void {
    const steps = this.all();
    const { at } = this;
    this.shown.forEach((stage, index) => stage.show(this.told[index]!, at));
    // What is said of filters side by side is at each of them; here is what is done with both.
    const step = steps[at - 1];
    const done = this.told.length > 1 ? step && here.ops[step.op](step.word) : step?.text;
    this.caption.textContent = done ?? here.start;
    this.place.textContent = here.step(at, steps.length);
    this.first.disabled = this.back.disabled = at === 0;
    this.next.disabled = at === steps.length;
    this.summary.textContent = at === steps.length ? this.told.map(({ text }, index) => this.shown[index]!.named(text)).join(words.signs.space) : "";
    [...this.steps.children].forEach((item, index) => {
      if (index === at) item.firstElementChild!.setAttribute("aria-current", "step");
      else item.firstElementChild!.removeAttribute("aria-current");
    });
  }

  private go(at: number): void {
    const last = this.all().length;
    this.at = Math.min(Math.max(0, at), last);
    if (this.at === last) this.pause();
    this.draw();
    this.remember();
  }

  /** Arrow keys step, unless they move in a field. */
  private key(event: KeyboardEvent): void {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (by === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    if ((event.target as HTMLElement).closest("input, select, textarea, .scroll")) return;
    event.preventDefault();
    this.pause();
    this.go(this.at + by);
  }

  private remember(): void {
    const own = this.operations === null ? [] : ["own=", written(this.operations)];
    this.asked = [`lesson=${this.lesson.id}`, ...own, `at=${this.at}`].filter(Boolean).join("&");
    // The way back to this lesson leads to the words that it has now.
    this.links.get(this.lesson.id)!.href = hash("learn", this.asked);
    this.changed(this.asked);
  }

  private toggle(): void {
    if (this.timer !== undefined) return this.pause();
    if (this.at === this.all().length) this.go(0);
    this.play.textContent = here.pause;
    this.timer = window.setInterval(() => this.go(this.at + 1), PLAY);
  }

  private pause(): void {
    clearInterval(this.timer);
    this.timer = undefined;
    this.play.textContent = here.play;
  }

  private act(op: Operation["op"]): void {
    const word = this.word.value.trim();
    if (op === "advance") return this.append([{ op }]);
    if (word === "") return this.word.focus();
    this.word.select();
    this.append([{ op, word }]);
  }

  /** Inserts the first fruits that are not in yet. */
  private bulk(count: number): void {
    const now = this.operations ?? this.lesson.script;
    const there = new Set(now.filter(({ op }) => op === "insert").map(({ word }) => word));
    this.append(
      here.fruits
        .filter((word) => !there.has(word))
        .slice(0, count)
        .map((word) => ({ op: "insert", word })),
    );
  }

  private append(more: Operation[]): void {
    this.start([...(this.operations ?? this.lesson.script), ...more]);
  }

  /** With own operations, or the lesson's again. */
  private start(operations: Operation[] | null): void {
    this.pause();
    this.operations = operations;
    this.at = operations?.length ?? 0;
    this.remember();
    void this.tell();
  }
}
