//! Filters that travel: packed, as deltas, and signed.

use std::borrow::Cow;
use std::fs;
use std::io::{Cursor, Read};
use std::path::PathBuf;

use pyo3::prelude::*;
use umbel_share::sign::{PublicKey, Signature};
use umbel_share::{ShareError, delta, pack};

use crate::errors::{Failure, of_file};

/// The public key in the file named, as `umbel sign --new` writes it.
pub(crate) fn trusted(path: Option<PathBuf>) -> PyResult<Option<PublicKey>> {
    let Some(path) = path else { return Ok(None) };
    let name = path.display().to_string();
    let text = fs::read(&path).map_err(|error| of_file(&error, &name))?;
    let key = String::from_utf8_lossy(&text).parse::<PublicKey>();
    key.map(Some).map_err(|error| Failure::from(error).about(&name).into())
}

/// The filter's file in bytes that may be packed, signed or both. The signature of what is packed counts, or else that of the
/// filter in it.
pub(crate) fn unwrapped<'a>(
    data: &'a [u8],
    trust: Option<&PublicKey>,
) -> Result<Cow<'a, [u8]>, Failure> {
    let outer = Signature::of_bytes(data)?;
    let content = without(data, outer.as_ref());
    let packed = content.starts_with(&pack::MAGIC);
    if outer.is_some() || !packed {
        check(data, outer.as_ref(), trust)?;
    }
    if !packed {
        return Ok(Cow::Borrowed(content));
    }
    let mut file = read_all(pack::Decoder::new(content)?)?;
    let inner = Signature::of_bytes(&file)?;
    if outer.is_none() {
        check(&file, inner.as_ref(), trust)?;
    }
    file.truncate(without(&file, inner.as_ref()).len());
    Ok(Cow::Owned(file))
}

fn without<'a>(file: &'a [u8], signature: Option<&Signature>) -> &'a [u8] {
    &file[..signature.map_or(file.len(), |signature| signature.length() as usize)]
}

fn check(
    file: &[u8],
    signature: Option<&Signature>,
    trust: Option<&PublicKey>,
) -> Result<(), Failure> {
    match (signature, trust) {
        (_, None) => Ok(()),
        (None, Some(_)) => Err(ShareError::NotSigned.into()),
        (Some(signature), Some(trust)) => Ok(signature.check(file, trust)?),
    }
}

/// The packed file of a filter's file.
pub(crate) fn packed(file: &[u8]) -> Result<Vec<u8>, Failure> {
    let mut packed = Vec::new();
    pack::Encoder::new(file, file.len() as u64)?.write(&mut packed)?;
    Ok(packed)
}

/// The delta from one filter's file to another.
pub(crate) fn delta(old: &[u8], new: &[u8]) -> Result<Vec<u8>, Failure> {
    let mut delta = Vec::new();
    delta::Encoder::new(source(old), source(new))?.write(&mut delta)?;
    Ok(delta)
}

/// The file that a delta, which may be signed, makes from another.
pub(crate) fn patched(
    old: &[u8],
    delta: &[u8],
    trust: Option<&PublicKey>,
) -> Result<Vec<u8>, Failure> {
    let signature = Signature::of_bytes(delta)?;
    check(delta, signature.as_ref(), trust)?;
    let delta = without(delta, signature.as_ref());
    let mut new = read_all(delta::Decoder::new(source(old), delta)?)?;
    let signature = Signature::of_bytes(&new)?;
    new.truncate(without(&new, signature.as_ref()).len());
    Ok(new)
}

fn source(file: &[u8]) -> (Cursor<&[u8]>, u64) {
    (Cursor::new(file), file.len() as u64)
}

fn read_all(mut source: impl Read) -> Result<Vec<u8>, Failure> {
    let mut content = Vec::new();
    source.read_to_end(&mut content).map_err(ShareError::from)?;
    Ok(content)
}
