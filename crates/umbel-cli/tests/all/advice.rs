//! Every option that a message or a help names exists: for the verb that is named before it, or else for one of those that
//! may say so. Messages are found as strings in the sources, so that also those count that no test provokes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::util::{help_of, options_in, verbs};

/// The crates whose messages the command line prints.
const CRATES: [&str; 9] = ["", "cli", "foreign", "io", "net", "numbers", "report", "sets", "share"];

/// Options of other programs, which advice names after them.
const PROGRAMS: [&str; 5] = ["cargo", "zstd", "xz", "iconv", "unzip"];

/// Files of the verbs that are called otherwise than the verb, and the verbs whose messages they have.
const FILES: &[(&str, &[&str])] = &[
    ("matching", &["match"]),
    ("docs", &["completions", "man"]),
    ("answer", &["filter query", "match"]),
    ("operation", &["common", "except", "dedup"]),
    ("explain", &["common", "dedup", "filter build"]),
    ("filter/since", &["filter build"]),
    ("filter/goal", &["filter build"]),
    ("filter/copies", &["filter build"]),
    ("filter/ship", &["filter plan", "filter build"]),
    ("filter/table", &["filter plan"]),
    ("filter/prefixes", &["filter build", "filter query", "filter merge"]),
    ("filter/pack", &["filter pack", "filter unpack"]),
    ("filter/delta", &["filter delta", "filter patch"]),
    ("filter/sign", &["filter sign", "filter verify"]),
    // It writes a command of another verb.
    ("filter/convert", &["filter convert", "filter fold", "filter build"]),
    ("parquet/mod", &["parquet list", "parquet which"]),
    ("parquet/edit", &["parquet add", "parquet remove"]),
];

/// A source without its comments and tests, in parts of which each is in quotes or between some; only strings have options.
fn parts(source: &str) -> Vec<String> {
    let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    // A line that begins with `for --` names other programs' options.
    let other =
        |line: &&str| ["//", "for --"].iter().any(|begin| line.trim_start().starts_with(begin));
    let code = source.lines().filter(|line| !other(line));
    code.collect::<Vec<_>>().join("\n").split('"').map(str::to_owned).collect()
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        if path.is_dir() && name != "tests" {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") && name != "tests" {
            found.push(path);
        }
    }
}

/// The options that a text names, each with the verb, or the other program, that its sentence names before it.
fn named<'t>(
    text: &'t str,
    verbs: &BTreeMap<String, BTreeSet<String>>,
) -> Vec<(Option<String>, &'t str)> {
    let letter = |letter: char| letter.is_ascii_lowercase() || "0123456789-".contains(letter);
    let mut options = Vec::new();
    let paragraphs = text.split("\n\n").flat_map(|text| text.split(".\n"));
    for sentence in paragraphs.flat_map(|text| text.split(". ")) {
        let (mut verb, mut last, mut noun) = (None, "", "");
        for word in sentence.split(|other| !letter(other)).filter(|word| !word.is_empty()) {
            if PROGRAMS.contains(&word) || last == "umbel" && verbs.contains_key(word) {
                verb = Some(word.to_owned());
            } else if noun == "umbel" && verbs.contains_key(&format!("{last} {word}")) {
                verb = Some(format!("{last} {word}"));
            }
            let name = word.strip_prefix("--").unwrap_or_default();
            if name.starts_with(|first: char| first.is_ascii_lowercase()) {
                options.push((verb.clone(), word));
            }
            (noun, last) = (last, word);
        }
    }
    options
}

#[test]
fn every_option_that_a_message_names_exists() {
    let options: BTreeMap<_, _> =
        verbs().iter().map(|verb| (verb.clone(), options_in(&help_of(verb)))).collect();
    let has = |verb: &str, option: &str| {
        PROGRAMS.contains(&verb)
            || options.get(verb).is_some_and(|options| options.contains(option))
    };
    // Helps.
    for verb in verbs() {
        for (other, option) in named(&help_of(verb), &options) {
            // An example, or advice, may end before the text goes on about the verb itself.
            let of = other.as_ref().unwrap_or(verb);
            // What key makes is for the others.
            let anywhere = verb == "filter key" && options.keys().any(|verb| has(verb, option));
            assert!(
                has(of, option) || has(verb, option) || anywhere,
                "umbel help {verb}: {of} has no {option}"
            );
        }
    }
    // Messages.
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let (mut count, mut wrong) = (0, Vec::new());
    for name in CRATES {
        let mut files = Vec::new();
        let name = format!("umbel-{name}");
        sources(&crates.join(name.trim_end_matches('-')).join("src"), &mut files);
        for file in files {
            let path = file.with_extension("").to_str().unwrap().replace('\\', "/");
            let of_verb = path.split_once("umbel-cli/src/verbs/").map(|(_, name)| name);
            let own = FILES.iter().find(|(name, _)| Some(*name) == of_verb);
            let name = of_verb.unwrap_or_default().replace('/', " ");
            let may: Vec<String> = match own {
                Some((_, verbs)) => verbs.iter().map(|verb| (*verb).to_owned()).collect(),
                None if options.contains_key(&name) => vec![name],
                None => options.keys().cloned().collect(),
            };
            for text in parts(&fs::read_to_string(&file).unwrap()) {
                for (verb, option) in named(&text, &options) {
                    let may = verb.map_or(may.clone(), |verb| vec![verb]);
                    count += 1;
                    if !may.iter().any(|verb| has(verb, option)) {
                        wrong.push(format!("{}: {option} of {may:?}: {text}", file.display()));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(count > 150, "{count} options found");
}
