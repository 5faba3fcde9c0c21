//! Charts: curves on a canvas (uPlot draws them), a slider that reads them out, a legend, and a table with the same
//! values. All numbers come from the core.

import type uPlot from "uplot";

import type { Axis, Chart, Series } from "./core";
import { colour, h, unique } from "./dom";
import { STAR, drawMarker, lookOf, swatch, type Look } from "./looks";
import type {} from "./plot";
import { load } from "./script";
import { logTicks, power, short } from "./ticks";
import { words } from "./words";

/** A chart of the core, or one made of another of its answers. */
type Drawn = Omit<Chart, "id"> & { id: string };

const HEIGHT = 300;
/** Places of a slider along its axis. */
const PLACES = 240;
/** Pixels of a digit at an axis. */
const LETTER = 7.5;

/** `width` is that of the chart: where the name of its axis has no room, it is read at the slider alone. */
function axis(kind: Axis, side: number, width: number, ink: string, grid: string): uPlot.Axis {
  const named = side === 2 && [...kind.label].reduce((sum, letter) => sum + (letter > "\u2e80" ? 14 : LETTER), 0) < width - 60;
  const options: uPlot.Axis = {
    side,
    stroke: ink,
    label: named ? kind.label : undefined,
    labelSize: side === 2 ? 24 : 0,
    labelFont: "14px system-ui, sans-serif",
    font: "13px system-ui, sans-serif",
    size: side === 2 ? 34 : (_, values) => 18 + LETTER * Math.max(5, ...(values ?? []).map((value) => value.length)),
    grid: { stroke: grid, width: 1 },
    ticks: { stroke: grid, width: 1, size: 4 },
  };
  if (kind.log) {
    options.splits = () => logTicks(kind.low, kind.high, side === 2 ? 6 : 7);
    options.values = (_, splits) => splits.map(power);
    // uPlot leaves out most ticks of a logarithmic axis otherwise.
    options.filter = (_, splits) => splits;
  } else {
    options.values = (_, splits) => splits.map(short);
    options.space = side === 2 ? 60 : 36;
  }
  return options;
}

function scale(kind: Axis): uPlot.Scale {
  const low = Math.min(kind.low, kind.high);
  const high = Math.max(kind.low, kind.high);
  return {
    time: false,
    distr: kind.log ? 3 : 1,
    range: [low, high],
    dir: kind.low > kind.high ? -1 : 1,
  };
}

/** The same place for all curves, whose ends differ in the last digit of a computation. */
const rounded = (x: number) => Number(x.toPrecision(12));

/** One table of all curves: their points side by side, `null` where one has none. */
function joined(series: Series[]): [xs: number[], ...ys: (number | null)[][]] {
  const xs = [...new Set(series.flatMap(({ x }) => x.map(rounded)))].sort((one, other) => one - other);
  const ys = series.map(({ x, y }) => {
    const at = new Map(x.map((value, index) => [rounded(value), y[index]!]));
    return xs.map((value) => at.get(value) ?? null);
  });
  return [xs, ...ys];
}

let plotter: Promise<void> | undefined;
/** Loads what draws curves; if that fails, the next chart asks again. */
function plotting(): Promise<void> {
  plotter ??= load("plot.js").catch((error: Error) => {
    plotter = undefined;
    throw error;
  });
  return plotter;
}

/** The figure of a chart. `chosen` is the kind whose curve is drawn bolder. */
export class Figure {
  readonly root: HTMLElement;
  private readonly plot = h("div", { class: "plot" });
  private readonly slider: HTMLInputElement;
  // The slider says it too.
  private readonly at = h("span", { class: "at", "aria-hidden": "true" });
  private readonly resized = new ResizeObserver(() => this.resize());
  /** It is drawn when it is about to be seen, a window's height before. */
  private readonly near = new IntersectionObserver((entries) => entries.some(({ isIntersecting }) => isIntersecting) && this.come(), {
    rootMargin: "100% 0px",
  });
  private seen = false;
  private gone = false;
  private readonly values: HTMLElement[] = [];
  private readonly data: ReturnType<typeof joined>;
  private readonly behind: HTMLDetailsElement;
  private readonly bars: boolean;
  /** Whether only whole numbers are on its axis, such as probes. */
  private readonly whole: boolean;
  /** The points of each curve, from left to right in numbers. */
  private readonly curves: { x: number; y: number }[][];
  private chart: uPlot | undefined;
  private chosen: string;

