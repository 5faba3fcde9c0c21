//! `umbel parquet --add` and `--remove`, on files that pyarrow wrote (`testdata/foreign/README.md` tells how).

use std::fs;

#[cfg(unix)]
use nix::sys::signal::Signal;

use crate::util::Folder;

/// A file without filters: three row groups of 400 rows.
fn events(folder: &Folder) -> Vec<u8> {
    let path =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/foreign/parquet/events.parquet");
    let bytes = fs::read(path).unwrap();
    folder.write("events.parquet", &bytes);
    bytes
}

/// Whatever is done to a file, the one in its place is whole.
#[cfg(unix)]
#[test]
fn a_run_that_is_killed_leaves_the_old_file_or_the_new_one() {
    let folder = Folder::new();
    let old = events(&folder);
    folder.umbel("parquet events.parquet --add url --add user_id -q -o new").run().done();
    let new = fs::read(folder.path("new")).unwrap();
    for pause in 0..20 {
        folder.write("file.parquet", &old);
        let running = folder.umbel("parquet file.parquet --add url --add user_id -q").spawn();
        std::thread::sleep(std::time::Duration::from_micros(300 * pause));
        running.kill(Signal::SIGKILL);
        let _ = running.finish();
        let now = fs::read(folder.path("file.parquet")).unwrap();
        assert!(now == old || now == new, "{pause}");
    }
}
