//! Reads, inserts and deletes while servers fail. Counts answers that deny a row that was there all the time.

use std::collections::HashMap;
use std::io::BufRead;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use redis::Connection;
use umbel_cache::{Guard, Settings, Source};

use crate::requests::Random;

/// How many read and write.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Threads that read.
    #[arg(long, default_value_t = 2)]
    readers: u32,
    /// Threads that insert and delete.
    #[arg(long, default_value_t = 2)]
    writers: u32,
    /// Keys that are inserted and deleted.
    #[arg(long, default_value_t = 4000)]
    keys: u32,
}

/// Half of the reads are of keys that were written lately: of so many.
const RECENT: usize = 256;
/// Writers rest between two transactions, so that readers get most of the processor.
const REST: Duration = Duration::from_micros(500);

/// A key's life: absent, being inserted, present, being deleted, and again. It is present for certain at 2, 6, 10 and so on.
struct Life(AtomicU32);

impl Life {
    fn is_present(now: u32) -> bool {
        now % 4 == 2
    }
}

struct Storm {
    lives: Vec<Life>,
    recent: Vec<AtomicU32>,
    next_recent: AtomicUsize,
    stop: AtomicBool,
    counts: Counts,
}

/// What happened since the last phase ended.
#[derive(Default)]
struct Counts {
    reads: AtomicU64,
    /// Absent keys that the filter settled.
    settled: AtomicU64,
    /// Reads that went to the table because the filter could not be believed.
    open: Mutex<HashMap<String, u64>>,
    /// Answers of the guard that deny a row.
    wrong: AtomicU64,
    /// The same of a client that believes each answer of the filter.
    naive_wrong: AtomicU64,
    writes: AtomicU64,
    /// Writes that waited because it was not certain that every guard finds the row.
    waited: AtomicU64,
    failed: AtomicU64,
}

pub(crate) fn run(settings: &Settings, rows: u32, options: &Options) -> Result<()> {
    let storm = Storm {
        lives: (0..options.keys).map(|_| Life(AtomicU32::new(0))).collect(),
        recent: (0..RECENT).map(|_| AtomicU32::new(0)).collect(),
        next_recent: AtomicUsize::new(0),
        stop: AtomicBool::new(false),
        counts: Counts::default(),
    };
    thread::scope(|scope| {
        for reader in 0..options.readers {
            let storm = &storm;
            scope.spawn(move || storm.read(settings, rows, Random::new(1 + u64::from(reader))));
        }
        for writer in 0..options.writers {
            let storm = &storm;
            scope.spawn(move || storm.write(settings, writer, options.writers));
        }
        let phases = std::io::stdin().lock().lines().try_for_each(|line| {
            let line = line?;
            match line.strip_prefix("denied ") {
                Some(address) => println!("{}", storm.denied(settings, address)?),
                None => println!("{}", storm.phase(&line)),
            }
            Ok(())
        });
        storm.stop.store(true, SeqCst);
        phases
    })
}

fn key_of(number: u32) -> String {
    format!("storm-{number}")
}

impl Storm {
    fn read(&self, settings: &Settings, rows: u32, mut random: Random) {
        let (mut guard, mut naive) = (None, Naive::default());
        while !self.stop.load(SeqCst) {
            let number = match random.below(4) {
                0 | 1 => Some(self.recent[random.below(RECENT as u32) as usize].load(SeqCst)),
                2 => Some(random.below(self.lives.len() as u32)),
                // One of the rows that are never written.
                _ => None,
            };
            let key = number.map_or_else(|| format!("article-{}", random.below(rows)), key_of);
            let now = || number.map_or(2, |number| self.lives[number as usize].0.load(SeqCst));
            let before = now();
            let Some(asked) = ensure_guard(&mut guard, settings) else { continue };
            let Ok(answer) = asked.get(&key) else {
                self.counts.failed.fetch_add(1, SeqCst);
                guard = None;
                continue;
            };
            let after = now();
            let denies = naive.denies(settings, &key);
            let present = Life::is_present(before);
            self.count(&self.counts.reads, true);
            self.count(&self.counts.wrong, present && before == after && answer.row.is_none());
            self.count(&self.counts.naive_wrong, present && before == now() && denies);
            self.count(&self.counts.settled, answer.source == Source::Filter);
            if let Source::Open(why) = answer.source {
                *self
                    .counts
                    .open
                    .lock()
                    .expect("no panic")
                    .entry(format!("{why:?}"))
                    .or_default() += 1;
            }
        }
    }

