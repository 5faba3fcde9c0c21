//! Structures for addresses.

use std::net::{Ipv4Addr, Ipv6Addr};

use hashbrown::HashMap;
use ip_network::{Ipv4Network, Ipv6Network};
use ip_network_table::IpNetworkTable;
use ipnet::{Ipv4Net, Ipv6Net};
use iptrie::{Ipv4LCTrieMap, Ipv4Prefix, Ipv4RTrieMap, Ipv6LCTrieMap, Ipv6Prefix, Ipv6RTrieMap};
use poptrie::Poptrie;
use prefix_trie::PrefixMap;
use umbel_net::prefixes::{Address, Lengths, Prefix, Prefixes};

use crate::data::Table;
use crate::{Way, way};

/// That of umbel, and a hash map that is asked length by length.
fn of_umbel<A: Address + std::hash::Hash + 'static>(table: &Table<A>) -> Vec<Way<A>> {
    let build = || Prefixes::new(table.iter().copied()).unwrap();
    let umbel = way("umbel", build, |list, &address| Some(*list.longest(address)?.1));
    let map = || table.iter().copied().collect::<HashMap<_, _>>();
    let lengths: Lengths = table.iter().map(|(prefix, _)| prefix.length()).collect();
    let map = way(
        "a hash map alone",
        || (map(), lengths),
        |(map, lengths), &address: &A| {
            lengths
                .iter()
                .find_map(|length| map.get(&Prefix::new(address, length).unwrap()).copied())
        },
    );
    vec![umbel, map]
}

/// DIR-24-8 (P. Gupta, S. Lin, N. McKeown 1998): an array over the first 24 bits, and one over the last 8 for each of its entries with
/// longer prefixes.
struct Direct {
    first: Vec<u32>,
    second: Vec<[u32; 256]>,
}

const NONE: u32 = u32::MAX;
const SECOND: u32 = 1 << 31;

impl Direct {
    fn new(table: &Table<Ipv4Addr>) -> Self {
        let mut all: Vec<_> = table.iter().collect();
        all.sort_by_key(|(prefix, _)| prefix.length());
        let mut direct = Self { first: vec![NONE; 1 << 24], second: Vec::new() };
        for (prefix, value) in all {
            let (address, length) = (prefix.address().to_bits(), prefix.length());
            let place = (address >> 8) as usize;
            if length <= 24 {
                direct.first[place..place + (1 << (24 - length))].fill(*value);
                continue;
            }
            if direct.first[place] == NONE || direct.first[place] & SECOND == 0 {
                direct.second.push([direct.first[place]; 256]);
                direct.first[place] = SECOND | (direct.second.len() - 1) as u32;
            }
            let second = &mut direct.second[(direct.first[place] & !SECOND) as usize];
            let place = (address & 255) as usize;
            second[place..place + (1 << (32 - length))].fill(*value);
        }
        direct
    }

    fn get(&self, address: Ipv4Addr) -> Option<u32> {
        let address = address.to_bits();
        let mut value = self.first[(address >> 8) as usize];
        if value != NONE && value & SECOND != 0 {
            value = self.second[(value & !SECOND) as usize][(address & 255) as usize];
        }
        Some(value).filter(|&value| value != NONE)
    }
}

/// Tries of the crates that have one for both families.
macro_rules! tries {
    ($ways:ident, $table:ident, $address:ty, $net:ty, $network:ty, $prefix:ty, $trie:ty, $compressed:ty, $longest:ident) => {
        let parts =
            || $table.iter().map(|(prefix, value)| (prefix.address(), prefix.length(), *value));
        $ways.push(way(
            "poptrie",
            || parts().map(|(a, l, v)| ((a, l), v)).collect::<Poptrie<($address, u8), u32>>(),
            |map, &address: &$address| map.lookup(address).copied(),
        ));
        $ways.push(way(
            "prefix-trie",
            || {
                parts()
                    .map(|(a, l, v)| (<$net>::new(a, l).unwrap(), v))
                    .collect::<PrefixMap<$net, u32>>()
            },
            |map, &address: &$address| Some(*map.get_lpm(&address.into())?.1),
        ));
        $ways.push(way(
            "ip_network_table (tree bitmap)",
            || {
                let mut map = IpNetworkTable::new();
                parts().for_each(|(a, l, v)| {
                    map.insert(<$network>::new(a, l).unwrap(), v);
                });
                map
            },
            |map, &address: &$address| Some(*map.$longest(address)?.1),
        ));
        // It always has a root: here one with a value that no route has.
        $ways.push(way(
            "iptrie, level-compressed",
            || -> $compressed {
                let mut map = <$trie>::with_root_and_capacity(NONE, $table.len());
                parts().for_each(|(a, l, v)| {
                    map.insert(<$prefix>::new(a, l).unwrap(), v);
                });
                map.compress()
            },
            |map, address: &$address| Some(*map.lookup(address).1).filter(|&value| value != NONE),
        ));
    };
}

pub fn four(table: &Table<Ipv4Addr>) -> Vec<Way<Ipv4Addr>> {
    let mut ways = of_umbel(table);
    tries!(
        ways,
        table,
        Ipv4Addr,
        Ipv4Net,
        Ipv4Network,
        Ipv4Prefix,
        Ipv4RTrieMap<u32>,
        Ipv4LCTrieMap<u32>,
        longest_match_ipv4
    );
    ways.push(way("DIR-24-8", || Direct::new(table), |direct, &address| direct.get(address)));
    ways
}

pub fn six(table: &Table<Ipv6Addr>) -> Vec<Way<Ipv6Addr>> {
    let mut ways = of_umbel(table);
    tries!(
        ways,
        table,
        Ipv6Addr,
        Ipv6Net,
        Ipv6Network,
        Ipv6Prefix,
        Ipv6RTrieMap<u32>,
        Ipv6LCTrieMap<u32>,
        longest_match_ipv6
    );
    ways
}
