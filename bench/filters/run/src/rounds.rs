//! The programs and the cases they run on; builds and runs them.
//!
//! A program is a separate process for each case and round. A round goes through the cases, and for each through the
//! programs, starting with another one each round; so figures that are compared were measured within about the same
//! minute. The limit runs directly before umbel.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use crate::machine::Ticks;
use crate::record::{About, End, Failure, Line};

/// A program of `bench/filters`, and where it can be run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Program {
    pub(crate) folder: &'static str,
    /// An extra argument, after the arguments of the case.
    pub(crate) argument: Option<&'static str>,
    /// Distinguishes its figures from the plain ones; empty for these.
    pub(crate) variant: &'static str,
    pub(crate) environment: &'static [(&'static str, &'static str)],
    pub(crate) keys: &'static [&'static str],
    pub(crate) rates: &'static [f64],
}

const RATES: [f64; 3] = [0.1, 0.01, 0.001];
const FORMS: [&str; 3] = ["hashed", "u64", "str64"];
/// Text and integers only at this rate: what they add is the hashing, which no rate changes.
const KEY_RATE: f64 = 0.01;

pub(crate) const fn program(folder: &'static str, keys: &'static [&'static str]) -> Program {
    Program { folder, argument: None, variant: "", environment: &[], keys, rates: &RATES }
}

/// A program for which glibc requests huge pages, as umbel does by itself.
const fn huge(folder: &'static str) -> Program {
    let environment = &[("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1")];
    let rates = &[0.01];
    Program { variant: "huge pages", environment, rates, ..program(folder, &["hashed"]) }
}

const PROGRAMS: &[Program] = &[
    // It hashes texts and integers as umbel does.
    program("limit", &FORMS),
    program("umbel", &FORMS),
    program("fastbloom", &FORMS),
    program("sbbf", &["hashed"]),
    program("datasketches", &["u64", "str64"]),
    Program { rates: &[0.01], ..program("xorf", &FORMS) }, // one rate, 0.4 %
    huge("fastbloom"),
    huge("sbbf"),
];

/// A number of keys, a rate and a form of keys, with the programs that are run on it.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) n: u64,
    pub(crate) fpp: f64,
    pub(crate) keys: &'static str,
    pub(crate) programs: Vec<Program>,
}

impl Case {
    /// Whether a program is run in every round. From 100 million keys on, a case takes minutes; there
    /// only what a goal compares is, and the rest in the last round.
    fn is_repeated(&self, program: &Program) -> bool {
        self.n < 100_000_000
            || self.fpp == KEY_RATE
                && match self.keys {
                    "hashed" => program.variant.is_empty(),
                    "str64" => ["limit", "umbel"].contains(&program.folder),
                    _ => false,
                }
    }
}

/// The cases and programs to run: `what=value` words.
pub(crate) struct Only<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Only<'a> {
    pub(crate) fn parse(words: &'a [String]) -> Result<Self> {
        let words = words.iter().map(|word| {
            let (what, value) = word.split_once('=').with_context(|| {
                format!("--only takes n=…, fpp=…, keys=…, peer=…, not {word:?}")
            })?;
            let is_known = ["n", "fpp", "keys", "peer"].contains(&what);
            ensure!(is_known, "--only: {what:?} is none of n, fpp, keys, peer");
            Ok((what, value))
        });
        Ok(Self(words.collect::<Result<_>>()?))
    }

    /// Whether a value of `what` is wanted, or any is.
    pub(crate) fn among(&self, what: &str, value: impl Fn(&str) -> bool) -> bool {
        let mut wanted = self.0.iter().filter(|word| word.0 == what).peekable();
        wanted.peek().is_none() || wanted.any(|word| value(word.1))
    }

    /// As [`among`](Self::among), of a number.
    pub(crate) fn equals(&self, what: &str, value: f64) -> bool {
        self.among(what, |word| word.parse() == Ok(value))
    }
}

/// The cases, those left by `only`.
pub(crate) fn cases(quick: bool, full: bool, only: &[String]) -> Result<Vec<Case>> {
    let only = Only::parse(only)?;
    let mut sizes =
        if quick { vec![100_000, 1_000_000] } else { vec![100_000, 10_000_000, 100_000_000] };
    if full {
        sizes.push(500_000_000);
    }
    let mut cases = Vec::new();
    for n in sizes {
        for keys in FORMS {
            for fpp in RATES {
                let runs = |program: &&Program| {
                    program.keys.contains(&keys)
                        && program.rates.contains(&fpp)
                        && (n <= 100_000_000 || ["limit", "umbel"].contains(&program.folder))
                        && only.among("peer", |name| name == program.folder)
                };
                let programs: Vec<_> = PROGRAMS.iter().filter(runs).copied().collect();
                let wanted = only.equals("n", n as f64)
                    && only.equals("fpp", fpp)
                    && only.among("keys", |form| form == keys)
                    && match keys {
                        "str64" => fpp == KEY_RATE && n <= 100_000_000,
                        "u64" => fpp == KEY_RATE,
                        _ => true,
                    };
                if wanted && !programs.is_empty() {
                    cases.push(Case { n, fpp, keys, programs });
                }
            }
        }
    }
    ensure!(!cases.is_empty(), "--only leaves nothing to measure");
    Ok(cases)
}

