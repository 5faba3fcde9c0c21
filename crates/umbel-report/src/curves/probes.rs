//! Rate by probes per key: how few bits make the limit form mislead, and which k is best.

use umbel::formulas::classic;

use super::Point;

/// The most probes.
pub const MOST_PROBES: u32 = 20;
/// So few that the forms differ (a tenth of them is a whole number of keys), and so many that they agree.
pub const BITS: [u64; 2] = [40, 100_000];
/// n in tenths of m.
pub const TENTHS: [u64; 4] = [1, 2, 4, 8];

/// Returns the rates of 1 to 20 probes, exact and in the limit of many bits.
pub fn curves(bits: u64, tenths: u64) -> [Vec<Point>; 2] {
    let keys = bits * tenths / 10;
    let curve = |rate: fn(u64, u64, u32) -> f64| {
        (1..=MOST_PROBES).map(|k| (f64::from(k), rate(keys, bits, k))).collect()
    };
    [curve(classic::fpp), curve(classic::fpp_limit)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forms_differ_for_few_bits_and_agree_for_many() {
        for tenths in TENTHS {
            let differences = BITS.map(|bits| {
                let [exact, limit] = curves(bits, tenths);
                let ratios = exact.iter().zip(&limit).map(|(exact, limit)| exact.1 / limit.1 - 1.0);
                ratios.fold(0.0, f64::max)
            });
            assert!(differences[0] > 0.01 && differences[1] < 0.001, "{tenths}: {differences:?}");
        }
        let [exact, _] = curves(100_000, 1);
        assert!((exact[6].1 / 0.00819 - 1.0).abs() < 1e-3, "k = 7 at m/n = 10: {:?}", exact[6]);
        let best = exact.iter().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
        assert_eq!(best.0, 7.0);
    }
}
