//! Row groups are read in parallel within a memory cap while the new file is written. Its bytes are the same for every
//! number of threads.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};
use umbel_io::atomic::{self, Existing};
use umbel_sets::{Error, Resources};

use crate::edit::Edited;
use crate::footer::Footer;
use crate::plan::{ChunkId, Plan};
use crate::rewrite::{FilterPlace, rewrite};

/// Bytes of the old file copied between two checks for cancellation.
const PIECE: u64 = 256 << 20;

/// Nothing changes, so no new file replaces the old one.
#[derive(Debug, thiserror::Error)]
#[error("nothing to change")]
struct Unchanged;

impl Plan {
    /// Writes the new file to `out`, at its current position.
    ///
    /// # Errors
    /// If the file is damaged, with its path in front; system errors for the new one.
    pub fn write(&self, out: &File, resources: &Resources) -> Result<Edited> {
        let edited = write(self, out, resources)?;
        // Writing to a file in place changes one of these.
        let now = fs::File::metadata(&self.file).with_context(|| self.name.clone())?;
        let same = |meta: &Metadata| (meta.len(), meta.modified().ok());
        if same(&now) != same(&self.before) {
            return Err(Error::Changed(self.name.clone()).into());
        }
        Ok(edited)
    }

    /// Writes the new file to `path`, which gets its name when it is complete; it may replace the old one. If nothing
    /// changes, nothing is written.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn write_to(
        &self,
        path: &Path,
        existing: Existing,
        resources: &Resources,
    ) -> Result<Edited> {
        let mut edited = Edited::default();
        let written = atomic::write_file(path, existing, |out| {
            edited = self.write(out, resources)?;
            match edited.bytes_written {
                0 => Err(Unchanged.into()),
                _ => Ok(()),
            }
        });
        match written {
            Err(error) if error.downcast_ref::<Unchanged>().is_none() => Err(error),
            _ => Ok(edited),
        }
    }
}

/// Writes the new file. If no filter changes, `bytes_written` is 0, and it is the old one.
fn write(plan: &Plan, out: &File, resources: &Resources) -> Result<Edited> {
    let progress = &resources.progress;
    progress.expect(plan.body + plan.bytes_to_read());
    let mut removed = BTreeMap::new();
    for unit in &plan.removed {
        *removed.entry(unit.column).or_insert(0) += 1;
    }
    let path = |column| plan.column(column).path.clone();
    let mut edited = Edited {
        columns: plan.columns(),
        removed: removed.into_iter().map(|(column, count)| (path(column), count)).collect(),
        unreachable: plan.unreachable,
        ..Edited::default()
    };
    let mut places = Vec::new();
    let mut at = plan.body;
    filters::each(
        plan,
        resources,
        || copy(plan, out, resources),
        |unit, made| {
            let column = &mut edited.columns[plan.number(unit)];
            edited.bytes_read += made.bytes_read;
            match made.filter {
                Err(reason) => column.left_out.push((unit.row_group, reason)),
                Ok((content, filter)) => {
                    (&*out).write_all(&content)?;
                    let offset = i64::try_from(at).context("the file is too large")?;
                    places.push((unit, FilterPlace::At { offset, length: filter.bytes as i32 }));
                    at += filter.bytes;
                    column.filters.push(filter);
                }
            }
            Ok(())
        },
    )?;
    for column in &mut edited.columns {
        column.left_out.sort_unstable();
    }
    let footer = footer(plan, &places).with_context(|| plan.name.clone())?;
    (&*out).write_all(&footer)?;
    if !places.is_empty() || !plan.removed.is_empty() {
        edited.bytes_written = at + footer.len() as u64;
    }
    Ok(edited)
}

/// Copies what stays as it is, while threads read values.
fn copy(plan: &Plan, out: &File, resources: &Resources) -> Result<()> {
    let mut done = 0;
    while done < plan.body {
        resources.progress.check()?;
        let copied = umbel_io::copy(&plan.file, done, PIECE.min(plan.body - done), out)
            .with_context(|| format!("copying {}", plan.name))?;
        if copied == 0 {
            bail!(umbel_sets::Error::Changed(plan.name.clone()));
        }
        resources.progress.advance(copied);
        done += copied;
    }
    // While others still read, so little is left to wait for at the end. Fails for anything but a file on disk.
    let _ = out.sync_data();
    Ok(())
}

