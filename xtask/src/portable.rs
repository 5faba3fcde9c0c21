//! `cargo x portable`: tests the library on processors with other byte orders and word lengths, in an emulator if this
//! processor cannot run them, and builds it for more processors and systems. The engine and the command line are tested
//! for Windows in Wine, and linked for macOS.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, ensure};

use xtask::run::{self, target};

use crate::cross::{self, Need};

/// The options: for which targets.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The targets, such as `s390x-unknown-linux-gnu`; by default all.
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,
}

/// The packages that are built and tested.
const PACKAGES: &[&str] = &["--package=umbel", "--package=umbel-net", "--package=umbel-foreign"];

/// The packages that are built without the standard library.
const WITHOUT_STD: &[&str] = &["--package=umbel", "--package=umbel-net", "--no-default-features"];

/// Tests left out in an emulator, by parts of their names: statistics of millions of keys; each takes a minute there.
/// The positions and bytes that could differ are compared exactly by the other tests.
const SLOW: &[&str] = &[
    "attributes::unknown_values_pass_at_the_planned_rate",
    "cascade::neither_list_ever_errs",
    "cascade::other_keys_pass_at_the_promised_rate",
    "cascade::the_size_is_as_derived",
    "coded::the_rate_promised_is_kept",
    "compare::intervals_cover",
    "ends::",
    "math::coded::tests::chains_are_never_too_long_as_planned",
    "plain::",
    "prefixes::a_million_look_ups",
    "scalable::growth_can_be_refused_and_loses_nothing",
    "stable::the_stable_point_is_reached_and_kept",
    "window::the_rate_is_kept_however_long_the_stream",
    "window::the_window_has_both_ends",
];

/// The number of random cases of a test in an emulator, unless the test sets it: a quarter of the default.
const CASES: &str = "64";

/// The packages that differ between systems, and all that work on files.
const ON_FILES: &[&str] = &[
    "--package=umbel-sets",
    "--package=umbel-io",
    "--package=umbel-find",
    "--package=umbel-parquet",
    "--package=umbel-cli",
];

/// Tests left out in Wine, by parts of their names, and why.
const NOT_IN_WINE: &[&str] = &[
    // Runs Python, which Wine lacks.
    "rows::random_tables_come_out_as_of_sqlite_and_python",
    // Runs grep, which Wine lacks.
    "tests::random_texts_are_found_as_a_search_of_every_line_finds_them",
    // A file that was deleted keeps its name in Wine while it is open; Windows takes the name away.
    "journal::tests::what_was_recorded_is_read_while_the_run_ends",
    // Wine cannot replace an open file in one step: for a moment, its name is unused.
    "seen::runs_that_begin_together_put_out_each_line_once",
    // Wine's error only means that the file does not exist.
    "atomic::tests::a_name_that_is_too_long_is_told_before_the_work",
];

struct Target {
    triple: &'static str,
    /// In addition to Rust; what links tests comes first.
    needs: &'static [Need],
    /// False without an operating system.
    has_std: bool,
    work: Work,
}

enum Work {
    /// The library is built.
    Library,
    /// The tests of the library are linked and run.
    Tests { runner: &'static str },
    /// The tests of code that works on files are run in Wine.
    Wine,
    /// The command line is linked.
    Program,
}

/// The C compiler and linker for Windows.
const WINDOWS: &str = "x86_64-w64-mingw32-gcc-win32";
/// The tools that link programs for Windows, and run them.
pub(crate) const WINE: &[Need] =
    &[(WINDOWS, "gcc-mingw-w64-x86-64-win32"), ("wine", "wine wine64")];

const TARGETS: &[Target] = &[
    Target {
        triple: "aarch64-unknown-linux-gnu",
        needs: &[
            ("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"),
            ("/usr/aarch64-linux-gnu/lib/crt1.o", "libc6-dev-arm64-cross"),
            ("qemu-aarch64", "qemu-user"),
        ],
        has_std: true,
        work: Work::Tests { runner: "qemu-aarch64 -L /usr/aarch64-linux-gnu" },
    },
    // Big-endian.
    Target {
        triple: "s390x-unknown-linux-gnu",
        needs: &[
            ("s390x-linux-gnu-gcc", "gcc-s390x-linux-gnu"),
            ("/usr/s390x-linux-gnu/lib/crt1.o", "libc6-dev-s390x-cross"),
            ("qemu-s390x", "qemu-user"),
        ],
        has_std: true,
        work: Work::Tests { runner: "qemu-s390x -L /usr/s390x-linux-gnu" },
    },
    // 32-bit. An x86-64 runs it with the right loader and libraries.
    Target {
        triple: "i686-unknown-linux-gnu",
        needs: &[
            ("i686-linux-gnu-gcc", "gcc-i686-linux-gnu"),
            ("/usr/i686-linux-gnu/lib/crt1.o", "libc6-dev-i386-cross"),
        ],
        has_std: true,
        work: Work::Tests {
            runner: "/usr/i686-linux-gnu/lib/ld-linux.so.2 --library-path /usr/i686-linux-gnu/lib",
        },
    },
    // No files, no pages, 32-bit.
    Target { triple: "wasm32-unknown-unknown", needs: &[], has_std: true, work: Work::Library },
    Target { triple: "x86_64-pc-windows-gnu", needs: WINE, has_std: true, work: Work::Wine },
    Target { triple: "aarch64-apple-darwin", needs: &[], has_std: true, work: Work::Program },
    // Big-endian, 32-bit, without 64-bit atomics.
    Target { triple: "powerpc-unknown-linux-gnu", needs: &[], has_std: true, work: Work::Library },
    // No operating system, 32-bit.
    Target { triple: "thumbv7em-none-eabi", needs: &[], has_std: false, work: Work::Library },
    // The same, without a compare-and-exchange instruction.
    Target { triple: "thumbv6m-none-eabi", needs: &[], has_std: false, work: Work::Library },
];

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let targets = run::chosen(&arguments.targets, &Vec::from_iter(TARGETS), |one| one.triple)?;
    cross::require(targets.iter().map(|target| (target.triple, target.needs)))?;
    let results: Vec<_> = targets.iter().map(|target| target.run()).collect();
    let mut failed = Vec::new();
    for (target, result) in targets.iter().zip(results) {
        let line = result.unwrap_or_else(|error| {
            failed.push(target.triple);
            format!("FAILED: {error:#}")
        });
        println!("{:27} {line}", target.triple);
    }
    ensure!(failed.is_empty(), "failed for {}", failed.join(", "));
    Ok(())
}

