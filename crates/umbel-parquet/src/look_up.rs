//! How a line of text becomes a value of a Parquet column, as its Bloom filters hash it: the plain encoding.
//!
//! The logical type gives the meaning of a text, the physical type its bytes:
//! `apache/parquet-format`, `LogicalTypes.md`.

use std::fmt;

use anyhow::{Result, bail};
use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime};
use umbel_foreign::Key;
use umbel_foreign::parquet::{Parquet, hash};

use crate::footer::{Column, Meaning, Physical as Type, TimeUnit};

/// The values of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Values {
    physical: Type,
    /// Bytes of a value of fixed length.
    length: usize,
    meaning: Meaning,
}

/// Keys that are looked up together.
#[derive(Debug, Default)]
pub struct LookUps {
    /// The keys.
    keys: usize,
    /// The hashes to look up, and the key that each belongs to.
    hashes: Vec<u64>,
    owners: Vec<usize>,
    /// Keys that no filter rules out.
    nans: Vec<usize>,
    buffer: Vec<u8>,
    passes: Vec<bool>,
}

impl LookUps {
    /// Adds the key that a line names.
    ///
    /// # Errors
    /// If the text is not a value of the column; the message has an example of one. It still counts as a key.
    pub fn push(&mut self, values: &Values, line: &[u8]) -> Result<()> {
        let key = self.keys;
        self.keys += 1;
        let mut add = |value| {
            self.hashes.push(hash(value));
            self.owners.push(key);
        };
        match values.read(line, &mut self.buffer)? {
            Named::One(value) => add(value),
            Named::Zeros(both) => both.into_iter().for_each(add),
            Named::Any => self.nans.push(key),
        }
        Ok(())
    }

    /// Returns the number of keys.
    pub fn len(&self) -> usize {
        self.keys
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.keys == 0
    }

    /// Returns the numbers of the keys that are values of the column, some of them twice.
    pub fn values(&self) -> impl Iterator<Item = usize> {
        self.owners.iter().chain(&self.nans).copied()
    }

    /// Returns the numbers of the keys that the filter may contain, some of them twice.
    pub fn passing<S: AsRef<[u8]>>(&mut self, filter: &Parquet<S>) -> impl Iterator<Item = usize> {
        self.passes.resize(self.hashes.len(), false);
        filter.contains_hashes(&self.hashes, &mut self.passes);
        let passing = self.owners.iter().zip(&self.passes).filter(|(_, passes)| **passes);
        passing.map(|(owner, _)| owner).chain(&self.nans).copied()
    }
}

