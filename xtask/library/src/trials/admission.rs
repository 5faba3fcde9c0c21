//! A cache with and without admission (B. M. Maggs, R. K. Sitaraman 2015, "Algorithmic nuggets in content
//! delivery", section 5, <https://doi.org/10.1145/2805789.2805800>).

use anyhow::{Result, ensure};
use umbel::math::binomial_bounds;
use umbel::{KeyHasher, Kind, Plan, Window};

use crate::statistics::{ALPHA, splitmix};

const REQUESTS: usize = 10_000_000;
/// Objects that may be requested more than once, the i-th with a weight of 1/i^0.9.
const POOL: u32 = 1 << 20;
const SKEW: f64 = 0.9;
/// The requests that the admission remembers, and the probability that it admits a new object.
const WINDOW: u64 = 5_000_000;
const FPP: f64 = 0.01;
/// Objects that the cache holds.
const CACHES: [usize; 3] = [50_000, 200_000, 500_000];

pub(super) fn run() -> Result<()> {
    let trace = Trace::new();
    let Trace { once, objects, .. } = trace;
    let share = once as f64 / objects as f64;
    println!(
        "{REQUESTS} requests for {objects} objects, {once} of them ({:.2} %) asked for exactly once, {:.1} % of requests",
        share * 100.0,
        once as f64 / REQUESTS as f64 * 100.0
    );
    println!(
        "admission: a window of {WINDOW} requests at {FPP}; exact: the same window without error\n"
    );
    println!(
        "{:>8}  {:<10}{:>10}{:>9}{:>16}{:>10}",
        "cache", "admission", "writes", "saved", "writes of once", "hit rate"
    );
    let plan = Plan::for_keys(Kind::Window, WINDOW, FPP)?;
    let mut failed = 0;
    // At most this many pass although they are new.
    let (_, most_once) = binomial_bounds(once, FPP, ALPHA);
    for size in CACHES {
        let without = trace.through(size, |_, _| true);
        let mut seen = Window::with_plan(&plan, KeyHasher::with_seed(17))?;
        let with = trace.through(size, |_, object| !seen.insert(object));
        let mut last = vec![None; trace.ids];
        let exact = trace.through(size, |now, object| {
            let before: Option<usize> = last[object as usize].replace(now);
            before.is_some_and(|before| now - before <= WINDOW as usize)
        });
        let saved = |run: &Run| 1.0 - run.writes as f64 / without.writes as f64;
        for (name, run) in [("none", &without), ("window", &with), ("exact", &exact)] {
            println!(
                "{size:>8}  {name:<10}{:>10}{:>7.1} %{:>16}{:>8.2} %",
                run.writes,
                saved(run) * 100.0,
                run.once,
                run.hits as f64 / REQUESTS as f64 * 100.0
            );
        }
        let hit_rate = |run: &Run| run.hits as f64 / REQUESTS as f64;
        let right = without.once == once
            && with.once <= most_once
            && hit_rate(&with) >= hit_rate(&without) - 0.02
            && saved(&with) >= saved(&exact) - 2.0 * FPP;
        if !right {
            println!("    OUT OF BOUNDS");
            failed += 1;
        }
    }
    println!(
        "\nexpected: without admission each of the {once} objects asked for once is written, with it at most {most_once}; a \
         cache that holds all that comes again\nwrites each object once without, and only the others with it: {:.1} % saved. \
         The hit rate falls by no more than 2 points, and rises\nwhere the cache is too small for what was written in vain.",
        share * 100.0
    );
    println!(
        "Fewer of them than 1 in 100 pass: {WINDOW} requests are for far fewer objects, so that the window has room to spare."
    );
    ensure!((share - 0.75).abs() < 0.001, "the trace has {share} of objects asked for once");
    ensure!(failed == 0, "{failed} checks are out of bounds");
    Ok(())
}

/// Requests by the numbers of objects.
struct Trace {
    requests: Vec<u32>,
    /// Requests for each number.
    counts: Vec<u32>,
    /// Numbers there are.
    ids: usize,
    /// Objects asked for, and those asked for once.
    objects: u64,
    once: u64,
}

