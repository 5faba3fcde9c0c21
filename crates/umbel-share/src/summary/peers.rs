//! The side that asks: the filters of the peers, and which of them may have a key.

use std::io::Read;
use std::time::Duration;

use umbel::internals::format;
use umbel::{Blocked, Filter, Hashing, Key, KeyHasher, Scheme};

use super::key::{opened, sealed};
use super::message::{Changes, Form, Message, Point, id_of, state_of};
use super::stale::{Errors, Mix, errors};
use super::{GREATEST_EPOCH, GroupKey, payload};
use crate::frame::{self, FRAME};
use crate::{ShareError, pack};

/// How patient [`Peers`] are, and how much memory they give to one. More may be limited in the future: end a literal with
/// `..Limits::default()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The time after which a request is repeated: 1 s by default. Longer than a full copy takes.
    pub retry: Duration,
    /// The time after which a silent peer is no longer named: 10 s by default. A few times the time
    /// between [beats](super::Summary::beat).
    pub silence: Duration,
    /// The largest filter accepted, in bytes: 256 MiB by default.
    pub bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        let (retry, silence) = (Duration::from_secs(1), Duration::from_secs(10));
        Self { retry, silence, bytes: 256 << 20 }
    }
}

/// The filters of the peers of a cache.
///
/// Pass times of one clock that never goes back to all calls, such as `Instant::elapsed` of one instant.
pub struct Peers {
    hasher: KeyHasher,
    limits: Limits,
    peers: Vec<Peer>,
    key: Option<GroupKey>,
}

#[derive(Default)]
struct Peer {
    name: String,
    id: u64,
    replica: Option<Replica>,
    /// The latest filter announced, which may be later than the replica.
    latest: Option<Point>,
    /// When a message showed that the replica is the published filter.
    confirmed: Option<Duration>,
    heard: Option<Duration>,
    /// The epoch and number of its latest authenticated message, so a replayed one does not count as a sign of life.
    authentic: Option<(u64, u32)>,
    requested: Option<Duration>,
    /// How often the peer had, or lacked, the keys that its filter named; halved when there are many.
    hits: f64,
    asked: f64,
}

/// A filter of a peer.
struct Replica {
    filter: Blocked<Scheme>,
    point: Point,
    changes: Changes,
    fpp: f64,
}

/// The effect of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Received {
    /// The peer that it is about.
    pub peer: String,
    /// The change to its filter.
    pub step: Step,
}

/// The effect of a message on the filter of a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// The filter was replaced by a later one.
    Applied,
    /// The filter is the published one.
    Confirmed,
    /// The message was late or repeated; nothing changed.
    Old,
    /// The filter is not the published one: messages were lost, came in another order, or the cache has restarted.
    /// Send the bytes to the peer, whose [`Summary::answer`](super::Summary::answer) is the full copy. `None` if a copy
    /// was requested less than [`Limits::retry`] ago.
    Missing(Option<Vec<u8>>),
}

/// A peer that may have a key.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Candidate<'a> {
    /// Its name.
    pub peer: &'a str,
    /// The chance that it has the key, from the outcomes noted so far; before the first outcome, from the keys that
    /// left the cache since its filter was published.
    pub chance: f64,
    /// The time since its filter was last known to be the published one.
    pub age: Duration,
}

/// The known state of a peer.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Status<'a> {
    /// Its name.
    pub peer: &'a str,
    /// Whether its filter is the latest one announced; also false if there is none.
    pub is_current: bool,
    /// Publications that were missed, within an epoch.
    pub behind: u64,
    /// The time since its filter was last known to be the published one; `None` if it never was.
    pub age: Option<Duration>,
    /// The time since its last message; `None` if there was none.
    pub silent: Option<Duration>,
    /// The epoch of the cache, and the number of the publication in it; `None` without a filter.
    pub version: Option<(u64, u64)>,
    /// Keys that the peer held at its last message.
    pub keys: u64,
    /// The share of the keys in its filter that have left since, at its last message: the chance of a false hit if such
    /// keys are requested like others. Too low while `behind` is not 0, as is `unseen`.
    pub gone: f64,
    /// The share of the keys that the peer holds that came since, at its last message: the chance of a false miss if
    /// such keys are requested like others.
    pub unseen: f64,
    /// The false positive rate of its filter, from its own bits; 0 without a filter.
    pub fpp: f64,
    /// The share of hits in the outcomes noted; `None` without outcomes.
    pub hit_rate: Option<f64>,
    /// Bytes of the bits of its filter.
    pub bytes: u64,
}

