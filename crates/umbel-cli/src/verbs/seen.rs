//! `umbel dedup --seen`: lines that no earlier run has seen.
//!
//! What is printed is noted in a [journal] next to the filter; the filter itself is saved when the run is over or the
//! journal is larger than it. So the next run knows where an interrupted one stopped. Lines in the file of `-o` that are
//! not recorded are removed, because they are printed again.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use anyhow::{Context, Result, bail};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::{flag, low_level};
use umbel::{AnyFilter, KeyDescription, KeyHash, KeyHasher, Kind, Plan, Variant};
use umbel_files::journal::{self, Found, Journal, Reached, Written};
use umbel_sets::{Checkpoint, Options, Report, Save, SaveError, Seen, SeenInPieces};

use super::explain;
use crate::Outcome;
use crate::args::{DedupArgs, ForeignArgs};
use crate::atomic::Existing;
use crate::filters::{self, Large, Locked};
use crate::lines::{self, Source};
use crate::machine;
use crate::numbers::counted;
use crate::output::{print, refuse_in_place_of, stdout};
use crate::report::{Run, say};

/// The planned keys of a new filter without --keys.
const DEFAULT_KEYS: u64 = 1_000_000;
/// One new URL in ten thousand is missed, at 2.7 bytes per key.
const DEFAULT_FPP: f64 = 1e-4;

