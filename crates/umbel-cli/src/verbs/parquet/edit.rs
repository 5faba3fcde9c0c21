//! `umbel parquet add` and `umbel parquet remove`: adds filters to a Parquet file, or removes them.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal};

use serde_json::{Value, json};
use umbel_numbers::{Count, Fpp, Rate, Size, counted};
use umbel_parquet::look_up::Values;
use umbel_parquet::{Added, Edit, Edited, Plan, Reason, Removal};

use crate::args::{ExplainArgs, OutputArgs, Work};
use crate::lines;
use crate::output::{only_print, stdout};
use crate::report::say;
use crate::target::{self, FileType};
use crate::verbs::prelude::*;

/// A Parquet file that is changed, and where it goes.
#[derive(Debug, Args)]
pub(crate) struct ParquetChangeArgs {
    /// Parquet file
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) work: Work,
    #[command(flatten)]
    pub(crate) explain: ExplainArgs,
}

/// Add filters of columns, in place or to the file that -o names
///
/// Reads the columns once, and writes a filter per row group behind the data. All pages stay byte for byte where they are; in the
/// footer, only the places of the filters change. The file is replaced in one step. Row groups where a filter would not help are
/// skipped, unless --always is given: few distinct values, all values in the dictionary, or minimum equal to maximum. Existing
/// filters are kept, unless --again is given. FLOAT16 and decimals of more than 38 digits get no filter, because DuckDB reads
/// them as wider floats and would miss them. Encrypted files, whose footers are signed, are refused.
///
/// Needs a program built with the feature parquet: cargo install umbel-cli --features parquet.
#[derive(Debug, Args)]
pub(crate) struct ParquetAddArgs {
    /// Column that gets filters; repeat for several
    #[arg(short, long = "column", required = true, value_name = "COLUMN")]
    pub(crate) columns: Vec<String>,
    /// Highest false positive rate, e.g. 0.001 or 0.1%
    #[arg(long, value_name = "P", default_value = "0.01")]
    pub(crate) fpp: Fpp,
    /// Add filters even to row groups where they do not help
    #[arg(long)]
    pub(crate) always: bool,
    /// Replace the filters that these columns have; where a new one would not help, only remove the old one
    #[arg(long)]
    pub(crate) again: bool,
    #[command(flatten)]
    pub(crate) change: ParquetChangeArgs,
}

impl Verb for ParquetAddArgs {
    const NAME: &str = "parquet add";
    const HELP: &str = "
umbel parquet add -c id events.parquet -o new.parquet   a copy with filters of id
0 the file is written
1 there is nothing to add, and no file is written
";
    const RUN: fn(&Self) -> Result<Outcome> = add;
}

/// Remove the filters of columns, in place or to the file that -o names
///
/// The file gets shorter if the filters are the last part before the footer, where umbel parquet add puts them.
#[derive(Debug, Args)]
pub(crate) struct ParquetRemoveArgs {
    /// Column whose filters are removed; repeat for several
    #[arg(short, long = "column", required_unless_present = "all", value_name = "COLUMN")]
    pub(crate) columns: Vec<String>,
    /// Remove the filters of all columns
    #[arg(long, conflicts_with = "columns")]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) change: ParquetChangeArgs,
}

impl Verb for ParquetRemoveArgs {
    const NAME: &str = "parquet remove";
    const HELP: &str = "
also strip, clear
umbel parquet remove -c id events.parquet   remove the filters of id
umbel parquet remove --all events.parquet   remove all filters
0 the file is written
1 there is nothing to remove, and no file is written
";
    const RUN: fn(&Self) -> Result<Outcome> = remove;
}

/// Bytes of freed memory to keep at most.
const MOST_KEPT: u64 = 64 << 20;

pub(crate) fn add(args: &ParquetAddArgs) -> Result<Outcome> {
    let edit = Edit {
        add: args.columns.clone(),
        remove: Removal::Of(if args.again { args.columns.clone() } else { Vec::new() }),
        fpp: args.fpp.0,
        always: args.always,
    };
    change("parquet add", &edit, &args.change)
}

pub(crate) fn remove(args: &ParquetRemoveArgs) -> Result<Outcome> {
    let remove = if args.all { Removal::All } else { Removal::Of(args.columns.clone()) };
    let edit = Edit { add: Vec::new(), remove, fpp: 1.0, always: false };
    change("parquet remove", &edit, &args.change)
}

fn change(
    verb: &'static str,
    edit: &Edit,
    ParquetChangeArgs { file, output, work, explain }: &ParquetChangeArgs,
) -> Result<Outcome> {
    let resources = &lines::options(work, &[])?.resources;
    // Write in place, to another file, or to standard output.
    let to = if output.output.is_none() { Some(&**file) } else { output.file() };
    let plan = Plan::new(file, edit, resources)?;
    let voice = work.voice;
    if explain.explain {
        return only_print(explained(&plan, voice.json));
    }
    // Pages have about 1 MiB, which would otherwise be returned to the system.
    umbel_io::keep_memory((resources.memory / 64).min(MOST_KEPT) / resources.threads as u64);
    let run = Run::start(verb, voice, &resources.progress);
    let edited = match to {
        Some(path) => {
            let existing = target::check(path, FileType::Parquet, output.replace.force)?;
            plan.write_to(path, existing, resources)?
        }
        None if io::stdout().is_terminal() => {
            bail!("a Parquet file is not text; name a file with -o, or pipe it")
        }
        None => plan.write(&stdout()?, resources)?,
    };
    let (seconds, tells) = run.ended();
    if voice.json && !voice.quiet {
        for column in &edited.columns {
            say(&column_json(column).to_string());
        }
        say(&summary_json(&plan, &edited, seconds).to_string());
    } else if !voice.quiet {
        tell(&edited, edit.fpp, tells);
        if edited.bytes_written == 0 {
            let what = if to.is_some() { "nothing was written" } else { "it was copied as it is" };
            say(&format!("umbel: {}: nothing to change, so {what}", plan.name));
        } else if tells {
            say(&format!(
                "umbel: {} written, {} of values read, {seconds:.3} s",
                Size(edited.bytes_written),
                Size(edited.bytes_read)
            ));
        }
    }
    Ok(if edited.bytes_written > 0 { Outcome::Done } else { Outcome::Nothing })
}

