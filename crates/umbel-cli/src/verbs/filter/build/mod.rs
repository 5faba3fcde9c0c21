//! `umbel filter build`: build a filter from lines.

mod copies;
mod goal;
pub(in crate::verbs) mod prefixes;
mod since;

use std::sync::Arc;

use prefixes::{FAMILIES, NO_PREFIXES};
use since::Base;
use umbel::{
    AnyFilter, Attributes, Filter as _, KeyDescription, KeyForm, KeyHasher, Kind, Plan, Variant,
};
use umbel_foreign::{Foreign, ForeignInsert, Format};
use umbel_net::prefixes::Family;
use umbel_numbers::{Count, Fpp, KeyCount, Size};
use umbel_sets::{BloomierBuild, Filter, ForeignLines, Input, Options, Progress, Receipt, Report};
use umbel_share::audit::Guessable;

use crate::args::{
    ExplainArgs, ForeignArgs, ListArgs, NamesArgs, ReplaceArgs, SecretArgs, SignArgs, Work,
};
use crate::atomic::Existing;
use crate::choices;
use crate::lines::{self, OutputPath, RowsOf, Source};
use crate::output::{only_print, print, refuse_in_place_of};
use crate::target::FileType;
use crate::verbs::explain;
use crate::verbs::prelude::*;
use crate::wrapped::Signing;
use crate::{filters, param, report, wrapped};

/// What copies of a list do without.
const NO_COPIES: [&str; 11] = [
    "kind",
    "size",
    "ship",
    "since",
    "except",
    "prefixes",
    "format",
    "secret_file",
    "sign",
    "key_type",
    "param",
];

/// Build a filter from lines
///
/// Without --keys, files are read twice, first to count their lines; standard input is copied to a temporary file for that. The
/// filter keeps its false positive rate up to the planned number of keys. umbel warns when it holds more. A scalable filter grows
/// instead, as far as --memory allows, and keeps its rate.
///
/// With --key, the filter records the names of the fields, and refuses to have other fields looked up in it.
///
/// With --format, the filter has another system's format and size. It is byte for byte what that system writes if the lines come
/// in the same order (for rocksdb, sorted).
///
/// After an error no filter is written, and an existing one is unchanged.
#[derive(Debug, Args)]
#[command(after_long_help = param::table())]
pub(crate) struct BuildArgs {
    /// Filter to write; - is standard output
    #[arg(short, long, value_name = "FILTER", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    /// Files of lines [default: standard input]
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Number of keys to plan for, e.g. 5e9 or 5G [default: the number of lines]
    #[arg(long, value_name = "N")]
    pub(crate) keys: Option<KeyCount>,
    /// False positive rate at that number of keys, e.g. 0.01 or 1% [default: 0.01, or the other system's]
    #[arg(long, value_name = "P")]
    pub(crate) fpp: Option<Fpp>,
    /// Size of the filter, e.g. 64MiB; it determines the rate, to 1e-9, or with --fpp the number of keys
    #[arg(long, value_name = "SIZE")]
    pub(crate) size: Option<Size>,
    /// Plan a classic filter for the bits sent when packed: fewer probes per key, fewer bits sent, more memory (umbel filter
    /// plan --ship lists them)
    #[arg(hide_short_help = true)]
    #[arg(long, value_name = "PROBES", num_args = 0..=1, require_equals = true, default_missing_value = "1")]
    #[arg(value_parser = umbel_numbers::number::<u32>(1..=umbel::MAX_PROBES.into()), conflicts_with_all = ["kind", "size", "format"])]
    pub(crate) ship: Option<u32>,
    /// Plan and hash the filter like this older one, and write what changed to FILTER.delta, for umbel filter patch
    #[arg(hide_short_help = true)]
    #[arg(long, value_name = "OLD", value_hint = ValueHint::FilePath)]
    #[arg(conflicts_with_all = ["keys", "fpp", "size", "ship", "kind", "seed", "except", "format"])]
    pub(crate) since: Option<PathBuf>,
    /// Kind of filter; some take a number, as in counting:8 (umbel filter plan compares them)
    #[arg(long, default_value = "blocked", conflicts_with = "format")]
    #[arg(value_parser = choices::kinds::<Variant>())]
    pub(crate) kind: Variant,
    /// Write N filters, FILTER.1.umbel …, each with its own seed and the rate --fpp [default: 0.5] (see docs/sharing.md)
    #[arg(long, value_name = "N", value_parser = umbel_numbers::number::<u32>(1..=64))]
    #[arg(conflicts_with_all = NO_COPIES)]
    pub(crate) copies: Option<u32>,
    /// File of lines that must not pass, such as an allow list (--kind cascade); no line may be in both
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "format")]
    pub(crate) except: Vec<PathBuf>,
    /// Read lines as networks or domains, as umbel match does; --fpp is then the rate of a whole look-up
    #[arg(long, value_name = "OF", conflicts_with_all = ["format", "key_type", "except", "since"])]
    #[arg(conflicts_with_all = NO_PREFIXES, value_parser = choices::of(FAMILIES))]
    pub(crate) prefixes: Option<Family>,
    /// Seed of the hash; filters merge only if they have the same seed
    #[arg(hide_short_help = true)]
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with_all = ["secret_file", "format"])]
    #[arg(value_parser = umbel_numbers::number::<u64>(0..=u64::MAX))]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) secret: SecretArgs,
    #[command(flatten)]
    pub(crate) replace: ReplaceArgs,
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
    pub(crate) list: ListArgs,
}

