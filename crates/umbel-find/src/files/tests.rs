//! Random files, changes and texts, against a search of every line; and damage.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::index::words;
use twox_hash::XxHash3_64;
use umbel::internals::mix;
use umbel_io::atomic::Existing;
use umbel_sets::{Form, Options, Records, Resources, TempFolders};

use crate::{Found, IndexError, Matching, Search, Sink, Wanted};
use crate::{about, build, find, not_found, update};

/// Draws numbers.
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: usize) -> usize {
        self.0 += 1;
        (mix(self.0) % end as u64) as usize
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

pub(crate) fn options(folder: &Path, threads: usize) -> Options {
    let tmp = TempFolders::new(&[folder.to_owned()]);
    Options { resources: Resources::new(256 << 20, threads, tmp), form: Form::default() }
}

/// How much a test does: all with `cargo x test --full`.
fn long<T>(all: T, part: T) -> T {
    if std::env::var_os("UMBEL_TEST_FULL").is_some() { all } else { part }
}

/// Makes an index of one file, in place of any other.
fn index_of(file: &Path, index: &Path, options: &Options) -> crate::Built {
    build(index, Existing::Replace, &[file.to_owned()], options).unwrap()
}

/// A folder, a place for an index in it, and options.
fn workplace(threads: usize) -> (tempfile::TempDir, PathBuf, Options) {
    let dir = tempfile::tempdir().unwrap();
    let (index, options) = (dir.path().join("index"), options(dir.path(), threads));
    (dir, index, options)
}

/// 17 words.
const WORDS: &str =
    "a B 10 0 192 id user_id Error timeout Zoë ZOË ȺÅ ⱥå 日本語 ไทย checkout-service x";
const BETWEEN: [&[u8]; 10] = [b" ", b" ", b".", b".", b"=", b"-", b"", b"/", "—".as_bytes(), b"\t"];

/// A word, perhaps not of UTF-8.
fn word(draw: &mut Draw) -> &'static [u8] {
    match draw.below(19) {
        17 => b"ab\xffcd",
        18 => b"\xe2\x82",
        at => WORDS.split(' ').nth(at).unwrap().as_bytes(),
    }
}

fn line(draw: &mut Draw) -> Vec<u8> {
    let mut line = Vec::new();
    let words = if draw.below(40) == 0 { 800 } else { draw.below(14) };
    for _ in 0..words {
        match draw.below(6) {
            0 => line.extend_from_slice(format!("{:x}", draw.below(usize::MAX)).as_bytes()),
            1 => line.extend_from_slice(draw.below(300).to_string().as_bytes()),
            _ => line.extend_from_slice(word(draw)),
        }
        line.extend_from_slice(draw.of(&BETWEEN));
    }
    if draw.below(9) == 0 {
        line.push(b'\r');
    }
    line
}

fn text(draw: &mut Draw) -> Vec<u8> {
    let mut text = Vec::new();
    for _ in 0..draw.below(120) {
        text.extend(line(draw));
        text.push(b'\n');
    }
    if draw.below(3) == 0 {
        text.extend(line(draw));
    }
    text
}

/// Encodes some bytes.
macro_rules! through {
    ($encoder:expr, $bytes:expr) => {{
        let mut to = $encoder;
        to.write_all($bytes).unwrap();
        to.finish().unwrap()
    }};
}

fn compressed(draw: &mut Draw, bytes: &[u8]) -> Vec<u8> {
    let out = Vec::new();
    match draw.below(8) {
        0 => through!(flate2::write::GzEncoder::new(out, flate2::Compression::fast()), bytes),
        1 => {
            // Several frames.
            let (one, other) = bytes.split_at(draw.below(bytes.len() + 1));
            [one, other].map(|part| zstd::encode_all(part, 1).unwrap()).concat()
        }
        2 => through!(bzip2::write::BzEncoder::new(out, bzip2::Compression::fast()), bytes),
        3 => through!(lz4_flex::frame::FrameEncoder::new(out), bytes),
        4 => {
            let options = lzma_rust2::XzOptions::with_preset(0);
            through!(lzma_rust2::XzWriter::new(out, options).unwrap(), bytes)
        }
        _ => bytes.to_vec(),
    }
}

/// A line that was found: its file, its number and its bytes.
type Line = (PathBuf, u64, Vec<u8>);

/// Calls a function with each line.
struct Each<F>(F);

impl<F: Fn(&Found<'_>, &mut Vec<u8>) + Sync> Sink for Each<F> {
    fn line(&self, found: &Found<'_>, out: &mut Vec<u8>) -> bool {
        (self.0)(found, out);
        true
    }

    fn file(&self, _: &Path, _: u64, _: &mut Vec<u8>) {}
}

