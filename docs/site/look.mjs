// Looks at the site in a browser, on a telephone and on a desk: nothing is wider than the window, nothing is logged or asked of
// others, and the search finds words of pages, of Rust and of Python. Keeps pictures of what it saw in a folder.
// node look.mjs FOLDER; PAGE is the folder of the site.

import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";

import { start } from "../../crates/umbel-page/tests/browser.mjs";

const pictures = process.argv[2];
const PAGES = [
  "index", "docs/tutorial", "docs/performance", "docs/python", "docs/site/python", "docs/site/rust", "docs/internals",
  "crates/umbel-page/README", "examples/proxy/README", "FORMAT", "CHANGELOG", "search",
];
// The words, and the places that have to be among the results.
const WORDS = {
  "bits per key": ["docs/"],
  receipt: ["rust/umbel/", "docs/site/python.html"],
  "semi-join": ["docs/"],
};

await mkdir(pictures, { recursive: true });
const site = await start();
for (const name of PAGES) {
  for (const width of [360, 1280]) {
    for (const dark of [false, true]) {
      const page = await site.open(`${name}.html`, { width, dark });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert(wide <= width, `${name}.html is ${wide} pixels wide on a screen of ${width}`);
      assert.equal(await page.locator("h1").first().isVisible(), true, name);
      if (!dark || name === "index") {
        const picture = `${name.replaceAll("/", "-")}-${width}${dark ? "-dark" : ""}.png`;
        await page.screenshot({ path: join(pictures, picture) });
      }
      await page.context().close();
    }
  }
}
for (const [words, places] of Object.entries(WORDS)) {
  const page = await site.open(`search.html?q=${encodeURIComponent(words)}`, { width: 360 });
  const results = page.locator(".pagefind-ui__result-link");
  await results.first().waitFor();
  while ((await page.locator(".pagefind-ui__button").count()) > 0 && (await results.count()) < 60) {
    const before = await results.count();
    await page.locator(".pagefind-ui__button").click();
    await page.waitForFunction((count) => document.querySelectorAll(".pagefind-ui__result-link").length > count, before);
  }
  const found = await results.evaluateAll((links) => links.map((link) => link.getAttribute("href")));
  for (const place of places) {
    assert(found.some((link) => link.includes(place)), `${words}: nothing of ${place} in ${found.join(" ")}`);
  }
  const excerpts = page.locator(".pagefind-ui__result-excerpt");
  const cut = await excerpts.evaluateAll((all) => all.filter((one) => one.getBoundingClientRect().right > innerWidth).map((one) => one.textContent));
  assert.deepEqual(cut, [], `${words}: wider than the screen`);
  await page.screenshot({ path: join(pictures, `search-${words.replaceAll(" ", "-")}.png`) });
  await page.context().close();
}
await site.close();
