//! The formulas, compared with published values, with step-by-step simulations of chains, and with each other.

use umbel::Spread;
use umbel::formulas::blocked::Pattern;
use umbel::formulas::blocked::spread as blocked;
use umbel::formulas::classic::spread as classic;
use umbel::formulas::classic::{bits_per_key, bits_per_key_with, fpp, fpp_limit, fpp_textbook};
use umbel::formulas::sliced::spread as sliced;
use umbel::formulas::stable::Cells;
use umbel::formulas::window::spread as compound;
use umbel::internals::math::binomial_bounds;

use crate::statistics;

#[test]
fn exact_against_limit_as_published() {
    // Eight bits per key. The first three ratios are to the textbook form, the others to the limit.
    for (bits, ratio) in [(32, 1.14), (64, 1.07), (128, 1.035)] {
        let found = fpp(bits / 8, bits, 6) / fpp_textbook(bits / 8, bits, 6);
        assert!((found - ratio).abs() < 0.002, "m {bits}: {found}");
    }
    for (bits, ratio) in [(512, 1.013), (1024, 1.006)] {
        let found = fpp(bits / 8, bits, 6) / fpp_limit(bits / 8, bits, 6);
        assert!((found - ratio).abs() < 0.0005, "m {bits}: {found}");
    }
}

#[test]
fn sizes_at_known_rates() {
    for (fpp, bits) in [(0.1, 4.793), (0.01, 9.585), (0.001, 14.378), (1e-6, 28.755)] {
        assert!((bits_per_key(fpp) - bits).abs() < 0.001);
    }
    assert!((bits_per_key_with(0.01, 7) - 9.593).abs() < 0.002);
}

fn close(left: f64, right: f64, by: f64) {
    assert!((left / right - 1.0).abs() < by, "{left} {right}");
}

/// With one probe the blocked filter is the classic one: loads and collisions together give the occupancy of all bits.
#[test]
fn with_one_probe_blocks_make_no_difference() {
    for (keys, blocks) in [(1_000, 3), (100_000, 284), (500_000, 10_000)] {
        let (blocked, classic) = (blocked(keys, blocks, 1), classic(keys, 512 * blocks, 1));
        close(blocked.mean, classic.mean, 1e-3);
        close(blocked.deviation, classic.deviation, 1e-3);
    }
}

/// The third and fourth cumulants therefore equal those of the distribution of set bits, computed key by key.
#[test]
fn with_one_probe_cumulants_are_those_of_the_occupancy() {
    for (keys, blocks) in [(1_500, 8), (6_000, 8)] {
        let bits = 512 * blocks as usize;
        let mut chances = vec![0.0; bits + 1];
        chances[0] = 1.0;
        for _ in 0..keys {
            for set in (0..bits).rev() {
                let new = chances[set] * (1.0 - set as f64 / bits as f64);
                chances[set] -= new;
                chances[set + 1] += new;
            }
        }
        let moment = |around: f64, power| {
            let all = chances.iter().enumerate();
            all.map(|(set, chance)| (set as f64 - around).powi(power) * chance).sum::<f64>()
        };
        let mean = moment(0.0, 1);
        let [variance, third, fourth] = [2, 3, 4].map(|power| moment(mean, power));
        let spread = blocked(keys, blocks, 1);
        close(spread.skewness, third / variance.powf(1.5), 0.02);
        close(spread.kurtosis, fourth / variance.powi(2) - 3.0, 0.02);
    }
}

#[test]
fn slices_spread_as_a_classic_filter_with_one_probe() {
    let (one, slice) = (classic(70_000, 100_000, 1), sliced(70_000, 100_000, 1));
    close(one.deviation, slice.deviation, 1e-9);
    let seven = sliced(70_000, 100_000, 7);
    close(seven.deviation / seven.mean, 7f64.sqrt() * slice.deviation / slice.mean, 1e-9);
}

#[test]
fn a_filter_four_times_as_large_spreads_half_as_far() {
    for probes in [1, 3, 8, 12, 16, 24] {
        let (small, large) = (blocked(100_000, 2_000, probes), blocked(400_000, 8_000, probes));
        close(large.mean, small.mean, 1e-9);
        let part = large.resized(0.25);
        close(part.deviation, small.deviation, 1e-9);
        close(part.upper(), small.upper(), 1e-9);
        assert!(small.deviation > 0.0 && small.upper() > small.mean, "{small:?}");
    }
}

