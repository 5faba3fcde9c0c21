//! Whole rows: joins that keep every record, two tables compared, rows of several files under one header, and which of
//! equal rows go out.

use std::process::Command;

use crate::util::{Folder, gzip, long};

fn text(folder: &Folder, arguments: &str) -> String {
    folder.umbel(arguments).run().text()
}

/// What is printed by a run that ends with exit status 1, of a diff.
fn different(folder: &Folder, arguments: &str) -> String {
    let run = folder.umbel(arguments).run();
    assert_eq!(run.status.code(), Some(1), "{arguments}");
    String::from_utf8(run.stdout).unwrap()
}

/// A run that fails says `words`, maybe after part of its result.
fn refused(folder: &Folder, arguments: &str, words: &str) {
    let run = folder.umbel(arguments).run();
    assert_eq!(run.status.code(), Some(2), "{arguments}");
    assert!(run.stderr.contains(words), "{arguments}: no {words:?} in {}", run.stderr);
}

#[test]
fn random_tables_come_out_as_of_sqlite_and_python() {
    let models = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/models.py");
    let run = Command::new("python3")
        .args([models, env!("CARGO_BIN_EXE_umbel"), long("500", "40")])
        .output();
    let run = run.expect("python3 is needed: apt-get install python3, or python.org");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}

#[test]
fn rows_of_csv_are_compared_by_their_values() {
    let folder = Folder::new();
    folder.write("a", "x,1\n\"y, z\",2\n");
    folder.write("b", "\"x\",1\n\"y, z\",\"2\"\n");
    let csv = "--csv --no-header a b";
    assert_eq!(text(&folder, &format!("common {csv}")), "x,1\n\"y, z\",2\n");
    folder.umbel(&format!("except {csv}")).run().nothing();
    folder.umbel(&format!("diff {csv}")).run().done();
    folder.umbel(&format!("diff --key 1 {csv}")).run().done();
    assert_eq!(text(&folder, "dedup --csv --no-header a b"), "x,1\n\"y, z\",2\n");
    // As they are written, on request.
    folder.umbel(&format!("common --raw {csv}")).run().nothing();
    assert_eq!(different(&folder, &format!("diff --raw {csv}")).lines().count(), 4);
    refused(&folder, "common --raw a b", "--raw requires --csv");
    // Values are normalized one by one, those beside the key too.
    folder.write("c", " X,1 \n");
    folder.write("d", "x, 1\n");
    for rules in ["--trim --ignore-case", "--trim --ignore-case --key 1"] {
        folder.umbel(&format!("diff --csv --no-header {rules} c d")).run().done();
    }
    folder.umbel("diff --csv --no-header --key 1 --ignore-case c c").run().done();
    folder.write("e", "k\tAa\n");
    folder.write("f", "k\taA\n");
    folder.umbel("diff --tsv --no-header --key 1 --ignore-case e f").run().done();
    // A row that is quoted only where it must be is the same key as the line.
    folder.umbel("build -o rows --csv --no-header b").run().done();
    folder.write("line", "x,1\n");
    assert_eq!(text(&folder, "query rows line"), "x,1\n");
}

#[test]
fn rows_that_differ_in_ignored_columns_are_the_same() {
    let folder = Folder::new();
    folder.write("old", "id,name,seen\n1,ann,mon\n2,\"bob\",mon\n3,cid,mon\n4,dan,mon\n");
    folder.write("new", "seen,id,name\ntue,1,ann\n\"t,u\",2,bob\ntue,3,Cid\ntue,5,eve\n");
    let csv = "--csv --ignore-column seen old new";
    let rows = "- 3,cid,mon\n- 4,dan,mon\n+ 3,Cid,tue\n+ 5,eve,tue\n";
    assert_eq!(different(&folder, &format!("diff {csv}")), rows);
    let keyed = "- 4,dan,mon\n~ 3,Cid,tue\n+ 5,eve,tue\n";
    assert_eq!(different(&folder, &format!("diff -k id {csv}")), keyed);
    assert_eq!(different(&folder, &format!("diff -k id --total {csv}")), "1\t1\t2\t1\n");
    let case = different(&folder, &format!("diff --ignore-case {csv}"));
    assert_eq!(case, "- 4,dan,mon\n+ 5,eve,tue\n");
    // The key decides which row is which, so it cannot be ignored; all other columns can.
    let all = "--ignore-column name --ignore-column seen";
    assert_eq!(
        different(&folder, &format!("diff --csv -k id {all} old new")),
        "- 4,dan,mon\n+ 5,eve,tue\n"
    );
    folder.write("a", "1\tx\r\n2\ty\n");
    folder.write("b", "2\tz\n1\tz\r\n");
    folder.umbel("diff --tsv --no-header --ignore-column 2 a b").run().done();
    refused(&folder, "diff --ignore-column 2 a b", "--ignore-column requires --csv or --tsv");
    refused(&folder, "diff --csv --raw --ignore-column 2 a b", "cannot be used with");
    refused(&folder, "diff --csv --ignore-column sen old new", "did you mean \"seen\"?");
    refused(&folder, "diff --csv --no-header --ignore-column seen old new", "by number");
}

