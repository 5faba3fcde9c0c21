//! `umbel filter pack` and `umbel filter unpack`: make filters as small as possible for sending.

use std::fs::File;
use std::io::{self, Read, Write};

use umbel_io::PageReader;
use umbel_sets::{Progress, Report};
use umbel_share::pack::Encoder;
use umbel_share::{Content, FileKind, ShareError, receive};

use crate::args::{MostArgs, ReplaceArgs, SignArgs, TrustArgs, Voice};
use crate::target::FileType;
use crate::verbs::prelude::*;
use crate::{filters, wrapped};

/// Where a file goes.
#[derive(Debug, Args)]
pub(crate) struct WriteArgs {
    /// File to write; - is standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) replace: ReplaceArgs,
}

/// Pack a filter to send it
///
/// The packed file is as small as the filter's bits allow (its entropy), and unpacks to the same bytes. A filter with half of its
/// bits set does not get smaller: plan one for sending with umbel filter plan --ship. All verbs that read filters also read packed
/// ones. Verbs that change a filter in place need it unpacked.
#[derive(Debug, Args)]
pub(crate) struct PackArgs {
    /// Filter to pack; - is standard input
    pub(crate) filter: PathBuf,
    #[command(flatten)]
    pub(crate) to: WriteArgs,
    #[command(flatten)]
    pub(crate) sign: SignArgs,
    #[command(flatten)]
    pub(crate) trust: TrustArgs,
    #[command(flatten)]
    pub(crate) voice: Voice,
}

impl Verb for PackArgs {
    const NAME: &str = "filter pack";
    const HELP: &str = "
also compress, zip
umbel filter pack seen.umbel -o seen.packed   as small as its bits allow
0 the packed filter is written
";
    const RUN: fn(&Self) -> Result<Outcome> = pack;
}

/// Unpack a packed filter
///
/// Writes the filter's file as it was before umbel filter pack, byte for byte. A small packed file can unpack to a huge one. If it
/// exceeds --memory it is refused before anything is written, unless its signature is checked with --trust.
#[derive(Debug, Args)]
pub(crate) struct UnpackArgs {
    /// Packed filter; - is standard input
    pub(crate) filter: PathBuf,
    #[command(flatten)]
    pub(crate) to: WriteArgs,
    #[command(flatten)]
    pub(crate) trust: TrustArgs,
    #[command(flatten)]
    pub(crate) most: MostArgs,
    #[command(flatten)]
    pub(crate) voice: Voice,
}

impl Verb for UnpackArgs {
    const NAME: &str = "filter unpack";
    const HELP: &str = "
also decompress, unzip
umbel filter unpack seen.packed -o seen.umbel   as it was before, byte for byte
0 the filter is written
";
    const RUN: fn(&Self) -> Result<Outcome> = unpack;
}

pub(crate) fn pack(args: &PackArgs) -> Result<Outcome> {
    let writes = FileType::Own(FileKind::Packed);
    let (existing, _lock) = filters::claim_output(&args.to.output, writes, args.to.replace.force)?;
    let name = || args.filter.display().to_string();
    let key = wrapped::signing(&args.sign, &args.trust.list, &args.to.output)?;
    let (file, length) = open(&args.filter)?;
    wrapped::signature(&file, &args.filter, wrapped::trust(&args.trust)?.as_ref())?;
    if wrapped::is_packed(&file, &args.filter)? {
        bail!("{}: is packed already", args.filter.display());
    }
    let run = Run::start("filter pack", args.voice, &std::sync::Arc::new(Progress::default()));
    let source = PageReader::new(1 << 18, &file);
    let encoder = Encoder::new(source, length).with_context(name)?;
    let packed = |out: &mut (dyn Write + Send)| {
        encoder.write(out).map(drop).map_err(|error| wrapped::about(error, name()))
    };
    let to = &args.to.output;
    let written = filters::write_checked(to, existing, key.as_ref(), packed, |new| {
        wrapped::check_whole(new, to, None)
    })?;
    finish(run, length, written)
}

pub(crate) fn unpack(args: &UnpackArgs) -> Result<Outcome> {
    let (existing, _lock) =
        filters::claim_output(&args.to.output, FileType::FILTER, args.to.replace.force)?;
    let name = || args.filter.display().to_string();
    let trust = wrapped::trust(&args.trust)?;
    let (file, length) = open(&args.filter)?;
    let run = Run::start("filter unpack", args.voice, &std::sync::Arc::new(Progress::default()));
    let received = receive(PageReader::new(1 << 18, &file), trust.as_ref(), args.most.bytes());
    let mut decoder = match received.with_context(name)?.content {
        Content::Packed(decoder) => decoder,
        Content::Filter(other) | Content::Delta(other) => {
            let mut found = Vec::new();
            other.take(8).read_to_end(&mut found)?;
            return Err(ShareError::Other { expected: "packed file", found }).with_context(name);
        }
    };
    let unpacked = |out: &mut (dyn Write + Send)| {
        io::copy(&mut decoder, out).map(drop).map_err(|error| wrapped::about(error, name()))
    };
    let to = &args.to.output;
    let written = filters::write_checked(to, existing, None, unpacked, |new| {
        wrapped::check_whole(new, to, None)
    })?;
    finish(run, length, written)
}

/// A file to be read from its start, and its length with a signature.
fn open(path: &Path) -> Result<(File, u64)> {
    filters::check_saved(path)?;
    let file = filters::open(path, &umbel_io::temporary_folder())?;
    crate::formats::length(&file, path)?;
    let length = file.metadata().with_context(|| path.display().to_string())?.len();
    Ok((file, length))
}

/// Reports how much was read and written.
pub(super) fn finish(run: Run, read: u64, written: u64) -> Result<Outcome> {
    let mut report = Report::default();
    report.bytes_read = read;
    report.bytes_written = written;
    report.passes = 1;
    run.finish_file(&report);
    Ok(Outcome::Done)
}
