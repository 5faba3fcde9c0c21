//! Files: the same receipts, comparisons and answers as on the command line; and what is said of bad files.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { ftruncateSync, mkdirSync, openSync, readFileSync, readdirSync, closeSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";

import { CoreError, bytes, close, documents, file, folder, root, run, start, umbel } from "./core.mjs";

const golden = join(root, "testdata/golden");
let core;
const heard = [];
before(async () => (core = await start((done, total) => heard.push([done, total]))));

const open = (path) => core.call({ type: "open", file: core.add(file(path)) });
const refusal = (source, more = {}) => {
  try {
    const { formats, message } = core.call({ type: "open", file: core.add(source), ...more });
    // Or it may be of several systems, by chance.
    if (formats) return message;
  } catch (error) {
    assert(error instanceof CoreError && !error.fatal, error.message);
    return error.message;
  }
  return assert.fail(`${source.name} was opened`);
};

/** The secret of the keyed golden files. */
const manifest = JSON.parse(readFileSync(join(golden, "manifest.json"), "utf8"));

test("every golden file has the receipt of umbel filter info", () => {
  const paths = readdirSync(golden).filter((name) => name.endsWith(".umbel") && !name.startsWith("caller"));
  assert(paths.length > 60);
  const expected = documents(["filter", "info", "--json", ...paths.map((name) => join(golden, name))]);
  for (const [i, name] of paths.entries()) {
    const opened = open(join(golden, name));
    close(opened.documents[0], { ...expected[i], file: name }, name);
    const shown = run(["filter", "info", join(golden, name)])
      .split("\n")
      .slice(1)
      .filter(Boolean);
    const lines = opened.rows.map(([title, words]) => `${title} ${words}`.replace(/ +/g, " ").trim());
    assert.deepEqual(
      lines,
      shown.map((line) => line.replace(/ +/g, " ").trim()),
      name,
    );
    for (const [part, { cells, block }] of opened.parts.entries()) {
      const whole = core.call({ type: "map", handle: opened.handle, part, cells: 100 });
      assert.equal(whole.to, cells);
      const some = core.call({ type: "map", handle: opened.handle, part, from: 0, to: Math.min(block, cells), cells: block });
      assert.equal(some.fill, false, name);
      assert(some.values.length <= block && some.values.every(Number.isFinite), name);
    }
    core.call({ type: "profile", handle: opened.handle });
    core.call({ type: "close", handle: opened.handle });
  }
});

test("packed and signed files are opened as what they hold, and say how they came", (t) => {
  const path = folder(t);
  const keys = Array.from({ length: 5000 }, (_, i) => `key ${i}`).join("\n");
  writeFileSync(join(path, "keys.txt"), keys);
  const secret = join(path, "me");
  run(["filter", "key", "new", "--signing", "-o", secret]);
  run(["filter", "build", "--fpp", "0.001", "--kind", "classic", "--sign", secret, "-o", join(path, "a.umbel"), join(path, "keys.txt")]);
  run(["filter", "pack", join(path, "a.umbel"), "-o", join(path, "a.packed")]);
  for (const name of ["a.umbel", "a.packed"]) {
    const opened = open(join(path, name));
    const [expected] = documents(["filter", "info", "--json", join(path, name)]);
    close(opened.documents[0], { ...expected, file: name }, name);
    assert.match(opened.wrapping.signer, /^umbel-public-key-1 /, name);
    assert.equal(opened.wrapping.packed, name === "a.packed");
    const { keys: answers } = core.call({ type: "query", handle: opened.handle, keys: ["key 0", "key 4999", "nobody"] });
    assert.deepEqual(
      answers.map((answer) => answer.found),
      [true, true, false],
    );
  }
});

