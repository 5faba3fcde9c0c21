//! What help shows besides the options: the verbs in groups, examples and exit statuses. One place for `--help` and
//! the manual pages.

use std::ffi::{OsStr, OsString};

use clap::builder::StyledStr;
use clap::builder::styling::{AnsiColor, Effects, Styles};
use clap::{Args, Command, CommandFactory};

use crate::args::{Cli, Work};
use crate::verb::{VERBS, Verb};

/// What a verb's help ends with.
pub(crate) struct Ending {
    verb: &'static str,
    /// Commands, and what they do.
    examples: &'static [(&'static str, &'static str)],
    /// What 0 means.
    zero: &'static str,
    /// What 1 means, for verbs that use it.
    one: Option<&'static str>,
}

const DONE: &str = "done";

const ENDINGS: &[Ending] = &[
    Ending {
        verb: "umbel",
        examples: &[
            ("umbel common monday.txt tuesday.txt", "lines that both files have"),
            ("umbel common --csv -k id a.csv b.csv", "rows whose id both files have"),
            ("umbel dedup --top 10 --count urls.txt", "the ten most frequent lines"),
            ("umbel unseen seen.umbel today.txt", "lines that no earlier run has seen"),
            ("umbel build -o seen.umbel urls.txt", "a filter of the lines"),
            ("umbel query -v seen.umbel new.txt", "lines that are certainly not in the filter"),
        ],
        zero: "done, or something was found",
        one: Some("nothing was found; for diff, the files differ"),
    },
    Ending {
        verb: "common",
        examples: &[
            ("umbel common monday.txt tuesday.txt", "lines that both files have"),
            ("umbel common --at-least 2 *.txt", "lines of two files or more"),
            ("umbel common --which *.txt", "each line with its files"),
            ("umbel common --only 2 monday.txt tuesday.txt", "lines that just tuesday.txt has"),
            ("umbel common --csv -k id a.csv b.csv", "rows whose id both files have"),
            (
                "umbel common --all --csv -k customer=id orders.csv users.csv",
                "all orders of these users",
            ),
        ],
        zero: "lines were found",
        one: Some("no line was found"),
    },
    Ending {
        verb: "except",
        examples: &[
            ("umbel except all.txt blocked.txt", "lines that only the first file has"),
            ("umbel except --csv -k id a.csv b.csv", "rows whose id only the first file has"),
        ],
        zero: "lines were found",
        one: Some("no line was found"),
    },
    Ending {
        verb: "diff",
        examples: &[
            ("umbel diff monday.txt tuesday.txt", "removed (-) and added (+) lines"),
            ("umbel diff --csv -k id a.csv b.csv", "changed (~) rows too"),
            (
                "umbel diff --added new.txt monday.txt tuesday.txt",
                "only the added lines, in a file",
            ),
        ],
        zero: "both files have the same lines",
        one: Some("the files differ"),
    },
    Ending {
        verb: "join",
        examples: &[
            (
                "umbel join --csv -k customer=id orders.csv customers.csv",
                "orders, each with its customer's columns",
            ),
            (
                "umbel join --csv -k customer=id --left orders.csv customers.csv",
                "orders without a customer too",
            ),
            ("umbel join --fields -k 1 a.txt b.txt", "lines with the same first word"),
        ],
        zero: "rows were found",
        one: Some("no row was found"),
    },
    Ending {
        verb: "dedup",
        examples: &[
            ("umbel dedup urls.txt > each-once.txt", "each line once, as first seen"),
            ("umbel dedup --repeated --count urls.txt", "repeated lines, with counts"),
            ("umbel dedup --csv -k id --keep last a.csv", "the last row of each id"),
            ("umbel dedup --top 10 --count urls.txt", "the ten most frequent lines"),
            (
                "umbel dedup --top 10 --count --fields -k 1 --print key a.log",
                "the ten most frequent first words",
            ),
        ],
        zero: "done, even if the input is empty",
        one: Some("with --repeated or --min, no line occurs so often"),
    },
    Ending {
        verb: "unseen",
        examples: &[
            ("umbel unseen seen.umbel today.txt", "lines that no earlier run has seen"),
            ("umbel unseen seen.umbel today.txt -a new.txt", "appended to a file, each once"),
        ],
        zero: "lines are new",
        one: Some("no line is new"),
    },
    Ending {
        verb: "index",
        examples: &[
            ("umbel index -o logs.index logs/", "the words of all files in a folder"),
            ("umbel index --jsonl -k trace_id -o t.index *.jsonl.zst", "the values of a field"),
            ("umbel index --update logs.index", "read what is new or changed"),
        ],
        zero: "the index is written",
        one: None,
    },
    Ending {
        verb: "find",
        examples: &[
            ("umbel find logs.index 3c0e3dcd33e7", "the lines with this word: FILE:LINE:text"),
            ("umbel find logs.index 'user_id=17'", "words, and what is between them"),
            ("umbel find --files logs.index -f ids.txt", "the files that have one of these ids"),
            ("umbel find logs.index -F 3c0e", "also inside words, which reads all files"),
        ],
        zero: "lines were found",
        one: Some("no line was found"),
    },
    Ending {
        verb: "build",
        examples: &[
            ("umbel build -o seen.umbel urls.txt", "a filter of the lines, at 1 %"),
            ("umbel build -o seen.umbel --keys 5M --fpp 0.1% urls.txt", "room for 5 million keys"),
            (
                "umbel build -o b.umbel --kind cascade --except allow.txt block.txt",
                "no name of allow.txt passes",
            ),
            ("umbel build -o nets.umbel --prefixes ip nets.txt", "a filter of networks"),
        ],
        zero: "the filter is written",
        one: None,
    },
    Ending {
        verb: "add",
        examples: &[("umbel add seen.umbel today.txt", "add lines to a filter")],
        zero: "all lines are in the filter",
        one: None,
    },
    Ending {
        verb: "remove",
        examples: &[("umbel remove held.umbel gone.txt", "remove lines from a counting filter")],
        zero: "a line was removed",
        one: Some("none of the lines was in the filter, which is as it was"),
    },
    Ending {
        verb: "query",
        examples: &[
            ("umbel query seen.umbel today.txt", "lines that may be in the filter"),
            ("umbel query -v seen.umbel today.txt", "lines that are certainly not in it"),
            ("umbel query users.guava names.txt", "a filter of another system"),
            ("umbel query --prefixes ip nets.txt ips.txt", "addresses in listed networks"),
            ("umbel query --prefixes domain ads.txt hosts.txt", "hosts under listed domains"),
        ],
        zero: "lines were found",
        one: Some("no line was found"),
    },
    Ending {
        verb: "info",
        examples: &[
            ("umbel info seen.umbel", "what a filter holds, and its rate now"),
            ("umbel info --plot seen.svg seen.umbel", "with a picture of its blocks"),
            ("cat seen.umbel | umbel info -", "a filter from standard input"),
        ],
        zero: DONE,
        one: None,
    },
    Ending {
        verb: "merge",
        examples: &[("umbel merge -o both.umbel a.umbel b.umbel", "one filter of both lists")],
        zero: "the filter is written",
        one: None,
    },
    Ending {
        verb: "overlap",
        examples: &[("umbel overlap a.umbel b.umbel", "how much the two lists share")],
        zero: "both filters were read",
        one: None,
    },
    Ending {
        verb: "key",
        examples: &[
            ("umbel key new -o group.secret", "a secret, for --secret-file"),
            (
                "umbel key new --signing -o lists.key",
                "a signing key, and lists.key.pub for --trust",
            ),
            ("umbel key id group.secret", "its id, which filters carry"),
        ],
        zero: DONE,
        one: None,
    },
    Ending {
        verb: "audit",
        examples: &[
            ("umbel audit seen.umbel --candidates urls.txt", "which guesses it confirms"),
            ("umbel audit seen.umbel --universe ipv4", "what trying all addresses would list"),
        ],
        zero: DONE,
        one: None,
    },
    Ending {
        verb: "convert",
        examples: &[(
            "umbel convert -o shipped.umbel held.umbel --to blocked",
            "a blocked filter to ship",
        )],
        zero: "the filter is written",
        one: None,
    },
    Ending {
        verb: "parquet",
        examples: &[
            ("umbel parquet events.parquet", "the Bloom filters of the file"),
            ("umbel parquet events.parquet -c id ids.txt", "row groups that may hold these ids"),
            ("umbel parquet events.parquet --add id -o new.parquet", "a copy with filters of id"),
            ("umbel parquet events.parquet --remove-all", "no filters any more"),
        ],
        zero: "there are filters, or row groups that may hold a key; or the file is written",
        one: Some(
            "there are no filters, or no row group may hold any of the keys; or there is nothing to add or remove, and nothing is written",
        ),
    },
    Ending {
        verb: "pack",
        examples: &[("umbel pack seen.umbel -o seen.packed", "as small as its bits allow")],
        zero: "the packed filter is written",
        one: None,
    },
    Ending {
        verb: "unpack",
        examples: &[("umbel unpack seen.packed -o seen.umbel", "as it was before, byte for byte")],
        zero: "the filter is written",
        one: None,
    },
    Ending {
        verb: "delta",
        examples: &[("umbel delta monday.umbel tuesday.umbel -o tuesday.delta", "what changed")],
        zero: "the delta is written",
        one: None,
    },
    Ending {
        verb: "patch",
        examples: &[
            ("umbel patch seen.umbel tuesday.delta", "the new version, in place"),
            ("umbel patch monday.umbel tuesday.delta -o tuesday.umbel", "or in another file"),
        ],
        zero: "the new version is written",
        one: None,
    },
    Ending {
        verb: "sign",
        examples: &[
            ("umbel sign --sign lists.key seen.packed", "sign a file"),
            ("umbel sign --trust lists.key.pub seen.packed", "check who signed it"),
        ],
        zero: "all files are signed, or signed by the trusted key",
        one: None,
    },
    Ending {
        verb: "plan",
        examples: &[
            ("umbel plan --keys 5G --fpp 1%", "kinds of filters for 5 billion keys at 1 %"),
            ("umbel plan --keys 5G --memory 4GiB", "the rate in 4 GiB"),
            ("umbel plan --keys 5G --fpp 1% --ship", "filters by the bits sent"),
            ("umbel plan --keys 1M --fpp 1% --plot pictures", "with pictures"),
            ("umbel plan --table", "rates by bits and probes per key"),
        ],
        zero: "a kind fits, or a table was printed",
        one: Some("no kind fits"),
    },
    Ending {
        verb: "demo",
        examples: &[
            ("umbel demo", "apples and plums in 14 bits"),
            ("umbel demo apples plums --query mango", "words of your own"),
        ],
        zero: DONE,
        one: None,
    },
    Ending {
        verb: "completions",
        examples: &[(
            "umbel completions bash > umbel.bash",
            "for bash; load them with: source umbel.bash",
        )],
        zero: DONE,
        one: None,
    },
    Ending {
        verb: "man",
        examples: &[
            ("umbel man > umbel.1", "the page of umbel; read it with man ./umbel.1"),
            ("umbel man --dir man1", "the pages of all verbs too"),
        ],
        zero: DONE,
        one: None,
    },
];

