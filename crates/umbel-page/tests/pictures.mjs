//! Takes the pictures of ../README.md: `node pictures.mjs FOLDER`; and those of the page itself: the one that links to it
//! are shown with, and the app's icon.

import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { drawn, repository, start } from "./browser.mjs";

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
  await page
    .locator(from)
    .first()
    .evaluate((one) => one.scrollIntoView({ block: "start" }));
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
  await page.waitForSelector(".answers td");
  for (const card of [".card:first-child", ".card:last-child"]) await drawn(page, `${card} .profile`);
  await page.getByRole("button", { name: "key-1", exact: true }).click();
  await page.waitForFunction(() => document.querySelectorAll(".marked:not(:empty)").length === 2);
};
const make = async (page) => {
  await page.waitForSelector("option[value=guava]", { state: "attached" });
  await page.getByLabel("Keys, one per line").first().fill("apples\nplums\ncherries");
  await page.getByLabel("Kind or format").selectOption("guava");
  await page.getByRole("button", { name: "Make the filter" }).click();
  await page.waitForSelector(".made .receipt");
};
const learn = async (page) => {
  await page.waitForSelector(".steps li");
};

await take("plan", "#plan?keys=5e9&fpp=1%25&kind=classic", { height: 1240, steps: plan });
await take("curves", "#plan?keys=1M&fpp=1%25", { height: 900, from: ".what-if", dark: true, steps: plan });
await take("look", "#look", { height: 1500, from: ".query", steps: look });
await take("make", "#make", { height: 760, steps: make });
await take("learn", "#learn?lesson=first&at=4", { height: 960, dark: true, steps: learn });
await take("blocked", "#learn?lesson=blocked&at=6", { height: 1020, from: ".lesson", steps: learn });
await take("small-plan", "#plan?keys=10M&ship=12MB&known", { width: 360, height: 760, from: ".ranking", steps: plan });
await take("small-look", "#look", { width: 360, height: 760, from: ".map-view", dark: true, steps: look });
await take("small-learn", "#learn?lesson=words&at=5", { width: 360, height: 760, from: ".lesson", steps: learn });
const own = join(repository, "crates/umbel-page/page");
const card = await site.open("#plan?keys=1M&fpp=1%25", { width: 1200 });
await plan(card);
await card.setViewportSize({ width: 1200, height: 630 });
await card.screenshot({ path: join(own, "card.png") });
const icon = await site.browser.newPage({ viewport: { width: 512, height: 512 } });
// A margin of a tenth: systems cut icons into shapes of their own.
await icon.setContent(
  `<body style="margin:0;background:#faf8f4;display:grid;place-items:center;height:100vh">${await readFile(join(own, "icon.svg"), "utf8")}`,
);
await icon.addStyleTag({ content: "svg { width: 60%; }" });
await icon.screenshot({ path: join(own, "icon.png") });
await site.close();
