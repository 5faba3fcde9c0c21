//! Which differences between keys to ignore.

use std::error::Error;

use caseless::Caseless;
use url::Url;

/// Appends the key in a text to the bytes; false, and nothing, for a text that has none, such as a comment.
pub type ReadKey = fn(&[u8], &mut Vec<u8>) -> Result<bool, Box<dyn Error + Send + Sync>>;

/// Which differences between keys to ignore. Output is not changed.
///
/// The steps are applied in the order of the fields here, to each field of a key by itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Normalization {
    /// Ignores a carriage return at the end.
    pub crlf: bool,
    /// Ignores ASCII white space at both ends.
    pub trim: bool,
    /// Normalizes a URL by the WHATWG standard, without its fragment: scheme and host in lower case, no default port,
    /// no dot segments in its path. A key that is not an absolute URL is unchanged.
    pub url: bool,
    /// Ignores the case of letters, by Unicode's default caseless matching; bytes that are not UTF-8 are unchanged.
    pub ignore_case: bool,
    /// Reads the key in another way than its bytes, such as an address as a number. The other steps come first.
    pub read: Option<ReadKey>,
}

/// How many times longer than a key its normalized form may be: a letter of 2 bytes may fold to 6, and a byte of a URL may
/// be written as 3.
pub(super) const GROWTH: u64 = 9;

impl Normalization {
    /// Returns whether keys are compared unchanged.
    pub fn is_none(self) -> bool {
        let Self { crlf, trim, url, ignore_case, read } = self;
        !(crlf || trim || url || ignore_case) && read.is_none()
    }

    /// Normalizes the key that starts at `start` of `bytes` and ends with them.
    pub(super) fn apply(self, bytes: &mut Vec<u8>, start: usize) {
        if self.crlf && bytes[start..].ends_with(b"\r") {
            bytes.pop();
        }
        if self.trim {
            let key = &bytes[start..];
            let blanks = key.len() - key.trim_ascii_start().len();
            bytes.truncate(start + key.trim_ascii_end().len().max(blanks));
            bytes.drain(start..start + blanks);
        }
        if self.url
            && let Some(url) = url(&bytes[start..])
        {
            bytes.truncate(start);
            bytes.extend_from_slice(url.as_bytes());
        }
        if self.ignore_case {
            fold(bytes, start);
        }
    }
}

/// A normalized URL.
fn url(text: &[u8]) -> Option<String> {
    let mut url = Url::parse(str::from_utf8(text).ok()?).ok()?;
    url.set_fragment(None);
    Some(url.into())
}

fn fold(bytes: &mut Vec<u8>, start: usize) {
    let key = &mut bytes[start..];
    if key.is_ascii() {
        key.make_ascii_lowercase();
        return;
    }
    let key = bytes.split_off(start);
    for chunk in key.utf8_chunks() {
        let mut letter = [0; 4];
        for folded in chunk.valid().chars().default_case_fold() {
            bytes.extend_from_slice(folded.encode_utf8(&mut letter).as_bytes());
        }
        bytes.extend_from_slice(chunk.invalid());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normalized(normalization: Normalization, key: &str) -> String {
        let mut bytes = [b"before", key.as_bytes()].concat();
        normalization.apply(&mut bytes, 6);
        String::from_utf8(bytes.split_off(6)).unwrap()
    }

    #[test]
    fn each_rule_by_itself() {
        let none = Normalization::default();
        let crlf = Normalization { crlf: true, ..none };
        let trim = Normalization { trim: true, ..none };
        let url = Normalization { url: true, ..none };
        let ignore_case = Normalization { ignore_case: true, ..none };
        for (rule, key, expected) in [
            (none, " A\r", " A\r"),
            (crlf, " A\r", " A"),
            (crlf, "\r\r", "\r"),
            (trim, " \tA b \r", "A b"),
            (trim, " \t ", ""),
            (trim, "", ""),
            (ignore_case, "ΜΆΪΟΣ Maß MASS \u{212a}", "μάϊοσ mass mass k"),
            (url, "HTTP://User@Example.COM:80/a/../B?Q#top", "http://User@example.com/B?Q"),
            (url, "https://example.com", "https://example.com/"),
            (url, "https://bücher.example/ü", "https://xn--bcher-kva.example/%C3%BC"),
            (url, "/relative#kept", "/relative#kept"),
            (url, "no URL", "no URL"),
        ] {
            assert_eq!(normalized(rule, key), expected, "{key:?}");
        }
        let all = Normalization { crlf: true, trim: true, url: true, ignore_case: true, ..none };
        assert_eq!(normalized(all, "  HTTPS://A.example:443/X#y \r"), "https://a.example/x");
    }

    #[test]
    fn bytes_that_are_no_text_stay() {
        let mut bytes = b"A\xff\xc3B\xc3\x84".to_vec();
        Normalization { ignore_case: true, url: true, ..Default::default() }.apply(&mut bytes, 0);
        assert_eq!(bytes, b"a\xff\xc3b\xc3\xa4");
    }
}
