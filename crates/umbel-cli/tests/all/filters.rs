//! Filters in files as a black box: built, added to, asked, merged, and what they tell of themselves.

use std::fs::{self, File, Permissions};
use std::io::{BufRead, BufReader, Write};
#[cfg(unix)]
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::util::{Folder, lines, urls};

/// A folder with the lines 0 to 10,000 in `keys`, in `seen` as a filter, and others in `fresh`.
fn with_filter() -> Folder {
    let folder = Folder::new();
    folder.write("keys", urls(0..10_000));
    folder.write("fresh", urls(10_000..30_000));
    folder.umbel("build -o seen keys -q").run().done();
    folder
}

impl Folder {
    /// What `umbel info` says of a filter.
    fn info(&self, filter: &str) -> Value {
        serde_json::from_str(&self.umbel(&format!("info --json {filter}")).run().text()).unwrap()
    }

    /// Asserts that every line of a file may be in a filter.
    fn holds(&self, filter: &str, keys: &str) {
        self.umbel(&format!("query -v -q {filter} {keys}")).run().nothing();
    }
}

#[test]
fn no_key_is_lost_in_any_kind_and_size() {
    let folder = Folder::new();
    folder.write("keys", urls(0..20_000));
    for (i, options) in [
        "",
        "--kind classic",
        "--fpp 0.5",
        "--fpp 1e-6",
        "--kind classic --fpp 1e-9",
        "--keys 100",
        "--size 64 --keys 100",
        "--size 100kB --fpp 0.3",
        "--keys 1e6 --size 1MiB --kind classic",
        "--seed 18446744073709551615",
    ]
    .into_iter()
    .enumerate()
    {
        folder.umbel(&format!("build -o f{i} keys -q {options}")).run().done();
        let found = folder.umbel(&format!("query f{i} keys")).run().done();
        assert!(found == folder.read("keys"), "{options}");
        folder.holds(&format!("f{i}"), "keys");
    }
}

#[test]
fn a_query_and_its_inverse_part_the_lines() {
    let folder = with_filter();
    let asked = urls((5_000..15_000).chain([7, 7, 7]));
    folder.write("asked", &asked);
    let found = folder.umbel("query seen asked").run().done();
    let absent = folder.umbel("query -v seen asked").run().done();
    let ordered = |part: &[u8]| {
        let mut rest = asked.split(|&byte| byte == b'\n');
        part.split(|&byte| byte == b'\n').all(|line| rest.any(|other| other == line))
    };
    assert!(ordered(&found) && ordered(&absent));
    let known = urls((5_000..10_000).chain([7, 7, 7]));
    assert_eq!(found.len() + absent.len(), asked.len());
    // 5,000 others pass with at most 0.01: 50 and 6 deviations of 7.
    assert!((known.len()..=known.len() + 92 * 66).contains(&found.len()), "{}", found.len());
    assert!(found.starts_with(&urls(5_000..10_000)) && found.ends_with(&urls([7, 7, 7])));
}

#[test]
fn a_query_that_finds_nothing_is_exit_1() {
    let folder = with_filter();
    folder.write("empty", "");
    folder.umbel("query -v seen keys").run().nothing();
    folder.umbel("query seen empty").run().nothing();
    folder.umbel("query -v seen empty").run().nothing();
    folder.umbel("build -o none empty -q").run().done();
    folder.umbel("query none keys").run().nothing();
    assert_eq!(folder.info("none")["set_bits"], 0);
}

#[test]
fn an_answer_comes_before_the_input_ends() {
    let folder = with_filter();
    for options in ["", "--threads 1", "--memory 16MiB"] {
        let mut umbel = folder.umbel(&format!("query seen {options}"));
        umbel.command.stdin(Stdio::piped());
        let mut run = umbel.spawn();
        let mut stdin = run.stdin();
        let mut stdout = BufReader::new(run.stdout());
        for number in [3, 1, 2] {
            stdin.write_all(&urls([number])).unwrap();
            let mut answer = Vec::new();
            stdout.read_until(b'\n', &mut answer).unwrap();
            assert_eq!(answer, urls([number]));
        }
        drop(stdin);
        run.finish().done();
    }
}

