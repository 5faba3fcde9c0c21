//! The help besides the options: the verbs in groups, examples and exit statuses. One place for `--help` and
//! the manual pages.

use std::ffi::{OsStr, OsString};

use clap::builder::StyledStr;
use clap::builder::styling::{AnsiColor, Effects, Styles};
use clap::{Arg, Args, Command, CommandFactory, ValueHint};

use crate::args::{Cli, Work};
use crate::verb::{VERBS, Verb};

/// The examples of all verbs, and what their exit statuses mean.
const EXAMPLES: &str = include_str!("examples.txt");

/// What 2 means, for every verb.
const TWO: &str = "an error; the message is on standard error";

/// What a verb's help ends with.
#[derive(Default)]
pub(crate) struct Ending {
    /// Commands, and what they do.
    pub(crate) examples: Vec<(&'static str, &'static str)>,
    /// Exit statuses, and what they mean.
    pub(crate) codes: Vec<(&'static str, &'static str)>,
}

impl Ending {
    /// That of a verb, or of `umbel`.
    pub(crate) fn of(verb: &str) -> Self {
        let (_, section) =
            EXAMPLES.split_once(&format!("\n# {verb}\n")).expect("every verb has examples");
        let mut ending = Self::default();
        for line in section.lines().take_while(|line| !line.is_empty()) {
            match line.split_once("   ") {
                Some(example) => ending.examples.push(example),
                None => ending.codes.extend(line.split_once(' ')),
            }
        }
        ending.codes.push(("2", TWO));
        ending
    }

    fn text(&self) -> String {
        let width = self.examples.iter().map(|(command, _)| command.len()).max().unwrap_or(0);
        let mut text = heading("Examples") + "\n";
        for (command, what) in &self.examples {
            text += &format!("  {command:width$}   {what}\n");
        }
        text += &format!("\n{}\n", heading("Exit status"));
        for (code, meaning) in &self.codes {
            text += &format!("  {code}  {meaning}\n");
        }
        text
    }
}

/// The verbs of every day, in groups, as `umbel help` lists them.
const EVERYDAY: &[(&str, &[&str])] = &[
    (
        "Files of lines or records",
        &["common", "except", "diff", "join", "dedup", "union", "unseen"],
    ),
    ("Many files", &["index", "find"]),
    ("Filters", &["build", "query", "add", "info", "plan"]),
];

/// The others, which `umbel help --all` lists too.
const OTHERS: &[(&str, &[&str])] = &[
    ("More about filters", &["remove", "merge", "shrink", "convert", "overlap", "parquet", "demo"]),
    ("Send filters", &["pack", "unpack", "delta", "patch", "sign"]),
    ("Privacy", &["key", "audit"]),
    ("Set up", &["completions", "man"]),
];

/// Where more help is.
const MORE: &str = "  umbel help VERB      all about a verb; umbel VERB -h is shorter
  umbel help --all     all verbs
  umbel help options   options of many verbs: records and their keys, memory, messages";

/// What `-o` does, everywhere.
const OUTPUT: &str = "\
-o FILE writes FILE when the run succeeds, completely or not at all, and replaces what was there if that is of the same
sort: text replaces text (lines, reports), a filter a filter, a delta a delta, and so on. What is of another sort stays,
unless --force is given. Secrets are never replaced, nor public keys when a pair is made (umbel key new).
umbel unseen alone appends, and its option is --append.

A key is what is compared or looked up: a line, or with --key some fields of a record. --keys N is a number of them.
The secret of a keyed filter is a file of its own (--secret-file); a signing key signs files (--sign), and its public
key shows who did (--trust).

-v prints the lines that do not match, as in grep (umbel query); --verbose prints the full report.";

/// Colours on a terminal that shows some, those of cargo.
pub(crate) const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().effects(Effects::BOLD))
    .usage(AnsiColor::Green.on_default().effects(Effects::BOLD))
    .literal(AnsiColor::Cyan.on_default().effects(Effects::BOLD))
    .placeholder(AnsiColor::Cyan.on_default());

/// A heading of a help.
fn heading(title: &str) -> String {
    let header = STYLES.get_header();
    format!("{header}{title}:{header:#}")
}

/// Groups of verbs, each verb with the first line of its help.
fn verbs(umbel: &Command, groups: &[(&str, &[&str])]) -> String {
    let about = |name: &str| {
        let verb = umbel.find_subcommand(name);
        match verb {
            Some(verb) if verb.get_name() != name => {
                format!("The same as {}, of several files", verb.get_name())
            }
            _ => verb.and_then(Command::get_about).map(ToString::to_string).unwrap_or_default(),
        }
    };
    let mut text = String::new();
    for (title, names) in groups {
        text += &format!("{}\n", heading(title));
        for name in *names {
            let (literal, gap) = (STYLES.get_literal(), 11 - name.len());
            text += &format!("  {literal}{name}{literal:#}{:gap$}  {}\n", "", about(name));
        }
        text += "\n";
    }
    text
}