/// The end of the new file: its footer, with the length and the magic.
fn footer(plan: &Plan, places: &[(ChunkId, FilterPlace)]) -> Result<Vec<u8>> {
    // Both come in the order of row groups, then of columns.
    let mut new = places.iter().peekable();
    let mut footer = rewrite(&plan.bytes, &mut |row_group, column| {
        let unit = ChunkId { row_group, column };
        match new.next_if(|(place, _)| *place == unit) {
            Some((_, place)) => *place,
            None if plan.is_removed(unit) => FilterPlace::Removed,
            None => FilterPlace::Kept,
        }
    })?;
    // Only the places may differ, whatever the old one has.
    let read = Footer::decode(&footer)?;
    let mut expected = plan.footer.clone();
    expected.length = footer.len();
    let places = places.iter().copied();
    for (unit, place) in plan.removed.iter().map(|unit| (*unit, FilterPlace::Removed)).chain(places)
    {
        let chunk = &mut expected.row_groups[unit.row_group].chunks[unit.column];
        (chunk.filter_offset, chunk.filter_length) = match place {
            FilterPlace::At { offset, length } => (Some(offset), Some(length)),
            _ => (None, None),
        };
    }
    if read != expected {
        bail!(
            "the footer has its fields in an order in which filters cannot be added; write the filters when the file is made"
        );
    }
    let length = u32::try_from(footer.len()).ok().filter(|length| *length <= i32::MAX as u32);
    let length = length.context("the footer is too large")?;
    footer.extend(length.to_le_bytes());
    footer.extend(b"PAR1");
    Ok(footer)
}

/// The result for a filter to add.
struct Made {
    /// Its content and figures; or why it was left out.
    filter: Result<(umbel_foreign::Bytes, crate::NewFilter), crate::Reason>,
    bytes_read: u64,
}

#[cfg(not(feature = "values"))]
mod filters {
    use super::*;

    pub(super) fn each(
        plan: &Plan,
        _: &Resources,
        copy: impl FnOnce() -> Result<()>,
        _: impl FnMut(ChunkId, Made) -> Result<()>,
    ) -> Result<()> {
        if !plan.units.is_empty() {
            bail!(
                "this umbel was built without the reader of Parquet's values, so it can remove filters but not add any; build it with cargo build --release --features parquet"
            );
        }
        copy()
    }
}

#[cfg(feature = "values")]
mod filters {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::{Condvar, Mutex, MutexGuard};
    use std::thread;

    use umbel_foreign::parquet::{Parquet, bytes_for};
    use umbel_foreign::{ForeignFilter, Format, Parameters};
    use umbel_sets::room_left;

    use super::*;
    use crate::edit::{NewFilter, Reason};
    use crate::pages::Pages;
    use crate::{codec, values};

    /// Fewer different values than this, each at least ten times, are too few: every row group has nearly all of them,
    /// so a filter would skip none.
    const FEW: f64 = 100.0;
    const TIMES: f64 = 10.0;
    /// Bytes of memory besides pages and filter.
    const BESIDES: u64 = 256 << 10;

    /// Makes the filters, `threads` at a time, and hands each on in turn, after `copy`.
    pub(super) fn each(
        plan: &Plan,
        resources: &Resources,
        copy: impl FnOnce() -> Result<()>,
        mut each: impl FnMut(ChunkId, Made) -> Result<()>,
    ) -> Result<()> {
        if plan.units.is_empty() {
            return copy();
        }
        let room = room_left(plan.memory, resources)?;
        let pool = Pool { plan, resources, room, state: Mutex::default(), changed: Condvar::new() };
        thread::scope(|scope| {
            let _end = EndPool(&pool);
            for i in 0..resources.threads.min(plan.units.len()) {
                let worker = thread::Builder::new().spawn_scoped(scope, || pool.work());
                if let (0, Err(error)) = (i, worker) {
                    bail!(umbel_io::no_thread(&error));
                }
            }
            copy()?;
            for (number, unit) in plan.units.iter().enumerate() {
                let made = pool.take(number).with_context(|| {
                    format!(
                        "{}: column {} in row group {}",
                        plan.name,
                        plan.column(unit.column).path,
                        unit.row_group
                    )
                })?;
                let bytes = made.held();
                each(*unit, made)?;
                pool.lock().used -= bytes;
                pool.changed.notify_all();
            }
            Ok(())
        })
    }

    impl Made {
        /// Bytes of memory of the filter.
        fn held(&self) -> u64 {
            self.filter.as_ref().map_or(0, |(content, _)| content.len() as u64)
        }
    }

