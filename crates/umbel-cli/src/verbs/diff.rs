//! `umbel diff`: the lines that only one of two files has.

use umbel_numbers::counted;
use umbel_sets::changes::{self, Also, Files, Marks};
use umbel_sets::{Changes, Diff, Records};

use super::explain::{self, Job};
use super::operation::hints;
use crate::args::LinesArgs;
use crate::lines::{self, RowsOf};
use crate::output::{check_lines, only_print, print, write_lines};
use crate::target;
use crate::verbs::prelude::*;

/// A column, and how far its numbers may be from each other.
fn tolerance(text: &str) -> Result<(String, f64), String> {
    let parts =
        text.rsplit_once('=').and_then(|(name, most)| Some((name, most.parse::<f64>().ok()?)));
    match parts {
        Some((name, most)) if most >= 0.0 && !name.is_empty() => Ok((name.to_owned(), most)),
        _ => Err("write a column and a number, as in price=0.01".to_owned()),
    }
}

/// Print the lines that are in only one of two files: - for OLD, + for NEW
///
/// The order of lines does not matter. Prints each line once: first removed lines (-) in OLD's order, then added ones (+) in
/// NEW's. With --key, a row of NEW is marked as changed (~) if a removed row of OLD has the same key. The comparison is exact, and
/// files may be larger than memory.
///
/// A line that one file repeats more often is printed only with --counts, but it is a difference: the report counts it, and the
/// exit status is 1.
///
/// --total prints how many lines were removed, added and kept, and with --key changed.
#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// Two files of lines, OLD and NEW; - is standard input
    #[arg(required_unless_present = "files_from", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Print the lines without marks: the symmetric difference
    #[arg(long)]
    pub(crate) symmetric: bool,
    /// Write added and changed lines to FILE
    ///
    /// With --added, --changed, --removed or --kept, lines have no marks, and nothing is printed.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "output")]
    pub(crate) added: Option<PathBuf>,
    /// Write changed lines to FILE; --added then gets only added ones
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "output")]
    pub(crate) changed: Option<PathBuf>,
    /// Write removed lines, and the old rows of changed ones, to FILE
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "output")]
    pub(crate) removed: Option<PathBuf>,
    /// Write the lines in both files to FILE
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "output")]
    pub(crate) kept: Option<PathBuf>,
    /// Ignore this column, which one file may lack; repeat for several
    #[arg(long, value_name = "FIELD", conflicts_with = "raw")]
    pub(crate) ignore_column: Vec<String>,
    /// Print the old row (<) before each changed one (~)
    #[arg(long)]
    pub(crate) old: bool,
    /// Also print lines that one file repeats more often, marked +2 or -1
    #[arg(long)]
    pub(crate) counts: bool,
    /// Print the mark as a first column named change
    ///
    /// With --jsonl, {"change":"~","record":…}.
    #[arg(long)]
    pub(crate) mark_column: bool,
    /// Print changed cells instead of rows: key, column, old and new value
    #[arg(long, conflicts_with = "raw")]
    pub(crate) cells: bool,
    /// Ignore differences of at most D between numbers of this column
    #[arg(long, value_name = "COLUMN=D", value_parser = tolerance, conflicts_with_all = ["total", "raw"])]
    pub(crate) tolerance: Vec<(String, f64)>,
    #[command(flatten)]
    pub(crate) lines: LinesArgs,
}

impl Verb for DiffArgs {
    const NAME: &str = "diff";
    const HELP: &str = "
also comm, csvdiff, compare csv, changes, compare, symmetric difference
umbel diff monday.txt tuesday.txt   removed (-) and added (+) lines
umbel diff -k id a.csv b.csv   changed (~) rows too
umbel diff --cells -k id a.csv b.csv   changed cells
umbel diff --added new.txt monday.txt tuesday.txt   only the added lines, in a file
0 both files have the same lines
1 the files differ
";
    const RUN: fn(&Self) -> Result<Outcome> = diff;
}

