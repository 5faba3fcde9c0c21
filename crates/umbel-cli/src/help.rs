//! What `--help`, `umbel help` and the manual pages show, made from the verbs' declarations.

use std::collections::HashSet;
use std::ffi::OsString;

use anyhow::{Result, anyhow};
use clap::builder::StyledStr;
use clap::builder::styling::{AnsiColor, Effects, Styles};
use clap::{Arg, Args, Command, CommandFactory, ValueHint};

use crate::args::{
    Cli, ExplainArgs, ForeignArgs, OutputArgs, SecretArgs, SignArgs, TrustArgs, Work,
};
use crate::report::wrapped;
use crate::synonyms;
use crate::verb::{About, Entry, Group, Noun, empty_ok, help_of};
use crate::verbs::{self, FILES, NOUNS, SET_UP};

/// What `umbel help` ends with.
pub(crate) const UMBEL: About = About {
    name: "umbel",
    help: "
umbel common monday.txt tuesday.txt   lines in both files
umbel dedup --top 10 --count urls.txt   the ten most frequent lines
umbel join -k customer=id orders.csv customers.csv   rows with the same id, side by side
umbel unseen seen.umbel today.txt   lines that no earlier run has seen
umbel filter build -o seen.umbel urls.txt   a Bloom filter of the lines
0 done, or something was found
1 nothing was found; for diff, the files differ
",
};

impl About {
    fn examples_text(&self) -> String {
        let width = self.examples().map(|(command, _)| command.len()).max().unwrap_or(0);
        let line = |(command, what)| format!("  {command:width$}   {what}\n");
        heading("Examples") + "\n" + &self.examples().map(line).collect::<String>()
    }

    fn codes_text(&self) -> String {
        let line = |(code, meaning)| format!("  {code}  {meaning}\n");
        heading("Exit status") + "\n" + &self.codes().map(line).collect::<String>()
    }
}

/// Where more help is.
const MORE: &str = "  umbel help VERB      a verb, with examples; umbel VERB -h is shorter
  umbel help filter    verbs that work with filters
  umbel help options   options of many verbs: records and their keys, memory, messages
  umbel help WORD      verbs and options about something: umbel help sort";

/// What `-o` does, everywhere.
const OUTPUT: &str = "\
-o FILE writes FILE when the run succeeds, completely or not at all. It overwrites only a file of
the same type: text by text, a filter by a filter, a delta by a delta. Add --force to overwrite
anything else. Secrets are never overwritten, nor are public keys when a pair is made (umbel filter
key new). umbel unseen appends instead, with --append.

A key is what is compared or looked up: a line, or with --key some fields of a record. --keys N is a
number of them. The secret of a keyed filter is in a separate file (--secret-file). A signing key
signs files (--sign); its public key shows who did (--trust).

-v prints the lines that do not match, as in grep (umbel match, umbel filter query); --verbose
prints the full report.";

/// Colours on a terminal that shows some, those of cargo.
pub(crate) const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().effects(Effects::BOLD))
    .usage(AnsiColor::Green.on_default().effects(Effects::BOLD))
    .literal(AnsiColor::Cyan.on_default().effects(Effects::BOLD))
    .placeholder(AnsiColor::Cyan.on_default());

/// The columns of a page.
const WIDTH: usize = 100;

/// A heading of a help.
fn heading(title: &str) -> String {
    let header = STYLES.get_header();
    format!("{header}{title}:{header:#}")
}

/// A word to be typed.
fn literal(word: &str) -> String {
    let literal = STYLES.get_literal();
    format!("{literal}{word}{literal:#}")
}

/// Groups of verbs, each verb with the first line of its help.
fn list(groups: &[Group]) -> String {
    let mut text = String::new();
    for Group { title, verbs } in groups {
        text += &(heading(title) + "\n");
        for verb in *verbs {
            text += &row(verb.word(), &verb.line());
        }
        text += "\n";
    }
    text
}

fn row(word: &str, about: &str) -> String {
    let gap = 11usize.saturating_sub(word.len());
    format!("  {}{:gap$}  {about}\n", literal(word), "")
}

