//! Summaries and their messages: a peer's filter is always one that was published, whatever happens to messages; damage;
//! golden bytes; and the errors of replicas, next to the formula.

use std::collections::{BTreeSet, VecDeque};
use std::fs;
use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::Value;
use twox_hash::XxHash3_64;
use umbel::{KeyHasher, Secret};
use umbel_share::ShareError;
use umbel_share::summary::stale::{Errors, Mix, errors, mean_staleness};
use umbel_share::summary::{Address, GroupKey, Limits, Peers, Settings, Step, Summary};

use crate::Random;
use crate::golden::{FOLDER, cases};
use crate::made::messages;
use crate::world::{Event, World, expected, kept, peers, summary, version};

/// The effect of a message on a receiver.
fn step(receiver: &mut Peers, message: &[u8], now: Duration) -> Step {
    receiver.receive("a", message, now).unwrap().step
}

/// Publishes the filter, if it is time, of a cache that does not outgrow it.
fn published(summary: &mut Summary) -> Option<Vec<u8>> {
    summary.publish(Vec::<u64>::new).unwrap()
}

const BEAT: usize = 88;

const fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        12 => (1u8..40).prop_map(Event::Insert),
        6 => any::<usize>().prop_map(Event::Remove),
        2 => Just(Event::Beat),
        8 => any::<usize>().prop_map(Event::Arrive),
        2 => any::<usize>().prop_map(Event::ArriveTwice),
        3 => any::<usize>().prop_map(Event::Lose),
        1 => (any::<usize>(), any::<usize>()).prop_map(|(message, bit)| Event::Damage(message, bit)),
        1 => (-1i8..2).prop_map(Event::Restart),
        3 => (0u16..1500).prop_map(Event::Wait),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn whatever_happens_to_messages(events in prop::collection::vec(event(), 0..120)) {
        World::new().live(&events);
    }
}

#[test]
fn each_fault_is_noticed() {
    let mut sender = summary("a", 1, 1_000, 0.01);
    let mut receiver = peers("a");
    let mut messages = Vec::new();
    for key in 0..200u64 {
        sender.insert(key);
        messages.extend(published(&mut sender));
    }
    // A delta without the first filter cannot be applied; that filter is requested once per second.
    let first = step(&mut receiver, &messages[0], at(0));
    let Step::Missing(Some(request)) = first else { panic!("{first:?}") };
    assert_eq!(step(&mut receiver, &messages[1], at(0)), Step::Missing(None));
    assert!(matches!(step(&mut receiver, &messages[1], at(1)), Step::Missing(Some(_))));
    let full = sender.answer(&request, Address::Verified).unwrap();
    assert_eq!(step(&mut receiver, &full, at(1)), Step::Applied);
    assert_eq!(step(&mut receiver, &full, at(1)), Step::Confirmed);
    assert_eq!(step(&mut receiver, &messages[3], at(1)), Step::Old);
    let named = [100u64, 5_000_001].map(|key| receiver.candidates(key, at(2)).len());
    assert_eq!(named, [1, 0]);

    // Reordered: the second of two comes first.
    let mut next = |more: std::ops::Range<u64>| {
        more.clone().for_each(|key| sender.insert(key));
        (published(&mut sender).unwrap(), sender.beat())
    };
    let ((one, _), (two, beat)) = (next(200..210), next(210..220));
    let Step::Missing(Some(request)) = step(&mut receiver, &two, at(2)) else { panic!() };
    let status = receiver.status(at(2)).remove(0);
    assert!(!status.is_current && status.behind == 2 && status.age == Some(at(1)), "{status:?}");
    assert_eq!(step(&mut receiver, &one, at(2)), Step::Applied);
    assert_eq!(step(&mut receiver, &two, at(2)), Step::Applied, "both are here now");
    assert_eq!(step(&mut receiver, &beat, at(2)), Step::Confirmed);
    let full = sender.answer(&request, Address::Verified).unwrap();
    assert_eq!(step(&mut receiver, &full, at(2)), Step::Confirmed);

    // A restart: the earlier content no longer counts.
    let mut sender = summary("a", 2, 1_000, 0.01);
    let Step::Missing(Some(request)) = step(&mut receiver, &sender.beat(), at(3)) else { panic!() };
    assert!(receiver.candidates(100u64, at(3)).is_empty());
    let full = sender.answer(&request, Address::Verified).unwrap();
    assert_eq!(step(&mut receiver, &full, at(3)), Step::Applied);
    assert_eq!(step(&mut receiver, &beat, at(3)), Step::Old, "of before the restart");

    // Silence.
    sender.insert(7u64);
    let message = published(&mut sender).unwrap();
    assert_eq!(step(&mut receiver, &message, at(4)), Step::Applied);
    assert_eq!(receiver.candidates(7u64, at(13)).len(), 1);
    assert!(receiver.candidates(7u64, at(14)).is_empty());
}

