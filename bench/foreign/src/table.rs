//! The table and the goals.

use std::fmt::Write;

use crate::figures::{Case, Spread, Who, ratio};
use crate::record::Record;

/// What is held against what: times of `slow` over those of `fast`.
struct Goal {
    what: &'static str,
    slow: Place,
    fast: Place,
    bound: f64,
    /// Whether the ratio has to be at least that, or at most.
    least: bool,
}

/// Peer, variant, keys, mode.
type Place = (&'static str, &'static str, &'static str, &'static str);

const HASHED: Place = ("umbel", "Parquet, mapped", "hashed", "batch");
const KEYS: Place = ("umbel", "Parquet, mapped", "i64", "batch");
const SBBF: Place = ("sbbf-rs-safe", "Parquet, owned", "hashed", "one");
const ARROW: Place = ("parquet", "Parquet, owned", "i64", "one");

const fn batch(variant: &'static str) -> Place {
    ("umbel", variant, "hashed", "batch")
}

const GOALS: [Goal; 4] = [
    Goal {
        what: "sbbf-rs ÷ umbel's batch by hash",
        slow: SBBF,
        fast: HASHED,
        bound: 2.0,
        least: true,
    },
    Goal {
        what: "parquet's `Sbbf::check` ÷ umbel's batch of i64",
        slow: ARROW,
        fast: KEYS,
        bound: 2.0,
        least: true,
    },
    Goal {
        what: "FastLocalBloom ÷ blocked of as many bytes, owned",
        slow: batch("FastLocalBloom, owned"),
        fast: batch("blocked, owned"),
        bound: 1.2,
        least: false,
    },
    Goal {
        what: "FastLocalBloom ÷ blocked of as many bytes, mapped",
        slow: batch("FastLocalBloom, mapped"),
        fast: batch("blocked, mapped"),
        bound: 1.2,
        least: false,
    },
];

/// The page, and whether all goals are met by their medians.
pub(crate) fn markdown(record: &Record) -> (String, bool) {
    let about = &record.about;
    let mut page = format!(
        "# Filters of other systems, {}\n\n`{}` at {}; {} rounds.\n{}, {} CPUs, {}, {} of memory, {}, huge pages {}, \
         {}.\n",
        about.date,
        about.command,
        about.commit,
        about.rounds,
        about.cpu,
        about.cpus,
        about.caches,
        about.memory,
        about.kernel,
        about.huge_pages,
        about.rustc,
    );
    if let Some(end) = &record.end {
        let _ = writeln!(page, "Other processes had {:.1} % of the CPUs.", 100.0 * end.others);
    }
    if let Some(sample) = record.samples.first() {
        let _ = writeln!(
            page,
            "\nEach filter has {} MiB and {} keys. Times are ns a key on one thread: median [least–most].",
            sample.bytes >> 20,
            sample.n
        );
    }
    page.push_str("\n| filter | asked by | keys | calls | hit ns | miss ns | rate counted |\n|---|---|---|---|---|---|---|\n");
    for case in record.cases() {
        for who in record.who(case) {
            let ns = |op| record.ns(case, who, op).map_or("–".to_owned(), |ns| ns.to_string());
            let Some(sample) = record.samples_of(case, who, "miss").pop() else { continue };
            let rate = sample.fpr.map_or("–".to_owned(), |rate| format!("{:.3} %", 100.0 * rate));
            let _ = writeln!(
                page,
                "| {} | {} {} | {} | {} | {} | {} | {rate} |",
                who.variant,
                who.peer,
                sample.version,
                case.keys,
                who.mode,
                ns("hit"),
                ns("miss"),
            );
        }
    }
    page.push_str("\n| goal | needed | hits | misses | |\n|---|---|---|---|---|\n");
    let mut all = true;
    for goal in GOALS {
        let found = ["hit", "miss"].map(|op| over(record, &goal, op));
        let is_met = |found: &Option<Spread>| {
            found.is_some_and(|found| {
                (found.median >= goal.bound) == goal.least || found.median == goal.bound
            })
        };
        let met = found.iter().all(is_met);
        all &= met;
        let [hits, misses] =
            found.map(|found| found.map_or("missing".to_owned(), |found| found.to_string()));
        let _ = writeln!(
            page,
            "| {} | {} {} | {hits} | {misses} | {} |",
            goal.what,
            if goal.least { "≥" } else { "≤" },
            goal.bound,
            if met { "met" } else { "**missed**" },
        );
    }
    (page, all)
}

/// The ratio of a goal, by round.
fn over(record: &Record, goal: &Goal, op: &str) -> Option<Spread> {
    let first = record.samples.first()?;
    let rounds = |(peer, variant, keys, mode): Place| {
        let case = Case { keys, n: first.n, fpp: first.fpp_asked };
        record.rounds(case, Who { peer, variant, mode, threads: 1 }, op)
    };
    ratio(&rounds(goal.slow), &rounds(goal.fast))
}
