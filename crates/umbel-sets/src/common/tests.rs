//! `common` against a model in memory, with budgets so small that every way through is taken.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::{
    ProptestConfig, Strategy as _, any, prop_assert, prop_assert_eq, prop_oneof, proptest,
};

use super::*;
use crate::{Progress, Records};

/// Lines in at least `at_least` inputs, in order of first place.
fn model(inputs: &[Vec<u8>], separator: u8, at_least: usize) -> Vec<u8> {
    let mut order = Vec::new();
    let mut counts: HashMap<&[u8], usize> = HashMap::new();
    for input in inputs {
        let mut lines: Vec<&[u8]> = input.split(|&byte| byte == separator).collect();
        // What follows the last end is a line only when there is something.
        if lines.last().is_some_and(|last| last.is_empty()) {
            lines.pop();
        }
        let mut here = HashSet::new();
        for line in lines {
            if here.insert(line) {
                let count = counts.entry(line).or_insert(0);
                if *count == 0 {
                    order.push(line);
                }
                *count += 1;
            }
        }
    }
    let mut result = Vec::new();
    for line in order.into_iter().filter(|line| counts[line] >= at_least) {
        result.extend_from_slice(line);
        result.push(separator);
    }
    result
}

fn input(dir: &Path, name: &str, bytes: &[u8]) -> Input {
    let path = dir.join(name);
    File::create(&path).unwrap().write_all(bytes).unwrap();
    Input::file(name, File::open(path).unwrap()).unwrap()
}

fn options(dir: &Path, separator: u8) -> Options {
    Options {
        memory: 1 << 30,
        threads: 1,
        tmp: dir.to_owned(),
        separator,
        records: Records::Lines,
        progress: Arc::new(Progress::default()),
    }
}

/// Runs the job with a budget of its own; gives the result and the report.
fn run(
    inputs: &[Input],
    at_least: usize,
    fpp: Option<f64>,
    budget: Budget,
    options: &Options,
) -> (Vec<u8>, Report) {
    let job = Common { inputs, at_least, fpp, budget, options };
    let mut out = Vec::new();
    let report = job.run(&mut out).unwrap();
    (out, report)
}

#[derive(Clone, Debug)]
struct Case {
    inputs: Vec<Vec<u8>>,
    separator: u8,
    at_least: usize,
    budget: Budget,
}

