//! The verbs, a file each, and the table of them.

mod add;
mod audit;
mod build;
mod common;
mod compare;
mod convert;
mod dedup;
mod delta;
mod diff;
mod docs;
mod except;
mod explain;
mod group;
mod info;
mod key;
mod merge;
mod noisy;
mod operation;
mod pack;
mod parquet;
mod plan;
mod prefixes;
mod query;
mod remove;
mod seen;
mod ship;
mod show;
mod sign;
mod since;
mod table;

use clap::{ArgMatches, Args, Command, FromArgMatches};

use crate::Outcome;
use crate::args;

/// A verb: its name, its options, and what does its work.
pub(crate) struct Verb {
    pub(crate) name: &'static str,
    define: fn(Command) -> Command,
    run: fn(&ArgMatches) -> anyhow::Result<Outcome>,
}

impl Verb {
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        VERBS.iter().find(|verb| verb.name == name)
    }

    /// The verb with its options and their help.
    pub(crate) fn define(&self) -> Command {
        (self.define)(Command::new(self.name))
    }

    /// Does its work with the options that were typed.
    pub(crate) fn run(&self, typed: &ArgMatches) -> anyhow::Result<Outcome> {
        (self.run)(typed)
    }
}

macro_rules! verbs {
    ($($file:ident::$verb:ident($arguments:ident),)*) => {
        /// All verbs.
        pub(crate) const VERBS: &[Verb] = &[$(Verb {
            name: stringify!($verb),
            define: args::$arguments::augment_args,
            run: |typed| match args::$arguments::from_arg_matches(typed) {
                Ok(arguments) => $file::$verb(&arguments),
                Err(error) => error.exit(),
            },
        }),*];
    };
}

verbs! {
    common::common(CommonArgs),
    except::except(ExceptArgs),
    diff::diff(DiffArgs),
    dedup::dedup(DedupArgs),
    build::build(BuildArgs),
    add::add(AddArgs),
    remove::remove(RemoveArgs),
    query::query(QueryArgs),
    info::info(InfoArgs),
    merge::merge(MergeArgs),
    compare::compare(CompareArgs),
    key::key(KeyArgs),
    group::group(GroupArgs),
    audit::audit(AuditArgs),
    noisy::noisy(NoisyArgs),
    convert::convert(ConvertArgs),
    parquet::parquet(ParquetArgs),
    pack::pack(PackArgs),
    pack::unpack(UnpackArgs),
    delta::delta(DeltaArgs),
    delta::patch(PatchArgs),
    sign::sign(SignVerbArgs),
    plan::plan(PlanArgs),
    show::show(ShowArgs),
    docs::completions(CompletionsArgs),
    docs::man(ManArgs),
}
