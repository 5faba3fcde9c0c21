//! The type and performance of a filter: the receipts that `umbel filter info` prints, and their figures in words.

use serde_json::{Map, Value, json};
use umbel::{Capacity, Estimate, Fact, Figure, KeyDescription, Part};
use umbel_net::prefixes::{Family, PrefixKeys};
use umbel_numbers::{Count, Rate, Size, counted, in_threes};
use umbel_share::Wrapping;
use umbel_share::audit::Guessable;

/// Describes the parts of a filter.
pub fn inside(receipt: &umbel::Receipt) -> String {
    match &receipt.parts[..] {
        [] => format!("{} per key", counted(receipt.plan.probes().into(), "probe")),
        parts => {
            let alike = parts.chunk_by(|left, right| left.what == right.what);
            let count = |parts: &[Part]| counted(parts.len() as u64, parts[0].what);
            alike.map(count).collect::<Vec<_>>().join(" and ")
        }
    }
}

/// Describes the parts of another system's filter.
pub fn foreign_inside(receipt: &umbel_foreign::Receipt) -> String {
    match receipt.parts.len() {
        0 => format!("{} per key", counted(receipt.probes.into(), "probe")),
        parts => counted(parts as u64, "part"),
    }
}

/// The warning of an over-filled filter.
pub fn over_filled(receipt: &umbel::Receipt) -> String {
    let plan = &receipt.plan;
    let planned = format!("{} at {}", counted(plan.keys(), "key"), Rate(plan.fpp()));
    beyond(&planned, &receipt.keys, receipt.fpp)
}

/// The warning of a filter that holds more than was planned.
pub fn beyond(planned: &str, keys: &Estimate, fpp: f64) -> String {
    format!(
        "the filter is over-filled: planned for {planned}, it holds {} and its rate is now {}; build a larger one",
        estimate(keys),
        Rate(fpp)
    )
}

/// The estimated number of keys.
pub fn estimate(keys: &Estimate) -> String {
    if keys.value.is_finite() {
        format!("about {}", Count(keys.value.round() as u64))
    } else {
        format!("more than {}", Count(keys.low as u64))
    }
}

/// The same, with the unit.
pub fn estimated_keys(keys: &Estimate) -> String {
    let s = if keys.value.round() == 1.0 { "" } else { "s" };
    format!("{} key{s}", estimate(keys))
}

/// The estimated number of keys, with its interval.
pub fn estimate_within(keys: &Estimate) -> String {
    let about = estimate(keys);
    if !keys.high.is_finite() {
        return about;
    }
    format!("{about} (95 %: {} to {})", Count(keys.low as u64), Count(keys.high.ceil() as u64))
}

/// A receipt of a filter of umbel or of another system.
#[derive(Clone, Copy, Debug)]
pub enum Receipt<'a> {
    /// Of umbel.
    Own(&'a umbel::Receipt),
    /// Of another system.
    Foreign(&'a umbel_foreign::Receipt),
}

impl Receipt<'_> {
    /// Returns it as JSON. An infinite value, such as a full filter's estimate, is null.
    pub fn json(self) -> Value {
        match self {
            Self::Own(receipt) => own_json(receipt),
            Self::Foreign(receipt) => foreign_json(receipt),
        }
    }

    /// Returns it as rows.
    pub fn rows(self) -> Vec<Row> {
        match self {
            Self::Own(receipt) => rows(receipt),
            Self::Foreign(receipt) => foreign_rows(receipt),
        }
    }

    /// Returns the estimated number of keys.
    pub fn keys(self) -> Estimate {
        match self {
            Self::Own(receipt) => receipt.keys,
            Self::Foreign(receipt) => receipt.keys,
        }
    }
}

/// As [`Receipt::json`], of another system's filter.
pub fn foreign_json(receipt: &umbel_foreign::Receipt) -> Value {
    let declared = |facts: &[Fact]| {
        let figures = facts.iter().filter_map(|fact| Some((fact.name, figure(fact)?)));
        figures.map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>()
    };
    let mut object = json!({
        "format": receipt.format.name(),
        "scheme": receipt.scheme,
        "bits": receipt.bits,
        "bytes": receipt.bytes,
        "probes": receipt.probes,
        "declared": declared(&receipt.facts),
    });
    add_figures(&mut object, receipt.set_bits, receipt.fill, &receipt.keys, receipt.fpp);
    if !receipt.parts.is_empty() {
        let part = |part: &umbel_foreign::Part| {
            json!({
                "bits": part.bits,
                "probes": part.probes,
                "set_bits": part.set_bits,
                "keys": part.keys.value,
                "fpp": part.fpp,
                "declared": declared(&part.facts),
            })
        };
        object["parts"] = receipt.parts.iter().map(part).collect();
    }
    object
}