#[test]
fn all_keeps_every_record_in_order() {
    let folder = Folder::new();
    folder.write("orders", "order,customer\n1001,ada\n1002,eve\n1003,bob\n1004,ada\n1005,eve\n");
    folder.write("returns", "customer,why\nada,late\nada,again\ncid,\n");
    let kept = text(&folder, "common --all --csv --key customer orders returns");
    assert_eq!(kept, "order,customer\n1001,ada\n1004,ada\n");
    let left = text(&folder, "except --all --csv --key customer orders returns");
    assert_eq!(left, "order,customer\n1002,eve\n1003,bob\n1005,eve\n");
    // Lines are their own keys.
    folder.write("a", "x\ny\nx\nz\nx\n");
    folder.write("b", "x\nz\n");
    folder.write("c", "z\nx\n");
    assert_eq!(text(&folder, "common --all a b c"), "x\nx\nz\nx\n");
    assert_eq!(text(&folder, "except --all a b c"), "y\n");
    refused(&folder, "common --all --at-least 2 a b", "'--at-least <T>'");
    refused(&folder, "except --all --fpp 0.01 a b", "--fpp");
}

/// A join that spills both sides keeps every record, under any cap.
#[test]
fn all_keeps_every_record_through_temporary_files() {
    let folder = Folder::new();
    let row = |i: u64| format!("{i},{:040}\n", i.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 300_000);
    folder.write("a", (0..400_000).map(row).collect::<String>());
    folder.write("b", (0..400_000).step_by(2).map(row).collect::<String>());
    for verb in ["common", "except"] {
        let job = format!("{verb} --all --csv --no-header --key 2 a b");
        let spilled = folder.umbel(&format!("{job} --json --memory 16MiB")).run();
        let expected = folder.umbel(&format!("{job} -q")).run().stdout;
        assert!(spilled.stdout == expected, "{verb}");
        assert!(spilled.report()["bytes_spilled"].as_u64() > Some(0), "{verb}");
    }
}

#[test]
fn a_diff_marks_what_one_file_has() {
    let folder = Folder::new();
    folder.write("old", "b\na\nc\nc\n");
    folder.write("new", "c\nd\nb\ne\nd\n");
    assert_eq!(different(&folder, "diff old new"), "- a\n+ d\n+ e\n");
    assert_eq!(different(&folder, "diff --total old new"), "1\t2\t2\n");
    folder.umbel("diff old old").run().done();
    assert_eq!(different(&folder, "diff -o marked old new"), "");
    assert_eq!(folder.read("marked"), b"- a\n+ d\n+ e\n");
    assert_eq!(different(&folder, "diff --added up --removed gone --kept same old new"), "");
    let files = ["up", "gone", "same"].map(|name| String::from_utf8(folder.read(name)).unwrap());
    assert_eq!(files, ["d\ne\n", "a\n", "b\nc\n"]);
    // An output may be an input; each has a file of its own.
    different(&folder, "diff --added new old new");
    assert_eq!(folder.read("new"), b"d\ne\n");
    refused(&folder, "diff --added up --kept up old new", "up: is named for two outputs");
    refused(&folder, "diff old", "old: is the only file");
    refused(&folder, "diff old new up", "diff compares two");
    assert!(text(&folder, "diff --explain old new").contains("in 2 passes"));
}

#[test]
fn a_diff_by_key_tells_what_changed() {
    let folder = Folder::new();
    folder.write("old", "sku,price\n1,10\n2,20\n3,30\n");
    folder.write("new", "price,sku\n40,4\n25,2\n10,1\n");
    assert_eq!(different(&folder, "diff --csv --key sku old new"), "- 3,30\n+ 4,40\n~ 2,25\n");
    assert_eq!(different(&folder, "diff --csv --key sku --total old new"), "1\t1\t1\t1\n");
    different(&folder, "diff --csv --key sku --added up --removed gone --kept same old new");
    // The old version of a changed row is only in the old file.
    assert_eq!(folder.read("gone"), b"sku,price\n2,20\n3,30\n");
    let old = "- 3,30\n+ 4,40\n< 2,20\n~ 2,25\n";
    assert_eq!(different(&folder, "diff --csv --key sku --old old new"), old);
    refused(&folder, "diff --old old new", "name it with --key");
    let run = folder.umbel("diff --csv --key sku --json old new").run();
    let report: serde_json::Value = serde_json::from_str(&run.stderr).unwrap();
    assert_eq!(report["bytes_written"].as_u64(), Some(run.stdout.len() as u64));
    assert_eq!(folder.read("up"), b"sku,price\n4,40\n2,25\n");
    assert_eq!(folder.read("same"), b"sku,price\n1,10\n");
    let run = folder.umbel("diff --csv --key sku --json old new").run();
    let report: serde_json::Value = serde_json::from_str(&run.stderr).unwrap();
    let figures =
        ["removed", "added", "changed", "kept", "found"].map(|name| report[name].as_u64());
    assert_eq!(figures, [1, 1, 1, 1, 3].map(Some));
    folder.write("a.jsonl", "{\"id\":1,\"v\":1}\n{\"id\":2}\n");
    folder.write("b.jsonl", "{\"id\":1,\"v\":2}\n{\"id\":2}\n");
    let found = different(&folder, "diff --jsonl --key id a.jsonl b.jsonl");
    assert_eq!(found, "~ {\"id\":1,\"v\":2}\n");
    // Every record must have its key, also one that both files have.
    folder.write("c.jsonl", "{\"id\":2}\n{\"v\":3}\n");
    refused(&folder, "diff --jsonl --key id c.jsonl c.jsonl", "no field \"id\"");
}

