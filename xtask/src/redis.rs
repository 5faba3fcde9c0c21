//! `cargo x test redis`: the module in Redis 7.0, Redis 8.2 and Valkey 8.1, beside RedisBloom; and `examples/cache`.

use anyhow::Result;

use crate::wheel;
use xtask::run::{self, cargo};
use xtask::servers::{self, SERVERS};

pub(crate) fn run(full: bool) -> Result<()> {
    run::run(&mut cargo(&["test", "--quiet", "--locked", "--package", "umbel-redis"]))?;
    let mut tests = servers::with_example(false)?;
    wheel::install(&SERVERS, None, "dev")?;
    // A wheel of a server brings a plugin that starts one.
    tests.env("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1");
    tests.args([
        "-m",
        "pytest",
        "--quiet",
        "-p",
        "no:cacheprovider",
        "crates/umbel-redis/tests/server",
    ]);
    if full {
        tests.arg("--full");
    }
    run::run(&mut tests)
}
