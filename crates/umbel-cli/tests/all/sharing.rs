//! Filters that travel: packed, patched and signed, as a black box.

use std::fs;
#[cfg(unix)]
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::Value;

use crate::util::{Folder, urls};

/// Filters `seen` of 1,000 lines, planned for being sent, and `packed`; `next`, with ten more lines; `keys`.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("keys", urls(0..1000));
    folder.write("more", urls(1000..1010));
    folder.umbel("build -q --ship --keys 2000 -o seen keys").run().done();
    folder.umbel("pack -q seen -o packed").run().done();
    fs::copy(folder.path("seen"), folder.path("next")).unwrap();
    folder.umbel("add -q next more").run().done();
    folder
}

impl Folder {
    /// Asserts that a run fails with these words, makes no file and changes none.
    fn keeps(&self, arguments: &str, words: &[&str]) {
        let state = || {
            let names = self.names().into_iter();
            names.map(|name| (fs::read(self.path(&name)).ok(), name)).collect::<Vec<_>>()
        };
        let before = state();
        self.umbel(arguments).run().fails(words);
        assert!(state() == before, "{arguments}");
    }

    /// The receipt of a filter.
    fn wrapped_info(&self, arguments: &str) -> Value {
        let text = self.umbel(&format!("info --json {arguments}")).run().text();
        serde_json::from_str(&text).unwrap()
    }

    fn sign_keys(&self) {
        self.umbel("sign --new ours").run().done();
        self.umbel("sign --new theirs").run().done();
    }

    fn flip(&self, name: &str, at: usize) {
        let mut bytes = self.read(name);
        bytes[at] ^= 1;
        self.write(name, bytes);
    }
}

#[test]
fn what_is_packed_unpacks_to_the_same_bytes() {
    let folder = folder();
    assert!(5 * folder.read("packed").len() < folder.read("seen").len());
    folder.umbel("unpack -q packed -o again").run().done();
    assert!(folder.read("again") == folder.read("seen"));
    // By way of pipes.
    let packed = folder.umbel("pack -q - -o -").stdin(folder.read("seen")).run().done();
    assert!(packed == folder.read("packed"));
    let unpacked = folder.umbel("unpack -q - -o -").stdin(packed).run().done();
    assert!(unpacked == folder.read("seen"));
    folder.keeps("pack packed -o twice", &["packed: is packed already"]);
    folder.keeps("pack seen -o seen", &["seen: is a filter, and a packed filter would", "--force"]);
    folder.keeps("unpack seen -o out", &["seen: ", "not a packed file of umbel"]);
    folder.keeps("pack keys -o out", &["keys: ", "not an umbel file"]);
    folder.keeps("unpack keys -o out", &["keys: ", "not a packed file of umbel"]);
    folder.keeps("pack gone -o out", &["gone: "]);
    folder.keeps("pack . -o out", &[".: is a directory"]);
}

#[test]
fn golden_filters_of_all_kinds_pack() {
    let folder = Folder::new();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/golden");
    for kind in [
        "attributes-row",
        "blocked-chunks",
        "bloomier-map",
        "cascade-list",
        "classic-odd",
        "coded-12",
        "counting-8",
        "described-window",
        "scalable-four",
        "sliced-odd",
        "stable-3",
    ] {
        fs::copy(golden.join(format!("{kind}.umbel")), folder.path("F")).unwrap();
        folder.umbel("pack -qf F -o P").run().done();
        folder.umbel("unpack -qf P -o U").run().done();
        assert!(folder.read("U") == folder.read("F"), "{kind}");
        let [plain, packed] = ["F", "P"].map(|name| {
            let mut info = folder.wrapped_info(name);
            let bytes = info.as_object_mut().unwrap().remove("packed_bytes");
            info["file"] = Value::Null;
            assert_eq!(bytes, (name == "P").then(|| folder.read("P").len().into()), "{kind}");
            info
        });
        assert_eq!(plain, packed, "{kind}");
    }
}

