//! Counting filters as a black box: lines taken out again, and what is shipped.

use serde_json::Value;

use crate::util::{Folder, lines, one_space, urls};

/// A folder with the lines 0 to 10,000 in `keys`, and in `cached` as a counting filter.
fn with_filter() -> Folder {
    let folder = Folder::new();
    folder.write("keys", urls(0..10_000));
    folder.umbel("build -q -o cached --kind counting keys").run().done();
    folder
}

fn info(folder: &Folder, filter: &str) -> Value {
    serde_json::from_str(&folder.umbel(&format!("info --json {filter}")).run().text()).unwrap()
}

#[test]
fn removed_lines_are_as_if_they_had_never_been_added() {
    let folder = with_filter();
    folder.write("old", urls(0..4_000));
    folder.write("rest", urls(4_000..10_000));
    folder.umbel("build -q -o rest.umbel --kind counting --keys 10000 rest").run().done();
    let run = folder.umbel("remove --verbose cached old").run();
    assert!(run.stderr.starts_with("umbel remove: 4,000 lines, 4,000 removed, "), "{}", run.stderr);
    run.done();
    assert!(folder.read("cached") == folder.read("rest.umbel"));
    folder.umbel("query -v -q cached rest").run().nothing();
    // Once more, from a pipe, with another thread count: they come back and go.
    folder.umbel("add -q cached").stdin(folder.read("old")).run().done();
    folder.umbel("remove -q cached - --threads 1").stdin(folder.read("old")).run().done();
    assert!(folder.read("cached") == folder.read("rest.umbel"));
}

#[test]
fn lines_that_are_not_there_are_told_and_change_nothing() {
    let folder = with_filter();
    folder.umbel("query -v -q cached -").stdin(urls(20_000..21_000)).run().done();
    let absent = folder.umbel("query -v -q cached -").stdin(urls(20_000..21_000)).run().done();
    let count = absent.iter().filter(|&&byte| byte == b'\n').count();
    folder.write("absent", &absent);
    let before = folder.read("cached");
    let run = folder.umbel("remove cached absent").run();
    let words = format!("umbel remove: {count} lines were certainly not in the filter");
    assert!(run.stderr.starts_with(&words), "{}", run.stderr);
    run.nothing();
    assert!(folder.read("cached") == before);
    let run = folder.umbel("remove --json cached absent").run();
    let report: Value = serde_json::from_str(&run.stderr).unwrap();
    run.nothing();
    assert_eq!((&report["lines"], &report["found"]), (&count.into(), &0.into()));
    assert_eq!((&report["absent"], &report["bytes_written"]), (&count.into(), &0.into()));
    let quiet = folder.umbel("remove -q cached absent").run();
    assert_eq!(quiet.stderr, "");
    quiet.nothing();
    folder.umbel("remove -q cached").stdin("").run().nothing();
}

#[test]
fn lines_that_were_never_added_are_a_warning() {
    let folder = with_filter();
    // Of 50,000 at a rate of 0.01, some 500 pass and are taken out.
    folder.write("never", urls(20_000..70_000));
    let run = folder.umbel("remove cached never").run();
    for words in [
        "warning: 49,",
        "certainly not in the filter",
        "lines that share their counters may now be missing",
    ] {
        assert!(run.stderr.contains(words), "no {words:?} in {}", run.stderr);
    }
    let (_, told) = run.stderr.split_once(", about ").unwrap();
    let mistaken: f64 = told.split(' ').next().unwrap().parse().unwrap();
    // By the rate before: as they go, it falls. 6 deviations of 22 below, and what it fell.
    assert!((300.0..650.0).contains(&mistaken), "{}", run.stderr);
    run.done();
    let lost = folder.umbel("query -v -q cached keys").run().done();
    assert!(!lost.is_empty(), "that is the danger");
    let report = folder.umbel("remove --json cached keys").run().report();
    let lost = lost.iter().filter(|&&byte| byte == b'\n').count() as u64;
    assert!(report["absent"].as_u64() >= Some(lost), "{report}");
}