/// A summary that holds one key and has published it, and the message of that.
fn holding(name: &str, epoch: u64, key: u64) -> (Summary, Vec<u8>) {
    let mut sender = summary(name, epoch, 100, 0.1);
    sender.insert(key);
    let delta = published(&mut sender).unwrap();
    (sender, delta)
}

/// As another program could write it: with correct checksums.
fn forged(message: &[u8], epoch: u64, sequence: u64) -> Vec<u8> {
    let mut message = message.to_vec();
    message[24..32].copy_from_slice(&epoch.to_le_bytes());
    message[32..40].copy_from_slice(&sequence.to_le_bytes());
    let end = message.len() - 8;
    let sum = XxHash3_64::oneshot(&message[..end]);
    message[end..].copy_from_slice(&sum.to_le_bytes());
    message
}

/// No message can silence a cache for good: neither an epoch beyond any clock nor the greatest possible one.
#[test]
fn forged_epochs_are_refused_or_overcome() {
    let greatest = i64::MAX as u64;
    for epoch in [greatest, greatest - 1, greatest + 1, u64::MAX - 1, u64::MAX] {
        let (mut sender, _) = holding("a", 7, 1);
        let mut receiver = peers("a");
        receiver.receive("a", &sender.full(), at(0)).unwrap();
        let (mut stranger, delta) = holding("a", 9, 2);
        let request = receiver.request("a", at(0)).unwrap();
        for message in [&stranger.full(), &stranger.beat(), &delta] {
            let result = receiver.receive("a", &forged(message, epoch, u64::MAX), at(0));
            let implausible = matches!(result, Err(ShareError::Epoch { found }) if found == epoch);
            assert_eq!(implausible, epoch > greatest, "{result:?}");
        }
        let answer = sender.answer(&forged(&request, epoch, u64::MAX), Address::Verified);
        assert_eq!(answer.is_err(), epoch > greatest);
        // Recovery is as after any loss: two beats, each a retry of the earlier step. Also when the cache restarts.
        for restarts in [false, true] {
            if restarts {
                (sender, _) = holding("a", 8, 3);
            }
            for second in [2, 4] {
                let now = at(second + 10 * u64::from(restarts));
                if let Step::Missing(Some(request)) = step(&mut receiver, &sender.beat(), now) {
                    let full = sender.answer(&request, Address::Verified).unwrap();
                    receiver.receive("a", &full, now).unwrap();
                }
            }
            let now = at(5 + 10 * u64::from(restarts));
            let held = if restarts { 3u64 } else { 1 };
            assert_eq!(receiver.candidates(held, now).len(), 1, "{epoch} {restarts}");
            assert!(kept(&receiver, "a").unwrap() == sender.published(), "{epoch} {restarts}");
            assert!(receiver.status(now)[0].is_current, "{epoch} {restarts}");
        }
    }
}

/// The vector of FORMAT.md.
#[test]
fn tags_are_those_of_the_format() {
    let key = GroupKey::new(Secret::new(std::array::from_fn(|at| at as u8)));
    let mut receiver = peers("cache-1.example:3128").with_key(key);
    let request = receiver.request("cache-1.example:3128", at(0)).unwrap();
    let (message, tag) = request.split_at(BEAT);
    let folder = Path::new(FOLDER);
    assert_eq!(fs::read(folder.join("summary-request.message")).unwrap(), message);
    let tag: String = tag.iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(fs::read_to_string(folder.join("../../FORMAT.md")).unwrap().contains(&tag), "{tag}");
}

