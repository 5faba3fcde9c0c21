//! Plans one inner filter of a filter of rows; the others are as large for as many keys.

use crate::kinds::prelude::*;
use crate::kinds::within::{self, of_plain, planned_within, whole};

impl Tags {
    /// The most attributes with a tag for every subset: 247 tags per row.
    #[doc(hidden)]
    pub const MOST_FOR_SUBSETS: usize = 8;

    /// Returns the number of tags of a row with this many attributes: 0, 1, or 2^A − A − 1, `u64::MAX` for subsets from
    /// 64 attributes on. A row of one attribute has none: its value is the whole row.
    #[doc(hidden)]
    pub fn per_row(self, attributes: usize) -> u64 {
        match self {
            Self::Row if attributes > 1 => 1,
            Self::Subsets if attributes > 63 => u64::MAX,
            Self::Subsets if attributes > 1 => (1 << attributes) - attributes as u64 - 1,
            _ => 0,
        }
    }
}

impl Variant {
    /// Returns the part of `bytes` for one inner filter of rows with this many attributes, as plans are for one; for
    /// other kinds, all of them.
    #[doc(hidden)]
    pub fn share(self, attributes: usize, bytes: u64) -> u64 {
        let Self::Attributes { tags, .. } = self else { return bytes };
        let filters = tags.per_row(attributes).saturating_add(attributes as u64).max(1);
        // All parts are whole blocks of 64 bytes.
        bytes / filters / 64 * 64
    }
}

/// Which tags rows have, and whether the inner filters are classic.
#[inline]
pub(super) fn parameter(variant: Variant) -> (Tags, bool) {
    let Variant::Attributes { tags, classic } = variant else { unreachable!("of rows") };
    (tags, classic)
}

fn inside(variant: Variant) -> (Variant, u64) {
    (if parameter(variant).1 { Variant::Classic } else { Variant::Blocked }, 1)
}

pub(super) fn part(plan: &Plan) -> Plan {
    within::part(plan, inside(plan.variant))
}

pub(crate) struct Plans;

impl Planner for Plans {
    const USUAL: Variant = Variant::Attributes { tags: Tags::Row, classic: false };
    const PARAMETER: Option<&'static str> = Some(
        "0 no tags, 1 a tag of each row, 2 tags of all its subsets; 10, 11, 12 the same with classic filters",
    );
    const ROWS: bool = true;

    /// The tags, and 10 more if the inner filters are classic.
    fn number(variant: Variant) -> u32 {
        let (tags, classic) = parameter(variant);
        tags as u32 + if classic { 10 } else { 0 }
    }

    fn variant(number: u32) -> Option<Variant> {
        let tags = *[Tags::None, Tags::Row, Tags::Subsets].get(number as usize % 10)?;
        (number < 20).then_some(Variant::Attributes { tags, classic: number >= 10 })
    }

    planned_within!(inside);

    fn check_own(plan: &Plan) -> Result<(), PlanError> {
        let part = part(plan);
        of_plain!(part.variant, P => P::check_own(&part))
    }
}
