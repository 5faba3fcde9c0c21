//! Means over a Poisson distribution, without gamma functions or underflow.

#[cfg(not(feature = "std"))]
use crate::prelude::*;

/// E[f(L)] for L ~ Poisson(`lambda`).
pub(crate) fn mean(lambda: f64, mut f: impl FnMut(u64) -> f64) -> f64 {
    means(lambda, |load| [f(load)])[0]
}

/// E[f(L)] for L ~ Poisson(`lambda`), of several functions in one pass.
///
/// Both tails are followed until a weight is below 1e-40 of the mode's, which keeps rates of 1e-30 exact to rounding
/// even if f grows from 0 to 1 in the tail.
pub(crate) fn means<const N: usize>(lambda: f64, mut f: impl FnMut(u64) -> [f64; N]) -> [f64; N] {
    // If λ is not finite, every mean is NaN.
    if !lambda.is_finite() {
        return [f64::NAN; N];
    }
    // Weights relative to the mode's, so nothing under- or overflows: its own, the ones below it, the ones above.
    let mode = lambda.floor() as u64;
    let (mut total, mut sums) = (1.0, f(mode));
    let mut add = |load, weight| {
        total += weight;
        for (sum, value) in sums.iter_mut().zip(f(load)) {
            *sum += weight * value;
        }
        weight >= 1e-40
    };
    let mut weight = 1.0;
    for load in (0..mode).rev() {
        weight *= (load + 1) as f64 / lambda;
        if !add(load, weight) {
            break;
        }
    }
    weight = 1.0;
    for load in mode + 1.. {
        weight *= lambda / load as f64;
        if !add(load, weight) {
            break;
        }
    }
    sums.map(|sum| sum / total)
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
        }
    }
}
