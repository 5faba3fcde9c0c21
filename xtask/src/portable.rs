//! `cargo x portable`: tests the library on processors with other byte orders and word lengths, in an emulator if this
//! processor cannot run them, and builds it for more processors and systems.
//!
//! A target that rustup has installed is compiled with the Rust that runs this. For others the standard library is
//! built from source with Debian's Rust, whose package manager has everything needed. Missing tools are an error:
//! nothing is skipped.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use xtask::run::{self, cargo, root, target};

/// The options: for which targets.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The targets, such as `s390x-unknown-linux-gnu`; by default all.
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,
}

/// What is built and tested.
const PACKAGES: &[&str] = &["--package=umbel", "--package=umbel-net", "--package=umbel-foreign"];

/// What is built without the standard library.
const WITHOUT_STD: &[&str] = &["--package=umbel", "--package=umbel-net", "--no-default-features"];

/// Tests left out in an emulator, by parts of their names: statistics of millions of keys, each of which takes a minute
/// there. The positions and bytes that could differ are compared exactly by the other tests.
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
    "scalable::batches_of_any_size_give_the_same_filter",
    "scalable::growth_can_be_refused_and_loses_nothing",
    "stable::the_stable_point_is_reached_and_kept",
    "window::the_rate_is_kept_however_long_the_stream",
    "window::the_window_has_both_ends",
];

/// The number of random cases of a test in an emulator, unless the test sets it: a quarter of the default.
const CASES: &str = "64";

/// A file that exists if a Debian package is installed; without a slash, a program.
type Need = (&'static str, &'static str);

/// The Rust of Debian.
const DEBIAN: &[Need] = &[
    ("/usr/bin/rustc", "rustc-web"),
    ("/usr/bin/cargo", "cargo-web"),
    ("/usr/lib/rustlib/src/rust/library/Cargo.lock", "rust-web-src"),
];

struct Target {
    triple: &'static str,
    /// In addition to Rust.
    needs: &'static [Need],
    has_std: bool,
    /// Tests are linked and run, or the library is only built.
    tests: Option<Tests>,
}

struct Tests {
    linker: &'static str,
    runner: &'static str,
    is_emulated: bool,
}

const TARGETS: &[Target] = &[
    Target {
        triple: "aarch64-unknown-linux-gnu",
        needs: &[
            ("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"),
            ("/usr/aarch64-linux-gnu/lib/crt1.o", "libc6-dev-arm64-cross"),
            ("qemu-aarch64", "qemu-user"),
        ],
        has_std: true,
        tests: Some(Tests {
            linker: "aarch64-linux-gnu-gcc",
            runner: "qemu-aarch64 -L /usr/aarch64-linux-gnu",
            is_emulated: true,
        }),
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
        tests: Some(Tests {
            linker: "s390x-linux-gnu-gcc",
            runner: "qemu-s390x -L /usr/s390x-linux-gnu",
            is_emulated: true,
        }),
    },
    // 32-bit. An x86-64 runs it, given the loader and libraries.
    Target {
        triple: "i686-unknown-linux-gnu",
        needs: &[
            ("i686-linux-gnu-gcc", "gcc-i686-linux-gnu"),
            ("/usr/i686-linux-gnu/lib/crt1.o", "libc6-dev-i386-cross"),
        ],
        has_std: true,
        tests: Some(Tests {
            linker: "i686-linux-gnu-gcc",
            runner: "/usr/i686-linux-gnu/lib/ld-linux.so.2 --library-path /usr/i686-linux-gnu/lib",
            is_emulated: false,
        }),
    },
    // No files, no pages, 32-bit.
    Target { triple: "wasm32-unknown-unknown", needs: &[], has_std: true, tests: None },
    // Its import libraries are written by a program of binutils.
    Target {
        triple: "x86_64-pc-windows-gnu",
        needs: &[("x86_64-w64-mingw32-dlltool", "binutils-mingw-w64-x86-64")],
        has_std: true,
        tests: None,
    },
    // Big-endian, 32-bit, without 64-bit atomics.
    Target { triple: "powerpc-unknown-linux-gnu", needs: &[], has_std: true, tests: None },
    // No system at all, 32-bit.
    Target { triple: "thumbv7em-none-eabi", needs: &[], has_std: false, tests: None },
    // Nor an instruction that compares and exchanges.
    Target { triple: "thumbv6m-none-eabi", needs: &[], has_std: false, tests: None },
];

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let targets = chosen(&arguments.targets)?;
    require(&targets)?;
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

