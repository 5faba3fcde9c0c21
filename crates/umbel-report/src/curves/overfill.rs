//! Rate against keys over planned keys: the cost of adding more, and the gain with fewer.

use umbel::{Kind, Plan};

use super::{Point, log_steps};

/// Keys as multiples of the planned keys.
pub const RANGE: (f64, f64) = (0.1, 4.0);

/// Returns the rates at 0.1 to 4 times the planned keys; none for kinds that are built from all keys. Kinds that can be
/// full end at the plan: the coded kind is full at 1/0.875 of its keys.
pub fn curve(plan: &Plan) -> Vec<Point> {
    if plan.kind().built_at_once() {
        return Vec::new();
    }
    let most = if plan.kind() == Kind::Coded { 1.0 } else { RANGE.1 };
    let steps = log_steps(RANGE.0, RANGE.1, 61).take_while(|&times| times <= most * 1.000_001);
    let rate = |times: f64| {
        // A plan for a few keys cannot be divided into tenths.
        let keys = (plan.keys() as f64 * times).round().max(1.0);
        (keys / plan.keys() as f64, plan.predicted_fpp_at(keys as u64))
    };
    let mut points: Vec<_> = steps.map(rate).collect();
    points.dedup();
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_promise_is_kept_up_to_the_plan_and_broken_beyond() {
        for &kind in Kind::ALL {
            let plan = Plan::for_keys(kind, 100_000, 0.01).unwrap();
            let points = curve(&plan);
            if plan.kind().built_at_once() {
                assert!(points.is_empty());
                continue;
            }
            let grows = points.windows(2).all(|pair| pair[0].1 <= pair[1].1 * 1.000_001);
            assert!(grows, "{}", plan.kind());
            let upto = points.iter().filter(|point| point.0 <= 1.0);
            assert!(upto.clone().count() > 30 && upto.clone().all(|point| point.1 <= 0.01));
            let (_, last) = points[points.len() - 1];
            match plan.kind() {
                Kind::Scalable | Kind::Stable | Kind::Window | Kind::Coded => assert!(last <= 0.01),
                kind => assert!(last > 0.2, "{kind}: {last}"),
            }
        }
        assert_eq!(curve(&Plan::for_keys(Kind::Blocked, 1, 0.01).unwrap()).len(), 4, "1 to 4 keys");
    }
}
