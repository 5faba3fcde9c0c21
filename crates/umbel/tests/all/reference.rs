//! A second implementation of the filters, from FORMAT.md, with one `bool` per bit: slow and plain. It shares only the
//! hash of a key with the library.

use umbel::{KeyHash, Kind, Plan};

/// A filter as a row of bits.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reference {
    plan: Plan,
    bits: Vec<bool>,
}

impl Reference {
    pub(crate) fn new(plan: &Plan) -> Self {
        Self { plan: *plan, bits: vec![false; plan.bits() as usize] }
    }

    pub(crate) fn insert(&mut self, hash: KeyHash) {
        for position in positions_of(&self.plan, hash) {
            self.bits[position] = true;
        }
    }

    pub(crate) fn contains(&self, hash: KeyHash) -> bool {
        positions_of(&self.plan, hash).into_iter().all(|position| self.bits[position])
    }

    pub(crate) fn clear(&mut self) {
        self.bits.fill(false);
    }

    /// `unit` bits stay together: 512 in the blocked kind, 1 in the classic.
    pub(crate) fn fold(&mut self, divisor: u64) {
        let unit = if self.plan.kind() == Kind::Blocked { 512 } else { 1 };
        let Self { plan, .. } = self;
        let bits = plan.bits() / divisor;
        *plan =
            Plan::from_parts(plan.kind(), plan.keys(), plan.fpp(), bits, plan.probes()).unwrap();
        let divisor = divisor as usize;
        let mut folded = vec![false; self.bits.len() / divisor];
        for (position, _) in self.bits.iter().enumerate().filter(|&(_, &bit)| bit) {
            folded[position / unit / divisor * unit + position % unit] = true;
        }
        self.bits = folded;
    }

    pub(crate) fn join(&mut self, other: &Self, join: fn(bool, bool) -> bool) {
        let mut other = other.clone();
        if other.bits.len() > self.bits.len() {
            other.fold((other.bits.len() / self.bits.len()) as u64);
        } else {
            self.fold((self.bits.len() / other.bits.len()) as u64);
        }
        for (bit, other) in self.bits.iter_mut().zip(other.bits) {
            *bit = join(*bit, other);
        }
    }

    /// The payload of the file.
    pub(crate) fn payload(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.bits.len().div_ceil(512) * 64];
        for (position, _) in self.bits.iter().enumerate().filter(|&(_, &bit)| bit) {
            bytes[position / 8] |= 1 << (position % 8);
        }
        bytes
    }
}

/// The bits of a key in a filter of a plan.
pub(crate) fn positions_of(plan: &Plan, hash: KeyHash) -> Vec<usize> {
    let probes = u64::from(plan.probes());
    let (high, low) = (hash.high, hash.low);
    if plan.kind() == Kind::Classic {
        return (0..probes).map(|p| place(probe(hash, p), plan.bits())).collect();
    }
    if plan.kind() == Kind::Sliced {
        let slice = plan.bits() / probes;
        let position = |p: u64| p as usize * slice as usize + place(probe(hash, p), slice);
        return (0..probes).map(position).collect();
    }
    let block = 512 * place(high, plan.bits() / 512);
    let stretch = |n: u64| stretch(low, n);
    if probes % 8 == 0 {
        (0..probes / 8)
            .flat_map(|r| (0..8).map(move |i| 64 * i + ((stretch(r) >> (6 * i)) & 63)))
            .map(|j| block + j as usize)
            .collect()
    } else {
        (0..probes).map(|p| block + ((stretch(p / 7) >> (9 * (p % 7))) & 511) as usize).collect()
    }
}

pub(crate) fn mix(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The number that the other functions step by.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

pub(crate) fn stretch(low: u64, n: u64) -> u64 {
    if n == 0 { low } else { mix(low.wrapping_add(n.wrapping_mul(STEP))) }
}

pub(crate) fn probe(hash: KeyHash, p: u64) -> u64 {
    mix(hash.high.wrapping_add(p.wrapping_mul(hash.low)))
}

pub(crate) fn part(hash: KeyHash, n: u64) -> KeyHash {
    let half = |half: u64| mix(half.wrapping_sub(n.wrapping_mul(STEP)));
    if n == 0 { hash } else { KeyHash { high: half(hash.high), low: half(hash.low) } }
}

pub(crate) fn in_level(hash: KeyHash, i: u64) -> KeyHash {
    let high = part(hash, i).high;
    if i == 0 { hash } else { KeyHash { high, low: mix(hash.low.wrapping_add(high)) } }
}

pub(crate) fn place(x: u64, places: u64) -> usize {
    (u128::from(x) * u128::from(places) / (1u128 << 64)) as usize
}
