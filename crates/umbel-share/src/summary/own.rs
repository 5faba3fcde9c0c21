//! The side that publishes: a counting filter of what a cache holds, and the messages that keep others up to date.

use umbel::{Counting, Filter, Key, KeyHasher, Kind, OutOfMemory, Plan, PlanError};

use super::key::{opened, sealed};
use super::message::{Changes, Form, Message, Point, id_of, state_of};
use super::{GREATEST_EPOCH, GroupKey, payload};
use crate::frame::{self, FRAME};
use crate::{ShareError, pack};

/// How a [`Summary`] is sized, and when it is published: the two parameters of the paper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Bits per key of the published filter, above 0: 16 by default. The counting filter in the cache's memory has four
    /// times as many bits.
    pub bits_per_key: f64,
    /// The share of its keys that may come or leave before the filter is published again, above 0 and below 1: 0.01 by
    /// default. Fan et al. recommend 0.01 to 0.1.
    pub threshold: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { bits_per_key: 16.0, threshold: 0.01 }
    }
}

/// The content of a cache, and the messages that inform its peers.
///
/// Memory: per planned key, 4 · [`bits_per_key`](Settings::bits_per_key) bits for the counters, and a quarter of that
/// for the published filter. Time: an insertion or removal takes as long as in a [`Counting`] filter; a publication is a
/// few passes over the published filter, which at a threshold of 1 % and 16 bits per key are about a kilobyte per
/// change.
pub struct Summary {
    cache: u64,
    settings: Settings,
    held: Counting,
    /// The keys it was planned for.
    planned: u64,
    /// The file of the published filter.
    published: Vec<u8>,
    point: Point,
    /// The number of the last message of this epoch.
    number: u32,
    changes: Changes,
    key: Option<GroupKey>,
}

/// The address that an answer goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address {
    /// The sender of the request, over its connection.
    Verified,
    /// The address that the request claims to come from, as in a datagram. It may be forged to flood others.
    Claimed,
}

/// How many times as large as a request an answer to a [claimed](Address::Claimed) address may be.
const AMPLIFIES: usize = 3;

impl Summary {
    /// Makes the summary of an empty cache, planned for `keys` keys: about as many as the cache will hold.
    ///
    /// Peers know the cache by `name`. `epoch` must be greater at each start of the cache: nanoseconds of the clock,
    /// or a number in a file. If it is not, peers notice and ask, and [`answer`](Self::answer) continues from a
    /// greater one.
    ///
    /// # Errors
    /// [`PlanError`] if a filter with `keys` keys and that many bits is impossible.
    ///
    /// # Panics
    /// If a setting is out of its range, or `epoch` above [`GREATEST_EPOCH`].
    pub fn new(
        name: &str,
        epoch: u64,
        keys: u64,
        settings: Settings,
        hasher: KeyHasher,
    ) -> Result<Self, PlanError> {
        let Settings { bits_per_key, threshold } = settings;
        assert!(epoch <= GREATEST_EPOCH, "epoch {epoch}");
        assert!(bits_per_key > 0.0 && threshold > 0.0 && threshold < 1.0, "{settings:?}");
        let held = Counting::with_plan(&plan(keys, bits_per_key)?, hasher)?;
        let mut summary = Self {
            cache: id_of(name),
            settings,
            held,
            planned: keys,
            published: Vec::new(),
            point: Point { epoch, ..Point::default() },
            number: 0,
            changes: Changes::default(),
            key: None,
        };
        summary.published = summary.file()?;
        summary.point.state = state_of(&summary.published);
        Ok(summary)
    }

    /// Authenticates messages with the key of a group, which all its caches have: every message gets a tag of 16 bytes,
    /// and only tagged requests are answered.
    #[must_use]
    pub fn with_key(self, key: GroupKey) -> Self {
        Self { key: Some(key), ..self }
    }

    /// Notes that a key came into the cache. Call it once per key that the cache holds, not for a new version of a
    /// value.
    pub fn insert(&mut self, key: impl Key) {
        self.held.insert(key);
        self.changes.keys += 1;
        self.changes.came += 1;
    }