impl Verb for BuildArgs {
    const NAME: &str = "filter build";
    const HELP: &str = "
also create, make, init
umbel filter build -o seen.umbel urls.txt   a filter of the lines, at 1 %
umbel filter build -o seen.umbel --keys 5M --fpp 0.1% urls.txt   room for 5 million keys
umbel filter build -o b.umbel --kind cascade --except ok.txt bad.txt   no name of ok.txt passes
umbel filter build -o nets.umbel --prefixes ip nets.txt   a filter of networks
0 the filter is written
";
    const RUN: fn(&Self) -> Result<Outcome> = build;
}

/// Keys that show whether all can be guessed.
const SAMPLE: usize = 1024;

pub(crate) fn build(args: &BuildArgs) -> Result<Outcome> {
    if let Some(count) = args.copies {
        return copies::build(args, count);
    }
    let (existing, _lock) =
        filters::claim_output(&args.output, FileType::FILTER, args.replace.force)?;
    let secret = args.secret.secret_file.as_ref();
    refuse_in_place_of(Some(&args.output), &[secret])?;
    let key = wrapped::signing(&args.sign, &args.list, &args.output)?;
    let mut options = lines::options(&args.work, &args.files)?;
    if let Some(format) = args.foreign.format.format {
        return build_foreign(args, format, existing, key.as_ref(), &options);
    }
    let form = args.foreign.key_type.map_or(Ok(KeyForm::Text), filters::form_of)?;
    filters::read_keys_as(form, true, &mut options)?;
    options.resources.progress = Arc::new(Progress::with_sample(SAMPLE));
    if let Some(of) = args.prefixes {
        prefixes::check_build(args)?;
        options.form.normalization.read = Some(prefixes::one_entry(of));
    }
    build_own(args, existing, key.as_ref(), form, &mut options)?;
    if secret.is_none()
        && args.prefixes.is_none()
        && !args.explain.explain
        && let Some(keys) = Guessable::of(options.resources.progress.sample())
    {
        report::warn_guessable(&args.output, keys);
    }
    Ok(Outcome::Done)
}

/// A filter of umbel, and the delta to it if there is an older one.
fn build_own(
    args: &BuildArgs,
    existing: Existing,
    key: Option<&Signing>,
    form: KeyForm,
    options: &mut Options,
) -> Result<()> {
    let secret = filters::secret(&args.secret)?;
    let base = Base::open(args, secret.as_ref(), options)?;
    let hasher = match (&base, secret) {
        (Some(base), _) => base.hasher.clone(),
        (None, Some(secret)) => KeyHasher::keyed(secret),
        (None, None) => KeyHasher::with_seed(args.seed),
    };
    let kind = base.as_ref().map_or(args.kind.kind(), |base| base.plan.kind());
    if kind.rows() && options.form.records.key().is_empty() {
        return Err(umbel::RowError::NoAttributes.into());
    }
    let form = base.as_ref().and_then(|base| base.form).unwrap_or(form);
    let keys = umbel_sets::describe_keys(kind, &options.form, &args.names.names, form)?;
    if kind == Kind::Cascade {
        return build_lists(args, existing, key, hasher, keys, options);
    }
    if !args.except.is_empty() {
        bail!("--except requires --kind cascade: other kinds have no exceptions");
    }
    let Some(base) = base else {
        let known = goal::without_lines(args)?;
        return build_lines(args, existing, key, known, hasher, keys, options);
    };
    build_lines(args, existing, key, Some(base.plan), hasher, keys, options)?;
    if !args.explain.explain {
        base.write_delta(&args.output, key, args)?;
    }
    Ok(())
}

