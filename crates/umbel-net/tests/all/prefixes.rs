//! Longest prefixes: equal to a binary trie in a million look-ups and to a plain list in small cases; the rate of the
//! approximate form; and the golden files of FORMAT.md, section 23.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use umbel::internals::math::binomial_bounds;
use umbel::internals::{GOLDEN, mix};
use umbel::{AnyFilter, Filter, KeyHasher, Secret};
use umbel_net::prefixes::{Address, Network, Prefix, PrefixFilter, Prefixes, Suffixes};

use crate::{ALPHA, long};

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        mix(self.0)
    }

    fn wide(&mut self) -> u128 {
        u128::from(self.next()) << 64 | u128::from(self.next())
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }
}

/// Prefixes of each length, in thousandths, in the Internet's routes. The table is the one that the crate iptrie 0.11.2
/// is measured with (`benches/bgpas.lpm`: 1,072,529 of IPv4, 176,388 of IPv6, before June 2023). Each length is
/// followed by its thousandths.
const FOUR: [usize; 36] = [
    8, 1, 10, 1, 12, 1, 13, 1, 14, 1, 15, 2, 16, 13, 17, 8, 18, 13, 19, 23, 20, 40, 21, 50, 22,
    104, 23, 96, 24, 526, 27, 16, 30, 75, 32, 29,
];
const SIX: [usize; 32] = [
    19, 1, 20, 1, 28, 1, 29, 24, 30, 3, 32, 129, 33, 18, 34, 15, 36, 35, 38, 9, 40, 79, 42, 28, 44,
    88, 46, 19, 48, 536, 128, 14,
];

/// A table with this many prefixes, half of them inside others, including 0/0.
fn table<A: Address>(
    lengths: &[usize],
    count: usize,
    of_bits: fn(u128) -> A,
    random: &mut Random,
) -> Vec<(Prefix<A>, u32)> {
    let mut all = vec![(Prefix::new(of_bits(0), 0).unwrap(), 0)];
    for &[length, share] in lengths.as_chunks().0 {
        for _ in 0..count * share / 1000 {
            // Limits prefixes to a sixteenth of all addresses, to make look-ups hit the shorter ones.
            let mut bits = random.wide() >> 4;
            if random.below(2) == 0 {
                let (outer, _) = all[random.below(all.len())];
                let low = u128::MAX.checked_shr(outer.length().into()).unwrap_or(0);
                bits = to_bits(outer.address()) | bits & low;
            }
            all.push((Prefix::new(of_bits(bits), length as u8).unwrap(), all.len() as u32));
        }
    }
    all
}

/// The bits of an address at the upper end.
fn to_bits<A: Address>(address: A) -> u128 {
    match address.to_string().parse().unwrap() {
        std::net::IpAddr::V4(four) => u128::from(four.to_bits()) << 96,
        std::net::IpAddr::V6(six) => six.to_bits(),
    }
}

fn four(bits: u128) -> Ipv4Addr {
    Ipv4Addr::from_bits((bits >> 96) as u32)
}

/// A binary trie, one bit per node, which shares nothing with the code that it checks.
#[derive(Default)]
struct Trie {
    nodes: Vec<[u32; 2]>,
    values: Vec<Option<u32>>,
}

impl Trie {
    fn new<A: Address>(table: &[(Prefix<A>, u32)]) -> Self {
        let mut trie = Self { nodes: vec![[0; 2]], values: vec![None] };
        for (prefix, value) in table {
            let (bits, mut node) = (to_bits(prefix.address()), 0);
            for at in 0..prefix.length() {
                let side = (bits >> (127 - at) & 1) as usize;
                if trie.nodes[node][side] == 0 {
                    trie.nodes[node][side] = trie.nodes.len() as u32;
                    trie.nodes.push([0; 2]);
                    trie.values.push(None);
                }
                node = trie.nodes[node][side] as usize;
            }
            trie.values[node] = Some(*value);
        }
        trie
    }

    fn longest(&self, bits: u128, length: u8) -> Option<u32> {
        let (mut node, mut found) = (0, self.values[0]);
        for at in 0..length {
            node = self.nodes[node][(bits >> (127 - at) & 1) as usize] as usize;
            if node == 0 {
                break;
            }
            found = self.values[node].or(found);
        }
        found
    }
}

