//! Compares records with readers of a whole input: the crate `csv`, and `serde_json` line by line.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::SetOperation;
use crate::input::Spool;
use crate::prelude::*;
use crate::testing::{Drip, budget, long, options_of, workplace_of};

/// A record as it was seen: offset, row, key.
type Seen = (u64, Vec<u8>, Vec<u8>);

/// Passes on all records and notes them.
#[derive(Default)]
struct Collect {
    header: Mutex<Option<Vec<u8>>>,
    seen: Mutex<Vec<Seen>>,
    /// For each, the index of its input and its place.
    places: Mutex<Vec<(usize, u64)>>,
}

impl Collect {
    fn visit(&self, room: u64) -> Visit<'_> {
        let header = |row: &[u8]| {
            *self.header.lock().unwrap() = Some(row.to_vec());
            Ok(())
        };
        let check = |lines: &Lines<'_>, keep: &mut [bool]| {
            for i in 0..lines.len() {
                assert_eq!(lines.hashes()[i], KeyHasher::default().hash(lines.key(i)));
            }
            keep.fill(true);
            Ok(())
        };
        let visit = Visit::of_some(room, check, |lines| {
            let mut seen = self.seen.lock().unwrap();
            for i in 0..lines.len() {
                seen.push((lines.offset(i), lines.row(i).to_vec(), lines.key(i).to_vec()));
                self.places.lock().unwrap().push((lines.input(), lines.place(i)));
            }
            Ok(())
        });
        Visit { header: Box::new(header), ..visit }
    }
}

fn input(dir: &Path, bytes: &[u8]) -> [Input; 1] {
    let options = options_of(dir, Records::default());
    [Spool::new(&options.resources).add("input", &mut &*bytes).unwrap()]
}

/// The records that a scan reads from `bytes`, in chunks by threads or as a stream, with the header.
fn see(
    records: &Records,
    bytes: &[u8],
    budget: Budget,
    drip: Option<usize>,
) -> Result<(Option<Vec<u8>>, Vec<Seen>), Error> {
    let (dir, options) = workplace_of(records.clone());
    let scanner = Scanner::within(budget, &options, KeyHasher::default())?;
    let collect = Collect::default();
    let visit = collect.visit(budget.rest);
    let report = match drip {
        None => scanner.read(&input(dir.path(), bytes), &visit)?,
        Some(size) => scanner.read(ReadFrom::Stream("input", &mut Drip(bytes, size)), &visit)?,
    };
    drop(visit);
    let seen = collect.seen.into_inner().unwrap();
    assert_eq!(report.lines, seen.len() as u64);
    assert_eq!(options.resources.progress.done(), bytes.len() as u64);
    Ok((collect.header.into_inner().unwrap(), seen))
}

fn budgets() -> impl Strategy<Value = Budget> {
    (1usize..4, 1usize..300, 4_000u64..200_000)
        .prop_map(|(threads, chunk, rest)| budget(threads, chunk, rest))
}

fn join(values: &[Vec<u8>]) -> Vec<u8> {
    if let [value] = values {
        return value.clone();
    }
    values.iter().flat_map(|v| [&(v.len() as u32).to_le_bytes(), &v[..]].concat()).collect()
}

/// A file of columns as written.
#[derive(Clone, Debug)]
struct Table {
    /// Rows, with the carriage returns that some end with.
    rows: Vec<Vec<u8>>,
    bytes: Vec<u8>,
}

fn in_quotes(field: &[u8]) -> Vec<u8> {
    let text: Vec<&[u8]> = field.split(|&byte| byte == b'"').collect();
    [b"\"", &text.join(&b"\"\""[..])[..], b"\""].concat()
}