fn search(index: &Path, wanted: &Wanted, options: &Options) -> anyhow::Result<(Vec<Line>, Search)> {
    let mut all = Vec::new();
    let collect = Each(|found: &Found<'_>, out: &mut Vec<u8>| {
        let path = found.file.as_os_str().as_encoded_bytes();
        for part in [path, &found.line.to_le_bytes(), found.text] {
            out.extend_from_slice(&(part.len() as u32).to_le_bytes());
            out.extend_from_slice(part);
        }
    });
    let search = find(index, wanted, options, &collect, &mut |bytes| {
        all.extend_from_slice(bytes);
        Ok(())
    })?;
    let mut rest = &all[..];
    let mut part = || {
        let (length, behind) = rest.split_first_chunk::<4>()?;
        let (part, behind) = behind.split_at(u32::from_le_bytes(*length) as usize);
        rest = behind;
        Some(part.to_vec())
    };
    let mut lines = Vec::new();
    while let Some(path) = part() {
        let path = PathBuf::from(String::from_utf8(path).unwrap());
        let number = u64::from_le_bytes(part().unwrap().try_into().unwrap());
        lines.push((path, number, part().unwrap()));
    }
    Ok((lines, search))
}

/// One text, as a whole.
fn wanted(text: &str) -> Wanted {
    Wanted { texts: vec![text.into()], matching: Matching::default(), output: None }
}

/// The lines of a text that contain one of some texts, found by trying every position.
fn model(path: &Path, text: &[u8], wanted: &Wanted) -> Vec<Line> {
    let folded = |text: &[u8]| {
        let mut to = Vec::new();
        words::fold(text, &mut to);
        if wanted.matching.ignore_case { to } else { text.to_vec() }
    };
    let has = |line: &[u8], needle: &[u8]| {
        let (line, needle) = (&folded(line)[..], &folded(needle)[..]);
        (0..(line.len() + 1).saturating_sub(needle.len())).any(|at| {
            let end = at + needle.len();
            let same = line[at..end] == *needle;
            let whole = || words::is_edge(line, at) && words::is_edge(line, end);
            same && (wanted.matching.inside || whole())
        })
    };
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    if text.is_empty() {
        return Vec::new();
    }
    let lines = (1..).zip(text.split(|&byte| byte == b'\n'));
    let found = lines.filter(|(_, line)| wanted.texts.iter().any(|needle| has(line, needle)));
    found.map(|(number, line)| (path.to_owned(), number, line.to_vec())).collect()
}

/// A text that some line may contain.
fn needle(draw: &mut Draw, texts: &[(PathBuf, Vec<u8>)]) -> Vec<u8> {
    let all: Vec<&[u8]> =
        texts.iter().flat_map(|(_, text)| text.split(|&byte| byte == b'\n')).collect();
    let mut needle = match draw.below(4) {
        0 => word(draw).to_vec(),
        1 => format!("{:x}", draw.below(1 << 20)).into_bytes(),
        _ if all.is_empty() => b"none".to_vec(),
        _ => {
            let line = draw.of(&all);
            let start = draw.below(line.len() + 1);
            let length = draw.below((line.len() - start + 1).min(30));
            line[start..start + length].to_vec()
        }
    };
    if draw.below(4) == 0 {
        needle.make_ascii_uppercase();
    }
    if needle.is_empty() { b"0".to_vec() } else { needle }
}

/// A change to files between the index and a search.
fn change(draw: &mut Draw, texts: &mut Vec<(PathBuf, Vec<u8>)>, folder: &Path) {
    let number = draw.below(texts.len());
    match draw.below(8) {
        // Appended, cut off, or other bytes of the same length.
        0 => texts[number].1.extend(text(draw)),
        1 => {
            let length = draw.below(texts[number].1.len() + 1);
            texts[number].1.truncate(length);
        }
        2 if !texts[number].1.is_empty() => {
            let at = draw.below(texts[number].1.len());
            texts[number].1[at] = b'Q';
        }
        3 => {
            let (path, _) = texts.remove(number);
            fs::remove_file(&path).unwrap();
            return;
        }
        4 => {
            let new = folder.join(format!("logs/new{}", draw.below(1000)));
            texts.push((new.clone(), text(draw)));
            fs::write(new, &texts.last().unwrap().1).unwrap();
            return;
        }
        5 => {
            let new = folder.join(format!("logs/moved{}", draw.below(1000)));
            let old = std::mem::replace(&mut texts[number].0, new.clone());
            fs::rename(&old, new).unwrap();
            return;
        }
        _ => return,
    }
    let bytes = compressed(draw, &texts[number].1);
    fs::write(&texts[number].0, bytes).unwrap();
}

