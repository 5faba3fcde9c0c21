//! What a system is told when it makes a filter, and the file it then plans.

use crate::{Error, Format, Value};

/// What a new filter is made for. Each format takes some of these: [`Format::parameters`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parameters {
    /// Keys expected, also called ndv, capacity or entries.
    pub keys: Option<u64>,
    /// False-positive probability, in (0, 1).
    pub fpp: Option<f64>,
    /// Bits, in place of what follows from keys and fpp.
    pub bits: Option<u64>,
    /// Bits for each key.
    pub bits_per_key: Option<f64>,
    /// Probes a key, k.
    pub probes: Option<u32>,
    /// Seed of the hash, of those that have one.
    pub seed: Option<i64>,
    /// How many times larger each part of a filter that grows is than the one before; 0 for none to grow.
    pub growth: Option<u32>,
    /// Salts, one for each probe.
    pub salts: Vec<Vec<u8>>,
    /// Words of [`Format::options`].
    pub options: Vec<String>,
}

impl Parameters {
    /// For so many keys at a false-positive probability.
    pub fn for_keys(keys: u64, fpp: f64) -> Self {
        Self { keys: Some(keys), fpp: Some(fpp), ..Self::default() }
    }

    /// The same with an option more.
    pub fn with(mut self, option: &str) -> Self {
        self.options.push(option.to_owned());
        self
    }

    /// Whether an option is given.
    pub fn has(&self, option: &str) -> bool {
        self.options.iter().any(|given| given == option)
    }

    /// Refuses what the format does not take.
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
            ("salts", !self.salts.is_empty()),
        ];
        let taken = format.parameters();
        if let Some((name, _)) = given.iter().find(|(name, given)| *given && !taken.contains(name))
        {
            return Err(Self::refuse(
                format,
                name,
                "a value",
                "none: the format has no such parameter",
            ));
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

    /// The keys, which have to be given.
    pub(crate) fn keys(&self, format: Format) -> Result<u64, Error> {
        self.keys.ok_or_else(|| Self::refuse(format, "keys", "missing", "the number of keys"))
    }

    /// The probes, which have to be given.
    pub(crate) fn probes(&self, format: Format) -> Result<u32, Error> {
        self.probes.ok_or_else(|| Self::refuse(format, "probes", "missing", "the probes per key"))
    }

    /// The bits, which have to be given.
    pub(crate) fn bits(&self, format: Format) -> Result<u64, Error> {
        self.bits.ok_or_else(|| Self::refuse(format, "bits", "missing", "the size in bits"))
    }
}

/// What a format's own rules make of [`Parameters`]: the file before any key is in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The format.
    pub format: Format,
    /// Bits, m, of its (first) array.
    pub bits: u64,
    /// Probes a key, k.
    pub probes: u32,
    /// Bytes of the file; of a format whose empty filters have no bits, with the first key in it.
    pub bytes: u64,
    /// What will not be as one would think, such as sizes beyond what the system can use.
    pub warnings: Vec<&'static str>,
    /// Bytes before the array.
    pub(crate) head: Vec<u8>,
    /// Bytes of the array, all zero.
    pub(crate) array: u64,
    /// Bytes behind the array.
    pub(crate) tail: Vec<u8>,
}

impl Plan {
    /// Of a file that is `head`, `array` zero bytes and `tail`.
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

    /// Adds a warning where it holds.
    pub(crate) fn warn(mut self, when: bool, warning: &'static str) -> Self {
        if when {
            self.warnings.push(warning);
        }
        self
    }
}
