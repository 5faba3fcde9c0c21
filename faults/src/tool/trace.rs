//! Runs a program and stops it at each of its system calls: to record them, to let them fail, or to let them do less.

use std::collections::{HashMap, HashSet};
use std::ffi::{CStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use nix::errno::Errno;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

/// Far more than any run takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// A system call of a thread.
#[derive(Clone, Copy)]
pub(crate) struct Call {
    pub(crate) thread: Pid,
    pub(crate) number: i64,
    pub(crate) arguments: [u64; 6],
}

impl Call {
    /// The file of a descriptor, given as an argument.
    pub(crate) fn descriptor(&self, argument: usize) -> Option<PathBuf> {
        fs::read_link(self.link(argument)).ok()
    }

    pub(crate) fn link(&self, argument: usize) -> String {
        format!("/proc/{}/fd/{}", self.thread, self.arguments[argument] as i32)
    }

    /// Whether the first argument is standard output, or a copy of it.
    pub(crate) fn is_standard_output(&self) -> bool {
        let output = fs::read_link(format!("/proc/{}/fd/1", self.thread));
        self.descriptor(0) == output.ok()
    }

    /// A path that an argument points to, relative to the working folder or to the folder of the descriptor before it.
    pub(crate) fn path(&self, argument: usize, from: Option<usize>) -> Option<PathBuf> {
        let mut bytes = self.bytes(self.arguments[argument], 4096);
        bytes.push(0);
        let text = CStr::from_bytes_until_nul(&bytes).ok()?.to_bytes().to_vec();
        let path = PathBuf::from(OsString::from_vec(text));
        let base = match from {
            Some(from) if self.arguments[from] as i32 != libc::AT_FDCWD => self.descriptor(from)?,
            _ => fs::read_link(format!("/proc/{}/cwd", self.thread)).ok()?,
        };
        Some(base.join(path))
    }

    /// Reads the program's memory.
    pub(crate) fn bytes(&self, address: u64, most: usize) -> Vec<u8> {
        let mut bytes = vec![0; most];
        let memory = File::open(format!("/proc/{}/mem", self.thread));
        // A page at a time: what follows may not be mapped.
        let mut filled = 0;
        while let (true, Ok(memory)) = (filled < most, &memory) {
            let at = address + filled as u64;
            let some = ((4096 - at % 4096) as usize).min(most - filled);
            match memory.read_at(&mut bytes[filled..filled + some], at) {
                Ok(read) if read > 0 => filled += read,
                _ => break,
            }
        }
        bytes.truncate(filled);
        bytes
    }
}

/// The treatment of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Go,
    Fail(Errno),
    /// The third argument, a number of bytes, is reduced.
    Shorten(u64),
    /// The program is killed before the call.
    Kill,
}

/// Watches the calls of a program.
pub(crate) trait Watch {
    /// A call begins.
    fn enter(&mut self, call: &Call) -> Action;

    /// It ended without an error.
    fn leave(&mut self, _: &Call) -> Result<()> {
        Ok(())
    }
}

/// How a run ended.
pub(crate) struct Ended {
    pub(crate) how: How,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    Exit(i32),
    Signal(Signal),
    Hung,
}

/// Runs a command with `stdin` under a watch.
pub(crate) fn run(command: &mut Command, stdin: Vec<u8>, watch: &mut dyn Watch) -> Result<Ended> {
    // SAFETY: the child only asks to be traced before it runs the program.
    unsafe {
        command.pre_exec(|| ptrace::traceme().map_err(io::Error::from));
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("{command:?}"))?;
    let pid = Pid::from_raw(child.id() as i32);
    let (mut input, mut output, mut errors) =
        (child.stdin.take().unwrap(), child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let feed = thread::spawn(move || {
        // It may end before it has read all.
        let _ = input.write_all(&stdin);
    });
    let stdout = thread::spawn(move || {
        let mut bytes = Vec::new();
        output.read_to_end(&mut bytes).map(|_| bytes)
    });
    let stderr = thread::spawn(move || {
        let mut bytes = Vec::new();
        errors.read_to_end(&mut bytes).map(|_| String::from_utf8_lossy(&bytes).into_owned())
    });
    let (done, wait) = mpsc::channel::<()>();
    let guard = thread::spawn(move || {
        let hung = wait.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout);
        if hung {
            let _ = kill(pid, Signal::SIGKILL);
        }
        hung
    });
    // Otherwise it waits at a call, and its pipes stay open.
    let how = trace(pid, watch).inspect_err(|_| _ = kill(pid, Signal::SIGKILL));
    drop(done);
    let hung = guard.join().unwrap();
    feed.join().unwrap();
    let (stdout, stderr) = (stdout.join().unwrap()?, stderr.join().unwrap()?);
    Ok(Ended { how: if hung { How::Hung } else { how? }, stdout, stderr })
}

