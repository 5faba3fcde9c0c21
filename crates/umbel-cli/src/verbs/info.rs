//! `umbel info`: the receipt of a filter.

use std::path::Path;

use anyhow::{Result, bail};
use serde_json::{Value, json};
use umbel::filter::{Fact, Figure, Part};
use umbel::{Capacity, KeyDescription};
use umbel_sets::{Filter, Receipt};

use crate::Outcome;
use crate::args::InfoArgs;
use crate::numbers::{Count, Rate, Size};
use crate::output::print;
use crate::{filters, pictures, report};

pub(crate) fn info(args: &InfoArgs) -> Result<Outcome> {
    if let Some(picture) = &args.plot {
        pictures::check(picture, &args.filters, args.force)?;
    }
    if args.filters.iter().filter(|path| filters::is_stdin(path)).count() > 1 {
        bail!("-: standard input can be named once");
    }
    for (i, path) in args.filters.iter().enumerate() {
        let filter = filters::read_sealed(path, &args.format)?;
        if let Some(picture) = &args.plot {
            let Filter::Own(filter) = &filter else {
                bail!("{}: --plot draws filters of umbel alone; leave it out", path.display())
            };
            pictures::of_filter(filter, &path.display().to_string(), picture, args.force)?;
        }
        let receipt = filter.receipt();
        if args.voice.json {
            let mut object = report::receipt_json(&receipt);
            object["type"] = json!("info");
            object["file"] = json!(path.display().to_string());
            if let Filter::Own(filter) = &filter {
                add_keys(&mut object, filter.description());
            }
            print(format!("{object}\n"))?;
        } else {
            let gap = if i > 0 { "\n" } else { "" };
            let text = match &receipt {
                Receipt::Own(receipt) => text(path, receipt),
                Receipt::Foreign(receipt) => foreign_text(path, receipt),
            };
            let keys = match &filter {
                Filter::Own(filter) => keys_text(filter.description()),
                Filter::Foreign(_) => String::new(),
            };
            print(format!("{gap}{text}{keys}"))?;
        }
    }
    Ok(Outcome::Done)
}

/// What the keys of a filter are, as its file says it: a line for each name, values in their order.
fn keys_text(keys: &KeyDescription) -> String {
    let mut names: Vec<_> = keys.entries().map(|(name, _)| name).collect();
    names.dedup();
    let line = |name| {
        let values = keys.values(name).map(|value| value.escape_debug().to_string());
        let title = match name {
            "field" => "fields",
            "type" => "key type",
            "normalization" => "normalized",
            other => other,
        };
        format!("  {title:<10} {}\n", values.collect::<Vec<_>>().join(", "))
    };
    names.into_iter().map(line).collect()
}

/// As [`keys_text`], for programs.
fn add_keys(object: &mut Value, keys: &KeyDescription) {
    let values = |name| keys.values(name).collect::<Vec<_>>();
    if !keys.is_empty() {
        object["key_fields"] = json!(values("field"));
        object["key_type"] = json!(keys.values("type").next());
        object["key_normalization"] = json!(values("normalization"));
    }
}

/// The receipt of another system's filter.
fn foreign_text(path: &Path, receipt: &umbel_foreign::Receipt) -> String {
    let part = |(number, part): (usize, &umbel_foreign::Part)| {
        let facts = part.facts.iter().map(|fact| format!(", {} {}", words(fact), value(fact)));
        format!(
            "  part {number:<5} {} keys, {} of {} bits set, {} probes, rate now {}{}\n",
            report::estimate(&part.keys),
            Count(part.set_bits),
            Count(part.bits),
            part.probes,
            Rate(part.fpp),
            facts.collect::<String>()
        )
    };
    let parts: String = (1..).zip(&receipt.parts).map(part).collect();
    let facts: String = receipt.facts.iter().map(fact_line).collect();
    format!(
        "{}\n\
         \x20 format     {}, {}\n\
         \x20 scheme     {}\n\
         \x20 size       {}, {} bits\n\
         \x20 fill       {} bits set, {:.2} %\n\
         \x20 keys       {}\n\
         \x20 rate now   {}, from its own bits\n\
         {facts}{parts}",
        path.display(),
        receipt.format,
        report::foreign_inside(receipt),
        receipt.scheme,
        Size(receipt.bytes),
        Count(receipt.bits),
        Count(receipt.set_bits),
        receipt.fill * 100.0,
        report::estimate_within(&receipt.keys),
        Rate(receipt.fpp),
    )
}