/// Builds programs, each by its own lock file.
pub(crate) fn build(bench: &Path, target: &Path, folders: &[&str]) -> Result<()> {
    for folder in folders {
        eprintln!("building {folder}");
        let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
        let status = Command::new(cargo)
            .args(["build", "--release", "--quiet", "--locked", "--manifest-path"])
            .arg(bench.join("filters").join(folder).join("Cargo.toml"))
            .arg("--target-dir")
            .arg(target)
            .status()?;
        ensure!(status.success(), "{folder} does not build");
    }
    Ok(())
}

/// The programs of the cases.
pub(crate) fn folders(cases: &[Case]) -> Vec<&'static str> {
    let mut folders: Vec<_> =
        cases.iter().flat_map(|case| &case.programs).map(|program| program.folder).collect();
    folders.sort_unstable();
    folders.dedup();
    folders
}

/// Runs all rounds and writes every figure to `path` as it comes.
pub(crate) fn run(target: &Path, cases: &[Case], about: About, path: &Path) -> Result<()> {
    let mut file = File::create(path).with_context(|| format!("{}", path.display()))?;
    let mut write = |line: &Line| -> Result<()> {
        writeln!(file, "{}", serde_json::to_string(line)?)?;
        Ok(())
    };
    let rounds = about.rounds;
    write(&Line::About(about))?;
    let (start, ticks) = (Instant::now(), Ticks::now());
    for round in 1..=rounds {
        for (number, case) in (1..).zip(cases) {
            let mut programs = turned(&case.programs, round);
            programs.retain(|program| round == rounds || case.is_repeated(program));
            if programs.is_empty() {
                continue;
            }
            eprintln!(
                "round {round} of {rounds}, case {number} of {}: {} keys, {}, fpp {}; {:.0} s so far",
                cases.len(),
                case.n,
                case.keys,
                case.fpp,
                start.elapsed().as_secs_f64()
            );
            for program in programs {
                for line in run_program(target, program, case, round)? {
                    write(&line)?;
                }
            }
        }
    }
    let (seconds, others) = (start.elapsed().as_secs_f64(), Ticks::now().others_since(ticks));
    write(&Line::End(End { seconds, others }))
}

/// The programs in this round's order; the limit stays right before umbel, which follows it. Without
/// these two, another seventh program comes first each round.
fn turned(programs: &[Program], round: u64) -> Vec<Program> {
    let (pair, mut others): (Vec<_>, Vec<_>) =
        programs.iter().partition(|program| ["limit", "umbel"].contains(&program.folder));
    if pair.is_empty() {
        let turn = 7 * (round as usize - 1) % others.len();
        others.rotate_left(turn);
        return others;
    }
    let turn = round as usize % (others.len() + 1);
    others.splice(turn..turn, pair);
    others
}

/// One program on one case: its figures, or its failure.
fn run_program(target: &Path, program: Program, case: &Case, round: u64) -> Result<Vec<Line>> {
    let path = target.join("release").join(format!("bench-{}", program.folder));
    let Case { n, fpp, keys, .. } = case;
    let form = match program.folder {
        _ if program.keys.contains(keys) => keys,
        _ => program.keys[0],
    };
    let output = Command::new(&path)
        .args([n.to_string(), fpp.to_string(), form.to_owned()])
        .args(program.argument)
        .envs(program.environment.iter().copied())
        .output()
        .with_context(|| format!("{}", path.display()))?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        let words = message.lines().map(str::trim).filter(|line| !line.is_empty());
        let words: Vec<_> = words.take(2).collect();
        return Ok(vec![Line::Failure(Failure {
            round,
            program: [program.folder, program.argument.unwrap_or(program.variant)].join(" "),
            case: format!("{n} keys, {keys}, fpp {fpp}"),
            message: format!("{}: {}", output.status, words.join(" ")),
        })]);
    }
    String::from_utf8(output.stdout)?
        .lines()
        .map(|line| match serde_json::from_str(line)? {
            Line::Sample(mut sample) => {
                sample.round = round;
                sample.keys = (*keys).to_owned();
                if !program.variant.is_empty() {
                    sample.variant = program.variant.to_owned();
                }
                Ok(Line::Sample(sample))
            }
            Line::Skip(skip) => Ok(Line::Skip(skip)),
            _ => bail!("{}: not a sample: {line}", program.folder),
        })
        .collect()
}
