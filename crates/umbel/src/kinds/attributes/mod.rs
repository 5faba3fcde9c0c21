//! Rows of several attributes: a filter for each attribute, and joint tags that record which values came together.
//!
//! In the paper, a second structure holds one value per item, made from the hashes of its attributes. Here a tag is the
//! hash of the values themselves, each preceded by its length, so different rows have different tags. Tags are in one
//! more filter of the same kind. A row may have a tag for every subset of its attributes, because a tag of the whole
//! row only helps queries that name all of it.
//!
//! A value hashes differently in each attribute's filter. With one hash for all, attributes that share values, such as
//! the two ends of a connection, would have the same false positives.

mod plan;

pub(crate) use plan::Plans;
use plan::{parameter, part};

use super::blocked::BlockedCore;
use super::classic;
use super::plain::empty;
use super::prelude::*;
use super::scattered::ScatteredCore;
use crate::filter::{Names, RowError};

filter! {
    /// A filter of rows of named attributes, queried by any subset of them. A row may be there if its queried values
    /// pass their attributes' filters, and their joint tag passes, if they have one (B. Xiao, Y. Hua 2009, "Using
    /// parallel Bloom filters for multiattribute representation on network services",
    /// <https://doi.org/10.1109/TPDS.2009.39>).
    ///
    /// Use it for rows such as (host, user, port), when queries know only some of the values. If all queries name the
    /// same attributes, plain filters, one per such set, are smaller: a plain filter of whole rows has at most half the
    /// bits of two attributes' filters.
    ///
    /// **Rate.** The plan is for each filter by itself, and counts rows. A value outside all rows passes its
    /// attribute's filter with probability at most `fpp`, and j such values together with at most about `fpp`^j. Values
    /// that occur in different rows pass their own filters; only their tag can reject them, and lets them pass with
    /// probability at most `fpp`:
    ///
    /// | [`Tags`] | kind | tags per row of A attributes | values of different rows pass together |
    /// |---|---|---|---|
    /// | `None` | `attributes:0` | 0 | always |
    /// | `Row`, the default | `attributes:1` | 1 | with probability at most `fpp` if all attributes are queried, else always |
    /// | `Subsets` | `attributes:2` | 2^A − A − 1, for A ≤ 8 | with probability at most `fpp` |
    ///
    /// **Cost.** The plan's bits for each attribute and each tag: at 1 %, 40 bits per row of three attributes with a
    /// tag of each row, 70 with the tags of all subsets, and 2,600 with all subsets of eight attributes. A query reads
    /// a cache line per value and one for the tag. Inserting all subsets of eight values hashes 247 of them, some 5 µs
    /// per row. `attributes:10` to `attributes:12` use classic filters: fewer bits, and as many cache lines as probes.
    ///
    /// Rows may repeat: the rate holds for as many *different* rows as planned. Filters of the same plan, names and
    /// scheme merge.
    ///
    /// [`contains`](Filter::contains) answers for whole rows, given the hash of a row as the key of several fields
    /// (FORMAT.md, section 3: the value alone for one attribute, else each value preceded by its length), in the order
    /// of the attributes. It looks up the row's tag, so a filter of several attributes without tags answers true.
    ///
    /// # Receipt
    /// The rate is the highest among the filters inside. Rows are counted by their tags if each row has one; otherwise
    /// by the attribute with the most values, a lower bound.
    ///
    /// ```
    /// use umbel::{Attributes, KeyHasher, Kind, Plan};
    ///
    /// let plan = Plan::for_keys(Kind::Attributes, 1_000, 0.001)?;
    /// let mut seen = Attributes::with_names(&plan, &["host", "user"], KeyHasher::default())?;
    /// assert!(seen.insert_row(&["alpha", "ann"])?, "certainly new");
    /// seen.insert_row(&["beta", "bob"])?;
    ///
    /// assert!(seen.contains_row(&[Some("alpha"), Some("ann")])?);
    /// assert!(seen.contains_row(&[None, Some("bob")])?, "a query may name any attributes");
    /// assert!(!seen.contains_row(&[Some("gamma"), None])?);
    /// assert!(!seen.contains_row(&[Some("alpha"), Some("bob")])?, "both known, but not together");
    /// # Ok::<(), umbel::Error>(())
    /// ```
    Attributes(AttributesCore)
}

