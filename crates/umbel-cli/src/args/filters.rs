//! What verbs of filters share: secrets, and the formats of other systems' filters.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use umbel_foreign::KeyType;

use super::{MostArgs, TrustArgs};
use crate::choices;
use crate::param::Param;

/// How a keyed filter is opened.
#[derive(Debug, Args)]
pub(crate) struct SecretArgs {
    /// File with the secret of a keyed filter: 16 bytes, or 32 hexadecimal digits (umbel filter key new makes one)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) secret_file: Option<PathBuf>,
}

/// Which format a filter of another system has.
#[derive(Debug, Default, Args)]
pub(crate) struct FormatArgs {
    /// Format of another system's filter, e.g. guava or parquet [default: umbel's own, or recognized from the content]
    #[arg(long, value_name = "FORMAT", help_heading = "Other systems' filters")]
    #[arg(value_parser = choices::formats::<umbel_foreign::Format>(), hide_possible_values = true)]
    pub(crate) format: Option<umbel_foreign::Format>,
    /// Parameter of the format; repeat for several (umbel help filter build lists them)
    #[arg(long, value_name = "NAME[=VALUE]", requires = "format")]
    #[arg(help_heading = "Other systems' filters")]
    pub(crate) param: Vec<Param>,
}

impl FormatArgs {
    /// The format that is named, with its parameters.
    pub(crate) fn named(&self) -> Option<(umbel_foreign::Format, &[Param])> {
        Some((self.format?, &self.param))
    }
}

/// How a filter is read whose keys are not looked up.
#[derive(Debug, Default, Args)]
pub(crate) struct ReadArgs {
    #[command(flatten)]
    pub(crate) format: FormatArgs,
    #[command(flatten)]
    pub(crate) trust: TrustArgs,
    #[command(flatten)]
    pub(crate) most: MostArgs,
}

/// A filter of another system whose keys are lines.
#[derive(Debug, Default, Args)]
pub(crate) struct ForeignArgs {
    #[command(flatten)]
    pub(crate) format: FormatArgs,
    /// Type of the keys: bytes, utf16, i64, i32, f64, f32, decimal or url [default: bytes, or url for squid]
    #[arg(long, value_name = "TYPE", help_heading = "Other systems' filters")]
    #[arg(value_parser = choices::key_types::<KeyType>(), hide_possible_values = true)]
    pub(crate) key_type: Option<KeyType>,
}
