//! `umbel filter build --copies`: filters of one list that each reveal little.

use umbel::{AnyFilter, Filter as _, KeyForm};
use umbel_sets::{Filter, Report};
use umbel_share::noisy::Copies;

use super::BuildArgs;
use crate::lines::{self, OutputPath, RowsOf};
use crate::output::only_print;
use crate::target::FileType;
use crate::verbs::explain;
use crate::verbs::prelude::*;
use crate::{filters, standard};

/// The rate of each copy, unless one is given.
const FPP: f64 = 0.5;

/// Builds copies, each in a pass of its own. Each is written completely or not at all; after an error, those before it are
/// there.
pub(super) fn build(args: &BuildArgs, count: u32) -> Result<Outcome> {
    if standard::is_standard(&args.output) {
        bail!("-: standard output cannot hold several filters; name a prefix for their files");
    }
    let paths: Vec<PathBuf> = (1..=count).map(|number| path(args, number)).collect();
    let claim = |path: &PathBuf| filters::claim_output(path, FileType::FILTER, args.replace.force);
    let claimed = paths.iter().map(claim).collect::<Result<Vec<_>>>()?;
    let options = lines::options(&args.work, &args.files)?;
    let names = umbel_sets::describe_keys(
        umbel::Kind::Blocked,
        &options.form,
        &args.names.names,
        KeyForm::Text,
    )?;
    let outputs: Vec<_> = paths.iter().map(|path| OutputPath::Filter(path)).collect();
    let sources = lines::open_beside(&args.files, &args.work, &outputs, RowsOf::One, &options)?;
    let run = Run::start("filter build", args.work.voice, &options.resources.progress);
    let inputs = umbel_sets::sources::rereadable(sources, &options)?;
    let keys = match args.keys {
        Some(keys) => keys.0,
        None => umbel_sets::count(&inputs, &options)?.max(1),
    };
    let copies = Copies::new(keys, args.fpp.map_or(FPP, |fpp| fpp.0), count, args.seed)?;
    if args.explain.explain {
        return only_print(explain::plan(copies.plan(), args.work.voice.json));
    }
    umbel_sets::room_left(copies.plan().bytes(), &options.resources)?;
    let mut report = Report::default();
    let mut last = None;
    for ((path, (existing, _)), hasher) in paths.iter().zip(&claimed).zip(copies.hashers()) {
        let mut filter = AnyFilter::with_plan(copies.plan(), hasher)?;
        filter.describe(names.clone());
        let mut filter = Filter::Own(filter);
        let part = umbel_sets::insert(&inputs, &mut filter, &options);
        let part = part.map_err(|error| filters::about(error, path))?;
        run.check_keyed(&part)?;
        report.add(part);
        report.bytes_written += filters::write(&filter, path, *existing, None)?;
        last = Some(filter.receipt());
    }
    report.lines /= u64::from(count);
    run.finish(&report, "", last.as_ref(), &[]);
    Ok(Outcome::Done)
}

/// The file of a copy, by its number from 1.
fn path(args: &BuildArgs, number: u32) -> PathBuf {
    let mut path = args.output.clone().into_os_string();
    path.push(format!(".{number}.umbel"));
    path.into()
}
