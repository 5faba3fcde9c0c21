//! Shuffling without a table: a keyed bijection of 0..n, computed one element at a time.

/// Rounds of the Feistel network. Four make it look random to the tests below and to a reader of the file; it keeps no secret.
/// Even, because halves of unequal width must end where they began.
const ROUNDS: usize = 4;

/// Scatters 64 bits over 64 bits, one to one (the finaliser of SplitMix64: Steele, Lea, Flood 2014).
#[must_use]
pub fn mix(word: u64) -> u64 {
    let word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// A pseudo-random order of the numbers below `n`.
///
/// A Feistel network permutes the smallest power of two that holds them; a result that is n or more goes through again until
/// it is not ("cycle walking": Black, Rogaway 2002), which takes under two turns on average.
#[derive(Clone, Debug)]
pub struct Permutation {
    n: u64,
    low_bits: u32,
    high_bits: u32,
    keys: [u64; ROUNDS],
}

impl Permutation {
    /// The order of the numbers below `n` that `key` names.
    ///
    /// # Panics
    /// If `n` is above 2⁶².
    #[must_use]
    pub fn new(n: u64, key: u64) -> Self {
        assert!(n <= 1 << 62, "a permutation of {n} numbers is more than 2^62");
        let bits = (u64::BITS - n.saturating_sub(1).leading_zeros()).max(2);
        let mut keys = [0; ROUNDS];
        let mut state = key;
        for round in &mut keys {
            state = mix(state);
            *round = state;
        }
        Self { n, low_bits: bits / 2, high_bits: bits - bits / 2, keys }
    }

    /// The number at place `at`: each number below `n` is at exactly one.
    ///
    /// # Panics
    /// In debug builds, unless `at` is below `n`.
    #[must_use]
    pub fn apply(&self, at: u64) -> u64 {
        debug_assert!(at < self.n);
        let mut place = self.once(at);
        while place >= self.n {
            place = self.once(place);
        }
        place
    }

    fn once(&self, word: u64) -> u64 {
        let (mut high_bits, mut low_bits) = (self.high_bits, self.low_bits);
        let (mut high, mut low) = (word >> low_bits, word & ((1 << low_bits) - 1));
        for key in self.keys {
            // (high, low) → (low, high ^ f(low)): undone by computing f(low) again, whatever f is.
            let scrambled = high ^ (mix(low ^ key) & ((1 << high_bits) - 1));
            (high, low) = (low, scrambled);
            (high_bits, low_bits) = (low_bits, high_bits);
        }
        high << low_bits | low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_comes_once() {
        for n in (0..70).chain([127, 128, 129, 1000, 4095, 4096, 4097, 65_537]) {
            for key in [0, 1, u64::MAX] {
                let order = Permutation::new(n, key);
                let mut all: Vec<u64> = (0..n).map(|at| order.apply(at)).collect();
                all.sort_unstable();
                assert!(all.into_iter().eq(0..n), "n {n}, key {key}");
            }
        }
    }

    #[test]
    fn large_ranges_stay_in_range() {
        for n in [(1 << 40) + 1, 1 << 62] {
            let order = Permutation::new(n, 5);
            assert!((0..1000).all(|at| order.apply(at) < n));
            assert!(order.apply(n - 1) < n);
        }
    }

    #[test]
    fn keys_give_different_orders() {
        let (one, two) = (Permutation::new(10_000, 1), Permutation::new(10_000, 2));
        // Two random orders agree at one place on average (Poisson): 12 or more has a chance under 1e-9.
        assert!((0..10_000).filter(|&at| one.apply(at) == two.apply(at)).count() < 12);
        assert!((0..10_000).filter(|&at| one.apply(at) == at).count() < 12);
    }
}
