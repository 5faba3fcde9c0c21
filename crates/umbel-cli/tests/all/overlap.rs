//! `umbel overlap` as a black box.

use crate::util::{Folder, urls};

/// 10,000 lines each, 4,000 of them in both; `more` is planned for four times as many.
fn with_filters() -> Folder {
    let folder = Folder::new();
    folder.write("left", urls(0..10_000));
    folder.write("right", urls(6_000..16_000));
    folder.umbel("build -q -o a --keys 100000 left").run().done();
    folder.umbel("build -q -o b --keys 100000 right").run().done();
    folder.umbel("build -q -o more --keys 400000 right").run().done();
    folder
}

#[test]
fn sizes_and_overlap_with_intervals() {
    let folder = with_filters();
    for other in ["b", "more"] {
        let report = folder.umbel(&format!("overlap --json a {other}")).run().text();
        let report: serde_json::Value = serde_json::from_str(&report).unwrap();
        assert_eq!(report["type"], "compare");
        assert_eq!(report["mergeable"], true);
        let truths = [
            ("union", 16_000.0),
            ("intersection", 4_000.0),
            ("jaccard", 0.25),
            ("left_in_right", 0.4),
            ("right_in_left", 0.4),
        ];
        for (name, truth) in truths {
            let number = |name: String| report[name].as_f64().unwrap();
            let (low, high) = (number(format!("{name}_low")), number(format!("{name}_high")));
            // Fixed seed: these intervals hold the truth, as 19 in 20 do.
            assert!(low <= truth && truth <= high, "{other} {name}: {low} to {high}");
            assert!(high - low < 0.1 * truth, "{other} {name}: {low} to {high}");
        }
        assert!(report["shared_bits"].as_f64() > report["bits_by_chance"].as_f64());
    }
    let text = folder.umbel("overlap a more").run().text();
    for words in
        ["A            a: blocked filter", "in both      about ", "Jaccard ", "merge        yes"]
    {
        assert!(text.contains(words), "{text}");
    }
}

#[test]
fn what_cannot_be_compared_is_told() {
    let folder = with_filters();
    folder.umbel("build -q -o chain --kind scalable right").run().done();
    folder.umbel("build -q -o seeded --seed 7 right").run().done();
    for (other, words) in [
        ("chain", "the bits of scalable filters do not show what they share"),
        ("seeded", "the filters hash keys differently"),
    ] {
        let text = folder.umbel(&format!("overlap a {other}")).run().text();
        assert!(text.contains(&format!("shared       unknown: {words}")), "{text}");
        assert!(text.contains("merge        no: "), "{text}");
        assert!(text.contains("keys in B    about "), "{text}");
    }
    folder.umbel("overlap a").run().fails(&["<B>"]);
    folder.umbel("overlap a none").run().fails(&["none", "(os error 2)"]);
    folder.umbel("overlap a left").run().fails(&["left", "not an umbel file"]);
}

#[test]
fn what_merging_costs_is_told_and_what_is_useless_refused() {
    let folder = with_filters();
    folder.write("one", "a line\n");
    folder.umbel("build -q -o small one").run().done();
    let text = folder.umbel("overlap a small").run().text();
    assert!(text.contains("merge        of no use: 64 B, 100.00 % full, at a rate of 1"), "{text}");
    let words = ["would be of no use: 64 B, 100.00 % full", "--force"];
    folder.umbel("merge -o both a small").run().fails(&words);
    assert!(!folder.names().contains(&"both".to_owned()));
    folder.umbel("merge --force -o both a small").run().done();
    let text = folder.umbel("overlap a b").run().text();
    assert!(
        text.contains("merge        yes: ") && text.contains(" % full, at a rate of "),
        "{text}"
    );
}
