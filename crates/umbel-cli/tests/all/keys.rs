//! Keys that are part of a record, as a black box: every format, its headers, and what is wrong with it.

use std::io::Write;

use crate::util::{Folder, gzip, least_memory};

/// Two tables whose columns are in another order.
fn tables() -> Folder {
    let folder = Folder::new();
    folder
        .write("a", "id,name,city\n1,Ada,London\n2,\"Grace, Rear Admiral\",New York\n3,Edsger,\n");
    folder.write("b", "city,id\nParis,4\nRotterdam,\"3\"\nOslo,1\nRome,1\n");
    folder
}

fn text(folder: &Folder, arguments: &str) -> String {
    folder.umbel(arguments).run().text()
}

#[test]
fn rows_with_a_common_key_come_whole_with_the_first_files_header() {
    let folder = tables();
    let found = text(&folder, "common --csv --key id a b");
    assert_eq!(found, "id,name,city\n1,Ada,London\n3,Edsger,\n");
    let found = text(&folder, "common --csv --key id b a");
    assert_eq!(found, "city,id\nRotterdam,\"3\"\nOslo,1\n");
    folder.write("c", "city,id,name\nParis,4,Barbara\nRome,1,Ada\n");
    let found = text(&folder, "common --csv --key id --at-least 1 c a");
    let rest = "New York,2,\"Grace, Rear Admiral\"\n,3,Edsger\n";
    assert_eq!(found, format!("city,id,name\nParis,4,Barbara\nRome,1,Ada\n{rest}"));
    let found = text(&folder, "common --csv --key id --fpp 1e-9 a b");
    assert_eq!(found, "id,name,city\n1,Ada,London\n3,Edsger,\n");
}

#[test]
fn the_examples_work() {
    let folder = Folder::new();
    for name in ["orders.csv", "returns.csv", "orders.jsonl"] {
        let path = format!("{}/../../examples/{name}", env!("CARGO_MANIFEST_DIR"));
        folder.write(name, std::fs::read(path).unwrap());
    }
    let found = text(&folder, "common --csv --key customer orders.csv returns.csv");
    assert_eq!(found.lines().count(), 1 + 2 + 1, "{found}");
    folder.umbel("build -q -o returned --csv --key customer returns.csv").run().done();
    let found =
        text(&folder, "query -v --jsonl --key customer.id --as customer returned orders.jsonl");
    assert_eq!(found.lines().count(), 2, "{found}");
}

#[test]
fn a_header_is_no_row() {
    let folder = tables();
    let report = folder.umbel("common --csv --key id --json a b").run().report();
    assert_eq!((&report["lines"], &report["found"]), (&7.into(), &2.into()));
    // Nothing is common: a table without rows.
    folder.write("c", "id\n9\n");
    let run = folder.umbel("common --csv --key id a c").run();
    assert_eq!((run.status.code(), &run.stdout[..]), (Some(1), &b"id,name,city\n"[..]));
    // An input of no bytes has no header; the next one's goes out.
    folder.write("empty", "");
    let found = text(&folder, "common --csv --key id --at-least 2 empty a a");
    assert_eq!(found.lines().count(), 4);
}

#[test]
fn columns_have_names_or_numbers() {
    let folder = tables();
    for (files, key) in [("a a", "1"), ("a a", "id"), ("b b", "2")] {
        let found = text(&folder, &format!("common --csv --key {key} {files}"));
        assert_eq!(found.lines().count(), 4, "{files} by {key}");
    }
    // Without a header the first record is one like others.
    assert_eq!(text(&folder, "common --csv --no-header --key 1 a a").lines().count(), 4);
    let found = text(&folder, "common --csv --no-header --key 3 a a");
    assert_eq!(found.lines().next(), Some("id,name,city"));
    // A name wins over a number.
    folder.write("years", "x,1\n2020,a\n2021,b\n");
    folder.write("letters", "1\nb\n");
    assert_eq!(text(&folder, "common --csv --key 1 years letters"), "x,1\n2021,b\n");
}

#[test]
fn quotes_and_ends_of_lines_are_no_part_of_a_key() {
    let folder = Folder::new();
    folder.write("unix", "k,v\n\"two\nlines\",1\nplain,2\n\"say \"\"hi\"\"\",3\n");
    folder.write("dos", "v,k\r\n1,\"two\nlines\"\r\n\r\n2,\"plain\"\r\n3,\"say \"\"hi\"\"\"");
    assert_eq!(text(&folder, "common --csv --key k unix dos").as_bytes(), folder.read("unix"));
    let found = text(&folder, "common --csv --key k dos unix");
    let all = "v,k\r\n1,\"two\nlines\"\r\n2,\"plain\"\r\n3,\"say \"\"hi\"\"\"\n";
    assert_eq!(found, all);
    // Nor of whole records, unless these are compared as they are written.
    let same = "v,k\n1,\"two\nlines\"\n2,plain\n";
    folder.write("same", same);
    assert_eq!(text(&folder, "common --csv same dos"), same);
    assert_eq!(text(&folder, "common --csv --raw same dos"), "v,k\n1,\"two\nlines\"\n");
}

