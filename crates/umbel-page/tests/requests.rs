//! Requests without a browser: files in memory, and everything that may come in.
#![cfg(feature = "files")]

use std::cell::RefCell;
use std::fs;
use std::io;
use std::path::PathBuf;

use serde_json::{Value, json};
use umbel::{AnyFilter, Capacity, Counting, Filter, Insert, KeyHasher, Kind, Plan};

use umbel_foreign::{Foreign, ForeignFilter, ForeignInsert, Format, Key, Parameters};
use umbel_report::advice::Inside;

use umbel_page::{Core, Host};

/// Files in memory, and those that were made.
struct Memory(Vec<Vec<u8>>, RefCell<Vec<Vec<u8>>>);

impl Memory {
    fn of(files: Vec<Vec<u8>>) -> Self {
        Self(files, RefCell::default())
    }
}

impl Host for Memory {
    fn read(&self, file: u32, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        let all = self.0.get(file as usize).ok_or(io::ErrorKind::NotFound)?;
        let from = offset as usize;
        let some = all.get(from..from + bytes.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        bytes.copy_from_slice(some);
        Ok(())
    }

    fn progress(&self, _: u64, _: u64) {}

    fn give(&self, bytes: &[u8]) {
        self.1.borrow_mut().push(bytes.to_vec());
    }

    fn now(&self) -> f64 {
        0.0
    }
}

/// The answer, or the whole error.
fn told(core: &mut Core, request: &Value) -> Result<Value, Value> {
    let answer: Value = serde_json::from_str(&core.answer(request.to_string().as_bytes())).unwrap();
    answer.get("ok").cloned().ok_or_else(|| answer["error"].clone())
}

fn ask(core: &mut Core, request: &Value) -> Result<Value, String> {
    told(core, request).map_err(|error| error["message"].as_str().unwrap().to_owned())
}

/// Opens a file in a format; in the one that its content shows, if that is empty.
fn opened_as(content: Vec<u8>, format: &str) -> (Core, Result<Value, Value>) {
    let open = json!({
        "type": "open", "file": 0, "name": "f", "bytes": content.len(), "format": format,
    });
    let mut core = Core::new(Memory::of(vec![content]));
    let answer = told(&mut core, &open);
    (core, answer)
}

fn opened(content: Vec<u8>) -> (Core, Result<Value, String>) {
    let (core, answer) = opened_as(content, "");
    (core, answer.map_err(|error| error["message"].as_str().unwrap().to_owned()))
}

/// The answer to a look-up of keys, of a type if one is given.
fn look_up(core: &mut Core, keys: &[impl AsRef<str>], key_type: &str) -> Value {
    let keys: Vec<&str> = keys.iter().map(AsRef::as_ref).collect();
    let query = json!({ "type": "query", "handle": 0, "keys": keys, "key_type": key_type });
    ask(core, &query).unwrap()
}

fn golden() -> Vec<(PathBuf, Vec<u8>)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/golden");
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let umbel = paths.filter(|path| path.extension().is_some_and(|name| name == "umbel"));
    let read = |path: PathBuf| (path.clone(), fs::read(path).unwrap());
    umbel.map(read).collect()
}

#[test]
fn golden_files_answer_as_the_library() {
    let mut asked = 0;
    for (path, content) in golden() {
        let Ok(filter) = AnyFilter::from_bytes(&content) else { continue };
        let (mut core, answer) = opened(content);
        let answer = answer.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(answer["documents"][0]["set_bits"], filter.receipt().set_bits);
        let cells = answer["parts"][0]["cells"].as_u64().unwrap();
        let map = json!({ "type": "map", "handle": 0, "from": 0, "to": cells, "cells": cells });
        let values = ask(&mut core, &map).unwrap()["values"].as_array().unwrap().clone();
        let mut exact = Vec::new();
        let inside = Inside::of(&filter);
        inside.cells(0, 0..inside.blocks()[0], &mut |cell| exact.push(cell));
        if values.len() == exact.len() {
            let same =
                values.iter().zip(&exact).all(|(value, cell)| value.as_f64() == Some(*cell as f64));
            assert!(same, "{}", path.display());
        }
        // Coarser, the fills are those of the cells.
        let coarse = ask(&mut core, &json!({ "type": "map", "handle": 0, "cells": 7 })).unwrap();
        let per = coarse["per"].as_u64().unwrap() as usize;
        for (some, fill) in exact.chunks(per).zip(coarse["values"].as_array().unwrap()) {
            let used = some.iter().filter(|cell| **cell > 0).count();
            let fill = fill.as_f64().unwrap();
            assert!((fill - used as f64 / some.len() as f64).abs() < 1e-12, "{}", path.display());
        }
        if filter.kind().rows() || answer["query"] != "yes" {
            continue;
        }
        let keys: Vec<String> = (0..300).map(|i| format!("key-{i}")).collect();
        let found = look_up(&mut core, &keys, "");
        for (key, answer) in keys.iter().zip(found["keys"].as_array().unwrap()) {
            assert_eq!(answer["found"], filter.contains(key), "{}: {key}", path.display());
        }
        asked += 1;
    }
    assert!(asked > 30, "{asked}");
}

