//! What a filter's file may be wrapped in: packed, signed or both. Taken off where filters are opened, put on where they are
//! written.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};
use umbel_report::receipt::Wrapping;
use umbel_share::ShareError;
use umbel_share::delta;
use umbel_share::pack::{self, Decoder};
use umbel_share::sign::{PublicKey, SecretKey, Signature, Signer};

use crate::args::{SignArgs, TrustArgs};
use crate::output::refuse_in_place_of;

/// The key that the options name to sign with, which what is signed must not replace.
pub(crate) fn key_to_sign(args: &SignArgs, output: &Path) -> Result<Option<SecretKey>> {
    refuse_in_place_of(Some(output), &[args.sign.as_ref()])?;
    args.sign.as_deref().map(secret_key).transpose()
}

/// The secret key in a file.
pub(crate) fn secret_key(path: &Path) -> Result<SecretKey> {
    let name = || path.display().to_string();
    // A file of other things may be no text.
    let text = fs::read(path).with_context(name)?;
    String::from_utf8_lossy(&text).parse().with_context(name)
}

/// The key that the options name to trust.
pub(crate) fn key_to_trust(args: &TrustArgs) -> Result<Option<PublicKey>> {
    args.trust.as_deref().map(public_key).transpose()
}

/// The public key in a file.
pub(crate) fn public_key(path: &Path) -> Result<PublicKey> {
    let name = || path.display().to_string();
    let text = fs::read(path).with_context(name)?;
    String::from_utf8_lossy(&text).parse().with_context(name)
}

/// The signature at the end of a file, read from its start then; checked if its signer is to be trusted.
pub(crate) fn signature(
    file: &File,
    path: &Path,
    trust: Option<&PublicKey>,
) -> Result<Option<Signature>> {
    let name = || path.display().to_string();
    let signature = Signature::find(file).with_context(name)?;
    match (&signature, trust) {
        (None, Some(_)) => Err(ShareError::NotSigned).with_context(name),
        (Some(found), Some(trust)) => {
            found.check(BufReader::with_capacity(1 << 18, file), trust).with_context(name)?;
            let mut file = file;
            file.rewind().with_context(name)?;
            Ok(signature)
        }
        _ => Ok(signature),
    }
}

/// The file of the filter itself: of a packed one, unpacked into a temporary file in the folder `tmp`. The signature of the
/// packed file counts, or else that of the filter in it.
pub(crate) fn unwrap(
    file: File,
    path: &Path,
    tmp: &Path,
    trust: Option<&PublicKey>,
) -> Result<(File, Wrapping)> {
    let name = || path.display().to_string();
    let verified = trust.is_some();
    // A directory is refused by who reads it.
    if !file.metadata().with_context(name)?.is_file() {
        return Ok((file, Wrapping::default()));
    }
    if starts_with(&file, path, delta::MAGIC)? {
        bail!(
            "{0}: is a delta, not a filter; apply it to its base: umbel patch FILTER {0}",
            path.display()
        );
    }
    if !is_packed(&file, path)? {
        let signature = signature(&file, path, trust)?;
        let signer = signature.map(|signature| signature.signer());
        return Ok((file, Wrapping { packed: None, signer, verified }));
    }
    let outer = Signature::find(&file).with_context(name)?;
    let outer = match outer {
        Some(_) => signature(&file, path, trust)?,
        None => None,
    };
    let packed = file.metadata().with_context(name)?.len();
    let length = outer.as_ref().map_or(packed, Signature::length);
    let mut decoder =
        Decoder::new(BufReader::with_capacity(1 << 18, &file).take(length)).with_context(name)?;
    let mut unpacked = tempfile::tempfile_in(tmp).with_context(|| tmp.display().to_string())?;
    let mut out = BufWriter::with_capacity(1 << 18, &unpacked);
    io::copy(&mut decoder, &mut out)
        .and_then(|_| out.flush())
        .with_context(|| format!("{}: unpacking it to {}", path.display(), tmp.display()))?;
    drop(out);
    unpacked.rewind().with_context(|| tmp.display().to_string())?;
    let signer = match outer {
        Some(outer) => Some(outer.signer()),
        None => signature(&unpacked, path, trust)?.map(|inner| inner.signer()),
    };
    Ok((unpacked, Wrapping { packed: Some(packed), signer, verified }))
}

/// Whether a regular file is a packed filter, which is read from its start then.
pub(crate) fn is_packed(file: &File, path: &Path) -> Result<bool> {
    starts_with(file, path, pack::MAGIC)
}

fn starts_with(mut file: &File, path: &Path, magic: [u8; 8]) -> Result<bool> {
    let mut start = Vec::new();
    file.rewind()
        .and_then(|()| file.take(magic.len() as u64).read_to_end(&mut start))
        .and_then(|_| file.rewind())
        .with_context(|| path.display().to_string())?;
    Ok(start == magic)
}

/// Refuses a filter that cannot be replaced by a changed one: packed, or signed if the new one will not be.
pub(crate) fn check_changeable(file: &File, path: &Path, signs: bool) -> Result<()> {
    if !file.metadata().with_context(|| path.display().to_string())?.is_file() {
        return Ok(());
    }
    let path_name = path.display();
    if is_packed(file, path)? {
        bail!(
            "{path_name}: is packed, and cannot be changed in place; unpack it first: umbel unpack {path_name} -o FILE"
        );
    }
    if !signs && signature(file, path, None)?.is_some() {
        bail!(
            "{path_name}: is signed, and a changed filter needs a new signature; umbel add and umbel remove make one with \
             --sign KEY"
        );
    }
    Ok(())
}

/// Checks the signature of a filter that is changed in place, if its signer must be trusted.
pub(crate) fn check_trust(file: &File, path: &Path, trust: Option<&PublicKey>) -> Result<()> {
    trust.map_or(Ok(()), |trust| signature(file, path, Some(trust)).map(drop))
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
    key: Option<&SecretKey>,
    write: impl FnOnce(&mut (dyn Write + Send)) -> Result<()>,
) -> Result<()> {
    let Some(key) = key else { return write(out) };
    let mut signer = Signer::new(out);
    write(&mut signer)?;
    signer.finish(key)?;
    Ok(())
}