/// A million look-ups: random addresses, and addresses in or next to listed prefixes.
fn as_the_trie<A: Address>(lengths: &[usize], of_bits: fn(u128) -> A) {
    let mut random = Random(7);
    let table = table(lengths, 100_000, of_bits, &mut random);
    let (list, trie) = (Prefixes::new(table.iter().copied()).unwrap(), Trie::new(&table));
    let (mut found, mut wrong_probes, mut expected_probes) = (BTreeMap::new(), 0u32, 0.0);
    for i in 0..long(1_000_000, 200_000) {
        let near = to_bits(table[random.below(table.len())].0.address());
        let bits = match i % 4 {
            0 => random.wide() >> 4,
            // Up to 2^(W − 8) further, mostly inside.
            1 => near.wrapping_add(random.wide() >> random.below(120) as u32 >> 8),
            2 => near.wrapping_sub(1 << (128 - A::BITS)),
            _ => near ^ 1 << (127 - random.below(A::BITS.into())),
        };
        let address = of_bits(bits);
        let (prefix, value) = list.longest(address).expect("0/0 is in the list");
        assert_eq!(Some(*value), trie.longest(to_bits(address), A::BITS), "{address}");
        assert!(prefix.contains(address));
        *found.entry(prefix.length()).or_insert(0u32) += 1;
        if i % 1000 == 0 {
            expected_probes += list.false_probes(address);
            wrong_probes += 1;
        }
    }
    // Checks that every length was found, so none of them is untested.
    let all: BTreeSet<u8> = list.lengths().iter().collect();
    assert_eq!(found.keys().copied().collect::<BTreeSet<_>>(), all);
    let each = expected_probes / f64::from(wrong_probes);
    assert!(each > 0.0 && each < 0.5, "{each} false probes per look-up are expected");
}

#[test]
fn a_million_look_ups_of_ipv4_are_those_of_a_trie() {
    as_the_trie(&FOUR, four);
}

#[test]
fn a_million_look_ups_of_ipv6_are_those_of_a_trie() {
    as_the_trie(&SIX, Ipv6Addr::from_bits);
}

/// The domain in a set that a host equals or is under, found by trying all; a trie over labels would agree.
fn by_trying<'h>(listed: &BTreeMap<String, u32>, host: &'h str) -> Option<(&'h str, u32)> {
    let starts = std::iter::once(0).chain(host.match_indices('.').map(|(dot, _)| dot + 1));
    starts.map(|start| &host[start..]).find_map(|name| Some((name, *listed.get(name)?)))
}

#[test]
fn a_million_look_ups_of_hosts_are_those_of_trying_all_domains() {
    let mut random = Random(8);
    let label = |random: &mut Random| format!("{:x}", random.next() >> (random.below(13) * 4 + 4));
    let name = |random: &mut Random| {
        let labels: Vec<_> = (0..1 + random.below(3)).map(|_| label(random)).collect();
        labels.join(".") + ["", ".com", ".example", ".co.uk"][random.below(4)]
    };
    let listed: BTreeMap<String, u32> =
        (0..100_000).map(|value| (name(&mut random), value)).collect();
    let names: Vec<_> = listed.keys().cloned().collect();
    let list = Suffixes::new(listed.iter().map(|(name, value)| (name, *value))).unwrap();
    assert_eq!(list.len(), listed.len());
    let (mut found, all) = (0, long(1_000_000, 200_000));
    for i in 0..all {
        let near = &names[random.below(names.len())];
        let host = match i % 4 {
            0 => name(&mut random),
            1 => format!("{}.{near}", label(&mut random)),
            2 => format!("a.b.{}{near}", label(&mut random)),
            _ => near.clone(),
        };
        let expected = by_trying(&listed, &host);
        assert_eq!(list.longest(&host).map(|(name, value)| (name, *value)), expected, "{host}");
        found += u64::from(expected.is_some());
    }
    assert!((all / 2..all / 10 * 9).contains(&found), "{found}");
}

/// Prefixes close together, of all lengths.
fn prefixes_of_four() -> impl Strategy<Value = Vec<(Prefix<Ipv4Addr>, u32)>> {
    let one = (any::<u32>(), 0..=32u8, any::<u32>()).prop_map(|(bits, length, value)| {
        // Few different bits, to make prefixes nest.
        (Prefix::new(Ipv4Addr::from_bits(bits & 0x8181_8181), length).unwrap(), value)
    });
    prop::collection::vec(one, 0..80)
}

proptest! {
    #[test]
    fn small_lists_of_ipv4_are_as_a_linear_search(
        list in prefixes_of_four(),
        asked in prop::collection::vec(any::<u32>(), 30),
        length in 0..=32u8,
    ) {
        // If prefixes are equal, the last one counts.
        let linear = |within: Prefix<Ipv4Addr>| {
            let inside = list.iter().filter(|(prefix, _)| {
                prefix.length() <= within.length() && prefix.contains(within.address())
            });
            inside.max_by_key(|(prefix, _)| prefix.length()).copied()
        };
        let found = Prefixes::new(list.iter().copied()).unwrap();
        let keyed = KeyHasher::keyed(Secret::new([7; 16]));
        let seeded = Prefixes::with_hasher(list.iter().copied(), keyed).unwrap();
        let networks: Vec<_> = list.iter().map(|(prefix, _)| Network::V4(*prefix)).collect();
        let filter = PrefixFilter::from_networks(&networks, 0.01).unwrap();
        for bits in asked {
            for address in [bits, bits & 0x8181_8181, bits & 0x8181_8181 | 1].map(Ipv4Addr::from_bits) {
                let expected = linear(Prefix::of(address));
                prop_assert_eq!(found.longest(address).map(|(prefix, value)| (prefix, *value)), expected);
                prop_assert_eq!(seeded.longest(address).map(|(prefix, value)| (prefix, *value)), expected);
                let within = Prefix::new(address, length).unwrap();
                prop_assert_eq!(found.covering(within).map(|(prefix, value)| (prefix, *value)), linear(within));
                if let Some((prefix, _)) = expected {
                    let passed = filter.longest_network(Network::V4(Prefix::of(address)));
                    prop_assert!(passed.is_some_and(|passed| passed.length() >= prefix.length()));
                }
            }
        }
        let listed: BTreeMap<_, _> = list.iter().copied().collect();
        prop_assert_eq!(found.len(), listed.len());
        let all: BTreeMap<_, _> = found.iter().map(|(prefix, value)| (prefix, *value)).collect();
        prop_assert_eq!(all, listed);
    }

    #[test]
    fn small_lists_of_domains_are_as_a_linear_search(
        list in prop::collection::vec("[ab](\\.[ab]){0,4}", 0..40),
        asked in prop::collection::vec("[ab](\\.[ab]){0,6}", 30),
    ) {
        let found = Suffixes::new(list.iter().zip(0u32..)).unwrap();
        let filter = PrefixFilter::from_domains(&list, 0.01).unwrap();
        let listed: BTreeMap<String, u32> = list.iter().cloned().zip(0..).collect();
        for host in &asked {
            let expected = by_trying(&listed, host);
            prop_assert_eq!(found.longest(host).map(|(name, value)| (name, *value)), expected);
            if let Some((name, _)) = expected {
                prop_assert!(filter.longest_domain(host).is_some_and(|passed| passed.len() >= name.len()));
            }
        }
    }
}

