//! Resources of the machine, and their use by this process.

use std::fs;
use std::path::Path;

use nix::sys::resource::{Resource, UsageWho, getrlimit, getrusage, setrlimit};
use nix::sys::signal::Signal;

/// Used when the memory of the machine is unknown.
const FALLBACK: u64 = 1 << 30;

/// The memory cap without `--memory`: a quarter of what the machine, or the container, has.
pub(crate) fn default_memory() -> u64 {
    let total = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"]
        .into_iter()
        .filter_map(|path| fs::read_to_string(path).ok()?.trim().parse().ok())
        .chain(proc_bytes("/proc/meminfo", "MemTotal:"))
        .min();
    total.map_or(FALLBACK, |total: u64| total / 4)
}

/// Allows this process as many open files as it may allow itself, within reason: lines that do not fit in memory go to
/// some hundred temporary files. Where that is refused, work has fewer of them.
pub(crate) fn allow_open_files() {
    const ENOUGH: u64 = 1 << 14;
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, soft.max(hard.min(ENOUGH)), hard);
    }
}

/// Makes the allocator return freed memory of 1 MiB or more to the system. By itself, glibc keeps blocks as large as the
/// largest one freed before, up to 32 MiB: with lines of 4 MB, some 60 MiB above the memory cap.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[allow(unsafe_code)]
pub(crate) fn return_memory() {
    // SAFETY: it only sets a number of the allocator, and no other thread runs yet.
    unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, 1 << 20) };
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn return_memory() {}

/// Whether this process was started to ignore a signal, as `nohup` starts one. Where the system does not show it, a hang-up may
/// be ignored.
pub(crate) fn ignores(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    match ignored.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()) {
        Some(bits) => bits >> (signal - 1) & 1 == 1,
        None => signal == Signal::SIGHUP as i32,
    }
}

/// Whether a folder is in memory.
#[cfg(target_os = "linux")]
pub(crate) fn is_in_memory(folder: &Path) -> bool {
    use nix::sys::statfs::{TMPFS_MAGIC, statfs};
    statfs(folder).is_ok_and(|system| system.filesystem_type() == TMPFS_MAGIC)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn is_in_memory(_: &Path) -> bool {
    false
}

/// Bytes of memory in a file of /proc, from a line such as `MemTotal:  16384 kB`.
fn proc_bytes(path: &str, field: &str) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix(field))?;
    let kib: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// The most memory this process has had in use, in bytes.
pub(crate) fn peak_memory() -> u64 {
    // What the system counts of a process begins with what its parent had in use when it started
    // it; Linux also tells the peak since then.
    if let Some(peak) = proc_bytes("/proc/self/status", "VmHWM:") {
        return peak;
    }
    // Kibibytes everywhere but on Apple's systems.
    let unit = if cfg!(target_vendor = "apple") { 1 } else { 1024 };
    getrusage(UsageWho::RUSAGE_SELF).map_or(0, |usage| usage.max_rss() as u64 * unit)
}