/// Fields with all special characters, quoted where they must be and sometimes where not.
fn table(columns: usize, delimiter: u8) -> impl Strategy<Value = Table> {
    let byte = prop_oneof![
        3 => select(&b"ab"[..]),
        2 => select(&b"\"\n\r,;"[..]),
        1 => any::<u8>(),
    ];
    let field = (vec(byte, 0..6), any::<bool>()).prop_map(move |(bytes, quoted)| {
        let special = |byte: &u8| [b'"', b'\n', b'\r', delimiter].contains(byte);
        if quoted || bytes.iter().any(special) { in_quotes(&bytes) } else { bytes }
    });
    let row = (vec(field, columns), any::<bool>()).prop_map(move |(fields, carriage)| {
        let mut row = fields.join(&delimiter);
        row.extend(carriage.then_some(b'\r'));
        row
    });
    (vec(row, 0..120), any::<bool>()).prop_map(|(rows, end)| {
        let mut bytes = rows.join(&b'\n');
        if end && !rows.is_empty() {
            bytes.push(b'\n');
        }
        Table { rows, bytes }
    })
}

/// The records as the crate `csv` reads them: offset, row, fields.
fn model(table: &Table, delimiter: u8) -> Vec<(u64, Vec<u8>, Vec<Vec<u8>>)> {
    let mut offset = 0;
    let mut rows = Vec::new();
    for row in &table.rows {
        if !matches!(&row[..], b"" | b"\r") {
            rows.push((offset, row.clone()));
        }
        offset += row.len() as u64 + 1;
    }
    let mut reader = ::csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter)
        .from_reader(&table.bytes[..]);
    let fields: Vec<Vec<Vec<u8>>> = reader
        .byte_records()
        .map(|record| record.unwrap().iter().map(<[u8]>::to_vec).collect())
        .collect();
    assert_eq!(fields.len(), rows.len());
    rows.into_iter().zip(fields).map(|((offset, row), fields)| (offset, row, fields)).collect()
}

fn csv_records(delimiter: u8, header: bool, key: &[usize]) -> Records {
    let key = key.iter().map(|column| (column + 1).to_string()).collect();
    Records::Csv { delimiter, header, key, raw: false }
}

/// A whole row as compared: quoted only where needed.
fn canonical(fields: &[Vec<u8>], delimiter: u8) -> Vec<u8> {
    let quoted = |field: &Vec<u8>| {
        let special = |byte: &u8| [b'"', b'\n', delimiter].contains(byte);
        if field.iter().any(special) { in_quotes(field) } else { field.clone() }
    };
    fields.iter().map(quoted).collect::<Vec<_>>().join(&delimiter)
}

