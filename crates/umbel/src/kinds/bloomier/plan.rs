//! Plans the bloomier kind, and the shape of its graphs.

use super::graph::{self, ARITY};
use crate::kinds::prelude::*;

/// The most bits of a fingerprint, of a value, and of both together.
pub(super) const MOST_WIDTH: u32 = 64;
/// The most shards: the header has a seed for each. Part of the format.
pub(super) const MOST_SHARDS: u64 = 8_000;
/// The most slots of a shard: more would take half a gigabyte to build. Part of the format.
pub(super) const MOST_SLOTS: u64 = 1 << 24;
/// The longest segment: a key's places in two segments come from 18 bits each. Part of the format.
pub(super) const MOST_SEGMENT: u32 = 1 << 18;

/// The most keys planned for a shard: 120 MiB to build. If there are several, each has at least half as many, and
/// rarely needs more than 1.13 slots per key.
const SHARD_KEYS: u64 = 3_000_000;
/// The most keys of all shards, each as full as its slots allow.
const MOST_KEYS: u64 = MOST_SHARDS * (MOST_SLOTS / 9 * 8 - 20_000);

/// How the slots of a bloomier filter are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) shards: u64,
    /// Slots of a segment, a power of two.
    pub(super) length: u32,
    /// Segments in which a key's first slot can be; two more follow.
    pub(super) segments: u32,
    /// Bits of a slot: of the fingerprint, then of the value.
    pub(super) fingerprint: u32,
    pub(super) value: u32,
}

impl Shape {
    /// The shape of a filter by this plan: as many segments as its bits hold.
    pub(super) fn of(plan: &Plan) -> Result<Self, PlanError> {
        let (fingerprint, value) = widths(plan.variant);
        let shards = shards_for(plan.keys)?;
        let length = graph::segment_length(plan.keys / shards);
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
    pub(super) fn width(&self) -> u32 {
        self.fingerprint + self.value
    }

    /// Slots of a shard in which a key's first one can be.
    #[inline]
    pub(super) fn starts(&self) -> u64 {
        u64::from(self.segments) * u64::from(self.length)
    }

    pub(super) fn slots(&self) -> u64 {
        u64::from(self.segments + (ARITY - 1)) * u64::from(self.length)
    }

    /// Bits of a shard, including the padding of its last block.
    pub(super) fn shard_bits(&self) -> u64 {
        (self.slots() * u64::from(self.width())).next_multiple_of(BLOCK_BITS)
    }
}

fn shards_for(keys: u64) -> Result<u64, PlanError> {
    if keys > MOST_KEYS {
        return Err(PlanError::TooManyAtOnce(Kind::Bloomier, keys, MOST_KEYS));
    }
    Ok(keys.div_ceil(SHARD_KEYS).min(MOST_SHARDS))
}

pub(super) fn check_widths(fingerprint: u32, value: u32) -> Result<(), PlanError> {
    check_field("fingerprint_bits", fingerprint.into(), fingerprint <= MOST_WIDTH, "0 to 64")?;
    let width = value <= MOST_WIDTH && (1..=MOST_WIDTH).contains(&(fingerprint + value));
    Ok(check_field("value_bits", value.into(), width, "0 to 64, with the fingerprint 1 to 64")?)
}

/// 2^-bits exactly, so a plan for this rate needs no more bits. `powi` may round, according to its documentation.
pub(super) fn rate(fingerprint: u32) -> f64 {
    f64::from_bits(u64::from(1023 - fingerprint) << 52)
}

/// The rate as plans promise it. Without a fingerprint every key passes, but 1 is not a valid rate.
pub(super) fn promised(fingerprint: u32) -> f64 {
    rate(fingerprint).min(1.0f64.next_down())
}

/// The smallest plan for `keys` keys with slots of these widths.
pub(super) fn plan_for(
    keys: u64,
    fpp: f64,
    fingerprint: u32,
    value: u32,
) -> Result<Plan, PlanError> {
    let shards = shards_for(keys)?;
    let length = graph::segment_length(keys / shards);
    let slots = graph::slots(keys, shards);
    let segments = (slots / f64::from(length)).ceil().max(f64::from(ARITY)) as u32 - (ARITY - 1);
    let shape = Shape { shards, length, segments, fingerprint, value };
    let bits = shards * shape.shard_bits();
    check_bits(bits as f64)?;
    Ok(Plan { variant: variant_of(fingerprint, value), keys, fpp, bits, probes: ARITY })
}

/// Bits of the fingerprint, 0 if left to the plan, and of the value.
fn widths(variant: Variant) -> (u32, u32) {
    let Variant::Bloomier { fingerprint_bits, value_bits } = variant else {
        unreachable!("of a bloomier filter")
    };
    (fingerprint_bits.unwrap_or(0), value_bits)
}

pub(super) fn variant_of(fingerprint: u32, value: u32) -> Variant {
    Variant::Bloomier { fingerprint_bits: Some(fingerprint), value_bits: value }
}

pub(crate) struct Plans;

impl Planner for Plans {
    const USUAL: Variant = Variant::Bloomier { fingerprint_bits: None, value_bits: 0 };
    const UNMERGED: Option<&'static str> =
        Some("each is built from all its keys at once; build one from the keys of both");
    const PARAMETER: Option<&'static str> =
        Some("1 to 64 bits of fingerprint; 0 for as many as the fpp asks for");
    const CELLS: &'static str = "slots";
    const BUILT_AT_ONCE: bool = true;

