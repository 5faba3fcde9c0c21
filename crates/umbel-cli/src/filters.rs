//! Filters in files, of umbel and of other systems: opened with their path in every message, written whole or
//! not at all.

use std::error::Error;
use std::fs::{self, File};
use std::io::{self, IsTerminal, Seek, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use umbel::internals::format::Reader;
use umbel::{
    AnyFilter, AnyScheme, FileError, Filter as _, KeyDescription, KeyForm, Kind, Portable, Scheme,
    SchemeError, Secret,
};
use umbel_foreign::{ForeignFilter, KeyType};
use umbel_io::{PageReader, PageWriter, State};
use umbel_sets::journal::{self, Notes};
use umbel_sets::{Filter, ForeignLines, LargeFilter, Normalization, Options, Records, Resources};
use umbel_share::Wrapping;

use crate::args::{
    ForeignArgs, FormatArgs, NamesArgs, ReadArgs, SecretArgs, TrustArgs, Work, named_form,
};
use crate::atomic::{self, Check, Existing, Fill};
use crate::formats;
use crate::lines;
use crate::output::{StdoutClosed, check_open};
use crate::report::{note, say};
use crate::secrets;
use crate::standard::{self, is_standard, stdin};
use crate::target::{self, FileType};
use crate::wrapped::{self, Signing};

/// The secret named, if any.
pub(crate) fn secret(args: &SecretArgs) -> Result<Option<Secret>> {
    args.secret_file.as_deref().map(read_secret).transpose()
}

/// The secret in a file.
pub(crate) fn read_secret(path: &Path) -> Result<Secret> {
    Secret::from_file(&secrets::read(path)?).with_context(|| path.display().to_string())
}

/// A filter that is open, and the journal next to it.
pub(crate) struct Opened {
    pub(crate) file: File,
    notes: Option<Notes>,
}

/// Reads a filter to look keys up in it, if it fits in memory.
pub(crate) fn read(
    Opened { file, notes }: &Opened,
    path: &Path,
    secret: Option<&Secret>,
    foreign: &ForeignArgs,
    options: &Options,
) -> Result<Filter> {
    let own = || {
        read_file(file, path, |source, length| {
            // The header gives the size before the bits are read.
            let bytes = Reader::new(source, length)?.header().payload_length();
            Ok(umbel_sets::room_left(bytes, &options.resources).map(drop))
        })??;
        read_file(file, path, |source, length| AnyFilter::read_with(source, length, secret))
    };
    let resources = Some(&options.resources);
    let mut filter = of_any_system(file, path, &foreign.format, foreign.key_type, resources, own)?;
    match &mut filter {
        Filter::Foreign(lines) if secret.is_some() => bail!(
            "{}: a {} filter is not keyed; omit --secret-file",
            path.display(),
            lines.filter.format()
        ),
        Filter::Own(own) => notes.as_ref().map_or(Ok(()), |notes| notes.take_in(own, file))?,
        Filter::Foreign(_) => {}
    }
    Ok(filter)
}

/// The filter in `file`, when it is a blocked one of umbel that does not fit within the cap.
pub(crate) fn large<'a>(
    Opened { file, notes }: &'a Opened,
    path: &Path,
    secret: Option<&'a Secret>,
    foreign: &ForeignArgs,
    options: &Options,
) -> Result<Option<LargeFilter<'a>>> {
    if foreign.format.format.is_some() {
        return Ok(None);
    }
    let context = || path.display().to_string();
    let length = formats::length(file, path)?;
    if !State::of(file).with_context(context)?.is_file {
        return Ok(None);
    }
    let large = match Reader::new(rewound(file, path)?, length) {
        Ok(reader) => {
            let fits = umbel_sets::room_left(reader.header().payload_length(), &options.resources);
            matches!(reader.header().kind(), Ok(Kind::Blocked))
                && matches!(fits, Err(umbel_sets::Error::Memory { .. }))
        }
        Err(FileError::Io(error)) => return Err(error).with_context(context),
        // Reading it as a whole reports what is wrong.
        Err(_) => false,
    };
    if !large {
        return Ok(None);
    }
    LargeFilter::open(file, length, secret, notes.as_ref()).map(Some).with_context(context)
}

/// As [`check_keys`].
pub(crate) fn check_large(
    large: &LargeFilter<'_>,
    path: &Path,
    options: &mut Options,
    names: &NamesArgs,
    keys: Keys<'_>,
) -> Result<Option<KeyForm>> {
    check_description(large.description(), large.plan().kind(), path, options, names, keys)
}

