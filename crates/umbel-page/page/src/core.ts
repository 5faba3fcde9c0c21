/**
 * The core: umbel compiled to WebAssembly, and the requests that it answers.
 *
 * Requests and answers are JSON. The core composes all documents, tables and sentences as the command line prints them;
 * who shows them formats nothing and computes nothing. It runs in a worker, where it reads files a piece at a time.
 */

// ---------------------------------------------------------------- planning

/** A goal as people type it: what `umbel filter plan` accepts after the options of these names. Empty and absent are the same. */
export interface Goal {
  keys?: string;
  fpp?: string;
  memory?: string;
  ship?: string;
  deletes?: boolean;
  grows?: boolean;
  known?: boolean;
  ages?: boolean;
  except?: string;
  lookup?: string;
  false_answer?: string;
  absent?: string;
}

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
export type Document = { type: string; [name: string]: Json };

export interface Source {
  /** Author, year, title or section. */
  text: string;
  url: string;
}

export interface Formula {
  /** The figure: size, rate, bound, hash, levels, growth, cost. */
  name: string;
  /** The formula, with its numbers filled in. */
  text: string;
  source: Source;
}

export interface Snippets {
  command: string;
  rust: string;
  python: string;
  /** Null where the package or the module cannot make such a filter. */
  javascript: string | null;
  redis: string | null;
}

export type PlanCell = "keys" | "fpp" | "memory" | "bits_per_key" | "bound" | "lines" | "ns" | "expected_ns" | "ship";

export interface PlanRow {
  /** blocked, classic, … */
  kind: string;
  /** The kind with its parameter, such as `counting/4`: unique in an answer. */
  variant: string;
  fits: boolean;
  /** From 1; null for one that does not fit. */
  rank: number | null;
  obstacles: string[];
  /** Empty where there is no plan. */
  cells: Partial<Record<PlanCell, string>>;
  /** The line of `umbel filter plan --json --explain`. */
  document: Document;
  formulas: Formula[];
  /** Null for one that does not fit. */
  snippets: Snippets | null;
  /** Its figures as they are read; null without a plan. */
  headline: Headline | null;
}

export interface Headline {
  /** With its unit: `1.21 MiB`. */
  memory: string;
  file: string;
  bits_per_key: string | null;
  probes: number;
  fpp: string;
  /** The rate as 1 in so many; null for one that is no such. */
  one_in: string | null;
  /** Whether keys can be removed. */
  removes: boolean;
}

/** The textbook's filter: n, p, m and k, of which two or three are given. */
export interface Calculated {
  keys: Figured;
  fpp: Figured;
  /** `value` and `bits` are bits, `text` is their size. */
  memory: Figured & { bits: string };
  probes: Figured;
  one_in: string | null;
  bits_per_key: string;
  best_probes: string;
  /** The exact rate of n, m and k. */
  reached: { text: string; one_in: string | null };
  /** Whether the bits are as many as the rate needs. */
  enough: boolean;
  /** How many it needs, if it is given. */
  needed: string | null;
}

interface Figured {
  value: number;
  text: string;
  given: boolean;
}

export interface Advice {
  /** What to do, and why: the first line of `umbel filter plan`. */
  verdict: string;
  /** The variant to choose; null for none. */
  take: string | null;
  /** `umbel filter plan …` for this goal. */
  command: string;
  columns: { id: PlanCell; title: string; help: string }[];
  /** Those that fit first, ranked. */
  rows: PlanRow[];
  /** By what they are ranked, and what the columns mean. */
  notes: string[];
  /** The last line of `umbel filter plan --json`. */
  document: Document;
}

export interface Axis {
  label: string;
  log: boolean;
  low: number;
  high: number;
}

export interface Series {
  name: string;
  /** The kinds that it is of: several where they would cover each other; none for what is no kind's. */
  kinds: string[];
  x: number[];
  y: number[];
  /** A line unless told otherwise; `reference` is one to compare with, such as a bound. */
  style: "line" | "points" | "reference" | "bar";
}