#[test]
fn the_same_lines_give_the_same_bytes() {
    let folder = with_filter();
    let keys = folder.read("keys");
    folder.write("keys.zst", zstd::encode_all(&keys[..], 1).unwrap());
    let half = keys.len() / 2 / 66 * 66;
    folder.write("first", &keys[..half]);
    folder.write("second", &keys[half..keys.len() - 1]);
    for (i, how) in [
        "keys",
        "keys --threads 1",
        "keys --threads 3 --memory 16MiB",
        "keys.zst",
        "first second",
        "second first --fpp 0.01",
        "--keys 10000 keys",
        "--keys 1e4 keys.zst --kind blocked --seed 0",
        "--keys 10000 keys keys",
    ]
    .into_iter()
    .enumerate()
    {
        folder.umbel(&format!("build -q -o f{i} {how}")).run().done();
        assert!(folder.read(&format!("f{i}")) == folder.read("seen"), "{how}");
    }
    for how in ["", "-", "--keys 10000", "first -"] {
        folder.umbel(&format!("build -q --force -o piped {how}")).stdin(&keys[..]).run().done();
        if how != "first -" {
            assert!(folder.read("piped") == folder.read("seen"), "standard input {how}");
        }
    }
    // With 15,000 lines counted it is planned for more, and still holds all.
    folder.holds("piped", "keys");
}

#[test]
fn a_filter_larger_than_the_memory_cap_is_the_same() {
    let folder = with_filter();
    let build = "build -q --size 40MB --keys 1e6 keys";
    folder.umbel(&format!("{build} -o usual")).run().done();
    folder.umbel(&format!("{build} -o pieces --memory 16MiB")).run().done();
    assert!(folder.read("pieces") == folder.read("usual"));
    folder.holds("pieces", "keys");
}

#[test]
fn a_dash_as_output_is_standard_output() {
    let folder = with_filter();
    let run = folder.umbel("build --verbose -o - keys").run();
    assert!(run.stderr.starts_with("umbel build: 10,000 lines, "), "{}", run.stderr);
    assert!(run.done() == folder.read("seen"));
    assert!(folder.umbel("merge -q -o - seen").run().done() == folder.read("seen"));
    assert_eq!(folder.names(), ["fresh", "keys", "seen"]);
}

#[test]
fn a_size_or_two_goals_plan_the_filter() {
    let folder = with_filter();
    folder.umbel("build -q -o sized --size 64KiB keys").run().done();
    let sized = folder.info("sized");
    assert_eq!(sized["planned_keys"], 10_000);
    let bytes = sized["bytes"].as_u64().unwrap();
    assert!((60 << 10..=64 << 10).contains(&bytes), "{sized}");

    // Of few lines, a size is no wish for a rate of 1e-30.
    for kind in ["blocked", "classic", "scalable", "counting", "coded"] {
        folder
            .umbel(&format!("build -q -f --kind {kind} --size 64KiB -o few -"))
            .stdin(urls(0..10))
            .run()
            .done();
        let few = folder.info("few");
        assert!((1e-10..=1e-9).contains(&few["planned_fpp"].as_f64().unwrap()), "{few}");
        assert!(few["bytes"].as_u64() <= Some(64 << 10), "{few}");
        let run = folder.umbel("add few -").stdin(urls(0..500)).run();
        assert_eq!(run.stderr, "", "{kind}");
    }

    folder.umbel("build -q -o keyed --size 64KiB --keys 20000 keys").run().done();
    assert_eq!(folder.info("keyed")["planned_keys"], 20_000);

    folder.umbel("build -q -o rated --size 64KiB --fpp 0.001 keys").run().done();
    let rated = folder.info("rated");
    assert_eq!(rated["planned_fpp"], 0.001);
    assert!(rated["planned_keys"].as_u64() > Some(30_000), "{rated}");
}

