//! The options that verbs share.

mod filters;
mod output;
mod signatures;
mod work;

use clap::Parser;

pub(crate) use filters::{ForeignArgs, FormatArgs, ReadArgs, SecretArgs};
pub(crate) use output::{LABELS, OutputArgs, Print, PrintArgs, ReplaceArgs};
pub(crate) use signatures::{ListArgs, SignArgs, TrustArgs};
pub(crate) use work::{
    ExplainArgs, LinesArgs, MostArgs, NamesArgs, NormalForm, Quotes, RecordArgs, Voice, Work,
    named_form,
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
pub(crate) struct Cli {}