fn text(path: &Path, receipt: &umbel::Receipt) -> String {
    let plan = &receipt.plan;
    let room = Count(receipt.room);
    let (planned, state) = match plan.kind().capacity() {
        Capacity::First => (
            format!(", then growing, at a rate of {} over all growth", Rate(plan.fpp())),
            format!("within its promise, room for {room} more keys before it grows"),
        ),
        Capacity::Last => (
            format!(", the last ones, at a rate of {} for all time", Rate(plan.fpp())),
            "within its promise, takes keys without end and forgets old ones".to_owned(),
        ),
        _ if plan.kind().built_at_once() => (
            format!(" at a rate of {} ({:.2} bits a key)", Rate(plan.fpp()), plan.bits_per_key()),
            "within its plan, built at once; takes no more keys".to_owned(),
        ),
        _ => (
            format!(
                " at a rate of {} ({:.2} bits a key)",
                Rate(plan.fpp()),
                receipt.bits as f64 / plan.keys() as f64
            ),
            format!("within its plan, room for about {room} keys"),
        ),
    };
    let state = if receipt.over_filled { report::over_filled(receipt) } else { state };
    let parts: String =
        (1..).zip(&receipt.parts).map(|(number, part)| part_line(number, part)).collect();
    let facts: String = receipt.facts.iter().map(fact_line).collect();
    format!(
        "{}\n\
         \x20 kind       {}, {}\n\
         \x20 scheme     {}\n\
         \x20 size       {}, {} bits\n\
         \x20 planned    {} keys{}\n\
         \x20 fill       {} {} {}, {:.2} %\n\
         \x20 keys       {}\n\
         \x20 rate now   {}, from its own bits\n\
         \x20 state      {}\n\
         {}{}",
        path.display(),
        plan.kind(),
        report::inside(receipt),
        receipt.scheme,
        Size(receipt.bytes()),
        Count(receipt.bits),
        Count(plan.keys()),
        planned,
        Count(receipt.set_bits),
        plan.kind().cells(),
        if plan.kind().cells() == "bits" { "set" } else { "in use" },
        receipt.fill * 100.0,
        report::estimate_within(&receipt.keys),
        Rate(receipt.fpp),
        state,
        facts,
        parts
    )
}

fn fact_line(fact: &Fact) -> String {
    let value = value(fact);
    if value.is_empty() { value } else { format!("  {:<10} {value}\n", words(fact)) }
}

fn words(fact: &Fact) -> String {
    fact.name.replace('_', " ")
}

fn value(fact: &Fact) -> String {
    match &fact.figure {
        Figure::Count(count) => Count(*count).to_string(),
        Figure::Number(number) => format!("{number:.3}"),
        Figure::Rate(rate) => Rate(*rate).to_string(),
        Figure::Text(text) => text.clone(),
        _ => String::new(),
    }
}

/// A part by its own name, or by its number.
fn part_name(number: usize, part: &Part) -> String {
    match &part.name {
        Some(name) => format!("{} {}", part.what, name.escape_debug()),
        None => format!("{} {number}", part.what),
    }
}

fn part_line(number: usize, part: &Part) -> String {
    format!(
        "  {:<10} {} of {} keys, {}, {} probes, rate now {} of {}\n",
        part_name(number, part),
        Count(part.keys.round() as u64),
        Count(part.plan.keys()),
        Size(part.plan.bytes()),
        part.plan.probes(),
        Rate(part.fpp),
        Rate(part.plan.fpp())
    )
}
