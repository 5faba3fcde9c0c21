//! `dedup` and `except` against a model in memory, with budgets so small that every way is taken.

use std::collections::{HashMap, HashSet};

use proptest::prelude::{
    ProptestConfig, Strategy as _, any, prop_assert, prop_assert_eq, proptest,
};

use super::*;
use crate::testing::{Files, cramped, files, input, lines, lines_of, options};

/// What is asked of some files.
#[derive(Clone, Copy, Debug, Default)]
struct Ask {
    /// Subtract all files but the first.
    except: bool,
    repeated: bool,
    counted: bool,
}

fn asks() -> impl proptest::strategy::Strategy<Value = Ask> {
    (any::<bool>(), any::<bool>(), any::<bool>()).prop_map(|(except, repeated, counted)| Ask {
        except,
        repeated,
        counted,
    })
}

fn model(inputs: &[Vec<u8>], separator: u8, ask: Ask) -> Vec<u8> {
    let (from, others) = inputs.split_at(if ask.except { 1 } else { inputs.len() });
    let excluded: HashSet<&[u8]> =
        others.iter().flat_map(|input| lines_of(input, separator)).collect();
    let (mut order, mut counts) = (Vec::new(), HashMap::new());
    for line in from.iter().flat_map(|input| lines_of(input, separator)) {
        let count = counts.entry(line).or_insert(0u64);
        if *count == 0 && !excluded.contains(line) {
            order.push(line);
        }
        *count += 1;
    }
    let mut result = Vec::new();
    for line in order.into_iter().filter(|line| !ask.repeated || counts[line] > 1) {
        if ask.counted {
            result.extend_from_slice(format!("{}\t", counts[line]).as_bytes());
        }
        result.extend_from_slice(line);
        result.push(separator);
    }
    result
}

fn job<'a>(inputs: &'a [Input], ask: Ask, budget: Budget, options: &'a Options) -> Distinct<'a> {
    let job = match ask.except {
        true => Distinct::except(inputs, options),
        false => Distinct::lines(inputs, options),
    };
    job.unwrap().repeated(ask.repeated).counted(ask.counted).unwrap().with_budget(budget)
}

fn run(job: &Distinct<'_>) -> (Vec<u8>, Report) {
    let mut out = Vec::new();
    let report = job.run(&mut out).unwrap();
    (out, report)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn equals_the_model_for_any_budget(files in files(1..4), ask in asks()) {
        let dir = tempfile::tempdir().unwrap();
        let inputs = files.write(dir.path());
        let options = options(dir.path(), files.separator);
        let (found, report) = run(&job(&inputs, ask, files.budget, &options));
        let expected = model(&files.inputs, files.separator, ask);
        prop_assert_eq!(&found, &expected);
        prop_assert_eq!(report.bytes_written, expected.len() as u64);
        prop_assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), inputs.len(), "temporary files are gone");
    }

    #[test]
    #[ignore = "long statistics: cargo x test --full"]
    fn filters_alone_leave_out_no_more_than_stated(files in files(1..4), except: bool) {
        let dir = tempfile::tempdir().unwrap();
        let inputs = files.write(dir.path());
        let options = options(dir.path(), files.separator);
        let ask = Ask { except, ..Ask::default() };
        // So low that an error in these cases together has a chance under 1e-3.
        let budget = Budget { rest: 1 << 22, ..files.budget };
        let (found, report) = run(&job(&inputs, ask, budget, &options).with_error(Some(1e-9)));
        prop_assert_eq!(found, model(&files.inputs, files.separator, ask));
        let error = report.error.unwrap();
        // The promise is the mean over hashings. One filter of some hundred keys differs from it, by half in one
        // of some 10,000 of these cases; ten times is out of reach.
        prop_assert!(error.extra == 0.0 && error.missing <= 1e-8, "{:?}", error);
    }
}

/// Every way through, at sizes where filters, tables and partitions matter.
#[test]
fn every_strategy_is_taken_and_right() {
    let dir = tempfile::tempdir().unwrap();
    let options = options(dir.path(), b'\n');
    let distinct = lines(0..40_000);
    let repeats = [&distinct[..], &lines(20_000..50_000), &distinct].concat();
    let few = lines(0..100).repeat(300);
    let all = [false, true].into_iter().flat_map(|repeated| {
        [false, true].map(move |counted| Ask { repeated, counted, except: false })
    });
    let mut seen = HashSet::new();
    for ask in all.flat_map(|ask| [ask, Ask { except: true, ..ask }]) {
        for bytes in [
            vec![distinct.clone()],
            vec![repeats.clone(), lines(30_000..60_000)],
            vec![few.clone(), lines(90..95)],
        ] {
            for rest in [40_000, 400_000, 4_000_000] {
                for threads in [1, 3] {
                    let files = Files {
                        inputs: bytes.clone(),
                        separator: b'\n',
                        budget: Budget { rest, ..cramped(threads) },
                    };
                    let inputs = files.write(dir.path());
                    let job = job(&inputs, ask, files.budget, &options);
                    let strategy = job.plan().unwrap().strategy;
                    let (found, report) = run(&job);
                    let expected = model(&files.inputs, b'\n', ask);
                    assert!(found == expected, "{strategy:?} {ask:?} {report:?}");
                    seen.insert((strategy == DistinctStrategy::Filter, report.bytes_spilled > 0));
                }
            }
        }
    }
    assert_eq!(seen.len(), 4, "with filters and without, with partitions and without");
}