#[test]
fn several_fields_are_compared_together() {
    let folder = Folder::new();
    folder.write("a", "x,y,z\nab,c,1\na,bc,2\n,abc,3\n");
    folder.write("b", "y,x\nbc,a\nb,ac\n");
    assert_eq!(text(&folder, "common --csv --key x --key y a b"), "x,y,z\na,bc,2\n");
    assert_eq!(text(&folder, "common --csv --key y --key x b a"), "y,x\nbc,a\n");
    // A name may have a comma.
    folder.write("c", "\"x,y\",z\n1,2\n");
    assert_eq!(text(&folder, "common --csv --key x,y c c"), "\"x,y\",z\n1,2\n");
}

#[test]
fn other_delimiters() {
    let folder = Folder::new();
    folder.write("a", "id;v\n1,5;x\n\"2;5\";y\n");
    folder.write("b", "1,5\n2;5\n");
    let run = folder.umbel("common --csv --key id --delimiter ; a a --at-least 1").run();
    assert_eq!(run.text().as_bytes(), folder.read("a"));
    folder.write("tab", "k\tv\n\"a\tb\"\t1\n");
    let run = folder.umbel("common --csv --key k --delimiter \\t tab tab").run();
    assert_eq!(run.text().as_bytes(), folder.read("tab"));
}

#[test]
fn files_have_delimiters_of_their_own() {
    let folder = Folder::new();
    folder.write("semicolons", "id;price\n1;0,50\n2;\"1;75\"\n3;x\r\n\n4;last");
    folder.write("commas", "price,id\n\"0,50\",1\n1;75,2\ny,5\n");
    folder.write("tabs", "id\tprice\n3\tx\n");
    let umbel = |arguments: &str| text(&folder, arguments);
    // The output has the delimiter of the first file: values with that are in quotes, and others stay as they were.
    let both = "--csv --delimiter ; --delimiter , semicolons commas";
    assert_eq!(umbel(&format!("common {both}")), "id;price\n1;0,50\n2;\"1;75\"\n");
    assert_eq!(
        umbel(&format!("dedup {both}")),
        "id;price\n1;0,50\n2;\"1;75\"\n3;x\r\n4;last\n5;y\n"
    );
    assert_eq!(
        umbel(&format!("join -k id --prefix b {both}")),
        "id;price;bprice\n1;0,50;\"0,50\"\n2;\"1;75\";\"1;75\"\n"
    );
    let other = "--csv --delimiter , --delimiter ; commas semicolons";
    assert_eq!(umbel(&format!("common --all -k id {other}")), "price,id\n\"0,50\",1\n1;75,2\n");
    assert_eq!(
        umbel(&format!("common --at-least 1 {other}")),
        "price,id\n\"0,50\",1\n1;75,2\ny,5\nx,3\r\nlast,4\n"
    );
    let run = folder.umbel(&format!("diff -k id {both}")).run();
    assert_eq!(String::from_utf8(run.stdout).unwrap(), "- 3;x\r\n- 4;last\n+ 5;y\n");
    // The last one is that of all others; files that are read once are converted on the way.
    assert_eq!(
        umbel("except --csv -k id -d ; -d \\t semicolons tabs tabs"),
        "id;price\n1;0,50\n2;\"1;75\"\n4;last\n"
    );
    umbel("build -q -o filter --csv -k price -d ; semicolons");
    folder.write("commas.gz", gzip(&folder.read("commas")));
    let found = umbel("query filter -q --csv -k price -d ; -d , semicolons commas.gz");
    assert_eq!(found, "id;price\n1;0,50\n2;\"1;75\"\n3;x\r\n4;last\n1;\"0,50\"\n2;\"1;75\"\n");
    // As many as there are files, and each is a delimiter.
    let run = folder.umbel("common --csv -d ; -d , -d | semicolons commas").run();
    run.fails(&["found 3 delimiters for 2 inputs; give one for all, or one for each"]);
    let run = folder.umbel("common --csv -d ; -d \" semicolons commas").run();
    run.fails(&["the delimiter '\"' already has a meaning in CSV"]);
    // The hint names all of them.
    let run = folder.umbel("dedup --csv commas semicolons").run();
    let hint = "semicolons: its first line has no ',', but ';'; read it with --delimiter , --delimiter ';'";
    assert!(run.stderr.contains(hint), "{}", run.stderr);
    let run = folder.umbel("dedup --csv -d ; semicolons tabs").run();
    let hint =
        r"tabs: its first line has no ';', but tabs; read it with --delimiter ';' --delimiter '\t'";
    assert!(run.stderr.contains(hint), "{}", run.stderr);
}

