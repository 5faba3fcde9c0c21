//! Which filters are added and removed, and which bytes of the file stay.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use umbel_foreign::parquet::declared_extent;
use umbel_io::ReadAt;
use umbel_numbers::nearest;
use umbel_sets::{Resources, room_left};

use crate::edit::{Added, Edit, Reason, Removal};
use crate::footer::{Chunk, Column, Footer, Physical};
use crate::report;

/// A file, and what to do with its filters.
pub struct Plan {
    /// Its name in messages.
    pub name: String,
    pub(crate) file: File,
    pub(crate) before: Metadata,
    pub(crate) bytes: Vec<u8>,
    pub(crate) footer: Footer,
    /// Bytes of memory that the footer uses, at most.
    pub(crate) memory: u64,
    /// Bytes of the file that stay as they are, from its start.
    pub body: u64,
    /// The filters to add, in the order of row groups, then of columns.
    pub units: Vec<ChunkId>,
    /// The filters that will not be added, as known before any value is read.
    pub left_out: Vec<(ChunkId, Reason)>,
    /// The filters to remove, in the order of row groups, then of columns.
    pub removed: Vec<ChunkId>,
    /// Bytes of removed filters that stay in the file, because something else is behind them.
    pub unreachable: u64,
    /// The columns to add filters to.
    pub added: Vec<usize>,
    pub(crate) fpp: f64,
    pub(crate) always: bool,
}

/// A column in a row group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChunkId {
    /// The number of the row group.
    pub row_group: usize,
    /// The number of the column in the schema.
    pub column: usize,
}

/// Opens a Parquet file, which is read from its end.
///
/// # Errors
/// System errors; if the file is not Parquet, its type, with its path in front.
pub fn open(path: &Path) -> Result<(File, Metadata)> {
    let name = || path.display().to_string();
    let file = umbel_io::open(path).with_context(name)?;
    let meta = file.metadata().with_context(name)?;
    if meta.is_dir() {
        bail!("{}: is a directory; name one of its Parquet files", name());
    }
    if !meta.is_file() {
        bail!(
            "{}: is not a regular file; a Parquet file is read from its end, so copy it to disk first",
            name()
        );
    }
    Ok((file, meta))
}

impl Plan {
    /// Reads the footer of the file at `path`, and plans an edit.
    ///
    /// # Errors
    /// If the file is damaged or cannot be edited; its path is in front of the reason.
    pub fn new(path: &Path, edit: &Edit, resources: &Resources) -> Result<Self> {
        let name = path.display().to_string();
        let (file, before) = open(path)?;
        let mut memory = 0;
        // Once for reading, and once for rewriting.
        let admit = |bytes: u64| {
            memory = 2 * bytes;
            Ok(room_left(memory, resources).map(drop)?)
        };
        let (bytes, footer) =
            report::footer(&file, before.len(), admit).with_context(|| name.clone())?;
        let body = before.len() - 8 - bytes.len() as u64;
        let mut plan = Self {
            name: name.clone(),
            file,
            before,
            bytes,
            footer,
            memory,
            body,
            units: Vec::new(),
            left_out: Vec::new(),
            removed: Vec::new(),
            unreachable: 0,
            added: Vec::new(),
            fpp: edit.fpp,
            always: edit.always,
        };
        plan.fill(edit).with_context(|| name)?;
        Ok(plan)
    }

    fn fill(&mut self, edit: &Edit) -> Result<()> {
        if self.footer.encrypted {
            bail!(
                "has encrypted columns, and its footer is signed with their key, which umbel does not have; write the filters when the file is made"
            );
        }
        let unknown = self.bytes.len() - self.footer.length;
        if unknown > 0 {
            bail!(
                "has {unknown} unknown bytes after its footer, perhaps its signature; write the filters when the file is made"
            );
        }
        let removed = match &edit.remove {
            Removal::All => (0..self.footer.columns.len()).collect(),
            Removal::Of(paths) => self.numbers(paths)?,
        };
        self.remove(&removed)?;
        self.added = self.numbers(&edit.add)?;
        for column in self.added.clone() {
            self.check(column)?;
        }
        for row_group in 0..self.footer.row_groups.len() {
            for &column in &self.added {
                let unit = ChunkId { row_group, column };
                match self.reason(unit) {
                    Some(reason) => self.left_out.push((unit, reason)),
                    None => self.units.push(unit),
                }
            }
        }
        // Otherwise a short footer could make us read the same pages any number of times.
        if self.bytes_to_read() > self.body {
            bail!(
                "its columns overlap: they have more bytes than the file; damaged? copy it again"
            );
        }
        Ok(())
    }

    pub(crate) fn chunk(&self, unit: ChunkId) -> &Chunk {
        &self.footer.row_groups[unit.row_group].chunks[unit.column]
    }

    /// A column by its number.
    pub fn column(&self, number: usize) -> &Column {
        &self.footer.columns[number]
    }

    /// The number of row groups.
    pub fn row_groups(&self) -> usize {
        self.footer.row_groups.len()
    }

    /// Bytes of the pages of the columns that get filters.
    pub fn bytes_to_read(&self) -> u64 {
        self.units.iter().map(|unit| self.chunk(*unit).bytes).sum()
    }

