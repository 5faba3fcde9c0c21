//! Exact set operations on files: the jobs of the command line, on a thread of their own.
//!
//! The calling thread waits without the GIL. It checks for signals twenty times a second, so Ctrl-C ends a job, and
//! reports progress.

use std::fs::File;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyIsADirectoryError, PyMemoryError, PyOSError, PyValueError};
use pyo3::prelude::*;
use umbel_io::atomic::{self, Existing};
use umbel_io::{compression, no_thread};
use umbel_sets::changes::{self, Files};
use umbel_sets::inputs::{self, NamedInput, Room, Rows};
use umbel_sets::{
    Bad, Diff, Distinct, Error, Input, Join, Keep, Missing, Normalization, Options, Partners,
    Progress, Records, SetOperation, TempFolders, Top, Unpaired,
};

use crate::calls;
use crate::errors::number;
use crate::feeds::Feeds;
use crate::lines::Lines;
use crate::reports::reported;
use crate::values::{FilePath, choice, size};

/// The interval between checks for signals.
const TICK: Duration = Duration::from_millis(50);

/// The fields of a report.
#[derive(IntoPyObject)]
struct Report {
    lines: u64,
    found: u64,
    missing: u64,
    bad: u64,
    bytes_read: u64,
    bytes_spilled: u64,
    bytes_written: u64,
    exact: bool,
    changes: Option<(u64, u64, u64, u64)>,
    uneven: Option<u64>,
    joined: Option<(u64, u64, u64, Option<u64>)>,
    seconds: f64,
}

impl Report {
    fn of(report: &umbel_sets::Report, seconds: f64) -> Self {
        Self {
            lines: report.lines,
            found: report.found,
            missing: report.missing,
            bad: report.bad,
            bytes_read: report.bytes_read,
            bytes_spilled: report.bytes_spilled,
            bytes_written: report.bytes_written,
            exact: report.error.is_none(),
            changes: report
                .changes
                .map(|found| (found.removed, found.added, found.changed, found.kept)),
            uneven: report.changes.map(|found| found.uneven),
            joined: report.joined.map(|found| {
                (found.pairs, found.left_matched, found.left_unmatched, found.right_unmatched)
            }),
            seconds,
        }
    }
}

/// The files of a `diff` that writes what was added, removed and kept to a file each.
#[derive(Default)]
struct Separate {
    added: Option<PathBuf>,
    removed: Option<PathBuf>,
    kept: Option<PathBuf>,
}

impl Separate {
    fn files(&self) -> Files<'_> {
        Files {
            added: self.added.as_deref(),
            removed: self.removed.as_deref(),
            kept: self.kept.as_deref(),
        }
    }
}

/// The operation on the inputs.
enum Job {
    Common { at_least: Option<usize>, all: bool, fpp: Option<f64> },
    Except { all: bool, fpp: Option<f64> },
    Dedup { distinct: Distinct, fpp: Option<f64> },
    Diff(Separate),
    Join { unpaired: Unpaired, partners: Partners, prefix: Option<String> },
}

impl Job {
    fn run(
        &self,
        inputs: &[Input],
        options: &Options,
        out: &mut (dyn Write + Send),
    ) -> Result<umbel_sets::Report, Error> {
        match *self {
            Self::Common { at_least, all, fpp } => {
                let at_least = at_least.unwrap_or(inputs.len());
                let job = SetOperation::common(inputs, at_least, options)?.with_error(fpp);
                if all { job.every().run(out) } else { job.run(out) }
            }
            Self::Except { all, fpp } => {
                let job = SetOperation::except(inputs, options)?.with_error(fpp);
                if all { job.every().run(out) } else { job.run(out) }
            }
            Self::Dedup { distinct, fpp } => {
                SetOperation::distinct(inputs, distinct, options)?.with_error(fpp).run(out)
            }
            Self::Join { unpaired, partners, ref prefix } => {
                let job = Join::new(inputs, options)?
                    .with_unpaired(unpaired)
                    .with_partners(partners)
                    .with_prefix(prefix.as_deref());
                job.run(&job.plan()?, out)
            }
            Self::Diff(_) => changes::write(
                &Diff::new(inputs, options)?,
                changes::Marks::New,
                options.separator,
                out,
            ),
        }
    }

    /// Whether rows of all inputs are in the result.
    fn rows(&self) -> Rows {
        match self {
            Self::Common { at_least: None, .. } | Self::Except { .. } | Self::Join { .. } => {
                Rows::OfOne
            }
            _ => Rows::OfAll,
        }
    }
}

