//! `umbel filter build --since`: a filter with an older one's plan, and the delta to it.

use std::fs::File;
use std::sync::Arc;

use umbel::internals::format::Reader;
use umbel::{Filter, KeyForm, KeyHasher, Kind, Plan, Secret};
use umbel_sets::{Options, Progress};
use umbel_share::FileKind;

use super::BuildArgs;
use crate::args::{ForeignArgs, TrustArgs};
use crate::atomic::Existing;
use crate::filters::{self, Keys, Opened};
use crate::standard::is_standard;
use crate::target::FileType;
use crate::verbs::filter::delta;
use crate::verbs::prelude::*;
use crate::wrapped::Signing;

/// The older filter.
pub(super) struct Base {
    file: File,
    path: PathBuf,
    /// Where the delta goes.
    delta: PathBuf,
    existing: Existing,
    /// Keeps others from writing the delta.
    _lock: Option<File>,
    pub(super) plan: Plan,
    /// The form of its keys, if it notes one.
    pub(super) form: Option<KeyForm>,
    pub(super) hasher: KeyHasher,
}

impl Base {
    /// The filter that the options name, which is checked as a whole: what is wrong with it shows before any work. Makes them
    /// read keys as it has them.
    pub(super) fn open(
        args: &BuildArgs,
        secret: Option<&Secret>,
        options: &mut Options,
    ) -> Result<Option<Self>> {
        let Some(path) = args.since.clone() else { return Ok(None) };
        if is_standard(&args.output) {
            bail!(
                "--since writes the delta next to the filter, as FILTER.delta; name a file with -o"
            );
        }
        let mut delta = args.output.clone().into_os_string();
        delta.push(".delta");
        let delta = PathBuf::from(delta);
        let writes = FileType::Own(FileKind::Delta);
        let (existing, lock) = filters::claim_output(&delta, writes, args.replace.force)?;

        let file = filters::open_beside(&path, options, &TrustArgs::default())?;
        let (plan, form) = plan(&file, &path, secret, args, options)?;
        let file = file.file;
        let hasher = filters::read_file(&file, &path, |source, length| {
            Ok(KeyHasher::for_scheme(Reader::new(source, length)?.header().scheme()?, secret)?)
        })?;
        Ok(Some(Self { file, path, delta, existing, _lock: lock, plan, form, hasher }))
    }

    /// Writes what changed from this filter to the one in `output`.
    pub(super) fn write_delta(
        &self,
        output: &Path,
        key: Option<&Signing>,
        args: &BuildArgs,
    ) -> Result<()> {
        let run = Run::start("filter delta", args.work.voice, &Arc::new(Progress::default()));
        let new = File::open(output).with_context(|| output.display().to_string())?;
        let (old, to) = ((&self.file, &*self.path), (&*self.delta, self.existing));
        delta::write(old, (&new, output), to, key, run).map(drop)
    }
}

/// The plan of a filter to which deltas are made.
fn plan(
    file: &Opened,
    path: &Path,
    secret: Option<&Secret>,
    args: &BuildArgs,
    options: &mut Options,
) -> Result<(Plan, Option<KeyForm>)> {
    let foreign = ForeignArgs::default();
    let keys = Keys::Added(args.foreign.key_type, &args.files, &args.work);
    let (plan, form) = match filters::large(file, path, secret, &foreign, options)? {
        Some(large) => {
            let form = filters::check_large(&large, path, options, &args.names, keys)?;
            (*large.plan(), form)
        }
        None => {
            let filter = filters::read(file, path, secret, &foreign, options)?;
            let form = filters::check_keys(&filter, path, options, &args.names, keys)?;
            (*filters::own(filter, path, "filter build --since")?.plan(), form)
        }
    };
    if plan.kind().built_at_once() || plan.kind() == Kind::Scalable {
        bail!(
            "{}: a rebuilt {} filter differs in size or bits, so a delta saves nothing; build it without --since and send it whole",
            path.display(),
            plan.kind()
        );
    }
    Ok((plan, form))
}
