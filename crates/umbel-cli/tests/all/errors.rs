//! Bad input and bad arguments as a black box: exit 2, a message with the path and what to do, nothing
//! on standard output, and no file made or changed.

use std::fs;
#[cfg(unix)]
use std::os::unix::fs::symlink;
#[cfg(unix)]
use std::os::unix::net::UnixListener;

use crate::util::{Folder, gzip, least_memory, lines, urls};

/// A folder with lines in `keys`, a filter of them in `seen`, and a keyed one in `keyed`.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("keys", urls(0..1000));
    folder.write("secret", "0123456789abcdef");
    folder.umbel("build -q -o seen keys").run().done();
    folder.umbel("build -q -o keyed keys --secret-file secret").run().done();
    folder
}

impl Folder {
    /// Asserts that a run fails with all these words, and makes and changes no file.
    pub(crate) fn refuses(&self, arguments: &str, words: &[&str]) -> String {
        let state = || {
            let files = self.names().into_iter();
            files.map(|name| (fs::read(self.path(&name)).ok(), name)).collect::<Vec<_>>()
        };
        let before = state();
        let message = self.umbel(arguments).run().fails(words);
        assert!(state() == before, "{arguments} changed files: {:?}", self.names());
        message
    }

    /// As [`Folder::refuses`], for every verb that opens the filter `damaged`.
    fn is_refused(&self, words: &[&str]) {
        for verb in [
            "info damaged",
            "info seen --json damaged",
            "query damaged keys",
            "query -v damaged keys",
            "add damaged keys",
            "merge -o out damaged seen",
            "merge -o out --intersect seen damaged",
            "merge --force -o seen damaged",
        ] {
            if verb.starts_with("info seen") {
                // The first receipt is already out.
                let run = self.umbel(verb).run();
                assert_eq!(run.status.code(), Some(2), "{verb}");
                assert!(words.iter().all(|word| run.stderr.contains(word)), "{}", run.stderr);
            } else {
                self.refuses(verb, &[&["damaged: "], words].concat());
            }
        }
    }
}

#[test]
fn a_missing_file_is_named() {
    let folder = folder();
    let words = &[": gone: ", "(os error 2)"];
    for arguments in [
        "common keys gone",
        "common gone keys",
        "common keys - gone",
        "build -o new gone",
        "build -o new --keys 10 keys gone",
        "add seen gone",
        "query seen gone",
        "add gone keys",
        "query gone keys",
        "info gone",
        "merge -o new gone seen",
        "merge -o new seen gone",
        "query keyed keys --secret-file gone",
    ] {
        folder.refuses(arguments, words);
    }
}

#[test]
fn a_directory_is_no_input() {
    let folder = folder();
    fs::create_dir(folder.path("dir")).unwrap();
    for arguments in
        ["common keys dir", "common dir keys", "build -o new dir", "add seen dir", "query seen dir"]
    {
        folder.refuses(arguments, &[": dir: is a directory; name files, or pipe lines in (--recursive reads all files in it)"]);
    }
    for arguments in ["info dir", "query dir keys", "add dir keys", "merge -o new dir seen"] {
        folder.refuses(arguments, &[": dir: is a directory; name a filter file"]);
    }
    let stdin = umbel_io::open(&folder.path("dir")).unwrap();
    let run = folder.umbel("common keys -").stdin_file(stdin).run();
    let message = run.fails(&["standard input: is a directory"]);
    assert!(!message.contains("--recursive"), "{message}");
    folder.refuses("dedup -r dir", &["dir: has no files"]);
}

// Permissions do not make a file unreadable to whoever runs tests as root, so these are files that
// nobody can open, or nobody can read.
#[cfg(unix)]
#[test]
fn an_unreadable_file_is_named() {
    let folder = folder();
    // Nothing is below a file.
    for arguments in ["common keys keys/child", "build -o new keys/child", "info seen/child"] {
        folder.refuses(arguments, &["/child: Not a directory"]);
    }
    // A socket cannot be opened.
    let _listener = UnixListener::bind(folder.path("socket")).unwrap();
    for arguments in ["common keys socket", "add seen socket", "query socket keys"] {
        folder.refuses(arguments, &[": socket: "]);
    }
    // A link to itself leads nowhere.
    symlink("loop", folder.path("loop")).unwrap();
    folder.refuses("common loop keys", &[": loop: "]);
}

