//! How to measure a filter's rate, and how far it may vary by chance: every bound here is derived.
//!
//! Three checks, each sensitive to one thing. The clear bits of filled filters, compared with their exact mean and
//! variance, test the formulas. Hits of absent keys, compared with the binomial law of the rate given by the bits
//! themselves, test the hash. That rate, averaged and compared with the promised one, tests the plan. One loose bound
//! on everything would test none.

use std::fmt::Debug;
use std::ops::Range;

use umbel::formulas::blocked;
use umbel::formulas::stable::Cells;
use umbel::internals::format::Header;
use umbel::internals::math::binomial_bounds;
use umbel::internals::mix;
use umbel::{AnyFilter, Figure, Filter, KeyHash, KeyHasher, Kind, Plan, Receipt};

/// Allowed standard deviations: chance exceeds 6 once in 5·10⁸ checks.
pub(crate) const SIGMAS: f64 = 6.0;
/// Two-sided level of the binomial check.
pub(crate) const ALPHA: f64 = 1e-9;

const BLOCK_BITS: u64 = 512;
const LANE_BITS: f64 = 64.0;

/// Streams of different keys. Members use the first numbers of a stream, probes the numbers after them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keys {
    /// Integers 0, 1, 2, …
    Sequential,
    /// Integers as SplitMix64 gives them, which never repeats one.
    Random,
    /// Strings of 32 bytes; each differs from the one before in exactly one byte.
    OneByteApart,
}

impl Keys {
    pub(crate) const ALL: [Self; 3] = [Self::Sequential, Self::Random, Self::OneByteApart];

    /// The hash of key `number` of the stream.
    pub(crate) fn hash(self, hasher: &KeyHasher, number: u64) -> KeyHash {
        match self {
            Self::Sequential => hasher.hash(number),
            Self::Random => hasher.hash(splitmix(number)),
            Self::OneByteApart => hasher.hash(one_byte_apart(number)),
        }
    }
}

/// How much a long test does: a part, unless `cargo x test --full` asks for all.
pub(crate) fn long<T>(all: T, part: T) -> T {
    if std::env::var_os("UMBEL_TEST_FULL").is_some() { all } else { part }
}