#[test]
fn tab_separated_values_have_no_quotes() {
    let folder = Folder::new();
    folder.write("a", "id\tsize\n1\t5\" disk\n2\t\"open\n");
    folder.write("b", "size\r\n\"open\r\n3\" disk\r\n");
    assert_eq!(text(&folder, "common --tsv --key size a b"), "id\tsize\n2\t\"open\n");
    assert_eq!(text(&folder, "common --tsv --key 2 --no-header a a").as_bytes(), folder.read("a"));
}

#[test]
fn json_paths_lead_to_values() {
    let folder = Folder::new();
    folder.write(
        "a",
        concat!(
            "{\"user\": {\"id\": 17, \"name\": \"Ad\\u0061\"}, \"tags\": [\"x\", \"y\"]}\n",
            "\n",
            "  {\"user\": {\"id\": 1.50, \"name\": \"Bob\"}, \"tags\": [\"z\", null]}  \r\n",
            "{\"user\": {\"name\": \"C\", \"id\": [1, 2]}, \"tags\": [0, {}], \"a.b\": {\"c/d\": true}}",
        ),
    );
    folder.write("ids", "1.50\n17\n1.5\n");
    folder.write("names", "Ada\nC\n");
    for (keys, path, rows) in [
        ("ids", "user.id", "12"),
        ("names", "user.name", "13"),
        ("names", "/user/name", "13"),
        ("names", "tags.0", ""),
    ] {
        folder.umbel(&format!("build -q --force -o seen {keys}")).run().done();
        let run = folder.umbel(&format!("query --jsonl --key {path} seen a")).run();
        let all = folder.read("a");
        let all: Vec<_> = all.split(|&byte| byte == b'\n').filter(|row| !row.is_empty()).collect();
        let expected: Vec<_> =
            rows.bytes().flat_map(|row| [all[(row - b'1') as usize], b"\n"].concat()).collect();
        assert_eq!(run.stdout, expected, "{path}");
    }
    folder.write("deep", "{\"a.b\": {\"c/d\": true}}\n{\"a.b\": {\"c/d\": false}}\n");
    assert_eq!(text(&folder, "common --jsonl --key /a.b/c~1d deep deep").lines().count(), 2);
    // Whole records, as they are written.
    assert_eq!(text(&folder, "common --jsonl a a").lines().count(), 3);
}

#[test]
fn a_filter_of_a_field_and_one_of_lines_are_the_same() {
    let folder = tables();
    folder.write("ids", "1\n2\n3\n");
    folder.umbel("build -q -o lines ids").run().done();
    folder.umbel("build -q -o fields --csv --key id a").run().done();
    folder.write("other", "id\n1\n2\n3\n");
    folder
        .umbel("build -q -o tabs --tsv --key id - ")
        .stdin("n\tid\nx\t3\ny\t2\nz\t1")
        .run()
        .done();
    folder.write("json", "{\"id\":1}\n{\"id\":\"2\"}\n{\"id\":3}\n");
    folder.umbel("build -q -o objects --jsonl --key id json").run().done();
    for filter in ["fields", "tabs", "objects"] {
        // But that they know their field, they are the same.
        let both = |name: &str| folder.read(name)[folder.read(name).len() - 80..].to_vec();
        assert!(both(filter) == both("lines"), "{filter}");
        assert_eq!(folder.umbel(&format!("query -q {filter} ids")).run().text(), "1\n2\n3\n");
    }
    let absent = text(&folder, "query -v --csv --key id lines b");
    assert_eq!(absent, "city,id\nParis,4\n");
}

#[test]
fn filters_grow_and_answer_by_keys() {
    let folder = tables();
    folder.umbel("build -q -o seen --keys 1000 --csv --key id a").run().done();
    assert_eq!(text(&folder, "query -v --csv --key id seen b"), "city,id\nParis,4\n");
    folder.umbel("add -q --csv --key id seen b").run().done();
    let run = folder.umbel("query -v --csv --key id seen b b").run();
    assert_eq!((run.status.code(), &run.stdout[..]), (Some(1), &b"city,id\n"[..]));
    let report = folder.umbel("add --json --csv --key id seen a b").run().report();
    assert_eq!(report["lines"], 7);
}

#[test]
fn of_several_inputs_one_header_goes_out() {
    let folder = tables();
    folder.write("empty", "");
    folder.umbel("build -q -o seen --csv --key id a").run().done();
    folder.write("c", "city,name,id\nParis,Barbara,4\nRome,Ada,1\n");
    let rows = "Rome,Ada,1\nLondon,Ada,1\nNew York,\"Grace, Rear Admiral\",2\n,Edsger,3\n";
    let expected = format!("city,name,id\n{rows}");
    assert_eq!(text(&folder, "query --csv --key id seen c a"), expected);
    let piped = folder.umbel("query --csv --key id seen empty - a").stdin(folder.read("c")).run();
    assert_eq!(piped.text(), expected);
}

