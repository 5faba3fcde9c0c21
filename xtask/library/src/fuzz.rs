//! `cargo x fuzz`: runs the fuzz targets, a workspace of their own. `fuzz/README.md` describes what they check.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use umbel::{
    AnyFilter, Attributes, Filter, KeyDescription, KeyHasher, Kind, Mixed64, Plan, Prehashed,
};
use umbel_foreign::{Foreign, ForeignFilter, Format, Key, Parameters};

use crate::parameters;
use crate::statistics::splitmix;
use xtask::run::{self, cargo, entries, root};

/// The driver, pinned.
const CARGO_FUZZ: &str = "0.13.2";
/// The maximum bytes of an input: larger ones are slower, and reach nothing else.
const MOST_BYTES: u64 = 32 << 10;
/// The same for other systems' filters, which have shorter headers.
const MOST_FOREIGN_BYTES: u64 = 4 << 10;
/// The longest that an input may take, in seconds.
const SLOWEST: u32 = 20;

/// The programs, of which `foreign` is for each format, and for all of them.
const PROGRAMS: [&str; 11] = [
    "file",
    "operations",
    "sets",
    "redis",
    "javascript",
    "shared",
    "peers",
    "footer",
    "pages",
    "index",
    "foreign",
];

/// The targets to fuzz, and for how long.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// `file`, `operations`, `sets`, `redis`, `javascript`, `shared`, `peers`, `footer`, `pages`, `index`, `foreign` or the name of a format, such as `guava`; all of them by default.
    targets: Vec<String>,
    /// Seconds for each target.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Run only this input, such as a finding, on the target named.
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
}

/// A program, and for `foreign` the one format of its inputs.
#[derive(Clone, Copy)]
struct Target {
    program: &'static str,
    format: Option<Format>,
}

impl Target {
    fn all() -> impl Iterator<Item = Self> {
        let programs = PROGRAMS.iter().map(|&program| Self { program, format: None });
        let formats = Format::ALL.iter();
        programs.chain(formats.map(|&format| Self { program: "foreign", format: Some(format) }))
    }

    fn name(self) -> &'static str {
        self.format.map_or(self.program, Format::name)
    }

    /// The bytes of its largest input.
    fn most_bytes(self) -> u64 {
        if self.program == "foreign" { MOST_FOREIGN_BYTES } else { MOST_BYTES }
    }

    /// The program, started for this target.
    fn command(self) -> Result<Command> {
        let mut command = Command::new(program(self.program)?);
        command.env_remove("UMBEL_FORMAT").env("RUST_BACKTRACE", "1").current_dir(root());
        if let Some(format) = self.format {
            command.env("UMBEL_FORMAT", format.name());
        }
        Ok(command)
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let all: Vec<_> = Target::all().collect();
    let targets = run::chosen(&arguments.targets, &all, |target| target.name())?;
    build()?;
    if let Some(input) = &arguments.input {
        let &[target] = &targets[..] else { bail!("an input is of one target: name that") };
        let input = input.canonicalize().with_context(|| input.display().to_string())?;
        return run::run(target.command()?.arg(input));
    }
    println!(
        "{:<22}{:>8}{:>14}{:>10}{:>14}  findings",
        "target", "seconds", "executions", "edges", "corpus"
    );
    let mut found = Vec::new();
    for target in targets {
        found.extend(fuzz(target, arguments.seconds)?);
    }
    ensure!(
        found.is_empty(),
        "findings, each to be run again by `cargo x fuzz TARGET --input FILE`:\n{}",
        found.join("\n")
    );
    Ok(())
}

/// The folder for everything that fuzzing makes.
fn folder() -> PathBuf {
    run::target().join("fuzz")
}

/// Builds all programs with the address sanitizer and coverage counters.
fn build() -> Result<()> {
    let tools = folder().join("tools");
    let driver = tools.join("bin/cargo-fuzz");
    let found = Command::new(&driver).args(["fuzz", "--version"]).output();
    if !found.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains(CARGO_FUZZ)) {
        let install = ["install", "--quiet", "--locked", "--force", "cargo-fuzz", "--version"];
        run::run(cargo(&install).arg(CARGO_FUZZ).arg("--root").arg(tools))?;
    }
    let mut command = nightly(driver.to_str().context("the folder's name is no text")?)?;
    command.args(["fuzz", "build", "--fuzz-dir"]).arg(root().join("fuzz"));
    run::run(command.arg("--target-dir").arg(folder().join("build")))
}

