//! What the core says is all there in Chinese: of goals, files of every format, lessons, and what was refused.

import assert from "node:assert/strict";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

import { english, unlike } from "./english.mjs";
import { bytes, file, root, start } from "./core.mjs";

/** A module of the page, with Chinese words. */
async function module(name) {
  const path = fileURLToPath(new URL("../page/src", import.meta.url));
  const contents = `import { zh } from "${path}/words/zh.ts"; globalThis.umbelWords = zh;`;
  const stdin = { contents, resolveDir: path };
  const run = async (options) => {
    const { outputFiles } = await build({ ...options, bundle: true, format: "esm", write: false });
    return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);
  };
  await run({ stdin });
  return run({ entryPoints: [join(path, `${name}.ts`)] });
}

const { told } = await module("told");
const say = globalThis.umbelWords.core;
let core;
before(async () => (core = await start()));

/** Texts that stay English, by the names of their fields: documents, code, and data. */
const KEPT = new Set([
  "document",
  "documents",
  "snippets",
  "command",
  "source",
  "cells",
  "headline",
  "kinds",
  "files",
  "key",
  "by",
  "word",
  "id",
  "variant",
  "style",
  "message",
  "sections",
]);

/** All texts of an answer that are shown as they are. */
function texts(value, found = new Set()) {
  if (typeof value === "string") found.add(value);
  else if (Array.isArray(value)) for (const one of value) texts(one, found);
  else if (value !== null && typeof value === "object") {
    for (const [name, one] of Object.entries(value)) if (!KEPT.has(name)) texts(one, found);
  }
  return found;
}

/** What of it is English. */
const left = new Set();
function look(request) {
  let answer;
  try {
    answer = told(request.type, core.call(request));
  } catch (error) {
    if (error.fatal) throw error;
    // The page has words of its own for a reason.
    if (!error.reason && (english(say(error.message)) || unlike(say(error.message)))) left.add(`${request.type}: ${say(error.message)}`);
    return undefined;
  }
  for (const text of texts(answer))
    if ((english(text) || unlike(text)) && !text.startsWith("a name that umbel does not know")) left.add(`${request.type}: ${text}`);
  return answer;
}
function done() {
  const all = [...left];
  left.clear();
  assert.deepEqual(all, []);
}

test("goals, their rankings, formulas and charts", () => {
  const goals = [
    { keys: "5e9", fpp: "0.01" },
    { keys: "5e9", memory: "4GiB" },
    { keys: "100M", fpp: "0.01", lookup: "1ms", absent: "0.9" },
    { keys: "100M", fpp: "0.01", deletes: true },
    { keys: "100M", fpp: "1e-4", grows: true },
    { keys: "10M", ship: "12MB", known: true },
    { keys: "4G", fpp: "0.013", known: true, except: "1M" },
    { keys: "4G", fpp: "0.013", known: true, except: "1" },
    { keys: "1000", fpp: "0.5" },
    { fpp: "0.01", memory: "64MiB" },
    { keys: "1M", fpp: "0.01", ages: true },
    { keys: "1M", fpp: "1e-6", known: true, lookup: "5ms" },
    { keys: "1M", fpp: "0.01", lookup: "1ns" },
    { keys: "1", fpp: "0.1" },
    { keys: "1M", fpp: "1e-12" },
    { keys: "1M", fpp: "1e-6", deletes: true, grows: true },
    { keys: "1M", fpp: "1e-4", deletes: true, ages: true },
    { keys: "1M", fpp: "1e-19", known: true },
    { keys: "10", memory: "1GiB" },
    { keys: "1G", memory: "1MiB" },
    { keys: "1M", fpp: "0.01", memory: "1MiB", ship: "1MB" },
  ];
  for (const goal of goals) {
    look({ type: "advise", goal });
    // The slow one says the same of every goal.
    const charts = ["overfill", "keys", "probes", "exponent", "time", ...(goal === goals[0] ? ["bits"] : [])];
    look({ type: "curves", goal, charts });
  }
  done();
});

