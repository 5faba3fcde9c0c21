//! Golden vectors: how a manifest describes a filter, and how to build it.

use serde::{Deserialize, Serialize};
use umbel::{
    AnyFilter, Attributes, Bloomier, Cascade, Error, Filter, Hashing, Insert, InsertError,
    KeyDescription, KeyHash, KeyHasher, Kind, Part, Plan, Prehashed, Secret, Variant, Window,
};

/// `testdata/golden/manifest.json`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) vectors: Vec<Vector>,
    pub(crate) changes: Vec<Change>,
}

/// A golden file with some bytes changed, and the check that refuses it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Change {
    pub(crate) file: String,
    pub(crate) what: String,
    /// Offsets in the file, and the hexadecimal bytes written there.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) bytes: Vec<(usize, String)>,
    /// The file's new length: shorter, or longer by some zeros; omitted if unchanged.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) length: Option<usize>,
    /// Whether all checksums are then corrected where the unchanged file has them.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) sealed: bool,
    /// The step of FORMAT.md, section 2, that refuses it; 0 if it is a valid file.
    pub(crate) step: u32,
}

/// A file, and everything needed to make and check it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Vector {
    pub(crate) file: String,
    /// Its purpose; omitted if its numbers show it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) why: String,
    pub(crate) maker: String,
    pub(crate) kind: String,
    pub(crate) planned_keys: u64,
    pub(crate) planned_fpp: f64,
    pub(crate) bits: u64,
    pub(crate) probes: u32,
    /// The kind's own parameter; omitted for kinds without one.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) detail: u32,
    pub(crate) algorithm: String,
    pub(crate) seed: u64,
    /// 32 hexadecimal digits, if the algorithm is keyed.
    pub(crate) secret: Option<String>,
    /// Members are this and the numbers from 0 to `members` − 1 in decimal; probes likewise.
    pub(crate) member_prefix: String,
    pub(crate) members: u64,
    /// How often all members are inserted, round by round; omitted if once.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub(crate) rounds: u64,
    /// The number of members, from the first on, that are then removed once; only for counting filters.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) removed: u64,
    /// A counting filter's counts of its first ten members.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) counts: Vec<u32>,
    pub(crate) probe_prefix: String,
    pub(crate) probes_tried: u64,
    /// The numbers of the first ten false positives among the probes.
    pub(crate) false_positives: Vec<u64>,
    /// The number of members that the filter denies: forgotten by a stable filter or a window, or refused by a full
    /// coded filter.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) forgotten: u64,
    /// The links of a scalable filter; empty for other kinds.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) links: Vec<LinkVector>,
    /// Ticks of a window; omitted if it counts insertions. Its members are inserted at tick
    /// 10 · their number.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) span: u64,
    /// Insertions that each generation of a window took; empty for other kinds.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) generations: Vec<u64>,
    /// The names of the attributes of a filter of rows; empty for other kinds. Value j of row i is the prefix and
    /// the number i / 2^j, rounded down. Probes are queries: see `question`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) attributes: Vec<String>,
    /// The numbers of the first ten probes whose whole rows pass as single keys; only for filters of rows.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) single_keys: Vec<u64>,
    /// A cascade's excluded keys are this and the numbers from 0 to `excluded` − 1; omitted for other kinds.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) excluded_prefix: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) excluded: u64,
    /// The description of the keys, names and values; omitted if the file has none.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) description: Vec<(String, String)>,
}

/// The algorithm of vectors whose hashes come from one of their own functions.
pub(crate) const OF_THE_CALLER: &str = "hashes of the caller";

/// The function with a 64-bit result: the upper half of XXH3-128 with seed 0.
pub(crate) const OWN_HASH: u64 = u64::from_be_bytes(*b"own hash");

/// The function with pairs as results: XXH3-128 with only the upper 8 bits of the upper half, so keys share it.
pub(crate) const OWN_PAIR: u64 = u64::from_be_bytes(*b"own pair");

/// The multiplier for the values of maps: the golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
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
    /// The links of a filter.
    pub(crate) fn of(filter: &AnyFilter) -> Vec<Self> {
        let AnyFilter::Scalable(filter) = filter else { return Vec::new() };
        let link = |Part { plan, keys, .. }: &Part| Self {
            taken: *keys as u64,
            bits: plan.bits(),
            probes: plan.probes(),
        };
        filter.receipt().parts.iter().map(link).collect()
    }
}

