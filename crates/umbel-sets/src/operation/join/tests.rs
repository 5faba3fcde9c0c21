use std::collections::HashSet;

use proptest::prelude::*;
use tempfile::TempDir;

use super::settle::ALONE;
use super::*;
use crate::Records;
use crate::spill::SpillWriter;
use crate::testing::{budget, cramped, input, long, rests, threads, workplace_of};

impl Join<'_> {
    fn run_planned(&self, out: &mut (dyn io::Write + Send)) -> Result<Report, Error> {
        self.run(&self.plan()?, out)
    }

    /// Runs with this many slices, whether they fit or not, with a plan for none.
    fn run_in(&self, slices: u64, out: &mut (dyn io::Write + Send)) -> Result<Report, Error> {
        let seen = umbel::Plan::for_memory(umbel::Kind::Blocked, 100, 512).unwrap();
        match slices {
            0 => self.run_planned(out),
            _ => {
                let steps = Steps::Join { seen: Some(seen), slices };
                self.run(&SetPlan { steps, ..self.plan()? }, out)
            }
        }
    }
}

/// Rows of two tables: a key, and another column.
type Rows = Vec<(u8, String)>;

#[derive(Clone, Debug)]
struct Case {
    left: Rows,
    right: Rows,
    unpaired: Unpaired,
    partners: Partners,
    format: u8,
    slices: u64,
    budget: Budget,
}

fn rows(keys: u8) -> impl Strategy<Value = Rows> {
    let value = prop_oneof![
        4 => "[a-c,\"\n]{0,6}",
        1 => Just("long ".repeat(40)),
    ];
    // Some keys have many rows.
    let key = prop_oneof![2 => 0..keys, 1 => 0..3u8];
    prop::collection::vec((key, value), 0..long(600, 250))
}

fn case() -> impl Strategy<Value = Case> {
    let unpaired = prop_oneof![Just(Unpaired::None), Just(Unpaired::Left), Just(Unpaired::Both)];
    let partners = prop_oneof![
        3 => Just(Partners::All),
        2 => Just(Partners::First),
        1 => Just(Partners::Unique),
    ];
    let budgets = prop_oneof![
        1 => threads().prop_map(cramped),
        1 => (threads(), rests()).prop_map(|(threads, rest)| budget(threads, 1 << 16, rest)),
        4 => (threads(), 1_000..20_000u64).prop_map(|(threads, rest)| budget(threads, 512, rest)),
    ];
    let formats = (0..3u8, 0..9u64);
    (prop_oneof![Just(6u8), Just(120)], formats, unpaired, partners, budgets).prop_flat_map(
        |(keys, (format, slices), unpaired, partners, budget)| {
            (rows(keys), rows(keys)).prop_map(move |(left, right)| Case {
                left,
                right,
                unpaired,
                partners,
                format,
                slices,
                budget,
            })
        },
    )
}

/// The pairs of a nested loop.
fn pairs(case: &Case) -> Vec<(u8, Option<&str>, Option<&str>)> {
    let most = if case.partners == Partners::First { 1 } else { usize::MAX };
    let mut all = Vec::new();
    for (key, left) in &case.left {
        let others = case.right.iter().filter(|(other, _)| other == key).take(most);
        let before = all.len();
        all.extend(others.map(|(_, right)| (*key, Some(&left[..]), Some(&right[..]))));
        if all.len() == before && case.unpaired != Unpaired::None {
            all.push((*key, Some(left), None));
        }
    }
    if case.unpaired == Unpaired::Both {
        let keys: HashSet<u8> = case.left.iter().map(|(key, _)| *key).collect();
        let alone = case.right.iter().filter(|(key, _)| !keys.contains(key));
        all.extend(alone.map(|(key, right)| (*key, None, Some(&right[..]))));
    }
    all
}

fn quoted(value: &str) -> String {
    let mut bytes = value.as_bytes().to_vec();
    crate::quote(&mut bytes, 0, b',');
    String::from_utf8(bytes).unwrap()
}

