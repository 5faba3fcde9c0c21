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
use pyo3::exceptions::{PyIsADirectoryError, PyMemoryError, PyOSError, PyUserWarning};
use umbel_io::atomic::{self, Existing};
use umbel_io::{compression, no_thread};
use umbel_sets::changes::{self, Also, Files, Marks};
use umbel_sets::sources::{self, NamedInput, Room};
use umbel_sets::{
    Diff, Distinct, Empty, Error, Form, Holders, Input, Join, Keep, Labels, Options, Partners,
    Progress, Records, Resources, RowsOf, SetOperation, SetPlan, Steps, TempFolders, Top, Unpaired,
};

use crate::calls;
use crate::errors::{number, of_file};
use crate::feeds::Feeds;
use crate::files::check_replaced;
use crate::forms::{EMPTY, flag, form, fpp, list, option, word};
use crate::lines::Lines;
use crate::prelude::*;
use crate::shapes::{self, Shape};
use crate::values::{choice, size};

/// The interval between checks for signals.
const TICK: Duration = Duration::from_millis(50);

/// A plan as Python has it.
fn explained<'py>(py: Python<'py>, plan: SetPlan) -> PyResult<Bound<'py, PyAny>> {
    let filter = plan.filter().map(umbel::Plan::bytes);
    let strategy = match plan.steps {
        Steps::Merge => "merge",
        Steps::OnePass { .. } => "one-pass",
        Steps::SideBySide(_) => "side-by-side",
        _ if filter.is_some() => "filter",
        _ => "table",
    };
    let keys = (plan.lines, plan.distinct, plan.compared, plan.pairs);
    let bytes = (filter, plan.table, plan.bytes_read, plan.bytes_spilled, plan.passes);
    py.import("umbel._reports")?
        .getattr("Explanation")?
        .call_method1("_of", (strategy, keys, bytes))
}

