//! Compares the public interface of the libraries with `api.txt` in their folders, to catch every change of it.
//!
//! The list comes from rustdoc's JSON, which is unstable: this program replaces rustdoc when cargo calls it, and
//! enables its nightly features. (Enabling them for all of cargo would compile every dependency again.)

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::{env, fs};

use anyhow::{Context, Result, ensure};
use public_api::Builder;

/// The libraries others may depend on.
const LIBRARIES: [&str; 4] = ["umbel", "umbel-foreign", "umbel-net", "umbel-sets"];
/// Set where this program is run as rustdoc.
const AS_RUSTDOC: &str = "UMBEL_API_AS_RUSTDOC";

fn main() -> Result<ExitCode> {
    let arguments: Vec<_> = env::args_os().skip(1).collect();
    if env::var_os(AS_RUSTDOC).is_some() {
        let mut rustdoc = Command::new("rustdoc");
        let status = rustdoc.args(arguments).env("RUSTC_BOOTSTRAP", "1").status()?;
        return Ok(ExitCode::from(if status.success() { 0 } else { 1 }));
    }
    let update = arguments.iter().any(|argument| argument == "--update");
    let mut same = true;
    for library in LIBRARIES {
        same &= compare(library, update).with_context(|| library)?;
    }
    Ok(if same { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns whether the interface of a library is the one in its file, after an update if asked.
fn compare(library: &str, update: bool) -> Result<bool> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let target =
        env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), |path| root.join(path));
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or("cargo".into()));
    cargo
        .args(["rustdoc", "--quiet", "--locked", "--lib", "--all-features", "--package", library])
        .args(["--", "-Z", "unstable-options", "--output-format", "json", "--cap-lints", "allow"])
        .env("RUSTDOC", env::current_exe()?)
        .env(AS_RUSTDOC, "1")
        .current_dir(&root);
    ensure!(cargo.status()?.success(), "cargo rustdoc failed");
    let json = target.join("doc").join(library.replace('-', "_")).with_extension("json");
    let builder = Builder::from_rustdoc_json(&json);
    let listed = builder
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .sorted(true)
        .build();
    let now = match listed {
        // Items that are also exported at the root are listed twice.
        Ok(api) => unique(&api.to_string()),
        // The format changes with the compiler, and cannot be read by one version of the reader.
        Err(error) => {
            eprintln!("warning: the interface of {library} is not compared: {error}");
            return Ok(true);
        }
    };
    let path = root.join("crates").join(library).join("api.txt");
    if update {
        fs::write(&path, &now)?;
        println!("{library}: {} public items", now.lines().count());
        return Ok(true);
    }
    let kept = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let [kept, now] = [&kept, &now].map(|text| text.lines().collect::<BTreeSet<_>>());
    kept.difference(&now).for_each(|gone| println!("-{gone}"));
    now.difference(&kept).for_each(|new| println!("+{new}"));
    if kept != now {
        println!(
            "the interface of {library} is not that of crates/{library}/api.txt; if it should be: cargo run -p xtask-api -- --update"
        );
    }
    Ok(kept == now)
}

/// The lines of a text, each once.
fn unique(text: &str) -> String {
    let mut seen = BTreeSet::new();
    text.lines().filter(|line| seen.insert(*line)).flat_map(|line| [line, "\n"]).collect()
}