/// Both files in a format, and the result.
fn files(case: &Case) -> (Records, [String; 2], String) {
    let json = |value: &str| serde_json::to_string(value).unwrap();
    let word = |value: &str| format!("{:x}", value.len() * 256 + value.len());
    let left = |key: u8, value: &str| match case.format {
        0 => format!("{key},{}\n", quoted(value)),
        1 => format!("{{\"id\":{key}, \"a\":{} }}\n", json(value)),
        _ => format!("  {}\t{key}\n", word(value)),
    };
    let right = |key: u8, value: &str| match case.format {
        0 => format!("{},{key}\n", quoted(value)),
        1 => format!("{{\"b\": {},\"id\":{key}}}\n", json(value)),
        _ => format!("{} {key}\n", word(value)),
    };
    let both = |(key, a, b): (u8, Option<&str>, Option<&str>)| match (case.format, a, b) {
        (0, ..) => {
            let [a, b] = [a, b].map(|value| quoted(value.unwrap_or_default()));
            format!("{key},{a},{b}\n")
        }
        (1, Some(a), Some(b)) => {
            format!("{{\"id\":{key}, \"a\":{},\"b\":{}}}\n", json(a), json(b))
        }
        (1, Some(a), None) => left(key, a),
        (1, None, b) => right(key, b.unwrap()),
        _ => {
            let words = [a, b].into_iter().flatten().map(|value| format!(" {}", word(value)));
            format!("{key}{}\n", words.collect::<String>())
        }
    };
    let key = vec!["id".to_owned()];
    let (records, header) = match case.format {
        0 => (Records::Csv { delimiter: b',', header: true, key, raw: false }, true),
        1 => (Records::JsonLines { key, raw: false }, false),
        _ => (Records::Fields { end: b'\n', key: vec!["2".to_owned()] }, false),
    };
    let of = |names: &str, rows: String| if header { names.to_owned() + &rows } else { rows };
    let lefts = of("id,a\n", case.left.iter().map(|(key, value)| left(*key, value)).collect());
    let rights = of("b,id\n", case.right.iter().map(|(key, value)| right(*key, value)).collect());
    let joined = of("id,a,b\n", pairs(case).into_iter().map(both).collect());
    (records, [lefts, rights], joined)
}

proptest! {
    #[test]
    fn joins_are_those_of_a_nested_loop(case in case()) {
        let (records, [left, right], expected) = files(&case);
        let (dir, mut options) = workplace_of(records);
        let inputs = sides(&dir, &left, &right);
        options.resources.threads = case.budget.threads;
        let join = Join::new(&inputs, &options)
            .unwrap()
            .with_unpaired(case.unpaired)
            .with_partners(case.partners)
            .with_budget(case.budget);
        let mut out = Vec::new();
        let partners = |key| case.right.iter().filter(|(other, _)| *other == key).count();
        if case.partners == Partners::Unique && case.left.iter().any(|(key, _)| partners(*key) > 1) {
            let refused = matches!(join.run_in(case.slices, &mut out), Err(Error::Repeated { .. }));
            prop_assert!(refused);
            return Ok(());
        }
        let report = join.run_in(case.slices, &mut out).unwrap();
        prop_assert_eq!(String::from_utf8(out).unwrap(), expected);
        let count = |wanted: [bool; 2]| {
            let is = |pair: &&(_, Option<&str>, Option<&str>)| [pair.1, pair.2].map(|side| side.is_some()) == wanted;
            pairs(&case).iter().filter(is).count() as u64
        };
        let matched = case.left.iter().filter(|(key, _)| partners(*key) > 0).count();
        let joined = Joined {
            pairs: count([true, true]),
            left_matched: matched as u64,
            left_unmatched: (case.left.len() - matched) as u64,
            right_unmatched: (case.unpaired == Unpaired::Both).then(|| count([false, true])),
        };
        prop_assert_eq!((report.found, report.joined), (pairs(&case).len() as u64, Some(joined)));
        let mut none = Vec::new();
        let total = join.only_counted().run_in(case.slices, &mut none).unwrap();
        prop_assert_eq!((total.found, total.joined, none), (report.found, report.joined, vec![]));
    }
}