#[test]
fn the_receipt_tells_what_a_filter_holds() {
    let folder = with_filter();
    let text = folder.umbel("info seen").run().text();
    for words in [
        "seen\n",
        "kind       blocked, 8 probes per key",
        "scheme     xxh3-128 seed 0",
        "planned    10,000 keys at a rate of 0.0100",
        "fill ",
        "keys       about ",
        "95 %",
        "rate now   0.0",
        "state      within its plan",
    ] {
        assert!(text.contains(words), "no {words:?} in {text}");
    }
    let info = folder.info("seen");
    assert_eq!(info["type"], "info");
    assert_eq!(info["file"], "seen");
    assert_eq!(info["over_filled"], false);
    let number = |field: &str| info[field].as_f64().unwrap();
    assert!(number("keys_low") < 10_000.0 && 10_000.0 < number("keys_high"), "{info}");
    assert!(number("fpp") > 0.0 && number("fpp") < 0.012, "{info}");
    let fill = number("set_bits") / number("bits");
    assert!((fill - number("fill")).abs() < 1e-9, "{info}");

    let both = folder.umbel("info --json seen seen").run().text();
    assert_eq!(both.lines().count(), 2);
}

#[test]
fn an_over_filled_filter_is_never_silent() {
    let folder = with_filter();
    let quiet = folder.umbel("build -q -o full --keys 1000 keys").run();
    assert!(
        quiet.stderr.contains(": warning: the filter is over-filled: planned for 1,000"),
        "{}",
        quiet.stderr
    );
    quiet.done();
    // In JSON the report has it, and nothing else is there.
    for job in ["build -f -o full --keys 1000 keys", "add full keys", "unseen full keys"] {
        let run = folder.umbel(&format!("{job} --json")).run();
        let report: Value = serde_json::from_str(&run.stderr).expect(&run.stderr);
        assert_eq!(report["filter"]["over_filled"], true, "{job}");
    }
    assert!(folder.umbel("info full").run().text().contains("over-filled"));
    assert_eq!(folder.info("full")["over_filled"], true);
    for verb in ["add -q seen fresh", "merge -q -o merged seen full --force"] {
        let run = folder.umbel(verb).run();
        if verb.starts_with("add") {
            assert!(run.stderr.contains("over-filled"), "{verb}: {}", run.stderr);
            run.done();
        } else {
            run.fails(&["seen and full"]);
        }
    }
    folder.umbel("build -q -o packed --size 64 --keys 100 keys").run().done();
    let packed = folder.umbel("info packed").run().text();
    assert!(packed.contains("more than") && packed.contains("over-filled"), "{packed}");
    assert_eq!(folder.info("packed")["keys"], Value::Null);
}

#[test]
fn added_lines_join_those_that_were_there() {
    let folder = Folder::new();
    folder.write("keys", urls(0..10_000));
    folder.write("fresh", urls(10_000..30_000));
    folder.umbel("build -q -o all --keys 30000 keys fresh").run().done();
    folder.umbel("build -q -o seen --keys 30000 keys").run().done();
    folder.umbel("add -q seen fresh").run().done();
    assert!(folder.read("seen") == folder.read("all"));
    // Once more changes nothing, from a pipe neither.
    folder.umbel("add -q seen").stdin(folder.read("fresh")).run().done();
    folder.umbel("add -q seen keys -").stdin(folder.read("keys")).run().done();
    assert!(folder.read("seen") == folder.read("all"));
    let report = folder.umbel("add --json seen keys").run().report();
    assert_eq!(report["verb"], "add");
    assert_eq!(report["lines"], 10_000);
    assert_eq!(report["filter"]["over_filled"], false);
}

#[test]
fn filters_whose_sizes_fold_merge_to_the_smaller() {
    let folder = with_filter();
    folder.umbel("build -q -o small --keys 1e6 keys").run().done();
    folder.umbel("build -q -o large --keys 4e6 fresh").run().done();
    folder.umbel("merge -q -o union small large").run().done();
    folder.umbel("merge -q -o turned large small").run().done();
    assert!(folder.read("union")[128..] == folder.read("turned")[128..]);
    folder.holds("union", "keys");
    folder.holds("union", "fresh");
    assert_eq!(folder.info("union")["bytes"], folder.info("small")["bytes"]);
}

#[test]
fn merged_filters_equal_one_of_all_lines() {
    let folder = with_filter();
    for (name, from, to) in [("one", 0, 4_000), ("two", 3_000, 9_000), ("three", 8_000, 10_000)] {
        folder.write("part", urls(from..to));
        folder.umbel(&format!("build -q -o {name} --keys 10000 part")).run().done();
    }
    let report = folder.umbel("merge -o union one two three --json").run().report();
    assert_eq!(report["verb"], "merge");
    assert!(folder.read("union") == folder.read("seen"));
    // What all of them hold: between what two of them share and what one has.
    folder.umbel("merge -q -o shared one two --intersect").run().done();
    folder.write("both", urls(3_000..4_000));
    folder.holds("shared", "both");
    folder.write("neither", urls(9_000..10_000));
    let absent = folder.umbel("query -v shared neither").run().done();
    assert!(absent.len() > 900 * 66, "{} bytes of 66,000", absent.len());
}

