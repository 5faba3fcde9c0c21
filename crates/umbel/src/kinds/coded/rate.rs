//! The rate of hash-coded cells in buckets.
//!
//! A key has a code of c bits, one of 2^c − 1, and a home among B buckets of s cells. If its bucket is full, it goes to
//! the next. A look-up compares the codes in the buckets from its home up to the first that is not full. Each matches
//! by chance with probability 1/(2^c − 1), so the rate is at most the mean number of codes compared, divided by 2^c −
//! 1.
//!
//! The order of keys does not change how full buckets are: bucket b holds min(s, A + O), where A is the number of keys
//! at home there, approximately Poisson(λ), and O the overflow from the bucket before, max(0, A' + O' − s). This is a
//! queue that serves s at a time; its stationary law is computed by following it from bucket to bucket.

use crate::bits::Once;
use crate::kinds::prelude::*;

/// The most bits of a code. Part of the format.
pub(super) const MOST_CODE: u32 = 40;
/// The most buckets that a look-up visits. Part of the format.
pub(super) const MOST_CHAIN: u64 = 512;

/// Cells of a bucket, s. A bucket is a block, one cache line.
pub(super) use crate::bits::packed::count as cells;

/// Different codes; zero marks an empty cell.
pub(super) const fn codes(code: u32) -> u64 {
    (1 << code) - 1
}

/// Loads λ/s are tabulated at multiples of 1/64.
const STEPS: usize = 64;
/// The highest load in the table, 0.953, where chains are some ten buckets long. Beyond, they grow without bound.
const LAST: usize = 61;

/// Whether the load is beyond the table: walks then hardly end.
pub(super) fn is_too_full(load: f64, code: u32) -> bool {
    load / f64::from(cells(code)) * STEPS as f64 >= LAST as f64
}

/// The mean number of codes that a look-up compares if a bucket gets λ keys on average. It is a convex function of λ,
/// so the chord between two loads of the table is above it. Beyond the table it is the maximum that a look-up compares.
/// Poisson instead of binomial homes, and keys whose code is stored already, make it too high, by less than f/2 of it
/// at a rate f.
pub(super) fn compared(load: f64, code: u32) -> f64 {
    static TABLES: [[Once<f64>; LAST + 1]; MOST_CODE as usize + 1] =
        [const { [const { Once::new() }; LAST + 1] }; MOST_CODE as usize + 1];
    let cells = f64::from(cells(code));
    let place = load / cells * STEPS as f64;
    if is_too_full(load, code) {
        return cells * MOST_CHAIN as f64;
    }
    // Takes below a millisecond for all loads that plans use.
    let tabled = |step: usize| {
        let entry = &TABLES[code as usize][step];
        *entry.get_or_init(|| Walk::new(step as f64 / STEPS as f64 * cells, code).compared())
    };
    let step = place as usize;
    let low = tabled(step);
    low + (tabled(step + 1) - low) * (place - step as f64)
}

pub(super) fn fpp(load: f64, code: u32) -> f64 {
    (compared(load, code) / codes(code) as f64).min(1.0)
}

/// The variance and the third cumulant, each per bucket, of the number of codes compared: how it varies over hashings,
/// summed over the homes of a table of many buckets with the planned keys.
///
/// After a bucket that is not full, the process restarts. Such a cycle of l − 1 full buckets and one with h < s keys
/// takes a = s(l − 1) + h keys; its buckets are compared with 1, 2, … l homes, together C = s·l(l − 1)/2 + h·l codes.
/// With f = E[C]/E[l], the residual Y = C − f·l − β(a − λl), β = E[(C − f·l)(a − λl)]/(λ·E[l]), is what remains given
/// the buckets and keys. Then E[Y²]/E[l] is the variance, and (E[Y³] − 3·E[Y·l]·E[Y²]/E[l])/E[l] the third cumulant:
/// coefficients of K(s) in E[e^(sY − K(s)·l)] = 1, the law of sums of renewals.
pub(super) fn cumulants(load: f64, code: u32) -> (f64, f64) {
    let s = f64::from(cells(code));
    // (chance, l, a, C) of each cycle.
    let mut cycles = Vec::new();
    let mut walk = Walk { cells: cells(code) as usize, arrivals: poisson(load), over: vec![1.0] };
    for l in (1..=MOST_CHAIN).map(|l| l as f64) {
        let sums = walk.sums();
        let open = sums.iter().take(walk.cells).zip(0..);
        cycles.extend(open.map(|(&chance, h)| {
            let h = f64::from(h);
            (chance, l, s * (l - 1.0) + h, s * l * (l - 1.0) / 2.0 + h * l)
        }));
        walk.step(true);
        if walk.over.iter().sum::<f64>() < 1e-18 {
            break;
        }
    }
    let mean = |of: &dyn Fn(f64, f64, f64) -> f64| -> f64 {
        cycles.iter().map(|&(chance, l, a, c)| chance * of(l, a, c)).sum()
    };
    let length = mean(&|l, _, _| l);
    let rate = mean(&|_, _, c| c) / length;
    let slope = mean(&|l, a, c| (c - rate * l) * (a - load * l)) / (load * length);
    let residual = |l: f64, a: f64, c: f64| c - rate * l - slope * (a - load * l);
    let variance = mean(&|l, a, c| residual(l, a, c).powi(2)) / length;
    let with_length = mean(&|l, a, c| residual(l, a, c) * l);
    let third = mean(&|l, a, c| residual(l, a, c).powi(3)) - 3.0 * variance * with_length;
    (variance, third / length)
}