impl Status<'_> {
    /// Returns the current errors of its filter, per request, by the formulas of [`stale`](super::stale).
    pub fn errors(&self, mix: Mix) -> Errors {
        let false_hits = errors(self.gone, self.fpp, mix).false_hits;
        Errors { false_hits, ..errors(self.unseen, self.fpp, mix) }
    }
}

/// The weight of the initial expectation, in outcomes.
const PRIOR: f64 = 8.0;
/// The number of outcomes at which all are halved, so old ones fade.
const MOST: f64 = 1024.0;

impl Peers {
    /// Makes an empty list of peers, whose keys are hashed by `hasher`.
    pub fn new(hasher: KeyHasher, limits: Limits) -> Self {
        Self { hasher, limits, peers: Vec::new(), key: None }
    }

    /// Accepts only messages with a tag of this key, which all caches of the group have, and tags requests with it.
    #[must_use]
    pub fn with_key(self, key: GroupKey) -> Self {
        Self { key: Some(key), ..self }
    }

    /// Adds a peer by the name of its [`Summary`](super::Summary), without a filter yet; `false` if the name is taken.
    /// Messages of unknown peers are refused.
    pub fn add(&mut self, name: &str) -> bool {
        let id = id_of(name);
        let is_new = self.peers.iter().all(|peer| peer.id != id);
        if is_new {
            self.peers.push(Peer { name: name.to_owned(), id, ..Peer::default() });
        }
        is_new
    }

    /// Removes a peer; `false` if the name is unknown.
    pub fn remove(&mut self, name: &str) -> bool {
        let count = self.peers.len();
        self.peers.retain(|peer| peer.name != name);
        self.peers.len() < count
    }

    /// Processes a message that the peer named `from` sent, as the connection or address shows. Order and repetition do
    /// not matter. Cost: a delta or full copy is a few passes over the filter.
    ///
    /// # Errors
    /// The message is refused, and nothing has changed: [`ShareError::Other`], [`ShareError::Version`],
    /// [`ShareError::Truncated`], [`ShareError::MessageDamaged`], [`ShareError::Epoch`], and for a full copy the errors
    /// of [`pack::Decoder`]; [`ShareError::Unauthentic`] without a tag of the [key](Self::with_key);
    /// [`ShareError::UnknownCache`]; [`ShareError::OtherCache`] if it is about another cache than `from`; [`ShareError::IsRequest`] for a request, which is for a summary;
    /// [`ShareError::TooLarge`]; [`ShareError::Unlike`] if its keys are hashed differently.
    pub fn receive(
        &mut self,
        from: &str,
        message: &[u8],
        now: Duration,
    ) -> Result<Received, ShareError> {
        let message = Message::read(opened(self.key.as_ref(), message)?)?;
        let (scheme, limits) = (self.hasher.scheme(), self.limits);
        let id = message.cache;
        let peer = self.peers.iter_mut().find(|peer| peer.id == id);
        let peer = peer.ok_or(ShareError::UnknownCache { id })?;
        if peer.name != from {
            return Err(ShareError::OtherCache { from: from.to_owned(), id });
        }
        // Without a key, anyone could send the greatest number, and all later messages would be ignored.
        let number = self.key.as_ref().map(|_| (message.point.epoch, message.number));
        let is_later = number.is_none() || number > peer.authentic;
        let mut step = peer.receive(&message, is_later, now, scheme, limits)?;
        peer.authentic = peer.authentic.max(number);
        if let Step::Missing(Some(request)) = step {
            step = Step::Missing(Some(sealed(self.key.as_ref(), request)));
        }
        Ok(Received { peer: peer.name.clone(), step })
    }

    /// Returns the request for a full copy of a peer's filter, to be sent to it; `None` if the peer is unknown. A
    /// cache that starts sends one to each peer.
    pub fn request(&mut self, name: &str, now: Duration) -> Option<Vec<u8>> {
        let peer = self.peers.iter_mut().find(|peer| peer.name == name)?;
        peer.requested = Some(now);
        Some(sealed(self.key.as_ref(), peer.request()))
    }

