//! How full the blocks of a filter are, in total and along the file, compared with what chance predicts: the data of a
//! picture that distinguishes a sound filter from one with a broken hash, or with keys in one place only.
//!
//! Filters count their own blocks; the expectations, common to all kinds, are computed here.

use umbel::formulas::blocked;
use umbel::internals::BLOCK_BITS;
use umbel::{AnyFilter, Block, Filter, Hashing, Kind, Part, Plan, Variant};

use super::Inside;
use super::occupancy::set_bits;

/// How full the blocks of a filter are; see [`Profile::of`].
///
/// ```
/// use umbel::{AnyFilter, KeyHasher, Kind, Plan};
/// use umbel_report::advice::Profile;
///
/// let plan = Plan::for_keys(Kind::Blocked, 100_000, 0.01)?;
/// let keys: Vec<u32> = (0..100_000).collect();
/// let filter = AnyFilter::build(&plan, &keys, KeyHasher::default())?;
/// let profile = Profile::of(&filter, 200);
/// let expected = profile.expected.as_ref().expect("the loads of a blocked filter are known");
/// // Blocks with at least 300 of their 512 bits set, counted and expected.
/// let counted: u64 = profile.loads[300..].iter().sum();
/// let expected: f64 = expected[300..].iter().sum();
/// assert!((counted as f64 - expected).abs() < 6.0 * expected.sqrt());
/// # Ok::<(), umbel::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Profile {
    /// The unit of counts: `bits`, or `counters`, `cells` or `codes` in use.
    pub cells: &'static str,
    /// The total number of blocks: cache lines of 64 bytes; in the counting kind, groups of 512 counters.
    pub blocks: u64,
    /// `loads[i]`: the number of blocks with `i` cells set or in use. It has one entry more than a block has cells.
    pub loads: Vec<u64>,
    /// The expected `loads` for as many keys as the bits indicate: with Poisson loads in blocked filters and the kinds
    /// made of them, with the binomial distribution in classic and sliced ones. `None` for other kinds, or without one.
    pub expected: Option<Vec<f64>>,
    /// The fill along the file, in order.
    pub stretches: Vec<Stretch>,
    /// The parts of the file, in order; empty for a filter of one piece, and for a window, whose generations are
    /// interleaved.
    pub sections: Vec<Section>,
    /// The generations of a window, in the order of their places; empty for other kinds.
    pub generations: Vec<Load>,
}

/// How full some blocks are.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Load {
    /// Cells set over cells, in [0, 1].
    pub fill: f64,
    /// Fill of the emptiest block.
    pub min: f64,
    /// Fill of the fullest block.
    pub max: f64,
}

impl Load {
    /// For blocks that each have `cells` cells; `None` without blocks.
    fn of(loads: impl Iterator<Item = u32>, cells: f64) -> Option<Self> {
        let (mut blocks, mut sum, mut min, mut max) = (0u64, 0u64, u32::MAX, 0);
        for load in loads {
            (blocks, sum) = (blocks + 1, sum + u64::from(load));
            (min, max) = (min.min(load), max.max(load));
        }
        let fill = |load: u32| f64::from(load) / cells;
        let mean = sum as f64 / (blocks as f64 * cells);
        (blocks > 0).then(|| Self { fill: mean, min: fill(min), max: fill(max) })
    }
}

/// A run of consecutive blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Stretch {
    /// The first block, counted from 0.
    pub start: u64,
    /// The number of blocks; at least 1.
    pub blocks: u64,
    /// Cells set over cells, in [0, 1].
    pub fill: f64,
    /// Fill of the emptiest block.
    pub min: f64,
    /// Fill of the fullest block.
    pub max: f64,
}

/// A part of a filter in its file.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Section {
    /// The name of the part, from [`Part`]: `link 1`, or its own name.
    pub name: String,
    /// The first block, counted from 0.
    pub start: u64,
    /// The number of blocks.
    pub blocks: u64,
}

