//! `umbel index` and `umbel find` as a black box.

use std::fs;

#[cfg(unix)]
use nix::sys::signal::Signal;
use serde_json::Value;

use crate::util::{Folder, compressed, gzip, here, long, urls};

/// Logs of two services, one compressed, and their index.
fn logs() -> Folder {
    let folder = Folder::new();
    fs::create_dir(folder.path("logs")).unwrap();
    folder.write("logs/a.log", "start\nuser_id=17 from 10.0.3.17:8080\nuser_id=171 Zoë\n");
    folder.write("logs/b.log.gz", gzip(b"trace 3c0e3dcd-33e7 ok\ntrace 3c0e3dcd failed\n"));
    folder.umbel("index -o logs.index logs").run().done();
    folder
}

#[test]
fn lines_come_with_their_files_and_numbers() {
    let folder = logs();
    let find = |arguments: &str| folder.umbel(&format!("find logs.index {arguments}")).run();
    assert_eq!(find("user_id=17").text(), here("logs/a.log:2:user_id=17 from 10.0.3.17:8080\n"));
    assert_eq!(find("10.0.3.17").text(), here("logs/a.log:2:user_id=17 from 10.0.3.17:8080\n"));
    assert_eq!(find("-i zoë").text(), here("logs/a.log:3:user_id=171 Zoë\n"));
    let both =
        here("logs/b.log.gz:1:trace 3c0e3dcd-33e7 ok\nlogs/b.log.gz:2:trace 3c0e3dcd failed\n");
    assert_eq!(find("3c0e3dcd").text(), both);
    assert_eq!(find("failed ok").text(), both);
    assert_eq!(find("--files 3c0e3dcd start").text(), here("logs/a.log\nlogs/b.log.gz\n"));
    assert_eq!(find("--count 3c0e3dcd").text(), here("logs/b.log.gz:2\n"));
    let text = find("--json -q failed").text();
    let line: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&line["file"], &line["line"]), (&here("logs/b.log.gz").into(), &2.into()));
    assert_eq!((&line["keys"][0], &line["type"]), (&"failed".into(), &"line".into()));
    find("user_id=1").nothing();
    find("zoë").nothing();
    find("3c0e").nothing();
    assert_eq!(find("-q -F 3c0e").text(), both);
    find("-q -F -w 3c0e").nothing();
    folder.write("list", "nothing\nfailed\n\n");
    let failed = both.split_inclusive('\n').nth(1).unwrap();
    assert_eq!(find("-f list").text(), failed);
    // Of Windows, and with blanks around.
    folder.write("list", "nothing\r\nfailed\r\n\r\n");
    assert_eq!(find("-f list").text(), failed);
    assert_eq!(find("-f list --crlf --trim").text(), failed);
    folder.write("list", "  failed\t\r\n");
    find("-f list").nothing();
    assert_eq!(find("-f list --trim").text(), failed);
    folder.write("paths", "logs/a.log\r\nlogs/b.log.gz\r\n");
    folder.umbel("index -q --files-from paths -o listed").run().done();
    assert_eq!(folder.umbel("find -f list --trim listed").run().text(), failed);
    find("--normalize email failed").fails(&["--normalize: is for values of a field"]);
    // From another folder, and moved together.
    let moved = folder.umbel(&format!("find {} failed", folder.path("logs.index").display()));
    assert!(moved.run().text().ends_with(&here("/logs/b.log.gz:2:trace 3c0e3dcd failed\n")));
    fs::create_dir(folder.path("else")).unwrap();
    for name in ["logs", "logs.index"] {
        fs::rename(folder.path(name), folder.path(&format!("else/{name}"))).unwrap();
    }
    let line = here("else/logs/b.log.gz:2:trace 3c0e3dcd failed\n");
    assert_eq!(folder.umbel("find else/logs.index failed").run().text(), line);
}