    /// Notes that a key left the cache. It must have been inserted: removing others may make present keys absent, as
    /// in any [counting filter](Counting). A key that is certainly absent changes nothing, and returns `false`.
    pub fn remove(&mut self, key: impl Key) -> bool {
        let removed = self.held.remove(key);
        if removed {
            self.changes.keys = self.changes.keys.saturating_sub(1);
            self.changes.left += 1;
        }
        removed
    }

    /// Returns the keys that the cache holds now.
    pub fn keys(&self) -> u64 {
        self.changes.keys
    }

    /// Returns the epoch of this start of the cache, and the number of the last published filter.
    pub fn version(&self) -> (u64, u64) {
        self.point.order()
    }

    /// Returns the file of the published filter.
    pub fn published(&self) -> &[u8] {
        &self.published
    }

    /// Returns the keys that its filter is planned for now.
    pub fn planned(&self) -> u64 {
        self.planned
    }

    /// Returns the plan of the filter that is published.
    ///
    /// Its kind is blocked: a counting filter drops its counts to a blocked one, bit for bit, and a look-up by a peer
    /// costs one cache line. A classic one of 16 bits per key would have half the false positive rate, 0.05 % instead
    /// of 0.09 %. But 11 bits would change per key instead of 8, so deltas would be a third larger. Departed keys weigh
    /// more: at a threshold of 1 % they average 0.5 % of the keys.
    pub fn plan(&self) -> Plan {
        let (plan, kind) = (self.held.plan(), Kind::Blocked);
        let (bits, probes) = (plan.bits() / COUNTER, plan.probes());
        let plan = Plan::from_parts(kind, plan.keys(), plan.fpp(), bits, probes);
        plan.expect("a counting filter's plan is a blocked one's with counters")
    }

    /// Publishes the filter if the [threshold](Settings::threshold) is reached: returns a message for every peer, or
    /// nothing. Call it after changes.
    ///
    /// If the cache has outgrown the plan, the filter is planned again for twice the keys it holds, `held` supplies
    /// them, and the message is a full copy; otherwise it is a delta.
    ///
    /// # Errors
    /// [`PlanError`] if the larger filter is impossible or does not fit in memory. Then nothing is published, peers
    /// keep the filter that they have, and the next call tries again.
    pub fn publish<K: Key, I: IntoIterator<Item = K>>(
        &mut self,
        held: impl FnOnce() -> I,
    ) -> Result<Option<Vec<u8>>, PlanError> {
        let Changes { keys, came, left } = self.changes;
        let due = (self.settings.threshold * keys as f64).ceil().max(1.0);
        if (came.max(left) as f64) < due {
            return Ok(None);
        }
        if keys > self.planned {
            self.replan(held())?;
            return Ok(Some(self.full()));
        }
        let file = self.file()?;
        let body = delta(&self.published, &file);
        let base = self.point.state;
        self.note(file);
        Ok(Some(self.message(Form::Delta, base, &body)))
    }

    /// Plans the filter for twice the keys that the cache holds, and inserts them again.
    fn replan<K: Key>(&mut self, keys: impl IntoIterator<Item = K>) -> Result<(), PlanError> {
        let planned = 2 * self.changes.keys;
        let plan = plan(planned, self.settings.bits_per_key)?;
        let mut held = Counting::with_plan(&plan, self.held.hasher().clone())?;
        let mut count = 0;
        for key in keys {
            held.insert(key);
            count += 1;
        }
        let file = held.to_blocked()?.to_bytes();
        self.held = held;
        self.planned = planned;
        self.changes.keys = count;
        self.note(file);
        Ok(())
    }

    /// Makes a file the published filter.
    fn note(&mut self, file: Vec<u8>) {
        self.point.sequence += 1;
        self.point.state = state_of(&file);
        self.published = file;
        self.changes = Changes { keys: self.changes.keys, ..Changes::default() };
    }

    /// Returns the published filter as a message: what a new peer needs first.
    pub fn full(&mut self) -> Vec<u8> {
        let mut body = Vec::new();
        pack::Encoder::new(&self.published[..], self.published.len() as u64)
            .and_then(|encoder| encoder.write(&mut body))
            .expect("a filter's file in memory, written by this process");
        self.message(Form::Full, 0, &body)
    }

