//! What runs write and record, next to plain lines.

use std::time::Duration;

use umbel::{AnyFilter, KeyDescription, KeyHash, KeyHasher, Kind, Plan};

use super::*;
use crate::input::lengths;
use crate::testing::{input, lines, options, workplace};
use crate::{Error, LargeFilter, build_in_pieces, query_in_pieces};

/// Keeps what a run records.
#[derive(Default)]
struct Notes {
    hashes: Vec<KeyHash>,
    saved: Vec<Checkpoint>,
}

impl Save for Notes {
    fn note(&mut self, hashes: &[KeyHash]) -> Result<(), Error> {
        self.hashes.extend_from_slice(hashes);
        Ok(())
    }

    fn save(&mut self, _: Option<&AnyFilter>, at: &Checkpoint, _: bool) -> Result<(), Error> {
        self.saved.push(at.clone());
        Ok(())
    }
}

#[test]
fn lines_seen_before_are_left_out_until_the_filter_is_full() {
    let (dir, options) = workplace(b'\n');
    // 400 new lines, each twice; then known ones, with one that finds no room among them.
    let known = lines(0..400);
    let bytes = [known.repeat(2), lines(100..110), lines(400..401), lines(0..9)].concat();
    let inputs = [input(dir.path(), "a", &bytes)];
    for room in [400, 401] {
        let plan = Plan::for_keys(Kind::Blocked, room, 1e-6).unwrap();
        let mut filter = AnyFilter::with_plan(&plan, KeyHasher::default()).unwrap();
        let (mut out, mut notes) = (Vec::new(), Notes::default());
        let every = Duration::from_secs(3600);
        let recorder = Recorder::new(&mut out, &mut notes, every, &options);
        let seen = Seen::new(&mut filter, recorder).unwrap();
        let result = seen.read(&inputs);
        let offset = (2 * known.len() + lines(100..110).len()) as u64;
        if room == 400 {
            let error = result.unwrap_err();
            assert!(
                matches!(error, Error::FilterFull { ref at, keys: 400 } if at.offset == offset),
                "{error}"
            );
            drop(seen);
            assert_eq!(notes.saved.last().unwrap().offset, offset);
        } else {
            result.unwrap();
            let report = seen.finish().unwrap();
            assert_eq!((report.lines, report.found), (820, 401));
            assert_eq!(notes.saved.last().unwrap().offset, bytes.len() as u64);
        }
        assert_eq!(out, lines(0..room as u32));
        assert_eq!(notes.hashes.len() as u64, room, "each key is noted once");
        assert_eq!(notes.saved.last().unwrap().found, room);
    }
}

#[test]
fn reports_of_work_piece_by_piece_have_all_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = options(dir.path(), b'\n');
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
    let (mut new, mut notes) = (Vec::new(), Notes::default());
    let run = SeenInPieces::new(Recorder::new(&mut new, &mut notes, Duration::MAX, &options));
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
