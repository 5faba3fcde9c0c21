//! The pages: every command prints what its page shows, and every link leads to a file. Standard error is a terminal. A block that
//! starts with `umbel ` shows commands without output; none of them may fail. All commands of a page run in order in one folder, which
//! has `examples` and `testdata` in it.

use std::fs;
#[cfg(unix)]
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::console::{Shell, renew, root};

/// Pages outside of docs/.
const OTHERS: [&str; 6] = [
    "README.md",
    "README.zh-CN.md",
    "crates/umbel-js/README.md",
    "crates/umbel-page/README.md",
    "examples/cache/README.md",
    "examples/proxy/README.md",
];

/// The pages in docs/, and others.
pub(crate) fn pages() -> Vec<PathBuf> {
    let docs = fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let mut pages: Vec<_> = docs.filter(|path| path.extension() == Some("md".as_ref())).collect();
    pages.extend(OTHERS.map(|path| root().join(path)));
    pages.sort();
    pages
}

/// A folder as the commands of a page find it, with a copy of the example files, which they may change.
#[cfg(unix)]
fn checkout() -> Shell {
    let shell = Shell::with_terminal();
    copy(&root().join("examples"), &shell.path().join("examples"));
    symlink(root().join("testdata"), shell.path().join("testdata")).unwrap();
    shell
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (from, name) = entry.map(|entry| (entry.path(), entry.file_name())).unwrap();
        // What an example was compiled into is in no checkout.
        match from.is_dir() {
            true if name != "target" => copy(&from, &to.join(name)),
            true => {}
            false => drop(fs::copy(&from, to.join(name)).unwrap()),
        }
    }
}

#[cfg(unix)]
#[test]
fn every_command_prints_what_its_page_shows() {
    let (mut count, mut wrong) = (0, Vec::new());
    for path in pages() {
        let page = fs::read_to_string(&path).unwrap();
        let followed = checkout().follow(&page);
        renew(&path, &page, &followed.renewed);
        let name = path.strip_prefix(root()).unwrap().display();
        // Renewed output may be the error of an example that no longer works.
        for error in ["try '--help'", "No such file or directory"] {
            assert!(!followed.renewed.contains(error), "{name}: {error}");
        }
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
        for (link, _) in page.split("](").skip(1).filter_map(|rest| rest.split_once(')')) {
            let file = link.split('#').next().unwrap();
            if !file.contains("://") {
                assert!(path.parent().unwrap().join(file).exists(), "{}: {link}", path.display());
            }
        }
    }
}

#[test]
fn the_index_links_every_page() {
    let index = fs::read_to_string(root().join("docs/README.md")).unwrap();
    let links: Vec<_> =
        index.split("](").filter_map(|rest| rest.split([')', '#']).next()).collect();
    for path in pages().iter().filter(|path| path.parent() == Some(&root().join("docs"))) {
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(name == "README.md" || links.contains(&name), "no link to {name}");
    }
    for readme in ["README.md", "README.zh-CN.md"] {
        let readme = fs::read_to_string(root().join(readme)).unwrap();
        assert!(readme.contains("](docs/README.md)") && readme.lines().count() <= 80);
    }
}

/// Both READMEs have the same commands and code.
#[test]
fn the_readme_is_the_same_in_chinese() {
    let blocks = |name: &str| -> Vec<String> {
        let page = fs::read_to_string(root().join(name)).unwrap();
        let blocks = page.split("```").skip(1).step_by(2);
        let lines = |block: &str| block.lines().map(without_comment).collect::<Vec<_>>().join("\n");
        blocks.map(lines).collect()
    };
    assert_eq!(blocks("README.md"), blocks("README.zh-CN.md"));
}

/// A line of code without a comment, which is translated.
fn without_comment(line: &str) -> &str {
    let end = [" # ", " // "].iter().filter_map(|mark| line.find(mark)).min();
    line[..end.unwrap_or(line.len())].trim_end()
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
