//! The wrapping of a filter's file: packed, signed or both. It is taken off where filters are opened.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};
use umbel::internals::format;
use umbel_share::sign::Signature;
use umbel_share::{Content, Trust, Wrapping, pack, receive};

use super::pages::{PageReader, PageWriter};
use crate::State;

/// The signature at the end of a file, which is then read from its start; checked if there is a signer to trust.
pub fn signature(mut file: &File, path: &Path, trust: Option<&Trust>) -> Result<Option<Signature>> {
    let name = || path.display().to_string();
    let Some(trust) = trust else { return Signature::find(file).with_context(name) };
    let signature = trust.check(PageReader::new(1 << 18, file)).with_context(name)?;
    file.rewind().with_context(name)?;
    Ok(Some(signature))
}

/// The file of the filter itself, accepted by the rule of [`umbel_share::Trust`]. A packed one is unpacked into a
/// temporary file in the folder `tmp`, of at most `most` bytes unless its signature was checked.
pub fn unwrap(
    mut file: File,
    path: &Path,
    tmp: &Path,
    trust: Option<&Trust>,
    most: u64,
) -> Result<(File, Wrapping)> {
    let name = || path.display().to_string();
    let state = State::of(&file).with_context(name)?;
    // The reader refuses a directory.
    if !state.is_file {
        if trust.is_some() && !state.is_dir {
            bail!(
                "{}: is not a regular file, so its signature cannot be checked; save it to a file",
                path.display()
            );
        }
        return Ok((file, Wrapping::default()));
    }
    let received = receive(PageReader::new(1 << 18, &file), trust, most).with_context(name)?;
    let mut wrapping = received.wrapping;
    let mut decoder = match received.content {
        Content::Packed(decoder) => decoder,
        Content::Delta(_) => bail!(
            "{0}: is a delta, not a filter; apply it to its base: umbel filter patch FILTER {0}",
            path.display()
        ),
        Content::Filter(_) => {
            file.rewind().with_context(name)?;
            return Ok((file, wrapping));
        }
    };
    let mut unpacked = tempfile::tempfile_in(tmp).with_context(|| tmp.display().to_string())?;
    let mut out = PageWriter::new(1 << 18, &unpacked);
    io::copy(&mut decoder, &mut out)
        .and_then(|_| out.flush())
        .with_context(|| format!("{}: unpacking it to {}", path.display(), tmp.display()))?;
    drop(out);
    unpacked.rewind().with_context(|| tmp.display().to_string())?;
    if wrapping.signature.is_none() {
        wrapping.signature = Signature::find(&unpacked).with_context(name)?;
    }
    Ok((unpacked, wrapping))
}

/// Whether a regular file is a packed filter; it is then read from its start.
pub fn is_packed(mut file: &File, path: &Path) -> Result<bool> {
    let mut start = Vec::new();
    file.rewind()
        .and_then(|()| file.take(pack::MAGIC.len() as u64).read_to_end(&mut start))
        .and_then(|_| file.rewind())
        .with_context(|| path.display().to_string())?;
    Ok(start == pack::MAGIC)
}

/// Refuses a filter that cannot be replaced by a changed one: packed, or signed if the new one will not be.
pub fn check_changeable(file: &File, path: &Path, signs: bool) -> Result<()> {
    if !State::of(file).with_context(|| path.display().to_string())?.is_file {
        return Ok(());
    }
    let path_name = path.display();
    if is_packed(file, path)? {
        bail!(
            "{path_name}: is packed, and cannot be changed in place; unpack it first: umbel filter unpack {path_name} -o FILE"
        );
    }
    if !signs && signature(file, path, None)?.is_some() {
        bail!(
            "{path_name}: is signed, and a changed filter needs a new signature; umbel filter add and umbel filter remove make one with \
             --sign KEY"
        );
    }
    Ok(())
}

/// Seals the filter at `path` if a killed process that shared it left it unsealed. Returns whether it did. The caller has
/// it [locked](super::atomic::lock) as `lock`, so no process has it in shared use now.
pub fn seal(lock: &File, path: &Path) -> Result<bool> {
    // If the file cannot be written, its reader reports that it is unsealed.
    let Ok(file) = OpenOptions::new().read(true).write(true).open(path) else { return Ok(false) };
    let name = || path.display().to_string();
    let same = State::of(lock).with_context(name)?.id == State::of(&file).with_context(name)?.id;
    Ok(same && format::seal(&file).with_context(name)?)
}
