//! `umbel build --copies`, and `umbel query --and`, as black boxes.

use serde_json::Value;
use umbel::math::binomial_bounds;

use crate::util::{Folder, url, urls};

const KEYS: u64 = 5_000;
const STRANGERS: u64 = 200_000;

/// Five copies of a list, and lines of which the first are members.
fn with_copies() -> Folder {
    let folder = Folder::new();
    folder.write("list", urls(0..KEYS));
    folder.write("lines", urls(0..KEYS + STRANGERS));
    folder.umbel("build --copies 5 list -o copy").run().done();
    folder
}

/// The arguments that query the first copies.
fn first(copies: u32) -> String {
    let others = (2..=copies).map(|number| format!(" --and copy.{number}.umbel"));
    format!("query copy.1.umbel{}", others.collect::<String>())
}

fn rate_now(folder: &Folder, filter: &str) -> f64 {
    let text = folder.umbel(&format!("info --json {filter}")).run().text();
    serde_json::from_str::<Value>(&text).unwrap()["fpp"].as_f64().unwrap()
}

/// Strangers pass j copies at the product of their rates, which is at most 0.5^j: five counts, each within its exact
/// binomial bounds at α = 1e-9.
#[test]
fn copies_together_err_at_the_product_of_their_rates() {
    let folder = with_copies();
    let mut joint = 1.0;
    for copies in 1..=5 {
        joint *= rate_now(&folder, &format!("copy.{copies}.umbel"));
        let run = folder.umbel(&format!("{} --total --json lines", first(copies))).run();
        let report: Value = serde_json::from_str(&run.stderr).unwrap();
        let told = report["chance_extra"].as_f64().unwrap();
        assert!((told / joint - 1.0).abs() < 1e-12, "{copies}: {told} for {joint}");
        assert!(joint <= 0.5f64.powi(copies as i32), "{copies}: {joint}");
        let found: u64 = run.text().trim_end().parse().unwrap();
        let (low, high) = binomial_bounds(STRANGERS, joint, 1e-9);
        let hits = found - KEYS;
        assert!(low <= hits && hits <= high, "{copies}: {hits} of {low}..={high}");
    }
}

#[test]
fn and_prints_what_queries_after_each_other_print() {
    let folder = with_copies();
    let step = |filter: &str, from: &str, to: &str| {
        folder.umbel(&format!("query {filter} {from} -o {to}")).run().done();
    };
    step("copy.1.umbel", "lines", "once");
    step("copy.2.umbel", "once", "twice");
    step("copy.3.umbel", "twice", "thrice");
    let together = folder.umbel(&format!("{} lines", first(3))).run().done();
    assert!(together == folder.read("thrice"));
    assert!(together.starts_with(&folder.read("list")), "no member is missed");
    let absent = folder.umbel(&format!("{} -v lines", first(3))).run().done();
    assert_eq!(absent.len() + together.len(), folder.read("lines").len());
    assert!(!absent.starts_with(url(0).as_bytes()));
    let streamed = folder.umbel(&first(3)).stdin(folder.read("lines")).run().done();
    assert!(streamed == together);
}

#[test]
fn filters_of_every_sort_are_queried_together() {
    let folder = with_copies();
    folder.write_private("secret", "00112233445566778899aabbccddeeff");
    folder.umbel("build -q -o keyed list --secret-file secret --fpp 0.3").run().done();
    folder.umbel("build -q -o seeded list --seed 0 --fpp 0.3 --kind classic").run().done();
    folder.umbel("build -q -o guava list --format guava --key-type utf16 --fpp 0.3").run().done();
    let report = |arguments: &str| {
        let run = folder.umbel(&format!("query --total --json {arguments} lines")).run();
        let report: Value = serde_json::from_str(&run.stderr).unwrap();
        let found: u64 = run.text().trim_end().parse().unwrap();
        (found - KEYS, report["chance_extra"].as_f64().unwrap())
    };
    for others in ["--and keyed --secret-file secret", "--and guava --key-type utf16"] {
        // A filter of umbel takes no type of keys, so that Guava's comes alone.
        let arguments = match others.contains("guava") {
            true => "guava --and guava --key-type utf16".to_owned(),
            false => format!("copy.1.umbel {others}"),
        };
        let (hits, rate) = report(&arguments);
        let (low, high) = binomial_bounds(STRANGERS, rate, 1e-9);
        assert!(low <= hits && hits <= high, "{arguments}: {hits} of {low}..={high}");
    }
    // Under one seed the rates do not multiply: what is told is a bound.
    let (hits, rate) = report("copy.1.umbel --and seeded");
    assert!((rate - rate_now(&folder, "seeded")).abs() < 1e-12);
    assert!(hits <= binomial_bounds(STRANGERS, rate, 1e-9).1, "{hits}");
    let (_, alone) = report("copy.1.umbel --and copy.1.umbel");
    assert_eq!(alone, rate_now(&folder, "copy.1.umbel"));
    let needed = "query copy.1.umbel --and keyed lines";
    folder.umbel(needed).run().fails(&["keyed", "--secret-file"]);
    let unused = "query copy.1.umbel --and copy.2.umbel lines --secret-file secret";
    folder.umbel(unused).run().fails(&["none of the filters is keyed"]);
}

