//! A record as stored in memory and in temporary files.
//!
//! ```text
//! lines   length u32 | the line
//! keyed   length u32 | key start u32 | key length u32 | the row | the key, unless it is in the row
//! ```
//!
//! A key starts at its offset in the row, or where the row ends.

/// A row and its key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record<'a> {
    pub(crate) row: &'a [u8],
    /// A part of the row, or bytes elsewhere.
    key: &'a [u8],
}

impl<'a> Record<'a> {
    /// A line, its own key.
    pub(crate) fn line(row: &'a [u8]) -> Self {
        Self { row, key: row }
    }

    /// A row with its key, which may be a part of it.
    pub(crate) fn keyed(row: &'a [u8], key: &'a [u8]) -> Self {
        Self { row, key }
    }

    pub(crate) fn key(&self) -> &'a [u8] {
        self.key
    }

    /// Whether the row is its own key.
    pub(crate) fn is_own_key(&self) -> bool {
        std::ptr::eq(self.row, self.key)
    }

    /// Where the key starts in the row, if it is a part of it.
    fn key_start(&self) -> Option<usize> {
        let start = self.key.as_ptr().addr().checked_sub(self.row.as_ptr().addr())?;
        (start + self.key.len() <= self.row.len()).then_some(start)
    }
}

/// How records are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// A line is its own key.
    Lines,
    Keyed,
}

/// The longest header.
pub(crate) const MOST_HEADER: usize = 12;

impl Layout {
    /// Bytes before the row.
    pub(crate) const fn header_size(self) -> usize {
        match self {
            Self::Lines => 4,
            Self::Keyed => MOST_HEADER,
        }
    }

    /// Bytes of a record with its header.
    pub(crate) fn size(self, record: &Record<'_>) -> usize {
        self.header_size() + record.row.len() + self.tail(record).len()
    }

    /// The header; [`header_size`](Self::header_size) bytes of it count.
    pub(crate) fn header(self, record: &Record<'_>) -> [u8; MOST_HEADER] {
        let length = record.row.len();
        let words = [length, record.key_start().unwrap_or(length), record.key.len()];
        let mut header = [0; MOST_HEADER];
        for (bytes, word) in header.chunks_exact_mut(4).zip(words) {
            bytes.copy_from_slice(&u32::try_from(word).expect("rows below 4 GiB").to_le_bytes());
        }
        header
    }

    /// The bytes stored after the row.
    pub(crate) fn tail<'a>(self, record: &Record<'a>) -> &'a [u8] {
        match self {
            Self::Keyed if record.key_start().is_none() => record.key,
            _ => &[],
        }
    }

    /// Bytes that follow a header.
    pub(crate) fn body_size(self, header: &[u8]) -> usize {
        let length = word(header, 0);
        match self {
            Self::Lines => length,
            Self::Keyed => length.max(word(header, 4) + word(header, 8)),
        }
    }

    /// The record whose header is at the start of `bytes`.
    pub(crate) fn read(self, bytes: &[u8]) -> Record<'_> {
        let body = &bytes[self.header_size()..];
        let row = &body[..word(bytes, 0)];
        let key = match self {
            Self::Lines => row,
            Self::Keyed => &body[word(bytes, 4)..][..word(bytes, 8)],
        };
        Record { row, key }
    }
}

fn word(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes")) as usize
}
