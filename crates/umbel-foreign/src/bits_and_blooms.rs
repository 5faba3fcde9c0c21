//! The Go package bits-and-blooms/bloom, formerly willf/bloom: `WriteTo`, and its JSON. Checked against
//! bloom 3.3.1 with bitset 1.2.2; `bits-and-blooms/bloom`, `bloom.go`, `murmur.go`.
//!
//! ```text
//! byte 0     8       16                      24 ..
//! | m u64 BE | k u64 | length of bitset, m | ceil(m/64) words, most significant byte first |
//!
//! {"m":4793,"k":4,"b":"the same from byte 16 on, in URL-safe padded base64"}
//! ```
//!
//! bitset can be configured, for a whole program, to write its words in the other byte order: such files differ from
//! these only in their padding.

use std::borrow::Cow;
use std::f64::consts::LN_2;
use std::fmt;
use std::io::Write;

use base64::prelude::BASE64_URL_SAFE;
use base64::{DecodeError, Engine};
use serde::de::{Deserialize, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::hash::murmur3::x64_128_and_with_one_behind;
use crate::prelude::*;

/// A filter of bits-and-blooms.
///
/// ```
/// use umbel_foreign::bits_and_blooms::BitsAndBlooms;
/// use umbel_foreign::{ForeignFilter, ForeignInsert, Format, Key, Parameters};
///
/// let plan = Parameters::for_keys(1000, 0.01);
/// let mut filter: BitsAndBlooms = BitsAndBlooms::new(Format::BitsAndBlooms, &plan)?;
/// filter.insert(Key::from("gopher"))?;
/// assert!(filter.contains(Key::from("gopher"))? && !filter.contains(Key::from("mole"))?);
/// # Ok::<(), umbel_foreign::Error>(())
/// ```
pub type BitsAndBlooms<S = Bytes> = Plain<Fields, S>;

/// The header of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fields {
    shape: Shape,
}

/// The bytes of m and k, which are numbers in JSON.
const SIZES: usize = 16;

/// Returns the bits and probes of `NewWithEstimates`: m = ⌈−n·ln p / (ln 2)²⌉, k = ⌈ln 2 · m/n⌉, at least 1.
pub fn optimal_size(keys: u64, fpp: f64) -> (u64, u64) {
    let bits = (-(keys as f64) * fpp.ln() / (LN_2 * LN_2)).ceil();
    let probes = (LN_2 * bits / keys as f64).ceil();
    ((bits as u64).max(1), (probes as u64).max(1))
}

impl Layout for Fields {
    type Hash<'k> = [u64; 4];
    const ORDER: Order = Order::BigWords;
    has_shape!();

    fn plan(format: Format, given: &Parameters) -> Result<Plan, Error> {
        let (bits, probes) = match (given.bits, given.fpp) {
            (Some(bits), None) => (bits.max(1), u64::from(given.probes(format)?.max(1))),
            (None, Some(fpp)) if given.probes.is_none() => optimal_size(given.keys(format)?, fpp),
            _ => {
                let found = "missing, or given with others";
                let expected = "keys with fpp, or bits with probes";
                return Err(Parameters::refuse(format, "fpp", found, expected));
            }
        };
        let few = u32::try_from(probes).ok().filter(|probes| *probes <= MOST_PROBES);
        let Some(few) = few else {
            return Err(Parameters::refuse(format, "probes", probes, "65536 at most"));
        };
        let head = [bits, probes, bits].map(u64::to_be_bytes).as_flattened().to_vec();
        Ok(Plan::new(format, (bits, few), head, array_bytes(bits), Vec::new()))
    }

    fn parse(format: Format, content: &[u8], _: &Parameters) -> Result<Self, Error> {
        let mut reader = Reader::new(format, content);
        let (bits, probes, length) = (reader.u64_be()?, reader.u64_be()?, reader.u64_be()?);
        check(format, "m", bits, bits > 0, "at least 1")?;
        check(format, "k", probes, (1..=MOST_PROBES.into()).contains(&probes), "1 to 65536")?;
        check(format, "length", length, length == bits, "m again")?;
        let array = reader.rest(array_bytes(bits), 0)?;
        let last = content.last_chunk().map_or(0, |word| u64::from_be_bytes(*word));
        let clear = bits.is_multiple_of(64) || last >> (bits % 64) == 0;
        let expected = "all clear: is it of little-endian words?";
        check(format, "bits", "bits set behind the last", clear, expected)?;
        let format = Format::BitsAndBlooms;
        Ok(Self { shape: Shape::of_bits(format, probes as u32, bits, array) })
    }

    fn scheme(&self) -> String {
        "murmur3-128/four words".to_owned()
    }

