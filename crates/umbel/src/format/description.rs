//! A description of a filter's keys that programs can compare.

use core::fmt;

use crate::error::{FieldError, check_field};
use crate::plan::Kind;
use crate::prelude::*;

/// A description of a filter's keys, for people who find the file, and for programs that check that they look up the
/// right keys. Hashing does not depend on it.
///
/// It is a list of names and values, in order. Three names have a meaning; others are stored as they are:
///
/// | name | value |
/// |---|---|
/// | `field` | a field of the records that keys were taken from; once for each, in the order of the key |
/// | `type` | the type of the keys: the name of a [`KeyForm`], or another one |
/// | `normalization` | what was done to keys before they were hashed, such as `ignore-case`; once for each step, in order |
///
/// ```
/// use umbel::{Blocked, Filter, KeyDescription};
///
/// let mut keys = KeyDescription::default();
/// keys.push("field", "email")?;
/// keys.push("normalization", "ignore-case")?;
/// let mut filter = Blocked::new(1_000, 0.01)?;
/// filter.describe(keys);
/// let read = Blocked::from_bytes(&filter.to_bytes())?;
/// assert_eq!(read.description().values("field").collect::<Vec<_>>(), ["email"]);
/// # Ok::<(), umbel::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyDescription {
    entries: Vec<(String, String)>,
    /// The form in the entries, kept here because it is read for every key.
    form: Option<KeyForm>,
}

/// A filter holds other keys than the ones looked up in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the filter was built from {filter}, so it cannot answer for {wanted}; look up the same fields in the same order, compared in the same way, or rebuild the filter"
)]
#[non_exhaustive]
pub struct OtherKeys {
    /// The filter's keys, in words.
    pub filter: String,
    /// The keys looked up, in words.
    pub wanted: String,
    /// The family whose prefixes the filter's keys are; `None` for other keys.
    pub prefixes: Option<Family>,
}

/// The families of prefixes that a filter can hold: FORMAT.md, section 23. The crate `umbel-net` makes and
/// queries such filters.
///
/// There are only these two, so a match over both is complete. Every use must decide what a key, a length and an answer
/// are in its family: a third family would be a new format, and a default arm could not be right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// IPv4 and IPv6 addresses: networks.
    Ip,
    /// Hosts: domains.
    Domain,
}

impl Family {
    /// Returns the type of the keys, as a description names it. Part of the format.
    pub fn key_type(self) -> &'static str {
        match self {
            Self::Ip => "ip-prefix",
            Self::Domain => "domain-suffix",
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ip => "prefixes of IP addresses",
            Self::Domain => "domains of hosts",
        })
    }
}

/// How the keys of a filter became bytes; programs that look up keys must make their bytes in the same way.
///
/// The front ends note it with the first key, and query in that form: digits become integers in a filter of integers,
/// and integers their digits in a filter of text. The library leaves it to the caller, who knows the types of the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyForm {
    /// Lines, fields of records, or arguments from a server's clients: a number is the text of its digits.
    Text,
    /// Texts and bytes that a program inserted as such; it may have other types for numbers.
    Bytes,
    /// Integers, 8 little-endian bytes each.
    Integer,
    /// Several of these forms.
    Mixed,
}

impl KeyForm {
    const ALL: [Self; 4] = [Self::Text, Self::Bytes, Self::Integer, Self::Mixed];

    /// Returns its name, the value of `type` in a description. Part of the format.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Bytes => "bytes",
            Self::Integer => "integer",
            Self::Mixed => "mixed",
        }
    }

    /// Returns the key of an integer written in decimal digits, from -2⁶³ to 2⁶⁴ - 1; `None` for any other text,
    /// including unusual notations: a plus sign, or leading zeros.
    ///
    /// ```
    /// use umbel::KeyForm;
    ///
    /// assert_eq!(KeyForm::integer(b"-7"), Some((-7i64).to_le_bytes()));
    /// assert_eq!(KeyForm::integer(b"007"), None);
    /// ```
    pub fn integer(text: &[u8]) -> Option<[u8; 8]> {
        let digits = text.strip_prefix(b"-").unwrap_or(text);
        if digits.starts_with(b"+") || digits.starts_with(b"0") && text != b"0" {
            return None;
        }
        let text = str::from_utf8(text).ok()?;
        let signed = text.parse().map(i64::to_le_bytes);
        signed.or_else(|_| text.parse().map(u64::to_le_bytes)).ok()
    }

    /// Returns the form of keys of which some have the form `self` and others `other`.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        match (self, other) {
            (Self::Text, Self::Bytes) | (Self::Bytes, Self::Text) => Self::Bytes,
            _ if self == other => self,
            _ => Self::Mixed,
        }
    }
}