#[test]
fn random_texts_are_found_as_a_search_of_every_line_finds_them() {
    let cases = long(500, 60);
    let (mut lines, mut narrowed, mut compared) = (0, 0, 0);
    for case in 0..cases {
        let draw = &mut Draw(case << 32);
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path();
        fs::create_dir_all(folder.join("logs/deep")).unwrap();
        let mut texts = Vec::new();
        for number in 0..1 + draw.below(6) {
            let path = folder.join(format!("logs/{}{number}.log", draw.of(&["", "deep/"])));
            let text = text(draw);
            fs::write(&path, compressed(draw, &text)).unwrap();
            texts.push((path, text));
        }
        let index = folder.join("logs.index");
        let options = options(folder, 1 + draw.below(3));
        build(&index, Existing::Keep, &[folder.join("logs")], &options).unwrap();
        let paths =
            |texts: &[(PathBuf, Vec<u8>)]| texts.iter().map(|(path, _)| path.clone()).collect();
        let mut indexed: Vec<PathBuf> = paths(&texts);
        for _ in 0..3 {
            if !texts.is_empty() && draw.below(2) == 0 {
                change(draw, &mut texts, folder);
            }
            if draw.below(2) == 0 {
                update(&index, &options.resources).unwrap();
                let about = about(&index).unwrap();
                assert_eq!((about.stale, about.gone), (Vec::new(), Vec::new()));
                indexed = paths(&texts);
            }
            texts.sort();
            for _ in 0..4 {
                let (inside, ignore_case) = (draw.below(2) == 0, draw.below(3) == 0);
                let matching = Matching { inside, ignore_case };
                let needles = (0..1 + draw.below(3)).map(|_| needle(draw, &texts)).collect();
                let wanted = Wanted { texts: needles, matching, output: None };
                let (found, search) = search(&index, &wanted, &options).unwrap();
                let expected = texts.iter().flat_map(|(path, text)| model(path, text, &wanted));
                let expected: Vec<_> = expected.collect();
                let shown = || wanted.texts.join(&b", "[..]).escape_ascii().to_string();
                assert_eq!(found, expected, "case {case}, {}, {matching:?}", shown());
                let mut gone = indexed.clone();
                gone.retain(|path| !path.exists());
                gone.sort();
                assert_eq!(search.gone, gone, "{case}");
                assert_eq!(search.found, found.len() as u64);
                let of =
                    |needle: &Vec<u8>| Wanted { texts: vec![needle.clone()], ..wanted.clone() };
                let is_found = |needle: &Wanted| {
                    texts.iter().any(|(path, text)| !model(path, text, needle).is_empty())
                };
                let missing = (0..wanted.texts.len()).filter(|&i| !is_found(&of(&wanted.texts[i])));
                assert!(
                    not_found(&index, &wanted, &options).unwrap().0.into_iter().eq(missing),
                    "{case}, {}",
                    shown()
                );
                lines += found.len();
                narrowed += u64::from(search.wide.is_empty());
                let [needle] = &wanted.texts[..] else { continue };
                if !inside || (ignore_case && !needle.is_ascii()) {
                    continue;
                }
                compared += 1;
                let plain = folder.join("plain");
                for (path, text) in &texts {
                    fs::write(&plain, text).unwrap();
                    let theirs = grep(needle, ignore_case, &plain);
                    let ours = found.iter().filter(|(file, ..)| file == path);
                    let ours = ours.flat_map(|(_, number, line)| {
                        [format!("{number}:").as_bytes(), line, b"\n"].concat()
                    });
                    assert!(ours.eq(theirs.iter().copied()), "{case}: {}", theirs.escape_ascii());
                }
                let _ = fs::remove_file(&plain);
            }
        }
    }
    let enough = lines > 10 * cases as usize && narrowed > cases && compared > cases;
    assert!(enough, "{lines} {narrowed}");
}

/// The output of grep.
fn grep(needle: &[u8], ignore_case: bool, file: &Path) -> Vec<u8> {
    let mut grep = Command::new("grep");
    grep.env("LC_ALL", "C").args(["-a", "-F", "-n", "-e"]);
    grep.arg(umbel_io::path_from(needle.to_vec()).unwrap()).arg(file);
    grep.args(ignore_case.then_some("-i")).output().unwrap().stdout
}

