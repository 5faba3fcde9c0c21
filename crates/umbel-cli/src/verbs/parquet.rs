//! `umbel parquet`: the Bloom filters in a Parquet file, and which row groups may hold a key. Changes to files are in
//! `parquet_edit`.

use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use serde_json::{Value, json};
use umbel_foreign::parquet::Parquet;
use umbel_foreign::{ForeignFilter, Receipt};
use umbel_numbers::{Count, Size};
use umbel_parquet::look_up::{LookUps, Values};
use umbel_parquet::report::{Chunk, ParquetFile, TITLES};
use umbel_sets::{Error, ErrorBound, KeyBatch, Options, Report, Resources, room_left};

use crate::Outcome;
use crate::args::ParquetArgs;
use crate::lines::{self, Rows};
use crate::output::{check_target, refuse_in_place_of, write_lines, write_text};
use crate::report::{Run, say};
use crate::verbs::parquet_edit;

/// Bytes of text that are put together.
const TOGETHER: usize = 64 << 10;

pub(crate) fn parquet(args: &ParquetArgs) -> Result<Outcome> {
    let options = lines::options(&args.work)?;
    if !args.add.is_empty() || !args.remove.is_empty() || args.remove_all {
        return parquet_edit::edit(args, &options.resources);
    }
    refuse_in_place_of(args.output.file(), &[Some(&args.file)])?;
    check_target(args.output.file(), args.work.writes(), args.output.replace.force)?;
    let file = open(&args.file, &options.resources)?;
    let asks = !args.keys.is_empty();
    let column = match &args.column {
        None if !asks => None,
        name => Some(column(&file, name.as_deref())?),
    };
    if asks && !args.work.explain {
        ask(&file, column.expect("was settled"), args, &options)
    } else {
        list(&file, column, args, &options)
    }
}

/// The number of a column.
fn column(file: &ParquetFile<File>, name: Option<&str>) -> Result<usize> {
    file.column(name).map_err(|error| {
        let paths = file.columns().map(|(_, path)| path);
        let near = name.and_then(|name| umbel_numbers::nearest(name, paths));
        match near.filter(|near| Some(&**near) != name) {
            Some(near) => anyhow!("{error}; did you mean {near:?}?"),
            None => error,
        }
    })
}

/// Opens a file and reads its footer.
fn open(path: &Path, resources: &Resources) -> Result<ParquetFile<File>> {
    let name = path.display().to_string();
    let (file, meta) = umbel_parquet::plan::open(path)?;
    ParquetFile::open(name, file, meta.len(), |bytes| Ok(room_left(bytes, resources).map(drop)?))
}

/// Lists the filters.
fn list(
    file: &ParquetFile<File>,
    column: Option<usize>,
    args: &ParquetArgs,
    options: &Options,
) -> Result<Outcome> {
    let voice = args.work.voice;
    if !file.chunks(column).any(|chunk| chunk.has_filter()) {
        say(&format!("umbel parquet: {}: {}", file.name(), file.no_filters()));
        return Ok(Outcome::Nothing);
    }
    let each = |see: &mut dyn FnMut(&Chunk<'_, File>, Receipt) -> Result<()>| {
        for chunk in file.chunks(column) {
            let admit = |bytes| Ok(room_left(file.memory() + bytes, &options.resources).map(drop)?);
            if let Some(filter) = chunk.filter(admit)? {
                see(&chunk, filter.receipt())?;
            }
        }
        Ok(())
    };
    write_text(args.output.file(), |put| {
        if voice.json {
            return each(&mut |chunk, receipt| put(&format!("{}\n", chunk.document(&receipt))));
        }
        // Filters are read twice, because there may be a million: first for the widths of the columns.
        let cells = |chunk: &Chunk<'_, File>, receipt| chunk.cells(&receipt).map(shortened);
        let titles = TITLES.map(|(title, _)| title.to_owned());
        let (mut filters, mut bytes, mut widths) = (0, 0, titles.each_ref().map(String::len));
        each(&mut |chunk, receipt| {
            filters += 1;
            bytes += receipt.bytes;
            for (width, cell) in widths.iter_mut().zip(cells(chunk, receipt)) {
                *width = cell.chars().count().max(*width);
            }
            Ok(())
        })?;
        put(&format!("{}\n{}", file.heading(filters, bytes), line(&titles, &widths)))?;
        let mut text = String::new();
        each(&mut |chunk, receipt| {
            text += &line(&cells(chunk, receipt), &widths);
            if text.len() >= TOGETHER {
                put(&text)?;
                text.clear();
            }
            Ok(())
        })?;
        put(&text)
    })?;
    Ok(Outcome::Done)
}

