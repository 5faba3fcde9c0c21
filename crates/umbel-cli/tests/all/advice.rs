//! Every option that a message or a help names exists: for the verb that is named before it, or else for one of those that
//! may say so. Messages are found as strings in the sources, so that also those count that no test provokes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::util::Folder;

/// The crates whose messages the command line prints.
const CRATES: [&str; 9] = ["", "cli", "foreign", "io", "net", "numbers", "report", "sets", "share"];

/// Options of other programs, which advice names after them.
const PROGRAMS: [&str; 4] = ["zstd", "xz", "iconv", "unzip"];

/// Files of the verbs that are called otherwise than the verb, and the verbs whose messages they have.
const FILES: &[(&str, &[&str])] = &[
    ("seen", &["unseen"]),
    ("since", &["build"]),
    ("goal", &["build"]),
    ("ship", &["build"]),
    ("table", &["plan"]),
    ("answer", &["query"]),
    ("prefixes", &["build", "query", "merge"]),
    ("operation", &["common", "except", "dedup"]),
    ("explain", &["common", "dedup", "build"]),
    ("pack", &["pack", "unpack"]),
    ("delta", &["delta", "patch"]),
    // It writes a command of another verb.
    ("convert", &["convert", "build"]),
];

/// A source without its comments and tests, in parts of which each is in quotes or between some; only strings have options.
fn parts(source: &str) -> Vec<String> {
    let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let code = source.lines().filter(|line| !line.trim_start().starts_with("//"));
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
) -> Vec<(Option<&'t str>, &'t str)> {
    let letter = |letter: char| letter.is_ascii_lowercase() || "0123456789-".contains(letter);
    let mut options = Vec::new();
    let paragraphs = text.split("\n\n").flat_map(|text| text.split(".\n"));
    for sentence in paragraphs.flat_map(|text| text.split(". ")) {
        let (mut verb, mut last) = (None, "");
        for word in sentence.split(|other| !letter(other)).filter(|word| !word.is_empty()) {
            if PROGRAMS.contains(&word) || last == "umbel" && verbs.contains_key(word) {
                verb = Some(word);
            }
            let name = word.strip_prefix("--").unwrap_or_default();
            if name.starts_with(|first: char| first.is_ascii_lowercase()) {
                options.push((verb, word));
            }
            last = word;
        }
    }
    options
}

#[test]
fn every_option_that_a_message_names_exists() {
    let folder = Folder::new();
    let listed = folder.umbel("help --all").run().text();
    let listed =
        listed.lines().filter(|line| line.starts_with("  ") && !line.starts_with("  umbel"));
    let mut verbs = BTreeMap::new();
    for verb in listed.map(|line| line.split_whitespace().next().unwrap().to_owned()) {
        let steps: &[&str] = match &*verb {
            "key" => &["", "new", "id"],
            "parquet" => &["", "list", "which", "add", "remove", "clear", "extract"],
            _ => &[""],
        };
        let mut options = BTreeSet::new();
        let mut helps = Vec::new();
        for step in steps {
            let help = folder.umbel(&format!("{verb} {step} --help")).run().text();
            let lines = help.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
            let names = lines.flat_map(|line| line.split([' ', ',', '[', '=']));
            options.extend(names.filter(|name| name.starts_with("--")).map(str::to_owned));
            helps.push(help);
        }
        verbs.insert(verb, (options, helps));
    }
    let options: BTreeMap<_, _> =
        verbs.iter().map(|(verb, (options, _))| (verb.clone(), options.clone())).collect();
    let has = |verb: &str, option: &str| {
        PROGRAMS.contains(&verb)
            || options.get(verb).is_some_and(|options| options.contains(option))
    };
    // Helps.
    for (verb, (_, helps)) in &verbs {
        for (other, option) in helps.iter().flat_map(|help| named(help, &options)) {
            // An example, or advice, may end before the text goes on about the verb itself.
            let of = other.unwrap_or(verb);
            // What key makes is for the others.
            let anywhere = verb == "key" && options.keys().any(|verb| has(verb, option));
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
            let stem = file.file_stem().unwrap().to_str().unwrap();
            let of_verb = file.parent().is_some_and(|folder| folder.ends_with("verbs"));
            let own = FILES.iter().find(|(name, _)| *name == stem && of_verb);
            let may = match own {
                Some((_, verbs)) => verbs.to_vec(),
                None if of_verb && verbs.contains_key(stem) => vec![stem],
                None => verbs.keys().map(String::as_str).collect(),
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