#[test]
fn filters_that_do_not_fit_say_why_they_do_not_merge() {
    let folder = with_filter();
    for (name, options, words) in [
        ("size", "--keys 13000", &["size and seen", "do not fold", "differ by a power of two"][..]),
        ("probes", "--fpp 0.1", &["probes and seen", "(3 and 8)", "plan both for the same fpp"]),
        (
            "kind",
            "--kind classic",
            &["kind and seen", "classic", "blocked", "build both as the same kind"],
        ),
        ("seed", "--seed 1", &["seed and seen", "seed 1", "seed 0", "rebuild one of them"]),
        ("keyed", "--secret-file secret", &["keyed and seen", "hash keys differently", "rebuild"]),
    ] {
        folder.write("secret", "0123456789abcdef");
        folder.umbel(&format!("build -q -o {name} keys {options}")).run().done();
        folder.umbel(&format!("merge -o out {name} seen")).run().fails(words);
        folder.umbel(&format!("merge -o out {name} seen --intersect")).run().fails(words);
    }
    assert!(!folder.path("out").exists());
}

#[test]
fn a_keyed_filter_opens_with_its_secret_raw_or_in_hexadecimal() {
    let folder = with_filter();
    folder.write("raw", b"\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\xff");
    folder.write("hex", "000102030405060708090A0b0c0d0eFF\n");
    folder.umbel("build -q -o keyed keys --secret-file raw").run().done();
    folder.umbel("build -q -o same keys --secret-file hex").run().done();
    assert!(folder.read("keyed") == folder.read("same"));
    assert!(folder.read("keyed")[128..] != folder.read("seen")[128..]);
    let found = folder.umbel("query keyed keys --secret-file hex").run().done();
    assert!(found == folder.read("keys"));
    folder.umbel("add -q keyed fresh --secret-file raw").run().done();
    folder.umbel("query -v keyed fresh --secret-file hex").run().nothing();
    // The receipt and a merge need no secret.
    assert!(folder.umbel("info keyed").run().text().contains("siphash"));
    folder.umbel("merge -q -o merged keyed same").run().done();
    folder.umbel("query -v merged fresh --secret-file hex").run().nothing();
    // It is not in the file.
    let secret = folder.read("raw");
    assert!(!folder.read("keyed").windows(16).any(|bytes| bytes == secret));
}

#[test]
fn with_null_keys_end_with_nul() {
    let folder = Folder::new();
    folder.write("keys", "one\nline\0two\0\0three");
    folder.umbel("build -0 -q -o f keys").run().done();
    let found = folder.umbel("query -0 f keys").run().text();
    assert_eq!(found, "one\nline\0two\0\0three\0");
    // The key is the line without its end, whichever that is.
    assert_eq!(folder.umbel("query f").stdin("two\n\nthree").run().text(), "two\n\nthree\n");
}

#[test]
fn lines_of_any_bytes_and_lengths_are_keys() {
    let folder = Folder::new();
    let long = vec![b'l'; 3_000_000];
    let keys = lines([&b""[..], b"\0", b"\xff\xfe", b"a\r", &long, b"x"]);
    folder.write("keys", &keys);
    folder.umbel("build -q -o f keys --fpp 1e-9").run().done();
    assert!(folder.umbel("query f keys").run().done() == keys);
    assert!(folder.umbel("query f").stdin(&keys[..]).run().done() == keys);
    assert_eq!(folder.umbel("query -v f").stdin("a\n\x01\n").run().text(), "a\n\x01\n");
}

#[cfg(unix)]
#[test]
fn add_through_a_link_changes_what_it_leads_to() {
    let folder = with_filter();
    fs::create_dir(folder.path("store")).unwrap();
    fs::rename(folder.path("seen"), folder.path("store/real")).unwrap();
    symlink("store/real", folder.path("link")).unwrap();
    folder.umbel("add -q link fresh").run().done();
    assert!(folder.path("link").is_symlink());
    assert!(folder.path("store/real").symlink_metadata().unwrap().is_file());
    folder.holds("store/real", "fresh");
    folder.holds("link", "keys");
    assert_eq!(fs::read_dir(folder.path("store")).unwrap().count(), 1);
}