/// What a terminal shows when nothing was typed but the name.
pub(crate) fn greeting() -> String {
    let mut text =
        "Umbel finds the lines that huge files share, lack or repeat. Three to try:\n\n".to_owned();
    for (command, what) in [
        ("umbel common monday.txt tuesday.txt", "lines in both files"),
        ("umbel dedup --top 10 --count urls.txt", "the ten most frequent lines"),
        ("umbel filter plan --keys 1M --fpp 1%", "which Bloom filter to choose; needs no file"),
    ] {
        text += &format!("  {command:37}   {what}\n");
    }
    text + "\numbel help shows everything it does."
}

/// The verb that is typed: the first word, or the first two.
pub(crate) fn typed(arguments: &[OsString]) -> Option<&'static Entry> {
    let mut words = arguments.iter().map(|word| word.to_str());
    let (first, second) = (words.next()??, words.next().flatten().unwrap_or_default());
    verbs::named(first).or_else(|| verbs::named(&format!("{first} {second}")))
}

/// The words after `help`, if they are neither a verb nor a noun.
fn asked(arguments: &[OsString]) -> Option<String> {
    let [_, help, words @ ..] = arguments else { return None };
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    let name = words.join(" ");
    let is_known = matches!(&*name, "" | "help")
        || verbs::named(&name).is_some()
        || NOUNS.iter().any(|noun| noun.name == name);
    (help == "help" && !is_known).then_some(name)
}

/// A page of help about no single verb: `help options`, or what words find.
pub(crate) fn page(arguments: &[OsString]) -> Option<Result<StyledStr>> {
    let words = asked(arguments)?;
    if words == "options" {
        let options = shared(Command::new("options").disable_help_flag(true));
        let options = options.max_term_width(WIDTH).help_template("{all-args}").styles(STYLES);
        let options = options.clone().render_long_help().ansi().to_string();
        let options = options.trim_end();
        return Some(Ok(format!("Options of many verbs.\n\n{OUTPUT}\n\n{options}\n").into()));
    }
    let found = synonyms::about(&words, &shared_options());
    if found.is_empty() {
        return Some(Err(anyhow!(
            "nothing was found about {words:?}; umbel help lists the verbs, and umbel help options the options of many verbs"
        )));
    }
    let mut text = String::new();
    for (command, what) in &found {
        text += &format!("{}\n{}", literal(command), wrapped(what, "    ", WIDTH - 4));
    }
    Some(Ok(text.into()))
}

/// The command line. If a verb was `typed`, only that one has its options and help: those of all verbs take a third of the
/// time of a short run.
pub(crate) fn command(typed: Option<&Entry>) -> Command {
    let define = |verb: &Entry| match typed {
        Some(typed) if typed.about.name != verb.about.name => Command::new(verb.word()),
        _ => whole(verb),
    };
    let noun = |noun: &Noun| {
        let command = Command::new(noun.name)
            .about(noun.about)
            .subcommands(noun.verbs().map(define))
            .subcommand_value_name("VERB")
            .subcommand_required(true)
            .arg_required_else_help(true)
            .disable_help_subcommand(true);
        if typed.is_some() {
            return command;
        }
        command.help_template(format!(
            "{}\n\n{{usage-heading}} {{usage}}\n\n{}{}\n  umbel help {name} VERB   a verb, with examples; umbel {name} VERB -h is shorter\n",
            noun.help,
            list(noun.groups),
            heading("More help"),
            name = noun.name
        ))
    };
    // Also named umbel on Windows.
    let umbel = Cli::command()
        .bin_name("umbel")
        .styles(STYLES)
        .subcommands(verbs::short().map(define))
        .subcommands(NOUNS.iter().map(noun));
    if typed.is_some() {
        return umbel;
    }
    let mut text = list(FILES) + &heading("Filters") + "\n";
    for noun in NOUNS {
        text += &row(noun.name, noun.about);
    }
    let set_up: Vec<_> = SET_UP.verbs.iter().map(|verb| literal(verb.word())).collect();
    let template = format!(
        "{{about}}\n\n{{usage-heading}} {{usage}}\n\n{text}\n{}{}{}\n{MORE}\n\n{}: {}\n",
        UMBEL.examples_text() + "\n",
        UMBEL.codes_text() + "\n",
        heading("More help"),
        SET_UP.title,
        set_up.join(", "),
    );
    umbel.help_template(template)
}

