//! README.md and the pages in docs/: every command prints what the page shows, and every link leads to a file.
//!
//! In a fenced block that starts with `$ `, each line that starts so is run by a shell, with standard error on a
//! terminal. The lines below it, up to the next command, are its standard output followed by its standard error. A block
//! that starts with `umbel ` shows commands without output; none of them may fail. All commands of a page run in
//! order in one folder, which has `examples` and `testdata` in it.
//!
//! With `UPDATE_DOCS` in the environment the pages are rewritten with what the commands print.

use std::fs;
#[cfg(unix)]
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::util::Folder;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// README.md and the pages in docs/.
fn pages() -> Vec<PathBuf> {
    let docs = fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let mut pages: Vec<_> = docs.filter(|path| path.extension() == Some("md".as_ref())).collect();
    pages.push(root().join("README.md"));
    pages.sort();
    pages
}

/// A folder as the commands of a page find it: a copy of the example files, which they may change, the test data,
/// and `umbel` in the path.
#[cfg(unix)]
fn checkout() -> Folder {
    let folder = Folder::new();
    fs::create_dir(folder.path("examples")).unwrap();
    for file in fs::read_dir(root().join("examples")).unwrap() {
        let file = file.unwrap();
        if file.file_type().unwrap().is_dir() {
            continue;
        }
        fs::copy(file.path(), folder.path("examples").join(file.file_name())).unwrap();
    }
    symlink(root().join("testdata"), folder.path("testdata")).unwrap();
    fs::create_dir(folder.path("bin")).unwrap();
    symlink(env!("CARGO_BIN_EXE_umbel"), folder.path("bin/umbel")).unwrap();
    folder
}

/// What a command prints, standard output first, and its exit status.
#[cfg(unix)]
fn run(folder: &Folder, command: &str) -> (String, Option<i32>) {
    let mut shell = folder.program("sh", "-c").arg(format!("PATH=\"$PWD/bin:$PATH\"; {command}"));
    // A terminal without progress bars, which slow machines would show.
    shell.command.env("TERM", "dumb");
    let run = shell.run_on_terminal();
    let printed = String::from_utf8(run.stdout).unwrap() + &run.stderr;
    // Readers have no TMPDIR.
    let tmp = folder.path("tmp");
    (printed.replace(tmp.to_str().unwrap(), "/tmp"), run.status.code())
}

/// What is printed without what varies: times, and peak memory.
fn steady(printed: &str) -> String {
    let mut words: Vec<&str> = printed.split(' ').collect();
    for at in 1..words.len() {
        let seconds = words[at]
            .strip_prefix('s')
            .is_some_and(|rest| rest.is_empty() || rest.starts_with([',', '\n']));
        if seconds && words[at - 1].parse::<f64>().is_ok() {
            words[at - 1] = "#";
        }
        if words[at - 1] == "peak" {
            words[at] = "#";
        }
    }
    words.join(" ")
}

/// Runs the commands of a page. Returns their number, what differs, and the page with what they print now.
#[cfg(unix)]
fn follow(page: &str) -> (usize, Vec<String>, String) {
    let folder = checkout();
    let (mut count, mut differences, mut renewed) = (0, Vec::new(), String::new());
    let mut lines = page.lines().peekable();
    while let Some(line) = lines.next() {
        renewed += &format!("{line}\n");
        if !line.starts_with("```") {
            continue;
        }
        let first = lines.peek().copied().unwrap_or_default();
        let (session, bare) = (first.starts_with("$ "), first.starts_with("umbel "));
        while let Some(line) = lines.next() {
            renewed += &format!("{line}\n");
            if line.starts_with("```") {
                break;
            }
            if bare {
                let (printed, code) = run(&folder, line);
                if !matches!(code, Some(0 | 1)) {
                    differences.push(format!("$ {line}\nexit status {code:?}: {printed}"));
                }
                count += 1;
            }
            let Some(command) = line.strip_prefix("$ ").filter(|_| session) else { continue };
            let mut shown = String::new();
            while let Some(line) = lines.next_if(|l| !l.starts_with("$ ") && !l.starts_with("```"))
            {
                shown += &format!("{line}\n");
            }
            let (printed, _) = run(&folder, command);
            if steady(&printed) == steady(&shown) {
                renewed += &shown;
            } else {
                differences.push(format!("$ {command}\n-- shown:\n{shown}-- printed:\n{printed}"));
                renewed += &printed;
            }
            count += 1;
        }
    }
    (count, differences, renewed)
}

#[cfg(unix)]
#[test]
fn every_command_prints_what_its_page_shows() {
    let (mut count, mut wrong) = (0, Vec::new());
    for path in pages() {
        let page = fs::read_to_string(&path).unwrap();
        let (commands, differences, renewed) = follow(&page);
        if std::env::var_os("UPDATE_DOCS").is_some() && renewed != page {
            fs::write(&path, renewed).unwrap();
        }
        let name = path.strip_prefix(root()).unwrap().display().to_string();
        wrong.extend(differences.into_iter().map(|difference| format!("{name}: {difference}")));
        count += commands;
    }
    assert!(count > 80, "{count} commands: are the blocks still found?");
    assert!(wrong.is_empty(), "UPDATE_DOCS=1 shows these as they are now:\n\n{}", wrong.join("\n"));
}

#[cfg(unix)]
#[test]
fn a_page_that_shows_something_else_is_noticed() {
    let block = |command: &str, shown: &str| format!("text\n```\n$ {command}\n{shown}```\nmore\n");
    let report = "umbel dedup: 2 lines, 1 different, 9.876 s\n";
    let (count, differences, renewed) =
        follow(&block("printf 'a\\na\\n' | umbel dedup", &format!("a\n{report}")));
    assert_eq!((count, differences, renewed.contains("9.876")), (1, vec![], true));
    let (_, differences, renewed) =
        follow(&block("printf 'a\\na\\n' | umbel dedup", &format!("b\n{report}")));
    assert_eq!(differences.len(), 1);
    assert!(
        renewed.contains("```\n$ printf 'a\\na\\n' | umbel dedup\na\numbel dedup: 2 lines,"),
        "{renewed}"
    );
    assert!(renewed.ends_with("s\n```\nmore\n"), "{renewed}");
    let (count, differences, _) =
        follow("```\numbel dedup examples/monday.txt\numbel dedup nowhere\n```\n");
    assert_eq!((count, differences.len()), (2, 1));
}

#[test]
fn what_varies_is_not_compared() {
    assert_eq!(
        steady("2 lines, peak 12.4 MiB, 0.010 s, exact\n1 left, 0.1 s\n"),
        "2 lines, peak # MiB, # s, exact\n1 left, # s\n"
    );
    assert_eq!(steady("1 line, 12 bits s\n"), "1 line, 12 bits s\n");
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