/// Runs a job of the command line; the functions around it have the documentation.
#[pyfunction]
#[pyo3(name = "_job", signature = (
    verb, inputs, *, out=None, memory=None, threads=None, tmp=None, records=None, key=Vec::new(), delimiter=Vec::new(), header=true,
    others=Vec::new(), null=false, recursive=false, all=false, repeated=false, at_least=None, fpp=None, keep="first", count=false, top=None, by_count=false, ignore_case=false,
    trim=false, crlf=false, normalize=Vec::new(), missing="error", bad="error", progress=None, added=None, removed=None, kept=None,
    ignored=Vec::new(), how="inner", first=false, unique=false, prefix=None, given=Vec::new()
))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn job<'py>(
    py: Python<'py>,
    verb: &str,
    inputs: Vec<Bound<'py, PyAny>>,
    out: Option<FilePath>,
    memory: Option<Bound<'py, PyAny>>,
    threads: Option<NonZeroUsize>,
    tmp: Option<FilePath>,
    records: Option<&str>,
    key: Vec<String>,
    delimiter: Vec<String>,
    header: bool,
    others: Vec<String>,
    null: bool,
    recursive: bool,
    all: bool,
    repeated: bool,
    at_least: Option<usize>,
    fpp: Option<f64>,
    keep: &str,
    count: bool,
    top: Option<u64>,
    by_count: bool,
    ignore_case: bool,
    trim: bool,
    crlf: bool,
    normalize: Vec<String>,
    missing: &str,
    bad: &str,
    progress: Option<Bound<'py, PyAny>>,
    added: Option<FilePath>,
    removed: Option<FilePath>,
    kept: Option<FilePath>,
    ignored: Vec<String>,
    how: &str,
    first: bool,
    unique: bool,
    prefix: Option<String>,
    given: Vec<String>,
) -> PyResult<Bound<'py, PyAny>> {
    let path = |path: Option<FilePath>| path.map(|path| path.0);
    let (out, tmp) = (path(out), path(tmp));
    let (added, removed, kept) = (path(added), path(removed), path(kept));
    let delimiters = delimiters(&delimiter)?;
    if !ignored.is_empty() && !matches!(records, Some("csv" | "tsv")) {
        return Err(PyValueError::new_err("ignore_columns goes with records=\"csv\" or \"tsv\""));
    }
    let separator = if null { 0 } else { b'\n' };
    let mut options = Options {
        separator,
        records: of_records(records, key, &delimiters, header)?,
        others,
        ignored,
        normalization: normalization(
            &normalize,
            Normalization { crlf, trim, ignore_case, ..Normalization::default() },
        )?,
        missing: match missing {
            "error" => Missing::Refuse,
            "skip" => Missing::Skip,
            "keep" => Missing::Keep,
            other => return Err(choice("missing", "error, skip or keep", other)),
        },
        bad: match bad {
            "error" => Bad::Refuse,
            "skip" => Bad::Skip,
            other => return Err(choice("bad", "error or skip", other)),
        },
        ..options(memory, threads, tmp)?
    };
    if fpp.is_some_and(|fpp| !(fpp > 0.0 && fpp < 1.0)) {
        return Err(PyValueError::new_err("fpp: expected a probability above 0 and below 1"));
    }
    for option in &given {
        let excluded = umbel_sets::excludes(verb, option);
        if let Some(other) = given.iter().find(|other| excluded.contains(&other.as_str())) {
            let text = format!("{option} cannot be used with {other}; omit one of them");
            return Err(PyValueError::new_err(text));
        }
    }
    let job = match verb {
        "common" => Job::Common { at_least, all, fpp },
        "except" => Job::Except { all, fpp },
        "diff" => Job::Diff(Separate { added, removed, kept }),
        "join" => Job::Join {
            unpaired: match how {
                "inner" => Unpaired::None,
                "left" => Unpaired::Left,
                "full" => Unpaired::Both,
                other => return Err(choice("how", "inner, left or full", other)),
            },
            partners: match (first, unique) {
                (false, false) => Partners::All,
                (true, false) => Partners::First,
                (false, true) => Partners::Unique,
                (true, true) => unreachable!("they exclude each other"),
            },
            prefix,
        },
        _ => Job::Dedup {
            distinct: Distinct {
                at_least: at_least.unwrap_or(if repeated { 2 } else { 1 }) as u64,
                keep: match keep {
                    "first" => Keep::First,
                    "last" => Keep::Last,
                    other => return Err(choice("keep", "first or last", other)),
                },
                counted: count,
                ranked: top.map(Top).or(by_count.then_some(Top::ALL)),
            },
            fpp,
        },
    };
    let least = match job {
        Job::Dedup { distinct, .. } => [("at_least", Some(distinct.at_least)), ("top", top)],
        _ => [("at_least", None), ("top", None)],
    };
    if let Some((name, _)) = least.into_iter().find(|(_, number)| *number == Some(0)) {
        let text = format!("{name}: expected a whole number of at least 1, found 0");
        return Err(PyValueError::new_err(text));
    }
    let mut feeds = Feeds::default();
    let (mut sources, mut room) = (Vec::new(), Room::of_inputs(options.memory));
    for (i, input) in inputs.iter().enumerate() {
        match feeds.input(input, i, separator)? {
            NamedInput::Path(path) if recursive => {
                let files = inputs::files_of_folders(vec![path], &mut room, &mut |path, error| {
                    Err(error.context(path.display().to_string()))
                });
                let files = files.map_err(of_job)?;
                sources.extend(files.into_iter().map(NamedInput::Path));
            }
            input => sources.push(input),
        }
    }
    if matches!(job, Job::Diff(_) | Job::Join { .. }) && sources.len() != 2 {
        return Err(PyValueError::new_err(format!(
            "found {} inputs; {verb} takes two",
            sources.len()
        )));
    }
    if let Some(has) = feeds.headers(&options, &delimiters, sources.len(), job.rows())?
        && let Records::Csv { header, .. } | Records::Tsv { header, .. } = &mut options.records
    {
        *header = has;
    }
    let told = Arc::clone(&options.progress);
    let in_quotes = matches!(options.records, Records::Csv { .. });
    let start = Instant::now();
    let outcome =
        wait(py, told, progress, feeds, move || work(sources, &delimiters, &job, &options, out))?;
    let seconds = start.elapsed().as_secs_f64();
    let (report, file) = outcome.map_err(of_job)?;
    let told = reported(py, "Report", Report::of(&report, seconds))?;
    match file {
        None => Ok(told),
        Some(file) => {
            let is_empty = report.found == 0;
            Lines::new(file, separator, in_quotes, is_empty, told.unbind()).into_bound_py_any(py)
        }
    }
}

