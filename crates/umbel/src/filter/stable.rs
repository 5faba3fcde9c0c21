//! The stable filter: cells that count down, for streams without end in constant space (F. Deng, D. Rafiei
//! 2006, <https://doi.org/10.1145/1142473.1142477>).
//!
//! Each insertion first lowers P cells by one and then sets the key's K cells to their top. So keys that did
//! not come for long fade, and the fraction of cells in use never passes a point that K, P and the top fix,
//! however many keys come. P consecutive cells from a random start are lowered, the paper's own practical
//! variant. The start is that of a sequence of SplitMix64, by the number of insertions so far, which the
//! file holds: to write and read a filter changes nothing of what it does. A key's cells are where a
//! classic filter of as many bits has its bits. P and the space follow from the plan: `plan::stable`.

use std::fmt;
use std::io::{Read, Write};

use super::{AnyFilter, Fact, Figure, FileLayout, Receipt, delegate};
use crate::bits::cells::{self, with_width};
use crate::bits::{self, BLOCK_BYTES, Block, Blocks};
use crate::hash::{GOLDEN, KeyHash, KeyHasher, Secret, mix};
use crate::math::Estimate;
use crate::math::stable::Cells;
use crate::plan::{Kind, Plan};
use crate::{Error, format};

/// A filter that forgets: it takes keys without end and keeps its rate, in the space it began with.
///
/// For "did this come lately?" over a stream: repeated clicks, URLs a crawler meets, sensor readings. Planned
/// for n keys, a key is remembered through n further insertions with a chance of at least 99 % (a repeated
/// key counts as an insertion each time it comes, and is itself fresh again), then fades; half of what came
/// about 1.7 n ago is gone. The rate of false positives grows to a stable point at most the planned one
/// and stays there.
///
/// # What it costs
/// With the usual cells of 4 bits, 93 bits a remembered key at 1 %, nine times a filter that never forgets; an
/// insertion touches 6 cache lines for its cells and the 9 or 10 words, in one or two more, of the 142 cells
/// that it lowers. Filters for few keys are larger, so that the spread of their fill
/// adds at most a tenth to the rate.
///
/// *When not:* where no recent key may ever be missed, take a window filter, whose generations forget
/// nothing early; where the keys are few enough to be kept, a [`Scalable`](super::Scalable) one forgets none
/// and is smaller. "Not in" is not certain here: the key may have been forgotten. Stable filters do not
/// merge: which cells fade depends on the order of all insertions.
///
/// `S` is where the cells live; one that borrows or maps them is only asked.
///
/// ```
/// use umbel::{KeyHasher, Kind, Plan, Stable};
///
/// let plan = Plan::for_keys(Kind::Stable, 1_000, 0.01)?;
/// let mut lately = Stable::new(&plan, KeyHasher::default())?;
/// for key in 0..100_000 {
///     lately.insert_u64(key);
/// }
/// let found = (99_000..100_000).filter(|key| lately.contains_u64(*key)).count();
/// assert!(found >= 985, "of the last 1,000");
/// let old = (0..10_000).filter(|key| lately.contains_u64(*key)).count();
/// assert!(old <= 150, "1 % pass by error");
/// # Ok::<(), umbel::Error>(())
/// ```
#[derive(Clone)]
pub struct Stable<S = Blocks> {
    plan: Plan,
    hasher: KeyHasher,
    /// P, from 1 to the number of cells.
    lowered: u64,
    insertions: u64,
    pub(super) blocks: S,
}

/// Keys whose cache lines are asked for before any is used: up to 32 lines each, and those it lowers.
const AHEAD: usize = 16;

/// Where insertion `number`, from 0, begins to lower. Part of the format.
#[inline]
fn start(number: u64, count: u64) -> u64 {
    bits::place(mix(number.wrapping_add(1).wrapping_mul(GOLDEN)), count)
}

/// Cell `i` of a key. Part of the format.
#[inline(always)]
fn cell(hash: KeyHash, i: u64, count: u64) -> u64 {
    bits::place(mix(hash.high.wrapping_add(i.wrapping_mul(hash.low))), count)
}

