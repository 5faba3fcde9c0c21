//! Filters of rows as a black box: built from named fields, asked for any of them.

use std::fmt::Write;

use serde_json::Value;

use crate::util::Folder;

/// Rows of a host, a user and a port; every eighth field is in quotes.
fn csv(numbers: impl Iterator<Item = u32>, recombined: u32) -> String {
    let mut text = String::from("port,host,user\n");
    for n in numbers {
        let user = n + recombined;
        let quote = if n % 8 == 0 { "\"" } else { "" };
        writeln!(text, "{},{quote}host, {n}{quote},user-{user}", n % 7, n = n).unwrap();
    }
    text.replace("host, ", "host-")
}

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("rows.csv", csv(0..5_000, 0));
    // Hosts and users that there are, but not together.
    folder.write("mixed.csv", csv(0..2_000, 3_000));
    folder.write("fresh.csv", csv(100_000..102_000, 0));
    folder
        .umbel("build -q --kind attributes --csv --key host --key user -o F --fpp 0.001 rows.csv")
        .run()
        .done();
    folder
}

fn rows(text: &[u8]) -> usize {
    text.iter().filter(|&&byte| byte == b'\n').count().saturating_sub(1)
}

#[test]
fn any_attributes_in_any_order_are_asked() {
    let folder = folder();
    let all = folder.read("rows.csv");
    for keys in ["--key host", "--key user", "--key host --key user", "--key user --key host"] {
        let found = folder.umbel(&format!("query -q F --csv {keys} rows.csv")).run().done();
        assert!(found == all, "{keys}");
        let absent = folder.umbel(&format!("query -q -v F --csv {keys} rows.csv")).run();
        assert_eq!((absent.status.code(), rows(&absent.stdout)), (Some(1), 0), "only the header");
        let fresh = folder.umbel(&format!("query -q F --csv {keys} fresh.csv")).run();
        assert!(rows(&fresh.stdout) < 20, "{keys}");
    }
    for keys in ["--key host", "--key user"] {
        let found = folder.umbel(&format!("query -q F --csv {keys} mixed.csv")).run().done();
        assert_eq!(rows(&found), 2_000, "each for itself is known");
    }
    let mixed = folder.umbel("query -q F --csv --key user --key host mixed.csv").run();
    assert!(rows(&mixed.stdout) < 20, "together they are not");
}

#[test]
fn formats_and_streams_give_the_same_filter() {
    let folder = folder();
    let text = String::from_utf8(folder.read("rows.csv")).unwrap().replace('"', "");
    let json: String = text
        .lines()
        .skip(1)
        .map(|line| {
            let fields: Vec<_> = line.split(',').collect();
            format!(
                "{{\"user\":\"{}\",\"port\":{},\"host\":\"{}\"}}\n",
                fields[2], fields[0], fields[1]
            )
        })
        .collect();
    folder.write("rows.jsonl", json);
    folder.write("rows.tsv", text.replace(',', "\t"));
    let build = "build -q --kind attributes --key host --key user --fpp 0.001";
    folder.umbel(&format!("{build} --jsonl -o J rows.jsonl")).run().done();
    folder.umbel(&format!("{build} --tsv -o T --threads 1 rows.tsv")).run().done();
    folder.umbel(&format!("{build} --csv -o S")).stdin(folder.read("rows.csv")).run().done();
    let filter = folder.read("F");
    assert!(["J", "T", "S"].into_iter().all(|other| folder.read(other) == filter));
}

#[test]
fn rows_are_added_and_filters_merge() {
    let folder = folder();
    folder.umbel("build -q --kind attributes --csv --key host --key user -o G --keys 5000 --fpp 0.001 fresh.csv")
        .run()
        .done();
    folder.umbel("merge -q -o M F G").run().done();
    // In another order of the keys.
    folder.umbel("add -q F --csv --key user --key host fresh.csv").run().done();
    assert!(folder.read("M") == folder.read("F"));
    let found = folder.umbel("query -q F --csv --key host --key user fresh.csv").run().done();
    assert!(found == folder.read("fresh.csv"));
    folder.umbel("build -q --kind attributes --csv --key user --key host -o O --keys 5000 --fpp 0.001 fresh.csv")
        .run()
        .done();
    folder.umbel("merge -q -o N F O").run().fails(&["host, user", "user, host", "same order"]);
}

