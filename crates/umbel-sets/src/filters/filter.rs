//! A filter of lines: umbel's own, or another system's.

use std::io::{self, Write};

use umbel::{AnyFilter, Filter as _, Portable};
use umbel_foreign::{Foreign, ForeignFilter, ForeignInsert, Format, Key, KeyType};

use crate::prelude::*;

/// A filter of umbel or of another system.
///
/// `H` hashes its keys: [`umbel::Scheme`] if none are looked up.
#[derive(Debug)]
pub enum Filter<H: Portable = KeyHasher> {
    /// One of umbel's own, of any kind.
    Own(AnyFilter<H>),
    /// One of another system.
    Foreign(ForeignLines),
}

/// The receipt of a filter.
#[derive(Clone, Debug)]
pub enum Receipt {
    /// The receipt of umbel's own filter.
    Own(umbel::Receipt),
    /// The receipt of another system's filter.
    Foreign(umbel_foreign::Receipt),
}

impl<H: Portable> Filter<H> {
    /// Returns the bytes of its bits, or of its whole file for another system's filter.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Own(filter) => filter.bytes(),
            Self::Foreign(lines) => lines.filter.bytes(),
        }
    }

    /// Returns the assumed type of its keys, if none was given: files of other systems do not record it, and most
    /// systems hash keys of several types.
    pub fn assumed_type(&self) -> Option<KeyType> {
        match self {
            Self::Foreign(lines) if lines.assumed => Some(lines.key_type),
            _ => None,
        }
    }

    /// Computes what it delivers now, from its own bits.
    pub fn receipt(&self) -> Receipt {
        match self {
            Self::Own(filter) => Receipt::Own(filter.receipt()),
            Self::Foreign(lines) => Receipt::Foreign(lines.filter.receipt()),
        }
    }

    /// Writes its file.
    ///
    /// # Errors
    /// The errors of `out`.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Own(filter) => filter.write(out),
            Self::Foreign(lines) => lines.filter.write_to(out).map_err(|error| match error {
                umbel_foreign::Error::Io(error) => error,
                other => io::Error::other(other),
            }),
        }
    }
}

impl Filter {
    /// The hasher of lines to look up; another system's filter hashes lines itself.
    pub(crate) fn hasher(&self) -> KeyHasher {
        match self {
            Self::Own(filter) => filter.hasher().clone(),
            Self::Foreign(_) => KeyHasher::default(),
        }
    }
}

/// Another system's filter, with the type of key that lines have.
#[derive(Debug)]
pub struct ForeignLines {
    /// The filter.
    pub filter: Foreign,
    key_type: KeyType,
    assumed: bool,
}

impl ForeignLines {
    /// Makes a filter whose keys are lines of a type; by default, of the usual type of its format.
    ///
    /// # Errors
    /// [`umbel_foreign::Error::KeyType`] for a type that the system does not hash.
    pub fn new(filter: Foreign, key_type: Option<KeyType>) -> Result<Self, umbel_foreign::Error> {
        let format = filter.format();
        let assumed = key_type.is_none() && format.key_types().len() > 1;
        Ok(Self { filter, key_type: checked_type(format, key_type)?, assumed })
    }

    /// Inserts the keys of some lines.
    pub(crate) fn insert(&mut self, lines: &Lines<'_>) -> Result<(), Error> {
        let Self { filter, key_type, .. } = self;
        each_batch(*key_type, lines, |first, batch| {
            filter.insert_all(batch).map_err(|error| refused(filter, batch, lines, first, error))
        })
    }

    /// Whether each of some lines may be in the filter.
    pub(crate) fn ask(&self, lines: &Lines<'_>, found: &mut [bool]) -> Result<(), Error> {
        let Self { filter, key_type, .. } = self;
        each_batch(*key_type, lines, |first, batch| {
            let found = &mut found[first..][..batch.len()];
            let asked = filter.contains_all(batch, found);
            asked.map_err(|error| refused(filter, batch, lines, first, error))
        })
    }
}

/// The error of a batch that begins with line `first`, about the line whose key `filter` refuses, if any.
fn refused(
    filter: &Foreign,
    batch: &[Key<'_>],
    lines: &Lines<'_>,
    first: usize,
    error: umbel_foreign::Error,
) -> Error {
    match batch.iter().position(|key| filter.contains(*key).is_err()) {
        Some(at) => about(lines, first + at, error),
        None => error.into(),
    }
}

/// The error for a line whose key is refused.
pub(super) fn about(lines: &Lines<'_>, line: usize, error: umbel_foreign::Error) -> Error {
    Error::Key { at: lines.at(line), source: error.into() }
}

/// The type of keys of a format: the usual one, unless another is given that the system hashes.
pub(super) fn checked_type(
    format: Format,
    key_type: Option<KeyType>,
) -> Result<KeyType, umbel_foreign::Error> {
    let known = format.key_types();
    let key_type = key_type.unwrap_or(known[0]);
    match known.contains(&key_type) {
        true => Ok(key_type),
        false => Err(umbel_foreign::Error::KeyType { format, found: key_type.name() }),
    }
}

/// Calls `work` with the keys of `lines`, some at a time, and the first one's number.
pub(super) fn each_batch(
    key_type: KeyType,
    lines: &Lines<'_>,
    mut work: impl FnMut(usize, &[Key<'_>]) -> Result<(), Error>,
) -> Result<(), Error> {
    /// Keys per call: several times as many as are prefetched.
    const BATCH: usize = 256;
    let mut buffers = vec![Vec::new(); BATCH.min(lines.len())];
    for first in (0..lines.len()).step_by(BATCH) {
        let batch = (first..lines.len()).zip(&mut buffers);
        let read = |(i, buffer)| {
            key_type.read(lines.key(i), buffer).map_err(|error| about(lines, i, error))
        };
        work(first, &batch.map(read).collect::<Result<Vec<_>, _>>()?)?;
    }
    Ok(())
}