pub(crate) fn diff(args: &DiffArgs) -> Result<Outcome> {
    let files = Files {
        added: args.added.as_deref(),
        changed: args.changed.as_deref(),
        removed: args.removed.as_deref(),
        kept: args.kept.as_deref(),
    };
    files.check()?;
    for file in [&args.added, &args.changed, &args.removed, &args.kept].into_iter().flatten() {
        target::check(file, args.lines.work.writes(), args.lines.to.replace.force)?;
    }
    check_lines(&args.lines)?;
    let mut options = lines::options_of_several(&args.lines.work, &args.files, false)?;
    options.form.ignored.clone_from(&args.ignore_column);
    options.form.further = args.tolerance.iter().map(|(column, _)| column.clone()).collect();
    // Under one header, rows have the columns of both files.
    options.form.by_name = !options.form.ignored.is_empty()
        && (args.symmetric || args.mark_column || !files.is_empty());
    if !options.form.ignored.is_empty()
        && !matches!(options.form.records, Records::Csv { .. } | Records::Tsv { .. })
    {
        bail!("--ignore-column requires --csv or --tsv, since other records have no columns");
    }
    if options.form.others == [""] {
        bail!(
            "--key LEFT=: diff takes no list of keys; use umbel common --all or umbel except --all"
        );
    }
    if !options.form.others.is_empty() && !options.form.records.has_header() {
        bail!(
            "--key LEFT=RIGHT renames a column, since diff compares whole rows; it needs the header of --csv or --tsv"
        );
    }
    let run = Run::start("diff", args.lines.work.voice, &options.resources.progress);
    let inputs = lines::open_several(&args.files, &args.lines.work, RowsOf::All, &mut options)?;
    if inputs.len() > 2 {
        bail!("found {} files; diff compares two, OLD and NEW", inputs.len());
    }
    let keyed = !options.form.records.key().is_empty();
    if args.old && !keyed {
        bail!(
            "--old pairs a changed row with the old row of the same key; name the key with --key"
        );
    }
    let by_cells = args.cells || !args.tolerance.is_empty();
    let has_cells = !matches!(options.form.records, Records::Lines(_) | Records::Fields { .. });
    if by_cells && !(keyed && has_cells) {
        bail!(
            "cells are compared in rows with the same key; name the key with --key, and the format with --csv, --tsv or --jsonl"
        );
    }
    let job = Diff::new(&inputs, &options)?.paired(args.old || by_cells);
    let job = job.with_kept(files.kept.is_some());
    let about = Job { verb: "diff", inputs: &inputs, options: &options };
    if args.lines.explain.explain {
        return only_print(explain::operation(&job.plan()?, &about, args.lines.work.voice.json));
    }
    let report = if args.lines.total {
        let report = job.run(&mut |_, _| Ok(()))?;
        let Changes { removed, added, changed, kept, .. } = report.changes.unwrap_or_default();
        let changed = if keyed { format!("\t{changed}") } else { String::new() };
        print(format!("{removed}\t{added}\t{kept}{changed}\n"))?;
        report
    } else if !files.is_empty() {
        files.write(&job, &args.tolerance)?
    } else {
        let marks = match (args.symmetric, args.mark_column) {
            (true, _) => Marks::None,
            (_, true) => Marks::Column,
            _ => Marks::InFront,
        };
        let also = Also { old: args.old || args.symmetric, uneven: args.counts };
        write_lines(args.lines.to.file(), |out| match args.cells {
            true => Ok(changes::write_cells(&job, &args.tolerance, out)?),
            false => Ok(changes::write(&job, marks, also, &args.tolerance, out)?),
        })?
    };
    let changes = report.changes.unwrap_or_default();
    let told = args.counts || run.tells() && changes.different() > 0;
    let others = changes.added + changes.removed;
    let mut hints = hints(&about, report.found, &args.lines.work);
    if args.cells && others > 0 {
        hints.push(format!(
            "{} of only one file, which {} no changed cells; for rows, use --mark-column instead of --cells",
            counted(others, "row"),
            if others == 1 { "has" } else { "have" }
        ));
    }
    if changes.uneven > 0 && !told {
        hints.push(format!(
            "{} more often in one file than in the other; --counts prints which",
            counted(changes.uneven, "line")
        ));
    }
    run.finish(&report, "different", None, &hints);
    let equal = changes.different() + changes.uneven == 0;
    Ok(if equal { Outcome::Done } else { Outcome::Nothing })
}
