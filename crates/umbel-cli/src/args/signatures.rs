//! Options of all verbs that write or read files that may be signed.

use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueHint};

/// How a file that is written is signed.
#[derive(Debug, Default, Args)]
pub(crate) struct SignArgs {
    /// Sign the written file with this signing key (umbel filter key new --signing makes one)
    #[arg(long, value_name = "KEY", value_hint = ValueHint::FilePath, help_heading = "Signatures")]
    #[arg(group = "signature")]
    pub(crate) sign: Option<PathBuf>,
    /// Number of this version, which the signature covers: higher than the version before
    #[arg(long, value_name = "N", requires = "sign", help_heading = "Signatures")]
    #[arg(value_parser = umbel_numbers::number::<u64>(0..=u64::MAX))]
    pub(crate) serial: Option<u64>,
}

/// Which list a signature is about.
#[derive(Debug, Default, Args)]
#[command(group = ArgGroup::new("signature").multiple(true))]
pub(crate) struct ListArgs {
    /// Name of the list that it is signed as, or must be signed as
    #[arg(long, value_name = "NAME", requires = "signature", help_heading = "Signatures")]
    pub(crate) list: Option<String>,
}

/// Whose files are read.
#[derive(Debug, Default, Args)]
pub(crate) struct TrustArgs {
    /// Refuse a file unless the owner of this public key signed it
    #[arg(long, value_name = "PUB", value_hint = ValueHint::FilePath, help_heading = "Signatures")]
    #[arg(group = "signature")]
    pub(crate) trust: Option<PathBuf>,
    /// Refuse a version whose signed number is not higher than this
    #[arg(long, value_name = "N", requires = "trust", help_heading = "Signatures")]
    #[arg(value_parser = umbel_numbers::number::<u64>(0..=u64::MAX))]
    pub(crate) newer_than: Option<u64>,
    #[command(flatten)]
    pub(crate) list: ListArgs,
}
