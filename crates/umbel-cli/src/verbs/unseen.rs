//! `umbel unseen`: lines that no earlier run has seen.
//!
//! Printed lines are noted in a [journal] next to the filter; the filter itself is saved at the end of the run or when
//! the journal is larger than it. So the next run knows where an interrupted one stopped. Lines that it wrote to the
//! `--append` file but did not record are removed, because they are printed again; the rest of that file stays.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::anyhow;
use serde::de::IgnoredAny;
use umbel::{AnyFilter, Filter, KeyDescription, KeyForm, KeyHasher, Kind, Plan, Variant};
use umbel_io::{Closer, FileAt, State, Stops, compression};
use umbel_numbers::{Fpp, KeyCount, counted};
use umbel_sets::journal::{self, Journal, JournaledFile, Notes, OutputState, Reached};
use umbel_sets::{
    Checkpoint, Header, Input, LargeFilter, Options, Receipt, Recorder, Records, Report, RowsOf,
    Unseen, UnseenInPieces, sources,
};

use super::explain;
use crate::args::{ExplainArgs, ForeignArgs, NamesArgs, SecretArgs, Work};
use crate::atomic::{self, Existing};
use crate::choices;
use crate::filters::{self, Keys, Locked};
use crate::lines::{self, Source};
use crate::output::{Screen, only_print, refuse_in_place_of, stdout};
use crate::report::{note, say};
use crate::standard::is_standard;
use crate::verbs::prelude::*;

/// Print the lines that no earlier run has seen
///
/// Prints the lines that are not in FILTER and adds them to it, in one pass that also works on an endless pipe. FILTER is created
/// if it does not exist. A new line is left out by mistake at the filter's false positive rate: by default 1 in 10,000. A line that
/// the filter holds is never printed again; only the kinds stable and window forget lines.
///
/// A run can be interrupted at any time. At each checkpoint it records in FILTER.run what it has printed. At the end, also after
/// Ctrl-C or TERM, it saves the filter. Lines are printed before they are recorded, so a killed run loses none: the next run with
/// the same input prints the rest. A pipe may then get the lines since the last checkpoint twice, the last one cut short.
///
/// With --append, FILE is read first, and its lines are not appended again. After a killed run, the next one removes what was
/// written after the last checkpoint, and writes it again. If FILE was changed in between, the next run refuses to continue, and
/// changes nothing.
///
/// Runs with the same filter or the same FILE wait for each other. With a blocked filter larger than --memory, lines are printed
/// after all input is read. --keys, --kind and --fpp describe a new filter; an existing one must agree with them.
#[derive(Debug, Args)]
pub(crate) struct UnseenArgs {
    /// Filter of the lines seen so far
    pub(crate) filter: PathBuf,
    /// Files of lines [default: standard input]
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Append the lines to FILE instead of printing them
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) append: Option<PathBuf>,
    /// False positive rate of a new filter [default: 1e-4]
    #[arg(long, value_name = "P")]
    pub(crate) fpp: Option<Fpp>,
    /// Keys to plan a new filter for [default: 1,000,000, and it grows]; a run that would over-fill it stops
    #[arg(long, value_name = "N")]
    pub(crate) keys: Option<KeyCount>,
    /// Kind of a new filter [default: blocked with --keys, otherwise scalable]
    #[arg(long, value_parser = choices::growing::<Variant>())]
    pub(crate) kind: Option<Variant>,
    /// Time between checkpoints: seconds, or with a unit, e.g. 500ms or 5min
    #[arg(long, value_name = "TIME", default_value = "60", value_parser = umbel_numbers::seconds, hide_short_help = true)]
    pub(crate) checkpoint: Duration,
    #[command(flatten)]
    pub(crate) secret: SecretArgs,
    #[command(flatten)]
    pub(crate) work: Work,
    #[command(flatten)]
    pub(crate) explain: ExplainArgs,
    #[command(flatten)]
    pub(crate) names: NamesArgs,
}

impl Verb for UnseenArgs {
    const NAME: &str = "unseen";
    const HELP: &str = "
also new, fresh, incremental, already seen
umbel unseen seen.umbel today.txt   lines that no earlier run has seen
umbel unseen seen.umbel today.txt -a new.txt   appended to a file, each once
0 lines are new
1 no line is new
";
    const RUN: fn(&Self) -> Result<Outcome> = unseen;
}

