//! Time per call and bits per flow, next to a hash map of integers in the same run.

use std::collections::HashMap;
use std::hint::black_box;
use std::time::Instant;

use anyhow::Result;
use umbel_net::states::{Answer, States, StatesPlan};

use crate::statistics::splitmix;

const BATCH: usize = 1_024;

/// Nanoseconds per call, of the work that each column names.
type Row = [f64; COLUMNS.len()];

const COLUMNS: [&str; 6] = ["insert", "get, held", "get, absent", "in batches", "change", "remove"];

pub(super) fn run() -> Result<()> {
    println!(
        "ns per call, of each the fastest in some rounds, hashing included; error 0.001, 6 states"
    );
    print!("  {:<28}{:>10}", "", "bits/flow");
    COLUMNS.iter().for_each(|column| print!("{column:>13}"));
    println!();
    // More of the short ones, which other work on the machine disturbs more.
    for (flows, rounds) in [(1u64 << 16, 60), (1 << 22, 5)] {
        let plan = StatesPlan::for_keys(flows, 0.001, 6)?;
        let mut best = [[f64::INFINITY; COLUMNS.len()]; 2];
        let mut bits = 0.0;
        for _ in 0..rounds {
            let mut table = States::with_plan(&plan, umbel::KeyHasher::default())?;
            keep(&mut best[0], of_table(&mut table, flows)?);
            let mut map = HashMap::new();
            keep(&mut best[1], of_map(&mut map, flows));
            // A group of slots has a control byte for each; seven in eight slots may be used.
            let slots = (map.capacity() as f64 * 8.0 / 7.0).ceil() as u64;
            bits = (slots.next_power_of_two() * 8 * (size_of::<(u64, u8)>() as u64 + 1)) as f64;
        }
        for (name, bits, row) in [
            ("States", plan.bits_per_key(), best[0]),
            ("HashMap<u64, u8>", bits / flows as f64, best[1]),
        ] {
            print!("  {:<28}{bits:>10.1}", format!("{name}, {flows} flows"));
            for time in row {
                // Of what a map does not have, no round was kept.
                let shown = if time.is_finite() { format!("{time:.1}") } else { "-".to_owned() };
                print!("{shown:>13}");
            }
            println!();
        }
    }
    println!();
    Ok(())
}

fn keep(best: &mut Row, row: Row) {
    best.iter_mut().zip(row).for_each(|(best, time)| *best = best.min(time));
}

/// Nanoseconds per key of some work on keys in random order.
fn time(keys: &[u64], mut work: impl FnMut(&[u64])) -> f64 {
    let start = Instant::now();
    work(keys);
    start.elapsed().as_secs_f64() * 1e9 / keys.len() as f64
}

/// Keys from a number on; SplitMix64 never repeats one.
fn keys(first: u64, count: u64) -> Vec<u64> {
    (first..first + count).map(splitmix).collect()
}

fn of_table(table: &mut States, flows: u64) -> Result<Row> {
    let (held, absent) = (keys(0, flows), keys(flows, flows));
    let shuffled: Vec<u64> = (0..flows).map(|i| held[(splitmix(i) % flows) as usize]).collect();
    let mut failed = Ok(());
    let insert = time(&held, |keys| {
        for key in keys {
            if let Err(error) = table.insert(key, 1) {
                failed = Err(error);
            }
        }
    });
    failed?;
    let get =
        |keys: &[u64]| time(keys, |keys| keys.iter().for_each(|key| _ = black_box(table.get(key))));
    let (found, missed) = (get(&shuffled), get(&absent));
    let mut answers = [Answer::Absent; BATCH];
    let batches = time(&shuffled, |keys| {
        for keys in keys.chunks(BATCH) {
            table.get_all(keys, &mut answers[..keys.len()]);
            black_box(&answers);
        }
    });
    let change =
        time(&shuffled, |keys| keys.iter().for_each(|key| _ = black_box(table.change(key, 2))));
    let remove = time(&held, |keys| keys.iter().for_each(|key| _ = black_box(table.remove(key))));
    Ok([insert, found, missed, batches, change, remove])
}

fn of_map(map: &mut HashMap<u64, u8>, flows: u64) -> Row {
    let (held, absent) = (keys(0, flows), keys(flows, flows));
    let shuffled: Vec<u64> = (0..flows).map(|i| held[(splitmix(i) % flows) as usize]).collect();
    map.reserve(flows as usize);
    let insert = time(&held, |keys| keys.iter().for_each(|&key| _ = map.insert(key, 1)));
    let get =
        |keys: &[u64]| time(keys, |keys| keys.iter().for_each(|key| _ = black_box(map.get(key))));
    let (found, missed) = (get(&shuffled), get(&absent));
    // A map has no batches.
    let batches = f64::NAN;
    let change = time(&shuffled, |keys| {
        keys.iter().for_each(|key| *map.get_mut(key).expect("it is held") = black_box(2));
    });
    let remove = time(&held, |keys| keys.iter().for_each(|key| _ = black_box(map.remove(key))));
    [insert, found, missed, batches, change, remove]
}
