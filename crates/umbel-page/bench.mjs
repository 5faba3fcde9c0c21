//! Measures the core: `node bench.mjs --filter FILE --native PROGRAM --wasm FILE…` opens a filter of the numbers from 1 on,
//! maps it and looks keys up, in WebAssembly and, by the example `native`, without; in turns, so that a busy machine slows
//! both. `cargo x bench --page` calls it.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { parseArgs } from "node:util";

process.env.UMBEL ??= "umbel";
const { core, file } = await import("./tests/core.mjs");

const { values } = parseArgs({
  options: {
    filter: { type: "string" },
    native: { type: "string" },
    wasm: { type: "string", multiple: true },
    keys: { type: "string", default: "100000" },
    rounds: { type: "string", default: "7" },
  },
});
const count = Number(values.keys);
const source = file(values.filter);

/** One that answers requests, and how long each takes. */
async function wasm(path) {
  const made = await core(path);
  return { name: basename(path, ".wasm"), call: async (request) => made.call(request.type === "open" ? { ...request, file: made.add(source) } : request) };
}
function native(program) {
  const child = spawn(program, [values.filter], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    name: "native",
    end: () => child.stdin.end(),
    async call(request) {
      const more = request.type === "open" ? { file: 0, name: source.name, bytes: source.size } : {};
      child.stdin.write(`${JSON.stringify({ ...request, ...more })}\n`);
      const answer = JSON.parse((await lines.next()).value);
      if (answer.error) throw new Error(answer.error.message);
      return answer.ok;
    },
  };
}
const all = [...(await Promise.all(values.wasm.map(wasm))), native(values.native)];

const table = new Map();
const note = (what, name, value) => {
  const row = table.get(what) ?? new Map();
  row.set(name, [...(row.get(name) ?? []), value]);
  table.set(what, row);
};
async function timed(what, one, request) {
  const begin = performance.now();
  const answer = await one.call(request);
  note(`${what}, ms`, one.name, performance.now() - begin);
  return answer;
}

// Half of them are in the filter, spread over it.
const largest = 2 * Number(/(\d+)M/.exec(basename(values.filter))?.[1] ?? 100) * 1e6;
const keys = (round) => Array.from({ length: count }, (_, i) => String(1 + round + i * Math.floor(largest / count)));
for (let round = 0; round < Number(values.rounds); round += 1) {
  for (const one of all) {
    const { handle, parts } = await timed("open", one, { type: "open" });
    await timed("map of all, the first", one, { type: "map", handle, cells: 4096 });
    await timed("map of all, again", one, { type: "map", handle, cells: 4096 });
    const from = Math.floor(parts[0].cells / 3 / 512) * 512;
    await timed("map of 2,000,000 cells", one, { type: "map", handle, from, to: from + 2e6, cells: 4096 });
    await timed("map of 4,096 cells", one, { type: "map", handle, from, to: from + 4096, cells: 4096 });
    const answer = await timed(`${count} keys, whole request`, one, { type: "query", handle, keys: keys(round) });
    note("look-up, ns per key", one.name, answer.nanoseconds);
    note("keys found", one.name, answer.found);
    await one.call({ type: "close", handle });
  }
}
all.forEach((one) => one.end?.());

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];
const show = (values) => (median(values) >= 100 ? median(values).toFixed(0) : median(values).toFixed(1));
const names = all.map((one) => one.name);
console.log(`| ${source.name}, ${(source.size / 1e6).toFixed(1)} MB | ${names.join(" | ")} |`);
console.log(`|---|${names.map(() => "---:").join("|")}|`);
for (const [what, row] of table) console.log(`| ${what} | ${names.map((name) => show(row.get(name))).join(" | ")} |`);
const module = values.wasm.map((path) => `${basename(path)}: ${readFileSync(path).length} bytes`);
console.log(`\nMedians of ${values.rounds} rounds, in turns; Node ${process.version}. ${module.join(", ")}`);