#[test]
fn values_of_a_field_are_found_in_records_of_every_format() {
    let (dir, index, lines) = workplace(2);
    let file = dir.path().join("table");
    let key = || vec!["id".to_owned()];
    let [mut csv, mut tsv, mut json] = ["n,id\n", "id\tn\n", ""].map(String::from);
    for i in 0..900 {
        // Rows of two lines, and quotes.
        csv.push_str(&format!("\"{i}\nx\",\"k \"\"{}\"\"\"\n\n", i / 3));
        tsv.push_str(&format!("k \"{}\"\t{i}\n", i / 3));
        json.push_str(&format!("{{\"n\": {i}, \"id\": \"k \\\"{}\\\"\"}}\n", i / 3));
    }
    for (text, records) in [
        (&csv, Records::Csv { delimiter: b',', header: true, key: key(), raw: false }),
        (&tsv, Records::Tsv { delimiter: b'\t', header: true, key: key() }),
        (&json, Records::JsonLines { key: key(), raw: false }),
    ] {
        fs::write(&file, text).unwrap();
        let of_field = Options { form: records.into(), ..lines.clone() };
        let built = index_of(&file, &index, &of_field);
        assert!(built.blocks > 10, "{}", built.blocks);
        for value in ["k \"7\"", "k \"299\"", "k", "7"] {
            let (found, search) = search(&index, &wanted(value), &lines).unwrap();
            let expected = if value.len() > 2 { 3 } else { 0 };
            assert_eq!(found.len(), expected, "{value} in {}", &text[..40]);
            assert!(search.blocks_read <= 4, "{}", search.blocks_read);
            for (_, number, row) in found {
                let at = text.split_inclusive('\n').take(number as usize - 1).map(str::len).sum();
                let row = String::from_utf8(row).unwrap();
                assert!(text[at..].starts_with(&row), "{number}: {row}");
            }
        }
        let matching = Matching { inside: true, ..Matching::default() };
        let wanted = Wanted { matching, ..wanted("7") };
        assert!(search(&index, &wanted, &lines).is_err(), "values are compared as a whole");
        assert!(search(&index, &wanted, &of_field).is_err(), "the index knows its records");
    }
}

/// A hit reads from the last point on: a frame or member, or a point inside a gzip member that the index keeps.
#[test]
fn a_hit_in_a_compressed_file_does_not_read_it_from_its_start() {
    let (dir, index, options) = workplace(2);
    let (file, other) = (dir.path().join("log"), dir.path().join("other"));
    let line = |i: u64| format!("line {i} id={:016x}\n", mix(i)).into_bytes();
    let text: Vec<u8> = (0..30_000).flat_map(line).collect();
    let parts: Vec<&[u8]> = text.chunks(20_000).collect();
    let gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    let gzip = through!(gzip, &text);
    let zstd: Vec<u8> = parts.iter().flat_map(|part| zstd::encode_all(*part, 1).unwrap()).collect();
    let lz4 = || lz4_flex::frame::FrameEncoder::new(Vec::new());
    let lz4: Vec<u8> = parts.iter().flat_map(|part| through!(lz4(), part)).collect();
    // A block of deflate has up to 64 KiB of text here, and points are 4 KiB apart or a block.
    for (bytes, most) in [(&text, 1 << 13), (&zstd, 40_000), (&lz4, 40_000), (&gzip, 200_000)] {
        fs::write(&file, bytes).unwrap();
        index_of(&file, &index, &options);
        let look = |i: u64| {
            let wanted = wanted(&format!("{:016x}", mix(i)));
            let (found, search) = search(&index, &wanted, &options).unwrap();
            assert_eq!((found.len(), found[0].1), (1, i + 1), "{i}");
            // Of about a thousand others, each passes wrongly with a probability of 2⁻¹² or less.
            assert!(search.blocks_read <= 3, "{}", search.blocks_read);
            search.text_read / search.blocks_read
        };
        let read = (0..30_000).step_by(997).map(look).max().unwrap();
        assert!(read < most, "{read}");
        // Updates keep the old index's decoder data, whether they append or rewrite everything.
        for round in 0..12 {
            fs::write(&other, format!("{round}").repeat(5000)).unwrap();
            build(&index, Existing::Replace, &[file.clone(), other.clone()], &options).unwrap();
            fs::write(&other, format!("{round} x").repeat(5000 * round)).unwrap();
            update(&index, &options.resources).unwrap();
            about(&index).unwrap();
            look(round as u64 * 2003);
        }
    }
}

