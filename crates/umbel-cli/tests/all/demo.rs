//! How a Bloom filter works, as `umbel demo` tells it.

use serde_json::Value;

use crate::util::Folder;

fn text(arguments: &str) -> String {
    Folder::new().umbel(&format!("demo {arguments}")).run().text()
}

fn objects(arguments: &str) -> Vec<Value> {
    let text = text(&format!("{arguments} --json"));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn of_type<'a>(objects: &'a [Value], name: &str) -> Vec<&'a Value> {
    objects.iter().filter(|object| object["type"] == name).collect()
}

#[test]
fn without_words_the_published_example() {
    let text = text("");
    for words in [
        "14 bits, 3 probes per word (published by M. Ceglowski, 2004)",
        "Insert apples: its probes are bits 3, 12 and 11.",
        "Insert plums: its probes are bits 11, 1 and 8.",
        "Bit 11 is already set and stays set.",
        "Look up mango: its probes are bits 8, 3 and 12.",
        "bit  8 is set, first by plums",
        "may be in, which is wrong: it was never inserted, but plums and apples set",
        "false positive",
        "certainly not in",
        "5 of 14 bits are set",
        "(5/14)^3 = 0.0456",
    ] {
        assert!(text.contains(words), "no {words:?} in {text}");
    }
    // After both words: bits 1, 3, 8, 11 and 12, with marks under those of plums.
    let drawn = "         .   1   .   1   .   .   .   .   1   .   .   1   1   .\n             ^                           ^           ^\n";
    assert!(text.contains(drawn), "{text}");
}

#[test]
fn the_example_as_json() {
    let objects = objects("");
    assert_eq!(objects[0]["published"], true);
    let inserts = of_type(&objects, "insert");
    assert_eq!(inserts[0]["after"], "00010000000110");
    assert_eq!(inserts[1]["after"], "01010000100110");
    assert_eq!(inserts[1]["new"], serde_json::json!([1, 8]));
    let queries = of_type(&objects, "query");
    let answer = |query: &Value| (query["found"] == true, query["inserted"] == true);
    assert_eq!(
        queries.iter().copied().map(answer).collect::<Vec<_>>(),
        [(true, true), (true, false), (false, false)]
    );
    assert_eq!(queries[1]["probes"][0], serde_json::json!({"bit": 8, "set": true, "by": "plums"}));
}

/// With umbel's hash the answers are those of a filter: what was put in is found, bits are what probes set.
#[test]
fn own_words_under_umbels_hash() {
    for seed in 0..20 {
        let objects =
            objects(&format!("red green blue --query red,pink --bits 30 --probes 4 --seed {seed}"));
        let mut bits = [false; 30];
        for insert in of_type(&objects, "insert") {
            let probes = insert["probes"].as_array().unwrap();
            assert_eq!(probes.len(), 4);
            for probe in probes {
                bits[probe.as_u64().unwrap() as usize] = true;
            }
            let drawn: String = bits.iter().map(|set| if *set { '1' } else { '0' }).collect();
            assert_eq!(insert["after"], drawn);
        }
        let queries = of_type(&objects, "query");
        assert_eq!((&queries[0]["found"], &queries[0]["inserted"]), (&true.into(), &true.into()));
        let probes = queries[1]["probes"].as_array().unwrap();
        let all = probes.iter().all(|probe| bits[probe["bit"].as_u64().unwrap() as usize]);
        assert_eq!(queries[1]["found"], all);
    }
    assert_ne!(text("a b --seed 1"), text("a b --seed 2"));
    assert!(text("a b").contains("umbel's hash with seed 0"));
}

#[test]
fn places_can_be_given() {
    let text = text("apples pears --at apples=3,12,11 --at mango=3,3,12 --query mango");
    for words in [
        "Insert apples: its probes are bits 3, 12 and 11 (as given by --at).",
        "Look up mango: its probes are bits 3, 3 and 12 (as given by --at).",
        "but apples set",
    ] {
        assert!(text.contains(words), "no {words:?} in {text}");
    }
}

#[test]
fn the_example_takes_other_queries() {
    let asked = text("--query pear");
    assert!(asked.contains("published by") && asked.contains("Look up pear"), "{asked}");
    assert!(asked.contains("Insert apples: its probes are bits 3, 12 and 11.\n"), "{asked}");
    let moved = text("--at mango=0,1,2");
    assert!(moved.contains("Look up mango: its probes are bits 0, 1 and 2 (as given by --at)."));
    let hashed = text("--seed 0");
    assert!(hashed.contains("umbel's hash") && !hashed.contains("3, 12 and 11"), "{hashed}");
}

#[test]
fn nothing_is_wider_than_80_columns() {
    let long = "x".repeat(300);
    for arguments in [
        String::new(),
        "a b c d e f g --query h,a --bits 64 --probes 16".to_owned(),
        format!(
            "{long} {long}y a-rather-long-word another-rather-long-one and-a-third-one --query {long}z --bits 5"
        ),
        "a --bits 2 --probes 1 --query b".to_owned(),
        "one-rather-long-word another-long-word --bits 2 --query third-long-word,another-long-word"
            .to_owned(),
    ] {
        let text = text(&arguments);
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{} columns: {line}", line.chars().count());
        }
    }
}

#[test]
fn what_cannot_be_shown_says_why() {
    for (wrong, words) in [
        ("a --at a=1,2", "3 probes"),
        ("a --at a=1,2,14", "no bit 14; the bits are 0 to 13"),
        ("a --at a", "apples=3,12,11"),
        ("a --bits 1", "from 2 to 64"),
        ("a --bits 65", "from 2 to 64"),
        ("a --probes 0", "from 1 to 16"),
        ("a --probes 17", "from 1 to 16"),
    ] {
        Folder::new().umbel(&format!("demo {wrong}")).run().fails(&[words]);
    }
}

/// Words behind `--query` are words to insert, as behind any other option.
#[test]
fn a_query_swallows_no_words() {
    for arguments in ["--query a,b c d", "c d --query a,b", "c --query a d --query b"] {
        let objects = objects(arguments);
        let words = |name| -> Vec<&str> {
            let found = of_type(&objects, name).into_iter();
            found.map(|object| object["word"].as_str().unwrap()).collect()
        };
        assert_eq!(
            (words("insert"), words("query")),
            (vec!["c", "d"], vec!["a", "b"]),
            "{arguments}"
        );
    }
}

#[test]
fn a_story_goes_to_a_file() {
    let folder = Folder::new();
    let text = folder.umbel("demo").run().text();
    folder.write("story", "old");
    assert_eq!(folder.umbel("demo -o story").run().text(), "");
    assert_eq!(folder.read("story"), text.as_bytes());
    folder.umbel("demo --bits 1 -o story").run().fails(&["from 2 to 64"]);
    folder.umbel("demo -o no/story").run().fails(&["no/story", "the folder no does not exist"]);
    assert_eq!(folder.read("story"), text.as_bytes());
}