impl Vector {
    pub(crate) fn plan(&self) -> Plan {
        let variant: Variant =
            format!("{}:{}", self.kind, self.detail).parse().expect("a kind and its parameter");
        Plan::from_parts(variant, self.planned_keys, self.planned_fpp, self.bits, self.probes)
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

    /// The description of the keys.
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

    /// The hash of a key by one of the vectors' own functions.
    pub(crate) fn hash_of_the_caller(&self, key: &str) -> KeyHash {
        let KeyHash { high, low } = KeyHasher::default().hash(key);
        match self.seed {
            OWN_PAIR => KeyHash { high: high >> 56 << 56, low },
            OWN_HASH => KeyHash::from_u64(high),
            other => panic!("no function has the id {other:x}"),
        }
    }

    /// The filter of such hashes.
    pub(crate) fn build_hashes(&self) -> Result<AnyFilter<Prehashed>, Error> {
        let mut filter =
            self.build_at_once(Prehashed::new(self.seed), |key| self.hash_of_the_caller(key))?;
        filter.describe(self.description());
        Ok(filter)
    }

    /// A filter built from all its keys together.
    fn build_at_once<H: Hashing>(
        &self,
        hasher: H,
        hash: impl Fn(&str) -> KeyHash,
    ) -> Result<AnyFilter<H>, Error>
    where
        KeyHash: umbel::Key<H>,
    {
        let include: Vec<_> = self.member_keys().map(|key| hash(&key)).collect();
        if self.plan().kind() == Kind::Cascade {
            let exclude: Vec<_> = self.excluded_keys().map(|key| hash(&key)).collect();
            let filter = Cascade::build_with_plan(&self.plan(), &include, &exclude, hasher)?;
            return Ok(AnyFilter::Cascade(filter));
        }
        if let Some((fingerprint, value)) = self.map_widths() {
            let pairs = include.iter().zip(0..).map(|(hash, number)| (*hash, self.value(number)));
            let pairs: Vec<_> = pairs.collect();
            let map = Bloomier::build_map(&pairs, value, fingerprint, hasher)?;
            return Ok(AnyFilter::Bloomier(map));
        }
        Ok(AnyFilter::build(&self.plan(), &include, hasher)?)
    }

    /// Bits of the fingerprints and of the values of a map.
    fn map_widths(&self) -> Option<(u32, u32)> {
        let is_map = self.kind == "bloomier" && self.detail > 0xff;
        is_map.then_some((self.detail & 0xff, self.detail >> 8))
    }

    /// The value of a member of a map.
    fn value(&self, number: u64) -> u64 {
        let (_, bits) = self.map_widths().expect("a map");
        number.wrapping_mul(GOLDEN) >> (64 - bits)
    }

    /// How many members of a map have a wrong value.
    pub(crate) fn wrong_values(&self, filter: &AnyFilter) -> u64 {
        let AnyFilter::Bloomier(filter) = filter else { return 0 };
        if self.map_widths().is_none() {
            return 0;
        }
        let wrong =
            |(key, number): &(String, u64)| filter.get(&key[..]) != Some(self.value(*number));
        self.member_keys().zip(0..).filter(wrong).count() as u64
    }

    /// The numbers of the first ten probes that a filter of hashes of the caller lets pass.
    pub(crate) fn passing_hashes(&self, filter: &AnyFilter<Prehashed>) -> Vec<u64> {
        let hash = |number| self.hash_of_the_caller(&format!("{}{number}", self.probe_prefix));
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
                filter.insert_row(&self.member_row(number))?;
            }
            return Ok(AnyFilter::Attributes(filter));
        }
        if self.plan().kind().built_at_once() {
            let hasher = self.hasher();
            return self.build_at_once(hasher.clone(), |key| hasher.hash(key));
        }
        let mut filter = AnyFilter::with_plan(&self.plan(), self.hasher())?;
        for _ in 0..self.rounds {
            for member in self.member_keys() {
                match filter.try_insert(member) {
                    // The filter continues without the member.
                    Err(InsertError::Full(_)) => {}
                    inserted => drop(inserted?),
                }
            }
        }
        if let AnyFilter::Counting(filter) = &mut filter {
            for member in self.member_keys().take(self.removed as usize) {
                filter.remove(member);
            }
        }
        Ok(filter)
    }

    /// The values of a row with this prefix and number.
    fn row(&self, prefix: &str, number: u64) -> Vec<String> {
        (0..self.attributes.len()).map(|j| format!("{prefix}{}", number >> j)).collect()
    }

    fn member_row(&self, number: u64) -> Vec<String> {
        self.row(&self.member_prefix, number)
    }

    /// Probe `number` of a filter of rows queries the attributes that are set bits of 1 + `number` mod (2^A − 1). If
    /// there are members, these have a tag and `number` is odd, value j comes from member (`number` + 37 j) mod
    /// `members`; else no row has it.
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
            true => self.member_row((number + 37 * j as u64) % self.members).swap_remove(j),
            false => format!("{}{}", self.probe_prefix, number >> j),
        };
        (0..count).map(|j| (subset >> j & 1 == 1).then(|| value(j))).collect()
    }

    /// A counting filter's counts of its first ten members.
    pub(crate) fn counts(&self, filter: &AnyFilter) -> Vec<u32> {
        let AnyFilter::Counting(filter) = filter else { return Vec::new() };
        self.member_keys().take(10).map(|key| filter.count(key)).collect()
    }

    /// The numbers of the first ten probes whose whole rows pass as single keys.
    pub(crate) fn single_keys(&self, filter: &AnyFilter) -> Vec<u64> {
        if self.attributes.is_empty() {
            return Vec::new();
        }
        let passes = |number: &u64| filter.contains(self.single_key(&self.probe_prefix, *number));
        (0..self.probes_tried).filter(passes).take(10).collect()
    }

    /// The single key of a row: its value, or several values, each after its length.
    pub(crate) fn single_key(&self, prefix: &str, number: u64) -> Vec<u8> {
        match &self.row(prefix, number)[..] {
            [only] => only.clone().into_bytes(),
            values => joined(values),
        }
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
            let row = |number| self.member_row(number).into_iter().map(Some).collect::<Vec<_>>();
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

/// The key of several fields.
pub(crate) fn joined<V: AsRef<[u8]>>(values: &[V]) -> Vec<u8> {
    let each = |value: &V| [&(value.as_ref().len() as u32).to_le_bytes(), value.as_ref()].concat();
    values.iter().flat_map(each).collect()
}
