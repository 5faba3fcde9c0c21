//! Look: files are opened, shown, mapped, queried and compared; bad ones are refused with a reason.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";

import { repository, start, umbel } from "./browser.mjs";

const golden = (name) => join(repository, "testdata", "golden", name);
const foreign = (name) => join(repository, "testdata", "foreign", name);
const folder = mkdtempSync(join(tmpdir(), "umbel-look-"));
const file = (name) => join(folder, name);

let site;
before(async () => (site = await start()));
afterEach(() => site?.clear());
after(async () => {
  rmSync(folder, { recursive: true });
  await site?.close();
});

/** A view with these files open. */
async function open(files, options) {
  const page = await site.open("#look", options);
  await page.setInputFiles(".drop input[type=file]", files);
  await page.waitForFunction((count) => document.querySelectorAll(".card").length === count, [files].flat().length);
  return page;
}

const receipt = (page) => page.$$eval(".card .receipt > *", (all) => all.map((one) => one.textContent));
const list = (page) => page.$$eval(".answers tbody tr", (rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent.replace(/^!/, ""))));

/** Types keys, and waits for as many answers as there are keys listed. */
async function ask(page, keys) {
  await page.locator("textarea").first().fill(keys.join("\n"));
  await page.waitForFunction((count) => document.querySelectorAll(".answers tbody tr").length === count, Math.min(200, keys.length));
  return list(page);
}

test("a receipt is the command line's", async () => {
  const page = await open(golden("blocked-k8.umbel"));
  const lines = execFileSync(umbel, ["filter", "info", golden("blocked-k8.umbel")], { encoding: "utf8" })
    .trimEnd()
    .split("\n")
    .slice(1);
  const rows = lines.flatMap((line) => line.trim().split(/ {2,}/));
  assert.deepEqual(await receipt(page), rows);
  assert.equal(await page.textContent(".card h2"), "blocked-k8.umbel");
  assert.match(await page.textContent(".status"), /blocked-k8\.umbel is open/);
});

test("a file that is dropped is opened", async () => {
  const page = await site.open("#look");
  const bytes = [...readFileSync(golden("classic-odd.umbel"))];
  const data = await page.evaluateHandle((bytes) => {
    const data = new DataTransfer();
    data.items.add(new File([new Uint8Array(bytes)], "dropped.umbel"));
    return data;
  }, bytes);
  await page.dispatchEvent(".drop", "dragover", { dataTransfer: data });
  await page.dispatchEvent(".drop", "drop", { dataTransfer: data });
  await page.waitForSelector(".card");
  assert.equal(await page.textContent(".card h2"), "dropped.umbel");
});

test("typed keys are looked up", async () => {
  const page = await open(golden("blocked-k8.umbel"));
  const found = await ask(page, ["member-0", "member-999", "probe-0", "probe-374", "probe-480"]);
  // The manifest lists 374 and 480 as the first false positives.
  assert.deepEqual(
    found.map(([, answer]) => answer),
    ["may be in", "may be in", "not in", "may be in", "may be in"],
  );
  assert.match(await page.textContent(".summary"), /4 of 5/);
});

test("an index is asked which files may hold a text", async () => {
  const page = await open(join(repository, "testdata", "find", "words.index"));
  assert.match(await page.textContent(".card .title"), /^index of 3 files, .* of text in \d+ blocks$/);
  const names = await page.$$eval(".card tbody tr td:first-child", (cells) => cells.map((cell) => cell.textContent));
  assert.deepEqual(names, ["a.log", "b.log", "c.log"]);
  assert.deepEqual(await ask(page, ["user_id=17", "10.0.3.17", "absentabsent", "?"]), [
    ["user_id=17", "may be in a.log, c.log"],
    ["10.0.3.17", "may be in a.log"],
    ["absentabsent", "in no file"],
    ["?", '"?" has no word'],
  ]);
  assert.match(await page.textContent(".summary"), /^2 of 4 may be in; 1 certainly is not, unless files have changed since/);
  assert.equal(await page.locator(".map-view").count(), 0);
});