impl Profile {
    /// Returns the [`cells`](Self::cells) of a filter's profile.
    pub fn cells_of<S: AsRef<[Block]>, H: Hashing>(filter: &AnyFilter<H, S>) -> &'static str {
        match filter.kind() {
            // Slots are not aligned to blocks.
            Kind::Bloomier => "bits",
            kind => kind.cells(),
        }
    }

    /// Computes the profile of a filter, with its fill along the file in `stretches` stretches. Two passes over its
    /// bits.
    pub fn of<S: AsRef<[Block]>, H: Hashing>(filter: &AnyFilter<H, S>, stretches: usize) -> Self {
        let plan = filter.plan();
        let cells = Self::cells_of(filter);
        let interleaved = match plan.variant() {
            Variant::Window { generations } => generations as usize,
            _ => 1,
        };
        let inside = Inside::of(filter);
        let of_part = |(part, blocks)| {
            let mut loads = Vec::with_capacity(blocks);
            inside.loads(part, 0..blocks, &mut |load| loads.push(load));
            loads
        };
        let loads: Vec<Vec<u32>> = inside.blocks().into_iter().enumerate().map(of_part).collect();
        let blocks = loads.iter().map(|loads| loads.len() as u64).sum();
        let mut gather = Gather::new(cells, blocks, inside.block_cells(), stretches);
        let parts = match plan.kind() {
            Kind::Window => Vec::new(),
            _ => filter.receipt().parts,
        };
        for (number, loads) in loads.iter().enumerate() {
            let part = parts.get(number);
            let name = match part {
                Some(Part { name: Some(name), .. }) => Some(name.clone()),
                Some(Part { what: "tag filter", .. }) => Some("tag filter".to_owned()),
                Some(part) => Some(format!("{} {}", part.what, number + 1)),
                // An exact list comes after the levels.
                None => (!parts.is_empty()).then(|| "list".to_owned()),
            };
            let (start, blocks) = (gather.at, loads.len() as u64);
            match (plan.kind(), part) {
                (Kind::Blocked | Kind::Classic | Kind::Sliced, _) => gather.plain(plan, loads),
                (_, Some(part)) => gather.plain(&part.plan, loads),
                (Kind::Counting | Kind::Window, None) => {
                    gather.blocked(plan.probes(), interleaved, loads);
                }
                _ => gather.unknown(loads),
            }
            gather.profile.sections.extend(name.map(|name| Section { name, start, blocks }));
        }
        debug_assert_eq!(gather.at, gather.profile.blocks);
        gather.profile
    }
}

/// A profile under construction, block by block.
struct Gather {
    profile: Profile,
    /// Cells of a block.
    per_block: f64,
    /// Blocks so far.
    at: u64,
    /// The cells of the current stretch, and how many are in use.
    stretch: (f64, f64),
}

impl Gather {
    fn new(cells: &'static str, blocks: u64, per_block: u32, stretches: usize) -> Self {
        let size = per_block as usize + 1;
        let wanted = (stretches as u64).clamp(1, blocks.max(1));
        let start = |i: u64| (u128::from(i) * u128::from(blocks) / u128::from(wanted)) as u64;
        let stretch = |i| {
            let blocks = start(i + 1) - start(i);
            Stretch { start: start(i), blocks, fill: 0.0, min: 1.0, max: 0.0 }
        };
        let profile = Profile {
            cells,
            blocks,
            loads: vec![0; size],
            expected: Some(vec![0.0; size]),
            stretches: (0..wanted).map(stretch).collect(),
            sections: Vec::new(),
            generations: Vec::new(),
        };
        Self { profile, per_block: per_block.into(), at: 0, stretch: (0.0, 0.0) }
    }

