//! The page as a whole: accessibility, small screens, the keyboard, colours, and that nothing leaves it.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import { pathToFileURL } from "node:url";

import { drawn, folder, repository, start } from "./browser.mjs";
import { english, unlike } from "./english.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const filter = join(repository, "testdata", "golden", "blocked-chunks.umbel");

let site;
before(async () => (site = await start()));
afterEach(() => site?.clear());
after(() => site?.close());

/** Every view, filled. */
const views = {
  plan: async (options) => {
    const page = await site.open("#plan?keys=4G&fpp=1.3%25&except=1M&known", options);
    await page.waitForSelector("#chart-bits");
    await page.click(".notes summary");
    await page.click("#chart-overfill summary");
    await page.click(".unfit summary");
    await page.click(".more summary");
    await page.click(".plans .pick");
    for (const box of await page.locator(".tick input").all()) await box.check();
    return page;
  },
  refused: async (options) => {
    const page = await site.open("#plan?keys=many&fpp=1%25", options);
    await page.waitForSelector(".verdict.refused");
    return page;
  },
  look: async (options) => {
    const page = await site.open("#look", options);
    await page.setInputFiles(".drop input[type=file]", [filter, join(repository, "testdata", "golden", "blocked-k8.umbel")]);
    await page.waitForSelector(".comparison h2");
    await page.locator("textarea").first().fill("member-1\nprobe-1");
    await page.waitForSelector(".answers td");
    await page.locator(".map-view summary").first().click();
    return page;
  },
  wrong: async (options) => {
    const page = await site.open("#look", options);
    await page.setInputFiles(".drop input[type=file]", { name: "wrong.bin", mimeType: "", buffer: Buffer.from("no filter") });
    await page.waitForSelector(".alert p");
    return page;
  },
  make: async (options) => {
    const page = await site.open("#make", options);
    await page.locator(".recipe textarea").first().fill("a\nb\nc");
    await page.locator(".recipe .main:enabled").click();
    await page.waitForSelector(".made .receipt");
    return page;
  },
  parquet: async (options) => {
    const page = await site.open("#look", options);
    await page.setInputFiles(".drop input[type=file]", join(repository, "testdata", "foreign", "parquet", "groups.parquet"));
    await page.waitForSelector(".card table");
    return page;
  },
  index: async (options) => {
    const page = await site.open("#look", options);
    await page.setInputFiles(".drop input[type=file]", join(repository, "testdata", "find", "words.index"));
    await page.locator("textarea").first().fill("user_id=17\nabsentabsent\n?");
    await page.waitForSelector(".answers td");
    return page;
  },
  ...Object.fromEntries(
    ["first", "words", "full", "counting", "scalable", "window", "stable", "blocked", "bloomier", "cascade"].map((lesson) => [
      `learn ${lesson}`,
      async (options) => {
        const page = await site.open(`#learn?lesson=${lesson}&at=4`, options);
        await page.waitForSelector(".steps [aria-current]");
        return page;
      },
    ]),
  ),
};

/** When what has changed is drawn, and no colour fades any more. */
const settled = (page) =>
  page.evaluate(async () => {
    for (let frame = 0; frame < 2; frame += 1) await new Promise(requestAnimationFrame);
    await Promise.all(document.getAnimations().map(({ finished }) => finished.catch(() => {})));
  });