/// What a terminal shows when nothing was typed but the name.
pub(crate) fn greeting() -> String {
    let mut text =
        "Umbel finds the lines that huge files share, lack or repeat. Three to try:\n\n".to_owned();
    for (command, what) in [
        ("umbel common monday.txt tuesday.txt", "lines that both files have"),
        ("umbel dedup --top 10 --count urls.txt", "the ten most frequent lines"),
        ("umbel plan --keys 1M --fpp 1%", "which Bloom filter to choose; needs no file"),
    ] {
        text += &format!("  {command:37}   {what}\n");
    }
    text + "\numbel help shows all that it does."
}

/// A page of help that is about no verb: `help --all` or `help options`.
pub(crate) fn page(mut arguments: impl Iterator<Item = OsString>) -> Option<StyledStr> {
    if arguments.next()? != "help" {
        return None;
    }
    let (what, None) = (arguments.next()?, arguments.next()) else { return None };
    match what.to_str()? {
        "--all" => {
            let umbel = Cli::command().subcommands(VERBS.iter().map(Verb::define));
            let all = verbs(&umbel, EVERYDAY) + &verbs(&umbel, OTHERS);
            Some(format!("{all}{}\n{MORE}\n", heading("More help")).into())
        }
        "options" => {
            let shared = Work::augment_args(Command::new("options").disable_help_flag(true));
            let shared = shared.max_term_width(100).help_template("{all-args}");
            let options = shared.styles(STYLES).render_long_help().ansi().to_string();
            let options = options.trim_end();
            Some(format!("Options that many verbs have.\n\n{OUTPUT}\n\n{options}\n").into())
        }
        _ => None,
    }
}

/// The command line. If `first`, the first argument, is a verb, only that one has its options and help: those of all verbs
/// take a third of the time of a short run.
pub(crate) fn command(first: Option<&OsStr>) -> Command {
    let typed = first.and_then(OsStr::to_str).and_then(Verb::named);
    let define = |verb: &Verb| match typed {
        Some(typed) if typed.name != verb.name => Command::new(verb.name),
        _ => whole(verb),
    };
    // Also named umbel on Windows.
    let umbel =
        Cli::command().bin_name("umbel").styles(STYLES).subcommands(VERBS.iter().map(define));
    if typed.is_some() {
        return umbel;
    }
    let template = format!(
        "{{about}}\n\n{{usage-heading}} {{usage}}\n\n{}{}\n{MORE}{{after-help}}",
        verbs(&umbel, EVERYDAY),
        heading("More help")
    );
    umbel.help_template(template).after_help(Ending::of("umbel").text())
}

/// Options of many verbs that a short help has all the same.
const SHORT: [&str; 6] = ["csv", "jsonl", "fields", "key", "memory", "output"];

/// A verb with its options, and its help with examples and exit statuses.
pub(crate) fn whole(verb: &Verb) -> Command {
    let mut command = verb.define();
    let more = command.get_after_long_help().map(|more| format!("{more}\n\n"));
    let ending = Ending::of(verb.name);
    let shared = Work::augment_args(Command::new(""));
    let is_shared = |id: &str| shared.get_arguments().any(|shared| shared.get_id() == id);
    let rare = |id: &str| {
        (is_shared(id) && !SHORT.contains(&id)) || (RARE.contains(&id) && verb.name != "sign")
    };
    let shown = |argument: Arg| {
        // A negative number gets its own error, unless it may be the name of a file.
        let is_path = argument.is_positional() || argument.get_value_hint() != ValueHint::Unknown;
        let is_number = argument.get_action().takes_values() && !is_path;
        let argument = argument.allow_negative_numbers(is_number);
        match rare(argument.get_id().as_str()) {
            true => argument.hide_short_help(true),
            false => argument,
        }
    };
    command = command.mut_args(shown).mut_subcommands(|what| what.mut_args(shown));
    if ["common", "except"].contains(&verb.name) {
        let help = "Compare this field instead of the whole record, LEFT=RIGHT where the others name it differently; \
                    repeat for several";
        command = command.mut_arg("key", |key| key.help(help));
    }
    if verb.name == "find" {
        command = command
            .mut_arg("ignore_case", |case| case.short('i').hide_short_help(false))
            .mut_arg("files_from", |list| list.hide(true))
            .mut_arg("recursive", |folders| folders.hide(true));
    }
    let (example, what) = ending.examples[0];
    let short = format!(
        "{} {example}   {what}\nAll of it: umbel help {}; options of many verbs: umbel help options",
        heading("Example"),
        verb.name
    );
    command.after_help(short).after_long_help(more.unwrap_or_default() + &ending.text())
}

/// Options of single verbs that are left out of a short help.
const RARE: &[&str] = &[
    "absent",
    "by_name",
    "changed",
    "checkpoint",
    "false_answer",
    "force",
    "format",
    "key_type",
    "list",
    "mark_column",
    "names",
    "newer_than",
    "param",
    "plot",
    "prefixes",
    "prior",
    "probes",
    "rates",
    "ratios",
    "raw",
    "secret_file",
    "seed",
    "serial",
    "ship",
    "show_prefix",
    "sign",
    "since",
    "sizes",
    "sort",
    "table",
    "tolerance",
    "trust",
];
