//! Keys of other systems, with their types.

use crate::{Error, Format, KeyType};

/// A key with its type. Most systems hash numbers and texts differently, and do not record the type.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Key<'a> {
    /// Bytes; for text, its UTF-8 or whatever bytes the system makes of it.
    Bytes(&'a [u8]),
    /// A 64-bit integer.
    I64(i64),
    /// A 32-bit integer.
    I32(i32),
    /// A double.
    F64(f64),
    /// A float.
    F32(f32),
}

impl<'a> Key<'a> {
    /// Returns the name of the key's type for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Bytes(_) => "bytes",
            Self::I64(_) => "i64",
            Self::I32(_) => "i32",
            Self::F64(_) => "f64",
            Self::F32(_) => "f32",
        }
    }

    /// The bytes of a key, for a format that hashes nothing else.
    pub(crate) fn bytes(self, format: Format) -> Result<&'a [u8], Error> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            other => Err(other.refused(format)),
        }
    }

    /// The error of a format that does not hash keys of this type.
    pub(crate) fn refused(&self, format: Format) -> Error {
        Error::KeyType { format, found: self.kind() }
    }
}

impl<'a> From<&'a [u8]> for Key<'a> {
    fn from(key: &'a [u8]) -> Self {
        Self::Bytes(key)
    }
}

impl<'a> From<&'a str> for Key<'a> {
    fn from(key: &'a str) -> Self {
        Self::Bytes(key.as_bytes())
    }
}

impl From<i64> for Key<'_> {
    fn from(key: i64) -> Self {
        Self::I64(key)
    }
}

impl KeyType {
    /// Parses a line as a key; `buffer` holds the key's bytes if they differ from the line's.
    ///
    /// # Errors
    /// [`Error::KeyText`] if the line is not such a number, or not UTF-8 where characters are needed.
    pub fn read<'a>(self, line: &'a [u8], buffer: &'a mut Vec<u8>) -> Result<Key<'a>, Error> {
        // Of a long line, its start.
        let line_start = &line[..line.len().min(80)];
        let refused = || Error::KeyText { line: line_start.to_vec(), expected: self };
        let text = || std::str::from_utf8(line).map_err(|_| refused());
        Ok(match self {
            Self::Bytes | Self::Url => Key::Bytes(line),
            Self::Utf16 => {
                buffer.clear();
                buffer.extend(text()?.encode_utf16().flat_map(u16::to_le_bytes));
                Key::Bytes(buffer)
            }
            Self::I64 => Key::I64(text()?.parse().map_err(|_| refused())?),
            Self::I32 => Key::I32(text()?.parse().map_err(|_| refused())?),
            Self::F64 => Key::F64(text()?.parse().map_err(|_| refused())?),
            Self::F32 => Key::F32(text()?.parse().map_err(|_| refused())?),
            Self::Decimal => {
                let number: i128 = text()?.parse().map_err(|_| refused())?;
                buffer.clear();
                buffer.extend(number.to_string().bytes());
                Key::Bytes(buffer)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_keys() {
        let mut buffer = Vec::new();
        let mut read = |key_type: KeyType, line: &str| {
            key_type.read(line.as_bytes(), &mut buffer).map(|key| format!("{key:?}")).ok()
        };
        assert_eq!(read(KeyType::Bytes, "é").unwrap(), "Bytes([195, 169])");
        assert_eq!(read(KeyType::Utf16, "é😀").unwrap(), "Bytes([233, 0, 61, 216, 0, 222])");
        let least = "-9223372036854775808";
        assert_eq!(read(KeyType::I64, least).unwrap(), format!("I64({least})"));
        assert_eq!(read(KeyType::I32, "2147483648"), None);
        assert_eq!(read(KeyType::F64, "-0").unwrap(), "F64(-0.0)");
        assert_eq!(read(KeyType::Decimal, "-007").unwrap(), "Bytes([45, 55])");
        assert_eq!(read(KeyType::Decimal, "7.0"), None);
        for &key_type in KeyType::ALL {
            assert_eq!(key_type.name().parse::<KeyType>().unwrap(), key_type);
        }
    }
}
