//! Learn: each lesson steps through, and takes own words.

import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";

import { start } from "./browser.mjs";

let site;
before(async () => (site = await start()));
afterEach(() => site?.clear());
after(() => site?.close());

const open = async (hash, options) => {
  const page = await site.open(hash, options);
  await page.waitForSelector(".steps li");
  return page;
};
const next = (page) => page.getByRole("button", { name: "Next", exact: true }).click();
const caption = (page) => page.textContent(".caption");
const set = (page) => page.$$eval(".box", (boxes) => boxes.flatMap((box, bit) => (box.classList.contains("set") ? [bit] : [])));

test("apples, plums and mango, step by step", async () => {
  const page = await open("#learn");
  assert.deepEqual(await set(page), []);
  await next(page);
  assert.match(await caption(page), /apples/);
  assert.deepEqual(await set(page), [3, 11, 12]);
  await next(page);
  assert.deepEqual(await set(page), [1, 3, 8, 11, 12]);
  await next(page);
  await next(page);
  assert.match(await caption(page), /mango.*never inserted/s);
  const probes = await page.$$eval(".found tbody tr", (rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
  assert.deepEqual(probes, [
    ["8", "1", "plums"],
    ["3", "1", "apples"],
    ["12", "1", "apples"],
  ]);
  assert.equal(await page.textContent(".steps [aria-current] .tag"), "may be in: wrong");
  assert.equal((await page.$$(".wire")).length, 3);
  await next(page);
  assert.match(await caption(page), /kiwi.*certainly not/s);
  assert.match(await page.textContent(".in-the-end"), /\(5\/14\)\^3 = 0\.0456/);
  assert(await page.getByRole("button", { name: "Next", exact: true }).isDisabled());
  await page.getByRole("button", { name: "First step" }).click();
  assert.deepEqual(await set(page), []);
});

test("own words are inserted and looked up, and stay in the address", async () => {
  const page = await open("#learn?lesson=words");
  await page.getByRole("button", { name: "Start with an empty filter" }).click();
  const word = page.getByLabel("Word");
  await word.fill("umbrella");
  await word.press("Enter");
  await page.waitForFunction(() => /umbrella/.test(document.querySelector(".caption").textContent));
  const bits = await set(page);
  assert(bits.length >= 1 && bits.length <= 3, `${bits}`);
  await page.getByRole("button", { name: "Look up" }).click();
  await page.waitForFunction(() => document.querySelectorAll(".steps li").length === 3);
  assert.equal(await page.textContent(".steps [aria-current] .tag"), "may be in");

  await page.waitForFunction(() => location.hash.endsWith("at=2"));
  const again = await open(new URL(page.url()).hash);
  assert.deepEqual(await set(again), bits);
  assert.equal(await caption(again), await caption(page));
});

test("an address may have any names", async () => {
  // Those that all objects have were taken for operations; the worker never answered again, not even to a plan.
  const page = await open("#learn?own=&toString=x&i=plums&constructor=y&__proto__=z&x=");
  assert.equal(await page.locator(".steps li").count(), 2);
  await page.evaluate(() => (location.hash = "#plan"));
  await page.waitForSelector(".plans");
});

test("a filter that is filled with fruits lets almost everything pass", async () => {
  const page = await open("#learn?lesson=words");
  for (let i = 0; i < 6; i += 1) await page.getByRole("button", { name: "Insert 5 fruits" }).click();
  await page.waitForFunction(() => document.querySelectorAll(".box.set").length >= 26);
});

test("two words share a counter: one leaves, and the other stays", async () => {
  const page = await open("#learn?lesson=counting");
  const tags = await page.$$eval(".steps li", (items) => items.map((item) => item.querySelector(".tag")?.textContent ?? ""));
  assert.deepEqual(tags, ["", "", "", "", "not in", "may be in", ""]);
  const numbers = () => page.$$eval(".box .cell", (cells) => cells.map((cell) => cell.textContent).join(","));
  await next(page);
  await next(page);
  assert.equal(await numbers(), ",1,,1,,,,,1,,,2,1,");
  await next(page);
  assert.equal(await numbers(), ",1,,,,,,,1,,,1,,");
  await page.getByLabel("Word").fill("plums");
  await page.getByRole("button", { name: "Remove", exact: true }).click();
  await page.waitForFunction(() => document.querySelectorAll(".box.set").length === 0);
});

test("an over-filled filter takes strangers for members", async () => {
  const page = await open("#learn?lesson=full");
  const chances = [];
  for (let i = 0; i < 12; i += 1) {
    await next(page);
    chances.push(Number(/([\d.]+) %/.exec(await page.textContent(".chance"))[1]));
  }
  assert(
    chances.every((chance, index) => index === 0 || chance >= chances[index - 1]),
    `${chances}`,
  );
  assert(chances[2] < 15 && chances[11] > 50, `${chances}`);
  const tags = await page.$$eval(".steps .tag", (all) => all.map((one) => one.textContent));
  assert(tags.includes("may be in: wrong"), `${tags}`);
});

test("a scalable filter gets another part in its fourth step", async () => {
  const page = await open("#learn?lesson=scalable");
  for (const parts of [1, 1, 1, 2]) {
    await next(page);
    assert.equal(await page.locator(".part-label").count(), parts);
  }
  assert((await page.locator(".steps li").count()) <= 7);
});

test("a window forgets what is older than its generations", async () => {
  const page = await open("#learn?lesson=window");
  const tags = await page.$$eval(".steps li", (items) => items.flatMap((item) => item.querySelector(".tag")?.textContent ?? []));
  assert.deepEqual(tags, ["not in", "may be in"], "apples have left, plums have not");
});

test("the arrow keys step", async () => {
  const page = await open("#learn");
  const step = (at) => page.waitForFunction((at) => new RegExp(`^Step ${at} `).test(document.querySelector(".place").textContent), at);
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  await step(2);
  await page.keyboard.press("ArrowLeft");
  await step(1);
  // In a field they move the caret.
  await page.getByLabel("Word").fill("quince");
  await page.keyboard.press("ArrowLeft");
  await step(1);
  await page.getByLabel("Word").press("Enter");
  await page.waitForFunction(() => /quince/.test(document.querySelector(".steps").textContent));
});

test("a stable filter fades", async () => {
  const page = await open("#learn?lesson=stable");
  const tags = await page.$$eval(".steps li", (items) => items.flatMap((item) => item.querySelector(".tag")?.textContent ?? []));
  assert.deepEqual(tags, ["may be in", "not in"], "the last word is in, the first has faded");
});

test("a blocked filter reads one cache line where a classic one reads several", async () => {
  const page = await open("#learn?lesson=blocked");
  await page.locator(".steps li button").last().click();
  const [classic, blocked] = await page.$$eval(".stage-caption", (captions) => captions.map((caption) => Number(/\d+/.exec(caption.textContent))));
  assert(classic >= 3, `classic: ${classic}`);
  assert.equal(blocked, 1);
});

test("play goes on by itself, and pauses", async () => {
  const page = await open("#learn");
  await page.getByRole("button", { name: "Play" }).click();
  await page.waitForFunction(() => /Step 2/.test(document.querySelector(".place").textContent));
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByRole("button", { name: "Play" }).waitFor();
});

test("a lesson that plays stops when it is left, and writes no other view's address", async () => {
  const page = await open("#learn");
  await page.getByRole("button", { name: "Play" }).click();
  await page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: "Plan" }).click();
  await page.waitForSelector(".plans");
  const { hash } = new URL(page.url());
  await page.waitForTimeout(3500);
  assert.equal(new URL(page.url()).hash, hash);
  await page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: "Learn" }).click();
  await page.getByRole("button", { name: "Play" }).waitFor();
});

