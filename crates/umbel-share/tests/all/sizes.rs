//! How small packed files and deltas are, next to theory.

use umbel::{AnyFilter, Filter, KeyHasher, Kind, Plan};

use crate::{FILLED, add, delta_of, grown, packed};

/// The entropy of a bit, in bits.
fn entropy(chance: f64) -> f64 {
    [chance, 1.0 - chance].into_iter().filter(|p| *p > 0.0).map(|p| -p * p.log2()).sum()
}

/// A classic filter of the paper: `ratio` bits per key, and this many probes.
fn sent(keys: u64, ratio: f64, probes: u32) -> AnyFilter {
    let fpp = (-(-f64::from(probes) / ratio).exp_m1()).powi(probes as i32);
    let plan = Plan::for_sending(keys, fpp, probes).unwrap();
    // The margin of the promise: below 1 %.
    assert!((plan.bits_per_key() / ratio - 1.0).abs() < 0.01 && plan.probes() == probes);
    let mut filter = AnyFilter::with_plan(&plan, KeyHasher::default()).unwrap();
    add(&mut filter, 0..keys);
    // Guaranteed from this many keys on.
    assert!(keys < 100_000 || filter.receipt().fpp <= fpp);
    filter
}

/// The three filters of the paper's table, within 2 % of m·H(fill).
fn as_in_the_paper(keys: u64) {
    for (ratio, probes) in [(8.0, 6), (14.0, 2), (92.0, 1)] {
        let filter = sent(keys, ratio, probes);
        let receipt = filter.receipt();
        let least = receipt.bits as f64 * entropy(receipt.fill) / 8.0;
        let length = packed(&filter.to_bytes()).len() as f64;
        let (each, times) = (8.0 * length / keys as f64, length / least);
        let rate = 100.0 * receipt.fpp;
        println!(
            "{keys} keys, m/n {ratio}, k {probes}: {each:.3} bits sent per key, {times:.4} x the entropy, rate {rate:.3} %"
        );
        assert!(length < least * 1.005 + 200.0, "{length} of {least}");
    }
}

#[test]
fn a_million_keys_as_in_the_paper() {
    as_in_the_paper(10_000);
    as_in_the_paper(1_000_000);
}

#[test]
#[ignore = "ten million keys in 115 MB: cargo x test --full"]
fn ten_million_keys_as_in_the_paper() {
    as_in_the_paper(10_000_000);
}

/// One percent more keys: the delta is at most 1/15 of the whole file, and a few percent above the entropy of what
/// changed.
#[test]
fn one_percent_more_keys() {
    // A stable filter forgets other keys to make room.
    for kind in FILLED.into_iter().filter(|kind| *kind != Kind::Stable) {
        let (old, new) = grown(kind, 303_000, [300_000, 303_000]);
        let delta = delta_of(&old, &new).unwrap();
        let times = new.len() as f64 / delta.len() as f64;
        println!("{kind}: delta {} of {}, 1/{times:.1}", delta.len(), new.len());
        assert!(15 * delta.len() <= new.len(), "{kind}: 1/{times}");
        if matches!(kind, Kind::Blocked | Kind::Classic) {
            let changed = old.iter().zip(&new).map(|(old, new)| (old ^ new).count_ones());
            let bits = 8.0 * new.len() as f64;
            let least = bits * entropy(f64::from(changed.sum::<u32>()) / bits) / 8.0;
            assert!((delta.len() as f64) < 1.05 * least + 400.0, "{} of {least}", delta.len());
        }
    }
}

#[test]
fn few_changes_cost_little() {
    let (old, new) = grown(Kind::Blocked, 4_000_000, [1_000_000, 1_000_010]);
    let delta = delta_of(&old, &new).unwrap();
    // 10 keys of 8 bits, about 19 bits each; envelope, header and the frames of 1 MiB.
    let frames = new.len().div_ceil(1 << 20);
    assert!(delta.len() < 10 * 8 * 20 / 8 + 250 + (5 + 5 + 8 + 8) * frames, "{}", delta.len());
}