/// The targets of these names.
fn chosen(names: &[String]) -> Result<Vec<&'static Target>> {
    if names.is_empty() {
        return Ok(TARGETS.iter().collect());
    }
    let find = |name: &String| {
        TARGETS.iter().find(|target| target.triple == name).with_context(|| {
            let known: Vec<_> = TARGETS.iter().map(|target| target.triple).collect();
            format!("no target {name}; there are {}", known.join(", "))
        })
    };
    names.iter().map(find).collect()
}

/// Fails, with the packages to install, if something is missing.
fn require(targets: &[&Target]) -> Result<()> {
    let mut missing = Vec::new();
    for target in targets {
        let rust = if target.is_installed()? { &[][..] } else { DEBIAN };
        for (file, package) in rust.iter().chain(target.needs) {
            if !missing.contains(package) && !is_there(file) {
                missing.push(*package);
            }
        }
    }
    ensure!(
        missing.is_empty(),
        "missing: apt-get install --no-install-recommends {} (on Debian; targets of rustup need none of its Rust)",
        missing.join(" ")
    );
    Ok(())
}

/// Whether there is such a file, or such a program.
fn is_there(file: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    // A path from the root stays as it is when joined.
    std::env::split_paths(&path).any(|folder| folder.join(file).is_file())
}

impl Target {
    /// Whether the Rust that runs this has the standard library for this target.
    fn is_installed(&self) -> Result<bool> {
        let mut rustc = Command::new("rustc");
        let output = rustc.args(["--print", "sysroot"]).current_dir(root()).output();
        let output = output.context("cannot run rustc")?.stdout;
        let sysroot = String::from_utf8(output).context("the path of rustc is not UTF-8")?;
        Ok(Path::new(sysroot.trim()).join("lib/rustlib").join(self.triple).join("lib").is_dir())
    }

    /// Builds and tests; returns a description of what was done.
    fn run(&self) -> Result<String> {
        let Some(tests) = &self.tests else {
            run::run(self.cargo("build")?.arg("--lib"))?;
            return Ok("library built".to_owned());
        };
        let variable =
            |name| format!("CARGO_TARGET_{}_{name}", self.triple.replace('-', "_").to_uppercase());
        let mut command = self.cargo("test")?;
        command.arg("--package=umbel-tests");
        command.args(["--no-fail-fast", "--lib", "--test", "*", "--"]);
        command.env(variable("LINKER"), tests.linker).env(variable("RUNNER"), tests.runner);
        if tests.is_emulated {
            command.args(SLOW.iter().flat_map(|name| ["--skip", name]));
            command.env("PROPTEST_CASES", CASES);
        }
        let counts = counts(&mut command)?;
        ensure!(counts.passed > 0, "no tests were run");
        let Counts { passed, ignored, skipped } = counts;
        Ok(format!("{passed} tests passed, {ignored} left to --full, {skipped} too slow here"))
    }

    /// A cargo that compiles for this target, for one of its commands.
    fn cargo(&self, command: &str) -> Result<Command> {
        let options = ["--quiet", "--locked", "--target", self.triple];
        let mut cargo = if self.is_installed()? {
            let mut cargo = cargo(&[command]);
            // Some names are used on some processors only.
            cargo.env("RUSTFLAGS", "-Dwarnings");
            cargo
        } else {
            let mut cargo = Command::new("/usr/bin/cargo");
            let built =
                if self.has_std { "std,panic_unwind,panic_abort,test" } else { "core,alloc" };
            cargo.args([command, &format!("-Zbuild-std={built}")]);
            // What builds the standard library is not stable. Libraries of the Rust that runs this are of no use to another.
            cargo.env("RUSTC", "/usr/bin/rustc").env("RUSTC_BOOTSTRAP", "1");
            cargo.env_remove("LD_LIBRARY_PATH");
            cargo
        };
        cargo.args(options).args(if self.has_std { PACKAGES } else { WITHOUT_STD });
        cargo.env("CARGO_TARGET_DIR", target().join("portable"));
        Ok(cargo)
    }
}

/// The results of tests.
#[derive(Default)]
struct Counts {
    passed: u64,
    ignored: u64,
    skipped: u64,
}

/// Runs tests and counts them, from the line that each program of tests ends with.
fn counts(command: &mut Command) -> Result<Counts> {
    let mut counts = Counts::default();
    run::read(command, |line| {
        let Some(result) = line.strip_prefix("test result: ") else { return };
        for part in result.split([';', '.']) {
            let Some((number, what)) = part.trim().split_once(' ') else { continue };
            let Ok(number) = number.parse::<u64>() else { continue };
            match what {
                "passed" => counts.passed += number,
                "ignored" => counts.ignored += number,
                "filtered out" => counts.skipped += number,
                _ => {}
            }
        }
    })?;
    Ok(counts)
}