/// The options that verbs share.
fn shared(command: Command) -> Command {
    let command = OutputArgs::augment_args(Work::augment_args(command));
    let command = ExplainArgs::augment_args(command).arg(empty_ok());
    let command = TrustArgs::augment_args(SignArgs::augment_args(command));
    ForeignArgs::augment_args(SecretArgs::augment_args(command))
}

/// The names of the options that verbs share, with their help.
fn shared_options() -> HashSet<(String, String)> {
    let all = shared(Command::new(""));
    let option = |option: &Arg| Some((option.get_long()?.to_owned(), help_of(option)));
    all.get_arguments().filter_map(option).collect()
}

/// Shared options that each verb's help has all the same.
const SHOWN: [&str; 8] = ["key", "csv", "tsv", "jsonl", "fields", "output", "memory", "empty_ok"];

/// A verb with its options, and its help with examples and exit statuses.
pub(crate) fn whole(verb: &Entry) -> Command {
    let about = &verb.about;
    let mut command = verb.define();
    let all = shared_options();
    let is_referred = |argument: &Arg| {
        let name = argument.get_long().map(str::to_owned);
        !SHOWN.contains(&argument.get_id().as_str())
            && name.is_some_and(|name| all.contains(&(name, help_of(argument))))
    };
    let mut own = 0;
    let shown = |argument: Arg| {
        // The key and the form of records come after the verb's own options, rare ones after these, shared ones at the end.
        own += 1;
        let at = SHOWN.iter().position(|id| argument.get_id() == id);
        let argument = match at {
            Some(at) => argument.display_order(200 + at).help_heading(None),
            None if argument.is_hide_short_help_set() => argument.display_order(300 + own),
            None => argument.display_order(own),
        };
        // A negative number gets its own error, unless it may be the name of a file.
        let is_path = argument.is_positional() || argument.get_value_hint() != ValueHint::Unknown;
        let is_number = argument.get_action().takes_values() && !is_path;
        let argument = argument.allow_negative_numbers(is_number);
        let argument = match argument.get_long_help().map(ToString::to_string) {
            Some(long) => argument.long_help(of_verb(&long, about.name)),
            None => argument,
        };
        match is_referred(&argument) {
            true => argument.hide_short_help(true).hide_long_help(true),
            false => argument,
        }
    };
    command = command.mut_args(shown);
    let names = command.get_arguments().filter(|argument| argument.is_hide_long_help_set());
    let names: Vec<_> = names.filter(|argument| !argument.is_hide_set()).map(name_of).collect();
    let referred = match names.is_empty() {
        true => String::new(),
        false => format!(
            "{}\n{}\n",
            heading("Options of many verbs (umbel help options)"),
            wrapped(&names.join(" "), "  ", WIDTH - 4)
        ),
    };
    let more = command.get_after_long_help().map(|more| format!("{more}\n\n")).unwrap_or_default();
    let details = command.get_long_about().map(ToString::to_string).unwrap_or_default();
    let details = details.split_once("\n\n").map(|(_, details)| format!("\n{details}\n"));
    let (example, what) = about.examples().next().expect("every verb has one");
    let short = format!(
        "{referred}{} {example}   {what}\nMore: umbel help {}",
        heading("Example"),
        about.name
    );
    command
        .long_about(None)
        .before_long_help(about.examples_text() + &details.unwrap_or_default())
        .help_template("{about}\n\n{usage-heading} {usage}\n\n{before-help}{all-args}{after-help}")
        .after_help(short)
        .after_long_help(referred + &more + &about.codes_text())
}

/// An option's help without the paragraphs that end with the names of other verbs, in parentheses.
fn of_verb(help: &str, verb: &str) -> String {
    let is_of_others = |paragraph: &&str| {
        let names = paragraph.strip_suffix(").").and_then(|words| Some(words.rsplit_once('(')?.1));
        let is_other = |name: &str| name != verb && verbs::named(name).is_some();
        names.is_some_and(|names| names.split(", ").all(is_other))
    };
    help.split("\n\n").filter(|paragraph| !is_of_others(paragraph)).collect::<Vec<_>>().join("\n\n")
}

/// An option as it is typed.
fn name_of(argument: &Arg) -> String {
    match (argument.get_short(), argument.get_long()) {
        (Some(short), Some(long)) => format!("-{short}/--{long}"),
        (_, long) => format!("--{}", long.unwrap_or_default()),
    }
}
