//! `umbel parquet`: what `cases/parquet.md` cannot show.

use std::path::Path;

use serde_json::Value;
use umbel_foreign::parquet::Parquet;
use umbel_foreign::{ForeignInsert, Format, Key, Parameters};

use crate::util::parquet::{ROWS, small, write, write_typed};
use crate::util::{Folder, least_memory, lines};

fn objects(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The row groups of each key, as told.
fn answers(folder: &Folder, keys: &[&str]) -> Vec<String> {
    let run = folder.umbel("parquet which groups.parquet --quiet -c x").stdin(lines(keys)).run();
    let text = String::from_utf8(run.stdout).unwrap();
    assert_eq!(run.stderr, "");
    let text = text.replace("groups.parquet\t", "");
    let answers: Vec<_> = text.lines().map(|line| line.split_once('\t').unwrap()).collect();
    assert_eq!(answers.iter().map(|(key, _)| *key).collect::<Vec<_>>(), keys);
    let found = answers.iter().any(|(_, groups)| *groups != "-");
    assert_eq!(run.status.code(), Some(if found { 0 } else { 1 }));
    answers.into_iter().map(|(_, groups)| groups.to_owned()).collect()
}

/// Filters of most systems have a zero as the column has it, and what is no number, too.
#[test]
fn both_zeros_are_looked_for_and_no_filter_rules_out_nan() {
    let folder = Folder::new();
    let filter = |number: f64| {
        let size = Parameters { bits: Some(256), ..Parameters::default() };
        let mut filter = Parquet::new(Format::Parquet, &size).unwrap();
        filter.insert(Key::F64(number)).unwrap();
        filter.content().to_vec()
    };
    let filters = [0.0, -0.0, 1.0, f64::from_bits(0xfff8_0000_0000_0001)].map(filter);
    let places: Vec<_> = (0..4).map(|i| Some(4 + i * filters[0].len())).collect();
    let body = [b"PAR1", &*filters.concat()].concat();
    write_typed(&folder.path("groups.parquet"), body, (5, "x"), &places);
    let keys = ["0", "-0.0", "1", "2", "NaN", "-nan"];
    let expected = ["0,1", "0,1", "2", "-", "0,1,2,3", "0,1,2,3"];
    assert_eq!(answers(&folder, &keys), expected);
}

/// A file without pages: row groups of as many numbers as a filter of 512 KiB takes at a rate of 1e-9, and a footer.
fn write_large(path: &Path, row_groups: i64) {
    let mut file = b"PAR1".to_vec();
    let mut filters = Vec::new();
    for number in 0..row_groups {
        let size = Parameters { bits: Some(8 << 19), ..Parameters::default() };
        let mut filter = Parquet::new(Format::Parquet, &size).unwrap();
        for id in number * ROWS..(number + 1) * ROWS {
            filter.insert(Key::I64(id)).unwrap();
        }
        filters.push(Some(file.len()));
        file.extend(filter.content());
    }
    write(path, file, "id", &filters);
}

#[test]
fn a_long_name_of_a_column_is_cut_in_the_table() {
    let folder = Folder::new();
    for length in [100, 101, 70_000] {
        let name = "ä".repeat(length);
        write(&folder.path("file.parquet"), [&b"PAR1"[..], &small()].concat(), &name, &[Some(4)]);
        let text = folder.umbel("parquet list file.parquet").run().text();
        let shown = if length > 100 { "ä".repeat(99) + "…" } else { name.clone() };
        assert!(text.contains(&format!("  {shown}  INT64 ")), "{text}");
        let json = folder.umbel("parquet list file.parquet --json").run().text();
        assert_eq!(objects(&json)[0]["column"], name);
    }
}

/// Else a short footer could have a long filter read any number of times.
#[test]
fn filters_that_share_bytes_are_refused() {
    let folder = Folder::new();
    let body = [&b"PAR1"[..], &small(), &small()].concat();
    let list = |filters: &[usize]| {
        let filters: Vec<_> = filters.iter().copied().map(Some).collect();
        write(&folder.path("file.parquet"), body.clone(), "id", &filters);
        folder.umbel("parquet list file.parquet").run()
    };
    assert_eq!(list(&[4, 4 + 47]).text().lines().count(), 2 + 2);
    let twice = ["file.parquet: has two filters at byte 4", "copy it again"];
    list(&[4, 51, 4]).fails(&twice);
    let others =
        ["file.parquet: filter of column id in row group 0: reaches into the filter at byte 50"];
    list(&[4, 50]).fails(&others);
}

/// A row for each of 100,000 filters, of a column with a name as long as a table shows: 46 MB of text.
#[test]
#[cfg(target_os = "linux")]
fn a_table_of_many_filters_takes_little_memory() {
    const FILTERS: usize = 100_000;
    let folder = Folder::new();
    let filter = small();
    let body = [b"PAR1", &*filter.repeat(FILTERS)].concat();
    let places: Vec<_> = (0..FILTERS).map(|i| Some(4 + i * filter.len())).collect();
    write(&folder.path("file.parquet"), body, &"\u{1d11e}".repeat(100), &places);
    // The footer has 15 MB, and uses a multiple of it.
    let umbel =
        folder.umbel_with_little_memory(160 << 10, "parquet list file.parquet -m 256MiB -j 1");
    assert_eq!(umbel.run().text().lines().count(), 2 + FILTERS);
}

/// A thousand keys that pass thousands of groups without a filter.
#[test]
fn what_passes_takes_little_memory() {
    let folder = Folder::new();
    let mut filters = vec![None; 8000];
    filters[0] = Some(4);
    write(&folder.path("file.parquet"), [&b"PAR1"[..], &small()].concat(), "id", &filters);
    let keys: String = (0..1100).map(|key| format!("{key}\n")).collect();
    let run =
        folder.umbel("parquet which file.parquet -c id --json -m 32MiB -j 1").stdin(keys).run();
    let first = run.stdout.split(|byte| *byte == b'\n').next().unwrap();
    let found = &objects(std::str::from_utf8(first).unwrap())[0];
    assert_eq!(found["row_groups"].as_array().unwrap().len(), 7999);
    let report = objects(&run.stderr).pop().unwrap();
    assert!(report["peak_memory"].as_u64() < Some((32 + 32) << 20), "{report}");
}

#[test]
fn filters_beyond_the_memory_cap_are_read_anew() {
    let folder = Folder::new();
    write_large(&folder.path("large.parquet"), 20);
    let said =
        folder.umbel("parquet list large.parquet --memory 1MiB").run().fails(&["a memory cap of"]);
    let least = least_memory(&said).replace(' ', "");
    let keys: Vec<_> =
        (0..20).map(|group| (group * ROWS + 17).to_string()).chain(["-1".into()]).collect();
    let expected: Vec<_> =
        (0..20).map(|group| format!("{}\tlarge.parquet\t{group}", group * ROWS + 17)).collect();
    let expected = String::from_utf8(lines(expected)).unwrap() + "-1\t-\n";
    for memory in [&least, "1GiB"] {
        let options = format!("--threads 1 --memory {memory}");
        let text =
            folder.umbel(&format!("parquet list large.parquet {options} --json")).run().text();
        assert_eq!(
            objects(&text).iter().filter(|filter| filter["bytes"] == (512 << 10) + 17).count(),
            20,
            "{text}"
        );
        let which = |how: &str| {
            let job = format!("parquet which large.parquet -c id {options} {how}");
            folder.umbel(&job).stdin(lines(&keys)).run()
        };
        let report = objects(&which("--json").stderr).pop().unwrap();
        let peak = report["peak_memory"].as_u64().unwrap();
        assert!(memory == "1GiB" || peak < (16 + 32) << 20, "{report}");
        assert_eq!(which("-q").text(), expected, "{memory}");
    }
}
