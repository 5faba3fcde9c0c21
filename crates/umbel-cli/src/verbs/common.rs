//! `umbel common`: the lines files share.

use std::io;

use anyhow::Result;
use serde_json::json;
use umbel_sets::{Common, CommonPlan, Input, Options, Strategy};

use super::print;
use crate::Outcome;
use crate::args::CommonArgs;
use crate::lines;
use crate::numbers::{Count, Rate, Size};
use crate::report::Run;

pub(crate) fn common(args: &CommonArgs) -> Result<Outcome> {
    let options = lines::options(&args.work)?;
    let inputs = lines::open_rereadable(&args.files, &options)?;
    let at_least = args.at_least.unwrap_or(inputs.len());
    let job = Common::new(&inputs, at_least, args.fpp.map(|fpp| fpp.0), &options)?;
    if args.work.explain {
        print(explain(&job.plan()?, &inputs, at_least, &options, args.work.voice.json))?;
        return Ok(Outcome::Done);
    }
    let run = Run::start("common", args.work.voice, &options.progress);
    let report = job.run(&mut io::stdout())?;
    run.finish(&report, "common", None);
    Ok(if report.found > 0 { Outcome::Done } else { Outcome::Nothing })
}

fn explain(
    plan: &CommonPlan,
    inputs: &[Input],
    at_least: usize,
    options: &Options,
    as_json: bool,
) -> String {
    let strategy = match plan.strategy {
        Strategy::Table => "table",
        Strategy::Chain => "chain",
        Strategy::Bank => "bank",
        Strategy::OnePass => "one-pass",
        _ => "other",
    };
    if as_json {
        let filters = plan.filters.iter().map(|(input, filter)| {
            json!({"input": inputs[*input].name(), "keys": filter.keys, "bytes": filter.bytes(),
                   "probes": filter.probes, "fpp": filter.fpp})
        });
        let lines = inputs.iter().zip(&plan.lines);
        let files = lines.map(
            |(input, lines)| json!({"name": input.name(), "bytes": input.length(), "lines": lines}),
        );
        let object = json!({
            "type": "explain", "verb": "common", "strategy": strategy, "exact": plan.strategy != Strategy::OnePass,
            "memory": options.memory, "threads": options.threads, "at_least": at_least,
            "inputs": files.collect::<Vec<_>>(), "filters": filters.collect::<Vec<_>>(),
            "table_bytes": plan.table, "passes": plan.passes, "bytes_read": plan.bytes_read,
        });
        return format!("{object}\n");
    }
    let mut text =
        format!("memory   {} in all, {} threads\n", Size(options.memory), options.threads);
    for (input, lines) in inputs.iter().zip(&plan.lines) {
        text += &format!(
            "input    {}: {}, about {} lines\n",
            input.name(),
            Size(input.length()),
            Count(*lines)
        );
    }
    text += match plan.strategy {
        Strategy::Table => {
            "plan     table: keep the lines that may come first, without filters, since they are few or filters would let most of them pass\n"
        }
        Strategy::Chain => {
            "plan     chain: filters bring the first input down to the lines that may be common; their bytes are then compared\n"
        }
        Strategy::Bank => {
            "plan     bank: a filter of each later input; lines that enough of them let pass are kept and their bytes compared\n"
        }
        _ => "plan     one-pass: filters alone decide, each input is read once\n",
    };
    for (input, filter) in &plan.filters {
        text += &format!(
            "filter   of {}: {} for {} keys, {} probes, rate {}\n",
            inputs[*input].name(),
            Size(filter.bytes()),
            Count(filter.keys),
            filter.probes,
            Rate(filter.predicted_fpp())
        );
    }
    if plan.strategy != Strategy::OnePass {
        text += &format!(
            "table    up to {} of lines in memory, the rest on disk in {}\n",
            Size(plan.table),
            options.tmp.display()
        );
    }
    text += &format!("reading  {} in {} passes\n", Size(plan.bytes_read), plan.passes);
    text
}
