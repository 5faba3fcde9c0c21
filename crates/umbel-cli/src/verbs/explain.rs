//! `--explain`: the plan of a run, as text and as JSON.

use serde_json::json;
use umbel::formulas::classic;
use umbel::{Filter as _, Plan};
use umbel_foreign::{ForeignFilter, Format};
use umbel_net::prefixes::PrefixList;
use umbel_sets::{Filter, Input, Options, Resources, SetPlan, Steps};

use umbel_numbers::{Count, Rate, Size, counted};

/// A job that is explained.
pub(super) struct Job<'a> {
    pub(super) verb: &'static str,
    pub(super) inputs: &'a [Input],
    pub(super) options: &'a Options,
}

impl Job<'_> {
    /// Memory and inputs, with the estimated lines of each.
    fn text(&self, lines: &[u64]) -> String {
        let Resources { memory, threads, .. } = &self.options.resources;
        let mut text =
            format!("memory   {} in all, {}\n", Size(*memory), counted(*threads as u64, "thread"));
        for (input, lines) in self.inputs.iter().zip(lines) {
            let (name, bytes) = (input.name(), Size(input.length()));
            text += &format!("input    {name}: {bytes}, about {}\n", counted(*lines, "line"));
        }
        let key = self.options.form.records.key();
        if !key.is_empty() {
            text += &format!("key      {}\n", key.join(", "));
        }
        text
    }
}

/// The plan of a set operation.
pub(super) fn operation(plan: &SetPlan, job: &Job<'_>, as_json: bool) -> String {
    let (strategy, reason) = match &plan.steps {
        Steps::Merge => (
            "merge",
            "all files seem to be sorted by their bytes, so their lines are compared side by side; if one is not, the run starts again with a table",
        ),
        Steps::OnePass { .. } => ("one-pass", "filters alone decide; each input is read once"),
        Steps::SideBySide(_) => (
            "side-by-side",
            "rows that come next in both files are forgotten as they are read; the others are looked up",
        ),
        _ if plan.filter().is_some() => {
            ("filter", "a first pass selects the lines to look up; these are compared byte by byte")
        }
        _ => ("table", "every line is looked up; filters would cost more than they save"),
    };
    let exact = !matches!(plan.steps, Steps::OnePass { .. });
    let filters = filters(&plan.steps, job.inputs).into_iter();
    let Resources { memory, threads, tmp, .. } = &job.options.resources;
    if as_json {
        let inputs = job.inputs.iter().zip(&plan.lines).map(
            |(input, lines)| json!({"name": input.name(), "bytes": input.length(), "lines": lines}),
        );
        let filters = filters.map(|(what, plan)| {
            json!({"what": what, "keys": plan.keys(), "bytes": plan.bytes(), "probes": plan.probes(), "fpp": plan.fpp()})
        });
        let object = json!({
            "type": "explain", "verb": job.verb, "strategy": strategy, "exact": exact,
            "memory": memory, "threads": threads, "key": job.options.form.records.key(),
            "inputs": inputs.collect::<Vec<_>>(), "distinct": plan.distinct, "compared": plan.compared,
            "filters": filters.collect::<Vec<_>>(), "table_bytes": plan.table, "passes": plan.passes,
            "pairs": plan.pairs, "bytes_read": plan.bytes_read, "bytes_spilled": plan.bytes_spilled,
        });
        return format!("{object}\n");
    }
    let mut text = job.text(&plan.lines) + &format!("plan     {strategy}: {reason}\n");
    for (what, plan) in filters {
        text += &format!(
            "filter   {what}: {} for {}, {}, rate {}\n",
            Size(plan.bytes()),
            counted(plan.keys(), "key"),
            counted(plan.probes().into(), "probe"),
            Rate(plan.predicted_fpp())
        );
    }
    if exact && !matches!(plan.steps, Steps::Merge | Steps::SideBySide(_)) {
        let folders: Vec<_> = tmp.folders().map(|folder| folder.display().to_string()).collect();
        let rest = match plan.steps {
            Steps::Join { slices: slices @ 2.., .. } => {
                format!("at a time, for each of {slices} slices of the first file")
            }
            _ => "in memory".to_owned(),
        };
        let rest = format!("{rest}, the rest on disk in {}", folders.join(" and "));
        text += &format!(
            "table    about {} compared byte by byte; up to {} of them {rest}\n",
            counted(plan.compared, "line"),
            Size(plan.table),
        );
    }
    if let Some(pairs) = plan.pairs {
        text += &format!("result   about {}, from samples of both files\n", counted(pairs, "row"));
    }
    let spilled = match plan.steps {
        Steps::SideBySide(_) => "what is looked up".to_owned(),
        _ => Size(plan.bytes_spilled).to_string(),
    };
    text + &format!(
        "reading  {} in {}\nwriting  {spilled} to temporary files, and the result\n",
        Size(plan.bytes_read),
        counted(plan.passes.into(), "pass")
    )
}