#[test]
fn rows_of_later_files_take_the_order_of_the_first_header() {
    let folder = Folder::new();
    folder.write("a", "id,name\n1,Ada\n2,\"Bob, Jr\"\n");
    folder.write("b", "name,id\n\"C \"\"X\"\" D\",3\nAda,1\n\"Bob, Jr\",2\n");
    let all = "id,name\n1,Ada\n2,\"Bob, Jr\"\n3,\"C \"\"X\"\" D\"\n";
    assert_eq!(text(&folder, "dedup --csv --key id a b"), all);
    assert_eq!(text(&folder, "dedup --csv a b"), all);
    assert_eq!(text(&folder, "common --csv a b"), "id,name\n1,Ada\n2,\"Bob, Jr\"\n");
    assert_eq!(text(&folder, "dedup --csv --seen filter --key id a b"), all);
    let found = text(&folder, "query --csv --key id filter b a");
    let rows = "\"C \"\"X\"\" D\",3\nAda,1\n\"Bob, Jr\",2\nAda,1\n\"Bob, Jr\",2\n";
    assert_eq!(found, format!("name,id\n{rows}"));
    // Standard input takes part.
    let run = folder.umbel("dedup --csv --key id a -").stdin(folder.read("b")).run();
    assert_eq!(run.text(), all);
    // Columns of the same number are no reason to mix them.
    folder.write("c", "id,town\n4,Paris\n");
    let words = "c: the columns differ from those of a: it lacks name, it also has town";
    refused(&folder, "dedup --csv --key id a c", words);
    refused(&folder, "common --csv a c", words);
    assert_eq!(text(&folder, "except --csv --key id a c"), "id,name\n1,Ada\n2,\"Bob, Jr\"\n");
    // Without names there is nothing to compare.
    assert_eq!(text(&folder, "dedup --csv --no-header --key 1 a c").lines().count(), 4);
    folder.write("ragged", "name,id\nEve\n");
    let words = "has 1 field, but its file has 2 columns";
    refused(&folder, "dedup --csv --key id a ragged", words);
    let report = folder.umbel("dedup --csv --key id --bad skip --json a ragged").run().report();
    assert_eq!((&report["bad"], &report["found"]), (&1.into(), &2.into()));
}

/// Records of which a part ends where a buffer, a page or a chunk does, in each format and from anywhere.
#[test]
fn a_record_left_out_ends_where_it_does() {
    let folder = Folder::new();
    let csv = ["{i},x\n", "{i}, 5\" tall,w\n", "\"{i}\"a,w\n"];
    let json = ["{\"k\":{i}}\n", "{\"k\":{i},oops,w}\n", "{\"k\" {i},w}\n"];
    for (format, [good, bad @ ..]) in [("--csv --no-header", csv), ("--jsonl -k k", json)] {
        for (border, width) in [(4096, 50), (4096, 70_000), (1 << 16, 300), (1 << 17, 5_000)] {
            let (mut text, mut wanted, mut number) = (String::new(), String::new(), 0);
            for bad in bad {
                let goal = text.len() + border;
                while text.len() < goal + 500 {
                    number += 1;
                    let is_bad =
                        text.len() < goal - 10 && text.len() + good.len() + 20 >= goal - 10;
                    let record = if is_bad { bad } else { good };
                    let record = record.replace("{i}", &number.to_string());
                    text += &record.replace('w', &"z,".repeat(width / 2));
                    wanted += if is_bad { "" } else { &record };
                }
            }
            folder.write("a", &text);
            folder.write("a.gz", gzip(text.as_bytes()));
            let job = format!("dedup -q {format} --bad skip");
            for from in ["a", "a.gz", "a -j 1 --memory 16MiB", "-", "- -j 1 --memory 16MiB"] {
                let run = folder.umbel(&format!("{job} {from}")).stdin(text.clone()).run();
                assert!(run.text() == wanted, "{format} {border} {width} {from}");
            }
        }
    }
}

