//! What a verb is. Each is declared next to its work, in its own file in `verbs`; `verbs` lists them all.

use clap::{Arg, ArgAction, ArgMatches, Args, Command};

use crate::Outcome;

/// A verb: its options are the fields of the type, and the type's documentation is its help.
pub(crate) trait Verb: Args {
    /// As it is typed: `dedup`, or `filter build`.
    const NAME: &str;
    /// Lines: `also` and what people who know other programs call it; `for --x, y: …` and what does here what those options do
    /// elsewhere; examples, with what they do after three blanks; what the exit statuses 0 and, if there is one, 1 mean.
    const HELP: &str;
    /// Does the work.
    const RUN: fn(&Self) -> anyhow::Result<Outcome>;

    /// Gives shared options another form.
    fn adapt(command: Command) -> Command {
        command
    }
}

/// `--empty-ok`, of all verbs that have an exit status of 1.
pub(crate) fn empty_ok() -> Arg {
    Arg::new("empty_ok")
        .long("empty-ok")
        .action(ArgAction::SetTrue)
        .help_heading("Messages")
        .help("Exit with 0, not 1, if nothing was found")
}

/// The first line of an option's help.
pub(crate) fn help_of(option: &Arg) -> String {
    option.get_help().map(ToString::to_string).unwrap_or_default()
}

/// A verb's name, and its help besides its options.
#[derive(Clone, Copy)]
pub(crate) struct About {
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
}

impl About {
    /// What others call it.
    pub(crate) fn others(&self) -> impl Iterator<Item = &'static str> {
        let also = self.help.lines().find_map(|line| line.strip_prefix("also "));
        also.into_iter().flat_map(|also| also.split(", "))
    }

    /// Options that people know from other programs, and what does that here.
    pub(crate) fn habits(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let lines = self.help.lines().filter_map(|line| line.strip_prefix("for --"));
        let habits = lines.filter_map(|line| line.split_once(": "));
        habits.flat_map(|(options, tip)| options.split(", ").map(move |option| (option, tip)))
    }

    /// Commands, and what they do.
    pub(crate) fn examples(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.help.lines().filter_map(|line| line.split_once("   "))
    }

    /// Exit statuses, and what they mean.
    pub(crate) fn codes(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let lines = self.help.lines().filter(|line| line.starts_with(['0', '1']));
        lines.filter_map(|line| line.split_once(' ')).chain([TWO])
    }
}

/// What 2 means, for every verb.
const TWO: (&str, &str) = ("2", "an error; the message is on standard error");

/// A verb in a list.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) about: About,
    define: fn(Command) -> Command,
    /// Does its work with the options that were typed.
    pub(crate) run: fn(&ArgMatches) -> anyhow::Result<Outcome>,
}

/// Verbs under a heading.
pub(crate) struct Group {
    pub(crate) title: &'static str,
    pub(crate) verbs: &'static [Entry],
}

/// What some verbs work on: the first word of their names.
pub(crate) struct Noun {
    pub(crate) name: &'static str,
    /// Its line in `umbel help`.
    pub(crate) about: &'static str,
    /// The first line of its own help.
    pub(crate) help: &'static str,
    pub(crate) groups: &'static [Group],
}

impl Noun {
    pub(crate) fn verbs(&self) -> impl Iterator<Item = &'static Entry> {
        self.groups.iter().flat_map(|group| group.verbs)
    }
}

impl Entry {
    pub(crate) const fn of<V: Verb>() -> Self {
        Self {
            about: About { name: V::NAME, help: V::HELP },
            define: |command| V::adapt(V::augment_args(command)),
            run: |typed| V::RUN(&V::from_arg_matches(typed)?),
        }
    }

    /// The last word of its name.
    pub(crate) fn word(&self) -> &'static str {
        self.about.name.rsplit(' ').next().unwrap_or_default()
    }

    /// The first line of its help.
    pub(crate) fn line(&self) -> String {
        self.define().get_about().map(ToString::to_string).unwrap_or_default()
    }

    /// The verb with its options and their help.
    pub(crate) fn define(&self) -> Command {
        let mut command = (self.define)(Command::new(self.word()));
        if self.about.codes().any(|(code, _)| code == "1") {
            command = command.arg(empty_ok());
        }
        let options: Vec<_> =
            command.get_arguments().map(|option| option.get_id().clone()).collect();
        for option in options {
            let others = umbel_sets::excludes(self.about.name, option.as_str());
            command = command.mut_arg(option, |option| option.conflicts_with_all(others));
        }
        command
    }

    /// Whether it has all options that a hint names, unless that is about another verb.
    pub(crate) fn has_options(&self, hint: &str) -> bool {
        let verb = self.define();
        let has = |word: &str| match word.strip_prefix("--") {
            Some(name) if !name.is_empty() => [&verb]
                .into_iter()
                .chain(verb.get_subcommands())
                .flat_map(Command::get_arguments)
                .any(|argument| argument.get_long() == Some(name)),
            // The end of options is none.
            _ => true,
        };
        let letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
        hint.contains("umbel ") || hint.split(|other: char| !letter(other)).all(has)
    }
}
