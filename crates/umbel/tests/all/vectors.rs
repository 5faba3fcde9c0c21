//! Golden vectors: how a manifest describes a filter, and how to build it.

use serde::{Deserialize, Serialize};
use umbel::filter::Link;
use umbel::{
    AnyFilter, Attributes, Blocks, Cascade, Error, Hash64, KeyDescription, KeyHasher, Kind, Plan,
    Prehashed, Secret, Variant, Window,
};

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
    /// How often all members are inserted, one round after the other; left out where it is once.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub(crate) rounds: u64,
    pub(crate) probe_prefix: String,
    pub(crate) probes_tried: u64,
    /// The numbers of the first ten probes that pass though they are not members.
    pub(crate) false_positives: Vec<u64>,
    /// How many members the filter denies: those that a stable one or a window has forgotten.
    #[serde(default, skip_serializing_if = "is_none")]
    pub(crate) forgotten: u64,
    /// What a scalable filter has grown to; none of other kinds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) links: Vec<LinkVector>,
    /// Ticks of a window; left out where it is of insertions. Its members are inserted at tick
    /// 10 · their number.
    #[serde(default, skip_serializing_if = "is_none")]
    pub(crate) span: u64,
    /// Insertions that each generation of a window took; none of other kinds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) generations: Vec<u64>,
    /// The names of the attributes of a filter of rows; none of other kinds. Value j of row i is the prefix and
    /// the number i / 2^j, rounded down. Probes are questions: see `question`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) attributes: Vec<String>,
    /// Keys that a cascade excludes are this and the numbers from 0 to `excluded` − 1; none of other kinds.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) excluded_prefix: String,
    #[serde(default, skip_serializing_if = "is_none")]
    pub(crate) excluded: u64,
    /// What the keys are, names and values; left out where the file does not say it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) description: Vec<(String, String)>,
}

/// What a file is when its hashes are made by a function of the vectors' own: the upper half of XXH3-128 with seed 0.
pub(crate) const OF_THE_CALLER: &str = "hashes of the caller";

/// A 64-bit hash by that function.
pub(crate) fn hash_of_the_caller(key: &str) -> Hash64 {
    Hash64(KeyHasher::default().hash(key).high)
}

fn is_zero(detail: &u32) -> bool {
    *detail == 0
}

fn is_none(number: &u64) -> bool {
    *number == 0
}

/// Insertions that each generation of a window took.
pub(crate) fn generations(filter: &AnyFilter) -> Vec<u64> {
    let AnyFilter::Window(filter) = filter else { return Vec::new() };
    filter.receipt().parts.iter().map(|part| part.keys as u64).collect()
}

fn one() -> u64 {
    1
}

fn is_one(rounds: &u64) -> bool {
    *rounds == 1
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
            Self { taken: link.taken(), bits: plan.bits(), probes: plan.probes() }
        };
        links.map(link).collect()
    }
}

