//! Lets the n-th system call of a job fail, for each n and several errors, and checks the result.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::{Result, ensure};
use nix::errno::Errno;
use nix::sys::signal::Signal;

use super::jobs::{Files, Folder, Job, Programs, sorted_lines};
use super::trace::{self, Action, Call, Ended, How, Watch};

/// The types of calls that fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Sort {
    Open,
    Read,
    Write,
    Sync,
    Name,
    Remove,
    Resize,
    Copy,
    Stat,
    Lock,
    Map,
    Thread,
    /// Memory of a thread, for its stack or its signal stack.
    Stack,
    /// Memory for the allocator.
    Memory,
}

/// The fault of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Fails(Errno),
    /// It and all later calls fail.
    NoMore(Errno),
    /// It handles fewer bytes than requested.
    Short,
}

impl Sort {
    pub(crate) fn of(call: &Call) -> Option<Self> {
        let [_, _, _, _, descriptor, _] = call.arguments;
        Some(match call.number {
            libc::SYS_open | libc::SYS_openat | libc::SYS_creat => Self::Open,
            libc::SYS_read | libc::SYS_pread64 | libc::SYS_readv | libc::SYS_preadv => Self::Read,
            libc::SYS_write | libc::SYS_pwrite64 | libc::SYS_writev | libc::SYS_pwritev => {
                Self::Write
            }
            libc::SYS_fsync | libc::SYS_fdatasync | libc::SYS_sync_file_range | libc::SYS_msync => {
                Self::Sync
            }
            libc::SYS_rename
            | libc::SYS_renameat
            | libc::SYS_renameat2
            | libc::SYS_link
            | libc::SYS_linkat
            | libc::SYS_mkdir
            | libc::SYS_mkdirat => Self::Name,
            libc::SYS_unlink | libc::SYS_unlinkat => Self::Remove,
            libc::SYS_ftruncate | libc::SYS_fallocate => Self::Resize,
            libc::SYS_copy_file_range | libc::SYS_sendfile | libc::SYS_splice => Self::Copy,
            libc::SYS_stat
            | libc::SYS_fstat
            | libc::SYS_newfstatat
            | libc::SYS_statx
            | libc::SYS_lseek
            | libc::SYS_getdents64
            | libc::SYS_fchmod
            | libc::SYS_readlink => Self::Stat,
            libc::SYS_flock => Self::Lock,
            libc::SYS_mmap if descriptor as i32 >= 0 => Self::Map,
            libc::SYS_mmap if call.arguments[3] as i32 & libc::MAP_STACK != 0 => Self::Stack,
            libc::SYS_mmap | libc::SYS_mremap => Self::Memory,
            libc::SYS_brk if call.arguments[0] != 0 => Self::Memory,
            libc::SYS_clone3 | libc::SYS_clone => Self::Thread,
            _ => return None,
        })
    }

    fn faults(self) -> &'static [Fault] {
        use Fault::{Fails, NoMore, Short};
        match self {
            Self::Open => &[Fails(Errno::EIO), Fails(Errno::EMFILE), Fails(Errno::EACCES)],
            Self::Read => &[Fails(Errno::EIO), Fails(Errno::EINTR), Short],
            Self::Write => &[
                Fails(Errno::EIO),
                Fails(Errno::ENOSPC),
                Fails(Errno::EDQUOT),
                Fails(Errno::EINTR),
                Short,
            ],
            Self::Sync | Self::Name => &[Fails(Errno::EIO), Fails(Errno::ENOSPC)],
            Self::Remove | Self::Stat => &[Fails(Errno::EIO)],
            Self::Resize => &[Fails(Errno::ENOSPC), Fails(Errno::EOPNOTSUPP), Fails(Errno::EINTR)],
            Self::Copy => &[Fails(Errno::EIO), Fails(Errno::ENOSPC), Fails(Errno::EXDEV)],
            Self::Lock => &[Fails(Errno::ENOLCK), Fails(Errno::EINTR)],
            Self::Map => &[Fails(Errno::ENOMEM), Fails(Errno::ENODEV)],
            Self::Thread => &[Fails(Errno::EAGAIN)],
            Self::Stack => &[Fails(Errno::ENOMEM)],
            Self::Memory => &[Fails(Errno::ENOMEM), NoMore(Errno::ENOMEM)],
        }
    }
}

/// A call of the job, numbered within its type from the program's start.
#[derive(Clone)]
pub(crate) struct Made {
    pub(crate) number: usize,
    pub(crate) sort: Sort,
    /// Its subject, in words.
    pub(crate) about: String,
    /// The job's file that it concerns.
    file: Option<String>,
}

/// Counts calls, and lets one of them fail.
struct Nth<'a> {
    root: &'a Path,
    fault: Option<(Sort, usize, Fault)>,
    /// Whether the program runs, and no longer its loader; for Python, whether the job runs.
    started: bool,
    python: bool,
    /// The number of calls so far, by type.
    counts: BTreeMap<Sort, usize>,
    all: Vec<Made>,
}