    fn count(&self, counter: &AtomicU64, counts: bool) {
        counter.fetch_add(u64::from(counts), SeqCst);
    }

    /// Inserts and deletes its own part of the keys, one after the other.
    fn write(&self, settings: &Settings, writer: u32, writers: u32) {
        let mut random = Random::new(1000 + u64::from(writer));
        let mut guard = None;
        while !self.stop.load(SeqCst) {
            let number = random.below(self.lives.len() as u32 / writers) * writers + writer;
            let life = &self.lives[number as usize].0;
            // After an error nobody knows whether the row exists.
            if life.load(SeqCst) % 2 == 1 {
                continue;
            }
            let Some(guard) = ensure_guard(&mut guard, settings) else { continue };
            let inserts = life.fetch_add(1, SeqCst).is_multiple_of(4);
            let begun = Instant::now();
            let sql = match inserts {
                true => "INSERT INTO articles VALUES ($1, 'written')",
                false => "DELETE FROM articles WHERE slug = $1",
            };
            if guard.write(|transaction| transaction.execute(sql, &[&key_of(number)])).is_err() {
                self.count(&self.counts.failed, true);
                continue;
            }
            life.fetch_add(1, SeqCst);
            if inserts {
                let place = self.next_recent.fetch_add(1, SeqCst) % RECENT;
                self.recent[place].store(number, SeqCst);
            }
            self.count(&self.counts.writes, true);
            self.count(&self.counts.waited, begun.elapsed() > settings.lease);
            thread::sleep(REST);
        }
    }

    /// The counts of a phase, which start over.
    fn phase(&self, name: &str) -> serde_json::Value {
        let take = |counter: &AtomicU64| counter.swap(0, SeqCst);
        let counts = &self.counts;
        let open = std::mem::take(&mut *counts.open.lock().expect("no panic"));
        serde_json::json!({
            "type": "phase",
            "name": name,
            "reads": take(&counts.reads),
            "settled": take(&counts.settled),
            "open": open,
            "wrong": take(&counts.wrong),
            "naive_wrong": take(&counts.naive_wrong),
            "writes": take(&counts.writes),
            "waited": take(&counts.waited),
            "failed": take(&counts.failed),
        })
    }

    /// Keys present all the time that the filter on one server denies.
    fn denied(&self, settings: &Settings, address: &str) -> Result<serde_json::Value> {
        let mut server = redis::Client::open(address)?.get_connection()?;
        let mut denied = 0;
        for (number, life) in self.lives.iter().enumerate() {
            let before = life.0.load(SeqCst);
            let exists =
                exists(&mut server, settings, &key_of(number as u32)).context("UM.EXISTS")?;
            denied +=
                u32::from(Life::is_present(before) && life.0.load(SeqCst) == before && !exists);
        }
        Ok(serde_json::json!({ "type": "denied", "keys": denied }))
    }
}

fn ensure_guard<'g>(guard: &'g mut Option<Guard>, settings: &Settings) -> Option<&'g mut Guard> {
    if guard.is_none() {
        *guard = Guard::new(settings.clone()).ok();
    }
    guard.as_mut()
}

fn exists(server: &mut Connection, settings: &Settings, key: &str) -> redis::RedisResult<bool> {
    redis::cmd("UM.EXISTS").arg(format!("{{{}}}:filter", settings.name)).arg(key).query(server)
}

/// A client that believes the filter of whichever server answers.
#[derive(Default)]
struct Naive(Option<Connection>);

impl Naive {
    fn denies(&mut self, settings: &Settings, key: &str) -> bool {
        if self.0.is_none() {
            let clients = settings
                .redis
                .iter()
                .filter_map(|address| redis::Client::open(address.as_str()).ok());
            self.0 = clients
                .filter_map(|client| {
                    let connection = client.get_connection_with_timeout(settings.patience).ok()?;
                    connection.set_read_timeout(Some(settings.patience)).ok()?;
                    Some(connection)
                })
                .next();
        }
        let Some(connection) = &mut self.0 else { return false };
        match exists(connection, settings, key) {
            Ok(exists) => !exists,
            Err(error) => {
                if error.code() != Some("NOFILTER") {
                    self.0 = None;
                }
                false
            }
        }
    }
}
