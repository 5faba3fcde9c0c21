//! Filters of other systems: their own vectors (testdata/foreign), recognized, and asked for every member and every probe.

import assert from "node:assert/strict";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { bytes, root, start } from "./core.mjs";

const folder = join(root, "testdata/foreign");
const core = await start();
/** JSON whose long integers stay exact, as texts. */
const exact = (path) => JSON.parse(readFileSync(path, "utf8").replace(/(?<=[[,:\s])-?\d{16,}(?=[\],}\s])/g, '"$&"'));
const lists = exact(join(folder, "keys.json"));

/** The keys of recipes, as texts; bytes that are no text are null. */
function keys(recipes) {
  return recipes.flatMap((recipe) => {
    const { kind, first = 0, count = 0 } = recipe;
    const numbers = (of) => Array.from({ length: count }, (_, i) => of(first + i));
    switch (kind) {
      case "seq":
        return numbers((i) => recipe.format.replace(/%0?(\d*)d/, (_, width) => String(i).padStart(Number(width), "0")));
      case "varlen":
        return numbers((i) => `${recipe.prefix}${i}/${recipe.pad.repeat(i % recipe.mod)}`);
      case "range":
        return Array.from({ length: count }, (_, i) => String(BigInt(first) + BigInt(i) * BigInt(recipe.step)));
      case "splitmix64": {
        let state = BigInt.asUintN(64, BigInt(recipe.seed));
        return Array.from({ length: count }, () => {
          state = BigInt.asUintN(64, state + 0x9e3779b97f4a7c15n);
          let z = state;
          z = BigInt.asUintN(64, (z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
          z = BigInt.asUintN(64, (z ^ (z >> 27n)) * 0x94d049bb133111ebn);
          return String(BigInt.asIntN(64, z ^ (z >> 31n)));
        });
      }
      case "list":
        return lists[recipe.name].map((key) => {
          if (/^i\d/.test(recipe.name)) return String(key);
          const content = Buffer.from(key, "hex");
          const text = content.toString("utf8");
          return Buffer.from(text).equals(content) ? text : null;
        });
      default:
        throw new Error(`a recipe of kind ${kind}`);
    }
  });
}

/** The format and the type of keys, by the folder and the type in its vectors. */
const FORMATS = {
  badger: "leveldb",
  goleveldb: "leveldb",
  leveldb: "leveldb",
  "bits-and-blooms": "bits-and-blooms",
  datasketches: "datasketches",
  guava: "guava",
  hadoop: "hadoop",
  hive: "hive",
  orc: "orc",
  parquet: "parquet",
  "pybloom-live-3": "pybloom-3",
  "pybloom-live-4": "pybloom-4",
  redisbloom: "redisbloom",
  "redisbloom-cuckoo": "redisbloom-cuckoo",
  rocksdb: "rocksdb",
  spark: "spark",
  squid: "squid",
  "valkey-bloom": "valkey-bloom",
};
const TYPES = { utf8: "bytes", utf16le: "utf16", "url (method GET)": "url" };

for (const name of readdirSync(folder).filter((name) => existsSync(join(folder, name, "vectors.json")))) {
  test(`${name}: every vector is recognized, and answers as the system itself does`, () => {
    const { vectors } = exact(join(folder, name, "vectors.json"));
    let asked = 0;
    for (const vector of vectors) {
      const what = `${name}/${vector.name}`;
      const files = vector.chunks ? vector.chunks.map((chunk) => chunk.file) : [vector.file];
      const parts = files.map((file) => readFileSync(join(folder, name, file)));

      const content = Buffer.concat(parts);
      let format = FORMATS[name];
      if (name === "bits-and-blooms" && vector.name.startsWith("json")) format = "bits-and-blooms-json";
      if (name.startsWith("pybloom") && vector.name.startsWith("scalable")) format += "-scalable";
      if (name === "rocksdb" && vector.name.startsWith("fv4")) format = "rocksdb-legacy";
      const add = () => core.add(bytes(vector.name, content));
      let opened = core.call({ type: "open", file: add() });
      if ("formats" in opened) {
        assert(opened.formats.includes(format), `${what}: may be ${opened.formats}`);
        opened = core.call({ type: "open", file: add(), format });
      }
      assert.equal(opened.format, format, what);
      const key_type = TYPES[vector.key_type] ?? vector.key_type;
      const ask = (keys) => {
        const known = keys.map((key, i) => [key, i]).filter(([key]) => key !== null);
        const answer = core.call({ type: "query", handle: opened.handle, keys: known.map(([key]) => key), key_type });
        asked += known.length;
        return answer.keys.map(({ found, error }, place) => {
          assert.equal(error, null, what);
          return [found, known[place][1]];
        });
      };
      assert(
        ask(keys(vector.members)).every(([found]) => found),
        `${what}: a member is missing`,
      );
      const passed = new Set(
        readFileSync(join(folder, name, vector.false_positives), "utf8")
          .split("\n")
          .filter(Boolean)
          .map(Number),
      );
      for (const [found, number] of ask(keys(vector.probes))) assert.equal(found, passed.has(number), `${what}: probe ${number}`);
      const map = core.call({ type: "map", handle: opened.handle, cells: 256 });
      assert(
        map.values.every((value) => value >= 0 && value <= 1),
        what,
      );
      core.call({ type: "close", handle: opened.handle });
    }
    assert(asked > 100, `${name}: ${asked} keys`);
  });
}

test("keys of an assumed type promise nothing, as on the command line", () => {
  const { handle, key_types } = core.call({ type: "open", file: core.add(bytes("long", readFileSync(join(folder, "guava/long-p05.bin")))) });
  assert.deepEqual(key_types, ["bytes", "utf16", "i64", "i32"]);
  const assumed = core.call({ type: "query", handle, keys: ["1", "2"] });
  assert.deepEqual([assumed.found, assumed.doubt], [0, { name: "assumed", key_type: "bytes" }]);
  const chosen = core.call({ type: "query", handle, keys: ["1", "2", "-7000000"], key_type: "i64" });
  assert.deepEqual([chosen.found, chosen.failed, chosen.doubt], [2, 0, null]);
});

test("a Parquet file shows its filters, and which row groups may hold a key", () => {
  const content = readFileSync(join(folder, "parquet/groups.parquet"));
  const opened = core.call({ type: "open", file: core.add(bytes("groups.parquet", content)) });
  assert.equal(opened.format, "parquet_file");
  assert.equal(opened.table.rows.length, opened.parts.length);
  assert(opened.fields.includes("name") && !opened.fields.includes("user.host"), `${opened.fields}`);
  const ask = (field, keys) => core.call({ type: "query", handle: opened.handle, field, keys }).keys;
  const [first, last, none] = ask("name", ["name-000", "name-299", "nobody"]);
  assert.deepEqual([first.row_groups, last.row_groups, none.row_groups], [[0], [2], []]);
  assert.deepEqual(ask("day", ["2026-01-01"])[0].row_groups, [0]);
  assert.match(ask("id", ["seven"])[0].error, /whole number/);
  assert.throws(() => ask("user.host", ["h"]), /no Bloom filter/);
});
