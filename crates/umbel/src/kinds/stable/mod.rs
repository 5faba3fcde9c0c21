//! The stable filter: cells that count down.
//!
//! Each insertion first lowers P cells by one and then sets the key's K cells to their maximum. So keys not seen for
//! long fade, and the fraction of used cells never passes a point that K, P and the maximum determine, however many
//! keys come. The P cells are consecutive from a random start, the paper's own practical variant. The start comes from
//! a SplitMix64 sequence, indexed by the number of insertions, which the file stores: a filter behaves the same after
//! writing and reading. A key's cells are where a classic filter with as many bits has its bits. The plan determines P
//! and the space.

mod plan;
pub mod rate;

pub(crate) use plan::Plans;
use plan::cell_bits;
use rate::Cells;

use super::plain::{empty, only};
use super::prelude::*;
use super::scattered::{by_positions, probe};
use crate::bits::cells::{self, with_width};
use crate::hash::{GOLDEN, mix};

filter! {
    /// A filter that forgets: it accepts keys without end and keeps its rate, in constant space (F. Deng, D. Rafiei
    /// 2006, <https://doi.org/10.1145/1142473.1142477>).
    ///
    /// Use it to ask "did this come recently?" of a stream: repeated clicks, URLs that a crawler meets, sensor
    /// readings. Planned for n keys, it remembers a key through n further insertions with at least 99 % probability. (A
    /// repeated key counts as an insertion, and is refreshed.) Then keys fade: half of those inserted about 1.7 n
    /// insertions ago are forgotten. The false positive rate grows to a stable point, at most the planned rate, and
    /// stays there.
    ///
    /// # Cost
    /// With the usual cells of 4 bits, 93 bits per remembered key at 1 %, nine times a filter that never forgets. An
    /// insertion touches 6 cache lines for its cells, and lowers 142 cells: 9 or 10 words, in two or three more lines.
    /// Filters for few keys are larger, to limit what the spread of their fill adds to the rate to a tenth.
    ///
    /// *When not to use it:* if no recent key may ever be missed, use a window filter, which forgets nothing early. If
    /// there are few enough keys to keep all, a [`Scalable`](crate::Scalable) filter forgets none and is smaller.
    /// "Absent" is not certain here: the key may have been forgotten. Stable filters do not merge, because which cells
    /// fade depends on the order of all insertions.
    ///
    /// # Receipt
    /// Fill and rate, fill^K, come from its own cells. `keys` are the keys it is expected to remember, if all
    /// insertions were of different keys. It is never over-filled, and always has room. Its facts: `insertions`;
    /// `lowered`, P; `stable_fill` and `stable_rate`, at the stable point; `to_stable`, how far the fill is below that
    /// point, relative to it (1 when empty, about 0 there); and `forgotten`, the probability that a key is forgotten
    /// after the planned insertions.
    ///
    /// ```
    /// use umbel::Stable;
    ///
    /// let mut lately = Stable::new(1_000, 0.01)?;
    /// lately.extend(0..100_000);
    /// let found = (99_000..100_000).filter(|key| lately.contains(key)).count();
    /// assert!(found >= 985, "of the last 1,000");
    /// let old = (0..10_000).filter(|key| lately.contains(key)).count();
    /// assert!(old <= 150, "1 % pass by error");
    /// # Ok::<(), umbel::Error>(())
    /// ```
    Stable(StableCore)
}

/// The core of a [`Stable`] filter.
#[derive(Clone, PartialEq)]
pub(crate) struct StableCore<S = Blocks> {
    plan: Plan,
    /// Bits of a cell.
    width: u32,
    /// P, from 1 to the number of cells.
    lowered: u64,
    insertions: u64,
    blocks: S,
}

/// The first cell that insertion `number`, from 0, lowers. Part of the format.
#[inline]
fn start(number: u64, count: u64) -> u64 {
    bits::place(mix(number.wrapping_add(1).wrapping_mul(GOLDEN)), count)
}

