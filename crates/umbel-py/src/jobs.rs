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
use pyo3::conversion::FromPyObjectOwned;
use pyo3::exceptions::{
    PyIsADirectoryError, PyMemoryError, PyOSError, PyTypeError, PyUserWarning, PyValueError,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use umbel_io::atomic::{self, Existing};
use umbel_io::{compression, no_thread};
use umbel_sets::changes::{self, Files};
use umbel_sets::inputs::{self, NamedInput, Room, Rows};
use umbel_sets::{
    Bad, Diff, Distinct, Empty, Error, Form, Holders, Input, Join, Keep, Labels, Missing,
    Normalization, Options, Partners, Progress, Records, Resources, SetOperation, SetPlan, Steps,
    TempFolders, Top, Unpaired,
};

use crate::calls;
use crate::errors::number;
use crate::feeds::Feeds;
use crate::lines::Lines;
use crate::reports::reported;
use crate::shapes::{self, Shape};
use crate::values::{FilePath, Threads, choice, size};

/// The interval between checks for signals.
const TICK: Duration = Duration::from_millis(50);

/// The fields of a report.
#[derive(IntoPyObject)]
struct Report {
    lines: u64,
    found: u64,
    missing: u64,
    /// Records with an empty value in their key, where that is not a value like any other.
    empty: u64,
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
            empty: report.empty,
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

/// A plan as Python has it.
fn explained<'py>(py: Python<'py>, plan: SetPlan) -> PyResult<Bound<'py, PyAny>> {
    let filter = plan.filter().map(umbel::Plan::bytes);
    let strategy = match plan.steps {
        Steps::Merge => "merge",
        Steps::OnePass { .. } => "one-pass",
        _ if filter.is_some() => "filter",
        _ => "table",
    };
    let keys = (plan.lines, plan.distinct, plan.compared, plan.pairs);
    let bytes = (filter, plan.table, plan.bytes_read, plan.bytes_spilled, plan.passes);
    py.import("umbel._reports")?
        .getattr("Explanation")?
        .call_method1("_of", (strategy, keys, bytes))
}