/// The planned keys of a new filter without --keys.
const DEFAULT_KEYS: u64 = 1_000_000;
/// One new URL in ten thousand is missed, at 2.7 bytes per key.
const DEFAULT_FPP: f64 = 1e-4;

/// The file that lines are appended to, if any.
fn append(args: &UnseenArgs) -> Option<&Path> {
    args.append.as_deref().filter(|path| !is_standard(path))
}

pub(crate) fn unseen(args: &UnseenArgs) -> Result<Outcome> {
    let path = args.filter.as_path();
    let mut options = lines::options(&args.work, &args.files)?;
    let secret = filters::secret(&args.secret)?;
    let named = append(args);
    let journal = journal::path_of(path);
    let own = [Some(&args.filter), args.secret.secret_file.as_ref(), Some(&journal)];
    refuse_in_place_of(named, &own)?;
    named.map_or(Ok(()), compression::check_result_name)?;
    let outputs = named.map(lines::OutputPath::Lines).into_iter();
    let outputs: Vec<_> = outputs.chain([lines::OutputPath::Filter(path)]).collect();
    let sources = lines::open_unaligned(&args.files, &args.work, &outputs, &options)?;
    if !path.exists() {
        let keys = args.keys.map_or(DEFAULT_KEYS, |keys| keys.0);
        let kind = if args.keys.is_some() { Kind::Blocked } else { Kind::Scalable };
        let kind = args.kind.unwrap_or(kind.into());
        if kind.kind().rows() {
            return Err(umbel_sets::Error::UnseenRows.into());
        }
        let plan = Plan::for_keys(kind, keys, args.fpp.map_or(DEFAULT_FPP, |fpp| fpp.0))?;
        if args.explain.explain {
            return only_print(explain::plan(&plan, args.work.voice.json));
        }
        let hasher = secret.clone().map_or_else(KeyHasher::default, KeyHasher::keyed);
        let keys = umbel_sets::describe_keys(
            kind.kind(),
            &options.form,
            &args.names.names,
            KeyForm::Text,
        )?;
        // Something else in the journal's place stops the run before a filter is made.
        Notes::of(path)?;
        // Another run may have created it meanwhile; then use that file.
        match make(path, &plan, hasher, keys, &options) {
            Err(error) if !path.exists() => return Err(error),
            _ => {}
        }
    }
    let foreign = ForeignArgs::default();
    let lock = filters::open_locked(path, None)?;
    if let Some(large) = filters::large(&lock, path, secret.as_ref(), &foreign, &options)? {
        return in_pieces(large, &lock.file, path, args, sources, &mut options);
    }
    let Locked { filter, lock, notes } =
        filters::read_locked(lock, path, secret.as_ref(), &foreign, &options)?;
    let keys = Keys::Added(None, &args.files, &args.work);
    filters::check_keys(&filter, path, &mut options, &args.names, keys)?;
    let mut filter = filters::own(filter, path, "unseen")?;
    check_options(filter.plan(), args).with_context(|| path.display().to_string())?;
    if args.explain.explain {
        return only_print(explain::plan(filter.plan(), args.work.voice.json));
    }
    let output = Output::open(path, notes.as_ref(), args, &options)?;
    let sources = output.align(sources, &options)?;
    let run = Run::start("unseen", args.work.voice, &options.resources.progress);
    let (mut out, mut saved) = output.write_by(path, notes.as_ref(), lock)?;
    let journal = Arc::clone(&saved.journal);
    let mut save = |filter: Option<&AnyFilter>, at: &Checkpoint, end| saved.save(filter, at, end);
    let mut recorder = Recorder::new(&mut *out, journal, &mut save, args.checkpoint, &options);
    if output.goes_on {
        recorder.continue_output(output.under, output.has);
    }
    let job = Unseen::new(&mut filter, recorder)?;
    until_stopped(&|| job.stop(), (path, append(args)), || {
        for source in sources {
            source.read(&options, Ok(job.room()), |lines| Ok(job.read(lines)?))?;
        }
        Ok(())
    })?;
    let mut report = job.finish().map_err(|error| about(error, path, append(args)))?;
    run.check_keyed(&report)?;
    report.bytes_written += saved.bytes;
    // Report only the filter's problems, except in JSON.
    let receipt = filter.receipt();
    let shown = args.work.voice.json || receipt.over_filled;
    run.finish(&report, "new", shown.then_some(&Receipt::Own(receipt)), &[]);
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
    match umbel_sets::room_left(plan.bytes(), &options.resources) {
        Ok(_) => {
            let mut empty = AnyFilter::with_plan(plan, hasher)?;
            empty.describe(keys);
            filters::write(&umbel_sets::Filter::Own(empty), path, Existing::Keep, None)?;
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

/// As [`unseen`], with a filter larger than the memory cap: all input is read before the first line is printed.
fn in_pieces(
    large: LargeFilter<'_>,
    lock: &File,
    path: &Path,
    args: &UnseenArgs,
    sources: Vec<Source>,
    options: &mut Options,
) -> Result<Outcome> {
    let keys = Keys::Added(None, &args.files, &args.work);
    filters::check_large(&large, path, options, &args.names, keys)?;
    check_options(large.plan(), args).with_context(|| path.display().to_string())?;
    if args.explain.explain {
        return only_print(explain::plan(large.plan(), args.work.voice.json));
    }
    let output = Output::open(path, large.notes, args, options)?;
    let sources = output.align(sources, options)?;
    let run = Run::start("unseen", args.work.voice, &options.resources.progress);
    let (mut out, mut saved) = output.write_by(path, large.notes, lock.try_clone()?)?;
    let journal = Arc::clone(&saved.journal);
    let mut save = |filter: Option<&AnyFilter>, at: &Checkpoint, end| saved.save(filter, at, end);
    let mut recorder = Recorder::new(&mut *out, journal, &mut save, args.checkpoint, options);
    if output.goes_on {
        recorder.continue_output(output.under, output.has);
    }
    let job = UnseenInPieces::new(recorder);
    let (mut report, bytes, _lock) = until_stopped(&|| job.stop(), (path, append(args)), || {
        let inputs = sources::rereadable(sources, options)?;
        let mut report = Report::default();
        let work = |file: &mut dyn Write| {
            report = job.run(&inputs, large, file)?.0;
            Ok(())
        };
        // Adding a key again does not change a blocked filter.
        let (lock, bytes) = filters::write_locked(path, work, |_| Ok(()))?;
        Ok((report, bytes, lock))
    })?;
    drop(job);
    saved.journal.lock().unwrap_or_else(PoisonError::into_inner).remove()?;
    run.check_keyed(&report)?;
    report.bytes_written += saved.bytes + bytes;
    run.finish(&report, "new", None, &[]);
    Ok(if report.found > 0 { Outcome::Done } else { Outcome::Nothing })
}

/// Refuses options of a new filter that contradict the existing one.
fn check_options(plan: &Plan, args: &UnseenArgs) -> Result<()> {
    // For coded filters, the plan may set the width of the codes.
    let is_open = |kind| kind == Variant::Coded { code_bits: None } && plan.kind() == Kind::Coded;
    let kind = args.kind.filter(|&kind| kind != plan.variant() && !is_open(kind));
    let keys = args.keys.map(|keys| keys.0).filter(|keys| *keys != plan.keys());
    let fpp = args.fpp.map(|fpp| fpp.0).filter(|fpp| *fpp != plan.fpp());
    let differ = [
        kind.map(|kind| ("--kind", kind.to_string(), plan.variant().to_string())),
        keys.map(|keys| ("--keys", keys.to_string(), plan.keys().to_string())),
        fpp.map(|fpp| ("--fpp", fpp.to_string(), plan.fpp().to_string())),
    ];
    match differ.into_iter().flatten().next() {
        Some((option, asked, found)) => bail!(
            "{option} {asked} describes a new filter, and this one has {found}; omit {option}, or name a filter that does \
             not exist yet"
        ),
        None => Ok(()),
    }
}

/// Does the work. On a signal to stop, saves what was printed and ends the process; a second signal ends it at once.
fn until_stopped<T>(
    stop: &(dyn Fn() -> Result<Checkpoint, umbel_sets::Error> + Sync),
    (filter, append): (&Path, Option<&Path>),
    work: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let stops = Stops::new().context("signals")?;
    let closer = stops.closer();
    thread::scope(|scope| {
        let listen = move || {
            let Some(stopped) = stops.wait() else { return };
            match stop() {
                Ok(Checkpoint { found, .. }) => say(&format!(
                    "umbel: stopped: {} records what was printed, {}",
                    filter.display(),
                    counted(found, "line")
                )),
                Err(error) => say(&format!("umbel: stopped: {error}")),
            }
            stopped.end();
        };
        let listen = thread::Builder::new().spawn_scoped(scope, listen);
        listen.map_err(|error| anyhow!(umbel_io::no_thread(&error)))?;
        let closer = CloseOnDrop(Some(closer));
        let result = work();
        drop(closer);
        result.map_err(|error| match error.downcast::<umbel_sets::Error>() {
            Ok(error) => about(error, filter, append),
            // An input cannot be opened: save what was printed before.
            Err(error) => stop().err().map_or(error, Into::into),
        })
    })
}

/// Ends the waiting for signals, also if the work panics.
struct CloseOnDrop(Option<Closer>);

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        if let Some(closer) = self.0.take() {
            closer.close();
        }
    }
}

/// An error with the file that it is about: the filter or the output.
fn about(error: umbel_sets::Error, filter: &Path, append: Option<&Path>) -> anyhow::Error {
    match (error, append) {
        (error @ umbel_sets::Error::Output(_), Some(path)) => {
            anyhow::Error::new(error).context(path.display().to_string())
        }
        (error, _) => filters::about(error, filter),
    }
}

/// The filter, its journal and the output.
struct Saved<'a> {
    path: &'a Path,
    journal: Arc<Mutex<Journal>>,
    /// Keeps others from replacing the filter.
    lock: File,
    /// The file of --append, if any.
    named: Option<PathBuf>,
    out: File,
    /// Bytes written, without those of lines.
    bytes: u64,
}

