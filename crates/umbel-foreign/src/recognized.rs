//! Which format the front ends read a file in whose format was not given, and what they say of one that they do not read.

use std::fmt::Display;

use crate::{Format, recognize};

/// The formats that a file may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recognized {
    /// It has this one: any other is very unlikely.
    One(Format),
    /// It may have one of these, the likeliest first, or only resemble them by chance.
    Perhaps(Vec<Format>),
    /// It is something else, and hardly a filter.
    Other(NotFilter),
    /// It has no known format.
    Unknown,
}

/// The content of a file that is not a filter: text, or something that umbel does not read as lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotFilter {
    /// Text in UTF-8.
    Text,
    /// Text in UTF-16.
    Utf16,
    /// Text whose lines end with carriage returns alone.
    CarriageReturns,
    /// A Parquet file.
    Parquet,
    /// A zip archive.
    Zip,
    /// Compressed bytes, and their format.
    Compressed(&'static str),
}

impl NotFilter {
    /// Recognizes the content by its start; `None` for any other.
    pub fn of(start: &[u8]) -> Option<Self> {
        const MAGICS: [(&[u8], NotFilter); 8] = [
            (b"PAR1", NotFilter::Parquet),
            (b"PK\x03\x04", NotFilter::Zip),
            (b"\x1f\x8b\x08", NotFilter::Compressed("gzip")),
            (b"\x28\xb5\x2f\xfd", NotFilter::Compressed("zstd")),
            (b"\xfd7zXZ\0", NotFilter::Compressed("xz")),
            (b"BZh", NotFilter::Compressed("bzip2")),
            (b"\xff\xfe", NotFilter::Utf16),
            (b"\xfe\xff", NotFilter::Utf16),
        ];
        if let Some((_, content)) = MAGICS.iter().find(|(magic, _)| start.starts_with(magic)) {
            return Some(*content);
        }
        let start = &start[..start.len().min(1 << 16)];
        // ASCII in UTF-16 has a NUL in every other byte.
        let pairs = start.chunks_exact(2).take(32);
        let halves =
            [0, 1].map(|half| pairs.clone().all(|pair| pair[half] == 0 && pair[1 - half] != 0));
        if start.len() >= 8 && halves.contains(&true) {
            return Some(Self::Utf16);
        }
        let text = match str::from_utf8(start) {
            Ok(text) => text,
            // The last character may be cut off.
            Err(error) if error.error_len().is_none() => {
                str::from_utf8(&start[..error.valid_up_to()]).unwrap_or_default()
            }
            Err(_) => return None,
        };
        let odd = |letter: char| letter.is_control() && !"\t\n\r\x0c".contains(letter);
        match text {
            "" => None,
            text if text.contains(odd) => None,
            text if text.contains('\n') || !text.trim_end().contains('\r') => Some(Self::Text),
            _ => Some(Self::CarriageReturns),
        }
    }

    /// Describes the file found instead of a filter, and the remedy.
    fn in_place_of_a_filter(self) -> String {
        let what = match self {
            Self::Text | Self::CarriageReturns => {
                "text; make a filter of its lines with umbel filter build"
            }
            Self::Utf16 => "text in UTF-16",
            Self::Parquet => "a Parquet file, whose filters umbel parquet reads",
            Self::Zip => "a zip archive; unpack it first",
            Self::Compressed(format) => &format!("compressed with {format}; decompress it first"),
        };
        format!("it is {what}")
    }
}

impl Recognized {
    /// Returns the formats that a content can have.
    pub fn of(content: &[u8]) -> Self {
        let found = recognize(content);
        let certain = found.iter().filter(|(_, certain)| *certain).count();
        // The certain ones come first.
        let likely = if certain > 0 { &found[..certain] } else { &found };
        match (likely, NotFilter::of(content)) {
            ([(format, true)], _) => Self::One(*format),
            (_, Some(other)) => Self::Other(other),
            ([], None) => Self::Unknown,
            (several, None) => Self::Perhaps(several.iter().map(|(format, _)| *format).collect()),
        }
    }
}

/// The message about a file that is not umbel's, for the reason `refused`, and has no known format.
pub fn unknown(refused: impl Display) -> String {
    format!("{refused:#}, or give the format if another system wrote it")
}

/// The message about a file that is not umbel's, for the reason `refused`, and probably not a filter.
pub fn other(refused: impl Display, content: NotFilter) -> String {
    format!("{refused:#}; {}", content.in_place_of_a_filter())
}

/// The message about a file that is not umbel's, for the reason `refused`, and may have one of these formats.
pub fn perhaps(refused: impl Display, formats: &[Format]) -> String {
    let names: Vec<_> = formats.iter().map(|format| format.name()).collect();
    format!("{}; the content fits {}", unknown(refused), names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_are_told_by_their_start() {
        for (start, expected) in [
            (&b""[..], None),
            (b"a\nb\n", Some(NotFilter::Text)),
            ("bücher\r\n".as_bytes(), Some(NotFilter::Text)),
            (b"a\rb\r", Some(NotFilter::CarriageReturns)),
            (b"a\0\n\0b\0\n\0", Some(NotFilter::Utf16)),
            (b"\xff\xfea\0", Some(NotFilter::Utf16)),
            (b"PK\x03\x04\x14\0", Some(NotFilter::Zip)),
            (b"\x1f\x8b\x08\0", Some(NotFilter::Compressed("gzip"))),
            (b"PAR1\x15", Some(NotFilter::Parquet)),
            (b"\x01\x02\x06", None),
            (b"\xff\xff\xff\x06", None),
        ] {
            assert_eq!(NotFilter::of(start), expected, "{start:?}");
        }
        // A character that is cut off at the end.
        assert_eq!(NotFilter::of(&"bü".as_bytes()[..2]), Some(NotFilter::Text));
        assert_eq!(Recognized::of(b"lines of text\n"), Recognized::Other(NotFilter::Text));
    }
}