/// The options of a job on lines: 1 GiB and all processors unless others are given.
pub(crate) fn options(
    memory: Option<Bound<'_, PyAny>>,
    threads: Option<NonZeroUsize>,
    tmp: Option<PathBuf>,
) -> PyResult<Options> {
    let memory = memory.map_or(Ok(1 << 30), |memory| size(&memory, "memory"))?;
    let processors = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    Ok(Options {
        memory,
        threads: threads
            .map_or(processors.min(umbel_sets::most_threads(memory)), NonZeroUsize::get),
        tmp: Arc::new(TempFolders::new(&[tmp.unwrap_or_else(umbel_io::temporary_folder)])),
        separator: b'\n',
        records: Records::Lines,
        others: Vec::new(),
        ignored: Vec::new(),
        normalization: Normalization::default(),
        missing: Missing::Refuse,
        bad: Bad::Refuse,
        progress: Arc::new(Progress::default()),
    })
}

/// Runs `work` on another thread, and waits for it. Meanwhile it reads the inputs from Python; their errors, and
/// signals that raise an exception, cancel the work.
pub(crate) fn wait<T: Send + 'static>(
    py: Python<'_>,
    told: Arc<Progress>,
    progress: Option<Bound<'_, PyAny>>,
    feeds: Feeds<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (mut feeds, mut wanted, asks) = feeds.split();
    let worker = thread::Builder::new().spawn(move || {
        let _until_done = asks;
        work()
    });
    let worker = worker.map_err(|error| PyOSError::new_err((number(&error), no_thread(&error))))?;
    let (mut raised, mut looked) = (None, Instant::now());
    loop {
        let receiver = &mut wanted;
        let next = py.detach(move || receiver.recv_timeout(TICK));
        let mut done = Ok(());
        match next {
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
            // Later requests get nothing.
            _ if raised.is_some() => continue,
            Ok(wanted) => done = wanted.answer(&mut feeds, py),
            Err(mpsc::RecvTimeoutError::Timeout) => {}
        }
        if done.is_ok() && looked.elapsed() >= TICK {
            looked = Instant::now();
            let report = |progress: &Bound<'_, PyAny>| {
                let numbers = (told.done(), told.total()).into_pyobject(py)?;
                calls::call(progress, &numbers, None).map(drop)
            };
            done = py.check_signals().and_then(|()| progress.as_ref().map_or(Ok(()), report));
        }
        if let Err(error) = done {
            told.cancel();
            raised = Some(error);
        }
    }
    let result = py.detach(|| worker.join());
    match (raised, result) {
        (Some(error), _) => Err(error),
        (None, Ok(result)) => Ok(result),
        (None, Err(panic)) => std::panic::resume_unwind(panic),
    }
}

