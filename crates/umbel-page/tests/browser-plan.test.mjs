//! Plan: goals typed and in the address, the ranking, formulas, code to copy, and charts.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { after, afterEach, before, test } from "node:test";

import { drawn, start, umbel } from "./browser.mjs";

let site;
before(async () => (site = await start()));
afterEach(() => site?.clear());
after(() => site?.close());

/** The ranking as rows of text: the variant, then its figures. */
async function ranking(page) {
  await page.waitForSelector(".plan:not([aria-busy]) .plans");
  return page.$$eval(".plans tbody tr[data-variant]", (rows) =>
    rows.map((row) => [row.dataset.variant, ...[...row.cells].slice(1, -1).map((cell) => cell.textContent.trim())]),
  );
}

/** The rows of `umbel filter plan`, their columns a space apart. */
function printed(...goal) {
  const [verdict, , , ...lines] = execFileSync(umbel, ["filter", "plan", ...goal], { encoding: "utf8" }).split("\n");
  const rows = lines.slice(0, lines.indexOf(""));
  return { verdict, rows: rows.map((row) => row.replace(/ +/g, " ").trim()) };
}

test("the page starts with a plan, the one that the command line prints", async () => {
  const page = await site.open();
  const { verdict, rows } = printed("--keys", "1M", "--fpp", "1%");
  const found = await ranking(page);
  assert.deepEqual(
    found.map((cells) => cells.join(" ")),
    rows,
  );
  assert.equal(await page.textContent(".verdict"), verdict);
  assert.match(await page.title(), /^Plan: umbel/);
});

test("each example's ranking is the command line's", async () => {
  const page = await site.open();
  const links = await page.$$eval(".examples a", (links) => links.map((link) => link.hash.replace("#plan?", "")));
  assert(links.length >= 7);
  for (const query of links) {
    const goal = [...new URLSearchParams(query)].flatMap(([name, value]) => (value ? [`--${name}`, value] : [`--${name}`]));
    const { verdict } = printed(...goal);
    await page.click(`.examples a[href="#plan?${query}"]`);
    await page.waitForFunction((verdict) => document.querySelector(".verdict").textContent === verdict, verdict);
  }
});

test("what is typed is planned, and stays in the address", async () => {
  const page = await site.open();
  const typed = { Keys: "100M", "False positive rate": "1%", "Look-up that a filter saves": "1ms", "Share of absent keys": "0.9" };
  await page.click(".goal summary");
  for (const [label, text] of Object.entries(typed)) await page.getByLabel(label, { exact: true }).fill(text);
  await page.getByLabel("Some are removed again").check();
  await page.waitForFunction(() => document.querySelector(".verdict").textContent.startsWith("Choose counting"));
  const before = await ranking(page);
  const hash = "#plan?keys=100M&fpp=1%25&lookup=1ms&absent=0.9&deletes";
  await page.waitForFunction((hash) => location.hash === hash, hash);

  const again = await site.open(hash);
  assert.deepEqual(await ranking(again), before);
  for (const [label, text] of Object.entries(typed)) {
    assert.equal(await again.getByLabel(label, { exact: true }).inputValue(), text);
  }
  assert(await again.getByLabel("Some are removed again").isChecked());
});

test("a browser that refuses to write the address still plans what was typed", async () => {
  const page = await site.open();
  await ranking(page);
  await page.evaluate(() => {
    let left = 100;
    for (const name of ["replaceState", "pushState"]) {
      const write = history[name].bind(history);
      history[name] = (...all) => {
        left -= 1;
        if (left < 0) throw new DOMException("too many", "SecurityError");
        write(...all);
      };
    }
    window.left = () => left;
  });
  const keys = page.getByLabel("Keys", { exact: true });
  await keys.fill("");
  for (let i = 0; i < 80; i += 1) await keys.pressSequentially("12");
  await keys.fill("2M");
  await page.waitForFunction(() => document.querySelector(".plans td")?.textContent === "2,000,000");
  assert((await page.evaluate(() => window.left())) > 60, "the address is not written with every letter");
  await page.evaluate(() => {
    history.replaceState = history.pushState = () => {
      throw new DOMException("too many", "SecurityError");
    };
  });
  await keys.fill("3M");
  await page.waitForFunction(() => document.querySelector(".plans td")?.textContent === "3,000,000");
});

