//! The window filter: remembers the keys of the last W insertions, or of the last span of time, and forgets older ones.
//!
//! It has G generations, blocked filters of equal size. Keys go into the newest; when that is full, or its time is
//! over, the oldest is emptied and becomes the newest. A key is found if any generation may hold it. The
//! age-partitioned filter, cited at [`Window`], ages single slices instead of whole filters (k of k + l slices in a row
//! must match): fewer bits if k is small, but a cache line for each slice.
//!
//! Generations are interleaved: block b of generation g is at b·G + g. A key has the same place and bits in every
//! generation, so a query takes one mask and G adjacent lines; inserting without an answer takes one line.

mod plan;
pub mod rate;

use core::ops::Range;

pub(crate) use plan::Plans;
use plan::{generation, generations};

use super::blocked;
use super::plain::{empty, only};
use super::prelude::*;
use crate::bits::{Kernel, Member};

filter! {
    /// A filter of the most recent keys: keys inserted within the window are found, older ones are forgotten.
    ///
    /// With [`new`](Self::new), the window is the last [`plan.keys`](Plan::keys) insertions: every key among them is
    /// found. Each call counts and refreshes its key, present or not, so the promise does not depend on other keys.
    /// With [`by_time`](Self::by_time), the window is the last `span` ticks of a clock that the caller reads: a key
    /// inserted at tick t is found up to tick t + `span`.
    ///
    /// A key is forgotten at most G/(G − 1) windows after its last insertion: with the usual 4 generations, after 1⅓.
    /// The rate is bounded with all generations full, however long the stream. By time, plan for the most keys within a
    /// window, evenly spread: a generation that gets more than its share is over-filled, and the receipt reports it.
    ///
    /// A. Shtul, C. Baquero, P. Almeida 2020, <https://arxiv.org/abs/2001.03147>, cover the literature, and ageing
    /// slice by slice.
    ///
    /// # Cost
    /// 17.7 bits per key of the window at a rate of 1 %, 1.75 times a blocked filter for as many keys; the memory is
    /// constant. A query reads 4 adjacent cache lines, and so does an insertion that returns whether the key is new;
    /// [`insert_all`](Self::insert_all) touches one. When a generation ends, three times per window, the oldest is
    /// cleared in one go: 1.7 bytes for each of its keys.
    ///
    /// # When not to use it
    /// If nothing should be forgotten, use [`Blocked`](crate::Blocked), or [`Scalable`](crate::Scalable) for an unknown
    /// number of keys. To remove keys one by one, use a counting filter. If exact times matter (a key may be found up
    /// to a third of a window longer), use a hash map with times.
    ///
    /// # Receipt
    /// The rate is the exact probability to pass any generation, given the bits of all. Keys count once, however often
    /// they were inserted: a key has the same bits in all generations, so their OR is the blocked filter of all keys
    /// remembered. Each part is a generation, in the order of the file.
    ///
    /// ```
    /// use umbel::{KeyHasher, Kind, Plan, Window};
    ///
    /// let mut recent = Window::new(1_000, 0.01)?;
    /// recent.extend(0..100_000);
    /// assert!((99_000..100_000).all(|key| recent.contains(key)));
    /// let old = (0..98_000).filter(|key| recent.contains(key)).count();
    /// assert!(old < 1_200, "1 % of these, and they were inserted");
    ///
    /// // Of the last hour, in seconds.
    /// let plan = Plan::for_keys(Kind::Window, 1_000, 0.01)?;
    /// let mut hour = Window::by_time(&plan, KeyHasher::default(), 3_600)?;
    /// hour.insert_at("key", 1_000_000)?;
    /// hour.advance(1_003_600)?;
    /// assert!(hour.contains("key"));
    /// hour.advance(1_004_800)?;
    /// assert!(!hour.contains("key"), "a third of an hour later for certain");
    /// # Ok::<(), umbel::Error>(())
    /// ```
    Window(WindowCore)
}

/// The core of a [`Window`] filter.
#[derive(Clone, PartialEq)]
pub(crate) struct WindowCore<S = Blocks> {
    plan: Plan,
    each: Plan,
    /// Generations, and so blocks per key.
    size: usize,
    kernel: Kernel,
    state: State,
    blocks: S,
}

/// The most generations. Part of the format.
const MOST: usize = 8;

/// The age of the generations. Generation n, counted from the first ever, is at place n mod G.
#[derive(Clone, Copy, Default, PartialEq)]
struct State {
    /// Ticks of the window; 0 if it counts insertions.
    span: u64,
    /// The newest generation's number; by time, its first tick divided by the ticks of a generation.
    number: u64,
    /// Insertions into each generation, by its place.
    taken: [u64; MOST],
}

