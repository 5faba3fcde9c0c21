//! The stage of a lesson: the cells of a small filter at one step, and which of them the step's word has.
//!
//! Up to 64 cells are boxes, with lines from the word to its own; more are squares on a canvas, 512 to a cache line.

import type { Told, ToyPart, ToyStep } from "./core";
import { colour, fill, h, svg } from "./dom";
import { words } from "./words";

const here = words.learn;
const BOXES = 64;
const LINE = 512;

/** A chance as people read it: 0 %, 0.3 %, 41 %. */
function percent(chance: number): string {
  if (chance > 0 && chance < 1e-6) return here.below(`0.0001${words.signs.percent}`);
  return `${chance === 0 ? 0 : Number((100 * chance).toPrecision(2))}${words.signs.percent}`;
}

export class Stage {
  readonly root = h("div", { class: "stage" });
  private readonly rows = h("div", { class: "rows", "aria-hidden": "true" });
  private readonly wires = svg("svg", { class: "wires", "aria-hidden": "true", focusable: "false" });
  private readonly word = h("p", { class: "word", "aria-hidden": "true" });
  private readonly small = h("div", { class: "small" }, this.wires, this.word, this.rows);
  private readonly large = h("div", { class: "large" });
  private readonly gauge = h("span", { class: "filled" });
  private readonly rate = h("span", {});
  private readonly chance = h("p", { class: "chance" }, this.rate, h("span", { class: "gauge", "aria-hidden": "true" }, this.gauge));
  private readonly found = h("div", { class: "found" });
  private parts: ToyPart[] = [];
  private step: ToyStep | undefined;
  /** Whether a cell is somebody's: those of a Bloomier filter are of several words together. */
  private setters = false;

  private readonly caption = h("p", { class: "stage-caption" });
  private readonly sizes = new ResizeObserver(() => this.redraw());

  /** `title` is that of one of several filters, of which then is said how many cache lines they read. */
  constructor(private readonly title: string | null) {
    fill(this.root, title !== null && h("h3", {}, title), title !== null && this.caption, this.small, this.large, this.chance, this.found);
    this.sizes.observe(this.root);
  }

  /** Gives up what listens to sizes. */
  dispose(): void {
    this.sizes.disconnect();
  }

  /** A text about this filter, with its name if there are several. */
  named(text: string): string {
    return this.title === null ? text : words.signs.named(this.title, text);
  }

  /** Shows the state after a step; before the first one it is that of the empty filter. */
  show(told: Told, at: number): void {
    this.step = told.steps[at - 1];
    this.setters = told.steps.some((step) => step.probes.some(({ by }) => by !== null));
    this.parts = this.step?.parts ?? told.empty;
    const small = this.parts.reduce((sum, part) => sum + part.cells.length, 0) <= BOXES;
    this.caption.textContent = this.step ? here.touched(this.touched(this.step)) : here.start;
    const fpp = this.step?.fpp ?? 0;
    this.rate.textContent = here.chance(percent(fpp));
    this.gauge.style.width = `${100 * fpp}%`;
    this.small.hidden = !small;
    this.large.hidden = small;
    if (small) this.drawBoxes();
    else this.drawLines();
    fill(this.found, this.step && this.step.probes.length > 0 && this.table(this.step));
    this.redraw();
  }

  redraw(): void {
    if (!this.small.hidden) this.wire();
    for (const canvas of this.large.querySelectorAll("canvas")) this.paint(canvas);
  }

  // ------------------------------------------------------------ boxes

  private drawBoxes(): void {
    const { step } = this;
    const row = (part: ToyPart, number: number) => {
      const probes = new Map(step?.probes.filter((probe) => probe.part === number).map((probe) => [probe.cell, probe]));
      const boxes = part.cells.map((value, cell) => {
        const probe = probes.get(cell);
        const names = ["box", value > 0 && "set", probe && "probed", probe?.changed && "changed"];
        return h(
          "span",
          { class: names.filter(Boolean).join(" ") },
          h("span", { class: "index" }, String(cell)),
          h("span", { class: "cell" }, value > 0 ? String(value) : ""),
        );
      });
      return [part.label && h("p", { class: "part-label" }, part.label), h("div", { class: "boxes" }, ...boxes)];
    };
    fill(this.rows, ...this.parts.flatMap(row));
    this.rows.classList.toggle("several", this.parts.length > 1);
    this.word.textContent = step?.word ?? "";
    this.word.className = `word ${step?.op ?? ""}`;
  }

  /** Lines from the word to its cells. */
  private wire(): void {
    const frame = this.small.getBoundingClientRect();
    if (frame.width === 0) return;
    this.wires.setAttribute("viewBox", `0 0 ${frame.width} ${frame.height}`);
    const from = this.word.getBoundingClientRect();
    const x0 = from.left + from.width / 2 - frame.left;
    const y0 = from.bottom - frame.top;
    const rows = this.rows.querySelectorAll(".boxes");
    const paths = (this.step?.probes ?? []).map(({ part, cell, set, changed }) => {
      const box = rows[part]!.children[cell]!.getBoundingClientRect();
      const x = box.left + box.width / 2 - frame.left;
      const y = box.top - frame.top - 2;
      const half = (y - y0) / 2;
      const name = changed ? "changed" : set ? "hit" : "miss";
      return svg("path", { d: `M${x0} ${y0}C${x0} ${y0 + half} ${x} ${y - half} ${x} ${y}`, class: `wire ${name}` });
    });
    fill(this.wires, ...paths);
  }