/// Follows all threads of a child to its end.
fn trace(child: Pid, watch: &mut dyn Watch) -> Result<How> {
    let flags = WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD;
    let mut threads = HashSet::new();
    let mut inside: HashMap<Pid, (Call, Action)> = HashMap::new();
    loop {
        let status = match waitpid(None, Some(flags)) {
            Err(Errno::EINTR) => continue,
            status => status?,
        };
        let (thread, signal) = match status {
            WaitStatus::Exited(pid, code) if pid == child => return Ok(How::Exit(code)),
            WaitStatus::Signaled(pid, signal, _) if pid == child => return Ok(How::Signal(signal)),
            WaitStatus::Stopped(pid, signal) => {
                let new = threads.insert(pid);
                if pid == child && new {
                    let options = Options::PTRACE_O_TRACESYSGOOD
                        | Options::PTRACE_O_TRACECLONE
                        | Options::PTRACE_O_EXITKILL;
                    ptrace::setoptions(pid, options)?;
                }
                (pid, (!new).then_some(signal))
            }
            WaitStatus::PtraceSyscall(pid) => {
                at_call(pid, watch, &mut inside)?;
                (pid, None)
            }
            WaitStatus::PtraceEvent(pid, ..) => (pid, None),
            _ => continue,
        };
        match ptrace::syscall(thread, signal) {
            // It was killed in the meantime.
            Ok(()) | Err(Errno::ESRCH) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn at_call(
    thread: Pid,
    watch: &mut dyn Watch,
    inside: &mut HashMap<Pid, (Call, Action)>,
) -> Result<()> {
    let info = match ptrace::syscall_info(thread) {
        Err(Errno::ESRCH) => return Ok(()),
        info => info?,
    };
    match info.op {
        libc::PTRACE_SYSCALL_INFO_ENTRY => {
            // SAFETY: at the start of a call the kernel fills these fields.
            let entry = unsafe { info.u.entry };
            let call = Call { thread, number: entry.nr as i64, arguments: entry.args };
            let action = watch.enter(&call);
            match action {
                Action::Go => {}
                Action::Fail(_) => change(thread, |registers| registers.orig_rax = u64::MAX)?,
                Action::Shorten(bytes) => change(thread, |registers| registers.rdx = bytes)?,
                Action::Kill => kill(thread, Signal::SIGKILL)?,
            }
            inside.insert(thread, (call, action));
        }
        libc::PTRACE_SYSCALL_INFO_EXIT => match inside.remove(&thread) {
            Some((call, Action::Fail(error))) => {
                let result = match call.number {
                    // Not an error, but an end of the heap other than the requested one.
                    libc::SYS_brk => 0,
                    _ => -i64::from(error as i32),
                };
                change(thread, |registers| registers.rax = result as u64)?;
            }
            Some((call, _)) => {
                // SAFETY: at the end of a call the kernel fills these fields.
                let exit = unsafe { info.u.exit };
                if exit.is_error == 0 {
                    watch.leave(&call)?;
                }
            }
            None => {}
        },
        _ => bail!("a stop that is neither the start nor the end of a system call"),
    }
    Ok(())
}

fn change(thread: Pid, by: impl FnOnce(&mut libc::user_regs_struct)) -> Result<()> {
    let mut registers = ptrace::getregs(thread)?;
    by(&mut registers);
    Ok(ptrace::setregs(thread, registers)?)
}
