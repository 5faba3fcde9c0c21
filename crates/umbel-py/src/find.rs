//! Indexes of many files, and the lines that hold a text.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyFileNotFoundError;
use umbel_find::{Built, Found, Matching, Search, Sink, Wanted};
use umbel_io::atomic::Existing;
use umbel_sets::{Form, Options};

use crate::feeds::Feeds;
use crate::forms::{form, option};
use crate::jobs::{of_job, resources, wait};
use crate::prelude::*;

/// A line: its file, its number, its text and the numbers of the texts found in it.
type Line = (PathBuf, u64, Vec<u8>, Vec<usize>);
/// Files that could not be read, and why.
type Unreadable = Vec<(PathBuf, String)>;
/// Files: all, read, gone; blocks; bytes of text: all, read; distinct keys; bytes of the index.
type Made = ((u64, u64, u64, u64, u64, u64, u64, u64), Unreadable);
/// Files; blocks: all, read; bytes of text: all, read.
type Numbers = (u64, u64, u64, u64, u64);
/// Lines, numbers, files that changed, new files, texts that no filter helped with, and why, and files that were left out.
type Answer =
    (Vec<Line>, Numbers, Vec<PathBuf>, Vec<PathBuf>, Vec<(usize, &'static str)>, Unreadable);

/// Makes an index of `paths`, or brings it up to date if there are none.
#[pyfunction]
#[pyo3(name = "_index")]
pub(crate) fn index(
    py: Python<'_>,
    target: FilePath,
    paths: Option<Vec<FilePath>>,
    options: &Bound<'_, PyDict>,
) -> PyResult<Made> {
    let (target, each) = (target.0, |path: FilePath| path.0);
    let paths = paths.map(|paths| paths.into_iter().map(each).collect::<Vec<_>>());
    let (form, _) = form(options)?;
    let resources = resources(option(options, "memory")?, option(options, "threads")?, None)?;
    let options = Options { resources, form };
    let progress = Arc::clone(&options.resources.progress);
    if paths.is_some() && target.exists() && !umbel_find::is_index(&target) {
        return Err(PyValueError::new_err(format!(
            "{}: exists and is not an index; name another file",
            target.display()
        )));
    }
    let built = wait(py, progress, None, Feeds::default(), move || match paths {
        Some(paths) => umbel_find::build(&target, Existing::Replace, &paths, &options),
        None => umbel_find::update(&target, &options.resources),
    })?;
    let Built { files, read, gone, blocks, text, text_read, keys, bytes, unreadable, .. } =
        built.map_err(of_job)?;
    Ok(((files, read, gone, blocks, text, text_read, keys, bytes), unreadable))
}

/// Finds the lines that hold one of `texts`.
#[pyfunction]
#[pyo3(name = "_find", signature = (place, texts, *, inside=false, ignore_case=false, memory=None, threads=None))]
pub(crate) fn find(
    py: Python<'_>,
    place: FilePath,
    texts: Vec<Vec<u8>>,
    inside: bool,
    ignore_case: bool,
    memory: Option<Bound<'_, PyAny>>,
    threads: Option<Threads>,
) -> PyResult<Answer> {
    if texts.is_empty() || texts.iter().any(Vec::is_empty) {
        return Err(PyValueError::new_err("texts: an empty text is in every line; name a text"));
    }
    let resources = resources(memory, threads, None)?;
    let (place, options) = (place.0, Options { resources, form: Form::default() });
    let progress = Arc::clone(&options.resources.progress);
    let lines = Arc::new(Lines::default());
    let (sink, from) = (Arc::clone(&lines), place.clone());
    let search = wait(py, progress, None, Feeds::default(), move || {
        let wanted = Wanted { texts, matching: Matching { inside, ignore_case }, output: None };
        umbel_find::find(&place, &wanted, &options, &*sink, &mut |_| Ok(()))
    })?;
    let Search {
        files,
        blocks,
        blocks_read,
        text,
        text_read,
        stale,
        new,
        gone,
        unreadable,
        wide,
        ..
    } = search.map_err(of_job)?;
    if let Some(gone) = gone.first() {
        return Err(PyFileNotFoundError::new_err(format!(
            "{}: is in the index but no longer exists; drop it with umbel.index({:?}, update=True)",
            gone.display(),
            from.display().to_string()
        )));
    }
    let mut lines = std::mem::take(&mut *lines.0.lock().unwrap_or_else(PoisonError::into_inner));
    lines.sort_by(|a, b| (a.0.as_os_str(), a.1).cmp(&(b.0.as_os_str(), b.1)));
    let wide = wide.into_iter().map(|(number, why)| (number, why.reason())).collect();
    Ok((lines, (files, blocks, blocks_read, text, text_read), stale, new, wide, unreadable))
}

/// Collects the lines found.
#[derive(Default)]
struct Lines(Mutex<Vec<Line>>);

impl Sink for Lines {
    fn line(&self, found: &Found<'_>, _: &mut Vec<u8>) -> bool {
        let line = (found.file.to_owned(), found.line, found.text.to_vec(), found.keys.to_vec());
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        true
    }

    fn file(&self, _: &Path, _: u64, _: &mut Vec<u8>) {}
}