#[cfg(unix)]
#[test]
fn a_replaced_file_keeps_its_permissions() {
    let folder = with_filter();
    let mode = || fs::metadata(folder.path("seen")).unwrap().permissions().mode() & 0o777;
    for wanted in [0o600, 0o664, 0o440] {
        fs::set_permissions(folder.path("seen"), Permissions::from_mode(wanted)).unwrap();
        folder.umbel("add -q seen fresh").run().done();
        assert_eq!(mode(), wanted, "after add");
        folder.umbel("build -q --force -o seen keys").run().done();
        assert_eq!(mode(), wanted, "after build");
        folder.umbel("merge -q --force -o seen seen").run().done();
        assert_eq!(mode(), wanted, "after merge");
    }
}

#[cfg(unix)]
#[test]
fn a_new_file_has_the_permissions_of_new_files() {
    let folder = with_filter();
    folder.write("usual", "");
    let mode = |name: &str| fs::metadata(folder.path(name)).unwrap().permissions().mode();
    assert_eq!(mode("seen"), mode("usual"));
}

#[cfg(unix)]
#[test]
fn force_replaces_and_a_pipe_is_written_to() {
    let folder = with_filter();
    folder.umbel("build -q -o seen --force fresh").run().done();
    folder.holds("seen", "fresh");
    folder.fifo("pipe");
    let run = folder.umbel("build -q -o pipe fresh").spawn();
    let bytes = fs::read(folder.path("pipe")).unwrap();
    run.finish().done();
    assert!(bytes == folder.read("seen"));
    folder.umbel("build -q -o /dev/null fresh").run().done();
}

#[test]
fn adding_at_once_loses_nothing() {
    let folder = with_filter();
    for i in 0..8 {
        folder.write(&format!("part{i}"), urls(100_000 + i * 500..100_500 + i * 500));
    }
    let runs: Vec<_> =
        (0..8).map(|i| folder.umbel(&format!("add -q seen part{i}")).spawn()).collect();
    for run in runs {
        run.finish().done();
    }
    folder.holds("seen", "keys");
    for i in 0..8 {
        folder.holds("seen", &format!("part{i}"));
    }
}

#[cfg(unix)]
#[test]
fn adding_waits_for_whoever_adds() {
    let folder = with_filter();
    folder.write("few", "after\n");
    folder.fifo("slow");
    let mut first = folder.umbel("add -q seen slow").spawn();
    let mut pipe = first.feed(&folder, "slow");
    let filter = File::open(folder.path("seen")).unwrap();
    first.until("it locked the filter", || filter.try_lock().is_err() || filter.unlock().is_err());
    let mut second = folder.umbel("add -q seen few").spawn();
    thread::sleep(Duration::from_millis(100));
    assert!(first.runs() && second.runs());
    pipe.write_all(b"before\n").unwrap();
    drop(pipe);
    first.finish().done();
    second.finish().done();
    folder.write("both", "before\nafter\n");
    folder.holds("seen", "both");
    folder.holds("seen", "keys");
}

#[test]
fn with_explain_nothing_is_built_or_added() {
    let folder = with_filter();
    let before = folder.read("seen");
    for verb in ["build -o new keys", "add seen fresh", "query seen keys"] {
        let run = folder.umbel(&format!("{verb} --explain")).run();
        assert_eq!(run.stderr, "", "{verb}");
        let text = run.text();
        assert!(text.contains("blocked") && text.contains("10,000"), "{verb}: {text}");
        let json = folder.umbel(&format!("{verb} --explain --json")).run().text();
        let plan: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(plan["keys"], 10_000, "{verb}");
    }
    assert!(folder.read("seen") == before);
    assert_eq!(folder.names(), ["fresh", "keys", "seen"]);
}

