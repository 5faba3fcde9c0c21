//! Filters in files: what `cases/filters.md` cannot show.

use std::fs::File;
use std::thread;
use std::time::Duration;

use crate::util::{Folder, urls};

#[cfg(unix)]
#[test]
fn adding_waits_for_whoever_adds() {
    let folder = Folder::new();
    folder.write("keys", urls(0..10_000));
    folder.umbel("filter build -o seen keys -q").run().done();
    folder.write("few", "after\n");
    let (mut first, pipe) = folder.fed("filter add -q seen pipe");
    let filter = File::open(folder.path("seen")).unwrap();
    first.until("it locked the filter", || filter.try_lock().is_err() || filter.unlock().is_err());
    let mut second = folder.umbel("filter add -q seen few").spawn();
    thread::sleep(Duration::from_millis(100));
    assert!(first.runs() && second.runs());
    first.finish_after(pipe, b"before\n").done();
    second.finish().done();
    folder.write("both", "before\nafter\n");
    folder.umbel("filter query -v -q seen both keys").run().nothing();
}
