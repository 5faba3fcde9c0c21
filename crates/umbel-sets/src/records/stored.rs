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
    key: Key<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Key<'a> {
    /// All of the row.
    Row,
    /// A part of it.
    Within {
        start: u32,
        length: u32,
    },
    Apart(&'a [u8]),
}

impl<'a> Record<'a> {
    /// A line, its own key.
    pub(crate) fn line(line: &'a [u8]) -> Self {
        Self { row: line, key: Key::Row }
    }

    /// A row with a part of it as its key.
    pub(crate) fn within(row: &'a [u8], start: u32, length: u32) -> Self {
        Self { row, key: Key::Within { start, length } }
    }

    /// A row whose key is elsewhere.
    pub(crate) fn apart(row: &'a [u8], key: &'a [u8]) -> Self {
        Self { row, key: Key::Apart(key) }
    }

    pub(crate) fn key(&self) -> &'a [u8] {
        match self.key {
            Key::Row => self.row,
            Key::Within { start, length } => &self.row[start as usize..][..length as usize],
            Key::Apart(key) => key,
        }
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
        let length = record.row.len() as u32;
        let (start, key) = match record.key {
            Key::Row => (0, length),
            Key::Within { start, length } => (start, length),
            Key::Apart(key) => (length, key.len() as u32),
        };
        let mut header = [0; MOST_HEADER];
        for (bytes, word) in header.chunks_exact_mut(4).zip([length, start, key]) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        header
    }

    /// What follows the row.
    pub(crate) fn tail<'a>(self, record: &Record<'a>) -> &'a [u8] {
        match (self, record.key) {
            (Self::Keyed, Key::Apart(key)) => key,
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
        match self {
            Self::Lines => Record::line(row),
            Self::Keyed => {
                let (start, length) = (word(bytes, 4), word(bytes, 8));
                if start + length <= row.len() {
                    Record::within(row, start as u32, length as u32)
                } else {
                    Record::apart(row, &body[start..start + length])
                }
            }
        }
    }
}

fn word(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes")) as usize
}