/// Output `number` of SplitMix64 with seed 0: a bijection of 64 bits.
pub(crate) fn splitmix(number: u64) -> u64 {
    mix(number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// The modular Gray code of `number` in base 256, its digits spread over a string: incrementing `number`
/// changes d_j − d_(j+1) in one place only.
pub(crate) fn one_byte_apart(number: u64) -> [u8; 32] {
    let mut key = *b"https://example.org/path?number=";
    let digits = number.to_le_bytes();
    for (place, digit) in digits.iter().enumerate() {
        let above = digits.get(place + 1).copied().unwrap_or(0);
        key[4 * place] ^= digit.wrapping_sub(above);
    }
    key
}

/// Mean and variance of the clear bits of a filter that holds `keys` keys: exact for hashes that
/// are uniform, since keys are independent.
///
/// Let N throws each set a bit with chance a, and two given bits with chance c. One bit is clear
/// with chance u = (1 − a)ᴺ, both are with (1 − 2a + c)ᴺ = u²·(1 + (c − a²)/(1 − a)²)ᴺ.
/// - Classic: the kn probes are the throws; a = 1/m, c = 0. In the limit of many bits that is the known
///   mean m·e^−λ and variance m·e^−λ(1 − (1 + λ)e^−λ), λ = kn/m, which are too rough for a few keys.
/// - Sliced: as classic, the n keys thrown into each slice of s bits; a = 1/s.
/// - Blocked: the keys are the throws; a = p/B, p the chance that a key of the block sets the bit, B
///   the number of blocks. For two bits of a block c = (1 − 2(1 − p) + s)/B, s the chance that a key
///   of the block spares both; of different blocks, c = 0.
pub(crate) fn clear_bits(plan: &Plan, keys: u64) -> (f64, f64) {
    let (m, k, n) = (plan.bits() as f64, plan.probes() as i32, keys as f64);
    // `pairs`: the number of other bits of each relation, and c for each of them.
    let (throws, a, pairs) = match plan.kind() {
        Kind::Blocked => {
            let bits = BLOCK_BITS as f64;
            let blocks = m / bits;
            let p = blocked::bit_chance(plan.probes());
            let both = |spared: f64| (1.0 - 2.0 * (1.0 - p) + spared) / blocks;
            let mut pairs = vec![(m - bits, 0.0)];
            if plan.probes().is_multiple_of(8) {
                let rounds = k / 8;
                pairs.push((LANE_BITS - 1.0, both((1.0 - 2.0 / LANE_BITS).powi(rounds))));
                pairs.push((bits - LANE_BITS, both((1.0 - 1.0 / LANE_BITS).powi(2 * rounds))));
            } else {
                pairs.push((bits - 1.0, both((1.0 - 2.0 / bits).powi(k))));
            }
            (n, p / blocks, pairs)
        }
        // In each slice a key is a throw; slices are independent.
        Kind::Sliced => {
            let slice = m / f64::from(k);
            let slices = (slice - 1.0, 0.0);
            (n, 1.0 / slice, vec![slices])
        }
        _ => (n * f64::from(k), 1.0 / m, vec![(m - 1.0, 0.0)]),
    };
    let one = throws * (-a).ln_1p();
    let mean = m * one.exp();
    // Covariances relative to u², to avoid subtracting large numbers.
    let relative = |c: f64| (throws * ((c - a * a) / (1.0 - a).powi(2)).ln_1p()).exp_m1();
    let sum: f64 = pairs.iter().map(|&(count, c)| count * relative(c)).sum();
    let variance = mean * (-one.exp_m1() + one.exp() * sum);
    (mean, variance.max(0.0))
}

/// The rate of a filter computed from its file's bytes, independent of [`Receipt`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Census {
    /// Bits set.
    pub(crate) set: u64,
    /// Chance that a fresh key passes.
    pub(crate) fpp: f64,
    /// Standard deviation of `fpp` over hashings of the same keys, from this one filter; infinite
    /// when it has a single block.
    pub(crate) deviation: f64,
}

impl Census {
    /// Counts the bits of `filter`, in the file that it writes.
    pub(crate) fn of(filter: &AnyFilter) -> Self {
        let (plan, file) = (filter.plan(), filter.to_bytes());
        let payload = &file[Header::LENGTH..][..plan.bytes() as usize];
        let set = payload.iter().map(|byte| u64::from(byte.count_ones())).sum::<u64>();
        let (m, k) = (plan.bits() as f64, f64::from(plan.probes()));
        let (fpp, deviation) = match plan.kind() {
            Kind::Blocked => {
                let blocks = payload.chunks_exact(BLOCK_BITS as usize / 8);
                // Loads of blocks are negatively correlated, so the mean varies less than this.
                mean(&blocks.map(|block| block_rate(block, plan.probes())).collect::<Vec<_>>())
            }
            kind => {
                let fpp = if kind == Kind::Sliced {
                    let slice = plan.bits() as usize / plan.probes() as usize;
                    let is_set = |bit: &usize| payload[bit / 8] >> (bit % 8) & 1 == 1;
                    let fill = |first| (first..first + slice).filter(is_set).count() as f64;
                    let starts = (0..plan.bits() as usize).step_by(slice);
                    starts.map(|first| fill(first) / slice as f64).product()
                } else {
                    (set as f64 / m).powf(k)
                };
                // f = (X/m)^k, hence σ_f = k·f·σ_X/X.
                let keys = filter.receipt().keys.value.round();
                let (_, variance) = clear_bits(plan, keys.min(u64::MAX as f64) as u64);
                (fpp, k * fpp * variance.sqrt() / (set as f64).max(1.0))
            }
        };
        let deviation = if deviation.is_nan() { f64::INFINITY } else { deviation };
        Self { set, fpp, deviation }
    }
}

/// Where the seeds of a run begin: `UMBEL_TEST_SEED` shifts them.
pub(crate) fn first_seed(usual: u64) -> u64 {
    std::env::var("UMBEL_TEST_SEED").map_or(usual, |seed| seed.parse().expect("a number"))
}

/// A number among the facts that a kind adds to its receipt.
pub(crate) fn figure(receipt: &Receipt, name: &str) -> f64 {
    match receipt.facts.iter().find(|fact| fact.name == name).map(|fact| &fact.figure) {
        Some(Figure::Count(count)) => *count as f64,
        Some(Figure::Number(number) | Figure::Rate(number)) => *number,
        other => panic!("{name} is {other:?}"),
    }
}

/// The mean of several filters' rates, and its standard error.
pub(crate) fn mean(rates: &[f64]) -> (f64, f64) {
    let count = rates.len() as f64;
    let mean = rates.iter().sum::<f64>() / count;
    let squares: f64 = rates.iter().map(|rate| (rate - mean).powi(2)).sum();
    (mean, (squares / (count - 1.0) / count).sqrt())
}

/// How many of these keys pass.
pub(crate) fn passing(filter: &impl Filter, hashes: impl IntoIterator<Item = KeyHash>) -> u64 {
    let (mut hashes, mut found, mut passing) = (hashes.into_iter(), [false; 4096], 0);
    loop {
        let batch: Vec<_> = hashes.by_ref().take(found.len()).collect();
        if batch.is_empty() {
            return passing;
        }
        let found = &mut found[..batch.len()];
        filter.contains_all(&batch, found);
        passing += found.iter().filter(|&&found| found).count() as u64;
    }
}

/// Hits of fresh keys follow the binomial law of the rate that the bits give.
pub(crate) fn assert_binomial(hits: u64, trials: u64, rate: f64, what: &dyn Debug) {
    let (low, high) = binomial_bounds(trials, rate, ALPHA);
    assert!(
        (low..=high).contains(&hits),
        "{what:?}: {hits} of {trials}, {low} to {high} at {rate}"
    );
}

/// The same for fresh keys with these numbers.
pub(crate) fn assert_rate(
    filter: &impl Filter,
    fresh: Range<u64>,
    hash: impl Fn(u64) -> KeyHash,
    rate: f64,
    what: &dyn Debug,
) {
    let trials = fresh.end - fresh.start;
    assert_binomial(passing(filter, fresh.map(hash)), trials, rate, what);
}

/// The rates that the bits of several filters of one plan give, and how many fresh keys passed.
#[derive(Clone, Default)]
pub(crate) struct Rates {
    pub(crate) rates: Vec<f64>,
    trials: u64,
    hits: u64,
}

impl Rates {
    pub(crate) fn add(
        &mut self,
        filter: &impl Filter,
        fresh: Range<u64>,
        hash: impl Fn(u64) -> KeyHash,
    ) {
        self.rates.push(filter.receipt().fpp);
        self.trials += fresh.end - fresh.start;
        self.hits += passing(filter, fresh.map(hash));
    }

    /// Given the bits, the hits are binomial, and the mean over hashings of the rate that the bits give is at most the
    /// promise. Returns that mean and its standard error.
    ///
    /// The hits of filters with different rates are less spread than the binomial law of their mean (Hoeffding 1956), so
    /// its bounds hold for several filters too.
    pub(crate) fn check(&self, promised: f64, what: &dyn Debug) -> (f64, f64) {
        let (mean, error) = mean(&self.rates);
        assert_binomial(self.hits, self.trials, mean, what);
        let most = promised * (1.0 + 1e-12) + SIGMAS * error;
        assert!(mean <= most, "{what:?}: {mean} ± {error}, promised {promised}");
        (mean, error)
    }
}

/// The chance that a fresh key passes a block of a blocked filter.
pub(crate) fn block_rate(block: &[u8], probes: u32) -> f64 {
    let ones = |bytes: &[u8]| bytes.iter().map(|byte| byte.count_ones()).sum::<u32>();
    match probes % 8 {
        0 => {
            let lanes = block.chunks_exact(8).map(|lane| f64::from(ones(lane)) / LANE_BITS);
            lanes.product::<f64>().powi(probes as i32 / 8)
        }
        _ => (f64::from(ones(block)) / BLOCK_BITS as f64).powi(probes as i32),
    }
}

/// The probes needed to detect a relative shift `delta` of a rate `fpp`: 81(1 − f)/(f·δ²), which puts the shifted mean
/// 9 standard deviations off, 3 beyond the bound.
pub(crate) fn power(fpp: f64, delta: f64) -> f64 {
    81.0 * (1.0 - fpp) / (fpp * delta * delta)
}

/// Filters of one plan, filled to the planned keys under different seeds and queried with fresh keys.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    pub(crate) plan: Plan,
    pub(crate) filters: u64,
    /// Clear bits of all filters.
    pub(crate) clear: u64,
    /// The rate that the bits give, averaged over all filters, and the standard error of this mean.
    pub(crate) fpp: f64,
    pub(crate) error: f64,
    /// Fresh keys queried in all filters, and how many passed.
    pub(crate) trials: u64,
    pub(crate) hits: u64,
    /// The receipt of the last filter.
    pub(crate) receipt: Receipt,
    /// The greatest relative difference between a receipt's rate and the one counted from the file.
    pub(crate) disagreement: f64,
    /// Seed of the first filter that denied a member.
    pub(crate) lost: Option<u64>,
}