test("a signature is accepted from whom, as what and as new as asked for, and nothing else is", (t) => {
  const path = folder(t);
  const at = (name) => join(path, name);
  for (const name of ["me", "other"]) run(["filter", "key", "new", "-q", "--signing", "-o", at(name)]);
  writeFileSync(at("keys"), "a\nb\n");
  run(["filter", "build", "--sign", at("me"), "--list", "block", "--serial", "42", "-o", at("a.umbel"), at("keys")]);
  run(["filter", "pack", "--sign", at("me"), "--list", "block", "--serial", "42", at("a.umbel"), "-o", at("a.packed")]);
  run(["filter", "build", "--keys", "10", "-o", at("plain.umbel"), at("keys")]);
  const [trust, other] = ["me", "other"].map((name) => readFileSync(at(`${name}.pub`), "utf8"));
  const parquet = join(root, "testdata/foreign/parquet/groups.parquet");
  for (const name of ["a.umbel", "a.packed"]) {
    for (const more of [{}, { list: "block" }, { newer_than: "41" }, { list: "block", newer_than: "0" }]) {
      const opened = core.call({ type: "open", file: core.add(file(at(name))), trust, ...more });
      assert.equal(opened.verified, true, name);
    }
    const refused = (more, reason, field) =>
      assert.throws(
        () => core.call({ type: "open", file: core.add(file(at(name))), trust, ...more }),
        (error) => reason.test(error.message) && (error.field ?? undefined) === field,
      );
    refused({ trust: other }, /is signed by umbel-public|and not by the trusted key/);
    refused({ list: "allow" }, /signed as the list "block", not as the list "allow"; get that list/);
    refused({ newer_than: "42" }, /serial number 42, which is not newer than 42; get a newer version/);
    refused({ newer_than: "18446744073709551615" }, /not newer than 18446744073709551615/);
    refused({ trust: "me" }, /public key/, "trust");
    refused({ trust: "", list: "block" }, /a public key to trust; give it/, "trust");
    refused({ list: "two\nlines" }, /is not a list name/, "list");
    for (const newer_than of ["new", "-1", "1.5", "18446744073709551616"]) refused({ newer_than }, /is whole and from 0 to 18446744073709551615/, "newer_than");
  }
  // Whatever has no signature is not verified, of whatever format it is.
  for (const name of [at("plain.umbel"), parquet, join(root, "testdata/foreign/guava/utf8-p03.bin")]) {
    assert.match(refusal(file(name), { trust }), /not signed; get a signed one/, name);
    assert.equal(open(name).verified, false);
  }
});

test("integers are looked up in filters of them, as on the command line", (t) => {
  const path = folder(t);
  const keys = ["7", "18446744073709551615", "-1", "007", "x", ""];
  for (const kind of ["blocked", "bloomier"]) {
    run(["filter", "build", "-q", "--force", "--kind", kind, "--key-type", "i64", "--fpp", "1e-9", "-o", join(path, "i.umbel")], "7\n-1\n");
    const { handle, query, probes } = open(join(path, "i.umbel"));
    assert.equal(query, "yes");
    const found = core.call({ type: "query", handle, keys }).keys.map((one) => one.found);
    assert.deepEqual(found, [true, true, true, false, false, false], kind);
    if (!probes) continue;
    const cells = (key) => core.call({ type: "probes", handle, key }).cells;
    assert(cells("7").length > 0 && cells("7").every(({ value }) => value > 0));
    assert.deepEqual(cells("x"), []);
  }
});

test("answers are those of umbel filter query, kind by kind", (t) => {
  const path = folder(t);
  const present = Array.from({ length: 3000 }, (_, i) => `user-${i}`);
  const asked = Array.from({ length: 9000 }, (_, i) => `user-${i}`);
  writeFileSync(join(path, "keys"), present.join("\n"));
  writeFileSync(join(path, "asked"), asked.join("\n"));
  for (const kind of ["blocked", "classic", "sliced", "counting:8", "scalable", "stable", "window", "bloomier", "coded", "cascade"]) {
    const filter = join(path, "f.umbel");
    run(["filter", "build", "--force", "--kind", kind, "--fpp", "0.02", "-o", filter, join(path, "keys")]);
    const expected = new Set(
      run(["filter", "query", filter, join(path, "asked")])
        .trim()
        .split("\n"),
    );
    const opened = open(filter);
    const answer = core.call({ type: "query", handle: opened.handle, keys: asked });
    for (const { key, found } of answer.keys) assert.equal(found, expected.has(key), `${kind}: ${key}`);
    assert.equal(answer.found, expected.size);
    // What forgets is certain of nothing.
    assert.equal(answer.doubt?.name, { stable: "faded", window: "left" }[kind]);
    assert(answer.nanoseconds > 0);
    core.call({ type: "close", handle: opened.handle });
  }
});

test("a keyed filter answers with its secret, and with no other", (t) => {
  const path = folder(t);
  const secret = "000102030405060708090a0b0c0d0e0f";
  writeFileSync(join(path, "secret"), secret);
  writeFileSync(join(path, "keys"), "a\nb\nc\n");
  run(["filter", "build", "--secret-file", join(path, "secret"), "-o", join(path, "k.umbel"), join(path, "keys")]);
  const { handle, query } = open(join(path, "k.umbel"));
  assert.equal(query, "secret");
  assert.throws(() => core.call({ type: "query", handle, keys: ["a"] }), /keyed/);
  assert.throws(
    () => core.call({ type: "unlock", handle, secret: "abc" }),
    (error) => error.field === "secret" && /32 hexadecimal digits/.test(error.message),
  );
  assert.throws(() => core.call({ type: "unlock", handle, secret: secret.replace("0f", "10") }), /secret|key/);
  assert.equal(core.call({ type: "unlock", handle, secret }).query, "yes");
  const { keys } = core.call({ type: "query", handle, keys: ["a", "z"] });
  assert.deepEqual(
    keys.map((key) => key.found),
    [true, false],
  );
});

