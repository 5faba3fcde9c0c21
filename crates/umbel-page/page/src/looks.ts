//! How each kind looks in charts, tables and legends: the colours, dashes and markers of the command line's pictures.
//!
//! The colours are those of Okabe and Ito (style.css has a light and a dark value of each). No two kinds differ by
//! their colour alone.

import { svg } from "./dom";

export type Marker = "disc" | "ring" | "square" | "box" | "up" | "down" | "diamond" | "cross" | "plus" | "star" | "none";

export interface Look {
  /** The custom property in style.css. */
  colour: string;
  dash: number[];
  marker: Marker;
}

const SOLID: number[] = [];
const DASHED = [7, 4];
const DOTTED = [2, 3];
const MIXED = [9, 3, 2, 3];

const LOOKS: Record<string, Look> = {
  blocked: { colour: "--blue", dash: SOLID, marker: "disc" },
  classic: { colour: "--vermilion", dash: SOLID, marker: "square" },
  sliced: { colour: "--ink", dash: DASHED, marker: "up" },
  counting: { colour: "--green", dash: SOLID, marker: "diamond" },
  scalable: { colour: "--sky", dash: SOLID, marker: "down" },
  stable: { colour: "--purple", dash: SOLID, marker: "ring" },
  window: { colour: "--ink", dash: DOTTED, marker: "cross" },
  bloomier: { colour: "--green", dash: DASHED, marker: "box" },
  attributes: { colour: "--soft", dash: DASHED, marker: "plus" },
  coded: { colour: "--orange", dash: SOLID, marker: "diamond" },
  cascade: { colour: "--purple", dash: DASHED, marker: "up" },
};

/** Curves that are not a kind's, in their order. */
const OTHERS: Look[] = [
  { colour: "--blue", dash: SOLID, marker: "disc" },
  { colour: "--vermilion", dash: DASHED, marker: "square" },
  { colour: "--green", dash: MIXED, marker: "diamond" },
  { colour: "--purple", dash: DOTTED, marker: "up" },
  { colour: "--sky", dash: SOLID, marker: "down" },
  { colour: "--orange", dash: DASHED, marker: "ring" },
  { colour: "--ink", dash: DOTTED, marker: "cross" },
  { colour: "--soft", dash: SOLID, marker: "plus" },
];

/** Of what curves are compared with, such as a bound, or of families of curves: thin lines without markers. */
const REFERENCES: Look[] = ["--soft", "--ink", "--purple", "--sky"].flatMap((colour) =>
  [MIXED, DOTTED, DASHED].map((dash): Look => ({ colour, dash, marker: "none" })),
);

/** Of a point that is marked, such as the plan. */
export const STAR: Look = { colour: "--ink", dash: SOLID, marker: "star" };

/** The look of a kind (`cascade:1` looks as `cascade`), or of the curve with this number. */
export function lookOf(kind: string | undefined, number = 0, reference = false): Look {
  if (reference) return REFERENCES[number % REFERENCES.length]!;
  const look = kind === undefined ? undefined : LOOKS[kind.split(":")[0]!];
  return look ?? OTHERS[number % OTHERS.length]!;
}

/** The corners of a marker of radius 1, or `null` for a circle; crosses are two lines. */
const SHAPES: Record<Marker, [number, number][] | null> = {
  disc: null,
  ring: null,
  none: [],
  square: [
    [-0.9, -0.9],
    [0.9, -0.9],
    [0.9, 0.9],
    [-0.9, 0.9],
  ],
  box: [
    [-0.9, -0.9],
    [0.9, -0.9],
    [0.9, 0.9],
    [-0.9, 0.9],
  ],
  up: [
    [0, -1.2],
    [1.2, 1],
    [-1.2, 1],
  ],
  down: [
    [0, 1.2],
    [1.2, -1],
    [-1.2, -1],
  ],
  diamond: [
    [0, -1.3],
    [1.2, 0],
    [0, 1.3],
    [-1.2, 0],
  ],
  cross: [
    [-1, -1],
    [1, 1],
    [0, 0],
    [1, -1],
    [-1, 1],
    [0, 0],
  ],
  plus: [
    [-1.3, 0],
    [1.3, 0],
    [0, 0],
    [0, -1.3],
    [0, 1.3],
    [0, 0],
  ],
  star: [
    [0, -1.8],
    [0.5, -0.5],
    [1.8, -0.4],
    [0.7, 0.4],
    [1.1, 1.6],
    [0, 0.9],
    [-1.1, 1.6],
    [-0.7, 0.4],
    [-1.8, -0.4],
    [-0.5, -0.5],
  ],
};

const HOLLOW: Marker[] = ["ring", "box", "cross", "plus"];

function outline(marker: Marker, x: number, y: number, radius: number): string {
  const shape = SHAPES[marker];
  if (marker === "none") return "";
  if (shape === null) {
    const r = radius;
    return `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`;
  }
  return `M${shape.map(([dx, dy]) => `${x + radius * dx} ${y + radius * dy}`).join("L")}Z`;
}

/** Draws a marker; `paper` is the colour behind it. */
export function drawMarker(context: CanvasRenderingContext2D, look: Look, ink: string, paper: string, at: { x: number; y: number; radius: number }): void {
  const path = new Path2D(outline(look.marker, at.x, at.y, at.radius));
  context.fillStyle = HOLLOW.includes(look.marker) ? paper : ink;
  context.strokeStyle = ink;
  context.lineWidth = at.radius * 0.45;
  context.setLineDash([]);
  if (look.marker !== "cross" && look.marker !== "plus") context.fill(path);
  if (HOLLOW.includes(look.marker)) context.stroke(path);
}

/** A piece of a curve with its marker, for tables and legends. */
export function swatch(look: Look): SVGSVGElement {
  const style = look.colour.slice(2);
  const hollow = HOLLOW.includes(look.marker) ? " hollow" : "";
  return svg(
    "svg",
    { class: `swatch ink-${style}`, viewBox: "0 0 30 14", width: 30, height: 14, "aria-hidden": "true", focusable: "false" },
    svg("path", { d: "M1 7H29", class: "stroke", "stroke-dasharray": look.dash.join(" ") }),
    svg("path", { d: outline(look.marker, 15, 7, 4), class: `mark${hollow}` }),
  );
}