/// Adds what was computed from the bits of a filter.
fn add_figures(object: &mut Value, set_bits: u64, fill: f64, keys: &Estimate, fpp: f64) {
    object["set_bits"] = json!(set_bits);
    let Estimate { value, low, high, .. } = *keys;
    let names = ["fill", "keys", "keys_low", "keys_high", "fpp"];
    for (name, number) in names.into_iter().zip([fill, value, low, high, fpp]) {
        object[name] = json!(number);
    }
}

fn figure(fact: &Fact) -> Option<Value> {
    Some(match &fact.figure {
        Figure::Count(count) => json!(count),
        Figure::Number(number) | Figure::Rate(number) => json!(number),
        Figure::Text(text) => json!(text),
        _ => return None,
    })
}

/// As [`Receipt::json`], of a filter of umbel.
fn own_json(receipt: &umbel::Receipt) -> Value {
    let plan = &receipt.plan;
    let mut object = json!({
        "kind": plan.kind().name(),
        "scheme": receipt.scheme.algorithm.to_string(),
        "seed": receipt.scheme.seed,
        "key_id": format!("{:016x}", receipt.scheme.key_id),
        "bits": receipt.bits,
        "bytes": receipt.bytes(),
        "probes": plan.probes(),
        "planned_keys": plan.keys(),
        "planned_fpp": plan.fpp(),
        "over_filled": receipt.over_filled,
    });
    add_figures(&mut object, receipt.set_bits, receipt.fill, &receipt.keys, receipt.fpp);
    if !receipt.parts.is_empty() {
        object["parts"] = receipt.parts.iter().map(part_json).collect();
    }
    for fact in &receipt.facts {
        if let Some(figure) = figure(fact) {
            object[fact.name] = figure;
        }
    }
    object
}

fn part_json(part: &Part) -> Value {
    let mut object = json!({
        "part": part.what,
        "keys": part.keys,
        "planned_keys": part.plan.keys(),
        "planned_fpp": part.plan.fpp(),
        "fpp": part.fpp,
        "bits": part.plan.bits(),
        "probes": part.plan.probes(),
    });
    if let Some(name) = &part.name {
        object["name"] = json!(name);
    }
    object
}

/// Returns the rows about a packed or signed file.
pub fn wrapping_rows(wrapping: &Wrapping, receipt: Receipt<'_>) -> Vec<Row> {
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
    let mut rows: Vec<Row> = packed.into_iter().collect();
    if let Some(signature) = &wrapping.signature {
        let checked = if wrapping.verified { "verified" } else { "not checked: no --trust" };
        rows.push(row("signed by", format!("{} ({checked})", signature.signer())));
        let label = signature.label();
        if !label.list().is_empty() {
            rows.push(row("list", label.list().to_owned()));
        }
        if label.serial() > 0 {
            rows.push(row("serial", label.serial().to_string()));
        }
    }
    rows
}

/// As [`wrapping_rows`], for programs.
pub fn add_wrapping(object: &mut Value, wrapping: &Wrapping) {
    if let Some(bytes) = wrapping.packed {
        object["packed_bytes"] = json!(bytes);
    }
    if let Some(signature) = &wrapping.signature {
        object["signer"] = json!(signature.signer());
        object["signature_verified"] = json!(wrapping.verified);
        object["list"] = json!(signature.label().list());
        object["serial"] = json!(signature.label().serial());
    }
}

/// The description of the keys in a filter's file: a row for each name, values in their order.
pub fn key_rows(keys: &KeyDescription, receipt: Receipt<'_>) -> Vec<Row> {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in keys.entries() {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let one = |name| {
        let values = keys.values(name).map(|value| value.escape_debug().to_string());
        let title = match name {
            "field" => "fields".to_owned(),
            "type" => "key type".to_owned(),
            "normalization" => "normalized".to_owned(),
            "lengths" => "lengths".to_owned(),
            // The file's author chose the name: quotes keep it apart from our rows, such as `signed by`.
            other => format!("{other:?}"),
        };
        row(title, values.collect::<Vec<_>>().join(", "))
    };
    names.into_iter().map(one).chain(prefix_row(keys, receipt)).collect()
}