#[test]
fn reports_of_filters_tell_their_rate() {
    let folder = with_filter();
    let built = folder.umbel("build --json -o f keys").run().report();
    assert_eq!(built["verb"], "build");
    assert_eq!(built["lines"], 10_000);
    assert_eq!(built["passes"], 2);
    assert_eq!(built["bytes_read"], 2 * 660_000);
    assert_eq!(built["filter"]["planned_keys"], 10_000);
    assert_eq!(built["exact"], false);

    let asked = folder.umbel("query --json f keys").run().report();
    assert_eq!(asked["found"], 10_000);
    assert_eq!(asked["chance_missing"], 0.0);
    assert_eq!(asked["chance_extra"], built["filter"]["fpp"]);
    let inverse = folder.umbel("query -v --json f fresh").run().report();
    assert_eq!(inverse["chance_extra"], 0.0);
    assert_eq!(inverse["chance_missing"], built["filter"]["fpp"]);

    let said = folder.umbel("query --verbose f keys").run().stderr;
    assert!(said.starts_with("umbel query: 10,000 lines, 10,000 found, "), "{said}");
    let said = folder.umbel("build --verbose --force -o f keys").run().stderr;
    assert!(said.contains("blocked filter of 12.") && said.contains(" rate now 0.0"), "{said}");
}

#[test]
fn a_scalable_filter_grows_with_what_is_added() {
    let folder = Folder::new();
    folder.write("keys", urls(0..10_000));
    folder.write("fresh", urls(10_000..60_000));
    folder.write("others", urls(60_000..160_000));
    let run = folder.umbel("build --verbose -o f --kind scalable --keys 1000 keys").run();
    assert!(run.stderr.contains("scalable filter of ") && run.stderr.contains("4 links"));
    assert!(
        run.stderr.contains("growing from 1,000 keys at 0.0100, rate now 0.0"),
        "{}",
        run.stderr
    );
    assert!(!run.stderr.contains("over-filled"), "{}", run.stderr);
    run.done();
    folder.umbel("add -q f fresh").run().done();
    folder.holds("f", "keys");
    folder.holds("f", "fresh");
    // 100,000 others pass with at most 0.01: 1,000 and 6 deviations of 32.
    let others = folder.umbel("query -q f others").run().done();
    assert!(others.len() <= 1_192 * 66, "{}", others.len());

    let info = folder.info("f");
    assert_eq!((&info["kind"], &info["planned_keys"]), (&"scalable".into(), &1_000.into()));
    assert_eq!(info["over_filled"], false);
    assert!(info["fpp"].as_f64().unwrap() < 0.011, "{info}");
    let links = info["parts"].as_array().unwrap();
    assert_eq!(links.len(), 6);
    assert_eq!((&links[4]["planned_keys"], &links[4]["keys"]), (&16_000.into(), &16_000.0.into()));
    let bits: u64 = links.iter().map(|link| link["bits"].as_u64().unwrap()).sum();
    assert_eq!((&info["bits"], &info["bytes"]), (&bits.into(), &(bits / 8).into()));
    let text = folder.umbel("info f").run().text();
    for words in [
        "kind       scalable, 6 links\n",
        "planned    1,000 keys, then growing, at a rate of 0.0100 over all growth\n",
        "state      within its promise, room for ",
        "link 1     1,000 of 1,000 keys, ",
        "link 6     ",
    ] {
        assert!(text.contains(words), "no {words:?} in {text}");
    }
}

/// Which keys a link has depends on their order: it is that of the lines, whatever the threads.
#[test]
fn a_scalable_filter_is_the_same_however_it_is_filled() {
    let folder = Folder::new();
    folder.write("keys", urls(0..60_000));
    folder.write("first", urls(0..20_000));
    folder.write("second", urls(20_000..60_000));
    let build = "build -q --kind scalable --keys 500 --fpp 0.05";
    folder.umbel(&format!("{build} -o f keys")).run().done();
    for (i, how) in ["keys --threads 1", "keys --threads 3 --memory 16MiB", "first second", "-"]
        .into_iter()
        .enumerate()
    {
        let run = folder.umbel(&format!("{build} -o f{i} {how}")).stdin(folder.read("keys")).run();
        run.done();
        assert!(folder.read(&format!("f{i}")) == folder.read("f"), "{how}");
    }
    folder.umbel(&format!("{build} -o added first")).run().done();
    folder.umbel("add -q added second").run().done();
    assert!(folder.read("added") == folder.read("f"));
}

