//! The Markdown page: the circumstances, goals, losses, and a table for each case.

use std::fmt::Write;

use crate::figures::{Case, OPS, Spread, Who, count, percent, ratio};
use crate::goals::{Bound, Goal, goals};
use crate::record::Record;

/// The whole page.
pub(crate) fn markdown(record: &Record, plots: &[String]) -> String {
    let mut page = String::from("# Filters: time, rate, size\n\n");
    head(record, &mut page);
    for plot in plots {
        let _ = writeln!(page, "![{plot}]({plot})\n");
    }
    let goals = goals(record);
    if !goals.is_empty() {
        let what = "Hashed keys at 1 % unless said; judged by the median.";
        goal_table(&goals, what, &mut page);
    }
    losses(record, &mut page);
    page.push_str(
        "## Every case\n\n\
         Nanoseconds of wall time a key: median [least–most] over the rounds. *÷ limit*: over the \
         batched limit with huge pages and as many threads, of the same round. *× fastbloom*, \
         *× sbbf*: how many times as fast as their one key at a time with as many threads, in the \
         same round. Three figures in a field are insert / hit / miss; bold ones of umbel are \
         below 1.\n",
    );
    for case in record.cases() {
        case_table(record, case, &mut page);
    }
    page
}

pub(crate) fn head(record: &Record, page: &mut String) {
    let about = &record.about;
    let rows = [
        ("date", about.date.clone()),
        ("commit", about.commit.clone()),
        ("command", format!("`{}`", about.command.trim())),
        ("rounds", about.rounds.to_string()),
        ("processor", format!("{}, {} CPUs", about.cpu, about.cpus)),
        ("data caches", about.caches.clone()),
        ("memory", about.memory.clone()),
        ("transparent huge pages", about.huge_pages.clone()),
        ("kernel", about.kernel.clone()),
        ("compiler", format!("{}, release, thin LTO, no target-cpu", about.rustc)),
    ];
    page.push_str("| | |\n|---|---|\n");
    for (name, value) in rows {
        let _ = writeln!(page, "| {name} | {value} |");
    }
    match &record.end {
        Some(end) => {
            let _ = writeln!(
                page,
                "| took | {:.0} s; other processes had {:.0} % of the CPUs |",
                end.seconds,
                100.0 * end.others
            );
        }
        None => page.push_str("| took | stopped before its end |\n"),
    }
    page.push('\n');
    for failure in &record.failures {
        let (program, case) = (&failure.program, &failure.case);
        let _ = writeln!(page, "**{program} failed** ({case}): {}\n", failure.message);
    }
}

pub(crate) fn goal_table(goals: &[Goal], what: &str, page: &mut String) {
    let met = goals.iter().filter(|goal| goal.met()).count();
    let _ = writeln!(page, "## Goals: {met} of {} met\n\n{what}\n", goals.len());
    page.push_str("| goal | case | needed | found | |\n|---|---|---|---|---|\n");
    for goal in goals {
        let needed = match goal.bound {
            Bound::AtMost(bound) => format!("≤ {bound:.2}"),
            Bound::AtLeast(bound) => format!("≥ {bound:.2}"),
        };
        let verdict = match goal.found {
            None => "**missing**",
            Some(_) if goal.met() => "met",
            Some(_) => "**not met**",
        };
        let (what, case) = (&goal.what, &goal.case);
        let found = goal.found.map_or("not measured".to_owned(), |found| found.to_string());
        let _ = writeln!(page, "| {what} | {case} | {needed} | {found} | {verdict} |");
    }
    page.push('\n');
}