test("100,000 pasted keys are looked up, and the page goes on", async () => {
  const page = await open(golden("blocked-k8.umbel"));
  await page.evaluate(() => {
    window.frames_seen = 0;
    const count = () =>
      requestAnimationFrame(() => {
        window.frames_seen += 1;
        count();
      });
    count();
  });
  await page.$eval("textarea", (text) => {
    const data = new DataTransfer();
    data.setData("text/plain", Array.from({ length: 100_000 }, (_, i) => `member-${i % 2000}`).join("\n"));
    text.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
  });
  await page.waitForFunction(() => /of 100,000/.test(document.querySelector(".summary").textContent));
  const summary = await page.textContent(".summary");
  const found = Number(/([\d,]+) of 100,000/.exec(summary)[1].replaceAll(",", ""));
  assert(found >= 50_000 && found < 52_000, summary);
  assert.match(await page.textContent(".answers"), /Show 200 of 99,800 more keys/);
  assert((await page.evaluate(() => window.frames_seen)) > 5, "frames are drawn meanwhile");
});

test("what is pasted joins the keys that are there, and cannot be cut by a letter", async () => {
  const page = await open(golden("blocked-k8.umbel"));
  const text = page.locator("textarea");
  await text.fill("member-0\nmember-1\n");
  await text.press("ControlOrMeta+End");
  const paste = (keys) =>
    page.$eval(
      "textarea",
      (text, keys) => {
        const data = new DataTransfer();
        data.setData("text/plain", keys);
        text.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
      },
      keys,
    );
  await paste(Array.from({ length: 100_000 }, (_, i) => `member-${i % 2000}`).join("\n"));
  await page.waitForFunction(() => /of 100,002/.test(document.querySelector(".summary").textContent));
  await text.press("x");
  await page.waitForTimeout(400);
  assert.match(await page.textContent(".summary"), /of 100,002/);
  await page.getByRole("button", { name: "Clear the keys" }).click();
  await text.pressSequentially("member-0");
  await page.waitForFunction(() => /^1 of 1 /.test(document.querySelector(".summary").textContent));
});

test("answers are shown by sort, some at a time, and saved", async () => {
  const page = await open(golden("blocked-k8.umbel"));
  const keys = Array.from({ length: 500 }, (_, i) => [`member-${i}`, `"no", ${i}`]).flat();
  await page.setInputFiles(".query input[type=file]", { name: "keys.txt", mimeType: "text/plain", buffer: Buffer.from(keys.join("\n")) });
  await page.waitForFunction(() => /of 1,000 /.test(document.querySelector(".summary").textContent));
  const all = (await page.textContent(".answers option:nth-child(2)")).split(": ");
  assert.equal(all[0], "may be in");
  const maybe = Number(all[1]);
  assert(maybe >= 500 && maybe < 520, `${maybe}`);
  assert.equal((await list(page)).length, 200);
  await page.getByRole("button", { name: /^Show 200 of 800 more keys/ }).click();
  assert.equal((await list(page)).length, 400);
  await page.locator(".answers select").selectOption("not in");
  assert((await list(page)).every(([, answer]) => answer === "not in"));

  const waiting = page.waitForEvent("download");
  await page.getByRole("button", { name: "Save as CSV" }).click();
  const saved = readFileSync(await (await waiting).path(), "utf8").split("\n");
  assert.deepEqual(saved.slice(0, 3), ["Key,Answer", "member-0,may be in", '"""no"", 0",not in']);
  assert.equal(saved.length, 1002);
});

test("carriage returns of a file are part of its keys, as on the command line", async () => {
  const keys = "apple\r\nmango\rplum\r\n";
  execFileSync(umbel, ["filter", "build", "-q", "-f", "--fpp", "1e-9", "-o", file("returns.umbel")], { input: keys });
  const page = await open(file("returns.umbel"));
  await page.setInputFiles(".query input[type=file]", { name: "keys.txt", mimeType: "text/plain", buffer: Buffer.from(keys) });
  await page.waitForFunction(() => /^2 of 2 may be in/.test(document.querySelector(".summary").textContent));
  assert.match(await page.textContent(".query .lines-box [role=status]"), /^The file has carriage returns/);
  await page.getByRole("button", { name: "Clear the keys" }).click();
  assert.deepEqual(await ask(page, ["apple"]), [["apple", "not in"]]);
});

