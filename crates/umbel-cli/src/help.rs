//! What stands behind the options of umbel and its verbs: examples, and what the shell is told. One place for `--help` and the manual
//! pages.

use clap::{Command, CommandFactory};

use crate::args::Cli;

/// What a verb's help ends with.
pub(crate) struct Ending {
    verb: &'static str,
    /// Commands, and what they do.
    examples: &'static [(&'static str, &'static str)],
    /// What 0 means.
    zero: &'static str,
    /// What 1 means, where it comes.
    one: Option<&'static str>,
}

const DONE: &str = "done";

const ENDINGS: &[Ending] = &[
    Ending {
        verb: "umbel",
        examples: &[
            ("umbel common monday.txt tuesday.txt", "lines that both files have"),
            ("umbel common --at-least 2 *.txt", "lines that at least two of the files have"),
            ("umbel except all.txt blocked.txt", "lines that only the first file has"),
            ("umbel diff monday.txt tuesday.txt", "lines that only one of two files has"),
            ("umbel dedup urls.txt", "each line once, in the order they came"),
            ("umbel dedup --seen seen.umbel today.txt", "lines that no earlier run had"),
            ("umbel build -o seen.umbel urls.txt", "a filter of all lines"),
            ("umbel query -v seen.umbel new.txt", "lines that were certainly not seen"),
            ("umbel common --csv -k id a.csv b.csv", "rows whose id both files have"),
            ("umbel info ids.guava", "what another system's filter holds"),
            ("umbel parquet events.parquet -c id ids.txt", "row groups that may hold these ids"),
            ("umbel plan --keys 5G --memory 4GiB", "the rate that 4 GiB give for 5 billion keys"),
        ],
        zero: "done, or something was found",
        one: Some("nothing was found (of diff: the files differ)"),
    },
    Ending {
        verb: "common",
        examples: &[
            ("umbel common monday.txt tuesday.txt", "lines that both files have"),
            ("umbel common --at-least 2 *.txt", "lines that at least two of the files have"),
            ("umbel common --csv -k id a.csv b.csv", "rows whose id both files have"),
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
            ("umbel diff monday.txt tuesday.txt", "- lines that are gone, + new ones"),
            ("umbel diff --csv -k id a.csv b.csv", "~ rows that changed, too"),
            ("umbel diff --added new.txt monday.txt tuesday.txt", "new lines, to a file"),
        ],
        zero: "both have the same lines",
        one: Some("they differ"),
    },
    Ending {
        verb: "dedup",
        examples: &[
            ("umbel dedup urls.txt > each-once.txt", "each line once, in the order they came"),
            ("umbel dedup --repeated --count urls.txt", "lines that repeat, with how often"),
            ("umbel dedup --seen seen.umbel today.txt", "lines that no earlier run had"),
        ],
        zero: "done, also when the input is empty",
        one: Some(
            "with --repeated or --min: no line repeats so often; with --seen: no line is new",
        ),
    },
    Ending {
        verb: "build",
        examples: &[
            ("umbel build -o seen.umbel urls.txt", "a filter of all lines, at 1 %"),
            ("umbel build -o seen.umbel --keys 5M --fpp 0.1% urls.txt", "with room for more"),
        ],
        zero: DONE,
        one: None,
    },
    Ending {
        verb: "add",
        examples: &[("umbel add seen.umbel today.txt", "lines into a filter that is there")],
        zero: DONE,
        one: None,
    },
    Ending {
        verb: "remove",
        examples: &[("umbel remove held.umbel gone.txt", "lines out of a counting filter")],
        zero: "lines were taken out",
        one: Some("none of the lines was in the filter"),
    },
    Ending {
        verb: "query",
        examples: &[
            ("umbel query seen.umbel today.txt", "lines that were probably seen"),
            ("umbel query -v seen.umbel today.txt", "lines that were certainly not seen"),
        ],
        zero: "lines were found",
        one: Some("no line was found"),
    },
    Ending {
        verb: "info",
        examples: &[
            ("umbel info seen.umbel", "what a filter holds, and its rate now"),
            ("umbel info --plot seen.svg seen.umbel", "with a picture of it"),
            ("cat seen.umbel | umbel info -", "a filter from a pipe"),
        ],
        zero: DONE,
        one: None,
    },
    Ending {
        verb: "merge",
        examples: &[("umbel merge -o both.umbel a.umbel b.umbel", "a filter of both")],
        zero: DONE,
        one: None,
    },
    Ending {
        verb: "compare",
        examples: &[("umbel compare a.umbel b.umbel", "how much their lists share")],
        zero: DONE,
        one: None,
    },
    Ending {
        verb: "convert",
        examples: &[(
            "umbel convert -o shipped.umbel held.umbel --to blocked",
            "of a counting filter the one to ship",
        )],
        zero: DONE,
        one: None,
    },
    Ending {
        verb: "parquet",
        examples: &[
            ("umbel parquet events.parquet", "the filters in a file"),
            ("umbel parquet events.parquet -c id ids.txt", "row groups that may hold these ids"),
        ],
        zero: "there are filters, or row groups that may hold a key",
        one: Some("no filters, or no row group may hold any key"),
    },
    Ending {
        verb: "plan",
        examples: &[
            ("umbel plan --keys 5G --fpp 1%", "kinds of filters for 5 billion keys"),
            ("umbel plan --keys 5G --memory 4GiB", "the rate that 4 GiB give"),
            ("umbel plan --keys 1M --fpp 1% --plot pictures", "with pictures of it"),
            ("umbel plan --table", "rates by bits and probes per key"),
        ],
        zero: "a kind fits, or a table was asked for",
        one: Some("no kind fits"),
    },
    Ending {
        verb: "show",
        examples: &[
            ("umbel show", "apples and plums in 14 bits"),
            ("umbel show apples plums --query mango", "the same, with words of your own"),
        ],
        zero: DONE,
        one: None,
    },
    Ending {
        verb: "completions",
        examples: &[("umbel completions bash > umbel.bash", "for bash; then: source umbel.bash")],
        zero: DONE,
        one: None,
    },
    Ending {
        verb: "man",
        examples: &[
            ("umbel man > umbel.1", "the page of umbel itself; man ./umbel.1 shows it"),
            ("umbel man --dir man1", "a page for each verb too"),
        ],
        zero: DONE,
        one: None,
    },
];

/// What 2 means, for every verb.
const TWO: &str = "an error, told on standard error";

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
        let mut text = "Examples:\n".to_owned();
        for (command, what) in self.examples {
            text += &format!("  {command:width$}   {what}\n");
        }
        text += "\nExit status:\n";
        for (code, meaning) in self.codes() {
            text += &format!("  {code}  {meaning}\n");
        }
        text
    }
}

/// The command line with all that its help says.
pub(crate) fn command() -> Command {
    let umbel = Ending::of("umbel").expect("it is there").text();
    Cli::command()
        .after_help(umbel)
        .mut_subcommands(|verb| {
            let Some(ending) = Ending::of(verb.get_name()) else { return verb };
            let more = verb.get_after_long_help().map(|more| format!("{more}\n\n"));
            verb.after_long_help(more.unwrap_or_default() + &ending.text())
        })
        // There it inverts, as in grep.
        .mut_subcommand("query", |query| query.mut_arg("verbose", |verbose| verbose.short(None)))
}