export interface Chart {
  id: "overfill" | "keys" | "probes" | "bits" | "exponent" | "time";
  title: string;
  x: Axis;
  y: Axis;
  series: Series[];
  /** Where a line or a point is to be marked: with `x` and `y` a point, with one of them a line across. */
  marks: { x?: number; y?: number; label: string }[];
  /** Sentences about what is not drawn or has to be known. */
  notes: string[];
  formula: string;
  source: Source;
}

export interface Curves {
  /** Empty if no classic filter meets the goal. */
  charts: Chart[];
}

// ---------------------------------------------------------------- files

/** Name and value, as `umbel filter info` prints them. */
export type Row = [name: string, value: string];

/** One thing that can be mapped and queried: a filter, or of a Parquet file one in a row group of a column. */
export interface Part {
  /** What it is called; empty for the only one. */
  name: string;
  /** Cells that can be mapped; 0 where nothing can. */
  cells: number;
  /** What a cell is: bits, counters, cells, codes, slots. */
  unit: string;
  /** Cells of a block. */
  block: number;
}

export type Title =
  | { name: "own"; kind: string; keys: number }
  | { name: "foreign"; format: string; bytes: number }
  /** Of a database: one filter for each stretch of the file. */
  | { name: "table"; filters: number; bytes: number }
  /** Of the words, or a field's values, of many files. */
  | { name: "index"; files: number; blocks: number; bytes: number }
  | { name: "parquet"; row_groups: number; filters: number; bytes: number };

export interface Opened {
  handle: number;
  name: string;
  bytes: number;
  /** `umbel`, `parquet_file`, `index`, or the name of another system's format. */
  format: string;
  /** What it was recognized as. */
  title: Title;
  /** How it came: packed, in a table of a database, signed by whom. */
  wrapping: { packed: boolean; table: boolean; signer: string | null };
  /** As `umbel filter info` prints it; of a Parquet file, as `umbel parquet` does. */
  rows: Row[];
  /** The filters of a Parquet file or a database's table; the files of an index. */
  table: { columns: { title: string; right: boolean }[]; rows: string[][] } | null;
  /** The document of `umbel filter info --json`; the lines of `umbel parquet --json`. */
  documents: Document[];
  parts: Part[];
  /** Whether keys can be queried: `secret` when only with the secret, which `unlock` gives. */
  query: "yes" | "secret" | "no";
  /** Why not, if `no`. */
  query_why: string;
  /** Whether it can be seen where a key's probes fall. */
  probes: boolean;
  /** Whether it has the signature that was asked for. */
  verified: boolean;
  /** Types of keys to choose from; the first is the usual one. One entry if there is no choice. */
  key_types: string[];
  /** Of rows of attributes or a Parquet file's columns: which to look up in. Empty otherwise. */
  fields: string[];
  /** Warnings, such as keys that can be guessed. */
  warnings: string[];
}

/** A file that fits several formats, none certainly: open it again with one of them as `format`. */
export interface Ambiguous {
  formats: string[];
  /** The same in the words of the command line. */
  message: string;
}

export interface MapAnswer {
  /** The cells asked for, after clipping; `per` cells in each value. */
  from: number;
  to: number;
  per: number;
  /** Share of cells in use, 0 to 1, of each stretch of `per` cells. When `per` is 1: the cells' own values. */
  values: number[];
  /** The largest value that a cell can have: 1 of a bit. */
  most: number;
  /** Whether values are fills; otherwise cells. */
  fill: boolean;
  /** The fill of the whole part, and within which 99.9 % of stretches of so many cells should be by chance; null unknown. */
  mean: number;
  expected: { low: number; high: number } | null;
}

export interface Profile {
  title: string;
  facts: string;
  /** Blocks by how many of their cells are in use: counted, and predicted by chance where that is known. */
  histogram: { from: number[]; width: number; counted: number[]; expected: number[] | null };
  cells: string;
  per_block: number;
  stretches: { start: number[]; fill: number[]; min: number[]; max: number[] };
  sections: { name: string; start: number; blocks: number }[];
  generations: { fill: number[]; min: number[]; max: number[] };
}