/// The cells of a key among `count`. Part of the format.
#[inline]
fn cells_of(probes: u32, count: u64, hash: KeyHash) -> impl Iterator<Item = u64> {
    (0..u64::from(probes)).map(move |i| bits::place(probe(hash, i), count))
}

impl<H: Hashing, S: AsRef<[Block]>> Stable<H, S> {
    /// Returns the number of insertions so far, including repeated keys.
    pub fn insertions(&self) -> u64 {
        self.0.core.insertions
    }

    /// Returns the filter's parameters for the formulas of the stable kind.
    #[doc(hidden)]
    pub fn cells(&self) -> Cells {
        self.0.core.plan.cells(self.0.core.lowered)
    }
}

impl<S: AsRef<[Block]>> StableCore<S> {
    /// Cells, m.
    fn count(&self) -> u64 {
        cells::count(self.width, self.plan.bits)
    }

    #[inline]
    fn are_used<const W: u32>(&self, mut cells: impl Iterator<Item = u64>) -> bool {
        let words = bits::cast::words(self.blocks.as_ref());
        cells.all(|cell| cells::is_used::<W>(words, cell))
    }

    /// Prefetches the first line and the middle one that an insertion soon after this one lowers; the processor
    /// prefetches the others.
    #[inline]
    fn prefetch_lowered<const W: u32>(&self) {
        let (count, blocks) = (self.count(), self.blocks.as_ref());
        let start = start(self.insertions.wrapping_add(2 * AHEAD as u64), count);
        cells::prefetch::<W>(blocks, start);
        cells::prefetch::<W>(blocks, (start + self.lowered / 2) % count);
    }
}

made_empty!(Stable);
inserts! {
    Stable,
    /// Inserts a key, and lowers some cells: true if the key was certainly new, or forgotten.
}

impl StableCore {
    /// Inserts the key of these cells; true if it was new.
    #[inline]
    fn insert_at<const W: u32>(&mut self, cells: &[u64]) -> bool {
        let is_found = self.are_used::<W>(cells.iter().copied());
        let count = self.count();
        let words = bits::cast::words_mut(self.blocks.as_mut());
        let start = start(self.insertions, count);
        let end = start + self.lowered;
        cells::lower::<W>(words, start, end.min(count));
        cells::lower::<W>(words, 0, end.saturating_sub(count));
        for &cell in cells {
            cells::fill::<W>(words, cell);
        }
        self.insertions = self.insertions.wrapping_add(1);
        !is_found
    }
}

impl<S: AsRef<[Block]>> Core for StableCore<S> {
    type Plans = Plans;

    fn contains(&self, hash: KeyHash) -> bool {
        with_width!(self.width, W => {
            self.are_used::<W>(cells_of(self.plan.probes, self.count(), hash))
        })
    }

    fn contains_all(&self, hashes: &[KeyHash], found: &mut [bool]) {
        self.borrowed().look_up(hashes, found);
    }

    one_part!(StableCore<T> { plan, width, lowered, insertions });

    fn body(&self) -> Body {
        Body::of::<Plans>(&self.plan).u64(self.lowered).u64(self.insertions)
    }

    fn layout(header: &Header) -> Result<Vec<u64>, FileError> {
        Ok(vec![declared(header)?.0.bytes()])
    }

    fn open(header: &Header, parts: Vec<S>) -> Result<Self, FileError> {
        let (plan, lowered, insertions) = declared(header)?;
        let blocks = only(parts);
        let width = cell_bits(plan.variant);
        let whole = cells::are_whole(width, blocks.as_ref());
        check_field("payload", 1, whole, "zeros after the last cell of a word")?;
        Ok(Self { plan, width, lowered, insertions, blocks })
    }
}

