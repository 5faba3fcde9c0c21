//! `umbel group` as a black box.

#[cfg(unix)]
use std::os::unix::fs::PermissionsExt;

use crate::util::{Folder, urls};

/// Members with overlapping lists, who have joined and masked.
fn group(members: u64, options: &str) -> Folder {
    let folder = Folder::new();
    folder.write("key", "00112233445566778899aabbccddeeff");
    for i in 0..members {
        folder.write(&format!("{i}.txt"), urls(300 * i..300 * i + 700));
        folder.umbel(&format!("build -q -o {i}.umbel --keys 4000 {options} {i}.txt")).run().done();
        folder.umbel(&format!("group join -o {i}.secret --card {i}.card")).run().done();
    }
    let cards = names(0..members, "card");
    let masks = |i| format!("group mask {i}.umbel --as {i}.secret --cards {cards} -o {i}.masked");
    let ids: Vec<String> = (0..members).map(|i| folder.umbel(&masks(i)).run().text()).collect();
    assert!(ids[0].len() == 33 && ids.iter().all(|id| *id == ids[0]), "all see one round: {ids:?}");
    folder
}

fn names(members: impl IntoIterator<Item = u64>, ending: &str) -> String {
    members.into_iter().map(|i| format!("{i}.{ending} ")).collect()
}

fn reveal(folder: &Folder, members: &[u64], dropped: &str) {
    let dropped = if dropped.is_empty() { String::new() } else { format!("--dropped {dropped}") };
    for i in members {
        let run = folder.umbel(&format!("group reveal --as {i}.secret -o {i}.share {dropped}"));
        run.run().done();
    }
}

fn sum(members: &[u64]) -> String {
    let of = |ending| names(members.iter().copied(), ending);
    format!("group sum {} --shares {} -o all.umbel", of("masked"), of("share"))
}

/// Ten members, one of whom drops out after it has joined; and groups without, of other kinds, and under a secret.
#[test]
fn the_list_of_a_group_is_the_merge_of_its_filters() {
    for (members, dropped, options) in [
        (10, Some(4), ""),
        (3, None, "--kind classic"),
        (5, Some(0), "--kind sliced --seed 3"),
        (4, None, "--secret-file key"),
    ] {
        let folder = group(members, options);
        let stay: Vec<u64> = (0..members).filter(|i| Some(*i) != dropped).collect();
        reveal(&folder, &stay, &names(dropped, "card"));
        folder.umbel(&sum(&stay)).run().done();
        let filters = names(stay.iter().copied(), "umbel");
        folder.umbel(&format!("merge -o merged.umbel {filters}")).run().done();
        assert!(folder.read("all.umbel") == folder.read("merged.umbel"), "{members} {options}");
        assert_eq!(folder.read("0.masked").len() / folder.read("0.umbel").len(), 62);
    }
}

#[cfg(unix)]
#[test]
fn secrets_are_private_and_used_once() {
    let folder = group(4, "");
    let mode =
        |name: &str| std::fs::metadata(folder.path(name)).unwrap().permissions().mode() & 0o777;
    // Also after it was marked as used.
    assert_eq!(mode("0.secret"), 0o600);
    let cards = names(0..4, "card");
    let mask = |filter: &str, cards: &str, to: &str| {
        folder.umbel(&format!("group mask {filter} --as 0.secret --cards {cards} -o {to}")).run()
    };
    mask("0.umbel", &cards, "again").done();
    assert!(folder.read("again") == folder.read("0.masked"));
    mask("1.umbel", &cards, "other").fails(&["0.secret", "used for another filter or group"]);
    mask("0.umbel", &names(0..3, "card"), "other").fails(&["0.secret", "join again"]);
    assert!(!folder.path("other").exists());
    mask("0.umbel", &cards, "0.masked").done();
    mask("0.umbel", &cards, "0.txt").fails(&["0.txt: is text", "--force"]);
    mask("0.umbel", &cards, "0.card").fails(&["0.card", "also read"]);
    mask("0.umbel", &names(1..4, "card"), "other").fails(&["0.secret", "not among those"]);
    folder.umbel("group join -o 0.secret --card new").run().fails(&["0.secret: already exists"]);
    folder.umbel("group join -o new --card 0.card").run().fails(&["0.card: already exists"]);
    assert!(!folder.path("new").exists());
    reveal(&folder, &[0], "3.card");
    let other = "group reveal --as 0.secret --dropped 2.card -o other";
    folder.umbel(other).run().fails(&["0.secret", "with other members dropped out"]);
    let few = "group reveal --as 1.secret --dropped 2.card 3.card -o other";
    folder.umbel(few).run().fails(&["2 members", "at least 3"]);
    folder.umbel("group join -o fresh --card fresh.card").run().done();
    folder.umbel("group reveal --as fresh -o other").run().fails(&["fresh", "mask one first"]);
    let strange = "group reveal --as 1.secret --dropped fresh.card -o other";
    folder.umbel(strange).run().fails(&["not that of another member"]);
    assert!(!folder.path("other").exists());
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let folder = group(4, "");
    let all = [0, 1, 2, 3];
    reveal(&folder, &all, "");
    let fails = |arguments: &str, words: &[&str]| {
        folder.umbel(arguments).run().fails(words);
        assert!(!folder.path("all.umbel").exists(), "{arguments}");
    };
    fails(&sum(&[0, 1, 2]), &["members as dropped out", "1 have no masked list"]);
    fails(&sum(&all).replace(" 3.share", ""), &["4 masked lists and 3 shares"]);
    fails(&sum(&all).replace(" 3.masked", " 2.masked"), &["2.masked", "name it once"]);
    fails(&sum(&all).replace(" 3.masked", " 3.umbel"), &["3.umbel", "masked list"]);
    fails(&sum(&all).replace(" 3.share", " 3.card"), &["3.card", "share of a group"]);
    fails(&sum(&all).replace("3.masked", "none"), &["none", "(os error 2)"]);
    let mut damaged = folder.read("2.masked");
    damaged[20_000] ^= 1;
    folder.write("damaged", &damaged);
    fails(&sum(&all).replace("2.masked", "damaged"), &["damaged"]);
    folder.write("damaged", &folder.read("2.masked")[..20_000]);
    fails(&sum(&all).replace("2.masked", "damaged"), &["damaged: ", "copy it again"]);
    folder.umbel(&sum(&all)).run().done();
    folder.umbel(&sum(&all)).run().done();
    // Filters of one group are alike, of a kind that has an OR, and no filter of another system.
    for (options, words) in [
        ("--kind counting", "counting filter"),
        ("--kind scalable", "scalable filter"),
        ("--format guava --key-type utf16", "not an umbel file"),
    ] {
        folder.umbel(&format!("build -q -f -o odd --keys 4000 {options} 0.txt")).run().done();
        folder.umbel("group join -o odd.secret --card odd.card").run().done();
        let cards = names(0..3, "card");
        let mask = format!("group mask odd --as odd.secret --cards {cards} odd.card -o odd.masked");
        folder.umbel(&mask).run().fails(&["odd", words]);
        for name in ["odd.secret", "odd.card"] {
            std::fs::remove_file(folder.path(name)).unwrap();
        }
    }
    folder.umbel("build -q -f -o odd --keys 5000 0.txt").run().done();
    std::fs::remove_file(folder.path("3.card")).unwrap();
    folder.umbel("group join -o odd.secret --card 3.card").run().done();
    let mask =
        format!("group mask odd --as odd.secret --cards {} -o 3.masked -f", names(0..4, "card"));
    folder.umbel(&mask).run().done();
    let other = sum(&all).replace("all.umbel", "x");
    folder.umbel(&other).run().fails(&["3.masked", "another round"]);
}