/// Fills and queries `filters` filters of `plan`, with seeds from `seed` on and `trials` fresh keys in all.
pub(crate) fn measure(plan: &Plan, keys: Keys, seed: u64, filters: u64, trials: u64) -> Measured {
    let each = trials.div_ceil(filters);
    let (mut clear, mut hits, mut lost) = (0, 0, None);
    let (mut rates, mut disagreement, mut last) = (Vec::new(), 0.0f64, None);
    for seed in seed..seed + filters {
        let hasher = KeyHasher::with_seed(seed);
        let hash = |number| keys.hash(&hasher, number);
        let mut filter =
            AnyFilter::with_plan(plan, hasher.clone()).expect("a plan that can be built");
        let hashes: Vec<_> = (0..plan.keys()).map(hash).collect();
        filter.try_insert_all(&hashes).expect("room");
        // All members of small filters, the first of large ones.
        let members = plan.keys().min(1 << 20);
        if passing(&filter, (0..members).map(hash)) < members {
            lost.get_or_insert(seed);
        }
        hits += passing(&filter, (plan.keys()..plan.keys() + each).map(hash));
        let (census, receipt) = (Census::of(&filter), filter.receipt());
        disagreement = disagreement.max((receipt.fpp - census.fpp).abs() / census.fpp);
        clear += plan.bits() - census.set;
        rates.push(receipt.fpp);
        last = Some((receipt, census));
    }
    let (receipt, census) = last.expect("at least one filter");
    let (fpp, error) = match filters {
        1 => (rates[0], census.deviation),
        _ => mean(&rates),
    };
    let (plan, trials) = (*plan, each * filters);
    Measured { plan, filters, clear, fpp, error, trials, hits, receipt, disagreement, lost }
}