/// How prefixes are looked up in a filter of prefixes.
fn prefixes(keys: &KeyDescription) -> Option<PrefixKeys> {
    PrefixKeys::of(keys).ok().flatten()
}

/// How many queries a prefix look-up makes, and how often they pass wrongly together.
fn prefix_row(keys: &KeyDescription, receipt: Receipt<'_>) -> Option<Row> {
    let (Some(keys), Receipt::Own(receipt)) = (prefixes(keys), receipt) else { return None };
    let of = match keys.family() {
        Family::Ip => "networks",
        Family::Domain => "domains",
    };
    let questions = counted(keys.max_lookups().into(), "question");
    let rate = Rate(keys.joint_fpp(receipt.fpp));
    let most = format!("up to {questions} per line, rate of a line now {rate}");
    Some(row("prefixes", format!("{of} for umbel match: {most}")))
}

/// As [`key_rows`], for programs.
pub fn add_keys(object: &mut Value, keys: &KeyDescription, receipt: Receipt<'_>) {
    let values = |name| keys.values(name).collect::<Vec<_>>();
    if !keys.is_empty() {
        object["key_fields"] = json!(values("field"));
        object["key_type"] = json!(keys.values("type").next());
        object["key_normalization"] = json!(values("normalization"));
    }
    if let (Some(keys), Receipt::Own(receipt)) = (prefixes(keys), receipt) {
        object["prefix_questions"] = json!(keys.max_lookups());
        object["prefix_fpp"] = json!(keys.joint_fpp(receipt.fpp));
    }
}

/// The guessable type of keys, by their field names; `None` if one of the names does not show it.
pub fn guessable(keys: &KeyDescription) -> Option<Guessable> {
    let sorts: Option<Vec<_>> = keys.values("field").map(Guessable::of_field).collect();
    sorts?.first().copied()
}

/// The warning for an unkeyed filter whose keys can be guessed.
pub fn warning_of(keys: Guessable) -> String {
    let (what, how) = match (keys, keys.universe()) {
        // Only some of the keys were examined; others may have more digits.
        (Guessable::Numbers { .. }, _) => ("numbers".to_owned(), "all of them".to_owned()),
        (_, Some(count)) => (keys.to_string(), format!("all {} of them", Count(count))),
        (_, None) => (keys.to_string(), "lists of them".to_owned()),
    };
    format!(
        "the keys look like {what}: anyone who has the file can look up {how}; build it with --secret-file, or see umbel filter audit"
    )
}

/// A name and its value.
pub type Row = (String, String);

fn row(name: impl Into<String>, words: impl Into<String>) -> Row {
    (name.into(), words.into())
}

/// Rows below each other, with their texts in one column.
pub fn aligned(rows: &[Row]) -> String {
    // The same width in most receipts, so they can be compared; a long name of a part does not shift all rows.
    const LEAST: usize = 10;
    const MOST: usize = 24;
    let rows: Vec<_> =
        rows.iter().map(|(name, words)| (printable(name), printable(words))).collect();
    let widths = rows.iter().map(|(name, _)| name.chars().count());
    let width = widths.filter(|&width| width <= MOST).fold(LEAST, usize::max);
    rows.iter().map(|(name, words)| format!("  {name:<width$} {words}\n")).collect()
}

/// A text whose control characters cannot affect a terminal or begin a row.
fn printable(text: &str) -> String {
    let shown = |letter: char| match letter.is_control() {
        true => letter.escape_default().to_string(),
        false => letter.to_string(),
    };
    text.chars().map(shown).collect()
}

