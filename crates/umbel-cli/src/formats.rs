//! Other systems' filters in files, read in the named or recognized format.

use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;

use anyhow::{Context, Result, bail};
use thiserror::Error;
use umbel_foreign::recognized::{Recognized, other, perhaps, unknown};
use umbel_foreign::{Bytes, Foreign, Format};
use umbel_io::{State, wrapped};
use umbel_sets::Resources;
use umbel_share::FileKind;

use crate::param::{Param, undeclared};

/// Reads a file in a given format.
pub(crate) fn read(
    file: &File,
    path: &Path,
    format: Format,
    params: &[Param],
    resources: Option<&Resources>,
) -> Result<Foreign> {
    let given = undeclared(format, params)?;
    let bytes = content(file, path, resources)?;
    Foreign::decode_with(format, bytes, &given).or_else(|error| {
        let bytes = content(file, path, resources)?;
        let hint = if FileKind::of(&bytes) == Some(FileKind::Filter) {
            "; this is an umbel filter: omit --format".to_owned()
        } else {
            let found = umbel_foreign::recognize(&bytes).into_iter().find(|(_, certain)| *certain);
            found.map_or_else(String::new, |(found, _)| format!("; its content looks like {found}"))
        };
        bail!("{}: {error}{hint}", path.display())
    })
}

/// Reads a file that is not umbel's, as `refused` says, in the format that its content shows.
pub(crate) fn recognize(
    file: &File,
    path: &Path,
    refused: &anyhow::Error,
    resources: Option<&Resources>,
) -> Result<Foreign> {
    // A file that does not fit in memory is probably not a filter, but a file of lines named by mistake.
    let Ok(bytes) = content(file, path, resources) else { bail!(NotAFilter::unknown(refused)) };
    match Recognized::of(&bytes) {
        Recognized::One(format) => {
            Foreign::decode(format, bytes).with_context(|| path.display().to_string())
        }
        Recognized::Perhaps(formats) => {
            let hint = formats.first().map(|format| format!("--format {format}"));
            bail!(NotAFilter { message: perhaps(refused, &formats), hint })
        }
        Recognized::Other(content) => {
            bail!(NotAFilter { message: other(refused, content), hint: None })
        }
        Recognized::Unknown => bail!(NotAFilter::unknown(refused)),
    }
}

/// A file that is no filter, unless its format is named.
#[derive(Debug, Error)]
#[error("{message}")]
pub(crate) struct NotAFilter {
    message: String,
    /// The option that may help.
    pub(crate) hint: Option<String>,
}

impl NotAFilter {
    fn unknown(refused: &anyhow::Error) -> Self {
        Self { message: unknown(refused), hint: Some("--format".to_owned()) }
    }
}

/// All of a file, when it fits in memory.
fn content(mut file: &File, path: &Path, resources: Option<&Resources>) -> Result<Bytes> {
    let name = || path.display().to_string();
    let bytes = length(file, path)?;
    if let Some(resources) = resources {
        let mut first = [0];
        file.rewind().and_then(|()| file.read(&mut first)).with_context(name)?;
        // JSON is kept in binary form; during the conversion, its text and both forms use 2.5 times its size.
        let times = if first[0] == b'{' { 3 } else { 1 };
        umbel_sets::room_left(bytes.saturating_mul(times), resources).with_context(name)?;
    }
    let length =
        usize::try_from(bytes).map_err(|_| umbel::OutOfMemory { bytes }).with_context(name)?;
    let mut content = Bytes::zeroed(length, 0).with_context(name)?;
    file.rewind().and_then(|()| file.read_exact(&mut content)).with_context(name)?;
    Ok(content)
}

/// Bytes of a filter's file, without a signature at its end. It is read from its start then.
pub(crate) fn length(file: &File, path: &Path) -> Result<u64> {
    let state = State::of(file).with_context(|| path.display().to_string())?;
    if state.is_dir {
        bail!("{}: is a directory; name a filter file", path.display());
    }
    let signed = if state.is_file { wrapped::signature(file, path, None)? } else { None };
    Ok(signed.map_or(state.length, |found| found.length()))
}
