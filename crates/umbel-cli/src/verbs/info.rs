//! `umbel info`: the receipt of a filter.

use std::path::Path;

use anyhow::{Result, bail};
use serde_json::{Value, json};
use umbel::filter::{Fact, Figure, Part};
use umbel::prefixes::{Family, PrefixKeys};
use umbel::{Algorithm, Capacity, KeyDescription};
use umbel_sets::{Filter, Receipt};
use umbel_share::audit::Guessable;

use crate::Outcome;
use crate::args::{InfoArgs, Voice};
use crate::numbers::{Count, Rate, Size, counted, in_threes};
use crate::output::{check_target, refuse_in_place_of, write_text};
use crate::standard::is_standard;
use crate::wrapped::Wrapping;
use crate::{filters, pictures, report, standard};

pub(crate) fn info(args: &InfoArgs) -> Result<Outcome> {
    if let Some(picture) = &args.plot {
        pictures::check(picture, &args.filters, args.force)?;
    }
    check_target(&args.output)?;
    let read: Vec<_> = args.filters.iter().map(Some).collect();
    refuse_in_place_of(args.output.file(), &read)?;
    if args.filters.iter().filter(|path| is_standard(path)).count() > 1 {
        bail!("-: standard input can be read only once; name it once");
    }
    write_text(&args.output, |put| {
        for (i, path) in args.filters.iter().enumerate() {
            let gap = if i > 0 && !args.voice.json { "\n" } else { "" };
            put(&format!("{gap}{}", one(path, args)?))?;
        }
        Ok(())
    })?;
    Ok(Outcome::Done)
}

/// The receipt of one filter.
fn one(path: &Path, args: &InfoArgs) -> Result<String> {
    let (filter, wrapping) = filters::read_wrapped(path, &args.format, &args.trust)?;
    let name = standard::name(path);
    if let Some(picture) = &args.plot {
        let Filter::Own(filter) = &filter else {
            bail!("{name}: --plot draws only filters of umbel; omit it")
        };
        pictures::of_filter(filter, &name, picture, args.force)?;
    }
    let picture = args.plot.as_ref().map(|picture| picture.display().to_string());
    let receipt = filter.receipt();
    let Voice { json, quiet, .. } = args.voice;
    if let (Filter::Own(filter), Receipt::Own(receipt)) = (&filter, &receipt)
        && receipt.scheme.algorithm != Algorithm::Sip13
        && !json
        && !quiet
        && let Some(keys) = guessable(filter.description())
    {
        report::warn_guessable(path, keys);
    }
    if json {
        let mut object = report::receipt_json(&receipt);
        object["type"] = json!("info");
        object["file"] = json!(path.display().to_string());
        if let Filter::Own(filter) = &filter {
            add_keys(&mut object, filter.description());
            if let (Some(keys), Receipt::Own(receipt)) = (prefixes(filter.description()), &receipt)
            {
                object["prefix_questions"] = json!(keys.questions());
                object["prefix_fpp"] = json!(keys.joint_fpp(receipt.fpp));
            }
        }
        if let Some(picture) = picture {
            object["picture"] = json!(picture);
        }
        add_wrapping(&mut object, &wrapping, args);
        return Ok(format!("{object}\n"));
    }
    let mut rows = match &receipt {
        Receipt::Own(receipt) => rows(receipt),
        Receipt::Foreign(receipt) => foreign_rows(receipt),
    };
    if let Filter::Own(filter) = &filter {
        rows.extend(key_rows(filter.description()));
        rows.extend(prefix_row(filter.description(), &receipt));
    }
    rows.extend(wrapping_rows(&wrapping, &receipt, args));
    if let Some(picture) = picture {
        rows.push(row("picture", picture));
    }
    Ok(format!("{name}\n{}", aligned(&rows)))
}

/// Keys that somebody can try, by the names of their fields; `None` if one of these says nothing.
fn guessable(keys: &KeyDescription) -> Option<Guessable> {
    let sorts: Option<Vec<_>> = keys.values("field").map(Guessable::of_field).collect();
    sorts?.first().copied()
}

