//! Filters in files: what `cases/filters.md` cannot show.

use std::fs::File;
use std::io::Write;
use std::thread;
use std::time::Duration;

use crate::util::{Folder, urls};

/// A folder with the lines 0 to 10,000 in `keys`, in `seen` as a filter, and others in `fresh`.
fn with_filter() -> Folder {
    let folder = Folder::new();
    folder.write("keys", urls(0..10_000));
    folder.write("fresh", urls(10_000..30_000));
    folder.umbel("build -o seen keys -q").run().done();
    folder
}

impl Folder {
    /// Asserts that every line of a file may be in a filter.
    fn holds(&self, filter: &str, keys: &str) {
        self.umbel(&format!("query -v -q {filter} {keys}")).run().nothing();
    }
}

#[test]
fn a_query_and_its_inverse_part_the_lines() {
    let folder = with_filter();
    let asked = urls((5_000..15_000).chain([7, 7, 7]));
    folder.write("asked", &asked);
    let found = folder.umbel("query seen asked").run().done();
    let absent = folder.umbel("query -v seen asked").run().done();
    let ordered = |part: &[u8]| {
        let mut rest = asked.split(|&byte| byte == b'\n');
        part.split(|&byte| byte == b'\n').all(|line| rest.any(|other| other == line))
    };
    assert!(ordered(&found) && ordered(&absent));
    let known = urls((5_000..10_000).chain([7, 7, 7]));
    assert_eq!(found.len() + absent.len(), asked.len());
    // 5,000 others pass with at most 0.01: 50 and 6 deviations of 7.
    assert!((known.len()..=known.len() + 92 * 66).contains(&found.len()), "{}", found.len());
    assert!(found.starts_with(&urls(5_000..10_000)) && found.ends_with(&urls([7, 7, 7])));
}

#[test]
fn adding_at_once_loses_nothing() {
    let folder = with_filter();
    for i in 0..8 {
        folder.write(&format!("part{i}"), urls(100_000 + i * 500..100_500 + i * 500));
    }
    let runs: Vec<_> =
        (0..8).map(|i| folder.umbel(&format!("add -q seen part{i}")).spawn()).collect();
    for run in runs {
        run.finish().done();
    }
    folder.holds("seen", "keys");
    for i in 0..8 {
        folder.holds("seen", &format!("part{i}"));
    }
}

#[cfg(unix)]
#[test]
fn adding_waits_for_whoever_adds() {
    let folder = with_filter();
    folder.write("few", "after\n");
    folder.fifo("slow");
    let mut first = folder.umbel("add -q seen slow").spawn();
    let mut pipe = first.feed(&folder, "slow");
    let filter = File::open(folder.path("seen")).unwrap();
    first.until("it locked the filter", || filter.try_lock().is_err() || filter.unlock().is_err());
    let mut second = folder.umbel("add -q seen few").spawn();
    thread::sleep(Duration::from_millis(100));
    assert!(first.runs() && second.runs());
    pipe.write_all(b"before\n").unwrap();
    drop(pipe);
    first.finish().done();
    second.finish().done();
    folder.write("both", "before\nafter\n");
    folder.holds("seen", "both");
    folder.holds("seen", "keys");
}
