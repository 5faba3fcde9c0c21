//! `umbel parquet`: the Bloom filters in Parquet files, and which row groups may hold a key. Changes to files are in `edit`.

mod edit;

use std::fs::File;

use anyhow::anyhow;
use serde_json::{Value, json};
use umbel_foreign::{ForeignFilter as _, Receipt};
use umbel_numbers::{Count, Size, counted};
use umbel_parquet::report::{Chunk, ParquetFile, TITLES};
use umbel_parquet::which::{Hit, RowGroup, Searched, Which};
use umbel_sets::{Error, ErrorBound, KeyBatch, Options, Report, Resources, room_left};

use crate::args::{OutputArgs, Voice, Work};
use crate::lines;
use crate::output::{check_target, refuse_in_place_of, write_lines, write_text};
use crate::report::{note, say};
use crate::standard::is_standard;
use crate::verb::{Entry, Group, Noun};
use crate::verbs::prelude::*;

/// List filters: row group, column, size, set bits, keys and rate now
#[derive(Debug, Args)]
pub(crate) struct ParquetListArgs {
    /// Parquet files
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// List only the filters of this column
    #[arg(long, short, value_name = "COLUMN")]
    pub(crate) column: Option<String>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) work: Work,
}

impl Verb for ParquetListArgs {
    const NAME: &str = "parquet list";
    const HELP: &str = "
also parquet info
umbel parquet list events.parquet   the Bloom filters of the file
umbel parquet list -c id events.parquet   those of one column
0 there are filters
1 there are no filters
";

    const RUN: fn(&Self) -> Result<Outcome> = list;
}

/// Print the files and row groups that may hold keys
///
/// Keys are the lines of standard input, or of the files named by --keys-from. For each key and file that may hold it, prints the
/// key, the file and the row groups to read (from 0, with commas), separated by tabs. For a key that no file may hold, prints -
/// after it. Minimum and maximum values, by which readers also skip row groups, are not used. A row group without a filter may
/// hold any key.
///
/// A key is read as the type of the column: 17, 0.5, 12.50, 2026-11-21, 17:29:25, 2026-11-21T17:29:25Z, or hexadecimal digits for a
/// UUID or for bytes of fixed length. Text and other bytes are taken as they are. A key that is not of the column's type is in no
/// row group, and no key is in a file without the column. Both are reported once per file.
#[derive(Debug, Args)]
pub(crate) struct ParquetWhichArgs {
    /// Parquet files; with --files-from, also those of a list
    #[arg(required_unless_present = "files_from", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Column
    #[arg(long, short, value_name = "COLUMN")]
    pub(crate) column: String,
    /// File of keys, one per line; repeat for several; - is standard input [default: standard input]
    #[arg(long, value_name = "KEYS", value_hint = ValueHint::FilePath)]
    pub(crate) keys_from: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) work: Work,
}

impl Verb for ParquetWhichArgs {
    const NAME: &str = "parquet which";
    const HELP: &str = "
also row groups, prune
umbel parquet which -c id *.parquet < ids.txt   files and row groups that may hold these ids
0 some row group may hold one of the keys
1 no row group may hold any of the keys
";
    const RUN: fn(&Self) -> Result<Outcome> = which;
}

pub(super) const PARQUET: Noun = Noun {
    name: "parquet",
    about: "List, look up, add and remove the Bloom filters in Parquet files (umbel help parquet)",
    help: "The Bloom filters in Parquet files\n\nA column in lists or structures is named by its path, as in user.id.",
    groups: &[Group {
        title: "Filters in Parquet files",
        verbs: &[
            Entry::of::<ParquetListArgs>(),
            Entry::of::<ParquetWhichArgs>(),
            Entry::of::<edit::ParquetAddArgs>(),
            Entry::of::<edit::ParquetRemoveArgs>(),
        ],
    }],
};

/// Bytes of text that are put together.
const TOGETHER: usize = 64 << 10;

