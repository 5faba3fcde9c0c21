//! `umbel dedup`: each different line once.

use anyhow::{Result, bail};
use serde_json::json;
use umbel_sets::{Distinct, DistinctPlan, DistinctStrategy};

use super::explain::{self, Job};
use super::seen;
use crate::Outcome;
use crate::args::DedupArgs;
use crate::lines;
use crate::output::{check_target, print, write_lines};
use crate::report::Run;

pub(crate) fn dedup(args: &DedupArgs) -> Result<Outcome> {
    if let Some(filter) = &args.seen {
        return seen::seen(filter, args);
    }
    if args.secret.secret_file.is_some() {
        bail!("--secret-file goes with --seen: other answers rest on no filter that is kept");
    }
    check_target(&args.output)?;
    let options = lines::options(&args.work)?;
    let run = Run::start("dedup", args.work.voice, &options.progress);
    let inputs = lines::open_rereadable(&args.files, &args.work, &options)?;
    let job = Distinct::lines(&inputs, &options)?
        .repeated(args.repeated)
        .counted(args.count)?
        .with_error(args.fpp.map(|fpp| fpp.0));
    if args.work.explain {
        let about = Job { verb: "dedup", inputs: &inputs, options: &options };
        print(explain(&job.plan()?, &about, args.work.voice.json))?;
        return Ok(Outcome::Done);
    }
    let report = write_lines(&args.output, |out| Ok(job.run(out)?))?;
    run.finish(&report, if args.repeated { "repeated" } else { "different" }, None);
    Ok(if report.found > 0 { Outcome::Done } else { Outcome::Nothing })
}

pub(super) fn explain(plan: &DistinctPlan, job: &Job<'_>, as_json: bool) -> String {
    let strategy = match plan.strategy {
        DistinctStrategy::Table => "table",
        DistinctStrategy::Filter => "filter",
        DistinctStrategy::OnePass => "one-pass",
        _ => "other",
    };
    let exact = plan.strategy != DistinctStrategy::OnePass;
    if as_json {
        let mut object = job.json(strategy, exact, &plan.lines);
        object["distinct"] = json!(plan.distinct);
        object["compared"] = json!(plan.compared);
        object["filters"] = plan.seen.iter().chain(&plan.doubtful).map(explain::filter).collect();
        object["table_bytes"] = json!(plan.table);
        object["passes"] = json!(plan.passes);
        object["bytes_read"] = json!(plan.bytes_read);
        object["bytes_spilled"] = json!(plan.bytes_spilled);
        return format!("{object}\n");
    }
    let mut text = job.text(&plan.lines);
    text += match plan.strategy {
        DistinctStrategy::Table => {
            "plan     table: look every line up, without filters, which would cost more than they spare\n"
        }
        DistinctStrategy::Filter => {
            "plan     filter: a first pass tells which lines may come again; the others go out as they lie, those are compared by their bytes\n"
        }
        _ => "plan     one-pass: filters alone decide, each input is read once\n",
    };
    let (first, second) = if exact {
        ("of all lines", "of lines that may come again")
    } else {
        ("of lines written", "of lines to leave out")
    };
    for (what, filter) in [(first, &plan.seen), (second, &plan.doubtful)] {
        if let Some(filter) = filter {
            text += &explain::filter_line(what, filter);
        }
    }
    if exact {
        text += &job.table(plan.compared, plan.table);
    }
    text + &explain::traffic(plan.bytes_read, plan.passes, plan.bytes_spilled)
}