/// Whether the file is packed, and by whom it is signed.
fn wrapping_rows(wrapping: &Wrapping, receipt: &Receipt, args: &InfoArgs) -> Vec<Row> {
    let packed = wrapping.packed.map(|bytes| {
        let (size, keys) = match receipt {
            Receipt::Own(receipt) => (receipt.bytes(), receipt.plan.keys()),
            Receipt::Foreign(receipt) => (receipt.bytes, 0),
        };
        let per_key = match keys {
            0 => String::new(),
            keys => format!(", {:.2} bits per planned key", 8.0 * bytes as f64 / keys as f64),
        };
        let share = 100.0 * bytes as f64 / size as f64;
        row("packed", format!("{}, {share:.1} % of its size{per_key}", Size(bytes)))
    });
    let signed = wrapping.signer.as_ref().map(|signer| {
        let checked =
            if args.trust.trust.is_some() { "verified" } else { "not checked: no --trust" };
        row("signed by", format!("{signer} ({checked})"))
    });
    packed.into_iter().chain(signed).collect()
}

/// As [`wrapping_rows`], for programs.
fn add_wrapping(object: &mut Value, wrapping: &Wrapping, args: &InfoArgs) {
    if let Some(bytes) = wrapping.packed {
        object["packed_bytes"] = json!(bytes);
    }
    if let Some(signer) = &wrapping.signer {
        object["signer"] = json!(signer);
        object["signature_verified"] = json!(args.trust.trust.is_some());
    }
}

/// The description of the keys in a filter's file: a row for each name, values in their order.
fn key_rows(keys: &KeyDescription) -> Vec<Row> {
    let mut names: Vec<_> = keys.entries().map(|(name, _)| name).collect();
    names.dedup();
    let one = |name| {
        let values = keys.values(name).map(|value| value.escape_debug().to_string());
        let title = match name {
            "field" => "fields",
            "type" => "key type",
            "normalization" => "normalized",
            other => other,
        };
        row(title, values.collect::<Vec<_>>().join(", "))
    };
    names.into_iter().map(one).collect()
}

/// As [`key_rows`], for programs.
fn add_keys(object: &mut Value, keys: &KeyDescription) {
    let values = |name| keys.values(name).collect::<Vec<_>>();
    if !keys.is_empty() {
        object["key_fields"] = json!(values("field"));
        object["key_type"] = json!(keys.values("type").next());
        object["key_normalization"] = json!(values("normalization"));
    }
}

/// How prefixes are looked up in a filter that holds some.
fn prefixes(keys: &KeyDescription) -> Option<PrefixKeys> {
    PrefixKeys::of(keys).ok().flatten()
}

/// What a look-up of a prefix costs in questions, and how often all of them together pass wrongly.
fn prefix_row(keys: &KeyDescription, receipt: &Receipt) -> Option<Row> {
    let (Some(keys), Receipt::Own(receipt)) = (prefixes(keys), receipt) else { return None };
    let of = match keys.family() {
        Family::Ip => "ip",
        Family::Domain => "domain",
    };
    let questions = counted(keys.questions().into(), "question");
    let rate = Rate(keys.joint_fpp(receipt.fpp));
    let words = format!(
        "for umbel query --prefixes {of}: up to {questions} per line, rate of a line now {rate}"
    );
    Some(row("prefixes", words))
}

/// A name and its value.
type Row = (String, String);

fn row(name: impl Into<String>, words: impl Into<String>) -> Row {
    (name.into(), words.into())
}

/// Rows below each other, their words in one column.
fn aligned(rows: &[Row]) -> String {
    // As wide in most receipts, so that several can be compared; a long name of a part does not push all others away.
    const LEAST: usize = 10;
    const MOST: usize = 24;
    let widths = rows.iter().map(|(name, _)| name.chars().count());
    let width = widths.filter(|&width| width <= MOST).fold(LEAST, usize::max);
    rows.iter().map(|(name, words)| format!("  {name:<width$} {words}\n")).collect()
}

