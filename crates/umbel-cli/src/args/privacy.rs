//! Options of the verbs about secrets, and about what filters reveal.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Subcommand, ValueHint};

use super::{OutputArgs, SecretArgs, TrustArgs, Voice, Work};

/// Make secrets of keyed filters, and signing keys
///
/// A keyed filter hashes its keys under a secret that is not in its file (--secret-file), so that only those who have the
/// secret can look keys up. One secret serves a whole group. Filters carry its id; filters of different secrets do not
/// compare or merge. Nobody computes the secret from its id or from filters.
#[derive(Debug, Args)]
#[command(
    subcommand_value_name = "WHAT",
    subcommand_help_heading = "What",
    disable_help_subcommand = true
)]
pub(crate) struct KeyArgs {
    #[command(subcommand)]
    pub(crate) verb: KeyVerb,
    #[command(flatten)]
    pub(crate) voice: Voice,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeyVerb {
    /// Write a new secret, which only its owner may read, and print its id; or with --signing a signing key
    New {
        /// File to write, which must not exist; - is standard output, without the id
        #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        output: PathBuf,
        /// Make a secret, for --secret-file: what is made without an option
        #[arg(long)]
        secret: bool,
        /// Make a signing key instead: FILE for --sign, and its public key, FILE.pub, for --trust
        #[arg(long, conflicts_with = "secret")]
        signing: bool,
    },
    /// Print the id of a secret
    Id {
        /// File with the secret
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        key: PathBuf,
    },
}

/// Estimate what whoever holds a filter learns about its keys
///
/// A filter answers for every key that somebody can guess. With --candidates, guesses are looked up: how many pass, how
/// many of these are false on average, how many are members (with a 95 % interval), and the probability that one that
/// passes is a member. With --universe, the audit computes how many keys a search of all possible ones would list, which
/// share of them would be members, and how long it would take on one core, from the speed of this filter on this
/// machine. It assumes that all keys of the filter are in that universe.
///
/// The rate is that of the filter's own bits. A keyed filter answers only to those who have its secret.
#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    /// Filter to audit; - is standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) filter: PathBuf,
    /// File of guesses, one per line, each once; may be repeated; - is standard input
    #[arg(long, value_name = "LIST", value_hint = ValueHint::FilePath)]
    pub(crate) candidates: Vec<PathBuf>,
    /// Probability that a candidate is a member, before it is looked up [default: their share, as the hits show it]
    #[arg(long, value_name = "P", value_parser = umbel_numbers::share)]
    pub(crate) prior: Option<f64>,
    /// Number of possible keys, e.g. 5e6 for a list of words, or ipv4, or digits:10 for numbers of 10 digits
    #[arg(long, value_name = "SIZE")]
    pub(crate) universe: Option<Universe>,
    #[command(flatten)]
    pub(crate) secret: SecretArgs,
    #[command(flatten)]
    pub(crate) trust: TrustArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) work: Work,
}

/// How many keys are possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Universe(pub(crate) u64);

impl FromStr for Universe {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let size = match text.strip_prefix("digits:") {
            Some(digits) => digits.parse().ok().and_then(|digits| 10u64.checked_pow(digits)),
            None if text == "ipv4" => Some(1 << 32),
            None => umbel_numbers::whole(text),
        };
        size.filter(|&size| size > 0).map(Self).ok_or_else(|| {
            format!(
                "{text:?} is not a number of possible keys such as 5e6, ipv4, or digits:10 (up to digits:19)"
            )
        })
    }
}