test("keys that are no text are refused", async () => {
  // As text, all of them would be another key, of which umbel says that it is certainly not in.
  const page = await open(golden("blocked-k8.umbel"));
  const latin = { name: "latin.txt", mimeType: "text/plain", buffer: Buffer.from("M\xfcnchen\nK\xf6ln\n", "latin1") };
  await page.setInputFiles(".query input[type=file]", latin);
  await page.waitForFunction(() => /^latin.txt is not UTF-8/.test(document.querySelector(".query .lines-box [role=status]").textContent));
  assert.equal(await page.locator(".query textarea").inputValue(), "");
  const utf8 = { ...latin, buffer: Buffer.from("\ufeffmember-0\nMünchen\n") };
  await page.setInputFiles(".query input[type=file]", utf8);
  await page.waitForFunction(() => /of 2 /.test(document.querySelector(".summary").textContent));
  assert.deepEqual(await list(page), [
    ["member-0", "may be in"],
    ["München", "not in"],
  ]);
});

test("two filters are asked at once, with a column each", async () => {
  const page = await open([golden("blocked-k8.umbel"), golden("bloomier-map.umbel")]);
  // Both wait while the first file's map is drawn.
  await page.locator("textarea").fill("member-0\nprobe-0");
  await page.waitForFunction(() => document.querySelectorAll(".summary p").length === 2);
  assert.deepEqual(await page.$$eval(".answers thead th", (heads) => heads.map((head) => head.textContent)), ["Key", "Answer A", "Answer B", "Value B"]);
  const [member, other] = await list(page);
  assert.deepEqual(member.slice(0, 3), ["member-0", "may be in", "may be in"]);
  assert.match(member[3], /^\d+$/);
  assert.deepEqual(other, ["probe-0", "not in", "not in", ""]);
  assert.deepEqual(await page.$$eval(".answers option", (all) => all.map((one) => one.textContent)), [
    "all: 2",
    "A may be in, B may be in: 1",
    "A not in, B not in: 1",
  ]);
  await page.getByRole("button", { name: "Close blocked-k8.umbel" }).click();
  await page.waitForFunction(() => document.querySelectorAll(".answers thead th").length === 3);
  assert.equal(await page.locator("textarea").inputValue(), "member-0\nprobe-0", "the keys stay");
});

test("a key is clicked, and its probes are on the map", async () => {
  const page = await open(golden("blocked-k8.umbel"));
  await ask(page, ["member-0", "probe-0"]);
  await page.getByRole("button", { name: "member-0", exact: true }).click();
  await page.waitForFunction(() => /^Probes of member-0: /.test(document.querySelector(".marked").textContent));
  const bits = async () =>
    [...(await page.textContent(".marked")).matchAll(/bit ([\d,]+): (\d)/g)].map(([, at, value]) => [Number(at.replaceAll(",", "")), value]);
  const member = await bits();
  assert(member.length >= 6 && member.length <= 8 && member.every(([, value]) => value === "1"), `${member}`);
  assert(Math.floor(member[0][0] / 512) === Math.floor(member.at(-1)[0] / 512), "in one block");
  await page.getByRole("button", { name: "probe-0", exact: true }).click();
  await page.waitForFunction(() => /^Probes of probe-0: /.test(document.querySelector(".marked").textContent));
  assert((await bits()).some(([, value]) => value === "0"));
});

test("the map is dragged, and zoomed by the wheel when it has the focus", async () => {
  const page = await open(golden("blocked-chunks.umbel"));
  const map = page.locator("canvas.map");
  await page.waitForFunction(() => /in use/.test(document.querySelector(".reading-line").textContent));
  await map.scrollIntoViewIfNeeded();
  const shown = () => page.textContent(".map-view .caption-line");
  const all = await shown();
  const box = await map.boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  const { scrollY } = await page.evaluate(() => ({ scrollY }));
  await map.focus();
  await page.mouse.wheel(0, -120);
  await page.waitForFunction((all) => document.querySelector(".map-view .caption-line").textContent !== all, all);
  assert.equal(await page.evaluate(() => scrollY), scrollY, "the page does not scroll");
  const label = () => map.getAttribute("aria-label");
  const before = await label();
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 2 - 60, box.y + box.height / 2, { steps: 4 });
  await page.mouse.up();
  await page.waitForFunction((before) => document.querySelector("canvas.map").getAttribute("aria-label") !== before, before);
  await page.mouse.wheel(0, 120);
  await page.waitForFunction((all) => document.querySelector(".map-view .caption-line").textContent === all, all);
});

