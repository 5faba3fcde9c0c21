//! `umbel pack` and `umbel unpack`: make filters as small as possible for sending.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};
use umbel_io::PageReader;
use umbel_sets::{Progress, Report};
use umbel_share::pack::Encoder;
use umbel_share::{Content, FileKind, ShareError, receive};

use crate::Outcome;
use crate::args::{PackArgs, UnpackArgs};
use crate::report::Run;
use crate::target::Sort;
use crate::{filters, wrapped};

pub(crate) fn pack(args: &PackArgs) -> Result<Outcome> {
    let writes = Sort::Own(FileKind::Packed);
    let (existing, _lock) = filters::claim_output(&args.to.output, writes, args.to.replace.force)?;
    let name = || args.filter.display().to_string();
    let key = wrapped::seal(&args.sign, &args.trust.list, &args.to.output)?;
    let (file, length) = open(&args.filter)?;
    wrapped::signature(&file, &args.filter, wrapped::trust(&args.trust)?.as_ref())?;
    if wrapped::is_packed(&file, &args.filter)? {
        bail!("{}: is packed already", args.filter.display());
    }
    let run = Run::start("pack", args.voice, &std::sync::Arc::new(Progress::default()));
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
        filters::claim_output(&args.to.output, Sort::FILTER, args.to.replace.force)?;
    let name = || args.filter.display().to_string();
    let trust = wrapped::trust(&args.trust)?;
    let (file, length) = open(&args.filter)?;
    let run = Run::start("unpack", args.voice, &std::sync::Arc::new(Progress::default()));
    let received = receive(PageReader::new(1 << 18, &file), trust.as_ref(), args.most.bytes());
    let mut decoder = match received.with_context(name)?.content {
        Content::Packed(decoder) => decoder,
        Content::Filter(other) | Content::Delta(other) => {
            return Err(not_packed(other)?).with_context(name);
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

/// What is no packed file.
fn not_packed(source: impl Read) -> Result<ShareError> {
    let mut found = Vec::new();
    source.take(8).read_to_end(&mut found)?;
    Ok(ShareError::Other { expected: "packed file", found })
}

/// A file to be read from its start, and its length with a signature.
fn open(path: &Path) -> Result<(File, u64)> {
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
    run.finish(&report, "", None);
    Ok(Outcome::Done)
}