/// A message from one peer does not affect another.
#[test]
fn no_peer_speaks_for_another() {
    let mut receiver = peers("a");
    receiver.add("b");
    let (mut sender, _) = holding("a", 1, 1);
    let (mut liar, delta) = holding("a", 9, 2);
    receiver.receive("a", &sender.full(), at(0)).unwrap();
    for message in [liar.full(), liar.beat(), delta] {
        let error = receiver.receive("b", &message, at(1)).unwrap_err();
        assert!(matches!(error, ShareError::OtherCache { .. }), "{error}");
    }
    assert!(kept(&receiver, "a").unwrap() == sender.published());
    assert_eq!(receiver.status(at(1))[0].silent, Some(at(1)), "not even heard");
}

/// What an attacker without a key can do between two caches: all messages under way are visible.
#[derive(Clone, Debug)]
enum Attack {
    /// A captured message arrives, again or late.
    Replay(usize),
    /// The attacker's own message: its form, epoch and sequence, and whose tag it carries.
    Forge(u8, u64, u64, usize),
    /// A captured message, with one field changed and its checksum corrected.
    Alter(usize, usize, u64),
    Insert,
    Beat,
    Wait,
}

fn attack() -> impl Strategy<Value = Attack> {
    let number = || prop_oneof![0u64..12, Just(i64::MAX as u64), Just(u64::MAX), any::<u64>()];
    let any = any::<usize>;
    prop_oneof![
        any().prop_map(Attack::Replay),
        (0u8..4, number(), number(), any()).prop_map(|(a, b, c, d)| Attack::Forge(a, b, c, d)),
        (any(), 0usize..8, number()).prop_map(|(a, b, c)| Attack::Alter(a, b, c)),
        Just(Attack::Insert),
        Just(Attack::Beat),
        Just(Attack::Wait),
    ]
}

/// With a captured tag, or none.
fn tagged(mut message: Vec<u8>, seen: &[Vec<u8>], whose: usize) -> Vec<u8> {
    if let Some(from) = seen.get(whose % (seen.len() + 1)) {
        message.extend_from_slice(&from[from.len() - 16..]);
    }
    message
}

proptest! {
    /// With a key, a message from outside the group is refused, and changes neither filter, answers nor report; a repeated
    /// one never makes a filter older. Afterwards one beat and its answer repair all losses.
    #[test]
    fn no_forged_message_changes_an_answer(attacks in prop::collection::vec(attack(), 1..100)) {
        let key = || GroupKey::new(Secret::new([7; 16]));
        let mut sender = summary("a", 5, 40, 0.05).with_key(key());
        let mut receiver = peers("a").with_key(key());
        let mut liar = summary("a", 6, 40, 0.05);
        liar.insert(u64::MAX);
        let lie = liar.publish(Vec::<u64>::new).unwrap().unwrap();
        let lies = [liar.full(), lie, liar.beat(), peers("a").request("a", at(0)).unwrap()];
        let mut seen = vec![sender.full()];
        receiver.receive("a", &seen[0], at(0)).unwrap();
        let (mut keys, mut now) = (Vec::new(), Duration::ZERO);
        for attack in attacks {
            let before = (kept(&receiver, "a"), format!("{:?}", receiver.status(now)));
            let forged = match attack {
                Attack::Replay(which) => {
                    let version = receiver.status(now)[0].version;
                    let received = receiver.receive("a", &seen[which % seen.len()], now).unwrap();
                    let status = &receiver.status(now)[0];
                    prop_assert!(status.version.is_none_or(|now| Some(now) >= version));
                    if received.step == Step::Old {
                        let after = (kept(&receiver, "a"), format!("{:?}", receiver.status(now)));
                        prop_assert!(before == after, "repeated: {:?}, before {:?}", after.1, before.1);
                    }
                    continue;
                }
                Attack::Insert => {
                    let key = keys.len() as u64;
                    keys.push(key);
                    sender.insert(key);
                    if let Some(message) = sender.publish(|| &keys).unwrap() {
                        // It may be lost: messages under way arrive when they are replayed.
                        seen.push(message);
                    }
                    continue;
                }
                Attack::Beat | Attack::Wait => {
                    match attack {
                        Attack::Beat => seen.push(sender.beat()),
                        _ => now += Duration::from_millis(700),
                    }
                    continue;
                }
                Attack::Forge(form, epoch, sequence, whose) => {
                    tagged(forged(&lies[usize::from(form)], epoch, sequence), &seen, whose)
                }
                Attack::Alter(which, field, value) => {
                    let original = &seen[which % seen.len()];
                    let mut message = original[..original.len() - 16].to_vec();
                    message[16 + 8 * field..][..8].copy_from_slice(&value.to_le_bytes());
                    let (epoch, sequence) = version(&message);
                    let altered = forged(&message, epoch, sequence);
                    if altered == original[..original.len() - 16] {
                        continue;
                    }
                    tagged(altered, std::slice::from_ref(original), 0)
                }
            };
            let result = receiver.receive("a", &forged, now);
            prop_assert!(matches!(result, Err(ShareError::Unauthentic)), "{result:?}");
            let version = sender.version();
            prop_assert!(matches!(sender.answer(&forged, Address::Verified), Err(ShareError::Unauthentic)));
            prop_assert_eq!(sender.version(), version);
            let after = (kept(&receiver, "a"), format!("{:?}", receiver.status(now)));
            prop_assert!(before == after, "changed by {:?}", forged);
        }
        // Without more attacks, it is the published filter.
        for _ in 0..2 {
            now += Duration::from_secs(2);
            if let Step::Missing(Some(request)) = receiver.receive("a", &sender.beat(), now).unwrap().step {
                receiver.receive("a", &sender.answer(&request, Address::Verified).unwrap(), now).unwrap();
            }
        }
        prop_assert!(kept(&receiver, "a").unwrap() == sender.published());
    }
}