#[test]
fn records_without_a_key_or_that_cannot_be_read() {
    let folder = Folder::new();
    folder.write("log", "{\"id\":1}\nbooting...\n{\"x\":1}\n{\"id\":1,\"n\":2}\n{\"x\":2}\n");
    let job = "dedup --jsonl --key id";
    refused(&folder, &format!("{job} log"), "--bad skip");
    refused(&folder, &format!("{job} --bad skip log"), "--missing skip");
    assert_eq!(text(&folder, &format!("{job} --bad skip --missing skip log")), "{\"id\":1}\n");
    let kept = text(&folder, &format!("{job} --bad skip --missing keep log"));
    assert_eq!(kept, "{\"id\":1}\n{\"x\":1}\n{\"x\":2}\n");
    let job = format!("{job} --bad skip --missing skip --json log");
    let report = folder.umbel(&job).run().report();
    let figures = ["lines", "missing", "bad"].map(|name| report[name].as_u64());
    assert_eq!(figures, [2, 2, 1].map(Some));
    // A record that is kept has no key in common with any.
    let common = folder.umbel("common --jsonl --key id --bad skip --missing keep log log").run();
    assert_eq!(common.text(), "{\"id\":1}\n");
    // A filter holds no such record, and answers for none.
    for verb in ["build -o filter", "query filter", "dedup --seen seen"] {
        folder
            .umbel("build -q -f -o filter --jsonl --key id --missing skip --bad skip log")
            .run()
            .done();
        let job = format!("{verb} -q --jsonl --key id --missing keep --bad skip log");
        refused(&folder, &job.replace("build", "build -f"), "--missing skip");
    }
    // Behind a broken quote, the next line starts a record.
    folder.write("csv", "size,n\n12\" disk,1\n13,2\n\"open,3\n14,4\n\"a\"b,5\n\"two\nlines\",6\n");
    refused(&folder, "dedup --csv csv", "--bad skip");
    let kept = text(&folder, "dedup --csv --bad skip csv");
    assert_eq!(kept, "size,n\n13,2\n14,4\n\"two\nlines\",6\n");
    let run = folder.umbel("dedup --csv --bad skip --json").stdin(folder.read("csv")).run();
    assert_eq!(run.report()["bad"], 3);
    // A header that cannot be read is never left out.
    folder.write("head", "si\"ze,n\n1,2\n");
    refused(&folder, "dedup --csv --bad skip head", "a quote inside an unquoted field");
}

#[test]
fn the_last_record_of_each_key() {
    let folder = Folder::new();
    folder.write("a", "k,v\n1,old\n2,only\n1,new\n3,x\n3,y\n");
    let last = text(&folder, "dedup --csv --key k --keep last a");
    assert_eq!(last, "k,v\n2,only\n1,new\n3,y\n");
    assert_eq!(
        text(&folder, "dedup --csv --key k --keep last --count a"),
        "count,k,v\n1,2,only\n2,1,new\n2,3,y\n"
    );
    assert_eq!(text(&folder, "dedup --csv --key k --keep last --repeated a"), "k,v\n1,new\n3,y\n");
}

#[test]
fn what_comes_most_often() {
    let folder = Folder::new();
    folder.write("words", "b\na\nc\na\nb\na\nd\n");
    assert_eq!(text(&folder, "dedup --count --by-count words"), "3\ta\n2\tb\n1\tc\n1\td\n");
    assert_eq!(text(&folder, "dedup --top 2 words"), "a\nb\n");
    assert_eq!(text(&folder, "dedup --count --min 2 words"), "2\tb\n3\ta\n");
    assert_eq!(text(&folder, "dedup --count --min 2 --top 1 words"), "3\ta\n");
    let words: String = (0..200_000u64).map(|i| format!("{:030}\n", i * i % 70_001)).collect();
    folder.write("many", &words);
    let all = text(&folder, "dedup --count --by-count --memory 16MiB many");
    let mut counts = std::collections::HashMap::new();
    words.lines().enumerate().for_each(|(place, word)| {
        counts.entry(word).or_insert((0u64, place)).0 += 1;
    });
    let mut sorted: Vec<_> = counts.into_iter().collect();
    sorted.sort_by_key(|(_, (count, place))| (std::cmp::Reverse(*count), *place));
    let line = |(word, (count, _)): &(&str, (u64, usize))| format!("{count}\t{word}\n");
    assert!(all == sorted.iter().map(line).collect::<String>());
    let top = text(&folder, "dedup --count --top 1000 --memory 16MiB many");
    assert!(top == sorted[..1000].iter().map(line).collect::<String>());
    folder.write("a.jsonl", "{\"id\":1}\n{\"id\":2}\n{\"id\":1,\"x\":0}\n");
    let counted = text(&folder, "dedup --jsonl --key id --count a.jsonl");
    assert_eq!(
        counted,
        "{\"count\":2,\"record\":{\"id\":1}}\n{\"count\":1,\"record\":{\"id\":2}}\n"
    );
    refused(&folder, "dedup --top 0 words", "--top");
}

