//! Parts of the front end that need no browser: goals in addresses, ticks of axes, formulas, lines of keys.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

/** A module of the page. */
async function module(name) {
  const entry = fileURLToPath(new URL(`../page/src/${name}.ts`, import.meta.url));
  const { outputFiles } = await build({ entryPoints: [entry], bundle: true, format: "esm", write: false });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);
}

const goal = await module("goal");
const ticks = await module("ticks");
const math = await module("math");

test("a goal is read from an address as it was written", () => {
  const states = [
    { goal: { keys: "5e9", fpp: "1%" }, chosen: null, compared: [] },
    { goal: { keys: "1,000", memory: "64 MiB", probes: "7", deletes: true, ages: true }, chosen: "cascade:1", compared: ["blocked", "counting/4"] },
    { goal: { fpp: "1 in 1000", ship: "12MB", known: true, lookup: "1ms", absent: "0.9" }, chosen: null, compared: [] },
  ];
  for (const state of states) assert.deepEqual(goal.read(goal.write(state)), state);
  assert.deepEqual(goal.read("").goal, goal.USUAL);
  assert.deepEqual(goal.read("keys=").goal, {});
  assert.equal(goal.read(`compare=${"abcdef".split("")}`).compared.length, goal.MOST);
});

test("links of other calculators are read as they mean", () => {
  const read = (query) => goal.read(query).goal;
  assert.deepEqual(read("n=4000&p=1.0E-7&m=&k="), { keys: "4000", fpp: "1.0E-7" });
  assert.deepEqual(read("n=4000&p=1000&m=&k=7"), { keys: "4000", fpp: "1 in 1000", probes: "7" });
  assert.deepEqual(read("m=134191&p=0.01"), { fpp: "0.01", memory: "134191 bits" });
  assert.deepEqual(read("m=64KiB&p=0.5E-5"), { fpp: "0.5E-5", memory: "64KiB" });
  assert(goal.isForeign("n=1&p=&m=&k=") && !goal.isForeign("n=&p=") && !goal.isForeign("keys=1M"));
});

test("ticks are powers of ten, as many as there is room for; below two decades 1, 2 and 5 as well", () => {
  assert.deepEqual(ticks.logTicks(1e-6, 1, 7), [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1]);
  const few = ticks.logTicks(1e-30, 1, 7);
  assert(few.length <= 7 && few.every((tick) => Number.isInteger(Math.round(Math.log10(tick)))), `${few}`);
  assert.deepEqual(ticks.logTicks(0.1, 10, 6), [0.1, 0.2, 0.5, 1, 2, 5, 10]);
  assert.deepEqual(ticks.logTicks(10, 0.1, 6), ticks.logTicks(0.1, 10, 6), "axes may go down");
  assert.deepEqual([0, 0.00977, 12.5, 3.1e-7, 1234567, 1e-300].map(ticks.short), ["0", "0.00977", "12.5", "3.1e-7", "1,234,567", "1e-300"]);
  assert.deepEqual([0.1, 1, 100, 1e5, 1e-4].map(ticks.power), ["0.1", "1", "100", "1e5", "1e-4"]);
});

/** A tree as a text: fractions in braces, powers with ^, products and sums in brackets. */
function shown(tree) {
  if (typeof tree === "string") return JSON.stringify(tree);
  const [one, two] = Array.isArray(tree.of) ? tree.of.map(shown) : [];
  return {
    number: () => tree.text,
    name: () => tree.text,
    word: () => tree.text,
    sign: () => tree.text,
    row: () => tree.parts.map(shown).join(" "),
    fraction: () => `{${one} / ${two}}`,
    power: () => `${one}^${two}`,
    below: () => `${one}_${two}`,
    brackets: () => `(${shown(tree.of)})`,
    call: () => `${shown(tree.name)} ${shown(tree.of)}`,
  }[tree.is]();
}