/// A sequence of buckets.
struct Walk {
    cells: usize,
    arrivals: Vec<f64>,
    /// The distribution of the overflow into the next bucket.
    over: Vec<f64>,
}

impl Walk {
    /// The stationary state; the load must be below the number of cells.
    fn new(load: f64, code: u32) -> Self {
        let cells = cells(code) as usize;
        let mut walk = Self { cells, arrivals: poisson(load), over: vec![1.0] };
        for _ in 0..20_000 {
            let before = walk.over.clone();
            walk.step(false);
            let chance = |over: &[f64], i: usize| over.get(i).copied().unwrap_or(0.0);
            let change = |i| (chance(&walk.over, i) - chance(&before, i)).abs();
            if (0..walk.over.len().max(before.len())).map(change).sum::<f64>() < 1e-12 {
                break;
            }
        }
        walk
    }

    /// The distribution of the keys that reach the next bucket: its own, and the overflow.
    fn sums(&self) -> Vec<f64> {
        let mut sums = vec![0.0; self.over.len() + self.arrivals.len() - 1];
        for (i, chance) in self.over.iter().enumerate() {
            for (sum, arrival) in sums[i..].iter_mut().zip(&self.arrivals) {
                *sum += chance * arrival;
            }
        }
        sums
    }

    /// Steps through a bucket; with `only_full`, only if it is full. Returns the mean number of codes in it.
    fn step(&mut self, only_full: bool) -> f64 {
        const NEGLIGIBLE: f64 = 1e-18;
        let mut sums = self.sums();
        let held = |(came, chance): (usize, &f64)| came.min(self.cells) as f64 * chance;
        let held = sums.iter().enumerate().map(held).sum();
        self.over = sums.split_off(self.cells.min(sums.len()));
        if self.over.is_empty() {
            self.over.push(0.0);
        }
        if !only_full {
            self.over[0] += sums.iter().sum::<f64>();
        }
        let least = NEGLIGIBLE * self.over.iter().sum::<f64>();
        while self.over.len() > 1 && self.over.last().is_some_and(|&chance| chance <= least) {
            self.over.pop();
        }
        held
    }

    fn compared(mut self) -> f64 {
        let mut compared = 0.0;
        for _ in 0..MOST_CHAIN {
            let held = self.step(true);
            compared += held;
            if held < 1e-15 * compared {
                break;
            }
        }
        compared
    }

    /// The probability that [`MOST_CHAIN`] buckets from a given one on are all full.
    #[cfg(test)]
    fn blocked(mut self) -> f64 {
        (0..MOST_CHAIN).for_each(|_| _ = self.step(true));
        self.over.iter().sum()
    }
}

/// The Poisson distribution, up to where it is negligible.
fn poisson(load: f64) -> Vec<f64> {
    let mut chances = vec![(-load).exp()];
    for n in 1.. {
        let next = chances[n - 1] * load / n as f64;
        if n as f64 > load && next < 1e-20 {
            return chances;
        }
        chances.push(next);
    }
    unreachable!("chances vanish")
}