#[test]
fn fields_between_blanks() {
    let folder = Folder::new();
    folder.write("log", "10:00  GET\t/a 200\n 10:01 GET /b 404\r\n10:02 POST /a 200\n\nend\n");
    let found = text(&folder, "dedup --fields --key 3 --missing skip log");
    assert_eq!(found, "10:00  GET\t/a 200\n 10:01 GET /b 404\r\n");
    assert_eq!(
        text(&folder, "dedup --fields --key 4 --missing skip --count log").lines().count(),
        2
    );
    refused(&folder, "dedup --fields --key 3 log", "found 1 field");
    refused(&folder, "dedup --fields log", "--key");
    refused(&folder, "dedup --fields --key path log", "fields are named by number, from 1");
}

#[test]
fn what_is_compared_is_not_what_is_printed() {
    let folder = Folder::new();
    folder.write("a", " Straße\r\nSTRASSE\nx\n");
    assert_eq!(text(&folder, "dedup --ignore-case --trim --crlf a"), " Straße\r\nx\n");
    folder.write("urls", "HTTP://A.example:80/x#top\nhttp://a.example/x\nhttp://a.example/X\n");
    let found = text(&folder, "dedup --normalize url urls");
    assert_eq!(found, "HTTP://A.example:80/x#top\nhttp://a.example/X\n");
    folder.write("numbers", "{\"n\":1}\n{\"n\":\"1.0\"}\n{\"n\":1e0}\n{\"n\":9007199254740993}\n{\"n\":9007199254740992}\n{\"n\":\"01\"}\n");
    let found = text(&folder, "dedup --jsonl -k n --normalize number --count numbers");
    let counts: String = found.lines().map(|line| line.as_bytes()[9] as char).collect();
    assert_eq!(counts, "3111", "{found}");
    // Several forms at once, of the fields of a row.
    folder.write("left", "1.50;a@B.example;e\u{301}\n1.5;a@B.example;é\n");
    folder.write("right", "1.5;a@b.example;é\n15e-1;a@b.example;é\n");
    let forms = "--normalize number --normalize email --normalize nfc";
    let csv = "--csv --delimiter ; --no-header";
    assert_eq!(
        text(&folder, &format!("dedup {csv} {forms} left right")),
        "1.50;a@B.example;e\u{301}\n"
    );
    folder.umbel(&format!("diff {csv} {forms} left right")).run().done();
    folder.umbel(&format!("diff {csv} --key 1 {forms} left right")).run().done();
    refused(&folder, "dedup --normalize gmail left", "[possible values: url, email, number, nfc]");
    // Lines of a file from another system have nothing in common with these, until line ends do not count.
    folder.write("dos", "x\r\ny\r\n");
    folder.write("unix", "x\nz\n");
    assert_eq!(text(&folder, "common --crlf dos unix"), "x\r\n");
}

#[test]
fn a_total_is_a_number_alone() {
    let folder = Folder::new();
    folder.write("a", "x\ny\nx\n");
    folder.write("b", "x\n");
    assert_eq!(text(&folder, "common --total a b"), "1\n");
    assert_eq!(text(&folder, "common --all --total a b"), "2\n");
    assert_eq!(text(&folder, "except --total a b"), "1\n");
    assert_eq!(text(&folder, "dedup --total a"), "2\n");
    folder.umbel("build -q -o filter b").run().done();
    assert_eq!(text(&folder, "query --total filter a"), "2\n");
    refused(&folder, "common --total -o out a b", "--output");
}

/// What was printed before an error is the beginning of the result; a file stays as it was.
#[test]
fn a_bad_row_near_the_end_leaves_the_beginning_of_the_result_or_the_file_as_it_was() {
    let folder = Folder::new();
    folder.write("a", "id\n1\n2\n\"x\" y\n");
    folder.write("b", "id\n2\n1\n");
    folder.write("out", "as it was");
    for job in ["common --csv -k id a b", "except --csv -k id a b", "dedup --csv -k id a"] {
        let run = folder.umbel(job).run();
        assert_eq!(run.status.code(), Some(2), "{job}");
        assert!("id\n1\n2\n".as_bytes().starts_with(&run.stdout), "{job}");
        folder.umbel(&format!("{job} -o out")).run().fails(&["a, line 4, column 4"]);
        assert_eq!(folder.read("out"), b"as it was");
    }
}

#[test]
fn keys_alone_are_of_files_with_any_columns() {
    let folder = Folder::new();
    folder.write("a", "id,v\n1,x\n2,y\n");
    folder.write("b", "w,id\nz,2\nz,3\n");
    let csv = "--csv -k id --print key a b";
    assert_eq!(text(&folder, &format!("union {csv}")), "id\n1\n2\n3\n");
    assert_eq!(text(&folder, &format!("common --at-least 2 {csv}")), "id\n2\n");
    assert_eq!(text(&folder, &format!("common --only 2 --which {csv}")), "files,id\n2,3\n");
}