/// Ticks of a generation: when the newest has just begun, the others reach back at least `span` ticks.
fn ticks(span: u64, plan: &Plan) -> u64 {
    span.div_ceil(u64::from(generations(plan.variant) - 1))
}

impl<H: Hashing> Window<H> {
    /// Makes an empty filter of the last `span` ticks; `plan.keys` is the most insertions within that time. For
    /// untrusted keys, use [`KeyHasher::random`] or [`KeyHasher::keyed`].
    ///
    /// You choose the tick: a second, a block, a batch. A generation lasts t = ⌈`span`/(G − 1)⌉ ticks and begins at a
    /// multiple of that, so filters given the same ticks rotate together. A key is forgotten at most G · t ticks after
    /// its last insertion. The rate is for (G − 1) · t ticks: `span`, or at most 1 % more.
    ///
    /// # Errors
    /// As [`with_plan`](Self::with_plan); [`PlanError::Field`] if `span` is 0, or neither a multiple of G − 1, which is
    /// 3 with the usual 4 generations, nor at least 100 · (G − 2): generations would hold far more keys than planned, and
    /// let 3.5 % pass instead of 1 % at seven ticks. Count in finer ticks, or take other generations: 8 for seven ticks.
    pub fn by_time(plan: &Plan, hasher: H, span: u64) -> Result<Self, PlanError> {
        let mut filter = Self::with_plan(plan, hasher)?;
        let turns = u64::from(generations(plan.variant) - 1);
        let even = span > 0 && (span.is_multiple_of(turns) || span >= 100 * (turns - 1));
        let wanted = "a multiple of the generations less one, 3 of 4, or hundreds of ticks";
        check_field("span", span, even, wanted)?;
        filter.0.core.state.span = span;
        Ok(filter)
    }
}

made_empty!(Window);
inserts! {
    Window,
    /// Inserts a key: true if it is certainly not in the window. By time, inserts at the latest tick given; before
    /// the first that is 0, so [advance](Self::advance) to the present one.
}

impl<H: Hashing> Window<H> {
    /// [Advances](Self::advance) to `tick`, then inserts like [`insert`](Self::insert). A key with a tick before the
    /// latest one is remembered as if it came at the latest: longer, never shorter.
    ///
    /// # Errors
    /// [`InsertError::NoClock`] if the window counts insertions.
    pub fn insert_at(&mut self, key: impl Key<H>, tick: u64) -> Result<bool, InsertError> {
        self.advance(tick)?;
        Ok(self.insert(key))
    }

    /// Advances the clock and forgets the keys that have become too old; until then they are still found. A tick before
    /// the latest one changes nothing; use [`set_clock`](Self::set_clock) if that was a mistake.
    ///
    /// # Errors
    /// [`InsertError::NoClock`] if the window counts insertions.
    pub fn advance(&mut self, tick: u64) -> Result<(), InsertError> {
        self.0.core.advance(tick)
    }

    /// Sets the clock, forwards, like [`advance`](Self::advance), or back. Use it after a tick far ahead was given by
    /// mistake, since nothing would be forgotten until then.
    ///
    /// Back, every key is remembered as if it came at `tick`: longer, never shorter. All generations become one, in one
    /// pass over the filter. It may be over-filled until it is forgotten; the receipt reports that.
    ///
    /// # Errors
    /// [`InsertError::NoClock`] if the window counts insertions.
    pub fn set_clock(&mut self, tick: u64) -> Result<(), InsertError> {
        self.0.core.set_clock(tick)
    }
}

impl<H: Hashing, S: AsRef<[Block]>> Window<H, S> {
    /// Returns the ticks of the window; `None` if it counts insertions.
    pub fn span(&self) -> Option<u64> {
        Some(self.0.core.state.span).filter(|&span| span > 0)
    }

    /// Returns the number of insertions not forgotten yet: at least the window's, once there were that many.
    #[doc(hidden)]
    pub fn remembered(&self) -> u64 {
        self.0.core.remembered()
    }
}

impl WindowCore {
    fn advance(&mut self, tick: u64) -> Result<(), InsertError> {
        let State { span, number, .. } = self.state;
        if span == 0 {
            return Err(InsertError::NoClock);
        }
        let now = tick / ticks(span, &self.plan);
        // After G rotations the filter is empty.
        let turns = now.saturating_sub(number).min(self.size as u64);
        self.state.number = number.max(now) - turns;
        (0..turns).for_each(|_| self.turn());
        Ok(())
    }

    fn set_clock(&mut self, tick: u64) -> Result<(), InsertError> {
        self.advance(tick)?;
        let number = tick / ticks(self.state.span, &self.plan);
        if number < self.state.number {
            let taken = self.remembered();
            self.state = State { number, taken: [0; MOST], ..self.state };
            let newest = self.newest();
            self.state.taken[newest] = taken;
            for group in self.blocks.as_mut().chunks_exact_mut(self.size) {
                let mut all = Block::default();
                group.iter().for_each(|block| all.or(block));
                group.fill(Block::default());
                group[newest] = all;
            }
        }
        Ok(())
    }

