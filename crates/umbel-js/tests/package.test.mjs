//! The npm package, installed from its file: golden files, the command line, what ../README.md shows, types, and a browser.

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const golden = join(root, "testdata/golden");
const explorer = join(root, "crates/umbel-page");
const folder = mkdtempSync(join(tmpdir(), "umbel-js-"));
const installed = join(folder, "node_modules/umbel");
const run = (args, input) => execFileSync(process.env.UMBEL, args, { input, cwd: folder, stdio: ["pipe", "pipe", "ignore"] });
let small;
let whole;

before(async () => {
  writeFileSync(join(folder, "package.json"), '{"private":true,"type":"module"}');
  execFileSync("npm", ["install", "--silent", "--offline", "--no-audit", "--no-fund", process.env.PACKAGE], { cwd: folder });
  small = (await import(pathToFileURL(join(installed, "index.js")))).Filter;
  whole = (await import(pathToFileURL(join(installed, "foreign.js")))).Filter;
});
after(() => rmSync(folder, { recursive: true }));

const bytes = (...names) => names.map((name) => statSync(join(installed, name)).size).reduce((all, size) => all + size);

test("the modules are as small as promised", () => {
  assert(bytes("filter.js", "index.js") <= 160_000, `${bytes("filter.js", "index.js")}`);
  assert(bytes("filter.js", "foreign.js") <= 1_060_000, `${bytes("filter.js", "foreign.js")}`);
});

test("golden files give the same answers, receipts and bytes", () => {
  const { vectors } = JSON.parse(readFileSync(join(golden, "manifest.json"), "utf8"));
  const unkeyed = vectors.filter(
    ({ algorithm, kind, member_prefix, description }) => algorithm === "xxh3-128" && kind !== "attributes" && member_prefix && !description,
  );
  const seen = new Set();
  for (const { file, kind, member_prefix, members, forgotten = 0, probe_prefix, probes_tried, false_positives } of unkeyed) {
    const content = readFileSync(join(golden, file));
    for (const Filter of ["blocked", "classic"].includes(kind) ? [small, whole] : [whole]) {
      const filter = Filter.open(content);
      const keys = (prefix, count) => Array.from({ length: count }, (_, number) => `${prefix}${number}`);
      assert.equal(filter.hasAll(keys(member_prefix, members)).filter((found) => !found).length, forgotten, file);
      const found = filter.hasAll(keys(probe_prefix, probes_tried)).flatMap((found, number) => (found ? [number] : []));
      assert.deepEqual(found.slice(0, false_positives.length), false_positives, file);
      assert.deepEqual(Buffer.from(filter.save()), content, file);
      const info = JSON.parse(run(["filter", "info", "--json", join(golden, file)]));
      const { fpp, ...receipt } = filter.receipt();
      assert.equal(receipt.kind, kind);
      assert(Math.abs(fpp - info.fpp) <= 1e-9 * info.fpp, `${file}: ${fpp}, ${info.fpp}`);
      seen.add(kind);
      filter.free();
    }
  }
  assert.equal(seen.size, 10);
});

test("a filter made here is the one that the command line makes", () => {
  const lines = Array.from({ length: 20_000 }, (_, i) => `schlüssel ${i}`);
  run(["filter", "build", "--kind", "blocked", "--keys", "20000", "--fpp", "0.001", "-o", "own.umbel"], lines.join("\n"));
  for (const Filter of [small, whole]) {
    const filter = new Filter({ keys: 20_000, fpp: 0.001 });
    filter.addAll(lines);
    writeFileSync(join(folder, "made.umbel"), filter.save());
    assert.equal(run(["filter", "query", "made.umbel"], "schlüssel 7\nnobody\n").toString(), "schlüssel 7\n");
    run(["filter", "merge", "--force", "-o", "both.umbel", "own.umbel", "made.umbel"]);
    const own = Filter.open(readFileSync(join(folder, "own.umbel")));
    const both = Filter.open(readFileSync(join(folder, "both.umbel")));
    assert.deepEqual(own.receipt(), filter.receipt());
    assert.deepEqual(both.receipt(), filter.receipt());
  }
});