test("a format is chosen by its name, and a signature is checked", async () => {
  const page = await site.open("#look");
  await page.getByText("Format, and whose signature it must have").click();
  await page.waitForSelector("option[value=leveldb]", { state: "attached" });
  await page.getByLabel("Format", { exact: true }).selectOption("leveldb");
  await page.setInputFiles(".drop input[type=file]", foreign("leveldb/bpk10.bin"));
  await page.waitForSelector(".card");
  assert.match(await page.textContent(".card .title"), /leveldb/i);

  const key = file("list");
  execFileSync(umbel, ["filter", "key", "new", "-q", "--signing", "-o", key]);
  const signed = file("signed.umbel");
  execFileSync(umbel, [
    "filter",
    "build",
    "-q",
    "--keys",
    "100",
    "--sign",
    key,
    "--list",
    "days",
    "--serial",
    "42",
    "-o",
    signed,
    join(repository, "examples", "monday.txt"),
  ]);
  const other = file("other");
  execFileSync(umbel, ["filter", "key", "new", "-q", "--signing", "-o", other]);
  const trusted = (name) => readFileSync(`${name}.pub`, "utf8").trim();
  const look = await site.open("#look");
  await look.getByText("Format, and whose signature it must have").click();
  await look.getByLabel("Public key of who must have signed it").fill(trusted(other));
  await look.setInputFiles(".drop input[type=file]", signed);
  await look.waitForSelector(".alert p");
  await look.getByLabel("Public key of who must have signed it").fill(trusted(key));
  const list = look.getByLabel("List that it must be signed as");
  const newer = look.getByLabel("Newer than version number");
  for (const [name, number, reason] of [
    ["nights", "", /signed as the list “days”, not as “nights”/],
    ["days", "42", /version is 42, which is not newer than 42/],
  ]) {
    await list.fill(name);
    await newer.fill(number);
    await look.setInputFiles(".drop input[type=file]", signed);
    await look.waitForFunction(([text]) => document.querySelector(".alert").textContent.match(text), [reason]);
    assert.equal(await look.$(".card"), null);
  }
  await newer.fill("41");
  await look.setInputFiles(".drop input[type=file]", signed);
  await look.waitForFunction(() => /signature checked/.test(document.querySelector(".card .title")?.textContent));
  assert.equal(await look.textContent(".alert"), "");
});

test("a filter that is full leads to the plan of its successor", async () => {
  const full = file("full.umbel");
  const keys = Array.from({ length: 3000 }, (_, i) => `key-${i}\n`).join("");
  execFileSync(umbel, ["filter", "build", "-q", "--keys", "1000", "--fpp", "0.001", "-o", full], { input: keys });
  const page = await open(full);
  assert.match(await page.textContent(".successor"), /This filter holds \d{3} % of the keys/);
  await page.getByRole("link", { name: "Plan its successor" }).click();
  await page.waitForSelector(".plans");
  assert.equal(await page.getByLabel("False positive rate", { exact: true }).inputValue(), "0.001");
  assert(Number(await page.getByLabel("Keys", { exact: true }).inputValue()) > 5000);
  const room = file("room.umbel");
  execFileSync(umbel, ["filter", "build", "-q", "--keys", "10000", "-o", room], { input: keys });
  assert.equal(await (await open(room)).$(".successor"), null);
});

test("of more than two files the others are named; a closed file leaves nothing behind", async () => {
  const page = await open([]);
  await page.setInputFiles(".drop input[type=file]", ["blocked-k8.umbel", "classic-odd.umbel", "bloomier-map.umbel"].map(golden));
  await page.waitForFunction(() => /Not opened: bloomier-map\.umbel/.test(document.querySelector(".alert").textContent));
  for (const name of ["blocked-k8.umbel", "classic-odd.umbel"]) await page.getByRole("button", { name: `Close ${name}` }).click();
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "What is inside?");

  const devtools = await page.context().newCDPSession(page);
  const counted = async () => {
    await page.waitForTimeout(300);
    await devtools.send("HeapProfiler.collectGarbage");
    const { nodes, jsEventListeners } = await devtools.send("Memory.getDOMCounters");
    return [nodes, jsEventListeners];
  };
  const turn = async () => {
    await page.setInputFiles(".drop input[type=file]", golden("blocked-k8.umbel"));
    // A handle of an element would keep it.
    await page.waitForFunction(() => {
      document.querySelector(".profile")?.scrollIntoView();
      return document.querySelector(".profile .chart canvas") !== null;
    });
    await page.getByRole("button", { name: "Close blocked-k8.umbel" }).click();
    await page.waitForFunction(() => document.querySelectorAll(".card").length === 0);
  };
  await turn();
  const [nodes, listeners] = await counted();
  for (let i = 0; i < 50; i += 1) await turn();
  const after = await counted();
  // A card has some 175 nodes and 23 listeners; the last one may wait for the collector.
  assert(after[0] < nodes + 350 && after[1] < listeners + 46, `${[nodes, listeners]} became ${after}`);
});