/// The number of blocks of compressed text, and the length of headers, show only when files are read.
#[test]
fn blocks_and_headers_that_nobody_expected_are_within_the_cap() {
    let dir = tempfile::tempdir().unwrap();
    let (folder, index) = (dir.path(), dir.path().join("index"));
    let text = "a few words\n".repeat(3_000_000);
    let compressed = folder.join("compressed");
    fs::write(&compressed, zstd::encode_all(text.as_bytes(), 1).unwrap()).unwrap();
    let header: String = (0..12_000).map(|i| format!(",n{i}")).collect();
    let table = |number: usize, of: &str| {
        let path = folder.join(format!("{number}{of}.csv"));
        let other = if of == "other" { number } else { 0 };
        fs::write(&path, format!("id{header},{other}\n1\n")).unwrap();
        path
    };
    let tables = |of| (0..40).map(|number| table(number, of)).collect::<Vec<_>>();
    let (same, others) = (tables("same"), tables("other"));
    let key = vec!["id".to_owned()];
    let csv = Records::Csv { delimiter: b',', header: true, key, raw: false };
    let mut of_csv = Options { form: csv.clone().into(), ..options(folder, 2) };
    of_csv.resources.memory = 8 << 20;
    let built = build(&index, Existing::Replace, &same, &of_csv).unwrap();
    assert!(built.files == 40 && built.bytes < 100_000, "{built:?}");
    fs::remove_file(&index).unwrap();
    for (paths, records) in [(&[compressed][..], Records::default()), (&others, csv)] {
        let form = Form::from(records);
        let has = |memory| Resources { memory, ..options(folder, 1).resources };
        let made = |memory| {
            let options = Options { resources: has(memory), form: form.clone() };
            build(&index, Existing::Replace, paths, &options)
        };
        let error = made(8 << 20).unwrap_err();
        let Some(umbel_sets::Error::Memory { cap, least }) = error.downcast_ref() else {
            panic!("{error:#}");
        };
        assert!(!index.exists() && *cap == 8 << 20, "{error}");
        let built = made(*least).unwrap();
        assert_eq!((built.files, built.read), (paths.len() as u64, paths.len() as u64));
        // The memory of kept files is known.
        update(&index, &has(8 << 20)).unwrap_err();
        update(&index, &has(*least)).unwrap();
        fs::remove_file(&index).unwrap();
    }
}

/// A plain file of several parts, read by several threads, gets the same index as from one thread.
#[test]
fn parts_of_large_files_make_the_same_index() {
    let dir = tempfile::tempdir().unwrap();
    let (folder, file) = (dir.path(), dir.path().join("log"));
    let draw = &mut Draw(99);
    for case in 0..6 {
        let mut text: Vec<u8> = Vec::new();
        while text.len() < 300_000 {
            text.extend(line(draw));
            text.extend(vec![b'x'; if draw.below(50) == 0 { draw.below(5000) } else { 0 }]);
            text.push(b'\n');
        }
        // A line that is longer than a part, in the middle, and one without an end.
        if case % 2 == 0 {
            text.extend([b"one ".repeat(20_000), b"\nlast".to_vec()].concat());
        }
        fs::write(&file, &text).unwrap();
        let [one, several] = [1, 4].map(|threads| {
            let (index, options) = (folder.join("index"), options(folder, threads));
            index_of(&file, &index, &options);
            for at in (0..text.len()).step_by(14_983) {
                let word = text[at..].split(|byte| !byte.is_ascii_alphanumeric()).nth(2);
                let Some(word) = word.filter(|word| word.len() > 3) else { continue };
                let matching = Matching { inside: true, ignore_case: false };
                let wanted = Wanted { texts: vec![word.to_vec()], matching, output: None };
                let (found, _) = search(&index, &wanted, &options).unwrap();
                assert_eq!(found, model(&file, &text, &wanted), "{}", word.escape_ascii());
            }
            fs::read(&index).unwrap()
        });
        assert!(one == several, "{case}");
    }
}

/// Every byte of an index is covered by a checksum or checked.
#[test]
fn a_damaged_index_is_refused() {
    let (dir, index, options) = workplace(1);
    let damaged = dir.path().join("damaged");
    let draw = &mut Draw(7);
    let paths = [0, 1, 2, 3, 4].map(|number| dir.path().join(format!("{number}.log")));
    paths.iter().for_each(|path| fs::write(path, text(draw)).unwrap());
    build(&index, Existing::Keep, &paths, &options).unwrap();
    damages(&fs::read(&index).unwrap(), &damaged);
    let built = fs::metadata(&index).unwrap().len();
    fs::write(&paths[1], text(draw)).unwrap();
    update(&index, &options.resources).unwrap();
    let updated = fs::read(&index).unwrap();
    assert!(updated.len() as u64 > built, "the update appended");
    // The old part is unchanged, except for the unused header, and missing columns do not count as damage.
    damages(&updated, &damaged);
}

