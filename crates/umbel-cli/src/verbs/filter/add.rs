//! `umbel filter add`: add lines to a filter.

use std::io::Write;

use umbel::{Filter as _, KeyForm};
use umbel_foreign::ForeignFilter;
use umbel_sets::{Filter, LargeFilter, Options, Receipt, Report};

use super::build::add_lines;
use crate::args::{ExplainArgs, ForeignArgs, NamesArgs, SecretArgs, SignArgs, TrustArgs, Work};
use crate::filters::{self, Keys};
use crate::lines::{self, OutputPath, RowsOf, Source};
use crate::output::only_print;
use crate::verbs::explain;
use crate::verbs::prelude::*;
use crate::wrapped::{self, Signing};

/// Add lines to a filter
///
/// The filter is replaced in one step when all lines are in it. After an error or a crash it is unchanged. A scalable filter
/// grows when it is full, as far as --memory allows. A blocked filter larger than --memory is rewritten piece by piece.
#[derive(Debug, Args)]
pub(crate) struct AddArgs {
    /// Filter to add to
    pub(crate) filter: PathBuf,
    /// Files of lines [default: standard input]
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) secret: SecretArgs,
    #[command(flatten)]
    pub(crate) work: Work,
    #[command(flatten)]
    pub(crate) explain: ExplainArgs,
    #[command(flatten)]
    pub(crate) names: NamesArgs,
    #[command(flatten)]
    pub(crate) foreign: ForeignArgs,
    #[command(flatten)]
    pub(crate) sign: SignArgs,
    #[command(flatten)]
    pub(crate) trust: TrustArgs,
}

impl Verb for AddArgs {
    const NAME: &str = "filter add";
    const HELP: &str = "
also insert, append, update
umbel filter add seen.umbel today.txt   add lines to a filter
0 all lines are in the filter
";
    const RUN: fn(&Self) -> Result<Outcome> = add;
}

pub(crate) fn add(args: &AddArgs) -> Result<Outcome> {
    let mut options = lines::options(&args.work, &args.files)?;
    let secret = filters::secret(&args.secret)?;
    let output = [OutputPath::Filter(&args.filter)];
    let sources = lines::open_beside(&args.files, &args.work, &output, RowsOf::One, &options)?;
    let (path, secret) = (&args.filter, secret.as_ref());
    let key = wrapped::signing(&args.sign, &args.trust.list, &args.filter)?;
    let lock = filters::open_locked(path, key.as_ref())?;
    wrapped::check_trust(&lock.file, path, &args.trust)?;
    if let Some(large) = filters::large(&lock, path, secret, &args.foreign, &options)? {
        return in_pieces(large, args, sources, key.as_ref(), &mut options);
    }
    let mut locked = filters::read_locked(lock, path, secret, &args.foreign, &options)?;
    let keys = Keys::Added(args.foreign.key_type, &args.files, &args.work);
    let form = filters::check_keys(&locked.filter, path, &mut options, &args.names, keys)?;
    check_type(&locked.filter, path)?;
    if args.explain.explain {
        return only_print(explain::has(&locked.filter, args.work.voice.json));
    }
    let run = Run::start("filter add", args.work.voice, &options.resources.progress);
    let mut report = Report::default();
    if let Filter::Own(own) = &mut locked.filter {
        own.note(form.unwrap_or(KeyForm::Text))?;
    }
    add_lines(sources, &mut locked.filter, &args.filter, &options, &mut report)?;
    let write = |out: &mut (dyn Write + Send)| Ok(locked.filter.write(out)?);
    report.bytes_written +=
        filters::write_changed(path, locked.notes.as_ref(), key.as_ref(), write)?;
    run.finish(&report, "", Some(&locked.filter.receipt()), &[]);
    Ok(Outcome::Done)
}

/// Refuses to guess the type of another system's keys: lines that are added as a wrong one are never found by that system.
fn check_type(filter: &Filter, path: &Path) -> Result<()> {
    let Filter::Foreign(lines) = filter else { return Ok(()) };
    if filter.assumed_type().is_none() {
        return Ok(());
    }
    let format = lines.filter.format();
    let names: Vec<_> = format.key_types().iter().map(|one| one.name()).collect();
    let (last, others) = names.split_last().expect("several types");
    bail!(
        "{}: a {format} filter does not record its key type, and keys added with another type are not found; choose it: --key-type {} or {last}",
        path.display(),
        others.join(", ")
    )
}

/// As [`add`], to a filter larger than the memory cap.
fn in_pieces(
    large: LargeFilter<'_>,
    args: &AddArgs,
    sources: Vec<Source>,
    key: Option<&Signing>,
    options: &mut Options,
) -> Result<Outcome> {
    let keys = Keys::Added(args.foreign.key_type, &args.files, &args.work);
    filters::check_large(&large, &args.filter, options, &args.names, keys)?;
    if args.explain.explain {
        return only_print(explain::plan(large.plan(), args.work.voice.json));
    }
    let run = Run::start("filter add", args.work.voice, &options.resources.progress);
    let inputs = umbel_sets::sources::rereadable(sources, options)?;
    let mut result = None;
    let bytes = filters::write_changed(&args.filter, large.notes, key, |out| {
        let added = umbel_sets::add_in_pieces(&inputs, large, out, options)
            .map_err(|error| filters::about(error, &args.filter))?;
        run.check_keyed(&added.0)?;
        result = Some(added);
        Ok(())
    })?;
    let (mut report, receipt) = result.expect("written");
    report.bytes_written += bytes;
    run.finish(&report, "", Some(&Receipt::Own(receipt)), &[]);
    Ok(Outcome::Done)
}
