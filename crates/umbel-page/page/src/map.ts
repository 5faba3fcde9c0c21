//! The map of a filter: how full each stretch of it is, on a canvas that zooms down to single cells, by pointer and keys.

import { tableBehind } from "./chart";
import { Dropped, type Client } from "./client";
import type { MapAnswer, Part } from "./core";
import { colour, debounce, fill, h, unique } from "./dom";
import { words } from "./words";

const here = words.look.map;
const ROWS = 16;
/** Each step in shows a quarter of what was shown. */
const ZOOM = 4;
/** Pixels that a wheel turns for a step. */
const WHEEL = 60;

const count = (value: number) => value.toLocaleString(words.site.language);
const percent = (value: number) => `${(100 * value).toFixed(value < 0.001 ? 3 : 1)}${words.signs.percent}`;

/** The red, green and blue of a colour as browsers compute it. */
function channels(name: string): number[] {
  return (colour(name).match(/[\d.]+/g) ?? []).slice(0, 3).map(Number);
}

export class FillMap {
  readonly root: HTMLElement;
  private readonly canvas = h("canvas", { class: "map", tabindex: 0, role: "application", "aria-roledescription": here.table });
  private readonly reading = h("p", { class: "reading-line", role: "status" });
  private readonly said = h("p", { class: "marked", role: "status" });
  private readonly caption = h("p", { class: "hint caption-line" });
  private readonly stretch = h("input", { type: "checkbox", onchange: () => this.draw() });
  private readonly scale = h("p", { class: "scale" });
  private readonly behind: HTMLDetailsElement;
  private columns = 64;
  private from = 0;
  private to: number;
  private cursor = 0;
  private answer: MapAnswer | undefined;
  /** Where a drag began, which cells were shown then, and whether it has moved. */
  private drag: { x: number; y: number; from: number; moved: boolean } | undefined;
  private turned = 0;
  /** The cells of a key. */
  private marks: number[] = [];
  private readonly sizes = new ResizeObserver(debounce(100, () => this.fit()));

  constructor(
    private readonly client: Client,
    private readonly handle: () => number,
    private readonly number: number,
    private readonly part: Part,
  ) {
    this.to = part.cells;
    const keys = unique("keys");
    this.canvas.setAttribute("aria-describedby", keys);
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.canvas.addEventListener("pointermove", (event) => this.moved(event));
    this.canvas.addEventListener("pointerdown", (event) => {
      this.drag = event.button === 0 ? { x: event.clientX, y: event.clientY, from: this.from, moved: false } : undefined;
    });
    this.canvas.addEventListener("pointerup", (event) => {
      const { drag } = this;
      this.drag = undefined;
      if (!drag || drag.moved) return;
      this.point(event);
      this.zoom(1 / ZOOM);
    });
    this.canvas.addEventListener("pointercancel", () => (this.drag = undefined));
    this.canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.behind = tableBehind(here.table, () => this.table());
    const button = (text: string, what: () => void) => h("button", { type: "button", class: "quiet", onclick: what }, text);
    this.root = h(
      "section",
      { class: "map-view" },
      h("h3", {}, part.unit.startsWith("bits") ? here.title : here.unit(part.unit)),
      h("p", { class: "lede" }, here.lede),
      h(
        "div",
        { class: "tools", role: "group", "aria-label": here.table },
        button(here.in, () => this.zoom(1 / ZOOM)),
        button(here.out, () => this.zoom(ZOOM)),
        button(here.left, () => this.pan(-0.5)),
        button(here.right, () => this.pan(0.5)),
        button(here.all, () => this.all()),
        h("label", { class: "check" }, this.stretch, here.contrast),
      ),
      this.canvas,
      this.said,
      this.reading,
      this.scale,
      this.caption,
      h("p", { class: "hint by-keys", id: keys }, here.keys),
      this.behind,
    );
    this.sizes.observe(this.root);
  }

  /** Gives up what listens to sizes. */
  dispose(): void {
    this.sizes.disconnect();
  }

  /** As many columns as there is room for, by cells of 8 pixels or more. */
  private fit(): void {
    const width = this.root.clientWidth;
    if (width === 0) return;
    const columns = width >= 900 ? 96 : width >= 500 ? 64 : 32;
    if (columns !== this.columns || !this.answer) {
      this.columns = columns;
      this.load();
    } else {
      this.draw();
    }
  }

  private load(): void {
    const { number, from, to, columns } = this;
    this.client.ask({ type: "map", handle: this.handle(), part: number, from, to, cells: columns * ROWS }, { replaces: [this, "map"] }).then(
      (answer) => this.show(answer),
      (error: Error) => {
        if (!(error instanceof Dropped)) this.reading.textContent = error.message;
      },
    );
  }

