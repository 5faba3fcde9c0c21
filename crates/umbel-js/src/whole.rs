//! The filters of `umbel/foreign`: all kinds of umbel, and other systems' filters.

use umbel::{AnyFilter, FileError, Filter, Insert, KeyHasher, Plan, Variant};
use umbel_foreign::recognized::{Recognized, other, perhaps, unknown};
use umbel_foreign::{Foreign, ForeignFilter, ForeignInsert, Format, KeyType, Parameters};

use crate::Result;
use crate::keys::{Key, figures, form, hashes, note};

pub(crate) enum Set {
    Own(AnyFilter),
    /// With the type of its keys, if given.
    Foreign(Foreign, Option<KeyType>),
}

impl Set {
    /// `words` are a format and a type of keys; either may be missing.
    pub(crate) fn open(words: &str, file: &[u8]) -> Result<Self> {
        let (format, key_type) = words.split_once(' ').unwrap_or((words, ""));
        let format = match format {
            "" => match AnyFilter::from_bytes(file) {
                Ok(filter) => {
                    Self::without_type(key_type)?;
                    if filter.kind().rows() {
                        filter.check_inserts()?;
                    }
                    return Ok(Self::Own(filter));
                }
                Err(refused @ FileError::NotUmbel(..)) => match Recognized::of(file) {
                    Recognized::One(format) => format,
                    Recognized::Perhaps(formats) => return Err(perhaps(refused, &formats).into()),
                    Recognized::Other(content) => return Err(other(refused, content).into()),
                    Recognized::Unknown => return Err(unknown(refused).into()),
                },
                Err(error) => return Err(error.into()),
            },
            name => name.parse()?,
        };
        Self::foreign(Foreign::decode(format, file)?.to_owned()?, key_type)
    }

    /// `words` are a kind, or a format and a type of keys. A rate that is not `given` is for formats sized by one.
    pub(crate) fn make(words: &str, keys: u64, fpp: f64, given: bool) -> Result<Self> {
        let (name, key_type) = words.split_once(' ').unwrap_or((words, ""));
        let Ok(format) = name.parse::<Format>() else {
            let plan = Plan::for_keys(name.parse::<Variant>()?, keys, fpp)?;
            Self::without_type(key_type)?;
            return Ok(Self::Own(AnyFilter::with_plan(&plan, KeyHasher::default())?));
        };
        let fpp = (given || format.takes_rate()).then_some(fpp);
        let given = Parameters { keys: Some(keys), fpp, ..Parameters::default() };
        Self::foreign(Foreign::new(format, &given)?, key_type)
    }

    /// Floats are keys of no filter of umbel.
    fn without_type(key_type: &str) -> Result<()> {
        if key_type.is_empty() {
            return Ok(());
        }
        Err("keyType is for other systems' filters: umbel's tell texts and integers apart".into())
    }

    fn foreign(filter: Foreign, key_type: &str) -> Result<Self> {
        let format = filter.format();
        let key_type = match key_type {
            "" => None,
            name => Some(name.parse::<KeyType>()?),
        };
        if let Some(other) = key_type.filter(|of| !format.key_types().contains(of)) {
            return Err(umbel_foreign::Error::KeyType { format, found: other.name() }.into());
        }
        Ok(Self::Foreign(filter, key_type))
    }

    pub(crate) fn add(&mut self, keys: &[Key<'_>]) -> Result<Vec<u8>> {
        match self {
            Self::Own(filter) => {
                note(filter, keys);
                let hashes = hashes(filter.hasher(), form(filter.description())?, keys)?;
                hashes.into_iter().map(|hash| Ok(filter.try_insert_hash(hash)?.into())).collect()
            }
            Self::Foreign(filter, key_type) => {
                let of = (filter.format(), *key_type);
                let mut insert =
                    |key: &Key<'_>| Ok(of_type(*key, of, |key| filter.insert(key))?.into());
                keys.iter().map(&mut insert).collect()
            }
        }
    }

    pub(crate) fn has(&self, keys: &[Key<'_>]) -> Result<Vec<u8>> {
        match self {
            Self::Own(filter) => {
                let hashes = hashes(filter.hasher(), form(filter.description())?, keys)?;
                Ok(hashes.into_iter().map(|hash| filter.contains_hash(hash).into()).collect())
            }
            Self::Foreign(filter, key_type) => {
                let of = (filter.format(), *key_type);
                let look =
                    |key: &Key<'_>| Ok(of_type(*key, of, |key| filter.contains(key))?.into());
                keys.iter().map(look).collect()
            }
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) -> Result<()> {
        match (self, other) {
            (Self::Own(left), Self::Own(right)) => {
                let is_new = |one: &AnyFilter| one.description().is_empty() && one.is_empty();
                if !is_new(left) && !is_new(right) {
                    left.description().check(left.kind(), right.description())?;
                }
                Ok(left.union(right)?)
            }
            (Self::Foreign(left, _), Self::Foreign(right, _)) => Ok(left.union(right)?),
            _ => Err("an umbel filter and another system's cannot be merged".into()),
        }
    }

    pub(crate) fn save(&self) -> Result<Vec<u8>> {
        match self {
            Self::Own(filter) => Ok(filter.to_bytes()),
            Self::Foreign(filter, _) => Ok(filter.encode()?),
        }
    }

    pub(crate) fn receipt(&self) -> (&'static str, Vec<f64>) {
        match self {
            Self::Own(filter) => (filter.kind().name(), figures(filter)),
            Self::Foreign(filter, _) => {
                let umbel_foreign::Receipt { fill, fpp, keys, bytes, .. } = filter.receipt();
                (
                    filter.format().name(),
                    vec![fill, fpp, keys.value, keys.low, keys.high, bytes as f64],
                )
            }
        }
    }
}

/// Calls `work` with a key as a filter with keys of this type hashes it: the same as in Python, but any number may be a float.
fn of_type<T>(
    key: Key<'_>,
    (format, key_type): (Format, Option<KeyType>),
    work: impl FnOnce(umbel_foreign::Key<'_>) -> std::result::Result<T, umbel_foreign::Error>,
) -> Result<T> {
    let digits = match key {
        Key::Bytes(bytes) => {
            let key_type = key_type.unwrap_or(format.key_types()[0]);
            return Ok(work(key_type.read(bytes, &mut Vec::new())?)?);
        }
        Key::Number(number) => number.to_string(),
        Key::Big(number) => number.to_string(),
    };
    match key_type.or(format.integers()) {
        None | Some(KeyType::Bytes | KeyType::Utf16 | KeyType::Url) => {
            Err(umbel_foreign::Error::KeyType { format, found: "a number" }.into())
        }
        Some(key_type) => Ok(work(key_type.read(digits.as_bytes(), &mut Vec::new())?)?),
    }
}
