//! The output and records of runs, compared with plain lines.

use std::fs::{self, File};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use umbel::{AnyFilter, Filter, KeyDescription, KeyHasher, Kind, Plan};

use super::journal::{Journal, Notes, Reached, path_of};
use super::*;
use crate::input::lengths;
use crate::testing::{input, lines, workplace};
use crate::{Error, LargeFilter, build_in_pieces, query_in_pieces};

fn journal(filter: &Path) -> Arc<Mutex<Journal>> {
    Arc::new(Mutex::new(Journal::new(path_of(filter), None).unwrap()))
}

#[test]
fn lines_seen_before_are_left_out_until_the_filter_is_full() {
    let (dir, options) = workplace(b'\n');
    // 400 new lines, each twice; then known ones, with one that does not fit among them.
    let known = lines(0..400);
    let bytes = [known.repeat(2), lines(100..110), lines(400..401), lines(0..9)].concat();
    let inputs = [input(dir.path(), "a", &bytes)];
    for room in [400, 401] {
        let plan = Plan::for_keys(Kind::Blocked, room, 1e-6).unwrap();
        let mut filter = AnyFilter::with_plan(&plan, KeyHasher::default()).unwrap();
        let path = dir.path().join(room.to_string());
        let journal = journal(&path);
        let mut save = |_: Option<&AnyFilter>, at: &Checkpoint, _: bool| {
            let reached = Reached { at: at.clone(), output: None };
            journal.lock().unwrap().reached(&reached).unwrap();
            Ok(())
        };
        let (mut out, every) = (Vec::new(), Duration::from_secs(3600));
        let recorder = Recorder::new(&mut out, Arc::clone(&journal), &mut save, every, &options);
        let seen = Unseen::new(&mut filter, recorder).unwrap();
        let result = seen.read(&inputs);
        let mut offset = (2 * known.len() + lines(100..110).len()) as u64;
        if room == 400 {
            let error = result.unwrap_err();
            let Error::FilterFull { at, keys: 400 } = &error else { panic!("{error}") };
            assert_eq!(at.offset, offset);
            drop(seen);
        } else {
            result.unwrap();
            let report = seen.finish().unwrap();
            assert_eq!((report.lines, report.found), (820, 401));
            offset = bytes.len() as u64;
        }
        assert_eq!(out, lines(0..room as u32));
        fs::write(&path, filter.to_bytes()).unwrap();
        let (notes, mut noted) = (Notes::of(&path).unwrap().unwrap(), 0);
        let count = |hashes: Vec<_>| {
            noted += hashes.len() as u64;
            Ok(())
        };
        notes.each_hashes(&File::open(&path).unwrap(), count).unwrap();
        assert_eq!(noted, room, "each key is noted once");
        assert_eq!((notes.reached.at.offset, notes.reached.at.found), (offset, room));
    }
}

#[test]
fn reports_of_work_piece_by_piece_have_all_bytes() {
    let (dir, mut options) = workplace(b'\n');
    options.resources.memory = 16 << 20;
    let known = lines(0..10_000);
    let inputs = [input(dir.path(), "known", &known), input(dir.path(), "new", &lines(1..20_000))];
    let plan = Plan::for_memory(Kind::Blocked, 100_000, 24 << 20).unwrap();
    assert!(crate::room_left(plan.bytes(), &options.resources).is_err());
    let mut file = tempfile::tempfile().unwrap();
    let (hasher, keys) = (KeyHasher::default(), KeyDescription::default());
    build_in_pieces(&inputs[..1], &plan, hasher, &keys, &mut file, &options).unwrap();
    let length = file.metadata().unwrap().len();
    let large = || LargeFilter::open(&file, length, None, None).unwrap();
    let mut found = Vec::new();
    let (queried, _) = query_in_pieces(&inputs, large(), false, &mut found, &options).unwrap();
    assert_eq!(found, [known, lines(1..10_000)].concat());
    let (mut new, journal) = (Vec::new(), journal(&dir.path().join("f")));
    let mut save = |_: Option<&AnyFilter>, _: &Checkpoint, _: bool| Ok(());
    let run = Recorder::new(&mut new, journal, &mut save, Duration::MAX, &options);
    let run = UnseenInPieces::new(run);
    let (seen, _) = run.run(&inputs, large(), &mut std::io::sink()).unwrap();
    drop(run);
    assert_eq!(new, lines(10_000..20_000));
    for report in [queried, seen] {
        // A hash and a bit for each line; some pieces have a last byte that is not full.
        let spilled = 29_999 * 16 + 29_999 / 8;
        assert!((spilled..spilled + 100).contains(&report.bytes_spilled), "{report:?}");
        let read = 2 * lengths(&inputs) + plan.bytes() + report.bytes_spilled;
        assert_eq!((report.lines, report.bytes_read), (29_999, read));
    }
}