/// The receipt of another system's filter.
fn foreign_rows(receipt: &umbel_foreign::Receipt) -> Vec<Row> {
    let part = |(number, part): (usize, &umbel_foreign::Part)| {
        let facts = part.facts.iter().filter_map(fact_row);
        let facts = facts.map(|(name, value)| format!(", {name} {value}")).collect::<String>();
        let words = format!(
            "{}, {} of {} bits set, {}, rate now {}{facts}",
            report::estimated_keys(&part.keys),
            Count(part.set_bits),
            Count(part.bits),
            counted(part.probes.into(), "probe"),
            Rate(part.fpp),
        );
        row(format!("part {number}"), words)
    };
    let fill = format!("{} bits set, {:.2} %", Count(receipt.set_bits), receipt.fill * 100.0);
    let mut rows = vec![
        row("format", format!("{}, {}", receipt.format, report::foreign_inside(receipt))),
        row("scheme", receipt.scheme.to_string()),
        row("size", format!("{}, {}", Size(receipt.bytes), counted(receipt.bits, "bit"))),
        row("fill", fill),
        row("keys", report::estimate_within(&receipt.keys)),
        row("rate now", format!("{}, from its own bits", Rate(receipt.fpp))),
    ];
    rows.extend(receipt.facts.iter().filter_map(fact_row));
    rows.extend((1..).zip(&receipt.parts).map(part));
    rows
}

fn rows(receipt: &umbel::Receipt) -> Vec<Row> {
    let plan = &receipt.plan;
    let rate = Rate(plan.fpp());
    let room = counted(receipt.room, "more key");
    let (planned, state) = match plan.kind().capacity() {
        Capacity::First => (
            format!(", then growing, at a rate of {rate} over all growth"),
            format!("within its promise, room for {room} before it grows"),
        ),
        Capacity::Last => (
            format!(", the last ones, at a rate of {rate} at all times"),
            "within its promise, takes any number of keys and forgets old ones".to_owned(),
        ),
        _ if plan.kind().built_at_once() => (
            format!(" at a rate of {rate} ({:.2} bits per key)", plan.bits_per_key()),
            "within its plan, built from all its keys at once; takes no more".to_owned(),
        ),
        _ => (
            format!(
                " at a rate of {rate} ({:.2} bits per key)",
                receipt.bits as f64 / plan.keys() as f64
            ),
            match receipt.room {
                0 => "within its plan, and full".to_owned(),
                _ => format!("within its plan, room for about {room}"),
            },
        ),
    };
    let state = if receipt.over_filled { report::over_filled(receipt) } else { state };
    let cells = plan.kind().cells();
    let set = if cells == "bits" { "set" } else { "in use" };
    let used = Count(receipt.set_bits);
    let fill = format!("{used} {cells} {set}, {:.2} %", receipt.fill * 100.0);
    let mut rows = vec![
        row("kind", format!("{}, {}", plan.kind(), report::inside(receipt))),
        row("scheme", receipt.scheme.to_string()),
        row("size", format!("{}, {}", Size(receipt.bytes()), counted(receipt.bits, "bit"))),
        row("planned", format!("{}{planned}", counted(plan.keys(), "key"))),
        row("fill", fill),
        row("keys", report::estimate_within(&receipt.keys)),
        row("rate now", format!("{}, from its own bits", Rate(receipt.fpp))),
        row("state", state),
    ];
    let facts = receipt.facts.iter().filter_map(fact_row);
    rows.extend(facts.map(|(name, value)| row(name, in_threes(&value))));
    rows.extend((1..).zip(&receipt.parts).map(|(number, part)| part_row(number, part)));
    rows
}

fn fact_row(fact: &Fact) -> Option<Row> {
    let value = match &fact.figure {
        Figure::Count(count) => Count(*count).to_string(),
        Figure::Number(number) => format!("{number:.3}"),
        Figure::Rate(rate) => Rate(*rate).to_string(),
        Figure::Text(text) => text.clone(),
        _ => return None,
    };
    Some(row(fact.name.replace('_', " "), value))
}

/// A part by its own name, or by its number.
fn part_name(number: usize, part: &Part) -> String {
    match &part.name {
        Some(name) => format!("{} {}", part.what, name.escape_debug()),
        None => format!("{} {number}", part.what),
    }
}

fn part_row(number: usize, part: &Part) -> Row {
    let words = format!(
        "{} of {}, {}, {}, rate now {} of {}",
        Count(part.keys.round() as u64),
        counted(part.plan.keys(), "key"),
        Size(part.plan.bytes()),
        counted(part.plan.probes().into(), "probe"),
        Rate(part.fpp),
        Rate(part.plan.fpp())
    );
    row(part_name(number, part), words)
}
