//! Messages that name an option, followed: what a message advises does not end with a message again.

use crate::util::{Folder, least_memory, urls};

/// Small files, most of which have something wrong.
const FILES: &[(&str, &str)] = &[
    ("a.csv", "id,name\n1,x\n2,y\n"),
    ("b.csv", "id,name\n2,y\n3,z\n"),
    ("other.csv", "ID,city\n2,Ulm\n"),
    ("ragged.csv", "id,name\n1\n2,y,z\n2,w\n"),
    ("quotes.csv", "id,name\n1,x\"y\n2,w\n"),
    ("semicolons.csv", "id;name\n1;x\n"),
    ("tabs.csv", "id\tname\n1\tx\n"),
    ("bare.csv", "1,x\n2,y\n"),
    ("twice.csv", "id,id\n1,2\n"),
    ("bad.jsonl", "{\"id\":1}\n{\"id\":\n{\"id\":2}\n"),
    ("some.jsonl", "{\"id\":1}\n{\"x\":2}\n"),
    ("none.jsonl", "{\"x\":1}\n"),
    ("dots.jsonl", "{\"x.y\":1}\n"),
    ("lf", "a\nb\n"),
    ("crlf", "a\r\nb\r\n"),
    ("pairs", "a 1\na 2\n"),
    ("equals.csv", "a=b\n1\n"),
    ("nets", "192.0.2.0/24\n"),
    ("ips", "192.0.2.1\n198.51.100.1\n"),
    ("numbers", "1\n2\n"),
    ("secret", "0123456789abcdef"),
    ("d/f", "a\n"),
];

fn folder() -> Folder {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("d")).unwrap();
    FILES.iter().for_each(|(name, text)| folder.write(name, text));
    folder.write_private("secret", "0123456789abcdef");
    folder.write("keys", urls(0..1000));
    folder.write("long", [&[b'x'; 16 << 20][..], b"\ny\n"].concat());
    let events =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/foreign/parquet/events.parquet");
    std::fs::copy(events, folder.path("events")).unwrap();
    for build in [
        "build -q -o f keys",
        "build -q -o keyed --secret-file secret keys",
        "build -q -o rows --kind attributes --csv -k id -k name a.csv",
        "build -q -o ids --csv -k id a.csv",
        "build -q -o folded --csv -k id --ignore-case a.csv",
        "build -q -o networks --prefixes ip nets",
        "build -q -o guava --format guava --key-type bytes keys",
        "build -q -o parquet --format parquet --key-type i64 --keys 100 numbers",
        "index -q -o index d",
        "parquet events --add user_id --add geo.ip -o events.parquet",
    ] {
        folder.umbel(build).run().done();
    }
    folder
}

