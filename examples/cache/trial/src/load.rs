//! A table under load: which requests reach it, and how long they take.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use hdrhistogram::Histogram;
use redis::Pipeline;
use umbel_cache::{Guard, Keeper, Settings, Source, rebuild};

use crate::requests::{Asked, Requests, Zipf};
use crate::services::{BLOOM, Service, Way, connection};

/// What to request, and how it is guarded.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// How the table is guarded.
    #[arg(long, value_enum)]
    way: Way,
    /// Shares of absent keys, each a load of its own; then comes the attacker's, who never asks for a key twice.
    #[arg(long, value_delimiter = ',')]
    absent: Vec<f64>,
    /// Requests of each load.
    #[arg(long)]
    requests: u64,
    /// Clients, each with connections of its own.
    #[arg(long, default_value_t = 4)]
    clients: u64,
}

/// The attacker's share of absent keys.
const ATTACK: f64 = 0.99;

pub(crate) fn run(mut settings: Settings, rows: u32, options: &Options) -> Result<()> {
    // At exactly the planned number of keys, as the filters of the other modules.
    (settings.headroom, settings.deletes) = (1.0, false);
    let zipf = Zipf::new(rows);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        match options.way {
            Way::Bf => fill_bloom(&settings, rows)?,
            Way::Um => {
                rebuild(&settings)?;
                scope.spawn(|| Keeper::run(&settings, &stop, |error| eprintln!("keeper: {error}")));
            }
            Way::None | Way::AbsentAnswers => {}
        }
        let loads = options.absent.iter().map(|&absent| (absent, false));
        let measured = loads.chain([(ATTACK, true)]).try_for_each(|(absent, attack)| {
            if options.way == Way::Um {
                wait_for_voucher(&settings)?;
            }
            measure(&settings, options, &zipf, absent, attack)
        });
        stop.store(true, Ordering::Relaxed);
        measured
    })
}

/// What one client saw.
struct Seen {
    times: Histogram<u64>,
    absent: u64,
    reached: u64,
    absent_reached: u64,
    /// Absent keys of some popularity that were requested, and that reached the table.
    missing: HashSet<u32>,
    missing_reached: HashSet<u32>,
    wrong: u64,
    /// Requests that went to the table because the filter could not be believed.
    open: BTreeMap<String, u64>,
}

fn measure(
    settings: &Settings,
    options: &Options,
    zipf: &Zipf,
    absent: f64,
    attack: bool,
) -> Result<()> {
    let mut server = connection(settings)?;
    let before = used_memory(&mut server)?;
    let begun = Instant::now();
    let seen = thread::scope(|scope| {
        let clients: Vec<_> = (0..options.clients)
            .map(|client| {
                scope.spawn(move || requests(settings, options, zipf, client, absent, attack))
            })
            .collect();
        let seen = clients.into_iter().map(|client| client.join().expect("a client panicked"));
        seen.collect::<Result<Vec<_>>>()
    })?;
    let seconds = begun.elapsed().as_secs_f64();
    let memory = used_memory(&mut server)?.saturating_sub(before);
    let mut times = Histogram::<u64>::new(3)?;
    for client in &seen {
        times.add(&client.times)?;
    }
    let sum = |count: fn(&Seen) -> u64| seen.iter().map(count).sum::<u64>();
    // The attacker's keys are all different.
    let distinct = |keys: fn(&Seen) -> &HashSet<u32>, all: u64| match attack {
        true => all,
        false => seen.iter().flat_map(keys).collect::<HashSet<_>>().len() as u64,
    };
    let (absent_sum, absent_reached) = (sum(|seen| seen.absent), sum(|seen| seen.absent_reached));
    let mut open = BTreeMap::<&str, u64>::new();
    for (why, count) in seen.iter().flat_map(|seen| &seen.open) {
        *open.entry(why).or_default() += count;
    }
    let line = serde_json::json!({
        "type": "load",
        "absent_share": absent,
        "attack": attack,
        "requests": times.len(),
        "absent": absent_sum,
        "absent_keys": distinct(|seen| &seen.missing, absent_sum),
        "reached": sum(|seen| seen.reached),
        "absent_reached": absent_reached,
        "absent_keys_reached": distinct(|seen| &seen.missing_reached, absent_reached),
        "wrong": sum(|seen| seen.wrong),
        "open": open,
        "per_second": (times.len() as f64 / seconds).round(),
        "p50_us": times.value_at_quantile(0.5) as f64 / 1e3,
        "p99_us": times.value_at_quantile(0.99) as f64 / 1e3,
        "cache_bytes": memory,
    });
    println!("{line}");
    forget_rows(&mut server)
}

