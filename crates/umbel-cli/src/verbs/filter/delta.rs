//! `umbel filter delta` and `umbel filter patch`: what changed in a filter, and its new version.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::sync::Arc;

use umbel_io::PageReader;
use umbel_sets::Progress;
use umbel_share::delta::{Decoder, Encoder};
use umbel_share::{Content, FileKind, Trust, pack, receive};

use super::pack::{WriteArgs, finish};
use crate::args::{MostArgs, ReplaceArgs, SignArgs, TrustArgs, Voice};
use crate::atomic::Existing;
use crate::filters;
use crate::standard::is_standard;
use crate::target::FileType;
use crate::verbs::prelude::*;
use crate::wrapped::{self, Signing};

/// Write what changed between two versions of a filter
///
/// Anyone who has OLD can make NEW from it with umbel filter patch. Kind, hash scheme and size must be equal; a new scalable filter
/// may be larger. The delta records which filter it was made from, and is refused for any other.
#[derive(Debug, Args)]
pub(crate) struct DeltaArgs {
    /// Filter that the receivers have
    pub(crate) old: PathBuf,
    /// Filter that they need
    pub(crate) new: PathBuf,
    #[command(flatten)]
    pub(crate) to: WriteArgs,
    #[command(flatten)]
    pub(crate) sign: SignArgs,
    #[command(flatten)]
    pub(crate) trust: TrustArgs,
    #[command(flatten)]
    pub(crate) most: MostArgs,
    #[command(flatten)]
    pub(crate) voice: Voice,
}

impl Verb for DeltaArgs {
    const NAME: &str = "filter delta";
    const HELP: &str = "
umbel filter delta monday.umbel tuesday.umbel -o tuesday.delta   what changed
0 the delta is written
";
    const RUN: fn(&Self) -> Result<Outcome> = delta;
}

/// Make the new version of a filter from the old one and a delta
///
/// Without -o, OLD is replaced in one step; after an error it is unchanged. A delta that was made from another filter, or was
/// already applied, is refused.
///
/// With --trust, the delta must be signed. It contains the SHA-256 of the new filter, so its signer vouches for the result,
/// whatever OLD is.
#[derive(Debug, Args)]
pub(crate) struct PatchArgs {
    /// The filter that the delta was made from
    pub(crate) old: PathBuf,
    /// The delta; - is standard input
    pub(crate) delta: PathBuf,
    /// File to write; - is standard output [default: OLD is replaced]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) replace: ReplaceArgs,
    #[command(flatten)]
    pub(crate) trust: TrustArgs,
    #[command(flatten)]
    pub(crate) most: MostArgs,
    #[command(flatten)]
    pub(crate) voice: Voice,
}

impl Verb for PatchArgs {
    const NAME: &str = "filter patch";
    const HELP: &str = "
also apply
umbel filter patch seen.umbel tuesday.delta   the new version, in place
umbel filter patch monday.umbel tuesday.delta -o tuesday.umbel   or in another file
0 the new version is written
";
    const RUN: fn(&Self) -> Result<Outcome> = patch;
}

pub(crate) fn delta(args: &DeltaArgs) -> Result<Outcome> {
    let writes = FileType::Own(FileKind::Delta);
    let (existing, _lock) = filters::claim_output(&args.to.output, writes, args.to.replace.force)?;
    let key = wrapped::signing(&args.sign, &args.trust.list, &args.to.output)?;
    let trust = wrapped::trust(&args.trust)?;
    let most = args.most.bytes();
    let old = open(&args.old, trust.as_ref(), most)?;
    let new = open(&args.new, trust.as_ref(), most)?;
    let run = Run::start("filter delta", args.voice, &Arc::new(Progress::default()));
    write((&old, &args.old), (&new, &args.new), (&args.to.output, existing), key.as_ref(), run)
}

/// Writes the delta between two files that are read from their starts, and reports it.
pub(super) fn write(
    (old, old_path): (&File, &Path),
    (new, new_path): (&File, &Path),
    (output, existing): (&Path, Existing),
    key: Option<&Signing>,
    run: Run,
) -> Result<Outcome> {
    let names = || format!("{} and {}", old_path.display(), new_path.display());
    let (from, to) = (buffered(old, old_path)?, buffered(new, new_path)?);
    let read = from.1 + to.1;
    let encoder = Encoder::new(from, to).with_context(names)?;
    let changes = |out: &mut (dyn Write + Send)| {
        encoder.write(out).map(drop).map_err(|error| wrapped::about(error, names()))
    };
    let written = filters::write_checked(output, existing, key, changes, |delta| {
        // Its result has the checksum of the new filter.
        let length = crate::formats::length(delta, output)?;
        let delta = PageReader::new(1 << 18, delta).take(length);
        let made = Decoder::new(buffered(old, old_path)?, delta, u64::MAX);
        let made = made.and_then(|mut made| Ok(io::copy(&mut made, &mut io::sink())?));
        made.map(drop).with_context(|| output.display().to_string())
    })?;
    finish(run, read, written)
}