/// The operation on inputs, which writes its result, or is only planned where there is nothing to write to.
type Job = dyn Fn(&[Input], &Options, Option<Out<'_>>) -> Result<Done, Error> + Send;

type Out<'a> = &'a mut (dyn Write + Send);

/// What a job did, or would do.
enum Done {
    Run(umbel_sets::Report),
    Planned(SetPlan),
}

/// Runs or plans an operation, whose type has both methods.
macro_rules! done {
    ($operation:expr, $out:expr) => {{
        let operation = $operation;
        match $out {
            Some(out) => operation.run(out).map(Done::Run),
            None => operation.plan().map(Done::Planned),
        }
    }};
}

/// An option that a verb has of its own.
fn option<'py, T: FromPyObjectOwned<'py>>(own: &Bound<'py, PyDict>, name: &str) -> PyResult<T> {
    let (py, value) = (own.py(), own.as_any().get_item(name)?);
    value.extract::<T>().map_err(|error| {
        let error: PyErr = error.into();
        match error.is_instance_of::<PyTypeError>(py) {
            true => PyTypeError::new_err(format!("argument '{name}': {}", error.value(py))),
            false => error,
        }
    })
}

fn fpp(own: &Bound<'_, PyDict>) -> PyResult<Option<f64>> {
    match option(own, "fpp")? {
        Some(fpp) if !(fpp > 0.0 && fpp < 1.0) => {
            Err(PyValueError::new_err("fpp: expected a probability above 0 and below 1"))
        }
        fpp => Ok(fpp),
    }
}

fn at_least_1(own: &Bound<'_, PyDict>, name: &str) -> PyResult<Option<u64>> {
    match option(own, name)? {
        Some(0) => {
            let text = format!("{name}: expected a whole number of at least 1, found 0");
            Err(PyValueError::new_err(text))
        }
        number => Ok(number),
    }
}

/// Runs a job of the command line, with all options that its verb has of its own; the functions around it have the documentation.
#[pyfunction]
#[pyo3(name = "_job", signature = (
    verb, inputs, own, given, *, out=None, memory=None, threads=None, tmp=None, records=None, key=Vec::new(), delimiter=Vec::new(),
    header=true, others=Vec::new(), null=false, recursive=false, ignore_case=false, trim=false, crlf=false, normalize=Vec::new(),
    missing="error", empty=None, bad="error", progress=None, added=None, removed=None, kept=None, ignored=Vec::new(), bare=Vec::new(),
    headers=Vec::new(), explain=false
))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn job<'py>(
    py: Python<'py>,
    verb: &str,
    inputs: Vec<Bound<'py, PyAny>>,
    own: &Bound<'py, PyDict>,
    given: Vec<String>,
    out: Option<FilePath>,
    memory: Option<Bound<'py, PyAny>>,
    threads: Option<Threads>,
    tmp: Option<FilePath>,
    records: Option<&str>,
    key: Vec<String>,
    delimiter: Vec<String>,
    header: bool,
    others: Vec<String>,
    null: bool,
    recursive: bool,
    ignore_case: bool,
    trim: bool,
    crlf: bool,
    normalize: Vec<String>,
    missing: &str,
    empty: Option<&str>,
    bad: &str,
    progress: Option<Bound<'py, PyAny>>,
    added: Option<FilePath>,
    removed: Option<FilePath>,
    kept: Option<FilePath>,
    ignored: Vec<String>,
    bare: Vec<usize>,
    headers: Vec<bool>,
    explain: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let path = |path: Option<FilePath>| path.map(|path| path.0);
    let (out, tmp) = (path(out), path(tmp));
    let (added, removed, kept) = (path(added), path(removed), path(kept));
    let delimiters = delimiters(&delimiter)?;
    if !ignored.is_empty() && !matches!(records, Some("csv" | "tsv")) {
        return Err(PyValueError::new_err("ignore_columns goes with records=\"csv\" or \"tsv\""));
    }
    let alike = [ignore_case, trim, crlf];
    let form = form(records, key, &delimiters, header, null, alike, &normalize, missing, bad)?;
    let mut options = Options {
        resources: resources(memory, threads, tmp)?,
        form: Form { others, ignored, empty: self::empty(verb, empty)?, ..form },
    };
    let separator = options.form.records.end();
    for option in &given {
        let excluded = umbel_sets::excludes(verb, option);
        if let Some(other) = given.iter().find(|other| excluded.contains(&other.as_str())) {
            let text = format!("{option} cannot be used with {other}; omit one of them");
            return Err(PyValueError::new_err(text));
        }
    }
    // Which inputs have rows in the result.
    let mut rows = Rows::OfAll;
    let job: Box<Job> = match verb {
        "common" => {
            let (all, sort, fpp) = (option(own, "all")?, option(own, "sort")?, fpp(own)?);
            let at_least: Option<usize> = option(own, "at_least")?;
            let only: Vec<usize> = option(own, "only")?;
            let labels = match option::<Option<String>>(own, "which")?.as_deref() {
                None => None,
                Some("numbers") => Some(Labels::Numbers),
                Some("names") => Some(Labels::Names),
                Some(other) => return Err(choice("which", "numbers or names", other)),
            };
            let holders = labels.is_some() || !only.is_empty();
            rows = if holders || at_least.is_some() { Rows::OfAll } else { Rows::OfOne };
            Box::new(move |inputs, options, out| {
                if holders {
                    let job = Holders::new(inputs, options)?.at_least(at_least.unwrap_or(1))?;
                    return done!(job.sorted(sort).only(&only).with_labels(labels), out);
                }
                let job = SetOperation::common(inputs, at_least.unwrap_or(inputs.len()), options)?;
                done!(job.with_error(fpp).every(all).sorted(sort), out)
            })
        }
        "except" => {
            let (all, sort, fpp) = (option(own, "all")?, option(own, "sort")?, fpp(own)?);
            rows = Rows::OfOne;
            Box::new(move |inputs, options, out| {
                let job = SetOperation::except(inputs, options)?;
                done!(job.with_error(fpp).every(all).sorted(sort), out)
            })
        }
        "diff" => {
            let (cells, column): (bool, bool) =
                (option(own, "cells")?, option(own, "mark_column")?);
            let tolerance: Vec<(String, f64)> = option(own, "tolerance")?;
            if (cells || !tolerance.is_empty()) && options.form.records.key().is_empty() {
                return Err(PyValueError::new_err(
                    "cells are those of a row with the same key; name it with key",
                ));
            }
            let marks = if column { changes::Marks::Column } else { changes::Marks::InFront };
            Box::new(move |inputs, options, out| {
                let out = out.expect("a diff has no plan");
                let job = Diff::new(inputs, options)?.paired(cells || !tolerance.is_empty());
                let report = match cells {
                    true => changes::write_cells(&job, &tolerance, out),
                    false => changes::write(&job, marks, changes::Also::default(), &tolerance, out),
                };
                report.map(Done::Run)
            })
        }
        "join" => {
            let unpaired = match &option::<String>(own, "how")?[..] {
                "inner" => Unpaired::None,
                "left" => Unpaired::Left,
                "full" => Unpaired::Both,
                other => return Err(choice("how", "inner, left or full", other)),
            };
            let partners = match (option(own, "first")?, option(own, "unique")?) {
                (true, _) => Partners::First,
                (_, true) => Partners::Unique,
                _ => Partners::All,
            };
            let prefix: Option<String> = option(own, "prefix")?;
            rows = Rows::OfOne;
            Box::new(move |inputs, options, out| {
                let job = Join::new(inputs, options)?
                    .with_unpaired(unpaired)
                    .with_partners(partners)
                    .with_prefixes([None, prefix.as_deref()]);
                let plan = job.plan()?;
                match out {
                    Some(out) => job.run(&plan, out).map(Done::Run),
                    None => Ok(Done::Planned(plan)),
                }
            })
        }
        _ => {
            let fpp = fpp(own)?;
            let least = if option(own, "repeated")? { 2 } else { 1 };
            let unique = option(own, "unique")?;
            let (keep, all) = (option::<String>(own, "keep")?, option::<bool>(own, "all")?);
            if Keep::named(&keep).is_none() {
                return Err(choice("keep", "first, last, min:FIELD or max:FIELD", &keep));
            }
            let distinct = Distinct {
                at_most: if unique { 1 } else { u64::MAX },
                at_least: at_least_1(own, "at_least")?.unwrap_or(least),
                keep: Keep::First,
                counted: option(own, "count")?,
                numbered: option(own, "line_number")?,
                ranked: match at_least_1(own, "top")? {
                    Some(most) => Some(Top(most)),
                    None => option::<bool>(own, "by_count")?.then_some(Top::ALL),
                },
            };
            let sort = option(own, "sort")?;
            Box::new(move |inputs, options, out| {
                let keep = Keep::named(&keep).filter(|_| !all).unwrap_or(Keep::All);
                let job = SetOperation::distinct(inputs, Distinct { keep, ..distinct }, options)?;
                done!(job.with_error(fpp).sorted(sort), out)
            })
        }
    };
    let mut feeds = Feeds::default();
    let (mut sources, mut room) = (Vec::new(), Room::of_inputs(options.resources.memory));
    for (i, input) in inputs.iter().enumerate() {
        let bare = bare.contains(&i);
        let input = feeds.input(input, i, if bare { b'\n' } else { separator }, bare)?;
        let shape = match (&input, headers.get(i)) {
            (NamedInput::Lines(..), _) if bare => Shape::Keys,
            _ if bare => Shape::KeysOfFile,
            (_, Some(true)) if !header => Shape::Headed,
            (_, Some(false)) if header => Shape::Headless,
            _ => Shape::Records,
        };
        match input {
            NamedInput::Path(path) if recursive => {
                let files = inputs::files_of_folders(vec![path], &mut room, &mut |path, error| {
                    Err(error.context(path.display().to_string()))
                });
                let files = files.map_err(of_job)?;
                sources.extend(files.into_iter().map(|file| (NamedInput::Path(file), shape)));
            }
            input => sources.push((input, shape)),
        }
    }
    if matches!(verb, "diff" | "join") && sources.len() != 2 {
        return Err(PyValueError::new_err(format!(
            "found {} inputs; {verb} takes two",
            sources.len()
        )));
    }
    shapes::name_key(&sources, &mut options.form)?;
    let records = sources.iter().filter(|(_, shape)| *shape == Shape::Records).count();
    if let Some(has) = feeds.headers(&options.form, &delimiters, records, rows)?
        && let Records::Csv { header, .. } | Records::Tsv { header, .. } = &mut options.form.records
    {
        *header = has;
    }
    let told = Arc::clone(&options.resources.progress);
    let in_quotes = matches!(options.form.records, Records::Csv { .. });
    let start = Instant::now();
    let outcome = wait(py, told, progress, feeds, move || {
        let (added, removed, kept) = (added.as_deref(), removed.as_deref(), kept.as_deref());
        let files = Files { added, removed, kept, ..Files::default() };
        work(sources, &delimiters, rows, files, &*job, &options, out, explain)
    })?;
    let seconds = start.elapsed().as_secs_f64();
    let (done, file) = outcome.map_err(of_job)?;
    let report = match done {
        Done::Run(report) => report,
        Done::Planned(plan) => return explained(py, plan),
    };
    let told = reported(py, "Report", Report::of(&report, seconds))?;
    match file {
        None => Ok(told),
        Some(file) => {
            let is_empty = report.found == 0;
            Lines::new(file, separator, in_quotes, is_empty, told.unbind()).into_bound_py_any(py)
        }
    }
}