    /// Lets `insert` insert this many keys, split where the newest generation ends.
    fn by_turns(&mut self, keys: usize, mut insert: impl FnMut(&mut Self, Member, Range<usize>)) {
        let mut done = 0;
        while done < keys {
            let newest = self.newest();
            let room = match self.state.span {
                0 => self.each.keys - self.state.taken[newest],
                _ => u64::MAX,
            };
            let piece = room.min((keys - done) as u64) as usize;
            let member = Member { size: self.size, index: newest };
            insert(self, member, done..done + piece);
            self.count_insertions(piece);
            done += piece;
        }
    }

    /// Counts insertions into the newest generation, and ends it when it is full.
    fn count_insertions(&mut self, keys: usize) {
        let newest = self.newest();
        let taken = &mut self.state.taken[newest];
        *taken = taken.saturating_add(keys as u64);
        if self.state.span == 0 && *taken == self.each.keys {
            self.turn();
        }
    }

    /// Makes the oldest generation the newest, empty.
    fn turn(&mut self) {
        // After 2⁶⁴ − 1, the highest number with the next place, since only the place matters. Part of the format.
        let next = self.state.number.checked_add(1);
        self.state.number = next.unwrap_or(u64::MAX - (self.size as u64 - 1));
        let (size, newest) = (self.size, self.newest());
        if core::mem::take(&mut self.state.taken[newest]) > 0 {
            let blocks = self.blocks.as_mut();
            blocks[newest..].iter_mut().step_by(size).for_each(|block| *block = Block::default());
        }
    }
}

/// A key's blocks, one per generation.
#[inline]
fn group(each: &Plan, hash: KeyHash, size: usize) -> Range<usize> {
    let first = bits::place(hash.high, each.bits / BLOCK_BITS) as usize * size;
    first..first + size
}

impl<S> WindowCore<S> {
    fn of(plan: Plan, state: State, blocks: S) -> Self {
        let (each, size) = (generation(&plan), generations(plan.variant) as usize);
        Self { plan, each, size, kernel: Kernel::detect(plan.probes), state, blocks }
    }

    /// Insertions that are not forgotten.
    fn remembered(&self) -> u64 {
        self.state.taken.iter().fold(0, |sum, &taken| sum.saturating_add(taken))
    }

    fn newest(&self) -> usize {
        (self.state.number % self.size as u64) as usize
    }
}

impl WindowCore<&[Block]> {
    fn measured(&self, scheme: Scheme) -> Receipt {
        let Self { plan, each, state, .. } = self;
        let negligible = plan.fpp * 1e-9;
        let (mut sum, mut clear) = (0.0, 0);
        let mut passes = [0.0; MOST];
        let mut ones = [0u64; MOST];
        for group in self.blocks.chunks(self.size) {
            let mut all = Block::default();
            for (at, block) in group.iter().enumerate() {
                all.or(block);
                ones[at] += u64::from(block.count_ones());
                passes[at] +=
                    blocked::rate::fpp_of_block(block.0.map(u64::count_ones), plan.probes);
            }
            clear += BLOCK_BITS - u64::from(all.count_ones());
            sum += rate::fpp_of_group(group, plan.probes, negligible);
        }
        let groups = (each.bits / BLOCK_BITS) as f64;
        let keys = blocked::coverage(each).keys(clear as f64);
        let set_bits = ones.iter().sum();
        let mut receipt = Receipt::new(*plan, scheme, (set_bits, plan.bits), keys, sum / groups);
        receipt.room = plan.keys;
        receipt.over_filled = false;
        for at in 0..self.size {
            let keys = blocked::coverage(each).keys((each.bits - ones[at]) as f64);
            let fpp = passes[at] / groups;
            let part = Receipt::new(*each, scheme, (ones[at], each.bits), keys, fpp);
            receipt.over_filled |= part.over_filled;
            let keys = state.taken[at] as f64;
            receipt.parts.push(Part { what: "generation", name: None, plan: *each, keys, fpp });
        }
        receipt.facts = self.facts();
        receipt
    }

    fn facts(&self) -> Vec<Fact> {
        let Self { plan, each, state, .. } = self;
        let (window, next) = match state.span {
            0 => {
                let next = each.keys - state.taken[self.newest()];
                (format!("{} insertions", plan.keys), format!("in {next} insertions"))
            }
            span => {
                // The last generation of all ends with the clock.
                let next = state.number.saturating_add(1).saturating_mul(ticks(span, plan));
                (format!("{span} ticks"), format!("at tick {next}"))
            }
        };
        let size = self.size as u64;
        let ages = (0..size).map_while(|age| state.number.checked_sub(age));
        let ages: Vec<_> = ages.map(|number| (number % size + 1).to_string()).collect();
        vec![
            Fact::count("remembered", self.remembered()),
            Fact::text("window", window),
            Fact::text("next_turn", next),
            Fact::text("by_age", format!("generation {}, the newest first", ages.join(", "))),
        ]
    }
}

