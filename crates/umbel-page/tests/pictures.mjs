//! Takes the pictures of docs/explorer.md: `node pictures.mjs FOLDER`.

import { join } from "node:path";

import { start } from "./browser.mjs";

const folder = process.argv[2];
if (!folder) {
  console.error("usage: node pictures.mjs FOLDER");
  process.exit(2);
}
const site = await start();

/** A picture of a view, from an element on, after some steps. */
async function take(name, hash, { height, from = "body", steps = async () => {}, ...options }) {
  const page = await site.open(hash, options);
  await steps(page);
  await page.setViewportSize({ width: options.width ?? 1280, height });
  await page.locator(from).first().evaluate((one) => one.scrollIntoView({ block: "start" }));
  // Charts and maps are drawn when their size is known.
  await page.waitForTimeout(600);
  await page.screenshot({ path: join(folder, `explorer-${name}.png`) });
  await page.close();
}

const plan = async (page) => {
  await page.waitForSelector(".plans");
  await page.waitForSelector("#chart-bits");
};
const look = async (page) => {
  await page.getByRole("button", { name: "Open an example" }).click();
  await page.waitForSelector(".comparison .receipt");
  await page.waitForSelector(".card:last-child .profile canvas");
};
const learn = async (page) => {
  await page.waitForSelector(".steps li");
};

await take("plan", "#plan?keys=5e9&fpp=1%25", { height: 880, steps: plan });
await take("curves", "#plan?keys=1M&fpp=1%25", { height: 1060, from: ".what-if", dark: true, steps: plan });
await take("look", "#look", { height: 1200, from: ".comparison", steps: look });
await take("learn", "#learn?lesson=first&at=4", { height: 960, dark: true, steps: learn });
await take("blocked", "#learn?lesson=blocked&at=6", { height: 1020, from: ".lesson", steps: learn });
await take("small-plan", "#plan?keys=10M&ship=12MB&known", { width: 360, height: 760, from: ".verdict", steps: plan });
await take("small-look", "#look", { width: 360, height: 760, from: ".map-view", dark: true, steps: look });
await take("small-learn", "#learn?lesson=words&at=5", { width: 360, height: 760, from: ".lesson", steps: learn });
await site.close();