/// Opens a filter to make another of it: needs no secret.
pub(crate) fn read_without_secret(path: &Path, args: &ReadArgs) -> Result<Filter<Scheme>> {
    check_saved(path)?;
    Ok(read_wrapped(path, args)?.0)
}

/// Opens a filter for its receipt, also if lines of its journal are missing, and tells how the file came.
pub(crate) fn read_wrapped(path: &Path, args: &ReadArgs) -> Result<(Filter<Scheme>, Wrapping)> {
    let tmp = umbel_io::temporary_folder();
    let (file, wrapping) = open_unwrapped(path, &tmp, &args.trust, args.most.bytes())?;
    Ok((without_secret(&file, path, &args.format)?, wrapping))
}

/// As [`read_wrapped`], from an open file.
pub(crate) fn without_secret(
    mut file: &File,
    path: &Path,
    format: &FormatArgs,
) -> Result<Filter<Scheme>> {
    file.rewind().with_context(|| path.display().to_string())?;
    of_any_system(file, path, format, None, None, || {
        let filter =
            read_file(file, path, |source, length| AnyFilter::read_with(source, length, AnyScheme));
        if Notes::of(path)?.is_some() {
            say(&format!(
                "umbel: warning: {0}: lacks the lines that umbel unseen recorded since the filter was saved; the run is still going or was interrupted: umbel unseen {0} </dev/null saves them",
                path.display()
            ));
        }
        filter
    })
}

/// The filter, when it is of umbel.
pub(crate) fn own<H: Portable>(filter: Filter<H>, path: &Path, verb: &str) -> Result<AnyFilter<H>> {
    match filter {
        Filter::Own(filter) => Ok(filter),
        Filter::Foreign(lines) => bail!(
            "{}: is a {} filter, but umbel {verb} works only with umbel's own; build one from the keys",
            path.display(),
            lines.filter.format()
        ),
    }
}

/// A filter of the format that is named; else one of umbel, which `own` reads, or of the format that its
/// content tells.
fn of_any_system<H: Portable>(
    file: &File,
    path: &Path,
    format: &FormatArgs,
    key_type: Option<KeyType>,
    resources: Option<&Resources>,
    own: impl FnOnce() -> Result<AnyFilter<H>>,
) -> Result<Filter<H>> {
    let filter = match format.format {
        Some(named) => formats::read(file, path, named, &format.param, resources)?,
        None => match own() {
            Ok(filter) => return Ok(Filter::Own(filter)),
            Err(error) if matches!(error.downcast_ref(), Some(FileError::NotUmbel(..))) => {
                formats::recognize(file, path, &error, resources)?
            }
            Err(error) => return Err(error),
        },
    };
    let lines = ForeignLines::new(filter, key_type).with_context(|| path.display().to_string())?;
    Ok(Filter::Foreign(lines))
}

/// Whether a filter was not read because it is keyed and no secret was given.
pub(crate) fn needs_secret(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(FileError::Scheme(SchemeError::SecretNeeded(..))))
}

/// A filter opened to be replaced, and the lock that keeps others from replacing it meanwhile.
pub(crate) struct Locked {
    pub(crate) filter: Filter,
    pub(crate) lock: File,
    /// What an interrupted run left; it is in the filter.
    pub(crate) notes: Option<Notes>,
}

/// Opens the file of a filter to replace it by a changed one, signed if there is a key. Waits for another process that
/// replaces it.
pub(crate) fn open_locked(path: &Path, key: Option<&Signing>) -> Result<Opened> {
    let file = open_in_place_locked(path)?;
    if umbel_io::wrapped::seal(&file, path)? {
        say(&format!(
            "umbel: warning: {}: was left in shared use by a program that was killed; sealed it with its present bits, which no checksum protected until now",
            path.display()
        ));
    }
    wrapped::check_changeable(&file, path, key.is_some())?;
    key.map_or(Ok(()), |key| key.check_replaces(&file, path))?;
    // A writer of the journal has the lock.
    Ok(Opened { file, notes: Notes::of(path)? })
}

/// Opens a file to replace it, whatever is in it. Waits for another process that does so.
pub(crate) fn open_in_place_locked(path: &Path) -> Result<File> {
    lock(open_in_place(path)?, path, &|| open_in_place(path))
}

/// Reads a filter to add to it, from a file that is [locked](open_locked): otherwise what another process adds would be
/// lost.
pub(crate) fn read_locked(
    lock: Opened,
    path: &Path,
    secret: Option<&Secret>,
    foreign: &ForeignArgs,
    options: &Options,
) -> Result<Locked> {
    let filter = read(&lock, path, secret, foreign, options)?;
    let notes = lock.notes.filter(|_| matches!(filter, Filter::Own(_)));
    Ok(Locked { filter, lock: lock.file, notes })
}

