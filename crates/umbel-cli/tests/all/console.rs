//! Pages of commands: what a shell prints for them is what the page shows.
//!
//! In a fenced block that starts with `$ `, each line that starts so is run by a shell; lines after it that start with
//! `> ` belong to the command. The lines below, up to the next command, are its standard output followed by its standard
//! error. With `UPDATE_DOCS` in the environment, pages are rewritten with what the commands print.

use std::fs;
use std::path::{Path, PathBuf};

use crate::util::{Folder, Outcome};

/// A folder in which commands run, with `umbel` in the path.
pub(crate) struct Shell {
    folder: Folder,
    /// Whether standard error is a terminal.
    terminal: bool,
    /// Whether what a reader of docs need not see is shown: the exit status, and bytes that are no text.
    all: bool,
}

/// What became of the commands of a page.
pub(crate) struct Followed {
    pub(crate) commands: usize,
    pub(crate) differences: Vec<String>,
    /// The page with what they print now.
    pub(crate) renewed: String,
}

impl Shell {
    /// As readers of docs have it.
    pub(crate) fn with_terminal() -> Self {
        Self { all: false, ..Self::strict(true) }
    }

    /// Where exit statuses are shown.
    pub(crate) fn strict(terminal: bool) -> Self {
        let folder = Folder::new();
        fs::create_dir(folder.path("here")).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(root().join("testdata"), folder.path("testdata")).unwrap();
        Self { folder, terminal, all: true }
    }

    /// Another one, with the same files.
    pub(crate) fn copy(&self) -> Self {
        let copy = Self::strict(self.terminal);
        let files = format!("-Rp {}/. {}", self.path().display(), copy.path().display());
        self.folder.program("cp", &files).run().done();
        copy
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path("here")
    }

    /// What a command prints, and its exit status.
    fn run(&self, command: &str) -> (String, Option<i32>) {
        let before = self.files();
        let mut shell = self.folder.program("sh", "-c").arg(command).at(self.path());
        let umbel = Path::new(env!("CARGO_BIN_EXE_umbel")).parent().unwrap();
        let path = format!("{}:{}", umbel.display(), std::env::var("PATH").unwrap());
        // A terminal without progress bars, which slow machines would show.
        shell.command.env("PATH", path).env("TERM", "dumb").env("LC_ALL", "C");
        shell.command.env_remove("NO_COLOR");
        #[cfg(unix)]
        let run = if self.terminal { shell.run_on_terminal() } else { shell.run() };
        #[cfg(not(unix))]
        let run = shell.run();
        let code = run.status.code();
        let mut printed = if self.all {
            strict(&run)
        } else {
            String::from_utf8(run.stdout).unwrap() + &run.stderr
        };
        if self.all && code != Some(0) {
            printed += &format!("? {}", code.map_or("signal".to_owned(), |code| code.to_string()));
            let changed = code == Some(2) && before != self.files();
            printed += if changed { ", and files have changed\n" } else { "\n" };
        }
        // Readers have no TMPDIR, and work elsewhere.
        let printed = printed.replace(self.folder.path("tmp").to_str().unwrap(), "/tmp");
        (printed.replace(self.path().to_str().unwrap(), "$PWD"), code)
    }

    /// What the files hold, to see whether a run changes them; of long ones, their length and when they were written.
    fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let (mut files, mut folders) = (Vec::new(), vec![self.path()]);
        while let (true, Some(folder)) = (self.all, folders.pop()) {
            for entry in fs::read_dir(folder).unwrap() {
                let entry = entry.unwrap();
                let about = entry.metadata().unwrap();
                let content = if about.is_dir() {
                    folders.push(entry.path());
                    Vec::new()
                } else if about.is_file() && about.len() <= 1 << 16 {
                    fs::read(entry.path()).unwrap_or_default()
                } else {
                    format!("{} {:?}", about.len(), about.modified().unwrap()).into_bytes()
                };
                files.push((entry.path(), content));
            }
        }
        files.sort();
        files
    }

    /// Runs the commands of a page in order.
    pub(crate) fn follow(&self, page: &str) -> Followed {
        let mut followed =
            Followed { commands: 0, differences: Vec::new(), renewed: String::new() };
        let mut lines = page.lines().peekable();
        while let Some(line) = lines.next() {
            followed.renewed += &format!("{line}\n");
            if !line.starts_with("```") {
                continue;
            }
            let first = lines.peek().copied().unwrap_or_default();
            let (session, bare) = (first.starts_with("$ "), first.starts_with("umbel "));
            while let Some(line) = lines.next() {
                followed.renewed += &format!("{line}\n");
                if line.starts_with("```") {
                    break;
                }
                if bare {
                    let (printed, code) = self.run(line);
                    if !matches!(code, Some(0 | 1)) {
                        let failed = format!("$ {line}\nexit status {code:?}: {printed}");
                        followed.differences.push(failed);
                    }
                    followed.commands += 1;
                }
                let Some(command) = line.strip_prefix("$ ").filter(|_| session) else { continue };
                let mut command = command.to_owned();
                while let Some(line) = lines.next_if(|l| l.starts_with("> ") || *l == ">") {
                    followed.renewed += &format!("{line}\n");
                    command += &format!("\n{}", line.get(2..).unwrap_or_default());
                }
                let mut shown = String::new();
                while let Some(line) =
                    lines.next_if(|l| !l.starts_with("$ ") && !l.starts_with("```"))
                {
                    shown += &format!("{line}\n");
                }
                let (printed, _) = self.run(&command);
                let renewed = renewed(&shown, &printed);
                if renewed != shown {
                    followed
                        .differences
                        .push(format!("$ {command}\n-- shown:\n{shown}-- printed:\n{printed}"));
                }
                followed.renewed += &renewed;
                followed.commands += 1;
            }
        }
        followed
    }
}

