//! The data of the pictures of a plan: the library's formulas along an axis. Each picture has a module.

pub mod bits;
pub mod exponent;
pub mod keys;
pub mod overfill;
pub mod probes;

use umbel::{Kind, Plan};

/// A point of a curve.
pub type Point = (f64, f64);

/// The subject of a plan's pictures.
#[derive(Debug)]
pub struct Goal<'a> {
    /// The plans of all kinds that meet it.
    pub plans: &'a [Plan],
    /// The plan of the classic filter, which the formulas are about.
    pub classic: Plan,
    /// Whether all plans are for one rate, as when the goal gives one.
    pub one_rate: bool,
    /// Whether all plans are for one number of keys.
    pub one_size: bool,
}

impl<'a> Goal<'a> {
    /// Returns the goal that all these plans meet; `None` without a classic filter.
    pub fn of(plans: &'a [Plan]) -> Option<Self> {
        let classic = *plans.iter().find(|plan| plan.kind() == Kind::Classic)?;
        let same = |other: &Plan| (0.99..1.01).contains(&(other.fpp() / classic.fpp()));
        let one_rate = plans.iter().all(same);
        let one_size = plans.iter().all(|other| other.keys() == classic.keys());
        Some(Self { plans, classic, one_rate, one_size })
    }
}

/// `count` numbers from `low` to `high`, each larger than the one before by the same factor.
pub(crate) fn log_steps(low: f64, high: f64, count: u32) -> impl Iterator<Item = f64> + Clone {
    let step = (high / low).ln() / f64::from(count - 1);
    (0..count).map(move |i| low * (f64::from(i) * step).exp())
}

/// A curve of one kind, or of several kinds whose curves would cover each other.
#[derive(Debug)]
pub struct Curve {
    /// The kinds.
    pub kinds: Vec<Kind>,
    /// Its points.
    pub points: Vec<Point>,
}

impl Curve {
    /// Joins curves whose points agree to 3 %: less than the width of a line where an axis spans decades.
    pub fn joined(curves: impl Iterator<Item = (Kind, Vec<Point>)>) -> Vec<Self> {
        let mut joined: Vec<Self> = Vec::new();
        for (kind, points) in curves.filter(|(_, points)| !points.is_empty()) {
            let close =
                |(a, b): (&Point, &Point)| a.0 == b.0 && (a.1 - b.1).abs() <= 0.03 * b.1.abs();
            let same = joined.iter_mut().find(|curve| {
                curve.points.len() == points.len() && curve.points.iter().zip(&points).all(close)
            });
            match same {
                Some(curve) => curve.kinds.push(kind),
                None => joined.push(Self { kinds: vec![kind], points }),
            }
        }
        joined
    }

    /// Returns the names of its kinds.
    pub fn name(&self) -> String {
        let names: Vec<_> = self.kinds.iter().map(|kind| kind.name()).collect();
        names.join(", ")
    }
}
