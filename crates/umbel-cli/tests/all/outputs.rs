//! `-o FILE`: one rule for every verb that has it. What is there is replaced if it is of the sort that is written, a file of
//! another sort only with --force, a secret never; and umbel unseen appends.

use std::fs;

use crate::util::Folder;

/// What a file is, and the name of one.
const SORTS: [&str; 6] = ["text", "filter", "packed", "delta", "picture", "index"];

/// Every verb, or step of one, with `-o`: how to run it, where OUT is the file, and the sort of what it writes.
const OUTPUTS: &[(&str, &str, &str)] = &[
    ("common", "text other -o OUT", "text"),
    ("except", "text other -o OUT", "text"),
    ("diff", "text other -o OUT", "text"),
    ("diff", "text other --added OUT", "text"),
    ("diff", "text other --removed OUT", "text"),
    ("diff", "text other --kept OUT", "text"),
    ("join", "--fields -k 1 text other -o OUT", "text"),
    ("dedup", "text -o OUT", "text"),
    ("query", "filter text -o OUT", "text"),
    ("query", "--prefixes domain text text -o OUT", "text"),
    ("info", "filter -o OUT", "text"),
    ("info", "filter --plot OUT.svg", "picture"),
    ("overlap", "filter new -o OUT", "text"),
    ("audit", "filter --universe ipv4 -o OUT", "text"),
    ("plan", "--keys 1e6 --fpp 1% -o OUT", "text"),
    ("demo", "-o OUT", "text"),
    ("parquet list", "events -o OUT", "text"),
    ("parquet which", "events -c id --keys-from text -q -o OUT", "text"),
    ("parquet add", "--again id events -q -o OUT", "events"),
    ("parquet remove", "id name events -q -o OUT", "events"),
    ("parquet clear", "events -q -o OUT", "events"),
    ("parquet extract", "id events -q -o OUT", "filter"),
    ("index", "-q text -o OUT", "index"),
    ("build", "-q text -o OUT", "filter"),
    ("merge", "-q filter new -o OUT", "filter"),
    ("convert", "-q counting --to blocked -o OUT", "filter"),
    ("shrink", "-q filter -o OUT", "filter"),
    ("pack", "-q filter -o OUT", "packed"),
    ("unpack", "-q packed -o OUT", "filter"),
    ("delta", "-q filter new -o OUT", "delta"),
    ("patch", "-q filter delta -o OUT", "filter"),
    ("build", "-q text --copies 1 -o OUT.umbel", "filter"),
];

#[test]
fn results_have_no_name_of_compressed_data() {
    let folder = folder();
    for (verb, arguments, _) in OUTPUTS.iter().filter(|(_, _, sort)| *sort == "text") {
        let arguments = arguments.replace("OUT", "out.gz");
        folder.refuses(
            &format!("{verb} {arguments}"),
            &["out.gz: ", "gzip data", "not compressed", "omit .gz"],
        );
    }
    for ending in ["zst", "XZ", "bz2", "lz4"] {
        folder.refuses(&format!("dedup text -o out.{ending}"), &["results are not compressed"]);
    }
    let unseen = "unseen new text --append queue.gz";
    folder.refuses(unseen, &["queue.gz: ", "not compressed"]);
    // Filters are what they are, whatever their name.
    folder.umbel("build -q text -o filter.gz").run().done();
}

/// Those that write secrets, or append.
const OTHERS: &[&str] = &["key new", "unseen"];

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("text", "1.example\n2.example\n2.example\n");
    folder.write("other", "2.example\n2.example\n3.example\n");
    let parquet =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/foreign/parquet/groups.parquet");
    folder.write("events", fs::read(parquet).unwrap());
    for (name, options) in
        [("filter", "text"), ("new", "other"), ("counting", "--kind counting text")]
    {
        folder.umbel(&format!("build -q --keys 1000 -o {name} {options}")).run().done();
    }
    folder.umbel("pack -q filter -o packed").run().done();
    folder.umbel("delta -q filter new -o delta").run().done();
    folder.umbel("index -q text -o index").run().done();
    folder.umbel("info filter --plot picture.svg").run().done();
    fs::rename(folder.path("picture.svg"), folder.path("picture")).unwrap();
    folder.umbel("key new -o secret").run().done();
    folder.umbel("key new --signing -o signing").run().done();
    folder
}