impl Watch for Nth<'_> {
    fn enter(&mut self, call: &Call) -> Action {
        match call.number {
            // Rust's runtime makes it before `main`.
            libc::SYS_sigaltstack if !self.python => self.started = true,
            libc::SYS_getpriority if self.python => self.started = !self.started,
            _ => {}
        }
        let Some(sort) = Sort::of(call).filter(|_| self.started) else { return Action::Go };
        // Mostly the interpreter's own.
        if self.python && sort == Sort::Memory {
            return Action::Go;
        }
        let count = self.counts.entry(sort).or_default();
        let number = *count;
        *count += 1;
        match self.fault {
            None => self.all.push(self.made(number, sort, call)),
            Some((of, n, Fault::NoMore(error))) if of == sort && number >= n => {
                return Action::Fail(error);
            }
            Some((of, n, fault)) if (of, n) == (sort, number) => match fault {
                Fault::Fails(error) | Fault::NoMore(error) => return Action::Fail(error),
                Fault::Short if call.arguments[2] > 1 => {
                    return Action::Shorten(call.arguments[2] / 2);
                }
                Fault::Short => {}
            },
            Some(_) => {}
        }
        Action::Go
    }
}

impl Nth<'_> {
    fn made(&self, number: usize, sort: Sort, call: &Call) -> Made {
        let path = match call.number {
            libc::SYS_open | libc::SYS_rename | libc::SYS_unlink | libc::SYS_link => {
                call.path(0, None)
            }
            libc::SYS_openat | libc::SYS_statx | libc::SYS_unlinkat | libc::SYS_newfstatat => {
                call.path(1, Some(0))
            }
            libc::SYS_renameat | libc::SYS_renameat2 | libc::SYS_linkat => call.path(3, Some(2)),
            _ if matches!(sort, Sort::Thread | Sort::Stack | Sort::Memory) => None,
            libc::SYS_mmap => call.descriptor(4),
            _ => call.descriptor(0),
        };
        let file = path.as_ref().and_then(|path| path.strip_prefix(self.root).ok());
        let file = file.filter(|file| !Folder::is_temporary(file));
        Made {
            number,
            sort,
            about: format!(
                "{sort:?} of {}",
                path.as_ref().map_or("nothing".into(), |path| path.display().to_string())
            ),
            file: file.map(|file| file.display().to_string()),
        }
    }
}

/// The results of a run without a fault.
struct Good {
    ended: Ended,
    files: Files,
    after: Vec<Vec<u8>>,
    calls: Vec<Made>,
    /// Files that are the same in each run.
    fixed: Vec<String>,
}

/// The results of a job.
#[derive(Default)]
pub(crate) struct Tried {
    /// Runs with the right answer in spite of the fault, and runs with an error.
    pub(crate) right: u64,
    pub(crate) refused: u64,
    pub(crate) findings: Vec<String>,
}

impl fmt::Display for Tried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { right, refused, findings } = self;
        write!(
            f,
            "{} runs: {right} right in spite of the fault, {refused} refused, {} findings",
            right + refused,
            findings.len()
        )
    }
}

/// Tries calls of a job with every fault: per type and file the first `most` calls, and every call whose number is a power of
/// two.
pub(crate) fn try_job(programs: &Programs, job: &Job, most: usize) -> Result<Tried> {
    let folder = Folder::new(programs, job)?;
    let start = folder.files()?;
    let good = good(&folder, job, &start)?;
    let mut tried = Tried::default();
    // The first of a loop's calls, and some of the others.
    let mut taken: BTreeMap<(Sort, &str), usize> = BTreeMap::new();
    for made in &good.calls {
        let times = taken.entry((made.sort, &made.about)).or_default();
        *times += 1;
        if *times > most && !times.is_power_of_two() {
            continue;
        }
        for &fault in made.sort.faults() {
            folder.put(&start)?;
            let ended = run(&folder, job, &start, Some((made.sort, made.number, fault)))?.0;
            let (right, finding) = judge(&folder, job, &start, &good, made, &ended)?;
            match right {
                true => tried.right += 1,
                false => tried.refused += 1,
            }
            if let Some(finding) = finding {
                let about = made.about.replace(&folder.root().display().to_string(), ".");
                let stderr = ended.stderr.lines().next().unwrap_or("").to_owned();
                let text = format!(
                    "{}: {finding}\n      {about}: {fault:?}, number {}; {:?}: {stderr}",
                    job.name, made.number, ended.how
                );
                tried.findings.push(text);
            }
        }
    }
    Ok(tried)
}

fn run(
    folder: &Folder,
    job: &Job,
    start: &Files,
    fault: Option<(Sort, usize, Fault)>,
) -> Result<(Ended, Vec<Made>)> {
    let root = folder.root();
    let (started, python) = (false, job.python);
    let mut watch = Nth { root, fault, started, python, counts: BTreeMap::new(), all: Vec::new() };
    let stdin = job.stdin.map_or_else(Vec::new, |name| start[name].clone());
    let ended = trace::run(&mut folder.command(job, job.run), stdin, &mut watch)?;
    Ok((ended, watch.all))
}