test("integers are 8 little-endian bytes", () => {
  const filter = new small({ keys: 100, fpp: 1e-9 });
  for (const [key, same] of [
    [7, 7n],
    [-1n, 2n ** 64n - 1n],
    [-(2n ** 63n), 2n ** 63n],
    [2 ** 53 - 1, 2n ** 53n - 1n],
  ]) {
    assert(filter.add(key));
    assert(filter.has(same));
  }
});

test("keys are asked in the form of the filter", () => {
  for (const set of [small, whole]) {
    const [numbers, words] = [new set({ keys: 100, fpp: 1e-9 }), new set({ keys: 100, fpp: 1e-9 })];
    numbers.add(7);
    words.add("7");
    for (const wrong of [() => numbers.has("7"), () => numbers.add("7")]) assert.throws(wrong, /give Number\(key\) or String\(key\)/);
    for (const wrong of [() => words.has(7), () => words.add(7n)]) assert.throws(wrong, /keys are of another type/);
    // Both forms are noted in the file.
    assert.throws(() => set.open(numbers.save()).has("7"), /keys are of another type/);
    const path = join(folder, "lines.umbel");
    run(["filter", "build", "-q", "-f", "-o", path, "--keys", "100", "--fpp", "1e-9"], "7\n-12\n18446744073709551615\n");
    const lines = set.open(readFileSync(path));
    assert.deepEqual(lines.hasAll([7, 7n, -12, 2n ** 64n - 1n, "7", 8]), [true, true, true, true, true, false]);
  }
});

test("iterators and keys may use any filter meanwhile", () => {
  for (const set of [small, whole]) {
    const [blocked, seen, freed] = Array.from({ length: 3 }, () => new set({ keys: 30_000 }));
    const urls = Array.from({ length: 20_000 }, (_, i) => `https://example.org/${i}`);
    function* unblocked() {
      for (const url of urls) {
        new set({ keys: 10 }).add(`${url}?`);
        if (!blocked.has(url)) yield url;
      }
    }
    seen.addAll(unblocked());
    assert(seen.hasAll(unblocked()).every(Boolean));
    // What it was told of its keys is not what they are.
    class Odd extends Uint8Array {
      get length() {
        return seen.has("a") ? 0 : 2 ** 30;
      }
    }
    const odd = {
      get byteLength() {
        return seen.addAll(urls);
      },
    };
    assert.throws(() => seen.hasAll(["a", odd, new Proxy(new Uint8Array(1), {})]), TypeError);
    seen.add(new Odd([1, 2]));
    assert.deepEqual(seen.hasAll([new Uint8Array([1, 2]), new Uint8Array(2), urls[7]]), [true, false, true]);
    function* ending() {
      yield "a";
      freed.free();
    }
    assert.throws(() => freed.addAll(ending()), /^Error: the filter was freed/);
    assert(seen.hasAll(urls).every(Boolean));
  }
});