#[test]
fn a_scalable_filter_that_has_not_grown_becomes_a_fixed_one() {
    let folder = with_filter();
    folder.umbel("build -q -o young --kind scalable --keys 20000 keys").run().done();
    folder.umbel("convert -q -o fixed young --to blocked").run().done();
    folder.umbel("query -v -q fixed keys").run().nothing();
    let fixed = info(&folder, "fixed");
    assert_eq!((&fixed["kind"], &fixed["planned_keys"]), (&"blocked".into(), &20_000.into()));
    assert_eq!(fixed["planned_fpp"], 0.005);
    assert_eq!(fixed["set_bits"], info(&folder, "young")["set_bits"]);
    for growth in ["scalable", "scalable:1"] {
        folder
            .umbel(&format!("build -q -f -o grown --kind {growth} --keys 5000 keys"))
            .run()
            .done();
        folder.umbel("convert -o fixed2 grown --to blocked").run().fails(&[
            "grown: ",
            "2 links",
            "build a blocked filter",
        ]);
    }
    folder.umbel("convert -o fixed2 young --to classic").run().fails(&["young: ", "classic"]);
}

#[test]
fn other_kinds_say_why_nothing_is_removed() {
    let folder = with_filter();
    for kind in ["blocked", "classic", "sliced", "scalable"] {
        folder.umbel(&format!("build -q -o {kind} --kind {kind} keys")).run().done();
        let before = folder.read(kind);
        folder.umbel(&format!("remove {kind} keys")).run().fails(&[
            kind,
            "keys cannot be removed",
            "build a counting one",
        ]);
        assert!(folder.read(kind) == before);
    }
    folder.umbel("remove missing keys").run().fails(&["missing"]);
    folder.umbel("remove cached missing").run().fails(&["missing"]);
}

#[test]
fn what_is_shipped_is_the_plain_filter_of_the_lines_that_are_in() {
    let folder = with_filter();
    folder.write("old", urls(0..4_000));
    folder.write("rest", urls(4_000..10_000));
    folder.umbel("remove -q cached old").run().done();
    folder.umbel("build -q -o plain --keys 10000 rest").run().done();
    folder.umbel("convert -q -o shipped cached --to blocked").run().done();
    assert!(folder.read("shipped") == folder.read("plain"));
    // A quarter of the size; and it merges with plain ones.
    assert_eq!(
        info(&folder, "cached")["bytes"],
        4 * info(&folder, "shipped")["bytes"].as_u64().unwrap()
    );
    folder.umbel("build -q -o news --keys 10000 old").run().done();
    folder.umbel("merge -q -o all shipped news").run().done();
    folder.umbel("query -v -q all keys").run().nothing();
    folder.umbel("convert -q -o shipped cached --to blocked").run().done();
    let piped = folder.umbel("convert -q -o - cached --to blocked").run().done();
    assert!(piped == folder.read("plain"));
    folder
        .umbel("convert -o out plain --to blocked")
        .run()
        .fails(&["plain", "only counting ones do"]);
    folder.umbel("convert -o out cached --to classic").run().fails(&["cached", "classic"]);
    folder.umbel("convert -o out cached --to elastic").run().fails(&["elastic", "blocked"]);
}

#[test]
fn the_receipt_tells_of_counters() {
    let folder = with_filter();
    let text = one_space(&folder.umbel("info cached").run().text());
    for words in ["kind counting", "counters in use", "insertions 10,000", "stuck counters 0"] {
        assert!(text.contains(words), "no {words:?} in {text}");
    }
    folder.write("often", lines(std::iter::repeat_n("again", 20)));
    folder.umbel("add -q cached often").run().done();
    let info = info(&folder, "cached");
    assert_eq!(info["stuck_counters"], 8);
    assert!(info["stuck"].as_str().unwrap().contains("reached 12"));
    folder.umbel("build -q -o wide --kind counting:8 keys").run().done();
    let merge = folder.umbel("merge -o out cached wide").run();
    merge.fails(&["the cells differ in size (4 and 8 bits)"]);
    folder.umbel("build -o odd --kind counting:5 keys").run().fails(&["counting:5", "4, 8 or 16"]);
    folder.umbel("merge -q -o twice cached cached").run().done();
    let all = folder.umbel("info --json twice").run().text();
    let all: Value = serde_json::from_str(&all).unwrap();
    assert!(all["insertions"].as_u64() > Some(19_900), "{all}");
}