#[cfg(unix)]
#[test]
fn answers_to_a_pipe_come_at_once() {
    let folder = tables();
    folder.umbel("build -q -o seen --csv --key id a").run().done();
    folder.fifo("pipe");
    let mut run = folder.umbel("query -q --csv --key id seen pipe").spawn();
    let mut pipe = run.feed(&folder, "pipe");
    let mut out = run.stdout();
    let mut expect = |bytes: &str| {
        let mut read = vec![0; bytes.len()];
        std::io::Read::read_exact(&mut out, &mut read).unwrap();
        assert_eq!(read, bytes.as_bytes());
    };
    pipe.write_all(b"city,id\n").unwrap();
    expect("city,id\n");
    pipe.write_all(b"\"line\nfeed\",1\nnext,").unwrap();
    expect("\"line\nfeed\",1\n");
    pipe.write_all(b"2").unwrap();
    drop(pipe);
    expect("next,2\n");
    assert_eq!(run.finish().status.code(), Some(0));
}

#[test]
fn the_answer_is_the_same_for_any_threads_and_memory() {
    let folder = Folder::new();
    let row = |i: u64| {
        let id = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        format!("{i},\"{id:020}\n{}\",\"some \"\"text\"\"\"\n", "x".repeat((i % 70) as usize))
    };
    let table = |rows: std::ops::Range<u64>| {
        std::iter::once("n,key,text\n".to_owned()).chain(rows.map(row)).collect::<String>()
    };
    folder.write("a", table(0..130_000));
    folder.write("b", table(10_000..140_000).replace("some", "other"));
    let expected = table(10_000..130_000);
    let pair = |fields: &str| fields.split(' ').map(|f| format!("--key {f} ")).collect::<String>();
    let mut spilled = 0;
    for key in ["key", "n", "n key", "2 1"] {
        for how in ["1 --memory 16MiB", "2 --memory 16MiB", "4 --memory 20MiB", "2 --memory 1GiB"] {
            let key = pair(key);
            let run = folder.umbel(&format!("common --csv {key} a b --threads {how} --json")).run();
            assert!(run.stdout == expected.as_bytes(), "{key} --threads {how}: {}", run.stderr);
            let report = run.report();
            spilled += u32::from(report["bytes_spilled"].as_u64() > Some(0));
            assert_eq!(report["lines"], 260_000);
        }
    }
    assert!(spilled > 4, "{spilled} of 16 went to disk");
}

#[test]
fn a_record_of_many_megabytes_says_what_memory_it_needs() {
    let folder = Folder::new();
    let long = "a line of \"\"text\"\"\n".repeat(600_000);
    folder.write("a", format!("k,v\n1,\"{long}\"\n2,\"x\"\n"));
    folder.write("b", format!("v\nx\n\"{long}\"\n"));
    let message = folder
        .umbel("common --csv --key v a b --memory 20MiB")
        .run()
        .fails(&[", line ", "memory cap of 20MiB"]);
    let memory = least_memory(&message);
    let run = folder.umbel(&format!("common --csv --key v a b --memory {memory}")).run();
    assert!(run.done() == folder.read("a"));
}

#[test]
fn a_field_that_is_not_there_is_told_with_those_that_are() {
    let folder = tables();
    for (arguments, words) in [
        (
            "common --csv --key ID a b",
            &["a: the header has no field \"ID\"", "(found id, name, city); did you mean \"id\"?"]
                [..],
        ),
        ("common --csv --key name a b", &["b: the header has no field \"name\"", "city, id"]),
        ("build -o new --csv --key 4 a", &["a: the header has no field \"4\""]),
        ("build -o new --csv --key 0 a", &["a: the header has no field \"0\""]),
        ("build -o new --tsv --key id a", &["no field \"id\" (found id,name,city)"]),
        (
            "build -o new --csv --no-header --key id a",
            &["field \"id\"", "number, from 1", "--key", "--no-header"],
        ),
        ("build -o new --csv --no-header --key 0 a", &["field \"0\"", "number, from 1"]),
    ] {
        folder.umbel(arguments).run().fails(words);
    }
    folder.write("twice", "id,id\n1,2\n");
    let words = &["twice: columns 1 and 2 of the header are both named \"id\"", "number"];
    folder.umbel("build -o new --csv --key id twice").run().fails(words);
    folder.write("broken", "id,\"na\"me\n1,2\n");
    let words = &[": broken, line 1, column 8: text after the closing quote"];
    folder.umbel("build -o new --csv --key id broken").run().fails(words);
    assert_eq!(folder.names(), ["a", "b", "broken", "twice"]);
}

