//! The one form of texts with secrets, keys and cards: words, so that they can be mailed, printed and pasted. FORMAT.md,
//! section 21.
//!
//! ```text
//! umbel-public-key-1 64 digits check 16 digits        on one line, or on several
//! ```
//! The first word is the sort of the text. Bytes are hexadecimal digits. After the word `check` come the digits of
//! XXH3-64 of all words before that, each with a space after it: mistyped digits are noticed, intent is not.

use twox_hash::XxHash3_64;

use crate::prelude::*;

/// A text that is written.
#[derive(Debug)]
pub struct Text(String);

impl Text {
    /// Begins a text of this sort with some values.
    pub fn new(sort: &str, values: &[&[u8]]) -> Self {
        let mut text = Self(String::new());
        text.line(sort, values);
        text
    }

    /// Adds a line: a name, and its values.
    pub fn line(&mut self, name: &str, values: &[&[u8]]) {
        if !self.0.is_empty() {
            self.0.push('\n');
        }
        self.0.push_str(name);
        for value in values {
            self.0.push(' ');
            value.iter().for_each(|byte| self.0.push_str(&format!("{byte:02x}")));
        }
    }

    /// Returns the text with its check, without a line end after it: on one line, if it has one.
    pub fn finish(mut self) -> String {
        let between = if self.0.contains('\n') { '\n' } else { ' ' };
        let check = check(self.0.split_ascii_whitespace());
        self.0.push(between);
        self.0.push_str(&format!("check {check:016x}"));
        self.0
    }
}

/// The words of a text that is read, after that of its sort.
#[derive(Debug)]
pub struct Words<'t>(core::iter::Peekable<vec::IntoIter<&'t str>>);

impl<'t> Words<'t> {
    /// Reads a text of this sort; `None` for another one, and for one whose check does not match.
    pub fn parse(text: &'t str, sort: &str) -> Option<Self> {
        let mut words: Vec<&str> = text.split_ascii_whitespace().collect();
        let found = digits::<8>(words.pop()?).map(u64::from_be_bytes);
        let right = words.pop() == Some("check") && words.first() == Some(&sort);
        if !right || found != Some(check(words.iter().copied())) {
            return None;
        }
        words.remove(0);
        Some(Self(words.into_iter().peekable()))
    }

    /// Reads bytes.
    pub fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        digits(self.0.next()?)
    }

    /// Reads a name, if it is the next word.
    pub fn name(&mut self, name: &str) -> bool {
        self.0.next_if_eq(&name).is_some()
    }

    /// Whether no word is left.
    pub fn is_end(&mut self) -> bool {
        self.0.peek().is_none()
    }
}

/// The bytes that a word of digits stands for.
pub(crate) fn digits<const N: usize>(word: &str) -> Option<[u8; N]> {
    let digit = |digit: u8| char::from(digit).to_digit(16).map(|digit| digit as u8);
    let (pairs, rest) = word.as_bytes().as_chunks::<2>();
    if !rest.is_empty() || pairs.len() != N {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = digit(*high)? << 4 | digit(*low)?;
    }
    Some(bytes)
}

fn check<'t>(words: impl Iterator<Item = &'t str>) -> u64 {
    let mut text = String::new();
    for word in words {
        text.push_str(word);
        text.push(' ');
    }
    XxHash3_64::oneshot(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_however_its_words_are_divided() {
        let mut text = Text::new("umbel-thing-1", &[&[0, 0xAB]]);
        text.line("part", &[&[1; 3], &[2; 3]]);
        text.line("end", &[]);
        let text = text.finish();
        assert!(text.starts_with("umbel-thing-1 00ab\npart 010101 020202\nend\ncheck "), "{text}");
        for text in [text.clone(), text.replace('\n', "\r\n") + "\r\n", text.replace('\n', " ")] {
            let mut words = Words::parse(&text, "umbel-thing-1").unwrap();
            assert_eq!(words.bytes(), Some([0, 0xAB]));
            assert!(!words.name("other") && words.name("part") && !words.is_end());
            assert_eq!((words.bytes(), words.bytes()), (Some([1; 3]), Some([2; 3])));
            assert!(words.name("end") && words.is_end() && words.bytes::<1>().is_none());
        }
        // The check is of the digits as they are written.
        assert!(Words::parse(&text.replace("ab", "AB"), "umbel-thing-1").is_none());
        assert!(Words::parse(&text, "umbel-other-1").is_none());
    }

    #[test]
    fn damage_is_noticed() {
        let text = Text::new("umbel-thing-1", &[&[7; 16]]).finish();
        assert!(!text.contains('\n') && Words::parse(&text, "umbel-thing-1").is_some());
        for end in 0..text.len() {
            assert!(Words::parse(&text[..end], "umbel-thing-1").is_none(), "{end}");
        }
        for at in 0..text.len() {
            for other in ["0", "1", "é", " "] {
                let other = format!("{}{other}{}", &text[..at], &text[at + 1..]);
                let same = other.split_whitespace().eq(text.split_whitespace());
                assert_eq!(Words::parse(&other, "umbel-thing-1").is_some(), same, "{other}");
            }
        }
        for words in ["", "check", "check 0", "umbel-thing-1 check", "x check 0123456789abcdef"] {
            assert!(Words::parse(words, "umbel-thing-1").is_none(), "{words}");
        }
        assert_eq!(digits::<1>("+1"), None);
    }
}