    /// Returns a message of 88 bytes that names the published filter and counts the changes since. Send it to
    /// every peer now and then. A peer that missed the last message notices this, and a peer that hears nothing learns
    /// that the cache may be gone.
    pub fn beat(&mut self) -> Vec<u8> {
        self.message(Form::Beat, 0, &[])
    }

    /// Answers a [request](super::Step::Missing) of a peer, with a message for that peer alone: a full copy, or a
    /// [beat](Self::beat) if the peer has the published filter.
    ///
    /// To a [claimed](Address::Claimed) address it is also a beat if the full copy is more than three times as large as the
    /// request: so answers cannot flood a third party. The peer then requests it again, over a connection.
    ///
    /// A peer with a later filter got it before a restart that did not increase the epoch. This cache then moves past
    /// the peer's epoch, as an OSPF router does with its sequence number (RFC 2328, section 13.4). If the peer's is
    /// [the greatest](GREATEST_EPOCH), it was forged, and the peer accepts the copy.
    ///
    /// # Errors
    /// [`ShareError::UnknownCache`] if the request is for another cache; as [`Peers::receive`](super::Peers::receive)
    /// for bytes that are not a message; [`ShareError::NotRequest`]; [`ShareError::Unauthentic`].
    pub fn answer(&mut self, request: &[u8], to: Address) -> Result<Vec<u8>, ShareError> {
        let most = match to {
            Address::Verified => usize::MAX,
            Address::Claimed => AMPLIFIES * request.len(),
        };
        let request = Message::read(opened(self.key.as_ref(), request)?)?;
        if request.form != Form::Request {
            return Err(ShareError::NotRequest);
        }
        if request.cache != self.cache {
            return Err(ShareError::UnknownCache { id: request.cache });
        }
        let found = request.point;
        if found == self.point {
            return Ok(self.beat());
        }
        if found.order() >= self.point.order() && found.epoch < GREATEST_EPOCH {
            self.begin(found.epoch + 1);
        }
        let full = self.full();
        Ok(if full.len() <= most { full } else { self.beat() })
    }

    /// Continues from an epoch.
    fn begin(&mut self, epoch: u64) {
        (self.point.epoch, self.point.sequence, self.number) = (epoch, 0, 0);
    }

    fn message(&mut self, form: Form, base: u64, body: &[u8]) -> Vec<u8> {
        match self.number.checked_add(1) {
            Some(number) => self.number = number,
            // Peers notice the gap, and request a full copy.
            None => self.begin((self.point.epoch + 1).min(GREATEST_EPOCH)),
        }
        let (cache, number) = (self.cache, self.number);
        let (point, changes) = (self.point, self.changes);
        let message = Message { form, number, cache, point, changes, base, body }.write();
        sealed(self.key.as_ref(), message)
    }

    /// The file of the filter that drops the counts.
    fn file(&self) -> Result<Vec<u8>, OutOfMemory> {
        Ok(self.held.to_blocked()?.to_bytes())
    }
}

/// Bits of a counter: with the planned keys, a counter saturates in fewer than 10⁻⁹ of all filters.
const COUNTER: u64 = 4;

/// The counting filter with this many bits per key once it drops its counts.
fn plan(keys: u64, bits_per_key: f64) -> Result<Plan, PlanError> {
    let bytes = (keys as f64 * bits_per_key / 8.0).ceil().max(64.0) as u64;
    Plan::for_memory(Kind::Counting, keys, COUNTER.saturating_mul(bytes))
}

/// The changes between two files of one plan, as frames.
fn delta(old: &[u8], new: &[u8]) -> Vec<u8> {
    let (old, new) = (payload(old), payload(new));
    let mut frames = Vec::new();
    for (number, (old, new)) in (0..).zip(old.chunks(FRAME).zip(new.chunks(FRAME))) {
        let changed: Vec<u8> = old.iter().zip(new).map(|(old, new)| old ^ new).collect();
        frame::write(&changed, number, &mut frames).expect("a vector takes all bytes");
    }
    frames
}
