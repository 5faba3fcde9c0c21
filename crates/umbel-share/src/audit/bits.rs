//! How much the bits of a filter reveal beyond its answers.
//!
//! Every set bit was set by a key. If all keys are among the candidates, a passing candidate explains each set bit. A
//! candidate that alone explains some bit is certainly a member. No other candidate is certain, because the rest
//! explain every bit without it.
//!
//! G. Bianchi, L. Bracciale, P. Loreti 2012, "'Better Than Nothing' Privacy with Bloom Filters: To What Extent?",
//! <https://doi.org/10.1007/978-3-642-33627-0_27>, call a member *deniable* if passing strangers also explain each of
//! its bits, and a filter γ-deniable if a member is deniable with probability γ. They find γ ≈ (1 − e^(−h·k/X))^k, with
//! h such strangers and X set bits.

use umbel::formulas::blocked;
use umbel::internals::block_words;
use umbel::{AnyFilter, Filter, KeyHash, Kind, Variant};

/// Counts, bit by bit, the candidates that explain the bits of a filter. Two bits of memory for each of the filter's.
#[derive(Debug)]
pub struct Cover<'f> {
    filter: &'f AnyFilter,
    /// The bits set by at least one passing candidate, and by at least two.
    once: Vec<u64>,
    twice: Vec<u64>,
}

impl<'f> Cover<'f> {
    /// Makes the cover of a blocked, classic, sliced or counting filter; `None` for other kinds.
    ///
    /// ```
    /// use umbel::{AnyFilter, Blocked, Filter, KeyHash};
    /// use umbel_share::audit::Cover;
    ///
    /// let mut filter = Blocked::new(100, 0.01)?;
    /// filter.extend(0..100u64);
    /// let filter = AnyFilter::Blocked(filter);
    /// let hashes: Vec<KeyHash> = (0..500u64).map(|key| filter.hasher().hash(key)).collect();
    /// let passing: Vec<KeyHash> = hashes.into_iter().filter(|hash| filter.contains(*hash)).collect();
    /// let mut cover = Cover::new(&filter).expect("a blocked filter");
    /// cover.add(&passing);
    /// assert_eq!(cover.unexplained(), 0, "all keys are among the candidates");
    /// let certain = passing.iter().filter(|hash| cover.is_alone(**hash)).count();
    /// assert!((90..=100).contains(&certain));
    /// # Ok::<(), umbel::Error>(())
    /// ```
    pub fn new(filter: &'f AnyFilter) -> Option<Self> {
        filter.positions(KeyHash::default())?;
        let words = Self::bytes(filter) as usize / 16;
        Some(Self { filter, once: vec![0; words], twice: vec![0; words] })
    }

    /// Returns the bytes of memory of the cover of a filter.
    pub fn bytes(filter: &AnyFilter) -> u64 {
        16 * plain_bits(filter).div_ceil(64)
    }

    /// Adds candidates that pass, each of them once.
    pub fn add(&mut self, hashes: &[KeyHash]) {
        for hash in hashes {
            for (word, bit) in bits_of(self.filter, *hash) {
                self.twice[word] |= self.once[word] & bit;
                self.once[word] |= bit;
            }
        }
    }

    /// Whether an added candidate is the only one that explains some bit.
    pub fn is_alone(&self, hash: KeyHash) -> bool {
        bits_of(self.filter, hash).into_iter().any(|(word, bit)| self.twice[word] & bit == 0)
    }

    /// Returns the set bits that no candidate explains: if there are any, other keys are in the filter.
    pub fn unexplained(&self) -> u64 {
        let explained = self.once.iter().map(|word| u64::from(word.count_ones())).sum();
        self.filter.receipt().set_bits.saturating_sub(explained)
    }
}

/// The bits of a filter, or its counters.
fn plain_bits(filter: &AnyFilter) -> u64 {
    match filter.plan().variant() {
        Variant::Counting { counter_bits } => filter.plan().bits() / u64::from(counter_bits),
        _ => filter.plan().bits(),
    }
}

