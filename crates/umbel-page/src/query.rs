//! Keys that are looked up.

use std::borrow::Cow;

use anyhow::{Context, Result, anyhow};
use serde::{Deserialize, Serialize};
use umbel::{AnyFilter, Capacity, Filter, KeyForm, Kind};
use umbel_find::index::look_up::{Blocks, FIELD_PROBES, Probed, key_of_field, keys_of_text};
use umbel_find::index::{About, Index, IndexError};
use umbel_foreign::{Foreign, ForeignFilter, KeyType};
use umbel_numbers::Rate;
use umbel_parquet::ParquetFile;
use umbel_parquet::look_up::LookUps;

use crate::files::{Content, Files, Found, Reader};
use crate::refused::Refused;

/// The keys to look up.
#[derive(Deserialize)]
pub(crate) struct Asked {
    handle: u32,
    keys: Vec<String>,
    #[serde(default)]
    key_type: String,
    #[serde(default)]
    field: String,
}

/// The answer for a key: small, because for many keys it is only whether they were found.
#[derive(Default)]
struct Answer {
    found: bool,
    more: Option<Box<More>>,
}

/// More details of an answer.
#[derive(Default, Serialize)]
struct More {
    /// As text, because a page's numbers have fewer digits.
    value: Option<String>,
    row_groups: Option<Vec<usize>>,
    /// For an index: the files that may have it, by their numbers.
    files: Option<Vec<u32>>,
    error: Option<String>,
}

impl Answer {
    fn with(found: bool, more: More) -> Self {
        Self { found, more: Some(Box::new(more)) }
    }

    /// The answer for a key that cannot be looked up.
    fn failed(error: String) -> Self {
        Self::with(false, More { error: Some(error), ..More::default() })
    }

    fn has_failed(&self) -> bool {
        self.more.as_ref().is_some_and(|more| more.error.is_some())
    }
}

/// The answers for all keys, and the rate.
type Answered = (Vec<Answer>, f64);

/// With fewer keys, a look-up is too quick to time.
const TIMED: usize = 1000;

pub(crate) fn answer(files: &Files, asked: &Asked) -> Result<String, Refused> {
    let file = files.get(asked.handle)?;
    let started = files.host.now();
    let mut doubt = None;
    let (answers, fpp) = match &file.content {
        Content::Own { filter, receipt } => {
            file.answers_for(filter)?;
            let assumed = filter.description().form() == Some(KeyForm::Mixed);
            doubt = Some(Doubt::Assumed { key_type: "bytes" })
                .filter(|_| assumed && asked.key_type.is_empty())
                .or(Doubt::of(filter));
            (own(filter, asked)?, receipt.fpp)
        }
        Content::Sealed { .. } => {
            let text = format!("{}: is keyed; give its secret", file.name);
            return Err(Refused::of("secret", text));
        }
        Content::Foreign { filter, receipt, .. } => {
            let types = filter.format().key_types();
            doubt = Some(Doubt::Assumed { key_type: types[0].name() })
                .filter(|_| asked.key_type.is_empty() && types.len() > 1);
            (foreign(filter, asked)?, receipt.fpp)
        }
        Content::Table { table, receipts } => {
            doubt = Some(Doubt::Sorted);
            let all: f64 = receipts.iter().map(|(_, receipt)| receipt.fpp).sum();
            let answer = |key: &String| match table.contains(key.as_bytes()) {
                Ok(found) => Answer { found, ..Answer::default() },
                Err(error) => Answer::failed(error.to_string()),
            };
            let answers = asked.keys.iter().map(answer).collect();
            (answers, all / receipts.len().max(1) as f64)
        }
        Content::Index { index, about } => {
            doubt = Some(Doubt::Indexed);
            index_of(index, about, &asked.keys).with_context(|| file.name.clone())?
        }
        Content::Parquet { file, filters } => parquet(file, filters, asked)?,
    };
    let spent = files.host.now() - started;
    let found = answers.iter().filter(|answer| answer.found).count();
    let failed = answers.iter().filter(|answer| answer.has_failed()).count();
    let nanoseconds = (asked.keys.len() >= TIMED).then(|| spent / asked.keys.len() as f64);
    let keys = asked.keys.iter().zip(answers).map(|(key, answer)| KeyAnswer {
        key,
        found: answer.found,
        more: answer.more.map(|more| *more).unwrap_or_default(),
    });
    let keys = keys.collect();
    let all = Answers { keys, found, failed, doubt, fpp, rate: Rate(fpp).to_string(), nanoseconds };
    serde_json::to_string(&all).map_err(|error| Refused::from(anyhow!(error)))
}

