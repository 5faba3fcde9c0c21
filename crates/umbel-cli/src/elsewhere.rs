//! Other programs' names for verbs and options, for people who type those.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::help;
use crate::verb::Verb;

/// Verbs, and what others call them or what does it elsewhere.
const VERBS: &[(&str, &[&str])] = &[
    ("common", &["intersect", "intersection", "inter", "semijoin", "both"]),
    ("except", &["minus", "subtract", "difference", "setdiff", "antijoin", "exclude"]),
    ("diff", &["comm", "delta-lines", "changes"]),
    ("dedup", &["uniq", "unique", "distinct", "sort", "count", "freq", "top"]),
    ("unseen", &["new", "anew", "fresh"]),
    ("find", &["grep", "rg", "search", "locate"]),
    ("build", &["create", "make", "init"]),
    ("query", &["check", "contains", "test", "has", "exists", "lookup", "filter"]),
    ("add", &["insert", "append", "update"]),
    ("remove", &["delete", "rm", "del"]),
    ("info", &["stat", "stats", "inspect", "describe", "show"]),
    ("plan", &["calculate", "calc", "size", "estimate", "bench"]),
    ("overlap", &["jaccard", "similarity", "compare"]),
    ("convert", &["export", "import"]),
    ("pack", &["compress", "zip"]),
    ("sign", &["verify"]),
];

/// Options, and what others call them.
const OPTIONS: &[(&str, &[&str])] = &[
    ("top", &["limit", "head", "lines", "n"]),
    ("count", &["c", "counts"]),
    ("repeated", &["duplicates", "duplicated", "dups", "D", "all-repeated"]),
    ("full", &["outer", "full-outer"]),
    ("files", &["l", "files-with-matches"]),
    ("memory", &["mem", "ram", "S", "buffer-size", "max-memory"]),
    ("threads", &["parallel", "jobs", "cpus", "p"]),
    ("tmp", &["T", "temporary-directory", "tempdir", "temp"]),
    ("fpp", &["error", "error-rate", "fpr", "fp", "epsilon", "probability", "rate"]),
    ("keys", &["capacity", "items", "n", "expected", "elements"]),
    ("delimiter", &["t", "separator", "sep", "field-separator"]),
    ("key", &["column", "columns", "field", "on", "by"]),
    ("ignore-case", &["i", "nocase"]),
    ("null", &["z", "zero-terminated", "print0", "null-data"]),
    ("recursive", &["R"]),
    ("total", &["count", "c"]),
    ("output", &["out", "to"]),
    ("append", &["o", "output", "out", "to"]),
];

/// Options of other tools that a verb has no option for, and what does it there.
const HABITS: &[(&str, &[&str], &str)] = &[
    (
        "dedup",
        &["seen", "keys", "kind", "checkpoint", "secret-file", "as"],
        "umbel unseen prints the lines that no earlier run has seen, which a filter keeps",
    ),
    (
        "dedup",
        &["n"],
        "--line-number prints where each line is, and --top N the most frequent ones",
    ),
    ("join", &["inner"], "without an option, only rows with a partner are printed"),
    ("join", &["right", "right-outer"], "name the files the other way round, with --left"),
    ("join", &["anti"], "umbel except --all prints the rows of the first file without a partner"),
    ("join", &["semi"], "umbel common --all prints the rows of the first file with a partner"),
    ("join", &["how"], "--left and --full also print rows without a partner"),
    ("common", &["v", "invert"], "umbel except prints lines that no other file has"),
    ("plan", &["k", "hashes", "hash-functions"], GIVEN_PROBES),
    ("find", &["n", "line-number", "H"], "files and line numbers are printed without an option"),
    (
        "find",
        &["e", "regexp"],
        "a text is looked up as it is; two hyphens go before one that begins with a hyphen",
    ),
];

/// What to ask for a number of probes that is given.
const GIVEN_PROBES: &str = "the number of probes follows from the rate; for the rates at four of them: umbel plan --table --probes 4..4; \
     for the sizes of filters with fewer: --ship";

/// What `dedup -d` is for who knows `uniq`, where `-d` names a delimiter.
pub(crate) const UNIQ_D: &str = "for lines that occur more than once: --repeated";

/// Adds to an error what its word is called here, in place of a word that only looks like it.
pub(crate) fn explain(error: &mut clap::Error, verb: Option<&Verb>) {
    let word = |kind| match error.get(kind) {
        Some(ContextValue::String(word)) => Some(word.clone()),
        _ => None,
    };
    let called = |names: &'static [(&'static str, &'static [&'static str])], word: &str| {
        let word = word.to_owned();
        let of = move |entry: &&(&str, &[&str])| entry.1.contains(&word.as_str());
        names.iter().filter(of).map(|&(name, _)| name)
    };
    if let Some(word) = word(ContextKind::InvalidSubcommand)
        && let Some(name) = called(VERBS, &word).next()
        && let Some(verb) = Verb::named(name)
    {
        let about = verb.define().get_about().map(ToString::to_string).unwrap_or_default();
        error.remove(ContextKind::SuggestedSubcommand);
        suggest(error, format!("umbel {name}: {about}"));
    } else if error.kind() == ErrorKind::ValueValidation
        && word(ContextKind::InvalidArg).is_some_and(|option| option.starts_with("--delimiter"))
        && verb.is_some_and(|verb| verb.name == "dedup")
    {
        suggest(error, UNIQ_D.to_owned());
    } else if error.kind() == ErrorKind::ArgumentConflict
        && word(ContextKind::PriorArg).is_some_and(|option| option.starts_with("--probes"))
    {
        suggest(error, GIVEN_PROBES.to_owned());
    } else if let Some(word) = word(ContextKind::InvalidArg)
        && let Some(verb) = verb
    {
        let word = word.trim_start_matches('-');
        let habit =
            HABITS.iter().find(|(name, words, _)| *name == verb.name && words.contains(&word));
        let tip = habit.map(|(.., tip)| (*tip).to_owned()).or_else(|| {
            let name = called(OPTIONS, word).find(|name| shows_option(verb, name))?;
            Some(format!("here that is --{name}"))
        });
        if let Some(tip) = tip {
            error.remove(ContextKind::SuggestedArg);
            suggest(error, tip);
        }
    }
}

/// Whether the help of a verb has an option.
fn shows_option(verb: &Verb, name: &str) -> bool {
    let whole = help::whole(verb);
    whole.get_arguments().any(|option| option.get_long() == Some(name) && !option.is_hide_set())
}

fn suggest(error: &mut clap::Error, words: String) {
    let words = vec![StyledStr::from(words)];
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(words));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verb;

    /// A name is never one that something has, and leads to one that is there.
    #[test]
    fn names_lead_to_what_is_there_and_are_not() {
        for (verb, others) in VERBS {
            assert!(Verb::named(verb).is_some(), "{verb}");
            others.iter().for_each(|other| assert!(Verb::named(other).is_none(), "{other}"));
        }
        for (option, _) in OPTIONS {
            let has = |verb: &Verb| verb.has_options(&format!("--{option}"));
            assert!(verb::VERBS.iter().any(has), "--{option}");
        }
        for (verb, others, tip) in HABITS {
            let verb = Verb::named(verb).unwrap();
            let has = |other: &&&str| verb.has_options(&format!("--{other}"));
            assert_eq!(others.iter().find(has), None);
            assert!(verb.has_options(tip), "{tip}");
        }
    }
}