#[test]
fn what_changed_is_searched_in_full_and_told() {
    let folder = logs();
    folder.append("logs/a.log", "later\n");
    folder.write("logs/c.log", "later too\n");
    let run = folder.umbel("find logs.index later").run();
    assert!(run.stderr.contains(&here("changed since: logs/a.log")), "{}", run.stderr);
    assert!(run.stderr.contains(&here("not in the index: logs/c.log")), "{}", run.stderr);
    let both = here("logs/a.log:4:later\nlogs/c.log:1:later too\n");
    assert_eq!(run.text(), both);
    let report = folder.umbel("index --update logs.index --json").run().report();
    assert_eq!((&report["files"], &report["files_read"]), (&3.into(), &2.into()));
    let run = folder.umbel("find logs.index later").run();
    assert_eq!(run.stderr, "");
    assert_eq!(run.text(), both);
    fs::remove_file(folder.path("logs/c.log")).unwrap();
    let run = folder.umbel("find logs.index later").run();
    assert_eq!(
        (run.status.code(), &run.stdout[..]),
        (Some(2), here("logs/a.log:4:later\n").as_bytes())
    );
    assert!(run.stderr.contains(&here("logs/c.log: is in the index, and gone")), "{}", run.stderr);
    let report = folder.umbel("index --update logs.index --json").run().report();
    assert_eq!((&report["files_gone"], &report["files_read"]), (&1.into(), &0.into()));
    // Renamed: as new, and gone.
    fs::rename(folder.path("logs/a.log"), folder.path("logs/z.log")).unwrap();
    let run = folder.umbel("find logs.index later").run();
    assert_eq!(
        (run.status.code(), &run.stdout[..]),
        (Some(2), here("logs/z.log:4:later\n").as_bytes())
    );
}

#[test]
fn what_no_index_narrows_down_is_told() {
    let folder = logs();
    let told = |arguments: &str, why: &str| {
        let run = folder.umbel(&format!("find {arguments}")).run();
        assert!(run.stderr.contains(why), "{}", run.stderr);
        assert!(!run.stdout.is_empty());
    };
    told(
        "logs.index -F 0e3d",
        "\"0e3d\" may be a part of longer words, so all files were searched",
    );
    told("logs.index =", "\"=\" has no word, so all files were searched");
    told("logs ok", "logs: is no index, so all of it was searched");
    told("logs/b.log.gz ok", "logs/b.log.gz: is no index");
    assert_eq!(folder.umbel("find logs.index -F 0.3.1 --quiet").run().stderr, "");
}

#[test]
fn values_of_a_field_are_found_in_compressed_records() {
    let folder = Folder::new();
    let rows: String =
        (0..5000).map(|i| format!("{{\"id\": \"t-{i}\", \"of\": \"t-{}\"}}\n", i + 1)).collect();
    for (ending, bytes) in compressed(rows.as_bytes()) {
        folder.write(&format!("rows.{ending}"), bytes);
    }
    let names = folder.names().join(" ");
    folder.umbel(&format!("index --jsonl -k id -o rows.index {names}")).run().done();
    let found = folder.umbel("find rows.index t-77").run().text();
    assert_eq!(found.lines().count(), 5, "{found}");
    assert!(found.lines().all(|line| line.contains(":78:{\"id\": \"t-77\"")), "{found}");
    folder.umbel(&format!("index --jsonl -k id -k of --force -o both.index {names}")).run().done();
    let found = folder.umbel("find both.index t-77").run().text();
    assert_eq!(found.lines().count(), 10, "{found}");
    let info = folder.umbel("info both.index").run().text();
    assert!(info.contains("values of the fields id, of"), "{info}");
    folder.umbel("find rows.index t").run().nothing();
    folder.umbel("find rows.index -F t-77").run().fails(&["values are compared as a whole"]);
    let info = folder.umbel("info rows.index").run().text();
    assert!(info.contains("values of the field id"), "{info}");
}