/// Why a key that is not found may have been inserted.
#[derive(Clone, Copy, Serialize)]
#[serde(tag = "name", rename_all = "snake_case")]
enum Doubt {
    /// The other system hashes several key types, and none was given: the keys are not found as this type.
    Assumed { key_type: &'static str },
    /// Old keys have left the window of the filter.
    Left,
    /// Old keys have faded.
    Faded,
    /// Files may have changed since they were indexed.
    Indexed,
    /// The filter to query depends on the order of keys, assumed to be the order of their bytes.
    Sorted,
}

impl Doubt {
    fn of(filter: &AnyFilter) -> Option<Self> {
        match (filter.kind(), filter.kind().capacity()) {
            (Kind::Window, _) => Some(Self::Left),
            (_, Capacity::Last) => Some(Self::Faded),
            _ => None,
        }
    }
}

/// The answers, as reported.
#[derive(Serialize)]
struct Answers<'a> {
    keys: Vec<KeyAnswer<'a>>,
    found: usize,
    /// The number of keys that could not be looked up.
    failed: usize,
    /// Why keys not found may have been inserted; null if they certainly were not.
    doubt: Option<Doubt>,
    fpp: f64,
    /// The same as text.
    rate: String,
    nanoseconds: Option<f64>,
}

#[derive(Serialize)]
struct KeyAnswer<'a> {
    key: &'a str,
    found: bool,
    #[serde(flatten)]
    more: More,
}

/// Whether lines are integers: the filter holds them alone, or they are asked.
fn integers(filter: &AnyFilter, key_type: &str) -> bool {
    match filter.description().form() {
        Some(KeyForm::Mixed) => key_type == "i64",
        form => form == Some(KeyForm::Integer),
    }
}

/// The key that a line is; `None` for one that is no integer, where lines are.
pub(crate) fn key_of<'a>(
    filter: &AnyFilter,
    key_type: &str,
    line: &'a str,
) -> Option<Cow<'a, [u8]>> {
    match integers(filter, key_type) {
        true => KeyForm::integer(line.as_bytes()).map(|key| key.to_vec().into()),
        false => Some(line.as_bytes().into()),
    }
}

fn own(filter: &AnyFilter, asked: &Asked) -> Result<Vec<Answer>> {
    if let AnyFilter::Bloomier(map) = filter
        && map.value_bits() > 0
    {
        let value = |key: &String| {
            let value = key_of(filter, &asked.key_type, key).and_then(|key| map.get(&*key));
            let value = value.map(|value| value.to_string());
            Answer::with(value.is_some(), More { value, ..More::default() })
        };
        return Ok(asked.keys.iter().map(value).collect());
    }
    let mut found = vec![false; asked.keys.len()];
    match filter.as_attributes() {
        Ok(rows) => {
            let place = rows.indices(&[&asked.field])?[0];
            let row = |key: &'_ String| {
                let mut row = vec![None; rows.names().len()];
                row[place] = Some(key.clone());
                row
            };
            let all: Vec<_> = asked.keys.iter().map(row).collect();
            rows.contains_rows(&all, &mut found)?;
        }
        Err(_) if integers(filter, &asked.key_type) => {
            let has = |line: &String| {
                key_of(filter, &asked.key_type, line).is_some_and(|key| filter.contains(&*key))
            };
            found = asked.keys.iter().map(has).collect();
        }
        Err(_) => filter.contains_all(&asked.keys, &mut found),
    }
    Ok(found.into_iter().map(|found| Answer { found, ..Answer::default() }).collect())
}

