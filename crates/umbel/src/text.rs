//! The text form of secrets and keys: words, which can be mailed, printed and pasted. FORMAT.md, section 21.
//!
//! ```text
//! umbel-public-key-1 64 digits check 16 digits        on one line, or on several
//! ```
//! The first word names the type of the text. Bytes are hexadecimal digits. After `check` are the digits of XXH3-64 of
//! all words before it, each with a space after it: the check detects mistyped digits, not intent.

use twox_hash::XxHash3_64;

use crate::prelude::*;

/// Returns the text that begins with `sort` and has these bytes: one line, without a line end.
pub fn write_text(sort: &str, bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{sort} {digits} check {:016x}", check(&[sort, &digits]))
}

/// Reads the bytes of a text that begins with `sort`; `None` if it begins otherwise or its check does not match.
pub fn read_text<const N: usize>(text: &str, sort: &str) -> Option<[u8; N]> {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let [found, bytes, "check", sum] = words[..] else { return None };
    let right = digits::<8>(sum).map(u64::from_be_bytes) == Some(check(&[found, bytes]));
    digits(bytes).filter(|_| right && found == sort)
}

/// The bytes that a word of hexadecimal digits encodes.
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

fn check(words: &[&str]) -> u64 {
    XxHash3_64::oneshot((words.join(" ") + " ").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SORT: &str = "umbel-thing-1";

    #[test]
    fn a_text_is_read_however_its_words_are_divided() {
        let text = write_text(SORT, &[0, 0xAB]);
        assert!(text.starts_with("umbel-thing-1 00ab check ") && !text.contains('\n'), "{text}");
        for text in [text.clone(), text.replace(' ', "\r\n") + "\r\n", text.replace(' ', "\n")] {
            assert_eq!(read_text(&text, SORT), Some([0, 0xAB]));
        }
        // The check covers the digits as written.
        assert!(read_text::<2>(&text.replace("ab", "AB"), SORT).is_none());
        assert!(read_text::<2>(&text, "umbel-other-1").is_none());
        assert!(read_text::<3>(&text, SORT).is_none());
        let more = format!("{SORT} 00ab 00 check {:016x}", check(&[SORT, "00ab", "00"]));
        assert!(read_text::<2>(&more, SORT).is_none());
    }

    #[test]
    fn damage_is_noticed() {
        let text = write_text(SORT, &[7; 16]);
        let read = |text: &str| read_text::<16>(text, SORT);
        assert!(read(&text).is_some());
        for end in 0..text.len() {
            assert!(read(&text[..end]).is_none(), "{end}");
        }
        for at in 0..text.len() {
            for other in ["0", "1", "é", " "] {
                let other = format!("{}{other}{}", &text[..at], &text[at + 1..]);
                let same = other.split_whitespace().eq(text.split_whitespace());
                assert_eq!(read(&other).is_some(), same, "{other}");
            }
        }
        for words in ["", "check", "check 0", "umbel-thing-1 check", "x check 0123456789abcdef"] {
            assert!(read(words).is_none(), "{words}");
        }
        assert_eq!(digits::<1>("+1"), None);
    }
}
