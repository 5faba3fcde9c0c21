//! The command line: its arguments, with a file for each group of verbs, and their help.

mod filters;
mod finding;
mod output;
mod parquet;
mod plan;
mod privacy;
mod sets;
mod sharing;
mod signatures;
mod work;

use std::path::PathBuf;

use clap::{Args, Parser, ValueHint};
use clap_complete::Shell;

pub(crate) use filters::{
    AddArgs, BuildArgs, ConvertArgs, ConvertTo, ForeignArgs, FormatArgs, InfoArgs, MergeArgs,
    OverlapArgs, QueryArgs, ReadArgs, RemoveArgs, RewriteArgs, SecretArgs, ShrinkArgs,
};
pub(crate) use finding::{FindArgs, IndexArgs};
pub(crate) use output::{OutputArgs, Print, PrintArgs, ReplaceArgs, ResultArgs};
pub(crate) use parquet::{
    ParquetAddArgs, ParquetArgs, ParquetChangeArgs, ParquetClearArgs, ParquetExtractArgs,
    ParquetListArgs, ParquetRemoveArgs, ParquetVerb, ParquetWhichArgs,
};
pub(crate) use plan::{DemoArgs, PlanArgs};
pub(crate) use privacy::{AuditArgs, KeyArgs, KeyVerb};
pub(crate) use sets::{
    CommonArgs, DedupArgs, DiffArgs, ExceptArgs, JoinVerbArgs, Labelled, UnseenArgs,
};
pub(crate) use sharing::{DeltaArgs, PackArgs, PatchArgs, SignVerbArgs, UnpackArgs};
pub(crate) use signatures::{ListArgs, SignArgs, TrustArgs};
pub(crate) use work::{
    MostArgs, NamesArgs, NormalForm, OnBad, OnMissing, OnRagged, Quotes, RecordArgs, Voice, Work,
};

/// Find the lines that huge files share, lack or repeat: exactly, on files larger than memory, under a memory cap.
/// Build, query and inspect Bloom filters, also those of other systems
#[derive(Debug, Parser)]
#[command(
    name = "umbel",
    version,
    subcommand_value_name = "VERB",
    max_term_width = 100,
    infer_subcommands = false,
    subcommand_required = true,
    arg_required_else_help = true
)]
pub(crate) struct Cli {
    /// Accepts these options before the verb too.
    #[command(flatten)]
    _voice: Voice,
}

/// Print completions for a shell
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// Shell to complete for
    pub(crate) shell: Shell,
}

/// Print the manual page
///
/// With --dir, write the pages of umbel and of every verb as files.
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Folder to write umbel.1, umbel-common.1 and the others to
    #[arg(long, value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
}
