//! Options of the verbs about secrets, and about what filters tell.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Subcommand, ValueHint};

use super::{OutputArgs, ReplaceArgs, SecretArgs, TrustArgs, Voice, Work};

/// Make the filter of a group's lists without showing anybody a member's own
///
/// In four steps over files. Each member joins and hands its card to the others; masks its filter; and, when it is clear
/// whose masked lists have arrived, reveals what removes its masks from the sum, and those that it has in common with
/// members that dropped out. The collector adds everything up: the result is the filter that umbel merge would make.
/// Nobody sees a member's filter or how many members have a bit.
///
/// Experimental. This protects from a collector who follows the steps, as long as not all other members collude with it.
/// Members must get the cards from each other unaltered, and all must name the same members as dropped out. All filters need
/// the same plan and hash (umbel build with the same --keys, --fpp and --seed or --secret-file). See docs/privacy.md.
#[derive(Debug, Args)]
#[command(
    subcommand_value_name = "STEP",
    subcommand_help_heading = "Steps",
    disable_help_subcommand = true
)]
pub(crate) struct GroupArgs {
    #[command(subcommand)]
    pub(crate) verb: GroupVerb,
    #[command(flatten)]
    pub(crate) voice: Voice,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GroupVerb {
    /// Make a new secret for one list, and its card for the others
    Join(JoinArgs),
    /// Mask a filter for the sum, and print the id of the round, which all members can compare
    Mask(MaskArgs),
    /// Reveal to the collector what removes the masks of this member from the sum
    Reveal(RevealArgs),
    /// Add up masked lists: the filter of all
    Sum(SumArgs),
}

#[derive(Debug, Args)]
pub(crate) struct JoinArgs {
    /// File for the secret, which must not exist, and which only its owner may read
    #[arg(short, long, value_name = "SECRET", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    /// File for the card, which must not exist
    #[arg(long, value_name = "CARD", value_hint = ValueHint::FilePath)]
    pub(crate) card: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct MaskArgs {
    /// Filter to mask: blocked, classic or sliced
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) filter: PathBuf,
    /// Secret of this member; it masks one filter, and is marked as used
    #[arg(long = "as", value_name = "SECRET", value_hint = ValueHint::FilePath)]
    pub(crate) secret: PathBuf,
    /// Cards of all members, this one included; at least three
    #[arg(long, value_name = "CARD", required = true, num_args = 1.., value_hint = ValueHint::FilePath)]
    pub(crate) cards: Vec<PathBuf>,
    /// Masked list to write: 64 times the size of the filter
    #[arg(short, long, value_name = "MASKED", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) replace: ReplaceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RevealArgs {
    /// Secret of this member
    #[arg(long = "as", value_name = "SECRET", value_hint = ValueHint::FilePath)]
    pub(crate) secret: PathBuf,
    /// Cards of the members that dropped out before their masked lists arrived
    #[arg(long, value_name = "CARD", num_args = 1.., value_hint = ValueHint::FilePath)]
    pub(crate) dropped: Vec<PathBuf>,
    /// Share to write, for the collector
    #[arg(short, long, value_name = "SHARE", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) replace: ReplaceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct SumArgs {
    /// Masked lists of all members that did not drop out
    #[arg(required = true, value_name = "MASKED", value_hint = ValueHint::FilePath)]
    pub(crate) masked: Vec<PathBuf>,
    /// Shares of the same members
    #[arg(long, value_name = "SHARE", required = true, num_args = 1.., value_hint = ValueHint::FilePath)]
    pub(crate) shares: Vec<PathBuf>,
    /// Filter to write; - is standard output
    #[arg(short, long, value_name = "FILTER", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) replace: ReplaceArgs,
}

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
    #[arg(long, value_name = "P", value_parser = umbel_numbers::share, allow_negative_numbers = true)]
    pub(crate) prior: Option<f64>,
    /// Number of possible keys, e.g. 5e6 for a list of words, or ipv4, or digits:10 for numbers of 10 digits
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
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
