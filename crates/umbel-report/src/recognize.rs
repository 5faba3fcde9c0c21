//! What a file of an unknown format is, by its content.

use std::fmt::Display;

use umbel_foreign::Format;

/// The formats that a file may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recognized {
    /// It has this one: any other is very unlikely.
    One(Format),
    /// It may have one of these, the likeliest first; or, by chance, it only looks so.
    Perhaps(Vec<Format>),
    /// It has none that is known.
    Unknown,
}

impl Recognized {
    /// Returns the formats that a content can have.
    pub fn of(content: &[u8]) -> Self {
        let found = umbel_foreign::recognize(content);
        let certain = found.iter().filter(|(_, certain)| *certain).count();
        // Those certain come first.
        let likely = if certain > 0 { &found[..certain] } else { &found };
        match likely {
            [(format, true)] => Self::One(*format),
            [] => Self::Unknown,
            several => Self::Perhaps(several.iter().map(|(format, _)| *format).collect()),
        }
    }
}

/// The message about a file that is not umbel's, as `refused` says, and has no format that is known.
pub fn unknown(refused: impl Display) -> String {
    format!("{refused:#}, or give the format with --format if another system wrote it")
}

/// The message about a file that is not umbel's, as `refused` says, and may have one of these formats.
pub fn perhaps(refused: impl Display, formats: &[Format]) -> String {
    let names: Vec<_> = formats.iter().map(|format| format.name()).collect();
    format!(
        "{refused:#}, or give the format if another system wrote it; the content fits {} (--format {})",
        names.join(", "),
        names[0]
    )
}
