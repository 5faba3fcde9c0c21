//! All words of the page, in English. What the core says (advice, receipts, formulas, errors) comes from umbel itself, in English, too.

import type { MapAnswer, Opened, QueryAnswer, Reason, Title } from "../core";
import { bytes, formats, fruits, percent, range } from "./names";

const plural = (count: number, one: string) => `${count.toLocaleString("en")} ${one}${count === 1 ? "" : "s"}`;

export const en = {
  /** What the core says, in this language. */
  core: null as ((english: string) => string) | null,
  site: {
    language: "en",
    /** This page in another language. */
    other: { name: "简体中文", language: "zh-CN", page: "zh.html" },
    title: "umbel explorer: plan, open and understand Bloom filters",
    description: "Choose a kind of Bloom filter for a goal, see what a filter file holds, and watch how filters work. Everything is computed in this page.",
    /** Where no script runs: the textbook's filter, to be read from a table. */
    without: {
      text: "The explorer computes everything in this page, so it needs JavaScript and WebAssembly. Without them: a classic Bloom filter of n keys needs n times as many bits as this table says, and as many probes per key.",
      rate: "False positive rate",
      bits: "Bits per key",
      probes: "Probes",
    },
    name: "umbel",
    sub: "explorer",
    skip: "Skip to the content",
    views: "Views",
    licences: "Licences of its parts",
    foot: "Computed in this page by umbel’s own code. Nothing that you type or open leaves your computer.",
    version: (version: string) => `umbel ${version}`,
  },
  theme: {
    label: "Colours",
    auto: "System",
    light: "Light",
    dark: "Dark",
  },
  /** Signs of the language: between parts of a list, clauses and sentences, at the end of one, and after a share. */
  signs: {
    comma: ", ",
    semicolon: "; ",
    space: " ",
    stop: ".",
    percent: " %",
    named: (name: string, text: string) => `${name}: ${text}`,
  },
  failed: {
    script: (name: string) => `The file ${name} could not be loaded. It belongs next to index.html.`,
  },
  /** Why a file was refused. */
  reason(reason: Reason): string {
    const number = (value: number) => value.toLocaleString("en");
    switch (reason.name) {
      case "empty":
        return "The file is empty.";
      case "text":
        return "This is text. To make a filter of its lines, open it under Make.";
      case "utf16":
        return "This is text in UTF-16, and no filter.";
      case "zip":
        return "This is a zip archive: unpack it, and open what is inside.";
      case "compressed":
        return `This is compressed with ${reason.with}: decompress it first.`;
      case "unknown":
        return `This is no filter that can be recognized: it begins with “${reason.start}”. If another system wrote it, choose its format, and open it again.`;
      case "delta":
        return "This is a delta, which changes a filter and is none itself. Apply it to its base: umbel filter patch";
      case "too_large":
        return `It has ${bytes(reason.bytes)}, and a page can hold ${bytes(reason.most)}. The command line opens it: umbel filter info`;
      case "newer":
        return "A newer version of umbel wrote this file; this page cannot read it yet.";
      case "cut":
        return `The file should have ${number(reason.expected)} bytes and has ${number(reason.found)}: it was cut off. Copy it again.`;
      case "appended":
        return `The file should have ${number(reason.expected)} bytes and has ${number(reason.found)}: something was appended. Copy it again.`;
      case "header_damaged":
        return "The file is damaged at its start. Copy it again, or build it again.";
      case "damaged":
        return `The file is damaged between bytes ${number(reason.start)} and ${number(reason.end)}. Copy it again, or build it again.`;
      case "broken":
        return "The file is damaged: what it contains does not match its checksums. Copy it again.";
      case "wrong_secret":
        return "This is another secret than the one that the filter was built with.";
      case "no_secret":
        return "A secret is 32 hexadecimal digits, or the text that umbel filter key new printed.";
      case "not_signed":
        return "The file is not signed. Get a signed one, or open it without a key that it must be signed with.";
      case "signed_within":
        return "Only the filter inside this packed file is signed, not the packed file itself. Get a signed packed file, or unpack it first.";
      case "other_signer":
        return `It is signed by ${reason.found}, not by ${reason.expected}.`;
      case "other_list":
        return `It is signed ${reason.found === "" ? "without the name of a list" : `as the list “${reason.found}”`}, not as “${reason.expected}”. Get that list.`;
      case "not_newer":
        return `Its version is ${reason.found}, which is not newer than ${reason.newer_than}. Get a newer one.`;
      case "forged":
        return "The signature does not match: the file was altered or forged. Do not use it.";
      case "no_filter":
        return "This table has no filter: whoever wrote it has to choose a filter policy.";
      case "other_length":
        return `As ${formats[reason.format] ?? reason.format} it should have ${number(reason.expected)} bytes, and has ${number(reason.found)}: it was cut off, or has another format.`;
      case "other_format":
        return `This is no filter of the format ${formats[reason.format] ?? reason.format}, or it is damaged. Choose another format.`;
    }
  },
  copy: {
    copy: "Copy",
    done: "Copied",
    manual: "Press Ctrl+C to copy",
    label: (what: string) => `Copy: ${what}`,
  },
  charts: {
    values: "Values as a table",
    table: (title: string) => `Table: ${title}`,
    read: (axis: string, title: string) => `Read values at ${axis}: ${title}`,
    at: (axis: string, value: string) => `${axis} ${value}`,
    told: (at: string, values: string[]) => `${at}: ${values.join(", ")}`,
    none: "–",
    bars: "one key per call",
    batch: "in a batch",
  },

  plan: {
    nav: "Plan",
    title: "Which filter?",
    lede: "A Bloom filter answers “have I seen this key?” in about 10 bits per key, wrong 1 % of the time.",
    links: { install: "Install", source: "Source", learn: "Learn how it works" },
    form: "Your goal",
    any: "Any two or three of these",
    letters: { keys: "n", fpp: "p", memory: "m", probes: "k" } as { [field: string]: string },
    textbook: {
      title: "The textbook’s filter",
      rate: (rate: string, times: string | null) => (times === null ? rate : `${rate} (1 in ${times})`),
      size: (bits: string, size: string) => `${bits} bits (${size})`,
      perKey: (bits: string) => `${bits} bits per key.`,
      best: (probes: string) => `k = ${probes} would be best.`,
      enough: (rate: string) => `These bits lead to ${rate}.`,
      short: (needed: string, rate: string) => `The rate needs ${needed} bits; these lead to ${rate}.`,
    },
    fields: {
      keys: { label: "Keys", hint: "such as 5e9, 5G or 3 * 1,000" },
      fpp: { label: "False positive rate", hint: "such as 0.01, 1% or 1 in 100" },
      memory: { label: "Memory at most", hint: "such as 64MiB, 9.6M bits or 2^16 bits" },
      probes: { label: "Probes per key", hint: "for the textbook’s filter only" },
      ship: { label: "File at most", hint: "if it is sent, such as 12MB" },
      except: { label: "Keys that must never pass", hint: "how many are on the allow list" },
      lookup: { label: "Look-up that a filter saves", hint: "such as 100us or 5ms" },
      false_answer: { label: "Cost of a false positive", hint: "usually that look-up" },
      absent: { label: "Share of absent keys", hint: "from 0 to 1; usually 0.5" },
    },
    use: "What happens to the keys",
    flags: {
      deletes: "Some are removed again",
      grows: "More may come, nobody knows how many",
      known: "All are known in advance",
      ages: "Only the last ones matter",
    },
    costs: "File, allow list, cost of a look-up",
    clear: "Clear",
    examples: "Examples",
    presets: [
      { label: "5 billion keys at 1 %", goal: "keys=5e9&fpp=1%25" },
      { label: "5 billion keys in 4 GiB", goal: "keys=5e9&memory=4GiB" },
      { label: "In front of a database", goal: "keys=100M&fpp=1%25&lookup=1ms&absent=0.9" },
      { label: "Rows are deleted", goal: "keys=100M&fpp=1%25&deletes" },
      { label: "A crawler that grows", goal: "keys=100M&fpp=1e-4&grows" },
      { label: "A list sent to phones", goal: "keys=10M&ship=12MB&known" },
      { label: "Block list and allow list", goal: "keys=4G&fpp=1.3%25&known&except=1M" },
    ],
    ranking: "Ranking",
    caption: "Kinds of filters that fit, the best first. Choose one to see its code and formulas; tick up to four to compare them.",
    kind: "kind",
    /** The heads of columns whose title does not say the unit. */
    columns: { fpp: "rate", memory: "memory", bound: "× bound", lines: "cache lines", ns: "look-up, ns", expected_ns: "with costs, ns" } as {
      [column: string]: string;
    },
    headline: {
      size: (kind: string, size: string) => `${kind} · ${size}`,
      bits: (bits: string) => `${bits} bits per key`,
      probes: (probes: number) => `k = ${probes}`,
      rate: (times: string) => `1 in ${times}`,
    },
    purpose: {
      blocked: "the fastest; one cache line per look-up",
      classic: "Bloom’s original; the fewest bits of its family",
      sliced: "a slice of the bits for each probe",
      counting: "keys can be removed again",
      scalable: "grows when more keys come than planned",
      stable: "an endless stream in constant space; old keys fade",
      window: "the most recent keys; older ones are forgotten",
      bloomier: "the smallest; built once from all keys, also a map",
      attributes: "rows, looked up by any of their fields",
      coded: "a table of short codes, as wide as the rate asks",
      cascade: "built once; no error on two lists that are known",
    } as { [kind: string]: string },
    compare: {
      tick: (kind: string) => `Compare ${kind}`,
      short: "compare",
      title: "Side by side",
      most: "Four kinds are compared at a time.",
      purpose: "for",
      probes: "probes per key",
      ship: "file",
      rate: "1 in",
      yes: "yes",
      no: "no",
      deletes: "removes keys",
      grows: "grows",
      forgets: "forgets old keys",
      clear: "Compare none",
    },
    unfit: (count: number) => `${count} ${count === 1 ? "kind does" : "kinds do"} not fit`,
    notes: "What the columns mean",
    chosen: (kind: string) => `How the figures of ${kind} come about`,
    why: (kind: string) => `Why ${kind} does not fit`,
    make: (kind: string) => `Make this ${kind} filter`,
    snippets: { command: "Command line", rust: "Rust", python: "Python", javascript: "JavaScript", redis: "Redis, Valkey" },
    noJavaScript: "The npm package makes filters of up to 2 GiB that add single keys and remove none; make this one on the command line.",
    noRedis: "The module for Redis and Valkey has no filter of this kind.",
    same: "The same ranking on the command line",
    share: "Copy a link to this goal",
    charts: "What if …",
    chartsLede: "Curves for your goal. The chosen kind is drawn bold. Point at a chart, or move its slider, to read it.",
    more: "More curves",
    working: "Computing …",
    /** By the number of values that are given. */
    incomplete: ["Enter two values: keys and a false positive rate, or one of them and a size.", "Enter a second value."],
    correct: (field: string) => `Correct “${field}” to see the ranking.`,
  },

  look: {
    nav: "Look",
    title: "What is inside?",
    lede: "Open a filter file from umbel, RedisBloom, Guava, Spark, LevelDB, RocksDB and others, a Parquet file, or an index of files. It is read on your computer and sent nowhere.",
    drop: "Drop a filter file here, or",
    choose: "choose a file",
    two: "Open two files to compare them.",
    sample: "Open an example",
    /** Keys of the example's first file, of both, of the second and of none. */
    sampleKeys: "key-1\nkey-15000\nkey-25000\nno such key",
    opening: (name: string) => `Opening ${name}`,
    progress: (done: string, total: string) => `${done} of ${total}`,
    cancel: "Cancel",
    cancelled: (name: string) => `Cancelled: ${name} is not open.`,
    refused: (name: string) => `${name} was not opened.`,
    only: "Two files are open; the older one was closed.",
    others: (names: string[]) => `Two files can be open at a time. Not opened: ${names.join(", ")}.`,
    closed: (name: string) => `${name} is closed.`,
    close: (name: string) => `Close ${name}`,
    which: (name: string) => `${name} is not an umbel file, and fits several systems. Open it as`,
    none: "None of these",
    opened: (name: string, title: string) => `${name} is open: ${title}`,
    receipt: "Receipt",
    json: "The same as JSON",
    warnings: "Warnings",
    filters: "Filters in this file",
    files: "Files of this index",
    rest: (count: number) => `… and ${count.toLocaleString("en")} more`,
    part: "Part",
    verified: "signature checked",
    /** What a file is. */
    kinds(title: Title): string {
      switch (title.name) {
        case "own":
          return `umbel ${title.kind} filter, ${plural(title.keys, "planned key")}`;
        case "foreign":
          return `${formats[title.format] ?? title.format}, filter of ${bytes(title.bytes)}`;
        case "table":
          return `LevelDB table, ${plural(title.filters, "Bloom filter")} of ${bytes(title.bytes)}`;
        case "index":
          return `index of ${plural(title.files, "file")}, ${bytes(title.bytes)} of text in ${plural(title.blocks, "block")}`;
        case "parquet":
          return `Parquet file, ${plural(title.row_groups, "row group")}, ${plural(title.filters, "Bloom filter")} of ${bytes(title.bytes)}`;
      }
    },
    /** How it came. */
    wrapping: ({ packed, table, signer }: Opened["wrapping"]) => [
      ...(packed ? ["packed"] : []),
      ...(table ? ["in a table file"] : []),
      ...(signer === null ? [] : [`signed by ${signer}`]),
    ],
    saturated: "saturated",
    full: (share: string) =>
      share === "saturated" ? "This filter is saturated: almost every key passes." : `This filter holds ${share} of the keys that it was planned for.`,
    successor: "Plan its successor",
    told: {
      title: "Format, and whose signature it must have",
      format: "Format",
      recognize: "as its content shows",
      salts: "Salts, one for each probe, separated by commas",
      saltsHint: "its files do not contain them",
      trust: "Public key of who must have signed it",
      trustHint: "the text of its file .pub; a file with another signature, or none, is refused",
      list: "List that it must be signed as",
      listHint: "its name, if the signer serves several lists",
      newer: "Newer than version number",
      newerHint: "the number of the version that you have; the same one, or an older one, is refused",
    },
    lock: {
      why: "The filter is keyed: nobody can look up keys without its secret.",
      secret: "Secret of this keyed filter, 32 hexadecimal digits",
      unlock: "Unlock",
    },
    map: {
      title: "Its bits",
      unit: (unit: string) => `Its ${unit}`,
      lede: "Each cell shows how full a stretch of the filter is. The darker, or in dark colours the lighter, the fuller.",
      keys: "Drag to move; click, or turn the wheel after it, to zoom. By keys: arrows move, + and − zoom, Home shows everything.",
      marked: (key: string, cells: string) => `Probes of ${key}: ${cells}`,
      elsewhere: (key: string) => `The probes of ${key} are in another part of this filter.`,
      label: ({ from, to, per, values, fill, mean }: MapAnswer) => {
        const [low, high] = range(values);
        return fill
          ? `Map. Cells ${from.toLocaleString("en")} to ${to.toLocaleString("en")}: stretches of ${per.toLocaleString("en")}, from ${percent(low)} to ${percent(high)} full; ${percent(mean)} of all cells are in use.`
          : `Map. Cells ${from.toLocaleString("en")} to ${to.toLocaleString("en")}, each by itself: ${values.filter((value) => value > 0).length} of ${values.length} are in use.`;
      },
      in: "Zoom in",
      out: "Zoom out",
      left: "Earlier",
      right: "Later",
      all: "Show all",
      empty: "0 %",
      full: "100 %",
      expected: (low: string, high: string) => `By chance, nearly all are within ${low} and ${high};`,
      stretch: (from: string, to: string, unit: string, fill: string) => `${unit} ${from} to ${to}: ${fill} in use`,
      cell: (at: string, unit: string, value: number) => `${unit.replace(/s\b.*/, "")} ${at}: ${value}`,
      contrast: "Stretch the contrast",
      outside: (count: number) => `${count} ${count === 1 ? "is" : "are"} not: ●`,
      caption: (per: string, unit: string) => `${per} ${unit} per cell`,
      one: (unit: string) => `One cell for each of the ${unit}`,
      table: "Map",
      from: "From",
      to: "To",
      value: "In use",
      state: "Value",
      none: "Of this kind of filter nothing can be drawn.",
    },
    profile: {
      title: "How full its blocks are",
      counted: "counted",
      expected: "by chance",
      x: "bits in use in a block",
      y: "blocks",
    },
    query: {
      title: "Look up keys",
      label: "Keys, one per line",
      hint: "Type or paste keys. They are looked up as you type.",
      many: "All keys are looked up. Only the first ones are shown here, and none can be edited.",
      returns: "The file has carriage returns, as in CR LF. They are part of its keys, as on the command line; to leave them out, paste the keys.",
      clear: "Clear the keys",
      file: "Keys from a file",
      large: (name: string) => `${name} is larger than 64 MiB; look its keys up on the command line: umbel filter query FILTER ${name}`,
      bytes: (name: string) => `${name} is not UTF-8, and a page knows keys as text alone; the command line reads any bytes.`,
      field: "Field",
      type: "Keys are",
      unknown: (assumed: string) => `choose the type (${assumed} until then)`,
      failed: "could not be looked up",
      mark: "Show where its probes fall",
      maybe: "may be in",
      no: "not in",
      unfound: "not found",
      /** What the answers mean. */
      meaning({ keys, found, failed, doubt, rate }: QueryAnswer): string {
        const absent = keys.length - found - failed;
        const are = absent === 1 ? "is" : "are";
        const number = (value: number) => value.toLocaleString("en");
        const not = {
          none: `; ${number(absent)} certainly ${are} not.`,
          assumed: `; ${number(absent)} ${are} not found.`,
          left: `; ${number(absent)} ${are} not found: they were never inserted, or have left its window and are forgotten.`,
          faded: `; ${number(absent)} ${are} not found: they were never inserted, or have faded and are forgotten.`,
          indexed: `; ${number(absent)} certainly ${are} not, unless files have changed since.`,
          sorted: `; ${number(absent)} ${are} not in, if the table has its keys in the order of their bytes, as is usual.`,
        }[doubt?.name ?? "none"];
        return [
          `${number(found)} of ${number(keys.length)} may be in${absent === 0 ? "." : not}`,
          failed > 0 && `${number(failed)} could not be looked up.`,
          doubt?.name === "assumed" &&
            `This assumed keys of type ${doubt.key_type}, because the filter records no type. Choose the right one: keys of another type are not found even if they are in.`,
          doubt?.name === "indexed"
            ? "Words are whole and in any case; umbel find reads the files that are named, and compares the text itself."
            : `An absent key passes with a chance of ${rate}.`,
        ]
          .filter(Boolean)
          .join(" ");
      },
      /** Those that are listed, and how many more there are. */
      files: (names: string[], more: number) => `may be in ${names.join(", ")}${more > 0 ? ` and ${more.toLocaleString("en")} more` : ""}`,
      noFile: "in no file",
      groups: (groups: number[]) => (groups.length === 0 ? "in no row group" : `row groups ${groups.join(", ")}`),
      all: "all",
      shown: "Answers that are shown",
      more: (some: number, all: number) => `Show ${some.toLocaleString("en")} of ${plural(all, "more key")}`,
      save: "Save as CSV",
      key: "Key",
      answer: "Answer",
      value: "Value",
      results: "Answers",
      speed: (ns: string) => `${ns} ns per key in this page.`,
    },
    compare: {
      title: "The two files compared",
      overlap: "Keys in one, in both, in the other",
      left: "only in A",
      both: "in both",
      right: "only in B",
      about: (name: string, count: string) => `${name}: about ${count}`,
    },
  },

  make: {
    nav: "Make",
    title: "Make a filter",
    lede: "Paste a list, and take its filter as a file: umbel’s own, or another system’s, byte for byte as that system writes it. The list stays on your computer.",
    keys: "Keys, one per line",
    hint: "duplicates do no harm",
    what: "Kind or format",
    own: "umbel",
    foreign: "Other systems",
    rate: "False positive rate",
    except: "Keys that must not pass, one per line",
    exceptHint: "for these the filter is never wrong",
    make: "Make the filter",
    working: "Working …",
    download: "Download",
    look: "Look inside",
    same: "The same on the command line",
  },

  formats,

  learn: {
    nav: "Learn",
    title: "How does it work?",
    lede: "A Bloom filter remembers a set in a few bits per key, and now and then takes a stranger for a member. Step through it, then try words of your own.",
    lessons: "Lessons",
    keys: "The arrow keys step, too.",
    chance: (chance: string) => `Chance now that a word which was never inserted passes: ${chance}`,
    below: (chance: string) => `less than ${chance}`,
    strangers: ["hammer", "violin", "cloud"],
    steps: "Steps",
    step: (at: number, of: number) => `Step ${at} of ${of}`,
    start: "Nothing is inserted yet: all cells are clear.",
    empty: "Empty filter",
    back: "Back",
    next: "Next",
    play: "Play",
    pause: "Pause",
    restart: "First step",
    own: "Try it yourself",
    word: "Word",
    insert: "Insert",
    query: "Look up",
    remove: "Remove",
    except: "Must not pass",
    advance: "Time passes",
    bulk: (count: number) => `Insert ${count} fruits`,
    clear: "Start with an empty filter",
    again: "Back to the lesson",
    ops: {
      insert: (word: string) => `Insert ${word}`,
      except: (word: string) => `${word} must not pass`,
      remove: (word: string) => `Remove ${word}`,
      query: (word: string) => `Look up ${word}`,
      advance: () => "Time passes",
    },
    answer: { right: "may be in", wrong: "may be in: wrong", no: "not in" },
    probes: "What the word’s probes find",
    cell: "Cell",
    part: "Part",
    state: "Value",
    by: "Set first by",
    nobody: "–",
    changed: "changed",
    line: (number: number) => `cache line ${number}`,
    touched: (count: number) => (count === 1 ? "All probes are in 1 cache line." : `The probes are in ${count} cache lines.`),
    part_of: (label: string, used: number, cells: number) => `${label === "" ? "" : `${label}: `}${used} of ${cells} cells in use`,
    fruits,
    list: [
      {
        id: "first",
        title: "Apples, plums, mango",
        short: "First steps",
        text: "Fourteen bits, and three probes per word. Apples and plums are inserted. Mango never is, and still passes: a false positive, the only error a Bloom filter makes.",
      },
      {
        id: "words",
        title: "Your own words",
        short: "Own words",
        text: "A filter of 32 bits under umbel’s own hash. Insert words until most bits are set: then almost everything passes. More bits per word keep that rare.",
      },
      {
        id: "full",
        title: "Over-filled: it takes everyone for a member",
        short: "Over-filled",
        text: "Sixteen bits do for three words: a stranger passes with a chance of about 8 %. With twelve words hardly a bit is clear. No word is lost, but strangers pass, and in the end all of them.",
      },
      {
        id: "counting",
        title: "Counting: words leave",
        short: "Counting",
        text: "A bit cannot be cleared, for another word may need it: apples and plums share cell 11. With a counter in its place, a removed word takes back one from each of its cells, and the other word stays.",
      },
      {
        id: "scalable",
        title: "Scalable: it grows",
        short: "Scalable",
        text: "Nobody knows how many words will come. When a filter is full, a larger one with a lower rate is added. A look-up queries all of them, and the rates add up to no more than promised.",
      },
      {
        id: "window",
        title: "Window: only the last ones",
        short: "Window",
        text: "The filter consists of generations. Words enter the newest one. When it is full, or time passes, the oldest one is cleared and becomes the newest. Inside the window nothing is missed.",
      },
      {
        id: "stable",
        title: "Stable: it fades",
        short: "Stable",
        text: "Each insertion sets the word’s cells to their maximum, and lowers some others, chosen at random. Old words fade, so an endless stream never fills the filter. A faded word may be missed.",
      },
      {
        id: "blocked",
        title: "Blocked: one cache line",
        short: "Blocked",
        text: "Memory is read in cache lines of 64 bytes, 512 bits. The probes of a classic filter are all over it, so a look-up waits for several lines. A blocked filter keeps all probes of a word in one line.",
      },
      {
        id: "bloomier",
        title: "Bloomier: built once, from all words",
        short: "Bloomier",
        text: "If all words are known in advance, a table does with fewer bits. A word has a fingerprint of 4 bits and a slot in each third of the table. The slots get values that give each word’s fingerprint by XOR. A stranger’s slots give any value, so it passes 1 time in 16, and umbel uses longer fingerprints.",
      },
      {
        id: "cascade",
        title: "Cascade: no error on two lists",
        short: "Cascade",
        text: "Some words must pass, and some that are known must not, such as valid and revoked certificates. Level 1 holds the words that must pass. Level 2 holds those that must not, but do at level 1; level 3 those that level 2 gets wrong in turn. The first level that refuses a word decides.",
      },
    ],
    beside: { classic: "Classic", blocked: "Blocked" },
  },
};
