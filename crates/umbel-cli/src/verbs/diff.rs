//! `umbel diff`: the lines that only one of two files has.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::{Result, bail};
use umbel_sets::{Change, Changes, Diff, Report};

use super::explain::{self, Job};
use super::operation::hint;
use crate::Outcome;
use crate::args::DiffArgs;
use crate::atomic::{self, Existing};
use crate::lines::{self, Rows};
use crate::output::{check_target, print, write_file, write_lines};
use crate::report::Run;

pub(crate) fn diff(args: &DiffArgs) -> Result<Outcome> {
    let files = [&args.added, &args.removed, &args.kept].map(Option::as_deref);
    let named: Vec<&Path> = files.into_iter().flatten().collect();
    for (i, path) in named.iter().enumerate() {
        atomic::check_target(path, Existing::Replace)?;
        if named[..i].contains(path) {
            bail!("{}: is named for two outputs; give each its own file", path.display());
        }
    }
    check_target(&args.output.to)?;
    let options = lines::options(&args.work)?;
    let run = Run::start("diff", args.work.voice, &options.progress);
    let inputs = lines::open_several(&args.files, &args.work, Rows::OfAll, &options)?;
    if inputs.len() > 2 {
        bail!("found {} files; diff compares two, OLD and NEW", inputs.len());
    }
    let job = Diff::new(&inputs, &options);
    let about = Job { verb: "diff", inputs: &inputs, options: &options };
    if args.work.explain {
        print(explain::operation(&job.plan()?, &about, args.work.voice.json))?;
        return Ok(Outcome::Done);
    }
    let separator = options.separator;
    let report = if args.output.total {
        let report = job.run(&mut |_, _| Ok(()))?;
        let Changes { removed, added, changed, kept } = report.changes.unwrap_or_default();
        let keyed = !options.records.key().is_empty();
        let changed = if keyed { format!("\t{changed}") } else { String::new() };
        print(format!("{removed}\t{added}\t{kept}{changed}\n"))?;
        report
    } else if !named.is_empty() {
        to_files(&job, files, separator)?
    } else {
        write_lines(&args.output.to, |out| {
            let mut out = BufWriter::with_capacity(1 << 18, out);
            let report = job.run(&mut |change, row| {
                let mark = match change {
                    Change::Removed => b"- ",
                    Change::Added => b"+ ",
                    Change::Changed => b"~ ",
                    Change::Kept => return Ok(()),
                };
                [mark, row, &[separator]].iter().try_for_each(|part| out.write_all(part))
            })?;
            out.flush().map_err(umbel_sets::Error::Output)?;
            Ok(report)
        })?
    };
    let changes = report.changes.unwrap_or_default();
    run.finish(&report, "different", None);
    hint(&about, &args.work);
    Ok(if changes.different() == 0 { Outcome::Done } else { Outcome::Nothing })
}

/// Writes what was added or changed, removed and kept to a file each, where one is named.
fn to_files(job: &Diff<'_>, files: [Option<&Path>; 3], separator: u8) -> Result<Report> {
    let [added, removed, kept] = files;
    into(added, |added| {
        into(removed, |removed| {
            into(kept, |kept| {
                let write = |out: &mut dyn Write, row: &[u8]| {
                    out.write_all(row).and_then(|()| out.write_all(&[separator]))
                };
                if let Some(header) = &job.header()? {
                    write(added, header)?;
                    write(removed, header)?;
                    write(kept, header)?;
                }
                Ok(job.run(&mut |change, row| match change {
                    Change::Added | Change::Changed => write(added, row),
                    Change::Removed => write(removed, row),
                    Change::Kept => write(kept, row),
                })?)
            })
        })
    })
}

/// Lets `work` write to a file, or nowhere.
fn into<T>(
    path: Option<&Path>,
    work: impl FnOnce(&mut (dyn Write + Send)) -> Result<T>,
) -> Result<T> {
    match path {
        Some(path) => write_file(path, work),
        None => work(&mut io::sink()),
    }
}