fn requests(
    settings: &Settings,
    options: &Options,
    zipf: &Zipf,
    client: u64,
    absent: f64,
    attack: bool,
) -> Result<Seen> {
    let mut service = Service::new(options.way, settings)?;
    let mut requests = Requests::new(zipf, client, absent, attack);
    let mut seen = Seen {
        times: Histogram::new(3)?,
        absent: 0,
        reached: 0,
        absent_reached: 0,
        missing: HashSet::new(),
        missing_reached: HashSet::new(),
        wrong: 0,
        open: BTreeMap::new(),
    };
    for _ in 0..options.requests / options.clients {
        let (key, asked) = requests.draw();
        let has_row = asked == Asked::Row;
        let begun = Instant::now();
        let outcome = service.get(&key)?;
        seen.times.record(begun.elapsed().as_nanos() as u64)?;
        seen.absent += u64::from(!has_row);
        seen.reached += u64::from(outcome.reached_table);
        seen.absent_reached += u64::from(outcome.reached_table && !has_row);
        seen.wrong += u64::from(outcome.is_found != has_row);
        if let Some(why) = outcome.open {
            *seen.open.entry(format!("{why:?}")).or_default() += 1;
        }
        if let Asked::Missing(number) = asked {
            seen.missing.insert(number);
            if outcome.reached_table {
                seen.missing_reached.insert(number);
            }
        }
    }
    Ok(seen)
}

/// Adds all rows to a filter of `BF.*`.
fn fill_bloom(settings: &Settings, rows: u32) -> Result<()> {
    let mut server = connection(settings)?;
    redis::cmd("BF.RESERVE").arg(BLOOM).arg(settings.fpp).arg(rows).exec(&mut server)?;
    for start in (0..rows).step_by(1000) {
        let mut add = redis::cmd("BF.MADD");
        add.arg(BLOOM);
        (start..rows.min(start + 1000)).for_each(|row| {
            add.arg(format!("article-{row}"));
        });
        add.exec(&mut server)?;
    }
    Ok(())
}

fn wait_for_voucher(settings: &Settings) -> Result<()> {
    let mut guard = Guard::new(settings.clone())?;
    for _ in 0..1000 {
        if guard.get("missing")?.source == Source::Filter {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(10));
    }
    bail!("nobody vouches for the filter")
}

fn used_memory(server: &mut redis::Connection) -> Result<u64> {
    let info: String = redis::cmd("INFO").arg("memory").query(server)?;
    let line = info.lines().find_map(|line| line.strip_prefix("used_memory:"));
    Ok(line.context("INFO memory has no used_memory")?.parse()?)
}

/// Empties the cache for the next load.
fn forget_rows(server: &mut redis::Connection) -> Result<()> {
    let mut cursor = 0_u64;
    loop {
        let mut scan = redis::cmd("SCAN");
        scan.arg(cursor).arg("MATCH").arg("articles:row:*").arg("COUNT").arg(10_000);
        let (next, keys): (u64, Vec<String>) = scan.query(server)?;
        if !keys.is_empty() {
            let mut unlink = Pipeline::new();
            unlink.cmd("UNLINK").arg(keys).ignore();
            unlink.exec(server)?;
        }
        cursor = next;
        if cursor == 0 {
            break;
        }
    }
    let left: u64 = redis::cmd("EXISTS").arg("articles:row:missing-0").query(server)?;
    ensure!(left == 0, "the cache is not empty");
    Ok(())
}