/// The core of an [`Attributes`] filter.
#[derive(Clone, PartialEq)]
pub(crate) struct AttributesCore<S = Blocks> {
    plan: Plan,
    names: Vec<String>,
    /// One per attribute, in the order of the names, then one for the tags if rows have any. So in files.
    filters: Vec<Inner<S>>,
}

#[derive(Clone, PartialEq)]
enum Inner<S> {
    Blocked(BlockedCore<S>),
    Classic(ScatteredCore<classic::Plans, S>),
}

macro_rules! of_either {
    ($inner:expr, $filter:ident => $does:expr) => {
        match $inner {
            Inner::Blocked($filter) => $does,
            Inner::Classic($filter) => $does,
        }
    };
}

impl<S: AsRef<[Block]>> Inner<S> {
    fn from_blocks(plan: &Plan, blocks: S) -> Result<Self, FileError> {
        Ok(match plan.kind() {
            Kind::Classic => Self::Classic(ScatteredCore::from_blocks(*plan, blocks)?),
            _ => Self::Blocked(BlockedCore::from_blocks(*plan, blocks)?),
        })
    }

    fn with_parts<'a, T: AsRef<[Block]>, E>(
        &'a self,
        each: &mut impl FnMut(&'a S) -> Result<T, E>,
    ) -> Result<Inner<T>, E> {
        Ok(match self {
            Self::Blocked(filter) => Inner::Blocked(filter.with_parts(each)?),
            Self::Classic(filter) => Inner::Classic(filter.with_parts(each)?),
        })
    }
}

/// Rows processed together: 4 KiB of hashes per attribute.
const ROWS_AT_ONCE: usize = 256;

/// The longest value whose length fits in 32 bits.
const MOST_VALUE: usize = u32::MAX as usize;

/// Part of the format.
const MOST_ATTRIBUTES: usize = 64;
/// Part of the format.
const MOST_NAME: usize = 255;

/// The hash of a value in the filter of its attribute. Part of the format.
#[inline]
fn in_filter(hasher: &KeyHasher, value: &[u8], place: usize) -> KeyHash {
    hasher.hash(value).in_part(place as u64)
}

/// The hash of the tag of some values. `joined` is the hash of the values, each preceded by its length; `subset` has a
/// bit per attribute. It has at least two bits, so the tag always differs from `joined`. Part of the format.
fn tag(joined: KeyHash, subset: u64) -> KeyHash {
    joined.in_part(subset)
}

fn all(attributes: usize) -> u64 {
    u64::MAX >> (64 - attributes)
}

/// The tag of the values of a subset. Their lengths were checked before.
#[inline(always)]
fn tag_of<'a>(
    hasher: &KeyHasher,
    subset: u64,
    values: impl Iterator<Item = &'a [u8]>,
    bytes: &mut Vec<u8>,
) -> KeyHash {
    bytes.clear();
    for value in values {
        bytes.extend_from_slice(&(value.len() as u32).to_le_bytes());
        bytes.extend_from_slice(value);
    }
    tag(hasher.hash(&bytes[..]), subset)
}

impl Attributes {
    /// Makes an empty filter of rows with these attributes, each planned by `plan`: 1 to 64 different names of 1 to 255
    /// bytes. For untrusted keys, use [`KeyHasher::random`] or [`KeyHasher::keyed`].
    ///
    /// # Errors
    /// For wrong names, [`RowError::NoAttributes`], [`RowError::AttributeCount`] (above 8 with a tag for each subset),
    /// [`RowError::AttributeName`] or [`RowError::AttributeTwice`]; for a wrong plan, [`RowError::Plan`].
    pub fn with_names<N: AsRef<str>>(
        plan: &Plan,
        names: &[N],
        hasher: KeyHasher,
    ) -> Result<Self, RowError> {
        Plans::check(plan)?;
        let names: Vec<String> = names.iter().map(|name| name.as_ref().to_owned()).collect();
        check_names(&names, plan)?;
        let make = |plan| Ok(Inner::from_blocks(plan, empty(plan)?).expect("no bits set"));
        let filters =
            plans(plan, names.len())?.iter().map(make).collect::<Result<_, PlanError>>()?;
        let core = AttributesCore { plan: *plan, names, filters };
        Ok(Self(Hashed::of(core, hasher)))
    }

