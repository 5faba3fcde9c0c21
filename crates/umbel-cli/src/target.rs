//! Where results go: one rule for every verb. A successful run replaces a file of the same type as its result. A file
//! of another type stays unless --force is given, and secrets always stay.

use std::fs::{self, File, Metadata};
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail};
use umbel_foreign::recognized::NotFilter;
use umbel_io::compression;
use umbel_share::FileKind;

use crate::atomic::{self, Existing};

/// What a verb writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileType {
    /// Lines, or a text for people or programs.
    Text,
    /// Lines that end with NUL bytes.
    Nulls,
    /// A picture.
    Picture,
    /// An index of files.
    Index,
    /// A Parquet file.
    Parquet,
    /// A file of umbel.
    Own(FileKind),
}

impl FileType {
    pub(crate) const FILTER: Self = Self::Own(FileKind::Filter);

    /// What messages call it.
    fn name(self) -> &'static str {
        match self {
            Self::Text | Self::Nulls => "text",
            Self::Picture => "a picture",
            Self::Index => "an index",
            Self::Parquet => "a Parquet file",
            Self::Own(FileKind::Filter) => "a filter",
            Self::Own(FileKind::Packed) => "a packed filter",
            Self::Own(FileKind::Delta) => "a delta",
            Self::Own(FileKind::PublicKey) => "a public key",
            Self::Own(_) => "a secret",
        }
    }
}

/// Refuses, before any work, a file that cannot be made, or that `writes` must not replace. Gives what is done about a
/// file that appears during the work.
pub(crate) fn check(path: &Path, writes: FileType, force: bool) -> Result<Existing> {
    atomic::check_target(path, Existing::Replace)?;
    if matches!(writes, FileType::Text | FileType::Nulls) {
        compression::check_result_name(path)?;
    }
    let Ok(meta) = fs::metadata(path) else {
        // A dangling link is written through.
        return Ok(if path.is_symlink() { Existing::Replace } else { Existing::Keep });
    };
    // A device or a pipe is written to, and an empty file has nothing to lose.
    if !meta.is_file() || meta.len() == 0 {
        return Ok(Existing::Replace);
    }
    let mut start = Vec::new();
    let mut read = || File::open(path)?.take(1 << 16).read_to_end(&mut start);
    read().with_context(|| path.display().to_string())?;
    let path = path.display();
    let there = match type_of(&start, &meta) {
        Ok(FileType::Own(FileKind::Secret)) => {
            bail!("{path}: is a secret, which is never replaced; name another file")
        }
        // A file that ends with NUL bytes may look like anything.
        Ok(there) if there == writes => return Ok(Existing::Replace),
        Ok(FileType::Text) if writes == FileType::Nulls => return Ok(Existing::Replace),
        Err("binary data") if writes == FileType::Nulls => return Ok(Existing::Replace),
        Ok(there) => there.name(),
        Err(there) => there,
    };
    if !force {
        bail!(
            "{path}: is {there}, and {} would replace it; name another file, or replace it with --force",
            writes.name()
        );
    }
    Ok(Existing::Replace)
}

/// What is in a file that begins with `start`; what messages call it, if no verb writes that.
fn type_of(start: &[u8], meta: &Metadata) -> Result<FileType, &'static str> {
    if let Some(kind) = FileKind::of(start) {
        return Ok(FileType::Own(kind));
    }
    if start.starts_with(&umbel_find::MAGIC) {
        return Ok(FileType::Index);
    }
    if start.starts_with(b"<svg ") {
        return Ok(FileType::Picture);
    }
    match NotFilter::of(start) {
        Some(NotFilter::Text | NotFilter::CarriageReturns | NotFilter::Utf16) => Ok(FileType::Text),
        Some(NotFilter::Parquet) => Ok(FileType::Parquet),
        Some(NotFilter::Zip) => Err("a zip archive"),
        Some(NotFilter::Compressed(_)) => Err("compressed data"),
        None if meta.len() == 16 => Ok(FileType::Own(FileKind::Secret)),
        None if start.contains(&0) => Err("binary data"),
        // Text in another encoding than UTF-8.
        None => Ok(FileType::Text),
    }
}