test("the goal stays while another view is looked at, and Back brings the one before", async () => {
  const page = await site.open();
  await ranking(page);
  const keys = page.getByLabel("Keys", { exact: true });
  const first = (text) => page.waitForFunction((text) => document.querySelector(".plans td")?.textContent === text, text);
  for (const [typed, shown] of [
    ["2M", "2,000,000"],
    ["3M", "3,000,000"],
  ]) {
    await keys.fill(typed);
    await keys.press("Tab");
    await first(shown);
  }
  const nav = (name) => page.getByRole("navigation", { name: "Views" }).getByRole("link", { name });
  await nav("Look").click();
  await nav("Plan").click();
  await first("3,000,000");
  assert.equal(await keys.inputValue(), "3M");
  await page.goBack();
  await page.goBack();
  assert.equal(await keys.inputValue(), "3M");
  await page.goBack();
  await first("2,000,000");
  await page.goBack();
  await first("1,000,000");
});

test("a kind is opened in its row, with its formulas, and stays in the address", async () => {
  const page = await site.open("#plan?keys=5e9&fpp=1%25");
  await ranking(page);
  assert.equal(await page.$(".inside"), null);
  const classic = page.getByRole("button", { name: "classic", exact: true });
  const top = () => classic.evaluate((one) => Math.round(one.getBoundingClientRect().top));
  await page.getByRole("button", { name: "blocked", exact: true }).click();
  await classic.scrollIntoViewIfNeeded();
  const before = await top();
  await classic.click();
  assert.equal(await top(), before, "the row stays where it was pressed");
  assert.equal(await page.$eval(".inside", (row) => row.previousElementSibling.dataset.variant), "classic");
  // -k·n / ln(1 - p^(1/k)), as a fraction with a power in it.
  assert.equal(await page.$eval(".formulas mfrac > :nth-child(2)", (below) => below.textContent.replaceAll(/\s/g, "")), "ln(1−p1k)");
  assert(await page.$(".formulas mfrac msup mfrac"));
  assert(await page.$(".formulas cite a[href^='https://']"), "a source");
  await page.waitForFunction(() => location.hash.endsWith("&kind=classic"));
  const again = await site.open(new URL(page.url()).hash);
  await ranking(again);
  const pressed = again.getByRole("button", { name: "classic", exact: true });
  assert.equal(await pressed.getAttribute("aria-expanded"), "true");
  await pressed.click();
  assert.equal(await again.$(".inside"), null, "pressed again, it closes");
  // A kind that does not fit says why.
  await page.getByText(/^\d+ kinds do not fit$/).click();
  await page.getByRole("button", { name: "window", exact: true }).click();
  assert.match(await page.textContent(".formulas"), /Why window does not fit: forgets old keys/);
});

/** The textbook's n, p, m and k, and what is said below. */
const textbook = (page) => page.$$eval(".textbook dd, .textbook p", (all) => all.map((one) => one.textContent));

test("n, p, m and k: two or three of them give the rest, as the formulas do", async () => {
  const page = await site.open("#plan?keys=4000&fpp=1e-7");
  await page.waitForSelector(".textbook dd");
  // -n·ln p / (ln 2)^2 = 134,190.4, and 23.25 probes.
  assert.deepEqual(await textbook(page), ["4,000", "1.00e-7 (1 in 10,000,000)", "134,191 bits (16.4 KiB)", "23", "33.55 bits per key."]);
  const field = (name) => page.getByLabel(name, { exact: true });
  const becomes = (expected) =>
    page.waitForFunction(
      (expected) => [...document.querySelectorAll(".textbook dd, .textbook p")].map((one) => one.textContent).join(" | ") === expected,
      expected.join(" | "),
    );
  // The rate of a filter that one has: (1 - e^(-kn/m))^k.
  await field("Keys").fill("1000");
  await field("False positive rate").fill("");
  await field("Memory at most").fill("8000 bits");
  await field("Probes per key").fill("3");
  const rate = (1 - Math.exp(-3 / 8)) ** 3;
  await becomes(["1,000", `${rate.toFixed(4)} (1 in ${Math.round(1 / rate)})`, "8,000 bits (1000 B)", "3", "8.00 bits per key. k = 6 would be best."]);
  // Bits of a rate and probes.
  await field("Memory at most").fill("");
  await field("False positive rate").fill("1 in 50");
  const bits = Math.ceil((1000 * -3) / Math.log(1 - 0.02 ** (1 / 3)));
  await becomes([
    "1,000",
    "0.0200 (1 in 50)",
    `${bits.toLocaleString("en")} bits (1.16 KiB)`,
    "3",
    `${(bits / 1000).toFixed(2)} bits per key. k = 7 would be best.`,
  ]);
  // Keys of a size.
  await field("Keys").fill("");
  await field("Probes per key").fill("");
  await field("Memory at most").fill("1KiB");
  const keys = Math.floor((8192 * Math.LN2 ** 2) / -Math.log(0.02));
  await becomes([keys.toLocaleString("en"), "0.0200 (1 in 50)", "8,192 bits (1.00 KiB)", "6", `${(8192 / keys).toFixed(2)} bits per key.`]);
  // All three: whether they agree.
  await field("Keys").fill("2000");
  await page.waitForFunction(() =>
    /^4.10 bits per key. The rate needs 16,285 bits; these lead to 0.14\d+ \(1 in 7\)\.$/.test(document.querySelector(".textbook p")?.textContent),
  );
  await field("Probes per key").fill("none");
  await page.waitForSelector("input[name=probes][aria-invalid=true]");
  assert(await page.$(".plans, .unfit"), "kinds are ranked all the same");
});