/// The value that a line names, as filters may contain it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Named<'a> {
    /// A value with one encoding.
    One(Key<'a>),
    /// Zero, as a float. Both zeros are equal, and a filter may have either: mostly the one that the column has.
    Zeros([Key<'static>; 2]),
    /// NaN, of many encodings, a boolean or a long decimal: no filter rules it out.
    Any,
}

/// Nanoseconds of a tick.
fn nanos(unit: TimeUnit) -> i128 {
    match unit {
        TimeUnit::Millis => 1_000_000,
        TimeUnit::Micros => 1000,
        TimeUnit::Nanos => 1,
    }
}

impl Values {
    /// Returns the values of a column.
    pub fn of(column: &Column) -> Self {
        Self::new(column.physical, column.length, column.meaning)
    }

    fn new(physical: Type, length: usize, meaning: Meaning) -> Self {
        let meaning = match (meaning, physical) {
            (Meaning::Plain, Type::Int32) => Meaning::Integer { bits: 32, signed: true },
            (Meaning::Plain, Type::Int64) => Meaning::Integer { bits: 64, signed: true },
            // How Impala and older Spark write times, without declaring it.
            (Meaning::Plain, Type::Int96) => {
                Meaning::Timestamp { unit: TimeUnit::Nanos, utc: true }
            }
            (meaning, _) => meaning,
        };
        Self { physical, length, meaning }
    }

    /// The value that a line names; `buffer` keeps its bytes where they differ from the line.
    fn read<'a>(&self, line: &'a [u8], buffer: &'a mut Vec<u8>) -> Result<Named<'a>> {
        match self.value(line, buffer) {
            Some(Value::Line) => Ok(Named::One(Key::Bytes(line))),
            Some(Value::Buffer) => Ok(Named::One(Key::Bytes(buffer))),
            Some(Value::Number(key)) => Ok(Named::One(key)),
            Some(Value::Float(number)) => Ok(self.float(number, buffer)),
            Some(Value::Any) => Ok(Named::Any),
            None => bail!(
                "\"{}\" is not a value of type {self}; {}",
                line.escape_ascii(),
                self.example()
            ),
        }
    }

    fn value(&self, line: &[u8], buffer: &mut Vec<u8>) -> Option<Value> {
        let text = || std::str::from_utf8(line).ok();
        let number = match self.meaning {
            Meaning::Text => return (self.physical == Type::ByteArray).then_some(Value::Line),
            Meaning::Plain | Meaning::Uuid => {
                return match self.physical {
                    Type::ByteArray => Some(Value::Line),
                    // Read as 64 bits, it could be rounded twice.
                    Type::Float => Some(Value::Float(text()?.parse::<f32>().ok()?.into())),
                    Type::Double => Some(Value::Float(text()?.parse().ok()?)),
                    Type::FixedLenByteArray => self.fixed(line, buffer),
                    Type::Boolean => text()?.parse::<bool>().ok().map(|_| Value::Any),
                    _ => None,
                };
            }
            Meaning::Float16 => return Some(Value::Float(text()?.parse().ok()?)),
            Meaning::Integer { bits, signed } => integer(text()?, bits, signed)?,
            Meaning::Decimal { scale, precision } => match decimal(text()?, scale, precision) {
                // Beyond 128 bits.
                None if precision > 38 => return text()?.parse::<f64>().ok().map(|_| Value::Any),
                number => number?,
            },
            Meaning::Date => date(text()?)?,
            Meaning::Time(unit) => time(text()?, unit)?,
            Meaning::Timestamp { unit, utc } => timestamp(text()?, unit, utc)?,
        };
        match self.physical {
            Type::Int32 => Some(Value::Number(Key::I32(number.try_into().ok()?))),
            Type::Int64 => Some(Value::Number(Key::I64(number.try_into().ok()?))),
            Type::Int96 => {
                const DAY: i128 = 86_400_000_000_000;
                /// The Julian day number of 1970-01-01.
                const EPOCH: i128 = 2_440_588;
                let day = u32::try_from(number.div_euclid(DAY) + EPOCH).ok()?;
                buffer.clear();
                buffer.extend((number.rem_euclid(DAY) as u64).to_le_bytes());
                buffer.extend(day.to_le_bytes());
                Some(Value::Buffer)
            }
            Type::ByteArray | Type::FixedLenByteArray => {
                let is_fixed = self.physical == Type::FixedLenByteArray;
                big_endian(number, is_fixed.then_some(self.length), buffer)?;
                Some(Value::Buffer)
            }
            _ => None,
        }
    }

    /// A float of the column's width.
    fn float<'a>(&self, number: f64, buffer: &'a mut Vec<u8>) -> Named<'a> {
        let key = |number| match self.physical {
            Type::Float => Key::F32(number as f32),
            _ => Key::F64(number),
        };
        let half = (self.meaning == Meaning::Float16).then(|| half(number));
        match half {
            _ if number.is_nan() => Named::Any,
            Some(0 | 0x8000) => Named::Zeros([Key::Bytes(&[0, 0]), Key::Bytes(&[0, 0x80])]),
            Some(half) => {
                buffer.clear();
                buffer.extend(half.to_le_bytes());
                Named::One(Key::Bytes(buffer))
            }
            None if number == 0.0 => Named::Zeros([key(0.0), key(-0.0)]),
            None => Named::One(key(number)),
        }
    }

    /// Bytes as they are, or two hexadecimal digits for each.
    fn fixed(&self, line: &[u8], buffer: &mut Vec<u8>) -> Option<Value> {
        if line.len() == self.length {
            return Some(Value::Line);
        }
        let dash = |digit: &&u8| **digit != b'-' || self.meaning != Meaning::Uuid;
        let mut digits = line.iter().filter(dash).map(|digit| (*digit as char).to_digit(16));
        buffer.clear();
        while let Some(high) = digits.next() {
            buffer.push((high? * 16 + digits.next()??) as u8);
        }
        (buffer.len() == self.length).then_some(Value::Buffer)
    }

    /// Describes a valid line, with an example.
    fn example(&self) -> String {
        match (self.meaning, self.physical) {
            (Meaning::Integer { bits, signed: true }, _) => {
                format!("expected a whole number of {bits} bits, such as -17")
            }
            (Meaning::Integer { bits, .. }, _) => {
                format!("expected a whole number of {bits} bits without a sign")
            }
            (Meaning::Decimal { scale, precision }, _) => {
                format!("expected at most {precision} digits, {scale} of them after the point")
            }
            (Meaning::Date, _) => "expected 2026-11-21, or the days since 1970-01-01".to_owned(),
            (Meaning::Time(_), _) => "expected 17:29:25.5, or ticks since midnight".to_owned(),
            (Meaning::Timestamp { utc: true, .. }, _) => {
                "expected 2026-11-21T17:29:25.5Z, no finer than a tick, or ticks since 1970"
                    .to_owned()
            }
            (Meaning::Timestamp { .. }, _) => {
                "expected 2026-11-21T17:29:25.5 without a zone, no finer than a tick, or ticks since 1970"
                    .to_owned()
            }
            (Meaning::Uuid, _) => "expected 32 hexadecimal digits".to_owned(),
            (Meaning::Float16, _) | (_, Type::Float | Type::Double) => {
                "expected a number such as 0.5 or 1e-3".to_owned()
            }
            (_, Type::FixedLenByteArray) => {
                format!("expected {} bytes, or two hexadecimal digits for each", self.length)
            }
            _ => "no system writes filters of such columns".to_owned(),
        }
    }
}

