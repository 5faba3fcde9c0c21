//! Rows of two files side by side. Small random tables are joined in `rows`, next to SQLite.

use crate::util::Folder;

fn joined(folder: &Folder, arguments: &str) -> String {
    folder.umbel(&format!("join {arguments}")).run().text()
}

fn refused(folder: &Folder, arguments: &str, words: &str) {
    let run = folder.umbel(&format!("join {arguments}")).run();
    assert_eq!(run.status.code(), Some(2), "{arguments}");
    assert!(run.stderr.contains(words), "{arguments}: no {words:?} in {}", run.stderr);
}

#[test]
fn partners_are_all_or_the_first_or_one_alone() {
    let folder = Folder::new();
    folder.write("orders", "order,customer\n1,ada\n2,eve\n3,bob\n4,ada\n");
    folder.write("returns", "customer,why\nada,late\ncid,\nada,\"a, b\"\n");
    let csv = "--csv --key customer orders returns";
    let all = "order,customer,why\n1,ada,late\n1,ada,\"a, b\"\n4,ada,late\n4,ada,\"a, b\"\n";
    assert_eq!(joined(&folder, csv), all);
    let first = "order,customer,why\n1,ada,late\n4,ada,late\n";
    assert_eq!(joined(&folder, &format!("--first {csv}")), first);
    refused(
        &folder,
        &format!("--unique {csv}"),
        "returns: several rows have the key \"ada\", and a row may have one partner only",
    );
    let left = "order,customer,why\n1,ada,late\n2,eve,\n3,bob,\n4,ada,late\n";
    assert_eq!(joined(&folder, &format!("--left --first {csv}")), left);
    let full = left.to_owned() + ",cid,\n";
    assert_eq!(joined(&folder, &format!("--full --first {csv}")), full);
    assert_eq!(joined(&folder, &format!("--total {csv}")), "4\n");
    folder.write("none", "customer,why\nzoe,\n");
    let run = folder.umbel("join --csv --key customer orders none").run();
    assert_eq!((run.status.code(), &run.stdout[..]), (Some(1), &b"order,customer,why\n"[..]));
}

#[test]
fn rows_with_and_without_a_partner_are_counted_apart() {
    let folder = Folder::new();
    folder.write("a", "k,a\n1,x\n2,y\n2,z\n3,w\n4,v\n");
    folder.write("b", "k,b\n2,p\n2,q\n3,r\n7,s\n");
    let cases = [
        ("", 5, None, "5 joined, 2 of LEFT unmatched"),
        ("--left", 7, None, "5 joined, 2 of LEFT unmatched"),
        ("--full", 8, Some(1), "5 joined, 2 of LEFT unmatched, 1 of RIGHT unmatched"),
        ("--left --first", 5, None, "3 joined, 2 of LEFT unmatched"),
    ];
    for (how, found, right, words) in cases {
        for total in ["", "--total"] {
            let job = format!("join --csv -k k a b {how} {total}");
            let run = folder.umbel(&format!("{job} --verbose")).run();
            assert!(run.stderr.contains(words), "{job}: {}", run.stderr);
            let report = folder.umbel(&format!("{job} --json")).run().report();
            let names = ["found", "left_matched", "left_unmatched", "right_unmatched"];
            let counts = names.map(|name| report[name].as_u64());
            assert_eq!(counts, [Some(found), Some(3), Some(2), right], "{job}");
        }
    }
}

/// 4 × 10¹⁰ pairs, which nobody walks: of a table in memory, and of temporary files.
#[test]
fn the_total_of_a_product_is_multiplied() {
    let folder = Folder::new();
    let others = (0..100_000).map(|i| format!("{i}\tx{i:09}\n")).collect::<String>();
    folder.write("a", "k\ty\n".repeat(200_000) + &others);
    folder.write("b", others + &"k\ty\n".repeat(200_000));
    for memory in ["16MiB", "1GiB"] {
        let job = format!("-q --tsv --no-header -k 1 --total --memory {memory} a b");
        assert_eq!(joined(&folder, &job), "40000100000\n", "{memory}");
    }
}

