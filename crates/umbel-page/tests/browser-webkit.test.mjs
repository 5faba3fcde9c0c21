//! The views in WebKit, which Safari is made of: its driver speaks WebDriver, and Playwright does not. Only
//! `cargo x test page --full` needs it.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { repository, serve } from "./browser.mjs";

const driver = "/usr/bin/WebKitWebDriver";
const libraries = "/usr/lib/x86_64-linux-gnu";
const browser =
  existsSync(libraries) &&
  readdirSync(libraries)
    .map((name) => join(libraries, name, "MiniBrowser"))
    .find((path) => existsSync(path));
const installed = existsSync(driver) && browser && existsSync("/usr/bin/Xvfb");

const children = [];
let site;
let session;
/** A command of WebDriver. */
async function command(method, path, body) {
  const response = await fetch(`http://127.0.0.1:${session.port}${path}`, { method, body: body && JSON.stringify(body) });
  const { value } = await response.json();
  if (value?.error) throw new Error(`${value.error}: ${value.message}`);
  return value;
}
/** Runs a function's body in the page until it returns something. */
async function wait(script, ...args) {
  for (const end = Date.now() + 30_000; Date.now() < end; await new Promise((later) => setTimeout(later, 200))) {
    const value = await command("POST", `${session.path}/execute/sync`, { script, args });
    if (value) return value;
  }
  const shown = await command("POST", `${session.path}/execute/sync`, { script: "return document.querySelector('main').textContent", args: [] });
  return assert.fail(`nothing came of: ${script}; the page shows: ${shown}`);
}
const go = (hash) => command("POST", `${session.path}/url`, { url: `${site.base}${hash}` });
/** The key of an element's id in WebDriver. */
const ELEMENT = "element-6066-11e4-a52e-4f735466cecf";
async function type(selector, text) {
  const element = await command("POST", `${session.path}/element`, { using: "css selector", value: selector });
  await command("POST", `${session.path}/element/${element[ELEMENT]}/value`, { text });
}

before(async () => {
  assert(installed, "WebKit is not installed: apt-get install webkit2gtk-driver xvfb");
  site = await serve();
  const run = (program, args, more = {}) => {
    const child = spawn(program, args, { stdio: ["ignore", "pipe", "ignore"], ...more });
    children.push(child);
    return child;
  };
  // It writes the number of a display that is free.
  const screen = run("Xvfb", ["-displayfd", "1", "-screen", "0", "1300x900x24"]);
  const number = await new Promise((heard) => screen.stdout.once("data", (data) => heard(String(data).trim())));
  const port = 20_000 + (process.pid % 20_000);
  // The sandbox needs name spaces, which containers do not give.
  const env = { ...process.env, DISPLAY: `:${number}`, WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS: "1" };
  run(driver, [`--port=${port}`], { env });
  session = { port, path: "" };
  const wanted = { alwaysMatch: { "webkitgtk:browserOptions": { binary: browser, args: ["--automation"] } } };
  for (let tries = 0; session.path === ""; tries += 1) {
    await new Promise((later) => setTimeout(later, 300));
    await command("POST", "/session", { capabilities: wanted }).then(
      ({ sessionId }) => (session.path = `/session/${sessionId}`),
      (error) => tries > 30 && assert.fail(error.message),
    );
  }
});
after(async () => {
  if (session?.path) await command("DELETE", session.path).catch(() => {});
  for (const child of children.reverse()) child.kill();
  site?.server.close();
});

test("WebKit: a plan, whose address follows", async () => {
  await go("#plan?keys=5e9&fpp=1%25");
  assert.match(await wait("return document.querySelector('.plans') && document.querySelector('.headline').textContent"), /5\.91 GiB/);
  await wait("document.querySelector('#chart-bits')?.scrollIntoView(); return document.querySelector('#chart-bits canvas') !== null");
  // Safari refuses more than 100 writes of the address in 30 seconds.
  await type("input[type=text]", "000000000000000000000000000000");
  await wait("return document.querySelector('.verdict.refused, .field .error:not(:empty)') !== null || location.hash.includes('000000')");
});

test("WebKit: an example is opened, and keys are looked up", async () => {
  await go("#look");
  await wait("const all = [...document.querySelectorAll('button')].find((one) => one.textContent === 'Open an example'); all?.click(); return Boolean(all)");
  await wait("return document.querySelectorAll('.answers tbody tr').length === 4");
  const found = await wait(
    "return [...document.querySelectorAll('.answers tbody tr')].map((row) => [...row.querySelectorAll('td')].map((cell) => cell.className).join(' ')).join(', ')",
  );
  assert.equal(found, "yes no, yes yes, no yes, no no");
  await wait("document.querySelector('.profile')?.scrollIntoView(); return document.querySelectorAll('.profile canvas').length === 2");
});

test("WebKit: a file is opened", async () => {
  await go("#make");
  await go("#look");
  await type(".drop input[type=file]", join(repository, "testdata/golden/classic-odd.umbel"));
  await wait("return [...document.querySelectorAll('.card h2')].some((one) => one.textContent === 'classic-odd.umbel')");
});

test("WebKit: a filter is made, and a lesson goes step by step", async () => {
  await go("#make");
  await wait("return document.querySelector('.maker textarea') !== null");
  await type(".maker textarea", "apples\nplums");
  await wait(
    "const button = [...document.querySelectorAll('.maker button')].find((one) => one.textContent === 'Make the filter' && !one.disabled); button?.click(); return Boolean(button)",
  );
  await wait("return document.querySelector('.made .receipt') !== null");
  await go("#learn?lesson=cascade&at=9");
  await wait("return document.querySelectorAll('.rows .boxes').length > 1");
});
