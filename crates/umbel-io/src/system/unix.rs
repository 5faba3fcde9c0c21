//! Linux, macOS and their like.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::resource::{Resource, UsageWho, getrlimit, getrusage, setrlimit};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};
use signal_hook::{flag, low_level};

use super::{FileId, State};

pub(crate) use std::env::args_os as arguments;
pub(crate) use std::fs::{canonicalize as canonical, rename};

pub(crate) fn state_of(file: &File) -> io::Result<State> {
    Ok(state(&file.metadata()?))
}

pub(crate) fn state_at(path: &Path) -> io::Result<State> {
    Ok(state(&fs::metadata(path)?))
}

fn state(meta: &Metadata) -> State {
    // Beyond the year 2262 times wrap around, but stay distinct.
    let nanoseconds =
        |seconds: i64, part: i64| seconds.wrapping_mul(1_000_000_000).wrapping_add(part);
    State {
        id: FileId { device: meta.dev(), inode: meta.ino() },
        length: meta.len(),
        modified: nanoseconds(meta.mtime(), meta.mtime_nsec()),
        changed: nanoseconds(meta.ctime(), meta.ctime_nsec()),
        links: meta.nlink(),
        is_dir: meta.is_dir(),
        is_file: meta.is_file(),
        is_pipe: meta.file_type().is_fifo() || meta.file_type().is_socket(),
    }
}

pub(crate) fn os_string(bytes: Vec<u8>) -> Option<OsString> {
    Some(OsString::from_vec(bytes))
}

pub(crate) fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}

pub(crate) fn is_fifo(meta: &Metadata) -> bool {
    meta.file_type().is_fifo()
}

pub(crate) fn others_may(meta: &Metadata) -> Option<&'static str> {
    match meta.mode() {
        mode if mode & 0o077 == 0 => None,
        mode if mode & 0o022 == 0 => Some("read"),
        _ => Some("change"),
    }
}

/// The bits of a mode.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access(u32);

impl Access {
    pub(crate) const PRIVATE: Self = Self(0o600);

    pub(crate) fn of(path: &Path) -> Self {
        fs::metadata(path).map_or(Self::PRIVATE, |meta| Self(meta.mode() & 0o777))
    }

    pub(crate) fn set(self, file: &File) -> io::Result<()> {
        file.set_permissions(Permissions::from_mode(self.0))
    }
}

pub(crate) fn inherit(file: &File, before: &Metadata) -> io::Result<()> {
    let (user, group) = (Some(before.uid()), Some(before.gid()));
    if fchown(file, user, group).is_err() {
        let _ = fchown(file, None, group);
    }
    let mode = before.mode() & 0o777;
    let same_group = file.metadata()?.gid() == before.gid();
    let mode = if same_group { mode } else { mode & !(!mode << 3 & 0o070) };
    file.set_permissions(Permissions::from_mode(mode))
}

pub(super) fn mode(private: bool) -> u32 {
    if private { 0o600 } else { 0o666 }
}

pub(crate) fn create_new(path: &Path, private: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).mode(mode(private)).open(path)
}

pub(crate) fn copy(mut from: &File, at: u64, most: u64, mut to: &File) -> io::Result<u64> {
    // Readers at any position do not move it.
    from.seek(SeekFrom::Start(at))?;
    io::copy(&mut from.take(most), &mut to)
}

pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

pub(crate) fn set_length(file: &File, length: u64) -> io::Result<()> {
    file.set_len(length)
}

pub(crate) fn appends(file: &File) -> bool {
    fcntl(file, FcntlArg::F_GETFL)
        .is_ok_and(|flags| OFlag::from_bits_truncate(flags).contains(OFlag::O_APPEND))
}

#[cfg(target_os = "linux")]
pub(crate) fn read_ahead(file: &File) {
    use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
    let _ = posix_fadvise(file, 0, 0, PosixFadviseAdvice::POSIX_FADV_SEQUENTIAL);
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn read_ahead(_: &File) {}

pub(crate) fn try_lock(file: &File) -> Result<(), TryLockError> {
    file.try_lock()
}

pub(crate) fn lock(file: &File) -> io::Result<()> {
    file.lock()
}

pub(crate) fn locks_only_writable(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::EBADF as i32)
}

/// Before `main`, the standard library opens /dev/null in place of a closed standard output.
static CLOSED: AtomicBool = AtomicBool::new(false);

/// Called before the standard library starts.
#[used]
#[expect(unsafe_code, reason = "nothing else runs that early")]
// SAFETY: the section holds functions of this type, which the loader calls.
#[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
#[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
static LOOK: extern "C" fn() = {
    extern "C" fn look() {
        // SAFETY: queries the flags of a descriptor that need not be open.
        let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
        CLOSED.store(flags < 0, Ordering::Relaxed);
    }
    look
};

pub(crate) fn is_stdout_closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

pub(crate) fn closed() -> io::Error {
    Errno::EBADF.into()
}

pub(crate) fn stdout() -> io::Result<File> {
    Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?))
}

pub(crate) fn stdin() -> io::Result<File> {
    Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?))
}

pub(crate) fn typed() -> Option<Box<dyn Read + Send>> {
    None
}

pub(crate) fn reopen_stdout() -> io::Result<File> {
    File::open("/proc/self/fd/1").or_else(|_| File::open("/dev/fd/1"))
}

pub(crate) fn write_to_terminal(out: &mut File, bytes: &[u8]) -> io::Result<usize> {
    out.write(bytes)
}

/// Requests to stop: the first one is reported; a second one ends the process immediately.
pub struct Stops {
    signals: Signals,
    asked: Arc<AtomicBool>,
}