/// What 2 means, for every verb.
const TWO: &str = "an error; the message is on standard error";

impl Ending {
    /// That of a verb.
    pub(crate) fn of(verb: &str) -> Option<&'static Self> {
        ENDINGS.iter().find(|ending| ending.verb == verb)
    }

    pub(crate) fn examples(&self) -> &'static [(&'static str, &'static str)] {
        self.examples
    }

    /// Exit codes and their meanings.
    pub(crate) fn codes(&self) -> impl Iterator<Item = (u8, &'static str)> {
        [(0, Some(self.zero)), (1, self.one), (2, Some(TWO))]
            .into_iter()
            .filter_map(|(code, meaning)| Some((code, meaning?)))
    }

    fn text(&self) -> String {
        let width = self.examples.iter().map(|(command, _)| command.len()).max().unwrap_or(0);
        let mut text = heading("Examples") + "\n";
        for (command, what) in self.examples {
            text += &format!("  {command:width$}   {what}\n");
        }
        text += &format!("\n{}\n", heading("Exit status"));
        for (code, meaning) in self.codes() {
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
    ("More about filters", &["remove", "merge", "convert", "overlap", "parquet", "demo"]),
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
    // On Windows, too.
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
    umbel.help_template(template).after_help(Ending::of("umbel").expect("it is there").text())
}

/// Options of many verbs that a short help has all the same.
const SHORT: [&str; 6] = ["csv", "jsonl", "fields", "key", "memory", "output"];

/// A verb with its options, and its help with examples and exit statuses.
pub(crate) fn whole(verb: &Verb) -> Command {
    let mut command = verb.define();
    let more = command.get_after_long_help().map(|more| format!("{more}\n\n"));
    let ending = Ending::of(verb.name).expect("every verb has one");
    let shared = Work::augment_args(Command::new(""));
    let is_shared = |id: &str| shared.get_arguments().any(|shared| shared.get_id() == id);
    let rare = |id: &str| {
        (is_shared(id) && !SHORT.contains(&id)) || (RARE.contains(&id) && verb.name != "sign")
    };
    command = command.mut_args(|argument| match rare(argument.get_id().as_str()) {
        true => argument.hide_short_help(true),
        false => argument,
    });
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
    "checkpoint",
    "false_answer",
    "force",
    "format",
    "key_type",
    "list",
    "min",
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
    "trust",
];
