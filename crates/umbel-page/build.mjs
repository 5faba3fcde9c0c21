//! Bundles the explorer: `node build.mjs --core FILE.xz --files FILE.xz --licences FILE --out DIR [--at URL]` writes its pages,
//! scripts and pictures, and the licences of all parts, after those of the cores' crates; `--at` is where it will be.
//! `cargo x page` calls it.

import { createHash } from "node:crypto";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

import * as esbuild from "esbuild";

const { values: options } = parseArgs({
  options: {
    core: { type: "string" },
    files: { type: "string" },
    licences: { type: "string" },
    out: { type: "string" },
    at: { type: "string" },
  },
});
if (!options.core || !options.files || !options.licences || !options.out) {
  console.error("usage: node build.mjs --core FILE.xz --files FILE.xz --licences FILE --out DIR [--at URL]");
  process.exit(2);
}
const page = join(dirname(fileURLToPath(import.meta.url)), "page");
/** Copied as they are. */
const FILES = ["icon.svg", "icon.png", "card.png", "umbel.webmanifest"];
/** Packages in the scripts; others only build or test them. */
const PACKAGES = ["uplot", "xz-decompress"];
/** The words of each page, and the script that brings them; English is in main.js. */
const PAGES = { "index.html": { words: "en" }, "zh.html": { words: "zh", script: "zh.js" } };
const shared = { bundle: true, minify: true, target: "es2022", format: "iife", legalComments: "none", logLevel: "warning" };

/** A core's module, as bytes in the script: the page's policy allows no connection to fetch it. It is compressed
 * here, because hosts compress base64 badly. */
const core = (path) => ({
  name: "core",
  setup(build) {
    build.onResolve({ filter: /^umbel:core$/ }, ({ path }) => ({ path, namespace: "core" }));
    build.onLoad({ filter: /.*/, namespace: "core" }, async () => ({ contents: await readFile(path), loader: "binary" }));
  },
});

/** The script of a worker with a core; a script that is loaded sets it as a text. */
async function worker(path) {
  const script = await bundle("src/worker.ts", { plugins: [core(path)] });
  return `umbelCore=${JSON.stringify(script)};\n`;
}

/** The licence of a package. */
async function licence(name) {
  const folder = join(dirname(page), "node_modules", name);
  const { version, license, author } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
  const text = await readFile(join(folder, "LICENSE"), "utf8").catch(() => `${license}, ${author?.name ?? author}; its package has no text of it`);
  return `\n${"-".repeat(72)}\n${name} ${version} (script)\n\n${text.trim()}\n`;
}

async function bundle(entry, more = {}) {
  const { outputFiles } = await esbuild.build({ ...shared, ...more, entryPoints: [join(page, entry)], write: false });
  return outputFiles[0].text;
}

/** A page in the language of its words, with the script that is inside it, which the policy allows by its hash. That one starts those
 * that the page preloads. */
async function translated(html, first, { words: language, script }) {
  const module = await bundle(`src/words/${language}.ts`, { format: "esm" });
  const { [language]: words } = await import(`data:text/javascript;base64,${Buffer.from(module).toString("base64")}`);
  const inside = html.replace("<!-- first -->", () => first).replace("<!-- hash -->", `sha256-${createHash("sha256").update(first).digest("base64")}`);
  return inside
    .replace("<!-- words -->\n", script ? `<link rel="preload" as="script" fetchpriority="low" href="${script}">\n` : "")
    .replace(/\{\{([\w.]+)\}\}/g, (_, path) => {
      const word = path.split(".").reduce((all, name) => all?.[name], words);
      if (typeof word !== "string") throw new Error(`index.html: words/${language}.ts has no ${path}`);
      return word.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
    });
}

const [first, main, plot, plans, files, style, chinese] = await Promise.all([
  bundle("src/first.ts"),
  bundle("src/main.ts"),
  bundle("src/plot.ts"),
  worker(options.core),
  worker(options.files),
  bundle("style.css"),
  bundle("src/words/zh.ts", { format: "iife", charset: "utf8", globalName: "umbelChinese", footer: { js: "globalThis.umbelWords=umbelChinese.zh;" } }),
]);
// Who shows a link asks for its picture by a whole address.
const card = options.at ? new URL("card.png", options.at.replace(/\/?$/, "/")).href : "card.png";
const html = (await readFile(join(page, "index.html"), "utf8")).replace('content="card.png"', `content="${card}"`);
const built = {
  "style.css": style,
  "main.js": main,
  "plot.js": plot,
  "core.js": plans,
  "files.js": files,
  "zh.js": chinese,
};
for (const [name, language] of Object.entries(PAGES)) built[name] = await translated(html, first.trim(), language);
for (const name of FILES) built[name] = await readFile(join(page, name));
const licences = [await readFile(options.licences, "utf8"), ...(await Promise.all(PACKAGES.map(licence)))];
built["LICENSES-OF-PARTS.txt"] = licences.join("");
for (const name of ["LICENSE-MIT", "LICENSE-APACHE"]) built[name] = await readFile(join(page, "../../..", name));
const version = createHash("sha256");
for (const name of Object.keys(built)) version.update(name).update(built[name]);
// Pictures and licences are for others; the folder is another name of index.html.
const kept = ["./", ...Object.keys(built).filter((name) => !/^(card|icon)\.png$|^LICENSE/.test(name))];
built["offline.js"] = await bundle("src/offline.ts", {
  define: { UMBEL_FILES: JSON.stringify(kept), UMBEL_VERSION: JSON.stringify(version.digest("hex").slice(0, 16)) },
});

await rm(options.out, { recursive: true, force: true });
await mkdir(options.out, { recursive: true });
await Promise.all(Object.entries(built).map(([name, content]) => writeFile(join(options.out, name), content)));
