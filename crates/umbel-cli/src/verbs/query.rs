//! `umbel query`: the lines that may be in a filter, or those that certainly are not.

use std::io;

use anyhow::{Result, bail};
use umbel_sets::{ErrorBound, Options, Query, Report};

use super::explain;
use crate::Outcome;
use crate::args::QueryArgs;
use crate::filters::{self, Large};
use crate::lines::{self, Rows, Source};
use crate::output::{check_target, print, refuse_in_place_of, write_result};
use crate::report::Run;
use crate::standard::is_standard;

pub(crate) fn query(args: &QueryArgs) -> Result<Outcome> {
    check_target(&args.output.to)?;
    let lines_from_stdin = args.files.iter().any(|path| is_standard(path))
        || args.files.is_empty() && args.work.files_from.is_none();
    if is_standard(&args.filter) && lines_from_stdin {
        bail!(
            "-: standard input can be read only once, and the filter is read from it; name files of lines"
        );
    }
    let options = lines::options(&args.work)?;
    let read = [Some(&args.filter), args.secret.secret_file.as_ref()];
    refuse_in_place_of(args.output.to.file(), &read)?;
    let secret = filters::secret(&args.secret)?;
    let file = filters::open_beside(&args.filter, &options, &args.trust)?;
    let secret = secret.as_ref();
    if let Some(large) = filters::large(&file, &args.filter, secret, &args.foreign, &options)? {
        return in_pieces(&large, args, &options);
    }
    let filter = filters::read(&file, &args.filter, secret, &args.foreign, &options)?;
    filters::check_keys(&filter, &args.filter, &options, &args.names)?;
    let sources = lines::open(&args.files, &args.work, Rows::OfAll, &options)?;
    if args.work.explain {
        print(explain::has(&filter, args.work.voice.json))?;
        return Ok(Outcome::Done);
    }
    let run = Run::start("query", args.work.voice, &options.progress);
    let ask = |out: &mut (dyn io::Write + Send)| {
        let mut query = Query::new(&filter, args.invert, out, &options)?;
        for source in sources {
            match source {
                Source::Files(inputs) => query.inputs(&inputs)?,
                Source::Stream(stream) => {
                    let (name, bytes) = stream.open(&options)?;
                    query.stream(&name, bytes)?;
                }
            }
        }
        Ok((query.fpp(), query.finish()?))
    };
    let (rate, mut total) = write_result(&args.output, ask)?;
    total.assumed_type = filter.assumed_type();
    Ok(finish(run, args, total, rate))
}

/// As [`query`], with a filter larger than the memory cap.
fn in_pieces(large: &Large<'_>, args: &QueryArgs, options: &Options) -> Result<Outcome> {
    large.check_keys(&args.filter, options, &args.names)?;
    let sources = lines::open(&args.files, &args.work, Rows::OfAll, options)?;
    if args.work.explain {
        print(explain::plan(&large.plan, args.work.voice.json))?;
        return Ok(Outcome::Done);
    }
    let run = Run::start("query", args.work.voice, &options.progress);
    let inputs = umbel_files::inputs::rereadable(sources, options)?;
    let (receipt, report) = write_result(&args.output, |out| {
        large.work(&args.filter, |filter| {
            let (report, receipt) =
                umbel_sets::query_in_pieces(&inputs, filter, args.invert, out, options)?;
            Ok((receipt, report))
        })
    })?;
    Ok(finish(run, args, report, receipt.fpp))
}

/// A line that was never put in passes wrongly with the chance `rate`; none that was is left out. The other way round,
/// such a line is wrongly left out.
fn finish(run: Run, args: &QueryArgs, mut report: Report, rate: f64) -> Outcome {
    report.error = Some(if args.invert {
        ErrorBound { extra: 0.0, missing: rate }
    } else {
        ErrorBound { extra: rate, missing: 0.0 }
    });
    run.finish(&report, if args.invert { "absent" } else { "found" }, None);
    if report.found > 0 { Outcome::Done } else { Outcome::Nothing }
}
