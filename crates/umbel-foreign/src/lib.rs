//! Other systems' Bloom filters, byte for byte: read, asked, filled, joined, made and written.
//!
//! A foreign filter is the content of its file and what its fields say; the bits stay where they are,
//! in the order of the file, so that a map of a file is a filter without a copy. What comes out of
//! [`ForeignFilter::write_to`] is what the other system would have written with the same keys.
//!
//! ```
//! use umbel_foreign::{Foreign, ForeignFilter, ForeignInsert, Format, Key, Parameters};
//!
//! // As Guava's BloomFilter.create(Funnels.unencodedCharsFunnel(), 1000, 0.01) and writeTo.
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
//! [`Format`] names the formats, [`Parameters`] what their filters are made for, [`Key`] what they hold;
//! [`recognize`] tells which formats a content can be of. Most formats are one array of bits with
//! a header: a [`Layout`] each, in a file of its own, which [`Plain`] turns into a filter.

mod any;
mod arch;
mod bits;
pub mod bits_and_blooms;
mod bytes;
pub mod datasketches;
mod error;
mod format;
pub mod guava;
pub mod hadoop;
mod hash;
pub mod hive;
mod key;
pub mod leveldb;
mod measure;
pub mod orc;
mod parameters;
pub mod parquet;
mod plain;
pub mod pybloom;
mod receipt;
pub mod redisbloom;
pub mod rocksdb;
pub mod salted;
pub mod spark;
pub mod squid;

use std::io::Write;

pub use any::{Foreign, KeyCounter};
pub use bytes::Bytes;
pub use error::{Error, Value};
pub use format::Format;
pub use key::{Key, KeyType};
pub use parameters::{Parameters, Plan};
pub use plain::{Layout, Plain};
pub use receipt::{Part, Receipt};

/// What every foreign filter does.
pub trait ForeignFilter {
    /// Its format.
    fn format(&self) -> Format;

    /// How keys become positions, with the seed and all that two filters must share to be joined.
    fn scheme(&self) -> String;

    /// Whether its content can hardly be of any other format.
    fn is_certain(&self) -> bool {
        false
    }

    /// The answer that it gives for every key, where the system answers without looking at bits: there are
    /// none, or not such as it knows.
    fn fixed(&self) -> Option<bool> {
        None
    }

    /// Whether a key may have been inserted.
    ///
    /// # Errors
    /// [`Error::KeyType`] for a type that the system does not hash, [`Error::Key`] for a
    /// key that it refuses.
    fn contains(&self, key: Key<'_>) -> Result<bool, Error>;

    /// Asks for many keys, with overlapping cache misses: `found[i]` becomes the answer for `keys[i]`.
    ///
    /// # Errors
    /// As [`contains`](Self::contains).
    ///
    /// # Panics
    /// When the slices differ in length.
    fn contains_all(&self, keys: &[Key<'_>], found: &mut [bool]) -> Result<(), Error> {
        assert_eq!(keys.len(), found.len(), "one answer for each key");
        for (key, found) in keys.iter().zip(found) {
            *found = self.contains(*key)?;
        }
        Ok(())
    }

    /// Bytes of its file.
    fn bytes(&self) -> u64;

    /// Bytes that it takes in memory as soon as it holds a key: those of its file, but of an empty DataSketches file, which
    /// leaves out the bits, up to 16 GiB for 24 bytes.
    fn bytes_to_fill(&self) -> u64 {
        self.bytes()
    }

    /// What it really delivers now, from its own bits. One pass over them.
    fn receipt(&self) -> Receipt;

    /// Figures of its one array of bits; none of a filter of several parts.
    #[doc(hidden)]
    fn measured(&self) -> Option<measure::Measure> {
        None
    }

    /// Writes its file, byte for byte as the system does.
    ///
    /// # Errors
    /// Those of `out`.
    fn write_to(&self, out: &mut dyn Write) -> Result<(), Error>;

    /// The bytes of its file.
    ///
    /// # Errors
    /// None of its own.
    fn encode(&self) -> Result<Vec<u8>, Error> {
        let mut file = Vec::new();
        self.write_to(&mut file)?;
        Ok(file)
    }
}

/// What foreign filters do that own their content.
pub trait ForeignInsert: ForeignFilter {
    /// Inserts a key; true when it was certainly new.
    ///
    /// # Errors
    /// As [`ForeignFilter::contains`]; [`Error::Full`] of a format that takes no more keys than planned;
    /// [`Error::GrowthLimit`] of one that would grow beyond its [limit](Self::set_limit).
    fn insert(&mut self, key: Key<'_>) -> Result<bool, Error>;

    /// Inserts many keys, in their order.
    ///
    /// # Errors
    /// As [`insert`](Self::insert): the keys before the one refused are in the filter.
    fn insert_all(&mut self, keys: &[Key<'_>]) -> Result<(), Error> {
        keys.iter().try_for_each(|key| self.insert(*key).map(drop))
    }

    /// Bytes that it may take in memory at most, also while it grows; for a filter of a format that
    /// [grows](Format::grows), others keep their size.
    fn set_limit(&mut self, bytes: u64) {
        let _ = bytes;
    }

    /// What the writer of the format does after the last key, such as Arrow's folding of Parquet
    /// filters. Nothing for most.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    fn finish(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

/// The formats that `content` can be of, and whether it hardly can be of another: those certain first.
///
/// Files of most systems have no magic, only fields that must agree with each other and with the length,
/// so that several formats may be found, or one that the content is not of. Formats whose files leave
/// out what is needed to read them are not among them. Cost: the headers, and for a few formats one pass.
pub fn recognize(content: &[u8]) -> Vec<(Format, bool)> {
    let read = |format| {
        let filter = Foreign::decode(format, content).ok()?;
        let certain = filter.is_certain();
        (certain || filter.fixed().is_none()).then_some((format, certain))
    };
    let mut found: Vec<_> = Format::ALL.into_iter().filter_map(read).collect();
    found.sort_by_key(|(_, certain)| !certain);
    found
}
