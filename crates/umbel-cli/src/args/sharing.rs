//! Options of the verbs that pack, patch and sign, and what they share with others.

use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueHint};

use super::{FormatArgs, ReplaceArgs, Voice};

/// How a file that is written is signed.
#[derive(Debug, Default, Args)]
pub(crate) struct SignArgs {
    /// Sign the file that is written with this signing key (umbel key new --signing makes one)
    #[arg(long, value_name = "KEY", value_hint = ValueHint::FilePath, help_heading = "Signatures")]
    pub(crate) sign: Option<PathBuf>,
}

/// Whose files are read.
#[derive(Debug, Default, Args)]
pub(crate) struct TrustArgs {
    /// Refuse a filter unless the owner of this public key signed it
    #[arg(long, value_name = "PUB", value_hint = ValueHint::FilePath, help_heading = "Signatures")]
    pub(crate) trust: Option<PathBuf>,
}

/// Where a file goes.
#[derive(Debug, Args)]
pub(crate) struct WriteArgs {
    /// File to write; - is standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) replace: ReplaceArgs,
}

/// Pack a filter to send it
///
/// The packed file is as small as the filter's bits allow (its entropy), and unpacks to the same bytes. A filter with
/// half of its bits set does not get smaller: plan one for sending with umbel plan --ship. All verbs that read filters read packed ones too;
/// those that change a filter in place need it unpacked.
#[derive(Debug, Args)]
pub(crate) struct PackArgs {
    /// Filter to pack; - is standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) filter: PathBuf,
    #[command(flatten)]
    pub(crate) to: WriteArgs,
    #[command(flatten)]
    pub(crate) sign: SignArgs,
    #[command(flatten)]
    pub(crate) trust: TrustArgs,
    #[command(flatten)]
    pub(crate) voice: Voice,
}

/// Unpack a packed filter
///
/// Writes the filter's file as it was before umbel pack, byte for byte.
#[derive(Debug, Args)]
pub(crate) struct UnpackArgs {
    /// Packed filter; - is standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) filter: PathBuf,
    #[command(flatten)]
    pub(crate) to: WriteArgs,
    #[command(flatten)]
    pub(crate) trust: TrustArgs,
    #[command(flatten)]
    pub(crate) voice: Voice,
}

/// Write what changed between two versions of a filter
///
/// Whoever has OLD makes NEW from it with umbel patch. Kind, hash scheme and size must be equal; a new scalable filter
/// may be larger. The delta records which filter it was made from, and is refused for any other.
#[derive(Debug, Args)]
pub(crate) struct DeltaArgs {
    /// The filter that the others have
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) old: PathBuf,
    /// The filter that they need
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) new: PathBuf,
    #[command(flatten)]
    pub(crate) to: WriteArgs,
    #[command(flatten)]
    pub(crate) sign: SignArgs,
    #[command(flatten)]
    pub(crate) trust: TrustArgs,
    #[command(flatten)]
    pub(crate) voice: Voice,
}

/// Make the new version of a filter from the old one and a delta
///
/// Without -o, OLD is replaced in one step; after an error it is as it was. A delta that was made from another filter, or
/// that was applied before, is refused.
#[derive(Debug, Args)]
pub(crate) struct PatchArgs {
    /// The filter that the delta was made from
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) old: PathBuf,
    /// The delta; - is standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) delta: PathBuf,
    /// File to write; - is standard output [default: OLD is replaced]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) replace: ReplaceArgs,
    /// Refuse the delta and the new filter unless the owner of this public key signed both
    #[arg(long, value_name = "PUB", value_hint = ValueHint::FilePath, help_heading = "Signatures")]
    pub(crate) trust: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) voice: Voice,
}

/// Sign files, or check who signed them
///
/// --sign KEY signs files in place: filters, packed filters and deltas; what is damaged or something else stays as it is. --trust PUB checks
/// files; the exit status is 2 unless all are signed by the owner of PUB and unaltered.
#[derive(Debug, Args)]
#[command(override_usage = "umbel sign <--sign <KEY>|--trust <PUB>> <FILE>...")]
#[command(group = ArgGroup::new("what").required(true).args(["new", "sign", "trust"]))]
pub(crate) struct SignVerbArgs {
    /// As umbel key new --signing, which this was before
    #[arg(long, value_name = "KEY", value_hint = ValueHint::FilePath, conflicts_with = "files", hide = true)]
    pub(crate) new: Option<PathBuf>,
    /// Sign the files with this signing key; a signature that is there is replaced
    #[arg(long, value_name = "KEY", value_hint = ValueHint::FilePath, requires = "files")]
    pub(crate) sign: Option<PathBuf>,
    /// Check that the owner of this public key signed the files
    #[arg(long, value_name = "PUB", value_hint = ValueHint::FilePath, requires = "files")]
    pub(crate) trust: Option<PathBuf>,
    /// Filters, packed filters and deltas
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}
