//! Building a filter of two lists: the hashes of all lines are collected in memory, each once, then the levels are
//! built.

use umbel::{Cascade, Plan};

use super::count::count;
use crate::error::Place;
use crate::prelude::*;

/// Builds a cascade that matches all lines of `include` and none of `exclude`. `plan` maps the numbers of included
/// and excluded lines to a plan; it is called once with all lines counted, then with different ones.
///
/// Memory: 16 bytes for each line of both lists, some 100 for each excluded line that passes level 1 while the
/// others are built, and the filter. Reads every input twice.
///
/// # Errors
/// Read errors; [`Error::Memory`], with a cap that suffices; [`Error::BothLists`] with a line that is on both
/// lists; errors of `plan`; more lines than planned.
pub fn build_lists(
    include: &[Input],
    exclude: &[Input],
    plan: &dyn Fn(u64, u64) -> Result<Plan, umbel::PlanError>,
    hasher: KeyHasher,
    options: &Options,
) -> Result<(Cascade, Report), Error> {
    let scanner = Scanner::new(options, hasher.clone())?;
    let mut report = Report::default();
    let lines = [count(include, options)?, count(exclude, options)?];
    let most = plan(lines[0], lines[1])?;
    let caught = (lines[1] as f64 * most.predicted_fpp()).ceil() as u64;
    // By its rate, hardly more included lines pass level 1 than it holds, and at most half. Collecting them one by one
    // takes up to three times their size.
    let passing = caught.min(lines[0] / 2 + 1);
    let needed = [(lines[0], 16), (lines[1], 16), (caught, 48), (passing, 48), (most.bytes(), 3)]
        .into_iter()
        .fold(0, |sum: u64, (count, bytes)| sum.saturating_add(count.saturating_mul(bytes)));
    let room = scanner.budget.left(needed)?;
    let mut gather = |inputs: &[Input], lines: u64| {
        let mut hashes = Vec::with_capacity(lines as usize);
        let gather = |lines: &Lines<'_>| {
            hashes.extend_from_slice(lines.hashes());
            Ok(())
        };
        report.add(scanner.read(inputs, &Visit::in_any_order(room, gather))?);
        // They were counted before.
        report.pass(inputs);
        hashes.sort_unstable();
        hashes.dedup();
        Ok::<_, Error>(hashes)
    };
    let (included, excluded) = (gather(include, lines[0])?, gather(exclude, lines[1])?);
    let plan = plan(included.len() as u64, excluded.len() as u64)?;
    // Both are in order: found without additional memory, and before the levels are built.
    let mut others = excluded.iter().peekable();
    let common = included.iter().find(|hash| {
        while others.next_if(|other| other < hash).is_some() {}
        others.peek() == Some(hash)
    });
    if let Some(&hash) = common {
        let (at, line) = find(&scanner, include, hash)?;
        let (Place { name: other, .. }, _) = find(&scanner, exclude, hash)?;
        return Err(scanner.located(Error::BothLists { at, line, other }, include));
    }
    Ok((Cascade::build_with_plan(&plan, &included, &excluded, hasher)?, report))
}

/// The first line with this hash: its place and its key.
fn find(scanner: &Scanner<'_>, inputs: &[Input], hash: KeyHash) -> Result<(Place, Vec<u8>), Error> {
    for input in inputs {
        let mut found = None;
        let find = |lines: &Lines<'_>| {
            if let Some(i) = lines.hashes().iter().position(|other| *other == hash) {
                found.get_or_insert_with(|| (lines.at(i), lines.key(i).to_vec()));
            }
            Ok(())
        };
        let visit = Visit::in_order(scanner.budget.rest / 2, find);
        scanner.scan(std::slice::from_ref(input), 0..1, &visit)?;
        drop(visit);
        if let Some(found) = found {
            return Ok(found);
        }
    }
    unreachable!("inputs are checked to be unchanged")
}
