//! Which row groups of many files may hold a key, within a memory cap: a file is read again for the next keys.

use std::path::{Path, PathBuf};

use anyhow::Result;
use umbel_foreign::ForeignFilter;
use umbel_sets::{Resources, room_left};

use crate::look_up::{LookUps, Values};
use crate::plan;
use crate::report::ParquetFile;

/// Keys looked up in the filters of a column of many files.
pub struct Which<'a> {
    column: &'a str,
    resources: &'a Resources,
    /// Bytes of memory for keys, and the same for results.
    room: u64,
    /// The files, in the order of their names' list.
    pub files: Vec<Searched>,
    /// The chance that no filter passes an absent key.
    spared: f64,
}

/// A file.
pub struct Searched {
    /// Its name.
    pub path: PathBuf,
    /// Its row groups; empty before the first keys.
    pub row_groups: Vec<RowGroup>,
    /// Whether `tell` already got the reason why some keys, or all, are not looked up in it.
    is_told: bool,
}

/// The column in a row group.
pub struct RowGroup {
    /// Bytes of its pages.
    pub bytes: u64,
    /// Whether it lacks a filter and so may hold any key.
    pub is_unfiltered: bool,
    /// Whether it may hold one of the keys so far.
    pub is_to_read: bool,
}

/// Receives a key and the row groups that may hold it.
pub type Put<'a> = dyn FnMut(&[u8], &[Hit]) -> Result<()> + 'a;

/// A row group that may hold a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hit {
    /// The number of the key.
    pub key: u32,
    /// The number of the file.
    pub file: u32,
    /// The number of the row group.
    pub row_group: u32,
}

impl<'a> Which<'a> {
    /// Looks nothing up yet.
    ///
    /// # Errors
    /// If the memory cap is too low.
    pub fn new(
        files: impl IntoIterator<Item = PathBuf>,
        column: &'a str,
        resources: &'a Resources,
    ) -> Result<Self> {
        let searched = |path| Searched { path, row_groups: Vec::new(), is_told: false };
        let files = files.into_iter().map(searched).collect();
        // Half is for a footer and a filter.
        let room = room_left(0, resources)? / 4;
        Ok(Self { column, resources, room, files, spared: 1.0 })
    }

    /// Returns the bytes of memory for the keys of a call, with 64 more for each.
    pub fn room(&self) -> u64 {
        self.room
    }

    /// Returns the chance that a key which is nowhere may be in some row group.
    pub fn rate(&self) -> f64 {
        1.0 - self.spared
    }

    /// Looks keys up in all files, and passes on the row groups that may hold each, in order; in parts if they do not fit
    /// in memory. If a key is not a valid value of the column in a file, the file does not hold it. `tell` gets the
    /// reason, once per file.
    ///
    /// # Errors
    /// If a file is damaged, with its name in front; errors of `put`.
    pub fn look_up(
        &mut self,
        keys: &[&[u8]],
        tell: &mut dyn FnMut(&Path, &str),
        put: &mut Put<'_>,
    ) -> Result<()> {
        let Some(hits) = self.hits(keys, tell)? else {
            let (first, others) = keys.split_at(keys.len() / 2);
            self.look_up(first, tell, put)?;
            return self.look_up(others, tell, put);
        };
        let mut rest = &hits[..];
        for (number, key) in keys.iter().enumerate() {
            let (of_key, others) =
                rest.split_at(rest.partition_point(|hit| hit.key == number as u32));
            put(key, of_key)?;
            rest = others;
        }
        Ok(())
    }

    /// The row groups that may hold the keys, sorted; `None` if there are several keys and the result does not fit.
    fn hits(
        &mut self,
        keys: &[&[u8]],
        tell: &mut dyn FnMut(&Path, &str),
    ) -> Result<Option<Vec<Hit>>> {
        // A vector that grows has its old bytes and twice as many.
        let most = self.room as usize / (3 * size_of::<Hit>());
        let mut hits = Vec::new();
        let mut asked: Option<(Values, LookUps, Option<String>)> = None;
        for (number, searched) in self.files.iter_mut().enumerate() {
            let used = 2 * self.room;
            let admit = |bytes| Ok(room_left(used + bytes, self.resources).map(drop)?);
            let file = plan::open(&searched.path)?;
            let name = searched.path.display().to_string();
            let file = ParquetFile::open(name, file.0, file.1.len(), admit)?;
            let column = file.number(self.column)?;
            let mut why = column
                .is_none()
                .then(|| format!("there is no column {}, so it has none of the keys", self.column));
            let seen = searched.row_groups.len();
            for chunk in file.chunks(Some(column.unwrap_or(usize::MAX))) {
                let values = chunk.values();
                if asked.as_ref().is_none_or(|(of, ..)| *of != values) {
                    let mut look_ups = LookUps::default();
                    let mut wrong = None;
                    for error in keys.iter().filter_map(|key| look_ups.push(&values, key).err()) {
                        wrong.get_or_insert_with(|| error.to_string());
                    }
                    asked = Some((values, look_ups, wrong));
                }
                let (_, look_ups, wrong) = asked.as_mut().expect("it was just made");
                why = why.or_else(|| Some(format!("{}; it has no such keys", wrong.as_ref()?)));
                let admit =
                    |bytes| Ok(room_left(used + file.memory() + bytes, self.resources).map(drop)?);
                let filter = chunk.filter(admit)?;
                let before = hits.len();
                let row_group = chunk.row_group as u32;
                let mut add =
                    |key| hits.push(Hit { key: key as u32, file: number as u32, row_group });
                match &filter {
                    None => look_ups.values().for_each(&mut add),
                    Some(filter) => look_ups.passing(filter).for_each(&mut add),
                }
                if chunk.row_group >= seen {
                    self.spared *= filter.as_ref().map_or(0.0, |filter| 1.0 - filter.receipt().fpp);
                    searched.row_groups.push(RowGroup {
                        bytes: chunk.bytes(),
                        is_unfiltered: filter.is_none(),
                        is_to_read: false,
                    });
                }
                searched.row_groups[chunk.row_group].is_to_read |= hits.len() > before;
                if hits.len() > most && keys.len() > 1 {
                    return Ok(None);
                }
            }
            if let Some(why) = why
                && !searched.is_told
            {
                tell(&searched.path, &why);
                searched.is_told = true;
            }
        }
        hits.sort_unstable();
        hits.dedup();
        Ok(Some(hits))
    }
}