/// A filter of the lines of all files, with the plan that is known, or else one for as many lines as there are.
fn build_lines(
    args: &BuildArgs,
    existing: Existing,
    key: Option<&Signing>,
    known: Option<Plan>,
    hasher: KeyHasher,
    mut keys: KeyDescription,
    options: &Options,
) -> Result<()> {
    let sources = open(args, options)?;
    let run = Run::start("filter build", args.work.voice, &options.resources.progress);
    let (plan, inputs, mut report) = match (args.prefixes, known) {
        (Some(of), _) => {
            let inputs = umbel_sets::sources::rereadable(sources, options)?;
            let (inputs, bad) = prefixes::one_a_line(inputs, of, options)?;
            let (plan, described) = prefixes::plan(args, &inputs, of, options)?;
            keys = described;
            let (inputs, mut report) = after_counting(inputs);
            report.bad += bad;
            (plan, inputs, report)
        }
        (None, Some(plan)) => (plan, sources, Report::default()),
        // Another pass counts the lines.
        (None, None) => {
            let inputs = umbel_sets::sources::rereadable(sources, options)?;
            let keys = umbel_sets::count(&inputs, options)?.max(1);
            let (sources, report) = after_counting(inputs);
            (goal::for_count(args, keys, goal::fpp_of(args))?, sources, report)
        }
    };
    if args.explain.explain {
        return print(explain::plan(&plan, args.work.voice.json));
    }
    if plan.kind() == Kind::Blocked
        && umbel_sets::room_left(plan.bytes(), &options.resources).is_err()
    {
        let inputs = umbel_sets::sources::rereadable(inputs, options)?;
        let mut result = None;
        let bytes = filters::write_with(&args.output, existing, key, |out| {
            let built = umbel_sets::build_in_pieces(&inputs, &plan, hasher, &keys, out, options)?;
            run.check_keyed(&built.0)?;
            result = Some(built);
            Ok(())
        })?;
        let (part, receipt) = result.expect("written");
        report.add(part);
        report.bytes_written += bytes;
        run.finish(&report, "", Some(&Receipt::Own(receipt)), &[]);
        return Ok(());
    }
    let mut filter = if plan.kind().built_at_once() {
        let mut lines = BloomierBuild::new(&plan, hasher, options)?;
        for source in inputs {
            // Hashes are in memory, up to the cap.
            source.read(options, Ok(0), |from| Ok(lines.read(from)?))?;
        }
        let (filter, part) = lines.finish()?;
        run.check_keyed(&part)?;
        report.add(part);
        AnyFilter::Bloomier(filter)
    } else {
        let mut filter = Filter::Own(match plan.kind().rows() {
            true => {
                let names = options.form.records.key();
                AnyFilter::Attributes(Attributes::with_names(&plan, names, hasher)?)
            }
            false => AnyFilter::with_plan(&plan, hasher)?,
        });
        add_lines(inputs, &mut filter, &args.output, options, &mut report)?;
        filters::own(filter, &args.output, "filter build")?
    };
    filter.describe(keys);
    let filter = Filter::Own(filter);
    report.bytes_written += filters::write(&filter, &args.output, existing, key)?;
    run.finish(&report, "", Some(&filter.receipt()), &[]);
    Ok(())
}

/// The inputs, none of which the filter may replace.
fn open(args: &BuildArgs, options: &Options) -> Result<Vec<Source>> {
    let output = [OutputPath::Filter(&args.output)];
    lines::open_beside(&args.files, &args.work, &output, RowsOf::One, options)
}

