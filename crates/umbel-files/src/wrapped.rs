//! What a filter's file may be wrapped in: packed, signed or both. Taken off where filters are opened.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};
use umbel_sets::{PageReader, PageWriter};
use umbel_share::delta;
use umbel_share::pack::{self, Decoder};
use umbel_share::sign::{PublicKey, Signature};
use umbel_share::{ShareError, Wrapping};

/// The signature at the end of a file, read from its start then; checked if its signer is to be trusted.
pub fn signature(file: &File, path: &Path, trust: Option<&PublicKey>) -> Result<Option<Signature>> {
    let name = || path.display().to_string();
    let signature = Signature::find(file).with_context(name)?;
    match (&signature, trust) {
        (None, Some(_)) => Err(ShareError::NotSigned).with_context(name),
        (Some(found), Some(trust)) => {
            found.check(PageReader::new(1 << 18, file), trust).with_context(name)?;
            let mut file = file;
            file.rewind().with_context(name)?;
            Ok(signature)
        }
        _ => Ok(signature),
    }
}

/// The file of the filter itself: of a packed one, unpacked into a temporary file in the folder `tmp`. The signature of the
/// packed file counts, or else that of the filter in it.
pub fn unwrap(
    file: File,
    path: &Path,
    tmp: &Path,
    trust: Option<&PublicKey>,
) -> Result<(File, Wrapping)> {
    let name = || path.display().to_string();
    let verified = trust.is_some();
    // A directory is refused by who reads it.
    if !file.metadata().with_context(name)?.is_file() {
        return Ok((file, Wrapping::default()));
    }
    if starts_with(&file, path, delta::MAGIC)? {
        bail!(
            "{0}: is a delta, not a filter; apply it to its base: umbel patch FILTER {0}",
            path.display()
        );
    }
    if !is_packed(&file, path)? {
        let signature = signature(&file, path, trust)?;
        let signer = signature.map(|signature| signature.signer());
        return Ok((file, Wrapping { packed: None, signer, verified }));
    }
    let outer = Signature::find(&file).with_context(name)?;
    let outer = match outer {
        Some(_) => signature(&file, path, trust)?,
        None => None,
    };
    let packed = file.metadata().with_context(name)?.len();
    let length = outer.as_ref().map_or(packed, Signature::length);
    let mut decoder =
        Decoder::new(PageReader::new(1 << 18, &file).take(length)).with_context(name)?;
    let mut unpacked = tempfile::tempfile_in(tmp).with_context(|| tmp.display().to_string())?;
    let mut out = PageWriter::new(1 << 18, &unpacked);
    io::copy(&mut decoder, &mut out)
        .and_then(|_| out.flush())
        .with_context(|| format!("{}: unpacking it to {}", path.display(), tmp.display()))?;
    drop(out);
    unpacked.rewind().with_context(|| tmp.display().to_string())?;
    let signer = match outer {
        Some(outer) => Some(outer.signer()),
        None => signature(&unpacked, path, trust)?.map(|inner| inner.signer()),
    };
    Ok((unpacked, Wrapping { packed: Some(packed), signer, verified }))
}

/// Whether a regular file is a packed filter, which is read from its start then.
pub fn is_packed(file: &File, path: &Path) -> Result<bool> {
    starts_with(file, path, pack::MAGIC)
}

fn starts_with(mut file: &File, path: &Path, magic: [u8; 8]) -> Result<bool> {
    let mut start = Vec::new();
    file.rewind()
        .and_then(|()| file.take(magic.len() as u64).read_to_end(&mut start))
        .and_then(|_| file.rewind())
        .with_context(|| path.display().to_string())?;
    Ok(start == magic)
}
