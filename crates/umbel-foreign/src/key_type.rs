//! The types of keys, by their names.

use std::fmt;

/// How a line of text becomes a [`Key`](crate::Key).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum KeyType {
    /// The bytes of the line.
    Bytes,
    /// The UTF-16 code units of the line, little-endian, as Java's chars are hashed.
    Utf16,
    /// An integer, as 64 bits.
    I64,
    /// An integer, as 32 bits.
    I32,
    /// A number, as a double.
    F64,
    /// A number, as a float.
    F32,
    /// An integer, as its shortest decimal text, like Python's `str`.
    Decimal,
    /// A URL.
    Url,
}

impl KeyType {
    /// Every type.
    pub const ALL: &'static [Self] = &[
        Self::Bytes,
        Self::Utf16,
        Self::I64,
        Self::I32,
        Self::F64,
        Self::F32,
        Self::Decimal,
        Self::Url,
    ];

    /// Returns its name, as on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Utf16 => "utf16",
            Self::I64 => "i64",
            Self::I32 => "i32",
            Self::F64 => "f64",
            Self::F32 => "f32",
            Self::Decimal => "decimal",
            Self::Url => "url",
        }
    }
}

impl fmt::Display for KeyType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