test("a keyed filter opens with its secret only", async () => {
  const page = await open(golden("blocked-keyed.umbel"));
  assert.equal(await page.locator("textarea").isVisible(), false);
  const secret = page.getByLabel(/Secret/);
  await secret.fill("ff0102030405060708090a0b0c0d0e0f");
  await page.getByRole("button", { name: "Unlock" }).click();
  await page.waitForFunction(() => document.querySelector(".card .error").textContent !== "");
  await secret.fill("000102030405060708090a0b0c0d0e0f");
  await page.getByRole("button", { name: "Unlock" }).click();
  await page.waitForSelector("textarea");
  const found = await ask(page, ["member-7", "probe-0", "probe-301"]);
  assert.deepEqual(
    found.map(([, answer]) => answer),
    ["may be in", "not in", "may be in"],
  );
});

test("a map gives values, and rows of fields are looked up field by field", async () => {
  const page = await open(golden("bloomier-map.umbel"));
  const [found] = await ask(page, ["member-3"]);
  assert.match(found[2], /^\d+$/);

  const orders = file("orders.umbel");
  const from = join(repository, "examples", "orders.csv");
  execFileSync(umbel, ["filter", "build", "-q", "--kind", "attributes", "--csv", "--key", "order", "--key", "customer", "-o", orders, from]);
  const rows = await open(orders);
  await rows.getByLabel("Field").selectOption("customer");
  assert.deepEqual(
    (await ask(rows, ["C-17", "1001"])).map(([, answer]) => answer),
    ["may be in", "not in"],
  );
  await rows.getByLabel("Field").selectOption("order");
  await rows.waitForFunction(() => document.querySelector(".answers tbody tr").className === "no");
  assert.deepEqual(
    (await list(rows)).map(([, answer]) => answer),
    ["not in", "may be in"],
  );
});

test("other systems' filters are recognized, and asked which where several fit", async () => {
  const page = await open(foreign("guava/utf8-p03.bin"));
  assert.match(await page.textContent(".card .title"), /[Gg]uava/);
  const found = await ask(page, ["key-000001", "key-001000", "probe-000001"]);
  assert.deepEqual(
    found.map(([, answer]) => answer),
    ["may be in", "may be in", "not found"],
  );
  // Until the type of its keys is chosen, it promises nothing.
  const longs = await open(foreign("guava/long-p05.bin"));
  assert.deepEqual(
    (await ask(longs, ["1", "2"])).map(([, answer]) => answer),
    ["not found", "not found"],
  );
  assert.doesNotMatch(await longs.textContent(".query"), /certainly|not in\b/);
  assert.match(await longs.textContent(".summary"), /Choose the right one/);
  await longs.getByLabel("Keys are").selectOption("i64");
  await longs.waitForFunction(() => /^2 of 2 may be in\./.test(document.querySelector(".summary").textContent));
  assert.deepEqual(
    (await list(longs)).map(([, answer]) => answer),
    ["may be in", "may be in"],
  );
  await page.getByLabel("Keys are").selectOption("bytes");
  await page.waitForFunction(() => /1 certainly is not\./.test(document.querySelector(".summary").textContent));
  assert.deepEqual(
    (await list(page)).map(([, answer]) => answer),
    ["may be in", "may be in", "not in"],
  );

  const other = await site.open("#look");
  await other.setInputFiles("input[type=file]", foreign("leveldb/bpk10.bin"));
  await other.getByRole("button", { name: "LevelDB, goleveldb, Badger", exact: true }).click();
  await other.waitForSelector(".card");
  assert.match(await other.textContent(".card"), /leveldb/i);
});

