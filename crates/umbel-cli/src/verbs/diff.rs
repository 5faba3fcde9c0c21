//! `umbel diff`: the lines that only one of two files has.

use anyhow::{Result, bail};
use umbel_numbers::counted;
use umbel_sets::changes::{self, Also, Files, Marks};
use umbel_sets::{Changes, Diff, Records};

use super::explain::{self, Job};
use super::operation::hint;
use crate::Outcome;
use crate::args::DiffArgs;
use crate::lines::{self, Rows};
use crate::output::{check_target, print, write_lines};
use crate::report::{Run, say};
use crate::target;

pub(crate) fn diff(args: &DiffArgs) -> Result<Outcome> {
    let files = Files {
        added: args.added.as_deref(),
        changed: args.changed.as_deref(),
        removed: args.removed.as_deref(),
        kept: args.kept.as_deref(),
    };
    files.check()?;
    for file in [&args.added, &args.changed, &args.removed, &args.kept].into_iter().flatten() {
        target::check(file, args.work.writes(), args.output.to.replace.force)?;
    }
    check_target(args.output.to.file(), args.work.writes(), args.output.to.replace.force)?;
    let mut options = lines::options_of_several(&args.work, &args.files, false)?;
    options.form.ignored.clone_from(&args.ignore_column);
    if !options.form.ignored.is_empty()
        && !matches!(options.form.records, Records::Csv { .. } | Records::Tsv { .. })
    {
        bail!("--ignore-column requires --csv or --tsv, since other records have no columns");
    }
    if !options.form.others.is_empty()
        && (!options.form.records.has_header() || options.form.others == [""])
    {
        bail!(
            "--key LEFT=RIGHT renames a column, since diff compares whole rows; it needs the header of --csv or --tsv"
        );
    }
    let run = Run::start("diff", args.work.voice, &options.resources.progress);
    let inputs = lines::open_several(&args.files, &args.work, Rows::OfAll, &mut options)?;
    if inputs.len() > 2 {
        bail!("found {} files; diff compares two, OLD and NEW", inputs.len());
    }
    let keyed = !options.form.records.key().is_empty();
    if args.old && !keyed {
        bail!(
            "--old shows the old row next to the changed one, and rows change by their key; name it with --key"
        );
    }
    let by_cells = args.cells || !args.tolerance.is_empty();
    let has_cells = !matches!(options.form.records, Records::Lines(_) | Records::Fields { .. });
    if by_cells && !(keyed && has_cells) {
        bail!(
            "cells are those of a row with the same key: name it with --key, of --csv, --tsv or --jsonl"
        );
    }
    let job = Diff::new(&inputs, &options)?.paired(args.old || by_cells);
    let about = Job { verb: "diff", inputs: &inputs, options: &options };
    if args.work.explain {
        print(explain::operation(&job.plan()?, &about, args.work.voice.json))?;
        return Ok(Outcome::Done);
    }
    let report = if args.output.total {
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
        write_lines(args.output.to.file(), |out| match args.cells {
            true => Ok(changes::write_cells(&job, &args.tolerance, out)?),
            false => Ok(changes::write(&job, marks, also, &args.tolerance, out)?),
        })?
    };
    let changes = report.changes.unwrap_or_default();
    let told = args.counts || run.tells() && changes.different() > 0;
    run.finish(&report, "different", None);
    let others = changes.added + changes.removed;
    let speaks = !args.work.voice.quiet && !args.work.voice.json;
    if args.cells && others > 0 && speaks {
        say(&format!(
            "umbel diff: {} of only one file, which {} no changed cells; --mark-column prints rows",
            counted(others, "row"),
            if others == 1 { "has" } else { "have" }
        ));
    }
    if changes.uneven > 0 && !told && speaks {
        say(&format!(
            "umbel diff: {} more often in one file than in the other; --counts prints which",
            counted(changes.uneven, "line")
        ));
    }
    hint(&about, report.found, &args.work);
    let equal = changes.different() + changes.uneven == 0;
    Ok(if equal { Outcome::Done } else { Outcome::Nothing })
}
