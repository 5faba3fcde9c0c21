//! Planning of the bloomier kind, and the shape of its graphs.

use super::planner::Planner;
use super::variant::{MOST_WIDTH, widths};
use super::{Kind, Plan, PlanError, check_bits, check_field, plain};
use crate::bits::{BLOCK_BITS, BLOCK_BYTES};
use crate::math::Spread;
use crate::math::bloomier::{self, ARITY};
#[cfg(not(feature = "std"))]
use crate::prelude::*;

/// The maximum number of shards: the header has a seed for each. Part of the format.
pub(crate) const MOST_SHARDS: u64 = 8_000;
/// The maximum slots of a shard: more would take half a gigabyte during the build. Part of the format.
pub(crate) const MOST_SLOTS: u64 = 1 << 24;
/// The longest segment: a key's places in two of its segments come from 18 bits each. Part of the format.
pub(crate) const MOST_SEGMENT: u32 = 1 << 18;

/// The most keys planned for a shard: 120 MiB during the build, and rarely more than 1.13 slots per key, because the
/// shards of a filter with several have at least half as many.
const SHARD_KEYS: u64 = 3_000_000;
/// The keys of all shards, each as full as its slots allow.
const MOST_KEYS: u64 = MOST_SHARDS * (MOST_SLOTS / 9 * 8 - 20_000);

/// How the slots of a bloomier filter are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) shards: u64,
    /// Slots of a segment, a power of two.
    pub(crate) length: u32,
    /// Segments in which a key's first slot can be; two more follow.
    pub(crate) segments: u32,
    /// Bits of a slot: of the fingerprint, then of the value.
    pub(crate) fingerprint: u32,
    pub(crate) value: u32,
}

impl Shape {
    /// The shape of a filter by this plan: as many segments as its bits hold.
    pub(crate) fn of(plan: &Plan) -> Result<Self, PlanError> {
        let (fingerprint, value) = widths(plan.detail);
        let shards = shards_for(plan.keys)?;
        let length = bloomier::segment_length(plan.keys / shards);
        let width = u64::from(fingerprint + value);
        let segments = plan.bits / shards / width / u64::from(length);
        let whole = plan.bits.is_multiple_of(shards * BLOCK_BITS) && segments >= u64::from(ARITY);
        let expected =
            "512-bit blocks for three segments in each shard, as many in all shards, and no more";
        check_field("bits", plan.bits, whole, expected)?;
        let segments = segments.min(MOST_SLOTS / u64::from(length)) as u32 - (ARITY - 1);
        let shape = Self { shards, length, segments, fingerprint, value };
        check_field("bits", plan.bits, plan.bits == shards * shape.shard_bits(), expected)?;
        Ok(shape)
    }

    /// Bits of a slot.
    #[inline]
    pub(crate) fn width(&self) -> u32 {
        self.fingerprint + self.value
    }

    /// Slots of a shard in which a key's first one can be.
    #[inline]
    pub(crate) fn starts(&self) -> u64 {
        u64::from(self.segments) * u64::from(self.length)
    }

    /// Slots of a shard.
    pub(crate) fn slots(&self) -> u64 {
        u64::from(self.segments + (ARITY - 1)) * u64::from(self.length)
    }

    /// Bits of a shard, including the padding of its last block.
    pub(crate) fn shard_bits(&self) -> u64 {
        (self.slots() * u64::from(self.width())).next_multiple_of(BLOCK_BITS)
    }
}

fn shards_for(keys: u64) -> Result<u64, PlanError> {
    if keys > MOST_KEYS {
        return Err(PlanError::TooManyAtOnce { kind: Kind::Bloomier, keys, most: MOST_KEYS });
    }
    Ok(keys.div_ceil(SHARD_KEYS).min(MOST_SHARDS))
}

/// Whether slots can have these widths.
pub(crate) fn check_widths(fingerprint: u32, value: u32) -> Result<(), PlanError> {
    check_field("fingerprint_bits", fingerprint.into(), fingerprint <= MOST_WIDTH, "0 to 64")?;
    let width = value <= MOST_WIDTH && (1..=MOST_WIDTH).contains(&(fingerprint + value));
    check_field("value_bits", value.into(), width, "0 to 64, with the fingerprint 1 to 64")
}