test("a table of LevelDB shows its filters, and one of RocksDB its filter; both answer", async () => {
  const page = await open(foreign("tables/leveldb.ldb"));
  assert.match(await page.textContent(".card .title"), /^LevelDB table, \d+ Bloom filters of /);
  const rows = await page.$$eval(".card section table tbody tr", (all) => all.length);
  assert.equal(await page.locator(".card select option").count(), rows);
  const [member, other, beyond] = await ask(page, ["user-000100", "user-000101", "w"]);
  assert.deepEqual([member[1], beyond[1]], ["may be in", "not found"]);
  assert.match(other[1], /not found|may be in/);
  assert.match(await page.textContent(".summary"), /if the table has its keys in the order of their bytes/);
  const one = await open(foreign("tables/rocksdb.sst"));
  assert.match(await one.textContent(".card .title"), /^RocksDB, filter of .*, in a table file$/);
  assert.deepEqual(
    (await ask(one, ["user-000100"])).map(([, answer]) => answer),
    ["may be in"],
  );
  assert.doesNotMatch(await one.textContent(".summary"), /order of their bytes/);
});

test("a Parquet file shows its filters, and which row groups may hold a key", async () => {
  const page = await open(foreign("parquet/groups.parquet"));
  assert((await page.$$eval(".card table tbody tr", (rows) => rows.length)) > 5);
  const field = page.getByLabel("Field");
  assert.deepEqual((await field.locator("option").allTextContents()).slice(0, 2), ["id", "name"]);
  await field.selectOption("id");
  const [answer] = await ask(page, ["1"]);
  assert.match(answer[1], /row group/);
});

test("the map zooms to single bits, by keys and by buttons", async () => {
  const page = await open(golden("blocked-chunks.umbel"));
  const map = page.locator("canvas.map");
  await page.waitForFunction(() => /in use/.test(document.querySelector(".reading-line").textContent));
  const reading = () => page.textContent(".reading-line");
  const before = await reading();
  await map.focus();
  await page.keyboard.press("ArrowRight");
  await page.waitForFunction((before) => document.querySelector(".reading-line").textContent !== before, before);
  for (let i = 0; i < 8; i += 1) {
    await page.keyboard.press("+");
    await page.waitForTimeout(60);
  }
  await page.waitForFunction(() => /^bit [\d,]+: [01]$/.test(document.querySelector(".reading-line").textContent));
  await page.getByRole("button", { name: "Show all" }).click();
  await page.waitForFunction((before) => document.querySelector(".reading-line").textContent === before, before);
  await page.getByRole("button", { name: "Zoom in" }).click();
  await page.getByRole("button", { name: "Later" }).click();
  await page.waitForFunction(() => !/ 0 to/.test(document.querySelector(".reading-line").textContent));
  const behind = page.locator(".map-view details");
  await behind.locator("summary").click();
  await page.waitForFunction(() => document.querySelectorAll(".map-view tbody tr").length > 100);
});

test("two files are compared", async () => {
  const [left, right] = ["monday", "tuesday"].map((day) => {
    const filter = file(`${day}.umbel`);
    execFileSync(umbel, ["filter", "build", "-q", "--keys", "1000", "-o", filter, join(repository, "examples", `${day}.txt`)]);
    return filter;
  });
  const page = await open([left, right]);
  await page.waitForSelector(".comparison .receipt");
  const rows = await page.$$eval(".comparison .receipt > *", (all) => all.map((one) => one.textContent));
  const printed = execFileSync(umbel, ["filter", "overlap", left, right], { encoding: "utf8" }).trimEnd().split("\n").slice(2);
  for (const line of printed) {
    const [name, value] = line.split(/ {2,}/);
    assert.equal(rows[rows.indexOf(name) + 1], value, name);
  }
  assert.equal((await page.$$(".pieces .piece")).length, 3);
  await page.getByRole("button", { name: "Close monday.umbel" }).click();
  await page.waitForFunction(() => document.querySelectorAll(".card").length === 1);
  assert.equal(await page.$(".comparison .receipt"), null);
});

test("there is an example for those without a file", async () => {
  const page = await site.open("#look");
  await page.getByRole("button", { name: "Open an example" }).click();
  await page.waitForSelector(".comparison .receipt");
  assert.equal((await page.$$(".card")).length, 2);
  await page.waitForSelector(".answers td");
  const found = await page.$$eval(".answers tbody tr", (rows) => rows.map((row) => [...row.querySelectorAll("td")].map((cell) => cell.className)));
  // Keys of the first file, of both, of the second, of none.
  assert.deepEqual(found, [
    ["yes", "no"],
    ["yes", "yes"],
    ["no", "yes"],
    ["no", "no"],
  ]);
});

