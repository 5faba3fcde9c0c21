//! `common` against a model in memory, with budgets so small that every way through is taken.

use std::collections::{HashMap, HashSet};

use proptest::prelude::{
    Just, ProptestConfig, Strategy as _, prop_assert, prop_assert_eq, proptest,
};

use super::*;
use crate::Distinct;
use crate::testing::{Files, cramped, files, input, lines, lines_of, options};

/// Lines in at least `at_least` inputs, in order of first place.
fn model(inputs: &[Vec<u8>], separator: u8, at_least: usize) -> Vec<u8> {
    let mut order = Vec::new();
    let mut counts: HashMap<&[u8], usize> = HashMap::new();
    for input in inputs {
        let mut here = HashSet::new();
        for line in lines_of(input, separator) {
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

/// Runs the job with a budget of its own; gives the result and the report.
fn run(
    inputs: &[Input],
    at_least: usize,
    fpp: Option<f64>,
    budget: Budget,
    options: &Options,
) -> (Vec<u8>, Report) {
    let mut out = Vec::new();
    let report = match fpp {
        Some(fpp) => Common::with_error(inputs, at_least, fpp, options)
            .unwrap()
            .with_budget(budget)
            .run(&mut out),
        None if at_least == inputs.len() => exact(inputs, budget, options).run(&mut out),
        None => Distinct::in_several(inputs, at_least, options)
            .unwrap()
            .with_budget(budget)
            .run(&mut out),
    };
    (out, report.unwrap())
}

fn exact<'a>(inputs: &'a [Input], budget: Budget, options: &'a Options) -> Common<'a> {
    Common::new(inputs, options).unwrap().with_budget(budget)
}

/// Files, and how many of them a line has to be in.
fn cases() -> impl proptest::strategy::Strategy<Value = (Files, usize)> {
    files(2..5).prop_flat_map(|files| {
        let most = files.inputs.len();
        (Just(files), 1..=most)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn equals_the_model_for_any_budget((files, at_least) in cases()) {
        let dir = tempfile::tempdir().unwrap();
        let inputs = files.write(dir.path());
        let options = options(dir.path(), files.separator);
        let (found, report) = run(&inputs, at_least, None, files.budget, &options);
        let expected = model(&files.inputs, files.separator, at_least);
        prop_assert_eq!(&found, &expected);
        prop_assert_eq!(report.bytes_written, expected.len() as u64);
        prop_assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), inputs.len(), "temporary files are gone");
    }

    #[test]
    fn one_pass_errs_as_stated_and_repeats_nothing((files, at_least) in cases()) {
        let dir = tempfile::tempdir().unwrap();
        let inputs = files.write(dir.path());
        let options = options(dir.path(), files.separator);
        // So low that an error in these cases together has a chance under 1e-3.
        let budget = Budget { rest: 1 << 22, ..files.budget };
        let (found, report) = run(&inputs, at_least, Some(1e-9), budget, &options);
        prop_assert_eq!(found, model(&files.inputs, files.separator, at_least));
        let error = report.error.unwrap();
        prop_assert!(error.extra + error.missing <= 1e-9, "{:?}", error);
    }
}

#[test]
fn every_strategy_is_taken_and_right() {
    let dir = tempfile::tempdir().unwrap();
    let options = options(dir.path(), b'\n');
    let (small, large, other) = (lines(0..2_000), lines(1_500..40_000), lines(1_000..15_000));
    let cases = [
        (vec![&large, &other], Strategy::Chain, true),
        (vec![&small, &large, &other], Strategy::Chain, false),
        (vec![&small, &large], Strategy::Table, false),
    ];
    for (bytes, strategy, spills) in cases {
        let inputs: Vec<_> = bytes
            .iter()
            .enumerate()
            .map(|(i, bytes)| input(dir.path(), &i.to_string(), bytes))
            .collect();
        let budget = Budget {
            rest: if bytes[0].len() < 100_000 && bytes.len() == 2 { 300_000 } else { 60_000 },
            ..cramped(2)
        };
        assert_eq!(exact(&inputs, budget, &options).plan().unwrap().strategy, strategy);
        let copies: Vec<Vec<u8>> = bytes.iter().map(|bytes| bytes.to_vec()).collect();
        let (found, report) = run(&inputs, inputs.len(), None, budget, &options);
        assert!(found == model(&copies, b'\n', inputs.len()), "{strategy:?}");
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
    let job = exact(&inputs, cramped(2), &options);
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
        places: Places::new(&inputs),
        disk: Disk::new(&options.tmp),
        passes: Passes::new(&inputs),
        header: None,
        scanner: Scanner::within(cramped(1), &options, KeyHasher::default()).unwrap(),
    };
    let mut filter = Blocked::with_plan(
        &Plan::for_keys(Kind::Blocked, 100, 0.01).unwrap(),
        KeyHasher::default(),
    )
    .unwrap();
    let tallies = fill(&run.scanner, &inputs, &mut filter, None, 0).unwrap();
    assert_eq!(tallies[0], tallies[1], "the same lines, the same tally");
    for _ in 0..2 {
        run.passes.seen(&inputs, 0..2, &tallies).unwrap();
    }
    let changed = [input(dir.path(), "c", &lines(1..101))];
    let tallies = fill(&run.scanner, &changed, &mut filter, None, 0).unwrap();
    assert!(matches!(run.passes.seen(&inputs, 0..1, &tallies), Err(Error::Changed { .. })));
}

#[test]
fn long_lines_need_room_and_the_message_names_enough() {
    let dir = tempfile::tempdir().unwrap();
    let options = options(dir.path(), b'\n');
    let bytes = [b"short\n".to_vec(), vec![b'x'; 100_000], b"\nshort again".to_vec()].concat();
    let inputs = [input(dir.path(), "a", &bytes), input(dir.path(), "b", &bytes)];
    let job = exact(&inputs, cramped(2), &options);
    let error = job.run(&mut Vec::new()).unwrap_err();
    match error {
        Error::LongLine { offset: 6, length: 100_000, .. } => {}
        other => panic!("{other}"),
    }
    let (found, _) = run(&inputs, 2, None, Budget { rest: 2_000_000, ..cramped(2) }, &options);
    assert_eq!(found, [&bytes[..], b"\n"].concat());
}

/// More inputs than may be read at the same time where it is counted in how many lines are.
#[test]
fn lines_in_some_of_many_small_inputs() {
    let dir = tempfile::tempdir().unwrap();
    let options = options(dir.path(), b'\n');
    // Line i is in about 100 ÷ i of them, in some twice.
    let bytes: Vec<Vec<u8>> = (0..120u32)
        .map(|input| {
            let within = (1..200).filter(|i| input * 7919 % 100 < 100 / i);
            let within = within.flat_map(|i| lines(i..i + 1).repeat(1 + (input % 3) as usize));
            within.collect()
        })
        .collect();
    let inputs: Vec<_> = bytes
        .iter()
        .enumerate()
        .map(|(i, bytes)| input(dir.path(), &i.to_string(), bytes))
        .collect();
    for at_least in [1, 2, 3, 10, 50, 119, 120] {
        for (rest, threads) in [(60_000, 2), (20_000, 3), (4_000_000, 4)] {
            let budget = Budget { rest, ..cramped(threads) };
            let (found, _) = run(&inputs, at_least, None, budget, &options);
            assert!(found == model(&bytes, b'\n', at_least), "{at_least} {budget:?}");
        }
    }
}