#[test]
#[cfg(target_os = "linux")]
fn a_file_that_fails_when_read_is_named() {
    let folder = folder();
    // Opens, and fails at its first byte: no memory is mapped at address 0.
    let words = &[": /proc/self/mem: Input/output error"];
    for arguments in [
        "common keys /proc/self/mem",
        "build -o new /proc/self/mem",
        "build -o new --keys 10 /proc/self/mem",
        "add seen /proc/self/mem",
        "info /proc/self/mem",
        "merge -o new seen /proc/self/mem",
    ] {
        folder.refuses(arguments, words);
    }
    let run = folder.umbel("query seen keys /proc/self/mem").run();
    assert_eq!(run.status.code(), Some(2));
    assert!(run.stderr.contains(words[0]), "{}", run.stderr);
}

#[test]
fn damaged_compression_is_refused() {
    let folder = folder();
    let whole = zstd::encode_all(&folder.read("keys")[..], 3).unwrap();
    folder.write("cut.zst", &whole[..whole.len() / 2]);
    folder.write("cut.gz", &gzip(&folder.read("keys"))[..100]);
    for name in ["cut.zst", "cut.gz"] {
        let named = &[&*format!(": {name}: ")];
        folder.refuses(&format!("common keys {name}"), named);
        folder.refuses(&format!("build -o new {name}"), named);
        folder.refuses(&format!("build -o new --keys 1000 {name}"), named);
        folder.refuses(&format!("add seen {name}"), named);
    }
}

#[test]
fn what_is_no_filter_is_refused() {
    let folder = folder();
    folder.write("damaged", folder.read("keys"));
    folder.is_refused(&["not an umbel file", "it begins with \"https://"]);
    folder.write("damaged", "\x1f\u{8}\0\n");
    folder.is_refused(&["not an umbel file", "it begins with \"\\x1f\\x08\\x00\\n\""]);
    folder.write("damaged", "");
    folder.is_refused(&["not an umbel file"]);
}

#[test]
fn a_truncated_filter_is_refused() {
    let folder = folder();
    let whole = folder.read("seen");
    for length in [8, 9, 127, 128, 129, whole.len() - 9, whole.len() - 1] {
        folder.write("damaged", &whole[..length]);
        folder.is_refused(&[&format!("the file has {length}"), "truncated? copy it again"]);
    }
    folder.write("damaged", [&whole[..], b"\n"].concat());
    folder.is_refused(&["something was appended; copy it again"]);
}

#[test]
fn a_flipped_bit_is_refused() {
    let folder = folder();
    let whole = folder.read("seen");
    let flips = [
        (10, "the header is damaged"),
        (40, "the header is damaged"),
        (127, "the header is damaged"),
        (128, "the payload is damaged"),
        (whole.len() - 17, "the payload is damaged"),
        (whole.len() - 16, "the checksum table"),
        (whole.len() - 1, "the checksum table"),
    ];
    for (i, (at, words)) in flips.into_iter().enumerate() {
        let mut flipped = whole.clone();
        flipped[at] ^= 1 << i;
        folder.write("damaged", flipped);
        folder.is_refused(&[words, "copy the file again or rebuild it"]);
    }
}

#[test]
fn another_version_is_refused() {
    let folder = folder();
    let mut file = folder.read("seen");
    let (damaged, newer) = ("no release wrote it", "use a newer umbel");
    for (version, remedy) in [(0u16, damaged), (3, newer), (513, newer)] {
        file[8..10].copy_from_slice(&version.to_le_bytes());
        folder.write("damaged", &file);
        folder.is_refused(&[
            &format!("format version {version}; this release reads versions 1 to 2"),
            remedy,
        ]);
    }
}

