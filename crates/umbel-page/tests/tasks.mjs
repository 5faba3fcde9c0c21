//! Five tasks of people with a Bloom filter, done in the page: `node tests/tasks.mjs` counts the clicks and keys of each, and how
//! long the page needs until the answer is there. A key is one that is pressed; Tab and Control+A are keys, too.

import assert from "node:assert/strict";

import { start } from "./browser.mjs";

const site = await start();
let page;
let clicks;
let keys;
const click = async (place) => {
  clicks += 1;
  await place.click();
};
const press = async (key) => {
  keys += 1;
  await page.keyboard.press(key);
};
const write = async (text) => {
  keys += text.length;
  await page.keyboard.type(text);
};
const field = (name) => page.getByLabel(name, { exact: true });
const shows = (text) => page.waitForFunction((text) => document.querySelector("main").textContent.includes(text), text);

const tasks = {
  "bits and probes for 4,000 keys at 1e-7": async () => {
    await click(field("Keys"));
    await press("Control+A");
    await write("4000");
    await press("Tab");
    await write("1e-7");
    await shows("134,191 bits");
  },
  "the rate of a filter of 64 KiB with 5 probes and 50,000 keys": async () => {
    await click(field("Keys"));
    await press("Control+A");
    await write("50k");
    await press("Tab");
    await press("Delete");
    await press("Tab");
    await write("64KiB");
    await press("Tab");
    await write("5");
    await page.waitForFunction(() => /0\.00\d+ \(1 in/.test(document.querySelector("main").textContent));
  },
  "a link to 1 million keys at 1 in 1,000, for a colleague": async () => {
    await click(field("False positive rate"));
    await press("Control+A");
    await write("1 in 1000");
    await page.waitForFunction(() => document.querySelector(".headline")?.textContent.includes("1 in 1,0"));
    await click(page.getByRole("button", { name: "Copy a link to this goal" }));
  },
  "what over-filling does to a filter of 1 million keys at 1 %": async () => {
    await page.locator("#chart-overfill .plot").scrollIntoViewIfNeeded();
    await click(page.locator("#chart-overfill input[type=range]"));
    await press("End");
    await page.waitForFunction(() => /\d/.test(document.querySelector("#chart-overfill .legend .value")?.textContent));
  },
  "the Python code of a filter whose keys are removed again": async () => {
    await click(page.getByLabel("Some are removed again"));
    await page.waitForFunction(() => document.querySelector(".verdict").textContent.startsWith("Choose counting"));
    await click(page.locator(".plans .pick").first());
    await click(page.getByRole("tab", { name: "Python" }));
    await page.getByText("import umbel").first().waitFor();
  },
};

console.log("| task | clicks | keys | ms until the answer |\n|---|---:|---:|---:|");
for (const [name, task] of Object.entries(tasks)) {
  page = await site.open();
  await page.waitForSelector(".plans");
  await page.waitForSelector("#chart-overfill");
  [clicks, keys] = [0, 0];
  const begun = performance.now();
  await task();
  console.log(`| ${name} | ${clicks} | ${keys} | ${(performance.now() - begun).toFixed(0)} |`);
  await page.context().close();
}
await site.close();
assert.equal(site.logged.length, 0);
