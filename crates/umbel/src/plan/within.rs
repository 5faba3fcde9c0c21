//! Plans the kinds whose bits, or first bits, are those of a plain filter: counting, attributes and cascade.

use super::planner::Planner;
use super::{Kind, Plan, PlanError, Variant, attributes, check_bits, check_field, planner_of};
use crate::bits::BLOCK_BITS;
use crate::math::Spread;

/// A kind that is planned as a plain one.
pub(super) struct Within(pub(super) Kind);

/// The kind of the plain filter, and how often the whole has its bits.
fn plain(kind: Kind, detail: u32) -> (Kind, u64) {
    match kind {
        Kind::Counting => (Kind::Blocked, u64::from(detail)),
        Kind::Attributes => (attributes::inside(detail).1, 1),
        _ => (Kind::Blocked, 1),
    }
}

impl Within {
    fn whole(
        &self,
        detail: u32,
        plan: &dyn Fn(Variant, u64) -> Result<Plan, PlanError>,
    ) -> Result<Plan, PlanError> {
        let (inside, times) = plain(self.0, detail);
        let plan = plan(inside.into(), times)?;
        let bits = plan.bits.saturating_mul(times);
        check_bits(bits as f64)?;
        Ok(Plan { kind: self.0, bits, detail, ..plan })
    }
}

impl Planner for Within {
    fn for_keys(&self, keys: u64, fpp: f64, detail: u32) -> Result<Plan, PlanError> {
        self.whole(detail, &|kind, _| Plan::for_keys(kind, keys, fpp))
    }

    fn for_memory(&self, keys: u64, bytes: u64, detail: u32) -> Result<Plan, PlanError> {
        self.whole(detail, &|kind, times| Plan::for_memory(kind, keys, bytes / times))
    }

    fn for_capacity(&self, fpp: f64, bytes: u64, detail: u32) -> Result<Plan, PlanError> {
        self.whole(detail, &|kind, times| Plan::for_capacity(kind, fpp, bytes / times))
    }

    fn predicted_fpp_at(&self, plan: &Plan, keys: u64) -> f64 {
        plan.part().predicted_fpp_at(keys)
    }

    fn spread(&self, plan: &Plan) -> Spread {
        plan.part().fpp_spread()
    }

    fn check(&self, plan: &Plan) -> Result<(), PlanError> {
        if self.0 == Kind::Counting {
            let whole =
                plan.bits > 0 && plan.bits.is_multiple_of(BLOCK_BITS * u64::from(plan.detail));
            return check_field(
                "bits",
                plan.bits,
                whole,
                "a multiple of 512 counters, at least 512",
            );
        }
        let part = plan.part();
        planner_of(part.kind).check(&part)
    }
}

impl Plan {
    /// The plan of the plain filter that the bits of this one are, or begin with: the one that a counting filter converts
    /// to, that of each generation or attribute, of the first link or level. Of a plain filter, its own.
    pub(crate) fn part(&self) -> Self {
        if self.kind == Kind::Window {
            return super::window::generation(self);
        }
        let (kind, times) = match self.kind {
            Kind::Counting | Kind::Attributes | Kind::Cascade | Kind::Scalable => {
                plain(self.kind, self.detail)
            }
            _ => return *self,
        };
        Self { kind, bits: self.bits / times.max(1), detail: 0, ..*self }
    }
}
