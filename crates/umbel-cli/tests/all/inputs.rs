//! What inputs may be: as many as there are, named one by one or by a list, compressed.

use std::io::Write;

use crate::util::{Folder, bgzip, compressed, lines, urls, xz};

#[cfg(unix)]
#[test]
fn a_file_among_many_that_changes_is_noticed() {
    let folder = Folder::new();
    let names: Vec<_> = (0..100).map(|i| format!("{i:04}")).collect();
    for name in &names {
        folder.write(name, format!("only {name}\nshared\n"));
    }
    folder.write("list", lines(names.iter().map(String::as_str).chain(["pipe"])));
    // The files are noted before the pipe is read.
    let (running, pipe) = folder.fed("dedup --files-from list");
    folder.write("0050", "another\nshared\n");
    running.finish_after(pipe, b"x\n").fails(&["0050", "changed"]);
}

#[cfg(unix)]
#[test]
fn compression_is_told_by_content_whatever_the_name() {
    let folder = Folder::new();
    let (left, right) = (urls(0..3000), urls(1000..4000));
    folder.write("right", &right);
    for (format, bytes) in compressed(&left) {
        folder.write("list", &bytes);
        let done = |arguments: &str| folder.umbel(arguments).run().done();
        let piped = |arguments: &str| folder.umbel(arguments).stdin(bytes.clone()).run().done();
        assert!(done("dedup list") == left, "{format}");
        assert!(piped("dedup") == left, "{format}");
        let file = std::fs::File::open(folder.path("list")).unwrap();
        assert!(folder.umbel("dedup").stdin_file(file).run().done() == left, "{format}");
        assert!(done("common list right") == urls(1000..3000), "{format}");
        assert!(piped("except right -") == urls(3000..4000), "{format}");
        assert!(piped("unseen seen -") == left, "{format}");
        folder.umbel("unseen seen list").run().nothing();
        assert!(done("filter build -f -o filter --fpp 1e-9 list").is_empty());
        assert!(piped("filter query filter") == left, "{format}");
        std::fs::remove_file(folder.path("seen")).unwrap();
        let (running, mut pipe) = folder.fed("common pipe right");
        // Also when the first bytes come one by one.
        for byte in &bytes[..20] {
            pipe.write_all(&[*byte]).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let outcome = running.finish_after(pipe, &bytes[20..]);
        assert!(outcome.done() == urls(1000..3000), "{format}");
    }
}

#[test]
fn streams_one_behind_the_other_are_one_input() {
    let folder = Folder::new();
    let all = urls(0..2000);
    let parts = [&all[..40_001], &all[40_001..40_001], &all[40_001..]].map(compressed);
    for i in 0..parts[0].len() {
        let (format, mut bytes) = parts[0][i].clone();
        bytes.extend(parts[1..].iter().flat_map(|part| part[i].1.clone()));
        folder.write("list", &bytes);
        assert!(folder.umbel("dedup list").run().done() == all, "{format}");
    }
    // Frames that are to be skipped, as parallel compressors write them, first and in between.
    let skipped = b"\x5d\x2a\x4d\x18\x03\0\0\0abc";
    for (format, bytes) in compressed(&all) {
        let bytes = match format {
            "zstd" => [&skipped[..], &bytes, skipped].concat(),
            "lz4" => [&bytes, &skipped[..]].concat(),
            _ => continue,
        };
        folder.write("list", &bytes);
        assert!(folder.umbel("dedup list").run().done() == all, "{format}");
    }
}

#[test]
fn what_is_cut_or_damaged_is_refused_with_its_name() {
    let folder = Folder::new();
    let lines = urls(0..100);
    for (format, bytes) in compressed(&lines) {
        let words = |what: &str| format!(": list: the {format} data is {what}");
        for length in 10..bytes.len() {
            // Every length near the ends, and some between.
            if (30..bytes.len() - 30).contains(&length) && length % 97 != 0 {
                continue;
            }
            folder.write("list", &bytes[..length]);
            folder.umbel("dedup list").run().fails(&[&words("truncated")]);
        }
        folder.refuses("dedup --repeated list", &[": list: ", format]);
        for at in (10..bytes.len()).step_by(53) {
            let mut bytes = bytes.clone();
            bytes[at] ^= 0x10;
            folder.write("list", &bytes);
            let message = folder.umbel("dedup list").run().fails(&[": list: "]);
            assert!(message.contains(&format!("the {format} data")), "{message}");
        }
        folder.write("list", [&bytes[..], b"and more"].concat());
        let dedup = folder.umbel("dedup list").run();
        match format {
            "gzip" => drop(dedup.says("list: the gzip data ends at byte").done()),
            _ => drop(dedup.fails(&[&format!(": list: the {format} data")])),
        }
    }
}

#[test]
fn compressed_files_are_decompressed_side_by_side() {
    let folder = Folder::new();
    let mut names = Vec::new();
    for part in 0..4 {
        for (format, bytes) in compressed(&urls(part * 50..part * 50 + 100)) {
            let name = format!("{part}.{format}");
            folder.write(&name, bytes);
            names.push(name);
        }
    }
    folder.write("plain", urls(0..10));
    names.insert(3, "plain".to_owned());
    // A dictionary of 64 MiB: with four decoders none may have as much.
    folder.write("large.xz", xz(&urls(500..600), 9));
    names.push("large.xz".to_owned());
    let names = names.join(" ");
    let alone = folder.umbel(&format!("dedup {names} --memory 256MiB -j 1")).run().done();
    assert_eq!(alone, [urls(0..250), urls(500..600)].concat());
    for threads in [2, 4, 16] {
        let job = format!("dedup {names} --memory 256MiB -j {threads}");
        assert!(folder.umbel(&job).run().done() == alone, "{threads} threads");
    }
    // Of several that are damaged, the first one is named.
    let whole = folder.read("1.gzip");
    for name in ["1.gzip", "3.zstd"] {
        let bytes = folder.read(name);
        folder.write(name, &bytes[..bytes.len() - 9]);
    }
    folder.umbel(&format!("dedup {names} -j 4")).run().fails(&["1.gzip", "truncated"]);
    folder.write("1.gzip", whole);
    folder.umbel(&format!("dedup {names} -j 4")).run().fails(&["3.zstd", "truncated"]);
}

#[test]
fn parts_of_a_compressed_file_are_decompressed_side_by_side() {
    let folder = Folder::new();
    let lines = urls(0..60_000);
    let block = |text: &[u8]| bgzip(text, flate2::Compression::fast());
    let bgzipped: Vec<u8> = lines.chunks(60_000).chain([&b""[..]]).flat_map(block).collect();
    let frame = |text: &[u8], known: bool| {
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
        encoder.include_checksum(known).unwrap();
        if known {
            encoder.set_pledged_src_size(Some(text.len() as u64)).unwrap();
        }
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    };
    // Frames of all sizes, some of them too large for a part, and one to be skipped.
    let mut framed = b"\x50\x2a\x4d\x18\x03\0\0\0abc".to_vec();
    let mut rest = &lines[..];
    for size in [1, 100, 0, 300_000, 130_000, 131_072, 5_000, 1_200_000, 700_000].iter().cycle() {
        let (text, more) = rest.split_at(rest.len().min(*size));
        framed.extend(frame(text, size % 100 == 0));
        rest = more;
        if rest.is_empty() {
            break;
        }
    }
    // A last frame that one decoder has to read, and what follows it.
    let larger = [&framed[..], &frame(&lines, false), &framed].concat();
    let thrice = [&lines[..], &lines, &lines].concat();
    for (name, bytes, text) in
        [("a.gz", &bgzipped, &lines), ("a.zst", &framed, &lines), ("b.zst", &larger, &thrice)]
    {
        folder.write(name, bytes);
        for options in ["-j 1", "-j 2", "-j 3 --memory 32MiB", "-j 16 --memory 1GiB"] {
            let dedup = folder.umbel(&format!("common --all {name} {name} {options}")).run();
            assert!(dedup.done() == *text, "{name} {options}");
            let one_pass = folder.umbel(&format!("dedup --fpp 1e-9 {name} {options}")).run();
            assert!(one_pass.done() == lines, "{name} {options}");
        }
        for at in (0..bytes.len()).step_by(bytes.len() / 9).skip(1) {
            let format = if name == "a.gz" { "gzip" } else { "zstd" };
            folder.write("cut", &bytes[..at]);
            let cut = folder.umbel("dedup cut -j 4").run();
            // Where a frame ends, a file may end.
            if !cut.status.success() {
                cut.fails(&[&format!("cut: the {format} data is truncated")]);
            }
            let mut flipped = bytes.clone();
            flipped[at] ^= 0x10;
            folder.write("flipped", flipped);
            // Frames without a checksum cannot tell.
            let flipped = folder.umbel("dedup flipped -j 4").run();
            if !flipped.status.success() {
                flipped.fails(&["flipped: "]);
            } else {
                assert_ne!(name, "a.gz");
            }
        }
    }
    let early = [&bgzipped[..], b"junk", &bgzip(b"late\n", flate2::Compression::fast())].concat();
    folder.write("early", early);
    for threads in [1, 4] {
        let said = format!("early: the gzip data ends at byte {};", bgzipped.len());
        let dedup = folder.umbel(&format!("dedup early -j {threads}")).run();
        assert!(dedup.says(&said).done() == lines);
    }
}

#[test]
fn dictionaries_of_xz_stay_within_the_cap() {
    let folder = Folder::new();
    let bytes = urls(0..1000);
    folder.write("large.xz", xz(&bytes, 9));
    let message = folder.umbel("dedup large.xz --memory 16MiB --threads 1").run();
    message.fails(&["large.xz", "a window of 64.0 MiB", "read it with --memory 256MiB or more"]);
    assert!(folder.umbel("dedup large.xz --memory 256MiB").run().done() == bytes);
    folder.write("usual.xz", xz(&bytes, 6));
    assert!(folder.umbel("dedup usual.xz --memory 16MiB --threads 1").run().done() == bytes);
    // A stream further behind.
    folder.write("later.xz", [xz(&bytes, 6), xz(&bytes, 9)].concat());
    let message = folder.umbel("dedup later.xz --memory 16MiB --threads 1").run();
    message.fails(&["later.xz", "more memory", "--memory"]);
}

#[test]
fn windows_of_zstandard_stay_within_the_cap() {
    let folder = Folder::new();
    let bytes = urls(0..300_000);
    for (name, whole) in [("streamed.zst", false), ("whole.zst", true)] {
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
        encoder.window_log(27).unwrap();
        if whole {
            // One segment: its window is its size.
            encoder.set_pledged_src_size(Some(bytes.len() as u64)).unwrap();
        }
        encoder.write_all(&bytes).unwrap();
        folder.write(name, encoder.finish().unwrap());
        let message = folder.umbel(&format!("dedup {name} --memory 16MiB --threads 1")).run();
        let message = message.fails(&[name, "window", "--memory"]);
        let least = message.split("--memory ").nth(1).unwrap().split(' ').next().unwrap();
        let dedup = folder.umbel(&format!("dedup {name} --memory {least}")).run();
        assert!(dedup.done() == bytes, "{least}");
    }
}