#[test]
fn another_scheme_or_seed_does_not_merge() {
    let folder = folder();
    folder.umbel("build -q -o seeded keys --seed 7").run().done();
    for other in ["seeded", "keyed"] {
        let words = &[
            &*format!(": seen and {other}: the filters hash keys differently"),
            "xxh3-128 seed 0",
            "rebuild one of them from its keys",
        ];
        folder.refuses(&format!("merge -o new seen {other}"), words);
        folder.refuses(&format!("merge -o new --intersect seen {other}"), words);
        folder.refuses(&format!("merge -o seen --force seen {other}"), words);
    }
}

#[test]
fn a_keyed_filter_needs_its_own_secret() {
    let folder = folder();
    folder.write("other", "fedcba9876543210");
    for verb in ["query", "add"] {
        folder.refuses(
            &format!("{verb} keyed keys"),
            &["keyed: the filter is keyed", "(--secret-file)"],
        );
        folder.refuses(
            &format!("{verb} keyed keys --secret-file other"),
            &["keyed: the secret has the id ", ", but the filter was built with "],
        );
        folder.refuses(
            &format!("{verb} seen keys --secret-file secret"),
            &["seen: the filter is not keyed", "omit the secret"],
        );
    }
    folder.refuses("build -o new keys --seed 3 --secret-file secret", &["--seed", "--secret-file"]);
}

#[test]
fn a_secret_of_another_length_is_refused() {
    let folder = folder();
    for (secret, found) in [
        ("", "found 0 bytes"),
        ("0123456789abcdef\n", "found 17 bytes"),
        ("0123456789abcdef0123456789abcde", "found 31 bytes"),
        ("0123456789abcdef0123456789abcdeg", "found 32 bytes"),
    ] {
        folder.write("short", secret);
        for arguments in ["query keyed keys", "build -o new keys"] {
            let words = &["short: a secret has 16 bytes, or 32 hexadecimal digits", found];
            folder.refuses(&format!("{arguments} --secret-file short"), words);
        }
    }
}

#[test]
fn an_fpp_outside_0_and_1_is_refused() {
    let folder = folder();
    for verb in ["build -o new keys", "common keys keys", "plan --keys 10"] {
        for fpp in ["0", "1", "-1", "-0.01", "nan", "2", "1e9", "inf"] {
            let words = &["--fpp", "is not a probability between 0 and 1", "0.01 is 1 %"];
            folder.refuses(&format!("{verb} --fpp {fpp}"), words);
        }
        folder.refuses(&format!("{verb} --fpp 1,5%"), &["--fpp", "such as 0.01, 1e-6 or 1%"]);
    }
}

#[test]
fn zero_keys_are_refused() {
    let folder = folder();
    for verb in ["build -o new keys", "plan --fpp 0.1"] {
        folder.refuses(&format!("{verb} --keys 0"), &["--keys", "zero keys", "at least 1 key"]);
        for keys in ["-3", "1.5", "many"] {
            let words = &["--keys", keys, "is not a number of keys such as 1000000, 5e9"];
            folder.refuses(&format!("{verb} --keys {keys}"), words);
        }
    }
}

#[test]
fn a_size_that_is_none_is_refused() {
    let folder = folder();
    for size in ["0", "-1", "4 gigs", "lots", "1e30"] {
        let words = &["--memory", "is not a size such as 64MiB, 4GiB or 1e9"];
        folder.umbel("common keys keys --memory").arg(size).run().fails(words);
    }
    folder
        .refuses("build -o new keys --size 63", &["63 bytes are too few for such a filter", "64"]);
    folder.refuses(
        "build -o new keys --size 4KiB --keys 10 --fpp 0.1",
        &["--keys, --fpp and --size: two of them determine the third; omit one"],
    );
}

