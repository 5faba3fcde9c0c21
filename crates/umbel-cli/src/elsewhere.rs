//! What other programs call verbs and options, for those who type that.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue};

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
    ("info", &["stat", "stats", "inspect", "describe"]),
    ("plan", &["calculate", "calc", "size", "estimate", "bench"]),
    ("overlap", &["jaccard", "similarity"]),
    ("convert", &["export", "import"]),
    ("pack", &["compress", "zip"]),
    ("sign", &["verify"]),
];

/// Options, and what others call them.
const OPTIONS: &[(&str, &[&str])] = &[
    ("top", &["limit", "head", "lines"]),
    ("count", &["c", "counts"]),
    ("repeated", &["duplicates", "duplicated", "dups"]),
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
];

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
    } else if let Some(word) = word(ContextKind::InvalidArg)
        && let Some(verb) = verb
        && let mut names = called(OPTIONS, word.trim_start_matches('-'))
        && let Some(name) = names.find(|name| verb.has_options(&format!("--{name}")))
    {
        error.remove(ContextKind::SuggestedArg);
        suggest(error, format!("here that is --{name}"));
    }
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
    }
}