  constructor(
    private readonly what: Drawn,
    chosen: string,
    open: boolean,
  ) {
    this.chosen = chosen;
    this.bars = what.series.some((one) => one.style === "bar");
    this.data = joined(what.series);
    this.curves = what.series.map(({ x, y }) => x.map((at, index) => ({ x: rounded(at), y: y[index]! })).sort((one, other) => one.x - other.x));
    this.whole = what.series.every((one) => one.x.every(Number.isInteger)) && !what.x.log;
    this.behind = tableBehind(what.title, () => this.table());
    this.behind.open = open;
    const title = unique("chart");
    this.slider = h("input", {
      type: "range",
      min: 0,
      max: PLACES,
      step: 1,
      value: this.place(this.start()),
      class: "reader",
      "aria-label": words.charts.read(what.x.label, what.title),
      oninput: () => this.read(this.along(Number(this.slider.value)), true),
    });
    this.root = h(
      "figure",
      { class: "chart", "aria-labelledby": title, id: `chart-${what.id}` },
      h("h3", { id: title }, what.title),
      ...(this.bars
        ? [barsOf(what)]
        : [h("p", { class: "yname" }, what.y.label), this.plot, h("div", { class: "reading" }, this.slider, this.at), this.legend()]),
      ...what.notes.map((note) => h("p", { class: "note" }, note)),
      what.formula !== "" && h("p", { class: "formula" }, h("code", {}, what.formula), " ", citation(what.source)),
      this.behind,
    );
    if (this.bars) return;
    this.plot.setAttribute("aria-hidden", "true");
    this.near.observe(this.plot);
    this.read(this.start(), false);
  }

  /** Where on the axis a place of the slider is. */
  private along(place: number): number {
    const { low, high, log } = this.what.x;
    const share = place / PLACES;
    const x = log ? low * (high / low) ** share : low + share * (high - low);
    return this.whole ? Math.min(Math.max(Math.round(x), this.data[0][0]!), this.data[0][this.data[0].length - 1]!) : x;
  }

  /** The place of the slider that is next to a value of the axis. */
  private place(x: number): number {
    const { low, high, log } = this.what.x;
    const share = log ? Math.log(x / low) / Math.log(high / low) : (x - low) / (high - low);
    return Math.round(PLACES * Math.min(1, Math.max(0, share)));
  }

  /** Whether its table is open. */
  get open(): boolean {
    return this.behind.open;
  }

  /** Where a curve is: between its neighbouring points, or of points by themselves at the one that is there. A line across,
   * such as a promise, is the same everywhere. */
  private value(x: number, number: number): number | null {
    const points = this.curves[number]!;
    if (points.every(({ y }) => y === points[0]!.y)) return points[0]?.y ?? null;
    const after = points.findIndex((other) => other.x >= x);
    const [left, right] = [points[after - 1], points[after]];
    if (right?.x === x) return right.y;
    if (!left || !right || this.what.series[number]!.style === "points") return null;
    const along = (log: boolean, value: number) => (log ? Math.log(value) : value);
    const {
      x: { log: logX },
      y: { log: logY },
    } = this.what;
    const [x0, x1, y0, y1] = [left.x, right.x, left.y, right.y];
    const share = (along(logX, x) - along(logX, x0)) / (along(logX, x1) - along(logX, x0));
    const between = along(logY, y0) + share * (along(logY, y1) - along(logY, y0));
    return logY ? Math.exp(between) : between;
  }

  /** The first reading is at the chart's vertical mark, such as the plan, or in the middle. */
  private start(): number {
    return this.what.marks.find((mark) => mark.x != null)?.x ?? this.along(PLACES / 2);
  }

  private legend(): HTMLElement {
    const items = this.what.series.map((one, number) => {
      const value = h("span", { class: "value" });
      this.values.push(value);
      return h("li", {}, swatch(looks(one, number)), h("span", { class: "name" }, one.name), value);
    });
    return h("ul", { class: "legend" }, ...items);
  }

  /** Reads all curves at a value of the axis; with `point`, the chart shows where that is. */
  private read(x: number, point: boolean): void {
    const at = words.charts.at(this.what.x.label, short(x));
    this.at.textContent = at;
    const read: string[] = [];
    this.what.series.forEach((one, number) => {
      const value = this.value(x, number);
      const text = value === null ? words.charts.none : short(value);
      this.values[number]!.textContent = text;
      if (value !== null) read.push(`${one.name} ${text}`);
    });
    this.slider.value = String(this.place(x));
    this.slider.setAttribute("aria-valuetext", words.charts.told(at, read));
    if (point && this.chart) {
      this.chart.setCursor({ left: this.chart.valToPos(x, "x"), top: -10 }, false);
    }
  }