impl Trace {
    /// Zipf-like requests to the pool, until there are three objects requested once for each requested more often; the
    /// former, except those of the pool, are spread evenly among the requests.
    fn new() -> Self {
        let mut random = (0..).map(splitmix);
        let mut unit = || (random.next().expect("no end") >> 11) as f64 / (1u64 << 53) as f64;
        let mut sum = 0.0;
        let weights = (1..=POOL).map(|rank| {
            sum += f64::from(rank).powf(-SKEW);
            sum
        });
        let weights: Vec<f64> = weights.collect();
        let mut counts = vec![0u32; POOL as usize];
        let (mut popular, mut single, mut often) = (Vec::new(), 0usize, 0usize);
        let alone = loop {
            let drawn = unit() * sum;
            let object = weights.partition_point(|&weight| weight < drawn).min(POOL as usize - 1);
            popular.push(object as u32);
            counts[object] += 1;
            match counts[object] {
                1 => single += 1,
                2 => (single, often) = (single - 1, often + 1),
                _ => {}
            }
            let alone = (3 * often).saturating_sub(single);
            if popular.len() + alone >= REQUESTS {
                break REQUESTS - popular.len();
            }
        };
        let mut popular = popular.into_iter();
        let mut requests = Vec::with_capacity(REQUESTS);
        let mut next = POOL;
        for left in (1..=REQUESTS).rev() {
            let alone_left = alone - (next - POOL) as usize;
            if unit() * (left as f64) < alone_left as f64 {
                requests.push(next);
                next += 1;
            } else {
                requests.push(popular.next().expect("as many as are left"));
            }
        }
        let ids = next as usize;
        counts.clear();
        counts.resize(ids, 0);
        requests.iter().for_each(|&object| counts[object as usize] += 1);
        let objects = counts.iter().filter(|&&count| count > 0).count() as u64;
        let once = counts.iter().filter(|&&count| count == 1).count() as u64;
        Self { requests, counts, ids, objects, once }
    }

    /// Runs the trace through a cache of `size` objects. `admit` is called for every request, hit or not.
    fn through(&self, size: usize, mut admit: impl FnMut(usize, u32) -> bool) -> Run {
        let mut cache = Lru::new(size, self.ids);
        let mut run = Run::default();
        for (now, &object) in self.requests.iter().enumerate() {
            let admitted = admit(now, object);
            if cache.touch(object) {
                run.hits += 1;
            } else if admitted {
                cache.put(object);
                run.writes += 1;
                run.once += u64::from(self.counts[object as usize] == 1);
            }
        }
        run
    }
}

#[derive(Default)]
struct Run {
    hits: u64,
    writes: u64,
    /// Writes of objects that are asked for once.
    once: u64,
}

/// The objects used most recently: a ring of slots, linked in the order of use.
struct Lru {
    size: usize,
    /// The slot of each object, or none.
    slots: Vec<u32>,
    /// Object, the slot used before it, the one used after it. Slot 0 stands for both ends.
    ring: Vec<(u32, u32, u32)>,
}

impl Lru {
    fn new(size: usize, ids: usize) -> Self {
        Self { size, slots: vec![0; ids], ring: vec![(u32::MAX, 0, 0)] }
    }

    /// Whether the object is there; if so, makes it the most recent.
    fn touch(&mut self, object: u32) -> bool {
        let slot = self.slots[object as usize];
        if slot != 0 {
            self.unlink(slot);
            self.link(slot);
        }
        slot != 0
    }

    /// Inserts an object that is not there, in place of the least recently used one.
    fn put(&mut self, object: u32) {
        let slot = if self.ring.len() <= self.size {
            self.ring.push((object, 0, 0));
            self.ring.len() as u32 - 1
        } else {
            let oldest = self.ring[0].2;
            self.slots[self.ring[oldest as usize].0 as usize] = 0;
            self.unlink(oldest);
            self.ring[oldest as usize].0 = object;
            oldest
        };
        self.slots[object as usize] = slot;
        self.link(slot);
    }

    fn unlink(&mut self, slot: u32) {
        let (_, before, after) = self.ring[slot as usize];
        self.ring[before as usize].2 = after;
        self.ring[after as usize].1 = before;
    }

    /// As the one used last.
    fn link(&mut self, slot: u32) {
        let last = self.ring[0].1;
        let entry = &mut self.ring[slot as usize];
        (entry.1, entry.2) = (last, 0);
        self.ring[last as usize].2 = slot;
        self.ring[0].1 = slot;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_goes() {
        // Against a list in order of use.
        let (mut cache, mut list) = (Lru::new(7, 30), Vec::new());
        for number in 0..5_000 {
            let object = (splitmix(number) % 30) as u32;
            let before = list.len();
            list.retain(|&other| other != object);
            assert_eq!(cache.touch(object), list.len() < before);
            if list.len() == before {
                cache.put(object);
                if list.len() == 7 {
                    list.remove(0);
                }
            }
            list.push(object);
            assert!(
                (0..30).all(|object| (cache.slots[object] != 0) == list.contains(&(object as u32)))
            );
        }
    }
}