/// A value and ways to write it in JSON; a line of some.
fn json_line() -> impl Strategy<Value = String> {
    let value = prop_oneof![
        any::<i32>().prop_map(|number| number.to_string()),
        select(vec!["true", "1.50", "{}", "[1, 2]", "\"\"", "\"a\"", "\"b\"", "{ \"c\":1}"])
            .prop_map(str::to_owned),
        "[a-c\"\\\\\n\u{e9}\u{1f600}]{0,4}".prop_map(|text| serde_json::to_string(&text).unwrap()),
        Just("\"\\u0061\\/\"".to_owned()),
    ];
    let member =
        |name: &'static str| value.clone().prop_map(move |value| format!("\"{name}\": {value}"));
    let inner = value.clone().prop_map(|value| format!("\"in\":{{\"x.y\" :[7,{value}]}}"));
    let blank = select(vec!["", " ", "\t \r"]);
    let other = prop_oneof![4 => member("other"), 1 => Just("\"other\": null".to_owned())];
    let line = (member("id"), other, inner, any::<bool>(), blank.clone()).prop_map(
        |(id, other, inner, twice, blank)| {
            let again = if twice { ", \"id\": \"last\"" } else { "" };
            format!("{blank}{{{other},{id}, {inner}{again}}}{blank}")
        },
    );
    prop_oneof![9 => line, 1 => blank.prop_map(str::to_owned)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: long(1500, 200), ..ProptestConfig::default() })]

    #[test]
    fn csv_is_read_as_the_crate_csv_does(
        (table, columns, delimiter) in (1usize..4, select(&b",;\t|"[..]))
            .prop_flat_map(|(columns, delimiter)| (table(columns, delimiter), Just(columns), Just(delimiter))),
        key in vec(0usize..4, 0..3),
        header: bool,
        mark: bool,
        budget in budgets(),
        drip in 1usize..50,
    ) {
        let key: Vec<usize> = key.into_iter().map(|column| column % columns).collect();
        let mut expected = model(&table, delimiter);
        let names = (header && !expected.is_empty()).then(|| expected.remove(0));
        // Names that are numbers or repeated are different cases.
        let plain = |(_, _, names): &(u64, Vec<u8>, Vec<Vec<u8>>)| {
            names.iter().all(|name| number(&String::from_utf8_lossy(name)).is_none())
        };
        if names.as_ref().is_none_or(plain) {
            let records = csv_records(delimiter, header, &key);
            let mark: &[u8] = if mark { b"\xef\xbb\xbf" } else { b"" };
            let bytes = [mark, &table.bytes].concat();
            let expected: Vec<Seen> = expected.into_iter().map(|(offset, row, fields)| {
                let values: Vec<_> = key.iter().map(|&column| fields[column].clone()).collect();
                let key = if key.is_empty() { canonical(&fields, delimiter) } else { join(&values) };
                (offset + mark.len() as u64, row, key)
            }).collect();
            for drip in [None, Some(drip)] {
                let (found, seen) = see(&records, &bytes, budget, drip).unwrap();
                prop_assert_eq!(&seen, &expected, "{:?}", drip);
                prop_assert_eq!(&found, &names.as_ref().map(|(_, row, _)| row.clone()));
            }
        }
    }

    #[test]
    fn of_broken_quotes_the_first_is_told(
        table in table(2, b','), at in 0usize..1000, budget in budgets(), drip in 1usize..50,
    ) {
        let records = csv_records(b',', false, &[0]);
        let mut bytes = table.bytes;
        let at = at.min(bytes.len());
        bytes.insert(at, b'"');
        let mut results = [(1, None), (budget.threads, None), (1, Some(drip))].map(|(threads, drip)| {
            match see(&records, &bytes, Budget { threads, ..budget }, drip) {
                Ok((_, seen)) => Ok(seen),
                Err(Error::Quote { at, flaw }) => {
                    assert!(at.offset <= bytes.len() as u64);
                    assert_eq!(at.line, Some(line_and_column(&bytes, at.offset as usize)));
                    Err(format!("{} {flaw}", at.offset))
                }
                Err(Error::NoField { at, .. }) => {
                    assert_eq!(at.line, Some(line_and_column(&bytes, at.offset as usize)));
                    Err(at.offset.to_string())
                }
                Err(error) => panic!("{error}"),
            }
        });
        results.sort();
        prop_assert_eq!(&results[0], &results[2]);
        // An odd number of quotes cannot be right.
        prop_assert!(results[0].is_err());
    }

    #[test]
    fn tabs_alone_part_the_fields_of_tsv(
        rows in vec((vec("[ab\",\\\\]{0,3}", 3), any::<bool>()), 0..80),
        end: bool,
        key in vec(0usize..3, 0..3),
        budget in budgets(),
        drip in 1usize..50,
    ) {
        let write = |(fields, carriage): &(Vec<String>, bool)| {
            fields.join("\t") + if *carriage { "\r" } else { "" }
        };
        let lines: Vec<String> = rows.iter().map(write).collect();
        let bytes = lines.join("\n") + if end && !lines.is_empty() { "\n" } else { "" };
        let mut offset = 0;
        let expected: Vec<Seen> = rows.iter().zip(&lines).map(|((fields, _), line)| {
            let values: Vec<_> = key.iter().map(|&column| fields[column].clone().into_bytes()).collect();
            let key = if key.is_empty() { fields.join("\t").into_bytes() } else { join(&values) };
            let start = offset;
            offset += line.len() as u64 + 1;
            (start, line.clone().into_bytes(), key)
        }).collect();
        let key = key.iter().map(|column| (column + 1).to_string()).collect();
        let records = Records::Tsv { delimiter: b'\t', header: false, key };
        for drip in [None, Some(drip)] {
            let (_, seen) = see(&records, bytes.as_bytes(), budget, drip).unwrap();
            prop_assert_eq!(&seen, &expected);
        }
    }

    #[test]
    fn json_is_read_as_line_by_line(
        lines in vec(json_line(), 0..60),
        end: bool,
        budget in budgets(),
        drip in 1usize..50,
    ) {
        let mut bytes = lines.join("\n").into_bytes();
        if end && !lines.is_empty() {
            bytes.push(b'\n');
        }
        let mut expected = Vec::new();
        let mut offset = 0;
        for line in &lines {
            if !line.trim().is_empty() {
                let value: serde_json::Value = serde_json::from_str(line).unwrap();
                let text = |value: &serde_json::Value| value.as_str().map(|text| text.as_bytes().to_vec());
                let (id, inner) = (text(&value["id"]), text(&value["in"]["x.y"][1]));
                expected.push((offset, line.as_bytes().to_vec(), id, inner));
            }
            offset += line.len() as u64 + 1;
        }
        for (key, both) in [(vec!["id"], false), (vec!["/in/x.y/1", "id"], true), (vec![], false)] {
            let records = Records::JsonLines { key: key.iter().map(ToString::to_string).collect(), raw: true };
            for drip in [None, Some(drip)] {
                let (_, seen) = see(&records, &bytes, budget, drip).unwrap();
                prop_assert_eq!(seen.len(), expected.len());
                for ((offset, row, found), (place, line, id, inner)) in seen.iter().zip(&expected) {
                    prop_assert_eq!((offset, row), (place, line));
                    if key.is_empty() {
                        prop_assert_eq!(&found[..], line.trim_ascii());
                    } else if both {
                        for (found, text) in values_of(found, 2).zip([inner, id]) {
                            prop_assert!(text.as_ref().is_none_or(|text| text == found));
                        }
                    } else if let Some(text) = id {
                        prop_assert_eq!(found, text);
                    } else {
                        // As written, including blanks.
                        let value: serde_json::Value = serde_json::from_slice(found).unwrap();
                        let whole: serde_json::Value = serde_json::from_slice(row).unwrap();
                        prop_assert_eq!(&value, &whole["id"]);
                        prop_assert!(memchr::memmem::find(row, found).is_some());
                    }
                }
            }
        }
    }

    #[test]
    fn common_compares_keys_and_gives_first_rows(
        tables in vec(table(2, b','), 2..4),
        at_least in 1usize..4,
        several: bool,
        budget in budgets(),
    ) {
        let key: &[usize] = if several { &[1, 0] } else { &[1] };
        let at_least = at_least.min(tables.len());
        let mut order = Vec::new();
        let mut counts: HashMap<Vec<u8>, usize> = HashMap::new();
        for table in &tables {
            let mut here = HashSet::new();
            for (_, row, fields) in model(table, b',') {
                let key = join(&key.iter().map(|&column| fields[column].clone()).collect::<Vec<_>>());
                if here.insert(key.clone()) {
                    let count = counts.entry(key.clone()).or_insert(0);
                    if *count == 0 {
                        order.push((key, row));
                    }
                    *count += 1;
                }
            }
        }
        let expected: Vec<u8> = order.iter().filter(|(key, _)| counts[key] >= at_least)
            .flat_map(|(_, row)| [row, &b"\n"[..]].concat()).collect();
        let (dir, options) = workplace_of(csv_records(b',', false, key));
        let inputs: Vec<Input> = tables.iter().flat_map(|table| input(dir.path(), &table.bytes)).collect();
        let mut found = Vec::new();
        let job = SetOperation::common(&inputs, at_least, &options).unwrap();
        job.with_budget(budget).run(&mut found).unwrap();
        prop_assert_eq!(found, expected);
    }
}

