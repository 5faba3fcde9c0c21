//! `umbel sign`: signatures of files.

use std::io::{self, Read, Seek, Write};
use std::path::Path;

use anyhow::{Context, Result};
use umbel_sets::PageReader;
use umbel_share::sign::{SecretKey, Signature};

use crate::Outcome;
use crate::args::{FormatArgs, SignVerbArgs};
use crate::atomic::Existing;
use crate::output::print;
use crate::{filters, formats, wrapped};

pub(crate) fn sign(args: &SignVerbArgs) -> Result<Outcome> {
    if let Some(path) = &args.new {
        super::key::make_pair(path)?;
    }
    if let Some(key) = &args.sign {
        let key = wrapped::secret_key(key)?;
        args.files.iter().try_for_each(|path| sign_in_place(path, &key, &args.format))?;
    }
    if let Some(key) = &args.trust {
        let trusted = wrapped::public_key(key)?;
        for path in &args.files {
            let file = filters::open(path, &crate::machine::temporary_folder())?;
            formats::length(&file, path)?;
            wrapped::signature(&file, path, Some(&trusted))?;
            print(format!("{}: signed by {trusted}\n", path.display()))?;
        }
    }
    Ok(Outcome::Done)
}

/// Replaces a file by itself with a signature, if it is one that is read with a signature, and whole.
fn sign_in_place(path: &Path, key: &SecretKey, format: &FormatArgs) -> Result<()> {
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
        wrapped::signature(new, path, Some(&key.public()))?;
        wrapped::check_whole(new, path, format.named())
    })?;
    Ok(())
}
