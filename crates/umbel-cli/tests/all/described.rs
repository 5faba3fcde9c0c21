//! What the keys of a filter are, as a black box: recorded, shown, and compared with what is looked up.

use serde_json::{Value, json};

use crate::util::Folder;

const TABLE: &str = "a,b,c\n1,x,p\n2,y,q\n3,z,r\n";
/// The same keys under other names.
const RENAMED: &str = "{\"k\":{\"a\":1,\"b\":\"x\"}}\n{\"k\":{\"a\":9,\"b\":\"z\"}}\n";

/// A folder with the table, and the filters `one` of its first column, `two` of the first two, and `plain` of lines.
fn with_filters() -> Folder {
    let folder = Folder::new();
    folder.write("t", TABLE);
    folder.write("lines", "1\n2\n3\n");
    folder.umbel("build -q -o one --csv --key a t").run().done();
    folder.umbel("build -q -o two --csv --key a --key b t").run().done();
    folder.umbel("build -q -o plain lines").run().done();
    folder
}

fn info(folder: &Folder, filter: &str) -> Value {
    serde_json::from_str(&folder.umbel(&format!("info --json {filter}")).run().text()).unwrap()
}

#[test]
fn fields_are_recorded_and_shown() {
    let folder = with_filters();
    let text = folder.umbel("info two").run().text();
    assert!(text.contains("fields     a, b\n") && text.contains("key type   text\n"), "{text}");
    let found = info(&folder, "two");
    assert_eq!((&found["key_fields"], &found["key_type"]), (&json!(["a", "b"]), &json!("text")));
    assert_eq!(info(&folder, "plain")["key_fields"], Value::Null);
    for kind in ["classic", "counting", "scalable", "window", "bloomier", "coded", "cascade"] {
        folder.umbel(&format!("build -q -f -o any --kind {kind} --csv --key b t")).run().done();
        assert_eq!(info(&folder, "any")["key_fields"], json!(["b"]), "{kind}");
    }
    // Rows have the names already.
    folder.umbel("build -q -o rows --kind attributes --csv --key a --key b t").run().done();
    assert_eq!(info(&folder, "rows")["key_fields"], Value::Null);
    folder.umbel("query -q --csv --key b rows t").run().done();
}

