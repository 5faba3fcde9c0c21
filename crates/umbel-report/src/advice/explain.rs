//! The formulas behind a choice, with its numbers filled in.

use umbel::formulas::{bloomier, classic};
use umbel::{Growth, Kind, Plan, Variant};

use super::formulas::hash_collisions;
use super::sources::{self, Source};
use super::{Choice, Costs, Goal};

/// A figure and its derivation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Step {
    /// The name of the figure.
    pub what: &'static str,
    /// The formula, plain and with numbers filled in.
    pub how: String,
    /// Where the formula comes from.
    pub source: Source,
}

pub(crate) fn explain(choice: &Choice, goal: &Goal) -> Vec<Step> {
    let Some(plan) = &choice.plan else { return Vec::new() };
    let mut steps = vec![size(plan), rate(plan)];
    if plan.kind() == Kind::Cascade && goal.except > 0 {
        let caught = goal.except as f64 * plan.predicted_fpp();
        let how = format!(
            "s·p = {} · {} = {caught:.0} keys of the other list pass the first level; what tells them apart takes {} bytes",
            goal.except,
            number(plan.predicted_fpp()),
            choice.memory - plan.bytes()
        );
        steps.push(Step { what: "levels", how, source: sources::of(plan.variant()) });
    }
    if plan.kind() == Kind::Scalable {
        let more = plan.keys().saturating_mul(10);
        let how = format!("{} bytes in all links with 10 n = {more} keys", plan.bytes_at(more));
        steps.push(Step { what: "growth", how, source: sources::of(plan.variant()) });
    }
    let bound = -choice.fpp.log2();
    let bits = 8.0 * choice.memory as f64 / plan.keys() as f64;
    steps.push(Step {
        what: "bound",
        how: format!(
            "log2(1/p) = {bound:.2} bits per key at least; it has {bits:.2}, {:.2} times as many",
            bits / bound
        ),
        source: sources::BOUND,
    });
    steps.push(Step {
        what: "hash",
        how: format!(
            "keys of equal hashes add n·2^-128 = {} to the rate",
            number(hash_collisions(plan.keys(), 128))
        ),
        source: sources::OURS,
    });
    if let (Some(costs), Some(price), Some(cost)) = (goal.costs, choice.price, choice.cost) {
        let Costs { lookup, false_answer, absent } = costs;
        let how = format!(
            "t + (1 - a)·W + a·p·F = {} + {:.3}·{} + {absent:.3}·{}·{} = {} ns; without a filter W = {} ns",
            number(price.one),
            1.0 - absent,
            number(lookup),
            number(choice.fpp),
            number(false_answer),
            number(cost),
            number(lookup)
        );
        steps.push(Step { what: "cost", how, source: sources::OURS });
    }
    steps
}

