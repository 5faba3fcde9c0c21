//! Which differences between keys to ignore.

use std::error::Error;
use std::num::IntErrorKind as Kind;

use caseless::Caseless;
use idna::uts46::{AsciiDenyList, DnsLength, Hyphens, Uts46};
use unicode_normalization::UnicodeNormalization;
use url::Url;

/// Appends the key in a text to the bytes; returns false for a text without a key, such as a comment.
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
    /// no dot segments in its path. A key that is not an absolute URL is unchanged, and so is one whose host, with a
    /// name and password in front of it, is over 64 KiB.
    pub url: bool,
    /// Normalizes an email address: its domain, in which case has no meaning (RFC 5321, section 2.4), in lower case and in
    /// the ASCII form of international names (RFC 5890, by UTS #46). The part before the last `@` is unchanged, as is a
    /// key that is not an address.
    pub email: bool,
    /// Compares numbers, as people and JSON write them, by their exact values: `1`, `01`, `+1`, `1.`, `1.0` and `1e0` are
    /// equal, as are `.5` and `0.5`, `0` and `-0`. Any other key is unchanged, and so are exponents of more than 18 digits.
    pub number: bool,
    /// As `number`, also of numbers with commas between their thousands: `1,234,567.50` is `1234567.5`. Where commas are not
    /// between groups of three digits, or the first group begins with a zero, as in `0,123`, the key is unchanged.
    pub thousands: bool,
    /// Normalizes text to Unicode's Normalization Form C (UAX #15); bytes that are not UTF-8 are unchanged.
    pub nfc: bool,
    /// Ignores the case of letters, by Unicode's default caseless matching; bytes that are not UTF-8 are unchanged.
    pub ignore_case: bool,
    /// Reads the key as something else than its bytes, such as an address as a number. The other steps come first.
    pub read: Option<ReadKey>,
}

/// The names of the steps, in order. Part of the format.
const STEPS: [&str; 8] =
    ["crlf", "trim", "url", "email", "number", "thousands", "nfc", "ignore-case"];

/// How many times longer than a key its normalized form may be: a letter of 2 bytes may fold to 6, and a byte of a URL,
/// or of text in Form C (UAX #15, section 12), may become 3. A domain has at most 255 bytes; a number at most doubles.
pub(super) const GROWTH: u64 = 9;

impl Normalization {
    /// Whether each of the [`STEPS`] is done.
    fn steps_mut(&mut self) -> [&mut bool; STEPS.len()] {
        let Self { crlf, trim, url, email, number, thousands, nfc, ignore_case, read: _ } = self;
        [crlf, trim, url, email, number, thousands, nfc, ignore_case]
    }

    /// Returns whether keys are compared unchanged.
    pub fn is_none(mut self) -> bool {
        self.steps_mut().iter().all(|done| !**done) && self.read.is_none()
    }

    /// Returns the names of its steps, in order. Part of the format of filters and indexes.
    pub fn steps(mut self) -> impl Iterator<Item = &'static str> {
        let done = self.steps_mut().map(|done| *done);
        STEPS.into_iter().zip(done).filter(|(_, done)| *done).map(|(name, _)| name)
    }

    /// Returns the steps with these names; `None` if one is unknown.
    pub fn of_steps<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let mut all = Self::default();
        let steps = all.steps_mut();
        for name in names {
            *steps[STEPS.iter().position(|step| *step == name)?] = true;
        }
        Some(all)
    }

    /// Whether two texts are numbers that differ by no more than `most`, whose shortest digits count.
    pub(crate) fn are_within(self, most: f64, old: &[u8], new: &[u8]) -> bool {
        let read = if self.thousands { thousands } else { number };
        let [Some(old), Some(new)] = [old, new].map(|text| read(text.trim_ascii())) else {
            return false;
        };
        let exact = || {
            let most = number(most.to_string().as_bytes())?;
            let parts =
                [&old, &new, &most].map(|number| number.split_once('e').unwrap_or((number, "0")));
            let powers = parts.map(|(_, power)| power.parse::<i64>().expect("it was read"));
            let least = powers.into_iter().min()?;
            let mut whole = parts.into_iter().zip(powers).map(|((digits, _), power)| {
                let by = 10i128.checked_pow(u32::try_from(power - least).ok()?)?;
                digits.parse::<i128>().ok()?.checked_mul(by)
            });
            let [old, new, most] = [whole.next()??, whole.next()??, whole.next()??];
            Some(old.checked_sub(new)?.unsigned_abs() <= most.unsigned_abs())
        };
        // More than 38 digits.
        let float = |text: &str| text.parse::<f64>().expect("it was read");
        exact().unwrap_or_else(|| (float(&old) - float(&new)).abs() <= most)
    }

    /// Normalizes the key that starts at `start` of `bytes` and ends with them.
    pub(crate) fn apply(self, bytes: &mut Vec<u8>, start: usize) {
        if self.crlf && bytes[start..].ends_with(b"\r") {
            bytes.pop();
        }
        if self.trim {
            let key = &bytes[start..];
            let blanks = key.len() - key.trim_ascii_start().len();
            bytes.truncate(start + key.trim_ascii_end().len().max(blanks));
            bytes.drain(start..start + blanks);
        }
        let mut replace = |step: bool, with: fn(&[u8]) -> Option<String>| {
            if step && let Some(text) = with(&bytes[start..]) {
                bytes.truncate(start);
                bytes.extend_from_slice(text.as_bytes());
            }
        };
        replace(self.url, url);
        replace(self.email, email);
        replace(self.number, number);
        replace(self.thousands, thousands);
        if self.nfc && !bytes[start..].is_ascii() {
            each_text(bytes, start, |text, put| text.nfc().for_each(put));
        }
        if self.ignore_case {
            match bytes[start..].is_ascii() {
                true => bytes[start..].make_ascii_lowercase(),
                false => each_text(bytes, start, |text, put| {
                    text.chars().default_case_fold().for_each(put);
                }),
            }
        }
    }
}