/// The different bits of a key, each as a word and a bit of it.
fn bits_of(filter: &AnyFilter, hash: KeyHash) -> Vec<(usize, u64)> {
    let mut positions: Vec<u64> = filter.positions(hash).into_iter().flatten().collect();
    positions.sort_unstable();
    positions.dedup();
    positions.into_iter().map(|at| ((at / 64) as usize, 1 << (at % 64))).collect()
}

/// Returns the lowest and the highest false positive rate of the blocks that are not empty, in a blocked or a counting
/// filter; `None` for other kinds, and for an empty filter. Each key is in one block, whose rate applies to it.
pub fn block_rates(filter: &AnyFilter) -> Option<[f64; 2]> {
    let mut rates: Option<[f64; 2]> = None;
    each_block(filter, 1, &mut |ones| {
        let rate = blocked::fpp_of_block(ones, filter.plan().probes());
        if rate > 0.0 || ones != [0; 8] {
            let [low, high] = rates.unwrap_or([rate; 2]);
            rates = Some([low.min(rate), high.max(rate)]);
        }
    })?;
    rates
}

/// Calls `each` with the set bits of the eight words of every `step`-th block, and returns how many blocks there are, of a
/// blocked or a counting filter.
fn each_block(filter: &AnyFilter, step: usize, each: &mut dyn FnMut([u32; 8])) -> Option<usize> {
    let lines = match filter.plan().variant() {
        Variant::Blocked => 1,
        Variant::Counting { counter_bits } => counter_bits as usize,
        _ => return None,
    };
    let [blocks] = filter.blocks()[..] else { return None };
    for block in blocks.chunks(lines).step_by(step) {
        let mut ones = block_words(&block[0]).map(u64::count_ones);
        if let Some(second) = block.get(1) {
            // The first two planes of counters show which are not 0.
            let used = block_words(&block[0]).iter().zip(block_words(second));
            ones.iter_mut().zip(used).for_each(|(ones, (a, b))| *ones = (a | b).count_ones());
        }
        each(ones);
    }
    Some(blocks.len() / lines)
}

/// Expected results for the members of a filter if all its keys and some strangers are looked up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected {
    /// The share of the members that are [certain](Cover::is_alone): they have a bit that no other member sets and no
    /// passing stranger explains.
    pub certain: f64,
    /// γ: the share of the members that are deniable: passing strangers explain each of their bits.
    pub deniable: f64,
}

impl Expected {
    /// For a blocked, classic, sliced or counting filter and this many `strangers`; `None` for other kinds, and for an
    /// empty filter.
    ///
    /// Adds up over the blocks, and the words of a block where each has probes of its own: of s bits, X are set by c
    /// probes of each of M keys, and h strangers pass the block. No other member sets a given bit of a key with
    /// probability (1 − b)^(M − 1), b = 1 − (1 − 1/s)^c, and no stranger with e^(−h·(1 − (1 − 1/X)^c)). Above 2²⁰
    /// blocks, a sample of that size is used. The bits of a key are assumed independent.
    pub fn of(filter: &AnyFilter, strangers: f64) -> Option<Self> {
        const MOST: usize = 1 << 20;
        let probes = filter.plan().probes();
        let mut sum = Sum::default();
        match filter.kind() {
            Kind::Blocked | Kind::Counting => {
                let blocks = (plain_bits(filter) / 512) as usize;
                let each = strangers / blocks as f64;
                each_block(filter, blocks.div_ceil(MOST), &mut |ones| match probes % 8 {
                    0 => sum.add(64.0, ones.map(f64::from).as_slice(), probes / 8, each),
                    _ => sum.add(512.0, &[f64::from(ones.iter().sum::<u32>())], probes, each),
                });
            }
            kind @ (Kind::Classic | Kind::Sliced) => {
                let (bits, set) = (plain_bits(filter) as f64, filter.receipt().set_bits as f64);
                let slices = if kind == Kind::Sliced { probes } else { 1 };
                let parts = vec![set / f64::from(slices); slices as usize];
                sum.add(bits / f64::from(slices), &parts, probes / slices, strangers);
            }
            _ => return None,
        }
        let Sum { members, certain, deniable } = sum;
        (members > 0.0).then(|| Self { certain: certain / members, deniable: deniable / members })
    }
}

