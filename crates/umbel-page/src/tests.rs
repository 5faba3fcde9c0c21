//! Requests without a browser: files in memory, and everything that may come in.

use std::fs;
use std::io;
use std::path::PathBuf;

use serde_json::{Value, json};
use umbel::{AnyFilter, Counting};

use crate::{Core, Host};

/// Files in memory.
struct Memory(Vec<Vec<u8>>);

impl Host for Memory {
    fn read(&self, file: u32, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        let all = self.0.get(file as usize).ok_or(io::ErrorKind::NotFound)?;
        let from = offset as usize;
        let some = all.get(from..from + bytes.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        bytes.copy_from_slice(some);
        Ok(())
    }

    fn progress(&self, _: u64, _: u64) {}

    fn now(&self) -> f64 {
        0.0
    }
}

fn ask(core: &mut Core<Memory>, request: &Value) -> Result<Value, String> {
    let answer: Value = serde_json::from_str(&core.answer(request.to_string().as_bytes())).unwrap();
    match answer.get("ok") {
        Some(answer) => Ok(answer.clone()),
        None => Err(answer["error"]["message"].as_str().unwrap().to_owned()),
    }
}

fn opened(content: Vec<u8>) -> (Core<Memory>, Result<Value, String>) {
    let bytes = content.len();
    let mut core = Core::new(Memory(vec![content]));
    let answer = ask(&mut core, &json!({ "type": "open", "file": 0, "name": "f", "bytes": bytes }));
    (core, answer)
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
        let Ok(filter) = AnyFilter::from_bytes(&content, None) else { continue };
        let (mut core, answer) = opened(content);
        let answer = answer.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(answer["documents"][0]["set_bits"], filter.receipt().set_bits);
        let cells = answer["parts"][0]["cells"].as_u64().unwrap();
        let map = json!({ "type": "map", "handle": 0, "from": 0, "to": cells, "cells": cells });
        let values = ask(&mut core, &map).unwrap()["values"].as_array().unwrap().clone();
        let mut exact = Vec::new();
        filter.cells_of(0, 0..filter.part_blocks()[0], |cell| exact.push(cell));
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
        let query = json!({ "type": "query", "handle": 0, "keys": keys });
        let found = ask(&mut core, &query).unwrap();
        for (key, answer) in keys.iter().zip(found["keys"].as_array().unwrap()) {
            assert_eq!(answer["found"], filter.contains(key), "{}: {key}", path.display());
        }
        asked += 1;
    }
    assert!(asked > 30, "{asked}");
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

/// Bytes that are none, cut or changed, and documents that are no requests: an answer, never a panic.
#[test]
fn whatever_comes_in_is_answered() {
    for (path, content) in golden().into_iter().step_by(5) {
        for end in (0..content.len()).step_by(97) {
            let (_, answer) = opened(content[..end].to_vec());
            assert!(
                answer.is_err_and(|error| error.starts_with("f: ")),
                "{} {end}",
                path.display()
            );
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
    let mut core = Core::new(Memory(Vec::new()));
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
        json!({ "type": "toy", "kind": "cascade", "operations": [] }),
        json!({ "type": "toy", "kind": "stable", "operations": [{ "op": "remove", "word": "a" }] }),
        json!({ "type": "toy", "kind": "blocked", "operations": [{ "op": "advance" }] }),
    ] {
        assert!(ask(&mut core, &request).is_err(), "{request}");
    }
}