#[test]
fn too_little_memory_names_the_least_that_works() {
    let folder = folder();
    folder.umbel("build -q -o large --size 64MiB --keys 1e6 --kind classic keys").run().done();
    folder.write("long", lines([vec![b'x'; 30_000_000]]));
    for (arguments, memory) in [
        ("common keys keys", "1MiB"),
        ("common keys keys --threads 64", "20MiB"),
        ("common keys keys --threads 40 --fpp 0.1", "16MiB"),
        ("common keys keys --fpp 1e-9 --threads 500", "64MiB"),
        ("build -o new keys --force", "4KiB"),
        ("add large keys", "40MiB"),
        ("query large keys", "64MiB"),
        ("query large -", "64MiB"),
        // The line and the filter.
        ("query large - keys", "79MiB"),
        ("query large keys long", "79MiB"),
        ("common long long", "16MiB"),
    ] {
        let run = |memory: &str| {
            let umbel = folder.umbel(&format!("{arguments} --memory {memory}"));
            umbel.stdin(if memory == "79MiB" { folder.read("long") } else { urls(0..10) }).run()
        };
        let refused = run(memory);
        assert_eq!(refused.status.code(), Some(2), "{arguments}: {}", refused.stderr);
        assert!(refused.stderr.contains("a memory cap of "), "{}", refused.stderr);
        let enough = least_memory(&refused.stderr).to_owned();
        let worked = run(&enough);
        assert_eq!(worked.status.code(), Some(0), "{arguments} in {enough}: {}", worked.stderr);
    }
}

#[test]
fn a_small_cap_needs_no_word_about_threads() {
    let folder = folder();
    folder.umbel("common keys keys --memory 16MiB").run().done();
}

#[cfg(unix)]
#[test]
fn an_existing_output_of_another_sort_needs_force() {
    let folder = folder();
    symlink("keys", folder.path("link")).unwrap();
    for output in ["keys", "link"] {
        let words = &[&*format!(": {output}: is text, and a filter would replace it"), "--force"];
        folder.refuses(&format!("build -o {output} seen"), words);
        folder.refuses(&format!("merge -o {output} seen"), words);
        // Before any work: the lines are not even looked for.
        folder.refuses(&format!("build -o {output} gone"), words);
    }
}

#[test]
fn an_output_that_cannot_be_made_is_refused() {
    let folder = folder();
    fs::create_dir(folder.path("dir")).unwrap();
    for verb in ["build keys", "build gone", "merge seen", "build --force keys"] {
        folder.refuses(&format!("{verb} -o dir"), &[": dir: is a directory; name a file"]);
        let words = &[": no/such/new: the folder no/such does not exist", "create it first"];
        folder.refuses(&format!("{verb} -o no/such/new"), words);
        folder.refuses(
            &format!("{verb} -o keys/new"),
            &[": keys/new: the folder keys does not exist"],
        );
    }
}

#[test]
fn a_folder_for_temporary_files_must_be_there() {
    let folder = folder();
    for tmp in ["gone", "keys"] {
        for verb in ["common keys keys", "build -o new keys", "query seen keys"] {
            let words = &[&*format!(": {tmp}: is not a folder for temporary files"), "--tmp"];
            folder.refuses(&format!("{verb} --tmp {tmp}"), words);
        }
    }
    let mut umbel = folder.umbel("common keys keys");
    umbel.command.env("TMPDIR", folder.path("gone")).env("TMP", folder.path("gone"));
    umbel.run().fails(&["gone: is not a folder for temporary files; name one with --tmp"]);
    // One that is set to nothing is none.
    let mut umbel = folder.umbel("dedup keys");
    umbel.command.env("TMPDIR", "");
    assert_eq!(umbel.run().done(), folder.read("keys"));
}

#[test]
fn an_unknown_kind_is_refused_with_those_there_are() {
    let folder = folder();
    let words = &["--kind", "possible values", "blocked, classic"];
    folder.refuses("build -o new keys --kind cuckoo", words);
}