/// The promised rate of a map without fingerprints: every key passes, and 1 is not a valid rate.
pub(crate) const ALL_PASS: f64 = 1.0f64.next_down();

/// The rate with a fingerprint of this many bits: 2^-bits, exactly, so that a plan for it needs no bit more. `powi` may
/// round, says its documentation.
pub(crate) fn rate(fingerprint: u32) -> f64 {
    f64::from_bits(u64::from(1023 - fingerprint) << 52)
}

/// The smallest plan for `keys` keys with slots of this parameter.
pub(crate) fn plan_for(keys: u64, fpp: f64, detail: u32) -> Result<Plan, PlanError> {
    let (fingerprint, value) = widths(detail);
    let shards = shards_for(keys)?;
    let length = bloomier::segment_length(keys / shards);
    let slots = bloomier::slots(keys, shards);
    let segments = (slots / f64::from(length)).ceil().max(f64::from(ARITY)) as u32;
    let segments = segments - (ARITY - 1);
    let shape = Shape { shards, length, segments, fingerprint, value };
    let bits = shards * shape.shard_bits();
    check_bits(bits as f64)?;
    Ok(Plan { kind: Kind::Bloomier, keys, fpp, bits, probes: ARITY, detail })
}

/// The parameter is the bits of the fingerprint, plus, for maps, 256 times the bits of the value.
pub(super) struct Bloomier;

impl Planner for Bloomier {
    fn for_keys(&self, keys: u64, fpp: f64, detail: u32) -> Result<Plan, PlanError> {
        let kind = Kind::Bloomier;
        let enough = (1..=MOST_WIDTH).find(|&bits| rate(bits) <= fpp);
        let enough = enough.ok_or(PlanError::FppOutOfReach { kind, fpp })?;
        let expected = match detail {
            0 => return plan_for(keys, fpp, enough),
            1..=MOST_WIDTH if detail >= enough => return plan_for(keys, fpp, detail),
            1..=MOST_WIDTH => "so many bits that 2^-bits is at most the fpp asked for",
            _ => kind.details().2,
        };
        Err(PlanError::Detail { kind, found: detail, expected })
    }

    fn for_memory(&self, keys: u64, bytes: u64, detail: u32) -> Result<Plan, PlanError> {
        if bytes < BLOCK_BYTES {
            return Err(PlanError::MemoryTooSmall { bytes });
        }
        let widths = if detail == 0 { 1..=MOST_WIDTH } else { detail..=detail };
        for width in widths.rev() {
            let plan = self.for_keys(keys, rate(width.min(MOST_WIDTH)), width)?;
            if plan.bytes() <= bytes {
                return Ok(plan);
            }
        }
        Err(PlanError::TooManyKeys { keys, bits: bytes.saturating_mul(8) })
    }

    fn predicted_fpp_at(&self, plan: &Plan, _: u64) -> f64 {
        rate(widths(plan.detail).0)
    }

    /// For an absent key, every slot is as random as its fingerprint.
    fn spread(&self, plan: &Plan) -> Spread {
        Spread::fixed(plan.predicted_fpp())
    }

    fn check(&self, plan: &Plan) -> Result<(), PlanError> {
        let (fingerprint, value) = widths(plan.detail);
        check_widths(fingerprint, value)?;
        let kept = rate(fingerprint) <= plan.fpp || fingerprint == 0 && plan.fpp == ALL_PASS;
        check_field(
            "fingerprint_bits",
            fingerprint.into(),
            kept,
            "as many as the fpp promised asks for",
        )?;
        let three = plan.probes == ARITY;
        check_field("probes", plan.probes.into(), three, "3")?;
        plain::whole_blocks(plan)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_powers_of_two_exactly() {
        for bits in 0..=MOST_WIDTH {
            assert_eq!(rate(bits) * (1u128 << bits) as f64, 1.0);
        }
    }
}
