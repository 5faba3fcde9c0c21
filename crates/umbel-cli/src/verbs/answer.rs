//! How lines are looked up in a filter of any kind, and how the run ends.

use umbel_sets::{ErrorBound, Options, Query, Report};

use crate::lines::Source;
use crate::verbs::prelude::*;

/// Looks up the lines of all sources.
pub(super) fn each_source(
    query: &mut Query<'_>,
    sources: Vec<Source>,
    options: &Options,
) -> Result<()> {
    let mut each = sources.into_iter();
    each.try_for_each(|source| {
        let room = Ok(query.room());
        source.read(options, room, |lines| Ok(query.read(lines)?))
    })
}

/// A line that was never put in passes wrongly with the chance `rate`; none that was is left out. The other way round,
/// such a line is wrongly left out. Without a rate the answer is exact.
pub(super) fn finish(
    run: Run,
    invert: bool,
    mut report: Report,
    rate: Option<f64>,
) -> Result<Outcome> {
    run.check_keyed(&report)?;
    report.error = rate.map(|rate| match invert {
        true => ErrorBound { extra: 0.0, missing: rate },
        false => ErrorBound { extra: rate, missing: 0.0 },
    });
    run.finish(&report, if invert { "absent" } else { "found" }, None, &[]);
    Ok(if report.found > 0 { Outcome::Done } else { Outcome::Nothing })
}
