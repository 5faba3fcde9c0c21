//! What an attributes filter is made of. It is planned as one of its filters; the others are as large for as many keys.

use super::Kind;

/// Which joint tags an attributes filter keeps for each row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
#[non_exhaustive]
pub enum Tags {
    /// None: values that each occur, but in different rows, always pass together.
    None = 0,
    /// One, of the whole row: rejects wrong combinations in queries that name every attribute, and only in these.
    Row = 1,
    /// One for every subset of two or more attributes: rejects wrong combinations in every query.
    Subsets = 2,
}

impl Tags {
    /// The maximum number of attributes with a tag for every subset: 247 tags per row.
    pub const MOST_FOR_SUBSETS: usize = 8;

    /// Returns the number of tags of a row with this many attributes: 0, 1, or 2^A − A − 1. A row of one attribute
    /// needs none, since its value is the whole row. For subsets, `u64::MAX` from 64 attributes on.
    pub fn per_row(self, attributes: usize) -> u64 {
        match self {
            Self::Row if attributes > 1 => 1,
            Self::Subsets if attributes > 63 => u64::MAX,
            Self::Subsets if attributes > 1 => (1 << attributes) - attributes as u64 - 1,
            _ => 0,
        }
    }
}

/// The tags and the kind of the inner filters, by the parameter in files: 0, 1 and 2 are [`Tags`] with blocked filters,
/// 10 more is the same with classic ones.
pub(crate) fn inside(detail: u32) -> (Tags, Kind) {
    let tags = match detail % 10 {
        0 => Tags::None,
        1 => Tags::Row,
        _ => Tags::Subsets,
    };
    (tags, if detail < 10 { Kind::Blocked } else { Kind::Classic })
}
