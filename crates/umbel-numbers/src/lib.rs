//! Numbers as people type and read them: 5e9 or 1,000,000 keys, 64MiB, 0.01 or 1%; and mistyped names.

use std::fmt;
use std::num::NonZeroUsize;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

mod nearest;

pub use nearest::nearest;

/// A number of keys: a whole number, also as 5e9, 1.5M, 1,000,000 or 1 million.
#[derive(Clone, Copy, Debug)]
pub struct KeyCount(pub u64);

impl FromStr for KeyCount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let keys = whole(text).ok_or_else(|| {
            format!("{text:?} is not a number of keys such as 1000000, 5e9, 1.5M or 1,000,000")
        })?;
        if keys == 0 {
            Err("zero keys: a filter is planned for at least 1 key".into())
        } else {
            Ok(Self(keys))
        }
    }
}

/// A time as nanoseconds: 50, 50ns, 100us, 5ms, 1.5s.
#[derive(Clone, Copy, Debug)]
pub struct Nanoseconds(pub f64);

impl FromStr for Nanoseconds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fail = || format!("{text:?} is not a time such as 50ns, 100us or 5ms");
        let (number, unit) = with_unit(text).ok_or_else(fail)?;
        let each = match unit {
            "" | "ns" => 1.0,
            "us" | "\u{b5}s" | "\u{3bc}s" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            _ => return Err(fail()),
        };
        if number >= 0.0 && number.is_finite() { Ok(Self(number * each)) } else { Err(fail()) }
    }
}

/// A time: a number of seconds, or one with its unit.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let time = with_unit(text).and_then(|(number, unit)| {
        let each = match unit {
            "ms" => 1e-3,
            "" | "s" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            _ => return None,
        };
        Duration::try_from_secs_f64(number * each).ok()
    });
    time.ok_or_else(|| format!("{text:?} is not a time such as 60, 0.5s or 5min"))
}

/// A number and the letters after it.
fn with_unit(text: &str) -> Option<(f64, &str)> {
    let unit_at = text.trim_end_matches(char::is_alphabetic).len();
    let (number, unit) = text.split_at(unit_at);
    Some((without_separators(number.trim())?.parse().ok()?, unit))
}

/// A number without digit separators: underscores anywhere, commas between groups of three. `1,5` is not accepted,
/// because its meaning is ambiguous.
fn without_separators(number: &str) -> Option<String> {
    let (whole, rest) = number.split_at(number.find(['.', 'e', 'E']).unwrap_or(number.len()));
    let mut groups = whole.split(',');
    let first = groups.next().unwrap_or_default().trim_start_matches(['+', '-']);
    let fits = |group: &str| group.len() == 3 && group.bytes().all(|byte| byte.is_ascii_digit());
    let mut others = groups.peekable();
    let is_grouped = others.peek().is_some();
    if rest.contains(',')
        || is_grouped && !((1..=3).contains(&first.len()) && others.by_ref().all(fits))
    {
        return None;
    }
    Some(number.replace(['_', ','], ""))
}

/// A false-positive probability in (0, 1): 0.01, 1e-6, 1%, 1/100 or 1 in 100.
#[derive(Clone, Copy, Debug)]
pub struct Fpp(pub f64);

impl FromStr for Fpp {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match fraction(text) {
            Some(fpp) if fpp > 0.0 && fpp < 1.0 => Ok(Self(fpp)),
            Some(fpp) => Err(format!(
                "fpp {fpp} is not a probability between 0 and 1 (both excluded); 0.01 is 1 %"
            )),
            None => Err(format!("{text:?} is not a probability such as 0.01, 1% or 1/100")),
        }
    }
}

/// A share of a whole: from 0 to 1, or in per cent.
pub fn share(text: &str) -> Result<f64, String> {
    fraction(text)
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| format!("{text:?} is not a share from 0 to 1, such as 0.9 or 90%"))
}

fn fraction(text: &str) -> Option<f64> {
    if let Some(times) = text.strip_prefix("1/").or_else(|| text.strip_prefix("1 in ")) {
        return Some(1.0 / whole(times.trim())? as f64);
    }
    match text.strip_suffix('%').map(str::trim_end) {
        Some(percent) if percent.contains(['e', 'E']) => Some(percent.parse::<f64>().ok()? / 100.0),
        // As an exponent, not divided: 1.3% is 0.013 to the last bit.
        Some(percent) => format!("{percent}e-2").parse().ok(),
        None => text.parse().ok(),
    }
}

/// A number of threads.
pub fn threads(text: &str) -> Result<NonZeroUsize, String> {
    number(1..=1 << 16)(text).map(|threads| NonZeroUsize::new(threads).expect("at least 1"))
}

/// A parser of whole numbers in a range.
pub fn number<T: TryFrom<u64>>(
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| {
        let number = whole(text).filter(|number| range.contains(number));
        number.and_then(|number| T::try_from(number).ok()).ok_or_else(|| {
            let (least, most) = (range.start(), range.end());
            match *most {
                u64::MAX => format!("{text:?} is not a whole number, {least} or greater"),
                _ => format!("{text:?} is not a whole number from {least} to {most}"),
            }
        })
    }
}