/** Why a key that is not found may have been inserted: nobody said what type keys have; old keys have left the window, or have
 * faded; the order of keys in a table decides which filter is asked; files may have changed since they were indexed. */
export type Doubt = { name: "assumed"; key_type: string } | { name: "left" } | { name: "faded" } | { name: "sorted" } | { name: "indexed" };

export interface QueryAnswer {
  keys: {
    key: string;
    found: boolean;
    /** Of a map: the value. */
    value: string | null;
    /** Of a Parquet file: the row groups that may hold it. */
    row_groups: number[] | null;
    /** Of an index: the files that may have it, by their rows in its table. */
    files: number[] | null;
    /** Why it cannot be looked up. */
    error: string | null;
  }[];
  found: number;
  /** Those that could not be looked up. */
  failed: number;
  /** Why keys not found may have been inserted; null if they certainly were not. */
  doubt: Doubt | null;
  /** How often an absent key passes, and the same as text. */
  fpp: number;
  rate: string;
  nanoseconds: number | null;
}

export interface Comparison {
  rows: Row[];
  document: Document;
}

// ---------------------------------------------------------------- learning

export type ToyKind = "classic" | "blocked" | "counting" | "scalable" | "stable" | "window" | "bloomier" | "cascade";

export interface Toy {
  kind: ToyKind;
  /** Of classic filters, and of counting ones without blocks; the slots of a Bloomier filter, the first level of a cascade;
   * others have blocks. */
  bits?: number;
  /** Blocks of the others, 1 to 8. */
  blocks?: number;
  probes?: number;
  /** Seed of umbel's hash. */
  seed?: number;
  /** Whether apples, plums and mango have the positions that the texts give them; of classic and counting filters with `bits`. */
  published?: boolean;
  /** `except` is a word of the second list of a cascade, which must not pass. */
  operations: { op: "insert" | "except" | "remove" | "query" | "advance"; word?: string }[];
}

export interface ToyPart {
  label: string;
  /** The state of the cells: bits 0 and 1, counters and cells their value. */
  cells: number[];
  /** The cells of a block, 512 for those of umbel; for classic all of them. */
  block: number;
}

export interface ToyStep {
  op: Toy["operations"][number]["op"];
  word: string;
  /** What happened, and why, in sentences. */
  text: string;
  parts: ToyPart[];
  /** The word's positions: the part, the cell in it, whether it changed now, and who set it first (null nobody). */
  probes: { part: number; cell: number; changed: boolean; set: boolean; by: string | null }[];
  /** Other cells that changed, such as those that a stable filter ages. */
  faded: { part: number; cell: number }[];
  /** Of a query. */
  found: boolean | null;
  /** Whether the word was inserted and not removed. */
  inserted: boolean;
  /** How often a word that was not inserted passes now. */
  fpp: number;
}

export interface Told {
  title: string;
  empty: ToyPart[];
  steps: ToyStep[];
  /** Summary with the chance of a false positive in the end. */
  text: string;
  fpp: number;
}

// ---------------------------------------------------------------- requests

/** A file that the core made. */
export interface Made {
  name: string;
  content: Uint8Array<ArrayBuffer>;
}

/** Another system's format. */
export interface Format {
  name: string;
  key_types: string[];
  /** What its files do not contain, and must be told to read one. */
  required: string[];
  /** Whether a list makes one, and whether it has a rate then. */
  makes: boolean;
  fpp: boolean;
}

