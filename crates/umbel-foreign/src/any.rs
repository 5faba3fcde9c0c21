//! A foreign filter whose format is known only at run time.

use std::io::Write;

use umbel::Comparison;

use crate::bits_and_blooms::{self, BitsAndBlooms, BitsAndBloomsJson};
use crate::datasketches::{self, DataSketches};
use crate::guava::{self, Guava};
use crate::hadoop::{self, Hadoop};
use crate::hive::{self, Hive};
use crate::leveldb::{self, LevelDb};
use crate::measure::Measure;
use crate::orc::{self, Orc};
use crate::parquet::{self, Parquet};
use crate::plain::sealed;
use crate::pybloom::{self, Pybloom, PybloomScalable};
use crate::redisbloom::{self, RedisBloom};
use crate::redisbloom_cuckoo::RedisBloomCuckoo;
use crate::rocksdb::{self, RocksDb, RocksDbLegacy};
use crate::salted::{self, SaltedSha1};
use crate::spark::{self, Spark};
use crate::squid::{self, Squid};
use crate::valkey_bloom::{self, ValkeyBloom};
use crate::{Bytes, Error, ForeignFilter, ForeignInsert, Format, Key, Parameters, Plan, Receipt};

/// The enum of all systems, and the code they share. Each line is a variant, its type and its formats. The type has
/// `new`, `plan`, `decode`, `union` and `to_owned` like [`Plain`](crate::Plain), and implements the traits.
macro_rules! systems {
    ($($(#[$doc:meta])* $name:ident($type:ty, $owned:ty): $($format:ident)|+;)*) => {
        /// A foreign filter of any format. The front ends work on this type.
        ///
        /// `S` holds the [`Content`]: [`Bytes`] and `Vec<u8>` own it, `&[u8]` borrows it.
        #[derive(Clone, Debug)]
        #[non_exhaustive]
        pub enum Foreign<S = Bytes> {
            $($(#[$doc])* $name($type),)*
        }

        impl Foreign {
            /// Makes an empty filter of the size that the system itself would choose.
            ///
            /// # Errors
            /// [`Error::Parameter`] for a parameter that the format does not accept, or that it needs; [`Error::Fpp`];
            /// [`Error::OutOfMemory`].
            pub fn new(format: Format, given: &Parameters) -> Result<Self, Error> {
                match format {
                    $($(Format::$format)|+ => Ok(Self::$name(<$owned>::new(format, given)?)),)*
                }
            }

            /// Plans the filter that [`new`](Self::new) would make.
            ///
            /// # Errors
            /// As [`new`](Self::new), except for memory.
            pub fn plan(format: Format, given: &Parameters) -> Result<Plan, Error> {
                match format {
                    $($(Format::$format)|+ => <$owned>::plan(format, given),)*
                }
            }

            #[inline(never)]
            fn get_mut(&mut self) -> &mut dyn ForeignInsert {
                match self {
                    $(Self::$name(filter) => filter,)*
                }
            }

            /// Adds all keys of `other`: the bits become the same as in a filter with the keys of both.
            ///
            /// # Errors
            /// [`Error::FormatsDiffer`]; [`Error::Differ`], which names what else differs: the scheme with its seed,
            /// the bits, or the probes; [`Error::NoUnion`] if the format has none. `self` is unchanged then.
            pub fn union<T: Content>(&mut self, other: &Foreign<T>) -> Result<(), Error> {
                T::add(other, self)
            }

            fn add<T: AsRef<[u8]>>(&mut self, other: &Foreign<T>) -> Result<(), Error> {
                match (self, other) {
                    $((Self::$name(left), Foreign::$name(right)) => left.union(right),)*
                    (left, right) => {
                        Err(Error::FormatsDiffer { left: left.format(), right: right.of_any().format() })
                    }
                }
            }
        }

        impl<S: Content> Foreign<S> {
            /// Decodes the filter that `content` holds, which must be the filter and nothing else.
            ///
            /// # Errors
            /// [`Error::Field`] for an invalid field, [`Error::Length`] for too few or too many bytes,
            /// [`Error::Parameter`] for a format whose files do not describe themselves. Never panics, for any input.
            pub fn decode(format: Format, content: S) -> Result<Self, Error> {
                Self::decode_with(format, content, &Parameters::default())
            }

            /// Like [`decode`](Self::decode), with the parameters that files of the format do not contain:
            /// [`Format::required`].
            ///
            /// # Errors
            /// As [`decode`](Self::decode).
            pub fn decode_with(format: Format, content: S, given: &Parameters) -> Result<Self, Error> {
                S::decode(format, content, given)
            }

            /// Copies the filter; the copy owns its content and accepts keys.
            ///
            /// # Errors
            /// [`Error::OutOfMemory`].
            pub fn to_owned(&self) -> Result<Foreign, Error> {
                S::copy(self)
            }

            fn get(&self) -> &dyn ForeignFilter {
                S::get(self)
            }
        }

        impl<S: AsRef<[u8]>> Foreign<S> {
            fn read(format: Format, content: S, given: &Parameters) -> Result<Self, Error> {
                match format {
                    $($(Format::$format)|+ => Ok(Self::$name(<$type>::decode(format, content, given)?)),)*
                }
            }

            fn copied(&self) -> Result<Foreign, Error> {
                match self {
                    $(Self::$name(filter) => Ok(Foreign::$name(filter.to_owned()?)),)*
                }
            }

            fn of_any(&self) -> &dyn ForeignFilter {
                match self {
                    $(Self::$name(filter) => filter,)*
                }
            }
        }
    };
}

systems! {
    /// Parquet.
    Parquet(Parquet<S>, Parquet): Parquet | ParquetBits;
    /// Guava.
    Guava(Guava<S>, Guava): Guava;
    /// Spark.
    Spark(Spark<S>, Spark): Spark;
    /// RedisBloom.
    RedisBloom(RedisBloom<S>, RedisBloom): RedisBloom;
    /// RedisBloom's cuckoo filters.
    RedisBloomCuckoo(RedisBloomCuckoo<S>, RedisBloomCuckoo): RedisBloomCuckoo;
    /// LevelDB, goleveldb, Badger.
    LevelDb(LevelDb<S>, LevelDb): LevelDb;
    /// RocksDB before format version 5.
    RocksDbLegacy(RocksDbLegacy<S>, RocksDbLegacy): RocksDbLegacy;
    /// RocksDB.
    RocksDb(RocksDb<S>, RocksDb): RocksDb;
    /// pybloom and pybloom-live.
    Pybloom(Pybloom<S>, Pybloom): Pybloom3 | Pybloom4;
    /// The scalable filter of pybloom and pybloom-live.
    PybloomScalable(PybloomScalable<S>, PybloomScalable): Pybloom3Scalable | Pybloom4Scalable;
    /// DataSketches.
    DataSketches(DataSketches<S>, DataSketches): DataSketches;
    /// Hadoop.
    Hadoop(Hadoop<S>, Hadoop): Hadoop;
    /// Hive.
    Hive(Hive<S>, Hive): Hive;
    /// ORC.
    Orc(Orc<S>, Orc): Orc;
    /// bits-and-blooms.
    BitsAndBlooms(BitsAndBlooms<S>, BitsAndBlooms): BitsAndBlooms;
    /// bits-and-blooms in JSON.
    BitsAndBloomsJson(BitsAndBloomsJson, BitsAndBloomsJson): BitsAndBloomsJson;
    /// Squid.
    Squid(Squid<S>, Squid): Squid;
    /// Salted SHA-1.
    SaltedSha1(SaltedSha1<S>, SaltedSha1): SaltedSha1;
    /// valkey-bloom.
    ValkeyBloom(ValkeyBloom<S>, ValkeyBloom): ValkeyBloom;
}

macro_rules! sealed {
    ($($own:ty),*) => {$(impl sealed::Sealed for $own {})*};
}

sealed! {
    bits_and_blooms::Fields, datasketches::Fields, guava::Fields, hadoop::Fields, hive::Fields,
    leveldb::Fields, orc::Fields, parquet::Fields, pybloom::Fields, salted::Fields, spark::Fields,
    squid::Fields, redisbloom::Options, valkey_bloom::Properties
}

/// The holder of a [`Foreign`] filter's content: [`Bytes`], `Vec<u8>` or `&[u8]`. Sealed.
///
/// The code of such a filter is compiled here, once for each holder, not in every crate that uses one.
pub trait Content: AsRef<[u8]> + Sized + sealed::Sealed {
    #[doc(hidden)]
    fn get(filter: &Foreign<Self>) -> &dyn ForeignFilter;
    #[doc(hidden)]
    fn decode(format: Format, content: Self, given: &Parameters) -> Result<Foreign<Self>, Error>;
    #[doc(hidden)]
    fn copy(filter: &Foreign<Self>) -> Result<Foreign, Error>;
    #[doc(hidden)]
    fn add(filter: &Foreign<Self>, to: &mut Foreign) -> Result<(), Error>;
}

macro_rules! contents {
    ($($content:ty),*) => {$(
        impl sealed::Sealed for $content {}

        impl Content for $content {
            #[inline(never)]
            fn get(filter: &Foreign<Self>) -> &dyn ForeignFilter {
                filter.of_any()
            }

            #[inline(never)]
            fn decode(
                format: Format,
                content: Self,
                given: &Parameters,
            ) -> Result<Foreign<Self>, Error> {
                Foreign::read(format, content, given)
            }

            #[inline(never)]
            fn copy(filter: &Foreign<Self>) -> Result<Foreign, Error> {
                filter.copied()
            }

            #[inline(never)]
            fn add(filter: &Foreign<Self>, to: &mut Foreign) -> Result<(), Error> {
                to.add(filter)
            }
        }
    )*};
}

contents!(Bytes, Vec<u8>, &[u8]);

impl Foreign {
    /// Builds a filter of these keys as the system does. If its size follows from the number of keys, and none is
    /// given, they are counted first, the way the system counts them.
    ///
    /// # Errors
    /// As [`new`](Self::new) and [`insert`](ForeignInsert::insert).
    pub fn build<'a>(
        format: Format,
        given: &Parameters,
        keys: impl Iterator<Item = Key<'a>> + Clone,
    ) -> Result<Self, Error> {
        let mut given = given.clone();
        if given.keys.is_none() && format.counts_keys() {
            let mut counter = KeyCounter::new(format);
            keys.clone().try_for_each(|key| counter.add(key))?;
            given.keys = Some(counter.keys());
        }
        let mut filter = Self::new(format, &given)?;
        let (mut keys, mut batch) = (keys, Vec::new());
        loop {
            batch.clear();
            batch.extend(keys.by_ref().take(256));
            if batch.is_empty() {
                break;
            }
            filter.insert_all(&batch)?;
        }
        filter.finish()?;
        Ok(filter)
    }
}

impl<S: Content> Foreign<S> {
    /// Estimates the keys that two filters share, from their bits. Copies one of them.
    ///
    /// # Errors
    /// As [`union`](Foreign::union); [`Error::NotComparable`] for a filter of several parts, and for one that answers
    /// without reading bits.
    pub fn compare<T: Content>(&self, other: &Foreign<T>) -> Result<Comparison, Error> {
        let mut union = self.to_owned()?;
        union.union(other)?;
        let measures = [self.measured(), other.measured(), union.measured()];
        let measured = |measure: Option<Measure>| {
            let measure = measure.ok_or(Error::NotComparable { format: self.format() })?;
            let clear = measure.bits.saturating_sub(measure.set_bits) as f64;
            Ok::<_, Error>((measure, clear))
        };
        let [left, right, both] = measures.map(measured);
        let ((left, left_clear), (right, right_clear), (both, both_clear)) = (left?, right?, both?);
        let coverage = left.coverage.ok_or(Error::NotComparable { format: self.format() })?;
        let overlap = coverage.overlap(left_clear, right_clear, both_clear);
        let shared = (left.set_bits + right.set_bits).saturating_sub(both.set_bits);
        let set = [left.set_bits, right.set_bits, shared];
        Ok(Comparison::new([left.keys, right.keys], overlap, left.bits, set))
    }

    /// Converts to another format of the same system: `parquet` and `parquet-bits`, or `bits-and-blooms` and its JSON.
    /// Returns a copy if it already has the format.
    ///
    /// # Errors
    /// [`Error::CannotConvert`] for any other format: a filter does not store its keys, and different systems place
    /// them differently. [`Error::Field`] for a filter too large for the format; [`Error::OutOfMemory`].
    pub fn convert(&self, to: Format) -> Result<Foreign, Error> {
        let from = self.format();
        match (self, to) {
            _ if from == to => self.to_owned(),
            (Self::Parquet(filter), Format::Parquet | Format::ParquetBits) => {
                Ok(Foreign::Parquet(filter.convert(to)?))
            }
            (Self::BitsAndBlooms(filter), Format::BitsAndBloomsJson) => {
                let binary = filter.to_owned()?;
                Ok(Foreign::BitsAndBloomsJson(BitsAndBloomsJson::from_binary(binary)))
            }
            (Self::BitsAndBloomsJson(filter), Format::BitsAndBlooms) => {
                Ok(Foreign::BitsAndBlooms(filter.binary().to_owned()?))
            }
            _ => Err(Error::CannotConvert { from, to }),
        }
    }
}

/// Counts keys as systems do that size a filter by the number of keys.
///
/// RocksDB, which gets its keys in the order of a table, skips those with the same hash as the key just before; others
/// count every key.
#[derive(Clone, Debug)]
pub struct KeyCounter {
    hash: Option<fn(Key<'_>) -> Result<u64, Error>>,
    before: Option<u64>,
    keys: u64,
}

impl KeyCounter {
    /// Starts at 0 keys.
    pub fn new(format: Format) -> Self {
        let hash: Option<fn(Key<'_>) -> Result<u64, Error>> = match format {
            Format::RocksDb => Some(rocksdb::fast_hash),
            Format::RocksDbLegacy => Some(|key| rocksdb::legacy_hash(key).map(u64::from)),
            _ => None,
        };
        Self { hash, before: None, keys: 0 }
    }

    /// Counts the next key.
    ///
    /// # Errors
    /// As [`ForeignFilter::contains`], for formats that read keys.
    pub fn add(&mut self, key: Key<'_>) -> Result<(), Error> {
        let hash = self.hash.map(|hash| hash(key)).transpose()?;
        self.keys += u64::from(hash.is_none() || hash != self.before);
        self.before = hash;
        Ok(())
    }

    /// Returns the number of keys counted.
    pub fn keys(&self) -> u64 {
        self.keys
    }
}

/// Methods of the filter in a [`Foreign`].
macro_rules! forward {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {$(
        fn $name(&self $(, $argument: $type)*) -> $result {
            self.get().$name($($argument),*)
        }
    )*};
}

impl<S: Content> ForeignFilter for Foreign<S> {
    forward! {
        format() -> Format;
        scheme() -> String;
        is_certain() -> bool;
        fixed() -> Option<bool>;
        contains(key: Key<'_>) -> Result<bool, Error>;
        contains_all(keys: &[Key<'_>], found: &mut [bool]) -> Result<(), Error>;
        bytes() -> u64;
        bytes_to_fill() -> u64;
        measured() -> Option<Measure>;
        receipt() -> Receipt;
        write_to(out: &mut dyn Write) -> Result<(), Error>;
    }
}

impl ForeignInsert for Foreign {
    fn insert(&mut self, key: Key<'_>) -> Result<bool, Error> {
        self.get_mut().insert(key)
    }

    fn insert_all(&mut self, keys: &[Key<'_>]) -> Result<(), Error> {
        self.get_mut().insert_all(keys)
    }

    fn set_limit(&mut self, bytes: u64) {
        self.get_mut().set_limit(bytes);
    }

    fn finish(&mut self) -> Result<(), Error> {
        self.get_mut().finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(format: Format, given: &Parameters) -> Foreign {
        let mut filter = Foreign::new(format, given).unwrap();
        for i in 0..50u32 {
            filter.insert(Key::Bytes(&i.to_le_bytes())).unwrap();
        }
        filter
    }

    #[test]
    fn formats_of_one_system_convert_and_others_do_not() {
        let given = Parameters::for_keys(100, 0.01);
        use Format::{BitsAndBlooms, BitsAndBloomsJson, Parquet, ParquetBits};
        for [one, other] in [[Parquet, ParquetBits], [BitsAndBlooms, BitsAndBloomsJson]] {
            let (left, right) = (filled(one, &given), filled(other, &given));
            assert_eq!(left.convert(other).unwrap().encode().unwrap(), right.encode().unwrap());
            assert_eq!(right.convert(one).unwrap().encode().unwrap(), left.encode().unwrap());
            assert_eq!(left.convert(one).unwrap().encode().unwrap(), left.encode().unwrap());
            assert_eq!(right.bytes(), right.encode().unwrap().len() as u64);
        }
        let guava = filled(Format::Guava, &given);
        assert_eq!(guava.scheme(), "murmur3-128/mitz64");
        for to in Format::ALL.iter().copied().filter(|to| *to != Format::Guava) {
            let error = guava.convert(to).unwrap_err();
            assert!(matches!(error, Error::CannotConvert { from: Format::Guava, .. }), "{error}");
        }
    }

    #[test]
    fn filters_tell_what_their_sets_share() {
        let given = Parameters::for_keys(4000, 0.01);
        for format in Format::ALL.iter().copied().filter(|format| format.merges()) {
            let of = |keys: std::ops::Range<u32>| {
                let keys: Vec<_> = keys.map(|i| format!("key {i}")).collect();
                Foreign::build(format, &given, keys.iter().map(|key| Key::Bytes(key.as_bytes())))
            };
            // Squid's keys are URLs, and some formats accept no rate.
            let (Ok(left), Ok(right)) = (of(0..3000), of(2000..4000)) else { continue };
            let found = left.compare(&right).unwrap_or_else(|error| panic!("{format}: {error}"));
            let overlap = found.overlap.unwrap();
            let estimates = [found.left, found.right, overlap.union, overlap.intersection];
            for (estimate, truth) in estimates.into_iter().zip([3e3, 2e3, 4e3, 1e3]) {
                // Six standard deviations, and a little for hashes that are not independent.
                let most = 6.0 * estimate.deviation + 0.02 * truth;
                let is_near = (estimate.value - truth).abs() <= most;
                assert!(is_near, "{format}: {estimate:?}, not {truth}");
            }
            assert_eq!(found.left_bits, left.receipt().set_bits);
        }
        let [one, other] = [Some(1), Some(2)].map(|probes| {
            let given = Parameters { probes, bits: Some(4096), ..Parameters::default() };
            Foreign::new(Format::BitsAndBlooms, &given).unwrap()
        });
        assert!(matches!(one.compare(&other), Err(Error::Differ { .. })));
    }

    #[test]
    fn usual_plans_have_no_warnings_and_the_size_of_those_too_large_is_told() {
        let plans = |format, keys| {
            [(Some(0.01), None), (None, Some(10.0)), (None, None)].map(|(fpp, bits_per_key)| {
                let keys = Some(keys);
                let given = Parameters { keys, fpp, bits_per_key, ..Parameters::default() };
                Foreign::plan(format, &given)
            })
        };
        for &format in Format::ALL {
            for plan in plans(format, 1000).into_iter().flatten() {
                assert!(plan.warnings.is_empty(), "{format}: {:?}", plan.warnings);
            }
            for keys in [1 << 58, 1 << 61] {
                for plan in plans(format, keys) {
                    let Err(Error::TooLarge { bits }) = plan else { continue };
                    // Some stop at 2^63 bits, as their software does.
                    let [least, most] = [4, 64].map(|per_key| (per_key * u128::from(keys)) as f64);
                    assert!(bits >= least.min(2f64.powi(62)), "{format}: {bits} for {keys} keys");
                    assert!(bits <= most, "{format}: {bits} for {keys} keys");
                }
            }
        }
    }

    #[test]
    fn filters_that_do_not_scale_are_full() {
        let given = Parameters { growth: Some(0), ..Parameters::for_keys(4, 0.01) };
        for format in [Format::RedisBloom, Format::ValkeyBloom] {
            let mut filter = Foreign::new(format, &given).unwrap();
            for key in ["0", "1", "2", "3"] {
                assert!(filter.insert(key.into()).unwrap());
            }
            assert!(matches!(filter.insert("new".into()), Err(Error::Full { keys: 4, .. })));
            assert!(!filter.insert("1".into()).unwrap());
        }
    }

    #[test]
    fn filters_grow_as_far_as_they_may() {
        for format in Format::ALL.iter().copied().filter(|format| format.grows()) {
            let fpp = format.parameters().contains(&"fpp").then_some(0.01);
            let given = Parameters { fpp, growth: Some(2), ..Parameters::for_keys(10, 0.5) };
            let mut filter = filled(format, &given);
            let bytes = filter.bytes();
            filter.set_limit(3 * bytes);
            let fills = |filter: &mut Foreign| {
                (50..100_000u32)
                    .try_for_each(|i| filter.insert(Key::Bytes(&i.to_le_bytes())).map(drop))
            };
            let refused = fills(&mut filter).unwrap_err();
            assert!(matches!(refused, Error::GrowthLimit { .. }), "{format}: {refused}");
            assert!(filter.bytes() < 3 * bytes);
            // It is intact: the inserted keys are present.
            assert!((0..50u32).all(|i| filter.contains(Key::Bytes(&i.to_le_bytes())).unwrap()));
            filter.set_limit(u64::MAX);
            assert!(fills(&mut filter).is_ok() && filter.bytes() > 3 * bytes);
        }
    }
}
