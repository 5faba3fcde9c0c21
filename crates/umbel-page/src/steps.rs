//! Operations on a filter so small that every cell can be followed, and where words fall in it.

use anyhow::Result;
use serde::{Deserialize, Serialize};
use umbel::{AnyFilter, Blocked, Classic, Filter, Insert, KeyHasher, Kind, Plan};
use umbel_report::advice::Inside;
use umbel_report::words::{At, example as published, quoted};

use crate::refused::Refused;

/// A toy, and the operations on it.
#[derive(Deserialize)]
pub(crate) struct Toy {
    pub(crate) kind: String,
    pub(crate) bits: Option<u64>,
    pub(crate) blocks: Option<u64>,
    pub(crate) probes: Option<u32>,
    #[serde(default)]
    pub(crate) seed: u64,
    /// Whether apples, plums and mango have the bits that the texts give them.
    #[serde(default)]
    pub(crate) published: bool,
    pub(crate) operations: Vec<Operation>,
}

#[derive(Clone, Deserialize)]
pub(crate) struct Operation {
    pub(crate) op: Op,
    #[serde(default)]
    pub(crate) word: String,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Op {
    Insert,
    /// A word that must not pass, for a cascade.
    Except,
    Remove,
    Query,
    Advance,
}

/// The places of words among a few cells: as published, or as in the library's classic filter of this size.
pub(crate) struct Places {
    published: Vec<At>,
    hashed: Classic,
}

impl Places {
    pub(crate) fn new(toy: &Toy, bits: u64, probes: u32) -> Result<Self, Refused> {
        let published = if toy.published { published() } else { Vec::new() };
        let fit =
            |at: &At| at.bits.len() == probes as usize && at.bits.iter().all(|bit| *bit < bits);
        if let Some(at) = published.iter().find(|at| !fit(at)) {
            let text = format!("{}: has not {probes} bits below {bits}", quoted(&at.word));
            return Err(Refused::of("published", text));
        }
        Ok(Self { published, ..Self::hashed(bits, probes, toy.seed)? })
    }

    pub(crate) fn hashed(bits: u64, probes: u32, seed: u64) -> Result<Self, Refused> {
        if !(1..=4096).contains(&bits) {
            return Err(Refused::of("bits", format!("1 to 4096 bits; found {bits}")));
        }
        // The rate does not matter: it is planned for one key.
        let hashed = Plan::from_parts(Kind::Classic, 1, 0.5, bits, probes)
            .and_then(|plan| Classic::with_plan(&plan, KeyHasher::with_seed(seed)))
            .map_err(|error| Refused::of("probes", error))?;
        Ok(Self { published: Vec::new(), hashed })
    }

    pub(crate) fn probes(&self) -> u32 {
        self.hashed.plan().probes()
    }

    pub(crate) fn of(&self, word: &str) -> Vec<u64> {
        match self.published.iter().find(|at| at.word == word) {
            Some(at) => at.bits.clone(),
            None => {
                let hash = self.hashed.hasher().hash(word);
                self.hashed.positions(hash).expect("a classic filter has bits")
            }
        }
    }
}

/// The parts and cells that a key sets in an empty filter of the same plan: in each link of a scalable one, and of a
/// window in one generation.
pub(crate) fn set_by(filter: &AnyFilter, key: &[u8]) -> Result<Vec<(usize, u64)>> {
    let hasher: &KeyHasher = filter.hasher();
    let AnyFilter::Scalable(filter) = filter else {
        let mut empty = AnyFilter::with_plan(filter.plan(), hasher.clone())?;
        empty.try_insert(key)?;
        return Ok(used(&empty));
    };
    let mut all = Vec::new();
    for (part, link) in filter.receipt().parts.iter().enumerate() {
        let mut empty = Blocked::with_plan(&link.plan, hasher.clone())?;
        empty.insert(hasher.hash(key).in_part(part as u64));
        all.extend(used(&AnyFilter::Blocked(empty)).into_iter().map(|(_, cell)| (part, cell)));
    }
    Ok(all)
}

/// The cells in use.
fn used(filter: &AnyFilter) -> Vec<(usize, u64)> {
    let inside = Inside::of(filter);
    let block = u64::from(inside.block_cells());
    let mut all = Vec::new();
    for (part, &blocks) in inside.blocks().iter().enumerate() {
        let (mut some, mut number) = (Vec::new(), 0);
        inside.loads(part, 0..blocks, &mut |load| {
            if load > 0 {
                some.push(number);
            }
            number += 1;
        });
        for number in some {
            let mut cell = number as u64 * block;
            inside.cells(part, number..number + 1, &mut |value| {
                if value > 0 {
                    all.push((part, cell));
                }
                cell += 1;
            });
        }
    }
    all
}