  private show(answer: MapAnswer): void {
    this.answer = answer;
    this.from = answer.from;
    this.to = answer.to;
    this.cursor = Math.min(this.cursor, answer.values.length - 1);
    this.canvas.setAttribute("aria-label", here.label(answer));
    this.caption.textContent = answer.per === 1 ? here.one(this.part.unit) : here.caption(count(answer.per), this.part.unit);
    const { expected } = answer;
    fill(
      this.scale,
      h("span", {}, answer.fill ? here.empty : "0"),
      h("span", { class: "ramp" }),
      h("span", {}, answer.fill ? here.full : String(answer.most)),
      expected && h("span", {}, here.expected(percent(expected.low), percent(expected.high))),
      expected && h("span", { class: "out" }, here.outside(this.outside().length)),
    );
    const inside = this.behind.querySelector(".scroll")!;
    if (inside.childElementCount > 0) fill(inside, this.table());
    this.draw();
    this.tell();
  }

  /** Stretches that are fuller or emptier than chance explains. */
  private outside(): number[] {
    const { expected, values } = this.answer!;
    if (!expected) return [];
    return values.flatMap((value, index) => (value < expected.low || value > expected.high ? [index] : []));
  }

  draw(): void {
    const { answer, canvas } = this;
    const width = canvas.clientWidth;
    if (!answer || width === 0) return;
    const ratio = devicePixelRatio;
    const rows = Math.ceil(answer.values.length / this.columns);
    const height = Math.round((width / this.columns) * rows);
    canvas.style.height = `${height}px`;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const context = canvas.getContext("2d")!;
    const low = channels("--map-low");
    const high = channels("--map-high");
    const mark = colour("--vermilion");
    const { bottom, top } = this.limits(answer);
    const size = canvas.width / this.columns;
    const gap = size > 6 * ratio ? ratio : 0;
    const place = (index: number) => [(index % this.columns) * size, Math.floor(index / this.columns) * size] as const;
    answer.values.forEach((value, index) => {
      const share = Math.min(1, Math.max(0, (value - bottom) / (top - bottom)));
      const mixed = low.map((channel, i) => Math.round(channel + share * (high[i]! - channel)));
      context.fillStyle = `rgb(${mixed.join(" ")})`;
      const [x, y] = place(index);
      context.fillRect(x, y, size - gap, size - gap);
    });
    // A dot, not a colour alone, shows what chance does not explain.
    context.fillStyle = mark;
    context.strokeStyle = colour("--card");
    for (const index of this.outside()) {
      const [x, y] = place(index);
      context.beginPath();
      context.arc(x + size / 2, y + size / 2, size * 0.22, 0, 7);
      context.fill();
      context.stroke();
    }
    for (const cell of this.marks) {
      const index = Math.floor((cell - answer.from) / answer.per);
      if (cell < answer.from || cell >= answer.to) continue;
      const [x, y] = place(index);
      const radius = Math.max(size * 0.5, 4 * ratio);
      for (const [name, wide] of [
        ["--card", 5],
        ["--vermilion", 2.5],
      ] as const) {
        context.strokeStyle = colour(name);
        context.lineWidth = wide * ratio;
        context.beginPath();
        context.arc(x + (size - gap) / 2, y + (size - gap) / 2, radius, 0, 7);
        context.stroke();
      }
    }
    const [x, y] = place(this.cursor);
    for (const [name, wide] of [
      ["--card", 4],
      ["--ink", 2],
    ] as const) {
      context.strokeStyle = colour(name);
      context.lineWidth = wide * ratio;
      context.strokeRect(x + ratio, y + ratio, size - gap - 2 * ratio, size - gap - 2 * ratio);
    }
  }

  /** The values that have the palest and the darkest colour. */
  private limits({ values, most, fill: isFill }: MapAnswer): { bottom: number; top: number } {
    const top = isFill ? 1 : most;
    if (!this.stretch.checked) return { bottom: 0, top };
    const least = Math.min(...values);
    const largest = Math.max(...values);
    return largest > least ? { bottom: least, top: largest } : { bottom: 0, top };
  }

  private point(event: PointerEvent | MouseEvent): void {
    const size = this.canvas.clientWidth / this.columns;
    const index = Math.floor(event.offsetY / size) * this.columns + Math.floor(event.offsetX / size);
    this.move(index, false);
  }

  /** The pointer reads, or drags what is shown: a row is as many cells as it has stretches. */
  private moved(event: PointerEvent): void {
    const { drag, answer } = this;
    if (!drag || !answer) return this.point(event);
    const size = this.canvas.clientWidth / this.columns;
    const [right, down] = [Math.round((event.clientX - drag.x) / size), Math.round((event.clientY - drag.y) / size)];
    if (!drag.moved && right === 0 && down === 0) return;
    if (!drag.moved) this.canvas.setPointerCapture(event.pointerId);
    drag.moved = true;
    const from = drag.from - (right + down * this.columns) * answer.per;
    if (from !== this.from) this.shift(Math.max(0, from), this.to - this.from);
  }