  /** All values: a row for each x, or for each name of bars. */
  private table(): HTMLElement {
    const { series, title, x, y } = this.what;
    const value = (number: number | null | undefined) => h("td", {}, number == null ? words.charts.none : short(number));
    const [head, rows] = this.bars
      ? [["", words.charts.bars, words.charts.batch], series.map((one) => ({ name: one.name, values: one.y }))]
      : [
          [x.label, ...series.map((one) => one.name)],
          this.data[0].map((at) => ({ name: short(at), values: series.map((_, number) => this.value(at, number)) })),
        ];
    return h(
      "table",
      {},
      h("caption", {}, words.signs.named(title, y.label)),
      h("thead", {}, h("tr", {}, ...head.map((name) => (name ? h("th", { scope: "col" }, name) : h("td"))))),
      h("tbody", {}, ...rows.map(({ name, values }) => h("tr", {}, h("th", { scope: "row" }, name), ...values.map(value)))),
    );
  }

  /** Emphasizes another kind. */
  choose(kind: string): void {
    if (kind === this.chosen) return;
    this.chosen = kind;
    this.draw();
  }

  private come(): void {
    this.near.disconnect();
    plotting().then(
      () => {
        if (this.gone) return;
        this.seen = true;
        this.resized.observe(this.plot);
      },
      // Its values are there all the same, as a table.
      () => {},
    );
  }

  /** Draws it again, as after a change of colours. */
  draw(): void {
    this.chart?.destroy();
    this.chart = undefined;
    if (!this.seen) return;
    const width = this.plot.clientWidth;
    if (width === 0) return;
    const ink = colour("--soft");
    const grid = colour("--grid");
    const paper = colour("--card");
    const drawn = this.what.series.map((one, number) => {
      const look = looks(one, number);
      return { look, stroke: colour(look.colour), bold: one.kinds.includes(this.chosen), points: one.style === "points" };
    });
    const options: uPlot.Options = {
      width,
      height: HEIGHT,
      padding: [8, 12, 0, 0],
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
      scales: { x: scale(this.what.x), y: scale(this.what.y) },
      axes: [axis(this.what.x, 2, width, ink, grid), axis(this.what.y, 3, width, ink, grid)],
      series: [
        {},
        ...drawn.map(({ look, stroke, bold, points }) => ({
          stroke,
          width: points ? 0 : bold ? 3.5 : look.marker === "none" ? 1.25 : 1.75,
          dash: look.dash,
          spanGaps: true,
          points: { show: false },
        })),
      ],
      hooks: {
        draw: [
          (u) => {
            this.drawMarks(u, ink, paper);
            drawn.forEach((one, number) => this.drawMarkers(u, number, { ...one, paper }));
          },
        ],
        setCursor: [
          (u) => {
            const { left } = u.cursor;
            if (left == null || left < 0) return;
            const x = u.posToVal(left, "x");
            this.read(this.whole ? this.along(this.place(x)) : x, false);
          },
        ],
      },
    };
    this.chart = new globalThis.umbelPlot!(options, this.data, this.plot);
  }

  /** Gives up what listens to the window and to sizes. */
  dispose(): void {
    this.gone = true;
    this.near.disconnect();
    this.resized.disconnect();
    this.chart?.destroy();
    this.chart = undefined;
  }

  private resize(): void {
    if (this.plot.clientWidth !== this.chart?.width) this.draw();
  }

  /** A marker on every few points of a curve, not the same ones as its neighbours. */
  private drawMarkers(
    u: uPlot,
    number: number,
    { look, stroke, paper, bold, points }: { look: Look; stroke: string; paper: string; bold: boolean; points: boolean },
  ): void {
    if (look.marker === "none") return;
    const { x: xs, y: ys } = this.what.series[number]!;
    const step = points ? 1 : Math.max(1, Math.round(xs.length / 6));
    const first = xs.length < 6 ? 0 : (number * 3) % step;
    for (let index = first; index < xs.length; index += step) {
      const at = inside(u, xs[index]!, ys[index]!);
      if (at) drawMarker(u.ctx, look, stroke, paper, { ...at, radius: (bold ? 5 : 4) * devicePixelRatio });
    }
  }