test("formulas are understood, and sentences stay sentences", () => {
  const parsed = (text) => math.parse(text).map(shown).join(" ");
  for (const [text, expected] of [
    ["m = -k·n / ln(1 - p^(1/k))", "m = − {k · n / ln (1 − p^{1 / k})}"],
    ["(1 - e^(-kn/m))^k = 0.009880", "(1 − e^− {k n / m})^k = 0.009880"],
    ["log2(1/p) = 6.68 bits per key at least", 'log_2 ({1 / p}) = 6.68 " bits per key at least"'],
    ["1 - (1 - p_i)^4 = 0.009713", "1 − (1 − p_i)^4 = 0.009713"],
    ["sum over L of Poisson(L; 512 n/m)·f(L) = 0.01, exact", '∑_L Poisson (L ; {512 n / m}) · f (L) = 0.01 ", exact"'],
    ["keys of equal hashes add n·2^-128 = 2.9e-33 to the rate", '"keys of equal hashes add " n · 2^− 128 = 2.9e-33 " to the rate"'],
    ["at most the sum of all links' rates, 0.01000", '"at most the sum of all links\' rates, 0.01000"'],
    ["codes of 12 bits, 42 in a bucket of 512 bits", '"codes of 12 bits, 42 in a bucket of 512 bits"'],
  ]) {
    assert.equal(parsed(text), expected);
  }
  // No letter is lost, whatever comes.
  const letters = (text) => text.replace(/[\s()^·*_"{}[\]/−-]/g, "").replaceAll("log2", "log");
  for (const text of ["((", "= = =", "a^", "1 / ", "ln ln", "n·", "x_1 + ", "2 n 3", "-", "", "a key of a set"]) {
    assert.equal(letters(parsed(text)), letters(text), text);
  }
});

test("no words of a link keep the page from answering", async () => {
  const { zh } = await module("words/zh");
  for (const word of [": slots 1 give 2, ", ", which level 1", " and ", "; ", " of ", "a and a ", " is ", "a: "]) {
    const started = performance.now();
    const text = `Look up "${word.repeat(20_000 / word.length)}": every link is asked. It is not in.`;
    assert.match(zh.core(text), /它不存在。$/);
    assert(performance.now() - started < 20_000, word);
  }
  assert.equal(zh.core('Look up "kiwi": every link is asked. It is not in.'), "查询“kiwi”：逐个询问所有子过滤器。它不存在。");
  assert.equal(zh.core("Bits 2, 5 and 9 are already set and stay set."), "位 2、5 和 9 早已置位，保持不变。");
  assert.equal(zh.core('Look up "figs": level 1 lets it pass, level 2 refuses it.'), "查询“figs”：第 1 层放行，第 2 层拒绝。");
  // A count is that of one part of a list.
  assert.equal(zh.core("blocked, 8 probes per key"), "blocked，每键探测 8 次");
  assert.equal(zh.core("84.0 KiB, 4.5 % of the text"), "84.0 KiB，文本的 4.5%");
  assert.equal(zh.core("n = 0.8 m, best k = 0.87"), "n = 0.8 m，最佳 k = 0.87");
  // Signs of code stay.
  assert.equal(zh.core('"x y" has no word'), "“x y”中没有词");
  assert.equal(zh.core('pass name="x" or {"a": "b"}'), 'pass name="x" or {"a": "b"}');
});

test("an address is written by the visible view alone, and not too often", async () => {
  const written = [];
  const clicked = [];
  const history = { replaceState: (...all) => written.push(["replace", all[2]]), pushState: (...all) => written.push(["push", all[2]]) };
  const page = {
    location: { hash: "" },
    history,
    window: globalThis,
    document: { addEventListener: (_, what) => clicked.push(what) },
    addEventListener: () => {},
  };
  Object.assign(globalThis, page);
  const { Address, hash, named } = await module("address");
  for (const [at, name, query] of [
    ["", "plan", ""],
    ["#learn?lesson=first&at=2", "learn", "lesson=first&at=2"],
    ["#nothing?x=?", "plan", "x=?"],
  ]) {
    globalThis.location.hash = at;
    assert.deepEqual(named(), { name, query });
  }
  assert.equal(hash("plan", "keys=5"), "#plan?keys=5");
  const moved = [];
  const address = new Address((...all) => moved.push(all));
  address.show("plan", "keys=1");
  address.keep("learn", "lesson=words");
  assert.deepEqual(moved, [["plan", "keys=1"]], "a view that is hidden writes nothing");
  for (let i = 0; i < 50; i += 1) address.keep("plan", `keys=${i}`, i === 10);
  // A link that is copied finds the last one; 50 changes are one step.
  clicked[0]();
  assert.deepEqual(written, [["push", "#plan?keys=49"]]);
  globalThis.location.hash = "#plan?keys=49";
  address.keep("plan", "keys=49");
  clicked[0]();
  assert.equal(written.length, 1, "the same address is not written again");
  history.replaceState = () => {
    throw new Error("too many");
  };
  address.keep("plan", "keys=50");
  clicked[0]();
});

test("the table for who has no script is the textbook's", () => {
  const html = readFileSync(new URL("../page/index.html", import.meta.url), "utf8");
  const rows = [...html.matchAll(/<td>([\d.]+) %<\/td><td>([\d.]+)<\/td><td>(\d+)<\/td>/g)];
  assert.equal(rows.length, 6);
  for (const [, percent, bits, probes] of rows) {
    const binary = -Math.log2(Number(percent) / 100);
    assert.equal(bits, (binary / Math.LN2).toFixed(2));
    assert.equal(probes, String(Math.round(binary)));
  }
});