/// The normal form of a URL.
fn url(text: &[u8]) -> Option<String> {
    /// The maximum bytes of a host: a name has 255, or a few times as many in other notations. Reading one takes up to
    /// 32 bytes of memory per byte, for its letters and labels.
    const MOST: usize = 1 << 16;
    let text = str::from_utf8(text).ok()?;
    if host(text).len() > MOST {
        return None;
    }
    let mut url = Url::parse(text).ok()?;
    url.set_fragment(None);
    Some(url.into())
}

/// The part of a text that is the host, if it is a URL whose host is a name.
fn host(text: &str) -> &str {
    // The schemes that the standard calls special. It skips blanks before a scheme, and some within.
    const SCHEMES: [&str; 6] = ["http", "https", "ws", "wss", "ftp", "file"];
    let (scheme, rest) = text.split_once(':').unwrap_or_default();
    let scheme: String = scheme.chars().filter(|letter| *letter > ' ').take(6).collect();
    if !SCHEMES.iter().any(|special| scheme.eq_ignore_ascii_case(special)) {
        return "";
    }
    let rest = rest.trim_start_matches(['/', '\\', '\t', '\n', '\r']);
    rest.split(['/', '\\', '?', '#']).next().unwrap_or_default()
}

/// The normal form of an email address.
fn email(address: &[u8]) -> Option<String> {
    /// More bytes than a name of 255 (RFC 5321, section 4.5.3.1.2) has when it is written in letters.
    const MOST: usize = 1024;
    let address = str::from_utf8(address).ok()?;
    let (local, domain) = address.rsplit_once('@')?;
    if !is_local_part(local) || domain.len() > MOST {
        return None;
    }
    // An address of a host in brackets (section 4.1.3).
    if domain.starts_with('[') && domain.ends_with(']') {
        return Some([local, "@", &domain.to_ascii_lowercase()].concat());
    }
    let (deny, verify) = (AsciiDenyList::URL, DnsLength::Verify);
    let ascii = Uts46::new().to_ascii(domain.as_bytes(), deny, Hyphens::Allow, verify).ok()?;
    Some([local, "@", &ascii].concat())
}

/// Whether it may come before the `@` of an address: a quoted string, or atoms and dots (RFC 5321, section 4.1.2),
/// including letters beyond ASCII (RFC 6531, section 3.3). Where the dots are does not matter: some hosts allow `a..b`.
fn is_local_part(text: &str) -> bool {
    let atom = |letter: char| match letter.is_ascii() {
        true => letter.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~.".contains(letter),
        false => !letter.is_whitespace() && !letter.is_control(),
    };
    let quoted = text.len() > 1 && text.starts_with('"') && text.ends_with('"');
    quoted || !text.is_empty() && text.chars().all(atom)
}