fn foreign(filter: &Foreign, asked: &Asked) -> Result<Vec<Answer>> {
    let format = filter.format();
    let key_type: KeyType = match &asked.key_type[..] {
        "" => format.key_types()[0],
        name => name.parse()?,
    };
    if !format.key_types().contains(&key_type) {
        let found = key_type.name();
        return Err(umbel_foreign::Error::KeyType { format, found }.into());
    }
    let mut buffers = vec![Vec::new(); asked.keys.len()];
    let lines = asked.keys.iter().zip(&mut buffers);
    let keys: Vec<_> = lines.map(|(key, buffer)| key_type.read(key.as_bytes(), buffer)).collect();
    // Valid keys are looked up together; the others get their error.
    let good: Vec<_> = keys.iter().filter_map(|key| key.as_ref().ok().copied()).collect();
    let mut found = vec![false; good.len()];
    let together = filter.contains_all(&good, &mut found).is_ok();
    let mut found = found.into_iter();
    let answer = |key: Result<umbel_foreign::Key<'_>, umbel_foreign::Error>| {
        let found = key.and_then(|key| match together {
            true => Ok(found.next().unwrap_or_default()),
            false => filter.contains(key),
        });
        match found {
            Ok(found) => Answer { found, ..Answer::default() },
            Err(error) => Answer::failed(error.to_string()),
        }
    };
    Ok(keys.into_iter().map(answer).collect())
}

/// The files of an index that may have each text, and the chance that a block does not narrow it down, for a value or
/// for the commonest words.
fn index_of(index: &Index<Reader>, about: &About, keys: &[String]) -> Result<Answered, IndexError> {
    let are_words = about.fields.is_empty();
    let mut blocks = Blocks::of(index);
    let mut answer = |key: &String| {
        let probed: Vec<Probed> = match are_words {
            false => vec![key_of_field(key.as_bytes())],
            true => match keys_of_text(key.as_bytes(), false, false) {
                Ok(keys) => keys,
                Err(wide) => return Ok(Answer::failed(format!("{key:?} {}", wide.reason()))),
            },
        };
        let mut files = Vec::new();
        blocks.each(&probed, |block| {
            // The last file that starts there or before; one without blocks starts where the next one does.
            let after = index.files.partition_point(|file| file.first <= block);
            files.push(after as u32 - 1);
        })?;
        files.sort_unstable();
        files.dedup();
        Ok(Answer::with(!files.is_empty(), More { files: Some(files), ..More::default() }))
    };
    let answers = keys.iter().map(&mut answer).collect::<Result<_, IndexError>>()?;
    let probes = if are_words { 4 } else { FIELD_PROBES as i32 };
    Ok((answers, about.fill.powi(probes)))
}

/// The row groups that may hold each key, and the chance that some group may for an absent key.
fn parquet(file: &ParquetFile<Reader>, filters: &[Found], asked: &Asked) -> Result<Answered> {
    let name = Some(&asked.field[..]).filter(|name| !name.is_empty());
    let column = file.column(name)?;
    let chunks: Vec<_> = file.chunks(Some(column)).collect();
    let first = chunks.first().context("the file has no row group")?;
    let (values, column) = (first.values(), first.column());
    let mut look_ups = LookUps::default();
    let push = |key: &String| look_ups.push(&values, key.as_bytes());
    let read: Vec<Result<()>> = asked.keys.iter().map(push).collect();
    let mut groups = vec![Vec::new(); look_ups.len()];
    let mut spared = 1.0;
    for chunk in &chunks {
        let of = |found: &&Found| found.row_group == chunk.row_group && found.column == column;
        let mut passes = |key: usize| {
            let groups: &mut Vec<usize> = &mut groups[key];
            if groups.last() != Some(&chunk.row_group) {
                groups.push(chunk.row_group);
            }
        };
        match filters.iter().find(of) {
            Some(found) => {
                spared *= 1.0 - found.receipt.fpp;
                look_ups.passing(&found.filter).for_each(passes);
            }
            // A group without a filter may hold any key.
            None => {
                spared = 0.0;
                (0..look_ups.len()).for_each(&mut passes);
            }
        }
    }
    let answer = |(read, groups): (Result<()>, Vec<usize>)| match read {
        Ok(()) => {
            let found = !groups.is_empty();
            Answer::with(found, More { row_groups: Some(groups), ..More::default() })
        }
        Err(error) => Answer::failed(format!("{error:#}")),
    };
    Ok((read.into_iter().zip(groups).map(answer).collect(), 1.0 - spared))
}
