//! Formulas as the core writes them, `m = -k·n / ln(1 - p^(1/k))`, as MathML: fractions, powers and roots as books have them.
//! What is no formula stays text, and a formula that is not understood does too.

const SPACE = "http://www.w3.org/1998/Math/MathML";

function mathml(tag: string, ...children: (Element | string)[]): Element {
  const element = document.createElementNS(SPACE, tag);
  element.append(...children);
  return element;
}

/** A formula, as a tree that can be tested without a document. */
export type Tree =
  | { is: "number" | "name" | "word"; text: string }
  | { is: "row"; parts: Tree[] }
  | { is: "sign"; text: string }
  | { is: "fraction" | "power" | "below"; of: [Tree, Tree] }
  | { is: "call"; name: Tree; of: Tree }
  | { is: "brackets"; of: Tree };

type Token = { is: "number" | "word" | "sign"; text: string; from: number; to: number };

const FUNCTIONS = new Set(["ln", "log2", "Poisson", "f", "H"]);
/** Letters that stand side by side are factors, unless they are a word. */
const FACTORS = /^[knmspectaWFPBLu]{1,2}$/;
const WORDS = new Set(["at", "as", "an", "me", "ns", "us", "ms"]);

function tokens(text: string): Token[] {
  const found: Token[] = [];
  const pattern = /\s*(?:(\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?%?)|([A-Za-z_][A-Za-z_0-9]*)|(<=|>=|[-+·*×/^()=≈−<>;]))/y;
  for (let at = 0; ; at = pattern.lastIndex) {
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    if (!match) return found;
    const [whole, number, word] = match;
    // A comma at the end belongs to the sentence.
    const shown = (number ?? whole.trim()).replace(/,$/, "");
    const from = at + whole.length - whole.trimStart().length;
    pattern.lastIndex = from + shown.length;
    found.push({ is: number !== undefined ? "number" : word !== undefined ? "word" : "sign", text: shown, from, to: from + shown.length });
    if (shown !== whole.trim()) return found;
  }
}

class Parser {
  private at = 0;

  constructor(private readonly all: Token[]) {}

  /** The longest formula at the start, and where it ends; `null` if there is none. */
  relation(): { tree: Tree; end: number } | null {
    const parts: Tree[] = [];
    let end = 0;
    for (;;) {
      const side = this.sum();
      if (!side) break;
      parts.push(side);
      end = this.all[this.at - 1]!.to;
      const sign = this.all[this.at];
      if (!sign || !["=", "≈", "<=", ">=", "<", ">"].includes(sign.text)) break;
      this.at += 1;
      parts.push({ is: "sign", text: { "<=": "≤", ">=": "≥" }[sign.text] ?? sign.text });
    }
    if (parts[parts.length - 1]?.is === "sign") parts.pop();
    return parts.length === 0 ? null : { tree: { is: "row", parts }, end };
  }

  private take(...texts: string[]): string | null {
    const token = this.all[this.at];
    if (token?.is !== "sign" || !texts.includes(token.text)) return null;
    this.at += 1;
    return token.text;
  }

  /** Tries a part; if it fails, nothing is used up. */
  private tried(part: () => Tree | null): Tree | null {
    const { at } = this;
    const tree = part();
    if (!tree) this.at = at;
    return tree;
  }

  private sum(): Tree | null {
    const parts: Tree[] = [];
    const sign = this.take("-", "−", "+");
    if (sign) parts.push({ is: "sign", text: sign === "+" ? "+" : "−" });
    const first = this.tried(() => this.product());
    if (!first) {
      if (sign) this.at -= 1;
      return null;
    }
    parts.push(first);
    for (;;) {
      const next = this.tried(() => {
        const sign = this.take("+", "-", "−");
        const term = sign && this.product();
        return term ? { is: "row", parts: [{ is: "sign", text: sign === "+" ? "+" : "−" }, term] } : null;
      });
      if (next?.is !== "row") return parts.length === 1 ? parts[0]! : { is: "row", parts };
      parts.push(...next.parts);
    }
  }

  private product(): Tree | null {
    let left = this.power();
    if (!left) return null;
    for (;;) {
      const before: Tree = left;
      const next = this.tried(() => {
        const sign = this.take("·", "*", "×", "/");
        if (sign === "/") {
          const below = this.power();
          return below && { is: "fraction", of: [bare(before), bare(below)] };
        }
        const factor = this.power();
        if (!factor) return null;
        // Numbers side by side are none of one product: "2 n" is, "512 7" is not.
        if (!sign && factor.is === "number") return null;
        return { is: "row", parts: [before, ...(sign ? [{ is: "sign" as const, text: sign === "×" ? "×" : "·" }] : []), factor] };
      });
      if (!next) return left;
      left = next;
    }
  }

  private power(): Tree | null {
    const base = this.atom();
    if (!base) return null;
    const power = this.tried(() => {
      if (!this.take("^")) return null;
      const minus = this.take("-", "−");
      const exponent = this.atom();
      return exponent && (minus ? { is: "row", parts: [{ is: "sign", text: "−" }, bare(exponent)] } : exponent);
    });
    return power ? { is: "power", of: [base, bare(power)] } : base;
  }