    /// Inserts a row, a value for each attribute in order; true if it was certainly new.
    ///
    /// # Errors
    /// [`RowError::RowLength`]; [`RowError::ValueTooLong`] for a value of 2³² bytes or more. Nothing is inserted then.
    pub fn insert_row<V: AsRef<[u8]>>(&mut self, values: &[V]) -> Result<bool, RowError> {
        let mut new = [false];
        self.insert_rows_new(&[values], &mut new)?;
        Ok(new[0])
    }

    /// Inserts many rows in order with overlapping cache misses. The errors are as in [`insert_row`](Self::insert_row);
    /// if any row has one, nothing is inserted.
    pub fn insert_rows<V: AsRef<[u8]>, R: AsRef<[V]>>(
        &mut self,
        rows: &[R],
    ) -> Result<(), RowError> {
        self.insert_rows_new(rows, &mut vec![false; rows.len()])
    }

    /// Like [`insert_rows`](Self::insert_rows), and sets `new[i]` to what [`insert_row`](Self::insert_row) returns for
    /// `rows[i]`. Panics if the slices differ in length.
    pub fn insert_rows_new<V: AsRef<[u8]>, R: AsRef<[V]>>(
        &mut self,
        rows: &[R],
        new: &mut [bool],
    ) -> Result<(), RowError> {
        assert_eq!(rows.len(), new.len(), "one answer for each row");
        for row in rows.iter().map(AsRef::as_ref) {
            self.0.core.check_row(row.len(), row.iter().map(AsRef::as_ref))?;
        }
        let (mut hashes, mut set, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
        let Hashed { core, hasher, .. } = &mut self.0;
        for (rows, new) in rows.chunks(ROWS_AT_ONCE).zip(new.chunks_mut(ROWS_AT_ONCE)) {
            new.fill(false);
            for place in 0..core.filters.len() {
                hashes.clear();
                if place < core.names.len() {
                    let value = |row: &R| in_filter(hasher, row.as_ref()[place].as_ref(), place);
                    hashes.extend(rows.iter().map(value));
                } else {
                    let tags =
                        |row: &R| core.add_tags(hasher, row.as_ref(), &mut bytes, &mut hashes);
                    rows.iter().for_each(tags);
                }
                set.clear();
                set.resize(hashes.len(), false);
                let filter = &mut core.filters[place];
                let Ok(()) = of_either!(filter, filter => filter.insert_all_new(&hashes, &mut set));
                let sets = new.iter_mut().zip(set.chunks(hashes.len() / rows.len()));
                sets.for_each(|(new, set)| *new |= set.contains(&true));
            }
        }
        Ok(())
    }
}

impl<H: Hashing> Attributes<H> {
    /// Forgets all rows.
    pub fn clear(&mut self) {
        self.0.core.clear();
    }
}

impl<S: AsRef<[Block]>> Attributes<KeyHasher, S> {
    /// Returns whether a row with these values may be there; `None` for an attribute that the query leaves open.
    /// Without any value, true.
    ///
    /// # Errors
    /// [`RowError::RowLength`] or [`RowError::ValueTooLong`].
    pub fn contains_row<V: AsRef<[u8]>>(&self, values: &[Option<V>]) -> Result<bool, RowError> {
        let mut found = [false];
        self.contains_rows(&[values], &mut found)?;
        Ok(found[0])
    }

