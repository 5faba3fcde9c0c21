//! Builds a cascade level by level, each from the keys that wrongly passed the one before.

use alloc::borrow::Cow;
use alloc::collections::BTreeSet;

use super::plan::{MOST_LEVELS, Plans, form, next_level, part};
use super::{Cascade, CascadeCore, List, in_level, list_bytes};
use crate::kinds::blocked::BlockedCore;
use crate::kinds::group::Group;
use crate::kinds::prelude::*;

/// After every tenth level, look for keys on both lists: at most a sixteenth of the others is left after the first ten.
const LOOK_EACH: usize = 10;

impl<H: Hashing> Cascade<H> {
    /// Builds a cascade from two lists of keys: every key of `include` matches, none of `exclude` does, and other keys
    /// pass at a rate of at most `fpp`. Uses the smallest plan, by [`Plan::for_lists`]. For untrusted keys, use
    /// [`KeyHasher::random`](crate::KeyHasher::random) or [`KeyHasher::keyed`](crate::KeyHasher::keyed).
    ///
    /// Repeated keys are planned for as well; remove them if there are many. Building takes 16 bytes for each key of
    /// both lists, for each key that passes a level (at most half of those included), and for each excluded key that is
    /// caught.
    ///
    /// # Errors
    /// [`BuildError::OnBothLists`] with the places of the first key of `include` that is also in `exclude`;
    /// [`BuildError::Plan`] for an impossible rate or if memory cannot be allocated; [`BuildError::TooManyLevels`] for
    /// keys whose hashes were made to collide.
    pub fn build<K: Key<H>, L: Key<H>>(
        include: &[K],
        exclude: &[L],
        fpp: f64,
        hasher: H,
    ) -> Result<Self, BuildError> {
        let [included, excluded] = [include.len() as u64, exclude.len() as u64];
        let plan = Plan::for_lists(Kind::Cascade, included.max(1), excluded, fpp)?;
        Self::build_with_plan(&plan, include, exclude, hasher)
    }

    /// Like [`build`](Self::build), with a given plan for the first level, and in the plan's form. The plan comes from
    /// [`Plan::for_lists`], or is for the included keys alone; the corrections are added to it.
    ///
    /// # Errors
    /// As [`build`](Self::build); [`BuildError::Overfull`] for more included keys than planned; [`BuildError::Plan`]
    /// for an unsuitable plan.
    pub fn build_with_plan<K: Key<H>, L: Key<H>>(
        plan: &Plan,
        include: &[K],
        exclude: &[L],
        hasher: H,
    ) -> Result<Self, BuildError> {
        Plans::check(plan)?;
        let (include, exclude) = (hashes_of(include, &hasher), hashes_of(exclude, &hasher));
        let core = CascadeCore::of_lists(plan, &include, &exclude)?;
        Ok(Self(Hashed::of(core, hasher)))
    }
}

impl Owned for CascadeCore {
    type Refusal = InsertError;

    /// Excludes no keys.
    fn build(plan: &Plan, hashes: &[KeyHash]) -> Result<Self, BuildError> {
        Self::of_lists(plan, hashes, &[])
    }

    fn insert(&mut self, _: KeyHash) -> Result<bool, InsertError> {
        Err(InsertError::BuiltAtOnce(Kind::Cascade))
    }
}

impl CascadeCore {
    fn of_lists(plan: &Plan, include: &[KeyHash], exclude: &[KeyHash]) -> Result<Self, BuildError> {
        let [included, excluded] = [include, exclude].map(|list| list.len() as u64);
        if included > plan.keys {
            return Err(BuildError::Overfull(included, plan.keys));
        }
        let mut filter = Self { plan: *plan, included, excluded, levels: Vec::new(), list: None };
        filter.add_level(&part(plan), include)?;
        let caught = filter.passing(exclude);
        match form(plan.variant) {
            Form::List => filter.set_list(caught, include, exclude)?,
            Form::Levels => filter.add_levels(caught, include, exclude)?,
        }
        Ok(filter)
    }

    /// Builds the levels after the first; the next one holds the keys that pass.
    fn add_levels(
        &mut self,
        mut passing: Vec<KeyHash>,
        include: &[KeyHash],
        exclude: &[KeyHash],
    ) -> Result<(), BuildError> {
        // The keys of the last level; the keys that pass it are on the other list.
        let mut held = Cow::Borrowed(include);
        while !passing.is_empty() {
            // A key on both lists is always in one level and passes the next, so it is still here.
            if self.levels.len().is_multiple_of(LOOK_EACH) {
                look_for_common(&held, &passing, include, exclude)?;
            }
            if self.levels.len() == MOST_LEVELS {
                return Err(BuildError::TooManyLevels(MOST_LEVELS));
            }
            let plan = next_level(passing.len() as u64, held.len() as u64)?;
            self.add_level(&plan, &passing)?;
            let next = self.passing(&held);
            held = Cow::Owned(core::mem::replace(&mut passing, next));
        }
        Ok(())
    }

    fn add_level(&mut self, plan: &Plan, hashes: &[KeyHash]) -> Result<(), BuildError> {
        let index = self.levels.len();
        let mut level = BlockedCore::make(plan)?;
        let mut group = Group::new(in_level);
        for hashes in hashes.chunks(HASHES_AT_ONCE) {
            group.take(hashes);
            let Ok(()) = level.insert_all(group.in_part(index, hashes.len()));
        }
        self.levels.push(level);
        Ok(())
    }

    /// The hashes that pass the last level.
    fn passing(&self, hashes: &[KeyHash]) -> Vec<KeyHash> {
        let (index, mut group) = (self.levels.len() - 1, Group::new(in_level));
        let mut passing = Vec::new();
        for hashes in hashes.chunks(HASHES_AT_ONCE) {
            group.take(hashes);
            group.keep(true, index, &self.levels[index], |_| {});
            passing.extend(group.places().map(|place| hashes[place]));
        }
        passing
    }

    /// Sets the exact list of the plain form.
    fn set_list(
        &mut self,
        mut caught: Vec<KeyHash>,
        include: &[KeyHash],
        exclude: &[KeyHash],
    ) -> Result<(), BuildError> {
        caught.sort_unstable();
        caught.dedup();
        if caught.is_empty() {
            return Ok(());
        }
        if include.iter().any(|hash| caught.binary_search(hash).is_ok()) {
            look_for_common(&caught, include, include, exclude)?;
        }
        let count = caught.len() as u64;
        let bytes = list_bytes(count).expect("fewer than memory has bytes");
        let mut blocks = Blocks::zeroed(bytes / BLOCK_BYTES)?;
        let words = bits::cast::words_mut(&mut blocks).as_chunks_mut().0;
        for (to, hash) in words.iter_mut().zip(caught) {
            *to = [hash.high, hash.low].map(u64::to_le);
        }
        self.list = Some(List { blocks, count });
        Ok(())
    }
}

/// Returns an error if a hash is left from both lists.
fn look_for_common(
    some: &[KeyHash],
    others: &[KeyHash],
    include: &[KeyHash],
    exclude: &[KeyHash],
) -> Result<(), BuildError> {
    let some: BTreeSet<_> = some.iter().collect();
    let common: BTreeSet<_> = others.iter().filter(|hash| some.contains(hash)).collect();
    let Some(first) = include.iter().position(|hash| common.contains(hash)) else { return Ok(()) };
    let second = exclude.iter().position(|hash| *hash == include[first]);
    let second = second.expect("of both lists");
    Err(BuildError::OnBothLists([first as u64, second as u64]))
}