export interface Requests {
  advise: { request: { goal: Goal }; answer: Advice };
  /** Null if too few are given. */
  calculate: { request: { keys?: string; fpp?: string; memory?: string; probes?: string }; answer: Calculated | null };
  /** All charts, or only those named: `bits` needs much longer than the others. */
  curves: { request: { goal: Goal; charts?: Chart["id"][] }; answer: Curves };
  /** `file` is what `Core.add` gave. `trust` is a public key whose signature the file must have, as the version of `list`
   * with a serial number above `newer_than`. */
  open: {
    request: { file: number; format?: string; params?: string; trust?: string; list?: string; newer_than?: string };
    answer: Opened | Ambiguous;
  };
  /** A keyed filter with its secret, 32 hexadecimal digits: `query` works from then on. */
  unlock: { request: { handle: number; secret: string }; answer: Opened };
  map: {
    request: { handle: number; part?: number; from?: number; to?: number; cells: number };
    answer: MapAnswer;
  };
  profile: { request: { handle: number }; answer: Profile };
  query: {
    request: { handle: number; keys: string[]; key_type?: string; field?: string };
    answer: QueryAnswer;
  };
  compare: { request: { left: number; right: number }; answer: Comparison };
  close: { request: { handle: number }; answer: Record<string, never> };
  toy: { request: Toy; answer: Told };
  /** Two small filters that share half of their keys, to look at without a file of one's own. */
  sample: { request: object; answer: { files: Made[] } };
  /** Where a key's probes fall in an own filter. */
  probes: { request: { handle: number; key: string }; answer: { cells: { part: number; cell: number; value: number }[] } };
  /** A filter of the lines of a text, and the rate that it was planned for, if it has one. */
  make: {
    request: { what: string; keys: string; except?: string; fpp?: string; key_type?: string };
    answer: { files: Made[]; rows: Row[]; fpp: number; warnings: string[] };
  };
  about: { request: object; answer: { version: string; kinds: string[] } };
  formats: { request: object; answer: Format[] };
}

export type Name = keyof Requests;
export type Request<N extends Name = Name> = { [K in N]: { type: K } & Requests[K]["request"] }[N];
export type Answer<N extends Name> = Requests[N]["answer"];

/** Why a file was refused, where the page has words of its own for it: `crates/umbel-page/src/reason.rs`. */
export type Reason =
  | {
      name:
        | "empty"
        | "text"
        | "utf16"
        | "zip"
        | "delta"
        | "newer"
        | "header_damaged"
        | "broken"
        | "wrong_secret"
        | "no_secret"
        | "not_signed"
        | "signed_within"
        | "forged"
        | "no_filter";
    }
  | { name: "unknown"; start: string }
  | { name: "compressed"; with: string }
  | { name: "too_large"; bytes: number; most: number }
  | { name: "cut" | "appended"; expected: number; found: number }
  | { name: "damaged"; start: number; end: number }
  | { name: "other_signer" | "other_list"; found: string; expected: string }
  | { name: "not_newer"; found: string; newer_than: string }
  | { name: "other_length"; format: string; expected: number; found: number }
  | { name: "other_format"; format: string };

/** What was wrong with a request, in the words of the command line; and for many files as data. */
export class CoreError extends Error {
  constructor(
    message: string,
    /** The member of the goal or request that it is about. */
    readonly field?: string,
    /** Whether the core has to be started anew: its files are closed. */
    readonly fatal = false,
    readonly reason?: Reason,
  ) {
    super(message);
    this.name = "CoreError";
  }
}

// ---------------------------------------------------------------- the core itself

/** What a file's bytes are read from. */
export interface Readable {
  name: string;
  size: number;
  /** Fills `into` from byte `offset` on; throws if the file has changed or cannot be read. */
  read(offset: number, into: Uint8Array): void;
}

/** A file that was chosen or dropped, read in place; only in a worker. */
export function readable(file: File): Readable {
  const reader = new FileReaderSync();
  return {
    name: file.name,
    size: file.size,
    read(offset, into) {
      const piece = reader.readAsArrayBuffer(file.slice(offset, offset + into.length));
      into.set(new Uint8Array(piece));
    },
  };
}

/** The functions of crates/umbel-page/src/lib.rs. */
interface Exports {
  memory: WebAssembly.Memory;
  allocate(length: number): number;
  call(pointer: number, length: number): number;
  answer_length(): number;
}

export class Core {
  readonly #exports: Exports;
  readonly #files: (Readable | null)[] = [];
  readonly #progress: (done: number, total: number) => void;
  #panic = "";
  #reading = "";
  #given: Uint8Array<ArrayBuffer>[] = [];

