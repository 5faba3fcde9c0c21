//! `umbel completions` and `umbel man`.

use std::fs;
use std::io;

use anyhow::{Context, Result};
use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use crate::Outcome;
use crate::args::{CompletionsArgs, ManArgs};
use crate::help::{self, Ending};
use crate::output::print;

pub(crate) fn completions(args: &CompletionsArgs) -> Result<Outcome> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut help::command(None), "umbel", &mut script);
    print(script)?;
    Ok(Outcome::Done)
}

pub(crate) fn man(args: &ManArgs) -> Result<Outcome> {
    let mut umbel = help::command(None);
    umbel.build();
    let Some(dir) = &args.dir else {
        print(page(&umbel)?)?;
        return Ok(Outcome::Done);
    };
    fs::create_dir_all(dir).with_context(|| dir.display().to_string())?;
    let verbs = umbel.get_subcommands().filter(|verb| verb.get_name() != "help");
    for command in [&umbel].into_iter().chain(verbs) {
        let name = command.get_display_name().unwrap_or_else(|| command.get_name());
        let path = dir.join(format!("{name}.1"));
        fs::write(&path, page(command)?).with_context(|| path.display().to_string())?;
    }
    Ok(Outcome::Done)
}

/// The page of umbel or of one of its verbs.
fn page(command: &Command) -> io::Result<Vec<u8>> {
    let ending = Ending::of(command.get_name());
    let mut page = Vec::new();
    let man = Man::new(command.clone());
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    let mut sections = Roff::new();
    sections.control("SH", ["EXAMPLES"]);
    for (example, what) in ending.examples {
        sections.control("TP", []);
        sections.text([bold(example)]);
        sections.text([roman(what)]);
    }
    sections.control("SH", ["EXIT STATUS"]);
    for (code, meaning) in ending.codes {
        sections.control("TP", []);
        sections.text([bold(code)]);
        sections.text([roman(meaning)]);
    }
    sections.to_writer(&mut page)?;
    Ok(page)
}