/// What fails, a part of its message, and what the message advises; `MEMORY` is the cap that it names.
const ADVICE: &[(&str, &str, &[&str])] = &[
    // How records are read.
    ("dedup -k id a.csv", "say how to read records with --csv", &["dedup --csv -k id a.csv"]),
    (
        "dedup --delimiter ; a.csv",
        "add --csv, or omit",
        &["dedup --csv --delimiter ; a.csv", "dedup a.csv"],
    ),
    ("dedup --raw a.csv", "requires --csv", &["dedup --raw --csv a.csv", "dedup a.csv"]),
    (
        "dedup --no-header a.csv",
        "requires --csv or --tsv",
        &["dedup --csv --no-header a.csv", "dedup a.csv"],
    ),
    (
        "dedup --csv -k id semicolons.csv",
        "--delimiter ';'",
        &["dedup --csv -k id --delimiter ; semicolons.csv"],
    ),
    ("dedup --csv -k id tabs.csv", "(--tsv", &["dedup --tsv -k id tabs.csv"]),
    (
        "dedup --csv -k id bare.csv",
        "(--key, --no-header)",
        &["dedup --csv -k 1 --no-header bare.csv"],
    ),
    (
        "dedup --csv -k id --no-header a.csv",
        "give a number (--key; for names, omit --no-header)",
        &["dedup --csv -k 1 --no-header a.csv", "dedup --csv -k id a.csv"],
    ),
    ("dedup --csv -k id twice.csv", "by its number", &["dedup --csv -k 1 twice.csv"]),
    (
        "dedup --csv --delimiter \" a.csv",
        "choose another byte (--delimiter)",
        &["dedup --csv --delimiter , a.csv"],
    ),
    (
        "dedup --jsonl -k x.y dots.jsonl",
        "did you mean \"/x.y\"?",
        &["dedup --jsonl -k /x.y dots.jsonl"],
    ),
    ("dedup --csv -k id=ID a.csv", "name one field here", &["dedup --csv -k id a.csv"]),
    (
        "dedup --csv a.csv other.csv",
        "(--no-header ignores names)",
        &["dedup --csv --no-header a.csv other.csv"],
    ),
    // Records that cannot be read, or have no key.
    (
        "dedup --csv quotes.csv",
        "--bad skip leaves it out, --tsv reads quotes as text",
        &["dedup --csv --bad skip quotes.csv", "dedup --tsv quotes.csv"],
    ),
    (
        "dedup --jsonl -k id bad.jsonl",
        "(--bad skip)",
        &["dedup --jsonl -k id --bad skip bad.jsonl"],
    ),
    (
        "dedup --jsonl -k id some.jsonl",
        "(--missing skip)",
        &["dedup --jsonl -k id --missing skip some.jsonl"],
    ),
    (
        "dedup --jsonl -k id --missing skip none.jsonl",
        "(--key)",
        &["dedup --jsonl -k x none.jsonl"],
    ),
    (
        "join --csv -k id a.csv ragged.csv --prefix r_",
        "(--bad skip)",
        &["join --csv -k id --bad skip a.csv ragged.csv --prefix r_"],
    ),
    (
        "join --csv -k id a.csv quotes.csv --prefix r_",
        "--bad skip leaves it out",
        &["join --csv -k id --bad skip a.csv quotes.csv --prefix r_"],
    ),
    (
        "index -o new --jsonl -k id some.jsonl",
        "(--missing skip)",
        &["index -o new --jsonl -k id --missing skip some.jsonl"],
    ),
    (
        "build -o new --jsonl -k id --missing keep some.jsonl",
        "leave them out (--missing skip)",
        &["build -f -o new --jsonl -k id --missing skip some.jsonl"],
    ),
    // Verbs and their options.
    (
        "join a.csv b.csv",
        "name it with --key, and the format with --csv",
        &["join --csv -k id --prefix r_ a.csv b.csv"],
    ),
    (
        "join --csv -k id a.csv b.csv",
        "put a prefix in front",
        &["join --csv -k id --prefix r_ a.csv b.csv"],
    ),
    (
        "join --fields -k 1 --unique pairs pairs",
        "one partner only",
        &["join --fields -k 1 --first pairs pairs"],
    ),
    (
        "dedup --csv --print key a.csv",
        "name them with --key",
        &["dedup --csv -k id --print key a.csv"],
    ),
    (
        "dedup --jsonl -k id --print key --missing keep some.jsonl",
        "with --missing skip",
        &["dedup --jsonl -k id --print key --missing skip some.jsonl"],
    ),
    ("diff --old a.csv b.csv", "name it with --key", &["diff --old --csv -k id a.csv b.csv"]),
    (
        "diff --ignore-column name a.csv b.csv",
        "--csv or --tsv",
        &["diff --csv --ignore-column name a.csv b.csv"],
    ),
    ("common --at-least 3 lf crlf", "(--at-least)", &["common --at-least 2 lf lf"]),
    (
        "index -o new --ignore-case d",
        "omit these options, or name a field with --key",
        &["index -f -o new d", "index -f -o new --csv -k id --ignore-case a.csv"],
    ),
    (
        "index -o new --jsonl d",
        "name one with --key, or index the words",
        &["index -f -o new --jsonl -k id some.jsonl --missing skip", "index -f -o new d"],
    ),
    ("index --update index --jsonl -k id", "omit the options", &["index --update index"]),
    ("index --update index -k id", "omit the options", &["index --update index"]),
    (
        "audit f",
        "--candidates, or the number of possible keys with --universe",
        &["audit f --candidates keys", "audit f --universe ipv4"],
    ),
    // Memory and folders.
    ("unseen -m 16MiB new long", "(--memory)", &["unseen -m MEMORY new long"]),
    ("dedup -m 1MiB keys", "(--memory)", &["dedup -m MEMORY keys"]),
    ("dedup --tmp gone keys", "name one with --tmp", &["dedup --tmp d keys"]),
    ("dedup d", "--recursive reads all files in it", &["dedup --recursive d"]),
    // Filters.
    ("query keyed keys", "(--secret-file)", &["query keyed --secret-file secret keys"]),
    ("query f --secret-file secret keys", "omit the secret", &["query f keys"]),
    ("query guava --secret-file secret keys", "omit --secret-file", &["query guava keys"]),
    ("query f --key-type i64 numbers", "omit --key-type", &["query f numbers"]),
    (
        "build -o new keys --key-type i64",
        "requires --format",
        &["build -f -o new numbers --format guava --key-type i64", "build -f -o new keys"],
    ),
    (
        "build -o new lf --except numbers",
        "requires --kind cascade",
        &["build -f -o new lf --except numbers --kind cascade"],
    ),
    ("build -o crlf keys", "replace it with --force", &["build -o crlf keys --force"]),
    (
        "build -o new keys --format guava --secret-file secret",
        "omit it",
        &["build -f -o new keys --format guava"],
    ),
    ("add parquet numbers", "name it: --key-type", &["add parquet --key-type i64 numbers"]),
    (
        "query ids --csv -k ID other.csv",
        "--as if only the names differ",
        &["query ids --csv -k ID --as id other.csv"],
    ),
    (
        "query folded --csv -k id a.csv",
        "--ignore-case",
        &["query folded --csv -k id --ignore-case a.csv"],
    ),
    ("query rows a.csv", "--key, and --csv", &["query rows --csv -k id a.csv"]),
    ("query rows --csv -k ID --as id other.csv", "omit --as", &["query rows --csv -k id b.csv"]),
    (
        "unseen rows a.csv",
        "run umbel query -v and then umbel add",
        &["query -v rows --csv -k id -k name a.csv", "add rows --csv -k id -k name a.csv"],
    ),
    ("query networks ips", "umbel query --prefixes ip", &["query --prefixes ip networks ips"]),
    ("add networks ips", "umbel build --prefixes ip", &["build -f -o networks --prefixes ip nets"]),
    (
        "query --prefixes ip f ips",
        "(umbel build --prefixes)",
        &["build -f -o networks --prefixes ip nets"],
    ),
    ("unseen f --keys 5 keys", "omit --keys", &["unseen f keys"]),
    ("info --plot p.svg f f", "draw this one in another", &["info --plot p.svg f"]),
    ("info --plot p.svg guava", "omit it", &["info guava"]),
    ("unseen f --kind classic keys", "omit --kind", &["unseen f keys"]),
    ("unseen f --fpp 0.5 keys", "omit --fpp", &["unseen f keys"]),
    ("merge -o new guava guava --intersect", "only be merged", &["merge -f -o new guava guava"]),
    (
        "build -o new lf --keys 5 --fpp 0.1 --size 1KiB",
        "omit one",
        &["build -o new lf --keys 5 --fpp 0.1"],
    ),
    (
        "build -o new --kind cascade --size 1MiB --except numbers lf",
        "give --fpp instead",
        &["build -o new --kind cascade --fpp 0.01 --except numbers lf"],
    ),
    (
        "build -o new --csv -k id --as x --format guava a.csv",
        "omit it",
        &["build -o new --csv -k id --format guava a.csv"],
    ),
    ("query guava --csv -k id --as x a.csv", "omit --as", &["query guava --csv -k id a.csv"]),
    (
        "build -o new keys --param capacity=5 --format guava",
        "--keys and --fpp",
        &["build -o new keys --keys 5000 --format guava"],
    ),
    (
        "plan --ship",
        "give both, or a size",
        &["plan --ship --keys 1e6 --fpp 0.01", "plan --ship=1MB --keys 1e6"],
    ),
    ("index --explain -o new d", "omit it", &["index -o new d"]),
    ("index -o new --csv -k id --bad skip a.csv", "omit it", &["index -o new --csv -k id a.csv"]),
    (
        "index -o new --csv -k id --delimiter , --delimiter ; a.csv",
        "name one",
        &["index -o new --csv -k id --delimiter , a.csv"],
    ),
    (
        "index -o new --jsonl -k id --missing keep some.jsonl",
        "with --missing skip",
        &["index -o new --jsonl -k id --missing skip some.jsonl"],
    ),
    (
        "dedup --csv -k a=b=c a.csv",
        "an equals sign in a name twice",
        &["dedup --csv -k a==b equals.csv"],
    ),
    (
        "parquet events.parquet numbers",
        "--column",
        &["parquet events.parquet --column user_id numbers"],
    ),
];

#[test]
fn what_a_message_advises_works() {
    let (folder, mut wrong) = (folder(), Vec::new());
    for (fails, words, follow) in ADVICE {
        let _ = std::fs::remove_file(folder.path("new"));
        let run = folder.umbel(fails).run();
        if run.status.code() != Some(2) || !run.stderr.contains(words) {
            wrong.push(format!("{fails}: no {words:?} in {}", run.stderr));
            continue;
        }
        for remedy in *follow {
            let remedy = match remedy.contains("MEMORY") {
                true => remedy.replace("MEMORY", least_memory(&run.stderr)),
                false => (*remedy).to_owned(),
            };
            let run = folder.umbel(&remedy).run();
            if !matches!(run.status.code(), Some(0 | 1)) {
                wrong.push(format!("{fails}: then {remedy}: {}", run.stderr));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