/// Look-ups of unlisted addresses pass as often as the filter's bits predict for all their queries together, which is
/// at most the requested rate. Lengths are so great that no two look-ups query the same prefix.
#[test]
fn the_rate_of_a_look_up_is_that_of_all_its_questions() {
    const LENGTHS: [u8; 7] = [48, 56, 64, 72, 80, 96, 128];
    const ASKED: u64 = 1_000_000;
    let mut random = Random(9);
    let networks: Vec<_> = (0..100_000)
        .map(|i| Network::new(Ipv6Addr::from_bits(random.wide()).into(), LENGTHS[i % 7]).unwrap())
        .collect();
    let filter = PrefixFilter::from_networks(&networks, 0.01).unwrap();
    let fpp = filter.fpp();
    assert!(0.008 < fpp && fpp <= 0.01, "{fpp}");
    assert_eq!(filter.keys().max_lookups(), 7);
    let one = |_| {
        let address = Ipv6Addr::from_bits(random.wide());
        filter.longest_network(Network::V6(Prefix::of(address))).is_some()
    };
    let passed = (0..ASKED).map(one).filter(|&passed| passed).count() as u64;
    let (least, most) = binomial_bounds(ASKED, fpp, ALPHA);
    assert!((least..=most).contains(&passed), "{passed} of {ASKED} at {fpp}");
}

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/prefixes")
}

/// The lists in the golden files, and queries with their answers.
const NETWORKS: [&str; 5] =
    ["0.0.0.0/0", "192.0.2.0/24", "198.51.100.7", "2001:db8::/32", "::ffff:203.0.113.0/120"];
const DOMAINS: [&str; 4] = ["example.com", "ads.example.net", "xn--bcher-kva.example", "test"];

/// The files match FORMAT.md byte for byte; `testdata/prefixes.py` reads the same files.
#[test]
fn golden_files_are_as_they_were() {
    let networks = NETWORKS.map(|text| text.parse().unwrap());
    let networks = PrefixFilter::from_networks(&networks, 0.01).unwrap();
    let domains = PrefixFilter::from_domains(&DOMAINS, 0.01).unwrap();
    for (name, filter) in [("networks.umbel", &networks), ("domains.umbel", &domains)] {
        let bytes = filter.filter().to_bytes();
        let path = golden().join(name);
        if std::env::var_os("UMBEL_WRITE_GOLDEN").is_some() {
            fs::create_dir_all(golden()).unwrap();
            fs::write(&path, &bytes).unwrap();
        }
        assert!(bytes == fs::read(&path).unwrap(), "{name}");
        let read = PrefixFilter::try_from(AnyFilter::from_bytes(&bytes).unwrap()).unwrap();
        assert_eq!(read.keys(), filter.keys());
    }
    for (asked, expected) in [
        ("192.0.2.77", Some("192.0.2.0/24")),
        ("203.0.113.9", Some("203.0.113.0/24")),
        ("198.51.100.8", Some("0.0.0.0/0")),
        ("2001:db8:1::", Some("2001:db8::/32")),
        ("2001:db9::", None),
    ] {
        let found = networks.longest_network(asked.parse().unwrap());
        assert_eq!(found, expected.map(|text| text.parse().unwrap()), "{asked}");
    }
    assert_eq!(domains.longest_domain("a.b.example.com"), Some("example.com"));
    assert_eq!(domains.longest_domain("example.net"), None);
}

#[test]
fn a_filter_of_other_keys_is_refused() {
    let filter = AnyFilter::Blocked(umbel::Blocked::new(10, 0.01).unwrap());
    let error = PrefixFilter::try_from(filter).unwrap_err().to_string();
    assert!(error.contains("ip-prefix or domain-suffix"), "{error}");
}