    /// Returns the peers that may have a key, best first: by the chance that they have it, then by how fresh their
    /// filters are. Cost: one hash, and one cache line per peer.
    ///
    /// A peer without a filter, or silent for [`Limits::silence`], is not named. A peer whose filter is not the latest
    /// is named: most of its keys are still there.
    pub fn candidates(&self, key: impl Key, now: Duration) -> Vec<Candidate<'_>> {
        let hash = self.hasher.hash(key);
        let speaks = |peer: &&Peer| peer.silent(now).is_some_and(|time| time < self.limits.silence);
        let found = self.peers.iter().filter(speaks).filter_map(|peer| {
            let replica = peer.replica.as_ref().filter(|one| one.filter.contains(hash))?;
            let age = peer.age(now).unwrap_or(Duration::MAX);
            Some(Candidate { peer: &peer.name, chance: peer.chance(replica), age })
        });
        let mut found: Vec<_> = found.collect();
        found.sort_by(|a, b| b.chance.total_cmp(&a.chance).then(a.age.cmp(&b.age)));
        found
    }

    /// Notes whether a peer that [`candidates`](Self::candidates) named had the key.
    pub fn note(&mut self, name: &str, had_it: bool) {
        let Some(peer) = self.peers.iter_mut().find(|peer| peer.name == name) else { return };
        peer.asked += 1.0;
        peer.hits += f64::from(u8::from(had_it));
        if peer.asked >= MOST {
            peer.asked /= 2.0;
            peer.hits /= 2.0;
        }
    }

    /// Reports on each peer, in the order in which they were added.
    pub fn status(&self, now: Duration) -> Vec<Status<'_>> {
        self.peers.iter().map(|peer| peer.status(now)).collect()
    }

    /// Returns the replica of a peer's filter, to write or compare it.
    pub fn filter(&self, name: &str) -> Option<&Blocked<Scheme>> {
        let peer = self.peers.iter().find(|peer| peer.name == name)?;
        peer.replica.as_ref().map(|replica| &replica.filter)
    }
}

impl Peer {
    fn receive(
        &mut self,
        message: &Message<'_>,
        is_later: bool,
        now: Duration,
        scheme: Scheme,
        limits: Limits,
    ) -> Result<Step, ShareError> {
        let ours = self.replica.as_ref().map(|replica| replica.point);
        let step = match (message.form, ours) {
            (Form::Request, _) => return Err(ShareError::IsRequest),
            (_, Some(ours)) if ours == message.point && !is_later => Step::Old,
            (_, Some(ours)) if ours == message.point => {
                self.confirm(message.changes, now);
                Step::Confirmed
            }
            // Late or repeated. But if nothing confirmed the replica for some time, it is a restart with an old epoch.
            (form, Some(ours)) if message.point.order() < ours.order() => {
                let is_last = form == Form::Full && ours.epoch == GREATEST_EPOCH;
                if self.age(now).is_some_and(|age| age < limits.retry) {
                    Step::Old
                } else if is_last && self.requested.is_some() {
                    // The answer to a request: the cache has no greater epoch left.
                    self.replace(unpack(message, scheme, limits.bytes)?, message, now)
                } else {
                    self.missing(now, limits)
                }
            }
            (Form::Full, _) => self.replace(unpack(message, scheme, limits.bytes)?, message, now),
            (Form::Delta, Some(ours)) if follows(message, &ours) => {
                let replica = self.replica.as_ref().expect("it has a point");
                let filter = patch(&replica.filter, message)?;
                self.replace(filter, message, now)
            }
            (Form::Delta | Form::Beat, _) => {
                self.later(message.point);
                self.missing(now, limits)
            }
        };
        if is_later {
            self.heard = Some(now);
        }
        Ok(step)
    }

    /// The replica is the published filter.
    fn confirm(&mut self, changes: Changes, now: Duration) {
        let replica = self.replica.as_mut().expect("only a replica is confirmed");
        replica.changes = changes;
        self.confirmed = Some(now);
        self.latest = Some(replica.point);
        self.requested = None;
    }

    fn replace(&mut self, filter: Blocked<Scheme>, message: &Message<'_>, now: Duration) -> Step {
        let fpp = filter.receipt().fpp;
        let (point, changes) = (message.point, message.changes);
        self.replica = Some(Replica { filter, point, changes, fpp });
        self.confirm(changes, now);
        Step::Applied
    }

    /// A later filter was published. After a restart, earlier statistics of the cache no longer apply.
    fn later(&mut self, point: Point) {
        if self.latest.is_none_or(|latest| latest.order() <= point.order()) {
            self.latest = Some(point);
        }
        if self.replica.as_ref().is_some_and(|replica| replica.point.epoch < point.epoch) {
            self.replica = None;
        }
    }

    fn missing(&mut self, now: Duration, limits: Limits) -> Step {
        if self.requested.is_some_and(|then| now.saturating_sub(then) < limits.retry) {
            return Step::Missing(None);
        }
        self.requested = Some(now);
        Step::Missing(Some(self.request()))
    }