    fn hash(&self, key: Key<'_>) -> Result<Option<[u64; 4]>, Error> {
        Ok(Some(x64_128_and_with_one_behind(key.bytes(Format::BitsAndBlooms)?)))
    }

    #[inline]
    fn positions(&self, words: Self::Hash<'_>) -> impl Iterator<Item = u64> {
        (0..self.shape.probes as usize).map(move |i| {
            let step = words[2 + ((i + i % 2) % 4) / 2];
            words[i % 2].wrapping_add(step.wrapping_mul(i as u64)) % self.shape.bits
        })
    }
}

fn array_bytes(bits: u64) -> u64 {
    bits.div_ceil(64).saturating_mul(8)
}

/// A filter of bits-and-blooms in JSON. It is decoded to the binary form, so it owns its content.
#[derive(Clone, Debug)]
pub struct BitsAndBloomsJson {
    binary: BitsAndBlooms,
}

const JSON: Format = Format::BitsAndBloomsJson;

/// The members as raw text: with typed ones, serde's error would quote a wrong value, and a file may be one long text.
struct Json<'a> {
    m: &'a RawValue,
    k: &'a RawValue,
    b: &'a RawValue,
}

impl<'a> Deserialize<'a> for Json<'a> {
    fn deserialize<D: Deserializer<'a>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_map(Members)
    }
}

/// Reads the members; the last one of a name counts, as in Go.
struct Members;

impl<'a> Visitor<'a> for Members {
    type Value = Json<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'a>>(self, mut map: M) -> Result<Json<'a>, M::Error> {
        const NAMES: [&str; 3] = ["m", "k", "b"];
        let mut members = [None; 3];
        while let Some(name) = map.next_key::<Cow<'_, str>>()? {
            match NAMES.iter().position(|known| *known == name) {
                Some(place) => members[place] = Some(map.next_value()?),
                None => _ = map.next_value::<IgnoredAny>()?,
            }
        }
        let member = |at: usize| members[at].ok_or_else(|| M::Error::missing_field(NAMES[at]));
        Ok(Json { m: member(0)?, k: member(1)?, b: member(2)? })
    }
}

impl<'a> Json<'a> {
    /// Parses m, k and b.
    fn parse(content: &'a [u8]) -> Result<(u64, u64, Cow<'a, str>), Error> {
        let refused = |found: &'static str| {
            refuse(JSON, "JSON", found, "an object with whole numbers m and k and a text b")
        };
        let syntax = |source| Error::Json { format: JSON, source };
        let whole: &RawValue = serde_json::from_slice(content).map_err(syntax)?;
        if !whole.get().starts_with('{') {
            return Err(refused("another value"));
        }
        let Json { m, k, b } = serde_json::from_str(whole.get()).map_err(syntax)?;
        let number = |value: &RawValue, found| value.get().parse().map_err(|_| refused(found));
        if !b.get().starts_with('"') {
            return Err(refused("another value for b"));
        }
        // Copied only if it has escapes. Trying without a copy would first make an error that quotes the whole text.
        let text = match b.get().contains('\\') {
            true => Cow::Owned(serde_json::from_str(b.get()).map_err(syntax)?),
            false => Cow::Borrowed(serde_json::from_str(b.get()).map_err(syntax)?),
        };
        Ok((number(m, "another value for m")?, number(k, "another value for k")?, text))
    }
}

impl BitsAndBloomsJson {
    /// Makes an empty filter of the size that the package would choose.
    ///
    /// # Errors
    /// As [`Plain::new`].
    pub fn new(format: Format, given: &Parameters) -> Result<Self, Error> {
        given.check(format)?;
        Ok(Self { binary: BitsAndBlooms::new(Format::BitsAndBlooms, given)? })
    }

    /// Plans the filter that [`new`](Self::new) would make.
    ///
    /// # Errors
    /// As [`new`](Self::new), except for memory.
    pub fn plan(format: Format, given: &Parameters) -> Result<Plan, Error> {
        given.check(format)?;
        let plan = Fields::plan(format, given)?;
        let base64 = (plan.array + plan.head.len() as u64 - SIZES as u64).div_ceil(3) * 4;
        let frame = frame(plan.bits, plan.probes.into(), "").len() as u64;
        Ok(Plan { bytes: base64 + frame, ..plan })
    }