test("files that are no filters, or damaged, are refused with a reason", async () => {
  const whole = readFileSync(golden("blocked-k8.umbel"));
  const flipped = Buffer.from(whole);
  flipped[700] ^= 1;
  const header = Buffer.from(whole);
  header[20] ^= 4;
  const bad = {
    "empty.umbel": [Buffer.alloc(0), /The file is empty\./],
    "cut.umbel": [whole.subarray(0, 900), /should have 1,424 bytes and has 900: it was cut off\. Copy it again\./],
    "flipped.umbel": [flipped, /is damaged between bytes 128 and 1,408\./],
    "header.umbel": [header, /is damaged at its start/],
    "photo.jpg": [Buffer.from("ffd8ffe000104a46494600010101004800480000", "hex"), /no filter that can be recognized: it begins with “\\xff\\xd8/],
    "text.txt": [Buffer.from("https://example.org/\n".repeat(50)), /This is text\. To make a filter of its lines, open it under Make\./],
    "own-hashes.umbel": [readFileSync(golden("caller-blocked.umbel")), /^\. the filter was built from hashes of another function/],
  };
  for (const [name, [bytes]] of Object.entries(bad)) writeFileSync(file(name), bytes);
  writeFileSync(file("huge.umbel"), whole);
  truncateSync(file("huge.umbel"), 3 * 2 ** 30);
  const page = await site.open("#look");
  for (const [name, reason] of [
    ...Object.entries(bad).map(([name, [, reason]]) => [name, reason]),
    ["huge.umbel", /has 3\.00 GiB, and a page can hold 2\.00 GiB\. The command line opens it/],
  ]) {
    await page.setInputFiles(".drop input[type=file]", file(name));
    await page.waitForFunction((name) => document.querySelector(".alert").textContent.startsWith(`${name} was not opened`), name);
    const message = (await page.textContent(".alert")).replace(`${name} was not opened`, "");
    assert.match(message, reason, name);
    assert.equal((await page.$$(".card")).length, 0);
  }
  // What may be a filter that no header names is asked about.
  for (const [name, bytes] of [
    ["magic.umbel", whole.subarray(0, 7)],
    ["zeros.bin", Buffer.alloc(4096)],
  ]) {
    writeFileSync(file(name), bytes);
    await page.setInputFiles(".drop input[type=file]", file(name));
    await page.waitForFunction((name) => document.querySelector(".busy").textContent.includes(`${name} is not an umbel file, and fits several systems`), name);
    await page.getByRole("button", { name: "None of these" }).click();
    assert.equal(await page.textContent(".busy"), "");
    assert.equal((await page.$$(".card")).length, 0);
  }
  // After all that a whole file still opens.
  await page.setInputFiles(".drop input[type=file]", golden("blocked-k8.umbel"));
  await page.waitForSelector(".card");
  assert.equal(await page.textContent(".alert"), "");
});

test("a large file shows its progress and can be cancelled", async () => {
  const filter = file("large.umbel");
  writeFileSync(file("one.txt"), "key\n");
  execFileSync(umbel, ["filter", "build", "-q", "--size", "300MiB", "--keys", "100M", "-o", filter, file("one.txt")]);
  const page = await open(golden("blocked-k8.umbel"));
  await page.setInputFiles(".drop input[type=file]", filter);
  // As soon as there is progress: a fast machine needs less than a second.
  await page.waitForFunction(() => {
    const begun = document.querySelector("progress")?.value > 0;
    if (begun) document.querySelector(".busy button").click();
    return begun;
  });
  await page.waitForFunction(() => /Cancelled: large/.test(document.querySelector(".status").textContent));
  // What was open before still answers.
  await page.waitForFunction(() => document.querySelector(".busy").childElementCount === 0 && !document.querySelector(".shelf").inert);
  const [found] = await ask(page, ["member-1"]);
  assert.equal(found[1], "may be in");

  await page.setInputFiles(".drop input[type=file]", filter);
  await page.waitForFunction(() => document.querySelectorAll(".card").length === 2, undefined, { timeout: 30_000 });
});
