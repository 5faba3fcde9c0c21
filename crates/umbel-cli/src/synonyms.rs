//! Other programs' names for verbs and options, for people who type those.

use std::collections::HashSet;
use std::path::Path;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::verb::{Entry, help_of};
use crate::verbs;

/// Options, and what others call them.
const OPTIONS: &[(&str, &[&str])] = &[
    ("sort", &["order", "sorted"]),
    ("top", &["limit", "head", "lines", "n", "sort -rn"]),
    ("count", &["c", "counts", "uniq -c"]),
    ("repeated", &["duplicates", "duplicated", "dups", "D", "all-repeated", "uniq -d"]),
    ("left", &["left outer", "left join"]),
    ("keep", &["date", "newest"]),
    ("missing", &["null"]),
    ("empty", &["null"]),
    ("trim", &["whitespace", "spaces"]),
    ("unique", &["uniq -u", "u"]),
    ("full", &["outer", "full-outer", "full join"]),
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
    ("crlf", &["windows", "dos", "dos2unix"]),
    ("total", &["count", "c", "wc", "wc -l"]),
    ("output", &["out", "to"]),
    ("append", &["o", "output", "out", "to"]),
];

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
    if verb.about.name == "dedup"
        && argument.as_ref().is_some_and(|argument| argument.starts_with("--delimiter"))
        // As after the -d of uniq.
        && word(ContextKind::InvalidValue).is_some_and(|value| Path::new(&value).exists())
    {
        suggest(error, "for lines that occur more than once: --repeated".to_owned());
    } else if error.kind() == ErrorKind::ArgumentConflict
        && word(ContextKind::PriorArg).is_some_and(|option| option.starts_with("--probes"))
    {
        suggest(error, habit("hashes").unwrap_or_default());
    } else if error.kind() != ErrorKind::ArgumentConflict
        && let Some(word) = &argument
    {
        let word = word.trim_start_matches('-');
        let tip = habit(word).or_else(|| {
            let names = OPTIONS.iter().filter(|(_, others)| others.contains(&word));
            let name = names.map(|(name, _)| *name).find(|name| shows_option(verb, name))?;
            Some(format!("umbel calls it --{name}"))
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

/// What no verb or option is named after: its names, and what to know.
const TOPICS: &str = r"
Standard input, stdin, pipe: Write - in place of a file's name. dedup, unseen, match and filter query read it if none is named.
Encodings, charset, UTF-8, Latin-1, Unicode, iconv, BOM, byte order mark: Files are compared as bytes, without a byte order mark of UTF-8. Convert others: iconv -f WINDOWS-1252 -t UTF-8
Spreadsheets, Excel, xlsx, xls, ods: Save each sheet as CSV in UTF-8. One saved as text with tabs has quotes as well: --csv -d '\t'
";

/// The verbs, options and topics that some words are about, with what they do: only those that fit best. Options that
/// verbs share, with the same help, are `shared`.
pub(crate) fn about(asked: &str, shared: &HashSet<(String, String)>) -> Vec<(String, String)> {
    let mut found: [Vec<(String, String)>; 3] = Default::default();
    let mut add = |texts: [&[&str]; 3], title: String, help: &str| {
        if let Some(fit) = fit(asked, texts) {
            found[fit].push((title, help.to_owned()));
        }
    };
    for verb in verbs::all() {
        let command = verb.define();
        let line = command.get_about().map(ToString::to_string).unwrap_or_default();
        let names: Vec<_> = verb.about.others().chain([verb.word(), verb.about.name]).collect();
        let told: Vec<_> = verb.about.examples().map(|(_, what)| what).chain([&*line]).collect();
        add([&names, &[], &told], format!("umbel {}", verb.about.name), &line);
        for option in command.get_arguments().filter(|option| !option.is_hide_set()) {
            let Some(long) = option.get_long() else { continue };
            let help = help_of(option);
            let title = match shared.contains(&(long.to_owned(), help.clone())) {
                true => format!("--{long} (umbel help options)"),
                false => format!("umbel {} --{long}", verb.about.name),
            };
            let others = OPTIONS.iter().filter(|(name, _)| *name == long);
            let others = others.flat_map(|(_, others)| others.iter().copied());
            let called: Vec<_> = others.chain([long]).collect();
            add([&called, &names, &[&help]], title, &help);
        }
    }
    for (names, what) in TOPICS.lines().filter_map(|topic| topic.split_once(": ")) {
        let names: Vec<_> = names.split(", ").collect();
        add([&names, &[], &[what]], names[0].to_owned(), what);
    }
    let mut found = found.into_iter().find(|found| !found.is_empty()).unwrap_or_default();
    let mut seen = HashSet::new();
    found.retain(|(title, _)| seen.insert(title.clone()));
    found
}

/// How what is asked fits the texts about something, if it does: 0 if it is one of its names; otherwise all of its words are, in
/// any order, 1 in the names, the other ones perhaps in those of its verb; 2 in the names and the help.
fn fit(asked: &str, [names, of_verb, help]: [&[&str]; 3]) -> Option<usize> {
    let asked_words = words(asked);
    let has = |texts: &[&[&str]]| {
        let there: Vec<_> = texts.concat().into_iter().flat_map(words).collect();
        move |asked: &String| there.iter().any(|word| word.starts_with(stem(asked)))
    };
    let all = |texts: &[&[&str]]| !asked_words.is_empty() && asked_words.iter().all(has(texts));
    let fits = [
        names.iter().any(|name| plain(name) == plain(asked)),
        asked_words.iter().any(has(&[names])) && all(&[names, of_verb]),
        all(&[names, help]),
    ];
    fits.iter().position(|fits| *fits)
}

/// The words of a text, in lower case.
fn words(text: &str) -> Vec<String> {
    let words = text.split(|letter: char| !letter.is_alphanumeric());
    words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

/// A word without the ending of a plural or of a form of a verb.
fn stem(word: &str) -> &str {
    let mut stems = ["ies", "ing", "ed", "s"].iter().filter_map(|end| word.strip_suffix(end));
    stems.find(|stem| stem.len() > 2).unwrap_or(word)
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
