//! Filters larger than the memory cap: asked, added to, and kept of seen lines piece by piece, with the
//! same answers and the same bytes as in memory.

use std::io::Write;

use nix::sys::signal::Signal;

use crate::util::{Folder, Outcome, urls};

/// A folder with `keys`, 30,000 lines, `asked`, half of them and as many others with repeats, and the filter `large` of
/// the first, which does not fit under a cap of 16 MiB.
fn with_filter(options: &str) -> Folder {
    let folder = Folder::new();
    folder.write("keys", urls(0..30_000));
    folder.write("asked", urls((15_000..45_000).chain(40_000..47_000).chain([7, 7])));
    folder.write("secret", "0123456789abcdef");
    let build = format!("filter build -q -o large --size 24MB --keys 1e6 {options} keys");
    capped(&folder, &build).done();
    folder
}

/// A run under that cap.
fn capped(folder: &Folder, arguments: &str) -> Outcome {
    folder.umbel(&format!("{arguments} --memory 16MiB")).run()
}

/// Runs it in pieces and in memory; the answers and what becomes of the filter must be the same.
fn same(folder: &Folder, arguments: &str) {
    folder.write("whole", folder.read("large"));
    let whole = folder.umbel(&arguments.replace("large", "whole")).run().done();
    for threads in [1, 3] {
        folder.write("pieces", folder.read("large"));
        let run = arguments.replace("large", "pieces");
        let run = capped(folder, &format!("{run} --threads {threads}"));
        assert!(run.done() == whole, "{arguments}");
        assert!(folder.read("pieces") == folder.read("whole"), "{arguments}");
    }
}

#[test]
fn answers_and_bytes_are_those_of_a_filter_in_memory() {
    let folder = with_filter("");
    for arguments in [
        "filter query -q large asked",
        "filter query -q -v large asked keys",
        "filter add -q large asked",
        "unseen -q large asked keys asked",
    ] {
        same(&folder, arguments);
    }
    capped(&folder, "filter query -q -v large keys").nothing();
    capped(&folder, "unseen -q large keys").nothing();
    // From a pipe, and into a file.
    let piped =
        folder.umbel("filter query -q large --memory 16MiB -o found").stdin(folder.read("asked"));
    piped.run().done();
    let found = folder.umbel("filter query -q large asked").run().done();
    assert!(folder.read("found") == found);
    let report = capped(&folder, "filter query --json large asked -o out").report();
    assert_eq!((&report["lines"], &report["passes"]), (&37_002.into(), &2.into()));
    let names = ["asked", "found", "keys", "large", "out", "pieces", "secret", "whole"];
    assert_eq!(folder.names(), names);
}

#[test]
fn keys_secrets_and_headers_are_as_in_memory() {
    let folder = with_filter("--secret-file secret");
    capped(&folder, "filter query large asked").fails(&["large", "--secret-file"]);
    same(&folder, "filter query -q large asked --secret-file secret");
    same(&folder, "unseen -q large asked --secret-file secret");

    let rows = |numbers: std::ops::Range<u32>| {
        numbers.fold("id,name\n".to_owned(), |rows, i| rows + &format!("{i},\"n\n{}\"\n", i % 100))
    };
    folder.write("t", rows(0..20_000));
    folder.write("u", rows(10_000..30_000));
    let build = "filter build -q -f -o large --size 24MB --keys 1e6 --csv --key id --key name t";
    capped(&folder, build).done();
    for verb in ["filter query -q", "filter query -q -v", "filter add -q", "unseen -q"] {
        same(&folder, &format!("{verb} large u --csv --key id --key name"));
        let refused = capped(&folder, &format!("{verb} large u --csv --key id"));
        refused.fails(&["large", r#"the fields "id", "name""#]);
    }
}

#[test]
fn damage_is_told_before_any_line_goes_out() {
    let folder = with_filter("");
    let mut bytes = folder.read("large");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    folder.write("large", &bytes);
    for arguments in
        ["filter query large asked", "filter query -v large asked", "unseen large asked"]
    {
        capped(&folder, arguments).fails(&["large: ", "damaged"]);
    }
    capped(&folder, "filter add large asked").fails(&["large: ", "damaged"]);
    assert!(folder.read("large") == bytes);
    let half = &bytes[..middle];
    folder.write("half", half);
    capped(&folder, "filter query half asked").fails(&["half: ", "truncated"]);
}

#[test]
fn a_full_filter_is_told_before_any_line_goes_out() {
    let folder = with_filter("");
    capped(&folder, "filter build -q -f -o large --size 40MB --keys 30010 keys").done();
    let before = folder.read("large");
    let run = capped(&folder, "unseen large asked -a out");
    run.fails(&["large: ", "17000 new lines", "30010 keys", "larger filter"]);
    assert!(folder.read("large") == before && folder.read("out").is_empty());
}

#[test]
fn what_a_killed_run_noted_is_known() {
    let folder = with_filter("");
    let (mut run, mut pipe) = folder.fed("unseen -q large -a out --checkpoint 0 pipe");
    pipe.write_all(&urls(90_000..90_010)).unwrap();
    run.until("it noted them", || folder.read_if_there("large.run").len() > 160);
    std::thread::sleep(std::time::Duration::from_millis(100));
    run.killed_by(Signal::SIGKILL);
    folder.write("noted", urls(90_000..90_010));
    let asked = capped(&folder, "filter query -q large noted").done();
    assert!(asked == folder.read("noted"));
    let again = capped(&folder, "unseen large -a out noted");
    again.says("the last run was interrupted").nothing();
    assert!(folder.read("out") == folder.read("noted") && !folder.path("large.run").exists());
    folder.umbel("filter query -q -v large noted").run().nothing();
}

#[test]
fn a_new_filter_of_seen_lines_may_be_larger_than_the_cap() {
    let folder = with_filter("");
    let seen = "unseen -q new --keys 5e6 --fpp 1e-6";
    let first = capped(&folder, &format!("{seen} asked")).done();
    assert!(first == folder.umbel("dedup -q asked").run().done());
    capped(&folder, &format!("{seen} asked")).nothing();
    let refused = capped(&folder, "unseen no --kind classic --keys 5e7 keys");
    refused.fails(&["a memory cap of 16MiB is too small"]);
}