/// Changes each part of an index, written to `damaged`.
fn damages(whole: &[u8], damaged: &Path) {
    let catalog =
        |page: usize| u64::from_le_bytes(whole[page * 1024 + 32..][..8].try_into().unwrap());
    let used = (catalog(0).max(catalog(1)) / 1016 * 1024) as usize;
    let refused = |bytes: &[u8]| {
        fs::write(damaged, bytes).unwrap();
        let error = about(damaged).expect_err("it is damaged");
        assert!(error.downcast_ref::<IndexError>().is_some(), "{error:#}");
    };
    let stride = long(1, 61);
    // Between the headers and the catalog, some pages may be unused.
    for at in (0..64).chain((64..2048).chain(used..whole.len()).step_by(stride)) {
        let mut bytes = whole.to_vec();
        bytes[at] ^= 1 << (at % 8);
        refused(&bytes);
    }
    for length in [0, 1, 8, 10, 1023, 1024, whole.len() - 1024, whole.len() - 1] {
        refused(&whole[..length]);
    }
    // Bytes left behind by an unfinished update.
    fs::write(damaged, [whole, &[7; 1500]].concat()).unwrap();
    assert!(about(damaged).is_ok());
    // Pages in another order.
    let mut swapped = whole.to_vec();
    swapped[used..used + 2048].rotate_left(1024);
    refused(&swapped);
    fs::write(damaged, whole).unwrap();
    assert!(about(damaged).is_ok());
}

/// A forged index with valid checksums decides which text a block has, and how much. A search reads no more of it than
/// `--memory` allows, and line numbers do not overflow.
#[test]
fn a_forged_index_is_refused() {
    let (dir, index, options) = workplace(1);
    let file = dir.path().join("log");
    fs::write(&file, (0..200).map(|i| format!("line {i}\n")).collect::<String>()).unwrap();
    index_of(&file, &index, &options);
    let whole = fs::read(&index).unwrap();
    let data: Vec<u8> = whole.chunks(1024).flat_map(|page| &page[..1016]).copied().collect();
    let number = |at: usize| u64::from_le_bytes(data[at..at + 8].try_into().unwrap()) as usize;
    let (lists, groups) = (number(32) + number(40), number(56));
    let forged = |at: usize, value: u64| {
        let mut data = data.clone();
        data[at..at + 8].copy_from_slice(&value.to_le_bytes());
        let mut pages = Vec::new();
        for (data, number) in data.chunks(1016).zip(0..) {
            pages.extend_from_slice(data);
            pages.extend(XxHash3_64::oneshot_with_seed(number, data).to_le_bytes());
        }
        fs::write(&index, pages).unwrap();
        let found = search(&index, &wanted("line"), &options).map(|(found, _)| found.len());
        (found, about(&index).map(|_| ()))
    };
    let is_damage = |error: &anyhow::Error| error.downcast_ref::<IndexError>().is_some();
    let (text, block) = (lists - 32, lists + 16 * groups);
    let (found, told) = forged(text, number(text) as u64);
    assert_eq!((found.unwrap(), told.is_ok()), (200, true), "as it was");
    // The last block ends with the text, and is shorter than the longest possible file.
    let (found, told) = forged(text, 1 << 62);
    let error = format!("{:#}", found.unwrap_err());
    assert!(error.contains(" according to the index, but --memory") && told.is_ok(), "{error}");
    let too_many = [(text, u64::MAX), (block, 1 << 62)];
    // Line ends before a block, and where reading starts.
    let behind = [(block + 8, u64::MAX), (block + 24, u64::MAX), (block + 8, 1), (block + 24, 1)];
    for (at, value) in too_many.into_iter().chain(behind) {
        let (found, told) = forged(at, value);
        for error in [found.unwrap_err(), told.unwrap_err()] {
            assert!(is_damage(&error), "{at}: {error:#}");
        }
        assert!(update(&index, &options.resources).is_err(), "{at}");
    }
    // Data of a decoder beyond any file.
    let (found, told) = forged(block + 32, u64::MAX);
    assert!([found.unwrap_err(), told.unwrap_err()].iter().all(is_damage));
    // After the highest generation, everything is rewritten.
    let (found, _) = forged(16, u64::MAX);
    assert_eq!(found.unwrap(), 200);
    fs::write(&file, "one line\n").unwrap();
    update(&index, &options.resources).unwrap();
    let (found, search) = search(&index, &wanted("line"), &options).unwrap();
    assert_eq!((found.len(), search.stale), (1, Vec::new()));
}

/// A run that makes a new index does not wait for an update, which must not write into the new one.
#[test]
fn an_update_leaves_an_index_alone_that_was_made_anew() {
    let (dir, index, options) = workplace(1);
    let logs = ["a", "b"].map(|name| dir.path().join(name));
    logs.iter().for_each(|log| fs::write(log, "one line\n").unwrap());
    build(&index, Existing::Keep, &logs[..1], &options).unwrap();
    let old = fs::File::open(&index).unwrap();
    build(&index, Existing::Replace, &logs[1..], &options).unwrap();
    let made = fs::read(&index).unwrap();
    fs::write(&logs[0], "another line\n").unwrap();
    let error = super::build::update_of(&index, old, &options.resources).unwrap_err().to_string();
    assert!(error.contains("another run rebuilt it"), "{error}");
    assert!(fs::read(&index).unwrap() == made);
}

