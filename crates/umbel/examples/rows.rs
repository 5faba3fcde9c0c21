//! Rows of three attributes, with a filter per attribute: how many new rows already pass when they are inserted, and
//! what a joint tag changes for rows combined from values of different rows.
//!
//! A row of unknown values passes with probability (1 − (1 − 1/m)^(kn))^(3k): 5.28e-6 at m = 10⁷, k = 3 and n = 10⁶.

use umbel::formulas::classic;
use umbel::internals::math::binomial_bounds;
use umbel::{Attributes, Filter, KeyHasher, Plan, Tags, Variant};

const ROWS: u64 = 1_000_000;
const BITS: u64 = 10_000_000;
const PROBES: u32 = 3;

/// Row `number`, whose values no other row has.
fn row(number: u64) -> [[u8; 8]; 3] {
    [0, 1, 2].map(|attribute| (3 * number + attribute).to_le_bytes())
}

fn filter(tags: Tags) -> Attributes {
    let variant = Variant::Attributes { tags, classic: true };
    let plan = Plan::from_parts(variant, ROWS, 0.02, BITS, PROBES).expect("a possible plan");
    let names = ["first", "second", "third"];
    Attributes::with_names(&plan, &names, KeyHasher::default()).expect("three names")
}

fn fpp_with(rows: u64) -> f64 {
    classic::fpp_textbook(rows, BITS, PROBES).powi(3)
}

/// Inserts all rows. Returns the filter, and how many rows passed before they were inserted.
fn filled(tags: Tags) -> (Attributes, u64) {
    let mut filter = filter(tags);
    let mut new = [false; 1000];
    let mut passed = 0;
    for start in (0..ROWS).step_by(new.len()) {
        let rows: Vec<_> = (start..start + new.len() as u64).map(row).collect();
        filter.insert_rows_new(&rows, &mut new).expect("three values");
        passed += new.iter().filter(|&&new| !new).count() as u64;
    }
    (filter, passed)
}

/// How many of 100,000 rows pass if each of their values comes from another row.
fn recombined(filter: &Attributes) -> u64 {
    let value = |number: u64, attribute: usize| {
        row((number + attribute as u64 * (ROWS / 3)) % ROWS)[attribute]
    };
    let rows = (0..100_000).map(|number| [0, 1, 2].map(|i| Some(value(number, i))));
    rows.filter(|row| filter.contains_row(row).expect("three values")).count() as u64
}

fn main() {
    assert_eq!(format!("{:.3e}", fpp_with(ROWS)), "5.278e-6");
    let expected: f64 = (0..ROWS).map(fpp_with).sum();
    let (plain, passed) = filled(Tags::None);
    println!("{passed} of {ROWS} rows passed when inserted; {expected:.2} are expected");
    let (_, most) = binomial_bounds(ROWS, expected / ROWS as f64, 1e-9);
    assert!(passed <= most);
    let combined = recombined(&plain);
    println!("{combined} of 100000 rows combined from others pass; all are expected");
    assert_eq!(combined, 100_000);

    let (tagged, _) = filled(Tags::Row);
    let fpp = tagged.query_fpp(&[true; 3]).expect("three attributes");
    let combined = recombined(&tagged);
    let (least, most) = binomial_bounds(100_000, fpp, 1e-9);
    println!("{combined} with a tag per row; {least} to {most} are expected");
    assert!((least..=most).contains(&combined));
    assert!((fpp / tagged.plan().predicted_fpp() - 1.0).abs() < 0.01);
}

#[test]
fn rows_pass_as_expected() {
    main();
}
