//! The formats and their names.

use crate::key_type::named;
use crate::{Error, KeyType};

named! {
    /// A format in which another system stores a Bloom filter.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    #[non_exhaustive]
    pub enum Format else UnknownFormat {
        /// Parquet's split-block filter with its Thrift header.
        Parquet = "parquet",
        /// The bits of a Parquet filter alone, as parquet-java's `writeTo` writes them.
        ParquetBits = "parquet-bits",
        /// Guava's `BloomFilter.writeTo`.
        Guava = "guava",
        /// Spark's `BloomFilter.writeTo`, versions 1 and 2.
        Spark = "spark",
        /// RedisBloom's `BF.SCANDUMP`: the header chunk, then the data chunks.
        RedisBloom = "redisbloom",
        /// RedisBloom's `CF.SCANDUMP`, a cuckoo filter: the header chunk, then the data chunks.
        RedisBloomCuckoo = "redisbloom-cuckoo",
        /// LevelDB's `leveldb.BuiltinBloomFilter2`, also of goleveldb and Badger.
        LevelDb = "leveldb",
        /// RocksDB's full filter before format version 5.
        RocksDbLegacy = "rocksdb-legacy",
        /// RocksDB's FastLocalBloom, format version 5 and later.
        RocksDb = "rocksdb",
        /// `tofile` of pybloom 2.0 and pybloom-live 3.
        Pybloom3 = "pybloom-3",
        /// `tofile` of pybloom-live 4.
        Pybloom4 = "pybloom-4",
        /// `tofile` of the scalable filter of pybloom 2.0 and pybloom-live 3.
        Pybloom3Scalable = "pybloom-3-scalable",
        /// `tofile` of the scalable filter of pybloom-live 4.
        Pybloom4Scalable = "pybloom-4-scalable",
        /// Apache DataSketches' Bloom filter.
        DataSketches = "datasketches",
        /// Hadoop's `BloomFilter` as a `Writable`.
        Hadoop = "hadoop",
        /// Hive's `BloomKFilter`.
        Hive = "hive",
        /// ORC's row-group filter, the protobuf message.
        Orc = "orc",
        /// The Go package bits-and-blooms, formerly willf/bloom: `WriteTo`.
        BitsAndBlooms = "bits-and-blooms",
        /// The same filter as JSON.
        BitsAndBloomsJson = "bits-and-blooms-json",
        /// Squid's cache digest.
        Squid = "squid",
        /// A plain bit vector with SHA-1 of salt and key, as Perl programs store it.
        SaltedSha1 = "salted-sha1",
        /// The data of valkey-bloom's `BF.LOAD`.
        ValkeyBloom = "valkey-bloom",
    }
}

