//! Means over a Poisson distribution, without gamma functions or underflow.

use crate::prelude::*;

/// E[f(L)] for L ~ Poisson(`lambda`).
///
/// Both tails are followed until a weight is below 1e-40 of the mode's, which keeps rates of 1e-30 exact to rounding
/// even if f grows from 0 to 1 in the tail.
pub(crate) fn mean(lambda: f64, mut f: impl FnMut(u64) -> f64) -> f64 {
    let (mut total, mut sum) = (0.0, 0.0);
    each(lambda, 1e-40, |load, weight| {
        total += weight;
        sum += weight * f(load);
    });
    sum / total
}

/// The probability of each load for L ~ Poisson(`lambda`), from the smallest load that has at least 1e-24 of the
/// mode's.
pub(crate) fn chances(lambda: f64) -> (u64, Vec<f64>) {
    let mut weights = Vec::new();
    each(lambda, 1e-24, |load, weight| weights.push((load, weight)));
    weights.sort_unstable_by_key(|&(load, _)| load);
    let total: f64 = weights.iter().map(|&(_, weight)| weight).sum();
    (weights[0].0, weights.into_iter().map(|(_, weight)| weight / total).collect())
}

/// Calls `f` with loads and their weights relative to the mode's, so that nothing under- or overflows, until they are
/// `negligible`: first the mode, then the loads below it, downwards, then those above.
fn each(lambda: f64, negligible: f64, mut f: impl FnMut(u64, f64)) {
    // What is no number is one weight, and makes every sum over it none.
    if !lambda.is_finite() {
        return f(0, f64::NAN);
    }
    let mode = lambda.floor() as u64;
    f(mode, 1.0);
    let mut weight = 1.0;
    for load in (0..mode).rev() {
        weight *= (load + 1) as f64 / lambda;
        if weight < negligible {
            break;
        }
        f(load, weight);
    }
    weight = 1.0;
    for load in mode + 1.. {
        weight *= lambda / load as f64;
        if weight < negligible {
            break;
        }
        f(load, weight);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_and_generating_function() {
        for lambda in [1e-9, 0.3, 1.0, 17.5, 5_000.0] {
            let close = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-9, "{lambda}: {a} {b}");
            close(mean(lambda, |l| l as f64), lambda);
            close(mean(lambda, |l| (l as f64).powi(2)), lambda * lambda + lambda);
            close(mean(lambda, |l| 0.9f64.powf(l as f64)), (-0.1 * lambda).exp());
            let (first, chances) = chances(lambda);
            close(chances.iter().sum(), 1.0);
            let loads = (first..).zip(&chances);
            close(loads.map(|(load, chance)| load as f64 * chance).sum(), lambda);
        }
    }
}