#[test]
fn what_cannot_be_indexed_is_refused() {
    let folder = logs();
    let fails = |arguments: &str, words: &[&str]| {
        folder.umbel(arguments).run().fails(words);
    };
    fails("index -o x.index missing", &["missing: ", "(os error 2)"]);
    fails("index -o x.index --jsonl logs", &["of the values of fields", "--key"]);
    fails("index -o x.index --ignore-case logs", &["found in any case"]);
    fails("index -o logs/a.log logs", &["logs/a.log: is text", "an index would replace it"]);
    fails("index logs", &["--output"]);
    fails("index -o -  logs", &["an index is a file"]);
    fails("index --update logs/a.log", &["is not an index"]);
    fails("index --update logs.index --csv -k a", &["the index knows its records"]);
    fails("find missing text", &["missing: ", "(os error 2)"]);
    fails("find logs.index", &["TEXT"]);
    fails("find logs.index --csv -k 1 x", &["which knows its records"]);
    let whole = folder.read("logs.index");
    folder.write("logs.index", &whole[..whole.len() - 1]);
    fails("find logs.index ok", &["logs.index: has", "cut off or damaged"]);
    let mut damaged = whole.clone();
    damaged[2100] ^= 1;
    folder.write("logs.index", &damaged);
    fails("find logs.index ok", &["logs.index: is damaged (page 2)"]);
    fails("info logs.index", &["logs.index: is damaged (page 2)"]);
    let mut other = whole.clone();
    for (version, remedy) in [(0, "make it again with umbel index"), (2, "use a newer umbel")] {
        other[8] = version;
        folder.write("logs.index", &other);
        let words = format!("logs.index: is an index of version {version}; this release reads");
        for verb in ["find logs.index ok", "info logs.index", "index --update logs.index"] {
            fails(verb, &[&words, remedy]);
        }
    }
}

/// At whatever moment an update is killed, the index is the old one or the new one, whole, and nothing lies beside it.
#[cfg(unix)]
#[test]
fn a_killed_update_leaves_an_index() {
    let folder = Folder::new();
    fs::create_dir(folder.path("logs")).unwrap();
    for i in 0..8 {
        folder.write(&format!("logs/{i}"), urls(20_000 * i..20_000 * (i + 1)));
    }
    folder.umbel("index -o logs.index logs").run().done();
    let text = format!("{:024}", 70_123);
    let expected = folder.umbel(&format!("find logs.index {text}")).run().text();
    for round in 0..long(200, 12) {
        folder.append("logs/0", urls([1_000_000 + round]));
        let run = folder.umbel("index --update logs.index").spawn();
        std::thread::sleep(std::time::Duration::from_millis(round * 7 % 60));
        run.kill(Signal::SIGKILL);
        drop(run.finish());
        let run = folder.umbel(&format!("find -q logs.index {text}")).run();
        assert_eq!(run.text(), expected);
        folder.umbel("info logs.index").run().done();
    }
    folder.umbel("index --update logs.index").run().done();
    assert_eq!(folder.names(), ["logs", "logs.index"]);
}

/// The data of an index behind what differs from machine to machine: times and numbers of files.
fn tables(index: &[u8]) -> Vec<u8> {
    let data: Vec<u8> = index.chunks(1024).flat_map(|page| &page[..1016]).copied().collect();
    let number = |at: usize| u64::from_le_bytes(data[at..at + 8].try_into().unwrap()) as usize;
    let (catalog, lists) = (number(32), number(40));
    [&data[..72], &data[catalog + lists..]].concat()
}

/// `testdata/find` was made of these files by these commands.
#[test]
fn the_golden_indexes_are_made_again() {
    let folder = Folder::new();
    folder.write("a.log", "start of a log\nuser_id=17 from 10.0.3.17:8080 took 12ms\nZoë — 日本語 3c0e3dcd-33e7-4d1c-9a55-0123456789ab\n");
    folder.write("b.log", b"another file\nbytes \xff\xfe between\nuser_id=171\n");
    let line = |i: u64| format!("{i} request {:x} of client-{}\n", i * 7919 % 100_003, i % 50);
    folder.write("c.log", (0..60_000).map(line).collect::<String>());
    let rows: String = (0..500).map(|i| format!("{i},\"name {}\"\n", i % 7)).collect();
    folder.write("d.csv", format!("id,name\n{rows}"));
    folder.umbel("index -o words.index a.log b.log c.log").run().done();
    folder.umbel("index --csv -k id -o field.index d.csv").run().done();
    for name in ["words.index", "field.index"] {
        let golden = format!("{}/../../testdata/find/{name}", env!("CARGO_MANIFEST_DIR"));
        assert!(tables(&folder.read(name)) == tables(&fs::read(golden).unwrap()), "{name}");
    }
}

