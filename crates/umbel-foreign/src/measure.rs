//! Fill, keys and rate, computed from the bits of a filter.

use umbel::Estimate;
use umbel::internals::math::Coverage;

use crate::bits::count_ones;

/// The figures of one array of bits.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct Measure {
    pub(crate) bits: u64,
    pub(crate) set_bits: u64,
    pub(crate) keys: Estimate,
    pub(crate) fpp: f64,
    /// How clear bits estimate keys; `None` if the system reads no bits.
    pub(crate) coverage: Option<Coverage>,
}

impl Measure {
    /// For a filter that holds nothing, or lets everything pass.
    pub(crate) fn fixed(answer: bool, bits: u64) -> Self {
        let keys = if answer { f64::INFINITY } else { 0.0 };
        let keys = Estimate::with_interval(keys, keys, 0.0, keys);
        Self { bits, set_bits: 0, keys, fpp: f64::from(u8::from(answer)), coverage: None }
    }

    /// For probes anywhere among `bits` bits: the rate is X/m per probe (B. H. Bloom 1970), the keys are −(m/k)·ln(1 −
    /// X/m).
    ///
    /// Two hashes extended to k probes raise the rate slightly above this (A. Kirsch, M. Mitzenmacher 2008,
    /// <https://doi.org/10.1002/rsa.20208>), by an amount that vanishes as m grows.
    pub(crate) fn spread(array: &[u8], bits: u64, probes: u32) -> Self {
        let set_bits = count_ones(array);
        let clear = bits.saturating_sub(set_bits) as f64;
        let coverage = Coverage::classic(bits, probes);
        let fpp = (set_bits as f64 / bits as f64).min(1.0).powi(probes as i32);
        Self { bits, set_bits, keys: coverage.keys(clear), fpp, coverage: Some(coverage) }
    }

    /// For probes that all fall into one block of `block` bytes: the rate is the mean over blocks.
    ///
    /// `rate` computes a block's rate. `spared` is the probability that a key of the block leaves a given bit of it
    /// clear; `pairs` are the numbers of other bits that it may also leave clear, and with what probability both.
    pub(crate) fn blocked(
        array: &[u8],
        block: usize,
        rate: impl Fn(&[u8]) -> f64,
        spared: f64,
        pairs: &[(f64, f64)],
    ) -> Self {
        let blocks = array.chunks_exact(block);
        let (count, bits) = (blocks.len() as f64, array.len() as u64 * 8);
        let set_bits = count_ones(array);
        let fpp = blocks.map(rate).sum::<f64>() / count;
        let clear = bits.saturating_sub(set_bits) as f64;
        let coverage = Coverage::in_blocks(count, block as f64 * 8.0, spared, pairs);
        Self { bits, set_bits, keys: coverage.keys(clear), fpp, coverage: Some(coverage) }
    }

    /// [`blocked`](Self::blocked) for `probes` probes anywhere in a block of `line` bytes.
    pub(crate) fn lines(array: &[u8], line: usize, probes: u32) -> Self {
        let (bits, k) = (8.0 * line as f64, probes as i32);
        Self::blocked(
            array,
            line,
            |line| (count_ones(line) as f64 / bits).powi(k),
            ((bits - 1.0) / bits).powi(k),
            &[(bits - 1.0, ((bits - 2.0) / bits).powi(k))],
        )
    }
}