impl StableCore<&[Block]> {
    fn look_up(&self, hashes: &[KeyHash], found: &mut [bool]) {
        let (probes, count) = (self.plan.probes, self.count());
        with_width!(self.width, W => by_positions(
            &mut &self,
            hashes,
            probes,
            |hash| cells_of(probes, count, hash),
            |core, cell| cells::prefetch::<W>(core.blocks, cell),
            |core, place, cells| found[place] = core.are_used::<W>(cells.iter().copied()),
        ));
    }

    fn measured(&self, scheme: Scheme) -> Receipt {
        let (count, theory) = (self.count(), self.plan.cells(self.lowered));
        let used = cells::used(self.width, self.blocks);
        let fill = used as f64 / count as f64;
        let (keys, deviation) = theory.remembered(self.insertions as f64);
        let (keys, fpp) = (Estimate::new(keys, deviation), fill.powf(theory.probes));
        let receipt = Receipt::new(self.plan, scheme, (used, count), keys, fpp);
        let facts = vec![
            Fact::new("insertions", Figure::Count(self.insertions)),
            Fact::new("lowered", Figure::Count(self.lowered)),
            Fact::new("stable_fill", Figure::Number(theory.fill())),
            Fact::new("stable_rate", Figure::Rate(theory.fpp())),
            Fact::new("to_stable", Figure::Number(1.0 - fill / theory.fill())),
            Fact::new("forgotten", Figure::Rate(theory.forgotten(self.plan.keys as f64))),
        ];
        Receipt { room: u64::MAX, over_filled: false, facts, ..receipt }
    }
}

impl Owned for StableCore {
    /// There is always room.
    type Refusal = Infallible;

    fn make(plan: &Plan) -> Result<Self, PlanError> {
        let out_of_reach = PlanError::FppOutOfReach(Kind::Stable, plan.fpp);
        let lowered = plan.lowered().ok_or(out_of_reach)?;
        let (width, blocks) = (cell_bits(plan.variant), empty(plan)?);
        Ok(Self { plan: *plan, width, lowered, insertions: 0, blocks })
    }

    fn insert(&mut self, hash: KeyHash) -> Result<bool, Infallible> {
        let mut buffer = [0; MAX_PROBES as usize];
        let cells = &mut buffer[..self.plan.probes as usize];
        let count = self.count();
        for (to, cell) in cells.iter_mut().zip(cells_of(self.plan.probes, count, hash)) {
            *to = cell;
        }
        Ok(with_width!(self.width, W => self.insert_at::<W>(cells)))
    }

    fn insert_all_new(&mut self, hashes: &[KeyHash], new: &mut [bool]) -> Result<(), Infallible> {
        let (probes, count) = (self.plan.probes, self.count());
        with_width!(self.width, W => by_positions(
            self,
            hashes,
            probes,
            |hash| cells_of(probes, count, hash),
            |core, cell| cells::prefetch::<W>(&core.blocks, cell),
            |core, place, cells| {
                core.prefetch_lowered::<W>();
                new[place] = core.insert_at::<W>(cells);
            },
        ));
        Ok(())
    }

    /// Also resets the insertions.
    fn clear(&mut self) {
        self.blocks.as_mut().fill(Block::default());
        self.insertions = 0;
    }
}

/// The plan, P, and the insertions.
///
/// ```text
///  64  bits  u64     72  probes     u32     80  lowered     u64
///                    76  cell_bits  u32     88  insertions  u64
/// ```
fn declared(header: &Header) -> Result<(Plan, u64, u64), FileError> {
    let mut fields = header.fields();
    let plan = fields.plan::<Plans>()?;
    let (lowered, insertions) = (fields.u64()?, fields.u64()?);
    fields.end()?;
    Plans::check(&plan)?;
    let possible = (1..=cells::count(cell_bits(plan.variant), plan.bits)).contains(&lowered);
    check_field("lowered", lowered, possible, "1 to the number of cells")?;
    Ok((plan, lowered, insertions))
}