#[test]
fn info_tells_of_each_attribute() {
    let folder = folder();
    let info: Value = serde_json::from_str(&folder.umbel("info --json F").run().text()).unwrap();
    let names: Vec<_> =
        info["parts"].as_array().unwrap().iter().map(|part| &part["name"]).collect();
    assert_eq!(names, [&Value::from("host"), &Value::from("user"), &Value::Null]);
    assert_eq!(info["tags_a_row"], 1);
    let keys = info["keys"].as_f64().unwrap();
    assert!((keys / 5_000.0 - 1.0).abs() < 0.05, "{keys}");
    let text = folder.umbel("info F").run().text();
    for words in ["attributes, 2 attributes and 1 tag filter", "attribute host", "tag filter 3"] {
        assert!(text.contains(words), "{text}");
    }
}

/// What the report says of the error goes for the question that was asked.
#[test]
fn the_chance_told_is_that_of_the_question() {
    let folder = folder();
    folder
        .umbel("build -q --kind attributes:0 --csv --key host --key user -o plain rows.csv")
        .run()
        .done();
    let chance = |filter: &str, keys: &str| {
        let run = folder.umbel(&format!("query --json {filter} --csv {keys} rows.csv")).run();
        run.report()["chance_extra"].as_f64().unwrap()
    };
    assert_eq!(chance("plain", "--key host --key user"), 1.0);
    assert!(chance("plain", "--key host") < 0.011);
    assert!(chance("F", "--key host --key user") < 0.0011);
    let mixed = folder.umbel("query -q plain --csv --key host --key user mixed.csv").run().done();
    assert_eq!(rows(&mixed), 2_000, "as it was told");
}

#[test]
fn sizes_are_of_all_filters_together() {
    let folder = folder();
    for kind in ["attributes:0", "attributes", "attributes:2", "attributes:12"] {
        folder
            .umbel(&format!("build -q -f --kind {kind} --csv --key host --key user --key port -o Z --size 64KiB rows.csv"))
            .run()
            .done();
        let size = folder.read("Z").len();
        assert!((58_000..=(64 << 10) + 400).contains(&size), "{kind}: {size}");
    }
}

#[test]
fn what_is_missing_is_told() {
    let folder = folder();
    let build = "build -q --kind attributes -o X";
    folder.umbel(&format!("{build} rows.csv")).run().fails(&["names of its attributes", "--key"]);
    folder.umbel(&format!("{build} --csv rows.csv")).run().fails(&["names of its attributes"]);
    folder
        .umbel(&format!("{build} --csv --key host --key host rows.csv"))
        .run()
        .fails(&["\"host\" is named twice"]);
    folder
        .umbel("build -q --kind attributes:5 -o X --csv --key host rows.csv")
        .run()
        .fails(&["attributes:5", "0 no tags, 1 a tag of each row"]);
    for verb in ["query", "add"] {
        folder.umbel(&format!("{verb} F rows.csv")).run().fails(&["rows of host, user", "--key"]);
        folder.umbel(&format!("{verb} F --csv rows.csv")).run().fails(&["rows of host, user"]);
        folder
            .umbel(&format!("{verb} F --csv --key port rows.csv"))
            .run()
            .fails(&["no attribute \"port\"", "host, user"]);
    }
    folder
        .umbel("add F --csv --key user rows.csv")
        .run()
        .fails(&["a value for each of host, user", "name host too"]);
    folder.umbel("unseen F rows.csv").run().fails(&["with a filter of rows, run umbel query -v"]);
    folder
        .umbel("unseen new --kind attributes rows.csv")
        .run()
        .fails(&["with a filter of rows, run umbel query -v"]);
    assert!(
        !folder.names().contains(&"new".to_owned()) && !folder.names().contains(&"X".to_owned())
    );
}

#[test]
fn columns_of_another_name_are_refused_with_what_to_do() {
    let folder = folder();
    folder.write("other.csv", "server\nhost-7\nhost-none\n");
    folder
        .umbel("query F --csv -k server --as host other.csv")
        .run()
        .fails(&["in the header", "omit --as"]);
    folder.write("other.csv", "host\nhost-7\nhost-none\n");
    assert_eq!(folder.umbel("query F --csv -k host other.csv").run().text(), "host\nhost-7\n");
}

/// Lines have no attribute, not even where there is only one.
#[test]
fn a_single_key_has_to_name_its_attribute() {
    let folder = folder();
    for kind in ["attributes", "attributes:0"] {
        folder
            .umbel(&format!("build -q -f --kind {kind} --csv --key host -o one rows.csv"))
            .run()
            .done();
        folder.umbel("query one").stdin("host-7\n").run().fails(&["rows of host", "--key"]);
        let rows = "host\nhost-7\n";
        let found = folder.umbel("query -q one --csv --key host").stdin(rows).run().done();
        assert!(found == rows.as_bytes());
    }
}
