//! Rate against keys for filters of 2⁸ to 2³⁶ bits, each with the best k for that many keys, and for the plan's own bits
//! and k, with the plan as a star on that curve.

use umbel::Plan;
use umbel::formulas::classic;

use super::{Point, log_steps};

/// The logarithms of the sizes.
pub const LOG2_BITS: [u32; 8] = [8, 12, 16, 20, 24, 28, 32, 36];

/// The rate of `keys` keys in `bits` bits with the best whole k, in the limit form.
fn best_rate(keys: u64, bits: u64) -> f64 {
    let best = classic::best_probes(keys as f64, bits as f64).max(1.0);
    let around = [best.floor(), best.ceil()];
    around.map(|k| classic::fpp_limit(keys, bits, k as u32)).into_iter().fold(1.0, f64::min)
}

/// Numbers of keys from `fewest` to four per bit.
fn steps(fewest: f64, bits: u64) -> Vec<u64> {
    let keys = log_steps(fewest.max(1.0), bits as f64 * 4.0, 120);
    let mut keys: Vec<u64> = keys.map(|keys| keys.round() as u64).collect();
    keys.dedup();
    keys
}

/// Returns the rates of `bits` bits, from one key per bit down to where rates are below `least`.
pub fn curve(bits: u64, least: f64) -> Vec<Point> {
    let fewest = bits as f64 / classic::bits_per_key(least) / 2.0;
    steps(fewest, bits).into_iter().map(|keys| (keys as f64, best_rate(keys, bits))).collect()
}

/// Returns the rates of the plan's own bits and probes, and the plan's place on that curve.
pub fn own_curve(plan: &Plan) -> (Vec<Point>, Point) {
    let point = |keys| (keys as f64, classic::fpp_limit(keys, plan.bits(), plan.probes()));
    // Starts at rates far below its own.
    let fewest = plan.keys() as f64 * 1e-30f64.powf(1.0 / f64::from(plan.probes()));
    (steps(fewest, plan.bits()).into_iter().map(point).collect(), point(plan.keys()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_grow_with_keys_and_meet_the_formula() {
        for log2 in LOG2_BITS {
            let curve = curve(1 << log2, 1e-9);
            assert!(curve.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1));
            assert!(curve[0].1 <= 1e-9 || curve[0].0 == 1.0, "{log2}: {:?}", curve[0]);
            assert!(curve.last().unwrap().1 > 0.95);
        }
        // A whole k costs a little more than the best real one.
        let bits = 1 << 30;
        let keys = (bits as f64 / classic::bits_per_key(0.01)) as u64;
        let rate = best_rate(keys, bits);
        assert!((0.00999..0.0102).contains(&rate), "{rate}");
    }

    #[test]
    fn the_plan_lies_on_its_own_curve() {
        for (keys, fpp) in [(1, 0.9), (50, 0.1), (1_000_000, 0.01), (5_000_000_000, 1e-9)] {
            let plan = Plan::for_keys(umbel::Kind::Classic, keys, fpp).unwrap();
            let (curve, star) = own_curve(&plan);
            assert_eq!(star.0, keys as f64);
            assert!(star.1 <= fpp, "{keys} {fpp}: {star:?}");
            if keys > 1_000 {
                assert!((star.1 / plan.predicted_fpp() - 1.0).abs() < 0.01, "{star:?}");
            }
            // Between its neighbours on the curve.
            let after = curve.iter().position(|point| point.0 >= star.0).unwrap();
            assert!(curve[after].1 >= star.1 && (after == 0 || curve[after - 1].1 <= star.1));
        }
    }
}
