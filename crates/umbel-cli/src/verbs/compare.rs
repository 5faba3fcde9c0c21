//! `umbel compare`: what two filters share, estimated from their bits.

use anyhow::{Result, bail};
use serde_json::json;
use umbel::filter::Comparison;
use umbel::{Algorithm, Estimate, Scheme};
use umbel_sets::{Filter, Receipt};

use crate::Outcome;
use crate::args::CompareArgs;
use crate::numbers::{Count, Size};
use crate::output::{check_target, refuse_in_place_of, write_text};
use crate::{filters, report};

pub(crate) fn compare(args: &CompareArgs) -> Result<Outcome> {
    check_target(&args.output)?;
    refuse_in_place_of(args.output.file(), &[Some(&args.left), Some(&args.right)])?;
    let mut left = filters::read_sealed(&args.left, &args.format, &args.trust)?;
    let right = filters::read_sealed(&args.right, &args.format, &args.trust)?;
    let receipts = [left.receipt(), right.receipt()];
    let told = told(&mut left, &right)?;
    let text = match args.voice.json {
        true => json(args, &receipts, &told),
        false => text(args, &receipts, &told),
    };
    write_text(&args.output, |put| put(&text))?;
    Ok(Outcome::Done)
}

/// How two filters compare, and whether they merge; or why not.
struct Told {
    found: Result<Comparison, String>,
    merged: Result<(), String>,
}

fn told(left: &mut Filter<Scheme>, right: &Filter<Scheme>) -> Result<Told> {
    // The library decides whether they merge; the result is not kept.
    Ok(match (left, right) {
        (Filter::Own(left), Filter::Own(right)) => {
            if let Err(error) = filters::check_same_keys(left, right) {
                let why = error.to_string();
                return Ok(Told { found: Err(why.clone()), merged: Err(why) });
            }
            let found = left.compare(right).map_err(|error| error.to_string());
            Told { found, merged: left.union(right).map_err(|error| error.to_string()) }
        }
        (Filter::Foreign(left), Filter::Foreign(right)) => {
            let found = left.filter().compare(right.filter()).map_err(|error| error.to_string());
            let merged = left.filter_mut().union(right.filter());
            Told { found, merged: merged.map_err(|error| error.to_string()) }
        }
        _ => bail!(
            "a filter of umbel and one of another system cannot be compared: they put keys in different positions; build both \
             in one format"
        ),
    })
}

fn text(args: &CompareArgs, receipts: &[Receipt; 2], told: &Told) -> String {
    let Told { found, merged } = told;
    let mut text = String::new();
    let mut row = |what: &str, value: String| text += &format!("{what:<12} {value}\n");
    for ((name, path), receipt) in ["A", "B"].iter().zip([&args.left, &args.right]).zip(receipts) {
        let (form, bytes, inside, fill) = match receipt {
            Receipt::Own(receipt) => {
                let kind = receipt.plan.kind().to_string();
                (kind, receipt.bytes(), report::inside(receipt), receipt.fill)
            }
            Receipt::Foreign(receipt) => {
                let inside = report::foreign_inside(receipt);
                (receipt.format.to_string(), receipt.bytes, inside, receipt.fill)
            }
        };
        let (path, size, fill) = (path.display(), Size(bytes), fill * 100.0);
        row(name, format!("{path}: {form} filter of {size}, {inside}, {fill:.2} % full"));
    }
    let keys = match found {
        Ok(found) => [found.left, found.right],
        Err(_) => receipts.each_ref().map(|receipt| match receipt {
            Receipt::Own(receipt) => receipt.keys,
            Receipt::Foreign(receipt) => receipt.keys,
        }),
    };
    row("keys in A", report::estimate_within(&keys[0]));
    row("keys in B", report::estimate_within(&keys[1]));
    match found {
        Err(error) => row("shared", format!("unknown: {error}")),
        Ok(found) => {
            match &found.overlap {
                None => row("shared", "unknown: no bit is clear in both".to_owned()),
                Some(overlap) => {
                    row("in either", report::estimate_within(&overlap.union));
                    row("in both", report::estimate_within(&overlap.intersection));
                    row("Jaccard", share(&overlap.jaccard));
                    row("A in B", share(&overlap.left_in_right));
                    row("B in A", share(&overlap.right_in_left));
                }
            }
            row(
                "bits",
                format!(
                    "{} in A, {} in B, {} in both; {} expected in both by chance if no key were shared",
                    Count(found.left_bits),
                    Count(found.right_bits),
                    Count(found.shared_bits),
                    Count(found.bits_by_chance.round() as u64)
                ),
            );
        }
    }
    row("learned", learned(&receipts[0]).to_owned());
    row(
        "merge",
        match merged {
            Ok(()) => "yes".to_owned(),
            Err(error) => format!("no: {error}"),
        },
    );
    text
}

/// What those who hold both filters, or this report, have learned.
fn learned(receipt: &Receipt) -> &'static str {
    match receipt {
        Receipt::Own(receipt) if receipt.scheme.algorithm == Algorithm::Sip13 => {
            "by whoever has both files: these figures, and with the secret, whether any key they can guess is in A or B"
        }
        _ => {
            "by whoever has both files: these figures, and whether any key they can guess is in A or B"
        }
    }
}

fn share(estimate: &Estimate) -> String {
    let [value, low, high] = [estimate.value, estimate.low, estimate.high].map(|part| part * 100.0);
    format!("{value:.2} % (95 %: {low:.2} to {high:.2} %)")
}

fn json(args: &CompareArgs, receipts: &[Receipt; 2], told: &Told) -> String {
    let Told { found, merged } = told;
    let mut object = json!({
        "type": "compare",
        "left": report::receipt_json(&receipts[0]),
        "right": report::receipt_json(&receipts[1]),
        "mergeable": merged.is_ok(),
        "not_mergeable": merged.as_ref().err(),
        "not_comparable": found.as_ref().err(),
    });
    object["left"]["file"] = json!(args.left.display().to_string());
    object["right"]["file"] = json!(args.right.display().to_string());
    if let Ok(found) = found {
        object["bits"] = json!(found.bits);
        object["left_bits"] = json!(found.left_bits);
        object["right_bits"] = json!(found.right_bits);
        object["shared_bits"] = json!(found.shared_bits);
        object["bits_by_chance"] = json!(found.bits_by_chance);
        if let Some(overlap) = &found.overlap {
            let estimates = [
                ("union", overlap.union),
                ("intersection", overlap.intersection),
                ("jaccard", overlap.jaccard),
                ("left_in_right", overlap.left_in_right),
                ("right_in_left", overlap.right_in_left),
            ];
            for (name, Estimate { value, low, high, .. }) in estimates {
                object[name] = json!(value);
                object[format!("{name}_low")] = json!(low);
                object[format!("{name}_high")] = json!(high);
            }
        }
    }
    format!("{object}\n")
}