/// The number of a column.
fn column(file: &ParquetFile<File>, name: &str) -> Result<usize> {
    file.column(Some(name)).map_err(|error| {
        let paths = file.columns().map(|(_, path)| path);
        match umbel_numbers::nearest(name, paths).filter(|near| near != name) {
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

/// Lists the filters of files, or of a column in them.
fn list(args: &ParquetListArgs) -> Result<Outcome> {
    let ParquetListArgs { files, column: name, output, work } = args;
    let options = lines::options(work, &[])?;
    check_output(output, files, work)?;
    let mut outcome = Outcome::Nothing;
    write_text(output.file(), |put| {
        for path in files {
            let file = open(path, &options.resources)?;
            let number = name.as_deref().map(|name| column(&file, name)).transpose()?;
            if file.chunks(number).any(|chunk| chunk.has_filter()) {
                outcome = Outcome::Done;
                list_file(&file, number, work.voice, &options, put)?;
            } else {
                note(&format!("umbel: {}: {}", file.name(), file.no_filters()));
            }
        }
        Ok(())
    })?;
    Ok(outcome)
}

/// Refuses to write text where a Parquet file is read from.
fn check_output(output: &OutputArgs, files: &[PathBuf], work: &Work) -> Result<()> {
    refuse_in_place_of(output.file(), &files.iter().map(Some).collect::<Vec<_>>())?;
    check_target(output.file(), work.writes(), output.replace.force)
}

fn list_file(
    file: &ParquetFile<File>,
    column: Option<usize>,
    voice: Voice,
    options: &Options,
    put: &mut dyn FnMut(&str) -> Result<()>,
) -> Result<()> {
    let each = |see: &mut dyn FnMut(&Chunk<'_, File>, Receipt) -> Result<()>| {
        for chunk in file.chunks(column) {
            let admit = |bytes| Ok(room_left(file.memory() + bytes, &options.resources).map(drop)?);
            if let Some(filter) = chunk.filter(admit)? {
                see(&chunk, filter.receipt())?;
            }
        }
        Ok(())
    };
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

/// Prints the files and row groups that may hold each key.
fn which(args: &ParquetWhichArgs) -> Result<Outcome> {
    let options = lines::options(&args.work, &[])?;
    let files = lines::named(&args.files, &args.work)?;
    check_output(&args.output, &files, &args.work)?;
    let keys_are_typed =
        args.keys_from.is_empty() || args.keys_from.iter().any(|path| is_standard(path));
    if keys_are_typed && args.work.files_from.as_deref().is_some_and(is_standard) {
        bail!(
            "-: standard input can be read only once, and --files-from reads the list from it; name a file of keys with --keys-from"
        );
    }
    let mut which = Which::new(files, &args.column, &options.resources)?;
    let sources = lines::open_alone(&args.keys_from, &args.work, &options)?;
    let (voice, end, room) = (args.work.voice, options.form.records.end(), which.room());
    let run = Run::start("parquet which", voice, &options.resources.progress);
    let (mut total, mut found, mut written) = (Report::default(), 0, 0);
    write_lines(args.output.file(), |out| {
        let mut answer = |kept: &mut Kept| {
            let mut text = Vec::new();
            let names: Vec<_> = which.files.iter().map(|file| file.path.clone()).collect();
            let mut put = |text: &mut Vec<u8>| -> Result<()> {
                written += text.len() as u64;
                out.write_all(text).map_err(Error::Output)?;
                text.clear();
                Ok(())
            };
            let tell = &mut |path: &Path, why: &str| {
                say(&format!("umbel: warning: {}: {why}", path.display()));
            };
            which.look_up(&kept.keys(), tell, &mut |key, hits| {
                found += u64::from(!hits.is_empty());
                for of_file in hits.chunk_by(|left, right| left.file == right.file) {
                    let name = &names[of_file[0].file as usize];
                    answer_line(&mut text, key, Some((name, of_file)), voice.json, end);
                }
                if hits.is_empty() {
                    answer_line(&mut text, key, None, voice.json, end);
                }
                if text.len() >= TOGETHER { put(&mut text) } else { Ok(()) }
            })?;
            kept.clear();
            put(&mut text)
        };
        let mut kept = Kept::default();
        for source in sources {
            let mut see = |keys: &KeyBatch<'_>| {
                for key in keys.iter() {
                    if kept.bytes() + key.len() as u64 + EACH > room {
                        // That nobody reads the output is told from other errors.
                        answer(&mut kept).map_err(|error| {
                            error.downcast().unwrap_or_else(|error| Error::Work(error.into()))
                        })?;
                    }
                    kept.push(key);
                }
                Ok(())
            };
            total.add(source.read(&options, Ok(room), |lines| {
                Ok(umbel_sets::keys(lines, room, &options, &mut see)?)
            })?);
        }
        answer(&mut kept)
    })?;
    run.check_keyed(&total)?;
    total.found = found;
    total.bytes_written = written;
    // With this chance, an absent key seems to be in one of the groups; no present key is missed.
    total.error = Some(ErrorBound { extra: which.rate(), missing: 0.0 });
    if voice.json && !voice.quiet {
        which.files.iter().for_each(|file| say(&summary_json(file, &args.column).to_string()));
    } else if run.tells() {
        say(&summary(&which, &args.column));
    }
    run.finish(&total, "found", None, &[]);
    Ok(if found > 0 { Outcome::Done } else { Outcome::Nothing })
}

/// Bytes of memory for a key besides its own.
const EACH: u64 = 64;

/// Keys that are looked up together.
#[derive(Default)]
struct Kept {
    text: Vec<u8>,
    ends: Vec<usize>,
}

impl Kept {
    fn push(&mut self, key: &[u8]) {
        self.text.extend(key);
        self.ends.push(self.text.len());
    }

    fn bytes(&self) -> u64 {
        self.text.len() as u64 + EACH * self.ends.len() as u64
    }

    fn keys(&self) -> Vec<&[u8]> {
        let starts = [0].into_iter().chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.text[start..*end]).collect()
    }

    fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
    }
}

/// Adds the line of a key: the row groups of a file that may hold it, or that there are none.
fn answer_line(
    text: &mut Vec<u8>,
    key: &[u8],
    found: Option<(&PathBuf, &[Hit])>,
    json: bool,
    end: u8,
) {
    let groups = found.map_or(&[][..], |(_, hits)| hits).iter().map(|hit| hit.row_group);
    if json {
        let groups: Vec<_> = groups.collect();
        let mut object = json!({ "type": "parquet_key", "row_groups": groups });
        if let Some((path, _)) = found {
            object["file"] = json!(path.display().to_string());
        }
        match std::str::from_utf8(key) {
            Ok(key) => object["key"] = json!(key),
            Err(_) => object["key_bytes"] = json!(key),
        }
        text.extend(object.to_string().into_bytes());
        text.push(b'\n');
        return;
    }
    text.extend(key);
    text.push(b'\t');
    match found {
        Some((path, _)) => {
            text.extend(path.as_os_str().as_encoded_bytes());
            let groups: Vec<_> = groups.map(|group| group.to_string()).collect();
            text.extend(format!("\t{}", groups.join(",")).into_bytes());
        }
        None => text.push(b'-'),
    }
    text.push(end);
}

/// What a reader would read of a file for all of the keys together.
fn summary_json(file: &Searched, column: &str) -> Value {
    let numbers = |which: fn(&RowGroup) -> bool| -> Vec<usize> {
        let groups = file.row_groups.iter().enumerate();
        groups.filter(|(_, group)| which(group)).map(|(number, _)| number).collect()
    };
    let bytes = |which: fn(&RowGroup) -> bool| -> u64 {
        bytes_of(file.row_groups.iter().filter(|group| which(group)))
    };
    json!({
        "type": "parquet_row_groups",
        "file": file.path.display().to_string(),
        "column": column,
        "row_groups": file.row_groups.len(),
        "to_read": numbers(|group| group.is_to_read),
        "unfiltered": numbers(|group| group.is_unfiltered),
        "column_bytes": bytes(|_| true),
        "column_bytes_to_read": bytes(|group| group.is_to_read),
    })
}

/// The bytes of row groups; a damaged footer may declare any.
fn bytes_of<'a>(groups: impl Iterator<Item = &'a RowGroup>) -> u64 {
    groups.map(|group| group.bytes).fold(0, u64::saturating_add)
}

/// What a reader would read of all files for all of the keys together.
fn summary(which: &Which<'_>, column: &str) -> String {
    let groups = || which.files.iter().flat_map(|file| &file.row_groups);
    let to_read = || groups().filter(|group| group.is_to_read);
    let mut text = format!(
        "umbel: {} of {} in {} may hold one of the keys: a reader needs {} of the {} in column {column}",
        Count(to_read().count() as u64),
        counted(groups().count() as u64, "row group"),
        counted(which.files.len() as u64, "file"),
        Size(bytes_of(to_read())),
        Size(bytes_of(groups()))
    );
    let unfiltered = groups().filter(|group| group.is_unfiltered).count();
    if unfiltered > 0 {
        text += &format!("; {} without a filter must always be read", Count(unfiltered as u64));
    }
    text
}
