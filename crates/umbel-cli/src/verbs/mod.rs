//! What the verbs do, one file per verb.

mod add;
mod answer;
mod audit;
mod build;
mod common;
mod convert;
mod copies;
mod dedup;
mod delta;
mod demo;
mod diff;
mod docs;
mod except;
mod explain;
mod find;
mod goal;
mod index;
mod info;
mod join;
mod key;
mod merge;
mod operation;
mod overlap;
mod pack;
mod parquet;
mod parquet_edit;
mod plan;
mod prefixes;
mod query;
mod remove;
mod seen;
mod ship;
mod sign;
mod since;
mod table;

use clap::{ArgMatches, FromArgMatches};

use crate::Outcome;
use crate::args;
use crate::verb::{Verb, each_verb};

macro_rules! told {
    ($name:ident of $other:ident) => {
        $name
    };
}

macro_rules! run {
    ($($file:ident::$verb:ident($arguments:ident) $(or $other:ident)?,)*) => {
        /// Does the work of a verb with the options that were typed; one with two names is told which was typed.
        pub(crate) fn run(
            verb: &Verb,
            name: &'static str,
            typed: &ArgMatches,
        ) -> anyhow::Result<Outcome> {
            match verb.name {
                $(stringify!($verb) => {
                    let arguments = args::$arguments::from_arg_matches(typed)?;
                    $file::$verb(&arguments $(, told!(name of $other))?)
                })*
                name => unreachable!("{name} is no verb"),
            }
        }
    };
}

each_verb!(run);
