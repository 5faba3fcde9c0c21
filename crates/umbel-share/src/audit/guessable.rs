//! Keys that are easily enumerated: recognized by their form, or by the names of their fields.

/// Keys so few that all of them, or all likely ones, can be tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Guessable {
    /// IPv4 addresses: 2³² of them.
    Ipv4,
    /// Numbers of at most 12 digits, or 15 with a country code: phone numbers, dates, account numbers. Blanks, dots,
    /// dashes, slashes and parentheses may separate the digits.
    Numbers {
        /// The most digits seen.
        digits: u32,
    },
    /// Numbers of payment cards: 13 to 19 digits; the last is Luhn's check digit. The first eight name the issuer.
    Cards,
    /// E-mail addresses: lists of billions of them circulate, and names at a domain can be guessed.
    Emails,
}

impl Guessable {
    /// Fewer keys than this are not judged.
    pub const LEAST: usize = 20;

    /// Recognizes lists of which 90 % or more are guessable, in one sort or several; returns the most frequent sort.
    /// `None` for fewer than [`LEAST`](Self::LEAST) keys. Empty keys do not count.
    ///
    /// The threshold leaves room for headers and blemishes. One in ten random strings of 13 to 19 digits has a card's
    /// check digit.
    ///
    /// ```
    /// use umbel_share::audit::Guessable;
    /// let numbers = (0..100).map(|i| format!("+49 30 55 {i:04}"));
    /// assert_eq!(Guessable::of(numbers), Some(Guessable::Numbers { digits: 10 }));
    /// ```
    pub fn of<K: AsRef<[u8]>>(keys: impl IntoIterator<Item = K>) -> Option<Self> {
        let mut found: Vec<(Self, usize)> = Vec::new();
        let mut count = 0;
        for key in keys {
            let key = key.as_ref().trim_ascii();
            count += usize::from(!key.is_empty());
            let Some(sort) = Self::sort(key) else { continue };
            let alike = |(own, _): &&mut (Self, usize)| {
                std::mem::discriminant(own) == std::mem::discriminant(&sort)
            };
            match found.iter_mut().find(alike) {
                Some((own, count)) => (*own, *count) = (own.wider(sort), *count + 1),
                None => found.push((sort, 1)),
            }
        }
        let guessable: usize = found.iter().map(|(_, count)| count).sum();
        if count < Self::LEAST || guessable * 10 < count * 9 {
            return None;
        }
        found.into_iter().max_by_key(|(_, count)| *count).map(|(sort, _)| sort)
    }

    /// The sort of one key.
    fn sort(key: &[u8]) -> Option<Self> {
        if is_email(key) {
            return Some(Self::Emails);
        }
        if str::from_utf8(key).is_ok_and(|text| text.parse::<std::net::Ipv4Addr>().is_ok()) {
            return Some(Self::Ipv4);
        }
        let (number, most) = key.strip_prefix(b"+").map_or((key, 12), |number| (number, 15));
        let digits: Vec<u8> = number.iter().copied().filter(u8::is_ascii_digit).collect();
        let others = number.iter().filter(|byte| !byte.is_ascii_digit());
        if digits.is_empty() || !others.clone().all(|byte| b" .-/()".contains(byte)) {
            return None;
        }
        match digits.len() {
            count if count <= most => Some(Self::Numbers { digits: count as u32 }),
            13..=19 if luhn(&digits) => Some(Self::Cards),
            _ => None,
        }
    }

    /// The wider of two keys of one sort.
    fn wider(self, other: Self) -> Self {
        match (self, other) {
            (Self::Numbers { digits }, Self::Numbers { digits: more }) => {
                Self::Numbers { digits: digits.max(more) }
            }
            _ => self,
        }
    }

    /// Recognizes a field with guessable values, such as `email` or `Phone number`, by the words in its name.
    ///
    /// ```
    /// use umbel_share::audit::Guessable;
    /// assert_eq!(Guessable::of_field("user.email"), Some(Guessable::Emails));
    /// assert_eq!(Guessable::of_field("shipment"), None);
    /// ```
    pub fn of_field(name: &str) -> Option<Self> {
        let name = name.to_lowercase();
        name.split(|letter: char| !letter.is_alphanumeric()).find_map(|word| {
            Some(match word {
                "email" | "mail" | "emails" => Self::Emails,
                "ip" | "ipv4" | "ipaddr" | "ipaddress" => Self::Ipv4,
                "phone" | "mobile" | "msisdn" | "telephone" => Self::Numbers { digits: 15 },
                "ssn" => Self::Numbers { digits: 9 },
                "birthday" | "birthdate" | "dob" => Self::Numbers { digits: 8 },
                "zip" | "postcode" => Self::Numbers { digits: 9 },
                "pan" | "cardnumber" => Self::Cards,
                _ => return None,
            })
        })
    }

    /// Returns how many such keys there are, if their form limits them.
    pub fn universe(self) -> Option<u64> {
        match self {
            Self::Ipv4 => Some(1 << 32),
            Self::Numbers { digits } => 10u64.checked_pow(digits),
            Self::Cards | Self::Emails => None,
        }
    }

    /// Returns its name for programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ipv4 => "ipv4",
            Self::Numbers { .. } => "numbers",
            Self::Cards => "cards",
            Self::Emails => "emails",
        }
    }
}

