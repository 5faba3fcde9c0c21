//! `umbel sign`: signatures of files.

use std::io::{self, Read, Seek, Write};
use std::path::Path;

use anyhow::{Context, Result};
use umbel_io::PageReader;
use umbel_share::Trust;
use umbel_share::sign::Signature;

use crate::Outcome;
use crate::args::{FormatArgs, SignVerbArgs};
use crate::atomic::Existing;
use crate::output::print;
use crate::report::printable;
use crate::wrapped::{self, Seal};
use crate::{filters, formats};

pub(crate) fn sign(args: &SignVerbArgs) -> Result<Outcome> {
    if let Some(key) = &args.sign {
        let key = Seal::new(key, args.list.as_ref(), args.serial)?;
        args.files.iter().try_for_each(|path| sign_in_place(path, &key, &args.format))?;
    }
    if let Some(key) = &args.trust {
        let trusted = wrapped::trust_in(key, args.list.as_ref(), args.newer_than)?;
        for path in &args.files {
            let file = filters::open(path, &umbel_io::temporary_folder())?;
            formats::length(&file, path)?;
            let signature = wrapped::signature(&file, path, Some(&trusted))?;
            let label = signature.iter().map(Signature::label).next().cloned().unwrap_or_default();
            let list = match label.list() {
                "" => String::new(),
                list => format!(" as {list}"),
            };
            let serial = match label.serial() {
                0 => String::new(),
                serial => format!(", version {serial}"),
            };
            let signed = format!("{}: signed by {}{list}{serial}\n", path.display(), trusted.key());
            print(&*printable(&signed))?;
        }
    }
    Ok(Outcome::Done)
}

/// Replaces a file by itself with a signature, if it is one that is read with a signature, and whole.
fn sign_in_place(path: &Path, key: &Seal, format: &FormatArgs) -> Result<()> {
    let mut file = filters::open_in_place_locked(path)?;
    wrapped::check_whole(&file, path, format.named())?;
    let length = match wrapped::signature(&file, path, None)? {
        Some(signature) => Signature::length(&signature),
        None => file.metadata().with_context(|| path.display().to_string())?.len(),
    };
    file.rewind().with_context(|| path.display().to_string())?;
    let mut source = PageReader::new(1 << 18, &file).take(length);
    let copy = |out: &mut (dyn Write + Send)| {
        io::copy(&mut source, out)?;
        Ok(())
    };
    filters::write_checked(path, Existing::Replace, Some(key), copy, |new| {
        wrapped::signature(new, path, Some(&Trust::of(key.key.public())))?;
        wrapped::check_whole(new, path, format.named())
    })?;
    Ok(())
}
