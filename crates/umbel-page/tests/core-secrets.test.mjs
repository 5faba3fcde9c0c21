//! The library in WebAssembly makes no secret that could be guessed: it has no random numbers there, and says so.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";

import { folder, wasm } from "./core.mjs";

test("a random secret is refused", async (t) => {
  const deps = join(dirname(wasm), "deps");
  const built = readdirSync(deps)
    .filter((name) => /^libumbel-[0-9a-f]+\.rlib$/.test(name))
    .map((name) => join(deps, name));
  // What runs while it compiles, macros, is built for this machine. Of libraries, the one built last.
  const [library] = built.sort((one, other) => statSync(other).mtimeMs - statSync(one).mtimeMs);
  const module = join(folder(t), "secrets.wasm");
  const compiled = spawnSync(
    process.env.RUSTC ?? "rustc",
    [
      "--edition=2024",
      "--crate-type=cdylib",
      "-Cpanic=abort",
      "-Clto=fat",
      "--target=wasm32-unknown-unknown",
      "-o",
      module,
      "--extern",
      `umbel=${library}`,
      "-L",
      deps,
      "-L",
      join(dirname(wasm), "../../page/deps"),
      "-",
    ],
    {
      input: `
        #[unsafe(no_mangle)]
        pub extern "C" fn given() -> bool { umbel::Secret::new([1; 16]).to_bytes() == [1; 16] }
        #[unsafe(no_mangle)]
        pub extern "C" fn refused() -> bool {
            let none = |error| matches!(error, umbel::SchemeError::NoRandomness(None));
            umbel::Secret::random().is_err_and(none) && umbel::KeyHasher::random().is_err_and(none)
        }`,
      encoding: "utf8",
    },
  );
  assert.equal(compiled.status, 0, compiled.stderr);
  const { instance } = await WebAssembly.instantiate(readFileSync(module));
  assert.deepEqual([instance.exports.given(), instance.exports.refused()], [1, 1]);
});