    /// Adds the next block of the file: its cells in use, and its cells.
    fn block(&mut self, used: u32, cells: f64) {
        let Self { profile, at, stretch, .. } = self;
        profile.loads[used as usize] += 1;
        // Stretches differ in length by one block at most, so the index is this one or the one before.
        let count = profile.stretches.len() as u64;
        let guess = (u128::from(*at) * u128::from(count) / u128::from(profile.blocks)) as usize;
        let next = profile.stretches.get(guess + 1).is_some_and(|next| next.start <= *at);
        let found = &mut profile.stretches[guess + usize::from(next)];
        if found.start == *at {
            *stretch = (0.0, 0.0);
        }
        let fill = f64::from(used) / cells;
        *stretch = (stretch.0 + cells, stretch.1 + f64::from(used));
        found.fill = stretch.1 / stretch.0;
        (found.min, found.max) = (found.min.min(fill), found.max.max(fill));
        *at += 1;
    }

    /// Adds blocks for which nothing is predicted.
    fn unknown(&mut self, loads: &[u32]) {
        loads.iter().for_each(|&load| self.block(load, self.per_block));
        self.profile.expected = None;
    }

    /// Adds the blocks of blocked filters of one size, which are interleaved.
    fn blocked(&mut self, probes: u32, turns: usize, loads: &[u32]) {
        let mut sums = vec![0u64; turns];
        for loads in loads.chunks(turns) {
            for (sum, &load) in sums.iter_mut().zip(loads) {
                self.block(load, self.per_block);
                *sum += u64::from(load);
            }
        }
        if turns > 1 {
            let of = |turn| loads.iter().copied().skip(turn).step_by(turns);
            let generations = (0..turns).filter_map(|turn| Load::of(of(turn), self.per_block));
            self.profile.generations = generations.collect();
        }
        let blocks = loads.len() as f64 / turns as f64;
        sums.into_iter().for_each(|sum| self.expect(probes, blocks, sum));
    }

    /// Adds the blocks of a blocked, classic or sliced filter; the last one may have fewer bits.
    fn plain(&mut self, plan: &Plan, loads: &[u32]) {
        if plan.kind() == Kind::Blocked {
            return self.blocked(plan.probes(), 1, loads);
        }
        let (mut left, mut sum) = (plan.bits(), 0);
        for &load in loads {
            let bits = left.min(BLOCK_BITS);
            self.block(load, bits as f64);
            (left, sum) = (left - bits, sum + u64::from(load));
        }
        // All bits are equally likely to be set.
        let fill = sum as f64 / plan.bits() as f64;
        self.add((plan.bits() / BLOCK_BITS) as f64, &binomial(BLOCK_BITS as usize, fill));
        if let rest @ 1.. = plan.bits() % BLOCK_BITS {
            self.add(1.0, &binomial(rest as usize, fill));
        }
    }

    /// Adds the expectation for these blocks of a blocked filter with this many cells in use.
    fn expect(&mut self, probes: u32, blocks: f64, used: u64) {
        if blocks == 0.0 {
            return;
        }
        let cells = blocks * self.per_block;
        // The keys of a full filter are unknown: assume the most that leave one bit clear.
        let clear = (cells - used as f64).max(0.5);
        let load = -(clear / cells).ln() / blocked::bit_chance(probes);
        self.add(blocks, &set_bits(load.max(0.0), probes));
    }

    fn add(&mut self, blocks: f64, chances: &[f64]) {
        let Some(expected) = &mut self.profile.expected else { return };
        for (expected, chance) in expected.iter_mut().zip(chances) {
            *expected += blocks * chance;
        }
    }
}

/// The probabilities of 0 to `n` successes in `n` trials, each with probability `p`.
fn binomial(n: usize, p: f64) -> Vec<f64> {
    let mut chances = vec![0.0; n + 1];
    let mode = (((n + 1) as f64 * p) as usize).min(n);
    let odds = p / (1.0 - p);
    // Relative to the mode's probability, so nothing underflows there.
    chances[mode] = 1.0;
    for i in mode + 1..=n {
        chances[i] = chances[i - 1] * odds * (n - i + 1) as f64 / i as f64;
    }
    for i in (0..mode).rev() {
        chances[i] = chances[i + 1] / odds * (i + 1) as f64 / (n - i) as f64;
    }
    let total: f64 = chances.iter().sum();
    chances.iter().map(|chance| chance / total).collect()
}