    fn request(&self) -> Vec<u8> {
        let point = self.replica.as_ref().map(|replica| replica.point).unwrap_or_default();
        let changes = Changes::default();
        let (form, number, cache) = (Form::Request, 0, self.id);
        Message { form, number, cache, point, changes, base: 0, body: &[] }.write()
    }

    fn age(&self, now: Duration) -> Option<Duration> {
        self.confirmed.map(|then| now.saturating_sub(then))
    }

    fn silent(&self, now: Duration) -> Option<Duration> {
        self.heard.map(|then| now.saturating_sub(then))
    }

    fn chance(&self, replica: &Replica) -> f64 {
        let expected = (1.0 - replica.gone()) * (1.0 - replica.fpp);
        (self.hits + PRIOR * expected) / (self.asked + PRIOR)
    }

    fn status(&self, now: Duration) -> Status<'_> {
        let replica = self.replica.as_ref();
        let point = replica.map(|replica| replica.point);
        let behind = match (point, self.latest) {
            (Some(ours), Some(latest)) => latest.sequence.saturating_sub(ours.sequence),
            _ => 0,
        };
        Status {
            peer: &self.name,
            is_current: point.is_some() && point == self.latest,
            behind,
            age: self.age(now),
            silent: self.silent(now),
            version: point.map(|point| point.order()),
            keys: replica.map_or(0, |replica| replica.changes.keys),
            gone: replica.map_or(0.0, Replica::gone),
            unseen: replica.map_or(0.0, Replica::unseen),
            fpp: replica.map_or(0.0, |replica| replica.fpp),
            hit_rate: (self.asked > 0.0).then(|| self.hits / self.asked),
            bytes: replica.map_or(0, |replica| replica.filter.bytes()),
        }
    }
}

impl Replica {
    fn gone(&self) -> f64 {
        let Changes { keys, came, left } = self.changes;
        share(left, keys.saturating_add(left).saturating_sub(came))
    }

    fn unseen(&self) -> f64 {
        share(self.changes.came, self.changes.keys)
    }
}

/// A share of keys. A key that came and left again counts as both, so the part may exceed the whole.
fn share(part: u64, all: u64) -> f64 {
    if part == 0 { 0.0 } else { (part as f64 / all.max(1) as f64).min(1.0) }
}

/// Whether a delta was made from the replica.
fn follows(delta: &Message<'_>, ours: &Point) -> bool {
    delta.point.epoch == ours.epoch
        && ours.sequence.checked_add(1) == Some(delta.point.sequence)
        && delta.base == ours.state
}

/// The filter in a full copy.
fn unpack(message: &Message<'_>, scheme: Scheme, most: u64) -> Result<Blocked<Scheme>, ShareError> {
    let mut decoder = pack::Decoder::new(message.body, u64::MAX)?;
    let bytes = decoder.length();
    if bytes > most {
        return Err(ShareError::TooLarge { bytes, most });
    }
    let mut file = Vec::new();
    decoder.read_to_end(&mut file)?;
    read(&file, message, scheme)
}

/// The filter that results from a delta.
fn patch(filter: &Blocked<Scheme>, message: &Message<'_>) -> Result<Blocked<Scheme>, ShareError> {
    let base = filter.to_bytes();
    let mut bits = payload(&base).to_vec();
    let mut frames = message.body;
    let mut changed = vec![0; FRAME.min(bits.len())];
    for (number, piece) in (0..).zip(bits.chunks_mut(FRAME)) {
        let changed = &mut changed[..piece.len()];
        frame::read(&mut frames, number, changed, "message")?;
        piece.iter_mut().zip(changed).for_each(|(bits, changed)| *bits ^= *changed);
    }
    if !frames.is_empty() {
        return Err(ShareError::Appended { what: "message" });
    }
    // A file in memory that this process wrote.
    let reader = format::Reader::new(&base[..], base.len() as u64);
    let reader = reader.expect("a filter's file in memory, written by this process");
    let mut file = Vec::with_capacity(base.len());
    format::write_file(&mut file, reader.header(), &bits)?;
    read(&file, message, filter.hasher().scheme())
}

/// The filter of a file, if it is the one that the message names.
fn read(file: &[u8], of: &Message<'_>, scheme: Scheme) -> Result<Blocked<Scheme>, ShareError> {
    if state_of(file) != of.point.state {
        return Err(ShareError::MessageDamaged);
    }
    let filter = Blocked::from_bytes_with(file, umbel::AnyScheme)?;
    if filter.hasher().scheme() != scheme {
        return Err(ShareError::Unlike { field: "hash scheme" });
    }
    Ok(filter)
}