#[test]
fn a_broken_record_is_told_with_its_place() {
    let folder = Folder::new();
    for (bytes, format, words) in [
        (
            "id,v\n1,a\n2,5\" disk\n3,c\n",
            "--csv --key id",
            &["line 3, column 4: a quote inside an unquoted field"][..],
        ),
        (
            "id,v\n1,a\n2,\"b\"c\n3,\"\"\n",
            "--csv --key id",
            &["line 3, column 6: text after the closing quote of a field"],
        ),
        (
            "id,v\n1,a\n2,\"b\n3,c\n",
            "--csv --key id",
            &["line 3, column 3: a quote that is never closed", "--tsv"],
        ),
        ("id,v\n1,\"a\n", "--csv", &["line 2, column 3: a quote that is never closed"]),
        (
            "id,v\n1,a\n2\n",
            "--csv --key v",
            &["line 3: the record has no field \"v\" (found 1 field); name a field"],
        ),
        (
            "1\t2\n3\n",
            "--tsv --no-header --key 2",
            &["line 2: the record has no field \"2\" (found 1 field)"],
        ),
        (
            "{\"id\":1}\n{\"id\":}\n",
            "--jsonl --key id",
            &["line 2, column 7: not valid JSON: expected value; correct"],
        ),
        ("{\"id\":1}\n{} {}\n", "--jsonl", &["line 2, column 4: not valid JSON: trailing"]),
        ("{\"id\":1\n}\n", "--jsonl", &["line 1, column 7: not valid JSON: EOF"]),
        (
            "{\"id\":1}\n{\"user\":{\"name\":1,\"mail\":2},\"x\":3}\n",
            "--jsonl --key id",
            &["line 2: the record has no field \"id\" (found the fields user, x); name"],
        ),
        (
            "{\"user\":{\"name\":1,\"mail\":2},\"x\":3}\n",
            "--jsonl --key user.id",
            &["no field \"user.id\" (found the fields name, mail in user); name a field"],
        ),
        ("{\"x\":[1,2]}", "--jsonl --key x.2", &["no field \"x.2\" (found an array of 2 in x);"]),
        ("{\"x\":\"y\"}", "--jsonl --key x.y", &["no field \"x.y\" (found a string in x);"]),
        ("{\"a\":1e999}", "--jsonl --key a.b", &["no field \"a.b\" (found 1e999 in a);"]),
        ("[]", "--jsonl --key x", &["no field \"x\" (found an array of 0);"]),
        ("{\"x\":\"\\ud800\"}", "--jsonl --key x", &["line 1"]),
    ] {
        folder.write("bad", bytes);
        for threads in ["", "--threads 1"] {
            let words = [&[": bad, line "], words].concat();
            folder.umbel(&format!("build -o new {format} bad {threads}")).run().fails(&words);
            folder.umbel(&format!("common {format} bad bad {threads}")).run().fails(&words);
        }
        let words = [&[": standard input, line "], words].concat();
        folder.umbel(&format!("build --keys 9 -o new {format}")).stdin(bytes).run().fails(&words);
        assert_eq!(folder.names(), ["bad"]);
    }
}

#[test]
fn options_that_do_not_go_together_are_refused() {
    let folder = tables();
    for (options, words) in [
        ("--key id", &["--key names a field of a record; say how to read records with --csv"][..]),
        ("--csv --tsv --key id", &["--csv", "--tsv", "cannot be used with"]),
        ("--csv --jsonl --key id", &["--csv", "--jsonl", "cannot be used with"]),
        ("--tsv --jsonl --key id", &["cannot be used with"]),
        ("--csv -0 --key id", &["--null", "cannot be used with"]),
        ("--jsonl -0", &["--null", "cannot be used with"]),
        ("--jsonl --no-header", &["--no-header requires --csv or --tsv"]),
        ("--no-header", &["--no-header requires --csv or --tsv"]),
        ("--tsv --delimiter ;", &["--delimiter requires --csv"]),
        ("--csv --delimiter ;;", &["\";;\" is not one byte"]),
        (
            "--csv --delimiter \"",
            &["the delimiter '\"' already has a meaning in CSV", "(--delimiter)"],
        ),
    ] {
        for verb in ["common a b", "build -o new a"] {
            folder.umbel(&format!("{verb} {options}")).run().fails(words);
        }
        assert_eq!(folder.names(), ["a", "b"]);
    }
}