impl fmt::Display for Values {
    /// The physical type and, in parentheses, its meaning.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = self.physical.to_string();
        if self.physical == Type::FixedLenByteArray {
            text = format!("FIXED[{}]", self.length);
        }
        let unit = |unit| match unit {
            TimeUnit::Millis => "ms",
            TimeUnit::Micros => "us",
            TimeUnit::Nanos => "ns",
        };
        let meaning = match self.meaning {
            Meaning::Text => "text".to_owned(),
            Meaning::Integer { bits, signed: true } => match (self.physical, bits) {
                (Type::Int32, 32) | (Type::Int64, 64) => String::new(),
                _ => format!("int{bits}"),
            },
            Meaning::Integer { bits, .. } => format!("uint{bits}"),
            Meaning::Decimal { scale, precision } => format!("decimal {precision},{scale}"),
            Meaning::Date => "date".to_owned(),
            Meaning::Time(ticks) => format!("time {}", unit(ticks)),
            Meaning::Timestamp { unit: ticks, utc } => {
                format!("timestamp {}{}", unit(ticks), if utc { ", UTC" } else { "" })
            }
            Meaning::Uuid => "uuid".to_owned(),
            Meaning::Float16 => "float16".to_owned(),
            _ => String::new(),
        };
        if !meaning.is_empty() {
            text += &format!(" ({meaning})");
        }
        f.pad(&text)
    }
}

/// Where a value is.
enum Value {
    Line,
    Buffer,
    Number(Key<'static>),
    Float(f64),
    Any,
}

/// The nearest float of 16 bits, the even one of two.
fn half(number: f64) -> u16 {
    let sign = (number.to_bits() >> 48) as u16 & 0x8000;
    let exponent = (number.to_bits() >> 52 & 0x7ff) as i32 - 1023;
    // From 2^16 on it is infinite; below 2^-14, steps keep the size they have there.
    let exponent = exponent.clamp(-14, 16);
    // 1,024 to 2,048 steps, fewer below 2^-14; one step too many is the first of the next exponent.
    let steps = (number.abs() / 2f64.powi(exponent - 10)).round_ties_even().min(2048.0) as u16;
    match exponent {
        16 => sign | 0x7c00,
        _ => sign | ((((exponent + 14) as u16) << 10) + steps),
    }
}

/// Unsigned numbers keep their bits, as the signed number that the column stores.
fn integer(text: &str, bits: u32, signed: bool) -> Option<i128> {
    let number: i128 = text.parse().ok()?;
    let half = 1i128.checked_shl(bits.checked_sub(1)?)?;
    match signed {
        true => (-half..half).contains(&number).then_some(number),
        false if !(0..2 * half).contains(&number) => None,
        // Narrow ones are widened by zeros to the 32 bits of the column.
        false if bits < 32 || number < half => Some(number),
        false => Some(number - 2 * half),
    }
}

/// The number without its point, which is `scale` digits from the right.
fn decimal(text: &str, scale: usize, precision: u32) -> Option<i128> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let fraction = fraction.trim_end_matches('0');
    let digits = |text: &str| text.bytes().all(|digit| digit.is_ascii_digit());
    let empty = whole.is_empty() && !text.ends_with(|c: char| c.is_ascii_digit());
    if empty || !digits(whole) || !digits(fraction) || fraction.len() > scale {
        return None;
    }
    let number: i128 = format!("0{whole}{fraction}").parse().ok()?;
    // A damaged footer may demand any number of zeros.
    let zeros = u32::try_from(scale - fraction.len()).ok()?;
    let number = if number == 0 { 0 } else { number.checked_mul(10i128.checked_pow(zeros)?)? };
    let fits = 10i128.checked_pow(precision).is_none_or(|end| number < end);
    fits.then_some(if text.starts_with('-') { -number } else { number })
}

