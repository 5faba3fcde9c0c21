//! Filters in Parquet files: added, removed, and keys looked up in them.

use std::path::Path;
use std::sync::Arc;

use umbel_foreign::ForeignFilter as _;
use umbel_io::atomic::Existing;
use umbel_parquet::which::Which;
use umbel_parquet::{Edit, Edited, ParquetFile, Plan, Removal};
use umbel_sets::room_left;

use crate::feeds::Feeds;
use crate::forms::{flag, fpp, list, option};
use crate::jobs::{of_job, resources, wait};
use crate::prelude::*;

/// A filter: its row group, bytes, keys and rate.
type Filter = (usize, u64, f64, f64);
/// A column: its path, the filters that it got, and for each reason the row groups without a new one.
type Column = (String, Vec<Filter>, Vec<(&'static str, Vec<usize>)>);
/// Columns, filters removed by column, their bytes that stay in the file, bytes read, bytes written.
type Answer = (Vec<Column>, Vec<(String, usize)>, u64, u64, u64);

/// Removes the filters of columns in `remove`, or all if it is None, and then adds filters of columns in `add`.
#[pyfunction]
#[pyo3(name = "_parquet")]
pub(crate) fn parquet(
    py: Python<'_>,
    path: FilePath,
    out: Option<FilePath>,
    given: &Bound<'_, PyDict>,
) -> PyResult<Answer> {
    let (fpp, always) = (fpp(given)?.unwrap_or(0.01), flag(given, "always")?);
    let (add, remove): (_, Option<_>) = (list(given, "add")?, option(given, "remove")?);
    let resources = resources(option(given, "memory")?, option(given, "threads")?, None)?;
    let edit = Edit { add, remove: remove.map_or(Removal::All, Removal::Of), fpp, always };
    let progress = Arc::clone(&resources.progress);
    let edited = wait(py, progress, None, Feeds::default(), move || {
        let path = path.0;
        let plan = Plan::new(&path, &edit, &resources)?;
        plan.write_to(out.as_ref().map_or(&*path, |out| &out.0), Existing::Replace, &resources)
    })?;
    Ok(answer(edited.map_err(of_job)?))
}

/// The filters of a column, each with the number of its row group, the type of its values, and its bytes.
#[pyfunction]
#[pyo3(name = "_filters")]
pub(crate) fn filters(
    py: Python<'_>,
    path: FilePath,
    column: &str,
    memory: Option<Bound<'_, PyAny>>,
) -> PyResult<Vec<(usize, String, Vec<u8>)>> {
    let (resources, mut taken) = (resources(memory, None, None)?, 0);
    // A filter is read, and copied for Python.
    let mut admit = |bytes: u64| {
        taken += 2 * bytes;
        Ok(room_left(taken, &resources).map(drop)?)
    };
    let read = || {
        let (file, meta) = umbel_parquet::plan::open(&path.0)?;
        let file = ParquetFile::open(path.name(), file, meta.len(), &mut admit)?;
        let mut filters = Vec::new();
        for chunk in file.chunks(Some(file.column(Some(column))?)) {
            if let Some(filter) = chunk.filter(&mut admit)? {
                filters.push((chunk.row_group, chunk.physical_type(), filter.encode()?));
            }
        }
        Ok(filters)
    };
    py.detach(read).map_err(of_job)
}

/// Where a key may be: the number of each file, and its row groups.
type Found = Vec<(u32, Vec<u32>)>;

/// Looks keys up in files; also returns warnings about files in which some keys are not looked up.
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
    let progress = Arc::clone(&resources.progress);
    let found = wait(py, progress, None, Feeds::default(), move || {
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
