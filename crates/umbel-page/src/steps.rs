//! Operations on a filter so small that every cell can be followed, and where words fall in it.

use serde::Deserialize;
use umbel::{Classic, Filter, KeyHasher, Kind, Plan};
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

#[derive(Clone, Copy, Deserialize, PartialEq)]
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

pub(crate) fn name_of(op: Op) -> &'static str {
    match op {
        Op::Insert => "insert",
        Op::Except => "except",
        Op::Remove => "remove",
        Op::Query => "query",
        Op::Advance => "advance",
    }
}