/// Repeating the latest messages of a dead cache does not make it look alive.
#[test]
fn a_cache_that_is_gone_looks_silent_whatever_is_repeated() {
    let key = || GroupKey::new(Secret::new([7; 16]));
    let mut sender = summary("a", 1, 100, 0.1).with_key(key());
    let mut receiver = peers("a").with_key(key());
    sender.insert(1u64);
    let delta = published(&mut sender).unwrap();
    let messages = [sender.full(), delta, sender.beat()];
    for message in &messages {
        receiver.receive("a", message, at(1)).unwrap();
    }
    for second in 2..15 {
        for message in &messages {
            assert_eq!(receiver.receive("a", message, at(second)).unwrap().step, Step::Old);
        }
    }
    let status = &receiver.status(at(15))[0];
    assert_eq!((status.silent, status.age), (Some(at(14)), Some(at(14))));
    assert!(receiver.candidates(1u64, at(15)).is_empty());
    // It is back, after a restart too.
    for mut back in [sender, summary("a", 2, 100, 0.1).with_key(key())] {
        receiver.receive("a", &back.beat(), at(16)).unwrap();
        assert_eq!(receiver.status(at(16))[0].silent, Some(at(0)));
    }
}

/// A request from an address that is only claimed gets an answer of at most three times its size, whatever the request
/// contains, with and without a key, and however large the filter is.
#[test]
fn answers_to_claimed_addresses_are_small() {
    let cases = [(10, false), (10, true), (1_000, true), (100_000, false), (100_000, true)];
    for (keys, keyed) in cases {
        let key = || GroupKey::new(Secret::new([7; 16]));
        let mut sender = summary("a", 5, keys, 0.1);
        let mut receiver = peers("a");
        if keyed {
            (sender, receiver) = (sender.with_key(key()), receiver.with_key(key()));
        }
        (0..keys).for_each(|key| sender.insert(key));
        published(&mut sender);
        let request = receiver.request("a", at(0)).unwrap();
        let answer = sender.answer(&request, Address::Claimed).unwrap();
        assert!(answer.len() <= 3 * request.len(), "{} for {}", answer.len(), request.len());
        // The beat makes it request again, once it may; over a connection it gets the copy.
        let Step::Missing(Some(again)) = step(&mut receiver, &answer, at(2)) else {
            assert!(keys == 10, "a full copy of {keys} keys");
            continue;
        };
        let full = sender.answer(&again, Address::Verified).unwrap();
        assert!(full.len() > 3 * again.len());
        assert_eq!(step(&mut receiver, &full, at(2)), Step::Applied);
        let has = receiver.request("a", at(4)).unwrap();
        let beat = sender.answer(&has, Address::Claimed).unwrap();
        assert_eq!(step(&mut receiver, &beat, at(4)), Step::Confirmed);
    }
}

