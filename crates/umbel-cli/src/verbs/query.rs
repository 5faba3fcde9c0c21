//! `umbel query`: the lines that may be in a filter, or those that certainly are not.

use std::io;

use anyhow::Result;
use umbel_sets::{ErrorBound, Query};

use super::explain;
use crate::Outcome;
use crate::args::QueryArgs;
use crate::filters;
use crate::lines::{self, Rows, Source};
use crate::output::{check_target, print, write_lines};
use crate::report::Run;

pub(crate) fn query(args: &QueryArgs) -> Result<Outcome> {
    check_target(&args.output.to)?;
    let options = lines::options(&args.work)?;
    let secret = filters::secret(&args.secret)?;
    let filter = filters::read(&args.filter, secret.as_ref(), &args.foreign, &options)?;
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
    let (rate, mut total) = if args.output.total {
        let (rate, total) = ask(&mut io::sink())?;
        print(format!("{}\n", total.found))?;
        (rate, total)
    } else {
        write_lines(&args.output.to, ask)?
    };
    // A line that was never put in passes wrongly with this chance; none that was is left out. The
    // other way round, such a line is wrongly left out.
    total.error = Some(if args.invert {
        ErrorBound { extra: 0.0, missing: rate }
    } else {
        ErrorBound { extra: rate, missing: 0.0 }
    });
    run.finish(&total, if args.invert { "absent" } else { "found" }, None);
    Ok(if total.found > 0 { Outcome::Done } else { Outcome::Nothing })
}
