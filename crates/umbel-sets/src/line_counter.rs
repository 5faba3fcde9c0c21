//! Lines and columns of a place in an input, counted only for an error.

use crate::Error;

/// A byte order mark in UTF-8, which some programs write first.
pub(crate) const MARK: &[u8] = b"\xef\xbb\xbf";

/// Bytes of a mark at the start of an input.
pub(crate) fn mark(bytes: &[u8]) -> usize {
    if bytes.starts_with(MARK) { MARK.len() } else { 0 }
}

/// Counts lines and columns up to a place, in pieces of any size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LineCounter {
    separator: u8,
    /// Lines that ended.
    lines: u64,
    /// Characters of the line that has not ended.
    characters: u64,
}

impl LineCounter {
    pub(crate) fn new(separator: u8) -> Self {
        Self::after(0, separator)
    }

    /// Counts from the start of a line on.
    pub(crate) fn after(lines: u64, separator: u8) -> Self {
        Self { separator, lines, characters: 0 }
    }

    pub(crate) fn pass(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        if let Some(last) = memchr::memrchr(self.separator, bytes) {
            self.lines += memchr::memchr_iter(self.separator, &bytes[..=last]).count() as u64;
            self.characters = 0;
            rest = &bytes[last + 1..];
        }
        if self.lines == 0 && self.characters == 0 {
            rest = &rest[mark(rest)..];
        }
        // Continuation bytes do not begin a character.
        self.characters += rest.iter().filter(|&&byte| byte & 0xc0 != 0x80).count() as u64;
    }

    /// Adds line and column to an error, if its place is in the `bytes` from an offset on, up to which everything was
    /// counted.
    pub(crate) fn locate(mut self, mut error: Error, bytes: &[u8], offset: u64) -> Error {
        if let Some(place) = error.place()
            && let Some(before) = place.offset.checked_sub(offset)
            && let Some(bytes) = bytes.get(..before as usize)
        {
            self.pass(bytes);
            place.line = Some(self.place());
        }
        error
    }

    /// The line and the column after everything counted.
    pub(crate) fn place(&self) -> (u64, u64) {
        (self.lines + 1, self.characters + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_count_and_a_mark_at_the_start_does_not() {
        let mark = "\u{feff}";
        let text = format!("{mark}a\u{e4}\u{20ac}\n{mark}b\n\n{mark}{mark}c");
        for end in (mark.len()..=text.len()).filter(|end| text.is_char_boundary(*end)) {
            for cut in (mark.len()..=end).filter(|cut| text.is_char_boundary(*cut)) {
                let mut counter = LineCounter::new(b'\n');
                counter.pass(&text.as_bytes()[..cut]);
                counter.pass(&text.as_bytes()[cut..end]);
                let lines: Vec<&str> = text[mark.len()..end].split('\n').collect();
                let last = lines[lines.len() - 1].chars().count();
                assert_eq!(counter.place(), (lines.len() as u64, last as u64 + 1), "{cut} {end}");
            }
        }
    }
}