/// The description of keys when only their form is known.
impl From<KeyForm> for KeyDescription {
    fn from(form: KeyForm) -> Self {
        Self { entries: vec![(TYPE.to_owned(), form.name().to_owned())], form: Some(form) }
    }
}

/// The names with a meaning. Part of the format.
const FIELD: &str = "field";
const TYPE: &str = "type";
const NORMALIZATION: &str = "normalization";
/// The maximum bytes of a description in a header. Part of the format.
const MOST: usize = 1 << 15;
/// The maximum number of names in it. Part of the format.
const MOST_ENTRIES: usize = 256;

impl KeyDescription {
    /// Adds a name of 1 to 255 bytes and its value. There are at most 256 entries; each takes 4 more bytes in the file,
    /// and all together take at most 32 KiB.
    ///
    /// # Errors
    /// [`FieldError`] if a name or value is too long, or there are too many.
    pub fn push(&mut self, name: &str, value: &str) -> Result<(), FieldError> {
        let named = (1..=255).contains(&name.len());
        check_field("name", name.len() as u64, named, "a name of 1 to 255 bytes")?;
        let entries = self.entries().chain([(name, value)]);
        let length: usize = entries.map(|(name, value)| 4 + name.len() + value.len()).sum();
        check_field("description_length", length as u64, length <= MOST, "at most 32768 bytes")?;
        let count = self.entries.len() + 1;
        check_field("description", count as u64, count <= MOST_ENTRIES, "at most 256 names")?;
        self.entries.push((name.to_owned(), value.to_owned()));
        self.read_form();
        Ok(())
    }