/// A filter as another system makes it.
fn build_foreign(
    args: &BuildArgs,
    format: Format,
    existing: Existing,
    key: Option<&Signing>,
    options: &Options,
) -> Result<Outcome> {
    if args.secret.secret_file.is_some() {
        bail!("--secret-file: a {format} filter is not keyed; omit it");
    }
    let mut given = param::parameters(format, &args.foreign.format.param)?;
    given.keys = args.keys.map(|keys| keys.0).or(given.keys);
    given.fpp = args.fpp.map(|fpp| fpp.0).or(given.fpp);
    given.bits = args.size.map(|size| size.0.saturating_mul(8)).or(given.bits);
    if !args.names.names.is_empty() {
        bail!("--as: a {format} filter does not record field names; omit it");
    }
    let key_type = args.foreign.key_type;
    let mut inputs = open(args, options)?;
    let run = Run::start("filter build", args.work.voice, &options.resources.progress);
    let mut report = Report::default();
    let has_keys = given.keys.is_some() || !format.parameters().contains(&"keys");
    // With a size, some systems do not use the number of keys.
    if !has_keys && (given.bits.is_none() || Foreign::plan(format, &given).is_err()) {
        let files = umbel_sets::sources::rereadable(inputs, options)?;
        let keys = umbel_sets::count_keys(&files, format, key_type, options)?;
        given.keys = Some(if format.counts_keys() { keys } else { keys.max(1) });
        (inputs, report) = after_counting(files);
    }
    let plan = Foreign::plan(format, &given)?;
    for warning in &plan.warnings {
        report::say(&format!("umbel: warning: {format}: {warning}"));
    }
    if args.explain.explain {
        return only_print(explain::foreign(&plan, args.work.voice.json));
    }
    umbel_sets::room_left(plan.bytes, &options.resources)?;
    let lines = ForeignLines::new(Foreign::new(format, &given)?, key_type)?;
    let mut filter = Filter::Foreign(lines);
    add_lines(inputs, &mut filter, &args.output, options, &mut report)?;
    if let Filter::Foreign(lines) = &mut filter {
        lines.filter.finish()?;
    }
    report.bytes_written += filters::write(&filter, &args.output, existing, key)?;
    let receipt = filter.receipt();
    if let (Receipt::Foreign(receipt), Some(planned)) = (&receipt, given.keys)
        && !format.grows()
        && receipt.keys.low > planned as f64
    {
        let planned = format!("{} keys", Count(planned));
        let words = umbel_report::receipt::beyond(&planned, &receipt.keys, receipt.fpp);
        report::insist(&words);
    }
    run.finish(&report, "", Some(&receipt), &[]);
    Ok(Outcome::Done)
}

/// A filter of the lines of all files, and of those that it must not hold.
fn build_lists(
    args: &BuildArgs,
    existing: Existing,
    key: Option<&Signing>,
    hasher: KeyHasher,
    keys: KeyDescription,
    options: &Options,
) -> Result<()> {
    if args.size.is_some() {
        bail!(
            "--size: the size of a cascade follows from its lines and exceptions; give --fpp instead"
        );
    }
    let fpp = goal::fpp_of(args);
    let plan = |included: u64, excluded: u64| {
        let keys = args.keys.map_or(included.max(1), |keys| keys.0);
        Plan::for_lists(args.kind, keys, excluded, fpp)
    };
    let output = OutputPath::Filter(&args.output);
    let [include, exclude] =
        lines::open_two(&args.files, &args.except, &args.work, &output, options)?;
    let run = Run::start("filter build", args.work.voice, &options.resources.progress);
    if args.explain.explain {
        let included = umbel_sets::count(&include, options)?;
        let plan = plan(included, umbel_sets::count(&exclude, options)?)?;
        return print(explain::plan(&plan, args.work.voice.json));
    }
    let (mut filter, mut report) =
        umbel_sets::build_lists(&include, &exclude, &plan, hasher, options)?;
    run.check_keyed(&report)?;
    filter.describe(keys);
    let filter = Filter::Own(AnyFilter::Cascade(filter));
    report.bytes_written += filters::write(&filter, &args.output, existing, key)?;
    run.finish(&report, "", Some(&filter.receipt()), &[]);
    Ok(())
}

/// The inputs, to be read again, and the report of the pass that counted their lines.
fn after_counting(inputs: Vec<Input>) -> (Vec<Source>, Report) {
    let mut report = Report::default();
    report.bytes_read = inputs.iter().map(Input::length).sum();
    report.passes = inputs.len() as u32;
    (vec![Source::Files(inputs)], report)
}

/// Inserts the lines of all sources into the filter of `path`, adding to `report`.
pub(super) fn add_lines(
    sources: Vec<Source>,
    filter: &mut Filter,
    path: &Path,
    options: &Options,
    report: &mut Report,
) -> Result<()> {
    for source in sources {
        let room = filter.room_beside(&options.resources);
        report.add(source.read(options, room, |lines| {
            let inserted = umbel_sets::insert(lines, filter, options);
            inserted.map_err(|error| filters::about(error, path))
        })?);
    }
    report.check_keyed(&options.resources.progress).map_err(Into::into)
}
