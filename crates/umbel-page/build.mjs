//! Bundles the explorer: `node build.mjs --wasm FILE.xz --out DIR` writes index.html, style.css, main.js and core.js.
//! `cargo x page` calls it.

import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

import * as esbuild from "esbuild";

const { values: options } = parseArgs({
  options: { wasm: { type: "string" }, out: { type: "string" } },
});
if (!options.wasm || !options.out) {
  console.error("usage: node build.mjs --wasm FILE.xz --out DIR");
  process.exit(2);
}
const page = join(dirname(fileURLToPath(import.meta.url)), "page");
const shared = { bundle: true, minify: true, target: "es2022", format: "iife", legalComments: "none", logLevel: "warning" };

/** The core's module, as bytes in the script: the page's policy allows no connection to fetch it. It is compressed
 * here, because hosts compress base64 badly. */
const core = {
  name: "core",
  setup(build) {
    build.onResolve({ filter: /^umbel:core$/ }, ({ path }) => ({ path, namespace: "core" }));
    build.onLoad({ filter: /.*/, namespace: "core" }, async () => ({ contents: await readFile(options.wasm), loader: "binary" }));
  },
};

/** The licence of a package that is bundled, as a comment: it asks to be where its code is. */
async function licence(name) {
  const folder = join(dirname(page), "node_modules", name);
  const { version, license, author } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
  const text = await readFile(join(folder, "LICENSE"), "utf8").catch(() => `${license}, ${author?.name ?? author}`);
  return `/*! ${name} ${version}\n\n${text.trim()}\n*/`;
}

async function bundle(entry, more = {}) {
  const { outputFiles } = await esbuild.build({ ...shared, ...more, entryPoints: [join(page, entry)], write: false });
  return outputFiles[0].text;
}

const [main, worker, style] = await Promise.all([
  bundle("src/main.ts", { banner: { js: await licence("uplot") } }),
  bundle("src/worker.ts", { plugins: [core], banner: { js: await licence("xz-decompress") } }),
  bundle("style.css"),
]);
const { words } = await import(
  `data:text/javascript;base64,${Buffer.from(await bundle("src/words.ts", { format: "esm" })).toString("base64")}`
);
const html = (await readFile(join(page, "index.html"), "utf8")).replace(/\{\{([\w.]+)\}\}/g, (_, path) => {
  const word = path.split(".").reduce((all, name) => all?.[name], words);
  if (typeof word !== "string") throw new Error(`index.html: words.ts has no ${path}`);
  return word.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
});

await rm(options.out, { recursive: true, force: true });
await mkdir(options.out, { recursive: true });
await Promise.all([
  writeFile(join(options.out, "index.html"), html),
  writeFile(join(options.out, "style.css"), style),
  writeFile(join(options.out, "main.js"), main),
  writeFile(join(options.out, "core.js"), `umbelCore=${JSON.stringify(worker)};\n`),
]);