/// As [`atomic::lock`]; prints that it waits.
pub(crate) fn lock(file: File, path: &Path, open: &dyn Fn() -> Result<File>) -> Result<File> {
    atomic::lock(file, path, open, &mut |file| {
        note(&format!("umbel: {}: waiting for another run that is changing it", path.display()));
        umbel_io::lock(file)
    })
}

/// What is done with lines as keys of a filter, their type if it is given, and the files that they are read from, besides those
/// that options name.
#[derive(Clone, Copy)]
pub(crate) enum Keys<'a> {
    Asked(Option<KeyType>, &'a [PathBuf], &'a Work),
    Added(Option<KeyType>, &'a [PathBuf], &'a Work),
}

/// Checks that a filter has keys as the options describe them, and makes them read keys in the form that the filter has,
/// which is returned: text is assumed if it notes none; `names` are the names of their fields in the filter, if they differ from those of the input.
pub(crate) fn check_keys(
    filter: &Filter,
    path: &Path,
    options: &mut Options,
    names: &NamesArgs,
    keys: Keys<'_>,
) -> Result<Option<KeyForm>> {
    match filter {
        Filter::Own(filter) => {
            let kind = filter.plan().kind();
            check_description(filter.description(), kind, path, options, names, keys)
        }
        Filter::Foreign(_) if names.names.is_empty() => Ok(Some(KeyForm::Text)),
        Filter::Foreign(lines) => bail!(
            "{}: a {} filter does not record field names; omit --as",
            path.display(),
            lines.filter.format()
        ),
    }
}

fn check_description(
    description: &KeyDescription,
    kind: Kind,
    path: &Path,
    options: &mut Options,
    names: &NamesArgs,
    keys: Keys<'_>,
) -> Result<Option<KeyForm>> {
    let (Keys::Asked(given, files, work) | Keys::Added(given, files, work)) = keys;
    // A line of a list may be the field; a row is not.
    if let [field] = description.values("field").collect::<Vec<_>>()[..]
        && options.form.records.key().is_empty()
        && (!matches!(options.form.records, Records::Lines(_))
            || lines::known(files, work)?.iter().any(|file| named_form(file).is_some()))
    {
        bail!(
            "{}: the filter was built from the field {field:?}, so it cannot answer for whole rows; name the field (--key {field})",
            path.display()
        );
    }
    let form = match (description.form(), given) {
        (Some(KeyForm::Mixed), None) => bail!(
            "{}: holds integers and text; choose how to read the lines: --key-type i64 or bytes",
            path.display()
        ),
        (Some(KeyForm::Integer), None) => Some(KeyForm::Integer),
        (None, None) if !kind.rows() && description.values("type").next().is_none() => None,
        (_, None) => Some(KeyForm::Text),
        (held, Some(given)) => {
            let form = form_of(given).with_context(|| path.display().to_string())?;
            match held {
                Some(KeyForm::Integer) if form != KeyForm::Integer => {
                    bail!("{}: holds integers; omit --key-type", path.display())
                }
                Some(KeyForm::Text | KeyForm::Bytes) if form == KeyForm::Integer => bail!(
                    "{}: holds text, and looks numbers up by their digits; omit --key-type",
                    path.display()
                ),
                _ => Some(form),
            }
        }
    };
    let assumed = form.unwrap_or(KeyForm::Text);
    read_keys_as(assumed, matches!(keys, Keys::Added(..)), options)?;
    umbel_sets::describe_keys(kind, &options.form, &names.names, assumed)
        .and_then(|wanted| Ok(description.check(kind, &wanted)?))
        .with_context(|| path.display().to_string())?;
    Ok(form)
}

/// The form of keys of a type, in a filter of umbel.
pub(crate) fn form_of(key_type: KeyType) -> Result<KeyForm> {
    match key_type {
        KeyType::I64 => Ok(KeyForm::Integer),
        KeyType::Bytes | KeyType::Decimal => Ok(KeyForm::Text),
        other => bail!("an umbel filter's keys are of type bytes or i64, not {other}"),
    }
}