for (const [name, open] of Object.entries(views)) {
  test(`${name}: axe finds nothing, light or dark; any width is enough`, async () => {
    const page = await open({ bypassCSP: true });
    await page.evaluate(axe);
    const checked = async (what) => {
      await settled(page);
      const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
      const said = violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ target }) => target).join(" | ")}`);
      assert.deepEqual(said, [], what);
    };
    await page.emulateMedia({ colorScheme: "dark" });
    await checked("dark");
    await page.emulateMedia({ colorScheme: "light" });
    for (const width of [320, 360, 740, 768, 1000, 1024, 1180, 1280]) {
      await page.setViewportSize({ width, height: 740 });
      // Maps take their size 100 ms later.
      await page.waitForTimeout((await page.locator("canvas.map").count()) > 0 ? 150 : 0);
      await settled(page);
      const { scroll, wide, broken } = await page.evaluate(
        (width) => ({
          scroll: document.documentElement.scrollWidth,
          wide: [...document.querySelectorAll("main *")]
            .filter((one) => one.getBoundingClientRect().right > width + 1 && !one.closest(".scroll, pre, .visually-hidden, svg, thead"))
            .map((one) => one.className || one.tagName),
          // A number or an option of a command that goes on in the next line.
          broken: [...document.querySelectorAll("td:not(:has(*)), .kept:not(:has(*))")]
            .filter((one) => {
              const range = document.createRange();
              range.selectNodeContents(one);
              return /^[\w,.-]+$/.test(one.textContent) && new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1;
            })
            .map((one) => one.textContent),
        }),
        width,
      );
      assert.equal(scroll, width, `too wide: ${wide}`);
      assert.deepEqual(wide, [], `${width}`);
      assert.deepEqual(broken, [], `${width}`);
      // It looks at what is shown, which differs by layout: cards, one column, two.
      if ([320, 768, 1280].includes(width)) await checked(`${width}`);
    }
  });
}

/** What has the focus, as a screen reader would name it. */
const focused = (page) =>
  page.evaluate(() => {
    const one = document.activeElement;
    return one.getAttribute("aria-label") ?? one.labels?.[0]?.textContent.trim() ?? one.textContent.trim();
  });

/** Presses Tab until this has the focus. */
async function tabTo(page, name) {
  for (let i = 0; i < 90; i += 1) {
    await page.keyboard.press("Tab");
    if (name.test(await focused(page))) {
      const outline = await page.evaluate(() => {
        const one = document.activeElement;
        // A file's button is the label next to it.
        const shown = one.type === "file" ? one.nextElementSibling : one;
        return getComputedStyle(shown).outlineStyle;
      });
      assert.notEqual(outline, "none", `${name} has the focus, and shows it`);
      return;
    }
  }
  assert.fail(`Tab does not reach ${name}`);
}

test("everything works by keyboard alone", async () => {
  const page = await site.open("#plan");
  await page.waitForSelector(".plans");
  await page.keyboard.press("Tab");
  assert.equal(await focused(page), "Skip to the content");
  await page.keyboard.press("Enter");
  await tabTo(page, /^Keys$/);
  await page.keyboard.press("Control+A");
  await page.keyboard.type("5e9");
  await page.waitForFunction(() => /5\.91 GiB/.test(document.querySelector(".verdict").textContent));
  await tabTo(page, /^Some are removed again$/);
  await page.keyboard.press("Space");
  await page.waitForFunction(() => document.querySelector(".verdict").textContent.startsWith("Choose counting"));
  await tabTo(page, /^\d+ kinds do not fit$/);
  await page.keyboard.press("Enter");
  await tabTo(page, /^classic$/);
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => /figures of classic/.test(document.querySelector(".formulas h3")?.textContent));
  await page.waitForSelector("#chart-overfill");
  await tabTo(page, /^Read values at/);
  await page.keyboard.press("End");

  await page.goto(`${site.base}#look`);
  await page.waitForSelector(".drop");
  const chooser = page.waitForEvent("filechooser");
  await tabTo(page, /choose a file/);
  await page.keyboard.press("Enter");
  await (await chooser).setFiles(filter);
  await page.waitForSelector(".card");
  await tabTo(page, /^Keys, one per line$/);
  await page.keyboard.type("member-1");
  await page.waitForSelector(".answers .yes");
  await tabTo(page, /^Map\./);
  await page.keyboard.press("+");

  await page.goto(`${site.base}#learn`);
  await page.waitForSelector(".steps li");
  await tabTo(page, /^Next$/);
  await page.keyboard.press("Enter");
  await page.waitForSelector(".box.set");
  await tabTo(page, /Look up mango/);
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => /Step 4/.test(document.querySelector(".place").textContent));
});