    /// Decodes the filter that `content` holds.
    ///
    /// # Errors
    /// As [`Plain::decode`], and [`Error::OutOfMemory`].
    pub fn decode(
        format: Format,
        content: impl AsRef<[u8]>,
        given: &Parameters,
    ) -> Result<Self, Error> {
        let (m, k, b) = Json::parse(content.as_ref())?;
        let refused =
            |error: DecodeError| refuse(format, "JSON", error.to_string(), "URL-safe base64 in b");
        let set = BASE64_URL_SAFE.decode(&*b).map_err(refused)?;
        let mut binary = Bytes::zeroed(SIZES + set.len(), SIZES + 8)?;
        binary[..8].copy_from_slice(&m.to_be_bytes());
        binary[8..SIZES].copy_from_slice(&k.to_be_bytes());
        binary[SIZES..].copy_from_slice(&set);
        Ok(Self { binary: BitsAndBlooms::decode(format, binary, given)? })
    }

    /// Copies the filter.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn to_owned(&self) -> Result<Self, Error> {
        Ok(Self { binary: self.binary.to_owned()? })
    }

    /// Adds all keys of `other`.
    ///
    /// # Errors
    /// As [`Plain::union`].
    pub fn union(&mut self, other: &Self) -> Result<(), Error> {
        self.binary.union(&other.binary)
    }

    /// Returns the filter in its binary form.
    pub fn binary(&self) -> &BitsAndBlooms {
        &self.binary
    }

    /// Makes the filter from its binary form.
    pub fn from_binary(binary: BitsAndBlooms) -> Self {
        Self { binary }
    }
}

/// The JSON as Go marshals it.
fn frame(bits: u64, probes: u64, set: &str) -> String {
    format!(r#"{{"m":{bits},"k":{probes},"b":"{set}"}}"#)
}

fn as_json(error: Error) -> Error {
    match error {
        Error::KeyType { found, .. } => Error::KeyType { format: JSON, found },
        other => other,
    }
}

impl ForeignFilter for BitsAndBloomsJson {
    fn format(&self) -> Format {
        JSON
    }

    fn scheme(&self) -> String {
        self.binary.scheme()
    }

    fn is_certain(&self) -> bool {
        true
    }

    fn contains(&self, key: Key<'_>) -> Result<bool, Error> {
        self.binary.contains(key).map_err(as_json)
    }

    fn contains_all(&self, keys: &[Key<'_>], found: &mut [bool]) -> Result<(), Error> {
        self.binary.contains_all(keys, found).map_err(as_json)
    }

    fn bytes(&self) -> u64 {
        let set = self.binary.content().len() as u64 - SIZES as u64;
        let Shape { bits, probes, .. } = self.binary.layout().shape;
        frame(bits, probes.into(), "").len() as u64 + set.div_ceil(3) * 4
    }

    fn measured(&self) -> Option<Measure> {
        self.binary.measured()
    }

    fn receipt(&self) -> Receipt {
        Receipt { format: JSON, bytes: self.bytes(), ..self.binary.receipt() }
    }

    fn write_to(&self, out: &mut dyn Write) -> Result<(), Error> {
        let set = BASE64_URL_SAFE.encode(&self.binary.content()[SIZES..]);
        let Shape { bits, probes, .. } = self.binary.layout().shape;
        Ok(out.write_all(frame(bits, probes.into(), &set).as_bytes())?)
    }
}

impl ForeignInsert for BitsAndBloomsJson {
    fn insert(&mut self, key: Key<'_>) -> Result<bool, Error> {
        self.binary.insert(key).map_err(as_json)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(bits: u64) -> Parameters {
        Parameters { bits: Some(bits), probes: Some(3), ..Parameters::default() }
    }

    #[test]
    fn json_holds_the_binary_form() {
        let mut filter = BitsAndBloomsJson::new(JSON, &given(70)).unwrap();
        filter.insert("a".into()).unwrap();
        let text = filter.encode().unwrap();
        assert!(text.starts_with(br#"{"m":70,"k":3,"b":"AAAAAAAAAEY"#), "{}", text.escape_ascii());
        assert_eq!(BitsAndBloomsJson::plan(JSON, &given(70)).unwrap().bytes, text.len() as u64);
        assert_eq!(filter.receipt().bytes, text.len() as u64);
        let mut read = BitsAndBloomsJson::decode(JSON, &text, &Parameters::default()).unwrap();
        assert!(read.contains("a".into()).unwrap());
        assert_eq!(read.binary().content(), filter.binary().content());
        read.union(&filter).unwrap();
        assert_eq!(read.encode().unwrap(), text);
        for change in ["70 71", "70 -7", "\"k\":3 \"k\":0", "AAA AA*", "} ", "\"b\" \"c\""] {
            let (right, wrong) = change.split_once(' ').unwrap();
            let changed = String::from_utf8(text.clone()).unwrap().replacen(right, wrong, 1);
            let read = BitsAndBloomsJson::decode(JSON, changed, &Parameters::default());
            assert!(read.is_err(), "{wrong}");
        }
    }
}
