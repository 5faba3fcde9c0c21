//! What the tests of the core share: the compiled core without a page, files of this machine, and the command line.

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { closeSync, fstatSync, mkdtempSync, openSync, readFileSync, readSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));
export const root = join(here, "../../..");
export const umbel = process.env.UMBEL ?? join(root, "target/debug/umbel");
export const wasm = process.env.WASM ?? join(root, "target/wasm/wasm32-unknown-unknown/page/umbel_page_files.wasm");

const { outputFiles } = await build({
  entryPoints: [join(here, "../page/src/core.ts")],
  bundle: true,
  format: "esm",
  write: false,
});
const { Core, CoreError } = await import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);
export { CoreError };

/** A core of a module; `progress` hears of bytes read. */
export const core = (path, progress) => Core.start(readFileSync(path), progress);
export const start = (progress) => core(wasm, progress);

/** A file of this machine, as a browser gives one. */
export function file(path, name = basename(path)) {
  const open = openSync(path);
  return {
    name,
    size: fstatSync(open).size,
    read(offset, into) {
      for (let done = 0; done < into.length; ) {
        const count = readSync(open, into, done, into.length - done, offset + done);
        if (count === 0) throw new Error("the file has changed");
        done += count;
      }
    },
    close: () => closeSync(open),
  };
}

/** Bytes as a file. */
export const bytes = (name, content) => ({
  name,
  size: content.length,
  read: (offset, into) => into.set(content.subarray(offset, offset + into.length)),
});

/** What the command line prints; `input` is its standard input. */
export const run = (args, input) => execFileSync(umbel, args, { input, encoding: "utf8", maxBuffer: 1 << 28, stdio: ["pipe", "pipe", "ignore"] });

/** The documents that the command line prints, whatever its exit status. */
export function documents(args) {
  const { stdout } = spawnSync(umbel, args, { encoding: "utf8", maxBuffer: 1 << 28 });
  return stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

/** A folder that is removed after the test. */
export function folder(test) {
  const path = mkdtempSync(join(tmpdir(), "umbel-page-"));
  test.after(() => rmSync(path, { recursive: true }));
  return path;
}

/** Equal, but for the last digits of numbers: logarithms of the browser's machine and of this one differ by a unit. */
export function close(found, expected, path = "") {
  if (typeof expected === "number" && !Number.isInteger(expected)) {
    assert(Math.abs(found - expected) <= 1e-9 * Math.abs(expected), `${path}: ${found}, expected ${expected}`);
  } else if (expected !== null && typeof expected === "object") {
    assert.deepEqual(Object.keys(found ?? {}).sort(), Object.keys(expected).sort(), path);
    for (const name of Object.keys(expected)) close(found[name], expected[name], `${path}.${name}`);
  } else {
    assert.deepEqual(found, expected, path);
  }
}
