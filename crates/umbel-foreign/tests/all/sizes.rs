//! Every row of the tables `params*.tsv`: the sizes that the software chose for given parameters.

use std::str::FromStr;

use sha2::{Digest, Sha256};
use umbel_foreign::{
    Foreign, ForeignFilter, Format, Key, Parameters, Plan, bits_and_blooms, datasketches, guava,
    parquet, pybloom, spark,
};

use super::manifest::{folder, hex, manifests, table};

/// A row of a table, with the names of its cells.
struct Row(Vec<(String, String)>);

impl Row {
    fn get<T: FromStr>(&self, name: &str) -> T {
        let cell = self.0.iter().find(|(column, _)| column == name);
        let cell = &cell.unwrap_or_else(|| panic!("a column {name}")).1;
        cell.parse().unwrap_or_else(|_| panic!("{name}: {cell}"))
    }

    fn count(&self, name: &str) -> u64 {
        self.get(name)
    }

    /// Whether the software refused these parameters, as a cell `error` records; then umbel must refuse them too.
    fn is_refused(&self, name: &str, format: Format, given: &Parameters) -> bool {
        let refused = self.get::<String>(name) == "error";
        assert_eq!(Foreign::plan(format, given).is_err(), refused, "{given:?}");
        refused
    }

    /// The parameters of a filter sized by keys and rate.
    fn for_keys(&self, keys: &str, fpp: &str) -> Parameters {
        Parameters::for_keys(self.get(keys), self.get(fpp))
    }
}

fn planned(format: Format, given: &Parameters) -> Plan {
    Foreign::plan(format, given).unwrap_or_else(|error| panic!("{given:?}: {error}"))
}

/// Bits and probes of a plan.
fn size(format: Format, given: &Parameters) -> (u64, u64) {
    let plan = planned(format, given);
    (plan.bits, plan.probes.into())
}

