//! Plans: the 40 goals of testdata/plans.json, which the command line and the Python package are tested with too.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { CoreError, close, documents, root, run, folder, start } from "./core.mjs";
import { writeFileSync } from "node:fs";

const cases = JSON.parse(readFileSync(join(root, "testdata/plans.json"), "utf8"));
const core = await start();

/** The options of the command line for a goal. */
const options = (goal) => Object.entries(goal).flatMap(([name, value]) => [`--${name.replace("_", "-")}`, ...(value === true ? [] : [value])]);

test("40 goals have the plans of the command line, document by document", () => {
  assert.equal(cases.length, 40);
  for (const { goal, take, rows } of cases) {
    const what = JSON.stringify(goal);
    const advice = core.call({ type: "advise", goal });
    const expected = documents(["filter", "plan", "--json", "--explain", ...options(goal)]);
    close([...advice.rows.map((row) => row.document), advice.document], expected, what);
    assert.equal(advice.take, take, what);
    rows.forEach((row, i) => {
      const { document } = advice.rows[i];
      const found = Object.fromEntries(Object.keys(row).map((name) => [name, document[name]]));
      close(found, row, what);
    });
  }
});

test("the table is the one that the command line prints", () => {
  for (const { goal } of cases.filter((one) => one.take)) {
    const text = run(["filter", "plan", ...options(goal)]);
    const advice = core.call({ type: "advise", goal });
    const words = (line) =>
      line
        .trim()
        .split(/ {2,}| (?=\d)/)
        .join(" ");
    assert.equal(text.split("\n")[0], advice.verdict);
    for (const { variant, cells } of advice.rows.filter((row) => row.fits)) {
      const line = [variant, ...advice.columns.map((column) => cells[column.id])].join(" ");
      assert(text.split("\n").map(words).includes(line), `${JSON.stringify(goal)}: ${line}\n${text}`);
    }
    for (const note of advice.notes) assert(text.replaceAll(/\n +/g, " ").includes(note), note);
  }
});

test("what only the page reads is planned as what it means, and told as the command line has it", () => {
  for (const [goal, command] of [
    [{ keys: "3 * 1000 + 500", fpp: "1/100" }, "umbel filter plan --keys 3500 --fpp 1/100"],
    [{ keys: "6550", memory: "2^16" }, "umbel filter plan --keys 6550 --memory 8192"],
    [{ keys: "2^12", memory: "2 ^ 16 bits" }, "umbel filter plan --keys 4096 --memory 8192"],
    [{ keys: "1e+3", memory: "8,000 bits" }, "umbel filter plan --keys 1000 --memory 1000"],
    [{ keys: "2*3*1k", memory: "1Mbits" }, "umbel filter plan --keys 6000 --memory 125000"],
  ]) {
    const advice = core.call({ type: "advise", goal });
    assert.equal(advice.command, command);
    close(advice.document, documents([...command.split(" ").slice(1), "--json"]).at(-1));
    close(advice.rows[0].document.bits, documents([...command.split(" ").slice(1), "--json"])[0].bits);
  }
  for (const keys of ["3 *", "+", "1e30 * 1e30", "0 * 5"])
    assert.throws(() => core.call({ type: "advise", goal: { keys, fpp: "1%" } }), /is not a number of keys|zero keys/);
});

test("what is wrong with a goal names the member that it is about", () => {
  for (const [goal, field, message] of [
    [{}, undefined, /give two of keys, fpp and a size/],
    [{ keys: "1M" }, undefined, /give two of/],
    [{ keys: "many", fpp: "1%" }, "keys", /"many" is not a number of keys such as/],
    [{ keys: "0", fpp: "1%" }, "keys", /zero keys/],
    [{ keys: "1,5", fpp: "1%" }, "keys", /"1,5" is not a number of keys/],
    [{ keys: "1M", fpp: "2" }, "fpp", /between 0 and 1|2/],
    [{ keys: "1M", fpp: "", memory: "4 gigs" }, "memory", /is not a size such as/],
    [{ keys: "1M", fpp: "1%", except: "5" }, "except", /--known/],
    [{ keys: "1M", fpp: "1%", absent: "0.5" }, "absent", /--lookup/],
    [{ keys: "1M", fpp: "1%", lookup: "1 day" }, "lookup", /is not a time such as/],
    [{ keys: "1M", fpp: "1%", lookup: "1ms", absent: "2" }, "absent", /is not a share/],
    [{ keys: "1M", surprise: "1" }, undefined, /unknown field `surprise`/],
  ]) {
    assert.throws(
      () => core.call({ type: "advise", goal }),
      (error) => error instanceof CoreError && !error.fatal && (error.field ?? undefined) === field && message.test(error.message),
      JSON.stringify(goal),
    );
  }
  assert.throws(() => core.call({ type: "nonsense" }), /there is no request "nonsense"/);
  assert.throws(() => core.call({ type: "map", handle: 7, cells: 10 }), /this file is closed/);
});

