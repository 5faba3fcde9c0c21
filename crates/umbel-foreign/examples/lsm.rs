//! How many reads of data blocks a table's Bloom filter saves a storage engine for absent keys.
//!
//! Opens a table file of LevelDB (`.ldb`) or RocksDB (`.sst`), queries its filter, and looks up keys with the filter and
//! without:
//!
//! ```text
//! cargo run -p umbel-foreign --features tables --example lsm                          the two tables in testdata/foreign/tables
//! cargo run -p umbel-foreign --features tables --example lsm -- TABLE KEY [KEY…]      other tables
//! ```

use std::env;
use std::error::Error;
use std::fs;

use umbel_foreign::ForeignFilter;
use umbel_foreign::table::{self, Table};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    if let [path, keys @ ..] = &arguments[..] {
        let file = fs::read(path)?;
        let table = open(&file)?;
        for key in keys {
            let found = look_up(&table, &file, key.as_bytes())?;
            let what = if found.present { "present" } else { "absent" };
            let [without, with] = found.reads;
            println!("{key}: {what}, {without} blocks read without the filter, {with} with it");
        }
        return Ok(());
    }
    for name in SAMPLES {
        print!("{}", report(name)?);
    }
    Ok(())
}

const SAMPLES: [&str; 2] = ["leveldb.ldb", "rocksdb.sst"];

fn sample(name: &str) -> Result<Vec<u8>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/foreign/tables");
    Ok(fs::read(format!("{folder}/{name}"))?)
}

/// Both samples have the keys user-000000, user-000002, … to user-003998.
fn keys(first: usize) -> impl Iterator<Item = String> {
    (first..4000).step_by(2).map(|i| format!("user-{i:06}"))
}

fn open(file: &[u8]) -> Result<Table> {
    let length = file.len() as u64;
    Ok(Table::open(length, length, |offset, bytes| {
        bytes.copy_from_slice(&file[offset as usize..][..bytes.len()]);
        Ok(())
    })?)
}

fn report(name: &str) -> Result<String> {
    let file = sample(name)?;
    let table = open(&file)?;
    let sizes = table.pieces().iter().map(|piece| piece.filter.bytes());
    let filled: Vec<_> = sizes.filter(|&bytes| bytes > 0).collect();
    let mut text = format!(
        "{name}: {} of {} bytes\n{:<26} {:>10} {:>14} {:>14} {:>10}\n",
        if filled.len() == 1 { "1 filter".to_owned() } else { format!("{} filters", filled.len()) },
        filled.iter().sum::<u64>(),
        "",
        "looked up",
        "blocks read",
        "with filter",
        "saved",
    );
    for (what, first) in [("keys of the table", 0), ("keys that are not there", 1)] {
        let [count, without, with] = totals(&table, &file, keys(first))?;
        let saved = (without - with) as f64 / without as f64 * 100.0;
        text += &format!("{what:<26} {count:>10} {without:>14} {with:>14} {saved:>8.1} %\n");
    }
    Ok(text + "\n")
}

/// The number of present keys, and of blocks read for all keys without the filter and with it.
fn totals(table: &Table, file: &[u8], keys: impl Iterator<Item = String>) -> Result<[usize; 3]> {
    let mut totals = [0; 3];
    for key in keys {
        let Found { reads: [without, with], .. } = look_up(table, file, key.as_bytes())?;
        totals = [totals[0] + 1, totals[1] + without, totals[2] + with];
    }
    Ok(totals)
}

/// The result of looking a key up.
#[derive(Debug, PartialEq)]
struct Found {
    present: bool,
    /// Whether the filter lets it pass.
    passes: bool,
    /// Data blocks read without the filter, and with it.
    reads: [usize; 2],
}

fn look_up(table: &Table, file: &[u8], key: &[u8]) -> Result<Found> {
    let Some(block) = table.block_of(key)? else {
        // After the last key: no block can have it.
        return Ok(Found { present: false, passes: false, reads: [0, 0] });
    };
    let passes = table.contains(key)?;
    let block = &file[block.start as usize..block.end as usize];
    let present = table::keys(block)?.iter().any(|name| name == key);
    Ok(Found { present, passes, reads: [1, passes.into()] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_saves_reads_of_absent_keys_and_no_others() {
        for name in SAMPLES {
            let file = sample(name).unwrap();
            let table = open(&file).unwrap();
            for key in keys(0) {
                let found = look_up(&table, &file, key.as_bytes()).unwrap();
                let expected = Found { present: true, passes: true, reads: [1, 1] };
                assert_eq!(found, expected, "{name} {key}");
            }
            let mut read = 0;
            for key in keys(1) {
                let found = look_up(&table, &file, key.as_bytes()).unwrap();
                assert!(!found.present, "{name} {key}");
                read += found.reads[1];
            }
            // 10 bits per key let 0.8 to 1 % pass: 2000 keys mean 20, and 20 + 6 · √20 < 47.
            assert!((1..47).contains(&read), "{name}: {read}");
            // The last index key may be "v", the shortest text after all users.
            let beyond = look_up(&table, &file, b"w").unwrap();
            assert_eq!(beyond.reads, [0, 0]);
            assert!(report(name).unwrap().contains(&format!("{read} ")));
        }
    }
}