/// Inputs drawn from one set of lines, so that they share many; lines short and long, with bytes of
/// every value; few or many repeats.
fn cases() -> impl proptest::strategy::Strategy<Value = Case> {
    let line = prop_oneof![
        4 => proptest::collection::vec(any::<u8>(), 0..12),
        2 => proptest::collection::vec(97u8..100, 0..3),
        1 => proptest::collection::vec(any::<u8>(), 100..700),
    ];
    let shape = (2usize..5, proptest::collection::vec(line, 1..300), any::<bool>());
    shape.prop_flat_map(|(files, lines, zero)| {
        let separator = if zero { 0 } else { b'\n' };
        let lines: Vec<Vec<u8>> = lines
            .into_iter()
            .map(|line| line.into_iter().filter(|&byte| byte != separator).collect())
            .collect();
        let file = (proptest::collection::vec(0..lines.len(), 0..600), any::<bool>()).prop_map(
            move |(picks, end)| {
                let mut bytes =
                    picks.iter().map(|&i| lines[i].clone()).collect::<Vec<_>>().join(&separator);
                if end && !picks.is_empty() {
                    bytes.push(separator);
                }
                bytes
            },
        );
        let inputs = proptest::collection::vec(file, files);
        let budget = (1usize..4, 1usize..2000, 4_000u64..200_000)
            .prop_map(|(threads, chunk, rest)| Budget { cap: 1 << 30, threads, chunk, rest });
        (inputs, 1..=files, budget).prop_map(move |(inputs, at_least, budget)| Case {
            inputs,
            separator,
            at_least,
            budget,
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn equals_the_model_for_any_budget(case in cases()) {
        let dir = tempfile::tempdir().unwrap();
        let inputs: Vec<_> = case.inputs.iter().enumerate().map(|(i, bytes)| input(dir.path(), &i.to_string(), bytes)).collect();
        let options = options(dir.path(), case.separator);
        let (found, report) = run(&inputs, case.at_least, None, case.budget, &options);
        let expected = model(&case.inputs, case.separator, case.at_least);
        prop_assert_eq!(&found, &expected);
        prop_assert_eq!(report.bytes_written, expected.len() as u64);
        prop_assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), inputs.len(), "temporary files are gone");
    }

    #[test]
    fn one_pass_errs_as_stated_and_repeats_nothing(case in cases()) {
        let dir = tempfile::tempdir().unwrap();
        let inputs: Vec<_> = case.inputs.iter().enumerate().map(|(i, bytes)| input(dir.path(), &i.to_string(), bytes)).collect();
        let options = options(dir.path(), case.separator);
        // So low that an error in these cases together has a chance under 1e-3.
        let budget = Budget { rest: 1 << 22, ..case.budget };
        let (found, report) = run(&inputs, case.at_least, Some(1e-9), budget, &options);
        prop_assert_eq!(found, model(&case.inputs, case.separator, case.at_least));
        let error = report.error.unwrap();
        prop_assert!(error.extra + error.missing <= 1e-9, "{:?}", error);
    }
}

/// A budget with which each strategy is taken, and lines go to disk.
fn cramped(threads: usize) -> Budget {
    Budget { cap: 1 << 30, threads, chunk: 4096, rest: 60_000 }
}

fn lines(range: std::ops::Range<u32>) -> Vec<u8> {
    range
        .flat_map(|i| format!("line number {}\n", i.wrapping_mul(2_654_435_761)).into_bytes())
        .collect()
}

#[test]
fn every_strategy_is_taken_and_right() {
    let dir = tempfile::tempdir().unwrap();
    let options = options(dir.path(), b'\n');
    let (small, large, other) = (lines(0..2_000), lines(1_500..40_000), lines(1_000..30_000));
    let cases = [
        (vec![&large, &other], 2, Strategy::Chain, true),
        (vec![&small, &large, &other], 3, Strategy::Chain, false),
        (vec![&large, &other, &small], 2, Strategy::Bank, true),
        (vec![&large, &other], 1, Strategy::Table, true),
        (vec![&small, &large], 2, Strategy::Table, false),
    ];
    for (bytes, at_least, strategy, spills) in cases {
        let inputs: Vec<_> = bytes
            .iter()
            .enumerate()
            .map(|(i, bytes)| input(dir.path(), &i.to_string(), bytes))
            .collect();
        let budget = Budget {
            rest: if bytes[0].len() < 100_000 && bytes.len() == 2 { 300_000 } else { 60_000 },
            ..cramped(2)
        };
        let job = Common { inputs: &inputs, at_least, fpp: None, budget, options: &options };
        assert_eq!(job.plan().unwrap().strategy, strategy);
        let copies: Vec<Vec<u8>> = bytes.iter().map(|bytes| bytes.to_vec()).collect();
        let (found, report) = run(&inputs, at_least, None, budget, &options);
        assert!(found == model(&copies, b'\n', at_least), "{strategy:?} at least {at_least}");
        assert_eq!(report.bytes_spilled > 0, spills, "{strategy:?} {report:?}");
    }
}

#[test]
fn a_much_smaller_first_file_goes_first() {
    let dir = tempfile::tempdir().unwrap();
    let options = options(dir.path(), b'\n');
    let bytes = [lines(0..6_000), lines(5_000..90_000)];
    let inputs: Vec<_> = bytes
        .iter()
        .enumerate()
        .map(|(i, bytes)| input(dir.path(), &i.to_string(), bytes))
        .collect();
    let job =
        Common { inputs: &inputs, at_least: 2, fpp: None, budget: cramped(2), options: &options };
    let order: Vec<usize> = job.plan().unwrap().filters.iter().map(|(input, _)| *input).collect();
    assert_eq!(order, [0, 1]);
    let (found, report) = run(&inputs, 2, None, cramped(2), &options);
    assert!(found == model(&bytes, b'\n', 2));
    assert_eq!(report.passes, 4);
}

#[test]
fn one_line_a_hundred_thousand_times_stays_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let options = options(dir.path(), b'\n');
    let many = b"the same\n".repeat(100_000);
    let inputs = [input(dir.path(), "a", &many), input(dir.path(), "b", &many)];
    let (found, report) = run(&inputs, 2, None, cramped(3), &options);
    assert_eq!(found, b"the same\n");
    assert_eq!((report.lines, report.distinct, report.bytes_spilled), (200_000, 1, 0));
}

#[test]
fn an_input_rewritten_with_its_times_kept_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let options = options(dir.path(), b'\n');
    let bytes = lines(0..100);
    let inputs = [input(dir.path(), "a", &bytes), input(dir.path(), "b", &bytes)];
    let mut run = Run {
        inputs: &inputs,
        at_least: 2,
        places: Places::new([1, 1].into_iter()).unwrap(),
        disk: Disk::new(&options.tmp),
        tallies: vec![None; 2],
        header: None,
        report: Report::default(),
        scanner: Scanner::within(cramped(1), &options, KeyHasher::default()).unwrap(),
    };
    let mut filter =
        Blocked::new(&Plan::for_keys(Kind::Blocked, 100, 0.01).unwrap(), KeyHasher::default())
            .unwrap();
    let tally = fill(&run.scanner, &inputs[0], &mut filter, None, 0).unwrap();
    let other = fill(&run.scanner, &inputs[1], &mut filter, None, 0).unwrap();
    assert_eq!(tally, other, "the same lines, the same tally");
    run.seen(0, tally).unwrap();
    run.seen(0, tally).unwrap();
    let changed = input(dir.path(), "c", &lines(1..101));
    let tally = fill(&run.scanner, &changed, &mut filter, None, 0).unwrap();
    assert!(matches!(run.seen(0, tally), Err(Error::Changed { .. })));
}

#[test]
fn long_lines_need_room_and_the_message_names_enough() {
    let dir = tempfile::tempdir().unwrap();
    let options = options(dir.path(), b'\n');
    let bytes = [b"short\n".to_vec(), vec![b'x'; 100_000], b"\nshort again".to_vec()].concat();
    let inputs = [input(dir.path(), "a", &bytes), input(dir.path(), "b", &bytes)];
    let job =
        Common { inputs: &inputs, at_least: 2, fpp: None, budget: cramped(2), options: &options };
    let error = job.run(&mut Vec::new()).unwrap_err();
    match error {
        Error::LongLine { offset: 6, length: 100_000, .. } => {}
        other => panic!("{other}"),
    }
    let (found, _) = run(&inputs, 2, None, Budget { rest: 2_000_000, ..cramped(2) }, &options);
    assert_eq!(found, [&bytes[..], b"\n"].concat());
}
