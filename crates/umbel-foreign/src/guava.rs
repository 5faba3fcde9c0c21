//! Guava's `BloomFilter.writeTo`. Checked against Guava 33.6.0-jre and 33.4.8; `google/guava`,
//! `com/google/common/hash/{BloomFilter,BloomFilterStrategies,Funnels}.java`.
//!
//! ```text
//! byte 0         1        2 .. 5       6 ..
//! | strategy i8 | k u8 | words i32 BE | words of 64 bits, most significant byte first |
//! ```
//!
//! The modulus is all bits of the words, m = 64 · words. The file does not record which funnel made bytes of a key:
//! byte arrays and `stringFunnel(UTF_8)` are bytes, `unencodedCharsFunnel` gives the UTF-16 code units little-endian,
//! `longFunnel` and `integerFunnel` 8 and 4 bytes little-endian. Java's own serialization of the same class is another
//! format.

use std::f64::consts::LN_2;

use crate::hash::murmur3::x64_128;
use crate::prelude::*;

/// A filter of Guava.
///
/// ```
/// use umbel_foreign::guava::Guava;
/// use umbel_foreign::{ForeignFilter, ForeignInsert, Format, Key, Parameters};
///
/// let mut longs: Guava = Guava::new(Format::Guava, &Parameters::for_keys(500, 0.03))?;
/// longs.insert(Key::I64(7))?;
/// assert!(longs.contains(Key::I64(7))? && !longs.contains(Key::I32(7))?, "funnels hash differently");
/// # Ok::<(), umbel_foreign::Error>(())
/// ```
pub type Guava<S = Bytes> = Plain<Fields, S>;

/// The header of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fields {
    strategy: Strategy,
    shape: Shape,
}

/// How a hash becomes positions, numbered as in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Strategy {
    /// `MURMUR128_MITZ_32`, written by Guava 11 and 12: no position above 2³¹ − 1.
    Mitz32 = 0,
    /// `MURMUR128_MITZ_64`, written by every later version.
    Mitz64 = 1,
}

/// The bits that [`Strategy::Mitz32`] reaches.
const REACH_OF_MITZ_32: u64 = 1 << 31;

/// Guava's default rate.
const USUAL_FPP: f64 = 0.03;

/// Returns the bits that Guava computes for `keys` keys, before it rounds up to words: ⌊−n·ln p / (ln 2)²⌋; 0 keys
/// count as 1.
pub fn optimal_bits(keys: u64, fpp: f64) -> u64 {
    (-(keys.max(1) as f64) * fpp.ln() / (LN_2 * LN_2)) as u64
}

/// Returns the probes that Guava 33 chooses, from the rate alone: −log₂ p, rounded.
pub fn optimal_probes(fpp: f64) -> u32 {
    round(-fpp.ln() / LN_2).max(1)
}

/// Returns the probes that Guava up to 31.1 chooses, from the bits: (m/n)·ln 2, rounded. They differ from
/// [`optimal_probes`] only for a handful of keys.
pub fn optimal_probes_31(keys: u64, bits: u64) -> u32 {
    round(bits as f64 / keys.max(1) as f64 * LN_2).max(1)
}

/// Java's `Math.round`, which rounds halves up.
pub(crate) fn round(x: f64) -> u32 {
    (x + 0.5).floor() as u32
}

impl Layout for Fields {
    type Hash<'k> = (u64, u64);
    const ORDER: Order = Order::BigWords;
    has_shape!();

    fn plan(format: Format, given: &Parameters) -> Result<Plan, Error> {
        let (keys, fpp) = (given.keys(format)?, given.fpp.unwrap_or(USUAL_FPP));
        let refuse = |expected| Err(Parameters::refuse(format, "fpp", fpp, expected));
        let bits = optimal_bits(keys, fpp);
        let words = bits.div_ceil(64);
        if words == 0 {
            return refuse("a rate that asks for a bit at least");
        }
        let Ok(count) = i32::try_from(words) else {
            return Err(Error::TooLarge { bits: bits as f64 });
        };
        let probes =
            if given.has("guava-31") { optimal_probes_31(keys, bits) } else { optimal_probes(fpp) };
        let Ok(probes) = u8::try_from(probes) else {
            return refuse("a rate that takes at most 255 probes");
        };
        let mitz32 = given.has("mitz32");
        let mut head = vec![u8::from(!mitz32), probes];
        head.extend(count.to_be_bytes());
        let plan = Plan::new(format, (64 * words, probes.into()), head, 8 * words, Vec::new());
        Ok(plan.warn(
            mitz32 && 64 * words > REACH_OF_MITZ_32,
            "strategy 0 never uses the bits from 2^31 on: the rate will be higher than requested",
        ))
    }

