//! `--prefixes`: filters of networks or domains, and how lists of them are read.

use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Result, bail};
use umbel::{AnyFilter, Filter as _, KeyDescription, Plan, Scheme};
use umbel_net::prefixes::{Family, PrefixKeys, text};
use umbel_numbers::{Count, counted};
use umbel_sets::{Bad, Input, KeyBatch, Options, Records, SpoolWriter, room_left};

use super::{BuildArgs, goal};
use crate::choices::Choice;
use crate::report::say;

/// What a list is of.
pub(in crate::verbs) const FAMILIES: [Choice<Family>; 2] = [
    ("ip", "IP addresses, in networks such as 192.0.2.0/24", Family::Ip),
    ("domain", "Hosts, under domains", Family::Domain),
];

/// What lists of prefixes have no use for: their addresses and names are normalized, and any field is looked up.
pub(in crate::verbs) const NO_PREFIXES: [&str; 5] =
    ["ignore_case", "trim", "crlf", "normalize", "names"];

/// Rules of a block list that are not about whole domains.
static OTHER_RULES: AtomicU64 = AtomicU64::new(0);

/// How the lines of a list are read, with other rules counted.
pub(in crate::verbs) fn listed(family: Family) -> text::Read {
    match family {
        Family::Domain => |line, out| {
            let is_other = text::is_other_rule(line);
            OTHER_RULES.fetch_add(is_other.into(), Ordering::Relaxed);
            Ok(text::listed_domain(line, out)?)
        },
        family => text::of_list(family),
    }
}

/// Says how many rules of a list were left out.
pub(in crate::verbs) fn tell_other_rules(name: &str) {
    let count = OTHER_RULES.load(Ordering::Relaxed);
    if count > 0 {
        say(&format!(
            "umbel: warning: {name}: {} left out, which {} not about whole domains",
            counted(count, "rule"),
            if count == 1 { "is" } else { "are" }
        ));
    }
}

/// Passes the entries of lists to `see`; returns the number of those that `--bad skip` leaves out, after a warning.
pub(in crate::verbs) fn read(
    inputs: &[Input],
    options: &Options,
    see: impl FnMut(&KeyBatch<'_>) -> Result<(), umbel_sets::Error> + Send,
) -> Result<u64> {
    let room = room_left(0, &options.resources)?;
    let bad = umbel_sets::keys(inputs, room, options, see)?.bad;
    // Only an error knows its place, so a list is read again up to the first one.
    let mut strict = options.clone();
    strict.form.bad = Bad::Refuse;
    let other_rules = OTHER_RULES.load(Ordering::Relaxed);
    if bad > 0
        && let Err(first) = umbel_sets::keys(inputs, room, &strict, |_| Ok(()))
    {
        OTHER_RULES.store(other_rules, Ordering::Relaxed);
        let first = first.to_string();
        let (first, _remedy) = first.rsplit_once("; ").unwrap_or((&first, ""));
        say(&format!("umbel: warning: list entries skipped: {}, the first in {first}", Count(bad)));
    }
    Ok(bad)
}

/// The entries of a line: a line of domains may have several.
pub(in crate::verbs) fn entries(family: Family, line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let several = family == Family::Domain;
    line.split(move |&byte| several && byte == b'\n')
}

/// How one entry is read.
pub(in crate::verbs) fn one_entry(family: Family) -> text::Read {
    match family {
        Family::Domain => |line, out| {
            let start = out.len();
            let read = text::listed_domain(line, out)?;
            match entries(Family::Domain, &out[start..]).count() {
                1 => Ok(read),
                _ => {
                    out.truncate(start);
                    Err("several names in one field; give each its own record".into())
                }
            }
        },
        family => text::of_list(family),
    }
}

/// The lines of a list of domains with one entry each, and the number of those left out.
pub(in crate::verbs) fn one_a_line(
    inputs: Vec<Input>,
    family: Family,
    options: &Options,
) -> Result<(Vec<Input>, u64)> {
    let Some(name) = inputs.first().map(|input| input.name().to_owned()) else {
        return Ok((inputs, 0));
    };
    if family != Family::Domain || !matches!(options.form.records, Records::Lines(_)) {
        return Ok((inputs, 0));
    }
    let mut rows = SpoolWriter::new(&name, options)?;
    let mut whole = options.clone();
    whole.form.normalization.read = Some(listed(family));
    let bad = read(&inputs, &whole, |lines| {
        lines.iter().flat_map(|line| entries(family, line)).try_for_each(|entry| rows.row(entry))
    })?;
    tell_other_rules(&name);
    Ok((vec![rows.finish()?], bad))
}

/// Refuses what `umbel filter build --prefixes` cannot do.
pub(super) fn check_build(args: &BuildArgs) -> Result<()> {
    let kind = args.kind.kind();
    if kind.rows() || kind == umbel::Kind::Cascade {
        bail!("--prefixes: {kind} filters cannot hold prefixes; choose another kind");
    }
    if args.work.records.key.len() > 1 {
        bail!("--prefixes reads one field, and --key names several; name one");
    }
    Ok(())
}

/// The plan for a filter of the prefixes in `inputs`, whose look-ups together have the rate given, and its description.
pub(super) fn plan(
    args: &BuildArgs,
    inputs: &[Input],
    family: Family,
    options: &Options,
) -> Result<(Plan, KeyDescription)> {
    let (mut keys, mut count) = (PrefixKeys::new(family), 0);
    read(inputs, options, |lines| {
        let all: Vec<_> = lines.iter().collect();
        keys.insert_all(&all);
        count += all.len() as u64;
        Ok(())
    })?;
    let count = args.keys.map_or(count.max(1), |keys| keys.0);
    let fpp = keys.fpp_for(goal::fpp_of(args));
    let plan = match (args.size, args.fpp, args.keys) {
        (Some(size), Some(_), None) => goal::for_size(args, fpp, size)?,
        _ => goal::for_count(args, count, fpp)?,
    };
    Ok((plan, keys.describe()?))
}

/// Merges two filters of prefixes of one family, with the lengths of both; returns false if they are of something else.
pub(in crate::verbs) fn join(
    left: &mut AnyFilter<Scheme>,
    right: &AnyFilter<Scheme>,
    intersect: bool,
) -> Result<bool> {
    let keys = (PrefixKeys::of(left.description())?, PrefixKeys::of(right.description())?);
    let (Some(mut keys), Some(others)) = keys else { return Ok(false) };
    if intersect {
        bail!(
            "--intersect: filters of prefixes cannot be intersected, because an entry of one list may contain entries of the other; query both lists, one after the other"
        );
    }
    keys.union(&others);
    // The descriptions differ in the lengths; if one is empty, the library does not compare them.
    left.describe(KeyDescription::default());
    left.union(right)?;
    left.describe(keys.describe()?);
    Ok(true)
}