#[test]
fn a_scalable_filter_grows_no_further_than_the_memory_cap() {
    let folder = Folder::new();
    folder.write("keys", urls(0..200_000));
    folder.umbel("build -q -o f --kind scalable --keys 100 --fpp 1e-9 keys").run().done();
    folder.write("more", urls(200_000..1_000_000));
    let before = folder.read("f");
    folder.umbel("add -q f more --memory 16MiB --threads 1").run().fails(&[
        "f: the filter has grown as far as a memory cap of 16MiB allows",
        "raise the cap",
    ]);
    assert!(folder.read("f") == before, "left as it was");
    folder.umbel("add -q f more --memory 64MiB --threads 1").run().done();
    folder.holds("f", "more");
}

#[test]
fn scalable_filters_do_not_merge_and_say_what_to_do() {
    let folder = with_filter();
    for name in ["a", "b"] {
        folder.umbel(&format!("build -q -o {name} --kind scalable keys")).run().done();
    }
    for names in ["a b", "a seen", "seen a"] {
        for how in ["", "--intersect"] {
            folder.umbel(&format!("merge -o out {names} {how}")).run().fails(&[
                &names.replace(' ', " and "),
                "scalable filters do not merge",
                "add the keys of one to the other, or query both",
            ]);
        }
    }
    assert!(!folder.path("out").exists());
    let explained = folder.umbel("add a fresh --explain").run().text();
    assert!(explained.contains("scalable") && explained.contains("10,000"), "{explained}");
}

#[test]
fn coded_filters_are_built_added_to_and_asked() {
    let folder = Folder::new();
    folder.write("keys", urls(0..10_000));
    folder.write("more", urls(10_000..12_000));
    folder.umbel("build -q --kind coded --fpp 1e-6 --keys 12000 -o F keys").run().done();
    folder.umbel("add -q F more").run().done();
    folder.holds("F", "keys");
    folder.holds("F", "more");
    let info = folder.info("F");
    assert!(info["code_bits"].as_u64().unwrap() > 20 && info["fpp"].as_f64().unwrap() <= 2e-6);
    // The cells depend on the order of the keys, the file not on the threads.
    folder.umbel("build -q --kind coded:16 --threads 1 -o one keys").run().done();
    folder.umbel("build -q --kind coded:16 --threads 4 -o four keys").run().done();
    assert!(folder.read("one") == folder.read("four"));
    folder
        .umbel("merge -q -o M F one")
        .run()
        .fails(&["coded filters do not merge", "which bucket"]);
    folder
        .umbel("build -q --kind coded:12 --size 640 --keys 100 -o S keys")
        .run()
        .fails(&["is full"]);
    folder.umbel("build -q --kind coded:41 -o S keys").run().fails(&["coded:41", "2 to 40"]);
}

#[test]
fn a_bloomier_filter_is_built_at_once() {
    let lines: String = (0..5_000).map(|i| format!("line {}\n", i % 4_000)).collect();
    let dir = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str], input: &str| {
        use std::io::Write;
        let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_umbel"))
            .args(arguments)
            .current_dir(dir.path())
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        // A refusal may come before the input is read.
        _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
    };
    std::fs::write(dir.path().join("lines"), &lines).unwrap();
    for arguments in [
        &["build", "--kind", "bloomier:12", "-o", "f", "--force", "lines"][..],
        &["build", "--kind", "bloomier:12", "-o", "f", "--force", "--keys", "4000"],
        &["build", "--kind", "bloomier:12", "-o", "f", "--force"],
    ] {
        let (code, _, words) = run(arguments, &lines);
        assert_eq!(code, 0, "{words}");
        let (code, found, _) = run(&["query", "f"], &lines);
        assert!(code == 0 && found == lines);
    }
    let (_, info, _) = run(&["info", "f"], "");
    assert!(info.contains("bloomier") && info.contains("takes no more\n"), "{info}");
    let (code, _, words) = run(&["add", "f"], "new\n");
    assert!(code == 2 && words.contains("built from all its keys at once"), "{words}");
    let (code, _, words) = run(&["merge", "-o", "g", "f", "f"], "");
    assert!(code == 2 && words.contains("do not merge"), "{words}");
    let few = ["build", "--kind", "bloomier", "-o", "h", "--keys", "1000"];
    let (code, _, words) = run(&few, &lines);
    assert!(code == 2 && words.contains("planned for"), "{words}");
    assert!(!dir.path().join("h").exists());
    let many = ["build", "--kind", "bloomier", "-o", "h", "--keys", "1e8", "--memory", "1GiB"];
    let (code, _, words) = run(&many, "");
    assert!(code == 2 && words.contains("this run needs at least"), "{words}");
}