pub(crate) fn patch(args: &PatchArgs) -> Result<Outcome> {
    let output = args.output.as_ref().unwrap_or(&args.old);
    // Locked until it is replaced; otherwise another run's additions would be lost.
    let (existing, _lock) = match &args.output {
        None => {
            let lock = filters::open_in_place_locked(&args.old)?;
            wrapped::check_changeable(&lock, &args.old, true)?;
            (Existing::Replace, Some(lock))
        }
        Some(_) => filters::claim_output(output, FileType::FILTER, args.replace.force)?,
    };
    let (trust, most) = (wrapped::trust(&args.trust)?, args.most.bytes());
    let tmp = umbel_io::temporary_folder();
    let delta = filters::open(&args.delta, &tmp)?;
    crate::formats::length(&delta, &args.delta)?;
    let received = receive(PageReader::new(1 << 18, &delta), trust.as_ref(), most)
        .with_context(|| args.delta.display().to_string())?;
    let source: &mut dyn Read = match received.content {
        Content::Delta(source) | Content::Filter(source) => &mut { source },
        // Its first bytes are refused.
        Content::Packed(_) => &mut &pack::MAGIC[..],
    };
    let old = open(&args.old, None, most)?;
    let run = Run::start("filter patch", args.voice, &Arc::new(Progress::default()));
    let old = buffered(&old, &args.old)?;
    let read = received.length + old.1;
    let most = if trust.is_some() { u64::MAX } else { most };
    let mut decoder = Decoder::new(old, source, most).with_context(|| about(args))?;
    let mut patched = |out: &mut dyn Write| {
        io::copy(&mut decoder, out).map(drop).map_err(|error| wrapped::about(error, about(args)))
    };
    let name = format!("{}: the new filter", about(args));
    let check = |new: &File| wrapped::check_whole(new, Path::new(&name), None);
    let streams = is_standard(output) || fs::metadata(output).is_ok_and(|meta| !meta.is_file());
    let written = if trust.is_some() && streams {
        // The result is not written before its digest is checked.
        let mut new = tempfile::tempfile_in(&tmp).with_context(|| tmp.display().to_string())?;
        patched(&mut new)?;
        check(&new)?;
        new.rewind()?;
        filters::write_with(output, existing, None, |out| Ok(io::copy(&mut new, out).map(drop)?))?
    } else {
        filters::write_checked(output, existing, None, |out| patched(out), check)?
    };
    finish(run, read, written)
}

fn about(args: &PatchArgs) -> String {
    format!("{} on {}", args.delta.display(), args.old.display())
}

/// A filter's file, unpacked, to be read from its start.
fn open(path: &Path, trust: Option<&Trust>, most: u64) -> Result<File> {
    filters::check_saved(path)?;
    let tmp = umbel_io::temporary_folder();
    let file = filters::open(path, &tmp)?;
    let (file, _) = wrapped::unwrap(file, path, &tmp, trust, most)?;
    crate::formats::length(&file, path)?;
    Ok(file)
}

/// A file that is read from its start, and its length with the signature.
fn buffered<'a>(mut file: &'a File, path: &'a Path) -> Result<(PageReader<Named<'a>>, u64)> {
    file.rewind().with_context(|| path.display().to_string())?;
    let length = file.metadata().with_context(|| path.display().to_string())?.len();
    Ok((PageReader::new(1 << 18, Named { file, path }), length))
}

/// A file whose errors of reading name it: of two that are read at once.
struct Named<'a> {
    file: &'a File,
    path: &'a Path,
}

impl Read for Named<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.file.read(bytes).map_err(|error| self.named(error))
    }
}

impl Seek for Named<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to).map_err(|error| self.named(error))
    }
}

impl Named<'_> {
    fn named(&self, error: io::Error) -> io::Error {
        match error.kind() {
            ErrorKind::Interrupted => error,
            kind => io::Error::new(kind, format!("{}: {error}", self.path.display())),
        }
    }
}