/// As everywhere, but for other programs as they are.
#[cfg(unix)]
#[test]
fn names_do_nothing_to_a_terminal() {
    let folder = Folder::new();
    fs::create_dir(folder.path("logs")).unwrap();
    folder.write("logs/a\u{1b}[2Jb", "one line\n");
    let find = || folder.umbel("find -q logs line");
    assert_eq!(find().run().text(), "logs/a\u{1b}[2Jb:1:one line\n");
    assert_eq!(find().print_on_terminal().text(), "logs/a\\u{1b}[2Jb:1:one line\r\n");
    let files = folder.umbel("find -q --files logs line").print_on_terminal();
    assert_eq!(files.text(), "logs/a\\u{1b}[2Jb\r\n");
}

#[test]
fn an_update_drops_files_that_were_named() {
    let folder = Folder::new();
    folder.write("a.log", "one line\n");
    folder.write("b.log", "one line\n");
    folder.umbel("index -o x.index a.log b.log").run().done();
    fs::remove_file(folder.path("b.log")).unwrap();
    let run = folder.umbel("find x.index line").run();
    assert!(run.stderr.contains("b.log: is in the index, and gone"), "{}", run.stderr);
    let run = folder.umbel("index --update x.index").run();
    assert!(run.stderr.contains("gone, and no longer in the index: b.log"), "{}", run.stderr);
    run.done();
    assert_eq!(folder.umbel("find -q x.index line").run().text(), "a.log:1:one line\n");
    fs::remove_file(folder.path("a.log")).unwrap();
    folder.umbel("index --update x.index").run().fails(&["a.log is gone", "make it again"]);
}

/// From the index's own folder, without one, by a whole path or through a link; and in the order of a search without an index.
#[test]
fn an_index_is_the_same_by_any_name() {
    let folder = Folder::new();
    fs::create_dir_all(folder.path("d/s")).unwrap();
    folder.write("d/s/b", "alpha\n");
    folder.write("d/s-b", "alpha\n");
    folder.umbel("index -o d/i d").run().done();
    let plain = folder.umbel("find d alpha").run().text();
    assert_eq!(plain, here("d/s-b:1:alpha\nd/s/b:1:alpha\n"));
    let whole = folder.path("d/i").canonicalize().unwrap();
    let within = |arguments: &str| folder.umbel(arguments).at(folder.path("d")).run();
    let short = here("s-b:1:alpha\ns/b:1:alpha\n");
    within("index -o j .").done();
    assert_eq!(within("info j").text().lines().nth(2).unwrap().trim(), "of              .");
    fs::remove_file(folder.path("d/j")).unwrap();
    for (run, ends) in [
        (folder.umbel("find d/i alpha").run(), &plain),
        (folder.umbel(&format!("find {} alpha", whole.display())).run(), &short),
        (within("find i alpha"), &short),
        (within("find ./i alpha"), &here("./s-b:1:alpha\n./s/b:1:alpha\n")),
        (within("find ../d/i alpha"), &here("../d/s-b:1:alpha\n../d/s/b:1:alpha\n")),
    ] {
        assert_eq!((run.stderr.as_str(), run.status.code()), ("", Some(0)));
        let text = run.text();
        let ended = text.lines().zip(ends.lines()).all(|(line, end)| line.ends_with(end));
        assert!(ended && text.lines().count() == 2, "{text}");
    }
    folder.write("d/new", "alpha\n");
    assert_eq!(within("find i alpha").text(), here("new:1:alpha\n") + &short);
    assert_eq!(within("index --update i --json").report()["files_read"], 1);
}

