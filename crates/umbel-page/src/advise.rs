//! Plans: the ranking of all kinds for a goal, and for each kind, the code that makes the filter.

use serde_json::{Value, json};
use umbel::{Kind, Plan, Variant};
use umbel_numbers::{Rate, Size, in_threes};
use umbel_report::advice::{Choice, Goal, Verdict, advise};
use umbel_report::plan;

use crate::MOST_BYTES;
use crate::calculate::one_in;
use crate::goal::Typed;
use crate::refused::Refused;

pub(crate) fn answer(typed: &Typed) -> Result<Value, Refused> {
    let goal = typed.goal()?;
    let advice = advise(&goal).map_err(|error| Refused::from(anyhow::Error::new(error)))?;
    let columns = plan::columns(&goal);
    let documents = plan::documents(&goal, &advice, true);
    let row = |(choice, document): (&Choice, Value)| {
        let cells = columns.iter().zip(plan::cells(choice));
        let cells: Value = cells.map(|(column, cell)| (column.id, cell)).collect();
        let formulas = choice.explain(&goal).into_iter().map(|step| {
            let source = json!({ "text": step.source.text, "url": step.source.url });
            json!({ "name": step.what, "text": in_threes(&step.how), "source": source })
        });
        json!({
            "kind": choice.variant.kind().name(),
            "variant": choice.variant.to_string(),
            "fits": choice.fits(),
            "rank": document.get("rank"),
            "obstacles": plan::obstacles(choice),
            "cells": cells,
            "document": document,
            "formulas": formulas.collect::<Value>(),
            "snippets": choice.fits().then(|| snippets(choice, &goal)),
            "headline": choice.plan.as_ref().map(|plan| json!({
                "memory": Size(choice.memory).to_string(),
                "file": Size(choice.ship).to_string(),
                "bits_per_key": choice.bits_per_key().map(|bits| in_threes(&format!("{bits:.2}"))),
                "probes": plan.probes(),
                "fpp": Rate(choice.fpp).to_string(),
                "one_in": one_in(choice.fpp),
                "removes": choice.variant.kind().removes(),
            })),
        })
    };
    let rows: Vec<Value> = advice.choices.iter().zip(documents).map(row).collect();
    let take = match advice.verdict {
        Verdict::Take(variant) => json!(variant.to_string()),
        _ => Value::Null,
    };
    let columns = columns.iter();
    let columns = columns.map(|it| json!({ "id": it.id, "title": it.title, "help": it.help }));
    Ok(json!({
        "verdict": plan::verdict(&goal, &advice),
        "take": take,
        "command": typed.command(),
        "columns": columns.collect::<Value>(),
        "rows": rows,
        "notes": plan::notes(&advice).map(|note| note.replace("\n    ", " ")),
        "document": plan::last_document(&advice),
    }))
}

/// The input of a plan: two of keys, rate and bytes.
enum PlanInput {
    Keys { keys: u64, fpp: f64 },
    Memory { keys: u64, bytes: u64 },
    Capacity { fpp: f64, bytes: u64 },
}

impl PlanInput {
    fn of(choice: &Choice, goal: &Goal) -> Self {
        let bytes = choice.memory;
        match (goal.keys, goal.fpp) {
            (Some(keys), Some(fpp)) => Self::Keys { keys, fpp },
            (Some(keys), None) => Self::Memory { keys, bytes },
            (None, Some(fpp)) => Self::Capacity { fpp, bytes },
            (None, None) => unreachable!("a goal has keys or a rate"),
        }
    }
}

/// The lines that make the filter of a choice.
fn snippets(choice: &Choice, goal: &Goal) -> Value {
    let from = PlanInput::of(choice, goal);
    let plan = choice.plan.as_ref().expect("it fits, so there is a plan");
    let fpp = fpp_within(plan);
    json!({
        "command": command(choice.variant, &from, goal),
        "rust": rust(choice.variant, &from, goal),
        "python": python(choice.variant, &from, goal, plan.fpp()),
        "javascript": (plan.bytes() <= MOST_BYTES).then(|| javascript(choice.variant, plan.keys(), fpp)),
        "redis": redis(choice.variant, plan.keys(), fpp),
    })
}

fn command(variant: Variant, from: &PlanInput, goal: &Goal) -> String {
    let mut command = "umbel filter build".to_owned();
    if variant != Kind::Blocked.into() {
        command += &format!(" --kind {variant}");
    }
    command += &match from {
        PlanInput::Keys { keys, fpp } => format!(" --keys {keys} --fpp {fpp}"),
        PlanInput::Memory { keys, bytes } => format!(" --keys {keys} --size {bytes}"),
        PlanInput::Capacity { fpp, bytes } => format!(" --fpp {fpp} --size {bytes}"),
    };
    if variant.kind() == Kind::Cascade && goal.except > 0 {
        command += " --except others.txt";
    }
    command + " -o seen.umbel keys.txt"
}