/// The verbs, and what `key` and `parquet` do, as the help lists them.
fn all(folder: &Folder) -> Vec<String> {
    let listed = |help: String, begin: &str| -> Vec<String> {
        let lines = help.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
        let words = lines.filter_map(|line| line.split_whitespace().next());
        let words = words.filter(|word| !word.starts_with(['-', '<', '[']) && *word != "umbel");
        words.map(|word| format!("{begin}{word}")).collect()
    };
    let mut verbs = listed(folder.umbel("help --all").run().text(), "");
    // Another name of dedup.
    verbs.retain(|verb| verb != "union");
    assert!(verbs.len() > 20, "{verbs:?}");
    for noun in ["key", "parquet"] {
        let help = folder.umbel(&format!("help {noun}")).run().text();
        let steps = help.split("\n\n").find(|part| part.starts_with("What:")).unwrap();
        verbs.extend(listed(steps.to_owned(), &format!("{noun} ")));
    }
    verbs
}

#[test]
fn every_verb_with_an_output_keeps_the_one_rule() {
    let folder = folder();
    for verb in all(&folder) {
        let help = folder.umbel(&format!("{verb} --help")).run().text();
        let has = help.contains("-o, --output") || help.contains("--append");
        let tested = OUTPUTS.iter().any(|(name, ..)| *name == verb) || OTHERS.contains(&&*verb);
        assert_eq!(has, tested, "umbel {verb}: is its -o tested here?");
        assert_eq!(
            help.contains("--force"),
            OUTPUTS.iter().any(|(name, ..)| *name == verb),
            "umbel {verb}: --force"
        );
    }
    for (number, &(verb, arguments, writes)) in OUTPUTS.iter().enumerate() {
        let run = |out: &str, force: &str| {
            folder.umbel(&format!("{verb} {} {force}", arguments.replace("OUT", out))).run()
        };
        let made = |out: &str| match arguments {
            with if with.contains("OUT.svg") => format!("{out}.svg"),
            with if with.contains("OUT.umbel") => format!("{out}.umbel.1.umbel"),
            _ => out.to_owned(),
        };
        let done = |outcome: crate::util::Outcome| {
            assert!(
                matches!(outcome.status.code(), Some(0 | 1)),
                "{verb} {arguments}: {}",
                outcome.stderr
            );
            assert_eq!(outcome.stderr, "", "{verb} {arguments}");
        };
        done(run(&format!("out{number}"), ""));
        let expected = folder.read(&made(&format!("out{number}")));
        for there in SORTS.iter().chain(&["events", "empty"]) {
            let out = format!("{there}{number}");
            let path = made(&out);
            let before = if *there == "empty" { Vec::new() } else { folder.read(there) };
            folder.write(&path, &before);
            if *there != writes && *there != "empty" {
                run(&out, "").fails(&[&path, " would replace it", "--force"]);
                assert_eq!(folder.read(&path), before, "{verb} {arguments} over {there}");
                done(run(&out, "--force"));
            } else {
                done(run(&out, ""));
            }
            // An audit measures its speed.
            let after = folder.read(&path);
            assert!(after == expected || verb == "audit" && after != before, "{verb} over {there}");
        }
        for secret in ["secret", "signing"] {
            let out = format!("{secret}{number}");
            fs::copy(folder.path(secret), folder.path(&made(&out))).unwrap();
            for force in ["", "--force"] {
                run(&out, force).fails(&[&made(&out), "secret", "never replaced"]);
            }
            assert_eq!(folder.read(&made(&out)), folder.read(secret));
        }
    }
    for verb in ["key new", "key new --signing"] {
        for there in ["text", "secret"] {
            let before = folder.read(there);
            folder.umbel(&format!("{verb} -o {there}")).run().fails(&[there, "never replaced"]);
            assert_eq!(folder.read(there), before);
        }
    }
    for option in ["-a", "--append"] {
        folder.write("lines", "before\n");
        folder.umbel(&format!("unseen f{option} text {option} lines")).run().done();
        assert_eq!(folder.read("lines"), b"before\n1.example\n2.example\n");
    }
    let rule = folder.umbel("help options").run().text();
    assert!(
        rule.contains("Secrets are never replaced") && rule.contains("unseen alone appends"),
        "{rule}"
    );
}
