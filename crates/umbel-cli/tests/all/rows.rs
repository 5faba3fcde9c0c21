//! Whole rows: what `cases/rows.md` cannot show.

use std::process::Command;

use crate::util::{Folder, gzip, long};

#[test]
fn random_tables_come_out_as_of_sqlite_and_python() {
    let models = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/models.py");
    let run = Command::new("python3")
        .args([models, env!("CARGO_BIN_EXE_umbel"), long("500", "40")])
        .output();
    let run = run.expect("python3 is needed: apt-get install python3, or python.org");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
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

#[cfg(unix)]
#[test]
fn more_than_memory_holds_is_sorted_as_sort_does() {
    let folder = Folder::new();
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

#[test]
fn rows_that_one_file_has_more_often_are_counted_through_temporary_files() {
    let folder = Folder::new();
    let lines =
        |from: u64| (from..90_000).map(|i| format!("{:064}\n", i % 60_000)).collect::<String>();
    folder.write("old", lines(0));
    folder.write("new", lines(7) + &lines(89_995));
    for form in ["", "--tsv --no-header -k 1"] {
        for memory in ["16MiB", "256MiB"] {
            // Seven lines are there once instead of twice, and five once more.
            let run = folder.umbel(&format!("diff {form} -m {memory} --json old new")).run();
            let report: serde_json::Value = serde_json::from_str(&run.stderr).unwrap();
            let found = ["kept", "uneven", "removed"].map(|name| report[name].as_u64().unwrap());
            assert_eq!(found, [60_000, 12, 0], "{form} {memory}");
            let spilled = report["bytes_spilled"].as_u64() > Some(0);
            assert_eq!(spilled, memory == "16MiB", "{report}");
            assert!(!spilled || report["peak_memory"].as_u64() < Some(48 << 20), "{report}");
        }
    }
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
