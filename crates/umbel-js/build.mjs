//! Packs the npm package: `node build.mjs OUT VERSION LICENCES SMALL.wasm WHOLE.wasm` uses it once and writes OUT/umbel-VERSION.tgz.
//! `cargo x dist javascript` calls it.

import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { transformSync } from "../umbel-page/node_modules/esbuild/lib/main.js";

const [out, version, licences, small, whole] = process.argv.slice(2);
const here = fileURLToPath(new URL(".", import.meta.url));
const root = join(here, "../..");
const place = mkdtempSync(join(tmpdir(), "umbel-package-"));
cpSync(join(here, "package"), place, { recursive: true });
// Comments and blanks are a quarter of it; the types have the comments for users.
const script = readFileSync(join(place, "filter.js"), "utf8");
writeFileSync(join(place, "filter.js"), transformSync(script, { minify: true, legalComments: "none" }).code);
for (const [name, module] of [
  ["index.js", small],
  ["foreign.js", whole],
]) {
  writeFileSync(join(place, name), `import { load } from "./filter.js";\nexport const Filter = load("${readFileSync(module, "base64")}");\n`);
}
cpSync(licences, join(place, "LICENSES-OF-PARTS.txt"));
for (const name of ["LICENSE-MIT", "LICENSE-APACHE"]) cpSync(join(root, name), join(place, name));
const manifest = JSON.parse(readFileSync(join(place, "package.json"), "utf8"));
writeFileSync(join(place, "package.json"), `${JSON.stringify({ ...manifest, version }, null, 2)}\n`);
// On npm's page there are no files next to it.
const page = readFileSync(join(here, "README.md"), "utf8");
writeFileSync(join(place, "README.md"), page.replaceAll("](../../", "](https://github.com/umbel/umbel/blob/main/"));
for (const name of ["index.js", "foreign.js"]) {
  const { Filter } = await import(pathToFileURL(join(place, name)));
  const filter = new Filter({ keys: 100 });
  if (!filter.add("a") || !Filter.open(filter.save()).has("a")) throw new Error(`${name}: the key was not found`);
}
execFileSync("npm", ["pack", "--silent", "--ignore-scripts", "--pack-destination", out], { cwd: place, stdio: ["ignore", "ignore", "inherit"] });
rmSync(place, { recursive: true });