#[test]
fn no_inputs_have_no_lines() {
    let dir = tempfile::tempdir().unwrap();
    let options = options(dir.path(), b'\n');
    for fpp in [None, Some(0.01)] {
        for job in [Distinct::lines(&[], &options), Distinct::except(&[], &options)] {
            let (found, report) = run(&job.unwrap().with_error(fpp));
            assert!(found.is_empty() && report.lines == 0, "{report:?}");
        }
    }
}

#[test]
fn few_different_lines_take_one_pass() {
    let dir = tempfile::tempdir().unwrap();
    let options = options(dir.path(), b'\n');
    let inputs = [input(dir.path(), "few", &lines(0..500).repeat(200))];
    let budget = Budget { rest: 600_000, ..cramped(2) };
    let job = job(&inputs, Ask::default(), budget, &options);
    let plan = job.plan().unwrap();
    assert_eq!((plan.strategy, plan.passes), (DistinctStrategy::Table, 1));
    assert!((400..600).contains(&plan.distinct.unwrap()), "{plan:?}");
    assert_eq!(run(&job).1.passes, 1);
}

#[test]
fn the_plan_names_passes_and_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let options = options(dir.path(), b'\n');
    let inputs =
        [input(dir.path(), "a", &lines(0..30_000)), input(dir.path(), "b", &lines(25_000..55_000))];
    let budget = Budget { rest: 3_000_000, ..cramped(2) };
    for (counted, passes) in [(false, 3), (true, 4)] {
        let job = job(&inputs, Ask { except: true, counted, repeated: false }, budget, &options);
        let (plan, (_, report)) = (job.plan().unwrap(), run(&job));
        assert_eq!(plan.strategy, DistinctStrategy::Filter);
        assert_eq!((plan.passes, plan.bytes_read), (passes, report.bytes_read), "{report:?}");
        assert_eq!(plan.passes, report.passes);
    }
}

#[test]
fn a_line_set_aside_knows_nothing_of_the_table() {
    // All lines collide in the partition's table, and half of them are excluded.
    let dir = tempfile::tempdir().unwrap();
    let options = options(dir.path(), b'\n');
    let bytes = [lines(0..20_000).repeat(2), lines(10_000..20_000)];
    let inputs = [input(dir.path(), "a", &bytes[0]), input(dir.path(), "b", &bytes[1])];
    let ask = Ask { except: true, ..Ask::default() };
    let (found, report) = run(&job(&inputs, ask, Budget { rest: 30_000, ..cramped(2) }, &options));
    assert!(found == lines(0..10_000));
    assert!(report.bytes_spilled > 0);
}

/// Where samples are taken lines are long, elsewhere short: far more than estimated.
fn hard_to_estimate(first: u64) -> Vec<u8> {
    const SAMPLE: usize = 32 << 10;
    let mut bytes = Vec::new();
    let mut number = first;
    for _ in 0..15 {
        bytes.extend_from_slice(
            &[&[b'x'; SAMPLE][..], number.to_string().as_bytes(), b"\n"].concat(),
        );
        number += 1;
        let end = bytes.len() + 3 * SAMPLE;
        while bytes.len() < end {
            bytes.extend_from_slice(format!("{number:x}\n").as_bytes());
            number += 1;
        }
    }
    [bytes, vec![b'y'; SAMPLE]].concat()
}

#[test]
fn the_rate_holds_when_lines_are_more_than_estimated() {
    let dir = tempfile::tempdir().unwrap();
    let options = options(dir.path(), b'\n');
    let bytes = [hard_to_estimate(1 << 30), hard_to_estimate((1 << 30) + 200_000)];
    let inputs = [input(dir.path(), "a", &bytes[0]), input(dir.path(), "b", &bytes[1])];
    let budget = Budget { rest: 1 << 26, ..cramped(2) };
    for except in [false, true] {
        let ask = Ask { except, ..Ask::default() };
        let job = job(&inputs, ask, budget, &options).with_error(Some(1e-9));
        let (plan, (found, report)) = (job.plan().unwrap(), run(&job));
        assert!(report.lines > 3 * plan.lines.iter().sum::<u64>(), "{plan:?} {report:?}");
        assert!(report.error.unwrap().missing <= 1e-9, "{report:?}");
        assert!(found == model(&bytes, b'\n', ask), "{except}");
        // What is enough for the estimate need not be for the lines.
        let few = Distinct { budget: Budget { rest: 2_000_000, ..budget }, ..job };
        few.plan().unwrap();
        let error = few.run(&mut Vec::new()).unwrap_err();
        assert!(matches!(error, Error::Memory { .. }), "{error}");
    }
}
