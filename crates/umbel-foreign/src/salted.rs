//! The filter of M. Ceglowski's article "Using Bloom Filters", perl.com 2004, and of his CPAN module
//! Bloom::Filter up to version 1.0 (`_make_bitmask`): a bit vector, and a salt for each probe.
//!
//! A probe is the SHA-1 of the key followed by the salt, its five big-endian words XORed, modulo the number of bits.
//! The vector is as Perl's `vec` and `pack "b*"` make it, lowest bit of the first byte first. Files have no header:
//! the salts, and the bits if they are not whole bytes, must be given.
//!
//! ```text
//! byte 0 ..
//! | ceil(m/8) bytes of bits, lowest first |
//! ```

use sha1::{Digest, Sha1};

use crate::prelude::*;

/// A filter of salted SHA-1.
///
/// ```
/// use umbel_foreign::salted::SaltedSha1;
/// use umbel_foreign::{ForeignFilter, ForeignInsert, Format, Key, Parameters};
///
/// let salts = ["oak", "elm", "ash"].map(|salt| salt.as_bytes().to_vec()).to_vec();
/// let given = Parameters { bits: Some(20), salts, ..Parameters::default() };
/// let mut filter: SaltedSha1 = SaltedSha1::new(Format::SaltedSha1, &given)?;
/// filter.insert(Key::from("maciej@example.org"))?;
/// assert_eq!(filter.content().len(), 3, "as long as Perl makes it");
///
/// let read = SaltedSha1::decode(Format::SaltedSha1, filter.content(), &given)?;
/// assert!(read.contains(Key::from("maciej@example.org"))?);
/// # Ok::<(), umbel_foreign::Error>(())
/// ```
pub type SaltedSha1<S = Bytes> = Plain<Fields, S>;

/// The parameters given for a filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fields {
    salts: Vec<Vec<u8>>,
    shape: Shape,
}

/// The bits that a 32-bit hash reaches.
const REACH: u64 = 1 << 32;

impl Layout for Fields {
    type Hash<'k> = &'k [u8];
    has_shape!();

    fn plan(format: Format, given: &Parameters) -> Result<Plan, Error> {
        let (bits, probes) = (given.bits(format)?, salts(format, given)?);
        Parameters::require(format, "bits", bits, bits > 0, "at least 1")?;
        let plan = Plan::new(format, (bits, probes), Vec::new(), bits.div_ceil(8), Vec::new());
        let warning = "bits from 2^32 on are never used: the rate will be higher than planned";
        Ok(plan.warn(bits > REACH, warning))
    }

    fn parse(format: Format, content: &[u8], given: &Parameters) -> Result<Self, Error> {
        let probes = salts(format, given)?;
        let bits = given.bits.unwrap_or(8 * content.len() as u64);
        check(format, "bits", bits, bits > 0, "at least 1")?;
        let array = Reader::new(format, content).rest(bits.div_ceil(8), 0)?;
        check_padding(format, content, bits)?;
        let shape = Shape::of_bits(format, probes, bits, array);
        Ok(Self { salts: given.salts.clone(), shape })
    }

    fn scheme(&self) -> String {
        let salts: Vec<String> =
            self.salts.iter().map(|salt| salt.escape_ascii().to_string()).collect();
        format!("sha1/xor32, salts {}", salts.join(" "))
    }

    fn is_certain(&self) -> bool {
        false
    }

    fn hash<'k>(&self, key: Key<'k>) -> Result<Option<&'k [u8]>, Error> {
        key.bytes(Format::SaltedSha1).map(Some)
    }

    #[inline]
    fn positions(&self, key: Self::Hash<'_>) -> impl Iterator<Item = u64> {
        let keyed = Sha1::new().chain_update(key);
        self.salts.iter().map(move |salt| {
            let digest = keyed.clone().chain_update(salt).finalize();
            let words = digest.as_chunks::<4>().0.iter();
            let folded = words.fold(0, |folded, word| folded ^ u32::from_be_bytes(*word));
            u64::from(folded) % self.shape.bits
        })
    }

    // Prefetching would hash every key twice, which costs more than the misses.
    fn prefetch(&self, _: &[u8], _: Self::Hash<'_>) {}
}

/// The number of salts, or an error if none are given.
fn salts(format: Format, given: &Parameters) -> Result<u32, Error> {
    match u32::try_from(given.salts.len()) {
        Ok(count @ 1..=MOST_PROBES) => Ok(count),
        Ok(0) => Err(Parameters::refuse(format, "salts", "missing", "a salt for each probe")),
        _ => Err(Parameters::refuse(format, "salts", given.salts.len(), "65536 at most")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(bits: u64) -> Parameters {
        let salts = vec![b"a".to_vec(), b"b".to_vec()];
        Parameters { bits: Some(bits), salts, ..Parameters::default() }
    }

    /// SHA-1 of "keya" and "keyb" by another implementation (Python's hashlib), folded there.
    #[test]
    fn positions_are_those_of_the_article() {
        let shape = Shape::new(Format::SaltedSha1, 2, 0..1 << 29);
        let fields = Fields { salts: given(1).salts, shape };
        assert_eq!(fields.positions(b"key").collect::<Vec<_>>(), [824_082_531, 1_706_374_463]);
    }

    /// The vector that the article's steps give in Perl 5 with Digest::SHA.
    #[test]
    fn a_vector_of_perl_is_made_again() {
        let salts = ["oak", "elm", "ash"].map(|salt| salt.as_bytes().to_vec()).to_vec();
        let mut filter =
            SaltedSha1::new(Format::SaltedSha1, &Parameters { salts, ..given(77) }).unwrap();
        for key in [&b"maciej@example.org"[..], b"joshua@example.org", b"", b"\x00\xff"] {
            filter.insert(Key::Bytes(key)).unwrap();
        }
        assert_eq!(filter.content(), [0, 0x80, 0, 0x80, 0x20, 0x08, 0x50, 0x02, 0x0c, 0x18]);
    }

    #[test]
    fn what_is_not_told_is_asked_for() {
        let mut filter = SaltedSha1::new(Format::SaltedSha1, &given(77)).unwrap();
        assert!(filter.insert("key".into()).unwrap());
        let file = filter.encode().unwrap();
        assert_eq!(file.len(), 10);
        let read = |given: &Parameters| SaltedSha1::decode(Format::SaltedSha1, &file[..], given);
        assert!(read(&given(77)).unwrap().contains("key".into()).unwrap());
        assert!(matches!(read(&Parameters::default()), Err(Error::Parameter { .. })));
        assert!(matches!(read(&given(81)), Err(Error::Length { expected: 11, found: 10, .. })));
        assert!(SaltedSha1::decode(Format::SaltedSha1, [255; 10], &given(77)).is_err());
        let other = Parameters { salts: vec![b"a".to_vec(), b"c".to_vec()], ..given(77) };
        let other = SaltedSha1::new(Format::SaltedSha1, &other).unwrap();
        assert!(matches!(filter.union(&other), Err(Error::Differ { what: "hash scheme", .. })));
    }
}