/// Sums over blocks.
#[derive(Default)]
struct Sum {
    members: f64,
    certain: f64,
    deniable: f64,
}

impl Sum {
    /// Adds a block of parts with `bits` bits each, of which `set` are set; each key has `probes` probes in each part.
    fn add(&mut self, bits: f64, set: &[f64], probes: u32, strangers: f64) {
        let parts = set.len() as f64;
        let clear = 1.0 - set.iter().sum::<f64>() / (parts * bits);
        if clear == 1.0 {
            return;
        }
        // If every bit is set, assume that half a bit is clear.
        let clear = clear.max(0.5 / (parts * bits));
        let spared = (1.0 - 1.0 / bits).powi(probes as i32);
        let members = (clear.ln() / spared.ln()).max(1.0);
        let rate: f64 = set.iter().map(|set| (set / bits).powi(probes as i32)).product();
        let by_members = spared.powf(members - 1.0);
        let (mut shared, mut deniable) = (1.0, 1.0);
        for set in set {
            let missed = (1.0 - 1.0 / set.max(1.0)).powi(probes as i32);
            let by_strangers = (-strangers * rate * (1.0 - missed)).exp();
            shared *= (1.0 - by_members * by_strangers).powi(probes as i32);
            deniable *= (1.0 - by_strangers).powi(probes as i32);
        }
        self.members += members;
        self.certain += members * (1.0 - shared);
        self.deniable += members * deniable;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use umbel::Variant::{Blocked, Classic, Sliced};
    use umbel::{KeyHasher, Plan};

    use super::*;

    /// A filter of some kind with the keys 0 to `members`, and the candidates from 0 to `all` that pass it.
    fn filled(kind: Variant, members: u64, all: u64, seed: u64) -> (AnyFilter, Vec<KeyHash>) {
        let plan = Plan::for_keys(kind, 1_000, 0.01).unwrap();
        let keys: Vec<u64> = (0..members).collect();
        let filter = AnyFilter::build(&plan, &keys, KeyHasher::with_seed(seed)).unwrap();
        let hashes = (0..all).map(|key| filter.hasher().hash(key));
        let passing = hashes.filter(|hash| filter.contains(*hash)).collect();
        (filter, passing)
    }

    const KINDS: [Variant; 4] = [Blocked, Classic, Sliced, Variant::Counting { counter_bits: 4 }];

    /// Certain, by definition: without the candidate, a filter of the others lacks a bit.
    #[test]
    fn certain_are_those_without_whom_a_bit_is_not_explained() {
        for variant in KINDS {
            let (filter, passing) = filled(variant, 120, 200_000, 3);
            let mut cover = Cover::new(&filter).unwrap();
            cover.add(&passing);
            assert_eq!(cover.unexplained(), 0, "{variant:?}");
            let plan = *filter.plan();
            let without = |left_out: usize| {
                let others = passing.iter().enumerate().filter(|(i, _)| *i != left_out);
                let others: Vec<KeyHash> = others.map(|(_, hash)| *hash).collect();
                AnyFilter::build(&plan, &others, KeyHasher::with_seed(3)).unwrap()
            };
            let all = without(usize::MAX).receipt().set_bits;
            for (i, hash) in passing.iter().enumerate() {
                let needed = without(i).receipt().set_bits < all;
                assert_eq!(cover.is_alone(*hash), needed, "{variant:?} {i}");
                // Members come first.
                assert!(!needed || i < 120, "{variant:?}: a stranger is no member");
            }
            let one = filter.hasher().hash(0u64);
            assert!(Cover::new(&filter).unwrap().unexplained() > 0 && filter.contains(one));
        }
    }

    /// 20 blocks, 8 probes, 65,536 candidates, 1,001 members: most members are certain, where the rate of the filter alone
    /// gives each candidate that passes a probability of 0.63. Shares of 1,001 vary by 0.014, 20 means by 0.003.
    #[test]
    fn most_members_of_a_small_universe_are_certain() {
        let (mut certain, mut expected, mut bare) = (0.0, 0.0, 0.0);
        for seed in 0..20 {
            let (filter, passing) = filled(Variant::Blocked, 1_001, 65_536, seed);
            assert_eq!((filter.plan().bits(), filter.plan().probes()), (20 * 512, 8));
            let mut cover = Cover::new(&filter).unwrap();
            cover.add(&passing);
            assert_eq!(cover.unexplained(), 0);
            let alone = passing.iter().filter(|hash| cover.is_alone(**hash)).count();
            certain += alone as f64 / 1_001.0 / 20.0;
            expected += Expected::of(&filter, 65_536.0 - 1_001.0).unwrap().certain / 20.0;
            bare += 1_001.0 / passing.len() as f64 / 20.0;
        }
        assert!((bare - 0.63).abs() < 0.02, "{bare}");
        assert!((certain - 0.79).abs() < 0.02, "{certain}");
        assert!((certain - expected).abs() < 0.02, "{certain} {expected}");
    }

    /// Compares the formulas with real filters, from universes that hide no member to ones that hide most.
    #[test]
    fn certain_and_deniable_members_are_as_many_as_expected() {
        for variant in KINDS {
            for candidates in [2_000, 30_000, 150_000, 500_000] {
                let (mut found, mut expected) = ([0.0; 2], [0.0; 2]);
                const RUNS: u64 = 6;
                for seed in 0..RUNS {
                    let (filter, passing) = filled(variant, 1_000, candidates, seed);
                    let (members, strangers) = passing.split_at(1_000);
                    let mut cover = Cover::new(&filter).unwrap();
                    cover.add(&passing);
                    let alone = members.iter().filter(|hash| cover.is_alone(**hash)).count();
                    let bits = |hash: &KeyHash| bits_of(&filter, *hash);
                    let explained: HashSet<_> = strangers.iter().flat_map(bits).collect();
                    let is_deniable =
                        |hash: &&KeyHash| bits(hash).iter().all(|bit| explained.contains(bit));
                    let deniable = members.iter().filter(is_deniable).count();
                    let Expected { certain, deniable: as_many } =
                        Expected::of(&filter, (candidates - 1_000) as f64).unwrap();
                    let shares = [(alone, certain), (deniable, as_many)];
                    for (i, (count, share)) in shares.into_iter().enumerate() {
                        found[i] += count as f64 / 1_000.0 / RUNS as f64;
                        expected[i] += share / RUNS as f64;
                    }
                }
                let near = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 0.04);
                assert!(near, "{variant:?} {candidates}: {found:?} {expected:?}");
            }
        }
    }

    #[test]
    fn other_kinds_and_empty_filters_show_nothing_here() {
        for kind in Kind::ALL.iter().copied().filter(|kind| !kind.rows()) {
            let plan = Plan::for_keys(kind, 100, 0.01).unwrap();
            let empty = AnyFilter::build::<u64>(&plan, &[], KeyHasher::default()).unwrap();
            assert_eq!(block_rates(&empty), None, "{kind}");
            assert_eq!(Expected::of(&empty, 1e6), None, "{kind}");
            let plain = KINDS.map(|variant| variant.kind()).contains(&kind);
            assert_eq!(Cover::new(&empty).is_some(), plain, "{kind}");
        }
    }

    /// Blocks of few keys have low rates; the mean over blocks is between the two.
    #[test]
    fn rates_of_blocks_enclose_the_rate() {
        for variant in [Variant::Blocked, Variant::Counting { counter_bits: 8 }] {
            let (filter, _) = filled(variant, 1_000, 0, 1);
            let [low, high] = block_rates(&filter).unwrap();
            let mean = filter.receipt().fpp;
            assert!(0.0 < low && low < 0.7 * mean && 1.3 * mean < high && high < 1.0);
        }
    }
}
