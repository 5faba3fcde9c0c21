//! The library in WebAssembly makes no secret that could be guessed: it has no random numbers there, and says so when compiled.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";

import { folder, wasm } from "./core.mjs";

test("a random secret does not compile", (t) => {
  const deps = join(dirname(wasm), "deps");
  const built = readdirSync(deps).filter((name) => /^libumbel-[0-9a-f]+\.rlib$/.test(name)).map((name) => join(deps, name));
  // What runs while it compiles, macros, is built for this machine. Of libraries, the one built last.
  const [library] = built.sort((one, other) => statSync(other).mtimeMs - statSync(one).mtimeMs);
  const compile = (code) =>
    spawnSync(
      process.env.RUSTC ?? "rustc",
      ["--edition=2024", "--crate-type=lib", "--emit=metadata", "--target=wasm32-unknown-unknown", "--out-dir", folder(t), "--extern", `umbel=${library}`, "-L", deps, "-L", join(dirname(wasm), "../../page/deps"), "-"],
      { input: `pub fn made() -> umbel::Secret { ${code} }`, encoding: "utf8" },
    );
  const given = compile("umbel::Secret::new([1; 16])");
  assert.equal(given.status, 0, given.stderr);
  const random = compile("umbel::Secret::random()");
  assert.match(random.stderr, /no associated function or constant named `random`|no function or associated item named `random`/);
});
