//! `umbel dedup --seen`: lines that no earlier run had.
//!
//! What goes out is noted in a [journal] beside the filter, which is saved when the run is over or the journal is larger
//! than it. So the next run can tell what the one before it did not finish; and lines in a file named with `-o` that are
//! not recorded are taken back from it, for they come again.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use anyhow::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::{flag, low_level};
use umbel::{AnyFilter, KeyHash, KeyHasher, Kind, Plan};
use umbel_sets::{Checkpoint, Save, SaveError, Seen};

use super::explain;
use crate::Outcome;
use crate::args::{DedupArgs, ForeignArgs};
use crate::atomic::Existing;
use crate::filters::{self, Locked};
use crate::journal::{self, Found, Journal, Reached, Written};
use crate::lines::{self, Source};
use crate::machine;
use crate::numbers::counted;
use crate::output::{print, stdout};
use crate::report::{Run, say};

/// The keys that a new filter begins with, when none are named.
const DEFAULT_KEYS: u64 = 1_000_000;
/// A new URL in ten thousand is missed: 2.7 bytes a key.
const DEFAULT_FPP: f64 = 1e-4;

pub(super) fn seen(path: &Path, args: &DedupArgs) -> Result<Outcome> {
    let options = lines::options(&args.work)?;
    let secret = filters::secret(&args.secret)?;
    let named = args.output.to.file();
    let sources = lines::open_beside(&args.files, &args.work, named, &options)?;
    if !path.exists() {
        let keys = args.keys.map_or(DEFAULT_KEYS, |keys| keys.0);
        let kind = if args.keys.is_some() { Kind::Blocked } else { Kind::Scalable };
        let kind = args.kind.unwrap_or(kind.into());
        if kind.kind().rows() {
            return Err(umbel_sets::Error::SeenRows.into());
        }
        let plan = Plan::for_keys(kind, keys, args.fpp.map_or(DEFAULT_FPP, |fpp| fpp.0))?;
        if args.work.explain {
            print(explain::plan(&plan, args.work.voice.json))?;
            return Ok(Outcome::Done);
        }
        umbel_sets::room_beside(plan.bytes(), &options)?;
        let hasher = secret.map_or_else(KeyHasher::default, KeyHasher::keyed);
        let empty = AnyFilter::with_plan(&plan, hasher)?.into();
        // Another run may have made it meanwhile: then that one counts.
        match filters::write(&empty, path, Existing::Keep) {
            Err(error) if !path.exists() => return Err(error),
            _ => {}
        }
    }
    let foreign = ForeignArgs::default();
    let Locked { filter, lock, found } =
        filters::read_locked(path, secret.as_ref(), &foreign, &options)?;
    let mut filter = filters::own(filter, path, "dedup --seen")?;
    if args.work.explain {
        print(explain::plan(filter.plan(), args.work.voice.json))?;
        return Ok(Outcome::Done);
    }
    let mut out = named.map_or_else(stdout, appended)?;
    if let Some(found) = &found {
        go_on_behind(path, found, named, &out, args.work.voice.quiet)?;
    }
    let goes_on = goes_on(&mut out, named, options.separator)?;
    let run = Run::start("dedup", args.work.voice, &options.progress);
    let mut save = Saved {
        path,
        journal: Journal::new(journal::path_of(path), found.as_ref())?,
        lock,
        named: named.map(fs::canonicalize).transpose()?,
        out: out.try_clone()?,
        bytes: 0,
    };
    let mut job = Seen::new(&mut filter, &mut out, &mut save, args.checkpoint, &options)?;
    if goes_on {
        job.leave_header_out();
    }
    until_stopped(&job, path, || {
        for source in sources {
            match source {
                Source::Files(inputs) => job.inputs(&inputs)?,
                Source::Stream(stream) => {
                    let (name, bytes) = stream.open(&options)?;
                    job.stream(&name, bytes)?;
                }
            }
        }
        Ok(())
    })?;
    let mut report = job.finish()?;
    report.bytes_written += save.bytes;
    run.finish(&report, "new", None);
    let receipt = filter.receipt();
    if receipt.over_filled {
        say(&format!("umbel: warning: {}", crate::report::over_filled(&receipt)));
    }
    Ok(if report.found > 0 { Outcome::Done } else { Outcome::Nothing })
}

/// Does the work; when the process is asked to end meanwhile, saves what went out and ends it. Who asks twice does not
/// wait for that.
fn until_stopped(job: &Seen<'_>, filter: &Path, work: impl FnOnce() -> Result<()>) -> Result<()> {
    let signals = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| !machine::ignores(*signal));
    let asked = Arc::new(AtomicBool::new(false));
    for signal in signals.clone() {
        flag::register_conditional_default(signal, Arc::clone(&asked)).context("signals")?;
    }
    let mut signals = Signals::new(signals).context("signals")?;
    let handle = signals.handle();
    thread::scope(|scope| {
        scope.spawn(move || {
            let Some(signal) = signals.forever().next() else { return };
            asked.store(true, Ordering::Relaxed);
            match job.stop() {
                Ok(Checkpoint { found, .. }) => say(&format!(
                    "umbel dedup: stopped: {} records what went out, {}",
                    filter.display(),
                    counted(found, "line")
                )),
                Err(error) => say(&format!("umbel dedup: stopped: {error}")),
            }
            let _ = low_level::emulate_default_handler(signal);
        });
        let result = work();
        handle.close();
        result.map_err(|error| match error.downcast::<umbel_sets::Error>() {
            Ok(error) => filters::about(error, filter),
            // An input that cannot be opened: what went out before is saved.
            Err(error) => job.stop().err().map_or(error, Into::into),
        })
    })
}

