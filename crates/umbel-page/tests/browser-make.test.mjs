//! Make: lists become filters, the files that the command line makes.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";

import { start, umbel } from "./browser.mjs";

const folder = mkdtempSync(join(tmpdir(), "umbel-make-"));
const keys = Array.from({ length: 500 }, (_, i) => `key-${i}`);

let site;
before(async () => (site = await start()));
afterEach(() => site?.clear());
after(async () => {
  rmSync(folder, { recursive: true });
  await site?.close();
});

async function make(page) {
  await page.getByRole("button", { name: "Make the filter" }).click();
  await page.waitForSelector(".made .receipt");
}

/** The file that is downloaded, and that of the command which is shown. */
async function files(page, input) {
  const waiting = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download" }).click();
  const download = await waiting;
  const [, ...args] = (await page.textContent(".made code")).split(" ");
  const path = join(folder, download.suggestedFilename());
  const named = { [download.suggestedFilename()]: path, "keys.txt": "-" };
  execFileSync(umbel, [...args.map((arg) => named[arg] ?? arg), "-q", "--force"], { input, stdio: ["pipe", "ignore", "ignore"] });
  return [readFileSync(await download.path()), readFileSync(path)];
}

test("a list becomes a filter, byte for byte that of the command line, of every kind and format", async () => {
  // Squid's keys are requests.
  const page = await site.open("#make");
  await page.waitForSelector("option[value=cascade]", { state: "attached" });
  await page.getByLabel("Keys, one per line").first().fill(keys.join("\n"));
  const all = await page.$$eval("optgroup option", (options) => options.map((option) => option.value));
  const names = all.filter((name) => name !== "cascade");
  assert(names.length > 20, `${names}`);
  for (const name of names) {
    await page.getByLabel("Kind or format").selectOption(name);
    if (name === "squid") {
      await page
        .getByLabel("Keys, one per line")
        .first()
        .fill(keys.map((key) => `GET http://example.org/${key}`).join("\n"));
    }
    await make(page);
    const input = name === "squid" ? keys.map((key) => `GET http://example.org/${key}\n`).join("") : keys.map((key) => `${key}\n`).join("");
    const [made, printed] = await files(page, input);
    assert(made.equals(printed), `${name}: ${made.length} bytes, and ${printed.length} of the command line`);
    if (name === "squid") await page.getByLabel("Keys, one per line").first().fill(keys.join("\n"));
  }
});

test("the filter of a file with carriage returns is that of the command", async () => {
  const page = await site.open("#make");
  await page.waitForSelector("option[value=cascade]", { state: "attached" });
  const input = keys.map((key) => `${key}\r\n`).join("");
  await page.setInputFiles(".recipe input[type=file] >> nth=0", { name: "keys.txt", mimeType: "text/plain", buffer: Buffer.from(input) });
  await page.waitForFunction(() => /^The file has carriage returns/.test(document.querySelector(".recipe .lines-box [role=status]").textContent));
  await make(page);
  const [made, printed] = await files(page, input);
  assert(made.equals(printed));
});

test("the command has the rate, however it is written", async () => {
  const page = await site.open("#make");
  await page.waitForSelector("option[value=cascade]", { state: "attached" });
  await page.getByLabel("Keys, one per line").first().fill(keys.join("\n"));
  for (const [rate, printed] of [
    ["1 in 1,000", "0.001"],
    ["1 in 1k", "0.001"],
    ["1 in 3", "0.3333333333333333"],
    ["", "0.01"],
    [" 2 % ", "0.02"],
    ["1e-7", "1e-7"],
  ]) {
    await page.getByLabel("False positive rate").fill(rate);
    await make(page);
    assert.match(await page.textContent(".made code"), new RegExp(` --fpp ${printed} -o `));
    const [made, same] = await files(page, keys.map((key) => `${key}\n`).join(""));
    assert(made.equals(same), rate);
  }
});

test("a cascade has two lists, and its filter is looked into", async () => {
  const page = await site.open("#make");
  await page.waitForSelector("option[value=cascade]", { state: "attached" });
  await page.getByLabel("Kind or format").selectOption("cascade");
  await page.getByLabel("Keys, one per line").fill(keys.join("\n"));
  await page.getByLabel("Keys that must not pass, one per line").fill("key-500\nkey-501\nkey-502");
  await make(page);
  await page.getByRole("button", { name: "Look inside" }).click();
  await page.waitForSelector(".card");
  await page.locator(".query textarea").fill("key-1\nkey-501");
  await page.waitForSelector(".answers .no");
  assert.deepEqual(await page.$$eval(".answers tbody td:nth-child(2)", (cells) => cells.map((cell) => cell.textContent)), ["may be in", "not in"]);
});

test("what is wrong with a recipe is told", async () => {
  const page = await site.open("#make");
  await page.waitForSelector("option[value=cascade]", { state: "attached" });
  const wrong = (pattern) => page.waitForFunction((pattern) => new RegExp(pattern).test(document.querySelector(".recipe .error").textContent), pattern);
  await page.getByRole("button", { name: "Make the filter" }).click();
  await wrong("no keys: give at least one line");
  await page.getByLabel("Keys, one per line").first().fill("one");
  await page.getByLabel("False positive rate").fill("often");
  await page.getByRole("button", { name: "Make the filter" }).click();
  await wrong('"often" is not a probability');
  await page.getByLabel("False positive rate").fill("1 in 1000");
  await page.getByLabel("Kind or format").selectOption("guava");
  await page.getByLabel("Keys are").selectOption("i64");
  await page.getByRole("button", { name: "Make the filter" }).click();
  await wrong("line 1: ");
});