test("what is wrong with a goal", () => {
  const bad = {
    keys: ["many", "0", "1.5", "-1", "1e30", "3 *"],
    fpp: ["x", "2", "0", "1 in 0", "1e-400", "1e-40"],
    memory: ["zz", "x bits", "1"],
    ship: ["x"],
  };
  const others = { except: ["x"], lookup: ["x", "5 parsec"], false_answer: ["x", "1ms"], absent: ["2", "0.5", "x"] };
  for (const [name, values] of Object.entries({ ...bad, ...others })) {
    for (const value of values) {
      for (const rest of [
        { keys: "1M", fpp: "0.01" },
        { keys: "1M", memory: "1MiB" },
        { fpp: "0.01", memory: "8MiB" },
        { keys: "1M", fpp: "0.01", lookup: "1ms", known: true },
      ])
        look({ type: "advise", goal: { ...rest, [name]: value } });
    }
  }
  look({ type: "advise", goal: { keys: "1M" } });
  for (const probes of ["x", "0", "99"]) look({ type: "calculate", keys: "1M", memory: "1MiB", probes });
  look({ type: "calculate", fpp: "1e-9", memory: "8 bits" });
  look({ type: "calculate", keys: "9e18", fpp: "1e-9" });
  done();
});

/** All files below a folder. */
const below = (folder) =>
  readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? below(path) : [path];
  });

test("receipts, pictures, answers and comparisons of every file in testdata", () => {
  let opened = 0;
  const before = [];
  for (const path of ["golden", "foreign", "shared", "find"].flatMap((name) => below(join(root, "testdata", name)))) {
    const asked = look({ type: "open", file: core.add(file(path)) });
    if (!asked?.parts) continue;
    opened += 1;
    const { handle, fields, key_types } = asked;
    if (asked.title.name === "own") look({ type: "profile", handle });
    for (const key_type of key_types.length > 1 ? key_types : [undefined]) look({ type: "query", handle, keys: ["a", "-", "1.5"], key_type, field: fields[0] });
    for (const left of [handle, ...before]) look({ type: "compare", left, right: handle });
    before.push(handle);
    if (before.length > 6) core.call({ type: "close", handle: before.shift() });
  }
  assert(opened > 100, `${opened}`);
  const { files } = core.call({ type: "sample" });
  const [left, right] = files.map(({ name, content }) => look({ type: "open", file: core.add(bytes(name, content)) }).handle);
  look({ type: "compare", left, right });
  done();
});

test("lessons with any words", () => {
  const words = ["apples", "plums", "mango", "figs", "dates", "kiwis", "melons", "limes", "guavas", "pears"];
  const of = (op, some) => some.map((word) => ({ op, word }));
  const more = {
    counting: [...of("remove", ["apples", "nobody"]), ...of("insert", ["plums", "plums"])],
    window: [{ op: "advance" }, ...of("query", ["apples"]), { op: "advance" }, { op: "advance" }, { op: "advance" }, ...of("query", ["apples"])],
    stable: of(
      "insert",
      words.map((word) => `第二个 ${word}`),
    ),
    cascade: [...of("except", ["hammer", "violin", "cloud"]), ...of("query", ["hammer", "stone"])],
  };
  for (const kind of ["classic", "blocked", "counting", "scalable", "stable", "window", "bloomier", "cascade"]) {
    for (const bits of [14, 32, 512]) {
      const size = ["classic", "counting", "bloomier", "cascade"].includes(kind) ? { bits } : { blocks: 1 + (bits % 5) };
      for (const script of [[], [...of("insert", words), ...(more[kind] ?? []), ...of("query", [...words, "hammer", "violin", "stone", ""])]])
        look({ type: "toy", kind, ...size, probes: 3, operations: script });
    }
    look({ type: "toy", kind, blocks: 1, operations: of("insert", words) });
  }
  look({ type: "toy", kind: "classic", bits: 14, probes: 3, published: true, operations: [...of("insert", ["apples", "plums"]), ...of("query", ["mango"])] });
  done();
});

test("filters of lists", () => {
  const { kinds } = core.call({ type: "about" });
  const formats = core.call({ type: "formats" }).filter(({ makes }) => makes);
  for (const what of [...kinds, ...formats.map(({ name }) => name)]) {
    look({ type: "make", what, keys: "1\n2\n3", except: what === "cascade" ? "4\n5" : undefined });
    look({ type: "make", what, keys: "" });
    look({ type: "make", what, keys: "a", fpp: "x" });
    look({ type: "make", what, keys: "a", fpp: "1e-30" });
  }
  look({ type: "make", what: "cascade", keys: "a", except: "a" });
  done();
});
