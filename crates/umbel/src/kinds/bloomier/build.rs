//! Builds a bloomier filter: hashes are collected by shard, and each shard is built by itself, on any thread.

use super::plan::{MOST_WIDTH, Plans, Shape, check_widths, plan_for, promised};
use super::solve::{Entry, Solved, Solver, Unsolved, solver_bytes};
use super::{Bloomier, BloomierCore, Query, shard_of};
use crate::kinds::prelude::*;

/// Builds a bloomier filter shard by shard. Collect the hashes of each shard, by [`shard_of`](Self::shard_of), and
/// build the shards in any order, on any threads. Memory: the filter, 16 bytes per hash that you keep, and
/// [`shard_bytes`](Self::shard_bytes), some 40 per key (50 with slots above 56 bits), for each shard being built.
///
/// ```
/// use umbel::BloomierBuilder;
/// use umbel::{KeyHash, KeyHasher, Kind, Plan};
///
/// let hasher = KeyHasher::default();
/// let plan = Plan::for_keys(Kind::Bloomier, 1000, 0.01)?;
/// let mut builder = BloomierBuilder::new(&plan)?;
/// let mut hashes = vec![Vec::new(); builder.count()];
/// for hash in (0..1000).map(|key| hasher.hash(key)) {
///     hashes[builder.shard_of(hash)].push(hash);
/// }
/// std::thread::scope(|scope| {
///     let shards = builder.shards().zip(&mut hashes);
///     let build = shards.map(|(shard, hashes)| scope.spawn(|| shard.build(hashes)));
///     build.collect::<Vec<_>>().into_iter().try_for_each(|thread| thread.join().unwrap())
/// })?;
/// let filter = builder.finish(hasher)?;
/// assert!((0..1000).all(|key| filter.contains(key)));
/// # Ok::<(), umbel::Error>(())
/// ```
#[derive(Debug)]
pub struct BloomierBuilder {
    plan: Plan,
    shape: Shape,
    solved: Vec<Option<Solved>>,
    blocks: Blocks,
}

/// A shard to build; see [`BloomierBuilder`].
pub struct BloomierShard<'a> {
    shape: Shape,
    planned: u64,
    index: u64,
    solved: &'a mut Option<Solved>,
    blocks: &'a mut [Block],
}

impl core::fmt::Debug for BloomierShard<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("BloomierShard").field("index", &self.index).finish_non_exhaustive()
    }
}

impl BloomierBuilder {
    /// Makes a builder for the plan, and allocates the whole filter.
    ///
    /// # Errors
    /// A [`PlanError`] for an unsuitable plan; [`PlanError::OutOfMemory`].
    pub fn new(plan: &Plan) -> Result<Self, PlanError> {
        Plans::check(plan)?;
        let shape = Shape::of(plan)?;
        let blocks = Blocks::zeroed(plan.bytes() / BLOCK_BYTES)?;
        Ok(Self { plan: *plan, shape, solved: vec![None; shape.shards as usize], blocks })
    }

    /// Returns the number of shards, at least 1.
    pub fn count(&self) -> usize {
        self.solved.len()
    }

    /// Returns the index of a hash's shard, from 0.
    #[inline]
    pub fn shard_of(&self, hash: KeyHash) -> usize {
        shard_of(&self.shape, hash) as usize
    }

    /// Returns the bytes that building a shard uses, besides its hashes and the filter.
    pub fn shard_bytes(&self) -> u64 {
        solver_bytes(&self.shape)
    }