impl Format {
    /// Returns the types of keys that the system hashes; the first is the default.
    pub const fn key_types(self) -> &'static [KeyType] {
        use Format::*;
        use KeyType::{Bytes, Decimal, F32, F64, I32, I64, Url, Utf16};
        match self {
            Parquet | ParquetBits | Hive | Orc => &[Bytes, I64, I32, F64, F32],
            Guava => &[Bytes, Utf16, I64, I32],
            Spark => &[Bytes, I64, I32],
            DataSketches => &[Bytes, I64, F64],
            Pybloom3 | Pybloom4 | Pybloom3Scalable | Pybloom4Scalable => &[Bytes, Decimal],
            Squid => &[Url],
            RedisBloom | RedisBloomCuckoo | LevelDb | RocksDbLegacy | RocksDb | Hadoop
            | BitsAndBlooms | BitsAndBloomsJson | SaltedSha1 | ValkeyBloom => &[Bytes],
        }
    }

    /// Returns how it hashes the integers of a program: as a long, by their digits, or not at all, if it hashes bytes alone.
    #[doc(hidden)]
    pub fn integers(self) -> Option<KeyType> {
        const INTEGERS: [KeyType; 2] = [KeyType::Decimal, KeyType::I64];
        match self {
            // Clients of a server send the digits of a number.
            Self::RedisBloom | Self::RedisBloomCuckoo | Self::ValkeyBloom => Some(KeyType::Decimal),
            _ => INTEGERS.into_iter().find(|of| self.key_types().contains(of)),
        }
    }

    /// Returns the names of the [`Parameters`](crate::Parameters) that its filters are made from.
    pub const fn parameters(self) -> &'static [&'static str] {
        match self {
            Self::Parquet | Self::ParquetBits => &["keys", "fpp", "bits"],
            Self::Spark => &["keys", "fpp", "bits", "seed"],
            Self::DataSketches => &["keys", "fpp", "bits", "probes", "seed"],
            Self::RedisBloom | Self::ValkeyBloom => &["keys", "fpp", "growth"],
            Self::RedisBloomCuckoo => &["keys", "bucket_size", "max_iterations", "growth"],
            Self::LevelDb => &["keys", "bits_per_key", "fpp"],
            Self::RocksDbLegacy | Self::RocksDb | Self::Squid => &["keys", "bits_per_key"],
            Self::Guava | Self::Pybloom3 | Self::Pybloom4 | Self::Orc => &["keys", "fpp"],
            Self::Pybloom3Scalable | Self::Pybloom4Scalable => &["keys", "fpp", "growth"],
            Self::Hadoop => &["bits", "probes"],
            Self::Hive => &["keys"],
            Self::BitsAndBlooms | Self::BitsAndBloomsJson => &["keys", "fpp", "bits", "probes"],
            Self::SaltedSha1 => &["bits", "salts"],
        }
    }

    /// Returns whether its filters are sized by a rate; others have a default number of bits per key.
    #[doc(hidden)]
    pub fn takes_rate(self) -> bool {
        let takes = |name: &str| self.parameters().contains(&name);
        takes("fpp") && !takes("bits_per_key")
    }

    /// Returns the words that choose between its writers' variants, with their meaning.
    pub const fn options(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Parquet | Self::ParquetBits => {
                &[("arrow", "sized, and folded at the end, as Arrow does; else as parquet-java")]
            }
            Self::Guava => &[
                ("mitz32", "strategy 0, as Guava 11 and 12; else strategy 1"),
                ("guava-31", "probes as Guava up to 31.1 chooses them; else as later ones"),
            ],
            Self::Spark => &[("v1", "version 1, which Spark 3 and 4.0 read; else version 2")],
            Self::LevelDb => &[
                ("goleveldb", "sized in 32 bits, as goleveldb"),
                ("badger", "sized as Badger, from fpp or bits per key"),
            ],
            Self::RedisBloom => &[(
                "redisbloom-2",
                "error rates above 0.25 as they are, as RedisBloom 2; else cut to 0.25, as Redis 8",
            )],
            Self::DataSketches => &[("counted", "with the number of set bits in the header")],
            Self::Hadoop => &[
                ("jenkins", "Jenkins' hash; else Murmur"),
                ("old", "the older header without a version; Jenkins' hash"),
            ],
            _ => &[],
        }
    }

    /// Returns the names of the [`Parameters`](crate::Parameters) that must be given to read its files.
    pub const fn required(self) -> &'static [&'static str] {
        match self {
            Self::SaltedSha1 => &["salts"],
            _ => &[],
        }
    }

    /// Returns whether the size follows from the number of keys inserted, which must therefore be known first.
    pub const fn counts_keys(self) -> bool {
        matches!(self, Self::LevelDb | Self::RocksDbLegacy | Self::RocksDb)
    }

    /// Returns whether filters grow as keys are inserted.
    pub const fn grows(self) -> bool {
        use Format::*;
        matches!(
            self,
            RedisBloom | RedisBloomCuckoo | Pybloom3Scalable | Pybloom4Scalable | ValkeyBloom
        )
    }

    /// Returns whether two filters have a union. Cuckoo filters count copies of a key, so they have none.
    pub const fn merges(self) -> bool {
        !matches!(self, Self::RedisBloomCuckoo)
    }

    /// Returns what stops working in large filters of this format, and from which size on; `None` if everything works.
    pub const fn limits(self) -> Option<&'static str> {
        use Format::*;
        Some(match self {
            Parquet | ParquetBits => {
                "its writers stop at 128 MiB; the header counts bytes in 31 bits"
            }
            Guava => "at most 2^31 - 1 words; filters of strategy 0 never use bits from 2^31 on",
            Spark => "at most 2^31 - 1 words; filters of version 1 never use bits from 2^31 on",
            LevelDb => {
                "bits from 2^32 on are never used; goleveldb and Badger compute sizes in 32 bits, which wrap"
            }
            RocksDbLegacy => {
                "at most 0xffff0000 bits; its 32-bit hash shows in the rate from some 3 million keys on"
            }
            RocksDb => "at most 0xffffffc0 bytes",
            DataSketches => {
                "at most (2^31 - 5) * 64 bits; arrays of Java, and so its files, end at 2 GiB"
            }
            Hadoop | Orc => "at most 2^31 - 1 bits",
            Hive => "at most 2^31 - 1 words; its rate is always planned for 0.05",
            Squid => "2^31 - 9 bits; always 4 probes per key",
            RedisBloom => "a first link of at most 2^30 entries; growth of at most 32768",
            RedisBloomCuckoo => {
                "fingerprints of 8 bits: some 2 * bucket size / 255 of absent keys pass, in each sub-filter"
            }
            SaltedSha1 => "the hash has 32 bits: bits from 2^32 on are never used",
            Pybloom3 | Pybloom4 | Pybloom3Scalable | Pybloom4Scalable | BitsAndBlooms
            | BitsAndBloomsJson | ValkeyBloom => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for (i, format) in Format::ALL.iter().copied().enumerate() {
            assert_eq!(format.name().parse::<Format>().unwrap(), format);
            assert_eq!(format as usize, i, "in the order of the enum");
            assert!(!format.key_types().is_empty());
        }
        let error = "gauva".parse::<Format>().unwrap_err().to_string();
        assert!(error.contains("gauva") && error.contains("guava"), "{error}");
    }
}