#[test]
fn a_wrong_word_suggests_the_near_one() {
    let folder = folder();
    for (arguments, near) in [
        ("comon keys keys", "'common'"),
        ("common keys keys --at-leest 2", "'--at-least'"),
        ("common keys keys --memmory 1GiB", "'--memory'"),
        ("build --ouput new keys", "'--output'"),
        ("query seen keys --secret", "'--secret-file'"),
        ("plan --key 7 --fpp 0.1", "'--keys'"),
    ] {
        folder.refuses(arguments, &["similar", near]);
    }
}

/// Options of other tools get a tip, and each does what it says.
#[test]
fn habits_of_other_tools_get_tips_that_work() {
    let folder = folder();
    folder.write("a.csv", "id,v\n1,a\n2,b\n");
    folder.write("b.csv", "id,w\n1,x\n3,y\n");
    for (typed, tip, works) in [
        ("dedup -u keys", "--count", "dedup --count keys"),
        ("dedup --unique keys", "--count", "dedup --count keys"),
        ("dedup -n 5 keys", "here that is --top", "dedup --top 5 keys"),
        ("dedup -D keys", "here that is --repeated", "dedup --repeated keys keys"),
        ("dedup -d keys", "not one byte", "dedup --repeated keys keys"),
        ("dedup -d keys", "occur more than once: --repeated", "dedup --repeated keys keys"),
        ("dedup -d , keys", "occur more than once: --repeated", "dedup --repeated keys keys"),
        ("unseen -n 5 s keys", "here that is --keys", "unseen --keys 5000 s keys"),
        (
            "join --csv -k id --outer a.csv b.csv",
            "here that is --full",
            "join --csv -k id --full a.csv b.csv",
        ),
        (
            "join --csv -k id --right a.csv b.csv",
            "with --left",
            "join --csv -k id --left b.csv a.csv",
        ),
        (
            "join --csv -k id --inner a.csv b.csv",
            "without an option",
            "join --csv -k id a.csv b.csv",
        ),
        (
            "join --csv -k id --how left a.csv b.csv",
            "--left",
            "join --csv -k id --left a.csv b.csv",
        ),
        ("find keys -l x", "here that is --files", "find keys --files -F http"),
        ("find keys -n x", "without an option", "find keys -F http"),
    ] {
        let message = folder.refuses(typed, &[tip]);
        assert!(!message.contains("as a value"), "{message}");
        folder.umbel(works).run().done();
    }
}

/// Wherever lines are read, umbel's own files are refused, compressed or not.
#[test]
fn filters_in_the_place_of_lines_are_refused() {
    let folder = folder();
    folder.umbel("build -q -o part keys").run().done();
    folder.umbel("pack -q -o packed part").run().done();
    folder.umbel("index -q -o index keys").run().done();
    folder.write("part.gz", gzip(&folder.read("part")));
    folder.write("log", "id,v\n1,a\n");
    for (arguments, name) in [
        ("add seen part", "part"),
        ("build -o new part", "part"),
        ("build -o new keys packed", "packed"),
        ("build -o new --kind cascade --except part keys", "part"),
        ("query seen part", "part"),
        ("query -v seen part.gz", "part.gz"),
        ("remove seen part", "part"),
        ("unseen new part", "part"),
        ("common keys part", "part"),
        ("common part.gz keys", "part.gz"),
        ("except keys packed", "packed"),
        ("diff part keys", "part"),
        ("dedup part", "part"),
        ("dedup --files-from part", "part"),
        ("join --fields -k 1 keys part", "part"),
        ("find keys -f part", "part"),
        ("audit seen --candidates part", "part"),
    ] {
        folder.refuses(
            arguments,
            &[&format!("{name}: is a filter of umbel, not lines; umbel merge")],
        );
    }
    folder.refuses("dedup index", &["index: is an index of umbel, not lines; umbel find"]);
    folder
        .umbel("except keys -")
        .stdin(folder.read("part"))
        .run()
        .fails(&["standard input: is a filter of umbel"]);
    // What the messages name works.
    folder.umbel("merge -q -o both seen part").run().done();
    folder.umbel("query both keys").run().done();
}

