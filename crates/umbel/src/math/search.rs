//! Searches by bisection.

/// The least number above `low` that `holds`, if `high` and all numbers from the least one on hold too.
pub(crate) fn least(mut low: u64, mut high: u64, holds: &dyn Fn(u64) -> bool) -> u64 {
    while high.saturating_sub(low) > 1 {
        let middle = low.midpoint(high);
        if holds(middle) { high = middle } else { low = middle }
    }
    high
}

/// Bisects between `inside`, where `is_inside` holds, and `outside`, where it does not; returns these two ends, in this
/// order, after `halvings`.
pub(crate) fn border(
    mut inside: f64,
    mut outside: f64,
    halvings: u32,
    is_inside: &dyn Fn(f64) -> bool,
) -> [f64; 2] {
    for _ in 0..halvings {
        let middle = (inside + outside) / 2.0;
        if is_inside(middle) { inside = middle } else { outside = middle }
    }
    [inside, outside]
}
