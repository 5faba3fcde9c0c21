//! Stable filters as a black box.

use serde_json::Value;

use crate::util::{Folder, one_space, urls};

fn info(folder: &Folder, filter: &str) -> Value {
    serde_json::from_str(&folder.umbel(&format!("info --json {filter}")).run().text()).unwrap()
}

fn lines_of(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&byte| byte == b'\n').count()
}

#[test]
fn the_last_lines_are_remembered_and_old_ones_fade() {
    let folder = Folder::new();
    folder.write("stream", urls(0..100_000));
    folder.umbel("build -q -o lately --kind stable --keys 2000 stream").run().done();
    folder.write("last", urls(98_000..100_000));
    folder.write("old", urls(0..50_000));
    let last = lines_of(&folder.umbel("query -q lately last").run().done());
    assert!(last > 1970, "{last} of 2,000");
    let old = lines_of(&folder.umbel("query -q lately old").run().done());
    assert!(old < 700, "{old} of 50,000");
    let text = one_space(&folder.umbel("info lately").run().text());
    for words in [
        "kind stable, ",
        "planned 2,000 keys, the last ones, at a rate of 0.0100 at all times",
        "cells in use",
        "state within its promise, takes any number of keys",
        "insertions 100,000",
        "stable rate ",
    ] {
        assert!(text.contains(words), "no {words:?} in {text}");
    }
    let told = info(&folder, "lately");
    assert_eq!((&told["insertions"], &told["over_filled"]), (&100_000.into(), &false.into()));
    assert!(told["keys"].as_f64() > Some(2_000.0), "{told}");
}

#[test]
fn the_same_lines_in_the_same_order_give_the_same_bytes() {
    let folder = Folder::new();
    folder.write("first", urls(0..7_000));
    folder.write("second", urls(3_000..12_000));
    let build = "build -q --kind stable:3 --keys 1000";
    folder.umbel(&format!("{build} -o once first second")).run().done();
    folder.umbel(&format!("{build} -o turned second first --threads 2")).run().done();
    folder.umbel(&format!("{build} -o added first --threads 1")).run().done();
    folder.umbel("add -q added").stdin(folder.read("second")).run().done();
    assert!(folder.read("added") == folder.read("once"));
    assert!(folder.read("turned") != folder.read("once"), "the order counts");
}

#[test]
fn what_a_stable_filter_cannot_do_is_told() {
    let folder = Folder::new();
    folder.write("keys", urls(0..100));
    folder.umbel("build -q -o lately --kind stable keys").run().done();
    folder.umbel("merge -o out lately lately").run().fails(&["do not merge", "order"]);
    folder.umbel("remove lately keys").run().fails(&["lately", "keys cannot be removed"]);
    folder.umbel("convert -o out lately --to blocked").run().fails(&["lately", "does not convert"]);
    folder.umbel("build -o odd --kind stable:9 keys").run().fails(&["stable:9", "1 to 8 bits"]);
}

#[test]
fn dedup_skips_what_came_lately() {
    let folder = Folder::new();
    folder.write("day", urls((0..3_000).chain(1_000..2_000)));
    let out = folder.umbel("unseen -q lately --kind stable --keys 5000 day").run().done();
    let count = lines_of(&out);
    assert!((2_950..=3_000).contains(&count), "{count}");
    folder.umbel("unseen -q lately day").run();
    assert_eq!(info(&folder, "lately")["over_filled"], false);
}
