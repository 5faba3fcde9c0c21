//! What the browser's tests share: Chromium, a server as plain as static hosts come, and pages that record what they ask for.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

import { chromium, firefox } from "playwright-core";

const here = dirname(fileURLToPath(import.meta.url));
export const repository = join(here, "..", "..", "..");
/** The built page, and the command line that makes filters for it. */
export const folder = process.env.PAGE ?? join(repository, "target", "page");
export const umbel = process.env.UMBEL ?? join(repository, "target", "debug", "umbel");

const packed = join(dirname(fileURLToPath(import.meta.resolve("@sparticuz/chromium"))), "..");

/** Chromium comes in a package with the few libraries that it needs, so it runs without root; it is unpacked once. */
export async function browserPath() {
  if (process.platform !== "linux" || process.arch !== "x64") {
    throw new Error("the package's Chromium is for Linux on x86-64: run these tests there");
  }
  const { version } = JSON.parse(await readFile(join(packed, "package.json"), "utf8"));
  const parent = join(repository, "target", "chromium");
  const place = join(parent, version);
  if (!existsSync(place)) {
    // Other test files may do the same at this moment: whoever is first gives the folder its name.
    const own = `${place}.${process.pid}`;
    await mkdir(own, { recursive: true });
    await unpack(own);
    await rename(own, place).catch(() => rm(own, { recursive: true }));
  }
  return unpack(place);
}

/** Unpacks what is not there yet, and sets the environment for it. */
async function unpack(place) {
  // The package unpacks to the folder for temporary files, and nowhere else.
  process.env.TMPDIR = place;
  const { default: chromium, inflate, setupLambdaEnvironment } = await import("@sparticuz/chromium");
  await inflate(join(packed, "bin", "al2023.tar.br"));
  await useFonts(place);
  setupLambdaEnvironment(join(place, "al2023", "lib"));
  const path = await chromium.executablePath();
  delete process.env.TMPDIR;
  return path;
}

/** Lets Chromium find the package's fonts, which alone it uses: their own configuration looks below /tmp. */
async function useFonts(place) {
  const configuration = join(place, "fonts.conf");
  const places = `<dir>${join(place, "fonts")}</dir><cachedir>${join(place, "fonts-cache")}</cachedir>`;
  await writeFile(configuration, `<?xml version="1.0"?><fontconfig>${places}</fontconfig>\n`);
  process.env.FONTCONFIG_FILE = configuration;
}

const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".webmanifest": "application/manifest+json",
  ".txt": "text/plain; charset=utf-8",
};

/** Serves the page below a path, with no header but the type: what the page promises, it has to keep by itself. `compressed`, as
 * most hosts do. */
export async function serve({ compressed = false } = {}) {
  const server = createServer(async (request, response) => {
    const path = new URL(request.url, "http://localhost").pathname;
    const name = path === "/some/path/" ? "index.html" : path.replace("/some/path/", "");
    try {
      const body = await readFile(join(folder, name));
      const type = { "content-type": TYPES[extname(name)] ?? "application/octet-stream" };
      if (compressed) response.writeHead(200, { ...type, "content-encoding": "gzip" }).end(gzipSync(body, { level: 9 }));
      else response.writeHead(200, type).end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  return { server, base: `http://127.0.0.1:${server.address().port}/some/path/` };
}

/** Debian's Firefox, if it is installed: no package of npm has one. Newer versions of Playwright ask for more than it has. */
export const installedFirefox = ["/usr/bin/firefox-esr", "/usr/bin/firefox"].find((path) => existsSync(path));

const launch = {
  chromium: async () => chromium.launch({ executablePath: await browserPath(), args: ["--no-sandbox"] }),
  firefox: () => firefox.launch({ channel: "moz-firefox", executablePath: installedFirefox }),
};

/** Scrolls to a chart, and waits until it is drawn. */
export async function drawn(page, chart) {
  await page.locator(`${chart} .plot`).first().scrollIntoViewIfNeeded();
  await page.waitForSelector(`${chart} canvas`);
}

/** A browser and the page's address. `open` makes pages, `clear` closes them; `close` checks what they have asked for and logged. */
export async function start(which = "chromium") {
  assert(existsSync(join(folder, "index.html")), `no page in ${folder}: cargo x page builds it`);
  const browser = await launch[which]();
  const { server, base } = await serve();
  const requested = new Set();
  const logged = [];

  async function open(hash = "", { width = 1280, dark = false, document = "", ...more } = {}) {
    const context = await browser.newContext({
      viewport: { width, height: 800 },
      // Without one, headless Chromium says "en-US@posix", which Intl refuses.
      locale: "en-US",
      colorScheme: dark ? "dark" : "light",
      // What it keeps would answer in place of what a test changes.
      serviceWorkers: "block",
      ...more,
    });
    // A chart takes a second of a processor, of which a busy machine gives one in twenty.
    context.setDefaultTimeout(30_000);
    context.on("request", (request) => requested.add(request.url()));
    // What the policy refuses was not sent; it is in the console.
    context.on("requestfailed", (request) => request.failure().errorText === "csp" && requested.delete(request.url()));
    const page = await context.newPage();
    const blocked = "Service Worker registration blocked by Playwright";
    page.on("console", (message) => ["error", "warning"].includes(message.type()) && message.text() !== blocked && logged.push(message.text()));
    page.on("pageerror", (error) => logged.push(String(error)));
    await page.goto(`${base}${document}${hash}`);
    // Its heading is there before its script. Pages of the site have no view.
    const views = await page.locator(".view").count();
    if (views > 0 && more.javaScriptEnabled !== false) await page.waitForSelector(".view > :nth-child(2)", { state: "attached" });
    return page;
  }

  /** After each test: what is still drawn and computed would slow the others down. */
  async function clear() {
    await Promise.all(browser.contexts().map((context) => context.close()));
  }

  async function close() {
    await browser.close();
    server.close();
    const outside = [...requested].filter((url) => !url.startsWith(base) && !/^(blob|data):/.test(url));
    assert.deepEqual(outside, [], "requests that leave the page's folder");
    assert.deepEqual(logged, [], "errors and warnings in the console");
  }

  return { base, browser, open, clear, close, logged };
}