impl<S: AsRef<[Block]>> Core for WindowCore<S> {
    type Plans = Plans;

    fn contains(&self, hash: KeyHash) -> bool {
        let group = group(&self.each, hash, self.size);
        self.kernel.any(&self.blocks.as_ref()[group], hash.low)
    }

    fn contains_all(&self, hashes: &[KeyHash], found: &mut [bool]) {
        self.kernel.any_all(self.blocks.as_ref(), self.size, hashes, found);
    }

    one_part!(WindowCore<T> { plan, each, size, kernel, state });

    fn body(&self) -> Body {
        let Self { plan, state, .. } = self;
        let body = Body::of::<Plans>(plan).u64(state.span).u64(state.number);
        state.taken[..self.size].iter().fold(body, |body, &taken| body.u64(taken))
    }

    fn layout(header: &Header) -> Result<Vec<u64>, FileError> {
        Ok(vec![declared(header)?.0.bytes()])
    }

    fn open(header: &Header, parts: Vec<S>) -> Result<Self, FileError> {
        let (plan, state) = declared(header)?;
        let filter = Self::of(plan, state, only(parts));
        for (place, &taken) in state.taken[..filter.size].iter().enumerate() {
            let mut blocks = filter.blocks.as_ref()[place..].iter().step_by(filter.size);
            let clear = taken > 0 || blocks.all(Block::is_zero);
            check_field("payload", 1, clear, "zeros in a generation that took no keys")?;
        }
        Ok(filter)
    }
}

impl Owned for WindowCore {
    /// The oldest keys always make room.
    type Refusal = Infallible;

    fn make(plan: &Plan) -> Result<Self, PlanError> {
        Ok(Self::of(*plan, State::default(), empty(plan)?))
    }

    fn insert(&mut self, hash: KeyHash) -> Result<bool, Infallible> {
        let (size, newest) = (self.size, self.newest());
        let group = &mut self.blocks[group(&self.each, hash, size)];
        let new = !self.kernel.any(group, hash.low);
        self.kernel.insert(&mut group[newest], hash.low);
        self.count_insertions(1);
        Ok(new)
    }

    fn insert_all(&mut self, hashes: &[KeyHash]) -> Result<(), Infallible> {
        self.by_turns(hashes.len(), |core, member, range| {
            core.kernel.insert_all_beside(&mut core.blocks, member, &hashes[range]);
        });
        Ok(())
    }

    fn insert_all_new(&mut self, hashes: &[KeyHash], new: &mut [bool]) -> Result<(), Infallible> {
        self.by_turns(hashes.len(), |core, member, range| {
            let (hashes, new) = (&hashes[range.clone()], &mut new[range]);
            core.kernel.insert_all_beside_new(&mut core.blocks, member, hashes, new);
        });
        Ok(())
    }

    /// The clock stays.
    fn clear(&mut self) {
        self.blocks.as_mut().fill(Block::default());
        self.state.taken = [0; MOST];
        if self.state.span == 0 {
            self.state.number = 0;
        }
    }
}

/// The plan, and the age of the generations.
///
/// ```text
///  64  bits         u64     80  span    u64     96 + 8 g  taken  u64, of the generation at place g
///  72  probes       u32     88  number  u64
///  76  generations  u32
/// ```
fn declared(header: &Header) -> Result<(Plan, State), FileError> {
    let mut fields = header.fields();
    let plan = fields.plan::<Plans>()?;
    let (span, number) = (fields.u64()?, fields.u64()?);
    let mut taken = [0; MOST];
    let count = generations(plan.variant);
    for taken in &mut taken[..count as usize] {
        *taken = fields.u64()?;
    }
    Plans::check(&plan)?;
    fields.end()?;
    let each = generation(&plan);
    if span > 0 {
        let possible = number <= u64::MAX / ticks(span, &plan);
        check_field("number", number, possible, "a generation that begins before tick 2⁶⁴")?;
    }
    for (place, &found) in (0..count.into()).zip(&taken) {
        // Those that have not begun yet come after the newest.
        let begun = place <= number;
        check_field("taken", found, begun || found == 0, "0 in generations that are to come")?;
        let newest = place == number % u64::from(count);
        let full = if newest { found < each.keys } else { found == each.keys };
        let possible = span > 0 || !begun || full;
        check_field("taken", found, possible, "the keys of a generation, in the newest fewer")?;
    }
    Ok((plan, State { span, number, taken }))
}