#[test]
fn an_outgrown_filter_is_planned_anew() {
    let mut sender = summary("a", 1, 100, 0.1);
    let mut receiver = peers("a");
    receiver.receive("a", &sender.full(), at(0)).unwrap();
    let mut keys = Vec::new();
    let mut fulls = 0;
    for key in 0..1_000u64 {
        keys.push(key);
        sender.insert(key);
        if let Some(message) = sender.publish(|| &keys).unwrap() {
            fulls += u32::from(message[10] == 1);
            assert_eq!(step(&mut receiver, &message, at(0)), Step::Applied);
            assert!(kept(&receiver, "a").unwrap() == expected(&sender, &keys));
        }
    }
    // After 100, some 220, some 480: each plan is for twice the keys.
    assert_eq!(fulls, 4);
    assert!(sender.planned() >= 1_000 && sender.keys() == 1_000);
    let rate = receiver.status(at(0))[0].fpp;
    assert!(rate < 0.03, "8 bits per key at most, {rate}");
}

#[test]
fn messages_are_refused_when_damaged_or_for_others() {
    let mut sender = summary("a", 1, 300, 0.01);
    let mut receiver = peers("a");
    receiver.receive("a", &sender.full(), at(0)).unwrap();
    (0..40u64).for_each(|key| sender.insert(key));
    let delta = published(&mut sender).unwrap();
    let before = kept(&receiver, "a");
    let request = receiver.request("a", at(0)).unwrap();
    for message in [&delta, &sender.full(), &sender.beat(), &request] {
        for bit in 0..8 * message.len() {
            let mut damaged = message.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(receiver.receive("a", &damaged, at(0)).is_err(), "bit {bit}");
            assert!(sender.answer(&damaged, Address::Verified).is_err(), "bit {bit}");
        }
        for length in 0..message.len() {
            assert!(receiver.receive("a", &message[..length], at(0)).is_err(), "{length}");
        }
        assert!(receiver.receive("a", &[message, &[0][..]].concat(), at(0)).is_err());
    }
    assert!(kept(&receiver, "a") == before, "nothing has changed");

    let unknown = summary("b", 1, 300, 0.01).full();
    let error = receiver.receive("a", &unknown, at(0)).unwrap_err();
    assert!(matches!(error, ShareError::UnknownCache { .. }), "{error}");
    assert!(matches!(receiver.receive("a", &request, at(0)), Err(ShareError::IsRequest)));
    assert!(matches!(sender.answer(&delta, Address::Verified), Err(ShareError::NotRequest)));
    let other = peers("b").request("b", at(0)).unwrap();
    let answer = sender.answer(&other, Address::Verified);
    assert!(matches!(answer, Err(ShareError::UnknownCache { .. })));

    let hasher = KeyHasher::keyed(Secret::new([1; 16]));
    let mut keyed = Summary::new("a", 2, 300, Settings::default(), hasher).unwrap();
    let error = receiver.receive("a", &keyed.full(), at(0)).unwrap_err();
    assert!(matches!(error, ShareError::Unlike { field: "hash scheme" }), "{error}");
    let limits = Limits { bytes: 200, ..Limits::default() };
    let mut small = Peers::new(KeyHasher::default(), limits);
    small.add("a");
    let error = small.receive("a", &sender.full(), at(0)).unwrap_err();
    assert!(matches!(error, ShareError::TooLarge { most: 200, .. }), "{error}");
    assert!(receiver.remove("a") && !receiver.remove("a") && receiver.status(at(0)).is_empty());
}

#[test]
fn the_best_peer_comes_first() {
    let mut receiver = peers("a");
    receiver.add("b");
    receiver.add("c");
    for (name, seconds) in [("a", 0), ("b", 2), ("c", 1)] {
        let mut sender = summary(name, 1, 100, 0.1);
        sender.insert("page");
        published(&mut sender);
        receiver.receive(name, &sender.full(), at(seconds)).unwrap();
    }
    let order = |receiver: &Peers| -> Vec<String> {
        receiver.candidates("page", at(3)).iter().map(|one| one.peer.to_owned()).collect()
    };
    assert_eq!(order(&receiver), ["b", "c", "a"], "by freshness, as all have the same chance");
    receiver.note("b", false);
    (0..3).for_each(|_| receiver.note("a", true));
    assert_eq!(order(&receiver), ["a", "c", "b"], "by what they had");
    let candidates = receiver.candidates("page", at(3));
    let chances: Vec<f64> = candidates.iter().map(|one| one.chance).collect();
    assert!(chances.is_sorted_by(|a, b| a >= b) && chances[2] < 0.9, "{chances:?}");
    // Old outcomes fade: a peer that has failed for long recovers.
    (0..100_000).for_each(|_| receiver.note("b", false));
    (0..3_000).for_each(|_| receiver.note("b", true));
    assert!(receiver.status(at(3))[1].hit_rate.unwrap() > 0.8);
}