#[cfg(test)]
mod tests {
    use umbel::{Attributes, Cascade, KeyHash, KeyHasher};

    use super::*;

    /// A filter with this plan that holds `keys` keys.
    fn filter(plan: &Plan, keys: u64) -> AnyFilter {
        let keys: Vec<u64> = (0..keys).collect();
        AnyFilter::build(plan, &keys, KeyHasher::default()).unwrap()
    }

    /// Makes a profile and checks what holds for every one.
    fn check(filter: &AnyFilter, stretches: usize) -> Profile {
        let (profile, receipt) = (Profile::of(filter, stretches), filter.receipt());
        assert_eq!(profile.loads.iter().sum::<u64>(), profile.blocks, "{filter:?}");
        assert_eq!(profile.stretches.len(), stretches.clamp(1, profile.blocks as usize));
        // One after the other, up to the end.
        let end = |places: &mut dyn Iterator<Item = (u64, u64)>| {
            places.fold(0, |at, (start, blocks)| {
                assert_eq!(start, at, "{filter:?}");
                at + blocks
            })
        };
        for stretch in &profile.stretches {
            assert!(stretch.blocks > 0);
            assert!(stretch.min <= stretch.fill && stretch.fill <= stretch.max, "{stretch:?}");
        }
        let along = end(&mut profile.stretches.iter().map(|it| (it.start, it.blocks)));
        assert_eq!(along, profile.blocks);
        let sections = end(&mut profile.sections.iter().map(|it| (it.start, it.blocks)));
        assert!(sections == profile.blocks || profile.sections.is_empty());
        let generations = match filter.plan().variant() {
            Variant::Window { generations } => generations as usize,
            _ => 0,
        };
        assert_eq!(profile.generations.len(), generations, "{filter:?}");
        if generations > 0 {
            let mean = |fills: Vec<f64>| fills.iter().sum::<f64>() / fills.len() as f64;
            let along: f64 = profile.stretches.iter().map(|one| one.fill * one.blocks as f64).sum();
            let each = mean(profile.generations.iter().map(|one| one.fill).collect());
            assert!((each - along / profile.blocks as f64).abs() < 1e-9, "{filter:?}");
        }
        if let Some(expected) = &profile.expected {
            let total: f64 = expected.iter().sum();
            assert!((total / profile.blocks as f64 - 1.0).abs() < 1e-9, "{filter:?}: {total}");
            // The number of keys is estimated to match the mean of the bits.
            let bits = expected.iter().zip(0..).map(|(blocks, set)| blocks * f64::from(set));
            let (mean, set) = (bits.sum::<f64>(), receipt.set_bits as f64);
            assert!((mean - set).abs() <= 1e-6 * set, "{filter:?}: {mean} {set}");
            let counted: u64 = profile.loads.iter().zip(0..).map(|(n, set)| n * set).sum();
            assert_eq!(counted, receipt.set_bits);
        }
        profile
    }

    fn names(profile: &Profile) -> Vec<&str> {
        profile.sections.iter().map(|section| &section.name[..]).collect()
    }

