//! Cases as text: each `## ` of a file in `tests/cases` starts with a copy of what the commands above the first one made,
//! in a folder next to `testdata`, and its commands print what stands below them.
//!
//! Standard error is a terminal in `terminal.md` alone. An exit status other than 0 stands in a last line, `? 1`; after `? 2`, no file may have
//! changed unless that line says so, no temporary file is left by any command, and options that a message advises exist.
//! `[..]` stands for anything within a line; other bytes than text are escaped. `UPDATE_DOCS=1` writes the files anew.
#![cfg(unix)]

use std::fs;

use crate::console::{Shell, renew, root};
use crate::util::names;

macro_rules! cases {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            check(stringify!($name));
        })*

        #[test]
        fn every_file_is_read() {
            let files = names(&root().join("crates/umbel-cli/tests/cases"));
            assert_eq!(files, [$(concat!(stringify!($name), ".md")),*]);
        }
    };
}

cases!(audit columns common demo described disks errors filters find foreign info inputs join keys kinds linux outputs overlap parquet pictures plan prefixes remedies rows sharing tables terminal told unseen words);

fn check(name: &str) {
    let path = root().join(format!("crates/umbel-cli/tests/cases/{name}.md"));
    let page = fs::read_to_string(&path).unwrap();
    let mut cases =
        page.split_inclusive("\n## ").map(|case| case.strip_suffix("## ").unwrap_or(case));
    let first = Shell::strict(name == "terminal");
    let start = first.follow(cases.next().unwrap());
    let (mut wrong, mut renewed) = (start.differences, start.renewed);
    for case in cases {
        let heading = case.lines().next().unwrap();
        let followed = first.copy().follow(case);
        let differences = followed.differences.iter();
        wrong.extend(differences.map(|difference| format!("## {heading}\n{difference}")));
        renewed += &format!("## {}", followed.renewed);
    }
    renew(&path, &page, &renewed);
    assert!(wrong.is_empty(), "{name}.md; UPDATE_DOCS=1 writes it anew:\n\n{}", wrong.join("\n"));
}
