//! `cargo x dependencies`: what each crate of others that is in a program may do, as its source shows: code the compiler does
//! not check, code that runs while it is built, connections, other programs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use xtask::run::{cargo, each_line};

/// The programs that are handed out, by the options that select their packages.
const PROGRAMS: [(&str, &[&str]); 5] = [
    ("cli", &["-p", "umbel-cli"]),
    ("cli, all features", &["-p", "umbel-cli", "--features", "group,parquet"]),
    ("python", &["-p", "umbel-py"]),
    ("redis", &["-p", "umbel-redis"]),
    ("page", &["-p", "umbel-page"]),
];

/// What the source of a crate has.
#[derive(Default)]
struct Source {
    lines: usize,
    /// Lines with the word `unsafe`, comments left out.
    unchecked: usize,
    connects: bool,
    runs: bool,
}

pub(crate) fn run() -> Result<()> {
    let mut crates: BTreeMap<(String, String), BTreeSet<&str>> = BTreeMap::new();
    for (program, options) in PROGRAMS {
        let tree = ["tree", "--locked", "--prefix", "none", "--edges", "normal,build"];
        each_line(cargo(&tree).args(["--format", "{p}"]).args(options), |line| {
            let mut words = line.split(' ');
            if let (Some(name), Some(version), false) =
                (words.next(), words.next(), line.contains("(/"))
            {
                let version = version.trim_start_matches('v').to_owned();
                crates.entry((name.to_owned(), version)).or_default().insert(program);
            }
        })?;
    }
    println!(
        "| crate | in | lines | unsafe | runs while built | C library | connects | starts programs |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for ((name, version), programs) in &crates {
        let folder = folder(name, version)?;
        let manifest = fs::read_to_string(folder.join("Cargo.toml"))?;
        let has = |line: &str| manifest.lines().any(|found| found.starts_with(line));
        let built = match (has("build = \""), has("proc-macro = true")) {
            (true, _) => "build script",
            (_, true) => "macro",
            _ => "",
        };
        let mut source = Source::default();
        read(&folder.join("src"), &mut source)?;
        let yes = |is: bool| if is { "yes" } else { "" };
        // What one program has, the larger one has too.
        let programs: Vec<_> = programs
            .iter()
            .filter(|program| **program != "cli, all features" || !programs.contains("cli"))
            .copied()
            .collect();
        println!(
            "| {name} {version} | {} | {} | {} | {built} | {} | {} | {} |",
            programs.join(", "),
            source.lines,
            source.unchecked,
            yes(has("links = ")),
            yes(source.connects),
            yes(source.runs)
        );
    }
    println!("\n{} crates", crates.len());
    Ok(())
}

/// Where cargo has unpacked a crate.
fn folder(name: &str, version: &str) -> Result<PathBuf> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo"))).context("no home")?;
    let registries = fs::read_dir(home.join("registry/src")).context("cargo's crates")?;
    let folders = registries.flatten().map(|entry| entry.path().join(format!("{name}-{version}")));
    folders
        .into_iter()
        .find(|path| path.is_dir())
        .with_context(|| format!("{name} {version} is not unpacked; cargo fetch downloads it"))
}

fn read(folder: &Path, source: &mut Source) -> Result<()> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            read(&path, source)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            for line in text.lines() {
                let code = line.split("//").next().unwrap_or("");
                let mut words = code.split(|c: char| !c.is_alphanumeric() && c != '_');
                source.lines += 1;
                source.unchecked += usize::from(words.any(|word| word == "unsafe"));
                source.connects |= ["std::net", "TcpStream", "UdpSocket", "fn connect("]
                    .iter()
                    .any(|word| code.contains(word));
                source.runs |= code.contains("process::Command") || code.contains("Command::new(");
            }
        }
    }
    Ok(())
}
