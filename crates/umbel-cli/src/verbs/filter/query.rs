//! `umbel filter query`: the lines that may be in a filter, or in any or all of several, or those that certainly are not.

use std::io;

use umbel::{KeyForm, Secret};
use umbel_foreign::KeyType;
use umbel_sets::{Filter, Labels, LargeFilter, Options, Query};

use crate::args::{ForeignArgs, LABELS, LinesArgs, NamesArgs, SecretArgs, TrustArgs};
use crate::choices;
use crate::filters::{self, Keys};
use crate::formats::{self, NotAFilter};
use crate::lines::{self, RowsOf};
use crate::output::{check_lines, only_print, print, refuse_in_place_of, write_result};
use crate::standard::{check_once, name};
use crate::verbs::prelude::*;
use crate::verbs::{answer, explain};

/// Print the lines that may be in a filter
///
/// Prints lines in order, repeats included. A line that was added always passes. Any other passes at the filter's false positive
/// rate (see umbel filter info).
///
/// With --key, name the fields that the filter was built from, in the same order; other fields are an error. A key of one field
/// is the same bytes as a line: a filter of lines can be queried with any one field, and a filter of one field with lines.
///
/// A blocked filter may be larger than --memory. Then umbel reads it piece by piece and the input twice, and prints the first line
/// after all input is read.
///
/// For several filters, name the files of lines first: umbel filter query lines --any lists/*.umbel. The report states the rate at
/// which a line that is in none of them passes: with --any, at most the sum of their rates; with --all, the product of the rates
/// of filters with different seeds (see umbel filter build --copies), and at most the lowest rate of filters with the same seed.
#[derive(Debug, Args)]
pub(crate) struct QueryArgs {
    /// Filter to query; - is standard input. With --any or --all, a file of lines
    #[arg(required_unless_present_any = ["any", "all"])]
    pub(crate) filter: Option<PathBuf>,
    /// Files of lines [default: standard input]
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Print the lines that may be in at least one of these filters
    #[arg(long, value_name = "FILTER", value_hint = ValueHint::FilePath, num_args = 1.., conflicts_with = "all")]
    pub(crate) any: Vec<PathBuf>,
    /// Print the lines that may be in each of these filters
    #[arg(long, value_name = "FILTER", value_hint = ValueHint::FilePath, num_args = 1..)]
    pub(crate) all: Vec<PathBuf>,
    /// Print in front of each line the filters of --any that may have it: 1,3 and a tab, or --which=names
    ///
    /// With --csv, this is a column named filters; with --jsonl, {"filters":[1,3],"record":…}.
    #[arg(long, value_name = "LABELS", num_args = 0..=1, require_equals = true, default_missing_value = "numbers")]
    #[arg(requires = "any", conflicts_with_all = ["invert", "total"], value_parser = choices::of(LABELS))]
    pub(crate) which: Option<Labels>,
    /// Print the other lines: definitely not in the filter, in none of --any, or not in one of --all
    #[arg(short = 'v', long)]
    pub(crate) invert: bool,
    #[command(flatten)]
    pub(crate) secret: SecretArgs,
    #[command(flatten)]
    pub(crate) lines: LinesArgs,
    #[command(flatten)]
    pub(crate) names: NamesArgs,
    #[command(flatten)]
    pub(crate) foreign: ForeignArgs,
    #[command(flatten)]
    pub(crate) trust: TrustArgs,
}

impl Verb for QueryArgs {
    const NAME: &str = "filter query";
    const HELP: &str = "
also check, contains, test, has, exists, lookup, membership
for --prefixes: umbel match looks addresses up in listed networks, and hosts under listed domains
umbel filter query seen.umbel today.txt   lines that may be in the filter
umbel filter query -v seen.umbel today.txt   lines that are definitely not in it
umbel filter query today.txt --any seen.umbel a.umbel   lines that may be in one of several filters
umbel filter query users.guava names.txt   a filter of another system
0 lines were found
1 no line was found
";
    const RUN: fn(&Self) -> Result<Outcome> = query;
}