fn roomy(chunk: usize) -> Budget {
    budget(3, chunk, 64 << 20)
}

#[test]
fn quotes_may_go_over_many_chunks() {
    let long = "a \"\"line\"\"\nand, more\r\n".repeat(20_000);
    let bytes = format!("1,\"{long}\"\n2,x\n\"{long}\",\"{long}\"\n3,\"\n\"");
    for budget in [roomy(64), roomy(5_000)] {
        for drip in [None, Some(1_000)] {
            let records = csv_records(b',', false, &[0]);
            let (_, seen) = see(&records, bytes.as_bytes(), budget, drip).unwrap();
            let long = long.replace("\"\"", "\"");
            let keys: Vec<_> = seen.iter().map(|(_, _, key)| &key[..]).collect();
            assert!(keys == [b"1", &b"2"[..], long.as_bytes(), b"3"]);
            let rows: Vec<_> = seen.iter().map(|(_, row, _)| &row[..]).collect();
            assert!(rows.join(&b'\n') == bytes.as_bytes());
        }
    }
}

#[test]
fn a_record_without_an_end_is_told_by_its_quote_not_by_its_length() {
    let records = csv_records(b',', false, &[0]);
    let rows = "1,fine\n".repeat(1_000);
    let more = "2,as such\n".repeat(100_000);
    let small = Budget { rest: 400_000, ..roomy(2_000) };
    for (broken, at, expected) in [
        ("3,5\" disk", 3, QuoteFlaw::Bare),
        ("3,\"5\" disk", 5, QuoteFlaw::Closed),
        ("3,\"5 disk", 2, QuoteFlaw::Open),
    ] {
        let bytes = format!("{rows}{broken}\n{more}");
        for (budget, drip) in [(small, None), (small, Some(700)), (roomy(64), None)] {
            let error = see(&records, bytes.as_bytes(), budget, drip).unwrap_err();
            let Error::Quote { at: place, flaw } = &error else { panic!("{error}") };
            assert_eq!((place.offset, *flaw), (7_000 + at, expected));
        }
    }
    // A record that ends, but too late for the memory.
    let bytes = format!("{rows}3,\"{more}\"\n{rows}");
    for drip in [None, Some(700)] {
        let error = see(&records, bytes.as_bytes(), small, drip).unwrap_err();
        let Error::LongLine { at, length: 1_000_004, .. } = &error else { panic!("{error}") };
        assert_eq!(at.offset, 7_000);
    }
}