impl Saved<'_> {
    fn record(&mut self, filter: Option<&AnyFilter>, at: &Checkpoint, end: bool) -> Result<()> {
        let written = |path: &PathBuf| {
            OutputState::now(path, &self.out).with_context(|| path.display().to_string())
        };
        let output = self.named.as_ref().map(written).transpose()?;
        let reached = Reached { at: at.clone(), output };
        // Also before the filter is saved: lines that are later removed from the file must not be in the filter.
        let mut journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
        let before = journal.bytes();
        journal.reached(&reached)?;
        self.bytes += journal.bytes() - before;
        let Some(filter) = filter else { return Ok(()) };
        if !end && journal.bytes() <= filter.bytes() {
            return Ok(());
        }
        let write = |out: &mut dyn Write| Ok(filter.write(out)?);
        let (lock, bytes) = filters::write_locked(self.path, write, |file| journal.saved(file))?;
        self.lock = lock;
        self.bytes += bytes;
        if end { journal.remove() } else { journal.begin_again(&reached) }
    }

    fn save(
        &mut self,
        filter: Option<&AnyFilter>,
        at: &Checkpoint,
        end: bool,
    ) -> Result<(), umbel_sets::Error> {
        // A pipe or a terminal shows nothing more.
        let sync = || if State::of(&self.out)?.is_file { self.out.sync_data() } else { Ok(()) };
        sync().map_err(umbel_sets::Error::Output)?;
        self.record(filter, at, end).map_err(|error| umbel_sets::Error::Save(error.into()))
    }
}

