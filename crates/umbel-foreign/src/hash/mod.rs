//! Other systems' hashes without a maintained crate: pure functions of a seed and bytes.
//!
//! Each is as in the system, including mistakes in its tail, because a filter's bits were set with those. They serve
//! only to read and write other systems' filters; umbel's own hash is in [`umbel::hash`].

pub(crate) mod hive;
pub(crate) mod leveldb;
pub(crate) mod lookup3;
pub(crate) mod murmur2;
pub(crate) mod murmur3;
pub(crate) mod wang;
pub(crate) mod xxh64;
pub(crate) mod xxph3;

/// Numbers that look random, for samples and tests: no system's hash.
pub(crate) use umbel::internals::mix;

/// The little-endian word of the `bytes`, at most seven, left over at the end of a key.
#[inline]
fn short_word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/foreign/hashes.tsv");

    fn bytes(hex: &str) -> Vec<u8> {
        let digits = if hex == "-" { "" } else { hex };
        let byte = |i| u8::from_str_radix(&digits[i..i + 2], 16).unwrap();
        (0..digits.len()).step_by(2).map(byte).collect()
    }

    /// Keys of 0 to 1,025 bytes, around every boundary a hash has: 32-, 64- and 128-bit words, XXPH3's
    /// five cases, tails of bytes from 0x80 on.
    #[test]
    fn equal_the_listed_values_of_the_edge_keys() {
        let table = std::fs::read_to_string(FILE).unwrap();
        let mut lines = table.lines();
        let names: Vec<&str> = lines.next().unwrap().trim_start_matches('#').split('\t').collect();
        let mut rows = 0;
        for line in lines {
            let cells: Vec<&str> = line.split('\t').collect();
            assert_eq!(cells.len(), names.len());
            let key = &bytes(cells[0]);
            for (name, listed) in names.iter().zip(&cells).skip(1) {
                let ours = match *name {
                    "xxh64_seed0" => format!("{:016x}", xxh64::hash(0, key)),
                    "xxph3_64" => format!("{:016x}", xxph3::hash(key)),
                    "leveldb_hash" => format!("{:08x}", leveldb::hash(key)),
                    "rocksdb_legacy_hash" => format!("{:08x}", leveldb::hash_signed_tail(key)),
                    "murmur64a_c6a4a7935bd1e995" => {
                        format!("{:016x}", murmur2::murmur64a(0xc6a4_a793_5bd1_e995, key))
                    }
                    "murmur3_x64_128_seed0 (h1 h2)" => {
                        let (first, second) = murmur3::x64_128(0, key);
                        format!("{first:016x} {second:016x}")
                    }
                    "spark_murmur3_32_seed0" => format!("{:08x}", murmur3::spark_x86_32(0, key)),
                    "orc_hive_murmur3_64" => format!("{:016x}", hive::hash64(key)),
                    "hadoop_murmur2_seed0" => format!("{:08x}", murmur2::hadoop(0, key)),
                    "hadoop_jenkins_seed0" => format!("{:08x}", lookup3::hash(0, key)),
                    other => panic!("no hash is called {other}"),
                };
                assert_eq!(ours, *listed, "{name} of {}", cells[0]);
            }
            rows += 1;
        }
        assert!(rows >= 79, "{rows} rows");
    }
}