    #[test]
    fn every_kind_has_a_profile() {
        for kind in Kind::ALL.iter().copied().filter(|kind| !kind.rows()) {
            for keys in [1, 40, 3_000] {
                let plan = Plan::for_keys(kind, keys, 0.01).unwrap();
                for stretches in [0, 1, 7, 200] {
                    check(&filter(&plan, keys), stretches);
                }
            }
        }
        let plan = Plan::for_keys(Kind::Scalable, 1_000, 0.01).unwrap();
        let profile = check(&filter(&plan, 10_000), 50);
        assert_eq!(names(&profile), ["link 1", "link 2", "link 3", "link 4"]);
        let plan = Plan::for_keys(Kind::Attributes, 1_000, 0.01).unwrap();
        let rows = Attributes::with_names(&plan, &["id", "city"], KeyHasher::default());
        let mut rows = rows.unwrap();
        rows.insert_row(&["1", "Rome"]).unwrap();
        assert_eq!(names(&check(&AnyFilter::Attributes(rows), 50)), ["id", "city", "tag filter"]);
        let keys: Vec<u64> = (0..5_000).collect();
        let cascade = Cascade::build(&keys[..1_000], &keys[1_000..], 0.01, KeyHasher::default());
        let profile = check(&AnyFilter::Cascade(cascade.unwrap()), 50);
        assert!(profile.sections.len() > 1 && profile.sections[1].name == "level 2");
    }

    #[test]
    fn sizes_that_are_no_whole_blocks() {
        for (bits, kind) in [(14, Kind::Classic), (1_000, Kind::Classic), (700, Kind::Sliced)] {
            let plan = Plan::from_parts(kind, 10, 0.5, bits, 2).unwrap();
            check(&filter(&plan, 10), 10);
        }
    }

    /// χ² of loads against their expectation, over classes of at least 8 blocks.
    #[test]
    fn loads_are_as_expected() {
        use Kind::{Blocked, Classic, Counting};
        for (kind, fpp) in [(Blocked, 0.01), (Blocked, 0.1), (Classic, 0.01), (Counting, 1e-4)] {
            let plan = Plan::for_keys(kind, 200_000, fpp).unwrap();
            let profile = check(&filter(&plan, 200_000), 100);
            let (mut classes, mut square) = (0.0, 0.0);
            let (mut expected, mut found) = (0.0, 0.0);
            for (more, blocks) in profile.expected.unwrap().into_iter().zip(profile.loads) {
                (expected, found) = (expected + more, found + blocks as f64);
                if expected >= 8.0 {
                    square += (found - expected) * (found - expected) / expected;
                    (classes, expected, found) = (classes + 1.0, 0.0, 0.0);
                }
            }
            // Mean classes − 1, variance twice that; 6 standard deviations.
            let free = classes - 1.0;
            let most = free + 6.0 * f64::sqrt(2.0 * free);
            assert!(square < most, "{kind} {fpp}: {square} of {free}");
        }
    }

    #[test]
    fn what_is_written_to_one_place_shows() {
        let plan = Plan::for_keys(Kind::Blocked, 10_000, 0.01).unwrap();
        let mut filter = AnyFilter::with_plan(&plan, KeyHasher::default()).unwrap();
        for low in 0..1_000 {
            let low = KeyHasher::default().hash(low).low;
            filter.try_insert_all(&[KeyHash { high: low >> 8, low }]).unwrap();
        }
        let profile = Profile::of(&filter, 128);
        assert!(profile.stretches[0].fill > 0.5);
        assert!(profile.stretches[1..].iter().all(|stretch| stretch.max == 0.0));
    }

    #[test]
    fn full_and_empty() {
        let plan = Plan::from_parts(Kind::Blocked, 1, 0.5, 5_120, 8).unwrap();
        let empty = AnyFilter::with_plan(&plan, KeyHasher::default()).unwrap();
        assert_eq!(Profile::of(&empty, 5).expected.unwrap()[0], 10.0);
        let full = Profile::of(&filter(&plan, 100_000), 5);
        assert_eq!(full.loads[512], 10);
        assert!(full.expected.unwrap()[505..].iter().sum::<f64>() > 9.9);
    }

    #[test]
    fn binomial_chances() {
        for (n, p) in [(512, 0.5), (512, 0.0), (512, 1.0), (14, 0.43), (512, 1e-9)] {
            let chances = binomial(n, p);
            let mean: f64 = chances.iter().zip(0..).map(|(c, i)| c * f64::from(i)).sum();
            assert!((mean - n as f64 * p).abs() < 1e-9 * n as f64, "{n} {p}: {mean}");
        }
    }
}