test("what is refused has a reason", () => {
  const filter = new small({ keys: 100 });
  const cases = [
    [() => filter.add(0.5), TypeError, /not the number 0.5/],
    [() => filter.add(null), TypeError, /not null; leave missing values out$/],
    [() => filter.add({ id: 7 }), TypeError, /not Object; give the text or bytes that identify it$/],
    ...[new ArrayBuffer(1), new DataView(new ArrayBuffer(1)), new Uint16Array(1)].map((key) => [
      () => filter.has(key),
      TypeError,
      /; give its bytes as a Uint8Array$/,
    ]),
    ...[null, undefined, {}, new whole({ keys: 100 })].map((other) => [
      () => filter.merge(other),
      TypeError,
      /^merge takes another Filter of the same module, not /,
    ]),
    [() => filter.has(2n ** 64n), RangeError, /out of range/],
    [() => new small({ keys: 0 }), Error, /^zero keys/],
    // As other packages are called: a number of keys, and a rate.
    [() => new small(1000, 0.01), TypeError, /^options are an object such as \{ keys: 1_000_000, fpp: 0.01 \}.*, not the number 1000$/],
    [() => new small(), TypeError, /not undefined$/],
    [() => new small({}), TypeError, /^keys is how many .*, not undefined$/],
    [() => new small({ keys: 1.5 }), TypeError, /not the number 1.5$/],
    [() => new small({ keys: 100, fpp: "1%" }), TypeError, /^fpp is a rate, .*, not the text "1%"$/],
    [() => new small({ keys: 100, errorRate: 0.1 }), TypeError, /^no option errorRate: there are keys, fpp, /],
    [() => small.open(filter.save(), "guava"), TypeError, /^options are an object/],
    [() => small.open(Promise.resolve(filter.save())), TypeError, /not Promise; await/],
    [() => small.open("blocked.umbel"), TypeError, /not the text "blocked.umbel"/],
    [() => small.open([1, 2]), TypeError, /not Array/],
    [() => filter.addAll("example.org"), TypeError, /is one key/],
    [() => filter.hasAll(new Uint8Array(2)), TypeError, /is one key/],
    [() => new small({ keys: 100, kind: "coded" }), Error, /^coded: import umbel\/foreign/],
    [() => small.open(readFileSync(join(golden, "cascade-list.umbel"))), Error, /^cascade: import/],
    [() => filter.merge(new small({ keys: 100 })), Error, /^merging: import/],
    [() => whole.open(readFileSync(join(golden, "attributes-one.umbel"))), Error, /^the filter holds rows of/],
    [() => whole.open(readFileSync(join(golden, "blocked-keyed.umbel"))), Error, /secret/],
    ...[small, whole].map((Filter) => [() => Filter.open(readFileSync(join(golden, "described-blocked.umbel"))).has("a"), Error, /^it was built from/]),
    [() => whole.open(filter.save(), { keyType: "f64" }), Error, /^keyType is for other systems' filters/],
    [() => whole.open(readFileSync(join(golden, "bloomier-7.umbel"))).add("a"), Error, /^a bloomier filter is built from all its keys/],
    [() => new whole({ keys: 100, format: "squid", keyType: "i64" }), Error, /^squid filters do not hold keys of type i64/],
    ...["rocksdb", "rocksdb-legacy", "hive", "squid", "redisbloom-cuckoo"].map((format) => {
      new whole({ keys: 100, format });
      return [() => new whole({ keys: 100, format, fpp: 0.01 }), Error, /expected none: the format has no such parameter$/];
    }),
    [() => new whole({ keys: 100, format: "hadoop" }), Error, /^hadoop: the parameter `keys` .* expected none/],
    [() => new whole({ keys: 100, format: "guava", kind: "counting" }), TypeError, /^kind and format are not for one filter/],
    [() => new whole({ keys: 100, format: "guava", keyType: "utf16" }).add(7), Error, /do not hold keys of type a number/],
    [() => whole.open(filter.save().fill(1, 100, 101)), Error, /damaged|checksum/],
  ];
  for (const [work, type, message] of cases) assert.throws(work, (error) => error.constructor === type && message.test(error.message), String(message));
  filter.free();
  assert.throws(() => filter.has("a"), /^Error: the filter was freed/);
});

test("another system's files are recognized as on the command line, and come out as they went in", () => {
  const samples = join(root, "testdata/foreign");
  const files = readdirSync(samples, { withFileTypes: true }).flatMap(({ name: system }) => {
    const names = statSync(join(samples, system)).isDirectory() ? readdirSync(join(samples, system)) : [];
    return names
      .filter((name) => name.endsWith(".bin"))
      .slice(0, 4)
      .map((name) => join(samples, system, name));
  });
  writeFileSync(join(folder, "missing.html"), "<!doctype html>\n<title>404 Not Found</title>\n");
  writeFileSync(join(folder, "addresses.txt"), "a@example.org\nb@example.org\n");
  run(["filter", "build", "-q", "--format", "salted-sha1", "--param", "bits=800", "--param", "salts=a,b", "-o", "salted.bin"], "a\nb\nc\n");
  let opened = 0;
  for (const path of [...files, ...["missing.html", "addresses.txt", "salted.bin"].map((name) => join(folder, name))]) {
    const content = readFileSync(path);
    const { status, stderr } = spawnSync(process.env.UMBEL, ["filter", "info", path], { encoding: "utf8" });
    if (status !== 0) {
      assert.throws(
        () => whole.open(content),
        ({ message }) => stderr.includes(`: ${message}`) && message.startsWith("not an umbel file: "),
        path,
      );
      continue;
    }
    const filter = whole.open(content);
    assert.deepEqual(Buffer.from(filter.save()), content, path);
    assert(filter.receipt().fpp <= 1);
    opened += 1;
  }
  assert(opened > 20 && opened < files.length, `${opened} of ${files.length}`);
  // Integers are hashed as the system does, as in Python.
  const digits = ["redisbloom", "redisbloom-cuckoo", "valkey-bloom", "pybloom-3", "pybloom-4-scalable"];
  for (const format of [...digits, "hive", "orc", "guava", "spark", "parquet", "datasketches"]) {
    const filter = new whole({ keys: 100, format });
    filter.addAll([7, -12n]);
    const type = digits.includes(format) ? [] : ["--key-type", "i64"];
    writeFileSync(join(folder, "numbers.bin"), filter.save());
    assert.equal(run(["filter", "query", "--format", format, ...type, "numbers.bin"], "7\n-12\n").toString(), "7\n-12\n", format);
    assert(filter.has(7n), format);
  }
  for (const format of ["leveldb", "rocksdb", "rocksdb-legacy", "bits-and-blooms", "squid"]) {
    assert.throws(() => new whole({ keys: 100, format }).has(7), /do not hold keys of type a number/, format);
  }
  const floats = new whole({ keys: 100, format: "parquet", keyType: "f64" });
  assert(floats.add(0.5) && floats.has(0.5) && !floats.has(0.25));
});

test("filters merge where the command line merges them, and keep what they note", () => {
  const options = {
    plain: [],
    trimmed: ["--trim"],
    folded: ["--ignore-case"],
    fields: ["--csv", "--key", "id", "--key", "x"],
    id: ["--csv", "--key", "id"],
    numbers: ["--key-type", "i64"],
  };
  for (const [name, more] of Object.entries(options))
    run(["filter", "build", "-q", "--keys", "10", ...more, "-o", name], name === "numbers" ? "7\n" : "id,x\n7,8\n");
  const open = (name) => whole.open(readFileSync(join(folder, name)));
  for (const left of Object.keys(options)) {
    for (const right of Object.keys(options)) {
      const filter = open(left);
      let refused;
      try {
        run(["filter", "merge", "-q", "-f", "-o", "merged", left, right]);
      } catch {
        refused = /^the filter was built from .*, so it cannot answer for /;
      }
      if (refused) assert.throws(() => filter.merge(open(right)), { message: refused }, `${left}, ${right}`);
      else filter.merge(open(right));
      assert.deepEqual(Buffer.from(filter.save()), readFileSync(join(folder, refused ? left : "merged")), `${left}, ${right}`);
    }
    // One without keys and notes is part of any, and becomes it.
    const [empty, filter] = [new whole({ keys: 10 }), open(left)];
    filter.merge(empty);
    empty.merge(filter);
    for (const merged of [empty, filter]) assert.deepEqual(Buffer.from(merged.save()), readFileSync(join(folder, left)), left);
  }
});

/** The examples of the page: a language, a text, and the text that is printed. */
const page = readFileSync(join(root, "crates/umbel-js/README.md"), "utf8");
const examples = [...page.matchAll(/^```(js|html)\n(.*?)^```\n(?:```text\n(.*?)^```\n)?/gms)];

test("the examples print what the page shows", () => {
  const scripts = examples.filter(([, language]) => language === "js");
  assert.equal(scripts.length, 3);
  for (const [, , script, printed] of scripts) {
    writeFileSync(join(folder, "example.js"), script);
    assert.equal(execFileSync(process.execPath, ["example.js"], { cwd: folder, encoding: "utf8" }), printed);
  }
});

test("types fit", () => {
  const program = `
    import { Filter, type Receipt } from "umbel";
    import { Filter as Whole } from "umbel/foreign";
    const filter: Filter = new Filter({ keys: 100, kind: "counting:8" });
    const found: boolean[] = filter.hasAll(new Set(["a", 7, 7n, new Uint8Array(1)]));
    const { keys, plannedKeys }: Receipt = Whole.open(filter.save(), { format: "guava" }).receipt();
    // @ts-expect-error: no key
    filter.has(null);
    // @ts-expect-error: one key
    filter.addAll("example.org");
    // @ts-expect-error: no kind
    new Filter({ keys: 100, kind: "bloom" });
    export { found, keys, plannedKeys };
  `;
  writeFileSync(join(folder, "types.ts"), program);
  const tsc = join(explorer, "node_modules/typescript/bin/tsc");
  execFileSync(process.execPath, [tsc, "--strict", "--noEmit", "--target", "es2022", "--module", "nodenext", "types.ts"], { cwd: folder, stdio: "inherit" });
});

test("a bundler makes one script of it, also for browsers without top-level await", () => {
  writeFileSync(join(folder, "bundled.js"), `import { Filter } from "umbel"; new Filter({ keys: 100 }).add("a") && console.log("added");`);
  const esbuild = join(explorer, "node_modules/.bin/esbuild");
  const options = ["--bundle", "--format=iife", "--target=es2020", "--outfile=bundle.cjs", "--log-level=warning"];
  execFileSync(esbuild, ["bundled.js", ...options], { cwd: folder, stdio: "inherit" });
  assert.equal(execFileSync(process.execPath, ["bundle.cjs"], { cwd: folder, encoding: "utf8" }), "added\n");
});

test("a page and its service worker check a list in Chromium", async () => {
  const site = join(folder, "site");
  mkdirSync(site);
  execFileSync("cp", ["-r", installed, join(site, "umbel")]);
  writeFileSync(join(site, "index.html"), examples.find(([, language]) => language === "html")[2]);
  run(["filter", "build", "--fpp", "0.001", "-o", join(site, "blocked.umbel")], "example.org\nexample.net\n");
  const worker = `
    import { Filter } from "./umbel/index.js";
    const blocked = fetch("blocked.umbel").then((file) => file.arrayBuffer()).then((file) => Filter.open(file));
    addEventListener("message", async ({ data, source }) => source.postMessage((await blocked).has(data)));
  `;
  writeFileSync(join(site, "worker.js"), worker);
  process.env.PAGE = site;
  const { start } = await import(pathToFileURL(join(explorer, "tests/browser.mjs")));
  const browser = await start();
  const shown = await browser.open("", { serviceWorkers: "allow" });
  for (const [domain, answer] of [
    ["example.org", "probably on the list"],
    ["example.com", "certainly not on the list"],
  ]) {
    await shown.locator("#domain").fill(domain);
    await shown.waitForFunction((answer) => document.querySelector("#answer").value === answer, answer);
    const listed = await shown.evaluate(async (domain) => {
      await navigator.serviceWorker.register("worker.js", { type: "module" });
      const { active } = await navigator.serviceWorker.ready;
      active.postMessage(domain);
      return new Promise((answer) => navigator.serviceWorker.addEventListener("message", ({ data }) => answer(data), { once: true }));
    }, domain);
    assert.equal(listed, answer === "probably on the list");
  }
  await browser.close();
});