test("without WebAssembly, the page says what is missing, in its language", async () => {
  for (const [document, text] of [
    ["", /blocks WebAssembly/],
    ["zh.html", /禁用了 WebAssembly/],
  ]) {
    const page = await site.open("", { document });
    await page.route("**/core.js", async (route) => {
      const body = (await (await route.fetch()).text()).replace('umbelCore="', 'umbelCore="delete self.WebAssembly;');
      await route.fulfill({ body, contentType: "text/javascript" });
    });
    await page.reload();
    await page.waitForFunction((text) => new RegExp(text).test(document.querySelector(".verdict")?.textContent), text.source);
  }
});

test("a core that could not be loaded is asked for again", async () => {
  const page = await site.open("#look");
  await page.waitForTimeout(500);
  const context = page.context();
  const other = await context.newPage();
  let refuse = true;
  await other.route("**/core.js", (route) => (refuse ? route.abort() : route.continue()));
  await other.goto(site.base);
  await other.waitForFunction(() => /core\.js could not be loaded/.test(document.querySelector(".verdict")?.textContent));
  refuse = false;
  await other.getByLabel("Keys", { exact: true }).fill("2M");
  await other.waitForSelector(".plans");
});

test("a word as long as a page makes the page no wider", async () => {
  const page = await site.open(`#learn?lesson=words&own=&i=${"x".repeat(5000)}&at=1`, { width: 360 });
  await page.waitForSelector(".steps [aria-current]");
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 360);
});

test("landmarks, headings and live regions are there", async () => {
  const page = await site.open("#plan");
  await page.waitForSelector(".plans");
  for (const role of ["banner", "main", "contentinfo"]) assert.equal(await page.getByRole(role).count(), 1, role);
  assert.equal(await page.getByRole("heading", { level: 1 }).count(), 1);
  assert.equal(await page.getAttribute(".verdict", "role"), "status");
  await page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: "Learn" }).click();
  await page.waitForSelector(".learn");
  assert.equal(await page.evaluate(() => document.activeElement.tagName), "H1", "a new view has the focus");
  assert.match(await page.title(), /^Learn/);
});

test("colours follow the system, or the switch, which is remembered", async () => {
  const page = await site.open("#plan", { dark: true });
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const dark = await paper();
  await page.getByLabel("Colours").selectOption("light");
  const light = await paper();
  assert.notEqual(light, dark);
  await page.reload();
  assert.equal(await paper(), light);
  await page.getByLabel("Colours").selectOption("auto");
  assert.equal(await paper(), dark);
});

test("the page cannot connect, nor can its workers", async () => {
  const page = await site.open("#plan");
  await page.waitForSelector("#chart-bits");
  const count = site.logged.length;
  const tries = await page.evaluate(async () => {
    const attempt = (how) =>
      how().then(
        () => "connected",
        () => "refused",
      );
    const script = "fetch('https://example.org/').then(() => postMessage('connected'), () => postMessage('refused'))";
    const worker = new Worker(URL.createObjectURL(new Blob([script])));
    const inWorker = new Promise((resolve) => (worker.onmessage = ({ data }) => resolve(data)));
    const image = new Promise((resolve) => {
      const image = new Image();
      image.onload = () => resolve("connected");
      image.onerror = () => resolve("refused");
      image.src = "https://example.org/image.png";
    });
    return [await attempt(() => fetch("https://example.org/")), await attempt(() => fetch("index.html")), await inWorker, await image];
  });
  assert.deepEqual(tries, ["refused", "refused", "refused", "refused"]);
  // The refusals are logged, and nothing else may be.
  const refusals = site.logged.splice(count);
  assert(refusals.length >= 3 && refusals.every((line) => /Content Security Policy|violates/.test(line)), refusals.join("\n"));
});