test("maps give values, and rows are looked up by field", (t) => {
  const path = folder(t);
  writeFileSync(join(path, "rows.csv"), "name,town\nann,Oslo\nbob,Rome\n");
  run(["filter", "build", "--csv", "--kind", "attributes", "--key", "name", "--key", "town", "-o", join(path, "rows.umbel"), join(path, "rows.csv")]);
  const opened = open(join(path, "rows.umbel"));
  assert.deepEqual(opened.fields, ["name", "town"]);
  const ask = (field, keys) => core.call({ type: "query", handle: opened.handle, field, keys }).keys.map((key) => key.found);
  assert.deepEqual(ask("name", ["ann", "Oslo"]), [true, false]);
  assert.deepEqual(ask("town", ["ann", "Oslo"]), [false, true]);
  assert.throws(() => ask("age", ["7"]), /age/);
});

test("comparisons are those of umbel filter overlap", (t) => {
  const path = folder(t);
  const keys = (from, to) => Array.from({ length: to - from }, (_, i) => `k${from + i}`).join("\n");
  for (const [name, from, to, more] of [
    ["a", 0, 4000, []],
    ["b", 2000, 6000, []],
    ["seeded", 0, 4000, ["--seed", "7"]],
  ]) {
    writeFileSync(join(path, "keys"), keys(from, to));
    run(["filter", "build", ...more, "--keys", "4000", "-o", join(path, `${name}.umbel`), join(path, "keys")]);
  }
  for (const [one, other] of [
    ["a", "b"],
    ["a", "a"],
    ["a", "seeded"],
  ]) {
    const [left, right] = [one, other].map((name) => open(join(path, `${name}.umbel`)).handle);
    const found = core.call({ type: "compare", left, right });
    const [expected] = documents(["filter", "overlap", "--json", ...[one, other].map((name) => join(path, `${name}.umbel`))]);
    expected.left.file = `${one}.umbel`;
    expected.right.file = `${other}.umbel`;
    close(found.document, expected, `${one} and ${other}`);
  }
});

test("an index names the files in which umbel find looks", (t) => {
  const path = folder(t);
  const at = (name) => join(path, name);
  const find = (index, key) =>
    spawnSync(umbel, ["find", "-q", "--files", at(index), key], { encoding: "utf8" })
      .stdout.split("\n")
      .filter(Boolean)
      .map((name) => name.slice(path.length + 1));
  mkdirSync(at("logs"));
  for (let number = 0; number < 40; number += 1) {
    const line = (i) => `user_id=${number * 50 + i} from 10.0.${number}.${i}:8080 Zoë request-${number}-${i}-of-many\n`;
    writeFileSync(at(`logs/${number}.log`), Array.from({ length: 50 }, (_, i) => line(i)).join(""));
  }
  writeFileSync(at("rows.csv"), "id,town\nC-17,Oslo\nC-18,Rome\n");
  run(["index", "-q", "-o", at("words.index"), at("logs")]);
  run(["index", "-q", "--csv", "-k", "id", "-o", at("rows.index"), at("rows.csv")]);
  run(["index", "-q", "--csv", "-k", "town", "--ignore-case", "-o", at("folded.index"), at("rows.csv")]);
  for (const [name, present, absent] of [
    [
      "words.index",
      ["user_id=1017", "USER_ID=1017", "10.0.3.17", "request-39-49-of-many", "from 10.0.7", "Zoë"],
      ["another-absent-name", "absent-from-all-files"],
    ],
    ["rows.index", ["C-17", "C-18"], ["C-19", "Oslo"]],
  ]) {
    const opened = open(at(name));
    const [expected] = documents(["filter", "info", "--json", at(name)]);
    const { stale, gone, ...document } = expected;
    assert.deepEqual([stale, gone], [[], []]);
    close(opened.documents[0], { ...document, file: name }, name);
    const shown = run(["filter", "info", at(name)])
      .trim()
      .split("\n")
      .slice(1, -2);
    assert.deepEqual(
      opened.rows.map(([title, words]) => `${title} ${words}`),
      shown.map((line) => line.trim().replace(/ +/g, " ")),
    );
    const answer = core.call({ type: "query", handle: opened.handle, keys: [...present, ...absent, " ?! "] });
    assert.equal(answer.doubt.name, "indexed");
    const files = (one) => one.files.map((file) => opened.table.rows[file][0]);
    for (const one of answer.keys.slice(0, -1)) {
      const found = find(name, one.key);
      assert(
        found.every((file) => files(one).includes(file)),
        `${one.key}: ${files(one)}, not all of ${found}`,
      );
      // Short words are in the filters of many blocks by chance.
      assert(files(one).length <= found.length + 12, `${one.key}: ${files(one)}, and ${found}`);
    }
    for (const one of answer.keys.slice(present.length, -1)) assert.deepEqual([one.found, files(one)], [false, []], one.key);
    const none = answer.keys.at(-1);
    if (name === "words.index") assert.deepEqual([none.error, answer.failed], ['" ?! " has no word', 1]);
    core.call({ type: "close", handle: opened.handle });
  }
  assert.match(open(at("folded.index")).query_why, /normalized keys.*umbel find folded\.index KEY/);
  const good = readFileSync(at("words.index"));
  const flipped = Buffer.from(good);
  flipped[good.length - 200] ^= 1;
  assert.match(refusal(bytes("a.index", flipped)), /^a\.index: is damaged \(page \d+\); rebuild it with umbel index/);
  assert.match(refusal(bytes("a.index", good.subarray(0, good.length - 2000))), /truncated or damaged\?/);
  const [left, right] = ["words.index", "rows.index"].map((name) => open(at(name)).handle);
  assert.throws(() => core.call({ type: "compare", left, right }), /is an index of files, which cannot be compared/);
});