test("own words stay while another lesson or view is looked at; a step that is no number is the first", async () => {
  const page = await open("#learn?lesson=words&at=nowhere");
  await page.waitForFunction(() => /Step 0 of/.test(document.querySelector(".place").textContent));
  await page.getByLabel("Word").fill("umbrella");
  await page.getByLabel("Word").press("Enter");
  const there = () => page.waitForFunction(() => /umbrella/.test(document.querySelector(".steps")?.textContent ?? ""));
  await there();
  await page.getByRole("link", { name: "Counting", exact: true }).click();
  await page.waitForFunction(() => !/umbrella/.test(document.querySelector(".steps")?.textContent ?? ""));
  await page.getByRole("link", { name: "Own words", exact: true }).click();
  await there();
  const views = page.getByRole("navigation", { name: "Views" });
  await views.getByRole("link", { name: "Plan" }).click();
  await views.getByRole("link", { name: "Learn" }).click();
  await there();
});

test("nothing moves where less motion is asked for", async () => {
  const page = await open("#learn", { reducedMotion: "reduce" });
  const durations = await page.$$eval(
    "*",
    (all) => all.map((one) => getComputedStyle(one)).filter((style) => style.animationName !== "none" || !/^0s?(, 0s)*$/.test(style.transitionDuration)).length,
  );
  assert.equal(durations, 0);
});

test("a cascade has levels, and is right about both lists; a Bloomier filter has values", async () => {
  const page = await site.open("#learn?lesson=cascade");
  await page.waitForSelector(".steps li");
  const steps = page.locator(".steps button");
  await steps.filter({ hasText: "cloud must not pass" }).click();
  await page.waitForFunction(() => document.querySelectorAll(".rows .boxes").length > 1);
  for (const [word, verdict] of [
    ["cherries", "It passes, which is right"],
    ["hammer", "It does not pass, which is right"],
  ]) {
    await steps.filter({ hasText: `Look up ${word}` }).click();
    await page.waitForFunction((verdict) => document.querySelector(".caption").textContent.includes(verdict), verdict);
  }
  await page.getByLabel("Word", { exact: true }).fill("revoked");
  await page.getByRole("button", { name: "Must not pass", exact: true }).click();
  await page.waitForFunction(() => /revoked must not pass\./.test(document.querySelector(".caption").textContent));
  await page.waitForFunction(() => location.hash.includes("e=revoked"));

  const bloomier = await site.open("#learn?lesson=bloomier&at=5");
  await bloomier.waitForFunction(() => / give \d+ XOR \d+ XOR \d+ = \d+, its fingerprint/.test(document.querySelector(".caption").textContent));
  assert.equal(await bloomier.locator(".found th[scope=col]").count(), 2, "nobody set a slot alone");
});