impl Stable {
    /// An empty filter of the plan's size.
    ///
    /// Where others choose the keys, take [`KeyHasher::random`] or [`KeyHasher::keyed`].
    ///
    /// # Errors
    /// [`Error::PlanKind`] for a plan of another kind, [`Error::FppOutOfReach`] when so few cells of so many
    /// probes cannot keep the rate, [`Error::OutOfMemory`], and what is wrong with a plan made by hand.
    pub fn new(plan: &Plan, hasher: KeyHasher) -> Result<Self, Error> {
        plan.check(Kind::Stable)?;
        let out_of_reach = Error::FppOutOfReach { kind: Kind::Stable, fpp: plan.fpp };
        let lowered = plan.lowered().ok_or(out_of_reach)?;
        let blocks = Blocks::zeroed(plan.bytes() / BLOCK_BYTES)?;
        Ok(Self { plan: *plan, hasher, lowered, insertions: 0, blocks })
    }

    /// Reads a stable filter from `source`, `length` bytes in all, checking every byte. It goes on as the
    /// one that was written would have.
    ///
    /// # Errors
    /// As [`AnyFilter::read`]; [`Error::PlanKind`] when the file holds another kind.
    pub fn read(source: impl Read, length: u64, secret: Option<&Secret>) -> Result<Self, Error> {
        AnyFilter::read(source, length, secret)?.try_into()
    }
}

impl<S: AsRef<[Block]> + AsMut<[Block]>> Stable<S> {
    /// Inserts a key; true when it was not remembered: it is new, or was forgotten.
    pub fn insert(&mut self, key: impl AsRef<[u8]>) -> bool {
        self.insert_hash(self.hasher.hash(key))
    }

    /// Inserts an integer key, hashed as its 8 little-endian bytes. As [`insert`](Self::insert).
    pub fn insert_u64(&mut self, key: u64) -> bool {
        self.insert_hash(self.hasher.hash_u64(key))
    }

    /// Inserts a key by its hash, made under this filter's scheme. As [`insert`](Self::insert).
    pub fn insert_hash(&mut self, hash: KeyHash) -> bool {
        with_width!(self.plan.detail, W => self.insert_one::<W>(hash))
    }

    /// Inserts many keys by their hashes, one after the other, cache misses overlapped.
    pub fn insert_batch(&mut self, hashes: &[KeyHash]) {
        with_width!(self.plan.detail, W => for hashes in hashes.chunks(AHEAD) {
            self.ask::<W>(hashes, true);
            for hash in hashes {
                self.insert_one::<W>(*hash);
            }
        });
    }

    /// As [`insert_batch`](Self::insert_batch): `new[i]` becomes what [`insert_hash`](Self::insert_hash)
    /// tells of `hashes[i]`.
    ///
    /// # Panics
    /// When the slices differ in length.
    pub fn insert_batch_new(&mut self, hashes: &[KeyHash], new: &mut [bool]) {
        assert_eq!(hashes.len(), new.len(), "one answer for each hash");
        let groups = hashes.chunks(AHEAD).zip(new.chunks_mut(AHEAD));
        with_width!(self.plan.detail, W => for (hashes, new) in groups {
            self.ask::<W>(hashes, true);
            for (new, hash) in new.iter_mut().zip(hashes) {
                *new = self.insert_one::<W>(*hash);
            }
        });
    }

    #[inline]
    fn insert_one<const W: u32>(&mut self, hash: KeyHash) -> bool {
        let (count, probes) = (self.count(), u64::from(self.plan.probes));
        let words = cells::words_mut(self.blocks.as_mut());
        let found = (0..probes).all(|i| cells::is_used::<W>(words, cell(hash, i, count)));
        let start = start(self.insertions, count);
        let end = start + self.lowered;
        cells::lower::<W>(words, start, end.min(count));
        cells::lower::<W>(words, 0, end.saturating_sub(count));
        for i in 0..probes {
            cells::fill::<W>(words, cell(hash, i, count));
        }
        self.insertions = self.insertions.wrapping_add(1);
        !found
    }

    /// Forgets all keys at once, and begins anew.
    pub fn clear(&mut self) {
        self.blocks.as_mut().fill(Block::default());
        self.insertions = 0;
    }
}

