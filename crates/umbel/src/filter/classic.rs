//! The classic filter (Bloom 1970, method 2): k independent bits anywhere among m.
//!
//! Probe i goes to bit ⌊mix(high + i·low)·m / 2⁶⁴⌋. The bare arithmetic progression of double
//! hashing (Kirsch, Mitzenmacher 2006) makes keys collide whole more often than chance; the mix
//! of each term, a bijection, removes that for two multiplications a probe, little beside a cache
//! miss.

use super::bloom::{Bloom, Layout, sealed};
use crate::Error;
use crate::bits::{self, Block, Blocks, Hash, Kernel};
use crate::hash::{KeyHash, mix};
use crate::math::Estimate;
use crate::plan::{Kind, Plan};

/// A classic Bloom filter: the fewest bits of the Bloom kinds, any m and k, up to k cache misses a
/// key.
pub type Classic<S = Blocks> = Bloom<ClassicLayout, S>;

/// Where the classic kind puts its bits.
#[derive(Clone, Copy, Debug)]
pub struct ClassicLayout;

#[inline]
fn positions(plan: &Plan, hash: KeyHash) -> impl Iterator<Item = u64> {
    let bits = plan.bits;
    (0..u64::from(plan.probes))
        .map(move |i| bits::place(mix(hash.high.wrapping_add(i.wrapping_mul(hash.low))), bits))
}

/// Keys whose cache lines are asked for before any is used: up to 32 lines each.
const AHEAD: usize = 16;

/// Asks for the cache lines of all probes.
fn ask(blocks: &[Block], plan: &Plan, hashes: &[impl Hash]) {
    for hash in hashes {
        positions(plan, hash.key_hash()).for_each(|position| bits::ask(blocks, position));
    }
}

impl sealed::Sealed for ClassicLayout {}

impl Layout for ClassicLayout {
    const KIND: Kind = Kind::Classic;
    const UNIT: &'static str = "bits";
    const UNIT_BITS: u64 = 1;

    #[inline]
    fn insert(blocks: &mut [Block], plan: &Plan, _: &Kernel, hash: KeyHash) -> bool {
        positions(plan, hash).fold(false, |new, position| bits::set(blocks, position) | new)
    }

    #[inline]
    fn contains(blocks: &[Block], plan: &Plan, _: &Kernel, hash: KeyHash) -> bool {
        positions(plan, hash).all(|position| bits::get(blocks, position))
    }

    fn insert_batch<H: Hash>(blocks: &mut [Block], plan: &Plan, kernel: &Kernel, hashes: &[H]) {
        for hashes in hashes.chunks(AHEAD) {
            ask(blocks, plan, hashes);
            for hash in hashes {
                Self::insert(blocks, plan, kernel, hash.key_hash());
            }
        }
    }

    fn insert_batch_new(
        blocks: &mut [Block],
        plan: &Plan,
        kernel: &Kernel,
        hashes: &[KeyHash],
        new: &mut [bool],
    ) {
        for (hashes, new) in hashes.chunks(AHEAD).zip(new.chunks_mut(AHEAD)) {
            ask(blocks, plan, hashes);
            for (new, hash) in new.iter_mut().zip(hashes) {
                *new = Self::insert(blocks, plan, kernel, *hash);
            }
        }
    }

    fn contains_batch<H: Hash>(
        blocks: &[Block],
        plan: &Plan,
        kernel: &Kernel,
        hashes: &[H],
        found: &mut [bool],
    ) {
        for (hashes, found) in hashes.chunks(AHEAD).zip(found.chunks_mut(AHEAD)) {
            ask(blocks, plan, hashes);
            for (found, hash) in found.iter_mut().zip(hashes) {
                *found = Self::contains(blocks, plan, kernel, hash.key_hash());
            }
        }
    }

    fn fold(blocks: &mut Blocks, bits: u64, divisor: u64) -> Result<(), Error> {
        let mut folded = Blocks::zeroed((bits / divisor).div_ceil(bits::BLOCK_BITS))?;
        for position in bits::ones(blocks, bits) {
            bits::set(&mut folded, position / divisor);
        }
        *blocks = folded;
        Ok(())
    }

    fn fpp(blocks: &[Block], plan: &Plan) -> f64 {
        (bits::count_ones(blocks) as f64 / plan.bits as f64).powi(plan.probes as i32)
    }

    /// n* = −(m/k)·ln(clear/m) (S. Swamidass, P. Baldi 2007, <https://doi.org/10.1021/ci600526a>);
    /// the clear bits have variance m·e^−λ(1 − (1 + λ)e^−λ), λ = kn/m.
    fn keys(clear: f64, plan: &Plan) -> Estimate {
        if clear < 1.0 {
            let low = Self::keys(1.0, plan).low;
            return Estimate {
                value: f64::INFINITY,
                low,
                high: f64::INFINITY,
                deviation: f64::INFINITY,
            };
        }
        let (m, k) = (plan.bits as f64, f64::from(plan.probes));
        let empty = clear / m;
        let lambda = -empty.ln();
        let variance = (m * empty * (1.0 - (1.0 + lambda) * empty)).max(0.0);
        Estimate::new(m / k * lambda, m / (k * clear) * variance.sqrt())
    }
}