/// Members of a filter of longs, looked up as another type, are not found: that says nothing about them.
#[test]
fn keys_of_an_assumed_type_promise_nothing() {
    let longs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/foreign/guava/long-p05.bin");
    let (mut core, opened) = opened(fs::read(longs).unwrap());
    assert_eq!(opened.unwrap()["key_types"], json!(["bytes", "utf16", "i64", "i32"]));
    let assumed = look_up(&mut core, &["1", "2"], "");
    let doubt = json!({ "name": "assumed", "key_type": "bytes" });
    assert_eq!((&assumed["found"], &assumed["doubt"]), (&json!(0), &doubt));
    // Who chooses a type is promised as on the command line.
    let chosen = look_up(&mut core, &["1", "2", "x"], "i64");
    assert_eq!((&chosen["found"], &chosen["failed"]), (&json!(2), &json!(1)));
    assert_eq!(chosen["doubt"], Value::Null);

    // A system that hashes one type of keys leaves no doubt.
    let bytes = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/foreign/leveldb/bpk10.bin");
    let content = fs::read(bytes).unwrap();
    let (mut core, _) = opened_as(content, "leveldb");
    assert_eq!(look_up(&mut core, &["nobody"], "")["doubt"], Value::Null);
}

/// What a filter forgets it does not find: only those that forget nothing are certain of absent keys.
#[test]
fn only_filters_that_forget_nothing_are_certain() {
    for kind in [Kind::Blocked, Kind::Counting, Kind::Scalable, Kind::Stable, Kind::Window] {
        let plan = Plan::for_keys(kind, 200, 0.01).unwrap();
        let mut filter = AnyFilter::with_plan(&plan, KeyHasher::default()).unwrap();
        let forgets = kind.capacity() == Capacity::Last;
        // One after the other, so that the first ones are forgotten.
        let keys = if forgets { 2_000 } else { 150 };
        (0..keys).for_each(|i| drop(filter.try_insert(format!("key-{i}"))));
        assert_eq!(filter.contains("key-0"), !forgets, "{kind}");
        let (mut core, _) = opened(filter.to_bytes());
        let answer = look_up(&mut core, &["key-0", "nobody", "none"], "");
        let doubt = match kind {
            Kind::Stable => json!({ "name": "faded" }),
            Kind::Window => json!({ "name": "left" }),
            _ => Value::Null,
        };
        assert_eq!(answer["doubt"], doubt, "{kind}");

        let toy = json!({
            "type": "toy", "kind": kind.name(), "bits": 64,
            "operations": (0..60).map(|i| json!({ "op": "insert", "word": format!("w{i}") }))
                .chain([json!({ "op": "query", "word": "w0" }), json!({ "op": "insert", "word": "w0" })])
                .collect::<Vec<_>>(),
        });
        let steps = ask(&mut core, &toy).unwrap()["steps"].as_array().unwrap().clone();
        let said = steps[61]["text"].as_str().unwrap();
        assert!(!said.contains("certainly new"), "{kind}: {said}");
    }
}