    /// Looks up many rows with overlapping cache misses: sets `found[i]` to the answer for `rows[i]`. Panics if the
    /// slices differ in length. The errors are as in [`contains_row`](Self::contains_row), for any row.
    pub fn contains_rows<V: AsRef<[u8]>, R: AsRef<[Option<V>]>>(
        &self,
        rows: &[R],
        found: &mut [bool],
    ) -> Result<(), RowError> {
        assert_eq!(rows.len(), found.len(), "one answer for each row");
        for row in rows.iter().map(AsRef::as_ref) {
            self.0.core.check_row(row.len(), row.iter().flatten().map(AsRef::as_ref))?;
        }
        let mut bytes = Vec::new();
        let Hashed { core, hasher, .. } = &self.0;
        for (rows, found) in rows.chunks(ROWS_AT_ONCE).zip(found.chunks_mut(ROWS_AT_ONCE)) {
            found.fill(true);
            for (place, filter) in core.filters[..core.names.len()].iter().enumerate() {
                let hash = |row: &R| {
                    Some(in_filter(hasher, row.as_ref()[place].as_ref()?.as_ref(), place))
                };
                look_up(filter, rows, found, hash);
            }
            if let Some(joint) = core.joint() {
                look_up(joint, rows, found, |row| core.tag_asked(hasher, row.as_ref(), &mut bytes));
            }
        }
        Ok(())
    }
}

impl<H: Hashing, S: AsRef<[Block]>> Attributes<H, S> {
    /// Returns the worst-case probability that a row never inserted passes a query of these attributes, from the
    /// filter's own bits, in one pass: the rate of a single attribute's filter, or of the tag filter for values that
    /// never came together; 1 if such values have no tag. [`RowError::RowLength`] unless `asked` has an entry per
    /// attribute.
    pub fn query_fpp(&self, asked: &[bool]) -> Result<f64, RowError> {
        self.0.core.check_row(asked.len(), core::iter::empty())?;
        let places: Vec<_> = (0..asked.len()).filter(|&place| asked[place]).collect();
        let place = match places[..] {
            [only] => only,
            _ if self.0.core.has_tag(places.len()) => asked.len(),
            _ => return Ok(1.0),
        };
        let (filter, scheme) = (&self.0.core.filters[place], self.0.hasher.scheme());
        Ok(of_either!(filter, filter => filter.receipt(scheme)).fpp)
    }

    /// Returns the index of each of these attributes in a row.
    ///
    /// # Errors
    /// [`RowError::Unnamed`] if `names` is empty, [`RowError::UnknownAttribute`], [`RowError::AttributeTwice`].
    #[doc(hidden)]
    pub fn indices<N: AsRef<str>>(&self, names: &[N]) -> Result<Vec<usize>, RowError> {
        if names.is_empty() {
            return Err(RowError::Unnamed(Names::of(self.names())));
        }
        let mut places = Vec::new();
        for name in names.iter().map(AsRef::as_ref) {
            let place = self.names().iter().position(|own| own == name);
            let place = place.ok_or_else(|| {
                RowError::UnknownAttribute(Names::of(&[name]), Names::of(self.names()))
            })?;
            if places.contains(&place) {
                return Err(RowError::AttributeTwice(Names::of(&[name])));
            }
            places.push(place);
        }
        Ok(places)
    }

    /// Like [`indices`](Self::indices), for a whole row; also [`RowError::AttributesMissing`].
    #[doc(hidden)]
    pub fn indices_of_all<N: AsRef<str>>(&self, names: &[N]) -> Result<Vec<usize>, RowError> {
        let places = self.indices(names)?;
        let missing = (0..).zip(self.names()).filter(|(place, _)| !places.contains(place));
        let missing: Vec<_> = missing.map(|(_, name)| name).collect();
        match missing.is_empty() {
            true => Ok(places),
            false => Err(RowError::AttributesMissing(Names::of(&missing), Names::of(self.names()))),
        }
    }

    /// Returns the names of the attributes, in their order.
    pub fn names(&self) -> &[String] {
        &self.0.core.names
    }
}

impl<S: AsRef<[Block]>> AttributesCore<S> {
    fn joint(&self) -> Option<&Inner<S>> {
        self.filters.get(self.names.len())
    }

