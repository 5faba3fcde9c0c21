//! The overlap of two filters: the report of `umbel filter overlap`.

use anyhow::{Result, bail};
use serde_json::{Value, json};
use umbel::{Algorithm, AnyFilter, Comparison, Estimate, Filter, Hashing};
use umbel_foreign::{Foreign, ForeignFilter};
use umbel_numbers::{Count, Rate, Size};

use crate::receipt::{Receipt, Row, estimate_within, foreign_inside, inside};

/// How two filters compare, and whether they can be merged, or why not.
#[derive(Debug)]
pub struct Compared {
    found: Result<Comparison, String>,
    merged: Result<Merged, String>,
}

/// The properties of the merged filter.
#[derive(Clone, Copy, Debug)]
pub struct Merged {
    bytes: u64,
    fill: f64,
    fpp: f64,
    /// Whether one of the filters was folded.
    folded: bool,
}

impl Merged {
    /// From the receipt of a merged filter.
    pub fn of(receipt: Receipt<'_>) -> Self {
        let (bytes, fill, fpp) = match receipt {
            Receipt::Own(receipt) => (receipt.bytes(), receipt.fill, receipt.fpp),
            Receipt::Foreign(receipt) => (receipt.bytes, receipt.fill, receipt.fpp),
        };
        Self { bytes, fill, fpp, folded: false }
    }

    /// Returns whether nearly every absent key passes, so the filter is useless.
    pub fn is_useless(&self) -> bool {
        /// Two noisy copies at a rate of 0.5 let 0.75 pass.
        const MOST: f64 = 0.9;
        self.fpp > MOST
    }
}

impl std::fmt::Display for Merged {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { bytes, fill, fpp, .. } = self;
        let fill = fill * 100.0;
        write!(f, "{}, {fill:.2} % full, at a rate of {}", Size(*bytes), Rate(*fpp))
    }
}

impl Compared {
    /// Compares two filters of umbel. The library tries to merge them, so `left` may become their union.
    pub fn own<H: Hashing, I: Hashing>(left: &mut AnyFilter<H>, right: &AnyFilter<I>) -> Self {
        if let Err(error) = check_same_keys(left, right) {
            let why = error.to_string();
            return Self { found: Err(why.clone()), merged: Err(why) };
        }
        let found = left.compare(right).map_err(|error| error.to_string());
        let folded = left.bytes() != right.bytes();
        let merged = left.union_folding(right).map_err(|error| error.to_string());
        let of_both = |()| Merged { folded, ..Merged::of(Receipt::Own(&left.receipt())) };
        Self { found, merged: merged.map(of_both) }
    }

    /// Compares two filters of other systems, as [`own`](Self::own).
    pub fn foreign(left: &mut Foreign, right: &Foreign) -> Self {
        let found = left.compare(right).map_err(|error| error.to_string());
        let merged = left.union(right).map_err(|error| error.to_string());
        Self { found, merged: merged.map(|()| Merged::of(Receipt::Foreign(&left.receipt()))) }
    }

    /// Refuses to compare a filter of umbel and one of another system.
    ///
    /// # Errors
    /// Always.
    pub fn mixed() -> Result<Self> {
        bail!(
            "an umbel filter and another system's cannot be compared: they put keys in different positions; build both in one format"
        )
    }