/// Tables hold the keys user-000000, user-000002, … user-003998, with 10 bits of filters per key.
#[test]
fn tables_of_leveldb_and_rocksdb_are_opened() {
    let present: Vec<String> = (0..4000).step_by(2).map(|i| format!("user-{i:06}")).collect();
    let absent: Vec<String> = (1..4000).step_by(2).map(|i| format!("user-{i:06}")).collect();
    for (name, several) in [("leveldb.ldb", true), ("rocksdb.sst", false)] {
        let path = format!("{}/../../testdata/foreign/tables/{name}", env!("CARGO_MANIFEST_DIR"));
        let content = fs::read(path).unwrap();
        let length = content.len();
        let (mut core, answer) = opened(content.clone());
        let answer = answer.unwrap();
        assert_eq!(answer["wrapping"]["table"], !several, "{name}");
        assert_eq!(answer["title"]["name"], if several { "table" } else { "foreign" });
        let parts = answer["parts"].as_array().unwrap();
        assert_eq!(parts.len() > 10, several, "{name}");
        let table = answer["table"]["rows"].as_array().map_or(0, Vec::len);
        assert_eq!(table, if several { parts.len() } else { 0 });
        for part in 0..parts.len() {
            let map = json!({ "type": "map", "handle": 0, "part": part, "cells": 50 });
            assert!(ask(&mut core, &map).is_ok());
        }
        let found = look_up(&mut core, &present, "");
        assert_eq!(found["found"], 2000, "{name}");
        assert_eq!(found["doubt"].is_null(), !several);
        // 0.8 to 1 % of 2000, and six standard deviations.
        let wrong = look_up(&mut core, &absent, "")["found"].as_u64().unwrap();
        assert!((1..47).contains(&wrong), "{name}: {wrong}");

        for (bad, reason) in [(length - 60, "broken"), (length - 1, "unknown")] {
            let mut changed = content.clone();
            changed[bad] ^= 1;
            let error = opened_as(changed, "").1.unwrap_err();
            assert_eq!(error["reason"]["name"], reason, "{name}: {error}");
        }
    }
}

/// Of all words that are listed the toys are right, whatever their order, and the states are those of the lists.
#[test]
fn toys_that_are_built_know_their_lists() {
    let words: Vec<String> = (0..12).map(|i| format!("w{i}")).collect();
    let strangers: Vec<String> = (0..150).map(|i| format!("s{i}")).collect();
    let op = |op: &'static str| move |word: &String| json!({ "op": op, "word": word });
    let mut core = Core::new(Memory::of(Vec::new()));
    for kind in ["bloomier", "cascade"] {
        let (members, others) = words.split_at(6);
        let mut operations: Vec<Value> = members.iter().map(op("insert")).collect();
        if kind == "cascade" {
            operations.extend(others.iter().map(op("except")));
        }
        let built = operations.len();
        operations.extend(members.iter().chain(others).chain(&strangers).map(op("query")));
        let toy = json!({ "type": "toy", "kind": kind, "operations": operations });
        let answer = ask(&mut core, &toy).unwrap();
        let steps = &answer["steps"].as_array().unwrap()[built..];
        let found = |step: &Value| step["found"].as_bool().unwrap();
        assert!(steps[..6].iter().all(found), "{kind}: {answer}");
        if kind == "cascade" {
            assert!(!steps[6..12].iter().any(found), "{answer}");
            assert!(answer["steps"][built]["parts"].as_array().unwrap().len() > 1);
        }
        let passing = steps[12..].iter().filter(|step| found(step)).count() as f64;
        let fpp = answer["fpp"].as_f64().unwrap();
        // Within six standard deviations, of the positions that the hash draws.
        let most = 6.0 * (150.0 * fpp * (1.0 - fpp)).sqrt();
        assert!((passing - 150.0 * fpp).abs() < most, "{kind}: {passing}, {fpp}");
    }
    let both = json!({ "type": "toy", "kind": "cascade", "operations": [
        { "op": "insert", "word": "a" }, { "op": "except", "word": "a" },
    ] });
    assert!(ask(&mut core, &both).unwrap_err().contains("other list"));
}

#[test]
fn pictures_of_large_filters_add_up() {
    let mut filter = Counting::new(300_000, 0.01).unwrap();
    filter.extend(0..200_000u32);
    let (receipt, content) = (filter.receipt(), filter.to_bytes());
    let (mut core, _) = opened(content);
    for cells in [1, 3, 50, 1000, 60_000] {
        let map = ask(&mut core, &json!({ "type": "map", "handle": 0, "cells": cells })).unwrap();
        let (per, to) = (map["per"].as_f64().unwrap(), map["to"].as_f64().unwrap());
        let fills = map["values"].as_array().unwrap();
        let starts = (0u32..).map(|i| f64::from(i) * per);
        let used =
            starts.zip(fills).map(|(start, fill)| fill.as_f64().unwrap() * per.min(to - start));
        let used: f64 = used.sum();
        assert!((used - receipt.set_bits as f64).abs() < 0.5, "{cells}: {used}");
        assert!((map["mean"].as_f64().unwrap() - receipt.fill).abs() < 1e-12);
    }
}