    /// Adds the tags of a row that has any.
    fn add_tags<V: AsRef<[u8]>>(
        &self,
        hasher: &KeyHasher,
        row: &[V],
        bytes: &mut Vec<u8>,
        tags: &mut Vec<KeyHash>,
    ) {
        let whole = all(row.len());
        // Pairs have tags if all subsets do.
        let first = if self.has_tag(2) { 1 } else { whole };
        (first..=whole).filter(|subset| subset.count_ones() > 1).for_each(|subset| {
            let chosen = row.iter().enumerate().filter(|(place, _)| subset >> place & 1 == 1);
            tags.push(tag_of(hasher, subset, chosen.map(|(_, value)| value.as_ref()), bytes));
        });
    }

    /// The tag of the queried values, if they have one.
    fn tag_asked<V: AsRef<[u8]>>(
        &self,
        hasher: &KeyHasher,
        row: &[Option<V>],
        bytes: &mut Vec<u8>,
    ) -> Option<KeyHash> {
        let asked = (0..).zip(row).filter(|(_, value)| value.is_some());
        let subset = asked.map(|(place, _): (u32, _)| 1u64 << place).sum::<u64>();
        let values = row.iter().flatten().map(AsRef::as_ref);
        let has_tag = self.has_tag(subset.count_ones() as usize);
        has_tag.then(|| tag_of(hasher, subset, values, bytes))
    }

    /// Whether this many values of a row have a tag.
    fn has_tag(&self, asked: usize) -> bool {
        match parameter(self.plan.variant).0 {
            Tags::None => false,
            Tags::Row => asked > 1 && asked == self.names.len(),
            Tags::Subsets => asked > 1,
        }
    }

    fn check_row<'a>(
        &self,
        found: usize,
        values: impl Iterator<Item = &'a [u8]>,
    ) -> Result<(), RowError> {
        let expected = self.names.len();
        if found != expected {
            return Err(RowError::RowLength(expected, found));
        }
        let too_long = values.map(<[u8]>::len).find(|&bytes| bytes > MOST_VALUE);
        too_long.map_or(Ok(()), |bytes| Err(RowError::ValueTooLong(bytes)))
    }
}

/// Clears `found` for rows whose hash does not pass; skips rows without a hash or already cleared.
fn look_up<R>(
    filter: &Inner<impl AsRef<[Block]>>,
    rows: &[R],
    found: &mut [bool],
    mut hash: impl FnMut(&R) -> Option<KeyHash>,
) {
    let (mut hashes, mut places) = ([KeyHash::default(); ROWS_AT_ONCE], [0; ROWS_AT_ONCE]);
    let mut count = 0;
    for (i, row) in rows.iter().enumerate().filter(|(i, _)| found[*i]) {
        if let Some(hash) = hash(row) {
            (hashes[count], places[count]) = (hash, i);
            count += 1;
        }
    }
    let mut passed = [false; ROWS_AT_ONCE];
    let (asked, answers) = (&hashes[..count], &mut passed[..count]);
    of_either!(filter, filter => filter.contains_all(asked, answers));
    places[..count].iter().zip(passed).for_each(|(&place, passed)| found[place] = passed);
}

impl<S: AsRef<[Block]>> Core for AttributesCore<S> {
    type Plans = Plans;
    type Storage = S;
    type With<T: AsRef<[Block]>> = AttributesCore<T>;

    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn contains(&self, hash: KeyHash) -> bool {
        match (self.joint(), &self.filters[..]) {
            (_, [only]) => of_either!(only, filter => filter.contains(hash)),
            (Some(joint), _) => {
                let tag = tag(hash, all(self.names.len()));
                of_either!(joint, filter => filter.contains(tag))
            }
            (None, _) => true,
        }
    }

    fn contains_all(&self, hashes: &[KeyHash], found: &mut [bool]) {
        match (self.joint(), &self.filters[..]) {
            (_, [only]) => of_either!(only, filter => filter.contains_all(hashes, found)),
            (Some(joint), _) => {
                let subset = all(self.names.len());
                for (hashes, found) in
                    hashes.chunks(ROWS_AT_ONCE).zip(found.chunks_mut(ROWS_AT_ONCE))
                {
                    let mut tags = [KeyHash::default(); ROWS_AT_ONCE];
                    tags.iter_mut().zip(hashes).for_each(|(to, &hash)| *to = tag(hash, subset));
                    let tags = &tags[..hashes.len()];
                    of_either!(joint, filter => filter.contains_all(tags, found));
                }
            }
            (None, _) => found.fill(true),
        }
    }

