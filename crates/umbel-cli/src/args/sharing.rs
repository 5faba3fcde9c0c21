//! Options of the verbs that pack, patch and sign.

use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueHint};

use super::{FormatArgs, MostArgs, ReplaceArgs, SignArgs, TrustArgs, Voice};

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
/// Writes the filter's file as it was before umbel pack, byte for byte. Few bytes of a packed file can make very many: one
/// that makes more than --memory is refused before anything is written, unless its signature is checked with --trust.
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
    pub(crate) most: MostArgs,
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
    pub(crate) most: MostArgs,
    #[command(flatten)]
    pub(crate) voice: Voice,
}

/// Make the new version of a filter from the old one and a delta
///
/// Without -o, OLD is replaced in one step; after an error it is as it was. A delta that was made from another filter, or
/// that was applied before, is refused.
///
/// With --trust, the delta must be signed. It has the SHA-256 of the new filter, so that its signer vouches for the result,
/// whatever OLD is.
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
    #[command(flatten)]
    pub(crate) trust: TrustArgs,
    #[command(flatten)]
    pub(crate) most: MostArgs,
    #[command(flatten)]
    pub(crate) voice: Voice,
}

/// Sign files, or check who signed them
///
/// --sign KEY signs files in place: filters, packed filters and deltas; what is damaged or something else stays as it is. --trust PUB checks
/// files; the exit status is 2 unless all are signed by the owner of PUB and unaltered. A signature also covers the name of
/// a list (--list) and the number of its version (--serial): receivers ask for them with --list and --newer-than, so that
/// nobody can serve them another list of yours, or an old one.
#[derive(Debug, Args)]
#[command(override_usage = "umbel sign <--sign <KEY>|--trust <PUB>> <FILE>...")]
#[command(group = ArgGroup::new("what").required(true).args(["sign", "trust"]))]
pub(crate) struct SignVerbArgs {
    /// Sign the files with this signing key; a signature that is there is replaced
    #[arg(long, value_name = "KEY", value_hint = ValueHint::FilePath, requires = "files")]
    pub(crate) sign: Option<PathBuf>,
    /// Number of this version, which the signature covers: higher than that of the version before
    #[arg(long, value_name = "N", requires = "sign")]
    #[arg(value_parser = umbel_numbers::number::<u64>(0..=u64::MAX))]
    pub(crate) serial: Option<u64>,
    /// Check that the owner of this public key signed the files
    #[arg(long, value_name = "PUB", value_hint = ValueHint::FilePath, requires = "files")]
    pub(crate) trust: Option<PathBuf>,
    /// Refuse a version whose signed number is not higher than this
    #[arg(long, value_name = "N", requires = "trust")]
    #[arg(value_parser = umbel_numbers::number::<u64>(0..=u64::MAX))]
    pub(crate) newer_than: Option<u64>,
    /// Name of the list that it is signed as, or must be signed as
    #[arg(long, value_name = "NAME", requires = "files")]
    pub(crate) list: Option<String>,
    /// Filters, packed filters and deltas
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}