test("links of other calculators work", async () => {
  const page = await site.open("?n=4000&p=1.0E-7&m=&k=");
  await page.waitForSelector(".textbook dd");
  assert.equal((await textbook(page))[2], "134,191 bits (16.4 KiB)");
  const other = await site.open("?n=1000&p=1000&m=&k=5");
  await other.waitForSelector(".textbook dd");
  assert.deepEqual((await textbook(other)).slice(0, 2), ["1,000", "0.00100 (1 in 1,000)"]);
  const size = await site.open("?n=1000&p=&m=16384&k=");
  await size.waitForSelector(".textbook dd");
  assert.deepEqual((await textbook(size)).slice(2, 4), ["16,384 bits (2.00 KiB)", "11"]);
});

test("the best kind is a card, and kinds are compared side by side", async () => {
  const page = await site.open("#plan?keys=1M&fpp=1%25");
  await ranking(page);
  assert.deepEqual(await page.$$eval(".headline > *", (all) => all.map((one) => one.textContent.trim())), [
    "blocked · 1.21 MiB",
    "10.15 bits per key",
    "k = 8",
    "1 in 102",
  ]);
  for (const kind of ["classic", "counting"]) await page.getByLabel(`Compare ${kind}`, { exact: true }).check();
  const column = (index) => page.$$eval(".side-by-side tr", (rows, index) => rows.map((row) => row.cells[index].textContent.trim()), index);
  assert.deepEqual((await column(0)).slice(0, 3), ["", "for", "keys"]);
  const counting = await column(2);
  assert.equal(counting[0], "counting");
  assert.equal(counting[(await column(0)).indexOf("removes keys")], "yes");
  await page.waitForFunction(() => location.hash.endsWith("&compare=classic,counting"));
  const again = await site.open(new URL(page.url()).hash);
  await again.waitForSelector(".side-by-side th");
  for (const kind of ["blocked", "scalable"]) await again.getByLabel(`Compare ${kind}`, { exact: true }).check();
  await again.getByLabel("Compare sliced", { exact: true }).click();
  assert.equal(await again.getByLabel("Compare sliced", { exact: true }).isChecked(), false, "four at a time");
  await again.getByRole("button", { name: "Compare none" }).click();
  assert.equal(await again.$(".side-by-side th"), null);
});

test("wrong numbers are told at their field, in the command line's words", async () => {
  const page = await site.open();
  await ranking(page);
  const keys = page.getByLabel("Keys", { exact: true });
  await keys.fill("many");
  await page.waitForSelector("input[aria-invalid=true]");
  assert.equal(await keys.getAttribute("aria-invalid"), "true");
  const said = await page.textContent(".field:has(input[aria-invalid=true]) .error");
  assert.equal(said, '"many" is not a number of keys such as 1000000, 5e9, 1.5M or 1,000,000');
  assert.equal(await page.$eval(".ranking", (ranking) => ranking.inert), true, "the ranking is of an older goal");
  await keys.fill("1000");
  await ranking(page);
  await page.waitForFunction(() => document.querySelector("input[aria-invalid=true]") === null);

  const rate = page.getByLabel("False positive rate", { exact: true });
  await rate.fill("");
  await page.waitForFunction(() => document.querySelector(".verdict").textContent === "Enter a second value.");
  await keys.fill("");
  await page.waitForFunction(() => document.querySelector(".verdict").textContent.startsWith("Enter two values"));
  await keys.fill("1000");
  await rate.fill("2");
  await page.waitForSelector("input[name=fpp][aria-invalid=true]");
});

test("a goal that no kind meets says so", async () => {
  const page = await site.open("#plan?keys=1M&fpp=1%25&memory=1KiB");
  await page.waitForSelector(".unfit");
  assert.equal(await page.$(".plans"), null);
  assert.match(await page.textContent(".unfit"), /blocked.*needs 1.21 MiB of memory; the limit is 1.00 KiB/);
});