/// The cases where another filter is faster than umbel, called in the same way with as many threads: key by key or in batches;
/// or in any way if umbel has none like it.
fn losses(record: &Record, page: &mut String) {
    let mut rows = String::new();
    for case in record.cases() {
        let who = record.who(case);
        let (ours, others): (Vec<Who<'_>>, Vec<_>) =
            who.into_iter().filter(|who| who.peer != "limit").partition(|who| who.peer == "umbel");
        for other in others {
            let alike = |who: &&Who<'_>| who.threads == other.threads && who.mode == other.mode;
            let any = !ours.iter().any(|who| alike(&who));
            let ways = ours.iter().filter(|who| alike(who) || any && who.threads == other.threads);
            for (way, op) in ways.flat_map(|&way| OPS.map(|op| (way, op))) {
                let theirs = record.rounds(case, other, op);
                let found = ratio(&theirs, &record.rounds(case, way, op));
                if let Some(found) = found.filter(|found| found.median < 1.0) {
                    let _ = writeln!(
                        rows,
                        "| {} | {}, {} | {} | {op}, {} | {found} |",
                        case_name(case),
                        who_name(way),
                        way.mode,
                        who_name(other),
                        if other.threads == 1 { "one thread" } else { "two threads" },
                    );
                }
            }
        }
    }
    page.push_str("## Where umbel loses\n\n");
    if rows.is_empty() {
        page.push_str("In no case measured does one of its ways lose.\n\n");
    } else {
        page.push_str("Their time over umbel's.\n\n");
        let head = "| case | umbel's way | to | in | time ÷ umbel's |\n|---|---|---|---|---|\n";
        let _ = writeln!(page, "{head}{rows}");
    }
}

fn case_table(record: &Record, case: Case<'_>, page: &mut String) {
    let _ = writeln!(page, "\n### {}\n", case_name(case));
    page.push_str(
        "| filter | calls | threads | insert ns | hit ns | miss ns | rate counted | bits per key \
         | ÷ limit | × fastbloom | × sbbf |\n|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for who in record.who(case) {
        let mut fields = vec![who_name(who), who.mode.to_owned(), who.threads.to_string()];
        if who.peer == "limit" {
            let ns = record.ns(case, who, "read").map_or("–".to_owned(), |ns| ns.to_string());
            fields.extend([format!("read {ns}"), "–".to_owned(), "–".to_owned()]);
        } else {
            let ns = OPS.map(|op| record.ns(case, who, op));
            fields.extend(ns.map(|ns| ns.map_or("–".to_owned(), |ns| ns.to_string())));
        }
        let samples: Vec<_> =
            ["insert", "hit"].into_iter().flat_map(|op| record.samples_of(case, who, op)).collect();
        let rate = Spread::of(samples.iter().filter_map(|sample| sample.fpr));
        fields.push(rate.map_or("–".to_owned(), |rate| format!("{:.4} %", 100.0 * rate.median)));
        let bits = samples.first().map(|sample| sample.bits_per_key);
        fields.push(bits.map_or("–".to_owned(), |bits| format!("{bits:.2}")));
        fields.push(ratios(record, case, who, Who::limit(who.threads), false));
        for peer in ["fastbloom", "sbbf-rs-safe"] {
            let peer = Who { threads: who.threads, ..Who::one(peer) };
            fields.push(ratios(record, case, who, peer, true));
        }
        let _ = writeln!(page, "| {} |", fields.join(" | "));
    }
}

/// Insert / hit / miss: time over another's, or how many times as fast when `faster`.
fn ratios(record: &Record, case: Case<'_>, who: Who<'_>, other: Who<'_>, faster: bool) -> String {
    let text = |op: &str| {
        let (own, others) = (record.rounds(case, who, op), record.rounds(case, other, op));
        let ratio = if faster { ratio(&others, &own) } else { ratio(&own, &others) };
        ratio.map_or("–".to_owned(), |ratio| {
            let text = format!("{:.2}", ratio.median);
            let lost = faster && who.peer == "umbel" && ratio.median < 1.0;
            if lost { format!("**{text}**") } else { text }
        })
    };
    if who.peer == "limit" {
        return if faster { "–".to_owned() } else { text("read") };
    }
    if who == other {
        return "1".to_owned();
    }
    let texts = OPS.map(text);
    if texts.iter().all(|text| text == "–") { "–".to_owned() } else { texts.join(" / ") }
}

fn case_name(case: Case<'_>) -> String {
    let form = match case.keys {
        "u64" => "integer keys",
        "str64" => "keys of 64 bytes",
        _ => "hashed keys",
    };
    format!("{} {form}, fpp {}", count(case.n), percent(case.fpp))
}

pub(crate) fn who_name(who: Who<'_>) -> String {
    if who.variant.is_empty() {
        who.peer.to_owned()
    } else {
        format!("{}, {}", who.peer, who.variant)
    }
}