#[test]
fn a_symmetric_difference_is_a_file_of_its_own() {
    let folder = Folder::new();
    folder.write("a", "id,v\n1,x\n2,y\n3,z\n");
    folder.write("b", "v,id\ny,2\nw,3\nq,4\n");
    for key in ["", "-k id"] {
        let found = different(&folder, &format!("diff --symmetric --csv {key} a b"));
        let rows = found.lines().collect::<std::collections::BTreeSet<_>>();
        assert_eq!(found.lines().next(), Some("id,v"), "{key}");
        assert_eq!(rows, ["1,x", "3,w", "3,z", "4,q", "id,v"].into(), "{key}");
    }
    assert_eq!(text(&folder, "diff --symmetric --csv a a"), "id,v\n");
    refused(&folder, "diff --symmetric --old --csv -k id a b", "--old");
}

#[cfg(unix)]
#[test]
fn sorted_results_are_in_the_order_of_bytes() {
    let folder = Folder::new();
    folder.write("a", "b\nB\na\n\nb\n\u{e9}\na b\n");
    folder.write("b", "c\nb\n\u{e9}\n\na\n");
    assert_eq!(text(&folder, "dedup --sort a"), "\nB\na\na b\nb\n\u{e9}\n");
    assert_eq!(text(&folder, "union --sort a b"), "\nB\na\na b\nb\nc\n\u{e9}\n");
    assert_eq!(text(&folder, "common --sort a b"), "\na\nb\n\u{e9}\n");
    assert_eq!(text(&folder, "except --sort a b"), "B\na b\n");
    assert_eq!(
        text(&folder, "common --which --sort a b"),
        "1,2\t\n1\tB\n1,2\ta\n1\ta b\n1,2\tb\n2\tc\n1,2\t\u{e9}\n"
    );
    // By the key; rows with equal ones as they were.
    folder.write("c", "id,n\n9,x\n\"1\",y\n9,z\n10,u\n");
    let csv = "--csv -k id --sort";
    assert_eq!(
        text(&folder, &format!("dedup --count {csv} c")),
        "count,id,n\n1,\"1\",y\n1,10,u\n2,9,x\n"
    );
    assert_eq!(
        text(&folder, &format!("common --all {csv} c c")),
        "id,n\n\"1\",y\n10,u\n9,x\n9,z\n"
    );
    folder.write("d", "{\"id\":\"b\"}\n{}\n{\"id\":\"a\"}\n");
    let json = text(&folder, "dedup --sort --jsonl -k id --missing keep d");
    assert_eq!(json, "{}\n{\"id\":\"a\"}\n{\"id\":\"b\"}\n");
    for other in ["--top 3", "--by-count", "--fpp 1%"] {
        refused(&folder, &format!("dedup --sort {other} a"), "--sort");
    }
    // More than memory holds, against sort.
    let rows = |i: u64| format!("{:016x}{:048}\n", i.wrapping_mul(0x9e37_79b9_7f4a_7c15), i % 1000);
    folder.write("many", (0..400_000).map(rows).collect::<String>());
    let run = folder.umbel("dedup --sort --memory 16MiB --json many").run();
    let sorted = folder.program("sh", "-c").arg("LC_ALL=C sort many").run().stdout;
    assert!(run.stdout == sorted);
    assert!(run.report()["bytes_spilled"].as_u64() > Some(20_000_000));
    // Keys that are copied, as those of several fields are, take no memory once they are sorted.
    let rows = |i: u64| format!("{:060},{i}\n", i % 7);
    folder.write("pairs", (0..1_000_000).map(rows).collect::<String>());
    let job = "dedup --sort --csv --no-header -k 1 -k 2 --memory 16MiB --json --total pairs";
    let peak = folder.umbel(job).run().report()["peak_memory"].as_u64();
    assert!(peak < Some(48 << 20), "{peak:?}");
}

/// Field by field, whatever their lengths: a sort by `-k1,1 -k2,2`, not one of the fields run together.
#[test]
fn several_fields_sort_one_after_the_other() {
    let folder = Folder::new();
    let rows =
        ["Ohio,Erie", "Iowa,Polk", "Ohio,Adams", "Utah,Box", "O,Zz", "Ohio\0,A", "Ohio,", "Oh,b"];
    let sorted =
        ["Iowa,Polk", "O,Zz", "Oh,b", "Ohio,", "Ohio,Adams", "Ohio,Erie", "Ohio\0,A", "Utah,Box"];
    let of = |rows: &[&str], form: &str| {
        let row = |row: &&str| match form {
            "--tsv" => row.replace(',', "\t") + "\n",
            "--fields" => row.replace(',', " ").replace("Ohio \n", "Ohio -\n") + "\n",
            "--jsonl" => {
                let (a, b) = row.split_once(',').unwrap();
                format!("{}\n", serde_json::json!({"a": a, "b": b}))
            }
            _ => format!("{row}\n"),
        };
        rows.iter().map(row).collect::<String>()
    };
    folder.write("none", "");
    for (form, key) in [
        ("--csv", "--csv --no-header -k 1 -k 2"),
        ("--tsv", "--tsv --no-header -k 1 -k 2"),
        ("--jsonl", "--jsonl -k a -k b"),
        ("--fields", "--fields -k 1 -k 2"),
    ] {
        let some = |rows: &[&'static str]| -> Vec<&str> {
            rows.iter().copied().filter(|row| form != "--fields" || !row.ends_with(',')).collect()
        };
        let sorted = of(&some(&sorted), form);
        folder.write("rows", of(&some(&rows), form));
        for verb in
            ["dedup --sort", "common --sort rows", "common --all --sort rows", "except --sort"]
        {
            let others = if verb.starts_with("except") { "none" } else { "" };
            let job = format!("{verb} {key} rows {others}");
            assert_eq!(text(&folder, job.trim_end()), sorted, "{job}");
        }
        let which = text(&folder, &format!("common --which --only 1 --sort {key} rows none"));
        assert!(
            which.lines().zip(sorted.lines()).all(|(found, row)| found.contains(row)),
            "{which}"
        );
    }
}

