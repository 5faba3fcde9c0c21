//! Measures the page: `node measure.mjs --filter FILE [--lighthouse FOLDER]` tells how soon it answers on slow 4G, what memory
//! large files leave behind once they are closed, and, with a folder that has Lighthouse, its marks. `cargo x bench --page`
//! calls it.

import { execFileSync } from "node:child_process";
import { readFileSync, readdirSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

import { chromium } from "playwright-core";

import { browserPath, serve } from "./browser.mjs";

const { values } = parseArgs({ options: { filter: { type: "string" }, lighthouse: { type: "string" }, rounds: { type: "string", default: "5" } } });
const rounds = Number(values.rounds);
const path = await browserPath();
const { server, base } = await serve({ compressed: true });
const median = (all) => all.toSorted((a, b) => a - b)[all.length >> 1];

/** The times of a first visit until the ranking is there, as Lighthouse's slow 4G has it: 1.6 Mbit/s, 150 ms for a request. */
async function visits(slowdown) {
  const times = [];
  for (let round = 0; round < rounds; round += 1) {
    const browser = await chromium.launch({ executablePath: path, args: ["--no-sandbox"] });
    const page = await browser.newPage({ locale: "en-US", serviceWorkers: "block" });
    const devtools = await page.context().newCDPSession(page);
    await devtools.send("Network.enable");
    await devtools.send("Network.emulateNetworkConditions", { offline: false, latency: 150, downloadThroughput: 200_000, uploadThroughput: 93_750 });
    await devtools.send("Emulation.setCPUThrottlingRate", { rate: slowdown });
    await page.goto(base, { waitUntil: "commit" });
    // It looks in every frame; waiting for a selector would look twice a second.
    const there = await page.waitForFunction(() => document.querySelector(".plans tbody tr") && performance.now());
    times.push(await there.jsonValue());
    await browser.close();
  }
  return (median(times) / 1000).toFixed(2);
}
console.log(`| first visit on slow 4G, until the ranking is there (goal 3 s) | ${await visits(1)} s |`);
console.log(`| the same on a processor a fourth as fast | ${await visits(4)} s |`);

/** Memory of a browser's processes in MB, each shared page counted once. */
function memory(pid) {
  const parents = new Map();
  for (const name of readdirSync("/proc")) {
    try {
      parents.set(Number(name), Number(/^\d+ \(.*\) \S (\d+)/.exec(readFileSync(`/proc/${name}/stat`, "utf8"))?.[1]));
    } catch {
      // It is no process, or has ended.
    }
  }
  const own = (one) => one === pid || (parents.has(one) && own(parents.get(one)));
  const of = (one) => Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${one}/smaps_rollup`, "utf8"))?.[1] ?? 0);
  return [...parents.keys()].filter((one) => one > 1 && own(one)).reduce((sum, one) => sum + of(one), 0) / 1000;
}

if (values.filter) {
  const launched = await chromium.launchServer({ executablePath: path, args: ["--no-sandbox"] });
  const browser = await chromium.connect(launched.wsEndpoint());
  const page = await browser.newPage({ locale: "en-US", serviceWorkers: "block" });
  const devtools = await page.context().newCDPSession(page);
  const pid = launched.process().pid;
  const settled = async () => {
    await devtools.send("HeapProfiler.collectGarbage");
    await page.waitForTimeout(3000);
    return memory(pid);
  };
  await page.goto(`${base}#look`);
  const open = async (file) => {
    await page.setInputFiles(".drop input[type=file]", file);
    await page.waitForSelector(".card .map-view canvas", { timeout: 120_000 });
  };
  const close = async () => {
    await page.locator(".card .close").click();
    await page.waitForFunction(() => document.querySelectorAll(".card").length === 0);
  };
  // The core is there, and has seen a file.
  const small = join(import.meta.dirname, "../../../testdata/golden/blocked-k8.umbel");
  await open(small);
  await close();
  const before = await settled();
  let most = 0;
  for (let round = 0; round < rounds; round += 1) {
    await open(values.filter);
    most = Math.max(most, memory(pid));
    await close();
  }
  const after = await settled();
  const size = (statSync(values.filter).size / 1e6).toFixed(0);
  console.log(`| memory of the browser before, with a filter of ${size} MB open, and after ${rounds} of them were closed (goal: before ± 10 %) |`);
  console.log(`| ${before.toFixed(0)} MB, ${most.toFixed(0)} MB, ${after.toFixed(0)} MB: ${((100 * after) / before - 100).toFixed(1)} % |`);
  await browser.close();
  await launched.close();
}

if (values.lighthouse) {
  const port = 9333;
  const browser = await chromium.launch({ executablePath: path, args: ["--no-sandbox", `--remote-debugging-port=${port}`] });
  const onlyCategories = ["performance", "accessibility", "best-practices", "seo"];
  // Lighthouse asks for robots.txt from within the page, whose policy lets nothing connect; a page in a folder has none anyway.
  const skipAudits = ["robots-txt"];
  const entry = createRequire(join(values.lighthouse, "package.json")).resolve("lighthouse");
  const { default: lighthouse } = await import(pathToFileURL(entry));
  for (const [view, preset] of ["plan", "look", "make", "learn"].flatMap((view) => ["mobile", "desktop"].map((preset) => [view, preset]))) {
    const config = preset === "desktop" ? (await import(pathToFileURL(join(entry, "../config/desktop-config.js")))).default : undefined;
    const { lhr } = await lighthouse(`${base}#${view}`, { port, logLevel: "silent", onlyCategories, skipAudits }, config);
    const marks = Object.values(lhr.categories).map(({ title, score }) => `${title} ${Math.round(100 * score)}`);
    const shown = { "largest-contentful-paint": "first text", "total-blocking-time": "blocked", "cumulative-layout-shift": "shift" };
    const figures = Object.entries(shown).map(([id, name]) => `${name} ${lhr.audits[id].displayValue}`);
    console.log(`| Lighthouse ${lhr.lighthouseVersion}, ${view}, ${preset} | ${marks.join(", ")}; ${figures.join(", ")} |`);
    for (const [id, { score, scoreDisplayMode, title, displayValue }] of Object.entries(lhr.audits)) {
      if (score !== null && score < 0.9 && !["informative", "notApplicable", "manual", "metricSavings"].includes(scoreDisplayMode))
        console.error(`${view}, ${preset}: ${id}: ${title} ${displayValue ?? ""}`);
    }
  }
  await browser.close();
}
console.log(`\nMedians of ${rounds} rounds; ${execFileSync(path, ["--version"], { encoding: "utf8" }).trim()}.`);
server.close();
