//! The tables of the textbooks, to their printed digits.

use serde_json::Value;

use crate::util::Folder;

/// The lines of an answer, split at white space, without the last one, which explains.
fn rows(question: &str) -> Vec<Vec<String>> {
    let text = Folder::new().umbel(&format!("plan {question}")).run().text();
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let mut rows: Vec<_> = text.lines().map(words).collect();
    rows.pop();
    rows
}

fn objects(question: &str) -> Vec<Value> {
    let text = Folder::new().umbel(&format!("plan {question} --json")).run().text();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A row: m/n, the best real k, and rates by k.
type Row = (usize, &'static str, &'static [(usize, &'static str)]);

/// The part of the usual table (P. Cao, "Bloom Filters - the math") around the best k; that table leaves out last zeros.
#[test]
fn rates_as_published() {
    let published: [Row; 8] = [
        (2, "1.39", &[(1, "0.393*"), (2, "0.400")]),
        (3, "2.08", &[(1, "0.283"), (2, "0.237*"), (3, "0.253")]),
        (4, "2.77", &[(1, "0.221"), (2, "0.155"), (3, "0.147*"), (4, "0.160")]),
        (5, "3.47", &[(1, "0.181"), (2, "0.109"), (3, "0.0918*"), (4, "0.0920"), (5, "0.101")]),
        (6, "4.16", &[(2, "0.0804"), (3, "0.0609"), (4, "0.0561*"), (5, "0.0578"), (6, "0.0638")]),
        (7, "4.85", &[(3, "0.0423"), (4, "0.0359"), (5, "0.0347*"), (6, "0.0364")]),
        (
            8,
            "5.55",
            &[
                (1, "0.118"),
                (2, "0.0489"),
                (3, "0.0306"),
                (4, "0.0240"),
                (5, "0.0217"),
                (6, "0.0216*"),
                (7, "0.0229"),
            ],
        ),
        (9, "6.24", &[(4, "0.0166"), (5, "0.0141"), (6, "0.0133*"), (7, "0.0135"), (8, "0.0145")]),
    ];
    let rows = rows("--table");
    assert_eq!(rows[0].join(" "), "m/n best k k = 1 k = 2 k = 3 k = 4 k = 5 k = 6 k = 7 k = 8");
    assert_eq!(rows.len(), 9);
    for (row, (ratio, best, rates)) in rows[1..].iter().zip(published) {
        assert_eq!((row[0].parse(), &row[1][..]), (Ok(ratio), best));
        for (k, rate) in rates {
            assert_eq!(row[1 + k], *rate, "m/n {ratio}, k {k}");
        }
        assert_eq!(row.iter().filter(|cell| cell.ends_with('*')).count(), 1, "one is the best");
    }
}

#[test]
fn any_range_of_rates() {
    let wide = rows("--table --ratios 2..32 --probes 1..24");
    assert_eq!((wide.len(), wide[1].len()), (32, 26));
    // m/n = 32: k = 22 is the best; (1 − e^(−22/32))^22 = 2.1042e-7.
    assert_eq!(&wide[31][23], "2.10e-7*");
    let one = rows("--table --ratios 16 --probes 11");
    assert_eq!(one[1], ["16", "11.09", "0.000459*"]);
    let best_elsewhere = rows("--table --ratios 16 --probes 1..3");
    assert!(!best_elsewhere[1].join(" ").contains('*'));
    for (wrong, words) in [
        ("--ratios 9..2", "9..2"),
        ("--ratios 0..3", "0..3"),
        ("--probes x", "\"x\""),
        ("--probes 1..2000", "1..2000"),
    ] {
        Folder::new().umbel(&format!("plan --table {wrong}")).run().fails(&[words, "range"]);
    }
    Folder::new().umbel("plan --table --keys 5").run().fails(&["cannot be used with"]);
    Folder::new().umbel("plan --keys 5 --fpp 0.1 --ratios 2..4").run().fails(&["--ratios"]);
    Folder::new().umbel("plan --probes 2..4").run().fails(&["--table"]);
}

#[test]
fn rates_as_json() {
    let objects = objects("--table --ratios 8 --probes 1..7");
    assert_eq!(objects.len(), 7);
    let best: Vec<_> = objects.iter().filter(|object| object["best"] == true).collect();
    assert_eq!(best.len(), 1);
    assert_eq!((best[0]["type"].as_str(), best[0]["probes"].as_u64()), (Some("rate"), Some(6)));
    assert!((best[0]["fpp"].as_f64().unwrap() - 0.021_577).abs() < 1e-6, "{}", best[0]);
    assert!((best[0]["best_probes"].as_f64().unwrap() - 5.545).abs() < 1e-3);
}

#[test]
fn sizes_for_round_rates_and_keys() {
    let rows = rows("--sizes");
    assert_eq!(rows[0].join(" "), "rate k bits/key bytes/key 1e3 1e4 1e5 1e6 1e7 1e8 1e9 keys");
    let starts = [
        ["0.100", "3", "4.81", "0.60"],
        ["0.0100", "7", "9.59", "1.20"],
        ["0.00100", "10", "14.38", "1.80"],
        ["0.000100", "13", "19.17", "2.40"],
        ["1.00e-5", "17", "23.97", "3.00"],
        ["1.00e-6", "20", "28.76", "3.59"],
    ];
    assert_eq!(rows.len(), 7);
    for (row, start) in rows[1..].iter().zip(starts) {
        assert_eq!(row[..4], start);
    }
    assert_eq!(rows[2][10..12], ["1.14", "MiB"], "{:?}", rows[2]);
}

#[test]
fn sizes_for_ones_own() {
    let one = rows("--sizes --fpp 0.01 --keys 5e9");
    assert_eq!(one[1].join(" "), "0.0100 7 9.59 1.20 5.58 GiB");
    assert_eq!(one[0][4], "5000000000");
    let rates = rows("--sizes --rates 0.5,0.02 --keys 1000");
    assert_eq!(rates[1][..3], ["0.500", "1", "1.44"]);
    assert_eq!(rates[2][..3], ["0.0200", "6", "8.15"]);
    let object = &objects("--sizes --rates 0.01 --keys 1e6")[0];
    assert_eq!(object["type"], "size");
    // 9.592955 bits per key: ⌈1,199,119.4⌉ bytes.
    assert_eq!((object["bytes"].as_u64(), object["probes"].as_u64()), (Some(1_199_120), Some(7)));
    Folder::new().umbel("plan --sizes --rates 0.1,2").run().fails(&["between 0 and 1"]);
    Folder::new().umbel("plan --keys 5 --memory 1GiB --rates 0.1").run().fails(&["--rates"]);
    Folder::new().umbel("plan --keys 5 --rates 0.1").run().fails(&["--sizes"]);
    Folder::new().umbel("plan --sizes --memory 1GiB").run().fails(&["cannot be used with"]);
}