#[test]
fn a_filter_answers_for_its_own_fields_in_their_order_alone() {
    let folder = with_filters();
    assert!(folder.umbel("query -q --csv --key a --key b two t").run().text() == TABLE);
    for (filter, key, words) in [
        ("two", "--csv --key a", [r#"two: "#, r#"the fields "a", "b""#, r#"the field "a""#]),
        (
            "two",
            "--csv --key b --key a",
            ["two", r#"the fields "a", "b""#, r#"the fields "b", "a""#],
        ),
        ("two", "", ["two", r#"the fields "a", "b""#, "whole lines"]),
        ("one", "--csv --key b", ["one", r#"the field "a""#, r#"the field "b""#]),
        ("plain", "--csv --key a --key b", ["plain", "whole lines", r#"the fields "a", "b""#]),
    ] {
        let before = folder.read(filter);
        for verb in ["query", "query -v", "add"] {
            let message = folder.umbel(&format!("{verb} {filter} {key} t")).run().fails(&words);
            assert!(message.contains("(--key, or --as"), "{message}");
        }
        assert!(folder.read(filter) == before);
    }
    folder.umbel("build -q -o held --kind counting --csv --key a --key b t").run().done();
    folder.umbel("remove held --csv --key a t").run().fails(&["held", r#"the field "a""#]);
    folder.umbel("unseen -q known --csv --key a t").run().done();
    folder.umbel("unseen known --csv --key b t").run().fails(&["known", r#"the field "b""#]);
}

#[test]
fn plain_lines_and_one_field_are_the_same_keys() {
    let folder = with_filters();
    assert_eq!(folder.umbel("query -q one lines").run().text(), "1\n2\n3\n");
    assert_eq!(folder.umbel("query -q --csv --key a plain t").run().text(), TABLE);
    folder.umbel("merge -q -o both one plain").run().done();
    assert_eq!(info(&folder, "both")["key_fields"], Value::Null);
    folder.umbel("query -q both lines").run().done();
}

#[test]
fn other_names_for_the_same_fields_are_said() {
    let folder = with_filters();
    folder.write("j", RENAMED);
    let query = "query -q --jsonl --key k.a --key k.b two j";
    folder.umbel(query).run().fails(&[r#"the fields "k.a", "k.b""#]);
    let found = folder.umbel(&format!("{query} --as a --as b")).run().text();
    assert_eq!(found, RENAMED.split_inclusive('\n').next().unwrap());
    folder.umbel(&format!("{query} --as a")).run().fails(&["1 names for the 2 fields", "--as"]);
    folder.umbel("query two j --as a").run().fails(&["--key"]);
    let run = folder.umbel("query one t --csv --key b --as a").run();
    assert_eq!((run.status.code(), &run.stdout[..]), (Some(1), &b"a,b,c\n"[..]));
    // A filter is built under other names too.
    folder.umbel("build -q -o two2 --jsonl --key k.a --key k.b --as a --as b j").run().done();
    assert_eq!(info(&folder, "two2")["key_fields"], json!(["a", "b"]));
    folder.umbel("dedup --jsonl --key k.a --as a j").run().fails(&["--as", "umbel unseen"]);
    folder
        .umbel("build -o g --format guava --csv --key a --as b t")
        .run()
        .fails(&["--as", "guava"]);
    folder.umbel("build -q -o g --format guava --csv --key a t").run().done();
    folder.umbel("query g --csv --key a --as b t").run().fails(&["g: ", "--as", "guava"]);
    let rows = "-o rows --kind attributes --csv --key a --as b t";
    folder.umbel(&format!("build {rows}")).run().fails(&["rows", "--as"]);
}

#[test]
fn filters_of_other_fields_do_not_merge() {
    let folder = with_filters();
    folder.umbel("build -q -o other --csv --key b t").run().done();
    folder.umbel("merge -o m one other").run().fails(&["one and other", r#""a""#, r#""b""#]);
    folder.umbel("merge -o m two plain").run().fails(&["two and plain", "whole lines"]);
    let compared = folder.umbel("overlap two plain").run().text();
    assert!(
        compared.contains("shared       unknown: the filter was built from the fields"),
        "{compared}"
    );
    folder.umbel("merge -q -o m two two").run().done();
    assert!(folder.read("m") == folder.read("two"));
}

#[test]
fn what_of_a_key_counts_is_recorded_and_compared() {
    let folder = Folder::new();
    folder.write("lines", "Ada\n Grace \nEDSGER\n");
    let all = "--trim --ignore-case --crlf --normalize number --normalize nfc --normalize email --normalize url";
    folder.umbel(&format!("build -q -o all {all} lines")).run().done();
    let steps = json!(["crlf", "trim", "url", "email", "number", "nfc", "ignore-case"]);
    assert_eq!(info(&folder, "all")["key_normalization"], steps);
    let forms = "--trim --ignore-case --crlf --normalize url";
    folder.umbel(&format!("build -q -o f {forms} lines")).run().done();
    let text = folder.umbel("info f").run().text();
    assert!(text.contains("normalized crlf, trim, url, ignore-case\n"), "{text}");
    assert_eq!(
        info(&folder, "f")["key_normalization"],
        json!(["crlf", "trim", "url", "ignore-case"])
    );
    folder.write("asked", "ada\r\n\tGRACE\nBarbara\n");
    let found = folder.umbel(&format!("query -q f {forms} asked")).run().text();
    assert_eq!(found, "ada\r\n\tGRACE\n");
    for other in ["", "--trim", "--trim --ignore-case --crlf"] {
        let message = folder
            .umbel(&format!("query f {other} asked"))
            .run()
            .fails(&["f: ", "whole lines with "]);
        assert!(message.contains("--ignore-case, --trim"), "{message}");
    }
    folder.umbel("build -q -o plain lines").run().done();
    folder.umbel("query plain --trim asked").run().fails(&["plain: ", "whole lines with trim"]);
    folder.umbel("merge -o m plain f").run().fails(&["plain and f", "whole lines with "]);
    // Rows too, and fields.
    folder.write("t", "a,b\nX,Y\n");
    for kind in ["blocked", "attributes"] {
        let build =
            format!("build -q -f -o rows --kind {kind} --csv --key a --key b --ignore-case t");
        folder.umbel(&build).run().done();
        let query = "query -q --csv --key a --key b rows t";
        folder.umbel(query).run().fails(&["rows: ", "with ignore-case"]);
        folder.umbel(&format!("{query} --ignore-case")).run().done();
        assert_eq!(info(&folder, "rows")["key_normalization"], json!(["ignore-case"]));
    }
}