fn rust(variant: Variant, from: &PlanInput, goal: &Goal) -> String {
    let kind = type_name(variant.kind());
    let usual = variant == variant.kind().into();
    let which = match usual {
        true => format!("Kind::{kind}"),
        false => format!("\"{variant}\".parse::<Variant>()?"),
    };
    let planned = match from {
        PlanInput::Keys { keys, fpp } => format!("for_keys({which}, {}, {fpp:?})", digits(*keys)),
        PlanInput::Memory { keys, bytes } => {
            format!("for_memory({which}, {}, {})", digits(*keys), digits(*bytes))
        }
        PlanInput::Capacity { fpp, bytes } => {
            format!("for_capacity({which}, {fpp:?}, {})", digits(*bytes))
        }
    };
    let types = if usual { "KeyHasher, Kind, Plan" } else { "KeyHasher, Plan, Variant" };
    match (variant.kind(), from) {
        (Kind::Bloomier, _) => format!(
            "use umbel::{{Bloomier, {types}}};\n\nlet plan = Plan::{planned}?;\nlet seen = Bloomier::build(&plan, &keys, KeyHasher::default())?;"
        ),
        (Kind::Cascade, _) => format!(
            "use umbel::{{Cascade, {types}}};\n\nlet plan = Plan::{}?;\nlet seen = Cascade::build_with_plan(&plan, &keys, &others, KeyHasher::default())?;",
            match from {
                PlanInput::Keys { keys, fpp } if goal.except > 0 => format!(
                    "for_lists({which}, {}, {}, {fpp:?})",
                    digits(*keys),
                    digits(goal.except)
                ),
                _ => planned,
            }
        ),
        (_, PlanInput::Keys { keys, fpp }) if usual => format!(
            "use umbel::{kind};\n\nlet mut seen = {kind}::new({}, {fpp:?})?;\nseen.insert(\"key\");",
            digits(*keys)
        ),
        _ => format!(
            "use umbel::{{{kind}, {types}}};\n\nlet plan = Plan::{planned}?;\nlet mut seen = {kind}::with_plan(&plan, KeyHasher::default())?;\nseen.insert(\"key\");"
        ),
    }
}

fn python(variant: Variant, from: &PlanInput, goal: &Goal, fpp: f64) -> String {
    let options = match from {
        PlanInput::Keys { keys, fpp } => format!("{}, {fpp}", digits(*keys)),
        PlanInput::Memory { keys, bytes } => {
            format!("{}, memory={}", digits(*keys), digits(*bytes))
        }
        PlanInput::Capacity { fpp, bytes } => format!("fpp={fpp}, memory={}", digits(*bytes)),
    };
    let made = match variant {
        Variant::Blocked => format!("Bloom({options})"),
        Variant::Classic | Variant::Sliced => format!("Bloom({options}, kind=\"{variant}\")"),
        Variant::Bloomier { .. } => format!("Bloomier(keys, {fpp})"),
        Variant::Cascade { .. } if goal.except == 0 => format!("Cascade(keys, [], {fpp})"),
        Variant::Cascade { .. } => format!("Cascade(keys, others, {fpp})"),
        _ => format!("{}({options})", type_name(variant.kind())),
    };
    let added = if variant.kind().built_at_once() { "" } else { "\nseen.add(\"key\")" };
    format!("import umbel\n\nseen = umbel.{made}{added}")
}

/// A rate near that of a plan, of which a filter for as many keys has no more bytes: where memory is given, that of the plan may
/// need a step more.
fn fpp_within(plan: &Plan) -> f64 {
    let fits = |fpp: &f64| {
        let same = Plan::for_keys(plan.variant(), plan.keys(), *fpp);
        same.map_or(true, |same| same.bytes() <= plan.bytes())
    };
    let rounded = |step| format!("{:.2e}", plan.fpp() * 1.005f64.powi(step)).parse::<f64>();
    let looser = (1..1000).map_while(|step| rounded(step).ok());
    std::iter::once(plan.fpp()).chain(looser).find(fits).unwrap_or(plan.fpp())
}

fn javascript(variant: Variant, keys: u64, fpp: f64) -> Option<String> {
    let (module, kind) = match variant {
        Variant::Blocked => ("umbel", String::new()),
        // The package removes no keys.
        variant if variant.kind().inserts() && !variant.kind().removes() => {
            ("umbel/foreign", format!(", kind: \"{variant}\""))
        }
        _ => return None,
    };
    let made = format!("new Filter({{ keys: {}, fpp: {fpp}{kind} }})", digits(keys));
    Some(format!(
        "import {{ Filter }} from \"{module}\";\n\nconst seen = {made};\nseen.add(\"key\");"
    ))
}

fn redis(variant: Variant, keys: u64, fpp: f64) -> Option<String> {
    let kind = match variant {
        Variant::Blocked => String::new(),
        variant if variant.kind().inserts() => format!(" KIND {variant}"),
        _ => return None,
    };
    Some(format!("UM.RESERVE seen {keys} {fpp}{kind}\nUM.ADD seen key"))
}

/// The type name of a kind in Rust and Python.
fn type_name(kind: Kind) -> String {
    let name = kind.name();
    name[..1].to_uppercase() + &name[1..]
}

/// A number as these languages write it.
fn digits(number: u64) -> String {
    umbel_numbers::Count(number).to_string().replace(',', "_")
}
