//! `umbel sign`: key pairs, and signatures of files.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, BufReader, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use umbel_share::sign::{SecretKey, Signature};

use crate::Outcome;
use crate::args::SignVerbArgs;
use crate::atomic::{self, Existing};
use crate::output::print;
use crate::{filters, formats, wrapped};

pub(crate) fn sign(args: &SignVerbArgs) -> Result<Outcome> {
    if let Some(path) = &args.new {
        make_pair(path)?;
    }
    if let Some(key) = &args.sign {
        let key = wrapped::secret_key(key)?;
        args.files.iter().try_for_each(|path| sign_in_place(path, &key))?;
    }
    if let Some(key) = &args.trust {
        let trusted = wrapped::public_key(key)?;
        for path in &args.files {
            let file = filters::open(path, &std::env::temp_dir())?;
            formats::length(&file, path)?;
            wrapped::signature(&file, path, Some(&trusted))?;
            print(format!("{}: signed by {trusted}\n", path.display()))?;
        }
    }
    Ok(Outcome::Done)
}

/// Writes a secret key, and the public one next to it.
fn make_pair(path: &Path) -> Result<()> {
    let key = SecretKey::generate()?;
    let mut public: OsString = path.into();
    public.push(".pub");
    let public = PathBuf::from(public);
    atomic::check_target(path, Existing::Keep)?;
    atomic::check_target(&public, Existing::Keep)?;
    let name = || path.display().to_string();
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .with_context(name)?;
    file.write_all(format!("{}\n", key.to_text()).as_bytes())
        .and_then(|()| file.sync_all())
        .with_context(name)?;
    atomic::write(&public, Existing::Keep, |out| Ok(writeln!(out, "{}", key.public())?))?;
    Ok(())
}

/// Replaces a file by itself with a signature.
fn sign_in_place(path: &Path, key: &SecretKey) -> Result<()> {
    let file = filters::open_in_place_locked(path)?;
    formats::length(&file, path)?;
    let length = match wrapped::signature(&file, path, None)? {
        Some(signature) => Signature::length(&signature),
        None => file.metadata().with_context(|| path.display().to_string())?.len(),
    };
    let mut source = BufReader::with_capacity(1 << 18, &file).take(length);
    filters::write_with(path, Existing::Replace, Some(key), |out| {
        io::copy(&mut source, out)?;
        Ok(())
    })?;
    Ok(())
}
