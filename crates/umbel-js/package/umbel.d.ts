/** Text is hashed as its UTF-8, bytes as they are, an integer as 8 little-endian bytes: `7` and `"7"` are different keys. */
export type Key = string | Uint8Array | number | bigint;

/** Kinds of umbel's filters. `umbel` has blocked ones, and opens classic ones; `umbel/foreign` has all. */
export type Kind = "blocked" | "classic" | "sliced" | "counting" | "scalable" | "stable" | "window" | "bloomier" | "coded" | "cascade";

export interface Options {
  /** The format of another system, such as `guava`; by default it is recognized. Only in `umbel/foreign`. */
  format?: string;
  /** How another system hashes the keys, such as `utf16` or `i64`; by default as it hashes values of their type. */
  keyType?: string;
}

export interface Plan extends Options {
  /** The keys that it will hold. */
  keys: number;
  /** The false positive rate when it holds them; 0.01 by default, and none for formats that have no rate. */
  fpp?: number;
  /** `blocked` by default, the only one that `umbel` makes; with a number as on the command line, such as `counting:8`. */
  kind?: Kind | `${Kind}:${number}`;
}

/** What a filter holds and delivers now, computed from its bits. */
export interface Receipt {
  /** The kind, or the format of another system. */
  kind: string;
  /** Bits set, of all bits: 0 to 1. */
  fill: number;
  /** The rate at which absent keys pass now. */
  fpp: number;
  /** Different keys, estimated, with the ends of a 95 % interval. */
  keys: number;
  keysLow: number;
  keysHigh: number;
  /** Bytes of its bits. */
  bytes: number;
  /** What it was planned for; not of other systems' filters. */
  plannedKeys?: number;
  plannedFpp?: number;
  /** Whether it certainly holds more keys than planned. */
  overFilled?: boolean;
}

/** A filter. All methods throw an `Error` with a message that says what is wrong. */
export class Filter {
  /** Makes an empty one. */
  constructor(plan: Plan);

  /** Opens the bytes of a file, which it copies. A damaged file is refused. */
  static open(file: Uint8Array | ArrayBuffer, options?: Options): Filter;

  /** Adds a key; true if it is certainly new. */
  add(key: Key): boolean;

  /** Adds keys in order; if one is refused, those before it may be in. */
  addAll(keys: Iterable<Key> & object): void;

  /** False for certain, or true with the filter's rate of false positives. */
  has(key: Key): boolean;

  hasAll(keys: Iterable<Key> & object): boolean[];

  /** Adds the keys of another filter of the same plan. Only in `umbel/foreign`. */
  merge(other: Filter): void;

  /** The bytes of its file: the same as from umbel's other programs. */
  save(): Uint8Array<ArrayBuffer>;

  receipt(): Receipt;

  /** Returns its memory at once, not some time after the last use. */
  free(): void;
}
