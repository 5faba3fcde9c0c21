//! Filters of two lists as a black box.

use serde_json::Value;

use crate::util::{Folder, urls};

/// A folder with 3,000 lines in `block`, some of them twice, 20,000 in `allow` and `more`, and others in `fresh`.
fn with_lists() -> Folder {
    let folder = Folder::new();
    folder.write("block", urls(0..3_000));
    folder.append("block", urls(0..500));
    folder.write("allow", urls(3_000..20_000));
    folder.write("more", urls(20_000..23_000));
    folder.write("fresh", urls(30_000..50_000));
    folder
}

#[test]
fn no_error_on_either_list() {
    let folder = with_lists();
    for kind in ["cascade", "cascade:1"] {
        let build = format!("build -q -f --kind {kind} -o f --except allow --except more");
        for rest in ["block", "block --threads 1 --fpp 0.2", "block --keys 5000 --seed 4"] {
            folder.umbel(&format!("{build} {rest}")).run().done();
            folder.umbel("query -q -v f block").run().nothing();
            folder.umbel("query -q f allow more").run().nothing();
            let found = folder.umbel("query -q f fresh").run();
            let info: Value =
                serde_json::from_str(&folder.umbel("info --json f").run().text()).unwrap();
            assert_eq!((&info["included"], &info["excluded"]), (&3_000.into(), &20_000.into()));
            let rate = info["fpp"].as_f64().unwrap_or_else(|| panic!("{info}"));
            let hits = String::from_utf8(found.stdout).unwrap().lines().count() as f64;
            // Six standard deviations.
            let deviation = f64::sqrt(20_000.0 * rate * (1.0 - rate)).max(1.0);
            assert!((hits - 20_000.0 * rate).abs() <= 6.0 * deviation, "{hits} at {rate}");
        }
    }
    // Exceptions from a pipe, and the same bytes whatever the number of threads.
    let build = "build -q --kind cascade block --except -";
    for (name, threads) in [("a", 1), ("b", 3)] {
        let run = folder.umbel(&format!("{build} -o {name} --threads {threads}"));
        run.stdin(folder.read("allow")).run().done();
    }
    assert!(folder.read("a") == folder.read("b"));
}

#[test]
fn what_a_cascade_refuses() {
    let folder = with_lists();
    folder.append("more", "http://both.example/\n");
    folder.append("block", "http://both.example/\n");
    for kind in ["cascade", "cascade:1"] {
        let build = format!("build --kind {kind} -o f block --except allow --except more");
        folder.umbel(&build).run().fails(&[
            "block, line ",
            "\"http://both.example/\"",
            "is also among the exceptions in more; remove it from one of them",
        ]);
    }
    folder
        .umbel("build -o f block --except allow")
        .run()
        .fails(&["--except requires --kind cascade"]);
    folder
        .umbel("build -o f block --kind cascade --size 1MiB")
        .run()
        .fails(&["--size", "give --fpp"]);
    folder.umbel("build -o f block --kind cascade --keys 10").run().fails(&["planned for"]);
    folder.umbel("build -o f --kind cascade:2 block").run().fails(&["cascade:2", "0 for levels"]);
    folder.umbel("build -o f --kind cascade - --except -").run().fails(&["can be read only once"]);
    folder
        .umbel("build -o f --kind cascade block --keys 1e9 --memory 64MiB")
        .run()
        .fails(&["this run needs at least"]);
    assert!(!folder.path("f").exists());
    folder.umbel("build -q -o f --kind cascade block --except allow").run().done();
    folder.umbel("add f fresh").run().fails(&["f: a cascade filter", "at once"]);
    folder.umbel("merge -o g f f").run().fails(&["do not merge"]);
    let explained = folder.umbel("build --kind cascade -o g block --except allow --explain").run();
    assert!(explained.text().contains("cascade") && !folder.path("g").exists());
    let info = folder.umbel("info f").run().text();
    assert!(info.contains("level 1") && info.contains("takes no more\n"), "{info}");
}