/// Where the lines go.
struct Output {
    file: File,
    /// The file of --append, if any.
    named: Option<PathBuf>,
    /// Whether it has lines already, and their header, if there is one.
    goes_on: bool,
    under: Option<Header>,
    /// These lines, in a file that was named: none is appended again, whether a run with this filter recorded it or not.
    has: Option<Input>,
}

impl Output {
    /// Opens it. After an interrupted run, continues where that stopped.
    fn open(
        filter: &Path,
        notes: Option<&Notes>,
        args: &UnseenArgs,
        options: &Options,
    ) -> Result<Self> {
        let named = append(args);
        let mut file = named.map_or_else(stdout, appended)?;
        let name = || named.map_or("standard output".to_owned(), |path| path.display().to_string());
        // Lines to a pipe, such as /dev/stdout may be, are not recorded or removed.
        let is_file = State::of(&file).unwrap_or_default().is_file;
        let named = named.filter(|_| is_file).map(umbel_io::canonical).transpose()?;
        if let Some(notes) = notes {
            let Reached { output, .. } = &notes.reached;
            let same = output.as_ref().filter(|output| named.as_ref() == Some(&output.path));
            if let Some(output) = same {
                notes.take_back(output, &file).with_context(name)?;
            }
            note(&interrupted(filter, &notes.reached, same));
        }
        let (goes_on, under) = goes_on(&mut file, named.is_some(), &name(), options)?;
        let has = match goes_on && named.is_some() {
            true => Some(Input::file(name(), file.try_clone()?)?),
            false => None,
        };
        Ok(Self { file, named, goes_on, under, has })
    }

