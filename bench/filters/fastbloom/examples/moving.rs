//! One program twice, on fastbloom and on umbel: the pages that a crawler has seen, on one thread and on several, as
//! docs/rust.md moves it line by line. `cargo run --release --example moving` in this folder.

use std::thread;

use umbel::Filter;

const PAGES: u64 = 100_000;

fn pages(from: u64) -> impl Iterator<Item = String> {
    (from..from + PAGES).map(|number| format!("https://example.org/{number}"))
}

mod on_fastbloom {
    use super::*;
    use fastbloom::{AtomicBloomFilter, BloomFilter};

    /// The pages that are new, the false positives among as many others, and the new ones of four threads.
    pub fn crawl() -> (usize, usize, usize) {
        let mut seen = BloomFilter::with_false_pos(0.01).seed(&7).expected_items(PAGES as usize);
        let new = pages(0).filter(|page| !seen.insert(page)).count();
        let wrong = pages(PAGES).filter(|page| seen.contains(page)).count();

        // All four insert all pages.
        let shared =
            AtomicBloomFilter::with_false_pos(0.01).seed(&7).expected_items(PAGES as usize);
        let crawler = || pages(0).filter(|page| !shared.insert(page)).count();
        let first = thread::scope(|scope| {
            let crawlers: Vec<_> = (0..4).map(|_| scope.spawn(crawler)).collect();
            crawlers.into_iter().map(|crawler| crawler.join().unwrap()).sum()
        });
        (new, wrong, first)
    }
}

mod on_umbel {
    use super::*;
    use umbel::{Blocked, Error, KeyHasher, Kind, Plan, Shared};

    pub fn crawl() -> Result<(usize, usize, usize), Error> {
        let plan = Plan::for_keys(Kind::Blocked, PAGES, 0.01)?;
        let mut seen = Blocked::with_plan(&plan, KeyHasher::with_seed(7))?;
        let new = pages(0).filter(|page| seen.insert(page)).count();
        let wrong = pages(PAGES).filter(|page| seen.contains(page)).count();

        let shared = Shared::with_plan(&plan, KeyHasher::with_seed(7))?;
        let crawler = || pages(0).filter(|page| shared.insert(page)).count();
        let first = thread::scope(|scope| {
            let crawlers: Vec<_> = (0..4).map(|_| scope.spawn(crawler)).collect();
            crawlers.into_iter().map(|crawler| crawler.join().unwrap()).sum()
        });
        // Of two threads with one new page, exactly one learns that it was first.
        assert_eq!(shared.into_filter(), seen);
        assert_eq!(first, new);

        // Missing in fastbloom: the current rate, and a checked file.
        let opened = Blocked::from_bytes(&seen.to_bytes())?;
        assert!(opened == seen && seen.receipt().fpp < 0.011);
        Ok((new, wrong, first))
    }
}

fn main() -> Result<(), umbel::Error> {
    println!("           new  wrong  new of four threads");
    let (new, wrong, first) = on_fastbloom::crawl();
    println!("fastbloom  {new:>6} {wrong:>5} {first:>6}");
    let (new, wrong, first) = on_umbel::crawl()?;
    println!("umbel      {new:>6} {wrong:>5} {first:>6}");
    Ok(())
}