#[test]
fn the_status_says_what_a_filter_gets_wrong() {
    let mut sender = summary("a", 1, 1_000, 0.1);
    let mut receiver = peers("a");
    (0..1_000u64).for_each(|key| sender.insert(key));
    published(&mut sender);
    receiver.receive("a", &sender.full(), at(0)).unwrap();
    // 50 leave and 30 come: 5 % of the published filter's keys, and 3 in 98 of the present ones.
    (0..50u64).for_each(|key| assert!(sender.remove(key)));
    (1_000..1_030u64).for_each(|key| sender.insert(key));
    receiver.receive("a", &sender.beat(), at(1)).unwrap();
    let status = receiver.status(at(3)).remove(0);
    assert_eq!((status.keys, status.gone, status.unseen), (980, 0.05, 30.0 / 980.0));
    assert_eq!((status.age, status.silent, status.hit_rate), (Some(at(2)), Some(at(2)), None));
    assert!((0.02..0.03).contains(&status.fpp) && status.bytes == 960, "{status:?}");
    let errors = status.errors(Mix::uniform(0.4));
    let computed = [0.02 + status.fpp * 0.58, 0.4 * 30.0 / 980.0 * (1.0 - status.fpp)];
    for (error, computed) in [errors.false_hits, errors.false_misses].iter().zip(computed) {
        assert!((error - computed).abs() < 1e-12, "{errors:?}");
    }
}

/// A message of a few changes is little more than its header, and of many about the entropy of the changed bits.
#[test]
fn deltas_are_small() {
    let settings = Settings::default();
    let mut sender = Summary::new("a", 1, 10_000, settings, KeyHasher::default()).unwrap();
    (0..9_900u64).for_each(|key| sender.insert(key));
    published(&mut sender);
    assert_eq!(sender.beat().len(), BEAT);
    let full = sender.full().len();
    assert!((19_000..20_600).contains(&full), "{full} bytes, 16 bits per key");
    for key in 0..99 {
        assert!(sender.remove(key));
        sender.insert(10_000 + key);
    }
    let delta = published(&mut sender).unwrap().len();
    // 198 keys of up to 11 probes in 160,000 bits: each bit that changes is 1 of about 74, and costs 7.6 bits.
    assert!((1_000..2_400).contains(&delta), "{delta} bytes");
}

#[test]
fn golden_messages() {
    let cases = cases("messages");
    let files = cases.iter().flat_map(|case| [&case["file"], &case["result"]]);
    let listed: BTreeSet<_> = files.filter_map(Value::as_str).collect();
    let made = messages();
    assert_eq!(listed, made.iter().map(|(name, _)| *name).collect());
    for (name, made) in &made {
        let file = fs::read(Path::new(FOLDER).join(name)).unwrap();
        assert!(file == *made, "{name} would be written otherwise");
    }
}

/// A cache that replaces its oldest key by a new one, its replica, and requests of a known mix.
struct Simulation {
    keys: u64,
    threshold: f64,
    /// Replacements before a message arrives.
    delay: usize,
    mix: Mix,
}

/// Keys that just came or left are requested more often until this share of all keys has come since.
const WINDOW: f64 = 0.2;
const REQUESTS: u64 = 400_000;
/// Requests per replacement.
const PACE: u64 = 4;