    fn parts(&self) -> impl Iterator<Item = &S> {
        self.filters.iter().map(|filter| of_either!(filter, filter => &filter.blocks))
    }

    fn with_parts<'a, T: AsRef<[Block]>, E>(
        &'a self,
        mut each: impl FnMut(&'a S) -> Result<T, E>,
    ) -> Result<AttributesCore<T>, E> {
        let filters = self.filters.iter().map(|filter| filter.with_parts(&mut each));
        let filters = filters.collect::<Result<_, E>>()?;
        Ok(AttributesCore { plan: self.plan, names: self.names.clone(), filters })
    }

    fn body(&self) -> Body {
        let mut body = Body::of::<Plans>(&self.plan).u32(self.names.len() as u32).zeros(4);
        for name in &self.names {
            body = body.u32(name.len() as u32).bytes(name.as_bytes());
        }
        body
    }

    fn layout(header: &Header) -> Result<Vec<u64>, FileError> {
        let (_, _, plans) = declared(header)?;
        Ok(plans.iter().map(Plan::bytes).collect())
    }

    fn open(header: &Header, parts: Vec<S>) -> Result<Self, FileError> {
        let (plan, names, plans) = declared(header)?;
        let filters =
            plans.iter().zip(parts).map(|(plan, blocks)| Inner::from_blocks(plan, blocks));
        Ok(Self { plan, names, filters: filters.collect::<Result<_, _>>()? })
    }

    fn receipt(&self, scheme: Scheme) -> Receipt {
        self.borrowed().measured(scheme)
    }
}

impl AttributesCore<&[Block]> {
    fn measured(&self, scheme: Scheme) -> Receipt {
        let count = self.names.len();
        let per_row = parameter(self.plan.variant).0.per_row(count);
        let (mut set_bits, mut bits, mut fpp) = (0, 0, 0.0f64);
        let (mut keys, mut over_filled, mut room) = (Estimate::new(0.0, 0.0), false, u64::MAX);
        let mut parts = Vec::new();
        for (i, filter) in self.filters.iter().enumerate() {
            let part = of_either!(filter, filter => filter.receipt(scheme));
            set_bits += part.set_bits;
            bits += part.bits;
            fpp = fpp.max(part.fpp);
            over_filled |= part.over_filled;
            let (what, each) = if i < count { ("attribute", 1) } else { ("tag filter", per_row) };
            room = room.min(part.room / each);
            if (i == count && each == 1) || (i < count && part.keys.value > keys.value) {
                keys = part.keys;
            }
            let name = self.names.get(i).cloned();
            parts.push(Part { what, name, plan: part.plan, keys: part.keys.value, fpp: part.fpp });
        }
        let receipt = Receipt::new(self.plan, scheme, (set_bits, bits), keys, fpp);
        let facts = vec![Fact::count("tags_a_row", per_row)];
        Receipt { bits, room, over_filled, parts, facts, ..receipt }
    }
}

merges!(Attributes);

impl Owned for AttributesCore {
    type Refusal = InsertError;

    /// Rows need names.
    fn make(_: &Plan) -> Result<Self, PlanError> {
        Err(PlanError::Unnamed)
    }

    fn check_inserts(&self) -> Result<(), InsertError> {
        Err(InsertError::Rows(Names::of(&self.names)))
    }

    fn insert(&mut self, _: KeyHash) -> Result<bool, InsertError> {
        Err(InsertError::Rows(Names::of(&self.names)))
    }

    fn clear(&mut self) {
        for filter in &mut self.filters {
            of_either!(filter, filter => filter.clear());
        }
    }