#[test]
fn the_place_of_a_broken_record_is_its_line_and_column_in_files_pipes_and_compressed_ones() {
    let folder = Folder::new();
    let rows: String = (0..15_000).map(|i| format!("{i},\"two\nlines\"\n")).collect();
    let broken = format!("\u{feff}id,v\n{rows}7,\u{e9}\u{e9} \"x\"\n{rows}");
    folder.write("a.csv", &broken);
    folder.write("a.gz", crate::util::gzip(broken.as_bytes()));
    folder.write("whole", "id,v\nnone,2\n");
    let words = "line 30002, column 6: a quote inside an unquoted field";
    for threads in [1, 2] {
        let run = |arguments: &str| {
            let options = format!("--csv -k id -j {threads} -m 16MiB");
            folder.umbel(&format!("{arguments} {options}")).stdin(broken.as_bytes()).run()
        };
        for (arguments, name) in [
            ("common a.csv whole -o out", "a.csv"),
            ("common whole a.gz -o out", "a.gz"),
            ("common - whole -o out", "standard input"),
            ("build -o f --keys 1e6", "standard input"),
            ("build -o f --keys 1e6 a.gz", "a.gz"),
        ] {
            run(arguments).fails(&[&format!("{name}, {words}")]);
        }
    }
    // The header, and lines of which the first has a mark.
    folder.write("b.csv", "\u{feff}id,\"v\"v\n1,2\n");
    for input in ["b.csv", "-"] {
        let run = folder.umbel(&format!("build -o f --keys 9 --csv {input}"));
        let run = run.stdin(folder.read("b.csv")).run();
        run.fails(&[", line 1, column 7: text after the closing quote"]);
    }
}

#[test]
fn a_field_that_no_record_has_is_an_error_whatever_is_skipped() {
    let folder = Folder::new();
    folder.write("a", "{\"id\":1}\n{\"id\":2}\n");
    folder.write("b", "{\"key\":1}\n");
    let words = ["no record has a field \".id\"", "found the fields id"];
    for missing in ["skip", "keep"] {
        let run = folder.umbel(&format!("dedup --jsonl -k .id --missing {missing} a")).run();
        assert_eq!(run.status.code(), Some(2), "{missing}");
        assert!(words.iter().all(|word| run.stderr.contains(word)), "{}", run.stderr);
    }
    // One rule for all: a record of any file must have it.
    let refused = |job: &str, field: &str| {
        let run = folder.umbel(job).run();
        run.ended_with(2);
        let words = format!("b, line 1: no record has a field \"{field}\"");
        assert!(run.stderr.contains(&words), "{job}: {}", run.stderr);
        run.stdout
    };
    let [none, some, all] = [0, 18, 28].map(|end| &"{\"id\":1}\n{\"id\":2}\n{\"key\":1}\n"[..end]);
    for (verb, code, skip, keep) in [
        ("common", 1, none, none),
        ("common --all", 1, none, none),
        ("common --at-least 1", 0, some, all),
        ("except", 0, some, some),
        ("except --all", 0, some, some),
        ("except --fpp 1%", 0, some, some),
        ("dedup", 0, some, all),
        ("diff --symmetric", 1, some, all),
        ("join", 1, none, none),
        ("join --left", 0, some, some),
    ] {
        for (missing, expected) in [("skip", skip), ("keep", keep)] {
            let job = format!("{verb} --jsonl --missing {missing} -k id");
            let run = folder.umbel(&format!("{job} a b")).run();
            run.ended_with(code);
            assert_eq!(String::from_utf8_lossy(&run.stdout), expected, "{job}");
            assert!(run.stderr.contains("warning: b: no record has the key"), "{job}");
            refused(&format!("{job} b b"), "id");
            if !verb.starts_with('d') {
                let part = refused(&format!("{job}=user a b"), "user");
                // The other file is read first, unless rows of all files are printed.
                assert!(part.is_empty() || verb.ends_with('1'), "{job}");
            }
        }
        if verb.starts_with(['c', 'e']) {
            let job = format!("{verb} --jsonl --missing skip --print key -k id");
            folder.umbel(&format!("{job} a b")).run().ended_with(code);
            refused(&format!("{job} b b"), "id");
            refused(&format!("{job}=user a b"), "user");
        }
    }
    let columns = Folder::new();
    columns.write("a", "id,v\n1,a\n");
    columns.write("b", "id,v\n2\n");
    for verb in ["except", "common --at-least 1"] {
        let job = format!("{verb} --csv -k v --missing skip a b");
        assert_eq!(text(&columns, &job), "id,v\n1,a\n");
    }
    let words = ["no record has a field \".id\""];
    for job in ["build -o new", "build -o new --keys 10", "build -o new --kind bloomier"] {
        folder.umbel(&format!("{job} --jsonl -k .id --missing skip a")).run().fails(&words);
    }
    assert_eq!(folder.names(), ["a", "b"]);
    folder.umbel("build -o f --jsonl -k id a").run().done();
    folder.umbel("query --as id f --jsonl -k .id --missing skip a").run().fails(&words);
    folder
        .umbel("add --as id f --jsonl -k .id --missing skip")
        .stdin(folder.read("a"))
        .run()
        .fails(&words);
    folder.umbel("dedup --seen s --jsonl -k .id --missing skip a").run().fails(&words);
    // Some records have it: the others are skipped, and told in a script too.
    let some = folder.umbel("dedup --jsonl -k id --missing skip b a").run();
    let told = "umbel dedup: warning: b: no record has the key\numbel dedup: 1 skipped (no key)\n";
    assert_eq!(some.stderr, told);
    assert_eq!(some.done(), folder.read("a"));
    assert_eq!(folder.umbel("dedup --jsonl -k id --missing skip -q b a").run().stderr, "");
    folder.write("bad", "{\n{\"id\":1}\n");
    assert_eq!(
        folder.umbel("dedup --jsonl --bad skip bad").run().stderr,
        "umbel dedup: 1 skipped (unreadable)\n"
    );
}