/// A row is sorted by the field that its own file calls the key.
#[test]
fn rows_of_other_files_sort_by_their_own_key() {
    let folder = Folder::new();
    folder.write("a", "{\"id\":\"d\"}\n");
    folder.write("b", "{\"user_id\":\"c\"}\n{\"user_id\":\"b\"}\n");
    folder.write("c", "{\"user_id\":\"b\"}\n{\"user_id\":\"c\"}\n{\"user_id\":\"a\"}\n");
    let json = "--sort --jsonl -k id=user_id a b c";
    let both = "{\"user_id\":\"b\"}\n{\"user_id\":\"c\"}\n";
    assert_eq!(text(&folder, &format!("common --at-least 2 {json}")), both);
    let all = format!("{{\"user_id\":\"a\"}}\n{both}{{\"id\":\"d\"}}\n");
    assert_eq!(text(&folder, &format!("common --at-least 1 {json}")), all);
    let which = text(&folder, &format!("common --which {json}"));
    let files: Vec<_> = which.lines().map(|line| line.split(",\"record").next().unwrap()).collect();
    assert_eq!(files, ["{\"files\":[3]", "{\"files\":[2,3]", "{\"files\":[2,3]", "{\"files\":[1]"]);
    let columns = [
        ("--csv", "id,user_id\n", ","),
        ("--csv --no-header", "", ","),
        ("--tsv", "id\tuser_id\n", "\t"),
        ("--fields", "", " "),
    ];
    for (form, header, by) in columns {
        let rows = |rows: &[[&str; 2]]| {
            rows.iter().fold(header.to_owned(), |text, row| text + &row.join(by) + "\n")
        };
        folder.write("a", rows(&[["m", "z"], ["q", "z"]]));
        folder.write("b", rows(&[["1", "p"], ["2", "n"]]));
        folder.write("c", rows(&[["9", "o"], ["8", "q"]]));
        let key = if header.is_empty() { "1=2" } else { "id=user_id" };
        let found = text(&folder, &format!("common --at-least 1 --sort {form} -k {key} a b c"));
        let sorted = rows(&[["m", "z"], ["2", "n"], ["9", "o"], ["1", "p"], ["q", "z"]]);
        assert_eq!(found, sorted, "{form}");
    }
}

/// Also through temporary files, and for rows with keys.
#[test]
fn a_row_that_one_file_has_more_often_is_a_difference() {
    let folder = Folder::new();
    let json = |job: &str| {
        let run = folder.umbel(&format!("{job} --json")).run();
        serde_json::from_str::<serde_json::Value>(&run.stderr).unwrap()
    };
    folder.write("once", "id,v\n1,a\n2,b\n");
    folder.write("twice", "id,v\n2,b\n1,a\n2,b\n");
    folder.write("back", "id,v\n2,b\n2,\"b\"\n1,a\n");
    let csv = ["--csv", "--csv -k id", "--csv -k id --old", "--csv --ignore-column v"];
    let jobs = csv.iter().flat_map(|form| {
        [("once twice", 1), ("twice once", 1), ("back twice", 0)]
            .map(|(files, n)| (*form, files, n))
    });
    for (form, files, uneven) in jobs.chain([("", "once twice", 1), ("", "once once", 0)]) {
        let job = format!("diff {form} {files}");
        let run = folder.umbel(&job).run();
        run.ended_with(uneven);
        assert!(run.stdout.is_empty(), "{job}");
        assert_eq!(run.stderr.contains("1 line more often in one file"), uneven == 1, "{job}");
        assert_eq!(json(&job)["uneven"].as_i64(), Some(uneven.into()), "{job}");
        let told = folder.umbel(&format!("{job} --verbose")).run().stderr;
        let words = "0 changed, 1 more often in one file,";
        assert_eq!(told.contains(words), uneven == 1, "{job}: {told}");
        let quiet = folder.umbel(&format!("{job} --quiet")).run();
        assert_eq!((quiet.status.code(), &quiet.stderr[..]), (Some(uneven), ""), "{job}");
    }
    // The advice, followed.
    for file in ["once", "twice"] {
        folder.umbel(&format!("dedup --count --csv -o {file}.n {file}")).run().done();
    }
    assert_eq!(different(&folder, "diff --csv once.n twice.n"), "- 1,2,b\n+ 2,2,b\n");
    let lines =
        |from: u64| (from..90_000).map(|i| format!("{:064}\n", i % 60_000)).collect::<String>();
    folder.write("old", lines(0));
    folder.write("new", lines(7) + &lines(89_995));
    for form in ["", "--tsv --no-header -k 1"] {
        for memory in ["16MiB", "256MiB"] {
            // Seven lines are there once instead of twice, and five once more.
            let report = json(&format!("diff {form} -m {memory} old new"));
            let found = ["kept", "uneven", "removed"].map(|name| report[name].as_u64().unwrap());
            assert_eq!(found, [60_000, 12, 0], "{form} {memory}");
            let spilled = report["bytes_spilled"].as_u64() > Some(0);
            assert_eq!(spilled, memory == "16MiB", "{report}");
            assert!(!spilled || report["peak_memory"].as_u64() < Some(48 << 20), "{report}");
        }
    }
}

