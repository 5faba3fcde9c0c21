//! `umbel common`: the lines files share.

use anyhow::Result;
use serde_json::json;
use umbel_sets::{Common, CommonPlan, Distinct, Strategy};

use super::dedup;
use super::explain::{self, Job};
use crate::Outcome;
use crate::args::CommonArgs;
use crate::lines;
use crate::output::{check_target, print, write_lines};
use crate::report::Run;

pub(crate) fn common(args: &CommonArgs) -> Result<Outcome> {
    check_target(&args.output)?;
    let options = lines::options(&args.work)?;
    let run = Run::start("common", args.work.voice, &options.progress);
    let inputs = lines::open_several(&args.files, &args.work, &options)?;
    let at_least = args.at_least.unwrap_or(inputs.len());
    let about = Job { verb: "common", inputs: &inputs, options: &options };
    let report = if args.fpp.is_none() && at_least != inputs.len() {
        let job = Distinct::in_several(&inputs, at_least, &options)?;
        if args.work.explain {
            print(dedup::explain(&job.plan()?, &about, args.work.voice.json))?;
            return Ok(Outcome::Done);
        }
        write_lines(&args.output, |out| Ok(job.run(out)?))?
    } else {
        let job = match args.fpp {
            Some(fpp) => Common::with_error(&inputs, at_least, fpp.0, &options)?,
            None => Common::new(&inputs, &options)?,
        };
        if args.work.explain {
            print(explain(&job.plan()?, &about, at_least, args.work.voice.json))?;
            return Ok(Outcome::Done);
        }
        write_lines(&args.output, |out| Ok(job.run(out)?))?
    };
    run.finish(&report, "common", None);
    Ok(if report.found > 0 { Outcome::Done } else { Outcome::Nothing })
}

fn explain(plan: &CommonPlan, job: &Job<'_>, at_least: usize, as_json: bool) -> String {
    let inputs = job.inputs;
    let strategy = match plan.strategy {
        Strategy::Table => "table",
        Strategy::Chain => "chain",
        Strategy::OnePass => "one-pass",
        _ => "other",
    };
    if as_json {
        let filters = plan.filters.iter().map(|(input, filter)| {
            let mut object = explain::filter(filter);
            object["input"] = json!(inputs[*input].name());
            object
        });
        let mut object = job.json(strategy, plan.strategy != Strategy::OnePass, &plan.lines);
        object["at_least"] = json!(at_least);
        object["filters"] = filters.collect();
        object["table_bytes"] = json!(plan.table);
        object["compared"] = json!(plan.compared);
        object["passes"] = json!(plan.passes);
        object["bytes_read"] = json!(plan.bytes_read);
        object["bytes_spilled"] = json!(plan.bytes_spilled);
        return format!("{object}\n");
    }
    let mut text = job.text(&plan.lines);
    text += match plan.strategy {
        Strategy::Table => {
            "plan     table: keep the lines that may come first, without filters, which would cost more than they spare\n"
        }
        Strategy::Chain => {
            "plan     chain: filters bring the first input down to the lines that may be common; their bytes are then compared\n"
        }
        _ => "plan     one-pass: filters alone decide, each input is read once\n",
    };
    for (input, filter) in &plan.filters {
        text += &explain::filter_line(&format!("of {}", inputs[*input].name()), filter);
    }
    if plan.strategy != Strategy::OnePass {
        text += &job.table(plan.compared, plan.table);
    }
    text + &explain::traffic(plan.bytes_read, plan.passes, plan.bytes_spilled)
}