    /// The numbers of the columns with these paths, each once, in the order of the schema.
    fn numbers(&self, paths: &[String]) -> Result<Vec<usize>> {
        let columns = || self.footer.columns.iter().map(|column| &*column.path);
        let mut numbers = Vec::new();
        for path in paths {
            match report::number(&self.footer, path)? {
                Some(number) => numbers.push(number),
                None => {
                    let within = columns().filter(|column| {
                        column.strip_prefix(&**path).is_some_and(|rest| rest.starts_with('.'))
                    });
                    let within: Vec<_> = within.collect();
                    return Err(match (&within[..], nearest(path, columns())) {
                        ([_, ..], _) => anyhow!(
                            "{path} has no values of its own; the columns in it: {}",
                            within.join(", ")
                        ),
                        (_, Some(near)) => {
                            anyhow!("there is no column {path}; did you mean {near:?}?")
                        }
                        _ => anyhow!(
                            "there is no column {path}; columns: {}",
                            columns().collect::<Vec<_>>().join(", ")
                        ),
                    });
                }
            }
        }
        numbers.sort_unstable();
        numbers.dedup();
        Ok(numbers)
    }

    /// Refuses a column whose values cannot be hashed.
    fn check(&self, number: usize) -> Result<()> {
        let column = self.column(number);
        let path = &column.path;
        if column.physical == Physical::Boolean {
            bail!(
                "column {path} is BOOLEAN, a type without filters, because it has only two values"
            );
        }
        for (row_group, group) in self.footer.row_groups.iter().enumerate() {
            let chunk = &group.chunks[number];
            if chunk.encrypted {
                bail!("column {path} is encrypted, and umbel does not decrypt");
            }
            if chunk.elsewhere {
                bail!("the pages of column {path} are in another file, which umbel does not open");
            }
            let within = chunk.pages.start >= 4 && chunk.pages.end <= self.body;
            if chunk.values > 0 && !within {
                bail!(
                    "the pages of column {path} in row group {row_group} should be before the footer, but are at bytes {} to {} of {}; truncated or damaged? copy it again",
                    chunk.pages.start,
                    chunk.pages.end,
                    self.before.len()
                );
            }
        }
        Ok(())
    }

    /// Why a filter would not help, if the footer alone shows it.
    fn reason(&self, unit: ChunkId) -> Option<Reason> {
        let chunk = self.chunk(unit);
        if self.column(unit.column).is_read_as_float() {
            return Some(Reason::ReadAsFloat);
        }
        if chunk.filter_offset.is_some() && !self.is_removed(unit) {
            return Some(Reason::Present);
        }
        if chunk.values == 0 {
            return Some(Reason::Empty);
        }
        let reason = match chunk {
            Chunk { one_value: true, .. } => Reason::OneValue,
            Chunk { all_in_dictionary: true, .. } => Reason::Dictionary,
            _ => return None,
        };
        (!self.always).then_some(reason)
    }

    /// Plans to remove the filters of these columns. Filters directly before the footer are cut off, unless the footer
    /// refers to something else there; of others only the place is removed.
    fn remove(&mut self, columns: &[usize]) -> Result<()> {
        let mut ranges = Vec::new();
        // The end of everything that stays.
        let mut used = 4;
        for (row_group, group) in self.footer.row_groups.iter().enumerate() {
            for (column, chunk) in group.chunks.iter().enumerate() {
                used = used.max(chunk.end);
                let Some(offset) = chunk.filter_offset else { continue };
                let removed = columns.binary_search(&column).is_ok();
                let extent = self.extent(offset, chunk.filter_length);
                let extent = extent.with_context(|| self.name.clone())?;
                match extent {
                    Some(extent) if !removed => used = used.max(extent.end),
                    Some(extent) => ranges.push(extent),
                    // Its end is unknown.
                    None if !removed => used = self.body,
                    None => {}
                }
                if removed {
                    self.removed.push(ChunkId { row_group, column });
                }
            }
        }
        ranges.sort_unstable_by_key(|range| (range.end, range.start));
        ranges.dedup();
        while let Some(last) = ranges.pop_if(|last| last.end == self.body && last.start >= used) {
            self.body = last.start;
        }
        self.unreachable = ranges.iter().map(|range| range.end - range.start).sum();
        Ok(())
    }

    /// Where the filter at `offset` is, if there is one.
    fn extent(&self, offset: i64, told: Option<i32>) -> io::Result<Option<std::ops::Range<u64>>> {
        let start = u64::try_from(offset).ok().filter(|start| (4..self.body).contains(start));
        let Some(start) = start else { return Ok(None) };
        let mut head = vec![0; (self.body - start).min(256) as usize];
        self.file.read_exact_at(&mut head, start)?;
        let Ok(declared) = declared_extent(&head) else { return Ok(None) };
        let length = declared.end as u64;
        let right = told.is_none_or(|told| i64::from(told) == length as i64);
        Ok((right && length <= self.body - start).then_some(start..start + length))
    }

    /// Whether the filter of a chunk is removed: there may be a million of them.
    pub(crate) fn is_removed(&self, unit: ChunkId) -> bool {
        self.removed.binary_search(&unit).is_ok()
    }

    /// The columns that get filters, in the order of the schema, with the filters that will be left out.
    pub fn columns(&self) -> Vec<Added> {
        let added = |column: &usize| Added {
            column: self.column(*column).path.clone(),
            filters: Vec::new(),
            left_out: Vec::new(),
        };
        let mut columns: Vec<_> = self.added.iter().map(added).collect();
        for (unit, reason) in &self.left_out {
            columns[self.number(*unit)].left_out.push((unit.row_group, *reason));
        }
        columns
    }

    /// The index of a unit's column among the columns that get filters.
    pub(crate) fn number(&self, unit: ChunkId) -> usize {
        self.added.binary_search(&unit.column).expect("filters are added to it")
    }
}
