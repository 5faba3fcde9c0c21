//! Other programs' names for verbs and options, for people who type those.

use std::collections::HashSet;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::help;
use crate::verb::{Entry, help_of};
use crate::verbs;

/// Options, and what others call them.
const OPTIONS: &[(&str, &[&str])] = &[
    ("sort", &["order", "sorted"]),
    ("top", &["limit", "head", "lines", "n", "sort -rn"]),
    ("count", &["c", "counts", "uniq -c"]),
    ("repeated", &["duplicates", "duplicated", "dups", "D", "all-repeated", "uniq -d"]),
    ("unique", &["uniq -u", "u"]),
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

/// What `dedup -d` is for who knows `uniq`, where `-d` names a delimiter.
pub(crate) const UNIQ_D: &str = "for lines that occur more than once: --repeated";

/// Adds to an error what its word is called here, in place of a word that only looks like it.
pub(crate) fn explain(error: &mut clap::Error, verb: Option<&Entry>) {
    let word = |kind| match error.get(kind) {
        Some(ContextValue::String(word)) => Some(word.clone()),
        _ => None,
    };
    if let Some(word) = word(ContextKind::InvalidSubcommand) {
        let called = |verb: &&Entry| {
            let about = &verb.about;
            about.name != word
                && (verb.word() == word || about.others().any(|other| plain(other) == plain(&word)))
        };
        let line = |verb: &Entry| format!("umbel {}: {}", verb.about.name, verb.line());
        let called: Vec<_> = verbs::all().filter(called).map(line).collect();
        if !called.is_empty() {
            error.remove(ContextKind::SuggestedSubcommand);
            suggest(error, called.join("\n       "));
        }
        return;
    }
    let argument = word(ContextKind::InvalidArg);
    let Some(verb) = verb else {
        if error.kind() == ErrorKind::UnknownArgument {
            error.remove(ContextKind::SuggestedArg);
            suggest(error, "options come after the verb".to_owned());
        }
        return;
    };
    let habit = |word: &str| {
        let mut habits = verb.about.habits();
        habits.find_map(|(option, tip)| (option == word).then(|| tip.to_owned()))
    };
    let is_of =
        |option: &str| argument.as_ref().is_some_and(|argument| argument.starts_with(option));
    if error.kind() == ErrorKind::ValueValidation
        && is_of("--delimiter")
        && verb.about.name == "dedup"
    {
        suggest(error, UNIQ_D.to_owned());
    } else if error.kind() == ErrorKind::ArgumentConflict
        && word(ContextKind::PriorArg).is_some_and(|option| option.starts_with("--probes"))
    {
        suggest(error, habit("hashes").unwrap_or_default());
    } else if let Some(word) = &argument {
        let word = word.trim_start_matches('-');
        let tip = habit(word).or_else(|| {
            let names = OPTIONS.iter().filter(|(_, others)| others.contains(&word));
            let name = names.map(|(name, _)| *name).find(|name| shows_option(verb, name))?;
            Some(format!("here that is --{name}"))
        });
        if let Some(tip) = tip {
            error.remove(ContextKind::SuggestedArg);
            suggest(error, tip);
        }
    }
}

/// Whether a verb has an option that its help shows.
fn shows_option(verb: &Entry, name: &str) -> bool {
    let whole = verb.define();
    whole.get_arguments().any(|option| option.get_long() == Some(name) && !option.is_hide_set())
}

fn suggest(error: &mut clap::Error, words: String) {
    let words = vec![StyledStr::from(words)];
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(words));
}

/// The verbs and options that some words are about, with their help: those that others call so, and otherwise those whose
/// help has all of the words.
pub(crate) fn about(words: &[&str]) -> Vec<(String, String)> {
    let phrase = plain(&words.join(" "));
    let words: Vec<String> = words.iter().flat_map(|word| word.split(' ')).map(plain).collect();
    let shared = help::shared_options();
    let (mut named, mut told) = (Vec::new(), Vec::new());
    for verb in verbs::all() {
        let command = verb.define();
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        let names = verb.about.others().chain([verb.word()]);
        let mut examples = verb.about.examples().map(|(_, what)| what);
        let has = |texts: &str| {
            let texts: Vec<_> = texts.split(|letter: char| !letter.is_alphanumeric()).collect();
            words.iter().all(|word| texts.iter().any(|text| text.to_lowercase().starts_with(word)))
        };
        let title = format!("umbel {}", verb.about.name);
        if names.map(plain).any(|name| name == phrase) {
            named.push((title, about));
        } else if has(&about) || examples.any(has) {
            told.push((title, about));
        }
        for option in command.get_arguments().filter(|option| !option.is_hide_set()) {
            let Some(long) = option.get_long() else { continue };
            let help = help_of(option);
            let is_shared = shared.contains(&(long.to_owned(), help.clone()));
            let title = match is_shared {
                true => format!("--{long} (umbel help options)"),
                false => format!("umbel {} --{long}", verb.about.name),
            };
            let called = OPTIONS.iter().filter(|(name, _)| *name == long);
            let mut called = called.flat_map(|(_, others)| *others).chain([&long]);
            let found = (title, help);
            let is_phrase = words.len() > 1 && plain(&found.1).contains(&phrase);
            if is_phrase || called.any(|name| plain(name) == phrase) {
                named.push(found);
            } else if has(&found.1) {
                told.push(found);
            }
        }
    }
    let mut found = if named.is_empty() { told } else { named };
    let mut seen = HashSet::new();
    found.retain(|(title, _)| seen.insert(title.clone()));
    found
}

/// A name without what people write differently: case, blanks and hyphens.
fn plain(name: &str) -> String {
    name.to_lowercase().chars().filter(|letter| letter.is_alphanumeric()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name is never one that something has, and leads to one that is there.
    #[test]
    fn names_lead_to_what_is_there_and_are_not() {
        for verb in verbs::all() {
            let about = &verb.about;
            about.others().for_each(|other| assert!(verbs::named(other).is_none(), "{other}"));
            for (other, tip) in about.habits() {
                assert!(!verb.has_options(&format!("--{other}")), "{other}");
                assert!(verb.has_options(tip), "{tip}");
            }
        }
        for (option, _) in OPTIONS {
            assert!(
                verbs::all().any(|verb| verb.has_options(&format!("--{option}"))),
                "--{option}"
            );
        }
    }
}
