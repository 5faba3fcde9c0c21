//! `umbel filter info`: the receipt of a filter, or what is in an index.

use serde_json::json;
use umbel::{Algorithm, Filter as _};
use umbel_report::receipt::{
    Receipt, add_keys, add_wrapping, aligned, guessable, key_rows, wrapping_rows,
};
use umbel_sets::Filter;

use crate::args::{OutputArgs, ReadArgs, Voice};
use crate::output::{check_target, refuse_in_place_of, write_text};
use crate::standard::{check_once, is_standard};
use crate::target::FileType;
use crate::verbs::prelude::*;
use crate::{filters, pictures, report, standard};

/// Print what a filter holds: size, fill, estimated keys and false positive rate now
///
/// All of these are computed from the filter's bits; the number of keys has a 95 % interval. Lists each part of a filter that has
/// several, such as the links of a scalable filter or the generations of a window. For another system's filter, it also lists
/// what the file declares.
#[derive(Debug, Args)]
pub(crate) struct InfoArgs {
    /// Filters; - is standard input
    #[arg(required = true, value_name = "FILTER")]
    pub(crate) filters: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Draw how full its blocks (cache lines of 64 bytes) are, compared with what chance predicts, as SVG
    #[arg(long, value_name = "PICTURE", value_hint = ValueHint::FilePath)]
    pub(crate) plot: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) voice: Voice,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
}

impl Verb for InfoArgs {
    const NAME: &str = "filter info";
    const HELP: &str = "
also stat, stats, inspect, describe, show
umbel filter info seen.umbel   what a filter holds, and its rate now
umbel filter info --plot seen.svg seen.umbel   with a picture of its blocks
cat seen.umbel | umbel filter info -   a filter from standard input
0 done
";
    const RUN: fn(&Self) -> Result<Outcome> = info;
}

pub(crate) fn info(args: &InfoArgs) -> Result<Outcome> {
    if let Some(picture) = &args.plot {
        pictures::check(picture, &args.filters, args.output.replace.force)?;
    }
    let read: Vec<_> = args.filters.iter().map(Some).collect();
    refuse_in_place_of(args.output.file(), &read)?;
    check_target(args.output.file(), FileType::Text, args.output.replace.force)?;
    check_once(&args.filters, None)?;
    write_text(args.output.file(), |put| {
        for (i, path) in args.filters.iter().enumerate() {
            let gap = if i > 0 && !args.voice.json { "\n" } else { "" };
            put(&format!("{gap}{}", one(path, args)?))?;
        }
        Ok(())
    })?;
    Ok(Outcome::Done)
}

/// The receipt of one filter.
fn one(path: &Path, args: &InfoArgs) -> Result<String> {
    if !is_standard(path) && umbel_find::is_index(path) {
        return crate::verbs::index::about(path, args.voice);
    }
    let (filter, wrapping) = filters::read_wrapped(path, &args.read)?;
    let name = standard::name(path);
    if let Some(picture) = &args.plot {
        let Filter::Own(filter) = &filter else {
            bail!("{name}: --plot draws only umbel's own filters; omit it")
        };
        pictures::of_filter(filter, &name, picture)?;
    }
    let picture = args.plot.as_ref().map(|picture| picture.display().to_string());
    let receipt = filter.receipt();
    let receipt = report::shown(&receipt);
    let Voice { json, quiet, .. } = args.voice;
    if let (Filter::Own(filter), Receipt::Own(receipt)) = (&filter, receipt)
        && receipt.scheme.algorithm != Algorithm::Sip13
        && !quiet
        && let Some(keys) = guessable(filter.description())
    {
        report::warn_guessable(path, keys);
    }
    if json {
        let mut object = receipt.json();
        object["type"] = json!("info");
        object["file"] = json!(path.display().to_string());
        if let Filter::Own(filter) = &filter {
            add_keys(&mut object, filter.description(), receipt);
        }
        if let Some(picture) = picture {
            object["picture"] = json!(picture);
        }
        add_wrapping(&mut object, &wrapping);
        return Ok(format!("{object}\n"));
    }
    let mut rows = receipt.rows();
    if let Filter::Own(filter) = &filter {
        rows.extend(key_rows(filter.description(), receipt));
    }
    rows.extend(wrapping_rows(&wrapping, receipt));
    if let Some(picture) = picture {
        rows.push(("picture".to_owned(), picture));
    }
    Ok(format!("{name}\n{}", aligned(&rows)))
}