/// The receipt of another system's filter.
fn foreign_rows(receipt: &umbel_foreign::Receipt) -> Vec<Row> {
    let part = |(number, part): (usize, &umbel_foreign::Part)| {
        let facts = part.facts.iter().filter_map(fact_row);
        let facts = facts.map(|(name, value)| format!(", {name} {value}")).collect::<String>();
        let (keys, rate) = (estimated_keys(&part.keys), Rate(part.fpp));
        let (set, bits) = (Count(part.set_bits), Count(part.bits));
        let probes = counted(part.probes.into(), "probe");
        let words = format!("{keys}, {set} of {bits} bits set, {probes}, rate now {rate}{facts}");
        row(format!("part {number}"), words)
    };
    let fill = format!("{} bits set, {:.2} %", Count(receipt.set_bits), receipt.fill * 100.0);
    let mut rows = vec![
        row("format", format!("{}, {}", receipt.format, foreign_inside(receipt))),
        row("scheme", receipt.scheme.to_string()),
        row("size", format!("{}, {}", Size(receipt.bytes), counted(receipt.bits, "bit"))),
        row("fill", fill),
        row("keys", estimate_within(&receipt.keys)),
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
            "within its promise, accepts any number of keys and forgets old ones".to_owned(),
        ),
        _ if plan.kind().built_at_once() => (
            format!(" at a rate of {rate} ({:.2} bits per key)", plan.bits_per_key()),
            "within its plan, built from all its keys at once; accepts no more".to_owned(),
        ),
        _ => {
            let bits = receipt.bits as f64 / plan.keys() as f64;
            let state = match receipt.room {
                0 => "and full".to_owned(),
                _ => format!("room for about {room}"),
            };
            let planned = format!(" at a rate of {rate} ({bits:.2} bits per key)");
            (planned, format!("within its plan, {state}"))
        }
    };
    let state = if receipt.over_filled { over_filled(receipt) } else { state };
    let cells = plan.kind().cells();
    let set = if cells == "bits" { "set" } else { "in use" };
    let used = Count(receipt.set_bits);
    let fill = format!("{used} {cells} {set}, {:.2} %", receipt.fill * 100.0);
    let mut rows = vec![
        row("kind", format!("{}, {}", plan.kind(), inside(receipt))),
        row("scheme", receipt.scheme.to_string()),
        row("size", format!("{}, {}", Size(receipt.bytes()), counted(receipt.bits, "bit"))),
        row("planned", format!("{}{planned}", counted(plan.keys(), "key"))),
        row("fill", fill),
        row("keys", estimate_within(&receipt.keys)),
        row("rate now", format!("{}, from its own bits", Rate(receipt.fpp))),
        row("state", state),
    ];
    let facts = receipt.facts.iter().filter_map(fact_row);
    rows.extend(facts.map(|(name, value)| row(name, in_threes(&value))));
    rows.extend((1..).zip(&receipt.parts).map(part_row));
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

fn part_row((number, part): (usize, &Part)) -> Row {
    let plan = &part.plan;
    let name = match &part.name {
        Some(name) => name.escape_debug().to_string(),
        None => number.to_string(),
    };
    let (keys, planned) = (Count(part.keys.round() as u64), counted(plan.keys(), "key"));
    let (size, probes) = (Size(plan.bytes()), counted(plan.probes().into(), "probe"));
    let (now, rate) = (Rate(part.fpp), Rate(plan.fpp()));
    let words = format!("{keys} of {planned}, {size}, {probes}, rate now {now} of {rate}");
    row(format!("{} {name}", part.what), words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use umbel::Filter as _;

    #[test]
    fn a_name_has_one_row_wherever_it_comes() {
        let mut keys = KeyDescription::default();
        for (name, value) in [("field", "a"), ("made by", "us"), ("field", "b")] {
            keys.push(name, value).unwrap();
        }
        let receipt = umbel::Blocked::new(100, 0.01).unwrap().receipt();
        let rows = key_rows(&keys, Receipt::Own(&receipt));
        assert_eq!(rows, [row("fields", "a, b"), row("\"made by\"", "us")]);
    }

    /// The key description comes from the file's author.
    #[test]
    fn a_file_forges_no_row_and_no_sequence_for_a_terminal() {
        let mut filter = umbel::Blocked::new(100, 0.01).unwrap();
        let mut keys = KeyDescription::default();
        keys.push("field", "\x1b[2Jid").unwrap();
        keys.push("signed by", "umbel-public-key-1 00 (verified)").unwrap();
        keys.push("x\n  signed by\x1b[2J", "a friend").unwrap();
        filter.describe(keys);
        let receipt = filter.receipt();
        let text = aligned(&key_rows(filter.description(), Receipt::Own(&receipt)));
        assert_eq!(text.lines().count(), 3, "{text}");
        assert!(!text.contains("\n  signed by") && !text.contains('\x1b'), "{text}");
        assert!(text.contains("\"signed by\""), "{text}");
        // The receipt of an index.
        let about = umbel_find::index::About {
            fields: vec!["a\n\x1b".to_owned()],
            roots: vec!["logs\n\x1b".into()],
            ..Default::default()
        };
        let text = aligned(&crate::index::rows(&about));
        assert!(text.lines().count() == 8 && !text.contains('\x1b'), "{text}");
    }
}