impl<S: AsRef<[Block]>> Stable<S> {
    /// Whether the key came lately: false when it never came or was forgotten, true errs with the
    /// filter's rate.
    pub fn contains(&self, key: impl AsRef<[u8]>) -> bool {
        self.contains_hash(self.hasher.hash(key))
    }

    /// Whether an integer key came lately. As [`contains`](Self::contains).
    pub fn contains_u64(&self, key: u64) -> bool {
        self.contains_hash(self.hasher.hash_u64(key))
    }

    /// Whether a key came lately, by its hash under this filter's scheme.
    pub fn contains_hash(&self, hash: KeyHash) -> bool {
        with_width!(self.plan.detail, W => self.contains_one::<W>(hash))
    }

    /// Asks for many keys: `found[i]` becomes the answer for `hashes[i]`.
    ///
    /// # Panics
    /// When the slices differ in length.
    pub fn contains_batch(&self, hashes: &[KeyHash], found: &mut [bool]) {
        assert_eq!(hashes.len(), found.len(), "one answer for each hash");
        let groups = hashes.chunks(AHEAD).zip(found.chunks_mut(AHEAD));
        with_width!(self.plan.detail, W => for (hashes, found) in groups {
            self.ask::<W>(hashes, false);
            for (found, hash) in found.iter_mut().zip(hashes) {
                *found = self.contains_one::<W>(*hash);
            }
        });
    }

    #[inline]
    fn contains_one<const W: u32>(&self, hash: KeyHash) -> bool {
        let (count, words) = (self.count(), cells::words(self.blocks.as_ref()));
        (0..u64::from(self.plan.probes)).all(|i| cells::is_used::<W>(words, cell(hash, i, count)))
    }

    /// Asks for the cache lines of keys, and with `lowered` for those where what is lowered begins; the
    /// processor sees by itself where that goes on.
    fn ask<const W: u32>(&self, hashes: &[KeyHash], lowered: bool) {
        let (count, blocks) = (self.count(), self.blocks.as_ref());
        for (number, hash) in (0..).zip(hashes) {
            for i in 0..u64::from(self.plan.probes) {
                cells::ask::<W>(blocks, cell(*hash, i, count));
            }
            if lowered {
                let start = start(self.insertions.wrapping_add(number), count);
                cells::ask::<W>(blocks, start);
                cells::ask::<W>(blocks, (start + self.lowered / 2) % count);
            }
        }
    }

    /// What it was planned for.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// How it hashes keys.
    pub fn hasher(&self) -> &KeyHasher {
        &self.hasher
    }

    /// Insertions so far, repeated keys included.
    pub fn insertions(&self) -> u64 {
        self.insertions
    }

    /// P: cells that an insertion lowers.
    pub fn lowered(&self) -> u64 {
        self.lowered
    }

    /// The filter's numbers, for the formulas of [`math::stable`](crate::math::stable).
    pub fn cells(&self) -> Cells {
        self.plan.cells(self.lowered)
    }

    /// Cells, m.
    fn count(&self) -> u64 {
        cells::count(self.plan.detail, self.plan.bits)
    }

    /// What the filter really delivers now. One pass over its cells.
    ///
    /// Fill and rate, fill^K, are those of its own cells. `keys` are those it is expected to remember, of as
    /// many different ones as there were insertions. It is never over-filled, and there is always room. Its
    /// facts: `insertions`; `lowered`, P; `stable_fill` and `stable_rate`, those of the stable point;
    /// `to_stable`, how far the fill is from there, relative to it (1 when empty, about 0 once there); and
    /// `forgotten`, the chance of a key to have been forgotten after the planned insertions.
    pub fn receipt(&self) -> Receipt {
        let (count, theory) = (self.count(), self.cells());
        let used = cells::used(self.plan.detail, self.blocks.as_ref());
        let fill = used as f64 / count as f64;
        let (keys, deviation) = theory.remembered(self.insertions as f64);
        let (keys, fpp) = (Estimate::new(keys, deviation), fill.powf(theory.probes));
        let receipt = Receipt::new(self.plan, self.hasher.scheme(), (used, count), keys, fpp);
        let fact = |name, figure| Fact { name, figure };
        let facts = vec![
            fact("insertions", Figure::Count(self.insertions)),
            fact("lowered", Figure::Count(self.lowered)),
            fact("stable_fill", Figure::Number(theory.fill())),
            fact("stable_rate", Figure::Rate(theory.fpp())),
            fact("to_stable", Figure::Number(1.0 - fill / theory.fill())),
            fact("forgotten", Figure::Rate(theory.forgotten(self.plan.keys as f64))),
        ];
        Receipt { room: u64::MAX, over_filled: false, facts, ..receipt }
    }