test("the lines to copy make the filter that was planned", (t) => {
  const path = folder(t);
  writeFileSync(join(path, "keys.txt"), "a\nb\nc\n");
  writeFileSync(join(path, "others.txt"), "d\ne\n");
  let made = 0;
  const kinds = new Set();
  for (const { goal } of cases) {
    for (const { variant, kind, fits, document, snippets } of core.call({ type: "advise", goal }).rows) {
      if (!fits || document.bytes > 1 << 24 || kind === "attributes") continue;
      // These are sized by the keys that there are, not by those planned.
      if (["bloomier", "cascade"].includes(kind)) continue;
      if (kinds.has(`${variant}${Object.keys(goal)}`)) continue;
      kinds.add(`${variant}${Object.keys(goal)}`);
      const words = snippets.command.split(" ").slice(1);
      const files = { "seen.umbel": "seen.umbel", "keys.txt": "keys.txt", "others.txt": "others.txt" };
      const args = words.map((word) => (files[word] ? join(path, word) : word));
      run([...args, "--force"]);
      const [receipt] = documents(["filter", "info", "--json", join(path, "seen.umbel")]);
      assert.equal(receipt.kind, kind);
      assert.equal(receipt.bytes, document.bytes, `${snippets.command}: ${receipt.bytes}, planned ${document.bytes}`);
      const named = /keys: ([\d_]+), fpp: ([^ ,]+)/.exec(snippets.javascript);
      if (named) {
        const [, keys, fpp] = named;
        run([
          "filter",
          "build",
          "--kind",
          variant,
          "--keys",
          keys.replaceAll("_", ""),
          "--fpp",
          fpp,
          "--force",
          "-o",
          join(path, "same.umbel"),
          join(path, "keys.txt"),
        ]);
        const [same] = documents(["filter", "info", "--json", join(path, "same.umbel")]);
        assert(same.bytes <= document.bytes, `${snippets.javascript}: ${same.bytes}, planned ${document.bytes}`);
      }
      made += 1;
    }
  }
  assert(made > 40, `${made}`);
  // Its default rate would not be the plan's.
  const [{ snippets }] = core.call({ type: "advise", goal: { keys: "10M", ship: "12MB", known: true } }).rows;
  assert.equal(snippets.python, "import umbel\n\nseen = umbel.Bloomier(keys, 0.00390625)");
  assert.equal(snippets.javascript, null);
  const growing = core.call({ type: "advise", goal: { keys: "1 million", fpp: "1/100", grows: true } }).rows[0].snippets.javascript;
  for (const { kind, snippets } of core.call({ type: "advise", goal: { keys: "10G", fpp: "1%" } }).rows) {
    if (kind === "blocked" || kind === "classic") assert.equal(snippets.javascript, null);
  }
  assert.match(growing, /from "umbel\/foreign";\n\nconst seen = new Filter\(\{ keys: 1_000_000, fpp: 0.01, kind: "scalable" \}\);/);
});

test("charts have points within their axes, and a source", () => {
  const { charts } = core.call({ type: "curves", goal: { keys: "1000", fpp: "1%" } });
  assert.deepEqual(
    charts.map((chart) => chart.id),
    ["overfill", "keys", "probes", "bits", "exponent", "time"],
  );
  for (const { id, x, y, series, source, formula } of charts) {
    assert(series.length > 0 && formula && /^https:/.test(source.url), id);
    for (const one of series) {
      assert.equal(one.x.length, one.y.length);
      assert(one.x.every(Number.isFinite) && one.y.every(Number.isFinite), `${id}: ${one.name}`);
      assert(
        one.x.some((at, i) => x.low <= at && at <= x.high && y.low <= one.y[i] && one.y[i] <= y.high),
        `${id}: ${one.name}`,
      );
    }
  }
  // A filter planned for 1 % has this rate at 1 times its keys.
  const overfill = charts[0].series.find((one) => one.kinds.includes("classic"));
  const planned = overfill.x.findIndex((times) => Math.abs(times - 1) < 1e-3);
  if (planned >= 0) assert(Math.abs(overfill.y[planned] - 0.01) < 0.001);
  assert.deepEqual(
    core.call({ type: "curves", goal: { keys: "1000", fpp: "1%" }, charts: ["time"] }).charts.map((chart) => chart.id),
    ["time"],
  );
});
