//! `umbel key`, and filters of different secrets, as black boxes.

use std::fs;
use std::io::Write;
#[cfg(unix)]
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::util::{Folder, lines, urls};

fn key(folder: &Folder, name: &str) -> String {
    folder.umbel(&format!("key new -o {name}")).run().text()
}

#[cfg(unix)]
#[test]
fn a_new_secret_is_random_and_private() {
    let folder = Folder::new();
    let (first, second) = (key(&folder, "first"), key(&folder, "second"));
    assert_ne!(first, second);
    assert_ne!(folder.read("first"), folder.read("second"));
    assert_eq!(folder.umbel("key id first").run().text(), first);
    let bytes = folder.read("first");
    assert!(bytes.starts_with(b"umbel-secret-1 ") && bytes.len() == 15 + 32 + 7 + 16 + 1);
    let mut mistyped = bytes.clone();
    mistyped[20] ^= 1;
    folder.write("mistyped", mistyped);
    folder.umbel("key id mistyped").run().fails(&["mistyped", "the right check"]);
    let mode = std::fs::metadata(folder.path("first")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    folder.umbel("key new -o first").run().fails(&["first: already exists", "never replaced"]);
    assert_eq!(folder.read("first"), bytes);
    let piped = folder.umbel("key new -o -").run().text();
    folder.write("piped", &piped);
    assert_eq!(folder.umbel("key id piped").run().text().len(), 17);
    // The id of FORMAT.md's example, from 16 bytes or as many in hexadecimal digits.
    folder.write("raw", (0..16).collect::<Vec<u8>>());
    assert_eq!(folder.umbel("key id raw").run().text(), "163d19d5742f2273\n");
    folder.write("hex", "000102030405060708090A0B0C0D0E0F");
    assert_eq!(folder.umbel("key id hex").run().text(), "163d19d5742f2273\n");
}

#[cfg(unix)]
#[test]
fn what_is_no_secret_is_refused() {
    let folder = Folder::new();
    for (name, bytes) in [("short", &b"0011"[..]), ("empty", b""), ("words", &[b'x'; 32])] {
        folder.write(name, bytes);
        folder.umbel(&format!("key id {name}")).run().fails(&[name, "32 hexadecimal digits"]);
    }
    folder.umbel("key id none").run().fails(&["none", "(os error 2)"]);
    folder.umbel("key new -o none/key").run().fails(&["none/key", "folder none does not exist"]);
    folder.umbel("key new").run().fails(&["--output"]);
    let alone = folder.umbel("key").run();
    assert_eq!((alone.status.code(), alone.stdout), (Some(2), Vec::new()));
    assert!(alone.stderr.contains("Usage: umbel key"), "{}", alone.stderr);
    let full = folder.umbel_on_small_disk(0, "key new -o full").run();
    full.fails(&["full"]);
    assert!(!folder.path("full").exists());
}

/// One secret serves a group; filters of two secrets neither compare nor merge nor answer for each other, and the error
/// names both ids.
#[test]
fn filters_of_different_secrets_do_not_mix() {
    let folder = Folder::new();
    let ids = ["ours", "theirs"].map(|name| key(&folder, name).trim_end().to_owned());
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    folder.write("list", urls(0..1_000));
    folder.write("other", urls(500..1_500));
    for (filter, list, key) in
        [("a", "list", "ours"), ("b", "other", "ours"), ("c", "other", "theirs")]
    {
        let build = format!("build -q -o {filter} --keys 2000 --secret-file {key} {list}");
        folder.umbel(&build).run().done();
    }
    folder.umbel("build -q -o open --keys 2000 list").run().done();
    assert!(folder.umbel("info a").run().text().contains(ids[0]));
    let same = folder.umbel("overlap a b").run().text();
    assert!(same.contains("in both      about ") && same.contains("merge        yes"), "{same}");
    assert!(
        same.contains("learned      by whoever has both files: these figures, and with the secret"),
        "{same}"
    );
    assert!(same.contains("use a new secret for each version"), "{same}");
    let different = folder.umbel("overlap a c").run().text();
    assert!(ids.iter().all(|id| different.contains(id)), "{different}");
    assert!(
        different.contains("shared       unknown: the filters hash keys differently"),
        "{different}"
    );
    for other in ["c", "open"] {
        folder
            .umbel(&format!("merge -o m a {other}"))
            .run()
            .fails(&["hash keys differently", ids[0]]);
        folder
            .umbel(&format!("merge -o m --intersect a {other}"))
            .run()
            .fails(&["hash keys differently"]);
    }
    folder.umbel("merge -o m a b").run().done();
    folder.umbel("query m list --secret-file theirs").run().fails(&ids);
    assert!(folder.umbel("query m list --secret-file ours").run().done() == folder.read("list"));
    let open = folder.umbel("overlap open open").run().text();
    assert!(
        open.contains("learned      by whoever has both files: these figures, and whether"),
        "{open}"
    );
    folder.write("guesses", lines(["x"]));
    folder.umbel("query a guesses").run().fails(&["keyed", ids[0], "--secret-file"]);
}

/// A power failure between its two files leaves half a pair, which the next run must not take for a whole one.
#[test]
fn half_a_pair_is_told_from_a_whole_one() {
    let folder = Folder::new();
    let command = "key new --signing -o mine";
    folder.umbel(command).run().done();
    let whole = folder.umbel(command).run().fails(&["already exists", "never replaced"]);
    assert!(!whole.contains("interrupted"), "{whole}");
    let before = folder.read("mine");
    fs::remove_file(folder.path("mine.pub")).unwrap();
    let half = "or remove it, if a run was interrupted before it wrote mine.pub";
    folder.umbel(command).run().fails(&["already exists", "never replaced", half]);
    assert_eq!(folder.read("mine"), before);
    assert!(!folder.path("mine.pub").exists());
}

/// Every sort of secret, with modes that let others in; a pipe has none.
#[cfg(unix)]
#[test]
fn secrets_that_others_may_read_are_warned_of() {
    let folder = Folder::new();
    folder.write("list", urls(0..100));
    folder.umbel("key new -o key").run().done();
    folder.umbel("key new --signing -o signing").run().done();
    folder.umbel("build -q -o list.umbel list").run().done();
    for (secret, line) in [
        ("key", "build -f -o keyed --secret-file key list"),
        ("key", "key id key"),
        ("signing", "sign --sign signing list.umbel"),
    ] {
        for (mode, word) in [(0o600, None), (0o640, Some("read")), (0o602, Some("change"))] {
            let permissions = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(folder.path(secret), permissions).unwrap();
            let run = folder.umbel(line).run();
            run.ended_with(0);
            let warning = format!("warning: {secret}: others than its owner may ");
            let expected = word.map(|word| format!("{warning}{word} this secret"));
            assert_eq!(expected.is_some(), run.stderr.contains(&warning), "{}", run.stderr);
            assert!(expected.is_none_or(|words| run.stderr.contains(&words)), "{}", run.stderr);
            if line.starts_with("build -f") {
                assert_eq!(folder.umbel(&format!("{line} -q")).run().stderr, "");
            }
            // With --json, it is in the report, or an object of its own.
            let permissions = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(folder.path(secret), permissions).unwrap();
            let run = folder.umbel(&format!("{line} --json")).run();
            run.ended_with(0);
            let objects = run.stderr.lines().chain(str::from_utf8(&run.stdout).unwrap().lines());
            let objects: Vec<Value> =
                objects.map(|line| serde_json::from_str(line).expect(line)).collect();
            let found = objects.iter().filter(|object| {
                let own = object["type"] == "warning" && object["warning"].is_string();
                own || object["warnings"][0].is_string()
            });
            assert_eq!(found.count(), usize::from(word.is_some()), "{line}: {objects:?}");
        }
    }
    folder.fifo("pipe");
    let mut run = folder.umbel("key id pipe").spawn();
    run.feed(&folder, "pipe").write_all(&folder.read("key")).unwrap();
    let run = run.finish();
    run.ended_with(0);
    assert_eq!(run.stderr, "");
}
