//! `umbel parquet --add` and `--remove`, on files that pyarrow wrote (`testdata/foreign/README.md` tells how).

use std::fs;

#[cfg(unix)]
use nix::sys::signal::Signal;
use serde_json::Value;
use umbel_io::State;

use crate::util::Folder;

/// A file without filters: three row groups of 400 rows.
fn events(folder: &Folder) -> Vec<u8> {
    let path =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/foreign/parquet/events.parquet");
    let bytes = fs::read(path).unwrap();
    folder.write("events.parquet", &bytes);
    bytes
}

fn objects(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The bytes in front of the footer.
fn body(file: &[u8]) -> &[u8] {
    let footer = u32::from_le_bytes(*file[..file.len() - 4].last_chunk().unwrap()) as usize;
    &file[..file.len() - 8 - footer]
}

#[test]
fn filters_are_added_to_a_copy_and_removed_again() {
    let folder = Folder::new();
    let old = events(&folder);
    let run = folder
        .umbel("parquet events.parquet --add user_id --add geo.ip --add country -o new")
        .run();
    run.ended_with(0);
    assert!(run.stdout.is_empty());
    let told = "column country: no new filter in 3 row groups: all values are in the dictionary; --always adds one\n";
    assert_eq!(run.stderr, format!("umbel parquet: {told}"));
    assert_eq!(fs::read(folder.path("events.parquet")).unwrap(), old);
    let new = fs::read(folder.path("new")).unwrap();
    assert!(body(&new).starts_with(body(&old)) && body(&new).len() > body(&old).len());
    let filters = objects(&folder.umbel("parquet new --json").run().text());
    assert_eq!(filters.len(), 6);
    for filter in &filters {
        assert!(filter["fpp"].as_f64().unwrap() <= 0.01, "{filter}");
        let (low, high) = if filter["column"] == "user_id" { (400, 400) } else { (355, 362) };
        assert!(filter["keys_low"].as_f64().unwrap() <= f64::from(high), "{filter}");
        assert!(filter["keys_high"].as_f64().unwrap() >= f64::from(low), "{filter}");
    }
    let found = folder.umbel("parquet new -q -c user_id -").stdin(b"763401305211\n-1\n").run();
    assert_eq!(found.text(), "763401305211\t1\n-1\t-\n");
    folder.umbel("parquet new --remove-all").run().done();
    assert!(fs::read(folder.path("new")).unwrap() == old);
}

#[test]
fn a_file_is_changed_in_place_in_one_step() {
    let folder = Folder::new();
    let old = events(&folder);
    let path = folder.path("events.parquet");
    let before = State::at(&path).unwrap();
    // An error leaves it as it is.
    folder
        .umbel("parquet events.parquet --add user_id --add nowhere")
        .run()
        .fails(&["there is no column nowhere"]);
    assert!(fs::read(&path).unwrap() == old && State::at(&path).unwrap().id == before.id);
    let run = folder.umbel("parquet events.parquet --add user_id --fpp 0.1% --json").run();
    let told = objects(&run.stderr);
    assert_eq!(told[0]["filters"].as_array().unwrap().len(), 3);
    assert_eq!((&told[1]["added"], &told[1]["row_groups"]), (&3.into(), &3.into()));
    let new = fs::read(&path).unwrap();
    assert_eq!(told[1]["bytes_written"], new.len());
    assert_ne!(State::at(&path).unwrap().id, before.id);
    // Again: nothing to do, and nothing is done.
    let run = folder.umbel("parquet events.parquet --add user_id").run();
    run.ended_with(1);
    assert!(
        run.stderr.contains("has a filter already") && run.stderr.contains("nothing was written")
    );
    assert!(fs::read(&path).unwrap() == new);
    // Made anew for another rate, through a pipe: the same as from the first file.
    folder.umbel("parquet events.parquet --remove user_id --add user_id --fpp 5% -q").run().done();
    folder.write("first.parquet", &old);
    let piped = folder.umbel("parquet first.parquet --add user_id --fpp 5% -q -o -").run().done();
    assert!(fs::read(&path).unwrap() == piped);
}

#[test]
fn what_is_in_the_way_of_an_output_stays() {
    let folder = Folder::new();
    events(&folder);
    folder.write("text", "a line\n");
    let add = "parquet events.parquet --add url -o";
    folder
        .umbel(&format!("{add} text"))
        .run()
        .fails(&["is text, and a Parquet file would replace it", "--force"]);
    assert_eq!(fs::read(folder.path("text")).unwrap(), b"a line\n");
    folder.umbel(&format!("{add} text --force")).run().done();
    folder.umbel(&format!("{add} nowhere/new")).run().fails(&["does not exist"]);
    folder.umbel("parquet text --add url --column url").run().ended_with(2);
    folder.umbel("parquet text --fpp 1%").run().ended_with(2);
    folder.umbel("parquet text --remove url --remove-all").run().ended_with(2);
}

#[test]
fn the_plan_is_explained() {
    let folder = Folder::new();
    let old = events(&folder);
    let text =
        folder.umbel("parquet events.parquet --add url --add country --explain").run().text();
    let plan = "\
events.parquet: 3 row groups; 19.7 KiB stay as they are
column url, BYTE_ARRAY (text): read 3 row groups
column country, BYTE_ARRAY (text): read 0 row groups
  3 left out: all values are in the dictionary
";
    assert!(text.starts_with(plan), "{text}");
    assert!(fs::read(folder.path("events.parquet")).unwrap() == old);
}

/// What fits at a time is read, and the file is the same.
#[test]
fn memory_is_capped() {
    let folder = Folder::new();
    events(&folder);
    let run = |memory: &str, out: &str| {
        let options =
            format!("parquet events.parquet --add url --add user_id -q -j 1 -m {memory} -o {out}");
        folder.umbel(&options).run()
    };
    run("16MiB", "small").done();
    run("1GiB", "large").done();
    assert!(fs::read(folder.path("small")).unwrap() == fs::read(folder.path("large")).unwrap());
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