/// The spread of a coded table; `buckets` is at least 1.
pub(super) fn spread(mean: f64, load: f64, buckets: u64, code: u32) -> Spread {
    // The rate is then a bound, equal for all tables.
    if is_too_full(load, code) {
        return Spread::fixed(mean);
    }
    let (variance, third) = cumulants(load, code);
    let buckets = buckets as f64;
    // Buckets hardly ever overflow, so all tables have one rate.
    if variance < 1e-12 {
        return Spread::fixed(mean);
    }
    let skewness = third / (variance.powf(1.5) * buckets.sqrt());
    Spread {
        mean,
        deviation: (variance / buckets).sqrt() / codes(code) as f64,
        skewness,
        // As in a gamma distribution.
        kurtosis: 1.5 * skewness * skewness,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::mix;

    /// Counts the codes compared from all homes of a table of random keys.
    fn counted(load: f64, code: u32, buckets: usize, seed: u64) -> f64 {
        let cells = cells(code) as usize;
        let mut used = vec![0; buckets];
        for key in 1..=(load * buckets as f64) as u64 {
            let mut at = ((u128::from(mix(seed + key)) * buckets as u128) >> 64) as usize;
            while used[at] == cells {
                at = (at + 1) % buckets;
            }
            used[at] += 1;
        }
        let chain = |mut at: usize| {
            let mut sum = used[at];
            while used[at] == cells {
                at = (at + 1) % buckets;
                sum += used[at];
            }
            sum
        };
        (0..buckets).map(chain).sum::<usize>() as f64
    }

    #[test]
    fn codes_compared_are_those_of_a_real_table() {
        const BUCKETS: usize = 200_000;
        for (code, load) in [(12, 0.5), (12, 0.85), (9, 0.875), (25, 0.7), (25, 0.875), (40, 0.875)]
        {
            let keys = load * f64::from(cells(code));
            let real = counted(keys, code, BUCKETS, 0) / BUCKETS as f64;
            let found = Walk::new(keys, code).compared();
            assert!((found / real - 1.0).abs() < 0.01, "{code} at {load}: {found}, counted {real}");
            let tabled = compared(keys, code);
            assert!(tabled >= found * (1.0 - 1e-9) && tabled < found * 1.01, "{tabled} {found}");
        }
    }

    /// Within 6 standard errors of a sample's moments, plus 2 and 6 %, by which tables of 400 buckets are below large
    /// ones.
    #[test]
    fn tables_vary_as_derived() {
        const TABLES: u64 = 20_000;
        const BUCKETS: usize = 400;
        for (code, load) in [(12, 0.6), (25, 0.5), (40, 0.5)] {
            let keys = load * f64::from(cells(code));
            let sums = (0..TABLES).map(|table| counted(keys, code, BUCKETS, table << 32));
            let sums: Vec<f64> = sums.collect();
            let mean = sums.iter().sum::<f64>() / TABLES as f64;
            let moment = |power| {
                sums.iter().map(|sum| (sum - mean).powi(power)).sum::<f64>() / TABLES as f64
            };
            let [second, third, fourth, sixth] = [2, 3, 4, 6].map(moment);
            // The sampling variances of these (H. Cramér 1946, section 27.4).
            let of_second = fourth - second * second;
            let of_third = sixth - third * third - 6.0 * fourth * second + 9.0 * second.powi(3);
            let derived = cumulants(keys, code);
            for (found, squared, derived, short) in
                [(second, of_second, derived.0, 0.02), (third, of_third, derived.1, 0.06)]
            {
                let derived = derived * BUCKETS as f64;
                let bound = 6.0 * (squared / TABLES as f64).sqrt() + short * derived.abs();
                assert!((found - derived).abs() < bound, "{code}: {found}, {derived} ± {bound}");
            }
        }
    }

    #[test]
    fn chords_lie_above() {
        for code in [7, 12, 40] {
            for step in 0..50 {
                let load = f64::from(cells(code)) * 0.9 * f64::from(step) / 50.0;
                let found = Walk::new(load, code).compared();
                assert!(compared(load, code) >= found * (1.0 - 1e-9), "{code} at {load}");
            }
        }
    }

    /// Up to the planned keys no insertion fails: 512 full buckets in a row are too unlikely.
    #[test]
    fn chains_are_never_too_long_as_planned() {
        for code in 2..=MOST_CODE {
            let load = f64::from(cells(code)) * super::super::plan::MOST_LOAD;
            let blocked = Walk::new(load, code).blocked();
            assert!(blocked < 1e-25, "{code}: {blocked}");
        }
    }
}