/// What a job has of the machine: 1 GiB and all processors unless others are given.
pub(crate) fn resources(
    memory: Option<Bound<'_, PyAny>>,
    threads: Option<Threads>,
    tmp: Option<PathBuf>,
) -> PyResult<Resources> {
    let memory = memory.map_or(Ok(1 << 30), |memory| size(&memory, "memory"))?;
    let processors = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let threads =
        threads.map_or(processors.min(umbel_sets::most_threads(memory)), |threads| threads.0.get());
    let tmp = TempFolders::new(&[tmp.unwrap_or_else(umbel_io::temporary_folder)]);
    Ok(Resources { notice: warn, ..Resources::new(memory, threads, tmp) })
}

/// Warns of what a job says of an input, from the thread that reads it: an error that a filter makes of it is printed.
fn warn(words: &str) {
    let text = std::ffi::CString::new(words).expect("there is no zero byte in a path");
    Python::attach(|py| {
        let warned = PyErr::warn(py, &py.get_type::<PyUserWarning>(), &text, 1);
        warned.unwrap_or_else(|error| error.write_unraisable(py, None));
    });
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

type Outcome = anyhow::Result<(Done, Option<File>)>;

#[expect(clippy::too_many_arguments, reason = "they are moved to a thread")]
fn work(
    named: Vec<(NamedInput, Shape)>,
    delimiters: &[u8],
    rows: Rows,
    files: Files<'_>,
    job: &Job,
    options: &Options,
    out: Option<PathBuf>,
    explain: bool,
) -> Outcome {
    if let Some(out) = &out {
        atomic::check_target(out, Existing::Replace)?;
        compression::check_result_name(out)?;
    }
    files.check()?;
    let inputs = opened(named, delimiters, options)?;
    let inputs = umbel_sets::align(inputs, None, rows == Rows::OfAll, options)?;
    let inputs = inputs::name_others(inputs, &options.form);
    if !files.is_empty() {
        return Ok((Done::Run(files.write(&Diff::new(&inputs, options)?, &[])?), None));
    }
    match out {
        _ if explain => Ok((job(&inputs, options, None)?, None)),
        Some(out) => {
            let report = atomic::replace(&out, |file| Ok(job(&inputs, options, Some(file))?))?;
            Ok((report, None))
        }
        None => {
            let folder = options.resources.tmp.folders().next().expect("there is one");
            let mut file =
                tempfile::tempfile_in(folder).with_context(|| folder.display().to_string())?;
            let report = job(&inputs, options, Some(&mut file))?;
            Ok((report, Some(file)))
        }
    }
}

/// All inputs as records like those of the first.
fn opened(
    named: Vec<(NamedInput, Shape)>,
    delimiters: &[u8],
    options: &Options,
) -> anyhow::Result<Vec<Input>> {
    let (mut alike, mut own, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for (place, (input, shape)) in named.into_iter().enumerate() {
        if shape == Shape::Records {
            alike.push(input);
            own.extend(delimiters.get(place).or(delimiters.last()));
        } else {
            others.push((place, input, shape));
        }
    }
    // More delimiters than inputs are refused there.
    let own = if others.is_empty() || delimiters.len() < 2 { delimiters } else { &own };
    let mut inputs = inputs::rereadable(inputs::open(alike, None, own)?, options)?;
    for (place, input, shape) in others {
        let read = shape.options(options);
        for input in inputs::rereadable(inputs::open(vec![input], None, &[])?, &read)? {
            inputs.insert(place, shape.rewritten(input, options)?);
        }
    }
    Ok(inputs)
}

/// Delimiters of columns: one for all inputs, or one for each.
pub(crate) fn delimiters(given: &[String]) -> PyResult<Vec<u8>> {
    let delimiter = |text: &String| match text.as_bytes() {
        [byte] => Ok(*byte),
        _ => Err(PyValueError::new_err("delimiter: expected one byte")),
    };
    given.iter().map(delimiter).collect()
}

/// What the rows of a job are, with differences that are ignored: in case, in blanks at both ends, and a carriage return.
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub(crate) fn form(
    records: Option<&str>,
    key: Vec<String>,
    delimiters: &[u8],
    header: bool,
    null: bool,
    [ignore_case, trim, crlf]: [bool; 3],
    normalize: &[String],
    missing: &str,
    bad: &str,
) -> PyResult<Form> {
    if !delimiters.is_empty() && records != Some("csv") {
        return Err(PyValueError::new_err("delimiter goes with records=\"csv\""));
    }
    if !header && !matches!(records, Some("csv" | "tsv")) {
        return Err(PyValueError::new_err("header=False goes with records=\"csv\" or \"tsv\""));
    }
    if null && !matches!(records, None | Some("fields")) {
        return Err(PyValueError::new_err("null=True goes with lines, or records=\"fields\""));
    }
    let end = if null { 0 } else { b'\n' };
    let records = match records {
        None if key.is_empty() => Records::Lines(end),
        None => {
            return Err(PyValueError::new_err(
                "key names a field of a record: say what a record is with records=\"csv\", \"tsv\", \"jsonl\" or \"fields\"",
            ));
        }
        Some("csv") => {
            let delimiter = *delimiters.first().unwrap_or(&b',');
            Records::Csv { delimiter, header, key, raw: false }
        }
        Some("tsv") => Records::Tsv { delimiter: b'\t', header, key },
        Some("jsonl") => Records::JsonLines { key, raw: false },
        Some("fields") => Records::Fields { end, key },
        Some(other) => return Err(choice("records", "csv, tsv, jsonl or fields", other)),
    };
    let mut normalization = Normalization { crlf, trim, ignore_case, ..Normalization::default() };
    for form in normalize {
        *match &form[..] {
            "url" => &mut normalization.url,
            "email" => &mut normalization.email,
            "number" => &mut normalization.number,
            "nfc" => &mut normalization.nfc,
            other => return Err(choice("normalize", "url, email, number or nfc", other)),
        } = true;
    }
    let missing = match missing {
        "error" => Missing::Refuse,
        "skip" => Missing::Skip,
        "keep" => Missing::Keep,
        other => return Err(choice("missing", "error, skip or keep", other)),
    };
    let bad = match bad {
        "error" => Bad::Refuse,
        "skip" => Bad::Skip,
        other => return Err(choice("bad", "error or skip", other)),
    };
    Ok(Form { normalization, missing, bad, ..records.into() })
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
        Some(Error::Directory(_)) => {
            PyIsADirectoryError::new_err(text + " (recursive=True reads all files in it)")
        }
        Some(Error::NoMemory(_)) => PyMemoryError::new_err(text),
        // It has its source in its own words.
        Some(error @ Error::Key { .. }) => PyValueError::new_err(error.to_string()),
        _ => PyValueError::new_err(text),
    }
}

/// What an empty value in a key is.
fn empty(verb: &str, empty: Option<&str>) -> PyResult<Empty> {
    match empty {
        None if verb == "join" => Ok(Empty::Keep),
        None | Some("value") => Ok(Empty::Value),
        Some("skip") => Ok(Empty::Skip),
        Some("keep") => Ok(Empty::Keep),
        Some(other) => Err(choice("empty", "value, skip or keep", other)),
    }
}
