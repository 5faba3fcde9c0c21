//! Every view in Firefox: what differs between browsers is there, or it is not. Only `cargo x test page --full` needs it.

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";

import { drawn, installedFirefox, repository, start } from "./browser.mjs";

const filter = join(repository, "testdata", "golden", "blocked-k8.umbel");

let site;
before(async () => {
  assert(installedFirefox, "Firefox is not installed: apt-get install firefox-esr");
  site = await start("firefox");
});
afterEach(() => site?.clear());
after(() => site?.close());

const WIDTHS = [320, 360, 740, 768, 1000, 1024, 1280];
/** Whether the page fits each width. */
async function fits(page) {
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 740 });
    await page.waitForTimeout(150);
    // Its scroll bar takes room.
    const beyond = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.equal(beyond, 0, `${width}`);
  }
}

test("Firefox: plans, their details and charts", async () => {
  const page = await site.open("#plan?keys=5e9&fpp=1%25");
  await page.waitForSelector("#chart-bits");
  await drawn(page, "#chart-bits");
  assert.match(await page.textContent(".headline"), /5\.91 GiB/);
  await page.getByLabel("Keys", { exact: true }).fill("2M");
  await page.waitForFunction(() => document.querySelector(".plans td")?.textContent === "2,000,000");
  await page.click(".plans .pick");
  await page.waitForSelector(".formulas math");
  await page.waitForFunction(() => location.hash.includes("keys=2M"));
  await fits(page);
});

test("Firefox: a file is opened, mapped and looked into", async () => {
  const page = await site.open("#look");
  await page.setInputFiles(".drop input[type=file]", filter);
  await page.waitForSelector(".card .profile .chart");
  await drawn(page, ".card .profile");
  await page.locator("textarea").first().fill("member-0\nprobe-0");
  await page.waitForSelector(".answers tbody tr:nth-child(2)");
  assert.deepEqual(await page.$$eval(".answers tbody td", (all) => all.map((one) => one.className)), ["yes", "no"]);
  await page.getByRole("button", { name: "member-0", exact: true }).click();
  await page.waitForFunction(() => /^Probes of member-0: /.test(document.querySelector(".marked").textContent));
  await page.setInputFiles(".drop input[type=file]", { name: "wrong.bin", mimeType: "", buffer: Buffer.from("lines\nof text\n") });
  await page.waitForFunction(() => /This is text/.test(document.querySelector(".alert").textContent));
  await fits(page);
});

test("Firefox: a filter is made, and opened", async () => {
  const page = await site.open("#make");
  await page.getByLabel("Keys, one per line").first().fill("a\nb\nc");
  await page.getByRole("button", { name: "Make the filter" }).click();
  await page.waitForSelector(".made .receipt");
  await fits(page);
  await page.getByRole("button", { name: "Look inside" }).click();
  await page.waitForSelector(".card .receipt");
});

test("Firefox: a lesson goes step by step, and Chinese is there", async () => {
  const page = await site.open("#learn");
  await page.waitForSelector(".steps li");
  await page.getByRole("button", { name: "Next" }).click();
  await page.waitForSelector(".box.set");
  await page.getByLabel("Word", { exact: true }).fill("pear");
  await page.getByRole("button", { name: "Insert", exact: true }).click();
  await page.waitForFunction(() => /pear/.test(document.querySelector(".caption").textContent));
  await fits(page);
  await page.getByRole("link", { name: "简体中文" }).click();
  await page.getByRole("heading", { name: "它是怎么工作的？" }).waitFor();
});