    /// Returns all names and values, in order.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &str)> {
        self.entries.iter().map(|(name, value)| (&name[..], &value[..]))
    }

    /// Returns the values of a name, in order.
    pub fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.entries().filter(move |(own, _)| *own == name).map(|(_, value)| value)
    }

    /// Returns the form of the keys, if it is noted.
    #[inline]
    pub fn form(&self) -> Option<KeyForm> {
        self.form
    }

    fn read_form(&mut self) {
        let is = |form: &KeyForm| self.values(TYPE).eq([form.name()]);
        self.form = KeyForm::ALL.into_iter().find(is);
    }

    /// Notes that the filter also has keys of this form. Keys of another type, such as prefixes of addresses, keep
    /// their type.
    ///
    /// # Errors
    /// [`FieldError`] if the description has no room for it.
    pub fn note(&mut self, form: KeyForm) -> Result<(), FieldError> {
        match self.form() {
            Some(own) => {
                let name = own.with(form).name();
                let of_type = self.entries.iter_mut().filter(|(name, _)| name == TYPE);
                of_type.for_each(|(_, value)| name.clone_into(value));
                self.read_form();
                Ok(())
            }
            None if self.values(TYPE).next().is_some() => Ok(()),
            None => self.push(TYPE, form.name()),
        }
    }

    /// The description of the keys of two filters together; `None` if they do not fit together. Everything but their
    /// forms must be equal. Or one filter may have only a form, if the other's keys are not normalized; or none.
    pub(crate) fn with(&self, other: &Self) -> Option<Self> {
        let part = |keys: &Self, types: bool| {
            let entries = keys.entries.iter().filter(|(name, _)| (name == TYPE) == types);
            let mut part = Self { entries: entries.cloned().collect(), form: None };
            part.read_form();
            part
        };
        let rests = [self, other].map(|keys| part(keys, false));
        let alike = rests[0] == rests[1];
        let changed = rests.iter().any(|rest| rest.values(NORMALIZATION).next().is_some());
        let unlike = changed || !rests.iter().any(Self::is_empty);
        if !alike && unlike && !self.is_empty() && !other.is_empty() {
            return None;
        }
        let mut both = if alike { self.clone() } else { part(self, true) };
        match (self.form(), other.form()) {
            (Some(_), Some(form)) => both.note(form).ok()?,
            _ if self == other => {}
            _ if [self, other].iter().any(|keys| part(keys, true).is_empty()) => {
                both = part(&both, false);
            }
            // One has keys of another type, such as prefixes of addresses.
            _ => return None,
        }
        Some(both)
    }

    /// Returns whether it has no entries.
    #[doc(hidden)]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Checks that a filter of a kind with keys of this description can answer for keys that are `wanted`.
    ///
    /// Both must consist of the same fields in the same order, except that the key of one field is just its bytes: it
    /// may be looked up in a filter that names no fields, and a whole line in a filter of one field. The fields of a
    /// filter of rows are its attributes, which each query names itself, so they are not compared. Both must be
    /// integers, or neither, unless the filter's form is not noted or mixed; types other than a [`KeyForm`] must be the
    /// same. Both must have the same normalization. Other entries are not compared.
    ///
    /// # Errors
    /// [`OtherKeys`], which names both.
    #[doc(hidden)]
    pub fn check(&self, kind: Kind, wanted: &Self) -> Result<(), OtherKeys> {
        let same = |name| self.values(name).eq(wanted.values(name));
        let fields = [self, wanted].map(|keys| keys.values(FIELD).count());
        let bytes_alike = matches!(fields, [0, 1] | [1, 0]);
        let fields_alike = kind.rows() || same(FIELD) || bytes_alike;
        // A description by another program may give several types: all of them count.
        let is_form = |keys: &Self| keys.form().is_some() || keys.values(TYPE).next().is_none();
        let forms_alike = match (self.form(), wanted.form()) {
            (None | Some(KeyForm::Mixed), _) => true,
            (own, form) => (own == Some(KeyForm::Integer)) == (form == Some(KeyForm::Integer)),
        };
        let types_alike = same(TYPE) || is_form(self) && is_form(wanted) && forms_alike;
        if fields_alike && types_alike && same(NORMALIZATION) {
            return Ok(());
        }
        let prefixes = self.prefixes();
        Err(OtherKeys { filter: self.in_words(), wanted: wanted.in_words(), prefixes })
    }

    /// Returns whether the keys are values as they are: not several fields, prefixes, nor changed before they were hashed.
    /// Otherwise a filter would report what it was built from as absent.
    #[doc(hidden)]
    #[inline]
    pub fn is_plain(&self) -> bool {
        // Most have only their form.
        let just_form = self.form.is_some() && self.entries.len() == 1;
        let has = |name| self.values(name).next().is_some();
        let is_form = self.form.is_some() || !has(TYPE);
        just_form || is_form && !has(NORMALIZATION) && self.values(FIELD).nth(1).is_none()
    }

    /// Returns the family whose prefixes the keys are, by their type; `None` for other keys.
    #[doc(hidden)]
    pub fn prefixes(&self) -> Option<Family> {
        let is = |family: &Family| self.values(TYPE).eq([family.key_type()]);
        [Family::Ip, Family::Domain].into_iter().find(is)
    }

    /// What the keys are, for a message.
    #[doc(hidden)]
    pub fn in_words(&self) -> String {
        if let Some(family) = self.prefixes() {
            return family.to_string();
        }
        let quoted: Vec<_> = self.values(FIELD).map(|field| format!("{field:?}")).collect();
        let mut words = match &quoted[..] {
            [] => "whole lines".to_owned(),
            [field] => format!("the field {field}"),
            fields => format!("the fields {}", fields.join(", ")),
        };
        let types: Vec<_> = self.values(TYPE).collect();
        if !matches!(self.form(), Some(KeyForm::Text | KeyForm::Bytes)) && !types.is_empty() {
            words.push_str(&format!(" of type {}", types.join(", ")));
        }
        let steps: Vec<_> = self.values(NORMALIZATION).collect();
        if !steps.is_empty() {
            words.push_str(&format!(" with {}", steps.join(", ")));
        }
        words
    }

    /// Encodes it for a header.
    ///
    /// ```text
    ///  name_length  u16, the name in UTF-8, value_length  u16, the value in UTF-8; and so on
    /// ```
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for text in self.entries().flat_map(|(name, value)| [name, value]) {
            bytes.extend_from_slice(&(text.len() as u16).to_le_bytes());
            bytes.extend_from_slice(text.as_bytes());
        }
        bytes
    }

    pub(super) fn parse(mut bytes: &[u8]) -> Result<Self, FieldError> {
        let error = |found: usize| FieldError {
            field: "description",
            found: found as u64,
            expected: "names and values in UTF-8, each after its length",
        };
        let mut description = Self::default();
        while !bytes.is_empty() {
            let mut text = || {
                let (length, rest) = bytes.split_first_chunk().ok_or(error(bytes.len()))?;
                let length = usize::from(u16::from_le_bytes(*length));
                let (text, rest) = rest.split_at_checked(length).ok_or(error(length))?;
                bytes = rest;
                str::from_utf8(text).map_err(|_| error(length))
            };
            description.push(text()?, text()?)?;
        }
        Ok(description)
    }
}