#[test]
fn verbs_that_read_filters_read_packed_ones() {
    let folder = folder();
    folder.umbel("pack -q next -o next-packed").run().done();
    folder.write("asked", [urls(990..1000), urls(5000..5100)].concat());
    for (plain, packed) in [
        ("query seen asked", "query packed asked"),
        ("query -v seen asked", "query -v packed asked"),
        ("query --memory 16MiB seen asked", "query --memory 16MiB packed asked"),
        ("merge -q -o - seen next", "merge -q -o - packed next-packed"),
        ("merge -q -o - --intersect seen next", "merge -q -o - packed --intersect next"),
    ] {
        let expected = folder.umbel(plain).run().done();
        assert!(folder.umbel(packed).run().done() == expected, "{packed}");
    }
    let asked = folder.read("packed");
    let found = folder.umbel("query - asked").stdin(asked).run().done();
    assert!(found.starts_with(&urls(990..1000)));
    folder.umbel("compare packed next-packed").run().done();
    folder.umbel("build -q --kind counting -o held keys").run().done();
    folder.umbel("pack -q held -o held-packed").run().done();
    folder.umbel("convert -q -o blocked held-packed --to blocked").run().done();
    assert!(folder.umbel("info packed").run().text().contains("\n  packed  "));
    // Those that change a filter say what to do.
    let words = &["packed: is packed", "umbel unpack packed -o FILE"];
    for verb in ["add packed more", "remove packed more", "dedup --seen packed more"] {
        folder.keeps(verb, words);
    }
}

#[test]
fn deltas_make_the_new_version() {
    let folder = folder();
    folder.umbel("delta -q seen next -o D").run().done();
    assert!(15 * folder.read("D").len() < folder.read("next").len());
    folder.umbel("patch -q seen D -o patched").run().done();
    assert!(folder.read("patched") == folder.read("next"));
    folder.umbel("patch -q packed D -o from-packed").run().done();
    assert!(folder.read("from-packed") == folder.read("next"));
    fs::copy(folder.path("seen"), folder.path("mine")).unwrap();
    let piped = folder.umbel("patch -q mine - -o -").stdin(folder.read("D")).run().done();
    assert!(piped == folder.read("next"));
    folder.umbel("patch -q mine D").run().done();
    assert!(folder.read("mine") == folder.read("next"));

    folder.keeps("patch mine D", &["D on mine: ", "already what the delta makes"]);
    folder.umbel("build -q --ship --keys 2000 -o other more").run().done();
    folder.keeps("patch other D", &["D on other: ", "made from another filter", "its base"]);
    folder.keeps("patch packed D", &["packed: is packed", "umbel unpack"]);
    folder.keeps("query D keys", &["D: is a delta", "umbel patch FILTER D"]);
    folder.keeps("patch seen next", &["next on seen: ", "not a delta of umbel"]);
    folder.keeps("patch seen D -o keys", &["keys: is text", "--force"]);
    folder.umbel("build -q --keys 2000 -o blocked keys").run().done();
    folder.keeps("delta seen blocked -o out", &["seen and blocked: ", "different kind"]);
    folder.umbel("build -q --ship --keys 4000 -o larger keys").run().done();
    folder.keeps("delta seen larger -o out", &["different size", "packed"]);
}

#[test]
fn damage_is_refused_and_nothing_is_written() {
    let folder = folder();
    folder.umbel("delta -q seen next -o D").run().done();
    for (name, verbs) in [
        ("packed", &["unpack packed -o out", "query packed keys", "info packed"][..]),
        ("D", &["patch seen D", "patch seen D -o out"][..]),
    ] {
        let whole = folder.read(name);
        for at in (0..whole.len()).step_by(whole.len() / 17).chain([whole.len() - 1]) {
            folder.flip(name, at);
            verbs.iter().for_each(|verb| folder.keeps(verb, &[name]));
            folder.flip(name, at);
        }
        for length in [9, 40, whole.len() / 2, whole.len() - 1] {
            folder.write(name, &whole[..length]);
            verbs.iter().for_each(|verb| folder.keeps(verb, &[name, "copy it again"]));
        }
        folder.write(name, [&whole[..], b"\n"].concat());
        verbs.iter().for_each(|verb| folder.keeps(verb, &["appended"]));
        folder.write(name, whole);
    }
    // A filter that is damaged is not sent.
    folder.flip("next", 5_000);
    folder.keeps("pack next -o out", &["next: ", "damaged"]);
    folder.keeps("delta seen next -o out", &["next", "damaged"]);
}

