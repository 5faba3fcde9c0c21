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
    let mut add = |what, source, how| steps.push(Step { what, how, source });
    if plan.kind() == Kind::Cascade && goal.except > 0 {
        let (except, rate) = (goal.except, plan.predicted_fpp());
        let (caught, rate) = (except as f64 * rate, number(rate));
        let how = format!(
            "s·p = {except} · {rate} = {caught:.0} keys of the other list pass the first level; telling them apart uses {} bytes",
            choice.memory - plan.bytes()
        );
        add("levels", sources::of(plan.variant()), how);
    }
    if plan.kind() == Kind::Scalable {
        let more = plan.keys().saturating_mul(10);
        let how = format!("{} bytes in all links with 10 n = {more} keys", plan.bytes_at(more));
        add("growth", sources::of(plan.variant()), how);
    }
    let (bound, bits) = (-choice.fpp.log2(), 8.0 * choice.memory as f64 / plan.keys() as f64);
    let times = format!("{:.2} times as many", bits / bound);
    let how = format!("log2(1/p) = {bound:.2} bits per key at least; it has {bits:.2}, {times}");
    add("bound", sources::BOUND, how);
    let equal = number(hash_collisions(plan.keys(), 128));
    let how = format!("keys of equal hashes add n·2^-128 = {equal} to the rate");
    add("hash", sources::OURS, how);
    if let (Some(costs), Some(price), Some(cost)) = (goal.costs, choice.price, choice.cost) {
        let Costs { lookup, false_answer, absent } = costs;
        let [time, rate, cost] = [price.one, choice.fpp, cost].map(number);
        let [lookup, false_answer] = [lookup, false_answer].map(number);
        let how = format!(
            "t + (1 - a)·W + a·p·F = {time} + {:.3}·{lookup} + {absent:.3}·{rate}·{false_answer} = {cost} ns; without a filter W = {lookup} ns",
            1.0 - absent
        );
        add("cost", sources::OURS, how);
    }
    steps
}

fn size(plan: &Plan) -> Step {
    let (keys, fpp, bits, probes) = (plan.keys(), plan.fpp(), plan.bits(), plan.probes());
    let n = keys as f64;
    let per_block = |bits: u64, keys: f64| 512.0 * keys / bits as f64;
    let blocks = |bits: u64, keys: f64| {
        let (blocks, keys) = (bits / 512, per_block(bits, keys));
        format!("{blocks} blocks of 512 bits with {keys:.2} keys on average, k = {probes}")
    };
    let how = match plan.variant() {
        Variant::Blocked | Variant::Cascade { .. } => {
            let blocks = blocks(bits, n);
            format!("m/n is the least with sum over L of Poisson(L; 512 n/m)·f(L) <= p: {blocks}")
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
        Variant::Scalable { growth } => {
            let (first, next) = match growth {
                Growth::Doubling => ("p/2", "2n, 4n, ... at p/4, p/8, ..."),
                _ => ("6p/pi^2", "n more at 6p/(pi·i)^2"),
            };
            let blocks = blocks(bits, n);
            format!("first link for n keys at {first}: {blocks}; the next ones for {next}")
        }
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
        | Variant::Attributes { .. } => format!(
            "sum over L of Poisson(L; 512 n/m)·f(L) = {predicted}, f(L) exact for {probes} probes of L keys in a block"
        ),
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