impl std::fmt::Display for Guessable {
    /// Such as `IPv4 addresses`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Ipv4 => f.write_str("IPv4 addresses"),
            Self::Numbers { digits: 1 } => f.write_str("numbers of one digit"),
            Self::Numbers { digits } => write!(f, "numbers of up to {digits} digits"),
            Self::Cards => f.write_str("numbers of payment cards"),
            Self::Emails => f.write_str("e-mail addresses"),
        }
    }
}

/// Whether a key looks like `name@host.domain`, without a scheme, a path or blanks.
fn is_email(key: &[u8]) -> bool {
    let mut parts = key.split(|&byte| byte == b'@');
    let parts = (parts.next(), parts.next(), parts.next());
    let (Some(name), Some(host), None) = parts else { return false };
    let plain_byte = |byte: &u8| byte.is_ascii_graphic() && !b"/:<>,;\"".contains(byte);
    let plain = |part: &[u8]| part.iter().all(plain_byte);
    let dotted = host.iter().rposition(|&byte| byte == b'.');
    let domain = dotted.is_some_and(|at| at > 0 && at + 2 < host.len());
    !name.is_empty() && domain && plain(name) && plain(host)
}

/// Whether the last digit is the check digit of the others.
///
/// H. P. Luhn 1960, US patent 2,950,048; ISO/IEC 7812-1, annex B.
fn luhn(digits: &[u8]) -> bool {
    let sums = digits.iter().rev().enumerate().map(|(place, digit)| {
        let digit = u32::from(digit - b'0') << (place % 2);
        if digit > 9 { digit - 9 } else { digit }
    });
    sums.sum::<u32>().is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guessable_keys_are_recognized() {
        let list = |key: fn(u32) -> String| Guessable::of((0..100).map(key));
        let numbers = |digits| Some(Guessable::Numbers { digits });
        assert_eq!(list(|i| format!("10.0.{i}.1")), Some(Guessable::Ipv4));
        assert_eq!(list(|i| format!("user{i}@mail.example")), Some(Guessable::Emails));
        assert_eq!(list(|i| i.to_string()), numbers(2));
        assert_eq!(list(|i| format!("{i:03}-45-6789")), numbers(9));
        assert_eq!(list(|i| format!("+1 (555) 010-{i:04}")), numbers(11));
        assert_eq!(list(|i| format!("2026-11-{i:02} ")), numbers(8));
        // Test numbers that issuers publish, and the same with one digit changed.
        let cards = "4111111111111111,5555 5555 5555 4444,378282246310005,6011000990139424";
        let cards: Vec<_> = cards.split(',').collect();
        assert_eq!(Guessable::of(cards.repeat(5)), Some(Guessable::Cards));
        assert_eq!(Guessable::of(["4111111111111112"; 20]), None);
    }

    #[test]
    fn other_keys_are_not() {
        let list = |key: fn(u32) -> String| Guessable::of((0..100).map(key));
        assert_eq!(list(|i| format!("https://example.org/{i}")), None);
        assert_eq!(list(|i| format!("https://user@example.org/{i}")), None);
        assert_eq!(list(|i| format!("10.0.{i}.1/24:x")), None);
        assert_eq!(list(|i| format!("10.0.{i}")), Some(Guessable::Numbers { digits: 5 }));
        assert_eq!(list(|i| format!("{:016}", u64::from(i) * 123_456_789_123)), None);
        assert_eq!(list(|i| format!("word{i}")), None);
        assert_eq!(list(|_| String::new()), None);
        assert_eq!(list(|i| format!("@{i}.example")), None);
        assert_eq!(list(|i| format!("+{i:016}")), None);
    }

    #[test]
    fn names_of_fields_are_recognized_by_their_words() {
        let digits = |digits| Some(Guessable::Numbers { digits });
        for (name, sort) in [
            ("E-Mail", Some(Guessable::Emails)),
            ("client.ipv4", Some(Guessable::Ipv4)),
            ("Mobile phone", digits(15)),
            ("SSN", digits(9)),
            ("patient_dob", digits(8)),
            ("zip/city", digits(9)),
            ("card-pan", Some(Guessable::Cards)),
            ("zipper", None),
            ("", None),
        ] {
            assert_eq!(Guessable::of_field(name), sort, "{name}");
        }
    }

    #[test]
    fn a_tenth_may_be_something_else_and_few_keys_say_nothing() {
        let mixed = |others: usize| {
            let addresses = (0..100 - others).map(|i| format!("192.168.0.{i}"));
            Guessable::of(addresses.chain((0..others).map(|i| format!("host{i}"))))
        };
        assert_eq!(mixed(10), Some(Guessable::Ipv4));
        assert_eq!(mixed(11), None);
        let few = |count: u32| Guessable::of((0..count).map(|i| i.to_string()));
        assert_eq!(few(Guessable::LEAST as u32 - 1), None);
        assert!(few(Guessable::LEAST as u32).is_some());
        let two = (0..100).map(|i| if i < 40 { format!("10.1.1.{i}") } else { format!("{i}") });
        assert_eq!(Guessable::of(two), Some(Guessable::Numbers { digits: 2 }));
    }
}
