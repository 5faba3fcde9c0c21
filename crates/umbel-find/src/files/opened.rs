//! An index in a file: the form of its records, and where decoders start.

use std::fs::File;

use crate::index::layout::Block;
use crate::index::pages::DATA;
use umbel_io::compression::{Compression, Point, Resume};

use super::settings;
use crate::IndexError;
use umbel_sets::Form;

pub(crate) type Index = crate::index::Index<File>;

/// Opens an index.
///
/// # Errors
/// Errors of [`Index::open`], and `Damaged` for impossible settings.
pub(crate) fn open(file: File) -> Result<(Index, Form), IndexError> {
    let length = file.metadata()?.len();
    let index = Index::open(file, length)?;
    let form = settings::from_entries(&index.settings);
    Ok((index, form.ok_or(IndexError::Damaged { page: 0 })?))
}

/// Ways of compression, from 1 on. Part of the format.
const COMPRESSIONS: [Compression; 5] =
    [Compression::Gzip, Compression::Zstd, Compression::Xz, Compression::Bzip2, Compression::Lz4];

/// The compression with this number in an index.
pub(crate) fn compression(number: u8) -> Option<Compression> {
    COMPRESSIONS.get(usize::from(number.checked_sub(1)?)).copied()
}

/// The number of a compression in an index.
pub(crate) fn number_of(compression: Option<Compression>) -> u8 {
    let place = compression.and_then(|one| COMPRESSIONS.iter().position(|of| *of == one));
    place.map_or(0, |place| place as u8 + 1)
}

/// Whether a decoder can start with these bytes.
pub(crate) fn is_start(bytes: &[u8]) -> bool {
    Resume::decode(bytes).is_some()
}

/// Where reading a block starts.
pub(crate) fn point(index: &Index, block: &Block) -> Result<Point, IndexError> {
    let (input, text) = block.point;
    if block.resume == 0 {
        return Ok(Point { input, text, resume: None });
    }
    let resume = Resume::decode(&index.resume(block.resume)?);
    let damaged = || IndexError::Damaged { page: block.resume / DATA as u64 };
    Ok(Point { input, text, resume: Some(resume.ok_or_else(damaged)?) })
}