/// The 99.95 % quantile of the sum of 4 exponential variables is 13.93 by its distribution; of 100 it is 136.2.
#[test]
fn quantiles_of_skewed_sums() {
    for (count, expected) in [(4.0f64, 13.934), (100.0, 136.211)] {
        let (deviation, skewness) = (count.sqrt() / 1_000.0, 2.0 / count.sqrt());
        let spread = Spread { mean: 0.0, deviation, skewness, kurtosis: 6.0 / count };
        let found = count + 1_000.0 * spread.upper();
        assert!((found / expected - 1.0).abs() < 0.01, "{count}: {found}");
    }
}

#[test]
fn the_ends_have_no_spread() {
    assert_eq!(blocked(0, 10, 8), Spread::fixed(0.0));
    assert_eq!(blocked(u64::MAX, 10, 8).upper(), 1.0);
    assert_eq!(classic(0, 10, 8), Spread { skewness: 0.0, ..Spread::fixed(0.0) });
    assert_eq!(compound(Spread::fixed(0.1), 3).deviation, 0.0);
    assert_eq!(compound(Spread::fixed(1.0), 3), Spread::fixed(1.0));
}

const SOME: Cells = Cells { cells: 40_000.0, probes: 3.0, lowered: 36.0, top: 3 };

#[test]
fn the_papers_formula_is_the_chain_of_a_cell() {
    for (top, lowered) in [(1, 10.0), (3, 36.0), (7, 85.0)] {
        let cells = Cells { cells: 500.0, top, lowered, ..SOME };
        let (p, q) = (lowered / cells.cells, cells.probes / cells.cells);
        // The probability of each state after each insertion, starting with an empty filter.
        let mut states = vec![0.0; usize::from(top) + 1];
        states[0] = 1.0;
        for insertion in 1..=6_000u32 {
            for i in 0..usize::from(top) {
                let lowered = p * states[i + 1];
                states[i] += lowered;
                states[i + 1] -= lowered;
            }
            states.iter_mut().for_each(|chance| *chance *= 1.0 - q);
            states[usize::from(top)] += q;
            if insertion.is_multiple_of(50) {
                let found = statistics::fill_after(&cells, f64::from(insertion));
                assert!((found / (1.0 - states[0]) - 1.0).abs() < 0.03, "{insertion} {found}");
                assert!(found <= cells.fill() * (1.0 + 1e-9));
            }
        }
        assert!((1.0 - states[0] - cells.fill()).abs() < 1e-9, "{top}");
    }
}

#[test]
fn bounds_of_small_binomials() {
    // 10 fair throws: P(0) = P(10) = 1/1024, P(≤1) = 11/1024 = 0.0107.
    assert_eq!(binomial_bounds(10, 0.5, 0.05), (2, 8));
    assert_eq!(binomial_bounds(10, 0.5, 0.021), (1, 9));
    assert_eq!(binomial_bounds(10, 0.5, 0.001), (0, 10));
    assert_eq!(binomial_bounds(10, 0.0, 0.05), (0, 0));
    assert_eq!(binomial_bounds(10, 1.0, 0.05), (10, 10));
}

#[test]
fn bounds_approach_the_normal_ones() {
    let (low, high) = binomial_bounds(1_000_000, 0.01, 1e-9);
    // 6.11 standard deviations of √(10⁶·0.01·0.99) = 99.5, skewed upwards.
    assert!((9_370..9_410).contains(&low) && (10_600..10_640).contains(&high), "{low} {high}");
}

#[test]
fn bits_a_key_as_designed() {
    for (fpp, probes, bits) in [
        (0.1, 3, 4.83),
        (0.1, 8, 5.88),
        (0.01, 6, 9.90),
        (0.01, 8, 10.10),
        (0.001, 9, 15.54),
        (0.001, 8, 15.72),
        (1e-6, 16, 39.01),
    ] {
        let found = 512.0 / Pattern::new(probes).load_for(fpp);
        assert!((found - bits).abs() < 0.02, "fpp {fpp} k {probes}: {found}");
    }
}