/// Whole numbers from the first to the last: 2..32, or one alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first.
    pub first: u32,
    /// The last, which is not below the first.
    pub last: u32,
}

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (first, last) = text.split_once("..").unwrap_or((text, text));
        let number = |text: &str| text.parse().ok().filter(|number| (1..=1000).contains(number));
        match (number(first), number(last)) {
            (Some(first), Some(last)) if first <= last => Ok(Self { first, last }),
            _ => Err(format!(
                "{text:?} is not a range from 1 to 1000 such as 2..32, or a number in it"
            )),
        }
    }
}

/// A whole number, also as 5e9, 1_000_000, 1,000,000 or 1.5M: k, M, G and T are thousand, million and so on.
pub fn whole(text: &str) -> Option<u64> {
    if let Some(exact) = without_separators(text).and_then(|digits| digits.parse().ok()) {
        return Some(exact);
    }
    let (number, unit) = with_unit(text)?;
    let power = match unit {
        "" => 0,
        "k" | "K" => 3,
        "M" | "million" => 6,
        "G" | "billion" => 9,
        "T" => 12,
        _ => return None,
    };
    let scaled = number * f64::powi(10.0, power);
    // 2.3M is not 2299999.9999999995.
    let number = scaled.round();
    let whole =
        if power == 0 { scaled == number } else { (scaled - number).abs() <= 1e-9 * number };
    (whole && (0.0..u64::MAX as f64).contains(&number)).then_some(number as u64)
}

/// A number of bytes: 4096, 64KiB, 1.5GB, 1e9. K, M, G and T alone are binary, as in sort. Written with three digits and
/// a binary unit.
#[derive(Clone, Copy, Debug)]
pub struct Size(pub u64);

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fail = || format!("{text:?} is not a size such as 64MiB, 4GiB or 1e9");
        let (number, unit) = with_unit(text).ok_or_else(fail)?;
        let (power, base) = match unit.to_ascii_lowercase().as_str() {
            "" | "b" => (0, 1.0),
            "kb" => (1, 1000.0),
            "mb" => (2, 1000.0),
            "gb" => (3, 1000.0),
            "tb" => (4, 1000.0),
            "k" | "ki" | "kib" => (1, 1024.0),
            "m" | "mi" | "mib" => (2, 1024.0),
            "g" | "gi" | "gib" => (3, 1024.0),
            "t" | "ti" | "tib" => (4, 1024.0),
            _ => return Err(fail()),
        };
        let bytes = number * f64::powi(base, power);
        if bytes >= 1.0 && bytes < u64::MAX as f64 { Ok(Self(bytes as u64)) } else { Err(fail()) }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
        let mut value = self.0 as f64;
        let mut unit = 0;
        while value >= 1023.5 && unit + 1 < units.len() {
            value /= 1024.0;
            unit += 1;
        }
        let text = match (unit, value) {
            (0, _) => format!("{value} B"),
            (_, 100.0..) => format!("{value:.0} {}", units[unit]),
            (_, 10.0..) => format!("{value:.1} {}", units[unit]),
            _ => format!("{value:.2} {}", units[unit]),
        };
        f.pad(&text)
    }
}

/// A whole number with its digits in threes.
pub struct Count(pub u64);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        push_in_threes(&mut text, &self.0.to_string());
        f.pad(&text)
    }
}

fn push_in_threes(text: &mut String, digits: &str) {
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
}

/// A library's message, with the digits of its whole numbers in threes as in [`Count`].
pub fn in_threes(words: &str) -> String {
    let mut text = String::new();
    let mut rest = words;
    while let Some(start) = rest.find(|letter: char| letter.is_ascii_digit()) {
        let (before, number) = rest.split_at(start);
        let end = number.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(number.len());
        let (digits, after) = number.split_at(end);
        text.push_str(before);
        // Decimals follow a point.
        match text.ends_with('.') {
            true => text.push_str(digits),
            false => push_in_threes(&mut text, digits),
        }
        rest = after;
    }
    text + rest
}

/// A count of something: 0 lines, 1 pass, 2 passes.
pub fn counted(count: u64, what: &str) -> String {
    let ending = match count {
        1 => "",
        _ if what.ends_with('s') => "es",
        _ => "s",
    };
    format!("{} {what}{ending}", Count(count))
}

/// A rate in three digits, as a number that can be typed back.
pub struct Rate(pub f64);

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.0 {
            0.0 => "0".to_owned(),
            rate if rate >= 1e-4 => {
                let digits = (2 - rate.log10().floor() as i32).max(2) as usize;
                format!("{rate:.digits$}")
            }
            rate => format!("{rate:.2e}"),
        };
        f.pad(&text)
    }
}

