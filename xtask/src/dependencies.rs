//! `cargo x dependencies`: what each crate of others that is in a program may do, as its source shows: code the compiler does
//! not check, code that runs while it is built, connections, other programs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::parts::{self, Part};

/// The programs that are handed out: their packages and features.
const PROGRAMS: [(&str, &str, &str); 5] = [
    ("cli", "umbel-cli", ""),
    ("cli, all features", "umbel-cli", "group,parquet"),
    ("python", "umbel-py", ""),
    ("redis", "umbel-redis", ""),
    ("page", "umbel-page", ""),
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
    let mut crates: BTreeMap<Part, BTreeSet<&str>> = BTreeMap::new();
    for (program, package, features) in PROGRAMS {
        let parts = parts::of(package, features, "normal,build", None)?;
        for part in parts.into_iter().filter(|part| !part.own) {
            crates.entry(part).or_default().insert(program);
        }
    }
    println!(
        "| crate | in | lines | unsafe | runs while built | C library | connects | starts programs |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for (Part { name, version, folder, .. }, programs) in &crates {
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