test("every line of code is copied", async () => {
  const page = await site.open("#plan?keys=1M&fpp=1%25", { permissions: ["clipboard-read", "clipboard-write"] });
  await ranking(page);
  await page.getByRole("button", { name: "blocked", exact: true }).click();
  const command = page.getByRole("tab", { name: "Command line" });
  await command.press("ArrowRight");
  assert.equal(await page.getByRole("tab", { name: "Rust" }).getAttribute("aria-selected"), "true");
  for (const name of ["Command line", "Rust", "Python", "JavaScript", "Redis, Valkey"]) {
    await page.getByRole("tab", { name, exact: true }).click();
    await page.getByRole("button", { name: `Copy: ${name}` }).click();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    const shown = await page.getByRole("region", { name, exact: true }).textContent();
    assert(copied.length > 10 && copied === shown, `${name}: ${copied}`);
  }
  await page.getByRole("button", { name: "Copy a link to this goal" }).click();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), page.url());
});

test("charts are drawn, read by keys, and have their values in a table", async () => {
  const page = await site.open();
  await page.waitForSelector("#chart-bits");
  assert.equal(await page.locator(".chart:visible").count(), 2);
  await page.click(".more summary");
  await page.waitForSelector("#chart-exponent");
  const ids = await page.$$eval(".chart", (charts) => charts.map((chart) => chart.id));
  assert.deepEqual([...ids].sort(), ["chart-bits", "chart-exponent", "chart-keys", "chart-overfill", "chart-probes", "chart-time"]);
  for (const id of ids.filter((id) => id !== "chart-time")) {
    await drawn(page, `#${id}`);
    // Something other than axes is on the canvas: many colours.
    const colours = await page.$eval(`#${id} canvas`, (canvas) => {
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      return new Set(new Uint32Array(data.buffer)).size;
    });
    assert(colours > 20, `${id}: ${colours} colours`);
    assert.match(await page.textContent(`#${id} .formula`), /\S/);
  }
  const slider = page.locator("#chart-overfill input[type=range]");
  const before = await slider.getAttribute("aria-valuetext");
  await slider.focus();
  await page.keyboard.press("ArrowRight");
  const read = await slider.getAttribute("aria-valuetext");
  assert.notEqual(read, before);
  assert.match(read, /blocked.* 0\.\d+/);

  // Every curve has a value wherever it is drawn: no gap between its first and its last one. Some of the exponents are points.
  for (const id of ids.filter((id) => !["chart-time", "chart-exponent"].includes(id))) {
    const read = await page.$eval(`#${id} input[type=range]`, (slider) => {
      const values = [];
      for (let at = 0; at <= Number(slider.max); at += 1) {
        slider.value = String(at);
        slider.dispatchEvent(new Event("input"));
        values.push([...slider.closest("figure").querySelectorAll(".legend .value")].map((one) => (one.textContent === "–" ? "-" : "x")));
      }
      return values[0].map((_, series) => values.map((row) => row[series]).join(""));
    });
    for (const row of read) assert.match(row, /^-*x+-*$/, id);
  }

  // The pointer reads between the points, too.
  const canvas = page.locator("#chart-overfill .u-over");
  await canvas.scrollIntoViewIfNeeded();
  const box = await canvas.boundingBox();
  const at = new Set();
  for (let x = 0; x < 8; x += 1) {
    await page.mouse.move(box.x + box.width / 2 + x, box.y + 40);
    at.add(await page.textContent("#chart-overfill .at"));
  }
  assert(at.size >= 7, [...at].join(", "));
  await page.click("#chart-time summary");
  await page.waitForSelector("#chart-time tbody tr");
  const times = await page.$$eval("#chart-time tr", (rows) => rows.slice(0, 2).map((row) => [...row.cells].map((cell) => cell.textContent)));
  assert.deepEqual(times, [
    ["", "one key per call", "in a batch"],
    ["blocked", "21", "6.4"],
  ]);
  await page.click("#chart-overfill summary");
  await page.waitForSelector("#chart-overfill tbody tr");
  const rows = await page.$$eval("#chart-overfill tbody tr", (rows) => rows.map((row) => row.textContent));
  assert(rows.length > 30);
  // An over-filled filter has a higher rate.
  await page.getByLabel("Keys", { exact: true }).fill("2M");
  await page.waitForFunction(() => document.querySelector(".plans td")?.textContent === "2,000,000");
  await page.waitForSelector("#chart-overfill details[open]");
});
