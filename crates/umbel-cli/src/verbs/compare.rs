//! `umbel compare`: what two filters tell of the sets in them.

use anyhow::Result;
use serde_json::json;
use umbel::filter::Comparison;
use umbel::{Estimate, MergeError, Receipt};

use crate::Outcome;
use crate::args::CompareArgs;
use crate::numbers::{Count, Size};
use crate::output::print;
use crate::{filters, report};

pub(crate) fn compare(args: &CompareArgs) -> Result<Outcome> {
    let mut left = filters::read_own(&args.left, "compare")?;
    let right = filters::read_own(&args.right, "compare")?;
    let found = left.compare(&right);
    let receipts = [left.receipt(), right.receipt()];
    // The library's own word; what it makes of them is not kept.
    let merged = left.union(&right);
    print(match args.voice.json {
        true => json(args, &receipts, &found, &merged),
        false => text(args, &receipts, &found, &merged),
    })?;
    Ok(Outcome::Done)
}

fn text(
    args: &CompareArgs,
    receipts: &[Receipt; 2],
    found: &Result<Comparison, MergeError>,
    merged: &Result<(), MergeError>,
) -> String {
    let mut text = String::new();
    let mut row = |what: &str, value: String| text += &format!("{what:<12} {value}\n");
    for ((name, path), receipt) in ["A", "B"].iter().zip([&args.left, &args.right]).zip(receipts) {
        row(
            name,
            format!(
                "{}: {} filter of {}, {}, {:.2} % full",
                path.display(),
                receipt.plan.kind(),
                Size(receipt.bytes()),
                report::inside(receipt),
                receipt.fill * 100.0
            ),
        );
    }
    let keys = match found {
        Ok(found) => [found.left, found.right],
        Err(_) => receipts.each_ref().map(|receipt| receipt.keys),
    };
    row("keys in A", report::estimate_within(&keys[0]));
    row("keys in B", report::estimate_within(&keys[1]));
    match found {
        Err(error) => row("shared", format!("cannot be told: {error}")),
        Ok(found) => {
            match &found.overlap {
                None => row("shared", "cannot be told: no bit is clear in both".to_owned()),
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
                    "{} in A, {} in B, {} in both; {} in both by chance, were no key shared",
                    Count(found.left_bits),
                    Count(found.right_bits),
                    Count(found.shared_bits),
                    Count(found.bits_by_chance.round() as u64)
                ),
            );
        }
    }
    row(
        "merge",
        match merged {
            Ok(()) => "yes".to_owned(),
            Err(error) => format!("no: {error}"),
        },
    );
    text
}

fn share(estimate: &Estimate) -> String {
    let [value, low, high] = [estimate.value, estimate.low, estimate.high].map(|part| part * 100.0);
    format!("{value:.2} % (95 %: {low:.2} to {high:.2} %)")
}

fn json(
    args: &CompareArgs,
    receipts: &[Receipt; 2],
    found: &Result<Comparison, MergeError>,
    merged: &Result<(), MergeError>,
) -> String {
    let mut object = json!({
        "type": "compare",
        "left": report::own_json(&receipts[0]),
        "right": report::own_json(&receipts[1]),
        "mergeable": merged.is_ok(),
        "not_mergeable": merged.as_ref().err().map(MergeError::to_string),
        "not_comparable": found.as_ref().err().map(MergeError::to_string),
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