fn good(folder: &Folder, job: &Job, start: &Files) -> Result<Good> {
    let (ended, calls) = run(folder, job, start, None)?;
    let fine = matches!(ended.how, How::Exit(0 | 1)) && folder.left()?.is_empty();
    ensure!(fine, "{}: {:?} without a fault: {}", job.name, ended.how, ended.stderr);
    let (files, after) = (folder.files()?, after(folder, job)?);
    folder.put(start)?;
    let (_, _) = run(folder, job, start, None)?;
    let again = folder.files()?;
    let fixed = files.iter().filter(|(name, bytes)| again.get(*name) == Some(bytes));
    let fixed = fixed.map(|(name, _)| name.clone()).collect();
    Ok(Good { ended, files, after, calls, fixed })
}

/// The evidence that all is well: the output of commands, and the appended lines.
fn after(folder: &Folder, job: &Job) -> Result<Vec<Vec<u8>>> {
    let mut after = folder.answers(job)?;
    if let Some(name) = job.appends {
        after.push(sorted_lines(&fs::read(folder.path(name))?).concat());
    }
    Ok(after)
}

/// Returns whether the answer is right in spite of the fault, and a finding if there is one.
fn judge(
    folder: &Folder,
    job: &Job,
    start: &Files,
    good: &Good,
    made: &Made,
    ended: &Ended,
) -> Result<(bool, Option<String>)> {
    let files = folder.files()?;
    let left = folder.left()?;
    let finding = |text: String| Ok((false, Some(text)));
    if !left.is_empty() {
        return finding(format!("temporary files are left: {left:?}"));
    }
    // Python only warns of a file that it leaves out.
    let warned = ended.stderr.contains("it is left out") && ended.stdout != good.ended.stdout;
    if ended.how == good.ended.how && !warned {
        if ended.stdout != good.ended.stdout && !job.random {
            return finding("another answer".into());
        }
        if files.keys().ne(good.files.keys()) {
            let names: Vec<_> = files.keys().collect();
            return finding(format!("other files: {names:?}"));
        }
        // Files that are checked by later commands may differ in their bytes.
        let fixed = good.fixed.iter().filter(|_| job.after.is_empty());
        if let Some(name) = fixed.into_iter().find(|name| files[*name] != good.files[*name]) {
            return finding(format!("another {name}"));
        }
        return match after(folder, job) {
            Ok(after) if after == good.after => Ok((true, None)),
            Ok(_) => finding("another answer afterwards".into()),
            Err(error) => finding(format!("afterwards {error:#}")),
        };
    }
    let message = ended.stderr.trim();
    // Rust and glibc abort the process if an unchecked allocation fails; so does Rust, without a message, if it fails to
    // allocate a thread's signal stack.
    let aborted = ended.how == How::Signal(Signal::SIGABRT)
        && match made.sort {
            Sort::Memory => ["memory allocation of", "Fatal glibc error"]
                .iter()
                .any(|words| message.contains(words)),
            sort => sort == Sort::Stack,
        };
    if ended.how != How::Exit(2) && !aborted && !warned {
        return finding("neither the answer nor an error".into());
    }
    if message.is_empty() && !aborted {
        return finding("no message".into());
    }
    if message.contains("panicked") && !aborted {
        return finding("a panic".into());
    }
    let known = |name: &&String| start.contains_key(*name) || good.files.contains_key(*name);
    if let Some(name) = made.file.as_ref().filter(known).filter(|name| !message.contains(*name)) {
        return finding(format!("the message does not name {name}"));
    }
    for (name, bytes) in files.iter().filter(|_| !job.goes_on) {
        let known = start.contains_key(name) || good.files.contains_key(name);
        if !known {
            return finding(format!("{name} is left"));
        }
        let done = message.contains("could not be synced");
        let whole = done || start.get(name) == Some(bytes) || good.files.get(name) == Some(bytes);
        // An index is written without a file that cannot be read.
        let unread = |file: &String| file != name && start.contains_key(file);
        let without = job.run.contains("index") && made.file.as_ref().is_some_and(unread);
        // A file that differs from run to run, or is changed in place, is checked by the next run below.
        if !whole && !without && !job.in_place && good.fixed.contains(name) {
            return finding(format!("{name} is neither as it was nor complete"));
        }
    }
    // If it is done in spite of the error, it may have removed its journal, as it does in the end.
    let kept = |name: &&String| !job.goes_on || good.files.contains_key(*name);
    if let Some(name) = start.keys().filter(kept).find(|name| !files.contains_key(*name)) {
        return finding(format!("{name} is gone"));
    }
    // By its message it is done, and must not be done twice: secrets are not replaced, nor lines removed.
    if message.contains("could not be synced") || job.random {
        return Ok((false, None));
    }
    let (again, _) = run(folder, job, start, None)?;
    // The next run may find nothing left to do.
    let done = job.goes_on && again.how == How::Exit(1);
    if again.how != good.ended.how && !done {
        return finding(format!("the next run ends with {:?}: {}", again.how, again.stderr.trim()));
    }
    match after(folder, job) {
        Ok(after) if after == good.after => Ok((false, None)),
        Ok(_) => finding("another answer after the next run".into()),
        Err(error) => finding(format!("after the next run {error:#}")),
    }
}
