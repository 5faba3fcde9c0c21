//! The wrapping of a filter's file, as the options name it: packed, signed or both. Removed when filters are opened,
//! added when they are written.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};
use umbel::FileError;
use umbel_foreign::Format;
use umbel_io::PageReader;
pub(crate) use umbel_io::wrapped::{check_changeable, is_packed, signature, unwrap};
use umbel_sets::journal::Notes;
use umbel_share::sign::{Label, SecretKey, Signer};
use umbel_share::{ShareError, Trust};

use crate::args::{ListArgs, SignArgs, TrustArgs};
use crate::atomic::Fill;
use crate::formats;
use crate::output::refuse_in_place_of;
use crate::param::Param;
use crate::secrets;

/// What is signed with, and as what.
pub(crate) struct Signing {
    pub(crate) key: SecretKey,
    label: Label,
    /// Whether options gave the name of the list, and the number of the version.
    given: [bool; 2],
}

impl Signing {
    /// With the key in a file.
    pub(crate) fn new(key: &Path, list: Option<&String>, serial: Option<u64>) -> Result<Self> {
        let label = Label::new(list.map_or("", String::as_str), serial.unwrap_or(0))?;
        let given = [list.is_some(), serial.is_some()];
        // Another kind of file may not be text.
        let text = secrets::read(key)?;
        let text = String::from_utf8_lossy(&text);
        let key = text.parse().with_context(|| key.display().to_string())?;
        Ok(Self { key, label, given })
    }

    /// Refuses to replace a signature by one that silently covers less: whoever requires the name of the list, or a higher
    /// number, would refuse the file.
    pub(crate) fn check_replaces(&self, file: &File, path: &Path) -> Result<()> {
        let Some(old) = signature(file, path, None)? else { return Ok(()) };
        let (path, list, serial) = (path.display(), old.label().list(), old.label().serial());
        let [has_list, has_serial] = self.given;
        if !has_list && !list.is_empty() {
            bail!(
                "{path}: is signed as the list {list:?}; name the list again with --list, or --list \"\" for none"
            );
        }
        if !has_serial && serial > 0 {
            bail!(
                "{path}: is signed with the serial number {serial}; give --serial, with a higher number if the file changes"
            );
        }
        Ok(())
    }
}

/// What the options say to sign with; what is signed must not replace the key.
pub(crate) fn signing(sign: &SignArgs, list: &ListArgs, output: &Path) -> Result<Option<Signing>> {
    refuse_in_place_of(Some(output), &[sign.sign.as_ref()])?;
    let key = sign.sign.as_ref();
    key.map(|key| Signing::new(key, list.list.as_ref(), sign.serial)).transpose()
}

/// Whom the options say to trust, and for what.
pub(crate) fn trust(args: &TrustArgs) -> Result<Option<Trust>> {
    let Some(key) = &args.trust else { return Ok(None) };
    trust_in(key, args.list.list.as_ref(), args.newer_than).map(Some)
}

/// Trust in the key in a file.
pub(crate) fn trust_in(
    key: &Path,
    list: Option<&String>,
    newer_than: Option<u64>,
) -> Result<Trust> {
    let name = || key.display().to_string();
    let text = fs::read(key).with_context(name)?;
    let mut trust = Trust::of(String::from_utf8_lossy(&text).parse().with_context(name)?);
    if let Some(list) = list {
        trust = trust.list(list)?;
    }
    Ok(match newer_than {
        Some(serial) => trust.newer_than(serial),
        None => trust,
    })
}

/// Checks the signature of a filter that is changed in place, if its signer must be trusted.
pub(crate) fn check_trust(file: &File, path: &Path, args: &TrustArgs) -> Result<()> {
    let Some(trust) = trust(args)? else { return Ok(()) };
    signature(file, path, Some(&trust))?;
    Notes::refuse(path)
}

/// Checks that a file is a whole filter, packed or not, or a whole delta, as far as that shows without its base. A filter of
/// another system has the format that is named, with its parameters.
pub(crate) fn check_whole(
    file: &File,
    path: &Path,
    format: Option<(Format, &[Param])>,
) -> Result<()> {
    let name = || path.display().to_string();
    if let Some((named, params)) = format {
        return formats::read(file, path, named, params, None).map(drop);
    }
    let length = formats::length(file, path)?;
    match umbel_share::check(PageReader::new(1 << 18, file), length) {
        Ok(()) => Ok(()),
        Err(ShareError::Filter(error @ FileError::NotUmbel(..))) => {
            let error = anyhow::Error::new(error).context(name());
            formats::recognize(file, path, &error, None).map(drop)
        }
        Err(error) => Err(error).with_context(name),
    }
}

/// An error of reading one file and writing another, with the name of the one read if that is what is wrong.
pub(crate) fn about(error: impl Into<ShareError>, name: String) -> anyhow::Error {
    match error.into() {
        ShareError::Io(error) => error.into(),
        error => anyhow::Error::new(error).context(name),
    }
}

/// Lets `write` write a file, and signs it if there is a key.
pub(crate) fn write_signed(
    out: &mut (dyn Write + Send),
    key: Option<&Signing>,
    write: Box<Fill<'_>>,
) -> Result<()> {
    let Some(seal) = key else { return write(out) };
    let mut signer = Signer::new(out);
    write(&mut signer)?;
    signer.finish(&seal.key, &seal.label)?;
    Ok(())
}