#[cfg(unix)]
#[test]
fn an_output_that_is_an_input_is_refused() {
    let folder = with_filter();
    symlink(folder.path("keys"), folder.path("link")).unwrap();
    folder.write("list", "keys\n");
    folder.write("secret", [0xd5; 16]);
    folder.umbel("build -q -o held --kind counting keys").run().done();
    let before = folder.read("keys");
    for (arguments, words) in [
        ("build -f -o keys keys", "keys: the filter is written to it"),
        ("build -f -o link keys fresh", "keys: the filter is written to it"),
        ("build -f -o keys fresh link", "link: the filter is written to it"),
        ("build -f -o keys --keys 10 --format guava keys", "keys: the filter is written to it"),
        (
            "build -f -o keys --kind cascade --except keys fresh",
            "keys: the filter is written to it",
        ),
        ("build -f -o keys --files-from list", "keys: the filter is written to it"),
        ("build -f -o list --files-from list", "list: the filter is written to it"),
        ("build -f -o secret --secret-file secret keys", "secret: is a secret"),
        ("add seen seen", "seen: the filter is written to it"),
        ("remove held held", "held: the filter is written to it"),
        ("query -o seen seen keys", "seen: is also read"),
        ("dedup --seen seen seen", "seen: the filter is written to it"),
        ("dedup --seen seen -o seen keys", "seen: is also read"),
        ("dedup --seen none -o none keys", "none: is also read"),
    ] {
        folder.umbel(arguments).run().fails(&[words, "name another file"]);
    }
    let keys = std::fs::File::open(folder.path("keys")).unwrap();
    let run = folder.umbel("build -f -o keys").stdin_file(keys).run();
    run.fails(&["standard input: the filter is written to it"]);
    assert!(folder.read("keys") == before && !folder.path("none").exists());
    // In place, where all is read before anything is written.
    folder.umbel("merge -q -f -o seen seen seen").run().done();
    folder.umbel("convert -q -f -o held held --to blocked").run().done();
    folder.umbel("query -q -o keys seen keys").run().done();
    assert!(folder.read("keys") == before);
    folder.umbel("build -q -f -o /dev/null /dev/null").run().done();
}

#[test]
fn what_was_written_is_the_size_of_the_file() {
    let folder = with_filter();
    for arguments in [
        "build -f -o out keys",
        "build -f -o out --size 40MB --keys 1e6 --memory 16MiB keys",
        "build -f -o out --kind scalable --keys 100 keys",
        "build -f -o out --format guava --keys 1e4 keys",
        "add out keys --format guava --key-type bytes",
        "merge -f -o out seen seen",
        "dedup --seen out -o lines keys",
    ] {
        let lines = folder.read_if_there("lines").len() as u64;
        let report = folder.umbel(&format!("{arguments} --json")).run();
        let report: Value = serde_json::from_str(&report.stderr).unwrap();
        let written = folder.read_if_there("lines").len() as u64 - lines;
        let expected = folder.read("out").len() as u64 + written;
        if arguments.starts_with("dedup") {
            // And the journal of the run.
            assert!(report["bytes_written"].as_u64() > Some(expected), "{report}");
        } else {
            assert_eq!(report["bytes_written"], expected, "{arguments}");
        }
    }
}

#[test]
fn every_verb_tells_its_exit_statuses() {
    let folder = Folder::new();
    for (verb, nothing) in [
        ("build", false),
        ("add", false),
        ("remove", true),
        ("query", true),
        ("merge", false),
        ("compare", false),
        ("convert", false),
    ] {
        let help = folder.umbel(&format!("{verb} --help")).run().text();
        let (_, told) = help.split_once("\nExit status:\n  0  ").expect(&help);
        assert!(told.contains("\n  2  an error"), "{verb}: {told}");
        assert_eq!(told.contains("\n  1  "), nothing, "{verb}: {told}");
        // What stands in the place of a filter that could not be written.
        if verb != "query" && verb != "compare" {
            let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(help.to_lowercase().contains("after an error"), "{verb}: {help}");
        }
    }
}