#[test]
fn fields_may_have_different_names_in_the_first_file_and_in_others() {
    let folder = Folder::new();
    folder.write("orders", "id,customer\n1,ada\n2,eve\n");
    folder.write("people", "name,id\nada,7\n");
    let key = "--csv -k customer=name orders people";
    assert_eq!(text(&folder, &format!("common {key}")), "id,customer\n1,ada\n");
    assert_eq!(text(&folder, &format!("except {key}")), "id,customer\n2,eve\n");
    let numbers = "common --csv --no-header -k 2=1 orders people";
    assert_eq!(text(&folder, numbers), "1,ada\n");
    folder.write("a", "{\"user\":{\"id\":1}}\n");
    folder.write("b", "{\"id\":1}\n");
    assert_eq!(text(&folder, "common --jsonl -k user.id=id a b"), "{\"user\":{\"id\":1}}\n");
    folder.umbel("common --jsonl -k user.id=key a b").run().fails(&[
        "b, line 1",
        "no field \"key\"",
        "found the fields id",
    ]);
    folder
        .umbel("common --csv -k customer=nam orders people")
        .run()
        .fails(&["people", "no field \"nam\""]);
    folder.umbel("dedup --csv -k a=b orders").run().fails(&["--key LEFT=RIGHT"]);
    folder.write("odd", "a=b\n1\n");
    assert_eq!(text(&folder, "dedup --csv -k a==b odd"), "a=b\n1\n");
    folder.umbel("dedup --csv -k a=b=c odd").run().fails(&["LEFT=RIGHT"]);
}

#[test]
fn the_key_alone_is_printed_on_request() {
    let folder = Folder::new();
    folder.write("log", "10.0.0.1 GET /a\n10.0.0.2 GET /b\n10.0.0.1 GET /c\n");
    let top = "dedup --fields -k 1 --print key --count --top 1 log";
    assert_eq!(text(&folder, top), "2\t10.0.0.1\n");
    folder.write("a.csv", "id,name\n1,\"x, y\"\n2,z\n1,w\n");
    assert_eq!(text(&folder, "dedup --csv -k name --print key a.csv"), "name\n\"x, y\"\nz\nw\n");
    let two = "dedup --csv -k name -k id --print key --no-header a.csv";
    folder.umbel(two).run().fails(&["number"]);
    assert_eq!(
        text(&folder, "dedup --csv -k name -k id --print key a.csv").lines().nth(1),
        Some("\"x, y\",1")
    );
    folder.write("b.csv", "id\n1\n");
    assert_eq!(text(&folder, "common --csv -k id --print key a.csv b.csv"), "id\n1\n");
    assert_eq!(text(&folder, "except --csv -k id --print key a.csv b.csv"), "id\n2\n");
    folder.write("j", "{\"u\":\"a\\nb\"}\n");
    folder.umbel("dedup --jsonl -k u --print key j").run().fails(&["j, line 1", "line feed"]);
    folder.umbel("dedup --print key log").run().fails(&["--key"]);
}

/// A reader of columns sees no row in an empty line, and no byte of a value in a carriage return at its end.
#[test]
fn keys_that_hide_in_a_row_are_printed_too() {
    let folder = Folder::new();
    folder.write("a.csv", "id,name\n1,\n2,x\n3,\"x\r\"\n4,\"\r\"\n5,\n6,x\n");
    let names = "name\n\"\"\nx\n\"x\r\"\n\"\r\"\n";
    assert_eq!(text(&folder, "dedup --csv -k name --print key a.csv"), names);
    assert_eq!(text(&folder, "dedup --csv -k name --print key --total a.csv"), "4\n");
    assert_eq!(text(&folder, "dedup --csv -k name --total a.csv"), "4\n");
    // Wherever it stands: RFC 4180 has no carriage return outside of quotes.
    folder.write("b.csv", "a,b\n\"x\ry\",1\n\"z\r\",2\n,3\nw,\"v\ru\"\n");
    assert_eq!(
        folder.umbel("dedup --csv -k a -k b --print key b.csv").run().done(),
        folder.read("b.csv")
    );
    let first = "a\n\"x\ry\"\n\"z\r\"\n\"\"\nw\n";
    assert_eq!(text(&folder, "dedup --csv -k a --print key b.csv"), first);
    folder.write("a.tsv", "id\tname\n1\t\n2\tx\n");
    folder.umbel("dedup --tsv -k name --print key a.tsv").run().fails(&[
        "a.tsv, line 2",
        "the key is empty",
        "omit --print",
    ]);
    assert_eq!(text(&folder, "dedup --tsv -k name -k id --print key a.tsv").lines().count(), 3);
    // A mark in a value is none of the file.
    folder.write("marked", "{\"k\":\"\u{feff}a\"}\n{\"k\":\"a\"}\n");
    let marked = text(&folder, "dedup --jsonl -k k --print key marked");
    assert_eq!(marked, "\u{feff}a\na\n");
}