type Outcome = anyhow::Result<(umbel_sets::Report, Option<File>)>;

fn work(
    named: Vec<NamedInput>,
    delimiters: &[u8],
    job: &Job,
    options: &Options,
    out: Option<PathBuf>,
) -> Outcome {
    if let Some(out) = &out {
        atomic::check_target(out, Existing::Replace)?;
        compression::check_result_name(out)?;
    }
    if let Job::Diff(separate) = job {
        separate.files().check()?;
    }
    let inputs = inputs::rereadable(inputs::open(named, None, delimiters)?, options)?;
    let inputs = umbel_sets::align(inputs, None, job.rows() == Rows::OfAll, options)?;
    let inputs = inputs::name_others(inputs, options);
    if let Job::Diff(separate) = job
        && !separate.files().is_empty()
    {
        let report = separate.files().write(&Diff::new(&inputs, options)?, options.separator)?;
        return Ok((report, None));
    }
    match out {
        Some(out) => {
            let report = atomic::replace(&out, |file| Ok(job.run(&inputs, options, file)?))?;
            Ok((report, None))
        }
        None => {
            let folder = options.tmp.folders().next().expect("there is one");
            let mut file =
                tempfile::tempfile_in(folder).with_context(|| folder.display().to_string())?;
            let report = job.run(&inputs, options, &mut file)?;
            Ok((report, Some(file)))
        }
    }
}

/// Adds normal forms, by their names.
pub(crate) fn normalization(forms: &[String], others: Normalization) -> PyResult<Normalization> {
    let mut normalization = others;
    for form in forms {
        *match &form[..] {
            "url" => &mut normalization.url,
            "email" => &mut normalization.email,
            "number" => &mut normalization.number,
            "nfc" => &mut normalization.nfc,
            other => return Err(choice("normalize", "url, email, number or nfc", other)),
        } = true;
    }
    Ok(normalization)
}

/// Delimiters of columns: one for all inputs, or one for each.
pub(crate) fn delimiters(given: &[String]) -> PyResult<Vec<u8>> {
    let delimiter = |text: &String| match text.as_bytes() {
        [byte] => Ok(*byte),
        _ => Err(PyValueError::new_err("delimiter: expected one byte")),
    };
    given.iter().map(delimiter).collect()
}

pub(crate) fn of_records(
    records: Option<&str>,
    key: Vec<String>,
    delimiters: &[u8],
    header: bool,
) -> PyResult<Records> {
    if !delimiters.is_empty() && records != Some("csv") {
        return Err(PyValueError::new_err("delimiter goes with records=\"csv\""));
    }
    if !header && !matches!(records, Some("csv" | "tsv")) {
        return Err(PyValueError::new_err("header=False goes with records=\"csv\" or \"tsv\""));
    }
    Ok(match records {
        None if key.is_empty() => Records::Lines,
        None => {
            return Err(PyValueError::new_err(
                "key names a field of a record: say what a record is with records=\"csv\", \"tsv\", \"jsonl\" or \"fields\"",
            ));
        }
        Some("csv") => {
            let delimiter = *delimiters.first().unwrap_or(&b',');
            Records::Csv { delimiter, header, key, raw: false }
        }
        Some("tsv") => Records::Tsv { header, key },
        Some("jsonl") => Records::JsonLines { key },
        Some("fields") => Records::Fields { key },
        Some(other) => return Err(choice("records", "csv, tsv, jsonl or fields", other)),
    })
}

/// The exception of a job that failed.
pub(crate) fn of_job(error: anyhow::Error) -> PyErr {
    let text = format!("{error:#}");
    if let Some(io) = error.chain().find_map(|cause| cause.downcast_ref::<io::Error>()) {
        return match number(io) {
            Some(number) => PyOSError::new_err((number, text)),
            None => PyOSError::new_err(text),
        };
    }
    match error.downcast_ref::<Error>() {
        Some(Error::Directory { .. }) => {
            PyIsADirectoryError::new_err(text + " (recursive=True reads all files in it)")
        }
        Some(Error::NoMemory { .. }) => PyMemoryError::new_err(text),
        _ => PyValueError::new_err(text),
    }
}