/// Plans of other joins, or changed: filters that do not fit are refused before work begins; too few keys cost time.
#[test]
fn any_plan_gives_the_answer_or_is_refused() {
    let (_dir, inputs, options) = tsv("1\ta\n2\tb\n", "2\tc\n3\td\n");
    let join = Join::new(&inputs, &options).unwrap().with_budget(budget(1, 512, 1 << 20));
    let plan = join.plan().unwrap();
    for (bytes, fits) in [(1 << 10, true), (2 << 20, false), (1 << 40, false)] {
        let seen = Some(umbel::Plan::for_memory(umbel::Kind::Blocked, 1, bytes).unwrap());
        let steps = Steps::Join { seen, slices: 1 };
        let mut out = Vec::new();
        match join.run(&SetPlan { steps, ..plan.clone() }, &mut out) {
            Ok(_) => assert!(fits && out == b"2\tb\tc\n"),
            Err(error) => assert!(matches!(error, Error::Memory { .. }) && !fits, "{error}"),
        }
    }
}

/// Rows of the right file alone are found by another operation, which reads both files again.
#[test]
fn every_pass_is_planned_and_reported() {
    let (_dir, inputs, options) = tsv("1\ta\n2\tb\n", "2\tc\n3\td\n");
    for (unpaired, passes) in [(Unpaired::None, 2), (Unpaired::Left, 2), (Unpaired::Both, 4)] {
        let join = Join::new(&inputs, &options).unwrap().with_unpaired(unpaired);
        let (plan, before) = (join.plan().unwrap(), options.resources.progress.total());
        let report = join.run(&plan, &mut Vec::new()).unwrap();
        assert_eq!([plan.passes, report.passes], [passes; 2]);
        let expected = options.resources.progress.total() - before;
        assert_eq!([plan.bytes_read, report.bytes_read, expected], [8 * u64::from(passes); 3]);
    }
}

/// A folder, both inputs of a join in it, and the options to join them by their first column.
fn tsv(left: &str, right: &str) -> (TempDir, [Input; 2], Options) {
    let key = vec!["1".to_owned()];
    let (dir, options) = workplace_of(Records::Tsv { delimiter: b'\t', header: false, key });
    let inputs = sides(&dir, left, right);
    (dir, inputs, options)
}

/// Both inputs of a join.
fn sides(dir: &TempDir, left: &str, right: &str) -> [Input; 2] {
    [("left", left), ("right", right)].map(|(name, rows)| input(dir.path(), name, rows.as_bytes()))
}

/// If the right rows with a partner need a few times the memory, only these are spilled, and both inputs read as often.
#[test]
fn every_slice_is_planned_and_reported() {
    let rows =
        |name: &str| (0..100_000).map(|i| format!("{i:06}\tof the {name}\n")).collect::<String>();
    let [left, right] = ["left", "right"].map(rows);
    let (_dir, inputs, options) = tsv(&left, &right);
    let expected: String = left.lines().map(|row| format!("{row}\tof the right\n")).collect();
    for threads in [1, 3] {
        let join =
            Join::new(&inputs, &options).unwrap().with_budget(budget(threads, 1 << 16, 2 << 20));
        let (plan, before) = (join.plan().unwrap(), options.resources.progress.total());
        let mut out = Vec::new();
        let report = join.run(&plan, &mut out).unwrap();
        assert!(out == expected.as_bytes());
        let Steps::Join { slices, .. } = plan.steps else { unreachable!() };
        assert!((2..7).contains(&slices), "{plan:?}");
        // Each is stored with a place, and its key once more.
        let most = right.len() as u64 * 2;
        let read = (2 * left.len() + right.len()) as u64;
        let planned = (plan.bytes_read, plan.bytes_spilled, plan.passes);
        for (bytes, spilled, passes) in
            [planned, (report.bytes_read, report.bytes_spilled, report.passes)]
        {
            assert!(most / 3 < spilled && spilled < most, "{spilled} bytes");
            assert_eq!((bytes - spilled, passes), (read, 3));
        }
        let expected = options.resources.progress.total() - before;
        assert_eq!(expected, plan.bytes_read);
    }
}

