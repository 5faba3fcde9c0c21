//! Filters that remember the last lines, and scalable ones with links of one size, from the command line.

use serde_json::Value;

use crate::util::{Folder, one_space, urls};

fn info(folder: &Folder, filter: &str) -> Value {
    serde_json::from_str(&folder.umbel(&format!("info --json {filter}")).run().text()).unwrap()
}

#[test]
fn a_window_remembers_the_last_lines() {
    let folder = Folder::new();
    folder.write("old", urls(0..10_000));
    folder.write("new", urls(10_000..11_000));
    let run = folder.umbel("build --verbose -o f --kind window --keys 1000 --fpp 1e-6 old").run();
    assert!(
        run.stderr.contains("4 generations, remembering the last 1,000 keys"),
        "{}",
        run.stderr
    );
    assert!(!run.stderr.contains("over-filled"), "{}", run.stderr);
    run.done();
    folder.umbel("add -q f new").run().done();
    assert_eq!(folder.umbel("query -q f new").run().done(), urls(10_000..11_000));
    // Of the old ones at most a third of a window is left.
    let left = folder.umbel("query -q f old").run().text().lines().count();
    assert!(left <= 334, "{left}");

    let info = info(&folder, "f");
    assert_eq!((&info["kind"], &info["planned_keys"]), (&"window".into(), &1_000.into()));
    assert_eq!(info["parts"].as_array().unwrap().len(), 4);
    assert!(info["remembered"].as_u64().unwrap() >= 1_000, "{info}");
    let text = one_space(&folder.umbel("info f").run().text());
    for words in [
        "kind window, 4 generations",
        "planned 1,000 keys, the last ones, at a rate of ",
        "state within its promise, takes any number of keys and forgets old ones",
        "window 1,000 insertions",
        "by age generation ",
        "generation 4 ",
    ] {
        assert!(text.contains(words), "no {words:?} in {text}");
    }
}

/// What a crawler does: lines not seen of late go out.
#[test]
fn dedup_goes_by_a_window() {
    let folder = Folder::new();
    folder.write("days", urls((0..5_000).chain(4_500..6_000)));
    let dedup = "unseen -q f --kind window --keys 2000 --fpp 1e-9 days";
    assert_eq!(folder.umbel(dedup).run().done(), urls(0..6_000));
    // Gone from the window, they are new again.
    folder.write("first", urls(0..10));
    assert_eq!(folder.umbel("unseen -q f first").run().done(), urls(0..10));
}

/// Which generation a line is in depends on the order: that of the lines, whatever the threads.
#[test]
fn it_is_the_same_however_it_is_filled() {
    let folder = Folder::new();
    folder.write("keys", urls(0..30_000));
    for kind in ["window --keys 7000", "window:7 --keys 7000", "scalable:1 --keys 3000"] {
        let build = format!("build -qf --kind {kind} --fpp 0.02");
        folder.umbel(&format!("{build} -o one --threads 1 keys")).run().done();
        folder.umbel(&format!("{build} -o two --threads 2 keys")).run().done();
        let [one, two] = ["one", "two"].map(|name| std::fs::read(folder.path(name)).unwrap());
        assert!(one == two, "{kind}");
    }
}

#[test]
fn what_cannot_be_says_why() {
    let folder = Folder::new();
    folder.write("keys", urls(0..100));
    for name in ["a", "b"] {
        folder.umbel(&format!("build -q -o {name} --kind window keys")).run().done();
    }
    folder.umbel("merge -o out a b").run().fails(&["a and b", "window filters do not merge"]);
    assert!(!folder.path("out").exists());
    for (kind, words) in [
        ("window:1", "window:1: expected 2 to 8 generations"),
        ("window:9", "expected 2 to 8 generations"),
        ("scalable:2", "scalable:2: expected 0, each link for twice"),
    ] {
        folder.umbel(&format!("build -o f --kind {kind} keys")).run().fails(&[words]);
    }
}

#[test]
fn links_of_one_size_are_told() {
    let folder = Folder::new();
    folder.write("keys", urls(0..10_000));
    folder.umbel("build -q -o f --kind scalable:1 --keys 1000 keys").run().done();
    assert_eq!(folder.umbel("query -q f keys").run().done(), urls(0..10_000));
    let info = info(&folder, "f");
    let parts = info["parts"].as_array().unwrap();
    assert!((10..=11).contains(&parts.len()), "{info}");
    assert!(parts.iter().all(|link| link["planned_keys"] == 1_000));
    assert!(info["fpp"].as_f64().unwrap() < 0.01, "{info}");
    let text = folder.umbel("info f").run().text();
    assert!(text.contains("growth     links of one size\n"), "{text}");
}