    /// Returns all shards, in the order of their indexes.
    pub fn shards(&mut self) -> impl Iterator<Item = BloomierShard<'_>> {
        let Self { shape, plan: Plan { keys: planned, .. }, .. } = *self;
        let blocks = self.blocks.chunks_mut((shape.shard_bits() / BLOCK_BITS) as usize);
        let shards = self.solved.iter_mut().zip(blocks);
        (0..).zip(shards).map(move |(index, (solved, blocks))| BloomierShard {
            shape,
            planned,
            index,
            solved,
            blocks,
        })
    }

    /// Returns the filter. Panics if a shard was not built.
    ///
    /// # Errors
    /// [`BuildError::Overfull`] if all shards together have more keys than planned.
    pub fn finish<H: Hashing>(self, hasher: H) -> Result<Bloomier<H>, BuildError> {
        let planned = self.plan.keys;
        let core = self.into_core().map_err(|unsolved| unsolved.of_keys(planned))?;
        Ok(Bloomier(Hashed::of(core, hasher)))
    }

    fn into_core(self) -> Result<BloomierCore, Unsolved> {
        let Self { plan, shape, solved, blocks } = self;
        let solved = solved.iter().map(|solved| solved.expect("every shard is built"));
        let seeds: Vec<u64> = solved.clone().map(|shard| shard.seed).collect();
        let keys = solved.map(|shard| shard.keys).sum();
        if keys > plan.keys {
            return Err(Unsolved::Full(keys));
        }
        Ok(BloomierCore { plan, query: Query::of(shape, &seeds), seeds, keys, blocks })
    }

    /// Builds all shards in order.
    fn build<E: Entry>(mut self, entries: &[E]) -> Result<BloomierCore, Unsolved> {
        let (shape, mut solver) = (self.shape, Solver::default());
        // How many entries each shard has; then where its own begin, and at last where they end.
        let mut ends = vec![0; self.count()];
        entries.iter().for_each(|entry| ends[self.shard_of(entry.pair().0)] += 1);
        let mut sorted = entries.to_vec();
        if self.count() > 1 {
            let mut start = 0;
            ends.iter_mut().for_each(|end| start += core::mem::replace(end, start));
            for entry in entries {
                let end = &mut ends[self.shard_of(entry.pair().0)];
                sorted[*end] = *entry;
                *end += 1;
            }
        }
        let mut start = 0;
        for (shard, end) in self.shards().zip(ends) {
            let entries = &mut sorted[start..end];
            *shard.solved = Some(solver.solve(&shape, shard.blocks, entries)?);
            start = end;
        }
        self.into_core()
    }
}

impl BloomierShard<'_> {
    /// Builds the shard from its hashes, which it reorders, in some 100 ns per key. Equal hashes count once.
    ///
    /// # Errors
    /// [`BuildError::Overfull`] if the shard has no room for them, because more keys were given than planned;
    /// [`BuildError::OtherShard`] for a hash of another shard, where it would be looked up.
    pub fn build(self, hashes: &mut [KeyHash]) -> Result<(), BuildError> {
        let other = hashes.iter().position(|hash| shard_of(&self.shape, *hash) != self.index);
        if let Some(place) = other {
            let (found, shard) = (shard_of(&self.shape, hashes[place]), self.index);
            return Err(BuildError::OtherShard(place as u64, found, shard));
        }
        let solved = Solver::default().solve(&self.shape, self.blocks, hashes);
        *self.solved = Some(solved.map_err(|unsolved| unsolved.of_keys(self.planned))?);
        Ok(())
    }
}

impl Unsolved {
    /// The public error, for keys without values.
    fn of_keys(self, planned: u64) -> BuildError {
        match self {
            Self::Full(keys) => BuildError::Overfull(keys, planned),
            Self::Differ(_) => unreachable!("keys without values"),
        }
    }
}

impl Owned for BloomierCore {
    type Refusal = InsertError;

    fn build(plan: &Plan, hashes: &[KeyHash]) -> Result<Self, BuildError> {
        let built = BloomierBuilder::new(plan)?.build(hashes);
        built.map_err(|unsolved| unsolved.of_keys(plan.keys))
    }

    fn insert(&mut self, _: KeyHash) -> Result<bool, InsertError> {
        Err(InsertError::BuiltAtOnce(Kind::Bloomier))
    }
}