fn date(text: &str) -> Option<i128> {
    let days = |date: NaiveDate| date.signed_duration_since(NaiveDate::default()).num_days();
    let date = NaiveDate::parse_from_str(text, "%Y-%m-%d").map(days);
    date.ok().map(i128::from).or_else(|| text.parse().ok())
}

fn time(text: &str, unit: TimeUnit) -> Option<i128> {
    let since = |time: NaiveTime| time.signed_duration_since(NaiveTime::MIN).num_nanoseconds();
    let mut formats = ["%H:%M:%S%.f", "%H:%M"].into_iter();
    match formats.find_map(|format| NaiveTime::parse_from_str(text, format).ok()) {
        Some(time) => ticks(since(time)?.into(), unit),
        None => text.parse().ok(),
    }
}

fn timestamp(text: &str, unit: TimeUnit, utc: bool) -> Option<i128> {
    let without_zone = || {
        let mut formats = ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f"].into_iter();
        let time = formats.find_map(|format| NaiveDateTime::parse_from_str(text, format).ok());
        let day = || NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?.and_hms_opt(0, 0, 0);
        time.or_else(day).map(|time| time.and_utc())
    };
    let with_zone = || Some(DateTime::parse_from_rfc3339(text).ok()?.to_utc());
    match without_zone().or_else(|| utc.then(with_zone).flatten()) {
        Some(time) => {
            let (seconds, nanos) = (time.timestamp(), time.timestamp_subsec_nanos());
            ticks(i128::from(seconds) * 1_000_000_000 + i128::from(nanos), unit)
        }
        None => text.parse().ok(),
    }
}

/// A time in nanoseconds as ticks; a time between two ticks is not in the column.
fn ticks(time: i128, unit: TimeUnit) -> Option<i128> {
    (time % nanos(unit) == 0).then_some(time / nanos(unit))
}

