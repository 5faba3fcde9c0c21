//! `umbel build --copies`, and `umbel query --all`, as black boxes.

use serde_json::Value;
use umbel::internals::math::binomial_bounds;

use crate::util::{Folder, urls};

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
    let copies = (1..=copies).map(|number| format!(" copy.{number}.umbel"));
    format!("query lines --all{}", copies.collect::<String>())
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
        let run = folder.umbel(&format!("{} --total --json", first(copies))).run();
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
fn filters_of_every_sort_are_queried_together() {
    let folder = with_copies();
    folder.write_private("secret", "00112233445566778899aabbccddeeff");
    folder.umbel("build -q -o keyed list --secret-file secret --fpp 0.3").run().done();
    folder.umbel("build -q -o seeded list --seed 0 --fpp 0.3 --kind classic").run().done();
    folder.umbel("build -q -o guava list --format guava --key-type utf16 --fpp 0.3").run().done();
    let report = |arguments: &str| {
        let run = folder.umbel(&format!("query lines --total --json {arguments}")).run();
        let report: Value = serde_json::from_str(&run.stderr).unwrap();
        let found: u64 = run.text().trim_end().parse().unwrap();
        (found - KEYS, report["chance_extra"].as_f64().unwrap())
    };
    for arguments in [
        "--all copy.1.umbel keyed --secret-file secret",
        "--all guava guava --key-type utf16",
        "--any copy.1.umbel copy.2.umbel",
    ] {
        let (hits, rate) = report(arguments);
        let (low, high) = binomial_bounds(STRANGERS, rate, 1e-9);
        assert!(low <= hits && hits <= high, "{arguments}: {hits} of {low}..={high}");
    }
    // Under one seed the rates do not multiply: what is told is a bound.
    let (hits, rate) = report("--all copy.1.umbel seeded");
    assert!((rate - rate_now(&folder, "seeded")).abs() < 1e-12);
    assert!(hits <= binomial_bounds(STRANGERS, rate, 1e-9).1, "{hits}");
    let (_, alone) = report("--all copy.1.umbel copy.1.umbel");
    assert_eq!(alone, rate_now(&folder, "copy.1.umbel"));
    let needed = "query lines --all copy.1.umbel keyed";
    folder.umbel(needed).run().fails(&["keyed", "--secret-file"]);
    let unused = "query lines --all copy.1.umbel copy.2.umbel --secret-file secret";
    folder.umbel(unused).run().fails(&["none of the filters is keyed"]);
}