    /// Uses memory for a copy meanwhile.
    fn merge<T: AsRef<[Block]>>(
        &mut self,
        other: &AttributesCore<T>,
        how: Merge,
    ) -> Result<(), MergeError> {
        if self.names != other.names {
            let [left, right] = [Names::of(&self.names), Names::of(&other.names)];
            return Err(MergeError::AttributesDiffer(left, right));
        }
        let [left, right] = [self.plan, other.plan].map(|plan| Plans::number(plan.variant));
        if left != right {
            return Err(MergeError::TagsDiffer(left, right));
        }
        let mut merged = self.with_parts(|blocks| Blocks::copy_of(blocks))?;
        for pair in merged.filters.iter_mut().zip(&other.filters) {
            match pair {
                (Inner::Blocked(left), Inner::Blocked(right)) => left.merge(right, how)?,
                (Inner::Classic(left), Inner::Classic(right)) => left.merge(right, how)?,
                _ => unreachable!("filters of equal parameters are of one kind"),
            }
        }
        let first = of_either!(&merged.filters[0], filter => filter.plan);
        merged.plan = Plan { variant: self.plan.variant, ..first };
        // The plans that a file gives, which divides rows first and then multiplies them by their tags.
        let plans = plans(&merged.plan, self.names.len()).expect("no larger than before");
        for (filter, plan) in merged.filters.iter_mut().zip(plans) {
            of_either!(filter, filter => filter.plan = plan);
        }
        *self = merged;
        Ok(())
    }
}

/// The plans of the attributes' filters and of the tags' filter, if rows have any: per tag of a row, as many keys and
/// bits again, at the same rate.
fn plans(plan: &Plan, attributes: usize) -> Result<Vec<Plan>, PlanError> {
    let each = part(plan);
    let tags = parameter(plan.variant).0.per_row(attributes);
    check_bits(each.bits as f64 * (attributes as f64 + tags as f64))?;
    let mut plans = vec![each; attributes];
    if tags > 0 {
        plans.push(Plan { keys: each.keys.saturating_mul(tags), bits: each.bits * tags, ..each });
    }
    Ok(plans)
}

fn check_names(names: &[String], plan: &Plan) -> Result<(), RowError> {
    let most = match parameter(plan.variant).0 {
        Tags::Subsets => Tags::MOST_FOR_SUBSETS,
        _ => MOST_ATTRIBUTES,
    };
    if names.is_empty() {
        return Err(RowError::NoAttributes);
    }
    if names.len() > most {
        return Err(RowError::AttributeCount(names.len(), most));
    }
    for (i, name) in names.iter().enumerate() {
        if !(1..=MOST_NAME).contains(&name.len()) {
            return Err(RowError::AttributeName(Names::of(&[name])));
        }
        if names[..i].contains(name) {
            return Err(RowError::AttributeTwice(Names::of(&[name])));
        }
    }
    Ok(())
}

/// The plan, the names, and the plans of the filters inside.
///
/// ```text
///  64  bits    u64      80  attributes  u32      88  of each attribute:
///  72  probes  u32      84  zeros, 4 bytes           name_length  u32
///  76  detail  u32                                   the name in UTF-8
/// ```
fn declared(header: &Header) -> Result<(Plan, Vec<String>, Vec<Plan>), FileError> {
    let mut fields = header.fields();
    let plan = fields.plan::<Plans>()?;
    let count = fields.u32()?;
    check_field("attributes", count.into(), (1..=64).contains(&count), "1 to 64")?;
    fields.zeros(4)?;
    let mut names = Vec::new();
    for _ in 0..count {
        let length = fields.u32()?;
        check_field("name_length", length.into(), (1..=255).contains(&length), "1 to 255 bytes")?;
        let name = fields.bytes(length as usize)?;
        let no_text =
            FieldError { field: "name", found: name[0].into(), expected: "text in UTF-8" };
        let name = str::from_utf8(name).map_err(|_| no_text)?;
        names.push(name.to_owned());
    }
    fields.end()?;
    Plans::check(&plan)?;
    let (right, expected) =
        (check_names(&names, &plan).is_ok(), "different names, 8 at most with tags of subsets");
    check_field("attributes", count.into(), right, expected)?;
    let plans = plans(&plan, names.len())?;
    Ok((plan, names, plans))
}