/// At most as many characters as a table shows: a name may have any number, and stands in a line for each row group.
fn shortened(cell: String) -> String {
    const MOST: usize = 100;
    match cell.char_indices().nth(MOST) {
        None => cell,
        Some(_) => cell.chars().take(MOST - 1).chain(['…']).collect(),
    }
}

/// A line of a table with columns of these widths, numbers to the right.
fn line(cells: &[String; TITLES.len()], widths: &[usize; TITLES.len()]) -> String {
    let mut text = String::new();
    for ((cell, width), (_, right)) in cells.iter().zip(widths).zip(TITLES) {
        text += &match right {
            true => format!("  {cell:>width$}"),
            false => format!("  {cell:<width$}"),
        };
    }
    text + "\n"
}

/// Prints the row groups that may hold each key.
fn ask(
    file: &ParquetFile<File>,
    column: usize,
    args: &ParquetArgs,
    options: &Options,
) -> Result<Outcome> {
    let sources = lines::open(&args.keys, &args.work, Rows::OfOne, options)?;
    let voice = args.work.voice;
    let mut groups = Groups::open(file, column, options)?;
    let room = groups.room;
    let rate = groups.rate;
    let run = Run::start("parquet", voice, &options.resources.progress);
    let mut total = Report::default();
    let mut written = 0;
    write_lines(args.output.file(), |out| {
        for source in sources {
            let mut see = |keys: &KeyBatch<'_>| {
                groups.answer(keys, voice.json, options.form.records.end(), &mut |text| {
                    written += text.len() as u64;
                    out.write_all(text).and_then(|()| out.flush()).map_err(Error::Output)
                })
            };
            total.add(source.read(options, Ok(room), |lines| {
                Ok(umbel_sets::keys(lines, room, options, &mut see)?)
            })?);
        }
        Ok(())
    })?;
    run.check_keyed(&total)?;
    total.found = groups.found;
    total.bytes_written = written;
    // With this chance, an absent key seems to be in one of the groups; no present key is missed.
    total.error = Some(ErrorBound { extra: rate, missing: 0.0 });
    if voice.json && !voice.quiet || run.tells() {
        say(&groups.summary(voice.json));
    }
    run.finish(&total, "found", None);
    Ok(if total.found > 0 { Outcome::Done } else { Outcome::Nothing })
}

/// A column of every row group, and what was found in it.
struct Groups<'a> {
    groups: Vec<Group<'a>>,
    values: Values,
    /// Bytes of memory for a line.
    room: u64,
    /// The chance that a key which is nowhere may be in some group.
    rate: f64,
    /// Keys that may be in some group.
    found: u64,
}

struct Group<'a> {
    chunk: Chunk<'a, File>,
    filter: Filter,
    /// Whether it may hold any key so far.
    to_read: bool,
}

enum Filter {
    /// Of a group that has none, and may hold any key.
    None,
    /// In memory.
    Held(Parquet<Vec<u8>>),
    /// Read again for each batch of keys, because memory is full.
    Left,
}

impl<'a> Groups<'a> {
    /// Reads as many filters as the memory cap allows, with room for the largest of the others.
    fn open(file: &'a ParquetFile<File>, column: usize, options: &Options) -> Result<Self> {
        // Half of the memory is for lines and one filter that is not kept.
        let mut taken = file.memory();
        let held = taken + room_left(taken, &options.resources)? / 2;
        let mut left = 0;
        let mut spared = 1.0;
        let mut groups = Vec::new();
        for chunk in file.chunks(Some(column)) {
            let mut bytes = 0;
            let admit = |size: u64| {
                bytes = size;
                Ok(room_left(taken + size, &options.resources).map(drop)?)
            };
            let filter = match chunk.filter(admit)? {
                None => Filter::None,
                Some(filter) => {
                    spared *= 1.0 - filter.receipt().fpp;
                    if taken + bytes <= held {
                        taken += bytes;
                        Filter::Held(filter)
                    } else {
                        left = bytes.max(left);
                        Filter::Left
                    }
                }
            };
            if let Filter::None = filter {
                spared = 0.0;
            }
            groups.push(Group { chunk, filter, to_read: false });
        }
        let room = room_left(taken + left, &options.resources)?;
        let values = groups.first().context("the file has no row group")?.chunk.values();
        Ok(Self { groups, values, room, rate: 1.0 - spared, found: 0 })
    }