    struct Pool<'a> {
        plan: &'a Plan,
        resources: &'a Resources,
        room: u64,
        state: Mutex<State>,
        changed: Condvar,
    }

    #[derive(Default)]
    struct State {
        /// Units that threads have begun.
        begun: usize,
        /// Units whose memory was admitted, in order: the earliest never waits for later ones.
        admitted: usize,
        /// Bytes of memory in use.
        used: u64,
        done: BTreeMap<usize, Result<Made>>,
        /// No more results are wanted.
        over: bool,
    }

    /// Ends the threads, also after an error.
    struct EndPool<'a, 'b>(&'a Pool<'b>);

    impl Drop for EndPool<'_, '_> {
        fn drop(&mut self) {
            self.0.lock().over = true;
            self.0.changed.notify_all();
        }
    }

    impl Pool<'_> {
        fn lock(&self) -> MutexGuard<'_, State> {
            self.state.lock().expect("no thread panics with it")
        }

        fn wait_until<'s>(
            &'s self,
            state: MutexGuard<'s, State>,
            ready: impl Fn(&State) -> bool,
        ) -> MutexGuard<'s, State> {
            let waited = self.changed.wait_while(state, |state| !ready(state));
            waited.expect("no thread panics with it")
        }

        /// Waits for the result of a unit.
        fn take(&self, number: usize) -> Result<Made> {
            let ready = |state: &State| state.done.contains_key(&number);
            self.wait_until(self.lock(), ready).done.remove(&number).expect("it was there")
        }

        fn work(&self) {
            loop {
                let mut state = self.lock();
                let number = state.begun;
                if state.over || number == self.plan.units.len() {
                    return;
                }
                state.begun += 1;
                drop(state);
                let made = self.make(number);
                self.lock().done.insert(number, made);
                self.changed.notify_all();
            }
        }

        fn make(&self, number: usize) -> Result<Made> {
            let (plan, unit) = (self.plan, self.plan.units[number]);
            let chunk = plan.chunk(unit);
            let prepared = self.prepare(unit);
            // Unreadable units take their turn too.
            let need = prepared.as_ref().map_or(0, |(_, _, need)| *need);
            let ready = |state: &State| {
                let fits = state.used == 0 || state.used + need <= self.room;
                state.over || state.admitted == number && fits
            };
            let mut state = self.wait_until(self.lock(), ready);
            if state.over {
                bail!(umbel_sets::Error::Cancelled);
            }
            state.used += need;
            state.admitted = number + 1;
            drop(state);
            self.changed.notify_all();
            let (pages, size, _) = prepared?;
            // Third-party decompressors may panic on damaged data.
            let made = catch_unwind(AssertUnwindSafe(|| self.filter(unit, &pages, size)));
            let made = made.unwrap_or_else(|_| {
                bail!("its pages cannot be decompressed; damaged? copy the file again")
            });
            let held = made.as_ref().map_or(0, Made::held);
            self.lock().used -= need - held;
            self.resources.progress.advance(chunk.bytes);
            made
        }

        /// The pages of a unit, the size of its filter before it shrinks, and the bytes of memory that both need.
        fn prepare(&self, unit: ChunkId) -> Result<(Pages, u64, u64)> {
            let chunk = self.plan.chunk(unit);
            let pages = Pages::read(&self.plan.file, self.plan.column(unit.column), chunk)?;
            let size = bytes_for(pages.most_values, self.plan.fpp);
            // While it shrinks, one and a half filters are in memory.
            let need = BESIDES + size + size / 2 + pages.memory + codec::memory(chunk.codec);
            room_left(self.plan.memory + need, self.resources)?;
            Ok((pages, size, need))
        }

        fn filter(&self, unit: ChunkId, pages: &Pages, size: u64) -> Result<Made> {
            let (plan, chunk) = (self.plan, self.plan.chunk(unit));
            if pages.all_in_dictionary && !plan.always {
                return Ok(Made { filter: Err(Reason::Dictionary), bytes_read: 0 });
            }
            let given = Parameters { bits: Some(8 * size), ..Parameters::default() };
            let mut filter = Parquet::new(Format::Parquet, &given)?;
            let mut any = false;
            let column = plan.column(unit.column);
            let progress = &self.resources.progress;
            values::hash_all(&plan.file, column, chunk, progress, &mut |hashes| {
                any |= !hashes.is_empty();
                filter.insert_hashes(hashes);
            })?;
            let left_out = |reason| Ok(Made { filter: Err(reason), bytes_read: pages.bytes });
            if !any {
                return left_out(Reason::Empty);
            }
            let filter = filter.shrink(plan.fpp)?;
            let receipt = filter.receipt();
            let keys = receipt.keys.value;
            if keys < FEW && chunk.values as f64 >= TIMES * keys && !plan.always {
                return left_out(Reason::FewValues);
            }
            let new = NewFilter {
                row_group: unit.row_group,
                bytes: receipt.bytes,
                keys,
                fpp: receipt.fpp,
            };
            Ok(Made { filter: Ok((filter.into_content(), new)), bytes_read: pages.bytes })
        }
    }
}