    /// Puts the columns of the sources in the order of what is continued.
    fn align(&self, sources: Vec<Source>, options: &Options) -> Result<Vec<Source>> {
        sources::align(sources, self.under.as_ref(), RowsOf::All, options)
    }

    /// A writer of lines, and what records them.
    fn write_by<'a>(
        &self,
        path: &'a Path,
        notes: Option<&Notes>,
        lock: File,
    ) -> Result<(Box<dyn Write + Send>, Saved<'a>)> {
        let journal = Journal::new(journal::path_of(path), notes)?;
        let journal = Arc::new(Mutex::new(journal));
        let (file, out) = (self.file.try_clone()?, self.file.try_clone()?);
        let write: Box<dyn Write + Send> = match &self.named {
            Some(_) => Box::new(JournaledFile { file, journal: Arc::clone(&journal) }),
            None => Box::new(Screen::new(file)),
        };
        Ok((write, Saved { path, journal, lock, named: self.named.clone(), out, bytes: 0 }))
    }
}

/// The file at `path`, opened to append lines. Waits for another run that does so: what is appended to it meanwhile would
/// be mixed up.
fn appended(path: &Path) -> Result<File> {
    let open = || {
        let file = OpenOptions::new().read(true).append(true).create(true).open(path);
        file.with_context(|| path.display().to_string())
    };
    let file = open()?;
    let state = State::of(&file).unwrap_or_default();
    if !state.is_file {
        return Ok(file);
    }
    if state.length == 0 {
        // It may be new: lines that are recorded must not be lost with its name.
        atomic::sync_folder_of(path).with_context(|| path.display().to_string())?;
    }
    filters::lock(file, path, &open)
}

/// What is told about an interrupted run; `written` is the output of both.
fn interrupted(filter: &Path, reached: &Reached, written: Option<&OutputState>) -> String {
    let after = match written {
        Some(OutputState { path, .. }) => {
            format!("later lines in {} are removed", path.display())
        }
        None => "lines printed after that are printed again".to_owned(),
    };
    format!(
        "umbel: the last run was interrupted: {} records what it printed up to byte {} of {}, {}; {after}; process \
         that input again",
        filter.display(),
        reached.at.offset,
        reached.at.input,
        counted(reached.at.found, "line")
    )
}

/// Whether this run appends lines to a file that has some already, and their header, if there is one. A killed run may have
/// left half a line at its end: it is terminated here, so that it does not run into the next line; it is printed again.
fn goes_on(
    out: &mut File,
    named: bool,
    name: &str,
    options: &Options,
) -> Result<(bool, Option<Header>)> {
    let State { length, is_file: true, .. } = State::of(out).unwrap_or_default() else {
        return Ok((false, None));
    };
    // Text that other commands wrote into a shared file is not our header.
    if length == 0 || !umbel_io::appends(out) {
        return Ok((false, None));
    }
    // Standard output is open only for writing.
    let readable = match named {
        true => out.try_clone(),
        false => umbel_io::reopen_stdout(),
    };
    let Ok(readable) = readable else { return Ok((true, None)) };
    let begins_with_json = || -> io::Result<bool> {
        let mut start = vec![0; length.min(1 << 16) as usize];
        readable.read_exact_at(&mut start, 0)?;
        let mut values = serde_json::Deserializer::from_slice(&start).into_iter::<IgnoredAny>();
        Ok(match values.next() {
            Some(Err(error)) => error.is_eof() && length > start.len() as u64,
            value => value.is_some(),
        })
    };
    let json = matches!(options.form.records, Records::JsonLines { .. });
    if json && !begins_with_json().with_context(|| name.to_owned())? {
        bail!(
            "{name}: its first line is not JSON, so JSON records cannot follow it; name another file"
        );
    }
    let mut last = [options.form.records.end()];
    readable.read_exact_at(&mut last, length - 1).with_context(|| name.to_owned())?;
    let header = Header::of(&Input::file(name, readable)?, options)?;
    if last[0] != options.form.records.end() {
        out.write_all(&[options.form.records.end()]).with_context(|| name.to_owned())?;
    }
    Ok((true, header))
}
