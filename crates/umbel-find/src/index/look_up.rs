//! Which keys a block must have to hold a text, and which blocks may have them.

use umbel::{KeyHash, KeyHasher};
use umbel_io::ReadAt;

use super::layout::{GONE, Index};
use super::{IndexError, words};

/// Probes of a field's value: 2⁻⁸ of the blocks pass wrongly, at 11.6 bits per key. Part of the format.
pub const FIELD_PROBES: u32 = 8;

/// A key, and how many probes it has.
pub type Probed = (KeyHash, u32);

/// Why an index cannot narrow a text down; everything is then searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wide {
    /// It has no word.
    NoWord,
    /// It may be a part of longer words, and has none of its own.
    PartOfWord,
    /// It is not UTF-8, so it may be cut into other words where it is found.
    NotUtf8,
    /// Case is ignored, and every word in it has letters beyond ASCII, whose case an index keeps.
    Case,
}

impl Wide {
    /// Returns the reason, as the end of a sentence about the text.
    pub fn reason(self) -> &'static str {
        match self {
            Self::NoWord => "has no word",
            Self::PartOfWord => "may be a part of longer words",
            Self::NotUtf8 => "is not UTF-8",
            Self::Case => "has non-ASCII letters, whose case an index keeps",
        }
    }
}

/// The keys that a block must have to hold a text, which may start and end `inside` of a word. With `ignore_case`, its
/// case may differ.
///
/// # Errors
/// Why the text has no such key.
pub fn keys_of_text(text: &[u8], inside: bool, ignore_case: bool) -> Result<Vec<Probed>, Wide> {
    let Ok(text) = std::str::from_utf8(text) else { return Err(Wide::NotUtf8) };
    let folded = text.to_ascii_lowercase();
    let hasher = KeyHasher::default();
    let (mut keys, mut wide) = (Vec::new(), Wide::NoWord);
    words::each(folded.as_bytes(), |key| {
        let at_end = key.range.start == 0 || key.range.end == folded.len();
        let word = &folded[key.range];
        if inside && at_end && !key.single {
            wide = Wide::PartOfWord;
        } else if ignore_case && words::has_case(word) {
            wide = Wide::Case;
        } else {
            keys.push((hasher.hash(word), key.probes));
        }
    });
    if keys.is_empty() {
        return Err(wide);
    }
    // The longest words have the most probes, which leave the fewest blocks.
    keys.sort_by_key(|&(_, probes)| std::cmp::Reverse(probes));
    keys.dedup();
    Ok(keys)
}

/// The key that a block must have to hold a value of the field.
pub fn key_of_field(value: &[u8]) -> Probed {
    (KeyHasher::default().hash(value), FIELD_PROBES)
}

/// The blocks of an index in which keys are looked up.
#[derive(Debug)]
pub struct Blocks<'a, F> {
    index: &'a Index<F>,
    /// The blocks of the columns of each group, once they were needed.
    columns: Vec<Option<Vec<u32>>>,
}

impl<'a, F: ReadAt> Blocks<'a, F> {
    /// For look-ups in `index`.
    pub fn of(index: &'a Index<F>) -> Self {
        Self { index, columns: vec![None; index.groups.len()] }
    }

    /// Passes each block that may have all keys to `see`, in no order.
    ///
    /// # Errors
    /// Read errors.
    pub fn each(&mut self, keys: &[Probed], mut see: impl FnMut(u32)) -> Result<(), IndexError> {
        let groups = self.index.groups.iter().enumerate();
        for ((number, group), columns) in groups.zip(&mut self.columns) {
            let found = group.find(&self.index.pages, keys)?;
            if found == [0; 8] {
                continue;
            }
            let columns = match columns {
                Some(columns) => columns,
                none => none.insert(self.index.columns(number)?),
            };
            for (&block, column) in columns.iter().zip(0..) {
                if block != GONE && found[column / 64] >> (column % 64) & 1 == 1 {
                    see(block);
                }
            }
        }
        Ok(())
    }
}