#[test]
fn a_long_record_needs_room_for_its_copies() {
    let bytes = "x".repeat(200_000);
    let budget = Budget { rest: 400_000, ..roomy(2_000) };
    let raw = |key| Records::Csv { delimiter: b',', header: false, key, raw: true };
    for records in [Records::default(), raw(Vec::new())] {
        see(&records, bytes.as_bytes(), budget, None).unwrap();
    }
    for records in [csv_records(b',', false, &[]), raw(vec!["1".to_owned()])] {
        let error = see(&records, bytes.as_bytes(), budget, None).map(drop).unwrap_err();
        assert!(matches!(error, Error::LongLine { length: 200_000, .. }), "{error}");
    }
}

/// The line and the column of a place, from 1.
fn line_and_column(bytes: &[u8], place: usize) -> (u64, u64) {
    let mut lines = bytes[..place].split(|&byte| byte == b'\n');
    let last = lines.next_back().unwrap_or_default();
    // Bytes that begin a character.
    let column = last.iter().filter(|&&byte| byte & 0xc0 != 0x80).count();
    (lines.count() as u64 + 1, column as u64 + 1)
}

#[test]
fn what_is_before_a_broken_record_is_handed_on() {
    let bytes = "1,a\n".repeat(5_000) + "2\n" + &"3,b\n".repeat(5_000);
    let (dir, options) = workplace_of(csv_records(b',', false, &[1]));
    for chunk in [10, 1_000, 100_000] {
        let scanner = Scanner::within(roomy(chunk), &options, KeyHasher::default()).unwrap();
        let collect = Collect::default();
        let inputs = input(dir.path(), bytes.as_bytes());
        let error = scanner.scan(&inputs, 0..1, &collect.visit(1 << 20)).unwrap_err();
        let Error::NoField { at, .. } = &error else { panic!("{error}") };
        assert_eq!((at.offset, at.line), (20_000, Some((5_001, 1))));
        assert_eq!(collect.seen.into_inner().unwrap().len(), 5_000);
    }
}

