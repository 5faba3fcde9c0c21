//! The plan of a filter that `umbel filter build` makes, from the options that set its keys, rate and size.

use super::BuildArgs;
use anyhow::{Result, bail};
use umbel::Plan;
use umbel_numbers::Size;

const DEFAULT_FPP: f64 = 0.01;

/// The lowest rate that a size alone plans for: there is room for more keys then.
const LEAST_FPP: f64 = 1e-9;

/// The plan, when it does not depend on how many lines there are.
pub(super) fn without_lines(args: &BuildArgs) -> Result<Option<Plan>> {
    let fpp = args.fpp.map(|fpp| fpp.0);
    Ok(match (args.keys, fpp, args.size) {
        (Some(_), Some(_), Some(_)) => {
            bail!("--keys, --fpp and --size: two of them determine the third; omit one")
        }
        (Some(keys), _, None) => Some(for_keys(args, keys.0, fpp_of(args))?),
        (Some(keys), None, Some(size)) => {
            Some(Plan::for_memory(args.kind, keys.0, size_of_plan(args, size))?)
        }
        (None, Some(fpp), Some(size)) => Some(for_size(args, fpp, size)?),
        (None, _, _) => None,
    })
}

/// The rate given.
pub(super) fn fpp_of(args: &BuildArgs) -> f64 {
    args.fpp.map_or(DEFAULT_FPP, |fpp| fpp.0)
}

/// The plan for so many keys at a rate.
fn for_keys(args: &BuildArgs, keys: u64, fpp: f64) -> Result<Plan> {
    umbel_report::advice::check_fpp(keys, fpp)?;
    Ok(match args.ship {
        Some(probes) => Plan::for_sending(keys, fpp, probes)?,
        None => Plan::for_keys(args.kind, keys, fpp)?,
    })
}

/// The plan for as many keys as a size holds at a rate.
pub(super) fn for_size(args: &BuildArgs, fpp: f64, size: Size) -> Result<Plan> {
    Ok(Plan::for_capacity(args.kind, fpp, size_of_plan(args, size))?)
}

/// The part of the size of the whole filter that is for a plan.
fn size_of_plan(args: &BuildArgs, size: Size) -> u64 {
    args.kind.share(args.work.records.key.len(), size.0)
}

/// The plan for `count` keys: those of the lines, or of their prefixes, looked up together at the rate given. `fpp` is the
/// rate of each.
pub(super) fn for_count(args: &BuildArgs, count: u64, fpp: f64) -> Result<Plan> {
    match args.size {
        Some(size) => {
            let size = size_of_plan(args, size);
            let plan = Plan::for_memory(args.kind, count, size)?;
            // A size that is large for the lines does not ask for a rate such as 1e-30, which more lines would break.
            match plan.fpp() < LEAST_FPP && !args.kind.kind().built_at_once() {
                true => Ok(Plan::for_capacity(args.kind, LEAST_FPP, size)?),
                false => Ok(plan),
            }
        }
        None => for_keys(args, count, fpp),
    }
}