test("there is something to read before any script, in the colours that were chosen", async () => {
  const page = await site.open();
  await page.getByLabel("Colours").selectOption("dark");
  const dark = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const before = await page.context().newPage();
  await before.route("**/main.js", (route) => route.abort());
  for (const [hash, heading] of [
    ["", "Which filter?"],
    ["#look", "What is inside?"],
    ["#make?kind=classic", "Make a filter"],
    ["#learn?lesson=blocked", "How does it work?"],
  ]) {
    await before.goto("about:blank");
    await before.goto(`${site.base}${hash}`);
    assert.deepEqual(await before.getByRole("heading").allTextContents(), [heading]);
    assert.equal(await before.evaluate(() => getComputedStyle(document.body).backgroundColor), dark);
  }
  await before.getByLabel("Colours").selectOption("light");
  assert.notEqual(await before.evaluate(() => getComputedStyle(document.body).backgroundColor), dark);
  // main.js is missing.
  for (let at = site.logged.length - 1; at >= 0; at -= 1) if (/ERR_FAILED/.test(site.logged[at])) site.logged.splice(at, 1);
});

test("without scripts there is a heading, a table, and where it comes from", async () => {
  const page = await site.open("", { javaScriptEnabled: false });
  assert.deepEqual(await page.getByRole("heading").allTextContents(), ["Which filter?"]);
  assert.equal(await page.getByRole("row").count(), 7);
  await page.getByRole("link", { name: "Licences" }).waitFor();
});

test("a view loads what it needs, and no more", async () => {
  const page = await site.open("#learn");
  await page.waitForSelector(".steps li");
  const loaded = [];
  page.context().on("request", (request) => request.url().startsWith(site.base) && loaded.push(request.url().replace(site.base, "")));
  await page.goto(`${site.base}#plan`);
  await page.waitForSelector("#chart-bits");
  assert.deepEqual(loaded, []);
  await drawn(page, "#chart-bits");
  assert.deepEqual(loaded, ["plot.js"]);
  await page.goto(`${site.base}#look`);
  await page.waitForSelector(".told option:nth-child(2)", { state: "attached" });
  assert.deepEqual(loaded, ["plot.js", "files.js"]);
});

test("the licences of all parts are there", async () => {
  const page = await site.open();
  await page.getByRole("link", { name: "Licences" }).click();
  await page.waitForURL(/LICENSES-OF-PARTS/);
  const text = await page.textContent("body");
  for (const part of ["uplot 1.", "xz-decompress 0.", "serde_json 1.", "ed25519-dalek 3.", "Copyright (c) 2022 Leon Sorokin"])
    assert(text.includes(part), part);
});

test("a system without a language has the page all the same", async () => {
  // Headless Chromium then says "en-US@posix", which its own Intl refuses, and WebKit "C".
  const page = await site.open("", { locale: undefined });
  await page.waitForSelector("#chart-bits");
  await drawn(page, "#chart-bits");
});

test("an address with an unknown view or lesson shows the first one", async () => {
  const page = await site.open("#nothing?x=%E0%A4%A");
  await page.waitForSelector(".plan .verdict");
  await page.goto(`${site.base}#learn?lesson=none&at=-3`);
  await page.waitForSelector(".steps li");
  assert.match(await page.textContent(".lesson h2"), /Apples/);
});

test("the page opens from a folder, without any server", async () => {
  const page = await site.browser.newPage({ locale: "en-US" });
  await page.goto(pathToFileURL(join(folder, "index.html")).href);
  await page.waitForSelector(".plans");
  await page.close();
});

