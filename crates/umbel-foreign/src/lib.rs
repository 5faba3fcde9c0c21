//! Bloom filters of other systems (Parquet, Guava, Spark, RedisBloom, RocksDB and more), byte for byte: create, read,
//! query, fill, merge and write them.
//!
//! A foreign filter works directly on the content of its file: the bits stay in place, in the file's order, so a
//! mapped file is a filter without a copy. [`ForeignFilter::write_to`] writes exactly what the other system would have
//! written with the same keys.
//!
//! ```
//! use umbel_foreign::{Foreign, ForeignFilter, ForeignInsert, Format, Key, Parameters};
//!
//! // As Guava's BloomFilter.create(Funnels.stringFunnel(UTF_8), 1000, 0.01) and writeTo.
//! let mut filter = Foreign::new(Format::Guava, &Parameters::for_keys(1000, 0.01))?;
//! assert!(filter.insert(Key::from("apple"))?);
//! let file = filter.encode()?;
//! assert_eq!(file[..2], [1, 7], "strategy 1, 7 probes");
//!
//! let read = Foreign::decode(Format::Guava, &file[..])?;
//! assert!(read.contains(Key::from("apple"))? && !read.contains(Key::from("mango"))?);
//! # Ok::<(), umbel_foreign::Error>(())
//! ```
//!
//! [`Format`] lists the formats, [`Parameters`] what a new filter is made for, and [`Key`] the types of keys;
//! [`recognize`] finds the formats that a file can have. Most formats are one array of bits with a header: each is a
//! [`Layout`] in a file of its own, which [`Plain`] turns into a filter.
//! [docs/formats.md](https://github.com/umbel/umbel/blob/main/docs/formats.md) lists versions and limits; the crate
//! [`umbel`] has filters in umbel's own format.

mod any;
mod arch;
mod bits;
pub mod bits_and_blooms;
mod bytes;
mod chain;
pub mod datasketches;
mod error;
mod format;
pub mod guava;
pub mod hadoop;
mod hash;
pub mod hive;
mod key;
mod key_type;
pub mod leveldb;
mod measure;
pub mod orc;
mod parameters;
pub mod parquet;
mod plain;
mod prelude;
pub mod pybloom;
mod receipt;
#[doc(hidden)]
pub mod recognized;
pub mod redisbloom;
pub mod redisbloom_cuckoo;
pub mod rocksdb;
pub mod salted;
pub mod spark;
pub mod squid;
#[cfg(feature = "tables")]
pub mod table;
pub mod valkey_bloom;

use std::io::Write;

pub use any::{Content, Foreign, KeyCounter};
pub use bytes::Bytes;
pub use chain::{Chain, Rule};
pub use error::{Error, Value};
pub use format::Format;
pub use key::Key;
pub use key_type::KeyType;
pub use parameters::{Parameters, Plan};
pub use plain::{Layout, Plain};
pub use receipt::{Part, Receipt};

/// The methods of every foreign filter.
pub trait ForeignFilter {
    /// Returns its format.
    fn format(&self) -> Format;

    /// Returns the way from keys to positions, with the seed and everything else that two filters must share to be
    /// merged.
    fn scheme(&self) -> String;

    /// Returns whether its content is very unlikely to have any other format.
    fn is_certain(&self) -> bool {
        false
    }

    /// Returns the answer for every key, if the system answers without reading bits, because there are none or it does
    /// not understand them.
    fn fixed(&self) -> Option<bool> {
        None
    }

    /// Returns whether a key may have been inserted.
    ///
    /// # Errors
    /// [`Error::KeyType`] for a type that the system does not hash, [`Error::Key`] for a
    /// key that it refuses.
    fn contains(&self, key: Key<'_>) -> Result<bool, Error>;

    /// Looks up many keys, with overlapping cache misses: `found[i]` becomes the answer for `keys[i]`.
    ///
    /// # Errors
    /// As [`contains`](Self::contains).
    ///
    /// # Panics
    /// If the slices differ in length.
    fn contains_all(&self, keys: &[Key<'_>], found: &mut [bool]) -> Result<(), Error> {
        assert_eq!(keys.len(), found.len(), "one answer for each key");
        for (key, found) in keys.iter().zip(found) {
            *found = self.contains(*key)?;
        }
        Ok(())
    }

    /// Returns the bytes of its file.
    fn bytes(&self) -> u64;

    /// Returns the bytes that it needs in memory once it holds a key: the size of its file, except for an
    /// empty DataSketches file, which omits the bits: up to 16 GiB for 24 bytes.
    fn bytes_to_fill(&self) -> u64 {
        self.bytes()
    }

    /// Computes what it delivers now, from its own bits, in one pass.
    fn receipt(&self) -> Receipt;

    /// The figures of its one array of bits; `None` for a filter of several parts.
    #[doc(hidden)]
    fn measured(&self) -> Option<measure::Measure> {
        None
    }

    /// Writes its file, byte for byte as the system does. Does not flush `out`.
    ///
    /// # Errors
    /// The errors of `out`.
    fn write_to(&self, out: &mut dyn Write) -> Result<(), Error>;

    /// Returns its file as bytes.
    ///
    /// # Errors
    /// None.
    fn encode(&self) -> Result<Vec<u8>, Error> {
        let mut file = Vec::new();
        self.write_to(&mut file)?;
        Ok(file)
    }
}

/// The methods of foreign filters that own their content.
pub trait ForeignInsert: ForeignFilter {
    /// Inserts a key; true if it was certainly new.
    ///
    /// # Errors
    /// As [`ForeignFilter::contains`]; [`Error::Full`] for a format that accepts no more keys than planned;
    /// [`Error::GrowthLimit`] for a filter that would grow beyond its [limit](Self::set_limit).
    fn insert(&mut self, key: Key<'_>) -> Result<bool, Error>;

    /// Inserts many keys in order.
    ///
    /// # Errors
    /// As [`insert`](Self::insert). The keys before the refused one are in the filter.
    fn insert_all(&mut self, keys: &[Key<'_>]) -> Result<(), Error> {
        keys.iter().try_for_each(|key| self.insert(*key).map(drop))
    }

    /// Limits its memory to `bytes` bytes, also while it grows. Only for a format that [grows](Format::grows); others
    /// keep their size.
    fn set_limit(&mut self, bytes: u64) {
        let _ = bytes;
    }

    /// Does what the writer of the format does after the last key, such as Arrow's folding of Parquet filters. For most
    /// formats, nothing.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    fn finish(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

/// Moves memory to better places, as the defragmentation of a server does.
#[doc(hidden)]
pub trait Relocate {
    /// Moves the memory of a vector, which keeps its content.
    fn vector<T>(&mut self, vector: &mut Vec<T>);
}

/// Returns the formats that `content` can have, and for each whether any other is very unlikely; those come first.
///
/// Files of most systems have no magic number, only fields that must agree with each other and with the length, so it
/// may find several formats, or a wrong one. It does not find formats whose files omit what is needed to read them.
/// Reads the headers, and for a few formats all of `content` once.
pub fn recognize(content: &[u8]) -> Vec<(Format, bool)> {
    let read = |format| {
        let filter = Foreign::decode(format, content).ok()?;
        let certain = filter.is_certain();
        (certain || filter.fixed().is_none()).then_some((format, certain))
    };
    let mut found: Vec<_> = Format::ALL.iter().copied().filter_map(read).collect();
    found.sort_by_key(|(_, certain)| !certain);
    found
}
