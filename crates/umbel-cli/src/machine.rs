//! Resources of the machine, and their use by this process.

use std::path::{Path, PathBuf};
use std::{env, fs};

use nix::sys::resource::{Resource, UsageWho, getrlimit, getrusage, setrlimit};
use nix::sys::signal::Signal;
use nix::unistd::{AccessFlags, access};

/// Used when the memory of the machine is unknown.
const FALLBACK: u64 = 1 << 30;

/// The memory cap without `--memory`: a quarter of what there is.
pub(crate) fn default_memory() -> u64 {
    memory().unwrap_or(FALLBACK) / 4
}

/// The memory of the machine, or less if this process may use less: the lowest limit of its control group and those that
/// contain it.
pub(crate) fn memory() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limit = limit_of(&groups, Path::new("/sys/fs/cgroup"));
    limit.into_iter().chain(proc_bytes("/proc/meminfo", "MemTotal:")).min()
}

/// The lowest limit of the control groups in `groups`, lines such as `0::/user.slice` or in version 1
/// `7:memory:/user.slice`, that are mounted at `root`.
fn limit_of(groups: &str, root: &Path) -> Option<u64> {
    let limits = groups.lines().filter_map(|line| {
        let (_, group) = line.split_once(':')?;
        let (controllers, path) = group.split_once(':')?;
        let (root, file) = match controllers {
            "" => (root.to_owned(), "memory.max"),
            _ if controllers.split(',').any(|controller| controller == "memory") => {
                (root.join("memory"), "memory.limit_in_bytes")
            }
            _ => return None,
        };
        // In a container, the path may be one outside of it; what is mounted at the root is its own then.
        let own = Path::new(path.trim_start_matches('/')).ancestors();
        own.filter_map(|path| {
            fs::read_to_string(root.join(path).join(file)).ok()?.trim().parse().ok()
        })
        .min()
    });
    limits.min()
}

/// The folder for temporary files: the system's, unless that is in memory and `/var/tmp` is on a disk.
pub(crate) fn temporary_folder() -> PathBuf {
    let (folder, other) = (env::temp_dir(), Path::new("/var/tmp"));
    let chosen = env::var_os("TMPDIR").is_some();
    let writable = || access(other, AccessFlags::W_OK | AccessFlags::X_OK).is_ok();
    match !chosen && is_in_memory(&folder) && !is_in_memory(other) && writable() {
        true => other.to_owned(),
        false => folder,
    }
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

/// Makes the allocator keep up to `bytes` of freed memory per thread, for work that allocates and frees buffers of some MiB
/// over and over: the system clears each that it hands out.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[allow(unsafe_code)]
pub(crate) fn keep_memory(bytes: u64) {
    let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
    // SAFETY: both set a number of the allocator, under its lock.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, bytes);
        libc::mallopt(libc::M_TRIM_THRESHOLD, bytes);
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn keep_memory(_: u64) {}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_that_of_the_lowest_group_around_the_process() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, limit: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, limit).unwrap();
        };
        write("memory.max", "max\n");
        write("a/memory.max", "1000\n");
        write("a/b/memory.max", "2000\n");
        write("a/b/c/memory.max", "max\n");
        write("memory/memory.limit_in_bytes", "9223372036854771712\n");
        write("memory/d/memory.limit_in_bytes", "3000\n");
        let limit = |groups| limit_of(groups, root.path());
        assert_eq!(limit("0::/a/b/c\n"), Some(1000));
        assert_eq!(limit("0::/\n"), None);
        assert_eq!(limit("5:cpu:/a\n3:cpuset,memory:/d\n"), Some(3000));
        assert_eq!(limit("3:memory:/elsewhere\n"), Some(9_223_372_036_854_771_712));
        assert_eq!(limit(""), None);
    }
}
