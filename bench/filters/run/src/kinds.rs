//! The table of kinds: every kind of umbel at two rates, next to other filters, several of which are not Bloom filters;
//! its cases, goals and page.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::figures::{Case, OPS, Spread, Who, count, percent, ratio};
use crate::goals::{Bound, Goal, goal, name, noise};
use crate::record::{Record, Sample};
use crate::rounds::{self, Only, Program, program};
use crate::table::{goal_table, head, who_name};

/// The program that knows the kinds of umbel.
pub(crate) const PROGRAM: &str = "kinds";
const RATES: [f64; 2] = [0.01, 0.001];
/// The programs' name for a plain blocked filter of as many bytes as the kind's.
const PLAIN: &str = "plain of as many bytes";
/// Their name for the limit of a kind that reads two cache lines per key.
const TWO_LINES: &str = "two lines of as many bytes";
/// Their name for a filter called by its own type, as peers and limits are, and not through `AnyFilter`.
const TYPED: &str = "typed";

/// After the kinds; xorf first, to follow bloomier, the last of them.
const PEERS: &[Program] = &[
    program("xorf", &["hashed"]),
    program("qfilter", &["hashed"]),
    Program { rates: &[0.01], ..program("cuckoofilter", &["u64"]) }, // one rate, at most 3 %
    program("scalable-cuckoo", &["u64"]),
    program("growable", &["u64"]),
    program("foreign", &["hashed"]),
    program("sbbf", &["hashed"]),
];

/// Notes on peers for readers: the first word of the name, a colon, and the note.
const NOTES: &str = include_str!("notes.txt");

/// The cases left by `only`. The kinds' program must exist: it lists the kinds.
pub(crate) fn cases(target: &Path, quick: bool, only: &[String]) -> Result<Vec<rounds::Case>> {
    let only = Only::parse(only)?;
    let (n, keys) = (if quick { 1_000_000 } else { 10_000_000 }, "hashed");
    let mut cases = Vec::new();
    for fpp in RATES {
        let mut programs = list(target, fpp)?;
        programs.extend(PEERS.iter().filter(|peer| peer.rates.contains(&fpp)));
        programs.retain(|program| {
            only.among("peer", |name| name == program.argument.unwrap_or(program.folder))
        });
        let wanted = only.equals("n", n as f64) && only.equals("fpp", fpp);
        if wanted && only.among("keys", |form| form == keys) && !programs.is_empty() {
            cases.push(rounds::Case { n, fpp, keys, programs });
        }
    }
    ensure!(!cases.is_empty(), "--only leaves nothing to measure");
    Ok(cases)
}

/// A program for each kind of umbel.
fn list(target: &Path, fpp: f64) -> Result<Vec<Program>> {
    let path = target.join("release").join(format!("bench-{PROGRAM}"));
    let output = Command::new(&path)
        .args(["list", &fpp.to_string()])
        .output()
        .with_context(|| format!("{}", path.display()))?;
    ensure!(output.status.success(), "{} list: {}", path.display(), output.status);
    let kinds: &str = String::from_utf8(output.stdout)?.leak(); // names stay as long as the run
    let of = |kind| Program { argument: Some(kind), ..program(PROGRAM, &["hashed"]) };
    Ok(kinds.lines().map(of).collect())
}

/// The whole page.
pub(crate) fn markdown(record: &Record) -> String {
    let mut page = String::from("# Every kind of filter: size, rate, time\n\n");
    head(record, &mut page);
    let what = "Judged by the median of the ratios within the rounds. *Plain*: a blocked filter.";
    goal_table(&goals(record), what, &mut page);
    for case in record.cases() {
        case_table(record, case, &mut page);
    }
    page.push_str(include_str!("columns.txt"));
    for (peer, note) in NOTES.lines().filter_map(|line| line.split_once(": ")) {
        let version = record.samples.iter().find(|sample| is(peer, &sample.peer));
        if let Some(Sample { version, .. }) = version {
            let _ = writeln!(page, "- *{peer}* {version}: {note}");
        }
    }
    page
}

/// Whether it appears only in ratios.
fn is_yardstick(variant: &str) -> bool {
    [PLAIN, TWO_LINES].contains(&variant)
}

/// Whether the first word of a name is this.
fn is(word: &str, name: &str) -> bool {
    name.split(' ').next() == Some(word)
}