/// A command of the nightly toolchain, next to the stable one that runs this, in the root; fails without its compiler.
fn nightly(program: &str) -> Result<Command> {
    let list = ["component", "list", "--toolchain", "nightly", "--installed"];
    let list = Command::new("rustup").args(list).output();
    let is_installed = list.is_ok_and(|output| {
        String::from_utf8_lossy(&output.stdout).lines().any(|line| line.starts_with("rustc"))
    });
    ensure!(
        is_installed,
        "rustc of a nightly compiler is missing; `rustup toolchain install nightly --profile minimal --component miri,rust-src,llvm-tools` gets it"
    );
    let mut command = Command::new("rustup");
    command.args(["run", "nightly", program]).current_dir(root());
    // Otherwise the variables of the cargo that runs this would override the nightly ones.
    for name in ["CARGO", "RUSTC", "RUSTDOC", "RUSTUP_TOOLCHAIN", "LD_LIBRARY_PATH"] {
        command.env_remove(name);
    }
    Ok(command)
}

/// A program that was built there; its folder is named after the machine.
fn program(name: &str) -> Result<PathBuf> {
    let build = folder().join("build");
    let machines = entries(&build)?.into_iter();
    let mut programs = machines.map(|machine| machine.join("release").join(name));
    programs
        .find(|path| path.exists())
        .with_context(|| format!("no program {name} in {}", build.display()))
}

