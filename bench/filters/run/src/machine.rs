//! Describes the machine and its load. Linux has this in files; elsewhere much stays "unknown".

use std::fs;
use std::process::Command;

use crate::record::About;

/// The entry about the machine and circumstances of a record.
pub(crate) fn about(command: String, kinds: bool, rounds: u64) -> About {
    let cpuinfo = read("/proc/cpuinfo");
    About {
        date: date(),
        commit: commit(),
        command,
        kinds,
        rounds,
        cpu: field(&cpuinfo, "model name"),
        cpus: std::thread::available_parallelism().map_or(1, |count| count.get() as u64),
        caches: caches().join(", "),
        memory: field(&read("/proc/meminfo"), "MemTotal"),
        huge_pages: read("/sys/kernel/mm/transparent_hugepage/enabled").trim().to_owned(),
        kernel: output("uname", &["-sr"]),
        rustc: output("rustc", &["--version"]),
    }
}

/// Data caches of the first processor: name and size.
fn caches() -> Vec<String> {
    (0..8)
        .filter_map(|i| {
            let of = |name: &str| {
                let path = format!("/sys/devices/system/cpu/cpu0/cache/index{i}/{name}");
                fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
            };
            let size = of("size")?;
            let kib: u64 = size.strip_suffix('K')?.parse().ok()?;
            (of("type")? != "Instruction").then_some(format!("L{} {kib} KiB", of("level")?))
        })
        .collect()
}

fn commit() -> String {
    let commit = output("git", &["rev-parse", "--short=12", "HEAD"]);
    let changed = !output("git", &["status", "--porcelain", "--untracked-files=no"]).is_empty();
    if changed { format!("{commit} with changes") } else { commit }
}

/// Today in UTC, as 2026-01-31.
pub(crate) fn date() -> String {
    output("date", &["-u", "+%F"])
}

/// Ticks that processors worked so far: in total, and in this process's ended children.
#[derive(Clone, Copy)]
pub(crate) struct Ticks {
    total: u64,
    idle: u64,
    own: u64,
}

impl Ticks {
    pub(crate) fn now() -> Self {
        let numbers = |text: &str| -> Vec<u64> {
            text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
        };
        let all = numbers(read("/proc/stat").lines().next().unwrap_or_default());
        let stat = read("/proc/self/stat");
        // After the name, which may hold spaces: user and system time are fields 14 to 17.
        let own = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        let own = own.skip(11).take(4).filter_map(|word| word.parse::<u64>().ok());
        let idle = all.get(3..5).unwrap_or_default().iter().sum();
        Self { total: all.iter().take(8).sum(), idle, own: own.sum() }
    }

    /// The share of the processors' time since `start` that went to others.
    pub(crate) fn others_since(&self, start: Self) -> f64 {
        let busy = (self.total - self.idle) as f64 - (start.total - start.idle) as f64;
        let own = (self.own - start.own) as f64;
        (busy - own).max(0.0) / ((self.total - start.total) as f64).max(1.0)
    }
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// The value of the first line `name : value`.
fn field(text: &str, name: &str) -> String {
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(key, _)| key.trim() == name)
        .map_or("unknown".to_owned(), |(_, value)| value.trim().to_owned())
}

fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    output.map_or("unknown".to_owned(), |output| {
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    })
}
