//! A cache, a peer, and possible accidents to messages between them: the peer only ever has filters that were published.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use umbel::{Blocked, Filter, KeyHasher};
use umbel_share::summary::{Address, Limits, Peers, Settings, Step, Summary};

pub(crate) fn summary(name: &str, epoch: u64, keys: u64, threshold: f64) -> Summary {
    let settings = Settings { bits_per_key: 8.0, threshold };
    Summary::new(name, epoch, keys, settings, KeyHasher::default()).unwrap()
}

pub(crate) fn peers(name: &str) -> Peers {
    let mut peers = Peers::new(KeyHasher::default(), Limits::default());
    assert!(peers.add(name) && !peers.add(name));
    peers
}

/// The file of the filter that a summary of these keys publishes.
pub(crate) fn expected<'a>(summary: &Summary, keys: impl IntoIterator<Item = &'a u64>) -> Vec<u8> {
    let mut filter = Blocked::with_plan(&summary.plan(), KeyHasher::default()).unwrap();
    filter.extend(keys);
    filter.to_bytes()
}

pub(crate) fn kept(peers: &Peers, name: &str) -> Option<Vec<u8>> {
    peers.filter(name).map(|filter| filter.to_bytes())
}

/// Epoch and sequence number of a message.
pub(crate) fn version(message: &[u8]) -> (u64, u64) {
    let field = |at: usize| u64::from_le_bytes(message[at..at + 8].try_into().unwrap());
    (field(24), field(32))
}

/// Possible events: to a cache, to messages under way, and to time.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    Insert(u8),
    Remove(usize),
    Beat,
    /// A message under way arrives; it may be any of them.
    Arrive(usize),
    /// It arrives, and will again.
    ArriveTwice(usize),
    Lose(usize),
    /// A bit of it flips.
    Damage(usize, usize),
    /// With a later epoch, the same one, or an earlier one.
    Restart(i8),
    Wait(u16),
}

/// A cache, a peer of it, and the messages between them.
pub(crate) struct World {
    summary: Summary,
    epoch: u64,
    keys: Vec<u64>,
    next_key: u64,
    peers: Peers,
    now: Duration,
    under_way: Vec<Vec<u8>>,
    /// Filters made from the keys themselves, by epoch and sequence; several if an epoch was used twice.
    published: HashMap<(u64, u64), HashSet<Vec<u8>>>,
    latest: Vec<u8>,
    requests: u64,
}

impl World {
    pub(crate) fn new() -> Self {
        let mut world = Self {
            summary: summary("a", 5, 50, 0.05),
            epoch: 5,
            keys: Vec::new(),
            next_key: 0,
            peers: peers("a"),
            now: Duration::ZERO,
            under_way: Vec::new(),
            published: HashMap::new(),
            latest: Vec::new(),
            requests: 0,
        };
        world.note();
        world
    }

    /// Notes the filter that is published now.
    fn note(&mut self) {
        self.latest = expected(&self.summary, &self.keys);
        self.record();
    }

    fn record(&mut self) {
        let version = version(&self.summary.beat());
        self.published.entry(version).or_default().insert(self.latest.clone());
    }

    fn changed(&mut self) {
        let message = self.summary.publish(|| &self.keys).unwrap();
        if let Some(message) = message {
            self.note();
            self.under_way.push(message);
        }
    }

    fn restart(&mut self, later: i8) {
        self.epoch = self.epoch.saturating_add_signed(i64::from(later));
        self.summary = summary("a", self.epoch, 50, 0.05);
        self.keys.clear();
        self.note();
    }

    /// A message reaches its receiver.
    fn arrive(&mut self, message: &[u8]) {
        if message[10] == 4 {
            if let Ok(answer) = self.summary.answer(message, Address::Verified) {
                // Its epoch may be a later one.
                self.record();
                self.under_way.push(answer);
            }
            return;
        }
        let Ok(received) = self.peers.receive("a", message, self.now) else { return };
        if let Step::Missing(Some(request)) = received.step {
            self.requests += 1;
            self.under_way.push(request);
        }
    }

    fn check(&self) {
        let status = &self.peers.status(self.now)[0];
        match (status.version, kept(&self.peers, "a")) {
            (None, None) => {}
            (Some(version), Some(file)) => {
                let published = self.published.get(&version);
                assert!(published.is_some_and(|files| files.contains(&file)), "{version:?}");
            }
            other => panic!("{:?}", other.0),
        }
    }

    fn happen(&mut self, event: &Event) {
        let count = self.under_way.len();
        match *event {
            Event::Insert(more) => {
                for _ in 0..more {
                    self.keys.push(self.next_key);
                    self.summary.insert(self.next_key);
                    self.next_key += 1;
                }
                self.changed();
            }
            Event::Remove(index) if !self.keys.is_empty() => {
                let key = self.keys.swap_remove(index % self.keys.len());
                assert!(self.summary.remove(key));
                self.changed();
            }
            Event::Beat => self.under_way.push(self.summary.beat()),
            Event::Arrive(index) if count > 0 => {
                let message = self.under_way.remove(index % count);
                self.arrive(&message);
            }
            Event::ArriveTwice(index) if count > 0 => {
                let message = self.under_way[index % count].clone();
                self.arrive(&message);
            }
            Event::Lose(index) if count > 0 => {
                self.under_way.remove(index % count);
            }
            Event::Damage(index, bit) if count > 0 => {
                let message = &mut self.under_way[index % count];
                let bit = bit % (8 * message.len());
                message[bit / 8] ^= 1 << (bit % 8);
            }
            Event::Restart(later) => self.restart(later),
            Event::Wait(milliseconds) => self.now += Duration::from_millis(u64::from(milliseconds)),
            _ => {}
        }
        self.check();
    }

    /// The network works again: two beats repair everything, each a retry of the earlier step.
    fn heal(&mut self) {
        for _ in 0..2 {
            self.now += Limits::default().retry;
            self.under_way.push(self.summary.beat());
            while !self.under_way.is_empty() {
                let message = self.under_way.remove(0);
                self.arrive(&message);
                self.check();
            }
        }
        assert!(kept(&self.peers, "a").is_some_and(|file| file == self.latest));
        let status = &self.peers.status(self.now)[0];
        assert!(status.is_current && status.behind == 0, "{status:?}");
    }

    /// Lets events happen, then repairs; asserts that nothing is requested any more.
    pub(crate) fn live(mut self, events: &[Event]) {
        events.iter().for_each(|event| self.happen(event));
        self.heal();
        self.requests = 0;
        self.happen(&Event::Insert(39));
        self.under_way.push(self.summary.beat());
        for _ in 0..self.under_way.len() {
            self.happen(&Event::Arrive(0));
        }
        assert_eq!(self.requests, 0);
        assert!(kept(&self.peers, "a").is_some_and(|file| file == self.latest));
    }
}