/// The filters of a set operation, and what each is of.
fn filters(steps: &Steps, inputs: &[Input]) -> Vec<(String, Plan)> {
    let (all, looked_up) = ("of all lines".to_owned(), "of lines to look up".to_owned());
    match steps {
        Steps::Merge | Steps::Decide { filters: None } => Vec::new(),
        Steps::SideBySide(filter) => vec![(all, *filter)],
        Steps::Join { seen, .. } => seen.map(|filter| (all, filter)).into_iter().collect(),
        Steps::Decide { filters: Some([seen, doubtful]) } => {
            vec![(all, *seen), (looked_up, *doubtful)]
        }
        Steps::LookUp { seen, keys, .. } => {
            let seen = seen.map(|filter| (all, filter)).into_iter();
            seen.chain(keys.map(|filter| (looked_up, filter))).collect()
        }
        Steps::OnePass { written, others } => {
            let names: Vec<_> = inputs[1..].iter().map(Input::name).collect();
            let names = if others.len() == 1 {
                vec![names.join(", ")]
            } else {
                names.into_iter().map(str::to_owned).collect()
            };
            let of = names.iter().map(|name| format!("of {name}"));
            let written = ("of lines printed".to_owned(), *written);
            [written].into_iter().chain(of.zip(others.iter().copied())).collect()
        }
    }
}

/// The plan of a filter that a verb makes or has.
pub(super) fn plan(plan: &Plan, as_json: bool) -> String {
    let fpp = plan.fpp_at_capacity();
    // Compared with a classic filter of the size that the rate needs in theory.
    let times = plan.bits_per_key() / classic::bits_per_key(fpp);
    if as_json {
        let object = json!({
            "type": "plan", "kind": plan.kind().name(), "keys": plan.keys(), "fpp": plan.fpp(),
            "predicted_fpp": plan.predicted_fpp(), "bytes": plan.bytes(), "bits": plan.bits(),
            "probes": plan.probes(), "bits_per_key": plan.bits_per_key(), "times_classic": times,
        });
        return format!("{object}\n");
    }
    format!(
        "{:<9} {:>17} {:>10} {:>10} {:>7} {:>13} {:>10}\n\
         {:<9} {:>17} {:>10} {:>10} {:>7} {:>13.2} {:>10.2}\n",
        "kind",
        "keys",
        "fpp",
        "memory",
        "probes",
        "bits per key",
        "x classic",
        plan.kind(),
        Count(plan.keys()),
        Rate(fpp),
        Size(plan.bytes()),
        plan.probes(),
        plan.bits_per_key(),
        times
    )
}

/// The plan of an existing filter; for another system's, its size and probes.
pub(super) fn has(filter: &Filter, as_json: bool) -> String {
    match filter {
        Filter::Own(filter) => plan(filter.plan(), as_json),
        Filter::Foreign(lines) => {
            let umbel_foreign::Receipt { format, bits, probes, bytes, .. } = lines.filter.receipt();
            of_format(format, bits, probes, bytes, as_json)
        }
    }
}

/// What a list of prefixes is.
pub(super) fn prefixes(list: &PrefixList, as_json: bool) -> String {
    let (bytes, count) = match list.filter() {
        Some(filter) => return plan(filter.plan(), as_json),
        None => (list.bytes(), list.len()),
    };
    if as_json {
        return format!("{}\n", json!({ "type": "plan", "prefixes": count, "bytes": bytes }));
    }
    format!("list     {} different prefixes, {} in memory\n", Count(count), Size(bytes))
}

/// What another system makes of its parameters.
pub(super) fn foreign(plan: &umbel_foreign::Plan, as_json: bool) -> String {
    of_format(plan.format, plan.bits, plan.probes, plan.bytes, as_json)
}

fn of_format(format: Format, bits: u64, probes: u32, bytes: u64, as_json: bool) -> String {
    if as_json {
        let object = json!({
            "type": "plan", "format": format.name(), "bytes": bytes, "bits": bits, "probes": probes,
        });
        return format!("{object}\n");
    }
    format!(
        "{:<20} {:>10} {:>17} {:>7}\n{format:<20} {:>10} {:>17} {probes:>7}\n",
        "format",
        "file",
        "bits",
        "probes",
        Size(bytes),
        Count(bits)
    )
}
