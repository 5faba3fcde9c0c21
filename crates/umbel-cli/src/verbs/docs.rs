//! `umbel completions` and `umbel man`.

use std::fs;

use anyhow::{Context, Result};
use clap::CommandFactory;

use crate::Outcome;
use crate::args::{Cli, CompletionsArgs, ManArgs};
use crate::output::print;

pub(crate) fn completions(args: &CompletionsArgs) -> Result<Outcome> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "umbel", &mut script);
    print(script)?;
    Ok(Outcome::Done)
}

pub(crate) fn man(args: &ManArgs) -> Result<Outcome> {
    match &args.dir {
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(Cli::command()).render(&mut page)?;
            print(page)?;
        }
        Some(dir) => {
            fs::create_dir_all(dir).with_context(|| dir.display().to_string())?;
            clap_mangen::generate_to(Cli::command(), dir)
                .with_context(|| dir.display().to_string())?;
        }
    }
    Ok(Outcome::Done)
}