  /** Zooms once the map has the focus, or with Ctrl, as browsers zoom: else a wheel scrolls the page. */
  private wheel(event: WheelEvent): void {
    if (document.activeElement !== this.canvas && !event.ctrlKey) return;
    event.preventDefault();
    this.point(event);
    this.turned += event.deltaY;
    if (Math.abs(this.turned) < WHEEL) return;
    this.zoom(this.turned < 0 ? 1 / ZOOM : ZOOM);
    this.turned = 0;
  }

  /** Marks the cells of a key, and shows all of them. */
  mark(key: string, all: { part: number; cell: number; value: number }[]): void {
    const own = all.filter(({ part }) => part === this.number);
    this.marks = own.map(({ cell }) => cell);
    const most = this.columns * ROWS;
    const [first, last] = [Math.min(...this.marks), Math.max(...this.marks)];
    // Those of one block are seen one by one; those all over the filter with all of it.
    if (own.length > 0 && last - first < most) this.shift(first - Math.floor((most - (last - first)) / 2), Math.min(most, this.part.cells));
    else this.all();
    const cells = own.map(({ cell, value }) => here.cell(count(cell), this.part.unit, value));
    fill(this.said, own.length === 0 ? here.elsewhere(key) : here.marked(key, cells.join(words.signs.comma)));
    this.root.scrollIntoView({ block: "nearest" });
  }

  /** Says something at the map. */
  say(text: string): void {
    this.said.textContent = text;
  }

  private move(index: number, aloud: boolean): void {
    const last = (this.answer?.values.length ?? 1) - 1;
    if (index < 0 || index > last) {
      if (aloud) this.pan(index < 0 ? -0.5 : 0.5);
      return;
    }
    if (index === this.cursor) return;
    this.cursor = index;
    this.draw();
    this.tell();
  }

  /** Where the cursor is, in words. */
  private tell(): void {
    const { answer, cursor, part } = this;
    const value = answer?.values[cursor];
    if (!answer || value === undefined) return;
    const [from, to] = this.range(cursor);
    this.reading.textContent =
      answer.per === 1 && !answer.fill
        ? here.cell(count(from), part.unit, value)
        : here.stretch(count(from), count(to - 1), part.unit, answer.fill ? percent(value) : String(value));
  }

  private range(index: number): [number, number] {
    const { from, to, per } = this.answer!;
    return [from + index * per, Math.min(to, from + (index + 1) * per)];
  }

  private zoom(factor: number): void {
    if (!this.answer) return;
    const [at] = this.range(this.cursor);
    const shown = this.to - this.from;
    const least = Math.min(this.part.cells, this.columns * ROWS);
    const width = Math.min(this.part.cells, Math.max(least, Math.round(shown * factor)));
    if (width === shown) return;
    // What is under the cursor stays where it is.
    const share = (at - this.from) / shown;
    this.shift(Math.round(at - share * width), width);
    this.cursor = Math.min(this.columns * ROWS - 1, Math.max(0, Math.floor(share * this.columns * ROWS)));
  }

  private pan(share: number): void {
    const shown = this.to - this.from;
    this.shift(this.from + Math.round(share * shown), shown);
  }

  private all(): void {
    this.cursor = 0;
    this.shift(0, this.part.cells);
  }

  private shift(from: number, width: number): void {
    const start = Math.min(Math.max(0, from), Math.max(0, this.part.cells - width));
    this.from = start;
    this.to = Math.min(this.part.cells, start + width);
    this.load();
  }

  private key(event: KeyboardEvent): void {
    const { cursor, columns } = this;
    const keys: Record<string, () => void> = {
      ArrowLeft: () => this.move(cursor - 1, true),
      ArrowRight: () => this.move(cursor + 1, true),
      ArrowUp: () => this.move(cursor - columns, true),
      ArrowDown: () => this.move(cursor + columns, true),
      PageUp: () => this.pan(-0.5),
      PageDown: () => this.pan(0.5),
      Home: () => this.all(),
      "+": () => this.zoom(1 / ZOOM),
      "=": () => this.zoom(1 / ZOOM),
      Enter: () => this.zoom(1 / ZOOM),
      "-": () => this.zoom(ZOOM),
    };
    const act = keys[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  }

  private table(): HTMLElement {
    const { answer } = this;
    if (!answer) return h("p", {}, here.none);
    const rows = answer.values.map((value, index) => {
      const [from, to] = this.range(index);
      return h("tr", {}, h("th", { scope: "row" }, count(from)), h("td", {}, count(to - 1)), h("td", {}, answer.fill ? percent(value) : String(value)));
    });
    const head = [here.from, here.to, answer.fill ? here.value : here.state];
    return h(
      "table",
      {},
      h("caption", {}, here.label(answer)),
      h("thead", {}, h("tr", {}, ...head.map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, ...rows),
    );
  }
}