  private atom(): Tree | null {
    const token = this.all[this.at];
    if (!token) return null;
    if (this.take("(")) {
      const inside = this.sum();
      const second = inside && this.take(";") ? this.sum() : null;
      const all: Tree | null = inside && second ? { is: "row", parts: [inside, { is: "sign", text: ";" }, second] } : inside;
      return all && this.take(")") ? { is: "brackets", of: all } : null;
    }
    if (token.is === "number") {
      this.at += 1;
      return { is: "number", text: token.text };
    }
    if (token.is !== "word" || WORDS.has(token.text)) return null;
    const next = this.all[this.at + 1];
    // The article is no letter of a formula.
    if (token.text === "a" && next?.is !== "sign") return null;
    const [over, index, of] = this.all.slice(this.at + 1);
    if (token.text === "sum" && over?.text === "over" && index && of?.text === "of") {
      this.at += 4;
      const terms = this.product();
      return (
        terms && {
          is: "row",
          parts: [
            {
              is: "below",
              of: [
                { is: "sign", text: "∑" },
                { is: "name", text: index.text },
              ],
            },
            terms,
          ],
        }
      );
    }
    if (FUNCTIONS.has(token.text)) {
      this.at += 1;
      const name: Tree =
        token.text === "log2"
          ? {
              is: "below",
              of: [
                { is: "word", text: "log" },
                { is: "number", text: "2" },
              ],
            }
          : { is: "word", text: token.text };
      // A logarithm takes what follows, as in ln p.
      const of = next?.text === "(" ? this.atom() : ["ln", "log2"].includes(token.text) ? this.power() : null;
      return of && { is: "call", name, of };
    }
    const low = /^([A-Za-z])_([A-Za-z0-9])$/.exec(token.text);
    if (!FACTORS.test(token.text) && !low && token.text !== "Max") return null;
    this.at += 1;
    if (low)
      return {
        is: "below",
        of: [
          { is: "name", text: low[1]! },
          { is: "name", text: low[2]! },
        ],
      };
    if (token.text === "Max") return { is: "name", text: "Max" };
    const letters = [...token.text].map((letter): Tree => ({ is: "name", text: letter }));
    return letters.length === 1 ? letters[0]! : { is: "row", parts: letters };
  }
}

/** Fractions and powers need no brackets around their parts. */
function bare(tree: Tree): Tree {
  return tree.is === "brackets" ? tree.of : tree;
}

/** The text in pieces: formulas, and what is between them. */
export function parse(text: string): (string | Tree)[] {
  const pieces: (string | Tree)[] = [];
  let plain = "";
  for (let at = 0; at < text.length; ) {
    const rest = text.slice(at);
    const found = new Parser(tokens(rest)).relation();
    const source = found ? rest.slice(0, found.end) : "";
    // A number or a letter by itself is part of a sentence; a formula ends where a word does.
    if (found && /[=^/·]|\bln\b|\blog2\b/.test(source) && !/^[\p{L}0-9]/u.test(rest.slice(found.end))) {
      if (plain) pieces.push(plain);
      plain = "";
      pieces.push(found.tree);
      at += found.end;
      continue;
    }
    // The next place where one may begin: after a word, or a sign of the sentence.
    const skip = /^(?:\p{L}+|\d[\d,.]*|[^\p{L}0-9])\s*/u.exec(rest)![0].length;
    plain += rest.slice(0, skip);
    at += skip;
  }
  if (plain) pieces.push(plain);
  return pieces;
}

function draw(tree: Tree): Element {
  switch (tree.is) {
    case "number":
      return mathml("mn", tree.text);
    case "name":
    case "word": {
      // Slanted by the style sheet: not every font has the letters of mathematics that browsers put here by themselves.
      const name = mathml("mi", tree.text);
      name.setAttribute("mathvariant", "normal");
      if (tree.is === "name") name.setAttribute("class", "name");
      return name;
    }
    case "sign":
      return mathml("mo", tree.text);
    case "row":
      return mathml("mrow", ...tree.parts.map(draw));
    case "fraction":
      return mathml("mfrac", ...tree.of.map(draw));
    case "power":
      return mathml("msup", ...tree.of.map(draw));
    case "below":
      return mathml("msub", ...tree.of.map(draw));
    case "brackets":
      return mathml("mrow", mathml("mo", "("), draw(tree.of), mathml("mo", ")"));
    case "call":
      return mathml("mrow", draw(tree.name), ...(tree.of.is === "brackets" ? [] : [mathml("mspace")]), draw(tree.of));
  }
}

/** A formula in pieces between which a line may break: before each relation, and each term of a sum. */
function lines(tree: Tree): Tree[] {
  if (tree.is !== "row") return [tree];
  const pieces: Tree[] = [];
  let open: Tree[] = [];
  const close = () => {
    if (open.length > 0) pieces.push({ is: "row", parts: open });
    open = [];
  };
  for (const part of tree.parts) {
    const sum = part.is === "row" && part.parts.some((inner, index) => index > 0 && inner.is === "sign" && "+−".includes(inner.text));
    for (const inner of sum ? part.parts : [part]) {
      if (inner.is === "sign" && inner.text !== "·" && open.some((one) => one.is !== "sign")) close();
      open.push(inner);
    }
  }
  close();
  return pieces;
}

/** A sentence of the core, with its formulas drawn. */
export function formula(text: string): HTMLElement {
  const span = document.createElement("span");
  span.className = "math";
  for (const piece of parse(text)) {
    // No line begins with a comma that follows a formula.
    const sign = typeof piece === "string" && span.lastElementChild ? /^[，。：；、）,.;:)]+/.exec(piece)?.[0] : undefined;
    if (sign) {
      const kept = document.createElement("span");
      kept.className = "kept";
      kept.append(span.lastElementChild!, sign);
      span.append(kept, (piece as string).slice(sign.length));
    } else if (typeof piece === "string") span.append(piece);
    else
      lines(piece).forEach((line, index) => {
        const whole = mathml("math", draw(line));
        whole.setAttribute("displaystyle", "true");
        span.append(index > 0 ? " " : "", whole);
      });
  }
  return span;
}
