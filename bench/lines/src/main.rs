//! `gen-lines`: writes the line files of the benches. It knows paths and arguments; the library knows the lines.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::{Parser, Subcommand};
use lines::{Side, write_dups, write_urls};

/// Writes files of 66-byte URL lines with known contents.
///
/// The same arguments give the same bytes everywhere; memory stays constant at any size. Numbers may be written as 20e6.
#[derive(Parser)]
#[command(name = "gen-lines", version)]
struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Two files of distinct lines that share a known number of them, in different orders
    Urls {
        /// Lines in each file
        #[arg(long, value_parser = whole)]
        lines: u64,
        /// Lines that are in both
        #[arg(long, value_parser = whole)]
        shared: u64,
        /// The first file
        #[arg(long, value_name = "FILE")]
        out_a: PathBuf,
        /// The second file
        #[arg(long, value_name = "FILE")]
        out_b: PathBuf,
        /// Chooses the lines and their order
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// One file with a known number of distinct lines, repeats spread over it
    Dups {
        /// Lines in the file
        #[arg(long, value_parser = whole)]
        lines: u64,
        /// Different lines among them
        #[arg(long, value_parser = whole)]
        distinct: u64,
        /// The file
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
        /// Chooses the lines and their order
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
}

fn main() -> ExitCode {
    match run(Arguments::parse().what) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("gen-lines: {message}");
            ExitCode::from(2)
        }
    }
}

fn run(what: What) -> Result<(), String> {
    match what {
        What::Urls { lines, shared, out_a, out_b, seed } => {
            if shared > lines {
                return Err(format!("--shared {shared} is more than --lines {lines}; lower it"));
            }
            if out_a == out_b {
                return Err(format!("{}: named as both files; choose two", out_a.display()));
            }
            for (path, side) in [(&out_a, Side::A), (&out_b, Side::B)] {
                make(path, |file| write_urls(file, side, lines, shared, seed))?;
            }
        }
        What::Dups { lines, distinct, out, seed } => {
            if distinct > lines || (distinct == 0 && lines > 0) {
                return Err(format!(
                    "--distinct {distinct} must lie between 1 and --lines {lines}"
                ));
            }
            make(&out, |file| write_dups(file, lines, distinct, seed))?;
        }
    }
    Ok(())
}

/// Writes `path` and prints the speed on stderr.
fn make(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<u64>,
) -> Result<(), String> {
    let begin = Instant::now();
    let bytes = File::create(path)
        .and_then(|file| write(&mut BufWriter::with_capacity(1 << 20, file)))
        .map_err(|error| format!("{}: {error}", path.display()))?;
    let seconds = begin.elapsed().as_secs_f64();
    let (path, speed) = (path.display(), bytes as f64 / 1e6 / seconds.max(1e-9));
    eprintln!("{path}: {bytes} bytes in {seconds:.1} s, {speed:.0} MB/s");
    Ok(())
}

/// A whole number, plain or with an exponent: 2000000, 2e6, 2.5e6. At most 2⁵³ with an exponent, 2⁶² without.
fn whole(text: &str) -> Result<u64, String> {
    let value = text.parse::<u64>().ok().or_else(|| {
        let value: f64 = text.parse().ok()?;
        let exact = value.fract() == 0.0 && (0.0..=9_007_199_254_740_992.0).contains(&value);
        exact.then_some(value as u64)
    });
    value
        .filter(|&value| value <= 1 << 62)
        .ok_or_else(|| "expected a whole number of lines such as 2000000 or 2e6".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        for (text, value) in [
            ("0", 0),
            ("20e6", 20_000_000),
            ("2.5E3", 2500),
            ("1e0", 1),
            ("4611686018427387904", 1 << 62),
        ] {
            assert_eq!(whole(text), Ok(value), "{text}");
        }
        for text in ["", "-1", "1.5", "1e-3", "1e17", "nan", "inf", "20M", "4611686018427387905"] {
            assert!(whole(text).is_err(), "{text}");
        }
    }

    #[test]
    fn arguments() {
        use clap::CommandFactory;
        Arguments::command().debug_assert();
    }
}