test("the page opens again without a network, once its files are kept", async () => {
  const page = await site.open("", { serviceWorkers: "allow" });
  await page.evaluate(async () => {
    const { active, installing, waiting } = await navigator.serviceWorker.ready;
    const worker = active ?? installing ?? waiting;
    if (worker.state === "activated") return;
    await new Promise((resolve) => worker.addEventListener("statechange", () => worker.state === "activated" && resolve()));
  });
  const context = page.context();
  await page.close();
  await context.setOffline(true);
  const again = await context.newPage();
  await again.goto(`${site.base}#plan?keys=2M&fpp=1%25`);
  await again.waitForFunction(() => document.querySelector(".plans td")?.textContent === "2,000,000");
  await again.getByRole("link", { name: "Look", exact: true }).click();
  await again.setInputFiles(".drop input[type=file]", filter);
  await again.waitForSelector(".card");
  await again.getByRole("link", { name: "Learn", exact: true }).click();
  await again.waitForSelector(".steps li");
  await again.goto(`${site.base}zh.html#plan`);
  await again.getByRole("heading", { name: "选哪种过滤器？" }).waitFor();
});

test("colours that another tab chose are taken", async () => {
  const page = await site.open();
  const other = await page.context().newPage();
  await other.goto(site.base);
  await other.getByLabel("Colours").selectOption("dark");
  await page.waitForFunction(() => document.documentElement.dataset.theme === "dark");
  assert.equal(await page.getByLabel("Colours").inputValue(), "dark");
});

test("the page is there in Chinese, with the same views and figures", async () => {
  const page = await site.open("#plan?keys=2M&fpp=1%25");
  await page.waitForSelector(".plans");
  await page.getByRole("link", { name: "简体中文" }).click();
  await page.waitForFunction(() => document.querySelector(".plans td")?.textContent === "2,000,000");
  assert.equal(await page.getAttribute("html", "lang"), "zh-CN");
  assert.equal(await page.getByLabel("键数", { exact: true }).inputValue(), "2M");
  for (const [name, heading] of [
    ["查看", "里面有什么？"],
    ["生成", "生成过滤器"],
    ["学习", "它是怎么工作的？"],
  ]) {
    await page.getByRole("navigation", { name: "视图" }).getByRole("link", { name }).click();
    await page.getByRole("heading", { name: heading }).waitFor();
  }
  await page.getByRole("link", { name: "English" }).click();
  await page.getByRole("heading", { name: "How does it work?" }).waitFor();
});

/** Whether a text is English, or has its signs. */
const foreign = (text) => english(text) || unlike(text);

/** Texts that are seen or read out, but for code, names of files, and titles of papers. */
const said = (page) =>
  page.evaluate(() => {
    const kept = "pre, code, cite, script, style, noscript, math, textarea, [hreflang], .answers th, h2[tabindex='-1'], .pick";
    const found = [document.title];
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) if (!walk.currentNode.parentElement.closest(kept)) found.push(walk.currentNode.data);
    for (const name of ["aria-label", "title", "placeholder", "alt"]) {
      for (const one of document.querySelectorAll(`[${name}]`)) if (!one.closest(kept)) found.push(one.getAttribute(name));
    }
    return found;
  });

for (const [name, open] of Object.entries(views)) {
  test(`${name}: no English is left in Chinese`, async () => {
    const page = await open({ document: "zh.html" });
    if (name.startsWith("learn ")) {
      const found = new Set();
      for (let step = 0; step < 12; step += 1) {
        for (const text of await said(page)) found.add(text);
        await page.keyboard.press("ArrowRight");
      }
      assert.deepEqual([...found].filter(foreign), []);
    } else {
      await page.$$eval("details", (all) => {
        for (const one of all) one.open = true;
      });
      await page.waitForTimeout(300);
      assert.deepEqual([...new Set(await said(page))].filter(foreign), []);
    }
    // Its letters are wider, and a line may break between any two.
    for (const width of [320, 768, 1280]) {
      await page.setViewportSize({ width, height: 740 });
      await settled(page);
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width);
      const heights = await page.$$eval(".top nav a", (links) => links.map((link) => link.offsetHeight));
      assert(Math.max(...heights) < 50, `${width}: ${heights}`);
    }
    await page.close();
  });
}