    /// Borrows the same cells.
    pub fn view(&self) -> Stable<&[Block]> {
        self.with(self.blocks.as_ref())
    }

    /// A copy that owns its cells, and goes on.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn to_owned(&self) -> Result<Stable, Error> {
        Ok(self.with(Blocks::copy_of(self.blocks.as_ref())?))
    }

    fn with<T>(&self, blocks: T) -> Stable<T> {
        let Self { plan, hasher, lowered, insertions, .. } = *self;
        Stable { plan, hasher, lowered, insertions, blocks }
    }

    /// Writes the filter as an umbel file, front to back, without seeking.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, out: impl Write) -> Result<(), Error> {
        let Plan { bits, probes, detail, .. } = self.plan;
        let body = format::Body::default().u64(bits).u32(probes).u32(detail);
        let body = body.u64(self.lowered).u64(self.insertions);
        let header =
            format::Header::new(&self.plan, self.hasher.scheme(), &body, self.plan.bytes());
        let mut writer = format::Writer::new(out, &header)?;
        writer.write(bytemuck::cast_slice(self.blocks.as_ref()))?;
        writer.finish()
    }

    /// Of a checked header and its cells.
    pub(super) fn from_parts(
        header: &format::Header,
        hasher: KeyHasher,
        blocks: S,
    ) -> Result<Self, Error> {
        let (plan, lowered, insertions) = declared(header)?;
        if !cells::are_whole(plan.detail, blocks.as_ref()) {
            return Err(Error::Field {
                field: "payload",
                found: 1,
                expected: "zeros after the last cell of a word",
            });
        }
        Ok(Self { plan, hasher, lowered, insertions, blocks })
    }
}

/// What the header of a stable filter tells.
pub(super) fn file_layout(header: &format::Header) -> Result<FileLayout, Error> {
    let (plan, ..) = declared(header)?;
    Ok(FileLayout { plan, parts: vec![plan.bytes()] })
}

/// The plan, P, and the insertions.
///
/// ```text
///  64  bits  u64     72  probes     u32     80  lowered     u64
///                    76  cell_bits  u32     88  insertions  u64
/// ```
fn declared(header: &format::Header) -> Result<(Plan, u64, u64), Error> {
    let mut fields = header.fields();
    let plan = fields.plan(Kind::Stable)?;
    let (lowered, insertions) = (fields.u64()?, fields.u64()?);
    fields.end()?;
    plan.check(Kind::Stable)?;
    match (1..=cells::count(plan.detail, plan.bits)).contains(&lowered) {
        true => Ok((plan, lowered, insertions)),
        false => Err(Error::Field {
            field: "lowered",
            found: lowered,
            expected: "1 to the number of cells",
        }),
    }
}

delegate::filter!([S: AsRef<[Block]>] Stable<S>);

delegate::insert!(
    /// Never an error: it takes keys without end.
    [S: AsRef<[Block]> + AsMut<[Block]>] Stable<S>
);

impl<S: AsRef<[Block]>> fmt::Debug for Stable<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stable")
            .field("plan", &self.plan)
            .field("scheme", &self.hasher.scheme())
            .field("insertions", &self.insertions)
            .finish_non_exhaustive()
    }
}

/// Equal when they are for the same plan and scheme, have the same cells and lower the same ones next.
impl<S: AsRef<[Block]>, T: AsRef<[Block]>> PartialEq<Stable<T>> for Stable<S> {
    fn eq(&self, other: &Stable<T>) -> bool {
        self.plan == other.plan
            && self.hasher.scheme() == other.hasher.scheme()
            && (self.lowered, self.insertions) == (other.lowered, other.insertions)
            && self.blocks.as_ref() == other.blocks.as_ref()
    }
}
