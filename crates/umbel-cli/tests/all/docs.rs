//! README.md and the pages in docs/: every command prints what the page shows, and every link leads to a file.
//!
//! Standard error is a terminal. A block that starts with `umbel ` shows commands without output; none of them may fail.
//! All commands of a page run in order in one folder, which has `examples` and `testdata` in it.

use std::fs;
#[cfg(unix)]
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use crate::console::root;
#[cfg(unix)]
use crate::console::{Shell, renew};

/// README.md and the pages in docs/.
pub(crate) fn pages() -> Vec<PathBuf> {
    let docs = fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let mut pages: Vec<_> = docs.filter(|path| path.extension() == Some("md".as_ref())).collect();
    pages.push(root().join("README.md"));
    pages.sort();
    pages
}

/// A folder as the commands of a page find it, with a copy of the example files, which they may change.
#[cfg(unix)]
fn checkout() -> Shell {
    let shell = Shell::with_terminal();
    let examples = shell.path().join("examples");
    fs::create_dir(&examples).unwrap();
    for file in fs::read_dir(root().join("examples")).unwrap() {
        let file = file.unwrap();
        if !file.file_type().unwrap().is_dir() {
            fs::copy(file.path(), examples.join(file.file_name())).unwrap();
        }
    }
    symlink(root().join("testdata"), shell.path().join("testdata")).unwrap();
    shell
}

#[cfg(unix)]
#[test]
fn every_command_prints_what_its_page_shows() {
    let (mut count, mut wrong) = (0, Vec::new());
    for path in pages() {
        let page = fs::read_to_string(&path).unwrap();
        let followed = checkout().follow(&page);
        renew(&path, &page, &followed.renewed);
        let name = path.strip_prefix(root()).unwrap().display().to_string();
        wrong.extend(followed.differences.iter().map(|difference| format!("{name}: {difference}")));
        count += followed.commands;
    }
    assert!(count > 80, "{count} commands: are the blocks still found?");
    assert!(wrong.is_empty(), "UPDATE_DOCS=1 shows these as they are now:\n\n{}", wrong.join("\n"));
}

#[test]
fn links_lead_to_files() {
    for path in pages() {
        let page = fs::read_to_string(&path).unwrap();
        for link in page.split("](").skip(1).filter_map(|rest| rest.split_once(')')) {
            let file = link.0.split('#').next().unwrap();
            if !file.contains("://") {
                assert!(
                    path.parent().unwrap().join(file).exists(),
                    "{}: {}",
                    path.display(),
                    link.0
                );
            }
        }
    }
}

#[test]
fn the_readme_links_every_page() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    for path in pages() {
        let page = path
            .strip_prefix(root())
            .unwrap()
            .display()
            .to_string()
            .replace(std::path::MAIN_SEPARATOR, "/");
        assert!(page == "README.md" || readme.contains(&format!("]({page})")), "no link to {page}");
    }
}

#[test]
fn the_readme_shows_the_code_of_the_crate() {
    let crate_docs = fs::read_to_string(root().join("crates/umbel/src/lib.rs")).unwrap();
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let code = readme.split_once("```rust\n").unwrap().1.split_once("```").unwrap().0;
    for line in code.lines() {
        assert!(
            crate_docs.contains(format!("//! {line}").trim_end()),
            "not in a tested example: {line}"
        );
    }
}