fn case_table(record: &Record, case: Case<'_>, page: &mut String) {
    let Case { n, fpp, .. } = case;
    let _ = writeln!(page, "## {} keys, {} asked for\n", count(n), percent(fpp));
    page.push_str(
        "| filter | calls | insert ns | hit ns | miss ns | rate counted | bits per key | ÷ bound | ÷ plain \
         |\n|---|---|---|---|---|---|---|---|---|\n",
    );
    for who in who(record, case) {
        let ns = |op| record.ns(case, who, op).map_or("–".to_owned(), |ns| ns.to_string());
        let Some(sample) = record.samples_of(case, who, "hit").pop() else { continue };
        let mut filter = who_name(who);
        if sample.found < 1.0 {
            let _ = write!(filter, ", finds {:.2} % of its members", 100.0 * sample.found);
        }
        let built = if sample.built { "built " } else { "" };
        let bits = sample.bits_per_key;
        let over = bound(sample).map_or("–".to_owned(), |bound| format!("{:.3}", bits / bound));
        let _ = writeln!(
            page,
            "| {filter} | {} | {built}{} | {} | {} | {} | {bits:.2} | {over} | {} |",
            who.mode,
            ns("insert"),
            ns("hit"),
            ns("miss"),
            sample.fpr.map_or("–".to_owned(), |rate| format!("{:.4} %", 100.0 * rate)),
            over_plain(record, case, who),
        );
    }
    for skip in record.skips.iter().filter(|skip| (skip.n, skip.fpp_asked) == (n, fpp)) {
        let _ = writeln!(page, "| {} | not measured: {} ||||||||", skip.peer, skip.why);
    }
    page.push('\n');
}

/// Who was measured with one thread, umbel first; the plain filters stand as ratios only.
fn who<'a>(record: &'a Record, case: Case<'_>) -> Vec<Who<'a>> {
    let mut who = record.met(case);
    who.retain(|who| who.threads == 1 && !is_yardstick(who.variant));
    who.sort_by_key(|who| !is("umbel", who.peer)); // else in the order of the first round
    who
}

/// The fewest bits per key possible at the counted rate.
fn bound(sample: &Sample) -> Option<f64> {
    sample.fpr.filter(|&rate| rate > 0.0).map(|rate| -rate.log2())
}

fn over_plain(record: &Record, case: Case<'_>, who: Who<'_>) -> String {
    let plain = Who { variant: PLAIN, ..who };
    let text = |op: &str| {
        let ratio = ratio(&record.rounds(case, who, op), &record.rounds(case, plain, op))?;
        Some(format!("{:.2}", ratio.median))
    };
    let texts: Option<Vec<String>> =
        if who.variant.is_empty() { OPS.into_iter().map(text).collect() } else { None };
    texts.map_or("–".to_owned(), |texts| texts.join(" / "))
}

/// All goals, with figures or without.
fn goals(record: &Record) -> Vec<Goal> {
    let mut goals = Vec::new();
    for case in record.cases() {
        let mut push = |what: &str, op: &str, ours: Who<'_>, theirs: Who<'_>, bound: f64| {
            goals.push(goal(record, what, case, op, [ours, theirs], Bound::AtMost(bound)));
        };
        let counting = Who::batch("umbel counting");
        for op in OPS {
            let plain = Who { variant: PLAIN, ..counting };
            push("counting ÷ plain of as many bytes, batch", op, counting, plain, 2.0);
        }
        let one = Who::one("umbel counting");
        for op in OPS {
            let (typed, lines) = (Who { variant: TYPED, ..one }, Who { variant: TWO_LINES, ..one });
            push("counting ÷ two random adjacent lines, one key a call", op, typed, lines, 1.8);
        }
        for op in OPS {
            let (window, plain) = (Who::batch("umbel window"), Who::batch("umbel blocked"));
            push("window ÷ plain of the same keys and rate, batch", op, window, plain, 2.0);
        }
        let bits = if case.fpp == 0.01 { 8 } else { 16 };
        let (peer, ours) = (format!("xorf BinaryFuse{bits}"), format!("umbel bloomier:{bits}"));
        let (peer, batch) = (Who::one(&peer), Who::batch(&ours));
        let one = Who { variant: TYPED, ..Who::one(&ours) };
        let what = |what: &str| format!("bloomier of {bits} bits {what}");
        push(&what("÷ xorf, build"), "insert", batch, peer, 1.2);
        for op in ["hit", "miss"] {
            push(&what("÷ xorf, one key a call"), op, one, peer, 1.05);
        }
        for op in ["hit", "miss"] {
            push(&what("÷ xorf, batch"), op, batch, peer, 1.1);
        }
        let samples = record.samples_of(case, batch, "hit");
        let found = samples.iter().filter_map(|hit| Some(hit.bits_per_key / bound(hit)?));
        let (what, found) = (what("÷ bound, bits per key"), Spread::of(found));
        goals.push(Goal { what, case: name(case, ""), found, bound: Bound::AtMost(1.14) });
        goals.push(worst_rate(record, case));
    }
    goals
}

/// The rate of umbel's kind that is nearest to exceeding the requested one.
fn worst_rate(record: &Record, case: Case<'_>) -> Goal {
    let ours = record.samples.iter().filter(|sample| {
        Case::from(*sample) == case && is("umbel", &sample.peer) && !is_yardstick(&sample.variant)
    });
    let worst = ours.max_by(|a, b| a.fpr.unwrap_or(0.0).total_cmp(&b.fpr.unwrap_or(0.0)));
    let found = worst.and_then(|worst| Spread::of([worst.fpr? / case.fpp]));
    let who = worst.map_or(String::new(), |worst| format!(" ({})", worst.peer));
    let what = format!("rate counted over the rate asked for, worst kind{who}");
    let bound = Bound::AtMost(1.0 + noise(case.fpp));
    Goal { what, case: name(case, ""), found, bound }
}
