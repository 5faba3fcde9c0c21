//! The parameters of a new filter, and the plan that a system makes from them.

use crate::{Bytes, Error, Format, Value};

/// The parameters of a new filter. Each format accepts some of them: [`Format::parameters`].
///
/// A new format may bring a new one, so end a literal with `..Parameters::default()`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parameters {
    /// Expected keys, also called ndv, capacity or entries.
    pub keys: Option<u64>,
    /// False positive rate, in (0, 1).
    pub fpp: Option<f64>,
    /// Bits, instead of the number that follows from keys and fpp.
    pub bits: Option<u64>,
    /// Bits per key.
    pub bits_per_key: Option<f64>,
    /// Probes per key, k.
    pub probes: Option<u32>,
    /// Seed of the hash, if it has one.
    pub seed: Option<i64>,
    /// The factor by which each part of a growing filter is larger than the one before; 0 for no growth.
    pub growth: Option<u32>,
    /// For cuckoo filters, the slots of a bucket.
    pub bucket_size: Option<u32>,
    /// For cuckoo filters, the most fingerprints moved for one key.
    pub max_iterations: Option<u32>,
    /// Salts, one for each probe.
    pub salts: Vec<Vec<u8>>,
    /// Words of [`Format::options`].
    pub options: Vec<String>,
}

impl Parameters {
    /// Returns the parameters for `keys` keys at a false positive rate of `fpp`.
    pub fn for_keys(keys: u64, fpp: f64) -> Self {
        Self { keys: Some(keys), fpp: Some(fpp), ..Self::default() }
    }

    /// Adds an option.
    pub fn with(mut self, option: &str) -> Self {
        self.options.push(option.to_owned());
        self
    }

    /// Returns whether an option is given.
    pub fn has(&self, option: &str) -> bool {
        self.options.iter().any(|given| given == option)
    }

    /// Checks that the format accepts all given parameters.
    ///
    /// # Errors
    /// [`Error::Parameter`]; [`Error::Fpp`].
    pub(crate) fn check(&self, format: Format) -> Result<(), Error> {
        let given = [
            ("keys", self.keys.is_some()),
            ("fpp", self.fpp.is_some()),
            ("bits", self.bits.is_some()),
            ("bits_per_key", self.bits_per_key.is_some()),
            ("probes", self.probes.is_some()),
            ("seed", self.seed.is_some()),
            ("growth", self.growth.is_some()),
            ("bucket_size", self.bucket_size.is_some()),
            ("max_iterations", self.max_iterations.is_some()),
            ("salts", !self.salts.is_empty()),
        ];
        let taken = format.parameters();
        if let Some((name, _)) = given.iter().find(|(name, given)| *given && !taken.contains(name))
        {
            let expected = "none: the format has no such parameter";
            return Err(Self::refuse(format, name, "a value", expected));
        }
        let known = |option: &&String| format.options().iter().any(|(name, _)| name == option);
        if let Some(option) = self.options.iter().find(|option| !known(option)) {
            return Err(Self::refuse(format, "option", option.clone(), "an option of the format"));
        }
        match self.fpp {
            Some(fpp) if !(fpp > 0.0 && fpp < 1.0) => Err(Error::Fpp(fpp)),
            _ => Ok(()),
        }
    }

    /// The error of a parameter that is missing or out of range.
    pub(crate) fn refuse(
        format: Format,
        parameter: &'static str,
        found: impl Into<Value>,
        expected: &'static str,
    ) -> Error {
        Error::Parameter { format, parameter, found: found.into(), expected }
    }

    /// Returns the error of a parameter unless it is `right`.
    pub(crate) fn require(
        format: Format,
        parameter: &'static str,
        found: impl Into<Value>,
        right: bool,
        expected: &'static str,
    ) -> Result<(), Error> {
        if right { Ok(()) } else { Err(Self::refuse(format, parameter, found, expected)) }
    }

    /// This number of keys, unless it is 0.
    pub(crate) fn some_keys(format: Format, keys: u64) -> Result<u64, Error> {
        if keys == 0 { Err(Self::refuse(format, "keys", keys, "at least 1")) } else { Ok(keys) }
    }

    /// The keys, which are required.
    pub(crate) fn keys(&self, format: Format) -> Result<u64, Error> {
        self.keys.ok_or_else(|| Self::refuse(format, "keys", "missing", "the number of keys"))
    }

    /// The probes, which are required.
    pub(crate) fn probes(&self, format: Format) -> Result<u32, Error> {
        self.probes.ok_or_else(|| Self::refuse(format, "probes", "missing", "the probes per key"))
    }

    /// The bits, which are required.
    pub(crate) fn bits(&self, format: Format) -> Result<u64, Error> {
        self.bits.ok_or_else(|| Self::refuse(format, "bits", "missing", "the size in bits"))
    }
}

/// The file that follows from [`Parameters`] by a format's own rules, before any key is inserted.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The format.
    pub format: Format,
    /// Bits, m, of its (first) array.
    pub bits: u64,
    /// Probes per key, k.
    pub probes: u32,
    /// Bytes of the file; if the format's empty filters have no bits, with the first key in it.
    pub bytes: u64,
    /// Surprises to expect, such as a size beyond what the system can use.
    pub warnings: Vec<&'static str>,
    /// Bytes before the array.
    pub(crate) head: Vec<u8>,
    /// Bytes of the array, all zero.
    pub(crate) array: u64,
    /// Bytes after the array.
    pub(crate) tail: Vec<u8>,
}

impl Plan {
    /// For a file that is `head`, `array` zero bytes and `tail`.
    pub(crate) fn new(
        format: Format,
        (bits, probes): (u64, u32),
        head: Vec<u8>,
        array: u64,
        tail: Vec<u8>,
    ) -> Self {
        let bytes = array.saturating_add((head.len() + tail.len()) as u64);
        Self { format, bits, probes, bytes, warnings: Vec::new(), head, array, tail }
    }

    /// The content of the file.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub(crate) fn content(&self) -> Result<Bytes, Error> {
        let Self { head, tail, bytes, .. } = self;
        let refused = || Error::OutOfMemory { bytes: *bytes };
        let array = usize::try_from(self.array).map_err(|_| refused())?;
        let len = array.checked_add(head.len() + tail.len()).ok_or_else(refused)?;
        let mut content = Bytes::zeroed(len, head.len())?;
        content[..head.len()].copy_from_slice(head);
        content[head.len() + array..].copy_from_slice(tail);
        Ok(content)
    }

    /// Adds a warning if `when` is true.
    pub(crate) fn warn(mut self, when: bool, warning: &'static str) -> Self {
        if when {
            self.warnings.push(warning);
        }
        self
    }
}