/// Makes options read keys of a form. Integers are their digits in a line; what is none can be looked up, but is not
/// `added`.
pub(crate) fn read_keys_as(form: KeyForm, added: bool, options: &mut Options) -> Result<()> {
    fn added_integer(key: &[u8], to: &mut Vec<u8>) -> Result<bool, Box<dyn Error + Send + Sync>> {
        let integer = KeyForm::integer(key).ok_or(
            "is not an integer from -9223372036854775808 to 18446744073709551615, like the filter's keys",
        )?;
        to.extend_from_slice(&integer);
        Ok(true)
    }
    fn asked_integer(key: &[u8], to: &mut Vec<u8>) -> Result<bool, Box<dyn Error + Send + Sync>> {
        match KeyForm::integer(key) {
            Some(integer) => to.extend_from_slice(&integer),
            None => to.extend_from_slice(key),
        }
        Ok(true)
    }
    if form == KeyForm::Integer {
        let Normalization { number, thousands, .. } = options.form.normalization;
        ensure!(!number && !thousands, "integers are equal by value; omit --normalize number");
        options.form.normalization.read = Some(if added { added_integer } else { asked_integer });
    }
    Ok(())
}

/// Writes a filter to a file, or to standard output when the path is `-`, signed if there is a key; gives the bytes written.
pub(crate) fn write<H: Portable>(
    filter: &Filter<H>,
    path: &Path,
    existing: Existing,
    key: Option<&Signing>,
) -> Result<u64> {
    write_with(path, existing, key, |out| Ok(filter.write(out)?))
}

/// Replaces a filter that is [locked](Locked); `record` sees the new file before it takes its name. Gives its lock, and the
/// bytes written.
pub(crate) fn write_locked(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<()>,
    record: impl FnOnce(&File) -> Result<()>,
) -> Result<(File, u64)> {
    let mut bytes = 0;
    let write = |out: &mut (dyn Write + Send)| write(&mut Counted { out, bytes: &mut bytes });
    let file = atomic::write_checked(path, Existing::Replace, write, record)?;
    Ok((file, bytes))
}

/// Replaces a filter that is [locked](Locked) by the one that `write` writes, signed if there is a key, and records that it
/// has what an interrupted run noted; gives the bytes written.
pub(crate) fn write_changed(
    path: &Path,
    notes: Option<&Notes>,
    key: Option<&Signing>,
    write: impl FnOnce(&mut (dyn Write + Send)) -> Result<()>,
) -> Result<u64> {
    let record = |file: &File| notes.map_or(Ok(()), |notes| notes.saved(file));
    write_checked(path, Existing::Replace, key, write, record)
}

/// As [`write()`], for a filter that `write` writes itself.
pub(crate) fn write_with(
    path: &Path,
    existing: Existing,
    key: Option<&Signing>,
    write: impl FnOnce(&mut (dyn Write + Send)) -> Result<()>,
) -> Result<u64> {
    write_checked(path, existing, key, write, |_| Ok(()))
}

/// As [`write_with`]; `check` reads a file that was written before it takes its name, and may refuse it. What goes to
/// standard output or a pipe cannot be read back.
pub(crate) fn write_checked(
    path: &Path,
    existing: Existing,
    key: Option<&Signing>,
    write: impl FnOnce(&mut (dyn Write + Send)) -> Result<()>,
    check: impl FnOnce(&File) -> Result<()>,
) -> Result<u64> {
    write_by(path, existing, key, Box::new(write), Box::new(check))
}

/// As [`write_checked`]. Compiled once, and not for every caller.
fn write_by(
    path: &Path,
    existing: Existing,
    key: Option<&Signing>,
    write: Box<Fill<'_>>,
    check: Box<Check<'_>>,
) -> Result<u64> {
    let mut bytes = 0;
    let write = |out: &mut (dyn Write + Send)| wrapped::write_signed(out, key, write);
    if is_standard(path) {
        check_open()?;
        let mut out = PageWriter::new(1 << 18, io::stdout());
        let written = write(&mut Counted { out: &mut out, bytes: &mut bytes });
        let written = written.and_then(|()| Ok(out.flush()?));
        written.map_err(|error| match error.downcast::<io::Error>() {
            Ok(error) => StdoutClosed(error).into(),
            Err(error) => error,
        })?;
    } else {
        let write = |out: &mut (dyn Write + Send)| write(&mut Counted { out, bytes: &mut bytes });
        atomic::write_checked(path, existing, write, check)?;
    }
    Ok(bytes)
}

/// Counts the bytes that go to a file: with header and checksums, more than the filter has in memory.
struct Counted<'a> {
    out: &'a mut (dyn Write + Send),
    bytes: &'a mut u64,
}

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        *self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Refuses, before any work, a place where the result cannot go, and gives what is done about a file that appears meanwhile. A
/// file that is there is locked as long as what this gives is open: what another run adds to it would be lost.
pub(crate) fn claim_output(
    path: &Path,
    writes: FileType,
    force: bool,
) -> Result<(Existing, Option<File>)> {
    if is_standard(path) {
        if io::stdout().is_terminal() {
            bail!(
                "a filter is not text, and standard output is a terminal; name a file with -o, or pipe it"
            );
        }
        return Ok((Existing::Replace, None));
    }
    let existing = target::check(path, writes, force)?;
    if !path.is_file() {
        return Ok((existing, None));
    }
    let lock = open_in_place_locked(path)?;
    check_saved(path)?;
    Ok((existing, Some(lock)))
}

