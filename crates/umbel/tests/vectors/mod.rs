//! Golden vectors: how a manifest describes a filter, and how to make it again.

use serde::{Deserialize, Serialize};
use umbel::filter::Link;
use umbel::{AnyFilter, Cascade, Error, KeyHasher, Kind, Plan, Secret};

/// `testdata/golden/manifest.json`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) vectors: Vec<Vector>,
}

/// One file and all that it takes to make and to check it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Vector {
    pub(crate) file: String,
    pub(crate) maker: String,
    pub(crate) kind: String,
    pub(crate) planned_keys: u64,
    pub(crate) planned_fpp: f64,
    pub(crate) bits: u64,
    pub(crate) probes: u32,
    /// The kind's own parameter; left out where it has none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) detail: u32,
    pub(crate) algorithm: String,
    pub(crate) seed: u64,
    /// 32 hexadecimal digits, when the algorithm is keyed.
    pub(crate) secret: Option<String>,
    /// Members are this and the numbers from 0 to `members` − 1 in decimal; probes likewise.
    pub(crate) member_prefix: String,
    pub(crate) members: u64,
    pub(crate) probe_prefix: String,
    pub(crate) probes_tried: u64,
    /// The numbers of the first ten probes that pass though they are not members.
    pub(crate) false_positives: Vec<u64>,
    /// What a scalable filter has grown to; none of other kinds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) links: Vec<LinkVector>,
    /// Keys that a cascade excludes are this and the numbers from 0 to `excluded` − 1; none of other kinds.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) excluded_prefix: String,
    #[serde(default, skip_serializing_if = "is_none")]
    pub(crate) excluded: u64,
}

fn is_none(count: &u64) -> bool {
    *count == 0
}

fn is_zero(detail: &u32) -> bool {
    *detail == 0
}

/// A link of a scalable filter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinkVector {
    pub(crate) taken: u64,
    pub(crate) bits: u64,
    pub(crate) probes: u32,
}

impl LinkVector {
    /// Those of a filter.
    pub(crate) fn of(filter: &AnyFilter) -> Vec<Self> {
        let AnyFilter::Scalable(filter) = filter else { return Vec::new() };
        let links = filter.links().iter();
        let link = |link: &Link| {
            let plan = link.plan();
            Self { taken: link.taken(), bits: plan.bits, probes: plan.probes }
        };
        links.map(link).collect()
    }
}

impl Vector {
    pub(crate) fn plan(&self) -> Plan {
        let kind: Kind = self.kind.parse().expect("a kind");
        Plan {
            kind,
            keys: self.planned_keys,
            fpp: self.planned_fpp,
            bits: self.bits,
            probes: self.probes,
            detail: self.detail,
        }
    }

    pub(crate) fn secret(&self) -> Option<Secret> {
        let digits = self.secret.as_ref()?;
        let number = u128::from_str_radix(digits, 16).expect("32 hexadecimal digits");
        Some(Secret::new(number.to_be_bytes()))
    }

    pub(crate) fn hasher(&self) -> KeyHasher {
        self.secret().map_or(KeyHasher::with_seed(self.seed), KeyHasher::keyed)
    }

    pub(crate) fn member_keys(&self) -> impl Iterator<Item = String> {
        (0..self.members).map(|number| format!("{}{number}", self.member_prefix))
    }

    pub(crate) fn excluded_keys(&self) -> impl Iterator<Item = String> {
        (0..self.excluded).map(|number| format!("{}{number}", self.excluded_prefix))
    }

    /// The filter, made from its members.
    pub(crate) fn build(&self) -> Result<AnyFilter, Error> {
        if self.plan().kind == Kind::Cascade {
            let hash = |key| self.hasher().hash(key);
            let include: Vec<_> = self.member_keys().map(hash).collect();
            let exclude: Vec<_> = self.excluded_keys().map(hash).collect();
            let filter = Cascade::build_planned(&self.plan(), self.hasher(), &include, &exclude)?;
            return Ok(AnyFilter::Cascade(filter));
        }
        if !self.plan().kind.inserts() {
            let hashes: Vec<_> = self.member_keys().map(|key| self.hasher().hash(key)).collect();
            return AnyFilter::build(&self.plan(), self.hasher(), &hashes);
        }
        let mut filter = AnyFilter::new(&self.plan(), self.hasher())?;
        for member in self.member_keys() {
            filter.insert(member)?;
        }
        Ok(filter)
    }

    /// The numbers of the first ten probes that `filter` lets pass.
    pub(crate) fn passing_probes(&self, filter: &AnyFilter) -> Vec<u64> {
        (0..self.probes_tried)
            .filter(|number| filter.contains(format!("{}{number}", self.probe_prefix)))
            .take(10)
            .collect()
    }
}
