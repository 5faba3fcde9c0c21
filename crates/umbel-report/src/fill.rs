//! How full the blocks of a filter are: the data of its picture, from its [`Profile`].

use std::ops::Range;

use umbel_numbers::{Rate, Size, counted};

use crate::advice::Profile;
use crate::receipt::estimate;

/// Most bars of the histogram: wider than 3 pixels each.
const BARS: usize = 120;
/// Fewest bars if there are that many numbers, for a filter of few blocks.
const FEWEST_BARS: usize = 8;
/// Blocks by how many of their cells are set.
#[derive(Clone, Copy, Debug)]
pub struct Bar {
    /// The first number of cells.
    pub first: usize,
    /// How many numbers it covers.
    pub width: usize,
    /// Blocks counted.
    pub counted: u64,
    /// Blocks expected; 0 without an expectation.
    pub expected: f64,
}

/// Returns bars of equal width over everything that was counted or is expected.
pub fn bars(profile: &Profile) -> Vec<Bar> {
    let expected = |load: usize| profile.expected.as_ref().map_or(0.0, |expected| expected[load]);
    // A load expected once in a hundred filters does not widen the picture.
    let shows = |load: &usize| profile.loads[*load] > 0 || expected(*load) >= 0.01;
    let all = 0..profile.loads.len();
    let first = all.clone().find(shows).unwrap_or(0);
    let last = all.rev().find(shows).unwrap_or(0);
    // Smooth enough for a sample's histogram to be compared: more blocks, finer bars.
    let wanted = (4.0 * (profile.blocks as f64).cbrt()) as usize;
    let width = (last + 1 - first).div_ceil(wanted.clamp(FEWEST_BARS, BARS));
    let bar = |first: usize| {
        let loads = first..(first + width).min(profile.loads.len());
        let counted = profile.loads[loads.clone()].iter().sum();
        Bar { first, width, counted, expected: loads.map(expected).sum() }
    };
    (first..=last).step_by(width).map(bar).collect()
}

/// Describes the filter of a profile in one line.
pub fn facts(profile: &Profile, receipt: &umbel::Receipt) -> String {
    let mut facts = format!(
        "{}, {}, {}; {} keys; rate now {}",
        receipt.plan.kind(),
        counted(profile.blocks, "block"),
        Size(receipt.bytes()),
        estimate(&receipt.keys),
        Rate(receipt.fpp)
    );
    if receipt.over_filled {
        let plan = &receipt.plan;
        let planned = counted(plan.keys(), "key");
        facts += &format!("; over-filled: planned for {planned} at {}", Rate(plan.fpp()));
    }
    facts
}

/// Returns the fill of all blocks.
pub fn mean(profile: &Profile) -> f64 {
    let sum: f64 = profile.stretches.iter().map(|one| one.fill * one.blocks as f64).sum();
    sum / profile.blocks as f64
}

/// Returns the range of fills that should by chance contain 99.9 % of stretches of `blocks` blocks; `None` if unknown.
///
/// The sum of many blocks is nearly normal, with the mean and the variance of their [expected](Profile::expected) loads.
pub fn by_chance(profile: &Profile, blocks: f64) -> Option<Range<f64>> {
    /// The standard deviations that contain 99.9 %.
    const WITHIN: f64 = 3.2905;
    let expected = profile.expected.as_ref()?;
    let cells = (expected.len() - 1) as f64;
    let all: f64 = expected.iter().sum();
    let moment = |power: i32| {
        let loads = (0u32..).map(f64::from).zip(expected);
        loads.map(|(load, count)| (load / cells).powi(power) * count).sum::<f64>() / all
    };
    let mean = moment(1);
    let deviation = ((moment(2) - mean * mean).max(0.0) / blocks).sqrt();
    (all > 0.0).then(|| (mean - WITHIN * deviation).max(0.0)..(mean + WITHIN * deviation).min(1.0))
}

#[cfg(test)]
mod tests {
    use umbel::{AnyFilter, KeyHasher, Kind, Plan};

    use super::*;

    const STRETCHES: usize = 200;

    fn filter(kind: Kind, keys: u64) -> AnyFilter {
        let plan = Plan::for_keys(kind, keys.max(1), 0.01).unwrap();
        let hasher = KeyHasher::default();
        let hashes: Vec<_> = (0..keys).map(|key| hasher.hash(key)).collect();
        AnyFilter::build(&plan, &hashes, hasher).unwrap()
    }

    #[test]
    fn bars_hold_all_blocks() {
        use Kind::{Blocked, Coded, Scalable};
        for (kind, keys) in [(Blocked, 0), (Blocked, 50_000), (Coded, 1_000), (Scalable, 999)] {
            let profile = Profile::of(&filter(kind, keys), STRETCHES);
            let bars = bars(&profile);
            assert!(bars.len() <= BARS);
            assert_eq!(bars.iter().map(|bar| bar.counted).sum::<u64>(), profile.blocks);
            if profile.expected.is_some() {
                let expected: f64 = bars.iter().map(|bar| bar.expected).sum();
                assert!((expected - profile.blocks as f64).abs() < 2.0, "{kind}: {expected}");
            }
        }
    }

    #[test]
    fn fills_are_within_chance_as_often_as_they_should() {
        for kind in [Kind::Blocked, Kind::Classic] {
            let profile = Profile::of(&filter(kind, 200_000), 1000);
            let inside = |stretch: &&crate::advice::Stretch| {
                by_chance(&profile, stretch.blocks as f64).unwrap().contains(&stretch.fill)
            };
            let inside = profile.stretches.iter().filter(inside).count();
            // Of 1000, one is outside on average; the chance of six or more is 0.0006.
            assert!((995..=1000).contains(&inside), "{kind}: {inside}");
            // With half the width, a tenth would be outside.
            let wide = by_chance(&profile, 4.0).unwrap();
            let narrow = by_chance(&profile, 16.0).unwrap();
            let width = |range: Range<f64>| range.end - range.start;
            assert!((width(wide) / width(narrow) - 2.0).abs() < 1e-9);
        }
        let stable = Profile::of(&filter(Kind::Stable, 100), STRETCHES);
        assert!(by_chance(&stable, 1.0).is_none());
    }
}