/// Formats a number as C's `%g` does: six significant digits without trailing zeros.
pub fn six_digits(number: f64) -> String {
    let scientific = format!("{number:.5e}");
    let (digits, exponent) = scientific.split_once('e').expect("it is in the format");
    let exponent: i32 = exponent.parse().expect("a whole number");
    let trimmed = |digits: &str| match digits.contains('.') {
        true => digits.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => digits.to_owned(),
    };
    if (-4..6).contains(&exponent) {
        return trimmed(&format!("{number:.*}", (5 - exponent) as usize));
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trimmed(digits), exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_typed() {
        let bytes = |text: &str| text.parse::<Size>().map(|bytes| bytes.0);
        assert_eq!(bytes("4GiB"), Ok(4 << 30));
        assert_eq!(bytes("64M"), Ok(64 << 20));
        assert_eq!(bytes("1.5kB"), Ok(1500));
        assert_eq!(bytes("1e9"), Ok(1_000_000_000));
        for wrong in ["", "GiB", "4 gigs", "-1", "0", "nan", "1e30"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
        let keys = |text: &str| text.parse::<KeyCount>().map(|keys| keys.0);
        assert_eq!(keys("5e9"), Ok(5_000_000_000));
        assert_eq!(keys("1_000"), Ok(1000));
        assert_eq!(keys("18446744073709551615"), Ok(u64::MAX));
        assert_eq!(keys("1,000,000"), Ok(1_000_000));
        assert_eq!(keys("5G"), Ok(5_000_000_000));
        assert_eq!(keys("1.5k"), Ok(1500));
        assert_eq!(keys("2.3M"), Ok(2_300_000));
        assert_eq!(keys("2.5 million"), keys("2500k"));
        let wrong = [
            "0", "1.5", "-3", "many", "1e99", "1.0,0", "5e1,0", "1,5", "1,00", "1000,000", ",000",
            "1m", "1MiB",
        ];
        for wrong in wrong {
            assert!(keys(wrong).is_err(), "{wrong}");
        }
        let fpp = |text: &str| text.parse::<Fpp>().map(|fpp| fpp.0);
        assert_eq!(fpp("1%"), Ok(0.01));
        assert_eq!(fpp("0.1 %"), Ok(0.001));
        assert_eq!(fpp("1.3%"), Ok(0.013));
        assert_eq!(fpp("1e-4%"), Ok(1e-6));
        assert_eq!((fpp("1/1000"), fpp("1 in 1,000")), (Ok(0.001), Ok(0.001)));
        assert_eq!(share("90%"), Ok(0.9));
        assert_eq!(share("0"), Ok(0.0));
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        assert_eq!(seconds("5min"), Ok(Duration::from_secs(300)));
        for wrong in ["-1", "x", "1 day", "nan"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
            assert!(share(wrong).is_err(), "{wrong}");
        }
        assert_eq!(number::<u32>(1..=16)("16"), Ok(16));
        for wrong in ["0", "17", "x", "", "1.5"] {
            assert!(number::<u32>(1..=16)(wrong).is_err(), "{wrong}");
        }
        for wrong in ["0", "1", "2", "-1", "nan", "x", "0%", "100%", "%", "1/0", "1/1", "1/x"] {
            assert!(wrong.parse::<Fpp>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn spans_as_typed() {
        let span = |text: &str| text.parse::<Span>().ok().map(|span| (span.first, span.last));
        assert_eq!(span("2..32"), Some((2, 32)));
        assert_eq!(span("8"), Some((8, 8)));
        for wrong in ["", "..", "2..", "9..2", "0..3", "1..1001", "2...4", "a..b"] {
            assert_eq!(span(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn numbers_as_read() {
        assert_eq!(Size(0).to_string(), "0 B");
        assert_eq!(Size(1023).to_string(), "1023 B");
        assert_eq!(Size(1 << 20).to_string(), "1.00 MiB");
        assert_eq!(Size(268_435_456).to_string(), "256 MiB");
        assert_eq!(Count(1_234_567).to_string(), "1,234,567");
        assert_eq!(
            in_threes("7·1234567 / 0.12345 = 1e-10, 10000"),
            "7·1,234,567 / 0.12345 = 1e-10, 10,000"
        );
        assert_eq!(counted(1, "key"), "1 key");
        assert_eq!(counted(1_000, "key"), "1,000 keys");
        assert_eq!(Rate(0.00987).to_string(), "0.00987");
        assert_eq!(Rate(0.5).to_string(), "0.500");
        assert_eq!(Rate(1e-6).to_string(), "1.00e-6");
    }

    #[test]
    fn numbers_are_printed_as_c_does() {
        for (number, printed) in [
            (0.005, "0.005"),
            (0.000_078_125, "7.8125e-05"),
            (1.953_125e-5, "1.95313e-05"),
            (0.123_456_789, "0.123457"),
            (5e-301, "5e-301"),
            (123_456_789.0, "1.23457e+08"),
            (100.0, "100"),
        ] {
            assert_eq!(six_digits(number), printed);
        }
    }
}