/// All files are checked before the first is searched.
#[test]
fn a_file_that_changes_while_others_are_searched_is_searched_in_full() {
    let (dir, index, options) = workplace(1);
    let line = |word: &str, i: usize| format!("{word} {i:>200}\n");
    let word = |is_it| if is_it { "needle" } else { "nothin" };
    let text = |at: usize| (0..50).map(|i| line(word(i == at), i)).collect::<String>();
    let logs = ["a", "b"].map(|name| dir.path().join(name));
    logs.iter().for_each(|log| fs::write(log, text(2)).unwrap());
    build(&index, Existing::Keep, &logs, &options).unwrap();
    let wanted = wanted("needle");
    let mut all = Vec::new();
    let other = text(40);
    // Collects lines, and changes the other file when it gets the first one.
    let changes = Each(|found: &Found<'_>, out: &mut Vec<u8>| {
        if found.file != logs[1] {
            fs::write(&logs[1], &other).unwrap();
        }
        out.extend_from_slice(found.text);
    });
    let search = find(&index, &wanted, &options, &changes, &mut |bytes| {
        all.extend_from_slice(bytes);
        Ok(())
    });
    let expected = [2, 40].map(|at| line("needle", at).trim_end().to_owned()).concat();
    assert_eq!(String::from_utf8(all).unwrap(), expected);
    assert_eq!(search.unwrap().stale, [logs[1].clone()]);
}

/// Threads that wait for the turn of a thread that panics do not wait forever.
#[test]
fn a_panic_ends_a_search() {
    let dir = tempfile::tempdir().unwrap();
    for i in 0..8 {
        fs::write(dir.path().join(i.to_string()), "one line\n").unwrap();
    }
    let wanted = wanted("line");
    let panics = Each(|found: &Found<'_>, _: &mut Vec<u8>| {
        if found.file.ends_with("0") {
            // The others wait for its turn.
            std::thread::sleep(std::time::Duration::from_millis(50));
            panic!("part of a test");
        }
    });
    let ended = std::panic::catch_unwind(|| {
        drop(find(dir.path(), &wanted, &options(dir.path(), 4), &panics, &mut |_| Ok(())));
    });
    assert!(ended.is_err());
}

/// A file of several parts that begins with a byte order mark, which is not part of the first value.
#[test]
fn a_byte_order_mark_is_none_of_a_value() {
    let (dir, index, lines) = workplace(2);
    let file = dir.path().join("rows");
    let key = |name: &str| vec![name.to_owned()];
    let rows = |row: &dyn Fn(usize) -> String| -> Vec<u8> {
        ["\u{feff}".to_owned()].into_iter().chain((0..9000).map(row)).collect::<String>().into()
    };
    for (records, text) in [
        (Records::Fields { end: b'\n', key: key("1") }, rows(&|i| format!("value{i} other\n"))),
        (
            Records::JsonLines { key: key("id"), raw: false },
            rows(&|i| format!("{{\"id\": \"value{i}\"}}\n")),
        ),
    ] {
        assert!(text.len() > 2 << 16, "more than one part");
        fs::write(&file, &text).unwrap();
        index_of(&file, &index, &Options { form: records.into(), ..lines.clone() });
        for i in [0, 1, 8999] {
            let (found, _) = search(&index, &wanted(&format!("value{i}")), &lines).unwrap();
            assert_eq!(found.iter().map(|line| line.1).collect::<Vec<_>>(), [i + 1]);
        }
    }
}

/// A path of a file or a folder as a user in `here` may write it.
#[cfg(unix)]
fn spelled(draw: &mut Draw, top: &Path, path: &Path, here: &Path) -> PathBuf {
    let through = path.strip_prefix(top.join("d")).map(|under| top.join("link").join(under));
    let mut path = match through {
        Ok(through) if draw.below(3) == 0 => through,
        _ => path.to_owned(),
    };
    if draw.below(3) != 0 {
        let same = path.components().zip(here.components()).take_while(|(a, b)| a == b).count();
        let up = here.components().skip(same).map(|_| Path::new(".."));
        path = up.collect::<PathBuf>().join(path.components().skip(same).collect::<PathBuf>());
    }
    let longer = |path: &Path| {
        let (folder, name) = (path.parent()?, path.file_name()?);
        Some(folder.join("../.").join(folder.file_name()?).join(name))
    };
    match draw.below(4) {
        _ if path.as_os_str().is_empty() => PathBuf::from("."),
        0 if path.is_relative() => Path::new(".").join(path),
        1 => longer(&path).filter(|path| path.exists()).unwrap_or(path),
        _ => path,
    }
}