/// The repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Writes a page anew, if that is asked for and it differs.
pub(crate) fn renew(path: &Path, page: &str, renewed: &str) {
    if std::env::var_os("UPDATE_DOCS").is_some() && renewed != page {
        fs::write(path, renewed).unwrap();
    }
}

/// What a run printed, with a sign for what a page cannot show, and without the lines that end every refusal of an option.
fn strict(run: &Outcome) -> String {
    let mut text = shown(&run.stdout);
    if !text.is_empty() && !text.ends_with('\n') {
        text += "\n\\ no newline\n";
    }
    if run.status.code() == Some(2) {
        run.advises_options_that_exist();
    }
    let usage = run.stderr.find("\n\nUsage: ").filter(|_| run.status.code() == Some(2));
    let more = run.stderr.find("\n\nFor more information, try '--help'.");
    let end = usage.or(more).map_or(run.stderr.len(), |end| end + 1);
    text + &shown(&run.stderr.as_bytes()[..end])
}

/// Bytes with a sign for each that a page cannot show.
fn shown(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\0' => text += "\\0",
                '\u{feff}' => text += "\\u{feff}",
                '\u{1b}' => text += "\\e",
                c if c.is_control() && !matches!(c, '\n' | '\t') => text.extend(c.escape_default()),
                c => text.push(c),
            }
        }
        text += &chunk.invalid().escape_ascii().to_string();
    }
    text
}

/// What is printed, with the shown lines that fit it.
fn renewed(shown: &str, printed: &str) -> String {
    let (shown, printed): (Vec<_>, Vec<_>) =
        (shown.split_inclusive('\n').collect(), printed.split_inclusive('\n').collect());
    let same = shown.len() == printed.len();
    let line = |at: usize| match same && fits(&steady(shown[at]), &steady(printed[at])) {
        true => shown[at],
        false => printed[at],
    };
    (0..printed.len()).map(line).collect()
}

/// Whether a line is as shown, where `[..]` stands for anything.
fn fits(shown: &str, printed: &str) -> bool {
    let Some((start, rest)) = shown.split_once("[..]") else { return shown == printed };
    let (parts, end) = rest.rsplit_once("[..]").unwrap_or(("", rest));
    let between = printed.strip_prefix(start).and_then(|rest| rest.strip_suffix(end));
    let mut parts = parts.split("[..]");
    // Each part comes behind the one before.
    between.is_some_and(|rest| {
        parts.try_fold(rest, |rest, part| Some(rest.split_once(part)?.1)).is_some()
    })
}

/// What is printed without what varies: times, and peak memory.
fn steady(printed: &str) -> String {
    let mut printed = printed.to_owned();
    for member in ["\"seconds\":", "\"peak_memory\":"] {
        if let Some(at) = printed.find(member) {
            let (start, end) = printed.split_at(at + member.len());
            printed = format!("{start}#{}", end.trim_start_matches(|c| !matches!(c, ',' | '}')));
        }
    }
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

#[test]
fn what_varies_is_not_compared() {
    assert_eq!(
        steady("2 lines, peak 12.4 MiB, 0.010 s, exact\n1 left, 0.1 s\n"),
        "2 lines, peak # MiB, # s, exact\n1 left, # s\n"
    );
    assert_eq!(steady("1 line, 12 bits s\n"), "1 line, 12 bits s\n");
    assert_eq!(steady("{\"seconds\":0.1e-3,\"a\":1}"), "{\"seconds\":#,\"a\":1}");
    assert!(fits("a [..] c [..]d\n", "a b c d\n") && fits("a\n", "a\n") && fits("[..]\n", "x\n"));
    assert!(!fits("a [..] c\n", "a b d\n") && !fits("a", "ab") && !fits("a[..]b[..]b\n", "acb\n"));
}

#[cfg(unix)]
#[test]
fn a_page_that_shows_something_else_is_noticed() {
    let follow = |command: &str, shown: &str| {
        let page = format!("text\n```\n$ {command}\n{shown}```\nmore\n");
        Shell::with_terminal().follow(&page)
    };
    let command = "printf 'a\\na\\n' | umbel dedup";
    let page = follow(command, "a\numbel dedup: 2 lines, 1 different, 9.876 s\n");
    assert!(page.differences.is_empty() && page.renewed.contains("9.876"), "{}", page.renewed);
    let page = follow(command, "b\numbel dedup: 2 lines, 1 different, 9.876 s\n");
    assert_eq!((page.commands, page.differences.len()), (1, 1));
    assert!(page.renewed.contains(&format!("```\n$ {command}\na\numbel dedup: 2 lines,")));
    assert!(page.renewed.ends_with("s\n```\nmore\n"), "{}", page.renewed);
    let page = Shell::with_terminal().follow("```\numbel help\numbel dedup nowhere\n```\n");
    assert_eq!((page.commands, page.differences.len()), (2, 1));
}
