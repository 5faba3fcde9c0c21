//! `umbel audit` as a black box, and the warning of guessable keys.

use serde_json::Value;

use crate::util::{Folder, lines, urls};

const SECRET: &str = "00112233445566778899aabbccddeeff\n";

fn email(number: u32) -> String {
    format!("user{number}@mail.example")
}

fn address(number: u32) -> String {
    std::net::Ipv4Addr::from(number.wrapping_mul(2_654_435_761)).to_string()
}

/// 1,000 e-mail addresses, and 2,000 guesses that have 600 of them.
fn with_lists() -> Folder {
    let folder = Folder::new();
    folder.write("emails", lines((0..1_000).map(email)));
    folder.write("guesses", lines((400..2_400).map(email)));
    folder.write_private("secret", SECRET);
    folder.umbel("build -q -o open.umbel emails").run().done();
    folder.umbel("build -q -o keyed.umbel --secret-file secret emails").run().done();
    folder
}

fn audit(folder: &Folder, arguments: &str) -> Value {
    let text = folder.umbel(&format!("audit --json {arguments}")).run().text();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn guesses_that_a_filter_confirms() {
    let folder = with_lists();
    let query = |filter: &str| folder.umbel(&format!("query --total {filter} guesses")).run();
    for (filter, secret) in [("open.umbel", ""), ("keyed.umbel", " --secret-file secret")] {
        let found = audit(&folder, &format!("{filter}{secret} --candidates guesses"));
        let number = |name: &str| found[name].as_f64().unwrap();
        assert_eq!(found["type"], "audit");
        assert_eq!((&found["tested"], &found["candidates"]), (&true.into(), &2_000.into()));
        let hits = query(&format!("{filter}{secret}")).text();
        assert_eq!(found["hits"].to_string(), hits.trim_end());
        // Fixed seeds: these intervals hold the truth, as 19 in 20 do.
        assert!(number("members_low") <= 600.0 && 600.0 <= number("members_high"), "{found}");
        assert!(number("members_high") - number("members_low") < 30.0, "{found}");
        let fpp = found["filter"]["fpp"].as_f64().unwrap();
        let (prior, posterior) = (number("prior"), number("posterior"));
        assert!((prior - 0.3).abs() < 0.01, "{found}");
        assert!((posterior - prior / (prior + (1.0 - prior) * fpp)).abs() < 1e-12, "{found}");
        let expected = (2_000.0 - number("members")) * fpp;
        assert!((number("false_hits") - expected).abs() < 1e-9, "{found}");
    }
    let given = audit(&folder, "open.umbel --candidates guesses --prior 0.01%");
    assert_eq!(given["prior"], 1e-4);
    assert!(given["posterior"].as_f64().unwrap() < 0.02, "{given}");
}

/// 1,000 of 65,536 candidates, of which the rate alone makes each that passes a member with a probability of 0.63: by the
/// bits four in five are members for certain. Three standard deviations of 1,000 are 0.04.
#[test]
fn members_of_a_small_universe_are_certain() {
    let folder = Folder::new();
    folder.write("all", lines((0..65_536).map(address)));
    folder.write("half", lines((0..30_000).map(address)));
    folder.write("list", lines((0..65_536).step_by(66).map(address)));
    folder.write_private("secret", SECRET);
    for build in ["", "--secret-file secret", "--kind counting", "--kind classic", "--kind sliced"]
    {
        folder.umbel(&format!("build -q -f -o f --keys 1000 {build} list")).run().done();
        let secret = if build.contains("secret") { build } else { "" };
        let found = audit(&folder, &format!("f {secret} --candidates all --universe 65536"));
        let number = |name: &str| found[name].as_f64().unwrap_or_else(|| panic!("{name}: {found}"));
        assert_eq!(found["unexplained_bits"], 0, "{found}");
        let certain = number("certain") / 993.0;
        assert!((certain - 0.79).abs() < 0.06, "{build}: {found}");
        assert!((certain - number("listed_certain")).abs() < 0.05, "{build}: {found}");
        assert!(number("deniable") < 0.1 && number("listed_deniable") < 0.1, "{found}");
        match build.contains("classic") || build.contains("sliced") {
            true => assert!(found["posterior_low"].is_null(), "{found}"),
            false => {
                let [low, high] = [number("posterior_low"), number("posterior_high")];
                let mean = number("posterior");
                assert!(low < 0.95 * mean && 1.1 * mean < high && high < 1.0, "{found}");
            }
        }
        let half = audit(&folder, &format!("f {secret} --candidates half"));
        assert_eq!(half["certain"], 0, "{half}");
        assert!(half["unexplained_bits"].as_u64().unwrap() > 1_000, "{half}");
        let text = folder.umbel(&format!("audit f {secret} --candidates half")).run().text();
        assert!(text.contains("certain    none: no candidate explains"), "{text}");
        // Read once only.
        let piped = folder.umbel(&format!("audit f {secret} --candidates - --json"));
        let piped = piped.stdin(folder.read("all")).run().text();
        let piped: Value = serde_json::from_str(&piped).unwrap();
        assert_eq!(piped["certain"], found["certain"]);
    }
}

/// What each kind shows beyond yes and no, and what "no" means in it.
#[test]
fn kinds_show_different_things() {
    let folder = Folder::new();
    folder.write("list", lines((0..1_000).map(email)));
    for (kind, learned) in [
        ("blocked", "with two versions, which guesses came or went"),
        ("counting", "how often a guess was inserted"),
        ("scalable", "about when a guess came, by its link"),
        ("window", "about when a guess came last, by its generation"),
        ("stable", "which guesses came last"),
        ("bloomier", "with two versions"),
        ("coded", "with two versions"),
    ] {
        folder.umbel(&format!("build -q -f -o f --kind {kind} list")).run().done();
        let text = folder.umbel("audit f --candidates list").run().text();
        assert!(text.contains(&format!("  learned    {learned}")), "{kind}: {text}");
        let forgets = ["window", "stable"].contains(&kind);
        let absent = if forgets { "unknown if it does not" } else { "0 if it does not" };
        assert!(text.contains(absent), "{kind}: {text}");
        let found = audit(&folder, "f --candidates list");
        assert_eq!(found["forgets"], forgets, "{found}");
        let plain = ["blocked", "counting"].contains(&kind);
        assert_eq!(found["certain"].is_u64(), plain, "{found}");
    }
}

#[test]
fn a_search_of_all_keys_is_priced() {
    let folder = Folder::new();
    folder.write("addresses", lines((0..1_000).map(address)));
    folder.umbel("build -q -o addresses.umbel addresses").run().done();
    let found = audit(&folder, "addresses.umbel --universe ipv4");
    let number = |name: &str| found[name].as_f64().unwrap();
    assert_eq!(found["universe"], 1u64 << 32);
    let (keys, fpp) = (found["filter"]["keys"].as_f64(), found["filter"]["fpp"].as_f64());
    let (keys, fpp) = (keys.unwrap(), fpp.unwrap());
    let listed = keys + ((1u64 << 32) as f64 - keys) * fpp;
    assert!((number("listed") / listed - 1.0).abs() < 1e-12, "{found}");
    assert!((number("precision") / (keys / listed) - 1.0).abs() < 1e-12, "{found}");
    // Any machine looks up between 10 thousand and 10 billion keys per second.
    assert!((1e4..1e10).contains(&number("lookups_per_second")), "{found}");
    let seconds = number("universe") / number("lookups_per_second");
    assert!((number("seconds") / seconds - 1.0).abs() < 1e-9, "{found}");
    assert!(found["hits"].is_null() && found["prior"].is_null(), "{found}");
    let same = audit(&folder, "addresses.umbel --universe 4,294,967,296");
    assert_eq!(same["listed"], found["listed"]);
    assert_eq!(
        audit(&folder, "addresses.umbel --universe digits:10")["universe"],
        10_000_000_000u64
    );
    for wrong in ["0", "digits:20", "digits:x", "ipv6", "-1"] {
        folder.umbel(&format!("audit addresses.umbel --universe {wrong}")).run().fails(&["ipv4"]);
    }
}

#[test]
fn a_keyed_filter_answers_nobody_without_its_secret() {
    let folder = with_lists();
    let found = audit(&folder, "keyed.umbel --candidates guesses --universe 1e6");
    assert_eq!((&found["keyed"], &found["tested"]), (&true.into(), &false.into()));
    for untold in ["hits", "members", "prior", "posterior", "listed", "seconds"] {
        assert!(found[untold].is_null(), "{untold}: {found}");
    }
    let text = folder.umbel("audit keyed.umbel --candidates guesses").run().text();
    assert!(text.contains("use a new secret for each version"), "{text}");
    assert!(text.contains("keyed: nobody can test guesses without its secret"), "{text}");
    let piped =
        folder.umbel("audit - --candidates guesses").stdin(folder.read("keyed.umbel")).run();
    assert_eq!(piped.text(), text.replace("keyed.umbel", "standard input"));
    folder.write("other", SECRET.replace('f', "e"));
    let wrong = "audit keyed.umbel --candidates guesses --secret-file other";
    folder.umbel(wrong).run().fails(&["keyed.umbel", "give that one"]);
}

#[test]
fn what_cannot_be_audited_is_refused() {
    let folder = with_lists();
    folder.umbel("audit open.umbel").run().fails(&["--candidates"]);
    folder.umbel("audit open.umbel --candidates none").run().fails(&["none", "(os error 2)"]);
    folder.umbel("audit guesses --candidates guesses").run().fails(&["not an umbel file"]);
    folder.umbel("audit - --candidates -").run().fails(&["standard input can be read only once"]);
    folder.umbel("audit open.umbel --candidates guesses --prior 2").run().fails(&["share"]);
    folder.write("rows.csv", "a,b\n1,2\n");
    folder.umbel("build -q -o rows --kind attributes --csv -k a -k b rows.csv").run().done();
    folder.umbel("audit rows --universe 9 --csv -k a").run().fails(&["a filter of rows"]);
    folder.umbel("build -q -o g --format guava --key-type utf16 emails").run().done();
    folder.umbel("audit g --candidates guesses").run().fails(&["only with filters of umbel"]);
    let damaged = folder.read("open.umbel");
    folder.write("open.umbel", &damaged[..damaged.len() - 1]);
    folder.umbel("audit open.umbel --candidates guesses").run().fails(&["open.umbel", "truncated"]);
}

#[test]
fn filters_of_guessable_keys_are_warned_of() {
    let folder = with_lists();
    folder.write("addresses", lines((0..100).map(address)));
    folder.write("urls", urls(0..100));
    let told = |arguments: &str| {
        let run = folder.umbel(&format!("build -f -o f {arguments}")).run();
        assert_eq!(run.status.code(), Some(0), "{}", run.stderr);
        run.stderr
    };
    for (list, words) in [
        ("emails", "the keys look like e-mail addresses, lists of which"),
        ("addresses", "the keys look like IPv4 addresses, all 4,294,967,296 of which"),
    ] {
        for how in
            ["", "--keys 5000", "--kind classic", "--kind bloomier", "--memory 64M --size 70M"]
        {
            let warning = told(&format!("{list} {how}"));
            assert!(warning.contains(": warning: f: "), "{how}: {warning:?}");
            assert!(warning.contains(words) && warning.contains("--secret-file"), "{warning}");
            assert_eq!(warning.lines().count(), 1, "{warning}");
        }
    }
    for calm in ["urls", "emails --secret-file secret", "emails --quiet", "emails --explain"] {
        assert_eq!(told(calm), "", "{calm}");
    }
    assert!(serde_json::from_str::<Value>(&told("emails --json")).is_ok());
    let stream = folder.umbel("build -f -o f --keys 5000").stdin(folder.read("emails")).run();
    assert!(stream.stderr.contains("e-mail addresses"), "{}", stream.stderr);
}

#[test]
fn info_warns_by_the_names_of_fields() {
    let folder = Folder::new();
    let rows = (0..100).map(|i| format!("{},{}", email(i), "x".repeat(i as usize)));
    folder.write("rows.csv", lines(std::iter::once("email,note".to_owned()).chain(rows)));
    let told = |keys: &str, info: &str| {
        folder.umbel(&format!("build -q -f -o f --csv {keys} rows.csv")).run().done();
        let run = folder.umbel(&format!("info {info} f")).run();
        assert_eq!(run.status.code(), Some(0), "{}", run.stderr);
        run.stderr
    };
    assert!(told("-k email", "").contains("warning: f: the keys look like e-mail addresses"));
    folder.write_private("secret", SECRET);
    for (keys, info) in [
        ("-k note", ""),
        ("-k email -k note", ""),
        ("-k email", "--quiet"),
        ("-k email", "--json"),
        ("-k email --secret-file secret", ""),
    ] {
        assert_eq!(told(keys, info), "", "{keys} {info}");
    }
}