#[cfg(unix)]
#[test]
fn key_pairs() {
    let folder = Folder::new();
    folder.sign_keys();
    let mode = fs::metadata(folder.path("ours")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(folder.read("ours").starts_with(b"umbel-signing-key-1 "));
    assert!(folder.read("ours.pub").starts_with(b"umbel-public-key-1 "));
    assert!(folder.read("ours.pub") != folder.read("theirs.pub"));
    folder.keeps("sign --new ours", &["ours: already exists"]);
    folder.write("keys", urls(0..10));
    folder.keeps("build -f -o ours keys --sign ours", &["ours: is a secret"]);
    folder.keeps("sign --new no/such", &["no", "does not exist"]);
    folder.keeps("sign", &["--new"]);
    folder.keeps("sign --sign ours", &["FILE"]);
}

#[test]
fn only_what_the_trusted_key_signed_is_read() {
    let folder = folder();
    folder.sign_keys();
    folder.umbel("build -q --ship --keys 2000 -o signed keys --sign ours").run().done();
    folder.umbel("pack -q seen -o signed-packed --sign ours").run().done();
    folder.umbel("pack -q signed -o inner-packed").run().done();
    folder.umbel("merge -q seen -o merged --sign ours").run().done();
    let expected = folder.umbel("query seen keys").run().done();
    // One rule for every verb: what arrives is signed, and not what would come out of it.
    let inside = &["inner-packed: the packed file is not signed, only the filter in it"];
    for verb in ["query inner-packed keys", "info inner-packed", "unpack inner-packed -o out"] {
        folder.keeps(&format!("{verb} --trust ours.pub"), inside);
    }
    for name in ["signed", "signed-packed", "merged"] {
        for trust in ["", " --trust ours.pub"] {
            let found = folder.umbel(&format!("query {name} keys{trust}")).run().done();
            assert!(found == expected, "{name}");
        }
        folder.keeps(&format!("query {name} keys --trust theirs.pub"), &[name, "is signed by"]);
        for verb in ["info NAME", "merge -o out NAME", "compare NAME NAME"] {
            let verb = verb.replace("NAME", name);
            folder.keeps(&format!("{verb} --trust theirs.pub"), &[name, "not by the trusted key"]);
        }
        let info = folder.wrapped_info(&format!("{name} --trust ours.pub"));
        assert_eq!(info["signature_verified"], true);
        // A bit in the middle, and one of the signature; all other checksums are right where nobody is trusted.
        let length = folder.read(name).len();
        for at in [length / 2, length - 30] {
            folder.flip(name, at);
            folder.keeps(&format!("query {name} keys --trust ours.pub"), &[name]);
            folder.flip(name, at);
        }
    }
    for name in ["seen", "packed"] {
        folder.keeps(&format!("query {name} keys --trust ours.pub"), &[name, "is not signed"]);
        folder.keeps(&format!("unpack {name} --trust ours.pub -o out"), &[name]);
    }
    folder.keeps("query signed keys --trust ours", &["ours: not a public key of umbel"]);
    folder.keeps("pack seen -o out --sign ours.pub", &["ours.pub: not a signing key of umbel"]);
    // Its bytes are those that were packed, with the signature.
    folder.umbel("unpack -q inner-packed -o inner").run().done();
    assert!(folder.read("inner") == folder.read("signed"));
}

/// Whatever is not known to be whole keeps its bytes.
#[test]
fn only_whole_files_are_signed() {
    let folder = folder();
    folder.sign_keys();
    folder.umbel("delta -q seen next -o D").run().done();
    folder.umbel("build -q --format guava -o guava keys").run().done();
    folder.umbel("build -q --format leveldb -o leveldb keys").run().done();
    folder.write("notes.md", "# Notes\n");
    folder.write("empty", "");
    folder.write("long", [0; 300]);
    for (name, words) in [
        ("notes.md", &["notes.md: not an umbel file: it begins with \"# Notes"][..]),
        ("empty", &["empty: not an umbel file: it is empty"]),
        ("long", &["long: not an umbel file"]),
        ("theirs", &["theirs: not an umbel file"]),
        ("leveldb", &["leveldb: not an umbel file", "--format leveldb"]),
        (".", &[".: is a directory"]),
    ] {
        folder.keeps(&format!("sign --sign ours {name}"), words);
    }
    for name in ["seen", "packed", "D", "guava"] {
        let whole = folder.read(name);
        for at in (0..whole.len()).step_by(whole.len() / 17).chain([whole.len() - 1]) {
            // Other systems' files have no checksums.
            if name != "guava" {
                folder.flip(name, at);
                folder.keeps(&format!("sign --sign ours {name}"), &[name]);
                folder.flip(name, at);
            }
        }
        for length in [1, 40, whole.len() / 2, whole.len() - 1] {
            folder.write(name, &whole[..length]);
            folder.keeps(&format!("sign --sign ours {name}"), &[name]);
        }
        for more in [1, 127, 128, 129] {
            folder.write(name, [&whole[..], &vec![7; more]].concat());
            folder.keeps(&format!("sign --sign ours {name}"), &[name]);
        }
        folder.write(name, &whole);
        folder.umbel(&format!("sign --sign ours {name}")).run().done();
        folder.umbel(&format!("sign --trust ours.pub {name}")).run().done();
        assert!(folder.read(name)[..whole.len()] == whole, "{name}");
    }
    folder.umbel("sign --sign ours leveldb --format leveldb").run().done();
    folder.umbel("query --format leveldb leveldb keys --trust ours.pub").run().done();
    folder.umbel("query guava keys --trust ours.pub").run().done();
    folder.umbel("patch -q seen D --trust ours.pub").run().done();
    assert!(folder.read("seen") == folder.read("next"));
}

/// 128 bytes behind a filter are not taken for a signature.
#[test]
fn bytes_behind_a_filter_are_no_signature() {
    let folder = folder();
    folder.sign_keys();
    let (seen, next) = (folder.read("seen"), folder.read("next"));
    folder.umbel("sign --sign ours next").run().done();
    let signed = folder.read("next");
    let mut altered = signed.clone();
    altered[next.len()] ^= 1;
    let garbage = [1, 127, 128, 129].map(|more| [&next[..], &vec![7; more]].concat());
    for bad in garbage.into_iter().chain([altered]) {
        folder.write("bad", bad);
        for verb in
            ["pack bad -o out", "delta seen bad -o out", "delta bad next -o out", "info bad"]
        {
            folder.keeps(verb, &["bad", "appended"]);
        }
        folder.umbel("delta -q seen next -o D").run().done();
        folder.keeps("patch bad D", &["bad", "appended"]);
        fs::remove_file(folder.path("D")).unwrap();
    }
    // A signature is none of them.
    folder.umbel("delta -q seen next -o D").run().done();
    folder.umbel("patch -q seen D").run().done();
    assert!(folder.read("seen") == signed && seen != signed);
}

#[test]
fn a_signed_filter_is_changed_only_with_a_new_signature() {
    let folder = folder();
    folder.sign_keys();
    folder.umbel("sign --sign ours seen").run().done();
    folder.umbel("sign --trust ours.pub seen").run().done();
    for verb in ["add seen more", "dedup --seen seen more"] {
        folder.keeps(verb, &["seen: is signed", "--sign KEY"]);
    }
    folder.keeps("add seen more --sign ours --trust theirs.pub", &["seen: ", "is signed by"]);
    folder.umbel("add -q seen more --sign theirs --trust ours.pub").run().done();
    folder.umbel("query seen more --trust theirs.pub").run().done();
    // Signed again by another key: one signature.
    let length = folder.read("seen").len();
    folder.umbel("sign --sign ours seen").run().done();
    assert_eq!(folder.read("seen").len(), length);
    let said = folder.umbel("sign --trust ours.pub seen").run().done();
    assert!(said.starts_with(b"seen: signed by umbel-public-key-1 "));
    folder.keeps("sign --trust theirs.pub seen", &["seen: ", "not by the trusted key"]);
    folder.keeps("sign --trust ours.pub next", &["next: ", "is not signed"]);
}

#[test]
fn filters_larger_than_memory_are_signed_packed_and_read() {
    let folder = Folder::new();
    folder.sign_keys();
    folder.write("keys", urls(0..1000));
    // 36 MiB under a cap of 16 MiB: built, queried and changed piece by piece.
    folder.umbel("build -q --keys 30M --memory 16MiB -o F keys --sign ours").run().done();
    folder.umbel("pack -q F -o P --trust ours.pub --sign ours").run().done();
    assert!(folder.read("P").len() < 30_000);
    for name in ["F", "P"] {
        let query = format!("query --memory 16MiB {name} keys --trust ours.pub");
        assert!(folder.umbel(&query).run().done() == folder.read("keys"));
    }
    folder.umbel("add -q --memory 16MiB F keys --sign theirs --trust ours.pub").run().done();
    folder.umbel("sign --trust theirs.pub F").run().done();
}

#[test]
fn a_chain_of_signed_deltas() {
    let folder = folder();
    folder.sign_keys();
    let length = folder.read("next").len();
    folder.umbel("delta -q seen next -o D --sign ours").run().done();
    folder.umbel("delta -q seen next -o unsigned").run().done();
    folder.keeps("patch seen unsigned --trust ours.pub", &["unsigned: ", "is not signed"]);
    folder.keeps("patch seen D --trust theirs.pub", &["D: ", "is signed by"]);
    folder.flip("D", 70);
    folder.keeps("patch seen D --trust ours.pub", &["D: ", "altered or forged"]);
    folder.flip("D", 70);
    // A base with a signature, and a new version with one.
    folder.umbel("sign --sign ours next").run().done();
    folder.umbel("delta -q seen next -o D2 --sign ours").run().done();
    folder.umbel("sign --sign theirs seen").run().done();
    let base = folder.read("seen");
    folder.umbel("patch -q seen D2 --trust ours.pub").run().done();
    let signed = folder.read("next");
    assert!(folder.read("seen") == signed);
    // The signer of a delta vouches for what it makes, by its digest, whoever signed that.
    folder.write("seen", base);
    folder.umbel("sign --sign theirs next").run().done();
    folder.umbel("delta -q seen next -o D3 --sign ours").run().done();
    for (delta, made) in
        [("D", folder.read("next")[..length].to_vec()), ("D3", folder.read("next"))]
    {
        let piped = folder.umbel(&format!("patch -q seen {delta} --trust ours.pub -o -")).run();
        assert!(piped.done() == made, "{delta}");
    }
    let piped = folder.umbel("patch -q seen D2 --trust ours.pub -o -").run().done();
    assert!(piped == signed);
    folder.umbel("patch -q seen D2 --trust ours.pub").run().done();
    folder.umbel("query seen more --trust ours.pub").run().done();
}

/// My allow list is not served as my block list, and yesterday's not as today's.
#[test]
fn a_signature_binds_a_list_and_a_number() {
    let folder = folder();
    folder.sign_keys();
    let sealed = "--sign ours --list block --serial";
    folder.umbel(&format!("build -q --ship --keys 2000 -o F keys {sealed} 41")).run().done();
    folder.umbel(&format!("pack -q F -o P {sealed} 42")).run().done();
    folder.umbel(&format!("delta -q seen next -o D {sealed} 43")).run().done();
    let info = folder.wrapped_info("P --trust ours.pub --list block --newer-than 41");
    assert_eq!((&info["list"], &info["serial"]), (&"block".into(), &42.into()));
    let text = folder.umbel("info F").run().text();
    assert!(text.contains("  list       block\n") && text.contains("  serial     41\n"), "{text}");
    let said = folder.umbel("sign --trust ours.pub P --list block").run().text();
    assert!(said.ends_with(" as block, version 42\n"), "{said}");
    for (verb, serial) in [
        ("query F keys", 41),
        ("query P keys", 42),
        ("info P", 42),
        ("unpack P -qf -o out", 42),
        ("merge -qf F -o out", 41),
        ("patch seen D -qf -o out", 43),
        ("sign P", 42),
    ] {
        let trusting = format!("{verb} --trust ours.pub");
        let before = serial - 1;
        folder.umbel(&format!("{trusting} --list block --newer-than {before}")).run().done();
        let _ = fs::remove_file(folder.path("out"));
        let other = &["signed as the list \"block\", not as the list \"allow\""];
        folder.keeps(&format!("{trusting} --list allow"), other);
        let old = &[&format!("serial number {serial}, which is not newer than {serial}")[..]];
        folder.keeps(&format!("{trusting} --list block --newer-than {serial}"), old);
    }
    folder.umbel("sign --sign ours F").run().done();
    folder.keeps("query F keys --trust ours.pub --list block", &["F: ", "signed as no list"]);
    folder.keeps("query F keys --trust ours.pub --newer-than 0", &["F: ", "not newer than 0"]);
    folder.keeps("query F keys --list block", &["--trust"]);
    folder.keeps("query F keys --newer-than 1", &["--trust"]);
    folder.keeps("pack F -o out --serial 1", &["--sign"]);
    folder.keeps("pack F -o out --sign ours --list \u{1b}x", &["is not the name of a list"]);
}

/// 14 bytes stand for each MiB: 2 KB make 36 MiB.
#[test]
fn bombs_are_refused_before_anything_is_written() {
    let folder = folder();
    folder.sign_keys();
    folder.umbel("build -q --keys 30M -o large keys").run().done();
    folder.umbel("build -q -o small more").run().done();
    folder.umbel("pack -q large -o bomb").run().done();
    folder.umbel("pack -q large -o sealed --sign ours").run().done();
    folder.umbel("sign --sign ours large").run().done();
    folder.umbel("pack -q large -o inside").run().done();
    assert!(folder.read("bomb").len() < 30_000);
    // A delta to a scalable filter that grew.
    folder.umbel("build -q --kind scalable --keys 100 -o base more").run().done();
    fs::copy(folder.path("base"), folder.path("grown")).unwrap();
    folder.umbel("add -q grown keys").run().done();
    folder.umbel("delta -q base grown -o D").run().done();
    let words =
        &["makes a filter of 36.3 MiB", "more than the limit of 16.0 MiB", "--trust", "--memory"];
    for name in ["bomb", "sealed", "inside"] {
        for verb in [
            "query NAME keys",
            "query small --and NAME keys",
            "audit NAME --candidates keys",
            "unpack NAME -o out",
            "info NAME",
            "overlap small NAME",
            "merge small NAME -o out",
            "convert NAME --to blocked -o out",
            "delta small NAME -o out",
            "patch NAME D -o out",
        ] {
            folder.keeps(&format!("{} --memory 16MiB", verb.replace("NAME", name)), words);
        }
    }
    // Without --memory, the limit is the machine's own.
    folder.umbel("info bomb").run().done();
    let memory = "--memory 16MiB --trust ours.pub";
    folder.umbel(&format!("query {memory} sealed keys")).run().done();
    folder.keeps(
        &format!("unpack {memory} inside -o out"),
        &["inside: the packed file is not signed"],
    );
    folder.umbel("unpack -q --memory 64MiB bomb -o out").run().done();
    folder.keeps(
        "patch base D --memory 1KiB",
        &["D on base: the delta makes a filter of", "limit of 1.0"],
    );
    folder.umbel("patch -q base D --memory 1MiB").run().done();
}

#[test]
fn plans_for_sending_are_built() {
    let folder = folder();
    let plans = folder.umbel("plan --keys 1M --fpp 1% --ship --json").run().text();
    let plans: Vec<Value> = plans.lines().map(|plan| serde_json::from_str(plan).unwrap()).collect();
    folder.write("many", urls(0..20_000));
    let mut built = 0;
    for plan in plans.iter().filter(|plan| plan["packed"] == true) {
        let probes = &plan["probes"];
        folder.umbel(&format!("build -qf --ship={probes} -o F --fpp 1% many")).run().done();
        folder.umbel("pack -qf F -o P").run().done();
        let info = folder.wrapped_info("P");
        assert_eq!((&info["kind"], &info["probes"]), (&"classic".into(), probes));
        // What the plan says, for fewer keys: small headers, and a small margin.
        let sent = 8.0 * info["packed_bytes"].as_f64().unwrap() / 20_000.0;
        let planned = plan["sent_per_key"].as_f64().unwrap();
        assert!((sent / planned - 1.0).abs() < 0.02, "{probes}: {sent} {planned}");
        built += 1;
    }
    assert_eq!(built, 6);
    let bloomier = plans.iter().find(|plan| plan["kind"] == "bloomier").unwrap();
    assert_eq!((&bloomier["merges"], &bloomier["takes_more"]), (&false.into(), &false.into()));
    let text = folder.umbel("plan --keys 1M --fpp 1% --ship").run().text();
    assert!(text.contains("classic, packed       1"));
    folder.keeps("plan --keys 1M --ship", &["--ship without a size", "--fpp"]);
    folder.keeps("build --ship=40 -o out keys", &["--ship"]);
    folder.keeps("build --ship --kind blocked -o out keys", &["--ship", "--kind"]);
}

#[test]
fn builds_since_an_older_filter() {
    let folder = folder();
    // Some lines went and some came: the bits of both change.
    folder.write("today", urls(100..1005));
    for (options, secret) in [
        ("--kind classic --keys 2000 --seed 7", ""),
        ("--kind counting:8 --keys 2000", ""),
        ("--kind sliced --keys 2000 --secret-file secret", " --secret-file secret"),
        // 36 MiB under a cap of 16 MiB: piece by piece.
        ("--keys 30M --memory 16MiB", " --memory 16MiB"),
    ] {
        folder.write("secret", "0123456789abcdef");
        folder.umbel(&format!("build -q -f -o old keys {options}")).run().done();
        folder.umbel(&format!("build -q -f -o new today {options}")).run().done();
        folder.umbel(&format!("build -q -f -o N --since old today{secret}")).run().done();
        assert!(folder.read("N") == folder.read("new"), "{options}");
        folder.umbel("patch -q old N.delta -o patched").run().done();
        assert!(folder.read("patched") == folder.read("new"), "{options}");
        fs::remove_file(folder.path("patched")).unwrap();
    }

    // In place of the older one, packed, and signed.
    folder.sign_keys();
    folder.umbel("build -q --ship --keys 2000 -o expected today").run().done();
    folder.umbel("build -q -o signed --since packed today --sign ours").run().done();
    folder.umbel("patch -q packed signed.delta --trust ours.pub -o made").run().done();
    assert!(folder.umbel("query made today").run().done() == folder.read("today"));
    fs::copy(folder.path("seen"), folder.path("list")).unwrap();
    folder.umbel("build -q -f -o list --since list today").run().done();
    assert!(folder.read("list") == folder.read("expected"));
    folder.umbel("patch -q seen list.delta").run().done();
    assert!(folder.read("seen") == folder.read("expected"));

    folder.umbel("build -q --kind scalable --keys 100 -o grown keys").run().done();
    folder.write("blank", "x");
    for (arguments, words) in [
        (
            "build -o X --since seen --kind classic today",
            &["'--since <OLD>'", "'--kind <KIND>'"][..],
        ),
        ("build -o - --since seen today", &["FILTER.delta", "-o"]),
        ("build -o X --since grown today", &["grown: a filter of the kind scalable"]),
        ("build -o X --since blank today", &["blank: "]),
        ("build -o X --since no-such today", &["no-such: "]),
        ("build -o keys --since seen today", &["keys: is text"]),
        ("build -f -o X --since seen today --secret-file secret", &["seen: "]),
    ] {
        folder.keeps(arguments, words);
    }
    // The delta's name is taken.
    folder.write("Y.delta", "mine");
    folder.keeps("build -o Y --since seen today", &["Y.delta: is text"]);
}

/// Whoever can put a file next to a signed filter would add lines to it, and another signature would vouch for them.
#[test]
fn a_journal_next_to_a_signed_filter_is_refused() {
    let folder = folder();
    folder.sign_keys();
    folder.umbel("sign --sign ours seen").run().done();
    let hash = umbel::KeyHasher::default().hash("evil").to_u128().to_le_bytes();
    let json = br#"{"input":"a","offset":0,"found":0,"output":null}"#;
    let frame = |content: Vec<u8>| {
        let sum = umbel::KeyHasher::default().hash(&content[..]).to_u128() as u64;
        [&(content.len() as u32).to_le_bytes()[..], &sum.to_le_bytes(), &content].concat()
    };
    let frames = [frame([&[0], &hash[..]].concat()), frame([&[1], &json[..]].concat())];
    folder.write("seen.run", [&b"UMBELRUN\x03\0\0\0"[..], &frames.concat()].concat());
    folder.write("evil", "evil\n");
    assert_eq!(folder.umbel("query seen evil").run().text(), "evil\n", "nobody is trusted");
    let refused = ["seen.run: would add lines to a filter whose signature does not cover them"];
    folder.keeps("query seen evil --trust ours.pub", &refused);
    folder.keeps("add seen more --sign theirs --trust ours.pub", &refused);
    fs::remove_file(folder.path("seen.run")).unwrap();
    folder.umbel("query seen evil --trust ours.pub").run().nothing();
    folder.umbel("add -q seen more --sign theirs --trust ours.pub").run().done();
}
