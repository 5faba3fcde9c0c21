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
