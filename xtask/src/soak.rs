//! `cargo x soak`: random jobs of the command line on a small disk that fills up and empties, killed and resumed.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, ensure};
use xtask::run::{self, cargo, root, target};

/// How long, and where.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[arg(long, default_value_t = 120.0)]
    minutes: f64,
    /// Others for each number.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Jobs at a time.
    #[arg(long, default_value_t = 2)]
    workers: u32,
    /// A folder on a file system of its own, of 100 MB or more [default: 256 MB of memory, mounted for this run].
    #[arg(long)]
    disk: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    ensure!(cfg!(target_os = "linux"), "`cargo x soak` mounts and kills as Linux does");
    run::run(&mut cargo(&["build", "--quiet", "--locked", "--release"]))?;
    let own = target().join("soak");
    let mut soak = match &arguments.disk {
        Some(disk) => {
            ensure!(disk.is_dir(), "{}: no folder", disk.display());
            Command::new("python3")
        }
        None => {
            std::fs::create_dir_all(&own)?;
            let mut alone = Command::new("unshare");
            alone.args(["--user", "--map-root-user", "--mount", "sh", "-c"]);
            alone.arg("mount -t tmpfs -o size=256m tmpfs \"$3\" && exec python3 \"$@\"").arg("sh");
            alone
        }
    };
    soak.arg(root().join("faults/soak.py")).arg(target().join("release/umbel"));
    soak.arg(arguments.disk.as_ref().unwrap_or(&own));
    soak.args([arguments.minutes.to_string(), arguments.seed.to_string()]);
    run::run(soak.arg(arguments.workers.to_string()))
}