    /// Returns the report as rows.
    pub fn rows(&self, names: &[String; 2], receipts: [Receipt<'_>; 2]) -> Vec<Row> {
        let Self { found, merged } = self;
        let mut rows = Vec::new();
        let mut row = |what: &str, value: String| rows.push((what.to_owned(), value));
        for ((name, path), receipt) in ["A", "B"].iter().zip(names).zip(receipts) {
            let (form, inside) = match receipt {
                Receipt::Own(receipt) => (receipt.plan.kind().to_string(), inside(receipt)),
                Receipt::Foreign(receipt) => (receipt.format.to_string(), foreign_inside(receipt)),
            };
            let Merged { bytes, fill, .. } = Merged::of(receipt);
            let (size, fill) = (Size(bytes), fill * 100.0);
            row(name, format!("{path}: {form} filter of {size}, {inside}, {fill:.2} % full"));
        }
        let keys = match found {
            Ok(found) => [found.left, found.right],
            Err(_) => receipts.map(Receipt::keys),
        };
        row("keys in A", estimate_within(&keys[0]));
        row("keys in B", estimate_within(&keys[1]));
        match found {
            Err(error) => row("shared", format!("unknown: {error}")),
            Ok(found) => {
                match &found.overlap {
                    None => row("shared", "unknown: no bit is clear in both".to_owned()),
                    Some(overlap) => {
                        row("in either", estimate_within(&overlap.union));
                        row("in both", estimate_within(&overlap.intersection));
                        row("Jaccard", share(&overlap.jaccard));
                        row("A in B", share(&overlap.left_in_right));
                        row("B in A", share(&overlap.right_in_left));
                    }
                }
                let by_chance = found.bits_by_chance.round() as u64;
                let bits = [found.left_bits, found.right_bits, found.shared_bits, by_chance];
                let [left, right, both, by_chance] = bits.map(Count);
                let bits = format!(
                    "{left} in A, {right} in B, {both} in both; {by_chance} expected in both by chance if no key were shared"
                );
                row("bits", bits);
            }
        }
        row("learned", learned(receipts[0]));
        let merge = match merged {
            Ok(it) if it.is_useless() => format!("useless: {it}; build one filter of both lists"),
            Ok(it) if it.folded => format!("yes, folded to the smaller size (--fold): {it}"),
            Ok(merged) => format!("yes: {merged}"),
            Err(error) => format!("no: {error}"),
        };
        row("merge", merge);
        rows
    }

    /// Returns the report for programs.
    pub fn json(&self, names: &[String; 2], receipts: [Receipt<'_>; 2]) -> Value {
        let Self { found, merged } = self;
        let mut object = json!({
            "type": "compare",
            "left": receipts[0].json(),
            "right": receipts[1].json(),
            "mergeable": merged.is_ok(),
            "not_mergeable": merged.as_ref().err(),
            "not_comparable": found.as_ref().err(),
        });
        if let Ok(Merged { bytes, fill, fpp, folded }) = merged {
            object["merged_folded"] = json!(folded);
            object["merged_bytes"] = json!(bytes);
            object["merged_fill"] = json!(fill);
            object["merged_fpp"] = json!(fpp);
        }
        object["left"]["file"] = json!(names[0]);
        object["right"]["file"] = json!(names[1]);
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
        object
    }
}

/// Checks that the keys of two filters are alike, for two filters of keys or two of rows; for other pairs, the library
/// reports why they cannot be combined.
///
/// # Errors
/// [`umbel::internals::format::OtherKeys`], which names both.
pub fn check_same_keys<H: Hashing, I: Hashing>(
    left: &AnyFilter<H>,
    right: &AnyFilter<I>,
) -> Result<(), umbel::internals::format::OtherKeys> {
    if left.kind().rows() != right.kind().rows() {
        return Ok(());
    }
    left.description().check(left.kind(), right.description())
}

/// What outsiders without the secret of a keyed filter learn if they get keys of their own listed; and the remedy.
pub const LINKED: &str = "anyone who can get keys listed and compares versions learns their bits, and finds them in other lists under this secret: use a new secret for each version";

/// Describes what holders of both filters, or of this report, have learned.
fn learned(receipt: Receipt<'_>) -> String {
    let figures = "by anyone with both files: these figures";
    let guess = "whether any key they can guess is in A or B";
    match receipt {
        Receipt::Own(receipt) if receipt.scheme.algorithm == Algorithm::Sip13 => {
            format!("{figures}, and with the secret, {guess}; without it, {LINKED}")
        }
        _ => format!("{figures}, and {guess}; of two versions, which came or went"),
    }
}

fn share(estimate: &Estimate) -> String {
    let [value, low, high] = [estimate.value, estimate.low, estimate.high].map(|part| part * 100.0);
    format!("{value:.2} % (95 %: {low:.2} to {high:.2} %)")
}
