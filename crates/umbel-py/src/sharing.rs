//! Filters to send: packed, as deltas, and signed.

use std::borrow::Cow;
use std::fs;
use std::io::{Cursor, Read};

use umbel_share::sign::PublicKey;
use umbel_share::{Content, ShareError, Trust, delta, pack, receive};

use crate::errors::of_file;
use crate::prelude::*;

/// The most that a packed file or a delta may make, if its signature is unchecked: 1 GiB, as in file jobs.
pub(crate) const MOST: u64 = 1 << 30;

/// The files to accept: ``trust`` is the file of a public key, as `umbel filter key new --signing` writes it.
pub(crate) fn trusted(
    path: Option<FilePath>,
    list: Option<String>,
    newer_than: Option<u64>,
) -> PyResult<Option<Trust>> {
    let Some(path) = path else {
        return match (list, newer_than) {
            (None, None) => Ok(None),
            _ => Err(PyTypeError::new_err("list and newer_than require trust; give it as well")),
        };
    };
    let name = path.name();
    let text = fs::read(&path).map_err(|error| of_file(&error, &name))?;
    let key = String::from_utf8_lossy(&text).parse::<PublicKey>();
    let key = key.map_err(|error| PyErr::from(Failure::from(error).about(&name)))?;
    let mut trust = Trust::of(key);
    if let Some(list) = list {
        trust = trust.list(list).map_err(Failure::from)?;
    }
    Ok(Some(match newer_than {
        Some(serial) => trust.newer_than(serial),
        None => trust,
    }))
}

/// The filter's file inside bytes that may be packed, signed or both.
pub(crate) fn unwrapped<'a>(
    data: &'a [u8],
    trust: Option<&Trust>,
    most: u64,
) -> Result<Cow<'a, [u8]>, Failure> {
    let received = receive(Cursor::new(data), trust, most)?;
    match received.content {
        Content::Packed(decoder) => {
            let own = decoder.header().file_length()?;
            let mut file = read_all(decoder)?;
            file.truncate(own as usize);
            Ok(Cow::Owned(file))
        }
        Content::Filter(_) | Content::Delta(_) => {
            Ok(Cow::Borrowed(&data[..received.length as usize]))
        }
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

/// The file that a delta, maybe signed, makes from another.
pub(crate) fn patched(
    old: &[u8],
    delta: &[u8],
    trust: Option<&Trust>,
    most: u64,
) -> Result<Vec<u8>, Failure> {
    let received = receive(Cursor::new(delta), trust, most)?;
    let delta = &delta[..received.length as usize];
    let most = if trust.is_some() { u64::MAX } else { most };
    let decoder = delta::Decoder::new(source(old), delta, most)?;
    let own = decoder.header().file_length()?;
    // Its digest is checked once all is read; its own signature does not belong to the filter.
    let mut new = read_all(decoder)?;
    new.truncate(own as usize);
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