#[test]
fn what_common_cannot_do_is_refused() {
    let folder = folder();
    folder.refuses("common keys", &["two or more"]);
    folder.refuses("common - -", &["-: standard input can be read only once"]);
    for least in ["0", "3"] {
        let words = &["--at-least", least, "with 2 inputs", "from 1 to the number of inputs"];
        folder.refuses(&format!("common keys keys --at-least {least}"), words);
    }
    folder.refuses("common keys keys --at-least -1", &["--at-least", "-1"]);
    folder.refuses("common keys keys --threads 0", &["--threads"]);
    folder.refuses("common keys keys --threads -1", &["--threads", "-1"]);
}

/// Each of two readers of a pipe would get a part of it.
#[cfg(unix)]
#[test]
fn a_pipe_that_is_named_twice_is_refused() {
    let folder = folder();
    folder.fifo("pipe");
    for verb in ["common", "except", "dedup", "diff", "build -o new"] {
        let run = folder.umbel(&format!("{verb} pipe ./pipe")).run();
        run.fails(&["./pipe: is the same pipe as pipe, and can be read only once; name it once"]);
    }
    for (names, same) in [
        ("- /dev/stdin", "/dev/stdin: is the same pipe as standard input"),
        ("/dev/stdin keys -", "standard input: is the same pipe as /dev/stdin"),
    ] {
        let run = folder.umbel(&format!("common {names}")).stdin(b"a\nb\n".as_slice()).run();
        run.fails(&[same]);
    }
    // A device that gives the same to all is none.
    folder.umbel("except keys /dev/null /dev/null").run().done();
    let run = folder.umbel("common keys --files-from -").stdin(b"keys\n-\n".as_slice()).run();
    run.fails(&[
        "-: standard input can be read only once, and --files-from reads the list from it",
    ]);
}

#[cfg(unix)]
#[test]
fn what_cannot_be_printed_is_told() {
    let folder = folder();
    for arguments in
        ["dedup keys", "help", "--version", "dedup --help", "info seen", "build keys -o -", "man"]
    {
        let run = |redirected: &str| {
            let command = format!("exec \"$0\" {arguments} {redirected}");
            folder.program("sh", "-c").arg(command).arg(env!("CARGO_BIN_EXE_umbel")).run()
        };
        run(">&-").fails(&[": standard output: "]);
        if cfg!(target_os = "linux") {
            run("> /dev/full").fails(&["umbel"]);
        }
    }
    // What goes to a file needs none.
    let command = "exec \"$0\" dedup keys -o out >&-";
    folder.program("sh", "-c").arg(command).arg(env!("CARGO_BIN_EXE_umbel")).run().done();
}

#[cfg(unix)]
#[test]
fn a_link_is_written_through() {
    let folder = folder();
    fs::create_dir(folder.path("dir")).unwrap();
    for (link, target) in [("link", "dir/there"), ("dir/back", "../none")] {
        symlink(target, folder.path(link)).unwrap();
    }
    symlink("link", folder.path("chain")).unwrap();
    folder.umbel("dedup keys -o chain").run().done();
    assert!(folder.read("dir/there") == folder.umbel("dedup keys").run().done());
    folder.umbel("dedup keys -o dir/back").run().done();
    assert!(folder.path("none").is_file());
    for link in ["link", "chain", "dir/back"] {
        assert!(folder.path(link).is_symlink(), "{link}");
    }
}

#[cfg(unix)]
#[test]
fn two_outputs_are_two_files() {
    let folder = folder();
    folder.write("other", "x\n");
    fs::create_dir(folder.path("dir")).unwrap();
    symlink("x", folder.path("link")).unwrap();
    for (one, two) in [("x", "./x"), ("dir/../x", "x"), ("link", "x")] {
        folder.refuses(
            &format!("diff keys other --added {one} --removed {two}"),
            &["is named for two outputs"],
        );
    }
    folder.refuses("diff keys other --added -", &["-: ", "name one"]);
    assert!(!folder.path("x").exists() && !folder.path("-").exists());
}

