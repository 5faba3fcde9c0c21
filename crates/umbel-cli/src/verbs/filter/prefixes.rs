//! `--prefixes`: filters of networks or domains, and how lists of them are read.

use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Result, bail};
use umbel::{AnyFilter, Filter as _, KeyDescription, Plan, Scheme};
use umbel_net::prefixes::{Family, PrefixKeys, text};
use umbel_numbers::counted;
use umbel_sets::{Input, Options, Records, SpoolWriter, room_left};

use super::build::BuildArgs;
use super::goal;
use crate::args::Voice;
use crate::named::Choice;
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
pub(in crate::verbs) fn tell_other_rules(name: &str, voice: Voice) {
    let count = OTHER_RULES.load(Ordering::Relaxed);
    if count > 0 && !voice.quiet {
        say(&format!(
            "umbel: warning: {name}: {} left out, which {} not about whole domains",
            counted(count, "rule"),
            if count == 1 { "is" } else { "are" }
        ));
    }
}

/// The entries of a line: a line of domains may have several.
pub(in crate::verbs) fn entries(family: Family, line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let several = family == Family::Domain;
    line.split(move |&byte| several && byte == b'\n')
}

/// How one entry is read.
pub(super) fn one_entry(family: Family) -> text::Read {
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

/// The lines of a list of domains with one entry each.
pub(super) fn one_a_line(
    inputs: Vec<Input>,
    family: Family,
    voice: Voice,
    options: &Options,
) -> Result<Vec<Input>> {
    let Some(name) = inputs.first().map(|input| input.name().to_owned()) else {
        return Ok(inputs);
    };
    if family != Family::Domain || !matches!(options.form.records, Records::Lines(_)) {
        return Ok(inputs);
    }
    let mut rows = SpoolWriter::new(&name, options)?;
    let mut read = options.clone();
    read.form.normalization.read = Some(listed(family));
    umbel_sets::keys(&inputs, room_left(0, &read.resources)?, &read, |lines| {
        lines.iter().flat_map(|line| entries(family, line)).try_for_each(|entry| rows.row(entry))
    })?;
    tell_other_rules(&name, voice);
    Ok(vec![rows.finish()?])
}

/// Refuses what `umbel filter build --prefixes` cannot do.
pub(super) fn check_build(args: &BuildArgs) -> Result<()> {
    let kind = args.kind.kind();
    if kind.rows() || kind == umbel::Kind::Cascade {
        bail!("--prefixes: a filter of the kind {kind} cannot hold prefixes; choose another kind");
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
    umbel_sets::keys(inputs, room_left(0, &options.resources)?, options, |lines| {
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
pub(super) fn join(
    left: &mut AnyFilter<Scheme>,
    right: &AnyFilter<Scheme>,
    intersect: bool,
) -> Result<bool> {
    let keys = (PrefixKeys::of(left.description())?, PrefixKeys::of(right.description())?);
    let (Some(mut keys), Some(others)) = keys else { return Ok(false) };
    if intersect {
        bail!(
            "--intersect: a network or domain of one list may contain some of the other, so what both contain is no filter of prefixes; query both lists, one after the other"
        );
    }
    keys.union(&others);
    // The descriptions differ in the lengths; if one is empty, the library does not compare them.
    left.describe(KeyDescription::default());
    left.union(right)?;
    left.describe(keys.describe()?);
    Ok(true)
}
