//! `--prefixes`: lists of networks and domains, and the addresses and hosts that have a prefix in them.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result, bail};
use umbel::{AnyFilter, Filter as _, KeyDescription, Plan, Scheme, Secret};
use umbel_net::prefixes::{Family, ListBuilder, ListError, PrefixKeys, PrefixList, text};
use umbel_numbers::counted;
use umbel_sets::inputs::{self, NamedInput};
use umbel_sets::{
    Filter, Form, Input, LongestPrefix, Missing, Normalization, Options, Query, Records,
    SpoolWriter, room_left,
};

use super::{answer, explain, goal};
use crate::Outcome;
use crate::args::{BuildArgs, QueryArgs, Voice};
use crate::filters;
use crate::lines::{self, Rows};
use crate::output::{print, write_result};
use crate::report::{Run, say};
use crate::standard;

/// `umbel query --prefixes`.
pub(super) fn look_up(
    args: &QueryArgs,
    family: Family,
    secret: Option<&Secret>,
    mut options: Options,
) -> Result<Outcome> {
    if options.form.missing == Missing::Keep {
        return Err(umbel_sets::Error::KeptWithoutKey.into());
    }
    if options.form.records.key().len() > 1 {
        bail!("--prefixes looks one field up, and --key names several; name one");
    }
    let path = &args.filters().0[0];
    let list = read(path, args, family, secret, &options)?;
    options.form.normalization.read = Some(text::looked_up(family));
    tell_other_rules(&standard::name(path), args.work.voice);
    let options = &options;
    let sources = lines::open(&args.files(), &args.work, Rows::OfAll, options)?;
    if args.work.explain {
        print(explain::prefixes(&list, args.work.voice.json))?;
        return Ok(Outcome::Done);
    }
    let run = Run::start("query", args.work.voice, &options.resources.progress);
    let find = |keys: &[&[u8]], found: &mut [bool]| list.find_all(keys, found);
    let longest: &LongestPrefix<'_> = &|key| list.longest(key);
    let shown = args.show_prefix.then_some(longest);
    let ((), report) = write_result(args.output.to.file(), args.output.total, |out| {
        let mut query = Query::of_list(&find, shown, list.bytes(), args.invert, out, options)?;
        answer::each_source(&mut query, sources, options)?;
        Ok(((), query.finish()?))
    })?;
    answer::finish(run, args, report, list.fpp())
}

/// The list: a filter, or a text.
fn read(
    path: &Path,
    args: &QueryArgs,
    family: Family,
    secret: Option<&Secret>,
    options: &Options,
) -> Result<PrefixList> {
    let name = || standard::name(path);
    let mut file = filters::open_beside(path, options, &args.trust)?;
    if is_filter(&mut file.file).with_context(name)? {
        let filter = filters::read(&file, path, secret, &args.foreign, options)?;
        let list = match filter {
            Filter::Own(filter) => PrefixList::from_filter(filter, family),
            Filter::Foreign(_) => {
                let filter = "keys of another system".to_owned();
                Err(ListError::Other { filter, wanted: family })
            }
        };
        return list.with_context(name);
    }
    if secret.is_some() {
        bail!("{}: a list of text is not keyed; omit --secret-file", name());
    }
    let sources = inputs::open(vec![NamedInput::Open(name(), file.file)], None, &[])?;
    let inputs = inputs::rereadable(sources, options)?;
    read_text(&inputs, family, options)
}

fn read_text(inputs: &[Input], family: Family, options: &Options) -> Result<PrefixList> {
    let normalization = Normalization { read: Some(listed(family)), ..Normalization::default() };
    let lines = Records::Lines(options.form.records.end());
    let form = Form { normalization, ..lines.into() };
    let options = &Options { form, ..options.clone() };
    let mut list = ListBuilder::new(family);
    umbel_sets::keys(inputs, room_left(0, &options.resources)?, options, |lines| {
        let fits = room_left(list.bytes(), &options.resources).is_ok();
        let entries: Vec<_> = lines.iter().flat_map(|entry| entries(family, entry)).collect();
        list.extend(&entries, fits);
        Ok(())
    })?;
    // Only now the memory for all of them is known.
    room_left(list.bytes(), &options.resources)?;
    Ok(list.build().map_err(umbel_sets::Error::from)?)
}

/// Rules of a block list that are not about whole domains.
static OTHER_RULES: AtomicU64 = AtomicU64::new(0);

/// How the lines of a list are read, with other rules counted.
fn listed(family: Family) -> text::Read {
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
fn tell_other_rules(name: &str, voice: Voice) {
    let count = OTHER_RULES.load(Ordering::Relaxed);
    if count > 0 && !voice.quiet && !voice.json {
        say(&format!(
            "umbel: warning: {name}: {} left out, which {} not about whole domains",
            counted(count, "rule"),
            if count == 1 { "is" } else { "are" }
        ));
    }
}

/// The entries of a line: a line of domains may have several.
fn entries(family: Family, line: &[u8]) -> impl Iterator<Item = &[u8]> {
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

/// Whether a file begins as those of umbel do, whatever follows.
fn is_filter(file: &mut File) -> io::Result<bool> {
    const MAGIC: [u8; 3] = *b"\x89UM";
    let mut start = Vec::new();
    file.rewind()?;
    file.take(MAGIC.len() as u64).read_to_end(&mut start)?;
    file.rewind()?;
    Ok(start == MAGIC)
}

/// Refuses what `umbel build --prefixes` cannot do.
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
