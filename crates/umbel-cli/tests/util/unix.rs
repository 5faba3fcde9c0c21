//! What only Unix has: signals, named pipes, terminals, limits of a process.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::unistd::{Pid, mkfifo};

use super::{Folder, Outcome, Running, Umbel, drain};

impl Folder {
    /// A named pipe that nobody has opened yet; an old one goes, for its writers may be a moment in
    /// closing it: another test's process, just forked, has all descriptors until it runs its program.
    pub(crate) fn fifo(&self, name: &str) {
        let _ = fs::remove_file(self.path(name));
        mkfifo(&self.path(name), Mode::from_bits_truncate(0o600)).unwrap();
    }

    /// A run that reads the named pipe `pipe`, and the other end of that.
    pub(crate) fn fed(&self, arguments: &str) -> (Running, File) {
        self.fifo("pipe");
        let mut run = self.umbel(arguments).spawn();
        let pipe = run.feed(self, "pipe");
        (run, pipe)
    }

    /// As [`Folder::umbel`], in a process that may have so many KiB of memory, with its code and what it does not use.
    #[cfg(target_os = "linux")]
    pub(crate) fn umbel_with_little_memory(&self, kib: u32, arguments: &str) -> Umbel {
        let script = format!("ulimit -v {kib}; exec \"$0\" \"$@\"");
        self.program("sh", "-c").arg(script).arg(env!("CARGO_BIN_EXE_umbel")).args(arguments)
    }

    /// As [`Folder::umbel`], in a group of processes, whose folder it is.
    pub(crate) fn umbel_in_group(&self, group: &Path, arguments: &str) -> Umbel {
        let script = format!("echo 0 > '{}/cgroup.procs' && exec \"$0\" \"$@\"", group.display());
        self.program("sh", "-c").arg(script).arg(env!("CARGO_BIN_EXE_umbel")).args(arguments)
    }
}

impl Umbel {
    /// Runs it to its end with standard error on a terminal; what that shows is what it says.
    pub(crate) fn run_on_terminal(self) -> Outcome {
        let terminal = nix::pty::openpty(None, None).unwrap();
        let shown = drain(File::from(terminal.master));
        let mut outcome = self.stderr(terminal.slave).run();
        outcome.stderr = String::from_utf8(shown.join().unwrap()).unwrap().replace('\r', "");
        outcome
    }
}

impl Running {
    pub(crate) fn kill(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id() as i32), signal).unwrap();
    }

    /// Kills it after a while, unless it ends before.
    pub(crate) fn killed_after(self, pause: Duration) -> Outcome {
        thread::sleep(pause);
        self.kill(Signal::SIGKILL);
        self.finish()
    }

    /// Asserts that a signal ends it.
    pub(crate) fn killed_by(self, signal: Signal) -> Outcome {
        self.kill(signal);
        let outcome = self.finish();
        outcome.was_killed_by(signal);
        outcome
    }

    /// Opens a named pipe for writing as soon as it has been opened for reading.
    pub(crate) fn feed(&mut self, folder: &Folder, name: &str) -> File {
        let mut pipe = None;
        let mut options = OpenOptions::new();
        options.write(true).custom_flags(OFlag::O_NONBLOCK.bits());
        self.until("it opened the pipe", || match options.open(folder.path(name)) {
            Ok(file) => {
                pipe = Some(file);
                true
            }
            Err(error) if error.raw_os_error() == Some(Errno::ENXIO as i32) => false,
            Err(error) => panic!("{name}: {error}"),
        });
        // The first descriptor does not wait for room in the pipe. It stays open until there is a
        // second one that does: a moment without any would be the end of the input.
        OpenOptions::new().write(true).open(folder.path(name)).unwrap()
    }

    /// Waits until a temporary file is open. Where nobody tells, gives it time.
    pub(crate) fn until_temporary(&mut self) {
        if !cfg!(target_os = "linux") {
            thread::sleep(Duration::from_millis(200));
            return;
        }
        let files = PathBuf::from(format!("/proc/{}/fd", self.child.id()));
        let tmp = self.tmp.clone();
        self.until("it had a temporary file", || {
            let open = fs::read_dir(&files).into_iter().flatten().flatten();
            open.filter_map(|entry| fs::read_link(entry.path()).ok())
                .any(|path| path.starts_with(&tmp))
        });
    }
}

impl Outcome {
    /// Asserts that a signal ended it.
    pub(crate) fn was_killed_by(&self, signal: Signal) {
        assert_eq!(self.status.signal(), Some(signal as i32), "{}: {}", self.command, self.stderr);
    }
}

/// Whether this process ignores SIGINT, as those do that a script starts in the background; what they
/// start ignores it too, and could not be interrupted by a test.
pub(super) fn interrupts_are_ignored() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let bits = ignored.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).unwrap_or(0);
    bits & (1 << (Signal::SIGINT as u32 - 1)) != 0
}

/// Whether the other side of a terminal is closed.
pub(super) fn is_closed_terminal(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::EIO as i32)
}