/// Whatever the memory: a filter may keep such rows from memory, or not.
#[test]
fn several_rows_without_a_partner_are_no_partners() {
    let folder = Folder::new();
    folder.write("a", "k,a\n1,x\n");
    folder.write("b", "k,b\n2,p\n1,q\n2,r\n");
    assert_eq!(joined(&folder, "--unique --csv -k k a b"), "k,a,b\n1,x,q\n");
    assert_eq!(joined(&folder, "--full --unique --csv -k k a b"), "k,a,b\n1,x,q\n2,,p\n2,,r\n");
    let row = |key: u64| format!("{key},{:040}\n", key.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    folder.write("left", (0..200_000).map(row).collect::<String>());
    let right = (100_000..300_000).map(row).collect::<String>();
    folder.write("right", right.clone() + &row(250_000) + &row(299_999));
    folder.write("repeated", right + &row(150_000));
    for memory in ["16MiB", "1GiB"] {
        let job = format!("join --unique --csv --no-header --key 1 --total --memory {memory} left");
        assert_eq!(folder.umbel(&format!("{job} right")).run().text(), "100000\n", "{memory}");
        let run = folder.umbel(&format!("{job} repeated")).run();
        run.fails(&["repeated: several rows have the key \"150000\""]);
    }
}

#[test]
fn words_and_members_are_joined_too() {
    let folder = Folder::new();
    folder.write("a", "  ada  1 x\neve 2\n");
    folder.write("b", "q ada\nr ada s\n");
    assert_eq!(joined(&folder, "--fields -k 1=2 a b"), "ada 1 x q\nada 1 x r s\n");
    folder.write("c", "{\"id\":1,\"name\":\"ada\"}\n{\"id\":null}\n{ }\n");
    folder.write("d", "{\"name\":\"eve\",\"who\":{\"id\":1}}\n");
    let json = "--jsonl -k id=who.id --missing keep";
    refused(&folder, &format!("{json} c d"), "two members \"name\"");
    let with = joined(&folder, &format!("{json} --prefix d_ c d"));
    assert_eq!(with, "{\"id\":1,\"name\":\"ada\",\"d_name\":\"eve\",\"d_who\":{\"id\":1}}\n");
    // As many members that all pairs of names would take a minute.
    let members = |first: u64| -> String {
        (first..first + 100_000).map(|i| format!(",\"\\u006d{i}\":{i}")).collect()
    };
    folder.write("e", format!("{{\"id\":1{}}}\n", members(0)));
    folder.write("f", format!("{{\"id\":1{}}}\n", members(100_000)));
    let with = joined(&folder, "--jsonl -k id e f");
    assert_eq!(
        with,
        format!("{{\"id\":1{}{}}}\n", members(0), members(100_000).replace("\\u006d", "m"))
    );
    folder.append("f", format!("{{\"id\":1{}}}\n", members(99_999)));
    refused(&folder, "--jsonl -k id e f", "two members \"m99999\"");
    let with = joined(&folder, "--jsonl -k id --prefix f_ e f");
    assert!(with.contains(",\"f_m99999\":99999,\"f_m100000\":"));
}

#[test]
fn what_cannot_be_joined_is_told() {
    let folder = Folder::new();
    folder.write("a", "id,v\n1,x\n2,y\n");
    folder.write("b", "id,v\n1,z\n");
    folder.write("ragged", "id,w\n1,z\n2\n");
    refused(&folder, "a b", "name it with --key");
    refused(&folder, "--csv -k id a", "join");
    refused(&folder, "--csv -k id a b b", "found 3 files");
    refused(&folder, "--csv -k id a b", "column \"v\" is named like one of the first file");
    assert_eq!(joined(&folder, "--csv -k id --prefix b_ a b"), "id,v,b_v\n1,x,z\n");
    refused(&folder, "--csv -k id a ragged", "line 3");
    refused(&folder, "--csv -k no a b", "no field \"no\"");
    // An error leaves what was there.
    folder.write("out", "as before\n");
    refused(&folder, "--csv -k id a b -o out", "column \"v\"");
    assert_eq!(folder.read("out"), b"as before\n");
}

/// A row of other columns than its file, and a record that is no object, wherever it is and whatever the memory: in a filter,
/// in a table or in temporary files.
#[test]
fn rows_that_cannot_be_joined_are_left_out_on_request() {
    let folder = Folder::new();
    folder.write("a", "k,a\n1,x\n2,y,z\n3\n4,w\n");
    folder.write("b", "k,b\n1,p\n2,q\n4\n4,r,s\n5,t\n6,u,v\n");
    let all = |csv: &str| csv.replace(',', "\t");
    folder.write("a.tsv", all("k,a\n1,x\n2,y,z\n3\n4,w\n"));
    folder.write("b.tsv", all("k,b\n1,p\n2,q\n4\n4,r,s\n5,t\n6,u,v\n"));
    let cases = [
        ("", "k,a,b\n1,x,p\n"),
        ("--left", "k,a,b\n1,x,p\n4,w,\n"),
        ("--full", "k,a,b\n1,x,p\n4,w,\n2,,q\n5,,t\n"),
    ];
    for (how, rows) in cases {
        let run = folder.umbel(&format!("join --csv -k k --bad skip --json {how} a b")).run();
        assert_eq!(String::from_utf8(run.stdout.clone()).unwrap(), rows, "{how}");
        assert_eq!(run.report()["bad"], 5, "{how}");
        let tsv = joined(&folder, &format!("--tsv -k k --bad skip {how} a.tsv b.tsv"));
        assert_eq!(tsv, all(rows), "{how}");
    }
    let words = "b, line 4: the record has 1 field, but its file has 2 columns; correct the record, or leave it out (--bad skip)";
    refused(&folder, "--csv -k k a b", words);
    folder.write("c", "{\"k\":1,\"a\":2}\n[1]\n{\"k\":2,\"a\":\"\\udc00\"}\n");
    folder.write("d", "[2]\n{\"k\":1,\"b\":3}\n7\n");
    refused(&folder, "--jsonl -k k --missing keep --left c d", "--bad skip");
    let json = "{\"k\":1,\"a\":2,\"b\":3}\n{\"k\":2,\"a\":\"\\udc00\"}\n";
    assert_eq!(joined(&folder, "--jsonl -k k --missing keep --bad skip --full c d"), json);
}

#[test]
fn a_first_record_without_its_key_says_nothing_of_the_columns() {
    let folder = Folder::new();
    for (format, tab) in [("--csv", ","), ("--tsv", "\t")] {
        let write = |name, text: &str| folder.write(name, text.replace(',', tab));
        write("a", &("8\n".repeat(100_000) + "x,1\nz,3,\n").replace("3,", "3"));
        write("b", "9\np,1,q\n");
        let job = format!("{format} --no-header -k 2 --missing skip --left a b");
        assert_eq!(joined(&folder, &job), "x,1,p,q\nz,3,,\n".replace(',', tab));
    }
}

/// A member with a prefix is one of RIGHT, in every record.
#[test]
fn members_are_named_by_one_rule_for_all_records() {
    let folder = Folder::new();
    let case = |left: &str, right: &str, options: &str, wanted: Result<&str, &str>| {
        folder.write("a", left.replace('\'', "\""));
        folder.write("b", right.replace('\'', "\""));
        let options = format!("--jsonl {options} a b");
        match wanted {
            Ok(rows) => assert_eq!(joined(&folder, &options).replace('"', "'"), rows, "{options}"),
            Err(words) => refused(&folder, &options, words),
        }
    };
    let (left, right) = ("{'id':1,'u':2}\n{'id':2}\n", "{'id':2,'u':3}\n{'id':1,'u':4}\n");
    let rows = "{'id':1,'u':2,'r_u':4}\n{'id':2,'r_u':3}\n";
    case(left, right, "-k id --prefix r_", Ok(rows));
    let words = "a, line 1: the joined record would have two members \"u\"; put a prefix in front of those of the second file that tells them apart (--prefix)";
    case(left, right, "-k id", Err(words));
    let twice = "{'id':1,'u':2,'r_u':3,'u':4}\n{'id':3,'u':5}\n";
    let rows = "{'id':1,'r_r_u':3,'r_u':4}\n{'id':3,'r_u':5}\n";
    case("{'id':1}\n", twice, "-k id --prefix r_ --full", Ok(rows));
    case("{'id':1}\n", twice, "-k id", Ok("{'id':1,'r_u':3,'u':4}\n"));
    case("{'id':1,'r_u':9}\n", right, "-k id --prefix r_", Err("two members \"r_u\""));
    // Names that differ in case, and a key within another value.
    let (left, right) = ("{'id':1,'ID':7}\n", "{'ID':1,'id':8}\n{'ID':2,'id':9}\n");
    case(
        left,
        right,
        "-k id=ID --full",
        Err("a, line 1: the joined record would have two members \"id\""),
    );
    case(
        "{'id':3}\n",
        right,
        "-k id=ID --full",
        Err("b, line 1: the joined record would have two members \"id\""),
    );
    let rows = "{'id':1,'ID':7,'r_id':8}\n{'id':2,'r_id':9}\n";
    case(left, right, "-k id=ID --full --prefix r_", Ok(rows));
    let right = "{'w':{'id':1},'id':8}\n{'w':{'id':2},'id':9}\n";
    let rows = "{'id':1,'r_w':{'id':1},'r_id':8}\n{'r_w':{'id':2},'r_id':9}\n";
    case("{'id':1}\n", right, "-k id=w.id --full --prefix r_", Ok(rows));
    let rows = "{'w':{'id':1},'r_v':8}\n{'r_id':2,'r_v':9}\n";
    let right = "{'id':1,'v':8}\n{'id':2,'v':9}\n";
    case("{'w':{'id':1}}\n", right, "-k w.id=id --full --prefix r_", Ok(rows));
}

/// They are no rows, whose columns are counted. Rows of empty columns are.
#[test]
fn blank_lines_before_the_first_row_are_skipped_however_many() {
    let folder = Folder::new();
    folder.write("a", "\n".repeat(1_000_000) + "1,x\n");
    folder.write("b", "\r\n".repeat(1_000_000) + "1,y\n");
    assert_eq!(joined(&folder, "--csv --no-header -k 1 a b"), "1,x,y\n");
    folder.write("c", "\n".repeat(300_000));
    let run = folder.umbel("join --csv --no-header -k 1 c b --left").run();
    assert_eq!((run.status.code(), &run.stdout[..]), (Some(1), &b""[..]));
    folder.write("t", "\t\t\n");
    assert_eq!(joined(&folder, "--tsv --no-header -k 1 t t"), "\t\t\t\t\n");
    folder.write("j", "\n".repeat(300_000) + "{\"k\":1}\n");
    assert_eq!(joined(&folder, "--jsonl -k k j j"), "{\"k\":1}\n");
}

/// Both sides go through temporary files, and a key has millions of pairs: as with memory for all.
#[test]
fn the_answer_is_the_same_for_any_memory() {
    let folder = Folder::new();
    let row = |i: u64| format!("{i},{:040}\n", i.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 300_000);
    let many = |i: u64| format!("{i},many\n");
    let rows = |count: u64| (0..count).map(row).chain((0..1200).map(many)).collect::<String>();
    folder.write("a", rows(200_000));
    folder.write("b", rows(250_000));
    let job = |more: &str| format!("join --csv --no-header --key 2 a b {more}");
    let whole = folder.umbel(&job("--left -q --memory 1GiB")).run().stdout;
    let spilled = folder.umbel(&job("--left --json --memory 16MiB")).run();
    assert!(spilled.stdout == whole);
    let pairs = whole.split(|byte| *byte == b'\n');
    assert_eq!(
        pairs.filter(|line| line.windows(6).any(|part| part == b",many,")).count(),
        1_440_000
    );
    assert!(spilled.report()["bytes_spilled"].as_u64() > Some(0));
}

#[test]
fn a_product_of_many_rows_is_told_before() {
    let folder = Folder::new();
    let rows = |name: &str| format!("k,{name}\n") + &"1,x\n".repeat(2_000);
    folder.write("a", rows("a"));
    folder.write("b", rows("b"));
    let job = "join --csv -k k a b";
    let run = folder.umbel(job).run();
    assert_eq!(run.stdout.iter().filter(|byte| **byte == b'\n').count(), 4_000_001);
    let words = "umbel join: warning: about 4,000,000 rows; some keys have many rows in both files (--first takes one partner for each row)\n";
    assert_eq!(run.stderr, words);
    // A number alone takes no time.
    for quiet in ["--quiet", "--first", "--total"] {
        assert_eq!(folder.umbel(&format!("{job} {quiet}")).run().stderr, "");
    }
    let plan = folder.umbel("join --csv -k k a b --explain").run().text();
    assert!(plan.contains("result   about 4,000,000 rows, by samples of both files\n"), "{plan}");
    let plan = folder.umbel("join --csv -k k a b --explain --json").run().text();
    assert!(plan.contains("\"pairs\":4000000"), "{plan}");
}