fn size(plan: &Plan) -> Step {
    let (keys, fpp, bits, probes) = (plan.keys(), plan.fpp(), plan.bits(), plan.probes());
    let n = keys as f64;
    let per_block = |bits: u64, keys: f64| 512.0 * keys / bits as f64;
    let blocks = |bits: u64, keys: f64| {
        format!(
            "{} blocks of 512 bits with {:.2} keys on average, k = {probes}",
            bits / 512,
            per_block(bits, keys)
        )
    };
    let how = match plan.variant() {
        Variant::Blocked | Variant::Cascade { .. } => {
            format!(
                "m/n is the least with sum over L of Poisson(L; 512 n/m)·f(L) <= p: {}",
                blocks(bits, n)
            )
        }
        Variant::Classic => format!(
            "m = -k·n / ln(1 - p^(1/k)) = {probes}·{keys} / {}, in blocks of 512: {bits} bits; -n·ln p / (ln 2)^2 = {}",
            number(-(-fpp.powf(1.0 / f64::from(probes))).ln_1p()),
            number(n * classic::bits_per_key(fpp))
        ),
        Variant::Sliced => format!(
            "{probes} slices of {} bits each: s = 1 / (1 - (1 - p^(1/k))^(1/n))",
            bits / u64::from(probes)
        ),
        Variant::Counting { counter_bits } => format!(
            "{counter_bits} bits for each bit of a blocked filter: {}",
            blocks(bits / u64::from(counter_bits), n)
        ),
        Variant::Scalable { growth } => format!(
            "first link for n keys at {}: {}; the next ones for {}",
            if growth == Growth::Doubling { "p/2" } else { "6p/pi^2" },
            blocks(bits, n),
            if growth == Growth::Doubling {
                "2n, 4n, ... at p/4, p/8, ..."
            } else {
                "n more at 6p/(pi·i)^2"
            }
        ),
        Variant::Window { generations } => format!(
            "{generations} generations for n/{} keys each at 1 - (1 - p)^(1/{generations}): {}",
            generations - 1,
            blocks(bits / u64::from(generations), (n / f64::from(generations - 1)).ceil())
        ),
        Variant::Stable { cell_bits } => format!(
            "{} cells of {cell_bits} bits, k = {probes}: remembers each of the last n insertions with a chance of 99 %",
            bits / u64::from(cell_bits)
        ),
        Variant::Bloomier { fingerprint_bits, .. } => format!(
            "{} slots a key of {} bits: {:.3} n slots, three of them a key's",
            if keys < 1_400_000 { "0.88 + 3.454/ln n" } else { "1.125" },
            fingerprint_bits.unwrap_or(0),
            bloomier::slots_per_key(keys)
        ),
        Variant::Attributes { .. } => format!("for each field {}", blocks(bits, n)),
        Variant::Coded { code_bits: Some(code) } => format!(
            "codes of {code} bits, {} in a bucket of 512 bits; {:.2} keys a bucket on average",
            512 / code,
            per_block(bits, n)
        ),
        // A kind newer than these formulas.
        _ => format!("{bits} bits"),
    };
    Step { what: "size", how, source: sources::of(plan.variant()) }
}

fn rate(plan: &Plan) -> Step {
    let (keys, fpp, bits, probes) = (plan.keys(), plan.fpp(), plan.bits(), plan.probes());
    let predicted = number(plan.predicted_fpp());
    let how = match plan.variant() {
        Variant::Blocked
        | Variant::Counting { .. }
        | Variant::Cascade { .. }
        | Variant::Attributes { .. } => {
            format!(
                "sum over L of Poisson(L; 512 n/m)·f(L) = {predicted}, f(L) exact for {probes} probes of L keys in a block"
            )
        }
        Variant::Classic => format!(
            "(1 - e^(-kn/m))^k = {}; exactly {predicted}",
            number(classic::fpp_limit(keys, bits, probes))
        ),
        Variant::Sliced => format!("(1 - (1 - 1/s)^n)^k = {predicted}"),
        Variant::Scalable { .. } => {
            format!("at most the sum of all links' rates, {}; {predicted} with n keys", number(fpp))
        }
        Variant::Window { generations } => format!("1 - (1 - p_i)^{generations} = {predicted}"),
        Variant::Stable { .. } => {
            format!("(1 - (1/(1 + 1/(P(1/k - 1/m))))^Max)^k at the stable point = {predicted}")
        }
        Variant::Bloomier { fingerprint_bits, .. } => {
            format!("2^-{} = {predicted}", fingerprint_bits.unwrap_or(0))
        }
        Variant::Coded { code_bits: Some(code) } => {
            format!("codes compared / (2^{code} - 1) = {predicted}")
        }
        _ => predicted,
    };
    let source = match plan.kind() {
        Kind::Classic => sources::EXACT,
        _ => sources::of(plan.variant()),
    };
    Step { what: "rate", how, source }
}

/// A number with three or four digits.
fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        0.001..1000.0 => {
            let digits = (3 - value.abs().log10().floor() as i32).clamp(0, 6) as usize;
            format!("{value:.digits$}")
        }
        1000.0..1e15 => format!("{value:.0}"),
        _ => format!("{value:.3e}"),
    }
}