#[test]
fn a_row_that_changed_is_noticed_though_its_key_did_not() {
    let (dir, options) = workplace_of(csv_records(b',', true, &[0]));
    let scanner = Scanner::within(roomy(100), &options, KeyHasher::default()).unwrap();
    let tally = |bytes: &[u8]| {
        let collect = Collect::default();
        scanner.scan(&input(dir.path(), bytes), 0..1, &collect.visit(1 << 20)).unwrap()
    };
    assert_eq!(tally(b"k,v\n1,a\n2,b\n"), tally(b"k,v\n2,b\n1,a\n"));
    assert_ne!(tally(b"k,v\n1,a\n2,b\n"), tally(b"k,v\n1,a\n2,c\n"));
    assert_ne!(tally(b"k,v\n1,a\n2,b\n"), tally(b"k,w\n1,a\n2,b\n"));
}

#[test]
fn other_inputs_name_as_many_fields_or_none() {
    let names = |count: usize| ["a", "b", "c"][..count].iter().map(|&name| name.into()).collect();
    for (fields, others) in [(2, 0), (2, 2), (2, 1), (1, 3), (0, 1)] {
        let records = Records::JsonLines { key: names(fields), raw: false };
        let form = Form { others: names(others), ..records.into() };
        let wanted = if others == 0 || others == fields { None } else { Some((fields, others)) };
        let found = match Format::new(&form) {
            Err(Error::OtherFields { fields, others }) => Some((fields, others)),
            Err(error) => panic!("{error}"),
            Ok(_) => None,
        };
        assert_eq!(found, wanted);
    }
}

proptest! {
    /// Inputs of any length, including empty ones and bare headers, are read by any number of threads as each would
    /// be alone, in order.
    #[test]
    fn many_inputs_are_seen_in_their_order(
        files in vec("(\"?[a-c],[a-c]\"?\n){0,20}", 1..12),
        header: bool,
        budget in budgets(),
        first in 0usize..3,
    ) {
        let whole = |bytes: &&String| bytes.matches('"').count().is_multiple_of(2);
        let files: Vec<_> = files.iter().filter(whole).collect();
        let records = csv_records(b',', header, &[]);
        let (dir, options) = workplace_of(records.clone());
        let scanner = Scanner::within(budget, &options, KeyHasher::default()).unwrap();
        let inputs: Vec<_> = files.iter().flat_map(|bytes| input(dir.path(), bytes.as_bytes())).collect();
        let range = first.min(inputs.len())..inputs.len();
        let collect = Collect::default();
        let alone = range.clone().map(|i| {
            let collect = Collect::default();
            let tally = scanner.scan(&inputs[i..=i], 0..1, &collect.visit(budget.rest))?;
            Ok((tally[0], collect.header.into_inner().unwrap(), collect.seen.into_inner().unwrap()))
        });
        let alone: Result<Vec<_>, Error> = alone.collect();
        let together = scanner.scan(&inputs, range.clone(), &collect.visit(budget.rest));
        let (Ok(alone), Ok(tallies)) = (&alone, &together) else {
            prop_assert!(alone.is_err() && together.is_err());
            return Ok(());
        };
        let header = alone.iter().find_map(|(_, header, _)| header.clone());
        prop_assert_eq!(collect.header.into_inner().unwrap(), header);
        prop_assert!(tallies.iter().eq(alone.iter().map(|(tally, ..)| tally)));
        let seen = collect.seen.into_inner().unwrap();
        prop_assert!(seen.iter().eq(alone.iter().flat_map(|(.., seen)| seen)));
        let mut expected = Vec::new();
        for (number, (.., seen)) in range.zip(alone) {
            let start: usize = files[..number].iter().map(|bytes| bytes.len() + 1).sum();
            expected.extend(seen.iter().map(|(offset, ..)| (number, start as u64 + offset)));
        }
        prop_assert_eq!(collect.places.into_inner().unwrap(), expected);
    }
}