#[test]
fn each_of_several_values_that_are_printed_is_normalized_by_itself() {
    let folder = Folder::new();
    folder.write("j", "{\"a\":1,\"b\":\" x\"}\n{\"a\":1.0,\"b\":\"x\"}\n{\"a\":2,\"b\":\"x\"}\n");
    let job = "dedup --jsonl -k a -k b --normalize number --trim";
    assert_eq!(text(&folder, &format!("{job} --total j")), "2\n");
    assert_eq!(text(&folder, &format!("{job} --print key j")), "1\t x\n2\tx\n");
    folder.write("w", "1 a\n1.0 a\n1 b\n");
    let job = "dedup --fields -k 1 -k 2 --normalize number --print key w";
    assert_eq!(text(&folder, job), "1\ta\n1\tb\n");
}

#[test]
fn of_records_without_a_key_none_is_printed() {
    let folder = Folder::new();
    folder.write("j", "{\"a\":1,\"b\":2}\n{\"a\":1}\n");
    for keys in ["-k b", "-k a -k b"] {
        let job = format!("dedup --jsonl {keys} --print key --missing keep j");
        folder.umbel(&job).run().fails(&["--missing keep", "--missing skip"]);
    }
}

/// Half of a pair is valid JSON and no text, so it can be the value of no key.
#[test]
fn a_key_with_half_a_surrogate_pair_is_left_out_like_other_bad_records() {
    let folder = Folder::new();
    folder.write("a", "{\"k\":\"\\ud800\",\"j\":1}\n{\"k\":\"x\",\"j\":1}\n");
    for key in ["--key k", "--key j --key k"] {
        folder.umbel(&format!("dedup --jsonl {key} a")).run().fails(&["a, line 1", "--bad skip"]);
        let report =
            folder.umbel(&format!("dedup --jsonl {key} --bad skip --json a")).run().report();
        assert_eq!((&report["bad"], &report["found"]), (&1.into(), &1.into()), "{report}");
    }
}

#[test]
fn a_number_equals_a_string_with_its_text_and_no_other_number() {
    let folder = Folder::new();
    folder.write("a", "{\"k\":1}\n{\"k\":\"1\"}\n{\"k\":1.0}\n{\"k\":\"1.0\"}\n");
    let done = folder.umbel("dedup --jsonl --key k a").run().done();
    assert_eq!(done, b"{\"k\":1}\n{\"k\":1.0}\n");
}

/// Null is no value, as to SQL and jq: a record whose field is null lacks the field.
#[test]
fn null_is_no_key_and_not_the_text_null() {
    let folder = Folder::new();
    let rows = "{\"id\":null}\n{\"id\":\"null\"}\n{\"id\":null}\n{\"id\":1}\n{\"id\":\"1\"}\n";
    folder.write("a", rows);
    let dedup = |missing: &str| folder.umbel(&format!("dedup --jsonl -k id {missing} a")).run();
    dedup("").fails(&["line 1", "no field \"id\" (found null)", "--missing skip"]);
    assert_eq!(dedup("--missing skip").done(), b"{\"id\":\"null\"}\n{\"id\":1}\n");
    let kept = "{\"id\":null}\n{\"id\":\"null\"}\n{\"id\":null}\n{\"id\":1}\n";
    assert_eq!(dedup("--missing keep").done(), kept.as_bytes());
    // The field is there, so that it is not misspelled.
    folder.write("nulls", "{\"id\":null}\n");
    folder.umbel("dedup --jsonl -k id --missing skip nulls").run().done();
    folder.umbel("common --jsonl -k id --missing keep nulls nulls").run().nothing();
    // One field of several.
    folder.write("pairs", "{\"a\":1,\"b\":null}\n{\"a\":1,\"b\":\"null\"}\n");
    folder.umbel("dedup --jsonl -k a -k b pairs").run().fails(&["no field \"b\" (found null)"]);
}
