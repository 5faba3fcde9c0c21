//! `umbel query`: the lines that may be in a filter, or in any or all of several, or those that certainly are not.

use std::io;
use std::path::Path;

use anyhow::{Result, bail};
use umbel::{KeyForm, Secret};
use umbel_foreign::KeyType;
use umbel_sets::{Filter, LargeFilter, Options, Query};

use super::{answer, explain, prefixes};
use crate::Outcome;
use crate::args::QueryArgs;
use crate::filters::{self, Keys};
use crate::formats::{self, NotAFilter};
use crate::lines::{self, Rows};
use crate::output::{check_target, print, refuse_in_place_of, write_result};
use crate::report::Run;
use crate::standard::{is_standard, name};

pub(crate) fn query(args: &QueryArgs) -> Result<Outcome> {
    let (paths, _) = args.filters();
    let read: Vec<_> = paths.iter().map(Some).chain([args.secret.secret_file.as_ref()]).collect();
    refuse_in_place_of(args.output.to.file(), &read)?;
    check_target(args.output.to.file(), args.work.writes(), args.output.to.replace.force)?;
    let files = args.files();
    let lines_from_stdin = files.iter().any(|path| is_standard(path))
        || files.is_empty() && args.work.files_from.is_none();
    match paths.iter().filter(|path| is_standard(path)).count() {
        0 => {}
        1 if !lines_from_stdin => {}
        1 => bail!(
            "-: standard input can be read only once, and the filter is read from it; name files of lines"
        ),
        _ => bail!("-: standard input can be read only once; name it once"),
    }
    let mut options = lines::options(&args.work, &args.files())?;
    let secret = filters::secret(&args.secret)?;
    let secret = secret.as_ref();
    if let Some(of) = args.prefixes {
        return prefixes::look_up(args, of.into(), secret, options);
    }
    let [path] = paths else {
        return several(args, secret, &mut options);
    };
    let file = filters::open_beside(path, &options, &args.trust)?;
    if args.which.is_none()
        && let Some(large) = filters::large(&file, path, secret, &args.foreign, &options)?
    {
        return in_pieces(large, path, args, &mut options);
    }
    let filter = filters::read(&file, path, secret, &args.foreign, &options)?;
    let keys = Keys::Asked(args.foreign.key_type);
    let form = filters::check_keys(&filter, path, &mut options, &args.names, keys)?;
    look_up(&[filter], form.is_none(), args, &options)
}

/// As [`query`], in several filters: all of them fit within the memory cap.
fn several(args: &QueryArgs, secret: Option<&Secret>, options: &mut Options) -> Result<Outcome> {
    let (paths, _) = args.filters();
    let mut files = Vec::new();
    let mut bytes = 0u64;
    for path in paths {
        let file = filters::open_beside(path, options, &args.trust)?;
        bytes = bytes.saturating_add(formats::length(&file.file, path)?);
        files.push(file);
    }
    umbel_sets::room_left(bytes, &options.resources)?;
    let (mut all, mut keyed, mut first, mut noted) = (Vec::new(), false, None, true);
    for (file, path) in files.iter().zip(paths) {
        // Filters that are not keyed need no secret.
        let filter = match filters::read(file, path, None, &args.foreign, options) {
            Err(error) if error.is::<NotAFilter>() => {
                return Err(
                    error.context("name files of lines before --any and --all, or after --")
                );
            }
            Err(error) if secret.is_some() && filters::needs_secret(&error) => {
                keyed = true;
                filters::read(file, path, secret, &args.foreign, options)?
            }
            read => read?,
        };
        let keys = Keys::Asked(args.foreign.key_type);
        let form = filters::check_keys(&filter, path, options, &args.names, keys)?;
        noted &= form.is_some();
        let form = form.unwrap_or(KeyForm::Text);
        if *first.get_or_insert(form) != form {
            bail!(
                "{}: holds integers, or {} does, but not both; query one after the other",
                path.display(),
                paths[0].display()
            );
        }
        all.push(filter);
    }
    if secret.is_some() && !keyed {
        bail!("--secret-file: none of the filters is keyed; omit it");
    }
    look_up(&all, !noted, args, options)
}

/// Prints the lines that may be in all filters, or those that are not; `assumed`: one of umbel does not note the form of its keys.
fn look_up(all: &[Filter], assumed: bool, args: &QueryArgs, options: &Options) -> Result<Outcome> {
    let sources = lines::open(&args.files(), &args.work, Rows::OfAll, options)?;
    if args.work.explain {
        for filter in all {
            print(explain::has(filter, args.work.voice.json))?;
        }
        return Ok(Outcome::Done);
    }
    let run = Run::start("query", args.work.voice, &options.resources.progress);
    let ask = |out: &mut (dyn io::Write + Send)| {
        let (paths, any) = args.filters();
        let mut query = Query::new(all, args.invert, out, options)?.any(any);
        if let Some(labels) = args.which {
            let names: Vec<_> = paths.iter().map(|path| name(path)).collect();
            query = query.with_labels(labels.into(), &names, options);
        }
        answer::each_source(&mut query, sources, options)?;
        Ok((query.fpp(), query.finish()?))
    };
    let (rate, mut total) = write_result(args.output.to.file(), args.output.total, ask)?;
    let bytes = assumed.then_some(KeyType::Bytes);
    total.assumed_type = all.iter().find_map(Filter::assumed_type).or(bytes);
    answer::finish(run, args, total, Some(rate))
}

/// As [`query`], with a filter larger than the memory cap.
fn in_pieces(
    large: LargeFilter<'_>,
    path: &Path,
    args: &QueryArgs,
    options: &mut Options,
) -> Result<Outcome> {
    let keys = Keys::Asked(args.foreign.key_type);
    let form = filters::check_large(&large, path, options, &args.names, keys)?;
    let sources = lines::open(&args.files(), &args.work, Rows::OfAll, options)?;
    if args.work.explain {
        print(explain::plan(large.plan(), args.work.voice.json))?;
        return Ok(Outcome::Done);
    }
    let run = Run::start("query", args.work.voice, &options.resources.progress);
    let inputs = umbel_sets::inputs::rereadable(sources, options)?;
    let (receipt, mut report) = write_result(args.output.to.file(), args.output.total, |out| {
        let (report, receipt) =
            umbel_sets::query_in_pieces(&inputs, large, args.invert, out, options)
                .map_err(|error| filters::about(error, path))?;
        Ok((receipt, report))
    })?;
    report.assumed_type = form.is_none().then_some(KeyType::Bytes);
    answer::finish(run, args, report, Some(receipt.fpp))
}