/// Where the filter is saved.
struct Saved<'a> {
    path: &'a Path,
    journal: Journal,
    /// Keeps others from replacing the filter.
    lock: File,
    /// The file that lines go to, if it was named.
    named: Option<PathBuf>,
    out: File,
    /// Bytes written, but for lines.
    bytes: u64,
}

impl Saved<'_> {
    fn record(&mut self, filter: &AnyFilter, at: &Checkpoint, end: bool) -> Result<()> {
        let output = match &self.named {
            Some(path) => {
                let length = self.out.metadata().with_context(|| path.display().to_string())?.len();
                Some(Written { path: path.clone(), length })
            }
            None => None,
        };
        let Checkpoint { input, offset, found, .. } = at.clone();
        let reached = Reached { input, offset, found, output };
        // Also before the filter is saved: what is then taken back of the file must not be in the filter.
        let before = self.journal.bytes();
        self.journal.reached(&reached)?;
        self.bytes += self.journal.bytes() - before;
        if !end && self.journal.bytes() <= filter.bytes() {
            return Ok(());
        }
        self.lock = filters::write_locked(filter, self.path)?;
        self.bytes += filter.bytes();
        if end { self.journal.remove() } else { self.journal.begin_again(&reached) }
    }
}

impl Save for Saved<'_> {
    fn sync(&mut self) -> io::Result<()> {
        // Of a pipe or a terminal nothing more can be known.
        if self.out.metadata()?.is_file() { self.out.sync_data() } else { Ok(()) }
    }

    fn note(&mut self, hashes: &[KeyHash]) -> Result<(), SaveError> {
        Ok(self.journal.note(hashes)?)
    }

    fn save(&mut self, filter: &AnyFilter, at: &Checkpoint, end: bool) -> Result<(), SaveError> {
        Ok(self.record(filter, at, end)?)
    }
}

/// The file at `path`, to which lines are added.
fn appended(path: &Path) -> Result<File> {
    let file = OpenOptions::new().read(true).append(true).create(true).open(path);
    file.with_context(|| path.display().to_string())
}

/// Goes on where the run before ended, which did not end well: takes lines back that it wrote to the same file and that
/// come again.
fn go_on_behind(
    filter: &Path,
    found: &Found,
    named: Option<&Path>,
    out: &File,
    quiet: bool,
) -> Result<()> {
    let Reached { input, offset, found, output } = &found.reached;
    let same = match (named, output) {
        (Some(named), Some(output)) if fs::canonicalize(named)? == output.path => Some(output),
        _ => None,
    };
    let after = match same {
        Some(Written { path, length }) => {
            if out.metadata()?.len() > *length {
                out.set_len(*length).with_context(|| path.display().to_string())?;
            }
            format!("what went to {} after that is taken back", path.display())
        }
        None => "what went out after that comes again".to_owned(),
    };
    if !quiet {
        say(&format!(
            "umbel dedup: the run before did not end well: {} records what went out up to byte {offset} of {input}, {}; \
             {after}: give that input again",
            filter.display(),
            counted(*found, "line")
        ));
    }
    Ok(())
}

/// Whether lines go to a file that has some already, to which this run adds. A run that was
/// killed may have left half a line at its end: that is ended here, for it comes again, and must not run
/// into the next.
fn goes_on(out: &mut File, named: Option<&Path>, separator: u8) -> Result<bool> {
    let name = || named.map_or("standard output".to_owned(), |path| path.display().to_string());
    let length = match out.metadata() {
        Ok(meta) if meta.is_file() => meta.len(),
        _ => return Ok(false),
    };
    let position = io::Seek::stream_position(out).with_context(name)?;
    if length == 0 || (position < length && !appends(out)) {
        return Ok(false);
    }
    // Standard output is open for writing alone.
    let readable = match named {
        Some(_) => out.try_clone(),
        None => File::open("/proc/self/fd/1").or_else(|_| File::open("/dev/fd/1")),
    };
    let Ok(readable) = readable else { return Ok(true) };
    let mut last = [separator];
    readable.read_exact_at(&mut last, length - 1).with_context(name)?;
    if last[0] != separator {
        out.write_all(&[separator]).with_context(name)?;
    }
    Ok(true)
}

/// Whether all that is written goes to the end.
fn appends(file: &File) -> bool {
    use nix::fcntl::{FcntlArg, OFlag, fcntl};
    fcntl(file, FcntlArg::F_GETFL)
        .is_ok_and(|flags| OFlag::from_bits_truncate(flags).contains(OFlag::O_APPEND))
}
