//! Filters of Parquet and of RocksDB, by umbel in batches of hashes; and Parquet's by the crate `parquet`, which takes keys only, no
//! hashes.

use bench_common::{BATCH, Bench, Case, Filter, Hashed, count, one_by_one};
use parquet::bloom_filter::Sbbf;
use umbel::{Kind, Plan};
use umbel_foreign::parquet::Parquet;
use umbel_foreign::rocksdb::RocksDb;
use umbel_foreign::{ForeignFilter, Format, Parameters};

/// A filter by umbel.
struct Batch<F>(F);

/// The same for both formats.
macro_rules! batch {
    ($type:ty, |$n:ident, $fpp:ident| $new:expr, |$filter:ident, $hashes:ident| $insert:expr) => {
        impl Filter<Hashed> for Batch<$type> {
            const MODE: &'static str = "batch";
            const ASKING: &'static [u64] = &[1];

            fn new($n: u64, $fpp: f64) -> Self {
                Self($new)
            }

            fn insert(&mut self, keys: &[Hashed]) {
                let $filter = &mut self.0;
                for $hashes in Hashed::words(keys).chunks(BATCH) {
                    $insert;
                }
            }

            fn count(&self, keys: &[Hashed]) -> usize {
                count(Hashed::words(keys), |hashes, found| self.0.contains_hashes(hashes, found))
            }

            fn bytes(&self) -> usize {
                self.0.bytes() as usize
            }
        }
    };
}

batch!(
    Parquet,
    |n, fpp| Parquet::new(Format::Parquet, &Parameters::for_keys(n, fpp)).expect("memory"),
    |filter, hashes| filter.insert_hashes(hashes)
);
batch!(RocksDb, |n, fpp| rocksdb(n, fpp), |filter, hashes| {
    filter.insert_hashes(hashes).expect("room");
});

/// RocksDB does not plan a size for a rate: use the size of umbel's blocked filter, whose blocks are as large.
fn rocksdb(n: u64, fpp: f64) -> RocksDb {
    let bits = 8 * Plan::for_keys(Kind::Blocked, n, fpp).expect("a plan").bytes();
    let bits_per_key = Some(bits as f64 / n as f64);
    let given = Parameters { keys: Some(n), bits_per_key, ..Parameters::default() };
    RocksDb::new(Format::RocksDb, &given).expect("memory")
}

struct Arrow(Sbbf);

impl Arrow {
    fn new(n: u64, fpp: f64) -> Self {
        Self(Sbbf::new_with_ndv_fpp(n, fpp).expect("a size that can be had"))
    }

    fn bytes(&self) -> usize {
        32 * self.0.num_blocks()
    }
}

one_by_one!(Arrow, u64, |filter, key| filter.insert(key), filter.check(key), {
    const ASKING: &'static [u64] = &[1];
});

fn main() {
    let case = Case::from_args();
    Bench::<Hashed>::new(case, "Parquet by umbel", "0.1.0").run::<Batch<Parquet>>();
    Bench::<Hashed>::new(case, "FastLocalBloom by umbel", "0.1.0").run::<Batch<RocksDb>>();
    Bench::<u64>::new(case, "parquet Sbbf", "60.1.0").run::<Arrow>();
}
