//! Filters in files, of umbel and of other systems: opened with their path in every message, written whole or
//! not at all.

use std::fs::{self, File, TryLockError};
use std::io::{self, BufReader, IsTerminal, Seek, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};
use umbel::{AnyFilter, Blocks, FileError, Hashing, Scheme, Sealed, Secret};
use umbel_foreign::{ForeignFilter, KeyType};
use umbel_sets::{Filter, ForeignLines, Options};

use crate::args::{ForeignArgs, FormatArgs, SecretArgs};
use crate::atomic::{self, Existing};
use crate::formats;
use crate::journal::{self, Found};
use crate::output::StdoutClosed;
use crate::report::say;

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

/// Opens a filter to put keys in or ask for them, when it fits in memory.
pub(crate) fn read(
    path: &Path,
    secret: Option<&Secret>,
    foreign: &ForeignArgs,
    options: &Options,
) -> Result<Filter> {
    Ok(read_within(&open(path)?, path, secret, foreign, options)?.0)
}

fn read_within(
    file: &File,
    path: &Path,
    secret: Option<&Secret>,
    foreign: &ForeignArgs,
    options: &Options,
) -> Result<(Filter, Option<Found>)> {
    let own = || {
        read_file(file, path, |source, length| {
            // The header tells the size before any of it is read.
            let bytes = umbel::format::Reader::new(source, length)?.header().payload_length();
            Ok(umbel_sets::room_beside(bytes, options).map(drop))
        })??;
        let mut rewound = file;
        rewound.rewind().with_context(|| path.display().to_string())?;
        read_file(rewound, path, |source, length| AnyFilter::read(source, length, secret))
    };
    let mut filter =
        of_any_system(file, path, &foreign.format, foreign.key_type, Some(options), own)?;
    match &mut filter {
        Filter::Foreign(lines) if secret.is_some() => bail!(
            "{}: a {} filter is not keyed; leave the secret out",
            path.display(),
            lines.filter().format()
        ),
        Filter::Own(_) if foreign.key_type.is_some() => bail!(
            "{}: --key-type goes with other systems' filters; the keys of this one are lines as they are",
            path.display()
        ),
        Filter::Own(own) => {
            let found = journal::take_in(own, &journal::path_of(path))?;
            Ok((filter, found))
        }
        Filter::Foreign(_) => Ok((filter, None)),
    }
}

/// Opens a filter for its receipt, or to merge it: needs no secret.
pub(crate) fn read_sealed(path: &Path, format: &FormatArgs) -> Result<Filter<Scheme>> {
    let file = open(path)?;
    of_any_system(&file, path, format, None, None, || {
        let filter =
            read_file(&file, path, |source, length| AnyFilter::read(source, length, Sealed));
        if journal::find(&journal::path_of(path))?.is_some() {
            say(&format!(
                "umbel: {0} has not what a run of umbel dedup --seen put in since it was saved: it still goes on, or did not end well; \
                 umbel dedup --seen {0} </dev/null saves it",
                path.display()
            ));
        }
        filter
    })
}

/// As [`read_sealed`], for what only filters of umbel can do.
pub(crate) fn read_own(path: &Path, verb: &str) -> Result<AnyFilter<Blocks, Scheme>> {
    own(read_sealed(path, &FormatArgs::default())?, path, verb)
}

/// The filter, when it is of umbel.
pub(crate) fn own<H: Hashing>(
    filter: Filter<H>,
    path: &Path,
    verb: &str,
) -> Result<AnyFilter<Blocks, H>> {
    match filter {
        Filter::Own(filter) => Ok(filter),
        Filter::Foreign(lines) => bail!(
            "{}: a {} filter; umbel {verb} takes filters of umbel alone: build one from its keys",
            path.display(),
            lines.filter().format()
        ),
    }
}

/// A filter of the format that is named; else one of umbel, which `own` reads, or of the format that its
/// content tells.
fn of_any_system<H: Hashing>(
    file: &File,
    path: &Path,
    format: &FormatArgs,
    key_type: Option<KeyType>,
    options: Option<&Options>,
    own: impl FnOnce() -> Result<AnyFilter<Blocks, H>>,
) -> Result<Filter<H>> {
    let filter = match format.format {
        Some(named) => formats::read(file, path, named, &format.param, options)?,
        None => match own() {
            Ok(filter) => return Ok(filter.into()),
            Err(error) if is_not_umbel(&error) => formats::recognize(file, path, &error, options)?,
            Err(error) => return Err(error),
        },
    };
    let lines = ForeignLines::new(filter, key_type).with_context(|| path.display().to_string())?;
    Ok(lines.into())
}