/// A filter in JSON, whose file is made as a whole for each part of it: that took 16 times as long, and closer 1,000 times.
#[test]
fn pictures_of_files_that_are_made_are_made_once() {
    let bits = Some(1 << 27);
    let given = Parameters { bits, probes: Some(3), ..Parameters::default() };
    let mut filter = Foreign::new(Format::BitsAndBloomsJson, &given).unwrap();
    for key in 0..1000 {
        filter.insert(Key::from(format!("{key}").as_str())).unwrap();
    }
    let file = filter.encode().unwrap();
    let count = |range: std::ops::Range<usize>| -> u32 {
        file[range].iter().map(|byte| byte.count_ones()).sum()
    };
    let bytes = file.len();
    let started = std::time::Instant::now();
    assert_eq!(filter.encode().unwrap().len(), bytes);
    assert!(count(0..bytes) > 1000);
    let once = started.elapsed();
    let (mut core, _) = opened_as(file.clone(), Format::BitsAndBloomsJson.name());
    for (from, to) in [(0, 8 * bytes as u64), (512 * 100, 512 * 20_000)] {
        let started = std::time::Instant::now();
        let asked = json!({ "type": "map", "handle": 0, "from": from, "to": to, "cells": 1000 });
        let map = ask(&mut core, &asked).unwrap();
        let spent = started.elapsed();
        let per = map["per"].as_u64().unwrap() as usize;
        for (i, value) in map["values"].as_array().unwrap().iter().enumerate() {
            let start = from as usize + i * per;
            let end = (start + per).min(bytes.next_multiple_of(64) * 8);
            let used = f64::from(count(start / 8..(end / 8).min(bytes)));
            assert_eq!(value.as_f64().unwrap(), used / (end - start) as f64, "{i} of {from}..{to}");
        }
        assert!(spent < 12 * once, "{spent:?}, made and counted in {once:?}");
    }
}

/// Bytes that are none, cut or changed, and documents that are no requests: an answer, never a panic.
#[test]
fn whatever_comes_in_is_answered() {
    for (path, content) in golden().into_iter().step_by(5) {
        for end in (0..content.len()).step_by(97) {
            let (_, answer) = opened(content[..end].to_vec());
            let refused = answer.is_err_and(|error| error.starts_with("f: "));
            assert!(refused, "{} {end}", path.display());
        }
        for at in (0..content.len()).step_by(61) {
            let mut bad = content.clone();
            bad[at] ^= 0x10;
            // What is no longer umbel's may be another system's by chance.
            let (_, answer) = opened(bad);
            let refused =
                answer.is_err() || answer.is_ok_and(|answer| answer.get("formats").is_some());
            assert!(refused, "{} {at}", path.display());
        }
    }
    let mut core = Core::new(Memory::of(Vec::new()));
    for text in
        ["", "{", "[]", "7", "{}", r#"{"type":7}"#, r#"{"type":"open"}"#, r#"{"type":"toy"}"#]
    {
        assert!(core.answer(text.as_bytes()).starts_with(r#"{"error":"#), "{text}");
    }
    for request in [
        json!({ "type": "open", "file": 3, "name": "gone", "bytes": 100 }),
        json!({ "type": "map", "handle": 4294967295u32, "cells": 0 }),
        json!({ "type": "query", "handle": 0, "keys": [] }),
        json!({ "type": "compare", "left": 0, "right": 1 }),
        json!({ "type": "unlock", "handle": 0, "secret": "é" }),
        json!({ "type": "toy", "kind": "classic", "bits": 0, "operations": [] }),
        json!({ "type": "toy", "kind": "classic", "probes": 99, "operations": [] }),
        json!({ "type": "toy", "kind": "blocked", "blocks": 99, "operations": [] }),
        json!({ "type": "toy", "kind": "coded", "operations": [] }),
        json!({ "type": "toy", "kind": "cascade", "operations": [{ "op": "remove", "word": "a" }] }),
        json!({ "type": "toy", "kind": "bloomier", "operations": [{ "op": "except", "word": "a" }] }),
        json!({ "type": "toy", "kind": "stable", "operations": [{ "op": "remove", "word": "a" }] }),
        json!({ "type": "toy", "kind": "blocked", "operations": [{ "op": "advance" }] }),
    ] {
        assert!(ask(&mut core, &request).is_err(), "{request}");
    }
}