/// Fuzzes a target and prints its line; returns the findings.
fn fuzz(target: Target, seconds: u64) -> Result<Vec<String>> {
    let name = target.name();
    let [seeds, corpus, findings] =
        ["seeds", "corpus", "findings"].map(|kind| folder().join(kind).join(name));
    let _ = fs::remove_dir_all(&seeds);
    for folder in [&seeds, &corpus, &findings] {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    for (number, seed) in self::seeds(target)?.iter().enumerate() {
        fs::write(seeds.join(number.to_string()), seed)?;
    }
    let before = entries(&findings)?;
    let log = folder().join(format!("{name}.log"));
    let mut command = target.command()?;
    command.args([&corpus, &seeds]).arg(format!("-artifact_prefix={}/", findings.display()));
    command
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-timeout={SLOWEST}"))
        .arg(format!("-report_slow_units={SLOWEST}"));
    command
        .arg(format!("-max_len={}", target.most_bytes()))
        .args(["-rss_limit_mb=1024", "-print_final_stats=1"]);
    // Operations, commands and columns have no seeds to derive a length from, and few of them do little.
    command.args(entries(&seeds)?.is_empty().then_some("-len_control=0"));
    // The end of a scope may come before the last steps of its threads, whose memory then looks lost.
    command.args((target.program == "pages").then_some("-detect_leaks=0"));
    command.stdout(Stdio::null()).stderr(fs::File::create(&log)?);
    let status = command.status().with_context(|| format!("cannot run {name}"))?;
    let text = String::from_utf8_lossy(&fs::read(&log)?).into_owned();
    let new: Vec<_> =
        entries(&findings)?.into_iter().filter(|path| !before.contains(path)).collect();
    let word_after = |mark: &str| {
        text.rfind(mark)
            .and_then(|at| text[at + mark.len()..].split_whitespace().next())
            .unwrap_or("?")
    };
    println!(
        "{name:<22}{seconds:>8}{:>14}{:>10}{:>14}  {}",
        word_after("number_of_executed_units:"),
        word_after("cov:"),
        word_after("corp:"),
        new.len()
    );
    if !status.success() {
        let marks = ["panicked at", "memory allocation of", "ERROR:"];
        let panic = marks.iter().find_map(|mark| text.find(mark)).unwrap_or(0);
        text[panic..].lines().take(6).for_each(|line| eprintln!("  {line}"));
        ensure!(!new.is_empty(), "{name}: {status}, without a finding; see {}", log.display());
    }
    Ok(new.iter().map(|path| format!("{name}: {}", path.display())).collect())
}

/// The seeds of a target: the files in `testdata` that it reads, and for formats also small filters, in which every
/// change matters.
fn seeds(target: Target) -> Result<Vec<Vec<u8>>> {
    let most = target.most_bytes();
    let of = |folder: &str, is: fn(&[u8]) -> bool| -> Result<Vec<Vec<u8>>> {
        let mut files = files(&root().join("testdata").join(folder))?;
        files.retain(|file| is(file));
        Ok(files)
    };
    let mut seeds = match target.program {
        "file" => [of("golden", |file| file.starts_with(b"\x89UMBEL"))?, described()?].concat(),
        "shared" => {
            of("shared", |file| !file.starts_with(b"\x89UMBEL") && file.starts_with(b"\x89UM"))?
        }
        "footer" => {
            let footer = |file: Vec<u8>| {
                let (rest, length) = file[..file.len() - 4].split_last_chunk().expect("it is one");
                rest[rest.len() - u32::from_le_bytes(*length) as usize..].to_vec()
            };
            let files = of("foreign/parquet", |file| file.ends_with(b"PAR1"))?;
            files.into_iter().map(footer).collect()
        }
        "index" => of("find", |file| file.starts_with(b"\x89UM"))?,
        "foreign" => {
            let mut seeds = files(&root().join("testdata/foreign"))?;
            for folder in ["redisbloom", "redisbloom-cuckoo"] {
                seeds.extend(chains(&root().join("testdata/foreign").join(folder))?);
            }
            let mut formats = Format::ALL.to_vec();
            formats.retain(|format| target.format.is_none_or(|only| only == *format));
            let is = |seed: &[u8], of: Format| {
                Foreign::decode_with(of, seed, &parameters::told(of)).is_ok()
            };
            seeds.retain(|seed| formats.iter().any(|format| is(seed, *format)));
            for format in formats {
                for given in parameters(format) {
                    seeds.extend(small(format, &given)?);
                }
            }
            seeds
        }
        // Their inputs are steps.
        _ => Vec::new(),
    };
    seeds.retain(|seed| seed.len() as u64 <= most);
    Ok(seeds)
}

/// Small filters of every kind with descriptions of their keys, and of hashes made elsewhere where possible.
fn described() -> Result<Vec<Vec<u8>>> {
    const KEYS: u64 = 20;
    let hashes: Vec<u64> = (0..KEYS).map(splitmix).collect();
    let mut keys = KeyDescription::default();
    for (name, value) in [("field", "host"), ("type", "text"), ("normalization", "lowercase")] {
        keys.push(name, value)?;
    }
    let file = |kind: Kind| -> Result<Vec<u8>> {
        let plan = Plan::for_keys(kind, KEYS, 0.1)?;
        if kind.rows() {
            let mut filter = Attributes::with_names(&plan, &["host"], KeyHasher::default())?;
            filter.describe(keys.clone());
            return Ok(filter.to_bytes());
        }
        let mut filter = AnyFilter::build(&plan, Mixed64::from_slice(&hashes), Prehashed::new(1))?;
        filter.describe(keys.clone());
        Ok(filter.to_bytes())
    };
    Kind::ALL.iter().copied().map(file).collect()
}

/// The contents of all files of a folder and of those in it.
fn files(folder: &Path) -> Result<Vec<Vec<u8>>> {
    let mut contents = Vec::new();
    for path in entries(folder)? {
        if path.is_dir() {
            contents.extend(files(&path)?);
        } else {
            contents.push(fs::read(path)?);
        }
    }
    Ok(contents)
}

/// The dumps of RedisBloom, whose chunks are files `NAME.chunk0.bin` and on.
fn chains(folder: &Path) -> Result<Vec<Vec<u8>>> {
    let heads = entries(folder)?
        .into_iter()
        .filter_map(|path| Some(path.to_str()?.strip_suffix("0.bin")?.to_owned()));
    let chain = |head: String| -> Result<Vec<u8>> {
        let chunks =
            (0..).map(|i| PathBuf::from(format!("{head}{i}.bin"))).take_while(|path| path.exists());
        Ok(chunks.map(fs::read).collect::<Result<Vec<_>, _>>()?.concat())
    };
    heads.map(chain).collect()
}

/// Parameters of small filters: the defaults, and with each option.
fn parameters(format: Format) -> Vec<Parameters> {
    let given = parameters::small(format);
    let options = format.options().iter().map(|(option, _)| given.clone().with(option));
    let mut all: Vec<_> = options.collect();
    all.push(given);
    all
}

/// Filters of no keys, of a few, and of enough to make growing ones grow.
fn small(format: Format, given: &Parameters) -> Result<Vec<Vec<u8>>> {
    let texts: Vec<String> = (0..40).map(|i| format!("key {i}")).collect();
    let filter = |count: usize| -> Result<Option<Vec<u8>>> {
        let keys = texts[..count].iter().map(|text| Key::from(text.as_str()));
        match Foreign::build(format, given, keys) {
            Ok(filter) => Ok(Some(filter.encode()?)),
            Err(umbel_foreign::Error::Full { .. }) => Ok(None),
            Err(error) => Err(error).with_context(|| format!("a seed of {format}")),
        }
    };
    [0, 8, 40].into_iter().filter_map(|count| filter(count).transpose()).collect()
}