#[test]
fn copies_are_the_filters_of_their_seeds() {
    let folder = with_copies();
    assert_eq!(folder.names().iter().filter(|name| name.starts_with("copy.")).count(), 5);
    folder.umbel("build -q -o built list --fpp 0.5 --seed 2").run().done();
    assert!(folder.read("built") == folder.read("copy.3.umbel"));
    let from_pipe = "build -o piped --copies 2 --seed 2";
    folder.umbel(from_pipe).stdin(folder.read("list")).run().done();
    assert!(folder.read("piped.1.umbel") == folder.read("built"));
    folder.umbel("overlap copy.1.umbel copy.2.umbel").run().text();
    folder.umbel("merge -o both copy.1.umbel copy.2.umbel").run().fails(&["seed 0", "seed 1"]);
    let report = folder.umbel("build --copies 5 --json -f list -o copy --keys 9000").run().report();
    assert_eq!((&report["lines"], &report["passes"]), (&KEYS.into(), &5.into()));
}

#[test]
fn what_copies_and_and_refuse() {
    let folder = with_copies();
    let before = folder.read("copy.3.umbel");
    std::fs::remove_file(folder.path("copy.1.umbel")).unwrap();
    folder.write("copy.2.umbel", "mine");
    folder
        .umbel("build --copies 5 list -o copy")
        .run()
        .fails(&["copy.2.umbel: is text", "--force"]);
    folder.umbel("build --copies 5 -q list -o more").run().done();
    std::fs::copy(folder.path("more.2.umbel"), folder.path("copy.2.umbel")).unwrap();
    assert!(!folder.path("copy.1.umbel").exists() && folder.read("copy.3.umbel") == before);
    folder.umbel("build --copies 5 list -o -").run().fails(&["name a prefix"]);
    folder.umbel("build --copies 5 list -o none/copy").run().fails(&["none", "does not exist"]);
    folder.umbel("build list -o x --copies 0").run().fails(&["whole number from 1 to 64"]);
    folder.umbel("build --copies 5 list -o x --fpp 1").run().fails(&["1"]);
    folder
        .umbel("build --copies 5 copy.2.umbel -f -o copy")
        .run()
        .fails(&["copy.2.umbel", "input too"]);
    for other in ["--kind classic", "--secret-file s", "--size 1M", "--since f", "--sign k"] {
        folder.umbel(&format!("build --copies 5 list -o x {other}")).run().fails(&["--copies"]);
    }
    folder.umbel("query copy.2.umbel --and none lines").run().fails(&["none", "(os error 2)"]);
    folder.umbel("query copy.2.umbel --and list lines").run().fails(&["list", "not an umbel file"]);
    folder.umbel("query - --and - lines").run().fails(&["standard input can be read only once"]);
    folder.umbel("query copy.2.umbel --and -").run().fails(&["standard input"]);
    folder
        .umbel("query copy.2.umbel --and copy.3.umbel lines -o copy.3.umbel")
        .run()
        .fails(&["also read"]);
    folder.umbel("build -q -o big --keys 30M list").run().done();
    let cap = "query copy.2.umbel --and big lines --memory 20M";
    folder.umbel(cap).run().fails(&["--memory"]);
}