impl QueryArgs {
    /// The filters, and whether a line is to be in any of them.
    pub(crate) fn filters(&self) -> (&[PathBuf], bool) {
        match (&self.any[..], &self.all[..]) {
            ([], []) => (self.filter.as_slice(), false),
            ([], all) => (all, false),
            (any, _) => (any, true),
        }
    }

    /// The files of lines.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let first = self.filter.iter().filter(|_| !(self.any.is_empty() && self.all.is_empty()));
        first.chain(&self.files).cloned().collect()
    }
}

pub(crate) fn query(args: &QueryArgs) -> Result<Outcome> {
    let (paths, _) = args.filters();
    let read: Vec<_> = paths.iter().map(Some).chain([args.secret.secret_file.as_ref()]).collect();
    refuse_in_place_of(args.lines.to.file(), &read)?;
    check_lines(&args.lines)?;
    let files = args.files();
    check_once(paths, lines::are_standard(&files, &args.lines.work).then_some("filter"))?;
    let mut options = lines::options(&args.lines.work, &files)?;
    let secret = filters::secret(&args.secret)?;
    let secret = secret.as_ref();
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
    let keys = Keys::Asked(args.foreign.key_type, &files, &args.lines.work);
    let form = filters::check_keys(&filter, path, &mut options, &args.names, keys)?;
    look_up(&[filter], form.is_none(), args, &options)
}

/// As [`query`], in several filters: all of them fit within the memory cap.
fn several(args: &QueryArgs, secret: Option<&Secret>, options: &mut Options) -> Result<Outcome> {
    let ((paths, _), inputs) = (args.filters(), args.files());
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
        let keys = Keys::Asked(args.foreign.key_type, &inputs, &args.lines.work);
        let form = filters::check_keys(&filter, path, options, &args.names, keys)?;
        noted &= form.is_some();
        let form = form.unwrap_or(KeyForm::Text);
        if *first.get_or_insert(form) != form {
            bail!(
                "{} and {}: only one of them holds integers; query one after the other",
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
    let sources = lines::open(&args.files(), &args.lines.work, RowsOf::All, options)?;
    if args.lines.explain.explain {
        for filter in all {
            print(explain::has(filter, args.lines.work.voice.json))?;
        }
        return Ok(Outcome::Done);
    }
    let run = Run::start("filter query", args.lines.work.voice, &options.resources.progress);
    let ask = |out: &mut (dyn io::Write + Send)| {
        let (paths, any) = args.filters();
        let mut query = Query::new(all, args.invert, out, options)?.any(any);
        if let Some(labels) = args.which {
            let names: Vec<_> = paths.iter().map(|path| name(path)).collect();
            query = query.with_labels(labels, &names, options);
        }
        answer::each_source(&mut query, sources, options)?;
        Ok((query.fpp(), query.finish()?))
    };
    let (rate, mut total) = write_result(args.lines.to.file(), args.lines.total, ask)?;
    let bytes = assumed.then_some(KeyType::Bytes);
    total.assumed_type = all.iter().find_map(Filter::assumed_type).or(bytes);
    answer::finish(run, args.invert, total, Some(rate))
}

/// As [`query`], with a filter larger than the memory cap.
fn in_pieces(
    large: LargeFilter<'_>,
    path: &Path,
    args: &QueryArgs,
    options: &mut Options,
) -> Result<Outcome> {
    let files = args.files();
    let keys = Keys::Asked(args.foreign.key_type, &files, &args.lines.work);
    let form = filters::check_large(&large, path, options, &args.names, keys)?;
    let sources = lines::open(&files, &args.lines.work, RowsOf::All, options)?;
    if args.lines.explain.explain {
        return only_print(explain::plan(large.plan(), args.lines.work.voice.json));
    }
    let run = Run::start("filter query", args.lines.work.voice, &options.resources.progress);
    let inputs = umbel_sets::sources::rereadable(sources, options)?;
    let (receipt, mut report) = write_result(args.lines.to.file(), args.lines.total, |out| {
        let (report, receipt) =
            umbel_sets::query_in_pieces(&inputs, large, args.invert, out, options)
                .map_err(|error| filters::about(error, path))?;
        Ok((receipt, report))
    })?;
    report.assumed_type = form.is_none().then_some(KeyType::Bytes);
    answer::finish(run, args.invert, report, Some(receipt.fpp))
}