impl Measured {
    /// Results that chance does not explain.
    ///
    /// The hits of filters with different rates are less spread than the binomial law of their mean
    /// (Hoeffding 1956), so its bounds hold for several filters too.
    pub(crate) fn failures(&self) -> Vec<String> {
        let mut failures = Vec::new();
        let count = self.filters as f64;
        let (mean, variance) = clear_bits(&self.plan, self.plan.keys());
        let (mean, deviation) = (mean * count, (variance * count).sqrt());
        // Rounding of the mean: if a few keys never overlap, the deviation is 0.
        let rounding = 1e-12 * self.plan.bits() as f64 * count;
        if (self.clear as f64 - mean).abs() > SIGMAS * deviation + rounding {
            failures.push(format!("{} bits are clear, expected {mean} ± {deviation}", self.clear));
        }
        let (low, high) = binomial_bounds(self.trials, self.fpp, ALPHA);
        if !(low..=high).contains(&self.hits) {
            failures.push(format!(
                "{} of {} fresh keys pass, expected {low} to {high} from the bits",
                self.hits, self.trials
            ));
        }
        // A few ulps: a filter of one key whose probes are all at different positions has no spread.
        if self.fpp > self.plan.fpp() * (1.0 + 1e-12) + SIGMAS * self.error {
            failures.push(format!("rate {} ± {} is above the promise", self.fpp, self.error));
        }
        if self.disagreement > 1e-9 {
            failures.push(format!("receipt and file give different rates: {}", self.disagreement));
        }
        if let Some(seed) = self.lost {
            failures.push(format!("a member is denied under seed {seed}"));
        }
        let (keys, estimate) = (self.plan.keys() as f64, self.receipt.keys);
        if keys >= 10_000.0 && (estimate.value - keys).abs() > SIGMAS * estimate.deviation {
            failures.push(format!("the receipt estimates {estimate:?} keys"));
        }
        failures
    }
}

/// The fraction of a stable filter's cells above 0 after `insertions` insertions into an empty one.
///
/// A cell is above 0 if it was lowered fewer than Max times since it was last set. In a continuous time that counts how
/// often it is lowered, it was last set λ ago with density κe^(−κλ), κ = 1/(P(1/K − 1/m)), and lowered i times since with
/// probability e^(−λ)λ^i/i!: together κ/(1 + κ)^(i + 1) times the probability that a Poisson variable of mean (1 + κ)τ is
/// above i, with τ = insertions·P/m. For τ → ∞ the sum is [`Cells::fill`].
pub(crate) fn fill_after(cells: &Cells, insertions: f64) -> f64 {
    let kappa = 1.0 / (cells.lowered * (1.0 / cells.probes - 1.0 / cells.cells));
    let mean = (1.0 + kappa) * insertions * cells.lowered / cells.cells;
    // Logarithms, because e^−mean may underflow while sums are still to come.
    let (mut log, mut below) = (-mean, 0.0f64);
    let (mut weight, mut sum) = (kappa / (1.0 + kappa), 0.0);
    for i in 0..u32::from(cells.top) {
        below += log.exp();
        log += mean.ln() - f64::from(i + 1).ln();
        sum += weight * (1.0 - below).max(0.0);
        weight /= 1.0 + kappa;
    }
    sum
}