pub(super) fn seen(path: &Path, args: &DedupArgs) -> Result<Outcome> {
    let options = lines::options(&args.work)?;
    let secret = filters::secret(&args.secret)?;
    let named = args.output.to.file();
    if args.output.total {
        bail!(
            "--total does not go with --seen: lines that are only counted would be recorded as seen"
        );
    }
    refuse_in_place_of(named, &[args.seen.as_ref(), args.secret.secret_file.as_ref()])?;
    let outputs = named.map(lines::Written::Lines).into_iter();
    let outputs: Vec<_> = outputs.chain([lines::Written::Filter(path)]).collect();
    let sources =
        lines::open_beside(&args.files, &args.work, &outputs, lines::Rows::OfAll, &options)?;
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
        let hasher = secret.map_or_else(KeyHasher::default, KeyHasher::keyed);
        let keys = umbel_sets::keys_of(kind.kind(), &options, &args.names.names)?;
        // Another run may have created it meanwhile: then that one is used.
        match make(path, &plan, hasher, keys, &options) {
            Err(error) if !path.exists() => return Err(error),
            _ => {}
        }
    }
    let foreign = ForeignArgs::default();
    let lock = filters::open_locked(path, false)?;
    if let Some(large) = filters::large(&lock, path, secret.as_ref(), &foreign, &options)? {
        return in_pieces(&large, path, args, sources, &options);
    }
    let Locked { filter, lock, found } =
        filters::read_locked(lock, path, secret.as_ref(), &foreign, &options)?;
    filters::check_keys(&filter, path, &options, &args.names)?;
    let mut filter = filters::own(filter, path, "dedup --seen")?;
    check_options(filter.plan(), args).with_context(|| path.display().to_string())?;
    if args.work.explain {
        print(explain::plan(filter.plan(), args.work.voice.json))?;
        return Ok(Outcome::Done);
    }
    let (mut out, goes_on) = output(path, found.as_ref(), args, &options)?;
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
    until_stopped(&|| job.stop(), path, || {
        for source in sources {
            match source {
                Source::Files(inputs) => job.inputs(&inputs)?,
                Source::Stream(stream) => {
                    let (name, mut bytes) = stream.open(&options)?;
                    job.stream(&name, &mut *bytes)?;
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
        say(&format!("umbel: warning: {}", umbel_report::receipt::over_filled(&receipt)));
    }
    Ok(if report.found > 0 { Outcome::Done } else { Outcome::Nothing })
}

/// Makes an empty filter.
fn make(
    path: &Path,
    plan: &Plan,
    hasher: KeyHasher,
    keys: KeyDescription,
    options: &Options,
) -> Result<()> {
    match umbel_sets::room_beside(plan.bytes(), options) {
        Ok(_) => {
            let mut empty = AnyFilter::with_plan(plan, hasher)?;
            empty.describe(keys);
            filters::write(&empty.into(), path, Existing::Keep, None)?;
        }
        Err(umbel_sets::Error::Memory { .. }) if plan.kind() == Kind::Blocked => {
            filters::write_with(path, Existing::Keep, None, |out| {
                umbel_sets::build_in_pieces(&[], plan, hasher, &keys, out, options)?;
                Ok(())
            })?;
        }
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

/// As [`seen`], with a filter larger than the memory cap: all input is read before the first line is printed.
fn in_pieces(
    large: &Large<'_>,
    path: &Path,
    args: &DedupArgs,
    sources: Vec<Source>,
    options: &Options,
) -> Result<Outcome> {
    large.check_keys(path, options, &args.names)?;
    check_options(&large.plan, args).with_context(|| path.display().to_string())?;
    if args.work.explain {
        print(explain::plan(&large.plan, args.work.voice.json))?;
        return Ok(Outcome::Done);
    }
    let (mut out, goes_on) = output(path, large.found.as_ref(), args, options)?;
    let run = Run::start("dedup", args.work.voice, &options.progress);
    let mut save = Saved {
        path,
        journal: Journal::new(journal::path_of(path), large.found.as_ref())?,
        lock: large.file.try_clone()?,
        named: args.output.to.file().map(fs::canonicalize).transpose()?,
        out: out.try_clone()?,
        bytes: 0,
    };
    let mut job = SeenInPieces::new(&mut out, &mut save, args.checkpoint, options);
    if goes_on {
        job.leave_header_out();
    }
    let (mut report, bytes, _lock) = until_stopped(&|| job.stop(), path, || {
        let inputs = umbel_files::inputs::rereadable(sources, options)?;
        let mut report = Report::default();
        let (lock, bytes) = filters::write_locked(path, |file| {
            report = large.work(path, |filter| job.run(&inputs, filter, file))?.0;
            Ok(())
        })?;
        Ok((report, bytes, lock))
    })?;
    drop(job);
    save.journal.remove()?;
    report.bytes_written += save.bytes + bytes;
    run.finish(&report, "new", None);
    Ok(if report.found > 0 { Outcome::Done } else { Outcome::Nothing })
}

/// The output, and whether it has lines already. After an interrupted run, continues where that stopped.
fn output(
    filter: &Path,
    found: Option<&Found>,
    args: &DedupArgs,
    options: &Options,
) -> Result<(File, bool)> {
    let named = args.output.to.file();
    let mut out = named.map_or_else(stdout, appended)?;
    if let Some(found) = found {
        go_on_behind(filter, found, named, &out, args.work.voice.quiet)?;
    }
    let goes_on = goes_on(&mut out, named, options.separator)?;
    Ok((out, goes_on))
}

/// Refuses options of a new filter that contradict the existing one.
fn check_options(plan: &Plan, args: &DedupArgs) -> Result<()> {
    let differs = |option: &str, asked: String, found: String| -> Result<()> {
        bail!(
            "{option} {asked} describes a new filter, and this one has {found}; omit {option}, or name a filter that does \
             not exist yet"
        )
    };
    // Coded filters may leave the width of their codes to the plan.
    let left = Variant::Coded { code_bits: None };
    if let Some(kind) = args.kind
        && kind != plan.variant()
        && (kind != left || plan.kind() != Kind::Coded)
    {
        differs("--kind", kind.to_string(), plan.variant().to_string())?;
    }
    if let Some(keys) = args.keys
        && keys.0 != plan.keys()
    {
        differs("--keys", keys.0.to_string(), plan.keys().to_string())?;
    }
    if let Some(fpp) = args.fpp
        && fpp.0 != plan.fpp()
    {
        differs("--fpp", fpp.0.to_string(), plan.fpp().to_string())?;
    }
    Ok(())
}

/// Does the work. On a signal to stop, saves what was printed and ends the process; a second signal ends it at once.
fn until_stopped<T>(
    stop: &(dyn Fn() -> Result<Checkpoint, umbel_sets::Error> + Sync),
    filter: &Path,
    work: impl FnOnce() -> Result<T>,
) -> Result<T> {
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
            match stop() {
                Ok(Checkpoint { found, .. }) => say(&format!(
                    "umbel dedup: stopped: {} records what was printed, {}",
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
            // An input that cannot be opened: what was printed before is saved.
            Err(error) => stop().err().map_or(error, Into::into),
        })
    })
}

/// The filter, its journal and the output.
struct Saved<'a> {
    path: &'a Path,
    journal: Journal,
    /// Keeps others from replacing the filter.
    lock: File,
    /// The file of -o, if any.
    named: Option<PathBuf>,
    out: File,
    /// Bytes written, without those of lines.
    bytes: u64,
}

impl Saved<'_> {
    fn record(&mut self, filter: Option<&AnyFilter>, at: &Checkpoint, end: bool) -> Result<()> {
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
        let Some(filter) = filter else { return Ok(()) };
        if !end && self.journal.bytes() <= filter.bytes() {
            return Ok(());
        }
        let (lock, bytes) = filters::write_locked(self.path, |out| Ok(filter.write(out)?))?;
        self.lock = lock;
        self.bytes += bytes;
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

    fn save(
        &mut self,
        filter: Option<&AnyFilter>,
        at: &Checkpoint,
        end: bool,
    ) -> Result<(), SaveError> {
        Ok(self.record(filter, at, end)?)
    }
}

/// The file at `path`, opened to append lines.
fn appended(path: &Path) -> Result<File> {
    let file = OpenOptions::new().read(true).append(true).create(true).open(path);
    file.with_context(|| path.display().to_string())
}

/// Continues where an interrupted run stopped: removes the lines that it wrote to the same file and did not record.
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
            format!("what it wrote to {} after that is removed", path.display())
        }
        None => "what it printed after that is printed again".to_owned(),
    };
    if !quiet {
        say(&format!(
            "umbel dedup: the last run was interrupted: {} records what it printed up to byte {offset} of {input}, {}; \
             {after}; process that input again",
            filter.display(),
            counted(*found, "line")
        ));
    }
    Ok(())
}

/// Whether this run appends lines to a file that has some already. A killed run may have left half a line
/// at its end: it is terminated here, so that it does not run into the next line; it is printed again.
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
