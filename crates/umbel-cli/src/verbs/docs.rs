//! `umbel completions` and `umbel man`.

use std::fs;
use std::io;

use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use crate::help;
use crate::output::only_print;
use crate::verb::About;
use crate::verbs;
use crate::verbs::prelude::*;

/// Print completions for a shell
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// Shell to complete for
    pub(crate) shell: Shell,
}

impl Verb for CompletionsArgs {
    const NAME: &str = "completions";
    const HELP: &str = "
umbel completions bash > umbel.bash   for bash; load them with: source umbel.bash
0 done
";
    const RUN: fn(&Self) -> Result<Outcome> = completions;
}

/// Print the manual page
///
/// With --dir, write the pages of umbel and of every verb as files.
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Folder to write umbel.1, umbel-common.1, umbel-filter-build.1 and the others to
    #[arg(long, value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
}

impl Verb for ManArgs {
    const NAME: &str = "man";
    const HELP: &str = "
also manual
umbel man > umbel.1   the page of umbel; read it with man ./umbel.1
umbel man --dir man1   the pages of all verbs too
0 done
";
    const RUN: fn(&Self) -> Result<Outcome> = man;
}

pub(crate) fn completions(args: &CompletionsArgs) -> Result<Outcome> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut help::command(None), "umbel", &mut script);
    only_print(script)
}

pub(crate) fn man(args: &ManArgs) -> Result<Outcome> {
    let mut umbel = help::command(None);
    umbel.build();
    let Some(dir) = &args.dir else {
        return only_print(page(&umbel, Some(&help::UMBEL))?);
    };
    fs::create_dir_all(dir).with_context(|| dir.display().to_string())?;
    let write = |name: &str, page: Vec<u8>| {
        let path = dir.join(format!("{name}.1").replace(' ', "-"));
        fs::write(&path, page).with_context(|| path.display().to_string())
    };
    write("umbel", page(&umbel, Some(&help::UMBEL))?)?;
    let command = |name: &str| {
        let mut words = name.split(' ');
        words.try_fold(&umbel, |command, word| command.find_subcommand(word)).expect("it is one")
    };
    for noun in verbs::NOUNS {
        write(&format!("umbel {}", noun.name), page(command(noun.name), None)?)?;
    }
    for verb in verbs::all() {
        let name = verb.about.name;
        // A page has the details where it describes the verb, and the help after the examples.
        let long = verb.define().get_long_about().cloned().unwrap_or_default();
        let command = command(name).clone().long_about(long);
        write(&format!("umbel {name}"), page(&command, Some(&verb.about))?)?;
    }
    Ok(Outcome::Done)
}

/// The page of umbel, of a noun or of a verb.
fn page(command: &Command, about: Option<&About>) -> io::Result<Vec<u8>> {
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
    let Some(about) = about else { return Ok(page) };
    let mut sections = Roff::new();
    let lists: [(_, Vec<_>); 2] =
        [("EXAMPLES", about.examples().collect()), ("EXIT STATUS", about.codes().collect())];
    for (title, list) in lists {
        sections.control("SH", [title]);
        for (term, meaning) in list {
            sections.control("TP", []);
            sections.text([bold(term)]);
            sections.text([roman(meaning)]);
        }
    }
    sections.to_writer(&mut page)?;
    Ok(page)
}