  // ------------------------------------------------------------ cache lines

  private drawLines(): void {
    const { step } = this;
    const blocks = this.parts.flatMap((part, number) => {
      const used = part.cells.filter((value) => value > 0).length;
      const lines = Math.ceil(part.cells.length / LINE);
      const label = h("p", { class: "part-label" }, here.part_of(part.label, used, part.cells.length));
      const rows = Array.from({ length: lines }, (_, line) => {
        const touched = step?.probes.some((probe) => probe.part === number && Math.floor(probe.cell / LINE) === line) ?? false;
        const canvas = h("canvas", { class: "line-map", "aria-hidden": "true", "data-part": number, "data-line": line });
        return h(
          "div",
          { class: `line ${touched ? "touched" : ""}` },
          lines > 1 && h("span", { class: "line-label" }, `${touched ? "▸ " : ""}${here.line(line + 1)}`),
          canvas,
        );
      });
      return [label, h("div", { class: lines > 1 ? "lines many" : "lines" }, ...rows)];
    });
    fill(this.large, ...blocks);
  }

  private paint(canvas: HTMLCanvasElement): void {
    const width = canvas.clientWidth;
    if (width === 0) return;
    const number = Number(canvas.dataset.part);
    const line = Number(canvas.dataset.line);
    const cells = this.parts[number]!.cells.slice(line * LINE, (line + 1) * LINE);
    const most = Math.max(1, ...this.parts.flatMap((part) => part.cells));
    // Cache lines one above the other are flat, so that all of them can be seen.
    const columns = width >= 480 || this.parts[number]!.cells.length > LINE ? 64 : 32;
    const size = width / columns;
    const ratio = devicePixelRatio;
    const height = Math.ceil(cells.length / columns) * size;
    canvas.style.height = `${height}px`;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const context = canvas.getContext("2d")!;
    context.scale(ratio, ratio);
    const clear = colour("--clear");
    const set = colour("--blue");
    const paper = colour("--card");
    const place = (cell: number) => [(cell % columns) * size, Math.floor(cell / columns) * size] as const;
    cells.forEach((value, cell) => {
      const [x, y] = place(cell);
      context.globalAlpha = 1;
      context.fillStyle = clear;
      context.fillRect(x, y, size - 1, size - 1);
      if (value === 0) return;
      // The lower a counter, the smaller its square: colour is not all that shows it.
      const side = (size - 1) * (0.6 + 0.4 * (value / most));
      const inset = (size - 1 - side) / 2;
      context.fillStyle = set;
      context.fillRect(x + inset, y + inset, side, side);
      if (value === 1 || size < 10) return;
      context.fillStyle = paper;
      context.font = `600 ${Math.round(size * 0.75)}px ui-monospace, monospace`;
      context.textAlign = "center";
      context.textBaseline = "middle";
      context.fillText(String(value), x + (size - 1) / 2, y + size / 2);
    });
    const ring = (cell: number, name: string, wide: number) => {
      const [x, y] = place(cell);
      context.strokeStyle = colour(name);
      context.lineWidth = wide;
      context.strokeRect(x + 0.5, y + 0.5, size - 2, size - 2);
    };
    const inside = (place: { part: number; cell: number }) => place.part === number && Math.floor(place.cell / LINE) === line;
    for (const { cell } of (this.step?.faded ?? []).filter(inside)) ring(cell % LINE, "--soft", 1);
    for (const { cell, set: isSet } of (this.step?.probes ?? []).filter(inside)) {
      ring(cell % LINE, "--card", 4);
      ring(cell % LINE, isSet ? "--vermilion" : "--ink", 2.5);
    }
  }

  // ------------------------------------------------------------ in words

  /** Cache lines that have a probe of the word. */
  private touched(step: ToyStep): number {
    return new Set(step.probes.map(({ part, cell }) => `${part} ${Math.floor(cell / LINE)}`)).size;
  }

  private table(step: ToyStep): HTMLElement {
    const several = this.parts.length > 1;
    const rows = step.probes.map(({ part, cell, changed, by }) => {
      const value = this.parts[part]!.cells[cell] ?? 0;
      return h(
        "tr",
        {},
        several && h("td", {}, this.parts[part]!.label),
        h("th", { scope: "row" }, String(cell)),
        h("td", {}, String(value), changed && h("span", { class: "tag" }, here.changed)),
        this.setters && h("td", {}, by ?? here.nobody),
      );
    });
    const table = h(
      "table",
      {},
      h("caption", { class: "visually-hidden" }, here.probes),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          several && h("th", { scope: "col" }, here.part),
          ...[here.cell, here.state, ...(this.setters ? [here.by] : [])].map((name) => h("th", { scope: "col" }, name)),
        ),
      ),
      h("tbody", {}, ...rows),
    );
    const large = !this.large.hidden;
    return large ? h("div", {}, h("details", { class: "behind" }, h("summary", {}, here.probes), table)) : h("div", {}, h("h3", {}, here.probes), table);
  }
}
