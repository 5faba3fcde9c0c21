//! `umbel dedup --seen`: lines that no earlier run had.
//!
//! The filter is replaced at checkpoints, and a note beside it tells how far the run is; the note goes
//! when the run ends well. So the next run can tell what the one before it did not finish.

use std::error::Error;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use umbel::{AnyFilter, KeyHasher, Kind, Plan};
use umbel_sets::{Checkpoint, Save, Seen};

use super::explain;
use crate::Outcome;
use crate::args::{DedupArgs, ForeignArgs};
use crate::atomic::{self, Existing};
use crate::filters::{self, Locked};
use crate::lines::{self, Source};
use crate::numbers::Count;
use crate::output::{print, stdout};
use crate::report::{Run, say};

/// The keys that a new filter begins with, when none are named.
const DEFAULT_KEYS: u64 = 1_000_000;
/// A new URL in ten thousand is missed: 2.7 bytes a key.
const DEFAULT_FPP: f64 = 1e-4;

pub(super) fn seen(path: &Path, args: &DedupArgs) -> Result<Outcome> {
    let options = lines::options(&args.work)?;
    let secret = filters::secret(&args.secret)?;
    let sources = lines::open(&args.files, &args.work)?;
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
    let Locked { filter, lock } = filters::read_locked(path, secret.as_ref(), &foreign, &options)?;
    let mut filter = filters::own(filter, path, "dedup --seen")?;
    if args.work.explain {
        print(explain::plan(filter.plan(), args.work.voice.json))?;
        return Ok(Outcome::Done);
    }
    let mut out = stdout()?;
    let mut save = Saved { path, note: note(path), lock, out: out.try_clone()?, bytes: 0 };
    save.tell_of_the_run_before(args.work.voice.quiet)?;
    let goes_on = goes_on(&mut out, options.separator)?;
    let first = sources.first().map_or_else(String::new, Source::name);
    save.write_note(&Note { input: first, offset: 0, found: 0 })?;
    let run = Run::start("dedup", args.work.voice, &options.progress);
    let mut job = Seen::new(&mut filter, &mut out, &mut save, args.checkpoint, &options)?;
    if goes_on {
        job.leave_header_out();
    }
    for source in sources {
        let gone = match source {
            Source::Files(inputs) => job.inputs(&inputs),
            Source::Stream(stream) => {
                let (name, bytes) = stream.open(&options)?;
                job.stream(&name, bytes)
            }
        };
        gone.map_err(|error| filters::about(error, path))?;
    }
    let mut report = job.finish()?;
    fs::remove_file(&save.note).with_context(|| save.note.display().to_string())?;
    report.bytes_written += save.bytes;
    run.finish(&report, "new", None);
    let receipt = filter.receipt();
    if receipt.over_filled {
        say(&format!("umbel: warning: {}", crate::report::over_filled(&receipt)));
    }
    Ok(if report.found > 0 { Outcome::Done } else { Outcome::Nothing })
}

/// The note beside a filter.
fn note(filter: &Path) -> PathBuf {
    let mut name = filter.file_name().unwrap_or_default().to_owned();
    name.push(".run");
    filter.with_file_name(name)
}

/// How far a run is.
#[derive(Serialize, Deserialize)]
struct Note {
    input: String,
    offset: u64,
    found: u64,
}

/// Where the filter is saved.
struct Saved<'a> {
    path: &'a Path,
    note: PathBuf,
    /// Keeps others from replacing the filter.
    lock: File,
    out: File,
    /// Bytes of filters written.
    bytes: u64,
}

impl Saved<'_> {
    fn write_note(&self, note: &Note) -> Result<()> {
        let note = serde_json::to_vec(note)?;
        atomic::write(&self.note, Existing::Replace, |out| Ok(out.write_all(&note)?)).map(drop)
    }

    fn tell_of_the_run_before(&self, quiet: bool) -> Result<()> {
        let bytes = match fs::read(&self.note) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            bytes => bytes.with_context(|| self.note.display().to_string())?,
        };
        if quiet {
            return Ok(());
        }
        let filter = self.path.display();
        say(&match serde_json::from_slice(&bytes) {
            Ok(Note { input, offset, found }) => format!(
                "umbel dedup: the run before did not end well: {filter} records what went out up to byte {offset} of {input}, {} lines; \
                 what went out after that comes again when that input is given again",
                Count(found)
            ),
            Err(_) => format!(
                "umbel dedup: the run before did not end well: its last lines may come again ({filter})"
            ),
        });
        Ok(())
    }
}

impl Save for Saved<'_> {
    fn sync(&mut self) -> io::Result<()> {
        // Of a pipe or a terminal nothing more can be known.
        if self.out.metadata()?.is_file() { self.out.sync_data() } else { Ok(()) }
    }

    fn save(
        &mut self,
        filter: &AnyFilter,
        at: &Checkpoint,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        self.lock = filters::write_locked(filter, self.path)?;
        self.bytes += filter.bytes();
        let Checkpoint { input, offset, found, .. } = at.clone();
        Ok(self.write_note(&Note { input, offset, found })?)
    }
}

/// Whether standard output is a file that has lines already, to which this run adds. A run that was
/// killed may have left half a line at its end: that is ended here, for it comes again, and must not run
/// into the next.
fn goes_on(out: &mut File, separator: u8) -> Result<bool> {
    let length = match out.metadata() {
        Ok(meta) if meta.is_file() => meta.len(),
        _ => return Ok(false),
    };
    let position = io::Seek::stream_position(out).context("standard output")?;
    if length == 0 || (position < length && !appends(out)) {
        return Ok(false);
    }
    // Standard output is open for writing alone.
    let Ok(file) = File::open("/proc/self/fd/1").or_else(|_| File::open("/dev/fd/1")) else {
        return Ok(true);
    };
    let mut last = [separator];
    file.read_exact_at(&mut last, length - 1).context("standard output")?;
    if last[0] != separator {
        out.write_all(&[separator]).context("standard output")?;
    }
    Ok(true)
}

/// Whether all that is written goes to the end.
fn appends(file: &File) -> bool {
    use nix::fcntl::{FcntlArg, OFlag, fcntl};
    fcntl(file, FcntlArg::F_GETFL)
        .is_ok_and(|flags| OFlag::from_bits_truncate(flags).contains(OFlag::O_APPEND))
}
