//! The raw results, one JSON object per line: first the machine, then every figure.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

/// A line of a record.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(crate) enum Line {
    About(About),
    Sample(Sample),
    Skip(Skip),
    Failure(Failure),
    End(End),
}

/// The subject and circumstances of a measurement.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct About {
    pub(crate) date: String,
    pub(crate) commit: String,
    pub(crate) command: String,
    /// Whether it is the table of all kinds.
    #[serde(default)]
    pub(crate) kinds: bool,
    pub(crate) rounds: u64,
    pub(crate) cpu: String,
    pub(crate) cpus: u64,
    pub(crate) caches: String,
    pub(crate) memory: String,
    pub(crate) huge_pages: String,
    pub(crate) kernel: String,
    pub(crate) rustc: String,
}

/// One figure of one round.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Sample {
    #[serde(default)]
    pub(crate) round: u64,
    pub(crate) peer: String,
    pub(crate) version: String,
    pub(crate) variant: String,
    pub(crate) n: u64,
    pub(crate) fpp_asked: f64,
    pub(crate) keys: String,
    pub(crate) mode: String,
    pub(crate) threads: u64,
    pub(crate) op: String,
    pub(crate) ns_per_key: f64,
    pub(crate) fpr: Option<f64>,
    /// Whether `insert` is the whole construction.
    #[serde(default)]
    pub(crate) built: bool,
    /// Share of the looked-up members that were found; older records have full ones only.
    #[serde(default = "all")]
    pub(crate) found: f64,
    pub(crate) bits_per_key: f64,
    pub(crate) bytes: u64,
}

fn all() -> f64 {
    1.0
}

/// A filter that cannot be measured in a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Skip {
    pub(crate) peer: String,
    pub(crate) n: u64,
    pub(crate) fpp_asked: f64,
    pub(crate) why: String,
}

/// A program that ended badly: a wrong answer, or no memory.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Failure {
    pub(crate) round: u64,
    pub(crate) program: String,
    pub(crate) case: String,
    pub(crate) message: String,
}

/// Known only at the end.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct End {
    pub(crate) seconds: f64,
    /// Share of the processors' time that went to other processes.
    pub(crate) others: f64,
}

/// A whole record.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) about: About,
    pub(crate) samples: Vec<Sample>,
    pub(crate) skips: Vec<Skip>,
    pub(crate) failures: Vec<Failure>,
    /// None where the run was stopped.
    pub(crate) end: Option<End>,
}

impl Record {
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).with_context(|| format!("{}", path.display()))?;
        let (mut about, mut end) = (None, None);
        let (mut samples, mut skips, mut failures) = (Vec::new(), Vec::new(), Vec::new());
        for (number, line) in (1..).zip(text.lines()) {
            let line = serde_json::from_str(line)
                .with_context(|| format!("{}: line {number}", path.display()))?;
            match line {
                Line::About(line) => about = Some(line),
                Line::Sample(line) => samples.push(line),
                // The same in every round.
                Line::Skip(line) if skips.contains(&line) => {}
                Line::Skip(line) => skips.push(line),
                Line::Failure(line) => failures.push(line),
                Line::End(line) => end = Some(line),
            }
        }
        let Some(about) = about else { bail!("{}: no line of type about", path.display()) };
        Ok(Self { about, samples, skips, failures, end })
    }
}