impl<H: Hashing> Bloomier<H> {
    /// Builds a filter of these keys; equal ones count once. Takes about 100 ns per key on one thread, and 55 bytes per
    /// key besides the filter. For untrusted keys, use [`KeyHasher::random`] or [`KeyHasher::keyed`].
    ///
    /// # Errors
    /// [`BuildError::Overfull`] for more keys than planned; [`BuildError::Plan`] for an unsuitable plan, such as one of
    /// a map, or if memory cannot be allocated.
    pub fn build<K: Key<H>>(plan: &Plan, keys: &[K], hasher: H) -> Result<Self, BuildError> {
        Ok(Self(Hashed::build(plan, keys, hasher)?))
    }

    /// Builds a map from keys to values, with the [`map_plan`](Bloomier::map_plan) for as many keys as there are pairs.
    /// A key may be repeated, with the same value.
    ///
    /// ```
    /// use umbel::Bloomier;
    /// let codes = [("Bern", 31), ("Basel", 61), ("Chur", 81)];
    /// let map = Bloomier::build_map(&codes, 7, 20, umbel::KeyHasher::default())?;
    /// assert_eq!(map.get("Basel"), Some(61));
    /// assert_eq!(map.get("Paris"), None, "with chance 2^-20 it would be some value");
    /// # Ok::<(), umbel::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`BuildError::ValuesDiffer`] with the places of a key that has two values, or of two keys with the same 128-bit
    /// hash; [`BuildError::WideValue`]; the errors of [`map_plan`](Bloomier::map_plan).
    pub fn build_map<K: Key<H>>(
        pairs: &[(K, u64)],
        value_bits: u32,
        fingerprint_bits: u32,
        hasher: H,
    ) -> Result<Self, BuildError> {
        let keys = pairs.len().max(1) as u64;
        let plan = Bloomier::map_plan(keys, value_bits, fingerprint_bits)?;
        let hash = |(key, value): &(K, u64)| (key.key_hash(&hasher), *value);
        let hashes: Vec<_> = pairs.iter().map(hash).collect();
        let builder = BloomierBuilder::new(&plan)?;
        let bits = builder.shape.value;
        let wide = pairs.iter().position(|(_, value)| bits < MOST_WIDTH && value >> bits != 0);
        if let Some(place) = wide {
            return Err(BuildError::WideValue(pairs[place].1, place as u64, bits));
        }
        let built = builder.build(&hashes).map_err(|unsolved| {
            let Unsolved::Differ(hash) = unsolved else { return unsolved.of_keys(plan.keys) };
            let mut same = (0u64..).zip(&hashes).filter(|(_, pair)| pair.0 == hash);
            let (first, &(_, one)) = same.next().expect("the pairs have this key");
            let other = same.find(|(_, pair)| pair.1 != one);
            let (second, &(_, two)) = other.expect("it has two values");
            BuildError::ValuesDiffer([first, second], [one, two])
        })?;
        Ok(Self(Hashed::of(built, hasher)))
    }
}

impl Bloomier {
    /// Plans a map of `keys` keys to values of `value_bits` bits, 0 to 64, with fingerprints of `fingerprint_bits`
    /// bits, 0 to 64, that detect absent keys; together 1 to 64. Without fingerprints it returns some value for any
    /// key.
    ///
    /// # Errors
    /// [`PlanError::ZeroKeys`]; [`PlanError::Field`] for other widths; [`PlanError::TooManyAtOnce`];
    /// [`PlanError::TooLarge`].
    pub fn map_plan(keys: u64, value_bits: u32, fingerprint_bits: u32) -> Result<Plan, PlanError> {
        check_keys(keys)?;
        check_widths(fingerprint_bits, value_bits)?;
        plan_for(keys, promised(fingerprint_bits), fingerprint_bits, value_bits)
    }
}