#[test]
fn what_is_no_lines_is_told_by_its_content() {
    let folder = Folder::new();
    folder.write("lines", "a\nb\n");
    folder.write("utf16", b"\xff\xfea\0\n\0");
    folder.write("mac", "a\rb\r");
    folder.write("zip", b"PK\x03\x04\x14\0\0\0");
    folder.write("7z", b"7z\xbc\xaf\x27\x1c\0\x04");
    folder.write("table.parquet", b"PAR1\x15\0\0\0PAR1");
    folder.write("twice.gz", gzip(&gzip(b"a\n")));
    folder.write("lines.tar.gz", gzip(&tar("lines", b"a\nb\n")));
    folder.write("no mark", b"a\0\n\0b\0\n\0");
    // What is certain is refused, by its name and through a pipe.
    for (name, words, command) in [
        ("utf16", "is text in UTF-16; convert it: iconv -f UTF-16 -t UTF-8", " utf16"),
        ("zip", "is a zip archive, not lines; read its files: unzip -p", " zip"),
        ("7z", "is a 7z archive, not lines; read its files: 7z x -so", " 7z"),
        ("lines.tar.gz", "is a tar archive, not lines; read its files: tar -xO", "f lines.tar.gz"),
        ("table.parquet", "is a Parquet file, not lines; write its rows as CSV", ""),
        ("twice.gz", "is compressed twice, with gzip inside", ""),
    ] {
        for verb in ["except lines", "common lines", "dedup", "build -o new"] {
            folder.refuses(&format!("{verb} {name}"), &[&format!("{name}: {words}{command}")]);
        }
        let run = folder.umbel("except lines -").stdin(folder.read(name)).run();
        let message = run.fails(&[&format!("standard input: {words}")]);
        assert_eq!(
            message.trim_end().ends_with(" FILE"),
            ["zip", "7z"].contains(&name),
            "{message}"
        );
        // In the place of a filter it is not taken for one of another system.
        if !name.ends_with(".gz") && name != "7z" {
            let message =
                folder.umbel(&format!("query {name} lines")).run().fails(&[name, "it is "]);
            assert!(!message.contains("leveldb"), "{message}");
        }
    }
    folder.umbel("dedup --files-from utf16").run().fails(&["utf16: is text in UTF-16"]);
    for (name, words) in [
        ("mac", "has carriage returns and no line feed"),
        ("no mark", "seems to be text in UTF-16"),
    ] {
        let run = folder.umbel("except lines").arg(name).run();
        assert!(
            run.stderr.contains(&format!("umbel except: warning: {name}: {words}")),
            "{}",
            run.stderr
        );
        assert_eq!(folder.umbel("except -q lines").arg(name).run().stderr, "");
    }
    folder.write("table", "id;name\n1;x\n");
    let run = folder.umbel("dedup --csv table").run();
    assert!(
        run.stderr
            .contains("table: its first line has no ',', but ';'; read it with --delimiter ';'"),
        "{}",
        run.stderr
    );
    folder
        .umbel("dedup --csv -k id table")
        .run()
        .fails(&["no field \"id\"", "(--delimiter ';'; one for each file if they differ)"]);
    folder.umbel("audit f").run().fails(&["--candidates", "--universe"]);
}

/// A tar archive of one file.
fn tar(name: &str, content: &[u8]) -> Vec<u8> {
    let mut archive = vec![0; 512];
    let mut put =
        |at: usize, text: &str| archive[at..at + text.len()].copy_from_slice(text.as_bytes());
    put(0, name);
    put(100, "0000644\0");
    put(124, &format!("{:011o}\0", content.len()));
    put(148, "        ");
    put(257, "ustar\x0000");
    let sum: u32 = archive.iter().map(|byte| u32::from(*byte)).sum();
    archive[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    archive.extend_from_slice(content);
    archive.resize(2048, 0);
    archive
}