impl Vector {
    pub(crate) fn plan(&self) -> Plan {
        let variant: Variant =
            format!("{}:{}", self.kind, self.detail).parse().expect("a kind and its parameter");
        Plan::of(variant, self.planned_keys, self.planned_fpp, self.bits, self.probes)
            .expect("a plan that goes together")
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

    /// What the keys are.
    pub(crate) fn description(&self) -> KeyDescription {
        let mut keys = KeyDescription::default();
        for (name, value) in &self.description {
            keys.push(name, value).expect("a short description");
        }
        keys
    }

    /// The file, made from its members.
    pub(crate) fn file(&self) -> Result<Vec<u8>, Error> {
        if self.algorithm == OF_THE_CALLER {
            return Ok(self.build_hashes()?.to_bytes());
        }
        Ok(self.build()?.to_bytes())
    }

    /// The filter of hashes made by the vectors' own function.
    pub(crate) fn build_hashes(&self) -> Result<AnyFilter<Blocks, Prehashed>, Error> {
        let hashes: Vec<Hash64> = self.member_keys().map(|key| hash_of_the_caller(&key)).collect();
        let mut filter = AnyFilter::build(&self.plan(), &hashes, Prehashed::new(self.seed))?;
        filter.describe(self.description());
        Ok(filter)
    }

    /// The numbers of the first ten probes that such a filter lets pass.
    pub(crate) fn passing_hashes(&self, filter: &AnyFilter<Blocks, Prehashed>) -> Vec<u64> {
        let hash = |number| hash_of_the_caller(&format!("{}{number}", self.probe_prefix));
        (0..self.probes_tried).filter(|&number| filter.contains(hash(number))).take(10).collect()
    }

    /// The filter, made from its members.
    pub(crate) fn build(&self) -> Result<AnyFilter, Error> {
        let mut filter = self.build_undescribed()?;
        filter.describe(self.description());
        Ok(filter)
    }

    fn build_undescribed(&self) -> Result<AnyFilter, Error> {
        if self.span > 0 {
            let mut filter = Window::by_time(&self.plan(), self.hasher(), self.span)?;
            for (tick, member) in (0..).step_by(10).zip(self.member_keys()) {
                filter.insert_at(filter.hasher().hash(member), tick)?;
            }
            return Ok(AnyFilter::Window(filter));
        }
        if !self.attributes.is_empty() {
            let mut filter = Attributes::with_names(&self.plan(), &self.attributes, self.hasher())?;
            for number in 0..self.members {
                filter.insert_row(&self.row(number))?;
            }
            return Ok(AnyFilter::Attributes(filter));
        }
        if self.plan().kind() == Kind::Cascade {
            let hash = |key| self.hasher().hash(key);
            let include: Vec<_> = self.member_keys().map(hash).collect();
            let exclude: Vec<_> = self.excluded_keys().map(hash).collect();
            let filter = Cascade::build_planned(&self.plan(), &include, &exclude, self.hasher())?;
            return Ok(AnyFilter::Cascade(filter));
        }
        if self.plan().kind().built_at_once() {
            let hashes: Vec<_> = self.member_keys().map(|key| self.hasher().hash(key)).collect();
            return Ok(AnyFilter::build(&self.plan(), &hashes, self.hasher())?);
        }
        let mut filter = AnyFilter::with_plan(&self.plan(), self.hasher())?;
        for _ in 0..self.rounds {
            for member in self.member_keys() {
                filter.insert(member)?;
            }
        }
        Ok(filter)
    }

    /// The values of a member of a filter of rows.
    fn row(&self, number: u64) -> Vec<String> {
        let value = |j| format!("{}{}", self.member_prefix, number >> j);
        (0..self.attributes.len()).map(value).collect()
    }

    /// Probe `number` of a filter of rows asks for the attributes that are set bits of 1 + `number` mod (2^A − 1).
    /// Where there are members, these have a tag and `number` is odd, value j is that of member (`number` + 37 j) mod `members`;
    /// else no row has it.
    fn question(&self, number: u64) -> Vec<Option<String>> {
        let count = self.attributes.len();
        let all = (1 << count) - 1;
        let subset = 1 + number % all;
        let tagged = match self.detail % 10 {
            0 => false,
            1 => subset == all,
            _ => true,
        };
        let recombined = self.members > 0 && number % 2 == 1 && subset.count_ones() > 1 && tagged;
        let value = |j: usize| match recombined {
            true => self.row((number + 37 * j as u64) % self.members).swap_remove(j),
            false => format!("{}{}", self.probe_prefix, number >> j),
        };
        (0..count).map(|j| (subset >> j & 1 == 1).then(|| value(j))).collect()
    }

    fn passes(&self, filter: &AnyFilter, number: u64) -> bool {
        match filter {
            AnyFilter::Attributes(filter) => filter.contains_row(&self.question(number)).unwrap(),
            filter => filter.contains(format!("{}{number}", self.probe_prefix)),
        }
    }

    /// How many members `filter` denies.
    pub(crate) fn forgotten_members(&self, filter: &AnyFilter) -> u64 {
        if let AnyFilter::Attributes(filter) = filter {
            let row = |number| self.row(number).into_iter().map(Some).collect::<Vec<_>>();
            let denied = |number: &u64| !filter.contains_row(&row(*number)).unwrap();
            return (0..self.members).filter(denied).count() as u64;
        }
        self.member_keys().filter(|key| !filter.contains(key)).count() as u64
    }

    /// The numbers of the first ten probes that `filter` lets pass.
    pub(crate) fn passing_probes(&self, filter: &AnyFilter) -> Vec<u64> {
        (0..self.probes_tried).filter(|&number| self.passes(filter, number)).take(10).collect()
    }
}