  /** Lines across the chart and points in it: the plan, the promise, a textbook's value. */
  private drawMarks(u: uPlot, ink: string, paper: string): void {
    const { left, top, width, height } = u.bbox;
    const context = u.ctx;
    context.save();
    context.strokeStyle = ink;
    context.fillStyle = ink;
    context.lineWidth = devicePixelRatio;
    context.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
    context.font = `${13 * devicePixelRatio}px system-ui, sans-serif`;
    // All of it is in the chart, also of a narrow one, and no curve crosses its letters.
    const say = (text: string, x: number, y: number) => {
      const long = context.measureText(text).width;
      const start = context.textAlign === "right" ? x - long : x;
      const within = Math.min(Math.max(start, left + 2 * devicePixelRatio), left + width - long);
      context.save();
      context.textAlign = "left";
      context.setLineDash([]);
      context.lineWidth = 4 * devicePixelRatio;
      context.lineJoin = "round";
      context.strokeStyle = paper;
      // Moved from its place, it is above what it belongs to, if there is room.
      const above = within === start || y < top + 20 * devicePixelRatio ? y : y - 14 * devicePixelRatio;
      context.strokeText(text, within, above);
      context.fillText(text, within, above);
      context.restore();
    };
    for (const mark of this.what.marks) {
      context.beginPath();
      if (mark.x != null && mark.y != null) {
        const at = inside(u, mark.x, mark.y);
        if (!at) continue;
        drawMarker(context, STAR, colour(STAR.colour), paper, { ...at, radius: 5 * devicePixelRatio });
        context.fillStyle = ink;
        context.textAlign = at.x > left + width * 0.6 ? "right" : "left";
        say(mark.label, at.x + (context.textAlign === "right" ? -12 : 12) * devicePixelRatio, at.y + 4 * devicePixelRatio);
      } else if (mark.x != null) {
        const x = u.valToPos(mark.x, "x", true);
        if (x < left - 1 || x > left + width + 1) continue;
        context.moveTo(x, top);
        context.lineTo(x, top + height);
        context.textAlign = x > left + width * 0.6 ? "right" : "left";
        const gap = (context.textAlign === "right" ? -5 : 5) * devicePixelRatio;
        say(mark.label, x + gap, top + 14 * devicePixelRatio);
      } else if (mark.y != null) {
        const y = u.valToPos(mark.y, "y", true);
        if (y < top - 1 || y > top + height + 1) continue;
        context.moveTo(left, y);
        context.lineTo(left + width, y);
        context.textAlign = "right";
        say(mark.label, left + width - 4 * devicePixelRatio, y - 5 * devicePixelRatio);
      }
      context.stroke();
    }
    context.restore();
  }
}

function looks(one: Series, number: number): Look {
  return lookOf(one.kinds[0], number, one.style === "reference");
}

/** Where a point is on the canvas; `null` outside of the axes. */
function inside(u: uPlot, x: number, y: number): { x: number; y: number } | null {
  const at = { x: u.valToPos(x, "x", true), y: u.valToPos(y, "y", true) };
  const { left, top, width, height } = u.bbox;
  const there = at.x >= left - 1 && at.x <= left + width + 1 && at.y >= top - 1 && at.y <= top + height + 1;
  return there ? at : null;
}

/** Bars side by side: for each series its two values, the first one key at a time, the second in a batch. */
function barsOf(what: Drawn): HTMLElement {
  const most = Math.max(...what.series.flatMap((one) => one.y));
  const bar = (value: number | undefined, name: string, style: string) => {
    if (value === undefined) return null;
    const line = h("span", { class: `bar ${style}` });
    line.style.width = `${(80 * value) / most}%`;
    return h("span", { class: "row" }, line, h("span", { class: "value" }, h("span", { class: "visually-hidden" }, words.signs.named(name, "")), short(value)));
  };
  return h(
    "div",
    { class: "bars" },
    h("p", { class: "yname" }, what.y.label),
    h(
      "ul",
      {},
      ...what.series.map((one) =>
        h(
          "li",
          {},
          h("span", { class: "name" }, one.name),
          h("span", { class: "pair" }, bar(one.y[0], words.charts.bars, "one"), bar(one.y[1], words.charts.batch, "batch")),
        ),
      ),
    ),
    h(
      "p",
      { class: "key" },
      h("span", { class: "kept" }, h("span", { class: "bar one" }), " ", words.charts.bars),
      h("span", { class: "kept" }, h("span", { class: "bar batch" }), " ", words.charts.batch),
    ),
  );
}

/** Whose formula it is, with a link where there is one. */
export function citation(source: { text: string; url?: string | null } | null | undefined): Node {
  if (!source) return document.createTextNode("");
  if (!source.url) return h("cite", {}, source.text);
  return h("cite", {}, h("a", { href: source.url, rel: "noreferrer external", target: "_blank" }, source.text));
}

/** A table that is made when it is opened first. */
export function tableBehind(title: string, make: () => HTMLElement): HTMLDetailsElement {
  const inside = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": words.charts.table(title) });
  const details = h("details", { class: "behind" }, h("summary", {}, words.charts.values), inside);
  details.addEventListener("toggle", () => {
    if (details.open && inside.childElementCount === 0) inside.append(make());
  });
  return details;
}