/// A number that is the whole text: its significant digits, and its power of ten if that is not 0, as in `15e-1`.
/// Beyond RFC 8259, section 6, it accepts a plus sign, leading zeros, and a point with digits on one side only.
pub(super) fn number(text: &[u8]) -> Option<String> {
    /// The largest power that is read: an i64 holds it with the digits of a text added.
    const MOST: u64 = 10u64.pow(18) - 1;
    let (sign, rest) = match text {
        [b'-', rest @ ..] => ("-", rest),
        [b'+', rest @ ..] | rest => ("", rest),
    };
    let (whole, rest) = digits(rest);
    let (fraction, rest) = match rest {
        [b'.', rest @ ..] => digits(rest),
        rest => (&[][..], rest),
    };
    let power = match rest {
        [] => Ok(0),
        [b'e' | b'E', power @ ..] => str::from_utf8(power).ok()?.parse::<i64>(),
        _ => return None,
    };
    let power = match power {
        Ok(power) => Some(power).filter(|power| power.unsigned_abs() <= MOST),
        Err(error) if matches!(error.kind(), Kind::PosOverflow | Kind::NegOverflow) => None,
        Err(_) => return None,
    };
    let all = [whole, fraction].concat();
    if all.is_empty() {
        return None;
    }
    let all = str::from_utf8(&all).expect("digits");
    let digits = all.trim_end_matches('0');
    let behind = all.len() - digits.len();
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        return Some("0".to_owned());
    }
    Some(match power? - fraction.len() as i64 + behind as i64 {
        0 => format!("{sign}{digits}"),
        exponent => format!("{sign}{digits}e{exponent}"),
    })
}

/// As [`number`], with or without commas between its thousands.
fn thousands(text: &[u8]) -> Option<String> {
    let whole = text.split(|byte| b".eE".contains(byte)).next()?;
    let unsigned = whole.strip_prefix(b"-").or(whole.strip_prefix(b"+")).unwrap_or(whole);
    let mut groups = unsigned.split(|byte| *byte == b',');
    let is_first = |group: &[u8]| matches!(group, [b'1'..=b'9', more @ ..] if more.len() < 3);
    let first = groups.next()?;
    if first != unsigned && !(is_first(first) && groups.all(|group| group.len() == 3)) {
        return None;
    }
    let plain: Vec<_> = whole.iter().copied().filter(|byte| *byte != b',').collect();
    number(&[&plain, &text[whole.len()..]].concat())
}

/// The decimal digits at the start of a text, and the rest.
fn digits(text: &[u8]) -> (&[u8], &[u8]) {
    text.split_at(text.iter().take_while(|byte| byte.is_ascii_digit()).count())
}