/// Rows are compared before keys, so that one without a key is equal to itself.
#[test]
fn rows_without_a_key_are_compared_too() {
    let folder = Folder::new();
    folder.write("a", "{\"id\":1,\"v\":1}\n{\"v\":2}\n");
    folder.write("b", "{\"v\":3}\n{\"id\":1,\"v\":1}\n{\"v\":3}\n");
    folder.write("c", "{\"v\":2}\n{\"id\":1,\"v\":5}\n");
    for old in ["", "--old"] {
        let job = format!("diff --jsonl --key id --missing keep {old}");
        folder.umbel(&format!("{job} a a")).run().done();
        assert_eq!(different(&folder, &format!("{job} a b")), "- {\"v\":2}\n+ {\"v\":3}\n");
        let old = if old.is_empty() { "" } else { "< {\"id\":1,\"v\":1}\n" };
        let found = different(&folder, &format!("{job} a c"));
        assert_eq!(found, format!("{old}~ {{\"id\":1,\"v\":5}}\n"));
    }
    let none = "a, line 1: no record has a field \"ids\"";
    refused(&folder, "diff --jsonl --key ids --missing keep a b", none);
    different(&folder, "diff --jsonl --key id --missing keep --kept kept --added up a c");
    assert_eq!([folder.read("kept"), folder.read("up")].concat(), folder.read("c"));
    folder.write("t", "k\tv\n1\ta\nx\n");
    folder.write("u", "k\tv\n1\ta\ny\nx\n");
    assert_eq!(different(&folder, "diff --tsv --key v --missing keep t u"), "+ y\n");
}

#[test]
fn the_end_of_a_line_stays_at_its_end() {
    let folder = Folder::new();
    folder.write("a", "{\"k\":1}\r\n{\"k\":2}\n");
    folder.write("b", "{\"k\":1}\r\n");
    let counts = "{\"count\":2,\"record\":{\"k\":1}}\r\n{\"count\":1,\"record\":{\"k\":2}}\n";
    assert_eq!(text(&folder, "dedup --jsonl --count a b"), counts);
    assert_eq!(text(&folder, "dedup --jsonl --count --by-count a b"), counts);
    let files = "{\"files\":[1,2],\"record\":{\"k\":1}}\r\n{\"files\":[1],\"record\":{\"k\":2}}\n";
    assert_eq!(text(&folder, "common --jsonl --which a b"), files);
    // A carriage return in a value of CSV is none of the end, wherever the value is moved to.
    folder.write("c", "a,b\r\n1,2\r\n");
    folder.write("d", "b,a\n3,x\ry\n4,\"x\r\"\nz\r,5\n");
    let moved = "a,b\r\n1,2\r\nx\ry,3\n\"x\r\",4\n5,\"z\r\"\n";
    assert_eq!(text(&folder, "dedup --csv c d"), moved);
}

/// They are many more than memory holds.
#[test]
fn old_rows_are_shown_under_any_cap() {
    let folder = Folder::new();
    let rows = 120_000;
    let row = |i: u64, v: &str| format!("{},{:020}{v}\n", i * 7919 % rows, i);
    let table = |v: &str| (0..rows).map(|i| row(i, v)).collect::<String>();
    folder.write("old", table("a"));
    folder.write("new", table("b") + "0,twice\n");
    let expected: String =
        (0..rows).map(|i| format!("< {}~ {}", row(i, "a"), row(i, "b"))).collect();
    for memory in ["16MiB", "1GiB"] {
        let job = format!("diff --old --csv --no-header -k 1 -m {memory} --json old new");
        let run = folder.umbel(&job).run();
        run.ended_with(1);
        assert!(
            String::from_utf8(run.stdout).unwrap() == expected.clone() + "~ 0,twice\n",
            "{memory}"
        );
        let report: serde_json::Value = serde_json::from_str(&run.stderr).unwrap();
        assert!(memory != "16MiB" || report["peak_memory"].as_u64() < Some(48 << 20), "{report}");
    }
}
