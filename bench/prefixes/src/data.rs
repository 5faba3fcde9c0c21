//! Tables and questions.

use std::collections::HashSet;
use std::fs;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use umbel_net::prefixes::{Address, Network, Prefix};

/// SplitMix64.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        ((u128::from(self.next()) * limit as u128) >> 64) as usize
    }
}

pub type Table<A> = Vec<(Prefix<A>, u32)>;

/// The routes of IPv4 and IPv6 in a table of the Internet's, which the source of the crate iptrie 0.11.2 has
/// (`benches/bgpas.lpm`, "a real BGP table"). It has no date; with 176 thousand IPv6 prefixes it is from before
/// 2023-05-31, when bgp.potaroo.net/v6/as2.0 counted 187 thousand. It comes from a router with customers' routes too:
/// 12 % of the IPv4 prefixes are longer than /24, which the global table has next to none of.
pub fn bgp() -> Result<(Table<Ipv4Addr>, Table<Ipv6Addr>)> {
    let text = fs::read_to_string(source_of("iptrie")?.join("benches/bgpas.lpm"))?;
    let (mut four, mut six) = (Vec::new(), Vec::new());
    for (line, value) in text.lines().zip(0u32..) {
        match line.split(' ').next().unwrap_or("").parse().with_context(|| line.to_owned())? {
            Network::V4(prefix) => four.push((prefix, value)),
            Network::V6(prefix) => six.push((prefix, value)),
        }
    }
    Ok((once(four), once(six)))
}

/// Each prefix once, with its last value: not every structure replaces the first one.
fn once<A: Address>(mut table: Table<A>) -> Table<A> {
    table.sort_by_key(|(prefix, value)| (*prefix, std::cmp::Reverse(*value)));
    table.dedup_by_key(|(prefix, _)| *prefix);
    table
}

/// Where cargo has unpacked a dependency.
fn source_of(name: &str) -> Result<PathBuf> {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let metadata = Command::new("cargo")
        .args(["metadata", "--format-version", "1", "--locked", "--manifest-path", manifest])
        .output()?;
    let metadata: serde_json::Value = serde_json::from_slice(&metadata.stdout)?;
    let packages = metadata["packages"].as_array().context("cargo metadata lists packages")?;
    let package = packages.iter().find(|package| package["name"] == name);
    let path = package.and_then(|package| package["manifest_path"].as_str());
    Ok(Path::new(path.context("a dependency")?).parent().context("it is in a folder")?.to_owned())
}

/// An address from 1.0.0.0 to 223.255.255.255.
pub fn unicast(random: &mut Random) -> Ipv4Addr {
    Ipv4Addr::from_bits((1 << 24) + random.below((224 << 24) - (1 << 24)) as u32)
}

/// An address in one of the /16 that the table has prefixes in: of all addresses, next to none would be.
pub fn global_unicast(table: &Table<Ipv6Addr>, random: &mut Random) -> Ipv6Addr {
    let near = table[random.below(table.len())].0.address();
    Routed::inside(Prefix::new(near, 16).expect("less than 128"), random)
}

/// Addresses that a listed prefix has.
pub trait Routed: Address {
    /// An address with random bits after a prefix.
    fn inside(prefix: Prefix<Self>, random: &mut Random) -> Self;
}

impl Routed for Ipv4Addr {
    fn inside(prefix: Prefix<Self>, random: &mut Random) -> Self {
        let spare = u32::MAX.checked_shr(prefix.length().into()).unwrap_or(0);
        Self::from_bits(prefix.address().to_bits() | random.next() as u32 & spare)
    }
}

impl Routed for Ipv6Addr {
    fn inside(prefix: Prefix<Self>, random: &mut Random) -> Self {
        let low = u128::from(random.next()) << 64 | u128::from(random.next());
        let spare = u128::MAX.checked_shr(prefix.length().into()).unwrap_or(0);
        Self::from_bits(prefix.address().to_bits() | low & spare)
    }
}

pub fn routed<A: Routed>(table: &Table<A>, count: usize, random: &mut Random) -> Vec<A> {
    let one = |_| A::inside(table[random.below(table.len())].0, random);
    (0..count).map(one).collect()
}

/// The domains of a file, or a million made ones: of three letters to fourteen under a few top-level domains, a third of them with
/// a label in front.
pub fn domains(file: Option<&Path>, random: &mut Random) -> Result<Vec<String>> {
    let mut all = HashSet::new();
    match file {
        Some(path) => all.extend(fs::read_to_string(path)?.lines().map(str::to_owned)),
        None => {
            while all.len() < 1_000_000 {
                let front = if random.below(3) == 0 { word(random) + "." } else { String::new() };
                all.insert(front + &registered(random));
            }
        }
    }
    let mut all: Vec<_> = all.into_iter().collect();
    all.sort();
    Ok(all)
}

fn word(random: &mut Random) -> String {
    let length = 3 + random.below(12);
    (0..length).map(|_| (b'a' + random.below(26) as u8) as char).collect()
}

fn registered(random: &mut Random) -> String {
    const TOP: [&str; 8] = ["com", "com", "com", "net", "org", "xyz", "co.uk", "dev"];
    word(random) + "." + TOP[random.below(TOP.len())]
}

/// Hosts of two to five labels: under a listed domain, or made as these are.
pub fn hosts(listed: Option<&Vec<String>>, count: usize, random: &mut Random) -> Vec<Box<str>> {
    let one = |_| {
        let mut host = match listed {
            Some(names) => names[random.below(names.len())].clone(),
            None => registered(random),
        };
        for _ in 0..random.below(3) {
            host = word(random) + "." + &host;
        }
        host.into_boxed_str()
    };
    (0..count).map(one).collect()
}
