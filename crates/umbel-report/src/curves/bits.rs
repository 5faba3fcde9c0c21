//! Bits per key of every kind, as multiples of the fewest that any filter of the rate can have, log2(1/p).
//!
//! On an axis of 1 to 60 bits per key, the curves would overlap: kinds differ by a few percent.

use umbel::{Kind, Plan};

use super::{Point, log_steps};

/// The rates.
pub const RANGE: (f64, f64) = (0.5, 1e-9);
/// Where the axis ends. Kinds that are always above it are named below the legend.
pub const TOP: f64 = 4.0;

/// Returns the bits per key of a kind's plans divided by the bound; rates that it cannot keep are left out.
pub fn curve(kind: Kind, keys: u64) -> Vec<Point> {
    let times = |fpp: f64| {
        let plan = Plan::for_keys(kind, keys, fpp).ok()?;
        Some((fpp, plan.bits_per_key() / -fpp.log2()))
    };
    log_steps(RANGE.0, RANGE.1, 40).filter_map(times).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_kind_is_below_the_bound() {
        for &kind in Kind::ALL {
            let points = curve(kind, 1_000_000);
            assert!(points.len() >= 35, "{kind}: {}", points.len());
            for &(fpp, times) in &points {
                // A stable filter and a window hold more keys than they remember for certain.
                assert!(times > 1.0, "{kind} at {fpp}: {times}");
            }
            // Codes of another width have another margin.
            let most = if kind == Kind::Coded { 1.02 } else { 1.001 };
            let less = points.windows(2).all(|pair| {
                let [first, second] = [pair[0], pair[1]].map(|(fpp, times)| times * -fpp.log2());
                first <= second * most
            });
            assert!(less, "{kind}: a lower rate takes no fewer bits");
        }
        let classic = curve(Kind::Classic, 1_000_000);
        for (fpp, times) in classic {
            assert!((0.999..1.1).contains(&(times * f64::ln(2.0))), "{fpp}: {times}");
        }
    }
}