fn check(peer: &str, file: &str, row: &Row) {
    let count = |name| row.count(name);
    match (peer, file) {
        ("parquet", "params.tsv") => {
            let given = row.for_keys("ndv", "fpp");
            let bits = parquet::java_bits(count("ndv"), row.get("fpp"));
            assert_eq!(bits, count("optimal_bits"));
            assert_eq!(planned(Format::ParquetBits, &given).bytes, count("bitset_bytes"));
        }
        ("parquet", "params-pyarrow.tsv") => {
            let rows: i64 = row.get(&row.0[0].0);
            let given = row.for_keys("ndv", "fpp").with("arrow");
            let filter = Foreign::build(Format::ParquetBits, &given, (0..rows).map(Key::I64));
            let bits = filter.unwrap().encode().unwrap();
            assert_eq!(bits.len() as u64, count("bitset_bytes"));
            assert_eq!(hex(&Sha256::digest(&bits)), row.get::<String>("sha256 of the bitset"));
        }
        ("guava", "params.tsv") => {
            let given = row.for_keys("n", "fpp");
            assert_eq!(guava::optimal_bits(count("n"), row.get("fpp")), count("optimal_bits"));
            if row.is_refused("data_longs", Format::Guava, &given) {
                return;
            }
            assert_eq!(size(Format::Guava, &given), (64 * count("data_longs"), count("k")));
        }
        ("guava", "params-guava-31.1.tsv") => {
            let (keys, bits) = (count("n"), count("optimal_bits"));
            assert_eq!(guava::optimal_bits(keys, row.get("fpp")), bits);
            assert_eq!(u64::from(guava::optimal_probes_31(keys, bits)), count("k"));
            if bits > 0 {
                let given = row.for_keys("n", "fpp").with("guava-31");
                assert_eq!(u64::from(planned(Format::Guava, &given).probes), count("k"));
            }
        }
        ("spark", _) => {
            let given = row.for_keys("n", "fpp");
            if row.is_refused("bit_size", Format::Spark, &given) {
                assert!(row.is_refused("bit_size", Format::Spark, &given.with("v1")));
                return;
            }
            let probes = spark::optimal_probes(count("n"), count("optimal_bits"));
            assert_eq!(u64::from(probes), count("k"));
            assert_eq!(size(Format::Spark, &given), (count("bit_size"), count("k")));
            assert_eq!(size(Format::Spark, &given.with("v1")), (count("bit_size"), count("k")));
        }
        ("datasketches", _) => {
            let bits = datasketches::suggested_bits(count("n"), row.get("fpp"));
            assert_eq!(bits, count("suggested_bits"));
            let plan = planned(Format::DataSketches, &row.for_keys("n", "fpp"));
            assert_eq!(u64::from(plan.probes), count("suggested_k"));
            assert_eq!(plan.bytes, count("serialized_bytes"));
        }
        ("redisbloom", _) => {
            let growth = (count("nonscaling") == 1).then_some(0);
            let given = Parameters { growth, ..row.for_keys("capacity", "error") };
            assert_eq!(size(Format::RedisBloom, &given), (count("link_bits"), count("hashes")));
            if count("link_bytes") > 64 << 20 {
                return;
            }
            let head = Foreign::new(Format::RedisBloom, &given).unwrap().encode().unwrap();
            let word = |at: usize| u64::from_le_bytes(head[at..at + 8].try_into().unwrap());
            let half = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().unwrap());
            assert_eq!((half(12).into(), half(16).into()), (count("options"), count("growth")));
            assert_eq!((word(20), word(28)), (count("link_bytes"), count("link_bits")));
            assert_eq!(f64::from_bits(word(44)), row.get::<f64>("link_error"));
            assert_eq!(f64::from_bits(word(52)), row.get::<f64>("link_bits_per_entry"));
            assert_eq!((word(64), head[72].into()), (count("entries"), count("n2")));
        }
        ("redisbloom-cuckoo", _) => {
            let given = Parameters {
                keys: Some(count("capacity")),
                bucket_size: Some(row.get("bucket_size")),
                growth: Some(row.get("expansion")),
                ..Parameters::default()
            };
            if row.is_refused("buckets", Format::RedisBloomCuckoo, &given) {
                return;
            }
            let filter = Foreign::new(Format::RedisBloomCuckoo, &given).unwrap();
            let Foreign::RedisBloomCuckoo(filter) = filter else { unreachable!() };
            let (head, slots) = (filter.head(), filter.bytes() - 38);
            assert_eq!((head.buckets, slots), (count("buckets"), count("slots")));
            assert_eq!(u64::from(head.growth), count("growth"));
        }
        ("leveldb" | "goleveldb" | "rocksdb", _) => {
            let given = Parameters {
                keys: Some(count("keys")),
                bits_per_key: Some(row.get("bits_per_key")),
                ..Parameters::default()
            };
            let (format, given) = match peer {
                "goleveldb" => (Format::LevelDb, given.with("goleveldb")),
                "leveldb" => (Format::LevelDb, given),
                _ if count("format_version") < 5 => (Format::RocksDbLegacy, given),
                _ => (Format::RocksDb, given),
            };
            let plan = planned(format, &given);
            assert_eq!((plan.bytes, plan.probes.into()), (count("filter_bytes"), count("k")));
        }
        ("pybloom-live-3" | "pybloom-live-4", _) => {
            let (slices, bits) = (count("num_slices"), count("bits_per_slice"));
            let chosen = pybloom::optimal_size(count("capacity"), row.get("error_rate"));
            assert_eq!(chosen, (slices, bits));
            let given = row.for_keys("capacity", "error_rate");
            assert_eq!(size(Format::Pybloom4, &given), (slices * bits, slices));
        }
        ("hive", _) => {
            let given = Parameters { keys: Some(count("n")), ..Parameters::default() };
            assert_eq!(size(Format::Hive, &given), (count("m_bits"), count("k")));
        }
        ("orc", _) => {
            assert_eq!(size(Format::Orc, &row.for_keys("n", "fpp")), (count("m_bits"), count("k")));
        }
        ("bits-and-blooms", _) => {
            let chosen = bits_and_blooms::optimal_size(count("n"), row.get("fpp"));
            assert_eq!(chosen, (count("m_bits"), count("k")));
            assert_eq!(size(Format::BitsAndBlooms, &row.for_keys("n", "fpp")), chosen);
        }
        other => panic!("no table is called {other:?}"),
    }
}

#[test]
fn every_size_is_the_one_the_software_chose() {
    let mut tables = 0;
    for manifest in manifests() {
        let entries = std::fs::read_dir(&manifest.folder).unwrap().map(|entry| entry.unwrap());
        for entry in entries {
            let file = entry.file_name().into_string().unwrap();
            if !(file.starts_with("params") && file.ends_with(".tsv")) {
                continue;
            }
            let rows = table(&entry.path());
            println!("{:>16} {file}: {} rows", manifest.peer, rows.len());
            for row in rows {
                let row = Row(row);
                let told = format!("{}/{file}: {:?}", manifest.peer, row.0);
                let result = std::panic::catch_unwind(|| check(&manifest.peer, &file, &row));
                assert!(result.is_ok(), "{told}");
            }
            tables += 1;
        }
    }
    println!("{tables} tables in {}", folder().display());
}