/// Ends the waiting for requests.
pub struct Closer(Handle);

/// A request.
pub struct Stop(i32);

impl Stops {
    /// Listens to requests that the process was not started to ignore, as with `nohup`.
    ///
    /// # Errors
    /// System errors.
    pub fn new() -> io::Result<Self> {
        let signals = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| !ignores(*signal));
        let asked = Arc::new(AtomicBool::new(false));
        for signal in signals.clone() {
            flag::register_conditional_default(signal, Arc::clone(&asked))?;
        }
        Ok(Self { signals: Signals::new(signals)?, asked })
    }

    /// Returns a handle that ends the waiting.
    pub fn closer(&self) -> Closer {
        Closer(self.signals.handle())
    }

    /// Waits for the first request; `None` once the waiting is ended.
    pub fn wait(mut self) -> Option<Stop> {
        let signal = self.signals.forever().next()?;
        self.asked.store(true, Ordering::Relaxed);
        Some(Stop(signal))
    }
}

impl Closer {
    /// Ends the waiting.
    pub fn close(self) {
        self.0.close();
    }
}

impl Stop {
    /// Ends the process as the request would have.
    pub fn end(self) {
        let _ = low_level::emulate_default_handler(self.0);
    }
}

/// Whether this process was started to ignore a signal. On systems that do not show it, a hang-up may be ignored.
fn ignores(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    match ignored.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()) {
        Some(bits) => bits >> (signal - 1) & 1 == 1,
        None => signal == SIGHUP,
    }
}

/// On Linux the lowest limit of its control group and of the groups around it.
pub(crate) fn memory() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limit = limit_of(&groups, Path::new("/sys/fs/cgroup"));
    let machine = proc_bytes("/proc/meminfo", "MemTotal:").or_else(pages);
    limit.into_iter().chain(machine).min()
}

/// The memory of the machine, by POSIX calls.
#[expect(unsafe_code, reason = "nix knows the pages of Linux alone")]
fn pages() -> Option<u64> {
    // SAFETY: the calls only return numbers.
    let (pages, size) =
        unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    u64::try_from(pages).ok()?.checked_mul(u64::try_from(size).ok()?).filter(|&bytes| bytes > 0)
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
        // In a container, the path may be one outside of it; the mounted root is then its own group.
        let own = Path::new(path.trim_start_matches('/')).ancestors();
        own.filter_map(|path| {
            fs::read_to_string(root.join(path).join(file)).ok()?.trim().parse().ok()
        })
        .min()
    });
    limits.min()
}

/// Bytes of memory in a file of /proc, from a line such as `MemTotal:  16384 kB`.
fn proc_bytes(path: &str, field: &str) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix(field))?;
    let kib: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

pub(crate) fn peak_memory() -> u64 {
    // The system's count for a process begins with the memory that its parent had in use when it
    // started it; Linux also reports the peak since then.
    if let Some(peak) = proc_bytes("/proc/self/status", "VmHWM:") {
        return peak;
    }
    // Kibibytes everywhere but on Apple's systems.
    let unit = if cfg!(target_vendor = "apple") { 1 } else { 1024 };
    getrusage(UsageWho::RUSAGE_SELF).map_or(0, |usage| usage.max_rss() as u64 * unit)
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "nothing else tells glibc")]
pub(crate) fn return_memory() {
    // SAFETY: it only sets a parameter of the allocator, and no other thread runs yet.
    unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, 1 << 20) };
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn return_memory() {}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "nothing else tells glibc")]
pub(crate) fn keep_memory(bytes: u64) {
    let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
    // SAFETY: both set a parameter of the allocator, under its lock.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, bytes);
        libc::mallopt(libc::M_TRIM_THRESHOLD, bytes);
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn keep_memory(_: u64) {}

pub(crate) fn open_files() -> u64 {
    // POSIX grants 20; systems that do not report it grant 256 and more.
    getrlimit(Resource::RLIMIT_NOFILE).map_or(256, |(soft, _)| soft)
}

pub(crate) fn allow_open_files() {
    const ENOUGH: u64 = 1 << 14;
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, soft.max(hard.min(ENOUGH)), hard);
    }
}

pub(crate) fn temporary_folder() -> PathBuf {
    use nix::unistd::{AccessFlags, access};
    // An empty variable counts as unset (as POSIX has it for all variables that name folders).
    let chosen = env::var_os("TMPDIR").is_some_and(|folder| !folder.is_empty());
    let mut folder = env::temp_dir();
    if folder.as_os_str().is_empty() {
        folder = PathBuf::from("/tmp");
    }
    let other = Path::new("/var/tmp");
    let writable = || access(other, AccessFlags::W_OK | AccessFlags::X_OK).is_ok();
    match !chosen && is_in_memory(&folder) && !is_in_memory(other) && writable() {
        true => other.to_owned(),
        false => folder,
    }
}

#[cfg(target_os = "linux")]
pub(crate) fn is_in_memory(folder: &Path) -> bool {
    use nix::sys::statfs::{TMPFS_MAGIC, statfs};
    statfs(folder).is_ok_and(|system| system.filesystem_type() == TMPFS_MAGIC)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn is_in_memory(_: &Path) -> bool {
    false
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

    #[test]
    fn the_pages_of_the_machine_are_its_memory() {
        let told = proc_bytes("/proc/meminfo", "MemTotal:");
        assert!(
            pages().is_some_and(|pages| told.is_none_or(|told| pages.abs_diff(told) < told / 8))
        );
    }
}