/// A run that waits for a secret locks a file that the run before it replaces. It must then wait for the new one, which
/// a third run may have locked: two runs at a time could make shares with different members dropped out.
// A lock of all of a file keeps others from reading it on Windows.
#[cfg(unix)]
#[test]
fn a_secret_is_locked_while_it_is_replaced() {
    let folder = group(5, "");
    let locked = |name: &str| {
        let file = std::fs::File::options().write(true).open(folder.path(name)).unwrap();
        file.lock().unwrap();
        file
    };
    // What a third run will save: a share was made, with another member dropped out.
    std::fs::copy(folder.path("0.secret"), folder.path("shared")).unwrap();
    folder.umbel("group reveal --as shared --dropped 2.card -o first").run().done();
    let first = locked("0.secret");
    let mut waiting = folder.umbel("group reveal --as 0.secret --dropped 3.card -o second").spawn();
    std::thread::sleep(std::time::Duration::from_millis(500));
    std::fs::copy(folder.path("0.secret"), folder.path("new")).unwrap();
    let third = locked("new");
    std::fs::rename(folder.path("new"), folder.path("0.secret")).unwrap();
    drop(first);
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert!(waiting.runs() && !folder.path("second").exists(), "it did not wait");
    folder.write("0.secret", folder.read("shared"));
    drop(third);
    waiting.finish().fails(&["0.secret", "with other members dropped out"]);
    assert!(!folder.path("second").exists());
}

/// Files that happen to have the name of a secret and an ending are somebody's.
#[test]
fn files_next_to_a_secret_stay() {
    let folder = group(3, "");
    let theirs = ["0.secret.new", ".0.secret.umbel-new", "pair.new", "key.new", ".umbel-"];
    theirs.iter().for_each(|name| folder.write(name, "mine"));
    let mut expected = folder.names();
    reveal(&folder, &[0], "");
    let cards = names(0..3, "card");
    let mask = format!("group mask 0.umbel --as 0.secret --cards {cards} -o again");
    folder.umbel(&mask).run().done();
    folder.umbel("sign --new pair").run().done();
    folder.umbel("key new -o secret").run().done();
    theirs.iter().for_each(|name| assert_eq!(folder.read(name), b"mine", "{name}"));
    expected.extend(["0.share", "again", "pair", "pair.pub", "secret"].map(str::to_owned));
    expected.sort_unstable();
    assert_eq!(folder.names(), expected);
}

/// Half a pair of keys is of no use.
#[cfg(unix)]
#[test]
fn a_secret_key_is_not_left_without_its_public_one() {
    let folder = Folder::new();
    // The secret key has more bytes than fit: nothing of it stays, and a later run is not refused.
    folder.umbel_on_small_disk(0, "sign --new pair").run().fails(&["pair"]);
    assert_eq!(folder.names(), [""; 0]);
    folder.umbel("sign --new pair").run().done();
}