impl Target {
    /// Builds and tests; returns a description of what was done.
    fn run(&self) -> Result<String> {
        let mut tests = self.cargo("test")?;
        tests.arg("--no-fail-fast").arg("--lib");
        match self.work {
            Work::Library => {
                let packages = if self.has_std { PACKAGES } else { WITHOUT_STD };
                run::run(self.cargo("build")?.args(packages).arg("--lib"))?;
                return Ok("library built".to_owned());
            }
            Work::Program => {
                run::run(cross::zigbuild(self.triple, None)?.arg("--package=umbel-cli"))?;
                return Ok("command line linked".to_owned());
            }
            Work::Tests { runner } => {
                tests.args(PACKAGES).args(["--test", "*", "--"]);
                // They start this program again, but not its runner.
                tests.args(["--skip=shared_file::killed_", "--skip=shared_file::an_unsealed_"]);
                tests.env(variable(self.triple, "LINKER"), self.needs[0].0);
                tests.env(variable(self.triple, "RUNNER"), runner);
                if runner.starts_with("qemu") {
                    tests.args(SLOW.iter().flat_map(|name| ["--skip", name]));
                    tests.env("PROPTEST_CASES", CASES);
                }
            }
            Work::Wine => {
                // The tests of umbel-parquet need a feature that those of the command line turn on.
                tests.args(ON_FILES).args(["--test=all", "--test=files", "--"]);
                tests.args(NOT_IN_WINE.iter().flat_map(|name| ["--skip", name]));
                tests.env(variable(self.triple, "LINKER"), WINDOWS);
                tests.env(variable(self.triple, "RUNNER"), "wine");
                tests.env("PROPTEST_CASES", CASES).envs(wine()?);
            }
        }
        let [passed, ignored, skipped] = counts(&mut tests)?;
        ensure!(passed > 0, "no tests were run");
        Ok(format!("{passed} tests passed, {ignored} left to --full, {skipped} left out here"))
    }

    /// A cargo that compiles for this target, for one of its commands.
    fn cargo(&self, command: &str) -> Result<Command> {
        let mut cargo = cross::cargo_for(self.triple, command, self.has_std)?;
        if cross::is_installed(self.triple)? {
            // Some names are unused on some processors.
            cargo.env("RUSTFLAGS", "-Dwarnings");
        }
        Ok(cargo)
    }
}

/// The name of the variable for a setting of a target.
fn variable(triple: &str, name: &str) -> String {
    format!("CARGO_TARGET_{}_{name}", triple.replace('-', "_").to_uppercase())
}

/// The variables for running Rust programs in Wine, in a separate Windows.
pub(crate) fn wine() -> Result<[(&'static str, PathBuf); 3]> {
    let folder = target().join("wine");
    fs::create_dir_all(&folder)?;
    let source = folder.join("random.c");
    // The random bytes of Rust's standard library, which Wine 8 does not know by this name.
    fs::write(&source, include_str!("random.c"))?;
    let mut compile = Command::new(WINDOWS);
    compile.args(["-shared", "-O2", "-o"]).arg(folder.join("bcryptprimitives.dll"));
    run::run(compile.arg(source).arg("-ladvapi32"))?;
    let windows = folder.join("prefix");
    // The root of Unix, as seen in Windows.
    let dlls = PathBuf::from(format!("Z:{}", folder.display()).replace('/', "\\"));
    Ok([("WINEPREFIX", windows), ("WINEPATH", dlls), ("WINEDEBUG", "-all".into())])
}

/// Runs tests and counts those that passed, were ignored and were left out, from the last line of each test program.
fn counts(command: &mut Command) -> Result<[u64; 3]> {
    let mut counts = [0; 3];
    run::each_line(command, |line| {
        println!("{line}");
        let Some(result) = line.strip_prefix("test result: ") else { return };
        for part in result.split([';', '.']) {
            let Some((number, what)) = part.trim().split_once(' ') else { continue };
            let Ok(number) = number.parse::<u64>() else { continue };
            let names = ["passed", "ignored", "filtered out"];
            let Some(place) = names.iter().position(|name| *name == what) else { continue };
            counts[place] += number;
        }
    })?;
    Ok(counts)
}