test("the index in testdata has the answers of its manifest", () => {
  const from = join(root, "testdata/find");
  for (const { file: name, answers } of JSON.parse(readFileSync(join(from, "manifest.json"), "utf8"))) {
    const opened = open(join(from, name));
    const keys = Object.keys(answers);
    const found = core.call({ type: "query", handle: opened.handle, keys }).keys;
    for (const one of found) {
      const files = one.files.map((file) => opened.table.rows[file][0]);
      assert.deepEqual(files, [...new Set(answers[one.key].map(([file]) => file))], one.key);
    }
  }
});

/** Bad files, and what is said about each. */
test("ten bad files: each has a message that says what is wrong", (t) => {
  const path = folder(t);
  const good = readFileSync(join(golden, "blocked-k8.umbel"));
  const flipped = Buffer.from(good);
  flipped[good.length >> 1] ^= 4;
  const newer = Buffer.from(good);
  newer[8] = 99;
  const packed = readFileSync(
    join(
      root,
      "testdata/shared",
      readdirSync(join(root, "testdata/shared")).find((name) => name.endsWith(".packed")),
    ),
  );
  const badly = Buffer.from(packed);
  badly[packed.length - 40] ^= 1;
  const delta = readFileSync(
    join(
      root,
      "testdata/shared",
      readdirSync(join(root, "testdata/shared")).find((name) => name.endsWith(".delta")),
    ),
  );
  const jpeg = Buffer.concat([Buffer.from("ffd8ffe000104a46494600010100", "hex"), Buffer.alloc(3000, "picture")]);
  const parquet = readFileSync(join(root, "testdata/foreign/parquet/groups.parquet"));
  const cases = [
    ["empty.umbel", Buffer.alloc(0), /^empty\.umbel: not an umbel file: it is empty; name an umbel filter/],
    ["cut.umbel", good.subarray(0, good.length - 100), /^cut\.umbel: the header declares \d+ bytes, the file has \d+; truncated\? copy it again/],
    ["long.umbel", Buffer.concat([good, Buffer.from("more")]), /something was appended; copy it again/],
    ["flipped.umbel", flipped, /^flipped\.umbel: .*(checksum|damaged)/],
    ["newer.umbel", newer, /format version 99; this release reads version 1/],
    ["photo.jpg", jpeg, /^photo\.jpg: not an umbel file: it begins with "\\xff\\xd8\\xff\\xe0/],
    ["lines.txt", Buffer.from("apples\nplums\n".repeat(100)), /^lines\.txt: not an umbel file: it begins with "apples/],
    ["broken.packed", badly, /damaged|checksum/],
    ["change.delta", delta, /^change\.delta: is a delta, not a filter; apply it to its base: umbel filter patch FILTER change\.delta/],
    ["cut.parquet", parquet.subarray(0, parquet.length - 9), /^cut\.parquet: does not end with PAR1, as a Parquet file does; truncated\? copy it again/],
  ];
  for (const [name, content, message] of cases) {
    const said = refusal(bytes(name, content));
    assert.match(said, message);
    // The command line says the same, with its own way of naming the file, and the options that help.
    writeFileSync(join(path, name), content);
    const verb = name.endsWith(".parquet") ? ["parquet", "list"] : ["filter", "info"];
    const { stderr } = spawnSync(umbel, [...verb, join(path, name)], { encoding: "utf8" });
    const native = stderr
      .trim()
      .replaceAll(join(path, name), name)
      .replace(/^umbel \w+ \w+: |unpacking it to [^:]*: | \(--\S+\)$/g, "");
    assert.equal(said, native, name);
  }
  assert.match(refusal(bytes("x", good), { format: "guava" }), /^x: /);
  assert.match(refusal(bytes("x", good), { format: "nonsense" }), /nonsense/);
});

test("a file that is too large, and one that shrinks while it is read", (t) => {
  const path = join(folder(t), "large.umbel");
  const large = openSync(path, "w");
  writeSync(large, readFileSync(join(golden, "blocked-k8.umbel")));
  ftruncateSync(large, 3e9);
  closeSync(large);
  assert.match(
    refusal(file(path)),
    /^large\.umbel: has 2\.79 GiB, and a page can hold 2\.00 GiB at most; look into it on the command line: umbel filter info large\.umbel/,
  );
  const good = readFileSync(join(golden, "blocked-k8.umbel"));
  const shrinking = {
    ...bytes("s.umbel", good),
    read() {
      throw new Error("the file has changed");
    },
  };
  assert.match(refusal(shrinking), /^s\.umbel: the file has changed/);
  // The core goes on after all of this.
  assert.equal(open(join(golden, "blocked-k8.umbel")).format, "umbel");
});

test("a file that tells of more than there is memory for is refused, and the core goes on", () => {
  const good = readFileSync(join(golden, "blocked-k8.umbel"));
  for (let at = 8; at < 160; at += 1) {
    for (const bit of [1, 128]) {
      const bad = Buffer.from(good);
      bad[at] ^= bit;
      assert.match(refusal(bytes("f.umbel", bad)), /^f\.umbel: /);
    }
  }
  assert(heard.length > 0 && heard.every(([done, total]) => 0 < done && done <= total));
  assert(manifest);
});

test("every toy shows what its operations did", () => {
  const words = ["apple", "plum", "fig", "kiwi", "pear"];
  for (const kind of ["classic", "blocked", "counting", "scalable", "stable", "window"]) {
    const operations = [...words.map((word) => ({ op: "insert", word })), { op: "query", word: "apple" }, { op: "query", word: "nobody" }];
    const told = core.call({ type: "toy", kind, bits: 64, operations });
    assert.equal(told.steps.length, operations.length);
    assert.equal(told.steps[5].found, true, kind);
    assert(told.empty.every((part) => part.cells.every((cell) => cell === 0)));
    for (const { op, probes, parts, text } of told.steps) {
      assert(/^[A-Z]/.test(text), text);
      for (const { part, cell, set } of probes) assert.equal(set, parts[part].cells[cell] > 0);
      if (op === "insert") assert(probes.length > 0);
    }
  }
  const published = ["apples", "plums"].map((word) => ({ op: "insert", word }));
  const look = (word) => ({ op: "query", word });
  const classic = core.call({ type: "toy", kind: "classic", bits: 14, probes: 3, published: true, operations: [...published, look("mango")] });
  assert.match(classic.title, /Ceglowski/);
  assert(classic.steps.every((step, index) => index === 0 || step.fpp >= classic.steps[index - 1].fpp));
  const { steps } = classic;
  assert.deepEqual(
    steps[2].probes.map(({ cell, by }) => [cell, by]),
    [
      [8, "plums"],
      [3, "apples"],
      [12, "apples"],
    ],
  );
  // Two words share a counter, which is 2; one of them leaves, and the other stays.
  const remove = { op: "remove", word: "apples" };
  const counting = core.call({
    type: "toy",
    kind: "counting",
    bits: 14,
    probes: 3,
    published: true,
    operations: [...published, remove, look("plums"), look("apples"), remove],
  });
  assert.deepEqual(
    counting.steps.map((step) => step.parts[0].cells[11]),
    [1, 2, 1, 1, 1, 1],
  );
  assert.deepEqual(
    counting.steps.slice(3, 5).map((step) => step.found),
    [true, false],
  );
  assert.match(counting.steps[5].text, /nothing changes/);
});