/// What was done, as text: what was left out always, what was asked for if `all` is to be told.
fn tell(edited: &Edited, fpp: f64, all: bool) {
    for (column, filters) in edited.removed.iter().filter(|_| all) {
        say(&format!("umbel: column {column}: removed {}", counted(*filters as u64, "filter")));
    }
    if edited.unreachable > 0 {
        say(&format!(
            "umbel: {} of removed filters stay in the file, because other data follows them",
            Size(edited.unreachable)
        ));
    }
    for column in &edited.columns {
        let name = &column.column;
        let worst = column.filters.iter().map(|filter| filter.fpp).fold(0.0, f64::max);
        if all && !column.filters.is_empty() {
            let bytes = column.filters.iter().map(|filter| filter.bytes).sum();
            let keys: f64 = column.filters.iter().map(|filter| filter.keys).sum();
            say(&format!(
                "umbel: column {name}: added {} of {}, about {}, rate at most {}",
                counted(column.filters.len() as u64, "filter"),
                Size(bytes),
                counted(keys.round() as u64, "key"),
                Rate(worst)
            ));
        }
        if worst > fpp {
            say(&format!(
                "umbel: warning: column {name}: a filter has at most 128 MiB, too few for a row group's keys, so its rate is {}",
                Rate(worst)
            ));
        }
        for (reason, groups) in column.by_reason() {
            let remedy = match reason {
                Reason::Present => "; --again replaces it",
                Reason::Empty | Reason::ReadAsFloat => "",
                _ => "; --always adds one",
            };
            let removed = edited.removed.iter().any(|(removed, _)| removed == name);
            let old = if removed { ", and the old one is removed" } else { "" };
            say(&format!(
                "umbel: column {name}: no new filter in {}{old}: {reason}{remedy}",
                counted(groups.len() as u64, "row group")
            ));
        }
    }
}

fn left_out(column: &Added) -> BTreeMap<&'static str, Vec<usize>> {
    column.by_reason().map(|(reason, groups)| (reason.name(), groups)).collect()
}

fn column_json(column: &Added) -> Value {
    let filters = column.filters.iter().map(|filter| {
        json!({
            "row_group": filter.row_group,
            "bytes": filter.bytes,
            "keys": filter.keys,
            "fpp": filter.fpp,
        })
    });
    json!({
        "type": "parquet_added",
        "column": column.column,
        "filters": filters.collect::<Vec<_>>(),
        "left_out": left_out(column),
    })
}

fn summary_json(plan: &Plan, edited: &Edited, seconds: f64) -> Value {
    let removed: BTreeMap<_, _> =
        edited.removed.iter().map(|(name, count)| (name, count)).collect();
    json!({
        "type": "parquet_edit",
        "file": plan.name,
        "row_groups": plan.row_groups(),
        "added": edited.columns.iter().map(|column| column.filters.len()).sum::<usize>(),
        "removed": removed,
        "unreachable_bytes": edited.unreachable,
        "bytes_read": edited.bytes_read,
        "bytes_written": edited.bytes_written,
        "peak_memory": umbel_io::peak_memory(),
        "seconds": seconds,
    })
}

/// What would be done: `--explain`.
fn explained(plan: &Plan, json: bool) -> String {
    let columns = plan.columns();
    let read = |added: &Added| plan.row_groups() - added.left_out.len();
    if json {
        let columns = columns.iter().map(|added| {
            json!({ "column": added.column, "row_groups": read(added), "left_out": left_out(added) })
        });
        let object = json!({
            "type": "parquet_plan",
            "file": plan.name,
            "row_groups": plan.row_groups(),
            "columns": columns.collect::<Vec<_>>(),
            "removed": plan.removed.len(),
            "unreachable_bytes": plan.unreachable,
            "bytes_kept": plan.body,
            "bytes_to_read": plan.bytes_to_read(),
        });
        return format!("{object}\n");
    }
    let mut text = format!(
        "{}: {}; {} stay as they are\n",
        plan.name,
        counted(plan.row_groups() as u64, "row group"),
        Size(plan.body)
    );
    if !plan.removed.is_empty() {
        text += &format!("remove {}\n", counted(plan.removed.len() as u64, "filter"));
    }
    for (number, added) in plan.added.iter().zip(&columns) {
        text += &format!(
            "column {}, {}: read {}\n",
            added.column,
            Values::of(plan.column(*number)),
            counted(read(added) as u64, "row group")
        );
        for (reason, groups) in added.by_reason() {
            text += &format!("  {} left out: {reason}\n", Count(groups.len() as u64));
        }
    }
    text + &format!("read {} of values\n", Size(plan.bytes_to_read()))
}