/// Replaces the text in the key that starts at `start`; bytes that are not UTF-8 stay.
fn each_text(bytes: &mut Vec<u8>, start: usize, replace: impl Fn(&str, &mut dyn FnMut(char))) {
    let key = bytes.split_off(start);
    for chunk in key.utf8_chunks() {
        let mut letter = [0; 4];
        replace(chunk.valid(), &mut |other| {
            bytes.extend_from_slice(other.encode_utf8(&mut letter).as_bytes());
        });
        bytes.extend_from_slice(chunk.invalid());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn normalized(normalization: Normalization, key: &str) -> String {
        let mut bytes = [b"before", key.as_bytes()].concat();
        normalization.apply(&mut bytes, 6);
        String::from_utf8(bytes.split_off(6)).unwrap()
    }

    fn step(name: &str) -> Normalization {
        Normalization::of_steps([name]).unwrap()
    }

    #[test]
    fn each_rule_by_itself() {
        let none = Normalization::default();
        let [crlf, trim, url, email, nfc, ignore_case] =
            ["crlf", "trim", "url", "email", "nfc", "ignore-case"].map(step);
        for (rule, key, expected) in [
            (none, " A\r", " A\r"),
            (crlf, " A\r", " A"),
            (crlf, "\r\r", "\r"),
            (trim, " \tA b \r", "A b"),
            (trim, " \t ", ""),
            (trim, "", ""),
            (trim, " e\u{301} ", "e\u{301}"),
            (ignore_case, "ΜΆΪΟΣ Maß MASS \u{212a}", "μάϊοσ mass mass k"),
            (url, "HTTP://User@Example.COM:80/a/../B?Q#top", "http://User@example.com/B?Q"),
            (url, "https://example.com", "https://example.com/"),
            (url, "https://bücher.example/ü", "https://xn--bcher-kva.example/%C3%BC"),
            (url, "/relative#kept", "/relative#kept"),
            (url, "no URL", "no URL"),
            (email, "Ada.L@Example.COM", "Ada.L@example.com"),
            (email, "Ada@Bücher.Example", "Ada@xn--bcher-kva.example"),
            (email, "Ada@XN--BCHER-KVA.example", "Ada@xn--bcher-kva.example"),
            (email, "\"a@b\"@C.example", "\"a@b\"@c.example"),
            (email, "ada@[IPv6:2001:DB8::1]", "ada@[ipv6:2001:db8::1]"),
            (email, "Ada <A@B.example>", "Ada <A@B.example>"),
            (email, "@B.example", "@B.example"),
            (email, "A@B..example", "A@B..example"),
            (email, "Ada", "Ada"),
            (email, "a b@C.com", "a b@C.com"),
            (email, "a,b@C.com", "a,b@C.com"),
            (email, "a\u{a0}b@C.com", "a\u{a0}b@C.com"),
            (email, "\"a b\"@C.com", "\"a b\"@c.com"),
            (email, "bü.o'neil+x@C.com", "bü.o'neil+x@c.com"),
            (nfc, "A\u{30a} e\u{301} \u{212b} ﬁ", "Å é Å ﬁ"),
            (nfc, "\u{1d15e}", "\u{1d157}\u{1d165}"),
        ] {
            assert_eq!(normalized(rule, key), expected, "{key:?}");
        }
        for scheme in ["http:", "HTTPS://", " \tw\ts:\\\\"] {
            let [fits, long] =
                [1 << 15, (1 << 15) + 1].map(|n| format!("{scheme}{}/a/../b", "A.".repeat(n)));
            assert!(normalized(url, &fits).ends_with("a.a./b"), "{scheme}");
            assert_eq!(normalized(url, &long), long, "{scheme}");
        }
        let all = Normalization { crlf: true, trim: true, url: true, ignore_case: true, ..none };
        assert_eq!(normalized(all, "  HTTPS://A.example:443/X#y \r"), "https://a.example/x");
        let both = Normalization { nfc: true, ignore_case: true, ..none };
        assert_eq!(normalized(both, "E\u{301}"), normalized(both, "é"));
    }

    #[test]
    fn numbers_are_equal_if_their_values_are() {
        let [number, thousands] = ["number", "thousands"].map(step);
        for (text, expected) in [
            ("10e-1", "1"),
            ("0.10", "1e-1"),
            ("100", "1e2"),
            ("-1.50E+1", "-15"),
            ("-00", "0"),
            ("+007", "7"),
            (".5", "5e-1"),
            ("1.e1", "1e1"),
            ("0.000e99999999999999999999", "0"),
            ("9007199254740993", "9007199254740993"),
            ("9007199254740992", "9007199254740992"),
            ("1e999999999999999999", "1e999999999999999999"),
            ("0.1e-0999999999999999999", "1e-1000000000000000000"),
        ] {
            assert_eq!(normalized(number, text), expected, "{text}");
        }
        let huge = "1e1000000000000000000";
        let others = "- + . -.e1 +-1 1e 1e+ 1e1.0 1.0.0 0x1 1_000 1,5 NaN Infinity ١";
        let grouped = "0,123 ,123 1,234, 1,2345 1234,567 1.5,000 12,34,567 1,,234 1,234e1,000";
        let blank = ["", " 1", "1 234"];
        for text in [others, grouped, huge].into_iter().flat_map(|all| all.split(' ')).chain(blank)
        {
            assert_eq!(normalized(number, text), text);
            assert_eq!(normalized(thousands, text), text);
        }
    }

    proptest! {
        /// Numbers with the same value, however written, are equal in exact arithmetic; a normal form is its own
        /// normal form.
        #[test]
        fn numbers_are_compared_exactly(one in written(), other in written()) {
            let [number, thousands] = ["number", "thousands"].map(step);
            let [(text, grouped, value), (other, _, other_value)] = [one, other];
            let normal = normalized(number, &text);
            prop_assert_eq!(normal == normalized(number, &other), value == other_value);
            prop_assert!([&normal, &text, &grouped].iter().all(|it| normalized(thousands, it) == normal));
            prop_assert_eq!(normalized(number, &normal), normal.clone());
            prop_assert!(normal.len() <= 2 * text.len());
        }
    }

    /// A number, also with commas, and its value in units of 10⁻¹².
    fn written() -> impl Strategy<Value = (String, String, i128)> {
        let (whole, fraction) = ("(0[05]{0,2}|[1-9][05]{0,6})?", "(\\.[05]{0,4})?");
        let parts = ("[-+]?", whole, fraction, "([eE][+-]?0{0,2}[0-4])?");
        parts.prop_filter_map("has digits", |(sign, whole, fraction, power)| {
            let exponent = power.get(1..).map_or(0, |power| power.parse::<i32>().unwrap());
            let digits = whole.clone() + fraction.get(1..).unwrap_or_default();
            let places = 12 + exponent - fraction.len().saturating_sub(1) as i32;
            let value = digits.parse::<i128>().ok()? * 10i128.pow(places as u32);
            let value = if sign == "-" { -value } else { value };
            let groups: Vec<_> =
                whole.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
            let [text, grouped] =
                [&whole, &groups.join(",")].map(|it| format!("{sign}{it}{fraction}{power}"));
            Some((text, grouped, value))
        })
    }

    #[test]
    fn bytes_that_are_no_text_stay() {
        let mut bytes = b"A\xff\xc3B\xc3\x84".to_vec();
        Normalization { ignore_case: true, url: true, ..Default::default() }.apply(&mut bytes, 0);
        assert_eq!(bytes, b"a\xff\xc3b\xc3\xa4");
    }
}