    /// The bits of the fingerprint, plus, for maps, 256 times the bits of the value.
    fn number(variant: Variant) -> u32 {
        let (fingerprint, value) = widths(variant);
        fingerprint | value << 8
    }

    fn variant(number: u32) -> Option<Variant> {
        let (fingerprint, value) = (number & 0xff, number >> 8);
        let possible = fingerprint <= MOST_WIDTH && value <= MOST_WIDTH;
        possible.then_some(if number == 0 { Self::USUAL } else { variant_of(fingerprint, value) })
    }

    fn check_variant(variant: Variant) -> Result<(), PlanError> {
        if Self::variant(Self::number(variant)) == Some(variant) {
            return Ok(());
        }
        let wide = <[u32; 2]>::from(widths(variant)).into_iter().find(|&width| width > MOST_WIDTH);
        // A map's fingerprint is never left to the rate.
        Err(Self::no_parameter(wide.unwrap_or(0)))
    }

    fn for_keys(variant: Variant, keys: u64, fpp: f64) -> Result<Plan, PlanError> {
        let enough = (1..=MOST_WIDTH).find(|&bits| rate(bits) <= fpp);
        let enough = enough.ok_or(PlanError::FppOutOfReach(Kind::Bloomier, fpp))?;
        match widths(variant) {
            (0, 0) => plan_for(keys, fpp, enough, 0),
            (fingerprint, 0) if fingerprint >= enough => plan_for(keys, fpp, fingerprint, 0),
            (found, 0) => Err(PlanError::Detail(
                Kind::Bloomier,
                found,
                "so many bits that 2^-bits is at most the fpp asked for",
            )),
            _ => Err(Self::no_parameter(Self::number(variant))),
        }
    }

    fn for_memory(variant: Variant, keys: u64, bytes: u64) -> Result<Plan, PlanError> {
        if bytes < BLOCK_BYTES {
            return Err(PlanError::MemoryTooSmall(bytes));
        }
        let widths = match widths(variant) {
            (0, 0) => 1..=MOST_WIDTH,
            (fingerprint, 0) => fingerprint..=fingerprint,
            _ => return Err(Self::no_parameter(Self::number(variant))),
        };
        for width in widths.rev() {
            let plan = Self::for_keys(variant_of(width, 0), keys, rate(width))?;
            if plan.bytes() <= bytes {
                return Ok(plan);
            }
        }
        Err(PlanError::TooManyKeys(keys, bytes.saturating_mul(8)))
    }

    fn predicted_fpp_at(plan: &Plan, _: u64) -> f64 {
        rate(widths(plan.variant).0)
    }

    /// No spread: for an absent key, every slot is random.
    fn spread(plan: &Plan) -> Spread {
        Spread::fixed(rate(widths(plan.variant).0))
    }

    fn check_own(plan: &Plan) -> Result<(), PlanError> {
        let (fingerprint, value) = widths(plan.variant);
        check_widths(fingerprint, value)?;
        let kept = promised(fingerprint) <= plan.fpp;
        let expected = "as many as the fpp promised asks for";
        check_field("fingerprint_bits", fingerprint.into(), kept, expected)?;
        let three = plan.probes == ARITY;
        check_field("probes", plan.probes.into(), three, "3")?;
        whole_blocks(plan)
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
