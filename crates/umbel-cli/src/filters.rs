//! Filters in files: opened with their path in every message, written whole or not at all.

use std::fs::{self, File};
use std::io::{self, BufReader, IsTerminal, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::{Context, Result, bail};
use umbel::{AnyFilter, Secret};
use umbel_sets::Options;

use crate::args::SecretArgs;
use crate::atomic::{self, Existing};
use crate::verbs::StdoutClosed;

/// The secret named, if any.
pub(crate) fn secret(args: &SecretArgs) -> Result<Option<Secret>> {
    let Some(path) = &args.secret_file else { return Ok(None) };
    let bytes = fs::read(path).with_context(|| path.display().to_string())?;
    let hex = || {
        let digits = bytes.trim_ascii();
        let half = |digit: u8| (digit as char).to_digit(16).map(|digit| digit as u8);
        let pairs = digits.chunks(2).map(|pair| Some((half(pair[0])? << 4) | half(*pair.get(1)?)?));
        pairs.collect::<Option<Vec<u8>>>()
    };
    let secret = <[u8; 16]>::try_from(&bytes[..]).ok().or_else(|| hex()?.try_into().ok());
    match secret {
        Some(secret) => Ok(Some(Secret::new(secret))),
        None => bail!(
            "{}: a secret has 16 bytes or 32 hexadecimal digits, found {} bytes",
            path.display(),
            bytes.len()
        ),
    }
}

/// Opens a filter to hash keys with it, when it fits in memory.
pub(crate) fn read(path: &Path, secret: Option<&Secret>, options: &Options) -> Result<AnyFilter> {
    read_within(&open(path)?, path, secret, options)
}

fn read_within(
    mut file: &File,
    path: &Path,
    secret: Option<&Secret>,
    options: &Options,
) -> Result<AnyFilter> {
    read_file(file, path, |source, length| {
        // The header tells the size before any of it is read.
        let bytes = umbel::format::Reader::new(source, length)?.header().payload_length();
        Ok(umbel_sets::room_beside(bytes, options).map(drop))
    })??;
    file.rewind().with_context(|| path.display().to_string())?;
    read_file(file, path, |source, length| AnyFilter::read(source, length, secret))
}

/// Opens a filter for its receipt, or to merge it: needs no secret.
pub(crate) fn read_sealed(path: &Path) -> Result<AnyFilter> {
    read_file(&open(path)?, path, |source, length| AnyFilter::read_sealed(source, length))
}

/// A filter opened to be replaced, and the lock that keeps others from replacing it meanwhile.
pub(crate) struct Locked {
    pub(crate) filter: AnyFilter,
    pub(crate) lock: File,
}

/// Opens a filter to add to it. Waits for another process that is adding: otherwise what one of
/// them adds would be lost.
pub(crate) fn read_locked(
    path: &Path,
    secret: Option<&Secret>,
    options: &Options,
) -> Result<Locked> {
    loop {
        let file = open(path)?;
        file.lock().with_context(|| path.display().to_string())?;
        // While we waited the file may have been replaced by a newer one.
        let ours = file.metadata().with_context(|| path.display().to_string())?;
        let named = fs::metadata(path).with_context(|| path.display().to_string())?;
        if (ours.dev(), ours.ino()) == (named.dev(), named.ino()) {
            let filter = read_within(&file, path, secret, options)?;
            return Ok(Locked { filter, lock: file });
        }
    }
}

/// Writes a filter to a file, or to standard output when the path is `-`.
pub(crate) fn write(filter: &AnyFilter, path: &Path, existing: Existing) -> Result<()> {
    write_with(path, existing, |out| Ok(filter.write(out)?))
}

/// Replaces a filter that is [locked](Locked); gives the lock of the new file.
pub(crate) fn write_locked(filter: &AnyFilter, path: &Path) -> Result<File> {
    atomic::write(path, Existing::Replace, |out| Ok(filter.write(out)?))
}

/// As [`write()`], for a filter that `write` writes itself.
pub(crate) fn write_with(
    path: &Path,
    existing: Existing,
    write: impl FnOnce(&mut dyn Write) -> Result<()>,
) -> Result<()> {
    if path.as_os_str() == "-" {
        let mut out = io::BufWriter::with_capacity(1 << 18, io::stdout().lock());
        let written = write(&mut out).and_then(|()| Ok(out.flush()?));
        return written.map_err(|error| match error.downcast::<umbel::Error>() {
            Ok(umbel::Error::Io(error)) => StdoutClosed(error).into(),
            Ok(error) => error.into(),
            Err(error) => error,
        });
    }
    atomic::write(path, existing, write).map(drop)
}

/// Refuses, before any work, a place where the result cannot go.
pub(crate) fn check_output(path: &Path, existing: Existing) -> Result<()> {
    if path.as_os_str() == "-" {
        if io::stdout().is_terminal() {
            bail!("a filter is not for a terminal; name a file with -o, or pipe it");
        }
        return Ok(());
    }
    atomic::check_target(path, existing)
}

/// An error of work with the filter of `path` and with lines: about which of them it is.
pub(crate) fn about(error: umbel_sets::Error, path: &Path) -> anyhow::Error {
    match error {
        umbel_sets::Error::Outgrown { .. } => {
            anyhow::Error::new(error).context(path.display().to_string())
        }
        error => error.into(),
    }
}

fn open(path: &Path) -> Result<File> {
    File::open(path).with_context(|| path.display().to_string())
}

fn read_file<T>(
    file: &File,
    path: &Path,
    read: impl FnOnce(BufReader<&File>, u64) -> Result<T, umbel::Error>,
) -> Result<T> {
    let meta = file.metadata().with_context(|| path.display().to_string())?;
    if meta.is_dir() {
        bail!("{}: is a directory; name a filter file", path.display());
    }
    read(BufReader::with_capacity(1 << 16, file), meta.len())
        .with_context(|| path.display().to_string())
}