/// However an index and its files are named, and from any folder, it finds the same as a search without an index, knows
/// which files it has, and reads only new ones in an update.
#[cfg(unix)]
#[test]
fn an_index_answers_the_same_by_any_spelling_of_its_path() {
    const HERE: &str = "UMBEL_TEST_SPELLINGS";
    // All tests of a process share its current folder.
    if std::env::var_os(HERE).is_none() {
        let name = "files::tests::an_index_answers_the_same_by_any_spelling_of_its_path";
        let program = std::env::current_exe().unwrap();
        let ran = Command::new(program).args(["--exact", name]).env(HERE, "1").output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let top = &dir.path().canonicalize().unwrap();
    for name in ["d/a", "d/e/y", "d/e-f/x", "d/s/b", "d/s/deep/c", "other/z"] {
        fs::create_dir_all(top.join(name).parent().unwrap()).unwrap();
        fs::write(top.join(name), format!("nothing\nalpha {name}\n")).unwrap();
    }
    for (to, name) in [("d", "link"), ("..", "d/s/up"), ("../a", "d/e/other")] {
        std::os::unix::fs::symlink(to, top.join(name)).unwrap();
    }
    // Files that have just changed are waited for.
    std::thread::sleep(std::time::Duration::from_millis(30));
    let all = |names: &str| names.split(' ').map(|name| top.join(name)).collect::<Vec<_>>();
    let folders = all(" d d/e d/s d/s/deep other");
    let places = all(" d d/a d/e d/e-f d/s d/s/b other");
    let options = options(&std::env::temp_dir(), 1);
    let wanted = wanted("alpha");
    let cases = long(1500, 200);
    let (mut met, mut updates) = (0, 0);
    for case in 0..cases {
        let draw = &mut Draw(case << 32);
        let spell = |draw: &mut Draw, path: &Path| {
            let here = &folders[draw.below(folders.len())];
            std::env::set_current_dir(here).unwrap();
            (spelled(draw, top, path, here), here)
        };
        let index = folders[draw.below(folders.len())].join("index");
        let alias = top.join("alias");
        std::os::unix::fs::symlink(&index, &alias).unwrap();
        let count = 1 + draw.below(2);
        let roots: Vec<_> = (0..count).map(|_| &places[draw.below(places.len())]).collect();
        let (target, here) = spell(draw, &index);
        let named: Vec<_> = roots.iter().map(|root| spelled(draw, top, root, here)).collect();
        let shown = format!("case {case}: {} of {named:?} in {}", target.display(), here.display());
        build(&target, Existing::Keep, &named, &options).expect(&shown);
        let new = folders[draw.below(folders.len())].join("new");
        fs::write(&new, "alpha\n").unwrap();
        let mut expected = Vec::new();
        for root in &roots {
            let (found, _) = search(root, &wanted, &options).unwrap();
            expected.extend(found.into_iter().filter(|line| line.0 != index));
        }
        expected.sort_by(|a, b| a.0.as_os_str().cmp(b.0.as_os_str()));
        expected.dedup();
        let is_new = expected.iter().any(|line| line.0 == new);
        let mut look = |draw: &mut Draw, is_new: bool| {
            let by = if draw.below(5) == 0 { &alias } else { &index };
            let (by, here) = spell(draw, by);
            let shown = format!("{shown}, then by {} in {}", by.display(), here.display());
            let (mut found, did) = search(&by, &wanted, &options).expect(&shown);
            found.iter_mut().for_each(|line| line.0 = line.0.canonicalize().unwrap());
            assert_eq!(found, expected, "{shown}");
            assert_eq!((did.stale, did.gone), (Vec::new(), Vec::new()), "{shown}");
            assert_eq!(did.new.len(), usize::from(is_new), "{shown}: {:?}", did.new);
            met += found.len();
        };
        look(draw, is_new);
        if draw.below(8) == 0 {
            let (by, _) = spell(draw, &index);
            let built = update(&by, &options.resources).expect(&shown);
            let read = u64::from(is_new);
            assert_eq!((built.read, built.gone), (read, 0), "{shown}, then by {}", by.display());
            look(draw, false);
            assert!(about(&index).unwrap().gone.is_empty());
            updates += 1;
        }
        for file in [new, index, alias] {
            fs::remove_file(file).unwrap();
        }
    }
    assert!(met > 2 * cases as usize && updates > cases / 20, "{met} {updates}");
}