impl Simulation {
    /// Counts false hits and false misses; gives the filter's plan too.
    fn run(&self, seed: u64) -> (u64, u64, umbel::Plan) {
        let mut random = Random(seed);
        let mut sender = summary("a", 1, self.keys, self.threshold);
        let mut receiver = peers("a");
        // Keys below the first one count as departed.
        let (mut oldest, mut newest) = (self.keys, 2 * self.keys);
        (oldest..newest).for_each(|key| sender.insert(key));
        published(&mut sender);
        receiver.receive("a", &sender.full(), at(0)).unwrap();
        let mut under_way: VecDeque<(u64, Vec<u8>)> = VecDeque::new();
        let (mut false_hits, mut false_misses) = (0, 0);
        // Not counted until the first messages have arrived.
        let warm = 2 * PACE * self.keys;
        for request in 0..warm + REQUESTS {
            if request % PACE == 0 {
                assert!(sender.remove(oldest));
                sender.insert(newest);
                (oldest, newest) = (oldest + 1, newest + 1);
                if let Some(message) = published(&mut sender) {
                    under_way.push_back((newest + self.delay as u64, message));
                }
                while under_way.front().is_some_and(|(due, _)| *due <= newest) {
                    let (_, message) = under_way.pop_front().unwrap();
                    assert_eq!(receiver.receive("a", &message, at(0)).unwrap().step, Step::Applied);
                }
            }
            let key = self.draw(&mut random, oldest, newest);
            let is_held = (oldest..newest).contains(&key);
            let is_named = !receiver.candidates(key, at(0)).is_empty();
            if request >= warm {
                false_hits += u64::from(is_named && !is_held);
                false_misses += u64::from(!is_named && is_held);
            }
        }
        (false_hits, false_misses, sender.plan())
    }

    /// A key by the mix: held keys are from `oldest` to `newest`, departed ones are below.
    fn draw(&self, random: &mut Random, oldest: u64, newest: u64) -> u64 {
        let unit = |random: &mut Random| random.below(1 << 52) as f64 / (1u64 << 52) as f64;
        let window = (WINDOW * self.keys as f64) as u64;
        let Mix { held, new, departed } = self.mix;
        let choice = unit(random);
        let is_young = choice < held && unit(random) < new * WINDOW;
        match choice {
            _ if is_young => newest - 1 - random.below(window),
            _ if choice < held => oldest + random.below(self.keys - window),
            _ if choice < held + departed * held * WINDOW => oldest - 1 - random.below(window),
            // A key that the cache never had.
            _ => (1 << 40) + random.below(1 << 40),
        }
    }
}

#[test]
fn replicas_err_as_computed() {
    let uniform = Mix::uniform(0.4);
    let recent = Mix { held: 0.3, new: 3.0, departed: 2.0 };
    let absent = Mix { held: 0.02, new: 1.0, departed: 0.5 };
    let thresholds = [(0.01, 0), (0.1, 0), (0.05, 0), (0.02, 100), (0.1, 0)];
    let cases = thresholds.into_iter().zip([uniform, uniform, recent, recent, absent]);
    for (seed, ((threshold, delay), mix)) in (1..).zip(cases) {
        let simulation = Simulation { keys: 2_000, threshold, delay, mix };
        let (false_hits, false_misses, plan) = simulation.run(seed);
        // Time is counted in replacements: the rate is 1.
        let stale = mean_staleness(simulation.keys, threshold, 1.0, delay as f64);
        let rate = plan.predicted_fpp_at(simulation.keys);
        let errors = errors(stale, rate, mix);
        // Given the filters, each request errs independently: a sum of Bernoulli variables, whose variance is below its
        // mean. The filters' own rates vary around the predicted one by their spread; they have much in common, so all
        // of it counts. 6 deviations, which are 2 to 30 % of these counts.
        let spread = plan.fpp_spread().deviation * REQUESTS as f64;
        for (what, count, error, spread) in [
            ("false hits", false_hits, errors.false_hits, spread),
            ("false misses", false_misses, errors.false_misses, 0.0),
        ] {
            let mean = error * REQUESTS as f64;
            let deviation = (mean + spread * spread).sqrt();
            let off = (count as f64 - mean) / deviation;
            let found = format!("{threshold} {delay} {mix:?}: {count} {what}, {mean:.0} computed");
            println!("{found}, {off:.1} deviations");
            assert!(off.abs() < 6.0, "{found}");
        }
    }
}

#[test]
fn errors_have_limits() {
    let mix = Mix { held: 0.4, new: 2.0, departed: 3.0 };
    assert_eq!(errors(0.0, 0.0, mix), Errors { false_hits: 0.0, false_misses: 0.0 });
    assert_eq!(errors(1.0, 0.0, mix), Errors { false_hits: 0.6, false_misses: 0.4 });
    assert_eq!(errors(0.0, 0.5, mix).false_hits, 0.3);
    assert_eq!(mean_staleness(0, 0.01, 0.0, 0.0), 0.0);
    assert_eq!(mean_staleness(1_000, 0.01, 0.0, 0.0), 0.0045);
    assert_eq!(mean_staleness(1_000, 0.01, 100.0, 100.0), 1.0);
}