/// Two's complement, highest byte first, in `length` bytes, or in as few as possible.
fn big_endian(number: i128, length: Option<usize>, buffer: &mut Vec<u8>) -> Option<()> {
    /// Enough for 157,000 digits; a damaged footer may declare 2 GiB.
    const LONGEST: usize = 1 << 16;
    let bytes = number.to_be_bytes();
    let sign = if number < 0 { 0xff } else { 0 };
    // A byte that only repeats the sign of the next one can be left out.
    let repeats = |pair: &&[u8]| pair[0] == sign && (pair[1] ^ sign) < 0x80;
    let least = bytes.len() - bytes.windows(2).take_while(repeats).count();
    let length = length.unwrap_or(least);
    if !(least..=LONGEST).contains(&length) {
        return None;
    }
    buffer.clear();
    buffer.resize(length.saturating_sub(bytes.len()), sign);
    buffer.extend(&bytes[bytes.len().saturating_sub(length)..]);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(values: Values, line: &str) -> Option<Vec<u8>> {
        let mut buffer = Vec::new();
        let key = match values.read(line.as_bytes(), &mut buffer).ok()? {
            Named::One(key) => key,
            other => panic!("{other:?}"),
        };
        Some(match key {
            Key::Bytes(bytes) => bytes.to_vec(),
            Key::I32(number) => number.to_le_bytes().into(),
            Key::I64(number) => number.to_le_bytes().into(),
            Key::F32(number) => number.to_le_bytes().into(),
            Key::F64(number) => number.to_le_bytes().into(),
            _ => unreachable!(),
        })
    }

    fn i32(number: i32) -> Option<Vec<u8>> {
        Some(number.to_le_bytes().into())
    }

    fn i64(number: i64) -> Option<Vec<u8>> {
        Some(number.to_le_bytes().into())
    }

    #[test]
    fn integers() {
        let of =
            |physical, bits, signed| Values::new(physical, 0, Meaning::Integer { bits, signed });
        let plain = Values::new(Type::Int32, 0, Meaning::Plain);
        assert_eq!(read(plain, "-17"), i32(-17));
        assert_eq!(["2147483648", "1.0", ""].map(|text| read(plain, text)), [None, None, None]);
        let wide = Values::new(Type::Int64, 0, Meaning::Plain);
        assert_eq!(read(wide, "-9223372036854775808"), i64(i64::MIN));
        let small = of(Type::Int32, 8, true);
        assert_eq!((read(small, "-128"), read(small, "128")), (i32(-128), None));
        let byte = of(Type::Int32, 8, false);
        assert_eq!(["200", "256", "-1"].map(|text| read(byte, text)), [i32(200), None, None]);
        assert_eq!(read(of(Type::Int32, 32, false), "4294967295"), i32(-1));
        assert_eq!(read(of(Type::Int64, 64, false), "18446744073709551615"), i64(-1));
        assert_eq!(read(of(Type::Int64, 64, false), "18446744073709551616"), None);
    }

    #[test]
    fn decimals_in_every_storage() {
        let of = |physical, length, precision| {
            Values::new(physical, length, Meaning::Decimal { scale: 2, precision })
        };
        let int = of(Type::Int32, 0, 9);
        for (text, number) in
            [("12.34", 1234), ("-0.5", -50), ("7", 700), ("1.500", 150), (".25", 25)]
        {
            assert_eq!(read(int, text), i32(number), "{text}");
        }
        for text in ["12.345", "10000000", "", ".", "-", "1e3", "0x1", "1.2.3", "--1", "+-1"] {
            assert_eq!(read(int, text), None, "{text}");
        }
        let fixed = of(Type::FixedLenByteArray, 3, 6);
        assert_eq!(read(fixed, "-0.01"), Some(vec![255; 3]));
        assert_eq!(read(fixed, "1.28"), Some(vec![0, 0, 128]));
        let long = of(Type::FixedLenByteArray, 18, 38);
        assert_eq!(read(long, "-0.02").unwrap(), [&[255; 17][..], &[254]].concat());
        // Beyond 128 bits, no filter rules it out.
        let beyond = of(Type::FixedLenByteArray, 26, 60);
        let number = [b'9'; 50];
        assert_eq!(beyond.read(&number, &mut Vec::new()).unwrap(), Named::Any);
        let bytes = of(Type::ByteArray, 0, 38);
        // As BigInteger.toByteArray in Java has them.
        let texts = ["0", "1.27", "1.28", "-1.28", "-1.29"];
        let stored: [&[u8]; 5] = [&[0], &[127], &[0, 128], &[128], &[255, 127]];
        for (text, expected) in texts.into_iter().zip(stored) {
            assert_eq!(read(bytes, text).unwrap(), expected, "{text}");
        }
    }

    /// The declarations of a damaged footer cause no panic and use no memory.
    #[test]
    fn types_of_any_size() {
        for scale in [77, 1 << 16, i32::MAX as usize] {
            let decimal = Meaning::Decimal { scale, precision: 9 };
            let of = |line| read(Values::new(Type::Int32, 0, decimal), line);
            assert_eq!((of("0"), of("1"), of("0.1")), (i32(0), None, None), "{scale}");
        }
        for length in [(1 << 16) + 1, i32::MAX as usize, usize::MAX] {
            let decimal = Meaning::Decimal { scale: 0, precision: 9 };
            let of = Values::new(Type::FixedLenByteArray, length, decimal);
            assert_eq!((read(of, "1"), read(of, "00")), (None, None), "{length}");
        }
    }

    #[test]
    fn times() {
        let date = Values::new(Type::Int32, 0, Meaning::Date);
        assert_eq!((read(date, "1970-01-02"), read(date, "1969-12-31")), (i32(1), i32(-1)));
        assert_eq!((read(date, "20778"), read(date, "2026-02-30")), (i32(20778), None));
        let time = |unit, physical| Values::new(physical, 0, Meaning::Time(unit));
        assert_eq!(read(time(TimeUnit::Millis, Type::Int32), "00:01:00.5"), i32(60_500));
        assert_eq!(read(time(TimeUnit::Micros, Type::Int64), "23:59"), i64(86_340_000_000));
        assert_eq!(read(time(TimeUnit::Millis, Type::Int32), "00:00:00.0005"), None);
        let stamp = |unit, utc| Values::new(Type::Int64, 0, Meaning::Timestamp { unit, utc });
        let utc = stamp(TimeUnit::Millis, true);
        for text in [
            "2001-09-09T01:46:40Z",
            "2001-09-09 01:46:40",
            "2001-09-09T03:46:40+02:00",
            "1000000000000",
        ] {
            assert_eq!(read(utc, text), i64(1_000_000_000_000), "{text}");
        }
        let local = stamp(TimeUnit::Nanos, false);
        assert_eq!(read(local, "1970-01-01T00:00:00.000000001"), i64(1));
        assert_eq!(read(local, "1969-12-31T23:59:59.999999999"), i64(-1));
        assert_eq!(read(local, "1970-01-01T00:00:00Z"), None, "has no zone");
        assert_eq!(read(local, "1970-01-02"), i64(86_400_000_000_000));
        assert_eq!(read(local, "9999-01-01"), None, "beyond 64 bits");
        let old = Values::new(Type::Int96, 0, Meaning::Plain);
        let expected = [&1u64.to_le_bytes()[..], &2_440_588u32.to_le_bytes()].concat();
        assert_eq!(read(old, "1970-01-01T00:00:00.000000001Z"), Some(expected));
    }

    #[test]
    fn bytes_and_floats() {
        let fixed = Values::new(Type::FixedLenByteArray, 4, Meaning::Plain);
        assert_eq!(read(fixed, "abcd"), Some(b"abcd".to_vec()));
        assert_eq!(read(fixed, "00ff10Aa"), Some(vec![0, 255, 16, 170]));
        assert_eq!((read(fixed, "abc"), read(fixed, "00ff10Ag")), (None, None));
        let uuid = Values::new(Type::FixedLenByteArray, 16, Meaning::Uuid);
        let text = "00112233-4455-6677-8899-aabbccddeeff";
        let expected: Vec<u8> = (0..16).map(|i| i * 17).collect();
        assert_eq!(read(uuid, text).as_ref(), Some(&expected));
        assert_eq!(read(uuid, &text.replace('-', "")), Some(expected));
        let text = Values::new(Type::ByteArray, 0, Meaning::Text);
        assert_eq!(read(text, ""), Some(Vec::new()));
        let float = Values::new(Type::Float, 0, Meaning::Plain);
        assert_eq!(read(float, "0.5"), Some(vec![0, 0, 0, 63]));
        let double = Values::new(Type::Double, 0, Meaning::Plain);
        assert_eq!(read(double, "1e400x"), None);
        assert_eq!(read(Values::new(Type::Boolean, 0, Meaning::Plain), "yes"), None);
    }

    #[test]
    fn floats_that_readers_take_for_equal() {
        let named = |values: Values, line: &str| {
            let mut buffer = Vec::new();
            format!("{:?}", values.read(line.as_bytes(), &mut buffer).unwrap())
        };
        let float = Values::new(Type::Float, 0, Meaning::Plain);
        let double = Values::new(Type::Double, 0, Meaning::Plain);
        let half = Values::new(Type::FixedLenByteArray, 2, Meaning::Float16);
        for zero in ["0", "-0.0", "+0e5"] {
            assert_eq!(named(float, zero), "Zeros([F32(0.0), F32(-0.0)])");
            assert_eq!(named(double, zero), "Zeros([F64(0.0), F64(-0.0)])");
            assert_eq!(named(half, zero), "Zeros([Bytes([0, 0]), Bytes([0, 128])])");
        }
        assert_eq!(named(float, "1e-50"), named(float, "0"));
        for values in [float, double, half] {
            assert_eq!((&*named(values, "NaN"), &*named(values, "-nan")), ("Any", "Any"));
        }
    }

    #[test]
    fn floats_of_16_bits() {
        let values = Values::new(Type::FixedLenByteArray, 2, Meaning::Float16);
        assert_eq!((values.to_string(), read(values, "one")), ("FIXED[2] (float16)".into(), None));
        // The least above 0, the largest below 2^-14, the largest; the next one is infinite from the middle on. Between two, the even one.
        let pairs = "1.5 3e00, -2 c000, 12 4a00, 0.1 2e66, 5.9604644775390625e-8 1, 6.097555160522461e-5 3ff, \
            6.103515625e-5 400, 1.9990234375 3fff, 1.9995 3fff, 1.99951171875 4000, 65504 7bff, 65519.9 7bff, \
            65520 7c00, -1e300 fc00, inf 7c00, 2049 6800, 2051 6802";
        for (text, bits) in pairs.split(", ").map(|pair| pair.split_once(' ').unwrap()) {
            let bits = u16::from_str_radix(bits, 16).unwrap();
            assert_eq!(read(values, text), Some(u16::to_le_bytes(bits).into()), "{text}");
        }
    }
}
