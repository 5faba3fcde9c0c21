//! Filters in Parquet files: added, removed, and keys looked up in them.

use std::path::Path;
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use umbel_io::atomic::Existing;
use umbel_parquet::which::Which;
use umbel_parquet::{Edit, Edited, Plan, Removal};

use crate::feeds::Feeds;
use crate::jobs::{of_job, resources, wait};
use crate::values::{FilePath, Threads};

/// A filter: its row group, bytes, keys and rate.
type Filter = (usize, u64, f64, f64);
/// A column: its path, the filters that it got, and for each reason the row groups without a new one.
type Column = (String, Vec<Filter>, Vec<(&'static str, Vec<usize>)>);
/// Columns, filters removed by column, their bytes that stay in the file, bytes read, bytes written.
type Answer = (Vec<Column>, Vec<(String, usize)>, u64, u64, u64);

/// Adds filters of the columns `add`, after those of `remove` were removed: those of all columns if it is none.
#[pyfunction]
#[pyo3(name = "_parquet", signature = (path, *, add, remove, fpp=0.01, always=false, out=None, memory=None, threads=None))]
#[expect(clippy::too_many_arguments, reason = "they are the keywords of a Python function")]
pub(crate) fn parquet(
    py: Python<'_>,
    path: FilePath,
    add: Vec<String>,
    remove: Option<Vec<String>>,
    fpp: f64,
    always: bool,
    out: Option<FilePath>,
    memory: Option<Bound<'_, PyAny>>,
    threads: Option<Threads>,
) -> PyResult<Answer> {
    if !(fpp > 0.0 && fpp < 1.0) {
        return Err(PyValueError::new_err("fpp: expected a probability above 0 and below 1"));
    }
    let resources = resources(memory, threads, None)?;
    let edit = Edit { add, remove: remove.map_or(Removal::All, Removal::Of), fpp, always };
    let told = Arc::clone(&resources.progress);
    let edited = wait(py, told, None, Feeds::default(), move || {
        let path = path.0;
        let plan = Plan::new(&path, &edit, &resources)?;
        plan.write_to(out.as_ref().map_or(&*path, |out| &out.0), Existing::Replace, &resources)
    })?;
    Ok(answer(edited.map_err(of_job)?))
}

/// What may hold a key: the number of each file, and its row groups.
type Found = Vec<(u32, Vec<u32>)>;

/// Looks keys up in files; also what is to be told of files where some are not looked up.
#[pyfunction]
#[pyo3(name = "_may_hold", signature = (files, column, keys, memory=None))]
pub(crate) fn may_hold(
    py: Python<'_>,
    files: Vec<FilePath>,
    column: String,
    keys: Vec<Vec<u8>>,
    memory: Option<Bound<'_, PyAny>>,
) -> PyResult<(Vec<Found>, Vec<String>)> {
    let resources = resources(memory, None, None)?;
    let told = Arc::clone(&resources.progress);
    let found = wait(py, told, None, Feeds::default(), move || {
        let keys: Vec<_> = keys.iter().map(Vec::as_slice).collect();
        let mut which = Which::new(files.into_iter().map(|file| file.0), &column, &resources)?;
        let (mut found, mut told) = (Vec::new(), Vec::new());
        let tell = &mut |path: &Path, why: &str| told.push(format!("{}: {why}", path.display()));
        which.look_up(&keys, tell, &mut |_, hits| {
            let of_files = hits.chunk_by(|left, right| left.file == right.file);
            let groups = of_files.map(|hits| (hits[0].file, hits.iter().map(|hit| hit.row_group)));
            found.push(groups.map(|(file, groups)| (file, groups.collect())).collect());
            Ok(())
        })?;
        Ok::<_, anyhow::Error>((found, told))
    })?;
    found.map_err(of_job)
}

fn answer(edited: Edited) -> Answer {
    let columns = edited.columns.into_iter().map(|column| {
        let filters = column.filters.iter();
        let filters = filters.map(|new| (new.row_group, new.bytes, new.keys, new.fpp)).collect();
        let left_out = column.by_reason().map(|(reason, groups)| (reason.name(), groups)).collect();
        (column.column, filters, left_out)
    });
    let columns = columns.collect();
    (columns, edited.removed, edited.unreachable, edited.bytes_read, edited.bytes_written)
}