    fn parse(format: Format, content: &[u8], _: &Parameters) -> Result<Self, Error> {
        let mut reader = Reader::new(format, content);
        let strategy = match reader.u8()? {
            0 => Strategy::Mitz32,
            1 => Strategy::Mitz64,
            other => return Err(refuse(format, "strategy", other as i8, "0 or 1")),
        };
        let probes = reader.checked("probes", Reader::u8, |probes| probes > 0, "1 to 255")?;
        let words = reader.checked("words", Reader::i32_be, |words| words > 0, "at least 1")?;
        let array = reader.rest(8 * words as u64, 0)?;
        Ok(Self { strategy, shape: Shape::new(format, probes.into(), array) })
    }

    fn scheme(&self) -> String {
        let name = match self.strategy {
            Strategy::Mitz32 => "murmur3-128/mitz32",
            Strategy::Mitz64 => "murmur3-128/mitz64",
        };
        name.to_owned()
    }

    fn hash(&self, key: Key<'_>) -> Result<Option<(u64, u64)>, Error> {
        Ok(Some(match key {
            Key::Bytes(key) => x64_128(0, key),
            Key::I64(key) => x64_128(0, &key.to_le_bytes()),
            Key::I32(key) => x64_128(0, &key.to_le_bytes()),
            other => return Err(other.refused(Format::Guava)),
        }))
    }

    #[inline]
    fn positions(&self, (first, second): Self::Hash<'_>) -> impl Iterator<Item = u64> {
        let (bits, wide) = (self.shape.bits, self.strategy == Strategy::Mitz64);
        // For strategy 0, the halves of the first word, with the second counted from 1.
        let (mut at, step) =
            if wide { (first, second) } else { (first.wrapping_add(first >> 32), first >> 32) };
        (0..self.shape.probes).map(move |_| {
            let position = if wide { at & i64::MAX as u64 } else { flip(at as u32).into() };
            at = at.wrapping_add(step);
            position % bits
        })
    }

    fn measure(&self, array: &[u8]) -> Measure {
        let reach = match self.strategy {
            Strategy::Mitz32 => REACH_OF_MITZ_32,
            Strategy::Mitz64 => u64::MAX,
        };
        Measure::spread(array, self.shape.bits.min(reach), self.shape.probes)
    }

    fn facts(&self) -> Vec<Fact> {
        vec![Fact::new("strategy", Figure::Count(self.strategy as u64))]
    }
}

/// Its bits as a signed integer, all of them inverted if that is negative.
#[inline(always)]
pub(crate) fn flip(x: u32) -> u32 {
    if (x as i32) < 0 { !x } else { x }
}

/// Java's `Double.doubleToLongBits`: one pattern for all NaNs.
pub(crate) fn java_bits(number: f64) -> i64 {
    if number.is_nan() { 0x7ff8 << 48 } else { number.to_bits() as i64 }
}

/// Like [`java_bits`], `Float.floatToIntBits`.
pub(crate) fn java_bits_f32(number: f32) -> i32 {
    if number.is_nan() { 0x7fc0 << 16 } else { number.to_bits() as i32 }
}

impl<S> Plain<Fields, S> {
    /// Returns the strategy of the file.
    pub fn strategy(&self) -> Strategy
    where
        S: AsRef<[u8]>,
    {
        self.layout().strategy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strategy_0_never_reaches_beyond_31_bits() {
        let shape = Shape::new(Format::Guava, 8, 6..6 + (1 << 30));
        let layout = |strategy| Fields { strategy, shape: shape.clone() };
        let (mut old, mut new) = (0, 0);
        for i in 0..1000 {
            let hash = (crate::hash::mix(i), crate::hash::mix(!i));
            old = old.max(layout(Strategy::Mitz32).positions(hash).max().unwrap());
            new = new.max(layout(Strategy::Mitz64).positions(hash).max().unwrap());
        }
        assert!(old < REACH_OF_MITZ_32 && new > 2 * REACH_OF_MITZ_32, "{old} {new}");
        let plan = |given: Parameters| Guava::plan(Format::Guava, &given).unwrap();
        let large = Parameters::for_keys(1 << 30, 0.01);
        assert!(plan(large.clone()).warnings.is_empty());
        assert_eq!(plan(large.with("mitz32")).warnings.len(), 1);
    }

    #[test]
    fn probes_as_each_guava_rounds_them() {
        assert_eq!((optimal_bits(1000, 0.03), optimal_probes(0.03)), (7298, 5));
        assert_eq!((optimal_bits(1, 0.9), optimal_probes_31(1, 0)), (0, 1));
        let refused = Guava::new(Format::Guava, &Parameters::for_keys(1, 0.9));
        assert!(matches!(refused, Err(Error::Parameter { parameter: "fpp", .. })));
    }
}