    /// Puts the answer for each key, as lines, some of them together.
    fn answer(
        &mut self,
        keys: &KeyBatch<'_>,
        json: bool,
        separator: u8,
        put: &mut dyn FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut look_ups = LookUps::default();
        for (i, key) in keys.iter().enumerate() {
            look_ups.push(&self.values, key).map_err(|error| keys.refuse(i, error))?;
        }
        // A bit for each key and group, since there may be a thousand keys, which may pass in any number of groups.
        let words = self.groups.len().div_ceil(64);
        let mut found = vec![0u64; words * look_ups.len()];
        for (group, Group { chunk, filter, to_read }) in self.groups.iter_mut().enumerate() {
            let mut set = |key: usize| {
                found[key * words + group / 64] |= 1 << (group % 64);
                *to_read = true;
            };
            match filter {
                Filter::None => (0..look_ups.len()).for_each(&mut set),
                Filter::Held(filter) => look_ups.passing(filter).for_each(&mut set),
                Filter::Left => {
                    let filter =
                        chunk.filter(|_| Ok(())).map_err(|error| Error::Work(error.into()))?;
                    look_ups.passing(&filter.expect("it has one")).for_each(&mut set);
                }
            }
        }
        let mut text = Vec::new();
        for (key, found) in keys.iter().zip(found.chunks(words)) {
            if text.len() >= TOGETHER {
                put(&text)?;
                text.clear();
            }
            let passed = |group: &usize| found[group / 64] >> (group % 64) & 1 == 1;
            let groups: Vec<_> = (0..self.groups.len()).filter(passed).collect();
            self.found += u64::from(!groups.is_empty());
            if json {
                let mut object = json!({ "type": "parquet_key", "row_groups": groups });
                match std::str::from_utf8(key) {
                    Ok(key) => object["key"] = json!(key),
                    Err(_) => object["key_bytes"] = json!(key),
                }
                text.extend(object.to_string().into_bytes());
                text.push(b'\n');
                continue;
            }
            text.extend(key);
            text.push(b'\t');
            let groups: Vec<_> = groups.iter().map(usize::to_string).collect();
            let groups = if groups.is_empty() { "-".to_owned() } else { groups.join(",") };
            text.extend(groups.into_bytes());
            text.push(separator);
        }
        put(&text)
    }

    /// What a reader would read for all of the keys together.
    fn summary(&self, json: bool) -> String {
        let numbers = |which: fn(&Group<'_>) -> bool| -> Vec<usize> {
            let chosen = self.groups.iter().filter(|group| which(group));
            chosen.map(|group| group.chunk.row_group).collect()
        };
        let read = numbers(|group| group.to_read);
        let unfiltered = numbers(|group| matches!(group.filter, Filter::None));
        let bytes: u64 = self.groups.iter().map(|group| group.chunk.bytes()).sum();
        let to_read = self.groups.iter().filter(|group| group.to_read);
        let to_read: u64 = to_read.map(|group| group.chunk.bytes()).sum();
        let column = self.groups[0].chunk.column();
        if json {
            let object: Value = json!({
                "type": "parquet_row_groups",
                "column": column,
                "row_groups": self.groups.len(),
                "to_read": read,
                "unfiltered": unfiltered,
                "column_bytes": bytes,
                "column_bytes_to_read": to_read,
            });
            return object.to_string();
        }
        let mut text = format!(
            "umbel parquet: {} of {} row groups may hold one of the keys: {} of the {} of column {column} to read",
            Count(read.len() as u64),
            Count(self.groups.len() as u64),
            Size(to_read),
            Size(bytes)
        );
        if !unfiltered.is_empty() {
            text += &format!(
                "; {} without a filter must always be read",
                Count(unfiltered.len() as u64)
            );
        }
        text
    }
}