/// As grep does: what can be read is searched, what cannot is told, and the exit status is 2. An index tries it again.
#[test]
fn a_damaged_file_hides_no_other() {
    let folder = Folder::new();
    fs::create_dir(folder.path("logs")).unwrap();
    folder.write("logs/a", "alpha 1\n");
    folder.write("logs/z", "alpha 2\n");
    let whole = gzip(&[b"alpha 3\n".as_slice(), &urls(0..9000)].concat());
    folder.write("logs/b.gz", &whole[..whole.len() / 2]);
    let good = here("logs/a:1:alpha 1\nlogs/b.gz:1:alpha 3\nlogs/z:1:alpha 2\n");
    let told = here("logs/b.gz: ");
    let failed = |arguments: &str, out: &str| {
        let run = folder.umbel(arguments).run();
        assert_eq!((run.status.code(), run.stdout.as_slice()), (Some(2), out.as_bytes()));
        assert!(run.stderr.contains(&told), "{}", run.stderr);
        run.stderr
    };
    failed("find logs alpha", &good);
    let report = failed("index -o i logs --json", "");
    assert!(report.contains("\"unreadable\":[\"logs"), "{report}");
    let said = failed("find i alpha", &good);
    assert!(!said.contains("changed since"), "{said}");
    failed("find i --count alpha", &here("logs/a:1\nlogs/b.gz:1\nlogs/z:1\n"));
    failed("index --update i", "");
    folder.write("logs/b.gz", &whole);
    folder.umbel("index --update i -q").run().done();
    let found = folder.umbel("find i alpha").run();
    assert_eq!((found.stderr.as_str(), found.stdout.as_slice()), ("", good.as_bytes()));
    // Only what cannot be read.
    folder.write("bad.gz", &whole[..5]);
    folder.umbel("index -o j bad.gz").run().fails(&["bad.gz: "]);
    assert!(!folder.path("j").exists());
}

/// Of the files whose names begin as those of unfinished ones do, only these are left out.
#[cfg(target_os = "linux")]
#[test]
fn a_file_of_a_similar_name_is_no_unfinished_one() {
    use std::os::unix::fs::MetadataExt;

    let folder = Folder::new();
    fs::create_dir(folder.path("d")).unwrap();
    let names = [".umbel-notes", ".umbel-abcdef", ".umbel-12-abcdef"];
    names.iter().for_each(|name| folder.write(&format!("d/{name}"), "alpha\n"));
    folder.write("d/new", "alpha\n");
    let number = fs::metadata(folder.path("d/new")).unwrap().ino();
    fs::rename(folder.path("d/new"), folder.path(&format!("d/.umbel-{number:x}-abcdef"))).unwrap();
    let all = "d/.umbel-12-abcdef\nd/.umbel-abcdef\nd/.umbel-notes\n";
    assert_eq!(folder.umbel("find d --files alpha").run().text(), all);
    folder.umbel("index -q -o i d").run().done();
    assert_eq!(folder.umbel("find i --files alpha").run().text(), all);
}

/// With an index or without: case, scripts without spaces, and a byte order mark.
#[test]
fn words_of_all_scripts_are_found() {
    let folder = Folder::new();
    let lines =
        "\u{feff}alpha Étude\nÉTUDES\nкниги И МИР\n東京都に行く\nภาษาไทย\n\u{23a}b é STRASSE\n";
    folder.write("a", lines);
    folder.umbel("index -q -o i a").run().done();
    let lines: Vec<_> = lines.trim_start_matches('\u{feff}').lines().collect();
    let wide = |place: &str| if place == "i" { "searched" } else { "is no index" };
    for (text, options, expected) in [
        ("alpha", "", &[1][..]),
        ("étude", "-i", &[1]),
        ("ÉTUDE", "-i", &[1]),
        ("étude", "", &[]),
        ("étude", "-i -F", &[1, 2]),
        ("Мир", "-i", &[3]),
        ("\u{2c65}B É", "-i", &[6]),
        ("straße", "-i", &[]),
        // A part of what a dictionary has as a word.
        ("京都", "", &[4]),
        ("東都", "", &[]),
        ("ไท", "", &[5]),
    ] {
        for place in ["i", "a"] {
            let run = folder.umbel(&format!("find {place} {options}")).arg(text).run();
            let cased = options == "-i" && !text.starts_with('\u{2c65}');
            assert!(!cased || run.stderr.contains(wide(place)), "{text}: {}", run.stderr);
            let expected: String =
                expected.iter().map(|at| format!("a:{at}:{}\n", lines[at - 1])).collect();
            assert_eq!(String::from_utf8(run.stdout).unwrap(), expected, "{text} {options}");
        }
    }
}