  private constructor(instantiate: (imports: WebAssembly.Imports) => WebAssembly.Instance, progress: (done: number, total: number) => void) {
    this.#progress = progress;
    this.#exports = instantiate({ umbel: this.#imports() }).exports as unknown as Exports;
  }

  /** `progress` hears of bytes read while a file is opened. */
  static async start(code: BufferSource, progress: (done: number, total: number) => void = () => {}): Promise<Core> {
    const module = await WebAssembly.compile(code);
    return new Core((imports) => new WebAssembly.Instance(module, imports), progress);
  }

  /** Gives the number by which `open` knows a file. */
  add(file: Readable): number {
    return this.#files.push(file) - 1;
  }

  /** Answers a request; throws a `CoreError`. */
  call<N extends Name>(request: Request<N> & { type: N }): Answer<N> {
    const { allocate, call, answer_length } = this.#exports;
    let text = request as unknown as Json;
    if (request.type === "open") {
      const file = this.#files[(request as Request<"open">).file];
      if (!file) throw new CoreError("this file was not added", "file");
      text = { ...(text as object), name: file.name, bytes: file.size };
    }
    const bytes = new TextEncoder().encode(JSON.stringify(text));
    this.#panic = "";
    this.#given = [];
    let answer: { ok: Answer<N> } | { error: { message: string; field?: string; reason?: Reason } };
    try {
      const pointer = allocate(bytes.length);
      new Uint8Array(this.#exports.memory.buffer, pointer, bytes.length).set(bytes);
      const start = call(pointer, bytes.length);
      const found = new Uint8Array(this.#exports.memory.buffer, start >>> 0, answer_length());
      answer = JSON.parse(new TextDecoder().decode(found));
    } catch (error) {
      throw new CoreError(this.#trapped(error), undefined, true);
    }
    if ("error" in answer) throw new CoreError(answer.error.message, answer.error.field, false, answer.error.reason);
    if (this.#given.length > 0) (answer.ok as { files: Made[] }).files.forEach((file, index) => (file.content = this.#given[index]!));
    return answer.ok;
  }

  /** Bytes of memory that the core holds; it never shrinks. */
  get memory(): number {
    return this.#exports.memory.buffer.byteLength;
  }

  #trapped(error: unknown): string {
    if (this.#panic) return `an error in umbel itself, please report it: ${this.#panic}`;
    const held = Math.round(this.memory / 2 ** 20);
    return `this browser cannot hold what that takes in memory: it ended at ${held} MiB (${error})`;
  }

  #imports(): WebAssembly.ModuleImports {
    const text = (pointer: number, length: number) => new TextDecoder().decode(new Uint8Array(this.#exports.memory.buffer, pointer >>> 0, length >>> 0));
    return {
      /** Reads `length` bytes of a file; 0, or the length of a message that `message` then copies. */
      read: (file: number, offset: number, pointer: number, length: number): number => {
        try {
          const into = new Uint8Array(this.#exports.memory.buffer, pointer >>> 0, length >>> 0);
          const source = this.#files[file];
          if (!source) throw new Error("the file is closed");
          source.read(offset, into);
          return 0;
        } catch (error) {
          this.#reading = error instanceof Error ? error.message : String(error);
          return new TextEncoder().encode(this.#reading).length || 1;
        }
      },
      message: (pointer: number, length: number): void => {
        const into = new Uint8Array(this.#exports.memory.buffer, pointer >>> 0, length >>> 0);
        into.set(new TextEncoder().encode(this.#reading).subarray(0, into.length));
      },
      progress: (done: number, total: number): void => this.#progress(done, total),
      give: (pointer: number, length: number): void => {
        this.#given.push(new Uint8Array(this.#exports.memory.buffer, pointer >>> 0, length >>> 0).slice());
      },
      panicked: (pointer: number, length: number): void => {
        this.#panic = text(pointer, length);
      },
      now: (): number => performance.now(),
    };
  }
}
