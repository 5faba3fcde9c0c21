//! `umbel delta` and `umbel patch`: what changed in a filter, and its new version.

use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use umbel_sets::{PageReader, Progress};
use umbel_share::delta::{Decoder, Encoder};
use umbel_share::sign::{PublicKey, SecretKey, Signature};
use umbel_share::{FileKind, ShareError};

use super::pack::{self, finish};
use crate::Outcome;
use crate::args::{DeltaArgs, PatchArgs};
use crate::atomic::Existing;
use crate::report::Run;
use crate::standard::is_standard;
use crate::target::Sort;
use crate::{filters, wrapped};

pub(crate) fn delta(args: &DeltaArgs) -> Result<Outcome> {
    let writes = Sort::Own(FileKind::Delta);
    let (existing, _lock) = filters::claim_output(&args.to.output, writes, args.to.replace.force)?;
    let key = wrapped::key_to_sign(args.sign.sign.as_ref(), &args.to.output)?;
    let trust = wrapped::key_to_trust(args.trust.trust.as_ref())?;
    let old = open(&args.old, trust.as_ref())?;
    let new = open(&args.new, trust.as_ref())?;
    let run = Run::start("delta", args.voice, &Arc::new(Progress::default()));
    write((&old, &args.old), (&new, &args.new), (&args.to.output, existing), key.as_ref(), run)
}

/// Writes the delta between two files that are read from their starts, and reports it.
pub(super) fn write(
    (old, old_path): (&File, &Path),
    (new, new_path): (&File, &Path),
    (output, existing): (&Path, Existing),
    key: Option<&SecretKey>,
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
        // What it makes of the old filter has the checksum of the new one.
        let length = crate::formats::length(delta, output)?;
        let delta = PageReader::new(1 << 18, delta).take(length);
        let made = Decoder::new(buffered(old, old_path)?, delta);
        let made = made.and_then(|mut made| Ok(io::copy(&mut made, &mut io::sink())?));
        made.map(drop).with_context(|| output.display().to_string())
    })?;
    finish(run, read, written)
}

pub(crate) fn patch(args: &PatchArgs) -> Result<Outcome> {
    let output = args.output.as_ref().unwrap_or(&args.old);
    // Locked until it is replaced: what another run adds to it meanwhile would be lost.
    let (existing, _lock) = match &args.output {
        None => {
            let lock = filters::open_in_place_locked(&args.old)?;
            wrapped::check_changeable(&lock, &args.old, true)?;
            (Existing::Replace, Some(lock))
        }
        Some(_) => filters::claim_output(output, Sort::FILTER, args.replace.force)?,
    };
    let trust = wrapped::key_to_trust(args.trust.as_ref())?;
    let (delta, signature, length) = pack::open(&args.delta, trust.as_ref())?;
    let old = open(&args.old, None)?;
    let run = Run::start("patch", args.voice, &Arc::new(Progress::default()));
    let source = signature.as_ref().map_or(length, Signature::length);
    let source = PageReader::new(1 << 18, &delta).take(source);
    let old = buffered(&old, &args.old)?;
    let read = length + old.1;
    let mut decoder = Decoder::new(old, source).with_context(|| about(args))?;
    let mut patched = |out: &mut dyn Write| {
        io::copy(&mut decoder, out).map(drop).map_err(|error| wrapped::about(error, about(args)))
    };
    let check = |new: &File| check_patched(new, args, trust.as_ref());
    let streams = is_standard(output) || fs::metadata(output).is_ok_and(|meta| !meta.is_file());
    let written = if trust.is_some() && streams {
        // Nothing that is not trusted leaves.
        let tmp = crate::machine::temporary_folder();
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

/// Checks that what a delta made is a whole filter, and that its signer is trusted: neither a delta nor the checksums of
/// its base keep anybody from choosing the bits of the base.
fn check_patched(new: &File, args: &PatchArgs, trust: Option<&PublicKey>) -> Result<()> {
    let name = format!("{}: the new filter", about(args));
    if let Some(trust) = trust {
        let signature = Signature::find(new)?;
        let signature = signature.ok_or(ShareError::NotSigned).with_context(|| name.clone())?;
        let file = PageReader::new(1 << 18, new);
        signature.check(file, trust).with_context(|| name.clone())?;
    }
    wrapped::check_whole(new, Path::new(&name), None)
}

fn about(args: &PatchArgs) -> String {
    format!("{} on {}", args.delta.display(), args.old.display())
}

/// A filter's file, unpacked, to be read from its start.
fn open(path: &Path, trust: Option<&PublicKey>) -> Result<File> {
    let tmp = crate::machine::temporary_folder();
    let file = filters::open(path, &tmp)?;
    let (file, _) = wrapped::unwrap(file, path, &tmp, trust)?;
    crate::formats::length(&file, path)?;
    Ok(file)
}

/// A file that is read from its start, and its length with the signature.
fn buffered<'a>(mut file: &'a File, path: &Path) -> Result<(PageReader<&'a File>, u64)> {
    file.rewind().with_context(|| path.display().to_string())?;
    let length = file.metadata().with_context(|| path.display().to_string())?.len();
    Ok((PageReader::new(1 << 18, file), length))
}