/// Rows without a partner by the filter of spilled keys are not spilled.
#[test]
fn rows_without_a_partner_are_not_spilled() {
    let keys = |range: std::ops::Range<u32>, value: &str| -> String {
        range.map(|key| format!("{key}\t{value}\n")).collect()
    };
    let paired = keys(0..150_000, "v");
    let alone = keys(1_000_000..1_020_000, &"alone ".repeat(30));
    let spilled = |left: &str| {
        let (_dir, inputs, options) = tsv(left, &paired);
        let join = Join::new(&inputs, &options).unwrap().with_budget(budget(2, 1 << 16, 3 << 20));
        // Without temporary files, the right rows would be read once for each slice.
        let plan = join.plan().unwrap();
        let steps = Steps::Join { seen: plan.filter().copied(), slices: 1 };
        let plan = SetPlan { steps, ..plan };
        let report = join.run(&plan, &mut io::sink()).unwrap();
        assert_eq!(report.found, 150_000);
        report.bytes_spilled
    };
    let more = spilled(&(paired.clone() + &alone)) - spilled(&paired);
    assert!(more < alone.len() as u64 / 20, "{more} bytes");
}

/// A list of many rows is written to disk a few times, not with each of the rows it joins.
#[test]
fn a_long_list_is_not_spilled_for_each_row() {
    let rows = |name: &str| (0..500).map(|i| format!("key\t{name} {i}\n")).collect::<String>();
    let (_dir, inputs, options) = tsv(&rows("left"), &rows("right"));
    let join = Join::new(&inputs, &options).unwrap().with_budget(budget(1, 512, 20_000));
    let report = join.run_planned(&mut io::sink()).unwrap();
    assert_eq!(report.found, 500 * 500);
    // Each of them, joined, has 18 bytes or more.
    assert!(report.bytes_spilled < 2 * report.found, "{report:?}");
}

/// The last pass over the left rows can use the memory left by the table.
#[test]
fn a_long_row_fits_next_to_the_table_or_is_refused() {
    let budget = budget(1, 512, 1 << 20);
    // A row needs its length and two copies in keys, in a buffer that grows by quarters.
    let room = budget.long_line() + budget.table(0) / 2;
    for (length, fits) in [(room as usize / 3 / 5 * 4 - 1_000, true), (room as usize / 3, false)] {
        let row = format!("1\t{}", "x".repeat(length));
        let (_dir, inputs, options) = tsv(&format!("1\ta\n{row}\n"), "1\tb\n");
        let mut out = Vec::new();
        let join = Join::new(&inputs, &options).unwrap().with_budget(budget);
        match join.run_planned(&mut out) {
            Ok(_) => assert!(fits && out == format!("1\ta\tb\n{row}\tb\n").as_bytes()),
            Err(Error::LongLine { .. }) => assert!(!fits),
            Err(error) => panic!("{error}"),
        }
    }
}

/// The results of a row come from several blocks of its partners.
#[test]
fn partners_from_several_blocks_are_one_row_s() {
    let (_dir, inputs, options) = tsv("1\ta\n2\tb\n", "2\tc\n");
    for (partners, expected) in
        [(Partners::All, Some("x\ny\n")), (Partners::First, Some("x\n")), (Partners::Unique, None)]
    {
        let join = Join::new(&inputs, &options).unwrap().with_partners(partners);
        let scanner = Scanner::within(join.budget, &options, LineHasher::random()).unwrap();
        let beside = scanner.beside(&inputs, [None; 2]).unwrap();
        let disk = Disk::new(&options.resources.tmp);
        let mut runs = Runs::new(&disk, 1 << 12);
        for (count, row) in [(1, b"x\n"), (1, b"y\n"), (ALONE, b"z\n")] {
            runs.push(Selected { place: 4, count, row }).unwrap();
            runs.end();
        }
        let lists = SpillWriter::new(&disk, PIECE, Layout::Lines).unwrap().finish().unwrap();
        let (passes, matched) = (Passes::new(&inputs), AtomicU64::new(0));
        let (left, rest) = (Tally::default(), 1);
        let (join, inputs, beside) = (&join, &inputs, &beside);
        let joining = Joining { join, inputs, rest, left, beside, disk, passes, scanner, matched };
        let mut out = Vec::new();
        let result = joining.write(runs, &lists, &mut Sink::new(&mut out, b'\n'));
        match (result, expected) {
            (Ok(()), Some(expected)) => assert_eq!(String::from_utf8(out).unwrap(), expected),
            (Err(Error::Repeated { key, .. }), None) => assert_eq!(key, "2"),
            (result, _) => panic!("{result:?}"),
        }
        assert_eq!(joining.matched.into_inner(), 1);
    }
}