/// An error of work with the filter of `path` and with lines, with the path if it is about the filter.
pub(crate) fn about(error: umbel_sets::Error, path: &Path) -> anyhow::Error {
    match error {
        umbel_sets::Error::Outgrown { .. }
        | umbel_sets::Error::NoRoom { .. }
        | umbel_sets::Error::Filter(umbel::Error::File(_) | umbel::Error::Insert(_))
        | umbel_sets::Error::Foreign(umbel_foreign::Error::Full { .. }) => {
            anyhow::Error::new(error).context(path.display().to_string())
        }
        error => error.into(),
    }
}

/// Refuses a filter that lacks what its journal holds.
pub(crate) fn check_saved(path: &Path) -> Result<()> {
    if Notes::of(path)?.is_some() {
        let journal = journal::path_of(path);
        bail!(
            "{0}: {1} holds lines that umbel unseen recorded but did not save; save them with umbel unseen {0} </dev/null, or remove {1}",
            path.display(),
            journal.display()
        );
    }
    Ok(())
}

/// Opens a filter to query it, as [`open_unwrapped`].
pub(crate) fn open_beside(path: &Path, options: &Options, trust: &TrustArgs) -> Result<Opened> {
    let tmp = options.resources.tmp.folders().next().expect("there is at least one");
    let notes = match is_standard(path) {
        true => None,
        false if trust.trust.is_some() => Notes::refuse(path).map(|()| None)?,
        false => Notes::of(path)?,
    };
    Ok(Opened { file: open_unwrapped(path, tmp, trust, options.resources.memory)?.0, notes })
}

/// Opens a filter as [`open`], unpacks it if it is packed, to at most `most` bytes, and checks its signature if its signer must be trusted.
fn open_unwrapped(
    path: &Path,
    tmp: &Path,
    trust: &TrustArgs,
    most: u64,
) -> Result<(File, Wrapping)> {
    let trust = wrapped::trust(trust)?;
    wrapped::unwrap(open(path, tmp)?, path, tmp, trust.as_ref(), most)
}

/// Opens a filter to read it; `-` is standard input. A filter from a pipe is copied to a temporary file in the folder
/// `tmp`: its length must be known, and it may be read more than once.
pub(crate) fn open(path: &Path, tmp: &Path) -> Result<File> {
    let name = || path.display().to_string();
    let mut file = match is_standard(path) {
        true => stdin()?,
        false => open_file(path)?,
    };
    let state = State::of(&file).with_context(name)?;
    // Another program may have read a part of a file on standard input; a directory is refused when it is read.
    if state.is_dir || state.is_file && file.stream_position().with_context(name)? == 0 {
        return Ok(file);
    }
    let mut copy = tempfile::tempfile_in(tmp).with_context(|| tmp.display().to_string())?;
    let bytes = io::copy(&mut file, &mut copy)
        .with_context(|| format!("{}: copying it to {}", path.display(), tmp.display()))?;
    if bytes == 0 {
        bail!("{}: no data; pipe a filter in, or name a filter file", standard::name(path));
    }
    copy.rewind().with_context(|| tmp.display().to_string())?;
    Ok(copy)
}

/// Opens a filter that will be replaced: a file with a name.
fn open_in_place(path: &Path) -> Result<File> {
    let special = fs::metadata(path).is_ok_and(|meta| !meta.is_file() && !meta.is_dir());
    if is_standard(path) || special {
        bail!(
            "{}: is not a regular file, so it cannot be changed; name a filter file",
            path.display()
        );
    }
    open_file(path)
}

fn open_file(path: &Path) -> Result<File> {
    umbel_io::open(path).with_context(|| path.display().to_string())
}

/// Reads a file from its start, without a signature at its end.
pub(crate) fn read_file<T>(
    file: &File,
    path: &Path,
    read: impl FnOnce(PageReader<&File>, u64) -> Result<T, FileError>,
) -> Result<T> {
    let length = formats::length(file, path)?;
    read(rewound(file, path)?, length).with_context(|| path.display().to_string())
}

fn rewound<'a>(mut file: &'a File, path: &Path) -> Result<PageReader<&'a File>> {
    file.rewind().with_context(|| path.display().to_string())?;
    Ok(PageReader::new(1 << 16, file))
}