/// The operation on inputs, which writes its result; where there is nothing to write to it is only planned, and a diff writes
/// files of its own.
type Job = dyn Fn(&[Input], &Options, Option<Out<'_>>) -> anyhow::Result<Done> + Send;

type Out<'a> = &'a mut (dyn Write + Send);

/// The result or the plan of a job.
enum Done {
    Run(umbel_sets::Report),
    Planned(SetPlan),
}

/// Runs or plans an operation, whose type has both methods.
macro_rules! done {
    ($operation:expr, $out:expr) => {{
        let operation = $operation;
        Ok(match $out {
            Some(out) => Done::Run(operation.run(out)?),
            None => Done::Planned(operation.plan()?),
        })
    }};
}

/// Whether a name has the ending of a compressed file.
#[pyfunction]
#[pyo3(name = "_is_compressed")]
pub(crate) fn is_compressed(name: PathBuf) -> bool {
    compression::Compression::of_name(&name).is_some()
}

/// Runs a command line job, with the options of its verb, the options of all jobs, and its outputs; the Python functions that
/// call it have the documentation.
#[pyfunction]
#[pyo3(name = "_job")]
pub(crate) fn job<'py>(
    py: Python<'py>,
    verb: &str,
    inputs: Vec<Bound<'py, PyAny>>,
    own: &Bound<'py, PyDict>,
    given: Vec<String>,
    options: &Bound<'py, PyDict>,
    outs: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    let path = |of: &Bound<'py, PyDict>, name| -> PyResult<Option<PathBuf>> {
        Ok(option::<Option<FilePath>>(of, name)?.map(|path| path.0))
    };
    let (form, delimiters) = form(options)?;
    let empty = word(options, "empty", EMPTY)?;
    let (recursive, explain) = (flag(options, "recursive")?, flag(options, "explain")?);
    let bare: Vec<usize> = list(options, "bare")?;
    let headers: Vec<bool> = list(options, "headers")?;
    let progress: Option<Bound<'py, PyAny>> = option(options, "progress")?;
    let resources =
        resources(option(options, "memory")?, option(options, "threads")?, path(options, "tmp")?)?;
    let join_keeps = if verb == "join" { Empty::Keep } else { Empty::Value };
    let form = Form { empty: empty.unwrap_or(join_keeps), ..form };
    let mut options = Options { resources, form };
    let (separator, header) = (options.form.records.end(), options.form.records.has_header());
    for option in &given {
        let excluded = umbel_sets::excludes(verb, option);
        if let Some(other) = given.iter().find(|other| excluded.contains(&other.as_str())) {
            let text = format!("{option} cannot be used with {other}; omit one of them");
            return Err(PyValueError::new_err(text));
        }
    }
    // Which inputs have rows in the result, and whether it goes to files of a diff.
    let (mut rows, mut has_files) = (RowsOf::All, false);
    let job: Box<Job> = match verb {
        "common" => {
            let (all, sort, fpp) = (option(own, "all")?, option(own, "sort")?, fpp(own)?);
            let at_least: Option<usize> = option(own, "at_least")?;
            let only: Vec<usize> = option(own, "only")?;
            let labels = [("numbers", Labels::Numbers), ("names", Labels::Names)];
            let labels = word(own, "which", &labels)?;
            let holders = labels.is_some() || !only.is_empty();
            rows = if holders || at_least.is_some() { RowsOf::All } else { RowsOf::One };
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
            rows = RowsOf::One;
            Box::new(move |inputs, options, out| {
                let job = SetOperation::except(inputs, options)?;
                done!(job.with_error(fpp).every(all).sorted(sort), out)
            })
        }
        "diff" => {
            let tolerance: Vec<(String, f64)> = option(own, "tolerance")?;
            let (cells, old): (bool, bool) = (option(own, "cells")?, option(own, "old")?);
            let symmetric: bool = option(own, "symmetric")?;
            let also = Also { old: old || symmetric, uneven: option(own, "counts")? };
            let by_cells = cells || !tolerance.is_empty();
            let marks = match (symmetric, option(own, "mark_column")?) {
                (true, _) => Marks::None,
                (_, true) => Marks::Column,
                _ => Marks::InFront,
            };
            let paths = ["added", "changed", "removed", "kept"].map(|name| path(outs, name));
            let paths = paths.into_iter().collect::<PyResult<Vec<_>>>()?;
            files(&paths).check().map_err(of_job)?;
            for path in paths.iter().flatten() {
                check_replaced(path, true).map_err(of_job)?;
            }
            has_files = !files(&paths).is_empty();
            options.form.further = tolerance.iter().map(|(column, _)| column.clone()).collect();
            // Under one header, rows have the columns of both inputs.
            options.form.by_name =
                !options.form.ignored.is_empty() && (has_files || marks != Marks::InFront);
            Box::new(move |inputs, options, out| {
                let job = Diff::new(inputs, options)?.paired(old || by_cells);
                let job = job.with_kept(files(&paths).kept.is_some());
                let report = match out {
                    None => files(&paths).write(&job, &tolerance)?,
                    Some(out) if cells => changes::write_cells(&job, &tolerance, out)?,
                    Some(out) => changes::write(&job, marks, also, &tolerance, out)?,
                };
                Ok(Done::Run(report))
            })
        }
        "join" => {
            let unpaired =
                [("inner", Unpaired::None), ("left", Unpaired::Left), ("full", Unpaired::Both)];
            let unpaired = word(own, "how", &unpaired)?.unwrap_or_default();
            let partners = match (option(own, "first")?, option(own, "unique")?) {
                (true, _) => Partners::First,
                (_, true) => Partners::Unique,
                _ => Partners::All,
            };
            let prefixes: [Option<String>; 2] =
                [option(own, "left_prefix")?, option(own, "prefix")?];
            rows = RowsOf::One;
            Box::new(move |inputs, options, out| {
                let job = Join::new(inputs, options)?
                    .with_unpaired(unpaired)
                    .with_partners(partners)
                    .with_prefixes(prefixes.each_ref().map(Option::as_deref));
                let plan = job.plan()?;
                Ok(match out {
                    Some(out) => Done::Run(job.run(&plan, out)?),
                    None => Done::Planned(plan),
                })
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
            if let Some(Keep::Least(field) | Keep::Greatest(field)) = Keep::named(&keep) {
                options.form.further.push(field.to_owned());
            }
            let distinct = Distinct {
                at_most: if unique { 1 } else { u64::MAX },
                at_least: option::<Option<_>>(own, "at_least")?.unwrap_or(least),
                keep: Keep::First,
                counted: option(own, "count")?,
                numbered: option(own, "line_number")?,
                ranked: match option(own, "top")? {
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
                let files = sources::files_of_folders(vec![path], &mut room, &mut |path, error| {
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
    let to = match path(outs, "out")? {
        _ if has_files || explain => To::None,
        Some(out) => To::File(out),
        None => To::Temporary,
    };
    let in_quotes = matches!(options.form.records, Records::Csv { .. });
    let start = Instant::now();
    let outcome = wait(py, Arc::clone(&options.resources.progress), progress, feeds, move || {
        work(sources, &delimiters, rows, &*job, &options, to)
    })?;
    let seconds = start.elapsed().as_secs_f64();
    let (done, file) = outcome.map_err(of_job)?;
    let report = match done {
        Done::Run(report) => report,
        Done::Planned(plan) => return explained(py, plan),
    };
    let counts = (report.lines, report.found, report.missing, report.bad, report.empty);
    let bytes = (report.bytes_read, report.bytes_spilled, report.bytes_written);
    let changes = report
        .changes
        .map(|found| (found.removed, found.added, found.changed, found.kept, found.uneven));
    let joined = report.joined.map(|found| {
        (found.pairs, found.left_matched, found.left_unmatched, found.right_unmatched)
    });
    let fields = (counts, bytes, report.error.is_none(), changes, joined, seconds);
    let shown = py.import("umbel._reports")?.getattr("Report")?.call_method1("_of", fields)?;
    match file {
        None => Ok(shown),
        Some(file) => {
            let is_empty = report.found == 0;
            Lines::new(file, separator, in_quotes, is_empty, shown.unbind()).into_bound_py_any(py)
        }
    }
}

/// A job's share of the machine: 1 GiB and all processors by default.
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

/// Raises a Python warning about an input, on the thread that reads it. If a filter turns it into an error, that is printed.
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
    progress: Arc<Progress>,
    callback: Option<Bound<'_, PyAny>>,
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
            let report = |callback: &Bound<'_, PyAny>| {
                let numbers = (progress.done(), progress.total()).into_pyobject(py)?;
                calls::call(callback, &numbers, None).map(drop)
            };
            done = py.check_signals().and_then(|()| callback.as_ref().map_or(Ok(()), report));
        }
        if let Err(error) = done {
            progress.cancel();
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

/// Where a result goes.
enum To {
    File(PathBuf),
    Temporary,
    /// Nowhere, or to files of its own.
    None,
}

fn work(
    named: Vec<(NamedInput, Shape)>,
    delimiters: &[u8],
    rows: RowsOf,
    job: &Job,
    options: &Options,
    to: To,
) -> Outcome {
    if let To::File(out) = &to {
        atomic::check_target(out, Existing::Replace)?;
        compression::check_result_name(out)?;
        check_replaced(out, true)?;
    }
    let inputs = opened(named, delimiters, options)?;
    let inputs = umbel_sets::align(inputs, None, rows, options)?;
    let inputs = sources::name_others(inputs, &options.form);
    match to {
        To::None => Ok((job(&inputs, options, None)?, None)),
        To::File(out) => {
            Ok((atomic::replace(&out, |file| job(&inputs, options, Some(file)))?, None))
        }
        To::Temporary => {
            let folder = options.resources.tmp.folders().next().expect("there is one");
            let mut file =
                tempfile::tempfile_in(folder).with_context(|| folder.display().to_string())?;
            let report = job(&inputs, options, Some(&mut file))?;
            Ok((report, Some(file)))
        }
    }
}

/// The files of a diff: of rows added, changed, removed and kept.
fn files(paths: &[Option<PathBuf>]) -> Files<'_> {
    let [added, changed, removed, kept] = [0, 1, 2, 3].map(|place| paths[place].as_deref());
    Files { added, changed, removed, kept }
}

/// All inputs as records in the format of the first.
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
    let mut inputs = sources::rereadable(sources::open(alike, None, own)?, options)?;
    for (place, input, shape) in others {
        let read = shape.options(options);
        let one = sources::rereadable(sources::open(vec![input], None, &[])?, &read)?;
        for input in umbel_sets::align(one, None, RowsOf::One, &read)? {
            inputs.insert(place, shape.rewritten(input, options)?);
        }
    }
    Ok(inputs)
}

/// The exception of a job that failed.
pub(crate) fn of_job(error: anyhow::Error) -> PyErr {
    let text = format!("{error:#}");
    if let Some(io) = error.chain().find_map(|cause| cause.downcast_ref::<io::Error>()) {
        let path = text.strip_suffix(&io.to_string()).and_then(|of| of.strip_suffix(": "));
        return match (path, number(io)) {
            (Some(path), _) => of_file(io, path),
            (None, Some(number)) => PyOSError::new_err((number, text)),
            (None, None) => PyOSError::new_err(text),
        };
    }
    match error.downcast_ref::<Error>() {
        Some(Error::Directory(_)) => {
            PyIsADirectoryError::new_err(text + " (recursive=True reads all files in it)")
        }
        Some(Error::NoMemory(_)) => PyMemoryError::new_err(text),
        // Its message already includes its source.
        Some(error @ Error::Key { .. }) => PyValueError::new_err(error.to_string()),
        _ => PyValueError::new_err(text),
    }
}