fn is_not_umbel(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(FileError::NotUmbel { .. }))
}

/// A filter opened to be replaced, and the lock that keeps others from replacing it meanwhile.
pub(crate) struct Locked {
    pub(crate) filter: Filter,
    pub(crate) lock: File,
    /// What a run left that did not end well; it is in the filter.
    pub(crate) found: Option<Found>,
}

/// Opens a filter to add to it. Waits for another process that is adding: otherwise what one of
/// them adds would be lost.
pub(crate) fn read_locked(
    path: &Path,
    secret: Option<&Secret>,
    foreign: &ForeignArgs,
    options: &Options,
) -> Result<Locked> {
    let lock = lock(open(path)?, path)?;
    let (filter, found) = read_within(&lock, path, secret, foreign, options)?;
    Ok(Locked { filter, lock, found })
}

/// Keeps others from replacing the file that `path` names, which was opened as `file`, as long as what this gives is open.
/// Waits for another process that does so, and says that it waits.
fn lock(mut file: File, path: &Path) -> Result<File> {
    let context = || path.display().to_string();
    loop {
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                say(&format!("umbel: waiting for another run that changes {}", path.display()));
                file.lock().with_context(context)?;
            }
            Err(TryLockError::Error(error)) => return Err(error).with_context(context),
        }
        // While we waited the file may have been replaced by a newer one.
        let ours = file.metadata().with_context(context)?;
        let named = fs::metadata(path).with_context(context)?;
        if atomic::is_same(&ours, &named) {
            return Ok(file);
        }
        file = open(path)?;
    }
}

/// Writes a filter to a file, or to standard output when the path is `-`.
pub(crate) fn write<H: Hashing>(filter: &Filter<H>, path: &Path, existing: Existing) -> Result<()> {
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
    write: impl FnOnce(&mut (dyn Write + Send)) -> Result<()>,
) -> Result<()> {
    if path.as_os_str() == "-" {
        let mut out = io::BufWriter::with_capacity(1 << 18, io::stdout());
        let written = write(&mut out).and_then(|()| Ok(out.flush()?));
        return written.map_err(|error| match error.downcast::<io::Error>() {
            Ok(error) => StdoutClosed(error).into(),
            Err(error) => error,
        });
    }
    atomic::write(path, existing, write).map(drop)
}

/// Refuses, before any work, a place where the result cannot go. A file that is there is locked as long as what this gives
/// is open: what another run adds to it meanwhile would be lost.
pub(crate) fn claim_output(path: &Path, existing: Existing) -> Result<Option<File>> {
    if path.as_os_str() == "-" {
        if io::stdout().is_terminal() {
            bail!("a filter is not for a terminal; name a file with -o, or pipe it");
        }
        return Ok(None);
    }
    atomic::check_target(path, existing)?;
    match fs::metadata(path) {
        Ok(meta) if meta.is_file() => {
            let lock = lock(open(path)?, path)?;
            let journal = journal::path_of(path);
            if journal::find(&journal)?.is_some() {
                bail!(
                    "{0}: {1} has what a run of umbel dedup --seen put in last; save it with umbel dedup --seen {0} </dev/null, or remove {1}",
                    path.display(),
                    journal.display()
                );
            }
            Ok(Some(lock))
        }
        _ => Ok(None),
    }
}

/// An error of work with the filter of `path` and with lines: about which of them it is.
pub(crate) fn about(error: umbel_sets::Error, path: &Path) -> anyhow::Error {
    match error {
        umbel_sets::Error::Outgrown { .. }
        | umbel_sets::Error::Foreign(umbel_foreign::Error::Full { .. }) => {
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
    read: impl FnOnce(BufReader<&File>, u64) -> Result<T, FileError>,
) -> Result<T> {
    let length = formats::length(file, path)?;
    read(BufReader::with_capacity(1 << 16, file), length)
        .with_context(|| path.display().to_string())
}
